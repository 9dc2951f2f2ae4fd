/** What a caller tells the pacer before a call to the platform. */
export interface PaceRequest {
  /** Name of the operation, for example `employee/get`. */
  operation: string
  /** Lower goes first; callers of the same priority are served in the order they came. Default {@link DEFAULT_PRIORITY}. */
  priority?: number
  /** Gives up waiting; `acquire` then rejects with the signal's reason. */
  signal?: AbortSignal
}

/** What became of one exchange with the platform. */
export interface CallOutcome {
  operation: string
  /** Monotonic milliseconds (`performance.now()`). */
  sentAt: number
  /** Whether the platform refused the call because there were too many. */
  tooFast: boolean
}

/** How a pacer stands. */
export interface PacerSnapshot {
  /**
   * Calls per second that may leave, of all processes together, but for `cap`; 0 while an unknown rate is not yet learnt.
   */
  ratePerSecond: number
  /** Calls per second that were set; null where the rate is to be learnt. */
  set: number | null
  /** Whether the rate was learnt instead of set, or lowered because the platform refused what was set. */
  learnt: boolean
  /** The rate at which the platform last refused calls; null where none is known. */
  ceiling: number | null
  /** A rate that a person has set for a time; null where none holds. It may be above `ratePerSecond`. */
  cap: number | null
  /** Callers of this process in line. */
  waiting: number
  /** Milliseconds for which calls still hold off because the platform asked for it. */
  pausedForMs: number
}

/**
 * The one gate through which every call to the platform passes.
 * Calls leave it evenly spaced, just under the permitted rate, and never in a burst.
 */
export interface Pacer {
  /** Resolves when the caller may make exactly one call, now. */
  acquire(request: PaceRequest): Promise<void>
  /** Lets no call leave for `ms` milliseconds, because the platform asked for it. Never shortens an earlier request. */
  holdOff(ms: number, reason: string): Promise<void>
  /** Learns from an exchange that has ended. */
  observe(outcome: CallOutcome): void
  /** How things stand now, as far as this process knows. */
  snapshot(): PacerSnapshot
  /** Turns away whoever still waits, with {@link PacerClosedError}. May be called more than once. */
  close(): Promise<void>
}

export const DEFAULT_PRIORITY = 10

/** A person has paused all calls of the deployment. No call was made. */
export class CallsPausedError extends Error {
  readonly code = 'CALLS_PAUSED'

  constructor() {
    super('all calls are paused')
  }
}

/** The pacer was closed while a caller waited, or before it came. No call was made. */
export class PacerClosedError extends Error {
  readonly code = 'PACER_CLOSED'

  constructor() {
    super('The pacer is closed: no call to the platform is made any more.')
    this.name = 'PacerClosedError'
  }
}
