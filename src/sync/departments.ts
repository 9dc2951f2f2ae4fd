import { type DepartmentDeletion, type KnownDepartment, planDeletions } from '../directory/department.ts'
import type { DepartmentCount, HrDepartmentRow } from '../hr/departments.ts'
import type { NamedSource, SourceScope } from '../hr/sources.ts'
import type { ClientBase, Pool } from '../lib/database.ts'
import type { Claim } from './claim.ts'
import type { CountedPlatform } from './counted-platform.ts'
import type { Work } from './outbox.ts'
import { type JobResult, judge, result } from './outcome.ts'

/** What HR says of departments now, remembered, and the deletions that follow from it. */
interface DepartmentFacts {
  /** Departments that HR delivers; with none at all nothing is remembered and nothing is to be deleted. */
  inHr: number
  /** Departments not deleted yet. */
  total: number
  /** What a run deletes, without those whose deletion failed before: they wait for the retry of their case. */
  deletions: DepartmentDeletion[]
  /** Everything that HR wants deleted, whatever became of it so far. */
  wanted: DepartmentDeletion[]
}

/** Reads a source's departments and the employees in them, remembers them and plans deletions. Other sources' are left alone. */
export async function departmentFacts(
  db: ClientBase | Pool,
  { hr, codes }: Pick<NamedSource, 'hr' | 'codes'>,
  options: { graceMs: number; now: Date },
): Promise<DepartmentFacts> {
  const isOwn = ({ enterpriseCode }: { enterpriseCode: string }) => !codes || codes.includes(enterpriseCode)
  const [delivered, employees] = await Promise.all([hr.departments(), hr.employeesByDepartment()])
  const departments = delivered.filter(isOwn)
  // An enterprise of which there is none at all has not closed them all: more likely it is not the source's.
  const told =
    codes?.filter(code => departments.some(({ enterpriseCode }) => enterpriseCode === code)) ?? null
  if (departments.length > 0) await rememberDepartments(db, departments, told)
  const known = await knownDepartments(db, employees.filter(isOwn), codes)
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

/**
 * Remembers what HR says now: new, closed, reopened and missing departments.
 * @param codes the enterprises that it says it of; null: all there are
 */
export async function rememberDepartments(
  db: ClientBase | Pool,
  seen: HrDepartmentRow[],
  codes: SourceScope['codes'] = null,
): Promise<void> {
  await db.query(
    `with seen as (
       select * from jsonb_to_recordset($1) as s (
         "enterpriseCode" text, "deptCode" text, "parentCode" text, active boolean, "closedAt" timestamptz)
     ), missing as (
       update dirsync.department d set first_missing_at = now()
       where d.first_missing_at is null and ($2::text[] is null or d.enterprise_code = any ($2)) and not exists (
         select from seen s where s."enterpriseCode" = d.enterprise_code and s."deptCode" = d.dept_code)
     )
     insert into dirsync.department as d (enterprise_code, dept_code, parent_code, active, closed_at)
     select "enterpriseCode", "deptCode", "parentCode", active,
            case when not active then coalesce("closedAt", now()) end
     from seen
     on conflict (enterprise_code, dept_code) do update
     set parent_code = excluded.parent_code, active = excluded.active, first_missing_at = null,
         closed_at = case when not excluded.active then (
           select coalesce(s."closedAt", d.closed_at, now()) from seen s
           where s."enterpriseCode" = d.enterprise_code and s."deptCode" = d.dept_code) end,
         -- A department that HR opens again may be closed and deleted again.
         deleted_at = case when excluded.active then null else d.deleted_at end,
         parked_at = case when excluded.active is distinct from d.active then null else d.parked_at end`,
    [JSON.stringify(seen), codes],
  )
}

/** Every department of some enterprises with the employees in it, in HR (as counted by the caller) and in what is known of the platform. */
export async function knownDepartments(
  db: ClientBase | Pool,
  employeesInHr: DepartmentCount[],
  codes: SourceScope['codes'] = null,
): Promise<KnownDepartment[]> {
  const { rows } = await db.query<KnownDepartment>(
    `select d.enterprise_code as "enterpriseCode", d.dept_code as "deptCode", d.parent_code as "parentCode",
            d.active, d.closed_at as "closedAt", d.first_missing_at as "missingSince",
            d.deleted_at is not null as deleted, d.parked_at is not null as parked,
            coalesce(h.employees, 0)
              + (select count(*)::int from dirsync.employee e
                 where e.platform_state = 'in_service' and e.enterprise_code = d.enterprise_code
                   and e.dept_code = d.dept_code) as employees
     from dirsync.department d
     left join jsonb_to_recordset($1) as h ("enterpriseCode" text, "deptCode" text, employees int)
       on h."enterpriseCode" = d.enterprise_code and h."deptCode" = d.dept_code
     where $2::text[] is null or d.enterprise_code = any ($2)`,
    [JSON.stringify(employeesInHr), codes],
  )
  return rows
}

/** Stores deletions of departments as the plan of a held run. */
export async function storeDeletions(db: ClientBase, runId: number, work: Work[]): Promise<void> {
  await db.query(
    `insert into dirsync.planned_work (run_id, operation, enterprise_code, entity_key, reason, wave)
     select $2, operation, "enterpriseCode", "entityKey", 'delete', wave
     from jsonb_to_recordset($1)
       as w (operation text, "enterpriseCode" text, "entityKey" text, wave smallint)`,
    [JSON.stringify(work), runId],
  )
}

/** The deletions that the plan of a held run has stored, of some enterprises. @param codes null: of all there are */
export async function storedDeletions(
  db: ClientBase,
  runId: number,
  codes: SourceScope['codes'] = null,
): Promise<Work[]> {
  const { rows } = await db.query<Work>(
    `select operation, enterprise_code as "enterpriseCode", entity_key as "entityKey", '' as detail, wave
     from dirsync.planned_work
     where run_id = $1 and operation = 'delete-department' and ($2::text[] is null or enterprise_code = any ($2))`,
    [runId, codes],
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
 * Deletes one department, if HR still wants it and nothing is left below it. One whose child could not be deleted is planned
 * again once the child is gone. A department that the platform does not know has reached its goal (section 4.6).
 */
export async function deleteDepartment(job: DepartmentJob, platform: CountedPlatform): Promise<JobResult> {
  const { enterpriseCode, deptCode } = job
  const wanted = job.wanted.some(
    deletion =>
      deletion.enterpriseCode === enterpriseCode && deletion.deptCode === deptCode && deletion.wave === 0,
  )
  if (!wanted) return result('obsolete', { resolve: 'all' })
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
      resolve: 'all',
      platformCode: error.platformCode ?? null,
      error: 'the platform had no such department',
    })
  }
  return result('deleted', { department: 'deleted', resolve: 'all' })
}
