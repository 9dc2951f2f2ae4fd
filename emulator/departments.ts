import type { StatementSync } from 'node:sqlite'
import { BusinessError } from './codes.ts'
import type { Database } from './database.ts'

interface Department {
  enterprise_code: string
  dept_code: string
  dept_name: string
  parent_code: string | null
  /** The base (root) department of the enterprise, which cannot be deleted. */
  base: boolean
}

/** What became of the rest of the directory when a department was deleted. */
interface DeletionEffect {
  employees_left_without_department: number
  children_left_without_parent: number
}

export class Departments {
  readonly #find: StatementSync
  readonly #elsewhere: StatementSync
  readonly #list: StatementSync
  readonly #put: StatementSync
  readonly #dangling: StatementSync
  readonly #delete: StatementSync
  readonly #releaseEmployees: StatementSync
  readonly #releaseChildren: StatementSync
  readonly #database: Database

  constructor(database: Database) {
    const { sqlite } = database
    this.#database = database
    this.#find = sqlite.prepare('select * from departments where enterprise_code = ? and dept_code = ?')
    this.#elsewhere = sqlite.prepare('select 1 from departments where dept_code = ? limit 1')
    this.#list = sqlite.prepare('select * from departments order by enterprise_code, dept_code')
    this.#put = sqlite.prepare('insert or replace into departments values (?, ?, ?, ?, ?)')
    this.#dangling = sqlite.prepare(`
      select dept_code, parent_code from departments child where parent_code is not null and not exists (
        select 1 from departments parent
        where parent.enterprise_code = child.enterprise_code and parent.dept_code = child.parent_code) limit 1`)
    this.#delete = sqlite.prepare('delete from departments where enterprise_code = ? and dept_code = ?')
    this.#releaseEmployees = sqlite.prepare(
      'update employees set dept_code = null where enterprise_code = ? and dept_code = ?',
    )
    this.#releaseChildren = sqlite.prepare(
      'update departments set parent_code = null where enterprise_code = ? and parent_code = ?',
    )
  }

  find(enterpriseCode: string, deptCode: string): Department | undefined {
    const row = this.#find.get(enterpriseCode, deptCode)
    return row && toDepartment(row)
  }

  list(): Department[] {
    return this.#list.all().map(toDepartment)
  }

  put(department: Department): void {
    const { enterprise_code, dept_code, dept_name, parent_code, base } = department
    this.#put.run(enterprise_code, dept_code, dept_name, parent_code, Number(base))
  }

  /** A department whose parent does not exist, if there is one. */
  dangling(): { dept_code: string; parent_code: string } | undefined {
    return this.#dangling.get() as { dept_code: string; parent_code: string } | undefined
  }

  /**
   * Deletes a department (specification 4.6). Throws, in this order, 1002200106 for a department of another
   * enterprise, 1000220010 for one that does not exist, 1002212002 for the base department.
   *
   * The specification is silent about a department that still has employees or children. It is deleted as
   * asked: its employees, in service or not, keep no department, and its children no parent. The effect is
   * returned, and stands in the call log.
   */
  delete(enterpriseCode: string, deptCode: string): DeletionEffect {
    const department = this.find(enterpriseCode, deptCode)
    if (department === undefined) {
      throw new BusinessError(this.#elsewhere.get(deptCode) ? 'noPermission' : 'departmentMissing')
    }
    if (department.base) throw new BusinessError('baseDepartment')
    return this.#database.transaction(() => {
      this.#delete.run(enterpriseCode, deptCode)
      return {
        employees_left_without_department: Number(
          this.#releaseEmployees.run(enterpriseCode, deptCode).changes,
        ),
        children_left_without_parent: Number(this.#releaseChildren.run(enterpriseCode, deptCode).changes),
      }
    })
  }
}

function toDepartment(row: Record<string, unknown>): Department {
  return { ...(row as unknown as Department), base: row.base === 1 }
}
