import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { pino } from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import type { EmployeeKey } from '../../../src/directory/employee.ts'
import type { HrServer } from '../../../src/hr/server.ts'
import { type HrScan, HrSource } from '../../../src/hr/source.ts'
import type { Tag } from '../../helpers/programs.ts'

/*
 * What a kind of HR server brings along to be put through the contract. test/hr/postgres/contract.test.ts is the example;
 * docs/decisions/0025-hr-sources.md tells what a new kind has to write.
 */

/** A type of column that every kind has in one form or another; `key` is a short text with an index on it. */
export type ColumnType =
  | 'key'
  | 'text'
  | 'integer'
  | 'decimal'
  | 'double'
  | 'boolean'
  | 'date'
  | 'timestamp'
  | 'moment'
  | 'json'
  | 'texts'

/** A value in a form that no kind need share: numbers as digits, moments as ISO 8601 in UTC, an array for `texts`. */
export type Cell = string | null | readonly (string | null)[]

export type Columns = Record<string, ColumnType>

/** Something that a kind may be unable to do or to be: column types, and these. */
export type Ability =
  | ColumnType
  | 'character 0'
  | 'dates before 1000'
  | 'summer time'
  | 'order'
  | 'index'
  | 'connections'
  | 'restart'
  | 'logins'
  | 'databases'
  | 'rights'
  | 'slow SELECT'
  | 'failing value'
  | 'writing SELECT'
  | 'place of a name'

/** A server, or what stands for one, with HR in it. */
export interface SourceUnderTest extends AsyncDisposable {
  /** Address of a user who may read every table and nothing else. */
  readonly url: string
  /** The server at an address; the caller closes it. */
  serverAt(url: string): HrServer
  /** Makes a table, in place of one of that name. Returns how a mapping names it. */
  table(name: string, columns: Columns, rows: readonly Cell[][]): Promise<string>
  /** Replaces the rows of a table, all at once, even while it is read. */
  replaceRows(name: string, rows: readonly Cell[][]): Promise<void>
  /** What a mapping selects from to get a column `n` with the numbers from 1 on, made as they are read. */
  numbers(count: number): string

  /** How many connections the user of `url` has. */
  connections(): Promise<number>
  /** Whether the server waits until its output is read. */
  isHeldBack(): Promise<boolean>
  /** Has the server end the connections of that user. */
  endConnections(): Promise<void>
  /** Stops the server without notice, and starts it again at the same address. */
  restart(): Promise<void>
  /** How many rows of a table were read since it was made, once no client is connected any more. */
  rowsRead(table: string): Promise<number>
  /** Takes the right to read a table away. */
  forbid(table: string): Promise<void>
  /** Lets the user of `url` write to a table. */
  allowWriting(table: string): Promise<void>
  /** Whether what `writingSelect` would write has been written. */
  hasWritten(): Promise<boolean>
}

/** A kind of server, in its own words. */
export interface KindUnderTest {
  name: string
  /** Of a program that its server needs. */
  tags?: Tag
  open(): Promise<SourceUnderTest>
  /** What it cannot do, and why: those tests are skipped, and say so. */
  cannot: Partial<Record<Ability, string>>
  /** Addresses at which nothing can be read. */
  wrong: {
    /** Nothing listens there. */
    address: string
    password?(url: string): string
    database?(url: string): string
  }
  /** Values of types that other kinds do not have: an SQL expression, the column it is mapped to, and its canonical text. */
  ownValues: [expression: string, column: string, text: string | null][]
  /** SELECTs that the server refuses, with what the message has to say; `staff` is a table with the columns id and nick. */
  mistakes: [sql: (staff: string) => string, message: string | RegExp][]
  /** An expression that takes a minute, as text. */
  slow: string
  /** An expression that fails for the text in a column where it is `secret-7`, and takes `1`. */
  failing(column: string): string
  /** A SELECT of userid and name that would write. */
  writingSelect: string
  /** A mapping's text that ends the SELECT around it and goes on with another statement. */
  secondStatement: string
}

/** A kind that is being tested. */
export class Contract {
  readonly kind: KindUnderTest
  #place: SourceUnderTest | undefined

  constructor(kind: KindUnderTest) {
    this.kind = kind
  }

  async open(): Promise<void> {
    this.#place = await this.kind.open()
  }

  async close(): Promise<void> {
    await this.#place?.[Symbol.asyncDispose]()
  }

  get place(): SourceUnderTest {
    if (!this.#place) throw new Error('the source is opened before its tests')
    return this.#place
  }

  /** A test that needs something which not every kind has. */
  test(needs: Ability | Ability[], name: string, run: () => Promise<void>): void {
    const missing = [needs].flat().find(ability => this.kind.cannot[ability] !== undefined)
    if (missing === undefined) test(name, run)
    else test.skip(`${name} (not here: ${this.kind.cannot[missing]})`, run)
  }

  /** A source over mapping texts that is closed with the test. */
  source(
    employees: string,
    options: { departments?: string; defaultEnterpriseCode?: string; url?: string } = {},
  ): HrSource {
    const { departments, defaultEnterpriseCode, url = this.place.url } = options
    const source = new HrSource({
      server: this.place.serverAt(url),
      employeesSql: { file: 'employees.sql', sql: employees },
      departmentsSql: departments === undefined ? null : { file: 'departments.sql', sql: departments },
      ...(defaultEnterpriseCode === undefined ? {} : { defaultEnterpriseCode }),
      logger: pino({ level: 'silent' }),
    })
    onTestFinished(() => source.close())
    return source
  }

  /** Waits until nothing of dirsync is left on the server. */
  async gone(): Promise<void> {
    await expect.poll(() => this.place.connections()).toBe(0)
  }
}

export const key = (userid: string, enterpriseCode = ''): EmployeeKey => ({ enterpriseCode, userid })

/** The lines of a scan, read to its end. */
export async function linesOf(scan: HrScan): Promise<string[]> {
  const lines = (await text(scan.stream)).split('\n')
  expect(lines.pop()).toBe('')
  return lines
}

/** Begins to read a scan, and stops with the first bytes. */
export async function begin(scan: HrScan): Promise<void> {
  await once(scan.stream, 'readable')
}

/** Resolves with the error that something fails with. */
export async function errorOf(work: Promise<unknown>): Promise<Error> {
  return work.then(
    () => {
      throw new Error('it did not fail')
    },
    error => error,
  )
}

/** Resolves with what ends a scan; its rows are thrown away. */
export function failureOf(scan: HrScan): Promise<Error> {
  return errorOf(
    (async () => {
      for await (const _ of scan.stream);
    })(),
  )
}
