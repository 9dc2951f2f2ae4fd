import { DatabaseSync, type StatementSync } from 'node:sqlite'
import type { EmployeeKey } from '../directory/employee.ts'
import { normaliseMobile, normaliseMobileArea, RuleBreak } from '../directory/field-rules.ts'
import { smallHash } from '../directory/hash.ts'
import type { HrEmployeeRow } from '../hr/source.ts'
import { toHalfWidth, withoutBlanks } from '../lib/text.ts'
import { SAMPLES } from './columns.ts'

/**
 * Values that should be one employee's own, and are not: exactly the same for several, or differing in nothing but how they
 * are written. Hashes of them go into a database of SQLite without a name: a temporary file that is nobody else's and is
 * gone with the process, so that a million employees need little more memory than a thousand, and no other database.
 */

/** What the platform wants to be unique within an enterprise; `userid` is the identity itself. */
export const UNIQUE_COLUMNS = ['userid', 'mobile', 'email', 'corp_code', 'card_no'] as const
export type UniqueColumn = (typeof UNIQUE_COLUMNS)[number]

/** What was found in one column. */
export interface Likeness {
  column: UniqueColumn
  /** Values that several rows have. */
  same: Groups
  /** Values that are the same but for blanks, width, case, separators or +86. */
  alike: Groups
}

interface Groups {
  groups: number
  /** Employees of some groups, a few of each. */
  samples: EmployeeKey[][]
}

const SEPARATORS = /[\p{Pd}\u2212.()/]/gu

/** How a value reads once it no longer matters how it is written; null where there is none. */
export function foldedValue(column: UniqueColumn, row: HrEmployeeRow): string | null {
  const plain = withoutBlanks(toHalfWidth(row[column] ?? '')).toLowerCase()
  if (plain === '') return null
  if (column === 'mobile') return foldedMobile(row) ?? plain.replace(SEPARATORS, '')
  return column === 'card_no' ? plain.replace(SEPARATORS, '') : plain
}

/** Area code and number; null where they break a rule. */
function foldedMobile({ mobile, mobile_area }: HrEmployeeRow): string | null {
  const area = normaliseMobileArea(mobile_area ?? '')
  if (area instanceof RuleBreak) return null
  const number = normaliseMobile(mobile ?? '', area)
  return number === null || number instanceof RuleBreak ? null : `${number.area} ${number.mobile}`
}

/** Rows that are written in one transaction. */
const BATCH = 100_000

/** Collects the values of all rows, and finds those that are alike. */
export class LikenessCollector implements Disposable {
  readonly #db = new DatabaseSync('')
  readonly #columns: readonly UniqueColumn[]
  readonly #seed: number
  readonly #addEmployee: StatementSync
  readonly #addValue: Map<UniqueColumn, StatementSync>
  #rows = 0

  /** @param columns that are mapped @param seed of this process: without it, hashes tell nothing about values */
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

  /** @param isActive of one who has left, the user id alone counts */
  add(row: HrEmployeeRow, isActive: boolean): void {
    const enterprise = row.enterprise_code ?? ''
    this.#rows += 1
    this.#addEmployee.run(this.#rows, enterprise, row.userid ?? '')
    const hash = (value: string) => smallHash(`${enterprise}\0${value}`, this.#seed)
    const holder = hash(row.userid ?? '')
    for (const column of this.#columns) {
      const folded = isActive || column === 'userid' ? foldedValue(column, row) : null
      if (folded === null) continue
      this.#addValue.get(column)?.run(hash(folded), hash(row[column] ?? ''), holder, this.#rows)
    }
    if (this.#rows % BATCH === 0) this.#db.exec('commit; begin')
  }

  /** Those columns in which something was found. */
  result(): Likeness[] {
    this.#db.exec('commit')
    return this.#columns
      .map(column => {
        // An employee whom HR delivers twice shares nothing with others, but is one key too many.
        const holders = column === 'userid' ? '*' : 'distinct holder'
        this.#db.exec(
          `create table ${column}_group as
           select folded, count(${holders}) as n, count(distinct written) as writings, min(row) as first
           from ${column} group by folded having count(${holders}) > 1`,
        )
        // One value twice, beside another writing of it, is both.
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
