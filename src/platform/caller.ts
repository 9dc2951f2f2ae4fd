import { performance } from 'node:perf_hooks'
import type { Logger } from 'pino'
import { Agent } from 'undici'
import type { z } from 'zod'
import { type CallOutcome, CallsPausedError, type Pacer } from '../pacing/pacer.ts'
import { PlatformError, platformError } from './errors.ts'
import {
  ExchangeError,
  type ExchangeLimits,
  exchange,
  type HttpAnswer,
  type HttpRequest,
  readAnswer,
} from './exchange.ts'
import type { Operation } from './operation.ts'
import type { ParameterTexts, RequestBuilder } from './request.ts'

export interface CallOptions {
  /** Gives the call up; it then fails with kind `aborted`. */
  signal?: AbortSignal
  /** Place in the pacer's line: lower goes first. */
  priority?: number
  /** Our time in milliseconds since 1970 after which it is not sent any more; it then fails with kind `aborted`. */
  sendBefore?: number
  /** Told of every exchange that it took. */
  onCall?: (call: CallReport) => void
}

/** One HTTP exchange with the platform, for metrics. */
export interface CallReport {
  operation: string
  durationMs: number
  /** Code of the answer's envelope, or the error's code (`PLATFORM_TIMEOUT`, …). */
  code: number | string
  /** Absent when no answer came. */
  httpStatus?: number
  /** How long it waited for its turn before, in milliseconds. */
  waitedMs: number
  /** Whether the platform refused it because there were too many calls. */
  tooFast: boolean
}

/** Carries out single attempts: paced, signed, sent within a deadline, read, reported. It repeats nothing. */
export class PlatformCaller {
  readonly #agent: Agent
  readonly #builder: RequestBuilder
  readonly #pacer: Pacer
  readonly #clock: () => number
  readonly #clockOffset: ClockOffset
  readonly #tooFastCodes: ReadonlySet<number>
  readonly #limits: ExchangeLimits
  readonly #log: Logger | undefined
  readonly #onCall: ((call: CallReport) => void) | undefined

  constructor(parts: {
    builder: RequestBuilder
    pacer: Pacer
    clock: () => number
    clockOffset: ClockOffset
    tooFastCodes: ReadonlySet<number>
    limits: ExchangeLimits
    maxConnections: number
    log: Logger | undefined
    onCall: ((call: CallReport) => void) | undefined
  }) {
    this.#builder = parts.builder
    this.#pacer = parts.pacer
    this.#clock = parts.clock
    this.#clockOffset = parts.clockOffset
    this.#tooFastCodes = parts.tooFastCodes
    this.#limits = parts.limits
    this.#log = parts.log
    this.#onCall = parts.onCall
    this.#agent = new Agent({
      connections: parts.maxConnections,
      connect: { timeout: parts.limits.timeoutMs },
      // Over HTTP/2 undici itself sends a request again whose stream was refused, a refund as well.
      allowH2: false,
    })
  }

  /**
   * One attempt.
   * @param sending called when its turn has come, before it is sent
   * @throws PlatformError, after telling the pacer if the platform asked to wait
   */
  async attempt<Response extends z.ZodType>(
    operation: Operation<string, z.ZodObject, Response>,
    texts: ParameterTexts,
    token: string | undefined,
    options: CallOptions,
    sending?: () => void,
  ): Promise<z.output<Response>> {
    const { signal, onCall } = options
    const wantedAt = performance.now()
    try {
      await this.#pacer.acquire({ operation: operation.name, ...options })
    } catch (error) {
      if (error instanceof CallsPausedError)
        throw platformError({ kind: 'paused', operation: operation.name, outcomeKnown: true }, error)
      // Whatever kept it from getting its turn, nothing was sent.
      throw abortedError(operation.name, error)
    }
    sending?.()
    const now = this.#clock()
    if (options.sendBefore !== undefined && now > options.sendBefore)
      throw abortedError(operation.name, new Error('it waited too long to be sent'))
    const timestamp = Math.floor((now + this.#clockOffset.appliedMs) / 1000)
    const request = this.#builder.build(operation, texts, timestamp, token)
    const startedAt = performance.now()
    const waitedMs = startedAt - wantedAt
    let status: number | undefined
    try {
      const answer = await this.#exchange(operation.name, request, signal)
      status = answer.status
      const data = readAnswer(operation, answer, this.#clock(), this.#tooFastCodes)
      this.#ended(
        { operation: operation.name, sentAt: startedAt, tooFast: false },
        waitedMs,
        0,
        status,
        onCall,
      )
      return data
    } catch (error) {
      if (!(error instanceof PlatformError)) throw error
      const tooFast = error.retryAfterMs !== undefined
      const exchange = { operation: operation.name, sentAt: startedAt, tooFast }
      this.#ended(exchange, waitedMs, error.platformCode ?? error.code, status, onCall)
      if (error.retryAfterMs !== undefined) {
        this.#log?.warn(
          { operation: operation.name, waitMs: error.retryAfterMs },
          'the platform asked us to wait',
        )
        await this.#pacer.holdOff(
          error.retryAfterMs,
          `${error.platformCode === undefined ? `HTTP ${error.httpStatus}` : `code ${error.platformCode}`} on ${operation.name}`,
        )
      }
      throw error
    }
  }

  async #exchange(
    operation: string,
    request: HttpRequest,
    signal: AbortSignal | undefined,
  ): Promise<HttpAnswer> {
    const sentAt = this.#clock()
    try {
      const answer = await exchange(this.#agent, request, this.#limits, signal)
      this.#clockOffset.observe(answer.headers.date, sentAt, this.#clock())
      return answer
    } catch (error) {
      if (!(error instanceof ExchangeError)) throw error
      throw platformError({ kind: error.kind, operation, outcomeKnown: !error.sent }, error.cause)
    }
  }

  /** Lets exchanges in flight end, then closes the connections. */
  close(): Promise<void> {
    return this.#agent.close()
  }

  /** Tells the pacer and whoever counts of an exchange that has ended. */
  #ended(
    outcome: CallOutcome,
    waitedMs: number,
    code: number | string,
    httpStatus: number | undefined,
    onCall: CallOptions['onCall'],
  ): void {
    const { operation, sentAt, tooFast } = outcome
    const durationMs = performance.now() - sentAt
    this.#pacer.observe(outcome)
    if (this.#onCall === undefined && onCall === undefined) return
    const call: CallReport = { operation, durationMs, waitedMs, tooFast, code }
    if (httpStatus !== undefined) call.httpStatus = httpStatus
    this.#onCall?.(call)
    onCall?.(call)
  }
}

/** A call given up before anything was sent. */
export function abortedError(operation: string, cause: unknown): PlatformError {
  return platformError({ kind: 'aborted', operation, outcomeKnown: true }, cause)
}

/** `Date` headers have whole seconds: the true time lies up to this much later. */
const HEADER_GRAIN_MS = 999

/**
 * How far the platform's clock is ahead of ours, learnt from the `Date` header of its answers.
 * It is measured all the time and applied only once the platform refuses our timestamp (1000210001): a gateway whose
 * `Date` is wrong then does no harm to a machine whose clock is right.
 */
export class ClockOffset {
  #measuredMs: number | null = null
  #appliedMs = 0
  #lastHeader: string | undefined

  /** What is added to our time in `timestamp`, in milliseconds. */
  get appliedMs(): number {
    return this.#appliedMs
  }

  /** The platform's clock minus ours in milliseconds, as far as whole seconds tell; null before the first answer. */
  get measuredMs(): number | null {
    return this.#measuredMs
  }

  /** Learns from one answer. `sentAt` and `receivedAt` are our time in milliseconds. */
  observe(dateHeader: string | undefined, sentAt: number, receivedAt: number): void {
    if (dateHeader === undefined || dateHeader === this.#lastHeader) return
    this.#lastHeader = dateHeader
    const seconds = Date.parse(dateHeader)
    if (Number.isNaN(seconds)) return
    const least = seconds - receivedAt
    const most = seconds + HEADER_GRAIN_MS - sentAt
    this.#measuredMs = Math.min(Math.max(this.#measuredMs ?? 0, least), most)
  }

  /** Applies what was measured. False when nothing was. */
  correct(): boolean {
    if (this.#measuredMs === null) return false
    this.#appliedMs = this.#measuredMs
    return true
  }
}
