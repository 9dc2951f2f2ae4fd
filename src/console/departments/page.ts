import type { DueDeletion } from '../../directory/department.ts'
import { isOfHr } from '../../hr/source.ts'
import type { HrSources } from '../../hr/sources.ts'
import { type Pool, rolledBack } from '../../lib/database.ts'
import { departmentFacts, departmentsVerdict } from '../../sync/departments.ts'
import type { RunLimits } from '../../sync/safety.ts'
import { message, type Said, saidBy } from '../../texts/message.ts'

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
      const { state, message: why } = departmentsVerdict(facts, limits)
      if (state === 'held') preview.isHeld = true
      else if (why) preview.unread.push(why)
      preview.total += facts.total
      preview.deletions.push(...facts.deletions)
    }
    return preview
  })
}
