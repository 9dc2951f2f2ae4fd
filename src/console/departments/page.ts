import type { DueDeletion } from '../../directory/department.ts'
import { isOfHr } from '../../hr/source.ts'
import type { HrSources } from '../../hr/sources.ts'
import { type Pool, rolledBack } from '../../lib/database.ts'
import { departmentFacts } from '../../sync/departments.ts'
import { type RunLimits, trips } from '../../sync/safety.ts'
import { message, type Said, saidBy } from '../../texts/message.ts'

/** A department on the path from the top. */
export interface DepartmentStep {
  deptCode: string
  active: boolean
  closedAt: Date | null
  missingSince: Date | null
  deletedAt: Date | null
  /** Employees that the platform last listed in it; at most 1,001 are counted. */
  employees: number
}

/** HR may contain cycles, so the path ends at this depth. */
const DEEPEST = 30

/** The path from the top to a department, including it; empty if the department is unknown. */
export async function wayToDepartment(
  db: Pool,
  enterprise: string,
  deptCode: string,
): Promise<DepartmentStep[]> {
  const { rows } = await db.query<DepartmentStep>(
    `with recursive way as (
       select *, 1 as depth from dirsync.department where enterprise_code = $1 and dept_code = $2
       union all
       select p.*, w.depth + 1 from way w
       join dirsync.department p on p.enterprise_code = $1 and p.dept_code = w.parent_code
       where w.depth < ${DEEPEST} and p.dept_code <> $2
     )
     select dept_code as "deptCode", active, closed_at as "closedAt", first_missing_at as "missingSince",
            deleted_at as "deletedAt",
            (select count(*)::int from (
               select from dirsync.employee e
               where e.platform_state = 'in_service' and e.enterprise_code = $1 and e.dept_code = w.dept_code
               limit 1001) few) as employees
     from way w order by depth desc`,
    [enterprise, deptCode],
  )
  return rows
}

/** What a run that deletes departments would do now. */
export interface DeletionPreview {
  /** Departments that are not deleted yet. */
  total: number
  deletions: DueDeletion[]
  /** Whether the breaker would hold the run. */
  isHeld: boolean
  /** Why a source of HR was left out, if there are others. */
  unread: Said[]
}

/**
 * Reads the departments of HR's sources and counts the employees in them, as a run does; rolls everything back.
 * @throws HrUnavailableError, HrDataError, MappingError if none of them can be read
 */
export async function previewDeletions(
  pool: Pool,
  hr: HrSources,
  limits: RunLimits,
): Promise<DeletionPreview> {
  return rolledBack(pool, async db => {
    const preview: DeletionPreview = { total: 0, deletions: [], isHeld: false, unread: [] }
    const sources = hr.all.filter(({ hr: { hasDepartments } }) => hasDepartments)
    let silent = 0
    for (const source of sources) {
      const facts = await departmentFacts(db, source, limits).catch(error => {
        if (!isOfHr(error) || ++silent === sources.length) throw error
        preview.unread.push(
          message('said.source_unread_because', { name: source.name, reason: saidBy(error) }),
        )
        return null
      })
      if (facts === null) continue
      const { total, deletions, doubt } = facts
      if (doubt) preview.unread.push(doubt.message)
      preview.total += total
      preview.deletions.push(...deletions)
      preview.isHeld ||= trips(limits.departments, deletions.length, total)
    }
    return preview
  })
}
