import type { Database, Statement, Stored } from './database.ts'
import { BusinessError } from './errors.ts'
import type { Department } from './seed.ts'

/** The attribute code that stands for every one, in an enterprise whose back office has them all enabled. */
export const EVERY_ATTRIBUTE = '*'

/** What an enterprise has switched on in its back office. */
export interface Features {
  level: boolean
  category: boolean
  /** The enabled attribute codes. */
  employee_attribute: string[]
}

interface Enterprise {
  enterprise_code: string
  features: Features
}

const ALL_ON: Features = { level: true, category: true, employee_attribute: [EVERY_ATTRIBUTE] }

type EnterpriseRow = { enterprise_code: string } & Stored<Features>

/**
 * The enterprises that are bound to the application. The single enterprise, code '', is always one of them; with `strict`, not
 * where it holds nothing and others are bound: a call without enterprise_code has then forgotten it.
 */
export class Enterprises {
  readonly #find: Statement<EnterpriseRow>
  readonly #list: Statement<EnterpriseRow>
  readonly #put: (row: { enterprise_code: string } & Features) => void
  readonly #group: Statement<object>
  readonly #strict: boolean

  constructor(database: Database, strict: boolean) {
    this.#strict = strict
    this.#group = database.prepare(`
      select 1 from enterprises
      where enterprise_code <> ''
        and not exists (select 1 from employees where enterprise_code = '')
        and not exists (select 1 from accounts where enterprise_code = '')
        and not exists (select 1 from orders where enterprise_code = '')
      limit 1`)
    this.#find = database.prepare('select * from enterprises where enterprise_code = ?')
    this.#list = database.prepare('select * from enterprises order by enterprise_code')
    this.#put = database.writer('enterprises')
  }

  /** The features of the enterprise a call names; throws 1000240002 for one that is not bound. */
  require(enterpriseCode: string): Features {
    const row = this.#find.get(enterpriseCode)
    if (row !== undefined) return toEnterprise(row).features
    if (enterpriseCode === '' && !(this.#strict && this.#group.get())) return ALL_ON
    throw new BusinessError('enterprise')
  }

  list(): Enterprise[] {
    return this.#list.all().map(toEnterprise)
  }

  put({ enterprise_code, features }: Enterprise): void {
    this.#put({ enterprise_code, ...features })
  }

  /** Makes sure that the enterprise is bound; a new one has every feature on. */
  register(enterpriseCode: string): void {
    if (this.#find.get(enterpriseCode) === undefined)
      this.put({ enterprise_code: enterpriseCode, features: ALL_ON })
  }
}

function toEnterprise(row: EnterpriseRow): Enterprise {
  return {
    enterprise_code: row.enterprise_code,
    features: {
      level: row.level === 1,
      category: row.category === 1,
      employee_attribute: JSON.parse(row.employee_attribute),
    },
  }
}

/** What became of the rest of the directory when a department was deleted. */
interface DeletionEffect {
  employees_left_without_department: number
  children_left_without_parent: number
}

export class Departments {
  readonly put: (department: Department) => void
  readonly #find: Statement<Stored<Department>>
  readonly #elsewhere: Statement<object>
  readonly #list: Statement<Stored<Department>>
  readonly #dangling: Statement<{ dept_code: string; parent_code: string }>
  readonly #delete: Statement<never>
  readonly #releaseEmployees: Statement<never>
  readonly #releaseChildren: Statement<never>
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
    this.put = database.writer('departments')
    this.#find = database.prepare('select * from departments where enterprise_code = ? and dept_code = ?')
    this.#elsewhere = database.prepare('select 1 from departments where dept_code = ? limit 1')
    this.#list = database.prepare('select * from departments order by enterprise_code, dept_code')
    this.#dangling = database.prepare(`
      select dept_code, parent_code from departments child
      where parent_code is not null and not exists (
        select 1 from departments parent
        where parent.enterprise_code = child.enterprise_code and parent.dept_code = child.parent_code)
      limit 1`)
    this.#delete = database.prepare('delete from departments where enterprise_code = ? and dept_code = ?')
    this.#releaseEmployees = database.prepare(
      'update employees set dept_code = null where enterprise_code = ? and dept_code = ?',
    )
    this.#releaseChildren = database.prepare(
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

  /** A department whose parent does not exist, if there is one. */
  dangling(): { dept_code: string; parent_code: string } | undefined {
    return this.#dangling.get()
  }

  /**
   * Deletes a department (section 4.6). Throws, in this order, 1002200106 for a department of another
   * enterprise, 1000220010 for one that does not exist, 1002212002 for the base department.
   *
   * The specification is silent about a department that still has employees or children. It is deleted as
   * asked: its employees, in service or not, then have no department, and its children no parent. The effect is
   * returned and shown in the call log.
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
        employees_left_without_department: this.#releaseEmployees.run(enterpriseCode, deptCode),
        children_left_without_parent: this.#releaseChildren.run(enterpriseCode, deptCode),
      }
    })
  }
}

function toDepartment(row: Stored<Department>): Department {
  return { ...row, base: row.base === 1 }
}
