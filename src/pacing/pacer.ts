/** A caller's request to make one call to the platform. */
export interface PaceRequest {
  /** Name of the operation, for example `employee/get`. */
  operation: string
  /** Lower goes first; callers of the same priority are served in the order they came. Default {@link DEFAULT_PRIORITY}. */
  priority?: number
  /** Aborts the wait; `acquire` then rejects with the signal's reason. */
  signal?: AbortSignal
}

/** The outcome of one exchange with the platform. */
export interface CallOutcome {
  operation: string
  /** Monotonic milliseconds (`performance.now()`). */
  sentAt: number
  /** Whether the platform refused the call because of too many calls. */
  rateLimited: boolean
}

/** The state of a pacer. */
export interface PacerSnapshot {
  /** Calls per second of all processes together, ignoring `cap`; 0 while an unknown rate is not yet learnt. */
  ratePerSecond: number
  /** Calls per second that were set; null where the rate is to be learnt. */
  set: number | null
  /** Whether the rate was learnt, or lowered because the platform refused the set one. */
  learnt: boolean
  /** The rate at which the platform last refused calls; null without one. */
  ceiling: number | null
  /** A rate that a person has set for a time; null without one. It may be above `ratePerSecond`. */
  cap: number | null
  /** Callers in line in this process. */
  waiting: number
  /** Milliseconds left of a hold-off that the platform asked for. */
  pausedForMs: number
}

/**
 * The one gate through which every call to the platform passes.
 * Calls leave it evenly spaced, just under the permitted rate, and never in a burst.
 */
export interface Pacer {
  /**
   * Resolves when the caller may make exactly one call, now.
   * @throws CallsPausedError while a person has paused all calls; whatever else it throws gives the call up, too
   */
  acquire(request: PaceRequest): Promise<void>
  /**
   * Lets no call leave for `ms` milliseconds, because the platform asked for it. Never shortens an earlier hold-off.
   * @param only an operation with a budget: its calls alone are held off, in this process
   */
  holdOff(ms: number, reason: string, only?: string): Promise<void>
  /** Learns from an exchange that has ended. */
  observe(outcome: CallOutcome): void
  /** The current state, as far as this process knows it. */
  snapshot(): PacerSnapshot
  /** Rejects every waiting caller with {@link PacerClosedError}. Idempotent. */
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

/** The pacer was closed before the caller's turn came. No call was made. */
export class PacerClosedError extends Error {
  readonly code = 'PACER_CLOSED'

  constructor() {
    super('The pacer is closed: no call to the platform is made any more.')
    this.name = 'PacerClosedError'
  }
}
