import type { ClientBase, Pool } from 'pg'
import type { EmployeeField, EmployeeKey } from '../core/employee.ts'

/** Employees known by these names: a user id, or `enterprise/userid`. */
export async function findEmployees(db: ClientBase | Pool, names: string[]): Promise<EmployeeKey[]> {
  const { rows } = await db.query<EmployeeKey>(
    `select enterprise_code as "enterpriseCode", userid from dirsync.employee
     where userid = any ($1) or enterprise_code || '/' || userid = any ($1) order by 1, 2`,
    [names],
  )
  return rows
}

/** The enterprise codes in use, the deployment's own among them. */
export async function enterpriseCodes(db: ClientBase | Pool, own: string): Promise<string[]> {
  const { rows } = await db.query(
    `select $1::text as code union select distinct enterprise_code from dirsync.employee order by 1`,
    [own],
  )
  return rows.map(row => row.code)
}

/**
 * Marks fields of which nobody knows what the platform holds until an attempt confirms them: no value has this hash, so
 * they differ from whatever HR says.
 */
export async function doubtFields(db: Pool, key: EmployeeKey, fields: EmployeeField[]): Promise<void> {
  await db.query(
    `update dirsync.employee set acknowledged = acknowledged || $3 where enterprise_code = $1 and userid = $2`,
    [key.enterpriseCode, key.userid, JSON.stringify(Object.fromEntries(fields.map(field => [field, '?'])))],
  )
}
