import { type EmployeeKey, keyOfText, qualified } from '../directory/employee.ts'
import { within } from '../lib/waiting.ts'
import { type Message, message, saidBy } from '../texts/message.ts'
import { type HrEmployeeRow, type HrSource, HrUnavailableError, noSourceHas } from './source.ts'

/** The part of HR that something concerns. */
export interface SourceScope {
  /** Name of the source; empty where there is only one, and for all of them together. */
  readonly name: string
  /** The enterprises that are its own; null: all. */
  readonly codes: readonly string[] | null
}

/** Settings of an HR system: their names in HR_SOURCES, and those where there is only one system. */
const SETTINGS_OF_ONE = {
  address: 'HR_DATABASE_URL',
  employees_sql: 'HR_EMPLOYEES_SQL',
  departments_sql: 'HR_DEPARTMENTS_SQL',
} as const

/** What people set: beside HR_SOURCES the settings of the only system are refused. */
export function hrSettingOf(areNamed: boolean, field: keyof typeof SETTINGS_OF_ONE): string {
  return areNamed ? field : SETTINGS_OF_ONE[field]
}

/** HR as a whole. */
export const WHOLE: SourceScope = { name: '', codes: null }

/** Names of sources by their enterprises. */
export type Owners = Readonly<Record<string, string>>

/** One HR system. */
export interface NamedSource extends SourceScope {
  readonly hr: HrSource
}

/** Looks up employees in HR. */
export type EmployeeLookup = Pick<HrSource, 'lookup'>

/** How long one of several sources may take to describe its columns while the others wait. */
const INSPECT_MS = 5000

function tooLate(): HrUnavailableError {
  return new HrUnavailableError(message('said.hr_away'))
}

/** That a source gave no answer, and why. */
export function sourceUnread({ name }: SourceScope, error: unknown): Message {
  return message('said.source_unread_because', { name, reason: saidBy(error) })
}

type Rows = Map<string, HrEmployeeRow | 'duplicate'>

/** The result of a look-up in all sources. */
interface Asked {
  rows: Rows
  /** Sources that gave no answer, with the reason. */
  failures: { source: NamedSource; error: unknown }[]
}

/**
 * All the HR systems of a deployment: one, or several with enterprises of their own. Each has its own mapping, connections and
 * snapshot. A key is looked up only in the source of its enterprise.
 */
export class HrSources {
  readonly all: readonly NamedSource[]
  readonly #byCode: ReadonlyMap<string, NamedSource>
  /** Why `fingerprint` left sources out. */
  readonly #leftOut = new WeakMap<NamedSource, unknown>()

  /** @param sources codes are disjoint; a source with null for them is the only one */
  constructor(sources: readonly NamedSource[]) {
    this.all = sources
    this.#byCode = new Map(sources.flatMap(source => (source.codes ?? []).map(code => [code, source])))
  }

  /** HR with a single system. */
  static one(hr: HrSource): HrSources {
    return new HrSources([{ ...WHOLE, hr }])
  }

  /** Whether HR_SOURCES names them. */
  get areNamed(): boolean {
    return this.all.some(({ codes }) => codes !== null)
  }

  /** Whether any of them has departments: without a departments' mapping none is ever deleted. */
  get hasDepartments(): boolean {
    return this.all.some(({ hr }) => hr.hasDepartments)
  }

  /** The enterprises of all sources; empty where there is only one, which may have any. */
  get codes(): string[] {
    return [...this.#byCode.keys()]
  }

  /** The source of each enterprise; empty where there is one HR system. */
  get owners(): Owners {
    return Object.fromEntries([...this.#byCode].map(([code, { name }]) => [code, name]))
  }

  /** The source of an enterprise; null when it belongs to none. */
  of(enterpriseCode: string): NamedSource | null {
    const [first] = this.all
    return first?.codes === null ? first : (this.#byCode.get(enterpriseCode) ?? null)
  }

  named(name: string): NamedSource | null {
    return this.all.find(source => source.name === name) ?? null
  }

  /** Like `HrSource.lookup`, in the sources of the keys. Fails when one of them does, and for a key that belongs to none. */
  async lookup(keys: readonly EmployeeKey[], options: LookupOptions = {}): Promise<Rows> {
    const stray = keys.find(({ enterpriseCode }) => this.of(enterpriseCode) === null)
    if (stray) throw new HrUnavailableError(noSourceHas(stray.enterpriseCode))
    const { rows, failures } = await this.ask(keys, options)
    if (failures[0]) throw failures[0].error
    return rows
  }

  /**
   * The same, as far as sources answer. They are queried concurrently; one that `fingerprint` could not query, whose mapping is
   * therefore missing in its result, is not queried again.
   */
  async ask(keys: readonly EmployeeKey[], { mapping = null, ...options }: LookupOptions): Promise<Asked> {
    const owned = Map.groupBy(keys, ({ enterpriseCode }) => this.of(enterpriseCode))
    const asked: Asked = { rows: new Map(), failures: [] }
    await Promise.all(
      [...owned].map(async ([source, wanted]) => {
        if (source === null) return
        try {
          if (mapping?.includes('=') && mappingFor(source, mapping) === null)
            throw this.#leftOut.get(source) ?? tooLate()
          const found = await source.hr.lookup(wanted, { ...options, mapping: mappingFor(source, mapping) })
          // With `anyEnterprise`, a source may also have rows of an enterprise that is another's.
          for (const [key, row] of found)
            if (this.of(keyOfText(key).enterpriseCode) === source) asked.rows.set(key, row)
        } catch (error) {
          asked.failures.push({ source, error })
        }
      }),
    )
    return asked
  }

  /**
   * The employees whom HR has by names that people use: a user id, in any enterprise, or `enterprise/userid`.
   * @param enterprises those that dirsync knows; with several sources, their own ones are taken instead
   */
  async find(
    names: readonly string[],
    enterprises: readonly string[],
    options: LookupOptions,
  ): Promise<{ keys: EmployeeKey[]; failures: Asked['failures'] }> {
    const known = this.areNamed ? this.codes : enterprises
    const candidates = names.flatMap(name => {
      // Before the first slash may be the enterprise, or the user id has slashes itself.
      const slash = name.indexOf('/')
      const given = slash < 0 ? null : this.#byCode.get(name.slice(0, slash))
      // The other sources need not answer.
      const codes = given ? known.filter(code => this.of(code) === given) : known
      return codes.flatMap(enterpriseCode =>
        [name, name.slice(slash + 1)].map(userid => ({ enterpriseCode, userid })),
      )
    })
    const { rows, failures } = await this.ask(candidates, { ...options, anyEnterprise: true })
    const isNamed = ({ enterpriseCode, userid }: EmployeeKey) =>
      names.includes(userid) || names.includes(qualified(enterpriseCode, userid))
    return { keys: [...rows.keys()].map(keyOfText).filter(isNamed), failures }
  }

  /** The mappings in use, as recorded with a plan of all sources. A source that fails is left out if others answer. */
  async fingerprint(): Promise<string> {
    const [first] = this.all
    if (first?.codes === null) return (await first.hr.inspect()).fingerprint
    const looked = await Promise.allSettled(
      this.all.map(async ({ name, hr }) => {
        const { fingerprint } = await within(INSPECT_MS, hr.inspect(), tooLate)
        return `${name}=${fingerprint}`
      }),
    )
    const problems = looked.flatMap((result, i) => {
      const source = this.all[i]
      if (result.status === 'fulfilled' || !source) return []
      this.#leftOut.set(source, result.reason)
      return [sourceUnread(source, result.reason)]
    })
    const found = looked.flatMap(result => (result.status === 'fulfilled' ? [result.value] : []))
    if (found.length === 0) throw new HrUnavailableError(message('said.problems', { problems }))
    return found.join(' ')
  }

  async close(): Promise<void> {
    await Promise.all(this.all.map(({ hr }) => hr.close()))
  }
}

/** The name under which processes of a deployment listen to a source's trigger: one of them does at a time. */
export function listenerOf(deployment: string, { name }: SourceScope): string {
  return name === '' ? deployment : `${deployment} ${name}`
}

type LookupOptions = Parameters<HrSource['lookup']>[1] & {}

/** The fingerprint for one source, from the text that `HrSources.fingerprint` or a plan of that source has written. */
export function mappingFor({ name, codes }: SourceScope, mapping: string | null): string | null {
  if (codes === null || !mapping?.includes('=')) return mapping
  const own = mapping.split(' ').find(part => part.startsWith(`${name}=`))
  return own === undefined ? null : own.slice(name.length + 1)
}
