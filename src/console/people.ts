import { type EmployeeField, type EmployeeKey, keyText } from '../directory/employee.ts'
import type { Searched, SearchedBy } from '../hr/server.ts'
import { type HrEmployeeRow, isOfHr } from '../hr/source.ts'
import type { HrSources, NamedSource } from '../hr/sources.ts'
import type { Logger } from '../lib/logger.ts'
import { within } from '../lib/waiting.ts'
import { message, type Said, saidBy } from '../texts/message.ts'
import { BoundedLine, BusyError } from './bounded-line.ts'
import { Readings } from './readings.ts'

/** How long a page waits for HR. */
const WAIT_MS = 300
/** How long the first look waits, which has to connect, and one after so long that connections may have been given back. */
const CONNECT_MS = 3_000
const CONNECTED_FOR_MS = 30_000
/** How long HR is left alone after it has twice in a row not answered in time. */
const REST_MS = 5_000
/** Look-ups of one HR system at a time, and how many more wait: workers read it through the same connections. */
const AT_A_TIME = 2
const WAITING = 20
/** How long a search waits for HR, and how many people search one HR system at a time, and wait to. */
const SEARCH_MS = 3000
const SEARCHES = 2
const WAITING_SEARCHES = 10

export interface DepartmentKey {
  enterpriseCode: string
  deptCode: string
}

/** Why HR was not searched: it did not answer in time, others are searching it, or it refused, with its reason. */
interface SearchTrouble {
  hr: 'away' | 'busy' | 'failed'
  reason: Said | null
  /** Those of HR_SOURCES that were left out, where others may have answered. */
  sources: string[]
}

/** What a search has found in HR. */
interface FoundInHr {
  employees: (EmployeeKey & { by: Searched; name: string | null })[]
  departments: (DepartmentKey & { name: string | null })[]
  /** HR may have more people than were asked for. */
  isCut: boolean
  /** Why an HR system was left out; null: none was. */
  trouble: SearchTrouble | null
}

/** Looks at one thing in one HR system. */
class Looks {
  readonly #line = new BoundedLine(AT_A_TIME, WAITING)
  #misses = 0
  #answeredAt = Number.NEGATIVE_INFINITY
  #restsUntil = 0

  /** What it finds in time. @throws what it fails with, Error if it takes longer */
  async run<Found>(look: (timeoutMs: number) => Promise<Iterable<Found>>): Promise<Found[]> {
    const now = performance.now()
    if (now < this.#restsUntil) return []
    const connects = this.#misses === 0 && now - this.#answeredAt > CONNECTED_FOR_MS
    const timeoutMs = connects ? CONNECT_MS : WAIT_MS
    try {
      const found = [
        ...(await within(
          timeoutMs,
          this.#line.run(() => look(timeoutMs)),
        )),
      ]
      this.#misses = 0
      this.#answeredAt = performance.now()
      return found
    } catch (error) {
      if (!(error instanceof BusyError)) this.#misses += 1
      if (this.#misses > 1) this.#restsUntil = performance.now() + REST_MS
      throw error
    }
  }
}

interface Place {
  employees: Looks
  departments: Looks
  searches: BoundedLine
}

/**
 * What HR says of the people on a page, at this moment: one query per HR system, never kept. An HR system that is away or slow
 * is left out, and for a while not asked again, so that pages come without it.
 */
export class People {
  readonly #hr: HrSources
  readonly #logger: Logger
  readonly #places: ReadonlyMap<NamedSource, Place>
  /** One search of a person at a time, and one more that waits. */
  readonly #searching = new Map<string, BoundedLine>()
  /** What people have read of it. */
  readonly readings = new Readings()

  constructor(hr: HrSources, logger: Logger) {
    this.#hr = hr
    this.#logger = logger
    this.#places = new Map(
      hr.all.map(source => [
        source,
        {
          employees: new Looks(),
          departments: new Looks(),
          searches: new BoundedLine(SEARCHES, WAITING_SEARCHES),
        },
      ]),
    )
  }

  /**
   * Fields of some employees, by `keyText`; those that HR does not have, has twice, or does not tell in time are missing, as
   * are fields that it does not map.
   */
  employees(
    keys: readonly EmployeeKey[],
    fields: readonly EmployeeField[],
  ): Promise<Map<string, HrEmployeeRow>> {
    return this.#ask('employees', keys, async ({ hr }, wanted, timeoutMs) => {
      const { columns: mapped } = await hr.mapping()
      const columns = fields.filter(field => mapped.has(field))
      if (columns.length === 0) return []
      const found = await hr.lookup(wanted, { columns, expected: () => [], timeoutMs })
      return [...found].flatMap(([key, row]) => (row === 'duplicate' ? [] : [[key, row] as const]))
    })
  }

  /** Names of some departments, by `keyText` of enterprise and code. */
  departments(keys: readonly DepartmentKey[]): Promise<Map<string, string>> {
    return this.#ask('departments', keys, ({ hr }, wanted, timeoutMs) =>
      hr.departmentNames(wanted, timeoutMs),
    )
  }

  /** Whether all people have names to be found by, as far as is known without a look at HR. */
  get haveNames(): boolean {
    return this.#hr.all.every(({ hr }) => hr.seenMapping?.columns.has('name') ?? true)
  }

  /**
   * The HR systems whose people have no names, and whether those are all. @param enterprise only its HR system; undefined: all
   * @throws what reading a mapping fails with, Error if it takes too long
   */
  async nameless(enterprise?: string): Promise<{ sources: NamedSource[]; all: boolean }> {
    const systems = this.#systemsOf(enterprise)
    const columns = await within(SEARCH_MS, Promise.all(systems.map(({ hr }) => hr.mapping())))
    const sources = systems.filter((_, i) => !columns[i]?.columns.has('name'))
    return { sources, all: sources.length === systems.length }
  }

  /**
   * Some people and departments whom HR has by the beginning of a word of the name or of another column.
   * @param departments the beginning of a department's name; null: none are looked for
   * @param by the columns of people that it may be in, each with the texts to look for there
   * @param enterprise only its HR system is searched; undefined: all
   * @param viewer who searches: one search at a time, and the next one waits
   */
  async search(
    {
      departments: text,
      by,
      enterprise,
    }: {
      departments: string | null
      by: readonly SearchedBy[]
      enterprise?: string | undefined
    },
    viewer: string,
    limit: number,
  ): Promise<FoundInHr> {
    const found: FoundInHr = { employees: [], departments: [], isCut: false, trouble: null }
    const line = this.#searching.get(viewer) ?? new BoundedLine(1, 1)
    this.#searching.set(viewer, line)
    const options = { limit, timeoutMs: SEARCH_MS, enterprise }
    const troubles: SearchTrouble[] = []
    const search = () =>
      Promise.all(
        this.#systemsOf(enterprise).map(async source => {
          const searches = this.#places.get(source)?.searches
          if (!searches) return
          const isOwn = ({ enterpriseCode }: { enterpriseCode: string }) =>
            this.#hr.of(enterpriseCode) === source
          const looking = searches.run(async () => {
            const [departments, employees] = await Promise.all([
              text === null ? [] : source.hr.searchDepartments(text, options),
              by.length === 0 ? [] : source.hr.search(by, options),
            ])
            found.isCut ||= employees.length >= limit
            return { employees, departments }
          })
          try {
            const { employees, departments } = await within(SEARCH_MS, looking)
            found.employees.push(...employees.filter(isOwn))
            found.departments.push(...departments.filter(isOwn))
          } catch (error) {
            this.#logger.debug({ source: source.name, error }, 'HR could not be searched')
            troubles.push(troubleOf(source, error))
          }
        }),
      )
    try {
      await line.run(search)
    } catch (error) {
      if (!(error instanceof BusyError)) throw error
      troubles.push({ hr: 'busy', reason: null, sources: [] })
    }
    found.trouble = together(troubles)
    return found
  }

  #systemsOf(enterprise: string | undefined): readonly NamedSource[] {
    if (enterprise === undefined) return this.#hr.all
    const source = this.#hr.of(enterprise)
    return source ? [source] : []
  }

  async #ask<Key extends { enterpriseCode: string }, Found>(
    kind: 'employees' | 'departments',
    keys: readonly Key[],
    look: (
      source: NamedSource,
      wanted: Key[],
      timeoutMs: number,
    ) => Promise<Iterable<readonly [string, Found]>>,
  ): Promise<Map<string, Found>> {
    const owned = Map.groupBy(keys, ({ enterpriseCode }) => this.#hr.of(enterpriseCode))
    const answers = await Promise.all(
      [...owned].map(async ([source, wanted]) => {
        const looks = source && this.#places.get(source)?.[kind]
        if (!looks) return []
        try {
          return await looks.run(timeoutMs => look(source, wanted, timeoutMs))
        } catch (error) {
          const what = 'a page comes without what HR says of its people'
          this.#logger.debug({ source: source.name, error }, what)
          return []
        }
      }),
    )
    return new Map(answers.flat())
  }
}

function troubleOf({ name }: NamedSource, error: unknown): SearchTrouble {
  const sources = name === '' ? [] : [name]
  if (error instanceof BusyError) return { hr: 'busy', reason: null, sources }
  if (!isOfHr(error)) return { hr: 'away', reason: null, sources }
  const reason = saidBy(error)
  return { hr: 'failed', reason: name === '' ? reason : message('said.of_source', { name, reason }), sources }
}

/** The troubles of all HR systems as one: what needs mending comes first. */
function together(troubles: readonly SearchTrouble[]): SearchTrouble | null {
  const [first] = (['failed', 'away', 'busy'] as const).flatMap(hr => troubles.filter(one => one.hr === hr))
  if (!first) return null
  const problems = troubles.flatMap(({ reason }) => (reason === null ? [] : [reason].flat()))
  return {
    hr: first.hr,
    reason: problems.length > 1 ? message('said.problems', { problems }) : first.reason,
    sources: troubles.flatMap(({ sources }) => sources).sort(),
  }
}

/** A department's key, as names of departments are found by. */
export function departmentText({ enterpriseCode, deptCode }: DepartmentKey): string {
  return keyText({ enterpriseCode, userid: deptCode })
}
