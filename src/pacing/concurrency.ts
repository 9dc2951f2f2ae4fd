import { performance } from 'node:perf_hooks'
import type { CallOutcome } from './pacer.ts'

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

/** Calls that ended within a while: of each operation how many, and how long they took together. */
interface EndedCalls {
  /** How long the while was, in milliseconds. */
  ms: number
  byOperation: ReadonlyMap<string, { calls: number; totalMs: number }>
}

/** How many calls may be in flight, and what that is judged by. */
interface ConcurrencyLimit {
  /** `Infinity`: nothing limits them but the rate. */
  slowdownLimit: number
  /** Milliseconds that a call of an operation takes at best. */
  floorMs: ReadonlyMap<string, number>
  /** Milliseconds that calls took lately, of whatever operation; null before the first. */
  latencyMs: number | null
  callsPerSecond: number
}

export const UNLIMITED: ConcurrencyLimit = {
  slowdownLimit: Number.POSITIVE_INFINITY,
  floorMs: new Map(),
  latencyMs: null,
  callsPerSecond: 0,
}

/** Slower than this many times its best, a platform has too much in hand … */
const TOLERANCE = 2
/** … but an answer within so many milliseconds, times the tolerance, is never slow. */
const QUICK_MS = 100
/** More throughput by this factor is worth more latency. */
const MORE_THROUGHPUT = 1.1
/** The best is forgotten by this factor each while, so that a platform may become slower for good. */
const FORGETTING = 1.01
/** Room for calls that take longer than others: so many times what rate and latency need … */
const HEADROOM = 3
/** … and so many more. */
const SPARE = 8
/** A slowdown's limit above this is none. */
const MOST = 1000

/** The limit after a while in which some calls ended. */
export function limitAfter(limit: ConcurrencyLimit, ended: EndedCalls): ConcurrencyLimit {
  const floorMs = new Map(limit.floorMs)
  let calls = 0
  let totalMs = 0
  let bestMs = 0
  for (const [operation, { calls: of, totalMs: took }] of ended.byOperation) {
    const floor = Math.min(took / of, (floorMs.get(operation) ?? Number.POSITIVE_INFINITY) * FORGETTING)
    floorMs.set(operation, floor)
    calls += of
    totalMs += took
    bestMs += of * Math.max(floor, QUICK_MS)
  }
  if (calls === 0) return limit
  const callsPerSecond = (calls * 1000) / ended.ms
  const slowness = totalMs / bestMs / TOLERANCE
  const isWorthIt = callsPerSecond > limit.callsPerSecond * MORE_THROUGHPUT
  let { slowdownLimit } = limit
  if (slowness <= 1) slowdownLimit = raised(slowdownLimit)
  else if (!isWorthIt) {
    const inFlight = totalMs / ended.ms
    slowdownLimit = Math.max(1, Math.min(slowdownLimit, inFlight) * Math.max(0.5, 1 / slowness))
  }
  return { slowdownLimit, floorMs, latencyMs: totalMs / calls, callsPerSecond }
}

/**
 * Calls that may be in flight: what the rate needs at the present latency (Little's law), with headroom, unless the
 * platform has slowed down. At least 1; null while nothing is known.
 */
export function callsInFlight(limit: ConcurrencyLimit, ratePerSecond: number): number | null {
  if (limit.latencyMs === null) return null
  const needed = (HEADROOM * ratePerSecond * limit.latencyMs) / 1000 + SPARE
  return Math.max(1, Math.floor(Math.min(limit.slowdownLimit, needed)))
}

function raised(slowdownLimit: number): number {
  const higher = slowdownLimit * 1.1 + 1
  return higher > MOST ? Number.POSITIVE_INFINITY : higher
}
