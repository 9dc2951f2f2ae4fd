import { DatabaseError } from 'pg'
import { transaction } from '../lib/database.ts'
import { MAX_ATTEMPTS, retryDelay } from '../sync/backoff.ts'
import { mirrorCases, recordFailure } from '../sync/cases.ts'
import { halt } from '../sync/halts.ts'
import { type Mirror, mirrorOperation } from '../sync/mirror-kind.ts'
import { failure, type JobResult, judge, result, verdictResult } from '../sync/outcome.ts'
import { dropMirrorTasks, type MirrorTask, noteMirrorAttempt, postponeMirrorTask } from './mirror.ts'
import type { MirrorWorkDependencies } from './mirror-work.ts'

/**
 * Writes what a failed reading comes to, by the same catalogue as a failed job: again later, a halt, or a case. A part that
 * was refused is given up; when the platform stays away, so is the whole run. A reading that calls for a halt again and
 * again gives the run up too, without a case: the halt may be of the mirror's own making, and employees wait for it.
 * @throws what is no failure of the platform or of its data
 */
export async function settleFailure(
  deps: Pick<MirrorWorkDependencies, 'pool' | 'logger'>,
  mirror: Mirror,
  task: MirrorTask,
  thrown: unknown,
  execution: { startedAt: Date; durationMs: number; operation: string; calls: number },
): Promise<void> {
  const { pool, logger } = deps
  const operation = mirrorOperation(mirror)
  const { enterpriseCode, part, runId } = task
  const cases = (await mirrorCases(pool, operation)).filter(
    open => open.enterpriseCode === enterpriseCode && open.field === part,
  )
  const { outcome, endsRun, lesson } =
    thrown instanceof DatabaseError
      ? { ...unfit(thrown, part, cases), endsRun: false }
      : await judged(deps, mirror, task, thrown, cases)
  const calls = execution.calls + (outcome.again === null ? task.calls : 0)
  await transaction(pool, async db => {
    await noteMirrorAttempt(db, operation, task, {
      startedAt: execution.startedAt,
      durationMs: execution.durationMs,
      outcome: outcome.outcome,
      calls: calls > 0 ? { [execution.operation]: calls } : {},
      platformCode: outcome.platformCode,
      traceId: outcome.traceId,
      error: outcome.error,
    })
    if (outcome.again !== null) return postponeMirrorTask(db, task, outcome.again)
    const key = { operation, enterpriseCode, entityKey: mirror }
    for (const failed of outcome.failures)
      await recordFailure(db, { key, runId, startedAt: execution.startedAt }, failed)
    const which = endsRun ? { enterpriseCode: null, part: null } : { enterpriseCode, part }
    await dropMirrorTasks(db, runId, which, lesson)
  })
  logger.warn(
    {
      runId,
      mirror,
      outcome: outcome.outcome,
      platformCode: outcome.platformCode,
      err: outcome.error,
    },
    'a part of the mirror could not be read',
  )
}

type Cases = Parameters<typeof verdictResult>[0]['claim']['cases']

async function judged(
  deps: Pick<MirrorWorkDependencies, 'pool' | 'logger'>,
  mirror: Mirror,
  { enterpriseCode, part, attempts }: MirrorTask,
  thrown: unknown,
  cases: Cases,
): Promise<{ outcome: JobResult; endsRun: boolean; lesson: string }> {
  const { error, verdict: general } = judge(thrown)
  const verdict =
    mirror === 'taxpayers' && general.category === 'invalid_parameter'
      ? { ...general, remedy: 'Correct the number in TAXPAYER_IDENTIFIERS.' }
      : general
  if (verdict.disposition === 'halt')
    await halt(deps, verdict.scope === 'enterprise' ? enterpriseCode : '*', {
      ...verdict,
      message: verdict.meaning,
      platformCode: error.platformCode ?? null,
    })
  const outcome = verdictResult({
    error,
    verdict,
    claim: { attempts, cases },
    entity: 'mirror',
    field: part,
    sourceHash: null,
    outage: false,
  })
  if (verdict.disposition === 'halt') outcome.again = afterHalt(attempts + 1)
  const [failed] = outcome.failures
  return {
    outcome,
    endsRun:
      verdict.disposition === 'halt'
        ? verdict.scope !== 'enterprise'
        : verdict.category === 'platform_unavailable',
    lesson: `${failed?.message ?? verdict.meaning} ${verdict.remedy}`,
  }
}

/** @param attempts that failed in a row, this one included */
function afterHalt(attempts: number): JobResult['again'] {
  return attempts < MAX_ATTEMPTS ? { delayMs: retryDelay(attempts, Math.random()), attempts } : null
}

/** The platform gave something that no column can hold. */
function unfit(error: DatabaseError, part: string, cases: Cases): { outcome: JobResult; lesson: string } {
  const message = `What the platform gave cannot be stored (SQLSTATE ${error.code}).`
  const remedy = 'Report it with the attempt and its time.'
  const refused = failure({
    entity: 'mirror',
    category: 'internal_error',
    field: part,
    message,
    remedy,
    sourceHash: null,
    cases,
  })
  return {
    outcome: result('parked', { error: message, failures: [refused] }),
    lesson: `${message} ${remedy}`,
  }
}
