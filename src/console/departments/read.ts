import type { Pool } from '../../lib/database.ts'

/** A department in a list. HR's names of departments are not stored. */
export interface DepartmentRow {
  enterpriseCode: string
  deptCode: string
  parentCode: string | null
  /** False when HR marks it closed. */
  active: boolean
  closedAt: Date | null
  /** Since when it has been missing from HR. */
  missingSince: Date | null
  deletedAt: Date | null
  /** The case of a deletion that the platform refused. */
  caseId: number | null
  /** Employees that the platform last listed in it; at most 1,001 are counted. */
  employees: number
  /** Child departments that are not deleted; at most 1,001 are counted. */
  children: number
  /**
   * From when on a run deletes it, for a closed or missing one; if that is past, the next run does so once it has no
   * employees.
   */
  deletableAt: Date | null
}

const MOST = 1001

const COLUMNS = `
  d.enterprise_code as "enterpriseCode", d.dept_code as "deptCode", d.parent_code as "parentCode", d.active,
  d.closed_at as "closedAt", d.first_missing_at as "missingSince", d.deleted_at as "deletedAt",
  (select c.id::int from dirsync.dead_letter c
   where c.enterprise_code = d.enterprise_code and c.entity_key = d.dept_code and c.entity = 'department'
     and c.state not in ('resolved', 'ignored') limit 1) as "caseId",
  (select count(*)::int from (
     select from dirsync.employee e
     where e.platform_state = 'in_service' and e.enterprise_code = d.enterprise_code
       and e.dept_code = d.dept_code limit ${MOST}) few) as employees,
  (select count(*)::int from (
     select from dirsync.department b
     where b.enterprise_code = d.enterprise_code and b.parent_code = d.dept_code
       and b.deleted_at is null limit ${MOST}) few) as children,
  case when d.deleted_at is null
       then coalesce(case when not d.active then d.closed_at end, d.first_missing_at)
         + $1 * interval '1 millisecond' end as "deletableAt"`

/** Condition on a department `d` of the enterprise $2. */
const TOPMOST = `d.dept_code in (
  select t.dept_code from dirsync.department t where t.enterprise_code = $2 and t.parent_code is null
  union all
  select t.dept_code from dirsync.department t
  left join dirsync.department p on p.enterprise_code = $2 and p.dept_code = t.parent_code
  where t.enterprise_code = $2 and t.parent_code is not null and p.dept_code is null)`

/** The enterprises that have departments, deleted ones included. */
export async function enterprisesWithDepartments(db: Pool): Promise<string[]> {
  const { rows } = await db.query<{ code: string }>(
    // One look-up in the primary key's index per enterprise, however many departments it has.
    `with recursive codes as (
       select min(enterprise_code) as code from dirsync.department
       union all
       select (select min(enterprise_code) from dirsync.department where enterprise_code > c.code)
       from codes c where c.code is not null
     )
     select code from codes where code is not null order by code`,
  )
  return rows.map(row => row.code)
}

/**
 * One level of the tree: the children of a department, or the topmost departments, whose parents are unknown.
 * @param options.after code of the last department of the preceding page
 * @param options.graceMs how long a department stays after HR closed it
 */
export async function departmentTree(
  db: Pool,
  options: {
    enterprise: string
    under?: string | null
    after?: string | undefined
    limit: number
    graceMs: number
  },
): Promise<{ departments: DepartmentRow[]; next: string | null }> {
  const { enterprise, under = null, after, limit, graceMs } = options
  const level = under === null ? TOPMOST : 'd.parent_code = $5'
  const { rows } = await db.query<DepartmentRow>(
    `select ${COLUMNS} from (
       select * from dirsync.department d
       where d.enterprise_code = $2 and ${level} and ($3::text is null or d.dept_code > $3)
       order by d.dept_code limit $4) d
     order by d.dept_code`,
    [graceMs, enterprise, after ?? null, limit + 1, ...(under === null ? [] : [under])],
  )
  const departments = rows.slice(0, limit)
  return { departments, next: rows.length > limit ? (departments.at(-1)?.deptCode ?? null) : null }
}

/** Departments that are closed or missing in HR and not deleted yet, the next to be deleted first. */
export async function deletionCandidates(
  db: Pool,
  graceMs: number,
  { limit = 200 }: { limit?: number } = {},
): Promise<DepartmentRow[]> {
  const { rows } = await db.query<DepartmentRow>(
    `select ${COLUMNS} from (
       select *, coalesce(case when not active then closed_at end, first_missing_at) as since
       from dirsync.department
       where deleted_at is null and (not active or first_missing_at is not null)
       order by since, enterprise_code, dept_code limit $2) d
     order by d.since, d.enterprise_code, d.dept_code`,
    [graceMs, limit],
  )
  return rows
}
