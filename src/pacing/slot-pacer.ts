import { performance } from 'node:perf_hooks'
import type { Logger } from 'pino'
import { Lane, SlotClock } from './lane.ts'
import { RateLearner } from './learning.ts'
import {
  type CallOutcome,
  CallsPausedError,
  type PaceRequest,
  type Pacer,
  type PacerSnapshot,
} from './pacer.ts'
import type { Lease, Slots, WantedSlots } from './slots.ts'
import { Lateness } from './turnstile.ts'

export interface SlotPacerOptions {
  slots: Slots
  /**
   * Permitted calls per second, of all processes together: the upper limit, lowered while the platform refuses calls. `auto`:
   * to be learnt.
   */
  rate: number | 'auto'
  /** Permitted calls per second of single operations. */
  budgets: ReadonlyMap<string, number>
  /** Returns whether a person has paused all calls; asked a few times a second while calls are made or wait. */
  isPaused?: () => Promise<boolean>
  logger?: Logger | undefined
}

/**
 * How long an unconfirmed notification holds calls off. By then waiting callers have asked for slots, and the answer brings the
 * stored hold-off: a forged notification cannot stop all calls.
 */
const BELIEVED_MS = 3000

/**
 * The pacer: lets each call leave on a slot. An operation with a budget has a lane of its own, whose slots are free for both
 * budget and platform. The given `Slots` decide whether they are shared with other processes.
 */
export class SlotPacer implements Pacer {
  readonly #slots: Slots
  readonly #rate: number | 'auto'
  readonly #log: Logger | undefined
  readonly #clock = new SlotClock()
  readonly #platform: Lane
  readonly #budgets: Map<string, Lane>
  readonly #learner: RateLearner
  readonly #pause: PauseWatch | null
  /** A rate that a person has set for a time, from the last lease; `until` on our clock. */
  #cap: { ratePerSecond: number; until: number } | null = null

  constructor({ slots, rate, budgets, isPaused, logger }: SlotPacerOptions) {
    this.#slots = slots
    this.#rate = rate
    this.#log = logger?.child({ component: 'pacer' })
    this.#pause = isPaused ? new PauseWatch(isPaused) : null
    const set = rate === 'auto' ? null : spacingMs(rate)
    this.#learner = new RateLearner({ slots, rate, spacingMs: set, clock: this.#clock, log: this.#log })
    const parts = {
      lease: (wanted: WantedSlots) => this.#lease(wanted),
      spacingMs: set,
      clock: this.#clock,
      lateness: new Lateness(),
    }
    this.#platform = new Lane({ ...parts, log: this.#log })
    this.#budgets = new Map(
      [...budgets].map(([operation, permitted]) => {
        const budget = { operation, spacingMs: spacingMs(permitted) }
        return [operation, new Lane({ ...parts, budget, log: this.#log?.child({ operation }) })]
      }),
    )
    slots.watch(ms => this.#holdUntil(performance.now() + Math.min(ms, BELIEVED_MS)))
  }

  /** @throws CallsPausedError, also when the pause came while the call waited for its turn */
  acquire(request: PaceRequest): Promise<void> {
    const lane = this.#budgets.get(request.operation) ?? this.#platform
    if (this.#pause === null) return lane.acquire(request)
    return this.#pause.unlessPaused(request.signal, () => lane.acquire(request))
  }

  /** Holds this process off at once, and the others as soon as they hear of it. */
  async holdOff(ms: number, reason: string, only = ''): Promise<void> {
    const budget = this.#budgets.get(only)
    if (budget !== undefined) return budget.holdAlone(performance.now() + ms)
    this.#holdUntil(performance.now() + ms)
    try {
      await this.#slots.holdOff(ms, reason)
    } catch (error) {
      this.#log?.warn({ error, ms }, 'other processes could not be told to hold off')
    }
  }

  observe(outcome: CallOutcome): void {
    this.#learner.observe(outcome)
  }

  snapshot(): PacerSnapshot {
    const { learnt } = this.#learner
    const set = this.#rate === 'auto' ? null : this.#rate
    return {
      ratePerSecond:
        set === null
          ? (learnt?.ratePerSecond ?? 0)
          : Math.min(1000 / this.#platform.ownSpacingMs, learnt?.ratePerSecond ?? Number.POSITIVE_INFINITY),
      cap: this.#capNow(),
      set,
      learnt: set === null || (learnt !== null && learnt.ceiling !== null),
      ceiling: learnt?.ceiling ?? null,
      waiting: this.#lanes().reduce((sum, lane) => sum + lane.waiting, 0),
      pausedForMs: Math.max(0, this.#platform.heldUntil - performance.now()),
    }
  }

  async close(): Promise<void> {
    this.#pause?.close()
    await Promise.all(this.#lanes().map(lane => lane.close()))
    await this.#learner.close()
  }

  async #lease(wanted: WantedSlots): Promise<Lease> {
    const lease = await this.#learner.lease(wanted)
    if (lease.heldUntilMs !== null) this.#holdUntil(this.#clock.ours(lease.heldUntilMs))
    const { cap } = lease
    this.#cap = cap && { ratePerSecond: cap.ratePerSecond, until: this.#clock.ours(cap.untilMs) }
    return lease
  }

  #capNow(): number | null {
    return this.#cap !== null && performance.now() < this.#cap.until ? this.#cap.ratePerSecond : null
  }

  #holdUntil(time: number): void {
    for (const lane of this.#lanes()) lane.holdUntil(time)
  }

  #lanes(): Lane[] {
    return [this.#platform, ...this.#budgets.values()]
  }
}

/**
 * Share of the permitted rate that is used. It leaves 20 ms in any second, by which calls may arrive closer together than they
 * were spaced (a late timer, the network) before a limit with a sliding second counts one too many.
 */
const HEADROOM = 0.98

/**
 * Distance between two calls in milliseconds.
 * @param ratePerSecond permitted calls per second, any positive number (0.5 is one call in two seconds)
 */
function spacingMs(ratePerSecond: number): number {
  if (!(ratePerSecond > 0) || !Number.isFinite(ratePerSecond)) {
    throw new RangeError(`The rate must be a positive number of calls per second, it is ${ratePerSecond}.`)
  }
  return 1000 / (ratePerSecond * HEADROOM)
}

/** How long an answer to "are calls paused?" is valid: a pause takes effect within this. */
const GOOD_FOR_MS = 250
/** How often to ask while calls wait, so that a call whose turn has come need not wait for the answer as well. */
const ASK_EVERY_MS = 150

/** Knows whether a person has paused all calls of the deployment (`dirsync.pause`). */
class PauseWatch {
  readonly #isPaused: () => Promise<boolean>
  #paused = false
  #goodUntil = Number.NEGATIVE_INFINITY
  #asking: Promise<void> | null = null
  #waiting = 0
  #timer: NodeJS.Timeout | null = null

  constructor(isPaused: () => Promise<boolean>) {
    this.#isPaused = isPaused
  }

  /** Waits for a call's turn. Checks before, and again when it has come. */
  async unlessPaused(signal: AbortSignal | undefined, turn: () => Promise<void>): Promise<void> {
    await this.#assertGoing(signal)
    this.#waiting += 1
    this.#keepAsking()
    try {
      await turn()
    } finally {
      this.#waiting -= 1
      if (this.#waiting === 0) this.close()
    }
    await this.#assertGoing(signal)
  }

  /** Stops asking. */
  close(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
  }

  async #assertGoing(signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted()
    if (performance.now() > this.#goodUntil) await this.#ask()
    if (this.#paused) throw new CallsPausedError()
  }

  #keepAsking(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = null
      this.#ask().catch(() => undefined) // callers that need the answer ask again
      this.#keepAsking()
    }, ASK_EVERY_MS)
  }

  /** One query at a time: a database that does not answer is not asked again until the query has timed out. */
  #ask(): Promise<void> {
    this.#asking ??= this.#isPaused()
      .then(paused => {
        this.#paused = paused
        this.#goodUntil = performance.now() + GOOD_FOR_MS
      })
      .finally(() => {
        this.#asking = null
      })
    return this.#asking
  }
}
