import { performance } from 'node:perf_hooks'
import { callsInFlight, limitAfter, UNLIMITED } from '../core/concurrency-limit.ts'
import type { CallOutcome } from '../core/pacing.ts'

/** Calls are judged together that ended within so long, or longer until there are enough. */
const WHILE_MS = 500
const LEAST_CALLS = 10

/** How many calls of this process may be in flight, by how long they take. */
export class InFlightLimiter {
  #limit = UNLIMITED
  #since = performance.now()
  #calls = 0
  readonly #ended = new Map<string, { calls: number; totalMs: number }>()

  observe({ operation, durationMs, tooFast, brokeOff }: CallOutcome): void {
    if (tooFast || brokeOff) return
    const now = performance.now()
    // While nothing was called, nothing was too slow either.
    if (this.#calls === 0) this.#since = Math.max(this.#since, now - durationMs)
    const { calls, totalMs } = this.#ended.get(operation) ?? { calls: 0, totalMs: 0 }
    this.#ended.set(operation, { calls: calls + 1, totalMs: totalMs + durationMs })
    this.#calls += 1
    if (this.#calls < LEAST_CALLS || now - this.#since < WHILE_MS) return
    this.#limit = limitAfter(this.#limit, { ms: now - this.#since, byOperation: this.#ended })
    this.#ended.clear()
    this.#calls = 0
    this.#since = now
  }

  /** Null while nothing is known. */
  most(ratePerSecond: number): number | null {
    return callsInFlight(this.#limit, ratePerSecond)
  }
}
