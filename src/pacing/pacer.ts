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
  durationMs: number
  /** Whether the platform refused the call because there were too many. */
  tooFast: boolean
  /** Whether it ended early without an answer of use, so that its duration says nothing of the platform. */
  brokeOff: boolean
}

/** How a pacer stands. */
export interface PacerSnapshot {
  /** Calls per second that are let go, of all processes together; 0 while an unknown rate is not yet learnt. */
  ratePerSecond: number
  /** Calls per second that were set; null where the rate is to be learnt. */
  set: number | null
  /** Whether the rate was learnt instead of set, or lowered because the platform refused what was set. */
  learnt: boolean
  /** The rate at which the platform last refused calls; null where none is known. */
  ceiling: number | null
  /** Callers of this process in line. */
  waiting: number
  /** Milliseconds left of a pause that the platform asked for. */
  pausedForMs: number
  /** Calls that may be in flight at a time; null where nothing limits them. */
  concurrency: number | null
}

/**
 * The one gate through which every call to the platform passes.
 * Calls leave it evenly spaced, just under the permitted rate, and never in a burst.
 */
export interface Pacer {
  /** Resolves when the caller may make exactly one call, now. */
  acquire(request: PaceRequest): Promise<void>
  /** Lets no call pass for `ms` milliseconds, because the platform asked for it. Never shortens a pause. */
  pause(ms: number, reason: string): Promise<void>
  /** Learns from an exchange that has ended. */
  observe(outcome: CallOutcome): void
  /** How things stand now, as far as this process knows. */
  snapshot(): PacerSnapshot
  /** Rejects whoever still waits with {@link PacerClosedError}. May be called more than once. */
  close(): Promise<void>
}

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

export const DEFAULT_PRIORITY = 10

/**
 * Share of the permitted rate that is used. In any second it leaves 20 ms, by which calls may come closer together than
 * they were spaced (a late timer, the network), before a limit that counts a sliding second sees one too many.
 */
const HEADROOM = 0.98

/**
 * Distance between two calls in milliseconds.
 * @param ratePerSecond permitted calls per second, any positive number (0.5 is one call in two seconds)
 */
export function spacingMs(ratePerSecond: number): number {
  if (!(ratePerSecond > 0) || !Number.isFinite(ratePerSecond)) {
    throw new RangeError(`The rate must be a positive number of calls per second, it is ${ratePerSecond}.`)
  }
  return 1000 / (ratePerSecond * HEADROOM)
}

/** How long an answer to "are calls paused?" is good for: a pause takes effect within this. */
const GOOD_FOR_MS = 250

/** A pacer before which a person can close the gate for the whole deployment, at once (`dirsync.pause`). */
export class PausablePacer implements Pacer {
  readonly #pacer: Pacer
  readonly #isPaused: () => Promise<boolean>
  #asked: Promise<boolean> | null = null
  #goodUntil = Number.POSITIVE_INFINITY

  /** @param isPaused asks the store that all processes share; asked a few times a second while calls are made */
  constructor(pacer: Pacer, isPaused: () => Promise<boolean>) {
    this.#pacer = pacer
    this.#isPaused = isPaused
  }

  /** @throws CallsPausedError, also where the pause came while the call waited for its turn */
  async acquire(request: PaceRequest): Promise<void> {
    await this.#assertGoing(request.signal)
    await this.#pacer.acquire(request)
    await this.#assertGoing(request.signal)
  }

  pause(ms: number, reason: string): Promise<void> {
    return this.#pacer.pause(ms, reason)
  }

  observe(outcome: CallOutcome): void {
    this.#pacer.observe(outcome)
  }

  snapshot() {
    return this.#pacer.snapshot()
  }

  close(): Promise<void> {
    return this.#pacer.close()
  }

  async #assertGoing(signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted()
    if (this.#asked === null || performance.now() > this.#goodUntil) this.#asked = this.#ask()
    if (await this.#asked) throw new CallsPausedError()
  }

  /** One question at a time: a store that does not answer is not asked again until it has been given up. */
  async #ask(): Promise<boolean> {
    this.#goodUntil = Number.POSITIVE_INFINITY
    try {
      return await this.#isPaused()
    } finally {
      this.#goodUntil = performance.now() + GOOD_FOR_MS
    }
  }
}
