import { hash } from 'node:crypto'
import type { Database, Statement, Stored } from './database.ts'
import { BusinessError } from './errors.ts'
import type { Employee, OpenId } from './seed.ts'

/** The fields of an employee that are unique among those in service of an enterprise. */
export type UniqueField = 'corp_code' | 'email' | 'mobile'

/** Work number and e-mail as they are compared: in lower case. */
interface EmployeeKeys {
  corp_code_key: string | null
  email_key: string | null
}

type EmployeeRow = Stored<Employee> & EmployeeKeys

export class Employees {
  readonly #find: Statement<EmployeeRow>
  readonly #list: Statement<EmployeeRow>
  readonly #listUserid: Statement<EmployeeRow>
  readonly #put: (employee: Employee & EmployeeKeys) => void
  readonly #holder: Record<UniqueField, Statement<EmployeeRow>>
  readonly #strayed: Statement<{ userid: string; dept_code: string }>

  constructor(database: Database) {
    this.#find = database.prepare('select * from employees where enterprise_code = ? and userid = ?')
    this.#list = database.prepare('select * from employees order by enterprise_code, userid')
    this.#listUserid = database.prepare('select * from employees where userid = ? order by enterprise_code')
    this.#put = database.writer('employees')
    const holder = (column: string) =>
      database.prepare<EmployeeRow>(
        `select * from employees where enterprise_code = ? and ${column} = ? and in_service = 1`,
      )
    this.#holder = {
      corp_code: holder('corp_code_key'),
      email: holder('email_key'),
      mobile: holder('mobile'),
    }
    this.#strayed = database.prepare(`
      select userid, dept_code from employees
      where dept_code is not null and not exists (
        select 1 from departments
        where departments.enterprise_code = employees.enterprise_code
          and departments.dept_code = employees.dept_code)
      limit 1`)
  }

  find(enterpriseCode: string, userid: string): Employee | undefined {
    const row = this.#find.get(enterpriseCode, userid)
    return row && toEmployee(row)
  }

  /** The employee in service; throws 1000220096 for an unknown userid, 1000220102 for one out of service. */
  require(enterpriseCode: string, userid: string): Employee {
    const employee = this.find(enterpriseCode, userid)
    if (employee === undefined) throw new BusinessError('useridUnknown')
    if (!employee.in_service) throw new BusinessError('employeeMissing')
    return employee
  }

  /** Who in service holds the value that `employee` has in a unique field; letter case and area code do not matter. */
  holder(field: UniqueField, employee: Employee): Employee | undefined {
    const value = field === 'mobile' ? employee.mobile : key(employee[field])
    const row = this.#holder[field].get(employee.enterprise_code, value)
    return row && toEmployee(row)
  }

  findByEmail(enterpriseCode: string, email: string): Employee | undefined {
    const row = this.#holder.email.get(enterpriseCode, key(email))
    return row && toEmployee(row)
  }

  findByMobile(enterpriseCode: string, mobileArea: number, mobile: string): Employee | undefined {
    const row = this.#holder.mobile.get(enterpriseCode, mobile)
    return row?.mobile_area === mobileArea ? toEmployee(row) : undefined
  }

  /** Every employee, in service or not; with `userid`, those of that id (one per enterprise). */
  list(userid?: string): Employee[] {
    return (userid === undefined ? this.#list.all() : this.#listUserid.all(userid)).map(toEmployee)
  }

  put(employee: Employee): void {
    this.#put({ ...employee, corp_code_key: key(employee.corp_code), email_key: key(employee.email) })
  }

  /** An employee in a department that does not exist, if there is one. */
  strayed(): { userid: string; dept_code: string } | undefined {
    return this.#strayed.get()
  }
}

function key(text: string | null): string | null {
  return text === null ? null : text.toLowerCase()
}

function toEmployee({ corp_code_key, email_key, ...row }: EmployeeRow): Employee {
  return {
    ...row,
    category: row.category === null ? null : JSON.parse(row.category),
    employee_attribute: row.employee_attribute === null ? null : JSON.parse(row.employee_attribute),
    in_service: row.in_service === 1,
  }
}

/** The open ids by which merchants know employees (section 2.4). */
export class OpenIds {
  readonly #find: Statement<{ open_userid: string }>
  readonly #list: Statement<OpenId>
  readonly #listUserid: Statement<OpenId>
  readonly put: (openid: OpenId) => void

  constructor(database: Database) {
    this.#find = database.prepare(
      'select open_userid from openids where enterprise_code = ? and userid = ? and seller_appid = ?',
    )
    this.#list = database.prepare('select * from openids order by enterprise_code, userid, seller_appid')
    this.#listUserid = database.prepare(
      'select * from openids where userid = ? order by enterprise_code, seller_appid',
    )
    this.put = database.writer('openids')
  }

  /**
   * The open id of an employee for a merchant, made on the first call. It is derived from the key, so that two emulators
   * (or one that was reset) give the same.
   */
  bind(enterprise_code: string, userid: string, seller_appid: string): string {
    const existing = this.#find.get(enterprise_code, userid, seller_appid)
    if (existing !== undefined) return existing.open_userid
    const open_userid = derivedId(JSON.stringify([enterprise_code, userid, seller_appid]))
    this.put({ enterprise_code, userid, seller_appid, open_userid })
    return open_userid
  }

  list(userid?: string): OpenId[] {
    return userid === undefined ? this.#list.all() : this.#listUserid.all(userid)
  }
}

/** An id that is always the same for the same text. */
export function derivedId(text: string): string {
  return hash('sha256', text, 'hex').slice(0, 32)
}
