import { performance } from 'node:perf_hooks'
import type { Logger } from 'pino'
import { isCapped, type SlotClock } from './lane.ts'
import type { CallOutcome } from './pacer.ts'
import type { LearntRate, Lease, Slots, WantedSlots } from './slots.ts'

/** An observation about the current rate. Times as in {@link LearntRate}. */
type RateEvent =
  /** A call was refused for coming too fast. `acceptedAtMs`: when the last accepted call was sent, null if none ever was. */
  | { kind: 'refused'; sentAtMs: number; acceptedAtMs: number | null }
  /** All slots were used since then, so the rate is known to be permitted and a higher one is wanted. */
  | { kind: 'used'; sinceMs: number }

interface Moment {
  nowMs: number
  /** Slots reserved in total. */
  leased: number
  /** Up to when slots are reserved, at the rate as it is. Calls leave at another one only then. */
  reservedUntilMs: number
}

/** The rate has to be used for this long, and for this many slots, before it may grow. */
const USED_FOR_MS = 2000
const USED_SLOTS = 8
/** Share of the slots that all processes have to reserve … */
const RESERVED = 0.6
/** … and share of its own slots that this process has to use. It holds some in advance. */
const USED = 0.6
/** How often to try a change while others change the rate at the same time: each try reads theirs and learns from there. */
const TRIES = 3
/** Name of the platform's own rate among the learnt ones. */
const PLATFORM = 'platform'

interface Parts {
  slots: Slots
  rate: number | 'auto'
  /** Distance of the slots at the rate that was set, headroom included; null where it is to be learnt. */
  spacingMs: number | null
  clock: SlotClock
  log: Logger | undefined
}

/**
 * Leases slots at the learnt rate, and learns it together with the other processes: observations made here are merged into the
 * shared record. Refusals are written at once, growth every few seconds, by whichever process is first. A rate that was set is
 * where it begins, what it returns to, and never exceeds; nothing is written before a refusal.
 */
export class RateLearner {
  readonly #parts: Parts
  /** Each set rate is learnt under its own name: a changed setting begins anew. */
  readonly #name: string
  /** Slots per second at the rate that was set; infinite where it is to be learnt. */
  readonly #most: number
  #known: Lease | null = null
  /** When the last accepted call was sent, on our clock. */
  #acceptedAt: number | null = null
  /** Start of the window in which the use of the rate is measured: slots of all processes, slots and calls of this one. */
  #window = { ms: 0, leased: 0, granted: 0, ended: 0 }
  #granted = 0
  #ended = 0
  #writing: Promise<void> | null = null
  /** A refusal that came during a write. */
  #pending: RateEvent | null = null
  /** The first process to lower the rate that was set logs a warning, once, as soon as the figure is known. */
  #warning: 'none' | 'due' | 'given' = 'none'

  constructor(parts: Parts) {
    this.#parts = parts
    this.#name = parts.rate === 'auto' ? PLATFORM : `${PLATFORM}@${parts.rate}`
    this.#most = parts.spacingMs === null ? Number.POSITIVE_INFINITY : 1000 / parts.spacingMs
  }

  /** What is known of the rate; null before the first lease, and while nothing contradicts the rate that was set. */
  get learnt(): LearntRate | null {
    return this.#known?.learnt ?? null
  }

  /** Reserves slots at the learnt rate, starting the record if there is none. */
  async lease(wanted: WantedSlots): Promise<Lease> {
    let lease = await this.#ask(wanted)
    if (lease.learnt === null && this.#parts.rate === 'auto') {
      await this.#parts.slots.learn(this.#name, 0, initialRate(lease)) // unless another process just did
      lease = await this.#ask(wanted)
    }
    this.#granted += lease.count
    this.#note(lease)
    return lease
  }

  observe({ sentAt, rateLimited }: CallOutcome): void {
    const { clock } = this.#parts
    this.#ended += 1
    if (!rateLimited) this.#acceptedAt = Math.max(this.#acceptedAt ?? sentAt, sentAt)
    else if (this.#known !== null) {
      const acceptedAtMs = this.#acceptedAt === null ? null : clock.theirs(this.#acceptedAt)
      this.#learn({ kind: 'refused', sentAtMs: clock.theirs(sentAt), acceptedAtMs })
    }
  }

  /** Resolves once the write in progress is done. */
  async close(): Promise<void> {
    await this.#writing
    const { learnt } = this
    if (learnt !== null) this.#warn(learnt, Number.POSITIVE_INFINITY)
  }

  async #ask(wanted: WantedSlots): Promise<Lease> {
    const { slots, clock } = this.#parts
    const asked = performance.now()
    const lease = await slots.lease({ ...wanted, learntAs: this.#name })
    clock.note(asked, performance.now(), lease.nowMs)
    return lease
  }

  #note(lease: Lease): void {
    const known = this.#known
    // Overtaken by a later answer. A record that was deleted counts its versions from 1 again.
    if (known !== null && lease.version < known.version && lease.nowMs < known.nowMs) return
    this.#known = lease
    // A rate as it was set cannot grow.
    if (lease.learnt === null || lease.learnt.ratePerSecond >= this.#most) return
    this.#warn(lease.learnt, lease.nowMs)
    // Calls made while a person has lowered the rate say nothing about a higher one. A refusal still lowers the learnt rate
    // itself: the cap never becomes its ceiling, so afterwards the rate returns to where it was.
    if (isCapped(lease)) {
      this.#begin(lease.nowMs, lease.leased)
      return
    }
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

  /** Called once the rate is no longer falling: the first refusal alone does not tell what the platform permits. */
  #warn({ ratePerSecond, ceiling, loweredAtMs }: LearntRate, nowMs: number): void {
    if (this.#warning !== 'due' || ceiling === null || nowMs - (loweredAtMs ?? 0) < AGAIN_WITHIN_MS) return
    this.#warning = 'given'
    const { rate: set, log } = this.#parts
    const rate = Number(ratePerSecond.toPrecision(3))
    log?.warn(
      { set, rate },
      `PLATFORM_RATE_LIMIT is ${set} calls per second, and the platform rejects some of them: going on with ${rate}`,
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
    const { slots, clock, spacingMs, log } = this.#parts
    try {
      for (let i = 0; i < TRIES; i++) {
        // With what others have reserved and learnt.
        this.#note(await this.#ask({ count: 0, spacingMs }))
        if (this.#known === null) return
        const { version, leased, startMs: reservedUntilMs } = this.#known
        const now = { nowMs: clock.theirs(performance.now()), leased, reservedUntilMs }
        const learnt = this.#known.learnt ?? rateAsSet(this.#most, now)
        const next = learn(learnt, event, now, this.#most)
        if (next === learnt) return
        const isKept = await slots.learn(this.#name, version, next)
        if (isKept && learnt.ratePerSecond >= this.#most && this.#warning === 'none') this.#warning = 'due'
        if (isKept) {
          this.#note(await this.#ask({ count: 0, spacingMs }))
          const { ratePerSecond: rate, ceiling } = next
          log?.debug({ rate, ceiling, event: event.kind }, 'rate learnt')
          return
        }
      }
    } catch (error) {
      log?.debug({ error }, 'what was learnt of the rate could not be kept')
    }
  }
}

/** Calls per second before anything is known. */
const START_RATE = 5
/** A platform that permits less needs its rate set. */
const LOWEST_RATE = 0.1
/** While searching, the rate grows by this factor in a second … */
const GROWTH = 1.25
/** … or in this many calls, if that takes longer. */
const CALLS_PER_GROWTH = 4
/** Share of the rate that remains after a refusal … */
const LOWERED = 0.85
/** … and after another one so soon that one lowering was not enough. */
const LOWERED_AGAIN = 0.6
const AGAIN_WITHIN_MS = 12_000
/** For this long refusals still concern the rate before: the platform counts the calls of its window together. */
const SETTLING_MS = 1000
/** The ceiling is reached again after this long … */
const RETURN_MS = 45_000
/** … or this many calls, if that takes longer: hence at most one call in this many is refused. */
const RETURN_CALLS = 180
/** … but no longer than this: after an incident that left next to nothing, the rate is back within minutes. */
const LONGEST_RETURN_MS = 180_000
/** This far above the ceiling, the ceiling no longer holds. */
const ABANDONED = 1.4
/** A change later than now by more than this means that the clock was put back. */
const CLOCK_PUT_BACK_MS = 5000
/** A change below this share is not worth a write: the next one makes up for it. */
const LEAST_GROWTH = 0.005

/** Where learning starts. */
export function initialRate({ nowMs, leased }: Pick<Moment, 'nowMs' | 'leased'>): LearntRate {
  return {
    ratePerSecond: START_RATE,
    ceiling: null,
    loweredAtMs: null,
    changedAtMs: nowMs,
    leasedAtChange: leased,
  }
}

/** A rate as it was set, without evidence against it. */
export function rateAsSet(setRate: number, moment: Pick<Moment, 'nowMs' | 'leased'>): LearntRate {
  return { ...initialRate(moment), ratePerSecond: setRate }
}

/**
 * What is known after an event. The same object: nothing new.
 * @param setRate calls per second that are never exceeded, and that the rate returns to
 */
export function learn(
  learnt: LearntRate,
  event: RateEvent,
  now: Moment,
  setRate = Number.POSITIVE_INFINITY,
): LearntRate {
  const isFuture = learnt.changedAtMs > now.nowMs + CLOCK_PUT_BACK_MS
  const known = isFuture ? { ...learnt, loweredAtMs: null, changedAtMs: now.nowMs } : learnt
  return event.kind === 'refused' ? lowered(known, event, now) : raised(known, event.sinceMs, now, setRate)
}

function lowered(
  learnt: LearntRate,
  refusal: { sentAtMs: number; acceptedAtMs: number | null },
  now: Moment,
): LearntRate {
  const { ratePerSecond, loweredAtMs } = learnt
  let left = LOWERED
  if (loweredAtMs !== null) {
    // Sent at the rate before, or to a platform that accepts nothing at all: that says nothing about the current rate.
    const settledAtMs = loweredAtMs + SETTLING_MS
    if (refusal.sentAtMs < settledAtMs || (refusal.acceptedAtMs ?? 0) < loweredAtMs) return learnt
    if (refusal.sentAtMs - loweredAtMs < AGAIN_WITHIN_MS) left = LOWERED_AGAIN
  }
  return {
    ratePerSecond: Math.max(LOWEST_RATE, ratePerSecond * left),
    ceiling: ratePerSecond,
    loweredAtMs: Math.max(now.nowMs, now.reservedUntilMs),
    changedAtMs: now.nowMs,
    leasedAtChange: now.leased,
  }
}

function raised(learnt: LearntRate, sinceMs: number, now: Moment, setRate: number): LearntRate {
  const ms = now.nowMs - Math.max(sinceMs, learnt.changedAtMs)
  const rate =
    learnt.ceiling === null
      ? searched(learnt.ratePerSecond, ms)
      : curve(learnt.ratePerSecond, learnt.ceiling, ms)
  if (rate >= setRate) {
    if (learnt.ratePerSecond === setRate) return learnt
    return { ...learnt, ...rateAsSet(setRate, now), loweredAtMs: learnt.loweredAtMs }
  }
  if (rate < learnt.ratePerSecond * (1 + LEAST_GROWTH)) return learnt
  const ceiling = learnt.ceiling !== null && rate > learnt.ceiling * ABANDONED ? null : learnt.ceiling
  return { ...learnt, ratePerSecond: rate, ceiling, changedAtMs: now.nowMs, leasedAtChange: now.leased }
}

function searched(rate: number, ms: number): number {
  return rate * GROWTH ** Math.min(ms / 1000, (rate * ms) / 1000 / CALLS_PER_GROWTH)
}

/**
 * The rate after `ms` milliseconds on a cubic that is flat at the ceiling: quickly back to just below it, long there, and ever
 * faster above it once the ceiling turns out not to hold.
 */
function curve(rate: number, ceiling: number, ms: number): number {
  const returnMs = Math.min(LONGEST_RETURN_MS, Math.max(RETURN_MS, (RETURN_CALLS * 1000) / ceiling))
  const at = Math.cbrt((rate / ceiling - 1) / (1 - LOWERED))
  return ceiling * (1 + (1 - LOWERED) * (at + ms / returnMs) ** 3)
}
