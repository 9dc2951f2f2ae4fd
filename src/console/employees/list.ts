import type { EmployeeKey } from '../../directory/employee.ts'
import type { Pool } from '../../lib/database.ts'
import { STANDINGS, type Standing } from '../../sync/employee.ts'

/** Statuses that have a list of their own; employees in sync need none. */
export const LISTED = STANDINGS.filter(standing => standing !== 'in_step')

/** An employee in a list. */
export interface ListedEmployee extends EmployeeKey {
  standing: Standing
  department: string | null
  acknowledgedAt: Date | null
  /** At most 100 are counted. */
  openCases: number
}

/** Filters of the list; without any, all employees. */
export interface EmployeeFilter {
  standing?: Standing | undefined
  /** Employees that the platform last listed in this department. */
  department?: { enterpriseCode: string; code: string } | undefined
}

/** A page of employees in the order of enterprise and user id, read from an index, whatever the filter. */
export async function listEmployees(
  db: Pool,
  filter: EmployeeFilter,
  { after, limit }: { after?: EmployeeKey | null | undefined; limit: number },
): Promise<{ employees: ListedEmployee[]; next: EmployeeKey | null }> {
  const { text, values } = listStatement(filter, after ?? null, limit + 1)
  const { rows } = await db.query<ListedEmployee>(text, values)
  const employees = rows.slice(0, limit)
  const last = employees.at(-1)
  return {
    employees,
    next: rows.length > limit && last ? { enterpriseCode: last.enterpriseCode, userid: last.userid } : null,
  }
}

/** The statement of a page; a test looks at its plan. */
export function listStatement(
  filter: EmployeeFilter,
  after: EmployeeKey | null,
  limit: number,
): { text: string; values: unknown[] } {
  const values: unknown[] = [limit]
  const value = (given: unknown) => `$${values.push(given)}`
  const conditions: string[] = []
  const order = ['enterprise_code', 'userid']
  const from: string[] = after ? [after.enterpriseCode, after.userid] : []
  if (filter.standing) {
    const standing = value(filter.standing)
    conditions.push(
      // A range and a matching order: with an equality PostgreSQL may walk through all employees in the order of
      // their keys.
      `standing between ${standing} and ${standing}`,
      `standing <> 'in_step'`,
    )
    order.unshift('standing')
    if (after) from.unshift(filter.standing)
  }
  if (filter.department)
    conditions.push(
      `platform_state = 'in_service'`,
      `enterprise_code = ${value(filter.department.enterpriseCode)}`,
      `dept_code = ${value(filter.department.code)}`,
    )
  if (after) conditions.push(`(${order.join(', ')}) > (${from.map(value).join(', ')})`)
  const text = `select e.enterprise_code as "enterpriseCode", e.userid, e.standing, e.dept_code as department,
            e.acknowledged_at as "acknowledgedAt",
            (select count(*)::int from (
               select from dirsync.dead_letter d
               where d.enterprise_code = e.enterprise_code and d.entity_key = e.userid
                 and d.entity = 'employee' and d.state not in ('resolved', 'ignored') limit 100) few) as "openCases"
     from (select enterprise_code, userid, dept_code, acknowledged_at, standing
           from dirsync.employee ${conditions.length > 0 ? `where ${conditions.join(' and ')}` : ''}
           order by ${order.join(', ')} limit $1) e
     order by e.enterprise_code, e.userid`
  return { text, values }
}

/** Employees by status, from the tally. */
export async function countStandings(db: Pool): Promise<Record<Standing, number>> {
  const { rows } = await db.query<{ standing: Standing; count: number }>(
    `select state as standing, sum(n)::int as count
     from dirsync.tally where source = 'employee' group by state`,
  )
  const counts = new Map(rows.map(({ standing, count }) => [standing, count]))
  return Object.fromEntries(STANDINGS.map(name => [name, counts.get(name) ?? 0])) as Record<Standing, number>
}

/** The status of one employee; null if no run has seen them. */
export async function readStanding(db: Pool, key: EmployeeKey): Promise<Standing | null> {
  const { rows } = await db.query<{ standing: Standing }>(
    `select standing from dirsync.employee where enterprise_code = $1 and userid = $2`,
    [key.enterpriseCode, key.userid],
  )
  return rows[0]?.standing ?? null
}
