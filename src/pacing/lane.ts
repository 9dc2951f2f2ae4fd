import { performance } from 'node:perf_hooks'
import { setImmediate as whatArrived } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { PaceRequest } from './pacer.ts'
import type { Budget, Lease, WantedSlots } from './slots.ts'
import { type Lateness, Turnstile, type TurnstileClock } from './turnstile.ts'

/** Longest span of slots that one process reserves at a time. */
const LONGEST_SPAN_MS = 250
/** … and this many for callers who wait already, if they are over within a second: at low rates, fewer questions. */
const FEW_SLOTS = 4
/** Span reserved while other processes reserve too but nobody has to wait for it. */
const SHORT_SPAN_MS = 4
/** The next slots are asked for this long before the present ones end, and the answering time earlier. */
const LEAD_MS = 25
/** … and, by a process that has them to itself, this part of its span before: then an answer may well be late. */
const LEAD_PART = 0.4
/** The same for a budget's slot, which is given up to 10 ms ahead. */
const BUDGET_LEAD_MS = 8
/** How long to wait after a question that failed. */
const RETRY_MS = 1000
/** How often to ask at least while callers wait, so that a hold-off is noticed of which nothing was heard. */
const CHECK_MS = 3000
/** How often to ask at least while a lowered rate has no slot soon: it may be restored. */
const CAPPED_CHECK_MS = 500
/** Longest delay that a timer of Node takes. */
const LONGEST_TIMER_MS = 2_147_483_647

interface Parts {
  lease: (wanted: WantedSlots) => Promise<Lease>
  /** Distance of the slots in milliseconds, before it is stretched; null: as learnt. */
  spacingMs: number | null
  budget?: Budget
  clock: SlotClock
  lateness: Lateness
  log: Logger | undefined
}

/**
 * Leases slots, a run of them at a time, and lets its callers pass on them one by one; a slot that nobody took expires.
 * It asks early enough for slots to follow each other without a gap, and where other processes wait for slots too, for no
 * more than its own callers need. While no lease can be had, its callers wait.
 */
export class Lane {
  readonly #parts: Parts
  readonly #turnstile: Turnstile
  /** Distance of the slots as last leased. */
  #spacingMs: number
  /** The same without a rate that a person has lowered for a time. */
  #ownSpacingMs: number
  /** How far ahead slots are reserved; 0 where others have to wait for them. */
  #spanMs: number
  #leasing: Promise<void> | null = null
  #askedAt = Number.NEGATIVE_INFINITY
  /** Not to ask before: the budget has no slot until then, or the last question failed. */
  #notBefore = Number.NEGATIVE_INFINITY
  #isAway = false
  #timer: { at: number; handle: NodeJS.Timeout } | null = null
  #closed = false

  constructor(parts: Parts) {
    const { spacingMs, budget, lateness } = parts
    this.#parts = parts
    this.#spacingMs = budget?.spacingMs ?? spacingMs ?? LONGEST_SPAN_MS
    this.#ownSpacingMs = this.#spacingMs
    this.#spanMs = budget ? 0 : SHORT_SPAN_MS
    const owner = { wanting: () => this.#onWanting(), idle: () => this.#cancelTimer() }
    this.#turnstile = new Turnstile(CLOCK, lateness, owner)
  }

  /** Callers in line. */
  get waiting(): number {
    return this.#turnstile.waiting
  }

  /** Distance of the slots, but for a rate that a person has lowered for a time. */
  get ownSpacingMs(): number {
    return this.#ownSpacingMs
  }

  get heldUntil(): number {
    return this.#turnstile.heldUntil
  }

  acquire(request: PaceRequest): Promise<void> {
    return this.#turnstile.acquire(request)
  }

  holdUntil(time: number): void {
    this.#turnstile.holdUntil(time)
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#cancelTimer()
    this.#turnstile.close()
    await this.#leasing
  }

  /** Called for every caller, so it decides with a few comparisons. */
  #onWanting(): void {
    if (this.#leasing !== null || this.#closed) return
    const now = performance.now()
    const isAwaited = this.#turnstile.waiting > 0
    const missingAt = this.#missingAt()
    const askAt = Math.max(this.#notBefore, Math.min(missingAt, this.#askedAt + CHECK_MS))
    if (now < askAt) {
      if (isAwaited) this.#wakeAt(askAt, now)
    } else if (now >= missingAt) this.#ask(this.#missing())
    else if (isAwaited) this.#ask(0)
  }

  /** From when on slots are missing: before the present ones end, as long as it takes to get more. */
  #missingAt(): number {
    const { waiting, slotsLeft, slotsEnd } = this.#turnstile
    // Where others have to wait for slots, none is reserved in advance.
    if (this.#spanMs === 0 && waiting <= slotsLeft) return Number.POSITIVE_INFINITY
    if (slotsLeft === 0) return Number.NEGATIVE_INFINITY
    return slotsEnd - Math.max(LEAD_MS, this.#spanMs * LEAD_PART) - this.#parts.clock.roundTripMs
  }

  /** What the callers in line need, and at least what the present span holds. */
  #missing(): number {
    if (this.#parts.budget) return 1
    const slotsIn = (ms: number) => Math.max(1, Math.floor(ms / this.#spacingMs))
    const most = Math.max(slotsIn(LONGEST_SPAN_MS), Math.min(FEW_SLOTS, slotsIn(1000)))
    const { waiting, slotsLeft } = this.#turnstile
    return Math.min(most, Math.max(slotsIn(this.#spanMs), waiting - slotsLeft))
  }

  #ask(count: number): void {
    this.#askedAt = performance.now()
    this.#leasing = this.#lease(count).finally(() => {
      this.#leasing = null
      if (this.#turnstile.waiting > 0) this.#onWanting()
    })
  }

  async #lease(count: number): Promise<void> {
    const { lease, spacingMs, budget, lateness, log } = this.#parts
    const stretch = lateness.stretchAt(performance.now())
    let leased: Lease
    try {
      leased = await lease({
        count,
        // What was learnt has room for lateness in it already.
        spacingMs: spacingMs && spacingMs * stretch,
        ...(budget && { budget: { ...budget, spacingMs: budget.spacingMs * stretch } }),
      })
    } catch (error) {
      if (!this.#isAway && !this.#closed) log?.warn({ err: error }, 'no slots can be had: calls wait')
      this.#isAway = true
      this.#notBefore = performance.now() + RETRY_MS
      return
    }
    if (this.#isAway) log?.info('slots can be had again: calls go on')
    this.#isAway = false
    await whatArrived() // a hold-off may have begun since the answer was sent
    if (count > 0 && !this.#closed) this.#take(leased)
  }

  #take(lease: Lease): void {
    const { budget, clock } = this.#parts
    const start = clock.ours(lease.startMs)
    if (budget) this.#notBefore = start + (lease.count === 0 ? 0 : budget.spacingMs) - BUDGET_LEAD_MS
    else this.#spanMs = nextSpan(this.#spanMs, lease)
    if (lease.count === 0) {
      // A slot that is far away only because the rate was lowered is not given yet: that may end before.
      const soon = performance.now() + CAPPED_CHECK_MS
      if (isCapped(lease)) this.#notBefore = Math.min(start - BUDGET_LEAD_MS - clock.roundTripMs, soon)
      return
    }
    this.#spacingMs = budget?.spacingMs ?? lease.spacingMs
    this.#ownSpacingMs = budget?.spacingMs ?? lease.ownSpacingMs
    this.#turnstile.grant(start, this.#spacingMs, lease.count, this.#ownSpacingMs)
  }

  /** Sees at `at` what is wanted by then. */
  #wakeAt(at: number, now: number): void {
    if (this.#timer !== null && this.#timer.at <= at) return
    this.#cancelTimer()
    const wake = () => {
      this.#timer = null
      this.#onWanting()
    }
    this.#timer = { at, handle: setTimeout(wake, Math.min(Math.ceil(at - now), LONGEST_TIMER_MS)) }
  }

  #cancelTimer(): void {
    if (this.#timer !== null) clearTimeout(this.#timer.handle)
    this.#timer = null
  }
}

/** A process alone reserves ever longer spans. Beside others it takes little, and nothing in advance once slots are short. */
function nextSpan(spanMs: number, { shared, startMs, nowMs }: Lease): number {
  if (!shared) return Math.min(LONGEST_SPAN_MS, Math.max(SHORT_SPAN_MS, spanMs * 2))
  return startMs - nowMs > SHORT_SPAN_MS / 2 ? 0 : SHORT_SPAN_MS
}

/** Whether calls leave more slowly than they could, because a person has lowered the rate. */
export function isCapped({ spacingMs, ownSpacingMs }: Lease): boolean {
  return spacingMs > ownSpacingMs
}

const CLOCK: TurnstileClock = {
  now: () => performance.now(),
  after: (ms, run) => {
    // After what has arrived was read: in a process that was held up, a hold-off may be among it.
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
}

/** A slow answer counts for less by this factor with each that follows. */
const FORGETTING = 0.8

/** What the time of whoever keeps the slots is on our monotonic clock, as far as the answers tell. */
export class SlotClock {
  /** Our time minus theirs; null before the first answer. */
  #offsetMs: number | null = null
  #roundTripMs = 0

  /** How long an answer may take, by those of late. */
  get roundTripMs(): number {
    return this.#roundTripMs
  }

  /** Notes that it was `theirMs` there at some moment between `asked` and `answered`. */
  note(asked: number, answered: number, theirMs: number): void {
    this.#roundTripMs = Math.max(answered - asked, this.#roundTripMs * FORGETTING)
    // The true offset lies between these two; what was learnt before is kept as far as it fits.
    const most = answered - theirMs
    this.#offsetMs = Math.min(Math.max(this.#offsetMs ?? most, asked - theirMs), most)
  }

  /** Their moment on our clock. */
  ours(theirMs: number): number {
    return theirMs + (this.#offsetMs ?? 0)
  }

  /** Our moment on their clock. */
  theirs(ourMs: number): number {
    return ourMs - (this.#offsetMs ?? 0)
  }
}
