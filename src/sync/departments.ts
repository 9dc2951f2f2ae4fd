import { type DepartmentDeletion, type KnownDepartment, planDeletions } from '../directory/department.ts'
import type { HrSource } from '../hr/source.ts'
import type { ClientBase, Pool } from '../lib/database.ts'
import type { Claim } from './claim.ts'
import type { CountedPlatform } from './counted-platform.ts'
import { judge } from './failure.ts'
import { type JobResult, result } from './settlement.ts'

/** What HR says of departments now, remembered, and the deletions that follow from it. */
interface DepartmentFacts {
  /** Departments that HR delivers; with none at all nothing is remembered and nothing is to be deleted. */
  inHr: number
  /** Departments not deleted yet. */
  total: number
  /** What a run deletes: those whose deletion failed before wait for the retry of their case. */
  deletions: DepartmentDeletion[]
  /** Everything that HR wants deleted, whatever became of it so far. */
  wanted: DepartmentDeletion[]
}

/** Reads HR's departments and the employees in them, remembers them and plans deletions (docs/mapping.md, 'Departments'). */
export async function departmentFacts(
  db: ClientBase | Pool,
  hr: HrSource,
  options: { graceMs: number; now: Date },
): Promise<DepartmentFacts> {
  const [departments, employees] = await Promise.all([hr.departments(), hr.employeesByDepartment()])
  if (departments.length > 0) await rememberDepartments(db, departments)
  const known = await knownDepartments(db, employees)
  const total = known.filter(department => !department.deleted).length
  if (departments.length === 0) return { inHr: 0, total, deletions: [], wanted: [] }
  const unparked = known.map(department => ({ ...department, parked: false }))
  return {
    inHr: departments.length,
    total,
    deletions: planDeletions(known, options.now, options.graceMs),
    wanted: planDeletions(unparked, options.now, options.graceMs),
  }
}

/** What HR says of a department. */
export interface SeenDepartment {
  enterpriseCode: string
  deptCode: string
  parentCode: string | null
  active: boolean
  closedAt: Date | null
}

/** Remembers what HR says now: new, closed, reopened and missing departments. */
export async function rememberDepartments(db: ClientBase | Pool, seen: SeenDepartment[]): Promise<void> {
  await db.query(
    `with seen as (
       select * from jsonb_to_recordset($1)
         as s ("enterpriseCode" text, "deptCode" text, "parentCode" text, active boolean, "closedAt" timestamptz)
     ), missing as (
       update dirsync.department d set first_missing_at = now()
       where d.first_missing_at is null and not exists (
         select from seen s where s."enterpriseCode" = d.enterprise_code and s."deptCode" = d.dept_code)
     )
     insert into dirsync.department as d (enterprise_code, dept_code, parent_code, active, closed_at)
     select "enterpriseCode", "deptCode", "parentCode", active, case when not active then coalesce("closedAt", now()) end from seen
     on conflict (enterprise_code, dept_code) do update
     set parent_code = excluded.parent_code, active = excluded.active, first_missing_at = null,
         closed_at = case when excluded.active then null
                          else (select coalesce(s."closedAt", d.closed_at, now()) from seen s
                                where s."enterpriseCode" = d.enterprise_code and s."deptCode" = d.dept_code) end,
         -- A department that HR opens again may be closed and deleted again.
         deleted_at = case when excluded.active then null else d.deleted_at end,
         parked_at = case when excluded.active is distinct from d.active then null else d.parked_at end`,
    [JSON.stringify(seen)],
  )
}

/**
 * Every department with the employees in it, in HR (as counted by the caller) and in what is known of the platform.
 */
export async function knownDepartments(
  db: ClientBase | Pool,
  employeesInHr: { enterpriseCode: string; deptCode: string; employees: number }[],
): Promise<KnownDepartment[]> {
  const { rows } = await db.query<KnownDepartment>(
    `select d.enterprise_code as "enterpriseCode", d.dept_code as "deptCode", d.parent_code as "parentCode", d.active,
            d.closed_at as "closedAt", d.first_missing_at as "missingSince",
            d.deleted_at is not null as deleted, d.parked_at is not null as parked,
            coalesce(h.employees, 0)
              + (select count(*)::int from dirsync.employee e
                 where e.platform_state = 'in_service' and e.enterprise_code = d.enterprise_code and e.dept_code = d.dept_code) as employees
     from dirsync.department d
     left join jsonb_to_recordset($1) as h ("enterpriseCode" text, "deptCode" text, employees int)
       on h."enterpriseCode" = d.enterprise_code and h."deptCode" = d.dept_code`,
    [JSON.stringify(employeesInHr)],
  )
  return rows
}

interface DepartmentJob {
  enterpriseCode: string
  deptCode: string
  claim: Claim
  /** The deletions that HR's present state asks for. */
  wanted: DepartmentDeletion[]
}

/**
 * Deletes one department, if HR still wants it and nothing is left below it; a department that the platform does not know
 * has reached its goal (4.6). One whose child could not be deleted is planned again once the child is gone.
 */
export async function deleteDepartment(job: DepartmentJob, platform: CountedPlatform): Promise<JobResult> {
  const { enterpriseCode, deptCode } = job
  const wanted = job.wanted.some(
    deletion =>
      deletion.enterpriseCode === enterpriseCode && deletion.deptCode === deptCode && deletion.wave === 0,
  )
  if (!wanted) return result('obsolete', { keep: [] })
  try {
    await platform.deleteDepartment({
      dept_code: deptCode,
      ...(enterpriseCode === '' ? {} : { enterprise_code: enterpriseCode }),
    })
  } catch (thrown) {
    const { error, verdict } = judge(thrown)
    if (verdict.disposition !== 'done') throw error
    return result('deleted', {
      department: 'deleted',
      keep: [],
      attempt: { platformCode: error.platformCode ?? null, error: 'the platform had no such department' },
    })
  }
  return result('deleted', { department: 'deleted', keep: [] })
}
