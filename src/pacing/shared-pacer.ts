import { randomUUID } from 'node:crypto'
import { performance } from 'node:perf_hooks'
import type { Logger } from 'pino'
import { InFlightLimiter } from './concurrency.ts'
import { Lateness } from './gate.ts'
import { LeasedGate, StoreClock } from './leased-gate.ts'
import { type CallOutcome, type PaceRequest, type Pacer, type PacerSnapshot, spacingMs } from './pacer.ts'
import { RateLearner } from './rate-learner.ts'
import type { LeaseRequest, PacerLease, PacerStore } from './store.ts'

/** The gate that every call passes. */
const PLATFORM = 'platform'

/**
 * The pacer that all processes share. Each reserves evenly spaced slots in the store and lets its callers pass on them.
 * An operation with a budget has a line of its own, whose slots the platform's gate and the budget have free together.
 */
export class SharedPacer implements Pacer {
  readonly #store: PacerStore
  readonly #rate: number | 'auto'
  readonly #log: Logger | undefined
  readonly #clock = new StoreClock()
  readonly #platform: LeasedGate
  readonly #budgets: Map<string, LeasedGate>
  readonly #learner: RateLearner
  readonly #inFlight = new InFlightLimiter()
  #isWatching = false

  /**
   * @param options.rate permitted calls per second, of all processes together, lowered while the platform refuses them; `auto`: to be
   *   learnt
   * @param options.budgets permitted calls per second of single operations
   */
  constructor(options: {
    store: PacerStore
    rate: number | 'auto'
    budgets: ReadonlyMap<string, number>
    logger?: Logger
  }) {
    this.#store = options.store
    this.#rate = options.rate
    this.#log = options.logger?.child({ component: 'pacer' })
    const terms = {
      gate: PLATFORM,
      holder: randomUUID(),
      spacingMs: options.rate === 'auto' ? null : spacingMs(options.rate),
    }
    const { store, clock } = { store: this.#store, clock: this.#clock }
    this.#learner = new RateLearner({ store, terms, rate: options.rate, clock, log: this.#log })
    const parts = {
      lease: (request: LeaseRequest) => this.#lease(request),
      clock: this.#clock,
      lateness: new Lateness(),
      onLease: (lease: PacerLease) => this.#onLease(lease),
    }
    this.#platform = new LeasedGate({ ...parts, terms, log: this.#log })
    this.#budgets = new Map(
      [...options.budgets].map(([operation, rate]) => {
        const budget = { gate: `operation:${operation}`, spacingMs: spacingMs(rate) }
        const log = this.#log?.child({ operation })
        return [operation, new LeasedGate({ ...parts, terms: { ...terms, budget }, log })]
      }),
    )
  }

  acquire(request: PaceRequest): Promise<void> {
    return (this.#budgets.get(request.operation) ?? this.#platform).acquire(request)
  }

  /** Holds this process at once and the others as soon as the store has told them. */
  async pause(ms: number, reason: string): Promise<void> {
    this.#holdUntil(performance.now() + ms)
    try {
      await this.#store.pause(PLATFORM, ms, reason)
    } catch (error) {
      this.#log?.warn({ err: error, ms }, 'a pause could not be shared with other processes')
    }
  }

  observe(outcome: CallOutcome): void {
    this.#learner.observe(outcome)
    this.#inFlight.observe(outcome)
  }

  snapshot(): PacerSnapshot {
    const { learnt } = this.#learner
    const set = this.#rate === 'auto' ? null : this.#rate
    const ratePerSecond =
      set === null
        ? (learnt?.ratePerSecond ?? 0)
        : Math.min(1000 / this.#platform.spacingMs, learnt?.ratePerSecond ?? Number.POSITIVE_INFINITY)
    return {
      ratePerSecond,
      set,
      learnt: set === null || (learnt !== null && learnt.ceiling !== null),
      ceiling: learnt?.ceiling ?? null,
      waiting: this.#gates().reduce((sum, gate) => sum + gate.waiting, 0),
      pausedForMs: Math.max(0, this.#platform.pausedUntil - performance.now()),
      concurrency: this.#inFlight.most(ratePerSecond),
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.#gates().map(gate => gate.close()))
    await this.#learner.close()
  }

  async #lease(request: LeaseRequest): Promise<PacerLease> {
    if (!this.#isWatching) {
      this.#isWatching = true
      this.#store.watch((gate, ms) => {
        if (gate === PLATFORM) this.#holdUntil(performance.now() + ms)
      })
    }
    return this.#learner.lease(request)
  }

  #onLease(lease: PacerLease): void {
    this.#learner.onLease(lease)
    if (lease.pausedUntilMs !== null) this.#holdUntil(this.#clock.ours(lease.pausedUntilMs))
  }

  #holdUntil(time: number): void {
    for (const gate of this.#gates()) gate.pauseUntil(time)
  }

  #gates(): LeasedGate[] {
    return [this.#platform, ...this.#budgets.values()]
  }
}
