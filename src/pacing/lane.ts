import { performance } from 'node:perf_hooks'
import type { Logger } from 'pino'
import { LONGEST_TIMER_MS } from '../lib/waiting.ts'
import type { PaceRequest } from './pacer.ts'
import type { Budget, Lease, WantedSlots } from './slots.ts'
import { type Lateness, Turnstile, type TurnstileClock } from './turnstile.ts'

/** Longest span of slots that one process reserves at a time. */
const LONGEST_SPAN_MS = 250
/** Span reserved while other processes reserve too but no caller waits for it. */
const SHORT_SPAN_MS = 4
/** Slots are requested this long, plus the round trip, before the current ones end. */
const LEAD_MS = 25
/** … and, by a process that has the slots to itself, this share of its span before: a late answer then does no harm. */
const LEAD_PART = 0.4
/** The same for a budget's slot, which is granted up to 10 ms ahead. */
const BUDGET_LEAD_MS = 8
/** Delay before asking again after a failure. */
const RETRY_MS = 1000
/** How often to ask at least while callers wait, in case the notification of a hold-off was lost. */
const CHECK_MS = 3000
/** How often to ask at least while a lowered rate has no slot soon: it may be restored. */
const CAPPED_CHECK_MS = 500

interface Parts {
  lease: (wanted: WantedSlots) => Promise<Lease>
  /** Distance of the slots in milliseconds, before it is stretched; null: the learnt one. */
  spacingMs: number | null
  budget?: Budget
  clock: SlotClock
  lateness: Lateness
  log: Logger | undefined
}

/**
 * Leases slots, a run of them at a time, and passes them to its callers one by one; unused slots expire. It asks early enough
 * for slots to follow each other without a gap, and where other processes wait for slots too, for no more than its own callers
 * need. Without a lease, its callers wait.
 */
export class Lane {
  readonly #parts: Parts
  readonly #turnstile: Turnstile
  /** Distance of the slots as last leased. */
  #spacingMs: number
  /** The same without a rate that a person has lowered for a time. */
  #ownSpacingMs: number
  /** How far ahead slots are reserved; 0 while other processes wait for them. */
  #spanMs: number
  #leasing: Promise<void> | null = null
  #askedAt = Number.NEGATIVE_INFINITY
  /** Earliest time to ask: the budget has no slot before, or the last query failed. */
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

  /** Distance of the slots, ignoring a rate that a person has lowered for a time. */
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

  /** As {@link holdUntil}, where the keeper of the slots knows of no hold-off: it is not asked for any that would expire. */
  holdAlone(time: number): void {
    this.#notBefore = Math.max(this.#notBefore, time)
    this.holdUntil(time)
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

  /** When to ask for more slots: before the current ones end, by the time that an answer takes. */
  #missingAt(): number {
    const { waiting, slotsLeft, slotsEnd } = this.#turnstile
    // While other processes wait for slots, none are reserved in advance.
    if (this.#spanMs === 0 && waiting <= slotsLeft) return Number.POSITIVE_INFINITY
    if (slotsLeft === 0) return Number.NEGATIVE_INFINITY
    return slotsEnd - Math.max(LEAD_MS, this.#spanMs * LEAD_PART) - this.#parts.clock.roundTripMs
  }

  /** The slots that callers in line need, at least those of the current span. */
  #missing(): number {
    if (this.#parts.budget) return 1
    const slotsIn = (ms: number) => Math.max(1, Math.floor(ms / this.#spacingMs))
    const { waiting, slotsLeft } = this.#turnstile
    return Math.min(slotsIn(LONGEST_SPAN_MS), Math.max(slotsIn(this.#spanMs), waiting - slotsLeft))
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
        // A learnt rate already has room for lateness.
        spacingMs: spacingMs && spacingMs * stretch,
        ...(budget && { budget: { ...budget, spacingMs: budget.spacingMs * stretch } }),
      })
    } catch (error) {
      if (!this.#isAway && !this.#closed) log?.warn({ error }, 'no slots can be had: calls wait')
      this.#isAway = true
      this.#notBefore = performance.now() + RETRY_MS
      return
    }
    if (this.#isAway) log?.info('slots can be had again: calls go on')
    this.#isAway = false
    await allRead() // a hold-off may have begun since the answer was sent
    if (count > 0 && !this.#closed) this.#take(leased)
  }

  #take(lease: Lease): void {
    const { budget, clock } = this.#parts
    const start = clock.ours(lease.startMs)
    if (budget) this.#notBefore = start + (lease.count === 0 ? 0 : budget.spacingMs) - BUDGET_LEAD_MS
    else this.#spanMs = nextSpan(this.#spanMs, lease)
    if (lease.count === 0) {
      // A slot that is far away only because of a lowered rate is not reserved yet: the cap may end before.
      const soon = performance.now() + CAPPED_CHECK_MS
      if (isCapped(lease)) this.#notBefore = Math.min(start - BUDGET_LEAD_MS - clock.roundTripMs, soon)
      return
    }
    this.#spacingMs = budget?.spacingMs ?? lease.spacingMs
    this.#ownSpacingMs = budget?.spacingMs ?? lease.ownSpacingMs
    this.#turnstile.grant(start, this.#spacingMs, lease.count, this.#ownSpacingMs)
  }

  /** Checks at `at` how many slots are wanted. */
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

/** A process alone reserves ever longer spans. Beside others it reserves little, and nothing in advance once slots are short. */
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
    // In a process that was held up, a hold-off may be among what has arrived.
    let cancelReading: (() => void) | undefined
    const read = () => {
      cancelReading = afterReading(run)
    }
    const timer = setTimeout(read, Math.min(Math.ceil(ms), LONGEST_TIMER_MS))
    return () => {
      clearTimeout(timer)
      cancelReading?.()
    }
  },
}

/**
 * Runs `run` once all that has arrived by now is read; returns a function that cancels it. Reading may itself take long, and what
 * arrives meanwhile is read in another round, after Node.js's immediates: so the round before `run` is one that took hardly any time.
 */
function afterReading(run: () => void): () => void {
  let begun = performance.now()
  let rounds = 0
  const read = () => {
    const now = performance.now()
    rounds += 1
    if (now - begun < SHORT_ROUND_MS || rounds === MOST_ROUNDS) return run()
    begun = now
    reading = setImmediate(read)
  }
  let reading = setImmediate(read)
  return () => clearImmediate(reading)
}

/** A round of reading that takes less leaves nothing of note unread. */
const SHORT_ROUND_MS = 2
/** In a process that is always busy, calls leave after as many rounds. */
const MOST_ROUNDS = 5

const allRead = () => new Promise<void>(resolve => afterReading(resolve))

/** Decay of a slow answer's weight with each answer that follows. */
const FORGETTING = 0.8

/** Converts the slot keeper's time to our monotonic clock, as far as its answers tell. */
export class SlotClock {
  /** Our time minus theirs; null before the first answer. */
  #offsetMs: number | null = null
  #roundTripMs = 0

  /** How long an answer may take, judged by recent ones. */
  get roundTripMs(): number {
    return this.#roundTripMs
  }

  /** Notes that their time was `theirMs` at some moment between `asked` and `answered`. */
  note(asked: number, answered: number, theirMs: number): void {
    this.#roundTripMs = Math.max(answered - asked, this.#roundTripMs * FORGETTING)
    // The true offset lies between these two; the earlier estimate is kept as far as it fits.
    const most = answered - theirMs
    this.#offsetMs = Math.min(Math.max(this.#offsetMs ?? most, asked - theirMs), most)
  }

  /** Their time on our clock. */
  ours(theirMs: number): number {
    return theirMs + (this.#offsetMs ?? 0)
  }

  /** Our time on their clock. */
  theirs(ourMs: number): number {
    return ourMs - (this.#offsetMs ?? 0)
  }
}
