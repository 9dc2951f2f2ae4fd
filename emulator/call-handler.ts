import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { authenticate, checkToken, readBusinessParameters } from './authentication.ts'
import { type CallEnd, type CallLog, loggedParameters, type Stats } from './call-log.ts'
import { BusinessError, HttpError } from './errors.ts'
import type { FaultRule, Faults } from './faults.ts'
import type { Operation, Outcome } from './operation.ts'
import { type RequestParameters, readParameters } from './parameters.ts'
import type { Platform } from './platform.ts'

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
 * The one way into every operation. A call passes, in this order: decoding (400, 415 or 1000220002), the faults in
 * force, authentication (1000210003, 1000210001), the limits on token calls (429), the token
 * (1000210004), the parameters (1000220002), and the operation itself. Every call is counted and logged.
 *
 * A caller who leaves during a planted latency does not stop the effect: that is what a time-out looks like.
 */
export class CallHandler {
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
  async handle(call: IncomingCall): Promise<Reply> {
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
    if (verdict.refusal !== undefined) return overLimit(verdict.refusal.rule, verdict.refusal.retryAfterMs)
    if (verdict.latencyMs > 0) await delay(verdict.latencyMs, undefined, { signal: closing })
    if (verdict.held !== undefined) {
      await Promise.race([verdict.held, once(closing, 'abort')])
      closing.throwIfAborted()
    }
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

/** What a caller gets: an answer, or the loss of the connection. */
type Reply =
  | { kind: 'answer'; status: number; contentType: string; body: string; headers: Record<string, string> }
  | { kind: 'reset' | 'lost' }

/** What a call came to, for the caller and for the log. */
interface Result {
  reply: Reply
  code: number | null
  httpStatus: number | null
  end: CallEnd
  effect?: object | undefined
}

const PLAIN = 'text/plain; charset=utf-8'
export const JSON_TYPE = 'application/json; charset=utf-8'

/** A successful answer, in the envelope (section 2.1) unless it goes without. */
function succeeded({ data, effect, bare }: Outcome): Result {
  const body = JSON.stringify(bare ? data : { code: 0, msg: 'OK', data })
  return { ...answered(200, JSON_TYPE, body, {}), code: 0, effect }
}

/** The answer to a refused call. Any other error is a defect of the emulator, and is thrown on. */
function refused(error: unknown): Result {
  if (error instanceof BusinessError) return failed(200, error.code, error.message, {})
  if (error instanceof HttpError) return answered(error.status, PLAIN, error.message, error.headers)
  throw error
}

/** The answer that a fault rule asks for. */
function planted(rule: FaultRule): Result {
  if (rule.reset) return { reply: { kind: 'reset' }, code: null, httpStatus: null, end: 'reset' }
  const headers = retryAfter(rule.retryAfter)
  const message = rule.message ?? 'planted failure'
  if (rule.body !== undefined) return answered(rule.httpStatus ?? 200, PLAIN, rule.body, headers)
  if (rule.code !== undefined) return failed(rule.httpStatus ?? 200, rule.code, message, headers)
  const status = rule.httpStatus ?? (rule.retryAfter === undefined ? 500 : 429)
  return answered(status, PLAIN, message, headers)
}

const TOO_MANY_CALLS = { httpStatus: 429, message: 'Too many calls.' }

/** The answer to a call over the limit of a fault rule, as the rule shapes it. */
function overLimit({ reset, ...rule }: FaultRule, waitMs: number | undefined): Result {
  const { httpStatus, message } = TOO_MANY_CALLS
  const isPlain = rule.code === undefined && rule.body === undefined
  const shape = {
    message,
    ...(isPlain && { httpStatus }),
    ...(waitMs !== undefined && { retryAfter: wholeSeconds(waitMs) }),
  }
  return { ...planted({ ...shape, ...rule }), end: 'rate-limited' }
}

/** A refusal for too many calls, which says when the next one may pass. */
function tooManyCalls(waitMs: number): HttpError {
  const { httpStatus, message } = TOO_MANY_CALLS
  return new HttpError(httpStatus, message, retryAfter(wholeSeconds(waitMs)))
}

function wholeSeconds(ms: number): number {
  return Math.ceil(ms / 1000)
}

function retryAfter(seconds: number | undefined): Record<string, string> {
  return seconds === undefined ? {} : { 'retry-after': String(seconds) }
}

function failed(status: number, code: number, msg: string, headers: Record<string, string>): Result {
  return { ...answered(status, JSON_TYPE, JSON.stringify({ code, msg, data: null }), headers), code }
}

function answered(
  status: number,
  contentType: string,
  body: string,
  headers: Record<string, string>,
): Result {
  return {
    reply: { kind: 'answer', status, contentType, body, headers },
    code: null,
    httpStatus: status,
    end: status === 429 ? 'rate-limited' : 'answered',
  }
}
