import { performance } from 'node:perf_hooks'
import { setImmediate as whatArrived } from 'node:timers/promises'
import type { Logger } from 'pino'
import { type Lateness, PacingGate } from './gate.ts'
import type { PaceRequest } from './pacer.ts'
import type { LeaseRequest, PacerLease } from './store.ts'

/** Longest span of slots that one process reserves at a time. */
const LONGEST_SPAN_MS = 250
/** … and this many for callers who wait already, if they are over within a second: at low rates, fewer questions. */
const FEW_SLOTS = 4
/** Span reserved while other processes reserve too but nobody has to wait for it. */
const SHORT_SPAN_MS = 4
/** The next slots are asked for this long before the present ones end, and the store's answering time earlier. */
const LEAD_MS = 25
/** The same for a budget's slot, which the store gives up to 10 ms ahead. */
const BUDGET_LEAD_MS = 8
/** How long the store may take to answer; while it is away, it is asked as often. */
const ANSWER_MS = 1000
/** The store is asked at least this often while callers wait, so that a pause is noticed whose push was lost. */
const CHECK_MS = 3000
/** Of a share that is used without the store: several processes' shares do not fit together to the millisecond. */
const ALONE_HEADROOM = 0.98
/** Longest delay that a timer of Node takes. */
const LONGEST_TIMER_MS = 2_147_483_647

interface Parts {
  lease: (request: LeaseRequest) => Promise<PacerLease>
  /** What to ask for; `holder` is this process. */
  terms: Pick<LeaseRequest, 'gate' | 'holder' | 'spacingMs' | 'budget'>
  clock: StoreClock
  lateness: Lateness
  /** Called with every answer of the store. */
  onLease: (lease: PacerLease) => void
  log: Logger | undefined
}

/**
 * A gate whose slots come from the store: reserves a run of them at a time and lets callers pass on them; a slot that
 * nobody took expires. While the store is away, it goes on at the share it had.
 */
export class LeasedGate {
  readonly #lease: Parts['lease']
  readonly #terms: Parts['terms']
  readonly #clock: StoreClock
  readonly #lateness: Lateness
  readonly #onLease: Parts['onLease']
  readonly #log: Logger | undefined
  readonly #gate: PacingGate
  readonly #share = new PacingShare()
  #spacingMs: number
  /** How far ahead slots are reserved; 0 where others have to wait for them. */
  #spanMs = 0
  #isShared = false
  #leasing: Promise<void> | null = null
  /** Slots per second that are granted here while the store is away; null while it answers. */
  #alonePerSecond: number | null = null
  #askedAt = Number.NEGATIVE_INFINITY
  /** Not to ask before: the budget has no slot until then. */
  #askAgain: { at: number; timer: NodeJS.Timeout } | null = null
  #check: NodeJS.Timeout | null = null
  #closed = false

  constructor(parts: Parts) {
    this.#lease = parts.lease
    this.#terms = parts.terms
    this.#clock = parts.clock
    this.#lateness = parts.lateness
    this.#onLease = parts.onLease
    this.#log = parts.log
    this.#spacingMs = parts.terms.budget?.spacingMs ?? parts.terms.spacingMs ?? LONGEST_SPAN_MS
    if (parts.terms.budget === undefined) this.#spanMs = SHORT_SPAN_MS
    this.#gate = new PacingGate(
      {
        now: () => performance.now(),
        after: (ms, run) => {
          // After what has arrived was read: in a process that was held up, a pause may be among it.
          let reading: NodeJS.Immediate | undefined
          const read = () => {
            reading = setImmediate(run)
          }
          const timer = setTimeout(read, Math.min(Math.ceil(ms), LONGEST_TIMER_MS))
          return () => {
            clearTimeout(timer)
            clearImmediate(reading)
          }
        },
      },
      this.#lateness,
      () => this.#onWanting(),
    )
  }

  /** Callers in line. */
  get waiting(): number {
    return this.#gate.waiting
  }

  /** Distance of the slots as last heard. */
  get spacingMs(): number {
    return this.#spacingMs
  }

  get pausedUntil(): number {
    return this.#gate.pausedUntil
  }

  acquire(request: PaceRequest): Promise<void> {
    return this.#gate.acquire(request)
  }

  pauseUntil(time: number): void {
    this.#gate.pauseUntil(time)
  }

  async close(): Promise<void> {
    this.#closed = true
    if (this.#check !== null) clearInterval(this.#check)
    if (this.#askAgain !== null) clearTimeout(this.#askAgain.timer)
    this.#gate.close()
    await this.#leasing
  }

  /** Called for every caller, so it decides with a few comparisons. */
  #onWanting(): void {
    if (this.#leasing !== null || this.#closed) return
    const now = performance.now()
    const waiting = this.#gate.waiting
    if (waiting > 0) this.#check ??= setInterval(() => this.#onCheck(), ANSWER_MS)
    if (this.#isProvided(now)) return
    // Where others have to wait for slots, none is reserved in advance.
    if (this.#spanMs === 0 && waiting <= this.#gate.slotsLeft) return
    if (this.#alonePerSecond !== null && now - this.#askedAt < ANSWER_MS) return
    this.#ask(now)
  }

  /** Whether the present slots last beyond the time it takes to get more, or there are none yet. */
  #isProvided(now: number): boolean {
    if (this.#askAgain !== null && now < this.#askAgain.at) return true
    return this.#gate.slotsEnd - now > LEAD_MS + this.#clock.roundTripMs && this.#gate.slotsLeft > 0
  }

  /** Every second while callers wait: notices pauses, and the store's return. */
  #onCheck(): void {
    const now = performance.now()
    if (this.#gate.waiting === 0) {
      if (this.#check !== null) clearInterval(this.#check)
      this.#check = null
      return
    }
    const every = this.#alonePerSecond === null ? CHECK_MS : ANSWER_MS
    if (this.#leasing === null && now - this.#askedAt >= every - LEAD_MS) this.#ask(now)
  }

  /** Asks the store for what is missing, at least for what the present span holds; for nothing if nothing is missing. */
  #ask(now: number): void {
    const count = this.#isProvided(now) ? 0 : this.#missing()
    this.#askedAt = now
    this.#leasing = this.#reserve(count, now).finally(() => {
      this.#leasing = null
      if (this.#gate.waiting > 0) this.#onWanting()
    })
  }

  #missing(): number {
    if (this.#terms.budget !== undefined) return 1
    const slotsIn = (ms: number) => Math.max(1, Math.floor(ms / this.#spacingMs))
    const least = slotsIn(this.#spanMs)
    const most = Math.max(slotsIn(LONGEST_SPAN_MS), Math.min(FEW_SLOTS, slotsIn(1000)))
    return Math.min(most, Math.max(least, this.#gate.waiting - this.#gate.slotsLeft))
  }

  async #reserve(count: number, asked: number): Promise<void> {
    const terms = this.#stretchedTerms()
    let lease: PacerLease
    try {
      lease = await inTime(this.#lease({ ...terms, count }))
    } catch (error) {
      this.#goOnAlone(error)
      return
    }
    this.#clock.note(asked, performance.now(), lease.nowMs)
    this.#onLease(lease)
    if (this.#alonePerSecond !== null) {
      this.#alonePerSecond = null
      this.#gate.revoke() // what we granted ourselves is not known to the others
      this.#log?.info('slots are shared with other processes again')
    }
    await whatArrived() // a pause may have begun since the store answered
    if (count > 0 && !this.#closed) this.#take(lease, terms.budget)
  }

  /** A given spacing, with room for lateness; where it is learnt, what was learnt has that in it. */
  #stretchedTerms(): Parts['terms'] {
    const stretch = this.#lateness.stretchAt(performance.now())
    const { spacingMs, budget, ...terms } = this.#terms
    return {
      ...terms,
      spacingMs: spacingMs && spacingMs * stretch,
      ...(budget && { budget: { ...budget, spacingMs: budget.spacingMs * stretch } }),
    }
  }

  #take(lease: PacerLease, budget: LeaseRequest['budget']): void {
    const start = this.#clock.ours(lease.startMs)
    if (budget !== undefined) this.#askAt(start + (lease.count === 0 ? 0 : budget.spacingMs) - BUDGET_LEAD_MS)
    else this.#spanMs = this.#nextSpan(lease)
    this.#isShared = lease.shared
    if (lease.count === 0) return
    this.#spacingMs = budget?.spacingMs ?? lease.spacingMs
    this.#share.note(start, lease.count, this.#spacingMs)
    this.#gate.grant(start, this.#spacingMs, lease.count)
  }

  #nextSpan(lease: PacerLease): number {
    if (!lease.shared) return Math.min(LONGEST_SPAN_MS, Math.max(SHORT_SPAN_MS, this.#spanMs * 2))
    return lease.startMs - lease.nowMs > SHORT_SPAN_MS / 2 ? 0 : SHORT_SPAN_MS
  }

  #askAt(at: number): void {
    if (this.#askAgain !== null) clearTimeout(this.#askAgain.timer)
    const wait = Math.min(Math.max(0, Math.ceil(at - performance.now())), LONGEST_TIMER_MS)
    const timer = setTimeout(() => {
      this.#askAgain = null
      if (this.#gate.waiting > 0) this.#onWanting()
    }, wait)
    this.#askAgain = { at, timer }
  }

  /** The store did not answer: a second's worth of slots at the share that this process had, never more. */
  #goOnAlone(error: unknown): void {
    if (this.#closed) return
    const now = performance.now()
    if (this.#alonePerSecond === null) {
      const share = this.#share.perSecond(now)
      // Whole calls of a second: then the shares fit together wherever the processes' seconds begin.
      this.#alonePerSecond = (this.#isShared && share >= 1 ? Math.floor(share) : share) * ALONE_HEADROOM
      this.#log?.warn({ err: error }, 'the store is away: calls go on at the share this process had')
    }
    if (this.#alonePerSecond === 0 || this.#gate.slotsEnd > now + ANSWER_MS) return
    const spacing = Math.max(1000 / this.#alonePerSecond, this.#spacingMs)
    this.#gate.grant(now + spacing, spacing, Math.max(1, Math.floor(ANSWER_MS / spacing)))
  }
}

/** A store that does not answer in time counts as away; an answer that comes later is not used, its slots expire. */
async function inTime<T>(answer: Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error(`no answer within ${ANSWER_MS} ms`)), ANSWER_MS)
  try {
    return await Promise.race([answer, late])
  } finally {
    clearTimeout(timer)
  }
}

/** Span over which a share is counted: so many milliseconds, or so many times the spacing where that is longer. */
const WINDOW_MS = 5000
const WINDOW_SLOTS = 20
/** A share is never told from less than this part of the window, so that a lucky first moment does not count for more. */
const LEAST_PART = 0.2

interface Lease {
  start: number
  count: number
  spacingMs: number
}

/** What part of the shared rate one process was given lately. Times are milliseconds of any one clock. */
export class PacingShare {
  #leases: Lease[] = []

  /** Notes slots that were granted from `start` on. */
  note(start: number, count: number, spacingMs: number): void {
    this.#leases.push({ start, count, spacingMs })
    this.#forget(start)
  }

  /**
   * Calls per second given lately, rather too few than too many: the last lease does not count, because nobody knows when
   * the one after it would have started, and of the spans that end with it the poorest counts, because others may have
   * come. 0 when nothing was given lately.
   */
  perSecond(now: number): number {
    this.#forget(now)
    const last = this.#leases.at(-1)
    if (last === undefined) return 0
    const leastMs = windowMs(last) * LEAST_PART
    let share = Number.POSITIVE_INFINITY
    let count = 0
    for (const lease of this.#leases.slice(0, -1).reverse()) {
      count += lease.count
      const span = last.start - lease.start
      if (span >= leastMs) share = Math.min(share, (count * 1000) / span)
    }
    if (share === Number.POSITIVE_INFINITY) share = (count * 1000) / leastMs
    return Math.max(share, (last.count * 1000) / windowMs(last))
  }

  #forget(now: number): void {
    const last = this.#leases.at(-1)
    if (last === undefined) return
    const since = now - windowMs(last)
    while (this.#leases[0] !== undefined && this.#leases[0].start < since) this.#leases.shift()
  }
}

function windowMs(lease: Lease): number {
  return Math.max(WINDOW_MS, WINDOW_SLOTS * lease.spacingMs)
}

/** A slow answer counts for less by this factor with each that follows. */
const FORGETTING = 0.8

/** What the store's time is on our monotonic clock, as far as its answers tell. */
export class StoreClock {
  /** Our time minus the store's; null before the first answer. */
  #offsetMs: number | null = null
  #roundTripMs = 0

  /** How long an answer may take, by those of late. */
  get roundTripMs(): number {
    return this.#roundTripMs
  }

  /** Notes that the store said `storeMs` between `asked` and `answered`. */
  note(asked: number, answered: number, storeMs: number): void {
    this.#roundTripMs = Math.max(answered - asked, this.#roundTripMs * FORGETTING)
    // The true offset lies between these two; what was learnt before is kept as far as it fits.
    const most = answered - storeMs
    this.#offsetMs = Math.min(Math.max(this.#offsetMs ?? most, asked - storeMs), most)
  }

  /** The store's moment on our clock. */
  ours(storeMs: number): number {
    return storeMs + (this.#offsetMs ?? 0)
  }

  /** Our moment on the store's clock. */
  stores(ourMs: number): number {
    return ourMs - (this.#offsetMs ?? 0)
  }
}
