import { z } from 'zod'
import { decodeCursor, onePage, type PageAsked, type Paged } from '../../lib/cursor.ts'
import type { Pool } from '../../lib/database.ts'
import { enterprisesIn } from '../../sync/outbox/employee.ts'
import { closedSince, IS_MOVING } from '../../sync/plan/departments.ts'
import { HELD_RUNS } from '../../sync/runs/run.ts'

/** A department in a list. HR's names of departments are not stored. */
export const Department = z.object({
  enterprise_code: z.string(),
  dept_code: z.string(),
  parent_code: z.string().nullable(),
  active: z.boolean().describe('false: HR has closed it'),
  closed_at: z.date().nullable(),
  missing_since: z.date().nullable().describe('Since when it has been missing from HR'),
  deleted_at: z.date().nullable().describe('When it was deleted on the platform'),
  case_id: z
    .int()
    .nullable()
    .describe('The case of a deletion that the platform refused, also an ignored one'),
  held_run: z.int().nullable().describe('The held run whose plan deletes it, which waits for a decision'),
  rejected_run: z
    .int()
    .nullable()
    .describe('The run with which a person rejected its deletion: none deletes it until HR changes it'),
  employees: z.int().describe('Employees that the platform last listed in it; 1001: more than 1000'),
  moving_employee: z
    .string()
    .nullable()
    .describe(
      'An employee whom an update without an answer may have moved to it; it is not deleted before that is known',
    ),
  children: z.int().describe('Child departments that are not deleted; 1001: more than 1000'),
  child_stays: z.boolean().describe('Whether a child keeps it that HR has, or whose own time has not come'),
  closed_since: z.date().nullable().describe('Since when it has been closed or missing in HR'),
  deletable_at: z
    .date()
    .nullable()
    .describe(
      'Of a closed or missing one: from then on a run deletes it, once it has no employees in HR or on the platform and nothing below it stays, unless a case or a decision keeps it; null: no run reads those of its enterprise',
    ),
})
export type Department = z.infer<typeof Department>

/** A department on the path from the top. */
export const DepartmentStep = Department.pick({
  dept_code: true,
  active: true,
  closed_at: true,
  missing_since: true,
  deleted_at: true,
  employees: true,
})

/** Up to this many are counted. */
const MOST = 1001

/** SQL: how many employees the platform last listed in a department. */
const employeesIn = (d: string) => `
  (select count(*)::int from (
     select from dirsync.employee e
     where e.platform_state = 'in_service' and e.enterprise_code = ${d}.enterprise_code
       and e.dept_code = ${d}.dept_code limit ${MOST}) few) as employees`

/** SQL: from when on a run may delete a department. @param d $1 are the milliseconds that it stays after HR closed it */
const deletableAt = (d: string) => `${closedSince(d)} + $1 * interval '1 millisecond'`

/** SQL: the children of department `d` that are not deleted. */
const CHILDREN = `
  select * from dirsync.department b
  where b.enterprise_code = d.enterprise_code and b.parent_code = d.dept_code and b.deleted_at is null limit ${MOST}`

const COLUMNS = `
  d.enterprise_code, d.dept_code, d.parent_code, d.active, d.closed_at, d.first_missing_at as missing_since,
  d.deleted_at,
  (select c.id::int from dirsync.dead_letter c
   where c.enterprise_code = d.enterprise_code and c.entity_key = d.dept_code and c.entity = 'department'
     and c.state <> 'resolved' order by c.state = 'ignored' limit 1) as case_id,
  (select h.id from ${HELD_RUNS} h
   join dirsync.planned_work w on w.run_id = h.id and w.operation = 'delete-department' and w.decision_id is null
     and w.enterprise_code = d.enterprise_code and w.entity_key = d.dept_code
   where h.kind = 'departments' order by h.id limit 1) as held_run,
  d.rejected_run,${employeesIn('d')},
  (select min(e.userid) from dirsync.employee e where ${IS_MOVING}) as moving_employee,
  (select count(*)::int from (${CHILDREN}) few) as children,
  exists (select from (${CHILDREN}) few where ${deletableAt('few')} < now() is not true) as child_stays,
  ${closedSince('d')} as closed_since,
  case when d.deleted_at is null then ${deletableAt('d')} end as deletable_at`

/** Condition on a department `d` of the enterprise $2. */
const TOPMOST = `d.dept_code in (
  select t.dept_code from dirsync.department t where t.enterprise_code = $2 and t.parent_code is null
  union all
  select t.dept_code from dirsync.department t
  left join dirsync.department p on p.enterprise_code = $2 and p.dept_code = t.parent_code
  where t.enterprise_code = $2 and t.parent_code is not null and p.dept_code is null)`

/** The enterprises that have departments, deleted ones included. */
export async function enterprisesWithDepartments(db: Pool): Promise<string[]> {
  const { rows } = await db.query<{ code: string }>(`${enterprisesIn('department')} order by code`)
  return rows.map(row => row.code)
}

/**
 * One level of the tree: the children of a department, or the topmost departments, whose parents are unknown.
 * @param options.graceMs how long a department stays after HR closed it
 */
export async function departmentTree(
  db: Pool,
  options: PageAsked & { enterprise: string; under?: string | null; graceMs: number },
): Promise<Paged<Department>> {
  const { enterprise, under = null, limit, graceMs } = options
  const [after = null] = decodeCursor(z.tuple([z.string()]), options.after) ?? []
  const level = under === null ? TOPMOST : 'd.parent_code = $5'
  const { rows } = await db.query<Department>(
    `select ${COLUMNS} from (
       select * from dirsync.department d
       where d.enterprise_code = $2 and ${level} and ($3::text is null or d.dept_code > $3)
       order by d.dept_code limit $4) d
     order by d.dept_code`,
    [graceMs, enterprise, after, limit + 1, ...(under === null ? [] : [under])],
  )
  return onePage(rows, limit, row => [row.dept_code])
}

/** Departments that are closed or missing in HR and not deleted yet, the next to be deleted first. */
export async function deletionCandidates(
  db: Pool,
  graceMs: number,
  { limit = 200 }: { limit?: number } = {},
): Promise<Department[]> {
  const { rows } = await db.query<Department>(
    `select ${COLUMNS} from (
       select * from dirsync.department d
       where deleted_at is null and (not active or first_missing_at is not null)
       order by ${closedSince('d')}, enterprise_code, dept_code limit $2) d
     order by closed_since, d.enterprise_code, d.dept_code`,
    [graceMs, limit],
  )
  return rows
}

/** HR may contain cycles, so the path ends at this depth. */
const DEEPEST = 30

/** The path from the top to a department, including it; empty if the department is unknown. */
export async function wayToDepartment(
  db: Pool,
  enterprise: string,
  deptCode: string,
): Promise<z.infer<typeof DepartmentStep>[]> {
  const { rows } = await db.query<z.infer<typeof DepartmentStep>>(
    `with recursive way as (
       select *, 1 as depth from dirsync.department where enterprise_code = $1 and dept_code = $2
       union all
       select p.*, w.depth + 1 from way w
       join dirsync.department p on p.enterprise_code = $1 and p.dept_code = w.parent_code
       where w.depth < ${DEEPEST} and p.dept_code <> $2
     )
     select dept_code, active, closed_at, first_missing_at as missing_since, deleted_at,
            ${employeesIn('w')}
     from way w order by depth desc`,
    [enterprise, deptCode],
  )
  return rows
}
