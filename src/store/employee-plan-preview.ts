import type { ClientBase } from 'pg'
import type { EmployeeKey } from '../core/employee.ts'

/** Keys of the active employees that are staged and compared, without those that are skipped, inside the same transaction. */
export async function stagedEmployees(db: ClientBase): Promise<EmployeeKey[]> {
  const { rows } = await db.query<EmployeeKey>(
    `select enterprise_code as "enterpriseCode", userid from difference
     where active and reason is distinct from 'skipped' order by 1, 2`,
  )
  return rows
}
