import type { SQLInputValue, StatementSync } from 'node:sqlite'
import { BusinessError } from './codes.ts'
import type { Database } from './database.ts'

interface EmployeeAttribute {
  attributeCode: string
  attributeValue: string
}

/** An employee as the platform keeps it; null is a field without a value. */
export interface Employee {
  enterprise_code: string
  userid: string
  corp_code: string | null
  name: string | null
  gender: number | null
  card_type: number | null
  card_no: string | null
  email: string | null
  mobile_area: number | null
  mobile: string | null
  remark: string | null
  dept_code: string | null
  level: string | null
  category: string[] | null
  /** `yyyy-MM-dd`, or `MM-dd` when the year is not known. */
  birth_day: string | null
  entry_day: string | null
  cost_center_id: number | null
  employee_attribute: EmployeeAttribute[] | null
  in_service: boolean
  time_created: string | null
  time_active: string | null
}

/** The fields of an employee that are unique among those in service of an enterprise. */
export type UniqueField = 'corp_code' | 'email' | 'mobile'

const COLUMNS = [
  ...['enterprise_code', 'userid', 'corp_code', 'name', 'gender', 'card_type', 'card_no', 'email'],
  ...['mobile_area', 'mobile', 'remark', 'dept_code', 'level', 'category', 'birth_day', 'entry_day'],
  ...['cost_center_id', 'employee_attribute', 'in_service', 'time_created', 'time_active'],
  ...['corp_code_key', 'email_key'],
]

export class Employees {
  readonly #find: StatementSync
  readonly #list: StatementSync
  readonly #listUserid: StatementSync
  readonly #put: StatementSync
  readonly #holder: Record<UniqueField, StatementSync>
  readonly #strayed: StatementSync

  constructor({ sqlite }: Database) {
    this.#find = sqlite.prepare('select * from employees where enterprise_code = ? and userid = ?')
    this.#list = sqlite.prepare('select * from employees order by enterprise_code, userid')
    this.#listUserid = sqlite.prepare('select * from employees where userid = ? order by enterprise_code')
    // `replace` would silently delete whoever else holds the mobile; an upsert on the key lets that fail.
    this.#put = sqlite.prepare(`
      insert into employees (${COLUMNS.join(', ')}) values (${COLUMNS.map(() => '?').join(', ')})
      on conflict (enterprise_code, userid) do update set
      ${COLUMNS.slice(2)
        .map(column => `${column} = excluded.${column}`)
        .join(', ')}`)
    const holder = (condition: string) =>
      sqlite.prepare(`select * from employees where enterprise_code = ? and ${condition} and in_service = 1`)
    this.#holder = {
      corp_code: holder('corp_code_key = ?'),
      email: holder('email_key = ?'),
      mobile: holder('mobile = ?'),
    }
    this.#strayed = sqlite.prepare(`
      select userid, dept_code from employees employee where dept_code is not null and not exists (
        select 1 from departments where departments.enterprise_code = employee.enterprise_code
        and departments.dept_code = employee.dept_code) limit 1`)
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
    const { enterprise_code, corp_code, email, mobile } = employee
    let row: Record<string, unknown> | undefined
    if (field === 'mobile') row = this.#holder.mobile.get(enterprise_code, mobile)
    else if (field === 'email') row = this.#holder.email.get(enterprise_code, key(email))
    else row = this.#holder.corp_code.get(enterprise_code, key(corp_code))
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
    this.#put.run(...toColumns(employee))
  }

  /** An employee in a department that does not exist, if there is one. */
  strayed(): { userid: string; dept_code: string } | undefined {
    return this.#strayed.get() as { userid: string; dept_code: string } | undefined
  }
}

function key(text: string | null): string | null {
  return text === null ? null : text.toLowerCase()
}

function toColumns(employee: Employee): SQLInputValue[] {
  const row: Record<string, unknown> = {
    ...employee,
    category: employee.category && JSON.stringify(employee.category),
    employee_attribute: employee.employee_attribute && JSON.stringify(employee.employee_attribute),
    in_service: Number(employee.in_service),
    corp_code_key: key(employee.corp_code),
    email_key: key(employee.email),
  }
  return COLUMNS.map(column => row[column] as SQLInputValue)
}

function toEmployee(row: Record<string, unknown>): Employee {
  const { corp_code_key, email_key, ...employee } = row as unknown as Employee & Record<string, unknown>
  return {
    ...employee,
    category: row.category === null ? null : JSON.parse(row.category as string),
    employee_attribute: row.employee_attribute === null ? null : JSON.parse(row.employee_attribute as string),
    in_service: row.in_service === 1,
  }
}
