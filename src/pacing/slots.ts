import { performance } from 'node:perf_hooks'
import type { LearntRate } from './learning.ts'

/**
 * The moments at which calls may leave, one each, handed out to whoever asks: a slot is never in the past, never within a
 * hold-off, and never given twice. All processes of a deployment share them in PostgreSQL (`postgres-slots.ts`); a process
 * alone keeps them in memory. Times are milliseconds on the clock of whoever keeps them.
 */
export interface Slots {
  /** Reserves the next free slots, in one step whoever else asks. */
  lease(request: LeaseRequest): Promise<Lease>
  /** Reserves nothing within `ms` milliseconds from now. Never shortens an earlier hold-off. */
  holdOff(ms: number, reason: string): Promise<void>
  /** Replaces what was learnt under a name; false when somebody else was faster, that is when the version is another one. */
  learn(name: string, expectedVersion: number, learnt: LearntRate): Promise<boolean>
  /** Sets who is told when any process begins a hold-off. One that went unheard comes with the next lease. Call it once. */
  watch(onHoldOff: (ms: number) => void): void
}

export interface WantedSlots {
  /** Slots to reserve; 0 only asks how things stand. */
  count: number
  /** Distance between two slots in milliseconds, longer where a lower rate was learnt; null: by the learnt rate. */
  spacingMs: number | null
  /** An operation that must have a slot of its own at the same moment; `count` is then 1. */
  budget?: Budget
}

export interface LeaseRequest extends WantedSlots {
  /** Name under which the rate is learnt. */
  learntAs: string
}

/** An operation that has a limit of its own, and the distance between two of its calls. */
export interface Budget {
  operation: string
  spacingMs: number
}

/** A rate in calls per second that a person has set until a time (`dirsync.lower_rate`). */
export interface RateCap {
  ratePerSecond: number
  untilMs: number
}

/** Slots that were reserved, evenly spaced from `startMs` on, and how things stand. */
export interface Lease {
  /** The first slot; where the budget had none, the moment from which it has one. */
  startMs: number
  /** Slots that were reserved: as many as were asked for, or none; fewer while a person has lowered the rate. */
  count: number
  nowMs: number
  heldUntilMs: number | null
  /** Whether another process reserved before this one. */
  shared: boolean
  /** Distance of the slots; 0 when it was to be learnt and nothing is known yet: then none are reserved. */
  spacingMs: number
  /** What their distance is while no person has lowered the rate. */
  ownSpacingMs: number
  /** A rate that a person has set for a time; it may be above the others, and then changes nothing. */
  cap: RateCap | null
  /** Slots ever reserved, these included. */
  leased: number
  learnt: LearntRate | null
  /** Version of what was learnt; 0 when nothing was. */
  version: number
}

/** A budget's slot that is further away than this is not reserved yet, so that others may go first. */
const BUDGET_AHEAD_MS = 10

/** Slots of a process alone. */
export class MemorySlots implements Slots {
  #nextMs = 0
  #leased = 0
  #heldUntilMs: number | null = null
  /** When each operation with a budget has its next slot. */
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
    const standing = {
      nowMs,
      heldUntilMs: this.#heldUntilMs,
      shared: false,
      leased: this.#leased,
      learnt,
      version,
    }
    // Nobody lowers the rate of a process alone.
    return { ...standing, startMs, count: given, spacingMs: spacing, ownSpacingMs: spacing, cap: null }
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

  /** Nobody else holds this process off. */
  watch(): void {}
}
