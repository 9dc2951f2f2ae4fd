import { MAX_ATTEMPTS, retryDelay } from '../core/backoff.ts'
import type { Verdict } from '../platform/error-catalogue.ts'
import { PlatformError } from '../platform/errors.ts'
import type { Claim } from '../store/claim.ts'
import type { Failure } from '../store/settlement.ts'
import { unasked } from './employee-memory.ts'
import { refusal } from './failure.ts'
import { type JobResult, result } from './job-result.ts'

interface Judged {
  error: unknown
  verdict: Verdict
  claim: Pick<Claim, 'attempts' | 'cases'>
  entity: Failure['entity']
  /** bind-openid: the merchant application id; mirror: the part of it; else empty. */
  field: string
  /** Hash of the HR row that was tried; null when none is involved. */
  sourceHash: string | null
  /** The platform is away for everybody: no attempt is spent, but by the probe that is to find out. */
  outage: boolean
}

/** The one place that turns a disposition into the outbox's language: back to it, now or later, or a case for review. */
export function verdictResult(judged: Judged): JobResult {
  const { verdict, claim, error } = judged
  const attempt = {
    platformCode: error instanceof PlatformError ? (error.platformCode ?? null) : null,
    traceId: error instanceof PlatformError ? (error.traceId ?? null) : null,
    error: verdict.meaning,
  }
  if (verdict.disposition === 'halt')
    return result('halted', { again: { delayMs: 0, attempts: claim.attempts }, attempt })
  if (verdict.disposition === 'wait')
    return result('wait', {
      again: { delayMs: verdict.retryAfterMs ?? 1000, attempts: claim.attempts },
      attempt,
    })
  if (verdict.disposition === 'retry' || verdict.disposition === 'refresh-token') {
    if (judged.outage) return result('halted', { again: { delayMs: 0, attempts: claim.attempts }, attempt })
    const attempts = claim.attempts + 1
    if (attempts <= (verdict.attempts ?? MAX_ATTEMPTS - 1))
      return result('retry', { again: { delayMs: retryDelay(attempts, Math.random()), attempts }, attempt })
  }
  return parked(judged, attempt)
}

function parked(judged: Judged, attempt: Partial<JobResult['attempt']>): JobResult {
  const { entity, field, verdict, claim, sourceHash } = judged
  const absent = verdict.category === 'not_on_platform'
  const isUpdate = entity === 'employee' && field === ''
  return result(absent ? 'awaiting_activation' : 'parked', {
    employee: isUpdate
      ? { ...unasked(true), parkedHash: sourceHash, platformState: absent ? 'absent' : 'unknown' }
      : null,
    department: entity === 'department' ? 'parked' : null,
    failures: [refusal(judged.error, verdict, { entity, field, sourceHash, cases: claim.cases })],
    // Of the fields nothing new is known, unless the platform does not have the employee at all.
    keep: absent ? [] : claim.cases.map(open => open.field),
    attempt,
  })
}
