import { unitOf } from '../directory/difference.ts'
import { EMPLOYEE_FIELDS, type EmployeeField } from '../directory/employee.ts'
import {
  type CatalogueEntry,
  type Disposition,
  type FailureCategory,
  type HeldBackField,
  PLATFORM_CODES,
} from './codes.ts'

/** Where a call failed. */
export type FailureKind =
  | 'business' // the platform answered with a code of its own
  | 'http' // an HTTP status other than 200
  | 'timeout'
  | 'connection'
  | 'malformed' // an answer that is not what the specification says, or longer than is read
  | 'invalid_request' // nothing was sent
  | 'token_fuse' // nothing was sent
  | 'aborted'
  | 'paused' // nothing was sent

/** A parameter that breaks a rule; never its value. */
export interface ParameterProblem {
  field: string
  rule: string
}

/** The facts of a failure. */
export interface PlatformFailure {
  readonly kind: FailureKind
  readonly operation: string
  /** Code of the answer's envelope. */
  readonly platformCode?: number | undefined
  /** The platform's own words. They may name a person: for the dead letter, never for a log. */
  readonly platformMessage?: string | undefined
  readonly httpStatus?: number | undefined
  /** Identifies the call to the vendor's support. */
  readonly traceId?: string | undefined
  /** How long the platform (or the token fuse) asks us to stay away. */
  readonly retryAfterMs?: number | undefined
  /** False when the platform may have carried the call out although we did not hear of it (law 9). */
  readonly outcomeKnown: boolean
  /** With `invalid_request`. */
  readonly problems?: readonly ParameterProblem[] | undefined
}

/** A call to the platform that failed. Made by `platformError`, which knows the disposition and the words. */
export class PlatformError extends Error implements PlatformFailure {
  /** `PLATFORM_` and the kind in capitals, for example `PLATFORM_TIMEOUT`. */
  readonly code: string
  readonly kind: FailureKind
  readonly operation: string
  readonly platformCode?: number
  declare readonly platformMessage?: string
  readonly httpStatus?: number
  readonly traceId?: string
  readonly retryAfterMs?: number
  readonly outcomeKnown: boolean
  readonly problems?: readonly ParameterProblem[]
  /** What the failure asks for; the whole verdict is `dispositionOf(error, operation)`. */
  readonly disposition: Disposition

  constructor(failure: PlatformFailure, disposition: Disposition, sentence: string, cause?: unknown) {
    super(sentence, cause === undefined ? undefined : { cause })
    this.name = 'PlatformError'
    this.code = `PLATFORM_${failure.kind.toUpperCase()}`
    this.kind = failure.kind
    this.operation = failure.operation
    this.outcomeKnown = failure.outcomeKnown
    this.disposition = disposition
    if (failure.platformCode !== undefined) this.platformCode = failure.platformCode
    if (failure.httpStatus !== undefined) this.httpStatus = failure.httpStatus
    if (failure.traceId !== undefined) this.traceId = failure.traceId
    if (failure.retryAfterMs !== undefined) this.retryAfterMs = failure.retryAfterMs
    if (failure.problems !== undefined) this.problems = failure.problems
    if (failure.platformMessage !== undefined) {
      // Not enumerable: loggers write out enumerable properties of errors, and this one may hold personal data.
      Object.defineProperty(this, 'platformMessage', { value: failure.platformMessage })
    }
  }
}

/**
 * A call that is not idempotent (refund, top-up) was sent, and whether the platform carried it out is unknown: no answer
 * came, or none that says so. It is never repeated here. Find out what became of it before sending anything again.
 */
export class OutcomeUnknownError extends PlatformError {
  override readonly code = 'PLATFORM_OUTCOME_UNKNOWN'
  declare readonly outcomeKnown: false

  constructor(failure: PlatformError, disposition: Disposition, sentence: string) {
    super(failure, disposition, sentence, failure)
    this.name = 'OutcomeUnknownError'
  }
}

/** What is to be done about one failure of one operation. */
export interface Verdict {
  disposition: Disposition
  category: FailureCategory
  /** What happened, in one sentence. */
  meaning: string
  /** What the reviewer should do, in one sentence. */
  remedy: string
  /** The one unit of the update to hold back; the others can still be sent. */
  field?: HeldBackField
  /** How far it reaches: `halt` stops everything or the enterprise; a parked feature is off for the enterprise and can be nothing else. */
  scope?: 'all' | 'enterprise'
  /** With `wait` and `halt`: milliseconds until it makes sense to try again. */
  retryAfterMs?: number
  /** With `retry`: repeats permitted before it is parked; absent where the usual number applies. */
  attempts?: number
  /** With `park`: state of the dead letter when it is not simply open. */
  state?: 'awaiting_activation'
}

/** Failures without a code of the platform. */
const CIRCUMSTANCES = {
  rate_limited: {
    name: 'rate_limited',
    meaning: 'The platform asked us to wait.',
    disposition: 'wait',
    category: 'rate_limited',
    remedy: 'Nothing to do; set PLATFORM_RATE_LIMIT to auto or a lower figure when this happens often.',
  },
  unavailable: {
    name: 'unavailable',
    meaning:
      'The platform could not be reached, did not answer in time, or answered with something unusable.',
    disposition: 'retry',
    category: 'platform_unavailable',
    remedy:
      'Check the network and PLATFORM_BASE_URL with `dirsync doctor`, ask the vendor whether the platform is up, then retry.',
  },
  unclassified: {
    name: 'unclassified',
    meaning: 'The platform answered with a failure that the specification does not list.',
    disposition: 'retry',
    category: 'unclassified',
    remedy: "Read the platform's message, ask the vendor with the trace id if it does not help, then retry.",
    attempts: 1,
  },
  invalid_request: {
    name: 'invalid_request',
    meaning: 'A parameter breaks the rules of the specification; nothing was sent.',
    disposition: 'park',
    category: 'invalid_parameter',
    remedy: 'Correct the named value in HR; it is sent again as soon as it changes.',
    remedyBesideHr: 'Correct the named value.',
  },
  outcome_unknown: {
    name: 'outcome_unknown',
    meaning: 'It was sent, and whether the platform carried it out is unknown. It is not sent again.',
    disposition: 'park',
    category: 'outcome_unknown',
    remedy:
      "Find out before anything is sent again: of a refund by the order record's refund_amount (`dirsync refund settle`), of a top-up in the platform's back office.",
  },
  token_fuse: {
    name: 'token_fuse',
    meaning: 'Too many access tokens were created within an hour, so no further one is asked for.',
    disposition: 'halt',
    category: 'token_fuse',
    remedy:
      'Find out who invalidates the tokens (a second system with the same application id?); work continues by itself when the hour is over.',
    scope: 'all',
  },
  aborted: {
    name: 'aborted',
    meaning: 'We gave the call up ourselves.',
    disposition: 'wait',
    category: 'aborted',
    remedy: 'Nothing to do: it is taken up again by itself.',
  },
  paused: {
    name: 'paused',
    meaning: 'All calls of this deployment are paused; `dirsync status` tells by whom and why.',
    disposition: 'wait',
    category: 'paused',
    remedy: 'Let them go on with `dirsync resume`.',
  },
  internal: {
    name: 'internal',
    meaning: 'Something failed on our side of the call.',
    disposition: 'retry',
    category: 'internal_error',
    remedy: "Look for the error in dirsync's log (is its database reachable?), then retry.",
  },
} as const satisfies Readonly<Record<string, CatalogueEntry>>

/** Operations that send what HR has. */
const IS_ABOUT_HR = /^(?:employee|department)\//

/** The entry of a platform code, or undefined for a code that the specification does not list. */
export function entryOfCode(code: number | undefined): CatalogueEntry | undefined {
  return code === undefined ? undefined : (PLATFORM_CODES as Readonly<Record<number, CatalogueEntry>>)[code]
}

/** Whether the catalogue lists the code as a refusal of this operation: nothing was carried out then. */
export function isRefusal(code: number, operation: string): boolean {
  const refuses = entryOfCode(code)?.refuses ?? []
  return refuses === 'all' || refuses.includes(operation)
}

/** What a failure that left the client asks for. The client has renewed the token or corrected its clock by then. */
export function verdictOf(failure: PlatformFailure, operation: string = failure.operation): Verdict {
  const entry = entryOf(failure)
  const verdict: Verdict = {
    disposition: entry.operations?.[operation] ?? entry.persisting ?? entry.disposition,
    category: entry.category,
    meaning: entry.meaning,
    remedy: IS_ABOUT_HR.test(operation) ? entry.remedy : (entry.remedyBesideHr ?? entry.remedy),
  }
  const field = operation === 'employee/update' ? (entry.field ?? onlyFieldOf(failure)) : undefined
  if (field !== undefined) verdict.field = field
  if (entry.scope !== undefined) verdict.scope = entry.scope
  if (entry.attempts !== undefined) verdict.attempts = entry.attempts
  if (entry.state !== undefined) verdict.state = entry.state
  if (failure.retryAfterMs !== undefined) verdict.retryAfterMs = failure.retryAfterMs
  return verdict
}

/** As {@link verdictOf}, for whatever was thrown while an operation was carried out. */
export function dispositionOf(error: unknown, operation: string): Verdict {
  if (error instanceof PlatformError) return verdictOf(error, operation)
  const { disposition, category, meaning, remedy } = CIRCUMSTANCES.internal
  return { disposition, category, meaning, remedy }
}

/** The error of a failure, with its disposition and an actionable sentence. */
export function platformError(failure: PlatformFailure, cause?: unknown): PlatformError {
  const { disposition, meaning, remedy } = verdictOf(failure)
  return new PlatformError(failure, disposition, `${whatFailed(failure)}: ${meaning} ${remedy}`, cause)
}

/** The error for a failure after which nobody knows whether what must not be repeated was carried out. */
export function outcomeUnknown(error: PlatformError): OutcomeUnknownError {
  const { disposition, meaning, remedy } = CIRCUMSTANCES.outcome_unknown
  return new OutcomeUnknownError(error, disposition, `${whatFailed(error)}: ${meaning} ${remedy}`)
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
    case 'malformed':
      return CIRCUMSTANCES.unavailable
    default:
      return CIRCUMSTANCES[failure.kind]
  }
}

/** The unit that all problems of a request are about, if there is just one. */
function onlyFieldOf(failure: PlatformFailure): HeldBackField | undefined {
  const units = new Set(failure.problems?.map(problem => unitOfParameter(problem.field)))
  return units.size === 1 ? [...units][0] : undefined
}

function unitOfParameter(parameter: string): HeldBackField | undefined {
  if (parameter === 'code' || parameter === 'new_corp_code') return 'corp_code'
  return EMPLOYEE_FIELDS.includes(parameter as EmployeeField)
    ? (unitOf(parameter as EmployeeField) as HeldBackField)
    : undefined
}

function whatFailed(failure: PlatformFailure): string {
  if (failure.problems !== undefined) {
    const problems = failure.problems.map(({ field, rule }) => (field === '' ? rule : `${field} ${rule}`))
    return `${failure.operation} was not sent (${problems.join('; ')})`
  }
  const facts = [failure.kind as string]
  if (failure.platformCode !== undefined) facts.push(`code ${failure.platformCode}`)
  if (failure.httpStatus !== undefined && failure.httpStatus !== 200) facts.push(`HTTP ${failure.httpStatus}`)
  if (failure.traceId !== undefined) facts.push(`trace ${failure.traceId}`)
  return `${failure.operation} failed (${facts.join(', ')})`
}
