import { Readable } from 'node:stream'
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
import { type Dialect, POSTGRES_TOKENS } from '../../src/hr/statement.ts'
import { message } from '../../src/texts/message.ts'
import type { Held } from './platform.ts'
import type { SimulatedProcess } from './schedule.ts'

/** A row of HR's table. */
export interface Person extends Held {
  active: boolean
}

const COLUMNS = ['userid', 'name', 'mobile', 'remark', 'dept_code', 'active']

type Turn = (process: SimulatedProcess, label: string) => Promise<void>

/** HR, as far as orders of events are concerned: rows, and how often it is away. */
export class SimulatedHr {
  readonly people = new Map<string, Person>()
  /** How many of the next readings fail. */
  outages = 0
  readonly #turn: Turn

  /** @param turn resolves when it is HR's turn to answer a process */
  constructor(turn: Turn) {
    this.#turn = turn
  }

  reset(people: Iterable<[string, Person]>): void {
    this.outages = 0
    this.people.clear()
    for (const [userid, person] of people) this.people.set(userid, { ...person })
  }

  /** HR as a process reads it; null: as one reads it who never waits. */
  as(process: SimulatedProcess | null): HrServer {
    return new Server(this, async label => {
      if (process === null) return
      await this.#turn(process, label)
      if (this.outages === 0) return
      this.outages -= 1
      throw new HrUnavailableError(message('said.hr_away'))
    })
  }
}

class Server implements HrServer {
  readonly kind = 'postgres'
  readonly settings = { url: 'postgres://simulated', files: {} as never, rowLimit: 1_048_576 }
  readonly dialect: Dialect = { beginnings: ['select'], ...POSTGRES_TOKENS }
  readonly reader: HrReader
  readonly #hr: SimulatedHr
  readonly #turn: (label: string) => Promise<void>

  constructor(hr: SimulatedHr, turn: (label: string) => Promise<void>) {
    this.#hr = hr
    this.#turn = turn
    this.reader = this.#reader(() => hr.people)
  }

  keyComparison() {
    return { holds: () => true, isExact: false }
  }

  /** A session sees HR as it was when it began. */
  async open(): Promise<HrSession> {
    await this.#turn('a session with HR')
    const seen = new Map(this.#hr.people)
    const lines = async (query: HrQuery): Promise<HrLines> => ({
      source: Readable.from([Buffer.from(rowsOf(query, seen).map(copyLine).join(''))]),
      failureOf: error => error,
    })
    return { ...this.#reader(() => seen), lines, close: async () => {} }
  }

  tables(): Promise<HrTable[]> {
    return Promise.reject(new Error('nothing of the engine asks for them'))
  }

  facts(): Promise<HrFacts> {
    return Promise.reject(new Error('nothing of the engine asks for them'))
  }

  async close(): Promise<void> {}

  #reader(people: () => ReadonlyMap<string, Person>): HrReader {
    return {
      describe: async () => COLUMNS.map(name => ({ name, type: 'text', shape: 'plain' })),
      rows: async query => {
        await this.#turn('a look-up in HR')
        return rowsOf(query, people())
      },
    }
  }
}

/** The rows that a query wants, as canonical text. */
function rowsOf({ columns, where = [] }: HrQuery, people: ReadonlyMap<string, Person>): HrValues[] {
  return [...people]
    .map(([userid, person]) => ({ userid, ...person }) as Record<string, unknown>)
    .filter(row =>
      where.every(
        ({ column, values }) => column === 'enterprise_code' || values.includes(String(row[column])),
      ),
    )
    .map(row => columns.map(name => (name === 'enterprise_code' ? '' : printed(row[name]))))
}

function printed(value: unknown): string | null {
  if (typeof value === 'boolean') return value ? 't' : 'f'
  return value === undefined ? null : String(value)
}

/** A row in COPY's text format; no value here has a character to escape. */
function copyLine(row: HrValues): string {
  return `${row.map(value => value ?? '\\N').join('\t')}\n`
}
