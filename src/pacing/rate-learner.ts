import { performance } from 'node:perf_hooks'
import type { Logger } from 'pino'
import {
  AGAIN_WITHIN_MS,
  initialRate,
  type LearntRate,
  learn,
  type RateEvent,
  rateAsSet,
} from './learning.ts'
import type { StoreClock } from './leased-gate.ts'
import type { CallOutcome } from './pacer.ts'
import { type LeaseRequest, learntName, type PacerLease, type PacerStore } from './store.ts'

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
 * the store. Refusals are written at once, growth every few seconds, by whichever process is first. A rate that was set is
 * where it begins, what it returns to, and never exceeds; nothing is written before it was refused.
 */
export class RateLearner {
  readonly #store: PacerStore
  /** As every question to the store has it. */
  readonly #terms: Pick<LeaseRequest, 'gate' | 'holder' | 'spacingMs' | 'learntAs'>
  /** Under which the rate is learnt. */
  readonly #name: string
  readonly #rate: number | 'auto'
  /** Slots per second at the rate that was set, headroom taken off; infinite where it is to be learnt. */
  readonly #most: number
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
  /** This process was the first to lower the rate that was set: it says so, once, as soon as the figure is known. */
  #warning: 'none' | 'due' | 'given' = 'none'

  constructor(parts: {
    store: PacerStore
    terms: Pick<LeaseRequest, 'gate' | 'holder' | 'spacingMs'>
    rate: number | 'auto'
    clock: StoreClock
    log: Logger | undefined
  }) {
    this.#store = parts.store
    this.#name = learntName(parts.terms.gate, parts.rate)
    this.#terms = { ...parts.terms, learntAs: this.#name }
    this.#rate = parts.rate
    this.#most = parts.terms.spacingMs === null ? Number.POSITIVE_INFINITY : 1000 / parts.terms.spacingMs
    this.#clock = parts.clock
    this.#log = parts.log
  }

  /** What is known of the rate; null before the store's first answer, and where nothing is known against what was set. */
  get learnt(): LearntRate | null {
    return this.#known?.learnt ?? null
  }

  /** Reserves slots at the learnt rate, after making a beginning where nothing was ever learnt. */
  async lease(wanted: LeaseRequest): Promise<PacerLease> {
    const request = { ...wanted, learntAs: this.#name }
    let lease = await this.#store.lease(request)
    if (lease.learnt === null && this.#rate === 'auto') {
      await this.#store.learn(this.#name, 0, initialRate(lease)) // unless another process just did
      lease = await this.#store.lease(request)
    }
    this.#granted += lease.count
    return lease
  }

  /** Notes how the gate stands; the clock knows the store's time by then. */
  onLease(lease: PacerLease): void {
    const known = this.#known
    // Overtaken by a later answer. A record that was deleted counts its versions from 1 again.
    if (known !== null && lease.version < known.version && lease.nowMs < known.nowMs) return
    this.#known = lease
    // A rate as it was set cannot grow.
    if (lease.learnt === null || lease.learnt.ratePerSecond >= this.#most) return
    this.#warn(lease.learnt, lease.nowMs)
    if (lease.version !== known?.version)
      this.#begin(Math.min(lease.learnt.changedAtMs, lease.nowMs), lease.learnt.leasedAtChange)
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
    const { learnt } = this
    if (learnt !== null) this.#warn(learnt, Number.POSITIVE_INFINITY)
  }

  /** Once the rate is not lowered any more: the first refusal alone does not tell what the platform permits. */
  #warn({ ratePerSecond, ceiling, loweredAtMs }: LearntRate, nowMs: number): void {
    if (this.#warning !== 'due' || ceiling === null || nowMs - (loweredAtMs ?? 0) < AGAIN_WITHIN_MS) return
    this.#warning = 'given'
    const rate = Number(ratePerSecond.toPrecision(3))
    this.#log?.warn(
      { set: this.#rate, rate },
      `PLATFORM_RATE_LIMIT is ${this.#rate} calls per second, and the platform rejects some of them: going on with ${rate}`,
    )
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
        if (this.#known === null) return
        const { version, leased } = this.#known
        const now = { nowMs: this.#clock.stores(performance.now()), leased }
        const learnt = this.#known.learnt ?? rateAsSet(this.#most, now)
        const next = learn(learnt, event, now, this.#most)
        if (next === learnt) return
        const isKept = await this.#store.learn(this.#name, version, next)
        if (isKept && learnt.ratePerSecond >= this.#most && this.#warning === 'none') this.#warning = 'due'
        this.onLease(await this.#store.lease({ ...this.#terms, count: 0 }))
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
