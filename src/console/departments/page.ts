import type { DueDeletion } from '../../directory/department.ts'
import type { DepartmentsInHr } from '../../hr/departments.ts'
import { LOOKUP_MS } from '../../hr/server.ts'
import { isOfHr } from '../../hr/source.ts'
import { type HrSources, type NamedSource, sourceUnread } from '../../hr/sources.ts'
import { onlyRow, type Pool, rolledBack } from '../../lib/database.ts'
import { departmentFacts, departmentsVerdict } from '../../sync/plan/departments.ts'
import { heldRun } from '../../sync/runs/run.ts'
import type { RunLimits } from '../../sync/runs/safety.ts'
import { message, type Said } from '../../texts/message.ts'

/** What a run that deletes departments would do now. */
export interface DeletionPreview {
  /** Departments that are not deleted yet. */
  total: number
  deletions: DueDeletion[]
  /** How many of the deletions are in the outbox already. Such a run takes them over: what becomes of it becomes of them. */
  waiting: number
  /** Whether the run would be held. */
  isHeld: boolean
  /** Runs that are held with such deletions already: a further one would do nothing. */
  heldRuns: number[]
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
  const preview: DeletionPreview = {
    ...{ total: 0, deletions: [], waiting: 0 },
    ...{ isHeld: false, heldRuns: [], unread: [] },
  }
  const sources = hr.all.filter(({ hr: { hasDepartments } }) => hasDepartments)
  const read = new Map<NamedSource, DepartmentsInHr>()
  for (const source of sources)
    try {
      // As a run does, which takes no half delivery of files.
      read.set(source, await source.hr.departments({ timeoutMs: LOOKUP_MS }))
    } catch (error) {
      preview.unread.push(sourceUnread(source, error))
      if (!isOfHr(error) || preview.unread.length === sources.length) throw error
    }
  return rolledBack(pool, async db => {
    for (const [source, delivered] of read) {
      const facts = await departmentFacts(db, source, delivered, limits)
      const { state, message: why } = departmentsVerdict(facts, limits)
      if (state === 'held') {
        const before = await heldRun(db, ['departments'], source.name)
        if (before === null) preview.isHeld = true
        else preview.heldRuns.push(before.id)
      } else if (why)
        preview.unread.push(hr.areNamed ? message('said.of_source', { name: source.name, reason: why }) : why)
      preview.total += facts.total
      preview.deletions.push(...facts.deletions)
    }
    const { rows } = await db.query<{ n: number }>(
      `select count(*)::int as n
       from jsonb_to_recordset($1) as w ("enterpriseCode" text, "deptCode" text)
       join dirsync.pending p on p.operation = 'delete-department'
         and p.enterprise_code = w."enterpriseCode" and p.entity_key = w."deptCode"`,
      [JSON.stringify(preview.deletions)],
    )
    return { ...preview, waiting: onlyRow(rows).n }
  })
}
