import { EMPLOYEE_FIELDS, type EmployeeField, type EmployeeFields } from '../directory/employee.ts'
import { hideValue, maskText, maskValue } from '../directory/masking.ts'
import { PlatformError, type Verdict, verdictOf } from '../platform/errors.ts'
import { healingDelay, MAX_ATTEMPTS, retryDelay, slowProbeDelay } from './backoff.ts'
import type { Claim, OpenCase } from './claim.ts'
import { type Failure, type JobResult, result, unasked } from './settlement.ts'

/** Categories that may heal without anybody doing anything in HR: tried again at growing intervals instead of weekly. */
const HEALING = new Set(['not_on_platform', 'platform_unavailable', 'unclassified'])

interface FailureInput {
  entity: Failure['entity']
  category: string
  message: string
  remedy: string
  field?: string
  changedFields?: Failure['changedFields']
  blockedBy?: string | null
  sourceHash: string | null
  /** The cases that are open already, for the growing intervals. */
  cases: OpenCase[]
  error?: unknown
}

/** Builds a case for review: its state, and when dirsync tries again by itself. */
export function failure(input: FailureInput): Failure {
  const field = input.field ?? ''
  const before = input.cases.find(open => open.field === field)?.occurrences ?? 0
  const platform = input.error instanceof PlatformError ? input.error : null
  const healing = HEALING.has(input.category)
  return {
    entity: input.entity,
    field,
    category: input.category,
    platformCode: platform?.platformCode ?? null,
    traceId: platform?.traceId ?? null,
    message: input.message,
    remedy: input.remedy,
    changedFields: input.changedFields ?? [],
    blockedBy: input.blockedBy ?? null,
    sourceHash: input.sourceHash,
    state:
      input.category === 'not_on_platform' ? 'awaiting_activation' : healing ? 'retry_scheduled' : 'open',
    nextRetryMs: healing ? healingDelay(before + 1, Math.random()) : slowProbeDelay(Math.random()),
  }
}

/** Builds the case that a refused call becomes, by its verdict. */
export function refusal(
  error: unknown,
  verdict: Verdict,
  input: Omit<FailureInput, 'category' | 'message' | 'remedy' | 'error'>,
): Failure {
  const words =
    error instanceof PlatformError && error.platformMessage
      ? ` The platform says: ${maskText(error.platformMessage)}`
      : ''
  return failure({
    ...input,
    category: verdict.category,
    message: verdict.meaning + words,
    remedy: verdict.remedy,
    error,
  })
}

/** Names and masked values of fields, for a case. */
export function maskedFields(
  fields: readonly EmployeeField[],
  values: EmployeeFields,
): Failure['changedFields'] {
  return fields
    .filter(field => EMPLOYEE_FIELDS.includes(field) && field in values)
    .map(field => ({ field, value: maskValue(field, values[field] ?? null) }))
}

/** The same of fields that break a rule: they may hold what belongs into any other column. */
export function hiddenFields(
  fields: readonly string[],
  row: Readonly<Record<string, string | null>>,
): Failure['changedFields'] {
  return EMPLOYEE_FIELDS.filter(field => fields.includes(field) && field in row).map(field => ({
    field,
    value: hideValue(row[field] ?? null),
  }))
}

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

/** The catalogue's verdict about a failed call; whatever else failed is thrown on. */
export function judge(error: unknown): { error: PlatformError; verdict: Verdict } {
  if (!(error instanceof PlatformError)) throw error
  return { error, verdict: verdictOf(error, error.operation) }
}
