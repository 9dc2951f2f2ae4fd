import { performance } from 'node:perf_hooks'
import { Semaphore } from '../lib/waiting.ts'
import { Lateness, type PacingClock, PacingGate } from '../pacing/gate.ts'
import {
  type CallOutcome,
  DEFAULT_PRIORITY,
  type PaceRequest,
  type Pacer,
  PacerClosedError,
  type PacerSnapshot,
  spacingMs,
} from '../pacing/pacer.ts'
import { OPERATION_BUDGETS } from './operations/index.ts'

/** Longest delay that a timer of Node takes. */
const LONGEST_TIMER_MS = 2_147_483_647

/** Slots are granted for so long at a time. */
const SPAN_MS = 1000

const CLOCK: PacingClock = {
  now: () => performance.now(),
  after: (ms, run) => {
    const timer = setTimeout(run, Math.min(Math.ceil(ms), LONGEST_TIMER_MS))
    return () => clearTimeout(timer)
  },
}

/** A pacer for one process alone; where several share a rate, there is one in `src/pacing/` for them. */
export class LocalPacer implements Pacer {
  readonly #lateness = new Lateness()
  readonly #gate = new PacingGate(CLOCK, this.#lateness, () => this.#provide())
  readonly #budgets: Map<string, Budget>
  readonly #set: number
  readonly #spacingMs: number

  /**
   * @param ratePerSecond permitted calls per second
   * @param budgets permitted calls per second of single operations; default: what section 8 says
   */
  constructor(ratePerSecond: number, budgets: ReadonlyMap<string, number> = OPERATION_BUDGETS) {
    this.#set = ratePerSecond
    this.#spacingMs = spacingMs(ratePerSecond)
    this.#budgets = new Map(
      [...budgets].map(([operation, rate]) => [operation, new Budget(rate, this.#gate)]),
    )
  }

  acquire(request: PaceRequest): Promise<void> {
    return (this.#budgets.get(request.operation) ?? this.#gate).acquire(request)
  }

  async pause(ms: number, _reason: string): Promise<void> {
    this.#gate.pauseUntil(performance.now() + ms)
  }

  /** Nothing is learnt: the rate is given. */
  observe(_outcome: CallOutcome): void {}

  snapshot(): PacerSnapshot {
    let waiting = this.#gate.waiting
    for (const budget of this.#budgets.values()) waiting += budget.waiting
    return {
      ratePerSecond: 1000 / (this.#spacingMs * this.#lateness.stretch),
      set: this.#set,
      learnt: false,
      ceiling: null,
      waiting,
      pausedForMs: Math.max(0, this.#gate.pausedUntil - performance.now()),
      concurrency: null,
    }
  }

  /** Grants about a second's slots ahead, so that their spacing follows how late the timers are. */
  #provide(): void {
    const start = Math.max(performance.now(), this.#gate.pausedUntil)
    if (this.#gate.slotsEnd - start > SPAN_MS / 2) return
    const spacing = this.#spacingMs * this.#lateness.stretchAt(performance.now())
    this.#gate.grant(start, spacing, Math.max(2, Math.ceil(SPAN_MS / spacing)))
  }

  async close(): Promise<void> {
    for (const budget of this.#budgets.values()) budget.close()
    this.#gate.close()
  }
}

/** A line before the gate, for an operation that has a budget: one caller goes on to the gate, the next a spacing after it passed. */
class Budget {
  readonly #spacingMs: number
  readonly #gate: PacingGate
  readonly #place = new Semaphore(1)
  readonly #closing = new AbortController()
  #timer: NodeJS.Timeout | null = null
  #waiting = 0

  constructor(ratePerSecond: number, gate: PacingGate) {
    this.#spacingMs = spacingMs(ratePerSecond)
    this.#gate = gate
  }

  get waiting(): number {
    return this.#waiting
  }

  async acquire(request: PaceRequest): Promise<void> {
    const closing = this.#closing.signal
    const signal = request.signal ? AbortSignal.any([request.signal, closing]) : closing
    this.#waiting += 1
    this.#timer?.ref()
    try {
      await this.#place.acquire(request.priority ?? DEFAULT_PRIORITY, signal)
    } finally {
      this.#waiting -= 1
    }
    try {
      await this.#gate.acquire(request)
    } catch (error) {
      this.#place.release()
      throw error
    }
    this.#timer = setTimeout(() => this.#place.release(), Math.ceil(this.#spacingMs))
    // The process need not live for it, unless somebody waits.
    if (this.#waiting === 0) this.#timer.unref()
  }

  close(): void {
    this.#closing.abort(new PacerClosedError())
  }
}
