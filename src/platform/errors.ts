import { unitOf } from '../directory/difference.ts'
import { EMPLOYEE_FIELDS, type EmployeeField } from '../directory/employee.ts'
import { maskText } from '../directory/masking.ts'
import { inEnglish, type Message, message } from '../texts/message.ts'
import {
  type CatalogueEntry,
  type CatalogueMessages,
  CIRCUMSTANCES,
  type Disposition,
  entryOfCode,
  type FailureCategory,
  type HeldBackField,
  messagesOf,
} from './codes.ts'

/** Where a call failed. */
export type FailureKind =
  | 'business' // the platform answered with a code of its own
  | 'http' // an HTTP status other than 200
  | 'timeout'
  | 'connection'
  | 'malformed' // an answer that breaks the specification, or is too long
  | 'invalid_request' // nothing was sent
  | 'token_fuse' // nothing was sent
  | 'aborted'
  | 'paused' // nothing was sent

/** A parameter that breaks a rule; never its value. */
export interface ParameterProblem {
  field: string
  /** In English. */
  rule: string
  /** The rule for readers of every language. */
  said: Message
}

export function parameterProblem(field: string, said: Message): ParameterProblem {
  return { field, rule: inEnglish(said), said }
}

/** The facts of a failure. */
export interface PlatformFailure {
  readonly kind: FailureKind
  readonly operation: string
  /** Code of the answer's envelope. */
  readonly platformCode?: number | undefined
  /** The platform's own words. They may name a person: for whoever made the call, never for a log. */
  readonly platformMessage?: string | undefined
  /** The same for the dead letter: without numbers, addresses, and names and free texts that the platform was sent. */
  readonly maskedMessage?: string | undefined
  readonly httpStatus?: number | undefined
  /** Identifies the call to the vendor's support. */
  readonly traceId?: string | undefined
  /** How long the platform (or the token fuse) asks us to wait. */
  readonly retryAfterMs?: number | undefined
  /** False when the platform may have carried the call out without our knowing (law 9). */
  readonly outcomeKnown: boolean
  /** With `invalid_request`. */
  readonly problems?: readonly ParameterProblem[] | undefined
  /** With `malformed`: some fields of the answer that are not as specified, such as `data_list.0.status`; never their values. */
  readonly unreadable?: readonly string[] | undefined
}

/** A failed call to the platform: the facts, and what to do about them. */
export class PlatformError extends Error implements PlatformFailure {
  /** `PLATFORM_` and the kind in capitals, for example `PLATFORM_TIMEOUT`. */
  readonly code: string
  readonly kind: FailureKind
  readonly operation: string
  readonly platformCode?: number | undefined
  declare readonly platformMessage?: string
  declare readonly maskedMessage?: string
  readonly httpStatus?: number | undefined
  readonly traceId?: string | undefined
  readonly retryAfterMs?: number | undefined
  readonly outcomeKnown: boolean
  readonly problems?: readonly ParameterProblem[] | undefined
  readonly unreadable?: readonly string[] | undefined
  /** What to do about the failure; `verdict` says more. */
  readonly disposition: Disposition
  readonly #verdict: Verdict
  readonly #said: Message

  /** @param entry its entry in the catalogue */
  constructor(failure: PlatformFailure, cause?: unknown, entry: CatalogueEntry = entryOf(failure)) {
    const verdict = verdictBy(entry, failure, failure.operation)
    const { what, said } = whatFailed(failure, verdict.said)
    super(`${what}: ${verdict.meaning} ${verdict.remedy}`, cause === undefined ? undefined : { cause })
    this.name = 'PlatformError'
    this.code = `PLATFORM_${failure.kind.toUpperCase()}`
    this.kind = failure.kind
    this.operation = failure.operation
    this.platformCode = failure.platformCode
    this.httpStatus = failure.httpStatus
    this.traceId = failure.traceId
    this.retryAfterMs = failure.retryAfterMs
    this.outcomeKnown = failure.outcomeKnown
    this.problems = failure.problems
    this.unreadable = failure.unreadable
    this.disposition = verdict.disposition
    this.#verdict = verdict
    this.#said = said
    // Not enumerable: loggers write out enumerable properties of errors, and this one may hold personal data.
    const { platformMessage } = failure
    if (platformMessage === undefined) return
    Object.defineProperty(this, 'platformMessage', { value: platformMessage })
    Object.defineProperty(this, 'maskedMessage', {
      value: failure.maskedMessage ?? maskText(platformMessage),
    })
  }

  /** The catalogue's verdict on this failure of its operation. */
  get verdict(): Verdict {
    return this.#verdict
  }

  /** What its message says, for readers of every language. */
  get said(): Message {
    return this.#said
  }
}

/** What the platform said in answer to a call that failed, without personal data: one sentence or none. */
export function platformSaid({ maskedMessage: words = '' }: PlatformError): Message[] {
  return words === '' ? [] : [message('said.platform_said', { words })]
}

/**
 * Why a call failed, in the platform's words where it gave any. Alike for failures that are alike: without the trace id; and without
 * the remedy, which is for a case.
 */
export function failureReason(error: PlatformError): Message {
  const { operation, problems, verdict } = error
  if (problems !== undefined) return error.said
  const failed = { operation, facts: factsOf(error).join(', '), meaning: verdict.said.meaning }
  const [said] = platformSaid(error)
  return said ? message('said.failed_saying', { ...failed, said }) : message('said.failed_for', failed)
}

/** A call aborted before anything was sent. */
export function abortedError(operation: string, cause: unknown): PlatformError {
  return new PlatformError({ kind: 'aborted', operation, outcomeKnown: true }, cause)
}

/**
 * A call that is not idempotent (refund, top-up) was sent, and whether the platform carried it out is unknown: no answer came,
 * or none that says so. It is never repeated here. Find out its outcome before you send anything again.
 */
export class OutcomeUnknownError extends PlatformError {
  override readonly code = 'PLATFORM_OUTCOME_UNKNOWN'
  declare readonly outcomeKnown: false

  constructor(failure: PlatformError) {
    super(failure, failure, CIRCUMSTANCES.outcome_unknown)
    this.name = 'OutcomeUnknownError'
  }
}

/** What to do about one failure of one operation. */
export interface Verdict {
  disposition: Disposition
  category: FailureCategory
  /** What happened, in one sentence. */
  meaning: string
  /** What the reviewer should do, in one sentence. */
  remedy: string
  /** Both, for readers of every language. */
  said: CatalogueMessages
  /** The one part of the update to hold back; the others can still be sent. */
  field?: HeldBackField
  /** How far it reaches: `halt` stops everything or the enterprise; a parked feature is off for the enterprise. */
  scope?: 'all' | 'enterprise'
  /** With `wait` and `halt`: milliseconds until it makes sense to retry. */
  retryAfterMs?: number
  /** With `retry`: retries permitted before it is parked; absent: the usual number. */
  attempts?: number
  /** With `park`: state of the dead letter when it is not simply open. */
  state?: 'awaiting_activation'
}

/** The verdict on any error thrown by an operation, including one of another operation that it needed. */
export function dispositionOf(error: unknown, operation: string): Verdict {
  if (!(error instanceof PlatformError)) return verdictBy(CIRCUMSTANCES.internal, {}, operation)
  return operation === error.operation ? error.verdict : verdictBy(entryOf(error), error, operation)
}

/** Operations whose values come from HR. */
const IS_ABOUT_HR = /^(?:employee|department)\//

/** An entry's verdict for one operation, once the client has renewed the token or corrected its clock, and that did not help. */
function verdictBy(
  entry: CatalogueEntry,
  failure: Pick<PlatformFailure, 'problems' | 'unreadable' | 'retryAfterMs'>,
  operation: string,
): Verdict {
  const isAboutHr = IS_ABOUT_HR.test(operation)
  const said = messagesOf(entry, isAboutHr)
  const verdict: Verdict = {
    disposition: entry.operations?.[operation] ?? entry.persisting ?? entry.disposition,
    category: entry.category,
    meaning: entry.meaning,
    remedy: isAboutHr ? entry.remedy : (entry.remedyBesideHr ?? entry.remedy),
    said,
  }
  if (entry === CIRCUMSTANCES.unreadable && failure.unreadable) {
    said.meaning = message('said.fields_unreadable', { fields: failure.unreadable })
    verdict.meaning = inEnglish(said.meaning)
  }
  if (verdict.disposition === 'done') {
    said.remedy = message('said.goal_reached')
    verdict.remedy = inEnglish(said.remedy)
  }
  const field = operation === 'employee/update' ? (entry.field ?? onlyFieldOf(failure)) : undefined
  if (field !== undefined) verdict.field = field
  if (entry.scope !== undefined) verdict.scope = entry.scope
  if (entry.attempts !== undefined) verdict.attempts = entry.attempts
  if (entry.state !== undefined) verdict.state = entry.state
  if (failure.retryAfterMs !== undefined) verdict.retryAfterMs = failure.retryAfterMs
  return verdict
}

function entryOf(failure: PlatformFailure): CatalogueEntry {
  if (failure instanceof OutcomeUnknownError) return CIRCUMSTANCES.outcome_unknown
  switch (failure.kind) {
    case 'business':
      if (failure.retryAfterMs !== undefined) return CIRCUMSTANCES.rate_limited
      return entryOfCode(failure.platformCode) ?? CIRCUMSTANCES.unclassified
    case 'http':
      if (failure.retryAfterMs !== undefined) return CIRCUMSTANCES.rate_limited
      return (failure.httpStatus ?? 500) >= 500 ? CIRCUMSTANCES.unavailable : CIRCUMSTANCES.unclassified
    case 'timeout':
    case 'connection':
      return CIRCUMSTANCES.unavailable
    case 'malformed':
      return CIRCUMSTANCES.unreadable
    default:
      return CIRCUMSTANCES[failure.kind]
  }
}

/** The unit of all problems of a request, if there is just one. */
function onlyFieldOf(failure: Pick<PlatformFailure, 'problems'>): HeldBackField | undefined {
  const units = new Set(failure.problems?.map(problem => unitOfParameter(problem.field)))
  return units.size === 1 ? [...units][0] : undefined
}

function unitOfParameter(parameter: string): HeldBackField | undefined {
  if (parameter === 'code' || parameter === 'new_corp_code') return 'corp_code'
  return EMPLOYEE_FIELDS.includes(parameter as EmployeeField)
    ? (unitOf(parameter as EmployeeField) as HeldBackField)
    : undefined
}

function whatFailed(failure: PlatformFailure, { meaning, remedy }: CatalogueMessages) {
  const { operation, traceId } = failure
  if (failure.problems !== undefined) {
    const problems = failure.problems.map(({ field, said }) =>
      field === '' ? said : message('said.wanted_of', { what: field, wanted: said }),
    )
    return {
      what: `${operation} was not sent (${problems.map(inEnglish).join('; ')})`,
      said: message('said.call_not_sent', { operation, problems, meaning, remedy }),
    }
  }
  const facts = [...factsOf(failure), ...(traceId === undefined ? [] : [`trace ${traceId}`])].join(', ')
  return {
    what: `${operation} failed (${facts})`,
    said: message('said.call_failed', { operation, facts, meaning, remedy }),
  }
}

function factsOf({
  kind,
  platformCode,
  httpStatus,
}: Pick<PlatformFailure, 'kind' | 'platformCode' | 'httpStatus'>): string[] {
  return [
    kind,
    ...(platformCode === undefined ? [] : [`code ${platformCode}`]),
    ...(httpStatus === undefined || httpStatus === 200 ? [] : [`HTTP ${httpStatus}`]),
  ]
}
