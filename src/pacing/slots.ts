import { performance } from 'node:perf_hooks'

/**
 * The times at which calls may leave, one each: a slot is never in the past, never within a hold-off, and never given twice.
 * All processes of a deployment share them in PostgreSQL (`postgres-slots.ts`); a process alone keeps them in memory. Times are
 * milliseconds on the clock of the slots' keeper.
 */
export interface Slots {
  /** Reserves the next free slots atomically. */
  lease(request: LeaseRequest): Promise<Lease>
  /** Reserves nothing within `ms` milliseconds from now. Never shortens an earlier hold-off. */
  holdOff(ms: number, reason: string): Promise<void>
  /** Replaces the record learnt under a name; false when another process was faster, that is when the version differs. */
  learn(name: string, expectedVersion: number, learnt: LearntRate): Promise<boolean>
  /** Sets the callback for hold-offs that any process begins. A missed one comes with the next lease. Call it once. */
  watch(onHoldOff: (ms: number) => void): void
}

export interface WantedSlots {
  /** Slots to reserve; 0 only reads the state. */
  count: number
  /** Distance between two slots in milliseconds, longer where a lower rate was learnt; null: by the learnt rate. */
  spacingMs: number | null
  /** An operation that needs a slot of its own at the same time; `count` is then 1. */
  budget?: Budget
}

export interface LeaseRequest extends WantedSlots {
  /** Name under which the rate is learnt. */
  learntAs: string
}

/** An operation with a limit of its own, and the distance between two of its calls. */
export interface Budget {
  operation: string
  spacingMs: number
}

/** A rate in calls per second that a person has set until a time (`dirsync.lower_rate`). */
export interface RateCap {
  ratePerSecond: number
  untilMs: number
}

/** What was learnt about a limit that was not set, or set too high. Times are on the slots' clock. */
export interface LearntRate {
  /** Calls per second of all processes together, headroom included. */
  ratePerSecond: number
  /** The rate at which calls were last refused; null while searching, or where the rate is as it was set. */
  ceiling: number | null
  /**
   * From when on calls leave at a rate that was lowered, null if it never was: a moment ahead, where slots had been reserved.
   * Refusals of calls sent before are not counted again.
   */
  loweredAtMs: number | null
  /** When it was last changed. */
  changedAtMs: number
  /** Slots reserved in total at that time. */
  leasedAtChange: number
}

/** Reserved slots, evenly spaced from `startMs` on, and the state of the pacing. */
export interface Lease {
  /** The first slot; where the budget had none, the time from which it has one. */
  startMs: number
  /** Slots reserved: as many as requested, or none; fewer while a person has lowered the rate. */
  count: number
  nowMs: number
  heldUntilMs: number | null
  /** Whether another process reserved before this one. */
  shared: boolean
  /** Distance of the slots; 0 when it is to be learnt and nothing is known yet: then none are reserved. */
  spacingMs: number
  /** Their distance without a rate that a person has lowered. */
  ownSpacingMs: number
  /** A rate that a person has set for a time; above the other rates it changes nothing. */
  cap: RateCap | null
  /** Slots reserved in total, these included. */
  leased: number
  learnt: LearntRate | null
  /** Version of the learnt record; 0 without one. */
  version: number
}

/** A budget's slot further away than this is not reserved yet, so that other calls may go first. */
const BUDGET_AHEAD_MS = 10

/** Slots of a process alone. */
export class MemorySlots implements Slots {
  #nextMs = 0
  #leased = 0
  #heldUntilMs: number | null = null
  /** The next slot of each operation with a budget. */
  readonly #budgets = new Map<string, number>()
  readonly #rates = new Map<string, { version: number; learnt: LearntRate }>()

  async lease({ count, spacingMs, learntAs, budget }: LeaseRequest): Promise<Lease> {
    const nowMs = performance.now()
    const { learnt = null, version = 0 } = this.#rates.get(learntAs) ?? {}
    const spacing = Math.max(spacingMs ?? 0, learnt === null ? 0 : 1000 / learnt.ratePerSecond)
    const freeMs = Math.max(nowMs, this.#nextMs, this.#heldUntilMs ?? 0)
    const budgetMs = (budget && this.#budgets.get(budget.operation)) ?? 0
    const given = spacing === 0 || budgetMs > freeMs + BUDGET_AHEAD_MS ? 0 : count
    const startMs = Math.max(freeMs, budgetMs)
    if (given > 0) {
      this.#nextMs = startMs + given * spacing
      this.#leased += given
      if (budget) this.#budgets.set(budget.operation, startMs + budget.spacingMs)
    }
    const common = {
      nowMs,
      heldUntilMs: this.#heldUntilMs,
      shared: false,
      leased: this.#leased,
      learnt,
      version,
    }
    // The rate of a process alone cannot be lowered by a person.
    return { ...common, startMs, count: given, spacingMs: spacing, ownSpacingMs: spacing, cap: null }
  }

  async holdOff(ms: number): Promise<void> {
    this.#heldUntilMs = Math.max(this.#heldUntilMs ?? 0, performance.now() + ms)
  }

  async learn(name: string, expectedVersion: number, learnt: LearntRate): Promise<boolean> {
    const version = this.#rates.get(name)?.version ?? 0
    if (version !== expectedVersion) return false
    this.#rates.set(name, { version: version + 1, learnt })
    return true
  }

  /** A process alone has no other one to hear hold-offs from. */
  watch(): void {}
}
