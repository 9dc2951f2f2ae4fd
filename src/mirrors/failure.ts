import { DatabaseError } from 'pg'
import { transaction } from '../lib/database.ts'
import type { FailureCategory } from '../platform/codes.ts'
import { mirrorCases, recordFailure } from '../sync/cases/cases.ts'
import { MAX_ATTEMPTS, retryDelay } from '../sync/outbox/backoff.ts'
import { haltForPlatform } from '../sync/outbox/halts.ts'
import {
  type Again,
  failure,
  finished,
  type JobResult,
  refusalOf,
  resultOfRefusal,
} from '../sync/outbox/outcome.ts'
import { type Mirror, mirrorOperation } from '../sync/runs/mirror-kind.ts'
import { isUnfit } from '../sync/settle/settlement.ts'
import { message, type Said } from '../texts/message.ts'
import {
  dropMirrorTasks,
  failedInARow,
  keepMirrorRun,
  type MirrorTask,
  noteMirrorAttempt,
  postponeMirrorTask,
} from './mirror.ts'
import type { MirrorWorkDependencies } from './mirror-reader.ts'

type Dependencies = Pick<MirrorWorkDependencies, 'pool' | 'standing' | 'logger'>

/**
 * Turns a failed reading into a retry, a halt or a case, by the same catalogue as a failed job. A part that was refused is
 * given up; when the platform stays away, so is the whole run. What ails one task alone (see `isOfTaskAlone`) costs that task,
 * or the part that it is, and is a case of its own, unless the tasks before it failed, too. Repeated halts give the run up too,
 * without a case: the mirror itself may be at fault, and employees wait for the halt to end.
 * @throws anything that is not a failure of the platform or of its data
 */
export async function settleFailure(
  deps: Dependencies,
  mirror: Mirror,
  task: MirrorTask,
  thrown: unknown,
  execution: { startedAt: Date; durationMs: number; operation: string; calls: number },
): Promise<void> {
  const { pool, logger } = deps
  const operation = mirrorOperation(mirror)
  const { enterpriseCode, part, position, runId } = task
  const { startedAt, durationMs } = execution
  const isAlone = isOfTaskAlone(task, thrown) && (await failedInARow(pool, runId)) < MOST_ALONE
  const field = isAlone ? task.entityKey : part
  const cases = (await mirrorCases(pool, operation)).filter(
    open => open.enterpriseCode === enterpriseCode && open.field === field,
  )
  const record = ({ result, again, dropped, lesson }: Decision) =>
    transaction(pool, async db => {
      const { outcome, platformCode, traceId, error } = result
      const calls = execution.calls + (again === null ? task.calls : 0)
      if (!(await keepMirrorRun(db, runId))) return
      logger.warn({ runId, mirror, outcome, platformCode, error }, 'a mirror could not read a task')
      await noteMirrorAttempt(db, operation, task, {
        startedAt,
        durationMs,
        outcome,
        calls: calls > 0 ? { [execution.operation]: calls } : {},
        platformCode,
        traceId,
        error,
      })
      if (again !== null) return postponeMirrorTask(db, task, again)
      const ofPart = { enterpriseCode, part }
      const alone = field === part ? ofPart : { position }
      const all = dropped === 'run' ? {} : ofPart
      // Before the cases: a cancel locks the run first, too.
      await dropMirrorTasks(db, runId, isAlone ? alone : all, lesson)
      const key = { operation, enterpriseCode, entityKey: mirror }
      for (const failed of failuresOf(result)) await recordFailure(db, { key, runId, startedAt }, failed)
    })
  const decision =
    thrown instanceof DatabaseError
      ? unfit(thrown, field, cases)
      : await decide(deps, mirror, { ...task, part: field }, thrown, cases)
  await record(decision).catch(error => {
    if (!isUnfit(error)) throw error
    // Otherwise the same call would be made again and again.
    return record({ ...unfit(error, field, cases), dropped: decision.dropped })
  })
}

/** So many tasks in a row may fail alone. Of more, it is not the tasks. */
const MOST_ALONE = 2

/** Refusals of an order that is asked for by itself that are not about this order. */
const OF_ALL_ORDERS: FailureCategory[] = ['platform_unavailable', 'no_permission', 'feature_disabled']

/** Whether a failure says nothing of other tasks: its answer is odd, or the platform refuses this very order. */
function isOfTaskAlone({ detail }: MirrorTask, thrown: unknown): boolean {
  if (thrown instanceof DatabaseError) return true
  const { error, verdict } = refusalOf(thrown)
  if (error.kind === 'malformed') return true
  return detail === 'order' && verdict.disposition !== 'halt' && !OF_ALL_ORDERS.includes(verdict.category)
}

type Cases = Parameters<typeof resultOfRefusal>[0]['claim']['cases']

/** The result of a failure; unless it is retried, what is given up, and why. */
interface Decision {
  result: JobResult
  again: Again | null
  dropped: 'part' | 'run'
  lesson: Said
}

async function decide(
  deps: Dependencies,
  mirror: Mirror,
  { enterpriseCode, part, attempts }: MirrorTask,
  thrown: unknown,
  cases: Cases,
): Promise<Decision> {
  const { error, verdict: general } = refusalOf(thrown)
  const verdict =
    mirror === 'taxpayers' && general.category === 'invalid_parameter'
      ? { ...general, said: { ...general.said, remedy: message('said.taxpayer_remedy') } }
      : general
  const result = resultOfRefusal({
    error,
    verdict,
    claim: { active: true, attempts, cases },
    entity: 'mirror',
    field: part,
    sourceHash: null,
    outage: false,
  })
  const { meaning, remedy } = verdict.said
  const lesson = [failuresOf(result)[0]?.message ?? meaning, remedy]
  if (verdict.disposition !== 'halt') {
    const dropped = verdict.category === 'platform_unavailable' ? 'run' : 'part'
    return { result, again: result.again, dropped, lesson }
  }

  const ofEnterprise = verdict.scope === 'enterprise'
  await haltForPlatform(deps, ofEnterprise ? enterpriseCode : '*', verdict, error.platformCode ?? null)
  const failed = attempts + 1
  const again =
    failed < MAX_ATTEMPTS ? { delayMs: retryDelay(failed, Math.random()), attempts: failed } : null
  return { result, again, dropped: ofEnterprise ? 'part' : 'run', lesson }
}

function failuresOf(result: JobResult) {
  return result.again === null ? result.failures : []
}

/** The platform sent a value that does not fit any column. */
function unfit(error: DatabaseError, part: string, cases: Cases): Decision {
  const what = message('said.unfit', { state: error.code ?? '' })
  const remedy = message('said.unfit_remedy')
  const refused = failure({
    entity: 'mirror',
    category: 'internal_error',
    field: part,
    message: what,
    remedy,
    sourceHash: null,
    cases,
  })
  return {
    result: finished('parked', { error: what, failures: [refused] }),
    again: null,
    dropped: 'part',
    lesson: [what, remedy],
  }
}
