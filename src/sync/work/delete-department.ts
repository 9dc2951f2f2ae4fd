import type { DueDeletion } from '../../directory/department.ts'
import type { NamedSource } from '../../hr/sources.ts'
import { Batcher } from '../../lib/batcher.ts'
import type { Pool } from '../../lib/database.ts'
import { enterpriseParams } from '../../platform/request.ts'
import { message } from '../../texts/message.ts'
import type { Claim } from '../outbox/claim.ts'
import { finished, type JobResult, refusalOf } from '../outbox/outcome.ts'
import {
  checked,
  type DepartmentFacts,
  type DepartmentLimits,
  type DepartmentReading,
  remembered,
} from '../plan/departments.ts'
import type { CountedPlatform } from './counted-platform.ts'

/** How long deletions of one run share a reading of HR. */
const BELIEVED_MS = 30_000

/**
 * Reads a source's departments for the jobs that delete them: all jobs of a run share a reading of HR. The stored departments
 * are read for every request.
 */
export class DepartmentReader {
  readonly #batcher: Batcher<number | null, DepartmentFacts>
  #last: { run: number | null; begun: number; reading: DepartmentReading } | undefined

  constructor(db: Pool, source: NamedSource, limits: DepartmentLimits) {
    this.#batcher = new Batcher(
      async runs => {
        const facts = await checked(db, source, await this.#read(db, source, runs), limits)
        return runs.map(() => facts)
      },
      { maxBatch: 500 },
    )
  }

  /** @param run that requested the deletion; null: HR is read anew */
  facts(run: number | null): Promise<DepartmentFacts> {
    return this.#batcher.submit(run)
  }

  async #read(db: Pool, source: NamedSource, runs: readonly (number | null)[]): Promise<DepartmentReading> {
    const [first = null] = runs
    const run = runs.every(other => other === first) ? first : null
    const last = this.#last
    const begun = performance.now()
    if (last && run !== null && last.run === run && begun - last.begun < BELIEVED_MS) return last.reading
    const reading = await remembered(db, source, await source.hr.departments())
    this.#last = { run, begun, reading }
    return reading
  }
}

interface DepartmentJob {
  enterpriseCode: string
  deptCode: string
  claim: Claim
  /** The deletions that HR's current state asks for. */
  wanted: DueDeletion[]
}

/**
 * Deletes one department, if HR still wants it and nothing is left below it. One whose child could not be deleted is planned
 * again once the child is gone. A department that the platform does not know has reached its goal (section 4.6).
 */
export async function deleteDepartment(job: DepartmentJob, platform: CountedPlatform): Promise<JobResult> {
  const { enterpriseCode, deptCode } = job
  if (!isToBeDeleted(job.wanted, job)) return finished('obsolete', { resolve: 'all' })
  try {
    await platform.deleteDepartment({ dept_code: deptCode, ...enterpriseParams(enterpriseCode) })
  } catch (thrown) {
    const { error, verdict } = refusalOf(thrown)
    if (verdict.disposition !== 'done') throw error
    return finished('deleted', {
      ...DELETED,
      platformCode: error.platformCode ?? null,
      error: message('said.no_such_department'),
    })
  }
  return finished('deleted', DELETED)
}

/** Whether HR wants the department deleted, and nothing is left below it. */
export function isToBeDeleted(
  deletions: readonly DueDeletion[],
  { enterpriseCode, deptCode }: Pick<DepartmentJob, 'enterpriseCode' | 'deptCode'>,
): boolean {
  return deletions.some(
    deletion =>
      deletion.enterpriseCode === enterpriseCode && deletion.deptCode === deptCode && deletion.wave === 0,
  )
}

const DELETED = { stored: { of: 'department', state: 'deleted' }, resolve: 'all' } as const
