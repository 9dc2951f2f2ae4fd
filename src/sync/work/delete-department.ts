import type { DueDeletion } from '../../directory/department.ts'
import { qualified } from '../../directory/employee.ts'
import type { NamedSource } from '../../hr/sources.ts'
import { Batcher } from '../../lib/batcher.ts'
import type { Pool } from '../../lib/database.ts'
import { enterpriseParams } from '../../platform/request.ts'
import { message, type SaidKey } from '../../texts/message.ts'
import type { Claim, ClaimKey } from '../outbox/claim.ts'
import { finished, type JobResult, refusalOf } from '../outbox/outcome.ts'
import {
  checked,
  type DepartmentFacts,
  type DepartmentLimits,
  type DepartmentReading,
  remembered,
} from '../plan/departments.ts'
import type { CountedPlatform } from './counted-platform.ts'

/** How long deletions of one run share a reading of HR, or for as long as it took. */
const BELIEVED_MS = 30_000
/** What was read for a write is sent without another look for this long. */
export const FRESH_MS = 5000
/** How long HR may take for each statement of a reading, as it may count all employees. */
const READING_MS = 10 * 60_000

/**
 * Reads a source's departments for the jobs that delete them: all jobs of a run share a reading of HR. The stored departments
 * are read for every request.
 */
export class DepartmentReader {
  readonly #batcher: Batcher<DepartmentsWanted, DepartmentFacts>
  #last: Reading | undefined

  constructor(db: Pool, source: NamedSource, limits: DepartmentLimits) {
    this.#batcher = new Batcher(
      async wanted => {
        const facts = await checked(db, source, await this.#read(db, source, wanted), limits)
        return wanted.map(() => facts)
      },
      { maxBatch: 500 },
    )
  }

  /** @throws HrTooSlowError and others of HR */
  facts(wanted: DepartmentsWanted): Promise<DepartmentFacts> {
    return this.#batcher.submit(wanted)
  }

  async #read(db: Pool, source: NamedSource, wanted: DepartmentsWanted[]): Promise<DepartmentReading> {
    const last = this.#last
    const begun = performance.now()
    if (last && wanted.every(one => serves(last, one, begun))) return last.read
    const read = await remembered(db, source, await source.hr.departments({ timeoutMs: READING_MS }))
    const runs = new Set(wanted.map(({ run }) => run))
    this.#last = { runs, begun, ended: performance.now(), read }
    return read
  }
}

export interface DepartmentsWanted {
  /** That requested the deletion; null: only a fresh reading will do that began … */
  run: number | null
  /** … after this, by `performance.now()`. */
  since: number
}

interface Reading {
  runs: ReadonlySet<number | null>
  begun: number
  ended: number
  read: DepartmentReading
}

function serves({ runs, begun, ended }: Reading, { run, since }: DepartmentsWanted, now: number): boolean {
  const isWithin = (ms: number) => now - ended < Math.max(ms, ended - begun)
  return run === null ? begun >= since && isWithin(FRESH_MS) : runs.has(run) && isWithin(BELIEVED_MS)
}

interface DepartmentJob {
  enterpriseCode: string
  deptCode: string
  /** The deletions that HR's current state asks for. */
  wanted: DueDeletion[]
}

/**
 * Deletes one department, if HR still wants it and nothing is left below it. One whose child could not be deleted is planned
 * again once the child is gone. A department that the platform does not know has reached its goal (section 4.6); so has one that
 * only another enterprise has, if an earlier deletion got no answer.
 */
export async function deleteDepartment(
  db: Pool,
  job: DepartmentJob,
  platform: CountedPlatform,
): Promise<JobResult> {
  const { enterpriseCode, deptCode } = job
  if (!isToBeDeleted(job.wanted, job)) return finished('obsolete', { resolve: 'all' })
  try {
    await platform.deleteDepartment({ dept_code: deptCode, ...enterpriseParams(enterpriseCode) })
  } catch (thrown) {
    const { error, verdict } = refusalOf(thrown)
    const isGone =
      verdict.disposition === 'done' ||
      (verdict.category === 'no_permission' && (await wasUnanswered(db, job)))
    if (!isGone) throw error
    return finished('deleted', {
      ...DELETED,
      platformCode: error.platformCode ?? null,
      error: message('said.no_such_department'),
    })
  }
  return finished('deleted', DELETED)
}

/** Whether a deletion of the department was sent to which no answer came, as far back as attempts are kept. */
async function wasUnanswered(db: Pool, { enterpriseCode, deptCode }: DepartmentJob): Promise<boolean> {
  const { rowCount } = await db.query(
    `select from dirsync.attempt
     where enterprise_code = $1 and entity_key = $2 and operation = 'delete-department' and error ->> 'key' = $3 limit 1`,
    [enterpriseCode, deptCode, 'said.deletion_unanswered' satisfies SaidKey],
  )
  return rowCount === 1
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

/** The run with which a person rejected the deletion; null: none did, or a person has named it since. */
export function rejectedRun(
  { rejected }: Pick<DepartmentFacts, 'rejected'>,
  { enterpriseCode, entityKey }: Pick<ClaimKey, 'enterpriseCode' | 'entityKey'>,
  { named }: Pick<Claim, 'named'>,
): number | null {
  return (!named && rejected.get(qualified(enterpriseCode, entityKey))) || null
}

const DELETED = { stored: { of: 'department', state: 'deleted' }, resolve: 'all' } as const
