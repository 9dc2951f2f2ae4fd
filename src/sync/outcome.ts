import { EMPLOYEE_FIELDS, type EmployeeField, type EmployeeFields } from '../directory/employee.ts'
import { hideValue, maskText, maskValue } from '../directory/masking.ts'
import { PlatformError, type Verdict } from '../platform/errors.ts'
import { healingDelay, MAX_ATTEMPTS, retryDelay, slowProbeDelay } from './backoff.ts'
import type { Claim, OpenCase } from './claim.ts'
import type { RefusedField } from './field-blocks.ts'

/** What executing a job came to, in a word. */
export type Outcome =
  | 'in_step'
  | 'updated'
  | 'partly_updated'
  | 'deleted'
  | 'bound'
  | 'awaiting_activation'
  | 'left'
  | 'parked'
  | 'retry'
  | 'wait'
  | 'halted'
  | 'obsolete'
  | 'replan'

/** What executing a job came to. `settle` writes it down, together with what the processor knows of the execution. */
export interface JobResult {
  outcome: Outcome
  /** The fields that were sent and accepted. */
  fields: EmployeeField[]
  platformCode: number | null
  traceId: string | null
  error: string | null
  /** Null: done with it. Otherwise it goes back to the outbox. */
  again: { delayMs: number; attempts: number } | null
  employee: EmployeeMemory | null
  failures: Failure[]
  /**
   * Which cases of this entity and operation end, by their fields; those of `failures` never do. `none` is for a job that
   * comes back: its cases stay as they are. Otherwise an excepted case that was being retried waits for its next turn.
   */
  resolve: 'all' | 'none' | { except: string[] }
  binding: string | null
  department: 'deleted' | 'parked' | null
  /** Refusals that may mean that a field is switched off for the enterprise. */
  blockFields: RefusedField[]
  /** Blocked fields that got through. */
  unblockFields: string[]
}

/** A failure that becomes a case for review. */
export interface Failure {
  entity: 'employee' | 'department' | 'mirror'
  field: string
  category: string
  platformCode: number | null
  traceId: string | null
  message: string
  remedy: string
  changedFields: { field: string; value: string | null }[]
  blockedBy: string | null
  sourceHash: string | null
  state: 'open' | 'retry_scheduled' | 'awaiting_activation'
  /** Milliseconds until dirsync tries again by itself. */
  nextRetryMs: number
}

/** What is remembered of an employee after an attempt. */
export interface EmployeeMemory {
  active: boolean
  acknowledgedHash: string | null
  parkedHash: string | null
  acknowledged: Partial<Record<EmployeeField, string>>
  /** Per field that was sent, the hash of what the platform showed before. */
  overwritten: Partial<Record<EmployeeField, string>>
  withheld: string[]
  platformState: 'unknown' | 'in_service' | 'absent'
  deptCode: string | null
}

/** A result in which nothing happened but the outcome; say what else did. */
export function result(outcome: Outcome, differs: Partial<Omit<JobResult, 'outcome'>> = {}): JobResult {
  return {
    outcome,
    fields: [],
    platformCode: null,
    traceId: null,
    error: null,
    again: null,
    employee: null,
    failures: [],
    resolve: 'none',
    binding: null,
    department: null,
    blockFields: [],
    unblockFields: [],
    ...differs,
  }
}

/** What is remembered when the platform was not asked: nothing about its side. */
export function unasked(active: boolean): EmployeeMemory {
  return {
    active,
    acknowledgedHash: null,
    parkedHash: null,
    acknowledged: {},
    overwritten: {},
    withheld: [],
    platformState: 'unknown',
    deptCode: null,
  }
}

/** A call that the platform did not carry out, and what the catalogue says about it. */
export interface Refusal {
  error: PlatformError
  verdict: Verdict
}

/** The catalogue's verdict about a failed call; anything else that was thrown is thrown on. */
export function judge(error: unknown): Refusal {
  if (!(error instanceof PlatformError)) throw error
  return { error, verdict: error.verdict }
}

/** The one place that turns a verdict into a result: the job comes back, now or later, or becomes a case for review. */
export function verdictResult(
  refusal: Refusal & {
    claim: Pick<Claim, 'attempts' | 'cases'>
    entity: Failure['entity']
    /** bind-openid: the merchant application id; mirror: the part of it; else empty. */
    field: string
    /** Hash of the HR row that was tried; null when none is involved. */
    sourceHash: string | null
    /** The platform is away for everybody: no attempt is spent, except by the probe that finds out. */
    outage: boolean
  },
): JobResult {
  const { error, verdict, claim, entity, field, sourceHash } = refusal
  const facts = {
    platformCode: error.platformCode ?? null,
    traceId: error.traceId ?? null,
    error: verdict.meaning,
  }
  const again = { delayMs: 0, attempts: claim.attempts }
  const isTransient = verdict.disposition === 'retry' || verdict.disposition === 'refresh-token'
  if (verdict.disposition === 'halt' || (isTransient && refusal.outage))
    return result('halted', { ...facts, again })
  if (verdict.disposition === 'wait')
    return result('wait', { ...facts, again: { ...again, delayMs: verdict.retryAfterMs ?? 1000 } })
  const attempts = claim.attempts + 1
  if (isTransient && attempts <= (verdict.attempts ?? MAX_ATTEMPTS - 1))
    return result('retry', { ...facts, again: { delayMs: retryDelay(attempts, Math.random()), attempts } })

  const isAbsent = verdict.category === 'not_on_platform'
  const isUpdate = entity === 'employee' && field === ''
  return result(isAbsent ? 'awaiting_activation' : 'parked', {
    ...facts,
    employee: isUpdate
      ? { ...unasked(true), parkedHash: sourceHash, platformState: isAbsent ? 'absent' : 'unknown' }
      : null,
    department: entity === 'department' ? 'parked' : null,
    failures: [refusalFailure(refusal, { entity, field, sourceHash, cases: claim.cases })],
    // Nothing new is known of the fields, unless the platform does not have the employee at all.
    resolve: isAbsent ? 'all' : allBut(claim.cases),
  })
}

/** These cases stay. Those that were being retried rest until their next turn. */
export function allBut(cases: OpenCase[]): JobResult['resolve'] {
  return { except: cases.map(({ field }) => field) }
}

/** These may heal without anybody changing anything in HR: they are tried again at growing intervals, not weekly. */
const HEALING = new Set(['not_on_platform', 'platform_unavailable', 'unclassified'])

type NewFailure = Pick<Failure, 'entity' | 'category' | 'message' | 'remedy' | 'sourceHash'> &
  Partial<Pick<Failure, 'field' | 'platformCode' | 'traceId' | 'changedFields' | 'blockedBy'>> & {
    /** The cases that are open already, for the growing intervals. */
    cases: OpenCase[]
  }

/** A case for review: its state, and when dirsync tries again by itself. */
export function failure({ cases, ...given }: NewFailure): Failure {
  const { category, field = '' } = given
  const occurrences = cases.find(open => open.field === field)?.occurrences ?? 0
  const heals = HEALING.has(category)
  return {
    platformCode: null,
    traceId: null,
    changedFields: [],
    blockedBy: null,
    ...given,
    field,
    state: category === 'not_on_platform' ? 'awaiting_activation' : heals ? 'retry_scheduled' : 'open',
    nextRetryMs: heals ? healingDelay(occurrences + 1, Math.random()) : slowProbeDelay(Math.random()),
  }
}

/** The case that a refused call becomes, by its verdict. */
export function refusalFailure(
  { error, verdict }: Refusal,
  given: Omit<NewFailure, 'category' | 'message' | 'remedy' | 'platformCode' | 'traceId'>,
): Failure {
  const { platformMessage, platformCode, traceId } = error
  return failure({
    ...given,
    category: verdict.category,
    message: verdict.meaning + (platformMessage ? ` The platform says: ${maskText(platformMessage)}` : ''),
    remedy: verdict.remedy,
    platformCode: platformCode ?? null,
    traceId: traceId ?? null,
  })
}

/** Names and masked values of fields, for a case. */
export function maskedFields(
  fields: readonly EmployeeField[],
  values: EmployeeFields,
): Failure['changedFields'] {
  return fields
    .filter(field => field in values)
    .map(field => ({ field, value: maskValue(field, values[field] ?? null) }))
}

/** The same for fields that break a rule. Their values are hidden: they may belong in any other column. */
export function hiddenFields(
  fields: readonly string[],
  row: Readonly<Record<string, string | null>>,
): Failure['changedFields'] {
  return EMPLOYEE_FIELDS.filter(field => fields.includes(field) && field in row).map(field => ({
    field,
    value: hideValue(row[field] ?? null),
  }))
}
