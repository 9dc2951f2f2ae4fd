import type { Disposition } from './platform-codes.ts'

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
  /** False when the platform may have carried the call out although we did not hear of it (DESIGN, law 9). */
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
