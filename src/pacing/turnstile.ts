import { WaitingLine } from '../lib/waiting.ts'
import { DEFAULT_PRIORITY, type PaceRequest, PacerClosedError } from './pacer.ts'

/** The clock and timers of a turnstile. */
export interface TurnstileClock {
  /** Monotonic milliseconds. */
  now(): number
  /** Runs `run` once after about `ms` milliseconds; returns a function that cancels it. */
  after(ms: number, run: () => void): () => void
}

/** The callbacks of a turnstile's owner. */
interface Owner {
  /** A caller came, or callers are left in line after slots were used: time to check whether slots run out. */
  wanting(): void
  /** The line is empty. */
  idle(): void
}

/**
 * Timers are a millisecond or two late and cannot wait for less: a caller who meets no line may use slots that became due
 * within this many milliseconds.
 */
const GRAIN_MS = 2

/** Slots later than this say nothing about the timers: the process was stopped, or the computer asleep. */
const STOPPED_MS = 1000

interface Waiter {
  leave(): void
  fail(error: unknown): void
}

/**
 * Lets one caller pass at each granted slot. It decides when, not how many: its owner grants the slots.
 *
 * When a timer was late, the slots that became due meanwhile are used together if they are not too late (`Lateness`): one at a
 * time would lose the others, since the next timer will be late too. So the calls that come together are at most those of the
 * allowed lateness, a tenth of a second; later slots stay where they are.
 */
export class Turnstile {
  readonly #clock: TurnstileClock
  readonly #lateness: Lateness
  readonly #owner: Owner
  readonly #slots = new SlotSchedule()
  readonly #line = new WaitingLine<Waiter>()
  #heldUntil = Number.NEGATIVE_INFINITY
  #cancelTimer: (() => void) | null = null
  #closed = false

  /** @param lateness determines the spacing of the owner's slots; all turnstiles of a process share one */
  constructor(clock: TurnstileClock, lateness: Lateness, owner: Owner) {
    this.#clock = clock
    this.#lateness = lateness
    this.#owner = owner
  }

  /** Callers in line. */
  get waiting(): number {
    return this.#line.size
  }

  /** No caller passes before this; `-Infinity` before the first hold-off. */
  get heldUntil(): number {
    return this.#heldUntil
  }

  /** Unused slots. */
  get slotsLeft(): number {
    return this.#slots.left
  }

  /** When the last slot's turn is over. */
  get slotsEnd(): number {
    return this.#slots.end
  }

  /** Resolves when the caller may make one call; see `Pacer.acquire`. */
  acquire(request: PaceRequest): Promise<void> {
    if (this.#closed) return Promise.reject(new PacerClosedError())
    const { signal } = request
    if (signal?.aborted) return Promise.reject(signal.reason)
    const now = this.#clock.now()
    if (this.#line.size === 0) {
      this.#slots.expireBefore(now - GRAIN_MS)
      if (this.#slots.take(now) !== null) {
        this.#owner.wanting()
        return PASSED
      }
    }
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        leave: () => {
          signal?.removeEventListener('abort', giveUp)
          resolve()
        },
        fail: error => {
          signal?.removeEventListener('abort', giveUp)
          reject(error)
        },
      }
      const giveUp = () => {
        this.#line.remove(waiter)
        if (this.#line.size === 0) this.#owner.idle()
        reject(signal?.reason)
      }
      signal?.addEventListener('abort', giveUp, { once: true })
      this.#line.add(waiter, request.priority ?? DEFAULT_PRIORITY)
      this.#owner.wanting()
      this.#arm(now)
    })
  }

  /**
   * Adds evenly spaced slots that may be used from `start` on.
   * @param nextAfterMs how soon after the last one the next may follow; less than the spacing where that is to end
   */
  grant(start: number, spacingMs: number, count: number, nextAfterMs = spacingMs): void {
    this.#slots.add(start, spacingMs, count, nextAfterMs)
    this.#slots.expireBefore(this.#heldUntil)
    this.#release()
  }

  /** Lets no caller pass before `time`; slots before it expire. Never shortens an earlier hold-off. */
  holdUntil(time: number): void {
    if (time <= this.#heldUntil) return
    this.#heldUntil = time
    this.#slots.expireBefore(time)
    if (this.#line.size > 0) this.#owner.wanting()
  }

  /** Rejects every caller, now and later. */
  close(): void {
    this.#closed = true
    this.#cancelTimer?.()
    this.#cancelTimer = null
    for (let waiter = this.#line.shift(); waiter !== undefined; waiter = this.#line.shift()) {
      waiter.fail(new PacerClosedError())
    }
  }

  #release(): void {
    if (this.#line.size === 0) return
    const now = this.#clock.now()
    // As it was when these slots were spaced.
    const { allowedMs } = this.#lateness
    this.#slots.expireBefore(now - STOPPED_MS)
    while (this.#line.size > 0) {
      const slot = this.#slots.take(now)
      if (slot === null) break
      this.#lateness.note(now - slot, now)
      if (now - slot <= allowedMs) this.#line.shift()?.leave()
    }
    if (this.#line.size === 0) this.#owner.idle()
    else {
      this.#owner.wanting()
      this.#arm(now)
    }
  }

  /** Sets the timer for the next slot. One that is set is never too late: slots only come after those that were there. */
  #arm(now: number): void {
    const wakeAt = this.#slots.nextAt
    if (wakeAt === Number.POSITIVE_INFINITY || this.#cancelTimer !== null) return
    this.#cancelTimer = this.#clock.after(Math.max(0, wakeAt - now), () => {
      this.#cancelTimer = null
      this.#release()
    })
  }
}

const PASSED = Promise.resolve()

interface Stretch {
  /** Time of the next unused slot. */
  at: number
  spacingMs: number
  /** Slots left. */
  left: number
}

/**
 * Times at which one call each may leave, in order. A slot is used at its time or later, never before; an unused slot expires
 * and is not made up for.
 */
class SlotSchedule {
  readonly #stretches: Stretch[] = []
  #end = Number.NEGATIVE_INFINITY

  /**
   * Adds evenly spaced slots. They never overlap what was added before: a start that lies too early is moved.
   * @param nextAfterMs how soon after the last one the next may follow
   */
  add(start: number, spacingMs: number, count: number, nextAfterMs: number): void {
    const at = Math.max(start, this.#end)
    this.#stretches.push({ at, spacingMs, left: count })
    this.#end = at + spacingMs * (count - 1) + nextAfterMs
  }

  /** Drops the slots whose time is before `time`. */
  expireBefore(time: number): void {
    for (let next = this.#stretches[0]; next !== undefined; next = this.#stretches[0]) {
      if (next.at >= time) return
      const late = Math.min(next.left, Math.ceil((time - next.at) / next.spacingMs))
      next.at += late * next.spacingMs
      next.left -= late
      if (next.left > 0) return
      this.#stretches.shift()
    }
  }

  /** Uses the earliest slot if it is due; returns its time, null if none is. */
  take(now: number): number | null {
    const next = this.#stretches[0]
    if (next === undefined || next.at > now) return null
    const { at } = next
    next.at += next.spacingMs
    next.left -= 1
    if (next.left <= 0) this.#stretches.shift()
    return at
  }

  /** Time of the earliest slot, `Infinity` without any. */
  get nextAt(): number {
    return this.#stretches[0]?.at ?? Number.POSITIVE_INFINITY
  }

  /** When the last slot's turn is over, `-Infinity` before the first was added. */
  get end(): number {
    return this.#end
  }

  /** Number of unused slots. */
  get left(): number {
    let left = 0
    for (const stretch of this.#stretches) left += stretch.left
    return left
  }
}

/** Choices of how late a slot may be used, in milliseconds. */
const STEPS_MS = [12, 16, 20, 25, 30, 40, 50, 60, 80, 100]
const LEAST_MS = 12
/** Part of the rate that one more millisecond costs: slots are spaced wider by it, and by half as much for the network. */
const COST_PER_MS = 1.5 / 1000
/** The first calls of a process are slow to leave: code is compiled, connections are opened. */
const WARM_UP_MS = 1500
const WARM_UP_STRETCH = 0.06
/** After this time a sample counts for half as much. */
const HALF_LIFE_MS = 30_000
/** This many slots are assumed to have been on time, so that a single late one changes little. */
const BELIEVED = 20

/**
 * How late slots may be used. A call that leaves late comes closer to the one a second of slots later, so allowed lateness
 * costs a wider spacing, and slots later than allowed are lost. On a busy machine timers are late: the allowance with the
 * lowest total loss in the recent past is chosen. On a quiet one that is the lowest, and the spacing is as given. Times are
 * milliseconds of any one clock.
 */
export class Lateness {
  /** Slots by the step that would have sufficed, the last for those beyond any; older ones count less. */
  readonly #slots: number[] = Array.from({ length: STEPS_MS.length + 1 }, () => 0)
  #notedAt = Number.NEGATIVE_INFINITY
  #firstAt = Number.POSITIVE_INFINITY

  /** Slots later than this are not used. */
  get allowedMs(): number {
    let lost = this.#slots.reduce((sum, slots) => sum + slots, 0)
    const all = lost + BELIEVED
    let best = { loss: Number.POSITIVE_INFINITY, ms: LEAST_MS }
    for (const [i, ms] of STEPS_MS.entries()) {
      lost -= this.#slots[i] ?? 0
      const loss = lost / all + (ms - LEAST_MS) * COST_PER_MS
      if (loss < best.loss) best = { loss, ms }
    }
    return best.ms
  }

  /** Factor by which the slots have to be further apart; larger while the process may still be warming up. */
  stretchAt(now: number): number {
    return 1 + (this.allowedMs - LEAST_MS) * COST_PER_MS + (this.#isWarm(now) ? 0 : WARM_UP_STRETCH)
  }

  /** Notes how late a slot was for a waiting caller, used or not: at high rates many at a time, so it creates no objects. */
  note(lateMs: number, now: number): void {
    this.#firstAt = Math.min(this.#firstAt, now)
    if (!this.#isWarm(now)) return
    const kept = 0.5 ** ((now - this.#notedAt) / HALF_LIFE_MS)
    this.#notedAt = now
    const step = STEPS_MS.findIndex(ms => lateMs <= ms)
    const noted = step === -1 ? STEPS_MS.length : step
    for (let i = 0; i < this.#slots.length; i++)
      this.#slots[i] = (this.#slots[i] ?? 0) * kept + (i === noted ? 1 : 0)
  }

  #isWarm(now: number): boolean {
    return now - this.#firstAt > WARM_UP_MS
  }
}
