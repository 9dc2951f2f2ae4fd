import { z } from 'zod'
import { decodeCursor, onePage, type PageAsked, type Paged } from '../../lib/cursor.ts'
import type { Pool } from '../../lib/database.ts'
import { IS_UNLOCATED } from '../../sync/outbox/claim.ts'
import { enterprisesIn } from '../../sync/outbox/employee.ts'
import { HALT_KINDS, haltWhere, holdsBack } from '../../sync/outbox/halts.ts'
import { closedSince, IS_MOVING, IS_SET_ASIDE } from '../../sync/plan/departments.ts'
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
  is_deleting: z.boolean().describe('Whether its deletion waits to be sent'),
  deleting_run: z
    .int()
    .nullable()
    .describe(
      'With is_deleting: the run whose work it is; null: of none, as in a halt, for which no run waits',
    ),
  halt: z
    .enum(HALT_KINDS)
    .nullable()
    .describe('What holds its deletion back: that a person has paused all calls, or a halt of its work'),
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
  unlocated_employee: z
    .string()
    .nullable()
    .describe(
      'An employee of its enterprise of whom the platform has not told in which department they are; none is deleted before it has',
    ),
  children: z.int().describe('Child departments that are not deleted; 1001: more than 1000'),
  child_stays: z
    .boolean()
    .describe('Of a closed or missing one: whether one below it, at any depth, is not due, and keeps it'),
  closed_since: z.date().nullable().describe('Since when it has been closed or missing in HR'),
  deletable_at: z
    .date()
    .nullable()
    .describe(
      'Of a closed or missing one: from then on a run deletes it, once it has no employees in HR or on the platform and nothing below it stays, unless a case, a decision or the doubts about its enterprise keep it; null: no run reads those of its enterprise',
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

/** SQL: whether a child of department `d` is open. */
const OPEN_BELOW = `exists (
  select from dirsync.department b
  where b.enterprise_code = d.enterprise_code and b.parent_code = d.dept_code and b.deleted_at is null
    and b.active and b.first_missing_at is null)`

/**
 * SQL: departments that HR has closed or lacks, and those of them that stay for now and thereby keep the ones above.
 * @param enterprise SQL; null: of all
 */
const closing = (enterprise: string) => `
  recursive closing as materialized (
    select d.enterprise_code, d.dept_code, d.parent_code, ${closedSince('d')} as since,
           ${IS_SET_ASIDE}
             or exists (select from dirsync.employee e
                        where e.platform_state = 'in_service' and e.enterprise_code = d.enterprise_code
                          and e.dept_code = d.dept_code)
             or exists (select from dirsync.employee e where ${IS_MOVING})
             or ${OPEN_BELOW} as kept,
           ${deletableAt('d')} < now() is not true as early
    from dirsync.department d
    where d.deleted_at is null and (not d.active or d.first_missing_at is not null)
      and (${enterprise}::text is null or d.enterprise_code = ${enterprise})
  ), staying as (
    select enterprise_code, dept_code, parent_code from closing where kept or early
    union
    select c.enterprise_code, c.dept_code, c.parent_code from staying s
    join closing c on c.enterprise_code = s.enterprise_code and c.dept_code = s.parent_code
  )`

/** SQL: whether a department below `d` stays that HR has closed or lacks. */
const STAYS_BELOW = `(d.enterprise_code, d.dept_code) in (
  select enterprise_code, parent_code from staying where parent_code is not null)`

/** SQL: the waiting deletion of department `d`. */
const DELETION = `from dirsync.pending p
  where p.operation = 'delete-department' and p.enterprise_code = d.enterprise_code and p.entity_key = d.dept_code`

const COLUMNS = `
  d.enterprise_code, d.dept_code, d.parent_code, d.active, d.closed_at, d.first_missing_at as missing_since,
  d.deleted_at,
  (select c.id::int from dirsync.dead_letter c
   where c.enterprise_code = d.enterprise_code and c.entity_key = d.dept_code and c.entity = 'department'
     and c.state <> 'resolved' order by c.state = 'ignored' limit 1) as case_id,
  exists (select ${DELETION}) as is_deleting,
  (select p.run_id ${DELETION}) as deleting_run,
  (select ${haltWhere(holdsBack('p'))} ${DELETION}) as halt,
  (select h.id from ${HELD_RUNS} h
   join dirsync.planned_work w on w.run_id = h.id and w.operation = 'delete-department' and w.decision_id is null
     and w.enterprise_code = d.enterprise_code and w.entity_key = d.dept_code
   where h.kind = 'departments' order by h.id limit 1) as held_run,
  d.rejected_run,${employeesIn('d')},
  (select min(e.userid) from dirsync.employee e where ${IS_MOVING}) as moving_employee,
  (select e.userid from dirsync.employee e
   where e.enterprise_code = d.enterprise_code and ${IS_UNLOCATED} limit 1) as unlocated_employee,
  (select count(*)::int from (
     select from dirsync.department b
     where b.enterprise_code = d.enterprise_code and b.parent_code = d.dept_code and b.deleted_at is null
     limit ${MOST}) few) as children,
  ${OPEN_BELOW} or ${STAYS_BELOW} as child_stays,
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
    `with ${closing('$2')}
     select ${COLUMNS} from (
       select * from dirsync.department d
       where d.enterprise_code = $2 and ${level} and ($3::text is null or d.dept_code > $3)
       order by d.dept_code limit $4) d
     order by d.dept_code`,
    [graceMs, enterprise, after, limit + 1, ...(under === null ? [] : [under])],
  )
  return onePage(rows, limit, row => [row.dept_code])
}

/**
 * Departments that are closed or missing in HR and not deleted yet, with their number: the next to be deleted first, and last those
 * that something keeps.
 * @param options.kept enterprises of which none is deleted now
 */
export async function deletionCandidates(
  db: Pool,
  graceMs: number,
  options: { limit: number; kept: readonly string[] },
): Promise<{ candidates: Department[]; total: number }> {
  const { rows } = await db.query<Department & { total: number }>(
    `with ${closing('null')}
     select total, ${COLUMNS} from (
       select e.*, count(*) over ()::int as total,
              row_number() over (order by d.kept or d.enterprise_code = any ($3) or ${STAYS_BELOW}, d.since,
                                          d.enterprise_code, d.dept_code) as place
       from closing d join dirsync.department e using (enterprise_code, dept_code)
       order by place limit $2) d
     order by place`,
    [graceMs, options.limit, options.kept],
  )
  return { total: rows[0]?.total ?? 0, candidates: rows.map(({ total, ...department }) => department) }
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
