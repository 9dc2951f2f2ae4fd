import { performance } from 'node:perf_hooks'
import type { Logger } from 'pino'
import type { CallOutcome } from '../core/pacing.ts'
import { initialRate, type LearntRate, learn, type RateEvent } from '../core/rate-learning.ts'
import type { LeaseRequest, PacerLease, PacerStore } from './pacer-store.ts'
import type { StoreClock } from './store-clock.ts'

/** For so long, and so many slots, the rate has to be used before it may grow. */
const USED_FOR_MS = 2000
const USED_SLOTS = 8
/** Share of the slots that have to be reserved, by all processes … */
const RESERVED = 0.6
/** … and to be used, of those that this one reserved. It has some in advance. */
const USED = 0.6
/** What others learnt at the same moment is read and learnt from again, so often. */
const TRIES = 3

/**
 * Learns the rate of a gate together with the other processes: what was observed here is brought into what is known in
 * the store. Refusals are written at once, growth every few seconds, by whichever process is first.
 */
export class RateLearner {
  readonly #store: PacerStore
  readonly #gate: string
  readonly #holder: string
  readonly #clock: StoreClock
  readonly #log: Logger | undefined
  #known: PacerLease | null = null
  /** When the last accepted call was sent, on our clock. */
  #acceptedAt: number | null = null
  /** Since then the present rate was used or not: slots of all, and slots and calls of this process. */
  #window = { ms: 0, leased: 0, granted: 0, ended: 0 }
  #granted = 0
  #ended = 0
  #writing: Promise<void> | null = null
  /** A refusal that came while something was written. */
  #pending: RateEvent | null = null

  constructor(parts: {
    store: PacerStore
    gate: string
    holder: string
    clock: StoreClock
    log: Logger | undefined
  }) {
    this.#store = parts.store
    this.#gate = parts.gate
    this.#holder = parts.holder
    this.#clock = parts.clock
    this.#log = parts.log
  }

  /** What is known of the rate; null before the store's first answer. */
  get learnt(): LearntRate | null {
    return this.#known?.learnt ?? null
  }

  /** Reserves slots at the learnt rate, after making a beginning where nothing was ever learnt. */
  async lease(request: LeaseRequest): Promise<PacerLease> {
    let lease = await this.#store.lease(request)
    if (lease.learnt === null) {
      await this.#store.learn(this.#gate, 0, initialRate(lease)) // unless another process just did
      lease = await this.#store.lease(request)
    }
    this.#granted += lease.count
    return lease
  }

  /** Notes how the gate stands; the clock knows the store's time by then. */
  onLease(lease: PacerLease): void {
    if (lease.learnt === null) return
    const known = this.#known
    // Overtaken by a later answer. A record that was deleted counts its versions from 1 again.
    if (known !== null && lease.version < known.version && lease.nowMs < known.nowMs) return
    if (lease.version !== known?.version)
      this.#begin(Math.min(lease.learnt.changedAtMs, lease.nowMs), lease.learnt.leasedAtChange)
    this.#known = lease
    const ms = lease.nowMs - this.#window.ms
    const slots = (ms / 1000) * lease.learnt.ratePerSecond
    if (ms < USED_FOR_MS || slots < USED_SLOTS) return
    const reserved = lease.leased - this.#window.leased
    const used = this.#ended - this.#window.ended
    if (reserved >= RESERVED * slots && used >= USED * (this.#granted - this.#window.granted))
      this.#learn({ kind: 'used', sinceMs: this.#window.ms })
    else this.#begin(lease.nowMs, lease.leased)
  }

  observe({ sentAt, tooFast }: CallOutcome): void {
    this.#ended += 1
    if (!tooFast) this.#acceptedAt = Math.max(this.#acceptedAt ?? sentAt, sentAt)
    else if (this.#known !== null) {
      const acceptedAtMs = this.#acceptedAt === null ? null : this.#clock.stores(this.#acceptedAt)
      this.#learn({ kind: 'refused', sentAtMs: this.#clock.stores(sentAt), acceptedAtMs })
    }
  }

  /** Resolves once what is being written is. */
  async close(): Promise<void> {
    await this.#writing
  }

  #begin(ms: number, leased: number): void {
    this.#window = { ms, leased, granted: this.#granted, ended: this.#ended }
  }

  #learn(event: RateEvent): void {
    if (this.#writing === null) this.#writing = this.#writeAll(event)
    else if (event.kind === 'refused') this.#pending = event
  }

  async #writeAll(first: RateEvent): Promise<void> {
    for (let event: RateEvent | null = first; event !== null; event = this.#pending) {
      this.#pending = null
      await this.#write(event)
    }
    this.#writing = null
  }

  async #write(event: RateEvent): Promise<void> {
    try {
      for (let i = 0; i < TRIES; i++) {
        if (this.#known?.learnt == null) return
        const { learnt, version, leased } = this.#known
        const next = learn(learnt, event, { nowMs: this.#clock.stores(performance.now()), leased })
        if (next === learnt) return
        const isKept = await this.#store.learn(this.#gate, version, next)
        const request = { gate: this.#gate, holder: this.#holder, count: 0, spacingMs: null }
        this.onLease(await this.#store.lease(request))
        if (isKept) {
          this.#log?.debug(
            { rate: next.ratePerSecond, ceiling: next.ceiling, event: event.kind },
            'rate learnt',
          )
          return
        }
      }
    } catch (error) {
      this.#log?.debug({ err: error }, 'what was learnt of the rate could not be kept')
    }
  }
}
