import { DatabaseSync, type StatementSync } from 'node:sqlite'
import type { EmployeeKey } from '../directory/employee.ts'
import { normaliseMobile, normaliseMobileArea, RuleBreak } from '../directory/field-rules.ts'
import { smallHash } from '../directory/hash.ts'
import type { HrEmployeeRow } from '../hr/source.ts'
import { toHalfWidth, withoutBlanks } from '../lib/text.ts'
import { SAMPLES } from './columns.ts'

/**
 * Finds values that should be unique to an employee but are not: identical, or differing only in their spelling. Hashes of the
 * candidates go into an unnamed SQLite database: a private temporary file that is gone with the process, so that a million
 * employees need little more memory than a thousand, and no other database.
 */

/** Columns that the platform wants to be unique within an enterprise; `userid` is the identity itself. */
export const UNIQUE_COLUMNS = ['userid', 'mobile', 'email', 'corp_code', 'card_no'] as const
export type UniqueColumn = (typeof UNIQUE_COLUMNS)[number]

/** The findings of one column. */
export interface Likeness {
  column: UniqueColumn
  /** Values that several rows have. */
  same: Groups
  /** Values that are the same except for blanks, width, case, separators or an area code. */
  alike: Groups
}

interface Groups {
  groups: number
  /** Employees of some groups, a few of each. */
  samples: EmployeeKey[][]
}

const SEPARATORS = /[\p{Pd}\u2212.()/]/gu

/** A value normalised for spelling; null without one. */
export function foldedValue(column: UniqueColumn, row: HrEmployeeRow): string | null {
  const value = row[column] ?? ''
  if (value === '') return null
  const number = column === 'mobile' ? foldedMobile(row) : null
  if (number !== null) return number
  const plain = withoutBlanks(toHalfWidth(value)).toLowerCase()
  if (plain === '') return null
  return column === 'mobile' || column === 'card_no' ? plain.replace(SEPARATORS, '') : plain
}

/** The number, which is one employee's whatever its area code (section 2.3); null where one of them breaks a rule. */
function foldedMobile({ mobile, mobile_area }: HrEmployeeRow): string | null {
  const area = normaliseMobileArea(mobile_area ?? '')
  if (area instanceof RuleBreak) return null
  const number = normaliseMobile(mobile ?? '', area)
  return number === null || number instanceof RuleBreak ? null : number.mobile
}

/**
 * The hash of a normalised value within its enterprise; null without one.
 * @param isActive for a leaver, only the user id counts
 */
function foldedHash(
  column: UniqueColumn,
  row: HrEmployeeRow,
  isActive: boolean,
  seed: number,
): number | null {
  const folded = isActive || column === 'userid' ? foldedValue(column, row) : null
  return folded === null ? null : smallHash(folded, seed, `${row.enterprise_code ?? ''}\0`)
}

/**
 * A first pass, which finds the rows that may share a value: usually few, so that only these are worth a row in a database. It
 * keeps eight bytes of each value.
 */
export class SharedHashes {
  #columns: readonly UniqueColumn[]
  readonly #seed: number
  readonly #hashes: Map<UniqueColumn, Numbers>
  readonly #shared = new Map<UniqueColumn, Set<number>>()

  /** @param columns that are mapped @param seed of this process */
  constructor(columns: readonly UniqueColumn[], seed: number) {
    this.#columns = columns
    this.#seed = seed
    this.#hashes = new Map(columns.map(column => [column, new Numbers()]))
  }

  add(row: HrEmployeeRow, isActive: boolean): void {
    for (const [column, hashes] of this.#hashes) {
      const hash = foldedHash(column, row, isActive, this.#seed)
      if (hash !== null) hashes.add(hash)
    }
  }

  /** Whether any value may be shared, once all rows were added. */
  seal(): boolean {
    for (const [column, hashes] of this.#hashes) {
      const shared = hashes.takeShared()
      if (shared.size > 0) this.#shared.set(column, shared)
    }
    this.#hashes.clear()
    this.#columns = this.#columns.filter(column => this.#shared.has(column))
    return this.#shared.size > 0
  }

  /** Whether a row may share one of its values. */
  has(row: HrEmployeeRow, isActive: boolean): boolean {
    return this.#columns.some(column => {
      const hash = foldedHash(column, row, isActive, this.#seed)
      return hash !== null && this.#shared.get(column)?.has(hash)
    })
  }
}

/** Numbers in blocks: they grow without being copied. */
class Numbers {
  readonly #blocks: Float64Array<ArrayBuffer>[] = []
  #block = new Float64Array(0)
  #used = 0

  add(number: number): void {
    if (this.#used === this.#block.length) {
      this.#block = new Float64Array(BLOCK)
      this.#blocks.push(this.#block)
      this.#used = 0
    }
    this.#block[this.#used] = number
    this.#used += 1
  }

  /** Returns those that occur more than once, and clears the collection. */
  takeShared(): Set<number> {
    const blocks = this.#blocks.splice(0)
    const all = new Float64Array(blocks.length * BLOCK)
    const count = all.length - this.#block.length + this.#used
    for (const [i, block] of blocks.entries()) {
      all.set(block, i * BLOCK)
      // Freed at once rather than at the next garbage collection.
      block.buffer.transfer(0)
    }
    const sorted = all.subarray(0, count)
    // Non-negative numbers sort like their bits, which takes half the time.
    new BigUint64Array(all.buffer, 0, count).sort()
    const shared = new Set<number>()
    for (let i = 1; i < sorted.length; i++) if (sorted[i] === sorted[i - 1]) shared.add(sorted[i] as number)
    all.buffer.transfer(0)
    return shared
  }
}

/** Numbers per block. */
const BLOCK = 65_536

/** Rows per transaction. */
const BATCH = 100_000

/** Collects the values of all rows, and finds shared ones. */
export class LikenessCollector implements Disposable {
  readonly #db = new DatabaseSync('')
  readonly #columns: readonly UniqueColumn[]
  readonly #seed: number
  readonly #addEmployee: StatementSync
  readonly #addValue: Map<UniqueColumn, StatementSync>
  #rows = 0

  /** @param columns that are mapped @param seed of this process: without it, hashes reveal nothing about values */
  constructor(columns: readonly UniqueColumn[], seed: number) {
    this.#columns = columns
    this.#seed = seed
    this.#db.exec(`pragma journal_mode = off; pragma synchronous = off; pragma cache_size = -8000;
      create table employee (row integer primary key, enterprise_code text, userid text)`)
    for (const column of columns)
      this.#db.exec(`create table ${column} (folded integer, written integer, holder integer, row integer)`)
    this.#addEmployee = this.#db.prepare('insert into employee values (?, ?, ?)')
    this.#addValue = new Map(
      columns.map(column => [column, this.#db.prepare(`insert into ${column} values (?, ?, ?, ?)`)]),
    )
    this.#db.exec('begin')
  }

  /** @param isActive for a leaver, only the user id counts */
  add(row: HrEmployeeRow, isActive: boolean): void {
    const enterprise = row.enterprise_code ?? ''
    this.#rows += 1
    this.#addEmployee.run(this.#rows, enterprise, row.userid ?? '')
    const hash = (value: string) => smallHash(value, this.#seed, `${enterprise}\0`)
    const holder = hash(row.userid ?? '')
    for (const [column, statement] of this.#addValue) {
      const folded = foldedHash(column, row, isActive, this.#seed)
      if (folded !== null) statement.run(folded, hash(row[column] ?? ''), holder, this.#rows)
    }
    if (this.#rows % BATCH === 0) this.#db.exec('commit; begin')
  }

  /** The columns with findings. */
  result(): Likeness[] {
    this.#db.exec('commit')
    return this.#columns
      .map(column => {
        // An employee whom HR delivers twice shares nothing with others, but is a duplicate key.
        const holders = column === 'userid' ? '*' : 'distinct holder'
        this.#db.exec(
          `create table ${column}_group as
           select folded, count(${holders}) as n, count(distinct written) as writings, min(row) as first
           from ${column} group by folded having count(${holders}) > 1`,
        )
        // A value that occurs twice, beside another spelling of it, counts as both.
        return {
          column,
          same: this.#groups(column, 'n > writings'),
          alike: this.#groups(column, 'writings > 1'),
        }
      })
      .filter(({ same, alike }) => same.groups + alike.groups > 0)
  }

  [Symbol.dispose](): void {
    this.#db.close()
  }

  #groups(column: UniqueColumn, condition: string): Groups {
    const { groups } = this.#db
      .prepare(`select count(*) as groups from ${column}_group where ${condition}`)
      .get() as { groups: number }
    const some = this.#db
      .prepare(`select folded from ${column}_group where ${condition} order by first limit ${SAMPLES}`)
      .all() as { folded: number }[]
    const members = this.#db.prepare(
      `select e.enterprise_code as enterpriseCode, e.userid from ${column} v join employee e on e.row = v.row
       where v.folded = ? group by v.holder, v.written order by min(v.row) limit ${SAMPLES}`,
    )
    return {
      groups,
      samples: some.map(({ folded }) =>
        (members.all(folded) as unknown as EmployeeKey[]).map(({ enterpriseCode, userid }) => ({
          enterpriseCode,
          userid,
        })),
      ),
    }
  }
}
