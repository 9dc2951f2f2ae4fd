import { z } from 'zod'
import type { EmployeeKey } from '../../directory/employee.ts'
import { decodeCursor, onePage, type PageAsked, type Paged } from '../../lib/cursor.ts'
import type { Pool } from '../../lib/database.ts'
import { EMPLOYEE_STATUSES, type EmployeeStatus } from '../../sync/employee.ts'

/** Statuses that have a list of their own; employees in sync need none. */
export const LISTED = EMPLOYEE_STATUSES.filter(status => status !== 'in_sync')

/** An employee in a list. */
export const ListedEmployee = z.object({
  enterprise_code: z.string(),
  userid: z.string(),
  status: z
    .string()
    .describe(
      'halted: waiting, while work stands still; unknown: a case names them, and no run has seen them',
    ),
  department: z.string().nullable(),
  acknowledged_at: z.date().nullable().describe('When the platform last confirmed anything'),
  open_cases: z.number().describe('At most 100 are counted'),
})
export type ListedEmployee = z.infer<typeof ListedEmployee>

/** Filters of the list; without any, all employees. */
export interface EmployeeFilter {
  status?: EmployeeStatus | undefined
  /** Employees that the platform last listed in this department. */
  department?: { enterpriseCode: string; code: string } | undefined
}

/** A page of employees in the order of enterprise and user id, read from an index, whatever the filter. */
export async function listEmployees(
  db: Pool,
  filter: EmployeeFilter,
  { after, limit }: PageAsked,
): Promise<Paged<ListedEmployee>> {
  const position = decodeCursor(z.tuple([z.string(), z.string()]), after)
  const { text, values } = listStatement(filter, position, limit + 1)
  const { rows } = await db.query<ListedEmployee>(text, values)
  return onePage(rows, limit, row => [row.enterprise_code, row.userid])
}

/** The statement of a page; a test looks at its plan. */
export function listStatement(
  filter: EmployeeFilter,
  after: [enterpriseCode: string, userid: string] | null,
  limit: number,
): { text: string; values: unknown[] } {
  const values: unknown[] = [limit]
  const value = (given: unknown) => `$${values.push(given)}`
  const conditions: string[] = []
  const order = ['enterprise_code', 'userid']
  const from: string[] = after ?? []
  if (filter.status) {
    const status = value(filter.status)
    conditions.push(
      // A range and a matching order: with an equality PostgreSQL may walk through all employees in the order of
      // their keys.
      `status between ${status} and ${status}`,
      `status <> 'in_sync'`,
    )
    order.unshift('status')
    if (after) from.unshift(filter.status)
  }
  if (filter.department)
    conditions.push(
      `platform_state = 'in_service'`,
      `enterprise_code = ${value(filter.department.enterpriseCode)}`,
      `dept_code = ${value(filter.department.code)}`,
    )
  if (after) conditions.push(`(${order.join(', ')}) > (${from.map(value).join(', ')})`)
  const text = `select e.enterprise_code, e.userid, e.status, e.dept_code as department, e.acknowledged_at,
            (select count(*)::int from (
               select from dirsync.dead_letter d
               where d.enterprise_code = e.enterprise_code and d.entity_key = e.userid
                 and d.entity = 'employee' and d.state not in ('resolved', 'ignored') limit 100) few) as open_cases
     from (select enterprise_code, userid, dept_code, acknowledged_at, status
           from dirsync.employee ${conditions.length > 0 ? `where ${conditions.join(' and ')}` : ''}
           order by ${order.join(', ')} limit $1) e
     order by e.enterprise_code, e.userid`
  return { text, values }
}

/** Employees by status, from the tally. */
export async function countStatuses(db: Pool): Promise<Record<EmployeeStatus, number>> {
  const { rows } = await db.query<{ status: EmployeeStatus; count: number }>(
    `select state as status, sum(n)::int as count
     from dirsync.tally where source = 'employee' group by state`,
  )
  const counts = new Map(rows.map(({ status, count }) => [status, count]))
  return Object.fromEntries(EMPLOYEE_STATUSES.map(name => [name, counts.get(name) ?? 0])) as Record<
    EmployeeStatus,
    number
  >
}

/** The status of one employee; null if no run has seen them. */
export async function readStatus(db: Pool, key: EmployeeKey): Promise<EmployeeStatus | null> {
  const { rows } = await db.query<{ status: EmployeeStatus }>(
    `select status from dirsync.employee where enterprise_code = $1 and userid = $2`,
    [key.enterpriseCode, key.userid],
  )
  return rows[0]?.status ?? null
}
