import { Readable } from 'node:stream'
import { qualified } from '../../src/directory/employee.ts'
import { HrUnavailableError } from '../../src/hr/errors.ts'
import type {
  HrFacts,
  HrLines,
  HrQuery,
  HrReader,
  HrServer,
  HrSession,
  HrTable,
  HrValues,
} from '../../src/hr/server.ts'
import { WHOLE } from '../../src/hr/sources.ts'
import { type Dialect, POSTGRES_TOKENS } from '../../src/hr/statement.ts'
import { message } from '../../src/texts/message.ts'
import { type Department, TREE } from './departments.ts'
import type { Held } from './platform.ts'
import type { SimulatedProcess } from './schedule.ts'
import { enterpriseOf, keyOf, type Stage } from './stage.ts'

/** A row of HR's table. */
export interface Person extends Held {
  active: boolean
}

type Turn = (process: SimulatedProcess, label: string) => Promise<void>

/** HR's sources, as far as orders of events are concerned: rows, and how often each is away. */
export class SimulatedHr {
  /** By name. */
  readonly people = new Map<string, Person>()
  readonly departments = new Map<string, Department>()
  /** The source that has the rows of an enterprise; of another one, the only source has them. */
  readonly owners = new Map<string, string>()
  /** By source, the enterprises whose rows it delivers, also such as another one has by now. */
  readonly #delivered = new Map<string, Set<string>>()
  /** Of how many of its next readings a source fails. */
  readonly outages = new Map<string, number>()
  readonly #turn: Turn

  /** @param turn resolves when it is HR's turn to answer a process */
  constructor(turn: Turn) {
    this.#turn = turn
  }

  reset(people: Iterable<[string, Person]>, { sources, departmentsOf }: Stage): void {
    this.outages.clear()
    this.#delivered.clear()
    this.assign(sources)
    this.departments.clear()
    for (const enterprise of departmentsOf)
      for (const [code, parent] of Object.entries(TREE))
        this.departments.set(qualified(enterprise, code), { parent, active: true })
    this.people.clear()
    for (const [name, person] of people) this.people.set(name, { ...person })
  }

  /** Enterprises belong to these sources from now on. Those that had them before still deliver their rows, until it is tidied. */
  assign(sources: Stage['sources']): void {
    this.owners.clear()
    for (const { name, codes } of sources) {
      for (const code of codes ?? []) this.owners.set(code, name)
      this.#delivered.set(name, new Set([...(this.#delivered.get(name) ?? []), ...(codes ?? [])]))
    }
  }

  /** No source delivers what belongs to another. */
  tidy(): void {
    for (const [source, codes] of this.#delivered)
      for (const code of codes) if ((this.owners.get(code) ?? source) !== source) codes.delete(code)
  }

  #delivers(source: string, enterprise: string): boolean {
    return source === WHOLE.name || this.#delivered.get(source)?.has(enterprise) === true
  }

  /** The source that has the rows of an employee. */
  sourceOf(name: string): string {
    return this.owners.get(enterpriseOf(name)) ?? ''
  }

  /** A source as a process reads it. */
  as(process: SimulatedProcess, source: string, watcher: Watcher): HrServer {
    return new Server(
      table => this.#rowsOf(table).filter(row => this.#delivers(source, String(row.enterprise_code))),
      async label => {
        await this.#turn(process, `${label} ${source}`)
        const outages = this.outages.get(source) ?? 0
        if (outages === 0) return
        this.outages.set(source, outages - 1)
        throw new HrUnavailableError(message('said.hr_away'))
      },
      watcher,
    )
  }

  /** All sources at once, for one who never waits. */
  watched(): HrServer {
    return new Server(
      table => this.#rowsOf(table),
      async () => {},
      {},
    )
  }

  /** A change after that is not in them. */
  #rowsOf(table: Table): Row[] {
    if (table === 'person')
      return [...this.people].map(([name, person]) => ({
        enterprise_code: enterpriseOf(name),
        userid: keyOf(name),
        ...person,
      }))
    return [...this.departments].map(([name, { parent, active }]) => ({
      enterprise_code: enterpriseOf(name),
      dept_code: keyOf(name),
      parent_code: parent,
      active,
    }))
  }
}

/** Who is told of what is read. */
interface Watcher {
  /** A session has begun. */
  begins?: () => void
  /** All employees are read: these. */
  sees?: (names: string[]) => void
}

class Server implements HrServer {
  readonly kind = 'postgres'
  readonly settings = { url: 'postgres://simulated', files: {} as never, rowLimit: 1_048_576 }
  readonly dialect: Dialect = { beginnings: ['select'], ...POSTGRES_TOKENS }
  readonly reader: HrReader
  readonly #rows: Rows
  readonly #turn: (label: string) => Promise<void>
  readonly #watcher: Watcher

  constructor(rows: Rows, turn: (label: string) => Promise<void>, watcher: Watcher) {
    this.#rows = rows
    this.#turn = turn
    this.#watcher = watcher
    this.reader = this.#reader(rows)
  }

  keyComparison() {
    return { holds: () => true, isExact: false }
  }

  /** A session sees HR as it was when it began. */
  async open(): Promise<HrSession> {
    await this.#turn('a session with HR')
    const seen = { person: this.#rows('person'), department: this.#rows('department') }
    this.#watcher.begins?.()
    const lines = async (query: HrQuery): Promise<HrLines> => {
      const { person } = seen
      this.#watcher.sees?.(person.map(row => qualified(String(row.enterprise_code), String(row.userid))))
      return {
        source: Readable.from([Buffer.from(answer(query, person).map(copyLine).join(''))]),
        failureOf: error => error,
      }
    }
    return { ...this.#reader(table => seen[table]), lines, close: async () => {} }
  }

  tables(): Promise<HrTable[]> {
    return Promise.reject(new Error('nothing of the engine asks for them'))
  }

  facts(): Promise<HrFacts> {
    return Promise.reject(new Error('nothing of the engine asks for them'))
  }

  async close(): Promise<void> {}

  #reader(rows: Rows): HrReader {
    return {
      describe: async ({ sql }) => columnsOf(sql).map(name => ({ name, type: 'text', shape: 'plain' })),
      rows: async query => {
        await this.#turn('a look-up in HR')
        return answer(query, rows(tableOf(query.mapping.sql)))
      },
    }
  }
}

type Row = Record<string, unknown>

type Table = 'person' | 'department'
type Rows = (table: Table) => Row[]

function tableOf(sql: string): Table {
  return sql.endsWith(' department') ? 'department' : 'person'
}

/** The columns of a mapping, which is a SELECT of columns and nothing else. */
function columnsOf(sql: string): string[] {
  return sql.replace(/^select (.*) from .*$/, '$1').split(', ')
}

/** The rows that a query wants, as canonical text. */
function answer({ columns, where = [], counted = false }: HrQuery, rows: Row[]): HrValues[] {
  const found = rows
    .filter(row => where.every(({ column, values }) => values.includes(String(row[column]))))
    .map(row => columns.map(name => printed(row[name])))
  if (!counted) return found
  return [...Map.groupBy(found, row => row.join())].map(([, same]) => [
    ...(same[0] as HrValues),
    String(same.length),
  ])
}

function printed(value: unknown): string | null {
  if (typeof value === 'boolean') return value ? 't' : 'f'
  return value === undefined || value === null ? null : String(value)
}

/** A row in COPY's text format; no value here has a character to escape. */
function copyLine(row: HrValues): string {
  return `${row.map(value => value ?? '\\N').join('\t')}\n`
}
