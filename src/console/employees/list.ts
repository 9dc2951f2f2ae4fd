import { z } from 'zod'
import { decodeCursor, onePage, type PageAsked, type Paged } from '../../lib/cursor.ts'
import { type PlaceValue, type Pool, placeholders } from '../../lib/database.ts'
import { UNRESOLVED } from '../../sync/cases/cases.ts'
import { IS_CASE_OF_BLOCK } from '../../sync/cases/withheld.ts'
import {
  employeeStatus,
  SHOWN_EMPLOYEE_STATUSES,
  type ShownEmployeeStatus,
} from '../../sync/health/figures.ts'

/** Statuses that have a list of their own: those in sync need none. */
export const LISTED = SHOWN_EMPLOYEE_STATUSES.filter(status => status !== 'in_sync')
type ListedStatus = (typeof LISTED)[number]

export const ListedEmployee = z.object({
  enterprise_code: z.string(),
  userid: z.string(),
  status: z
    .string()
    .describe(
      'halted: waiting, while work stands still; no_source: in service, but no HR source has the enterprise; unknown: a case names them, and no run has seen them',
    ),
  department: z.string().nullable(),
  acknowledged_at: z.date().nullable().describe('When the platform last confirmed anything'),
  open_cases: z.int().describe('With those of the enterprise about withheld fields; at most 100 are counted'),
})
export type ListedEmployee = z.infer<typeof ListedEmployee>

/** Filters of the list; without any, all employees. */
export interface EmployeeFilter {
  status?: ListedStatus | undefined
  enterprise?: string | undefined
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
  const { values, place } = placeholders(limit)
  const { status, department } = filter
  const from =
    status && !department ? withStatus(status, filter, after, place) : inOrder(filter, after, place)
  const text = `select e.enterprise_code, e.userid, ${employeeStatus('e')} as status, e.dept_code as department,
            (select dirsync.confirmed_at(k) from dirsync.employee k
             where k.enterprise_code = e.enterprise_code and k.userid = e.userid) as acknowledged_at,
            ${openCases('e', 'e.withheld')} as open_cases
     from (${from}) e
     order by e.enterprise_code, e.userid limit $1`
  return { text, values }
}

/**
 * SQL: how many unresolved cases an employee has, as their page lists them: their own, and the enterprise's about withheld fields.
 * @param row with the employee's key
 */
export function openCases(row: string, withheld: string): string {
  return `(
    select count(*)::int from (
      select from dirsync.dead_letter d
      where d.enterprise_code = ${row}.enterprise_code and d.entity_key = ${row}.userid
        and d.entity = 'employee' and ${UNRESOLVED}
      union all
      select from (select ${row}.enterprise_code, w.field from unnest(${withheld}) as w (field)) b
      join dirsync.dead_letter d on ${IS_CASE_OF_BLOCK} and d.state <> 'ignored'
      limit 100) few)`
}

type Position = Parameters<typeof listStatement>[1]

const COLUMNS = 'e.enterprise_code, e.userid, e.dept_code, e.status, e.withheld'

/** SQL: all employees, or those of an enterprise or a department, in the order of the primary key or of the department's index. */
function inOrder(
  { status, enterprise, department }: EmployeeFilter,
  after: Position,
  place: PlaceValue,
): string {
  const conditions = ['true']
  if (department)
    conditions.push(
      `e.platform_state = 'in_service'`,
      `e.enterprise_code = ${place(department.enterpriseCode)}`,
      `e.dept_code = ${place(department.code)}`,
    )
  if (enterprise !== undefined) conditions.push(`e.enterprise_code = ${place(enterprise)}`)
  if (status) conditions.push(`${employeeStatus('e')} = ${place(status)}`)
  if (after) conditions.push(`(e.enterprise_code, e.userid) > (${after.map(place).join(', ')})`)
  return `select ${COLUMNS} from dirsync.employee e
          where ${conditions.join(' and ')}
          order by e.enterprise_code, e.userid limit $1`
}

/**
 * SQL: employees of a status, from each enterprise that has some as many as a page shows: those of one may wait while those of
 * another are halted, and neither are read through in search of the others.
 */
function withStatus(
  status: ListedStatus,
  { enterprise: only }: EmployeeFilter,
  after: Position,
  place: PlaceValue,
): string {
  const [enterprise, userid] = (after ?? ['', '']).map(place)
  const start = `case when lane.enterprise_code = ${enterprise} then ${userid} else '' end`
  // The index of statuses leaves them out: they are read in the order of their keys. Nearly all of the enterprise are such.
  const inSync = `
            union all
            (select ${COLUMNS} from dirsync.employee e
             where lane.state = 'in_sync' and e.status = 'in_sync'
               and (e.enterprise_code, e.userid) > (lane.enterprise_code, ${start})
               and e.enterprise_code <= lane.enterprise_code
             order by e.enterprise_code, e.userid limit $1)`
  return `select e.*
          from (select t.enterprise_code, t.state from dirsync.tally t
                where t.source = 'employee' and t.enterprise_code >= ${enterprise}
                  and ${employeeStatus('t', 'state')} = ${place(status)}
                  and ${only === undefined ? 'true' : `t.enterprise_code = ${place(only)}`}
                group by 1, 2 having sum(t.n) > 0) lane
          cross join lateral (
            (select ${COLUMNS} from dirsync.employee e
             where e.status <> 'in_sync'
               -- A range and a matching order: with an equality PostgreSQL may walk through all employees in the
               -- order of their keys.
               and (e.status, e.enterprise_code, e.userid) > (lane.state, lane.enterprise_code, ${start})
               and (e.status, e.enterprise_code) <= (lane.state, lane.enterprise_code)
             order by e.status, e.enterprise_code, e.userid limit $1)${status === 'no_source' ? inSync : ''}) e`
}

/** Employees by status, from the tally. @param enterprise only its own */
export async function countStatuses(
  db: Pool,
  enterprise?: string,
): Promise<Record<ShownEmployeeStatus, number>> {
  const { rows } = await db.query<{ status: ShownEmployeeStatus; count: number }>(
    `select ${employeeStatus('t', 'state')} as status, sum(n)::int as count
     from dirsync.tally t where source = 'employee' and enterprise_code = coalesce($1, enterprise_code) group by 1`,
    [enterprise],
  )
  const counts = new Map(rows.map(({ status, count }) => [status, count]))
  return Object.fromEntries(SHOWN_EMPLOYEE_STATUSES.map(name => [name, counts.get(name) ?? 0])) as Record<
    ShownEmployeeStatus,
    number
  >
}
