import type { Lateness } from './lateness.ts'
import { DEFAULT_PRIORITY, type PaceRequest, PacerClosedError } from './pacing.ts'
import { SlotSchedule } from './slot-schedule.ts'
import { WaitingLine } from './waiting-line.ts'

/** The clock and timer a gate is given; the core has none of its own. */
export interface PacingClock {
  /** Monotonic milliseconds. */
  now(): number
  /** Runs `run` once after about `ms` milliseconds; returns how to cancel it. */
  after(ms: number, run: () => void): () => void
}

/**
 * A timer comes up to a millisecond or two late and spacing below that cannot be waited for:
 * a caller who meets no line may use slots that became due within this many milliseconds.
 */
const GRAIN_MS = 2

/** Slots that are later than this say nothing of the timers: the process was stopped, or the computer asleep. */
const STOPPED_MS = 1000

interface Waiter {
  leave(): void
  fail(error: unknown): void
}

/**
 * Lets callers pass at the slots it was granted. It decides when, not how many:
 * whoever owns it grants the slots and is told, through `wanting`, whenever a caller came or left.
 *
 * When a timer was late, the slots that became due meanwhile are used together if they are not too late (`Lateness`):
 * one at a time would lose the others, since the next timer will be late too. So calls come together by at most what
 * the allowed lateness holds, a tenth of a second; the slots after them stay where they are.
 */
export class PacingGate {
  readonly #clock: PacingClock
  readonly #wanting: () => void
  readonly #lateness: Lateness
  readonly #slots = new SlotSchedule()
  readonly #line = new WaitingLine<Waiter>()
  #pausedUntil = Number.NEGATIVE_INFINITY
  #cancelTimer: (() => void) | null = null
  #timerAt = Number.POSITIVE_INFINITY
  #closed = false

  /** @param lateness what the owner spaces the slots by; all gates of a process may share one */
  constructor(clock: PacingClock, lateness: Lateness, wanting: () => void) {
    this.#clock = clock
    this.#lateness = lateness
    this.#wanting = wanting
  }

  /** Callers in line. */
  get waiting(): number {
    return this.#line.size
  }

  /** Nobody passes before; `-Infinity` when there was no pause yet. */
  get pausedUntil(): number {
    return this.#pausedUntil
  }

  /** Unused slots. */
  get slotsLeft(): number {
    return this.#slots.left
  }

  /** When the slots end. */
  get slotsEnd(): number {
    return this.#slots.end
  }

  /** Resolves when the caller may make one call; see `Pacer.acquire`. */
  acquire(request: PaceRequest): Promise<void> {
    if (this.#closed) return Promise.reject(new PacerClosedError())
    const { signal } = request
    if (signal?.aborted) return Promise.reject(signal.reason)
    const now = this.#clock.now()
    if (this.#line.size === 0 && now >= this.#pausedUntil) {
      this.#slots.expireBefore(now - GRAIN_MS)
      if (this.#slots.take(now) !== null) {
        this.#wanting()
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
        reject(signal?.reason)
      }
      signal?.addEventListener('abort', giveUp, { once: true })
      this.#line.add(waiter, request.priority ?? DEFAULT_PRIORITY)
      this.#wanting()
      this.#arm(now)
    })
  }

  /** Adds evenly spaced slots that may be used from `start` on. */
  grant(start: number, spacingMs: number, count: number): void {
    this.#slots.add(start, spacingMs, count)
    this.#slots.expireBefore(this.#pausedUntil)
    this.#release()
  }

  /** Takes back every unused slot. */
  revoke(): void {
    this.#slots.clear()
  }

  /** Lets nobody pass before `time`; slots before it expire. Never shortens a pause. */
  pauseUntil(time: number): void {
    if (time <= this.#pausedUntil) return
    this.#pausedUntil = time
    this.#slots.expireBefore(time)
    if (this.#line.size > 0) this.#wanting()
  }

  /** Turns everybody away, now and later. */
  close(): void {
    this.#closed = true
    this.#cancelTimer?.()
    this.#cancelTimer = null
    for (let waiter = this.#line.shift(); waiter !== undefined; waiter = this.#line.shift()) {
      waiter.fail(new PacerClosedError())
    }
  }

  #release(): void {
    const now = this.#clock.now()
    if (now >= this.#pausedUntil && this.#line.size > 0) {
      // As it was when these slots were spaced.
      const { allowedMs } = this.#lateness
      this.#slots.expireBefore(now - STOPPED_MS)
      while (this.#line.size > 0) {
        const slot = this.#slots.take(now)
        if (slot === null) break
        this.#lateness.note(now - slot, now)
        if (now - slot <= allowedMs) this.#line.shift()?.leave()
      }
    }
    if (this.#line.size > 0) {
      this.#wanting()
      this.#arm(now)
    }
  }

  /** Wakes up for the next slot. A timer that fires too early, because its slot expired, does no harm. */
  #arm(now: number): void {
    const wakeAt = this.#slots.nextAt
    if (wakeAt === Number.POSITIVE_INFINITY || (this.#cancelTimer !== null && this.#timerAt <= wakeAt)) return
    this.#cancelTimer?.()
    this.#timerAt = wakeAt
    this.#cancelTimer = this.#clock.after(Math.max(0, wakeAt - now), () => {
      this.#cancelTimer = null
      this.#release()
    })
  }
}

const PASSED = Promise.resolve()
