import type { FieldRefusal } from '../../directory/difference.ts'
import { EMPLOYEE_FIELDS, type EmployeeField, type EmployeeFields } from '../../directory/employee.ts'
import { hideValue, maskValue } from '../../directory/masking.ts'
import { PlatformError, type Verdict } from '../../platform/errors.ts'
import { message, type Said } from '../../texts/message.ts'
import { healingDelay, MAX_ATTEMPTS, retryDelay, slowProbeDelay } from './backoff.ts'
import type { Claim, ClaimKey, OpenCase } from './claim.ts'

/** The outcome of a job. */
export type Outcome = Unfinished['outcome'] | Finished['outcome']

/** Outcomes of attempts after which there is still something to do. */
export const UNFINISHED = [
  'retry',
  'wait',
  'halted',
  'replan',
] as const satisfies readonly Unfinished['outcome'][]

/** The result of a job. `settle` writes it, together with what the processor knows of the execution. */
export type JobResult = Unfinished | Finished

/** What is recorded of every attempt. */
interface AttemptFacts {
  platformCode: number | null
  traceId: string | null
  error: Said | null
}

/** The job goes back to the outbox. Nothing new is known of its entity, whose cases stay as they are. */
export interface Unfinished extends AttemptFacts {
  outcome: 'retry' | 'wait' | 'halted' | 'replan'
  again: Again
}

export interface Again {
  delayMs: number
  attempts: number
}

/** Nothing is left to do. */
export interface Finished extends AttemptFacts {
  outcome:
    | 'in_sync'
    | 'updated'
    | 'partly_updated'
    | 'deleted'
    | 'bound'
    | 'awaiting_activation'
    | 'left'
    | 'parked'
    | 'obsolete'
  again: null
  /** What is stored of the entity; null: it stays as it is. */
  stored: StoredEmployee | StoredDepartment | StoredBinding | null
  failures: Failure[]
  /**
   * The cases of this entity and operation that end, by their fields; those of `failures` never do. An excepted case that was
   * being retried waits for its next turn. One that ends has succeeded, unless its field is `moot`: not confirmed.
   */
  resolve: 'all' | 'none' | { except: string[]; moot?: string[] }
}

/** Of an employee whose row in HR was compared with the platform. */
export interface StoredEmployee {
  of: 'employee'
  memory: EmployeeMemory
  /** All of the memory is stored already. That the platform confirmed it once more, the attempt tells. */
  isStored: boolean
  /** The fields that were sent and accepted. */
  fields: EmployeeField[]
  /** What others can have now, whose cases name no holder. */
  available: AvailableValue[]
  /** Refusals that may mean that a field is switched off for the enterprise: the platform shows no value of it. */
  blockFields: RefusedField[]
  /** Blocked fields that succeeded. */
  unblockFields: string[]
}

interface StoredDepartment {
  of: 'department'
  state: 'deleted' | 'parked'
}

interface StoredBinding {
  of: 'openid'
  openUserid: string
}

/** A value that cases of a category wait for, whoever has it. */
export interface AvailableValue {
  category: 'duplicate_work_number' | 'missing_department'
  value: string
}

/** What is written of one execution of a job, in one transaction: its result, and the processor's additions. */
export type Settlement = JobResult & Execution
export type FinishedSettlement = Finished & Execution

interface Execution {
  key: ClaimKey
  /** As claimed. Of an execution that was overtaken only the attempt is written. */
  version: number
  execution: number
  runId: number | null
  startedAt: Date
  durationMs: number
  /** By operation: calls, milliseconds that they waited for the pacer, and calls that came too fast. */
  calls: Record<string, number>
  waitedMs: Record<string, number>
  rateLimited: Record<string, number>
  /**
   * For an employee whom a person named, or whose row the platform has although a person rejected it: hash of the HR row that
   * was compared, null where HR has none; whether one waited for a decision, and its hash. No plan was needed, so the outcome
   * stores what a plan would have stored.
   */
  present?: { hash: string | null; isHeld: boolean; heldHash: string | null; named: boolean } | undefined
  /**
   * The employee's state on the platform may have changed: it accepted fields, it has the employee no longer, or an execution
   * could not tell whether it did.
   * Cases that wait for that are retried.
   */
  changed: boolean
  /** The outcome of an update that this execution, or one before it, sent is unknown. */
  sentUnknown: boolean
}

/** A refusal of a field that may be switched off. */
export interface RefusedField extends Omit<FieldRefusal, 'userid'> {
  field: string
  platformCode: number | null
  /** The field is on or off as a whole: the first refusal tells, unless the platform ever accepted one of the enterprise. */
  isWhole: boolean
}

/** A failure that becomes a case for review. */
export interface Failure {
  entity: 'employee' | 'department' | 'mirror'
  field: string
  category: string
  platformCode: number | null
  traceId: string | null
  message: Said
  remedy: Said
  changedFields: { field: string; value: string | null }[]
  blockedBy: string | null
  sourceHash: string | null
  state: 'open' | 'retry_scheduled' | 'awaiting_activation'
  /** Milliseconds until dirsync retries by itself. */
  nextRetryMs: number
}

/** An employee's stored state after an attempt. */
export interface EmployeeMemory {
  active: boolean
  acknowledgedHash: string | null
  parkedHash: string | null
  acknowledged: Partial<Record<EmployeeField, string>>
  /** Per sent field, the hash of the platform's value before. */
  overwritten: Partial<Record<EmployeeField, string>>
  withheld: string[]
  platformState: 'unknown' | 'in_service' | 'absent'
  /** The platform has answered where the employee is, or refuses to. */
  isAnswered: boolean
  deptCode: string | null
  /** Whether the account's person left, or is another one; null: it was not compared. */
  hadLeft: boolean | null
  /** The mark of the account that was compared; null: of none. */
  account: number | null
  /** It is not the account of before, or another person's: what was confirmed, and the open ids, are not the employee's. */
  isAnew: boolean
}

const NO_FACTS: AttemptFacts = { platformCode: null, traceId: null, error: null }

/** The job comes back. */
export function unfinished(
  outcome: Unfinished['outcome'],
  again: Again,
  facts: Partial<AttemptFacts> = {},
): Unfinished {
  return { outcome, again, ...NO_FACTS, ...facts }
}

/** The job is over; pass what differs from an outcome that changes nothing. */
export function finished(
  outcome: Finished['outcome'],
  differs: Partial<Omit<Finished, 'outcome' | 'again'>> = {},
): Finished {
  return { outcome, again: null, stored: null, failures: [], resolve: 'none', ...NO_FACTS, ...differs }
}

/** What is stored of an employee to whom nothing was sent. */
export function unsent(memory: EmployeeMemory): StoredEmployee {
  return {
    of: 'employee',
    memory,
    isStored: false,
    fields: [],
    available: [],
    blockFields: [],
    unblockFields: [],
  }
}

/** What is stored of the employee, if anything is. */
export function storedEmployee(result: JobResult): StoredEmployee | null {
  return result.again === null && result.stored?.of === 'employee' ? result.stored : null
}

/** The stored state when the platform was not asked: nothing about its side. */
export function unasked(active: boolean): EmployeeMemory {
  return {
    active,
    acknowledgedHash: null,
    parkedHash: null,
    acknowledged: {},
    overwritten: {},
    withheld: [],
    platformState: 'unknown',
    isAnswered: false,
    deptCode: null,
    hadLeft: null,
    account: null,
    isAnew: false,
  }
}

/** A call that the platform did not carry out, and the catalogue's verdict. */
export interface Refusal {
  error: PlatformError
  verdict: Verdict
}

/** A failed call with the catalogue's verdict; rethrows any other error. */
export function refusalOf(error: unknown): Refusal {
  if (!(error instanceof PlatformError)) throw error
  return { error, verdict: error.verdict }
}

/** The one place that turns a verdict into a result: the job comes back, now or later, or becomes a case for review. */
export function resultOfRefusal(
  refusal: Refusal & {
    claim: Pick<Claim, 'active' | 'attempts' | 'cases'>
    entity: Failure['entity']
    /** bind-openid: the merchant application id; mirror: the part of it; else empty. */
    field: string
    /** Hash of the HR row that was tried; null when none is involved. */
    sourceHash: string | null
    /** The platform is away for all: no attempt is spent, except by the probe that finds out. */
    outage: boolean
  },
): JobResult {
  const { error, verdict, claim, entity, field, sourceHash } = refusal
  const facts = {
    platformCode: error.platformCode ?? null,
    traceId: error.traceId ?? null,
    error: isLostDeletion(error) ? message('said.deletion_unanswered') : verdict.said.meaning,
  }
  const again = { delayMs: 0, attempts: claim.attempts }
  const isTransient = verdict.disposition === 'retry' || verdict.disposition === 'refresh-token'
  if (verdict.disposition === 'halt' || (isTransient && refusal.outage))
    return unfinished('halted', again, facts)
  if (verdict.disposition === 'wait')
    return unfinished('wait', { ...again, delayMs: verdict.retryAfterMs ?? 1000 }, facts)
  const attempts = claim.attempts + 1
  if (isTransient && attempts <= (verdict.attempts ?? MAX_ATTEMPTS - 1))
    return unfinished('retry', { delayMs: retryDelay(attempts, Math.random()), attempts }, facts)

  const isAbsent = verdict.category === 'not_on_platform'
  return finished(isAbsent ? 'awaiting_activation' : 'parked', {
    ...facts,
    stored: parkedEntity(entity, field, {
      ...unasked(claim.active),
      parkedHash: sourceHash,
      platformState: isAbsent ? 'absent' : 'unknown',
      isAnswered: !isTransient,
    }),
    failures: [failureOfRefusal(refusal, { entity, field, sourceHash, cases: claim.cases })],
    // Nothing new is known of the fields, unless the platform does not have the employee at all.
    resolve: isAbsent ? 'all' : allBut(claim.cases),
  })
}

/** A gateway answers so that has passed a call on, and got no answer itself. */
const GAVE_UP = new Set([502, 504])

/** A deletion that was sent, and to which no answer came. Its attempt says so: the next one goes by that. */
function isLostDeletion({ operation, outcomeKnown, httpStatus }: PlatformError): boolean {
  return operation === 'department/delete' && !outcomeKnown && !(httpStatus && !GAVE_UP.has(httpStatus))
}

/**
 * What is stored of an entity whose job is parked as a whole.
 * @param detail of the job: only that of an update has none
 */
export function parkedEntity(
  entity: Failure['entity'],
  detail: string,
  memory: EmployeeMemory,
): Finished['stored'] {
  if (entity === 'department') return { of: 'department', state: 'parked' }
  return entity === 'employee' && detail === '' ? unsent(memory) : null
}

/** These cases stay. Those that were being retried rest until their next turn. */
export function allBut(cases: OpenCase[]): Finished['resolve'] {
  return { except: cases.map(({ field }) => field) }
}

/** These may recover without a change in HR: they are retried at growing intervals, not weekly. `dirsync.next_turn` has the same. */
const HEALING = new Set(['not_on_platform', 'platform_unavailable', 'unclassified', 'unsettled_hr_row'])

type NewFailure = Pick<Failure, 'entity' | 'category' | 'message' | 'remedy' | 'sourceHash'> &
  Partial<Pick<Failure, 'field' | 'platformCode' | 'traceId' | 'changedFields' | 'blockedBy'>> & {
    /** The existing open cases, for the growing intervals. */
    cases: OpenCase[]
  }

/** A case for review: its state, and when dirsync retries by itself. */
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

/** The case of a refused call, by its verdict. */
export function failureOfRefusal(
  { error, verdict }: Refusal,
  given: Omit<NewFailure, 'category' | 'message' | 'remedy' | 'platformCode' | 'traceId'>,
): Failure {
  const { maskedMessage, platformCode, traceId } = error
  return failure({
    ...given,
    category: verdict.category,
    message: maskedMessage
      ? [verdict.said.meaning, message('said.platform_says', { words: maskedMessage })]
      : verdict.said.meaning,
    remedy: verdict.said.remedy,
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
