import { performance } from 'node:perf_hooks'
import {
  type CallOutcome,
  type PaceRequest,
  type Pacer,
  type PacerSnapshot,
  spacingMs,
} from '../core/pacing.ts'
import { PacingGate } from '../core/pacing-gate.ts'

/** Longest delay that a timer of Node takes. */
const LONGEST_TIMER_MS = 2_147_483_647

/** A pacer for one process alone; where several share a rate, the store has one for them. */
export class LocalPacer implements Pacer {
  readonly #gate: PacingGate
  readonly #ratePerSecond: number

  /** @param ratePerSecond permitted calls per second */
  constructor(ratePerSecond: number) {
    this.#ratePerSecond = ratePerSecond
    this.#gate = new PacingGate(
      {
        now: () => performance.now(),
        after: (ms, run) => {
          const timer = setTimeout(run, Math.min(Math.ceil(ms), LONGEST_TIMER_MS))
          return () => clearTimeout(timer)
        },
      },
      () => undefined, // it never runs out of slots
    )
    this.#gate.grant(performance.now(), spacingMs(ratePerSecond), Number.POSITIVE_INFINITY)
  }

  acquire(request: PaceRequest): Promise<void> {
    return this.#gate.acquire(request)
  }

  async pause(ms: number, _reason: string): Promise<void> {
    this.#gate.pauseUntil(performance.now() + ms)
  }

  /** Nothing is learnt: the rate is given. */
  observe(_outcome: CallOutcome): void {}

  snapshot(): PacerSnapshot {
    return {
      ratePerSecond: this.#ratePerSecond,
      learnt: false,
      ceiling: null,
      waiting: this.#gate.waiting,
      pausedForMs: Math.max(0, this.#gate.pausedUntil - performance.now()),
      concurrency: null,
    }
  }

  async close(): Promise<void> {
    this.#gate.close()
  }
}
