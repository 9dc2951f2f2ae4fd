/** Choices of how late a slot may be used, in milliseconds. */
const STEPS_MS = [12, 16, 20, 25, 30, 40, 50, 60, 80, 100]
const LEAST_MS = 12
/** What is lost for one more millisecond: slots are spaced wider by it, and by half as much for the way, which is as uneven. */
const COST_PER_MS = 1.5 / 1000
/** The first calls of a process are slow to leave: code is compiled, connections are opened. */
const WARM_UP_MS = 1500
const WARM_UP_STRETCH = 0.06
/** After so long, what was noted counts for half. */
const HALF_LIFE_MS = 30_000
/** So many slots in time are believed without having been seen: a single one that is late changes little. */
const BELIEVED = 20

/**
 * How late slots may be used. A call that leaves late comes closer to the one a second of slots later, so what is allowed
 * has to be paid for by a wider spacing, and what is not allowed is lost. On a machine that is busy timers are late: of
 * the two losses together, as the recent past had it, the least is chosen. On a quiet one, it is the least lateness and
 * the spacing is as given. Times are milliseconds of any one clock.
 */
export class Lateness {
  /** Slots by the step that would have sufficed, the last for those beyond any; older ones count less. */
  readonly #slots: number[] = Array.from({ length: STEPS_MS.length + 1 }, () => 0)
  #notedAt = Number.NEGATIVE_INFINITY
  #allowedMs = LEAST_MS
  #firstAt = Number.POSITIVE_INFINITY

  /** Slots later than this are not used. */
  get allowedMs(): number {
    return this.#allowedMs
  }

  /** By this factor slots have to be further apart. */
  get stretch(): number {
    return 1 + (this.#allowedMs - LEAST_MS) * COST_PER_MS
  }

  /** The same while the process may still be warming up. */
  stretchAt(now: number): number {
    return this.stretch + (this.#isWarm(now) ? 0 : WARM_UP_STRETCH)
  }

  /** Notes how late a slot was that somebody waited for, whether it was used or not. */
  note(lateMs: number, now: number): void {
    this.#firstAt = Math.min(this.#firstAt, now)
    if (!this.#isWarm(now)) return
    const kept = 0.5 ** ((now - this.#notedAt) / HALF_LIFE_MS)
    this.#notedAt = now
    const step = STEPS_MS.findIndex(ms => lateMs <= ms)
    for (const [i, slots] of this.#slots.entries()) this.#slots[i] = slots * kept
    const noted = step === -1 ? STEPS_MS.length : step
    this.#slots[noted] = (this.#slots[noted] ?? 0) + 1
    this.#allowedMs = this.#cheapest()
  }

  #isWarm(now: number): boolean {
    return now - this.#firstAt > WARM_UP_MS
  }

  #cheapest(): number {
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
}
