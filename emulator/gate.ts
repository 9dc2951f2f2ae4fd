import { setTimeout as delay } from 'node:timers/promises'
import { authenticate, checkToken, readBusinessParameters } from './authentication.ts'
import { type CallLog, loggedParameters } from './call-log.ts'
import type { Faults } from './faults.ts'
import type { Operation } from './operation.ts'
import { type RequestParameters, readParameters } from './parameters.ts'
import type { Platform } from './platform.ts'
import { planted, type Reply, type Result, refused, succeeded, tooManyCalls } from './reply.ts'
import type { Stats } from './stats.ts'

/** A call as the HTTP server hands it over. */
interface IncomingCall {
  operation: Operation
  queryText: string
  contentType: string | undefined
  body: Buffer
  traceId: string
  /** Aborted when the emulator closes. */
  closing: AbortSignal
  /** Whether the caller still waits for the answer. */
  isWaiting(): boolean
  /** Has `callback` called when the caller stops waiting. */
  onGone(callback: () => void): void
}

/**
 * The one way into every operation. A call passes, in this order: decoding (400, 415 or 1000220002), the
 * faults in force, authentication (1000210003, 1000210001), the limits on token calls (429), the token
 * (1000210004), the parameters (1000220002), and the operation itself. Every call is counted and logged.
 *
 * A caller who leaves during a planted latency does not stop the effect: that is what a time-out looks like.
 */
export class Gate {
  readonly #platform: Platform
  readonly #faults: Faults
  readonly #log: CallLog
  readonly #stats: Stats

  constructor(platform: Platform, faults: Faults, log: CallLog, stats: Stats) {
    this.#platform = platform
    this.#faults = faults
    this.#log = log
    this.#stats = stats
  }

  /** Answers one call; rejects when the emulator closes meanwhile. */
  async pass(call: IncomingCall): Promise<Reply> {
    const at = this.#platform.clock.now()
    const start = performance.now()
    const parameters = decode(call, this.#platform.strict)
    const given = 'given' in parameters ? parameters.given : new Map<string, unknown>()
    const end = this.#stats.begin(employeeKey(given))
    call.onGone(end)
    try {
      const result = 'given' in parameters ? await this.#answer(call, parameters) : parameters
      const abandoned = result.end === 'answered' && !call.isWaiting()
      const record = {
        at: new Date(at).toISOString(),
        operation: call.operation.name,
        params: loggedParameters(given),
        httpStatus: result.httpStatus,
        code: result.code,
        end: abandoned ? ('abandoned' as const) : result.end,
        ...retryAfterOf(result.reply),
        traceId: call.traceId,
        durationMs: Math.round((performance.now() - start) * 1000) / 1000,
        ...(result.effect && { effect: result.effect }),
      }
      this.#log.add(record)
      this.#stats.count(record)
      return result.reply
    } finally {
      // Before the answer is written: the caller's next call must not find this one still open.
      end()
    }
  }

  async #answer(call: IncomingCall, parameters: RequestParameters): Promise<Result> {
    const { operation, closing } = call
    const verdict = this.#faults.judge(operation.name, parameters.given, this.#platform.clock.now())
    if (verdict.refusal !== undefined) return refused(tooManyCalls(verdict.refusal.retryAfterMs))
    if (verdict.latencyMs > 0) await delay(verdict.latencyMs, undefined, { signal: closing })
    if (verdict.failure === undefined) return this.#perform(operation, parameters)
    if (!verdict.failure.loseAnswer) return planted(verdict.failure)
    return { ...this.#perform(operation, parameters), reply: { kind: 'lost' }, end: 'answer-lost' }
  }

  #perform(operation: Operation, parameters: RequestParameters): Result {
    try {
      authenticate(this.#platform, parameters)
      if (operation.limit !== undefined) {
        const wait = this.#platform.limits[operation.limit].take(this.#platform.clock.now())
        if (wait > 0) throw tooManyCalls(wait)
      }
      const caller = checkToken(this.#platform, operation, parameters)
      const business = readBusinessParameters(operation, parameters, this.#platform.strict)
      return succeeded(operation.perform(this.#platform, business, caller))
    } catch (error) {
      return refused(error)
    }
  }
}

function decode(call: IncomingCall, strict: boolean): RequestParameters | Result {
  try {
    return readParameters(call.operation.encoding, call, strict)
  } catch (error) {
    return refused(error)
  }
}

function retryAfterOf(reply: Reply): { retryAfter?: number } {
  const advice = reply.kind === 'answer' ? reply.headers['retry-after'] : undefined
  return advice === undefined ? {} : { retryAfter: Number(advice) }
}

/** The employee a call names; calls by mobile or e-mail name none. */
function employeeKey(given: ReadonlyMap<string, unknown>): string | undefined {
  const userid = given.get('userid')
  return userid === undefined ? undefined : JSON.stringify([given.get('enterprise_code') ?? '', userid])
}
