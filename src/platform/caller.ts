import { performance } from 'node:perf_hooks'
import type { Logger } from 'pino'
import { Agent } from 'undici'
import type { z } from 'zod'
import { CallsPausedError, type Pacer } from '../pacing/pacer.ts'
import { SlotPacer } from '../pacing/slot-pacer.ts'
import { MemorySlots } from '../pacing/slots.ts'
import { abortedError, PlatformError } from './errors.ts'
import {
  ExchangeError,
  type ExchangeLimits,
  exchange,
  type HttpAnswer,
  type HttpRequest,
  malformed,
  readAnswer,
  traceIdOf,
} from './exchange.ts'
import type { Operation } from './operation.ts'
import { OPERATION_BUDGETS } from './operations/index.ts'
import { tokenCreate } from './operations/token.ts'
import type { ParameterTexts, RequestBuilder } from './request.ts'

export interface CallOptions {
  /** Aborts the call, which then fails with kind `aborted`. */
  signal?: AbortSignal
  /** Place in the pacer's line: lower goes first. */
  priority?: number
  /** Our time in milliseconds since 1970 after which it is no longer sent; it then fails with kind `aborted`. */
  sendBefore?: number
  /**
   * Asked once its turn has come, and again where a second turn comes late. If not, it is not sent, and fails with kind `aborted`; what
   * this throws, the call throws.
   */
  isStillWanted?: () => Promise<boolean>
  /** Called after each HTTP exchange. What it throws is logged, and changes nothing. */
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
  /** The platform's own id of the call, which its support asks for; absent where it gave none. */
  traceId?: string
  /** How long it waited for its turn before it was sent, in milliseconds. */
  waitedMs: number
  /** Whether the platform refused it because of too many calls. */
  rateLimited: boolean
}

interface CallerParts {
  builder: RequestBuilder
  pacer: Pacer
  clock: () => number
  clockOffset: ClockOffset
  rateLimitedCodes: ReadonlySet<number>
  limits: ExchangeLimits
  maxConnections: number
  log: Logger | undefined
  onCall: ((call: CallReport) => void) | undefined
}

/** For how long a turn is good. */
const TURN_MS = 50
/** For how long the answer is good whether a call is still wanted. */
const ANSWER_MS = 5000
/** Place in the pacer's line of a call that has had its turn before. */
const AHEAD = 0

/** Makes single attempts: paced, signed, sent within a deadline, read, reported. It never retries. */
export class PlatformCaller {
  readonly #parts: CallerParts
  readonly #agent: Agent
  readonly #closing = new AbortController()

  constructor(parts: CallerParts) {
    this.#parts = parts
    this.#agent = new Agent({
      connections: parts.maxConnections,
      connect: { timeout: parts.limits.timeoutMs },
      // Over HTTP/2 undici itself repeats a request whose stream was refused, even a refund.
      allowH2: false,
    })
  }

  /**
   * One attempt.
   * @throws PlatformError, after telling the pacer if the platform asked to wait, except for a new token
   */
  async attempt<Response extends z.ZodType>(
    operation: Operation<string, z.ZodObject, Response>,
    texts: ParameterTexts,
    token: string | undefined,
    options: CallOptions,
  ): Promise<z.output<Response>> {
    const { builder, clock, clockOffset, rateLimitedCodes } = this.#parts
    const wantedAt = performance.now()
    await this.#wantedTurn(operation.name, options)
    const { aborted: isClosed, reason } = this.#closing.signal
    if (isClosed) throw abortedError(operation.name, reason)
    const timestamp = Math.floor((clock() + clockOffset.appliedMs) / 1000)
    const request = builder.build(operation, texts, timestamp, token)
    const sentAt = performance.now()
    const exchange: Exchange = { operation: operation.name, sentAt, waitedMs: sentAt - wantedAt }
    try {
      const answer = await this.#exchange(operation.name, request, options.signal)
      exchange.answer = answer
      const data = readAnswer(operation, texts, answer, clock(), rateLimitedCodes)
      if (operation.isAbout?.(texts, data) === false) throw malformed(operation.name, answer)
      this.#ended(exchange, null, options.onCall)
      return data
    } catch (error) {
      if (!(error instanceof PlatformError)) throw error
      this.#ended(exchange, error, options.onCall)
      // Without a new token the present one may still live, and calls with it are welcome.
      if (operation.token) await this.holdOff(error)
      throw error
    }
  }

  /** Gives up calls that wait for their turn, lets exchanges in flight end, then closes the connections. */
  close(): Promise<void> {
    this.#closing.abort(new Error('the client is closed'))
    return this.#agent.close()
  }

  /**
   * Waits for the pacer, and asks whether the call is still wanted. A turn that passed meanwhile is taken again, and if that comes late,
   * it is asked again. Each answer is good for twice as long as the one before: this ends at any rate.
   */
  async #wantedTurn(operation: string, options: CallOptions): Promise<void> {
    await this.#turn(operation, options)
    if (!options.isStillWanted) return
    for (let goodForMs = ANSWER_MS; ; goodForMs *= 2) {
      const askedAt = performance.now()
      if (!(await options.isStillWanted()))
        throw abortedError(operation, new Error('it is not wanted any more'))
      const answeredAt = performance.now()
      if (answeredAt - askedAt <= TURN_MS) return
      await this.#turn(operation, { ...options, priority: AHEAD })
      if (performance.now() - answeredAt <= goodForMs) return
    }
  }

  /** Waits for the pacer, unless that takes too long. */
  async #turn(operation: string, options: CallOptions): Promise<void> {
    const closing = this.#closing.signal
    const signal = options.signal ? AbortSignal.any([options.signal, closing]) : closing
    try {
      await this.#parts.pacer.acquire({ operation, ...options, signal })
    } catch (error) {
      // Whatever the reason that its turn did not come, nothing was sent.
      if (!(error instanceof CallsPausedError)) throw abortedError(operation, error)
      throw new PlatformError({ kind: 'paused', operation, outcomeKnown: true }, error)
    }
    const { sendBefore } = options
    if (sendBefore !== undefined && this.#parts.clock() > sendBefore)
      throw abortedError(operation, new Error('it waited too long to be sent'))
  }

  async #exchange(
    operation: string,
    request: HttpRequest,
    signal: AbortSignal | undefined,
  ): Promise<HttpAnswer> {
    const { clock, clockOffset, limits } = this.#parts
    const sentAt = clock()
    try {
      const answer = await exchange(this.#agent, request, limits, signal)
      clockOffset.observe(answer.headers.date, sentAt, clock())
      return answer
    } catch (error) {
      if (!(error instanceof ExchangeError)) throw error
      throw new PlatformError({ kind: error.kind, operation, outcomeKnown: !error.sent }, error.cause)
    }
  }

  /** Reports a finished exchange to the pacer and to `onCall`. */
  #ended(exchange: Exchange, error: PlatformError | null, onCall: CallOptions['onCall']): void {
    const { operation, sentAt, waitedMs, answer } = exchange
    const durationMs = performance.now() - sentAt
    const asksToWait = error?.retryAfterMs !== undefined
    // A platform that is unavailable (503) is so however few calls there are. The pacer is careful all the same.
    const rateLimited = asksToWait && answer?.status !== 503
    // Creating and querying tokens have limits of their own (section 8), which say nothing about the rate of calls.
    const hasOwnLimit = operation === tokenCreate.name || OPERATION_BUDGETS.has(operation)
    const outcome = { operation, sentAt, rateLimited: asksToWait && !hasOwnLimit }
    void this.#tell(operation, () => this.#parts.pacer.observe(outcome))
    if (this.#parts.onCall === undefined && onCall === undefined) return
    const code = error === null ? 0 : (error.platformCode ?? error.code)
    const call: CallReport = { operation, durationMs, waitedMs, rateLimited, code }
    if (answer !== undefined) {
      call.httpStatus = answer.status
      const traceId = traceIdOf(answer)
      if (traceId !== undefined) call.traceId = traceId
    }
    for (const listener of [this.#parts.onCall, onCall]) void this.#tell(operation, () => listener?.(call))
  }

  /** Tells the pacer if the platform asked to wait. */
  async holdOff({ operation, platformCode, httpStatus, retryAfterMs: waitMs }: PlatformError): Promise<void> {
    if (waitMs === undefined) return
    this.#parts.log?.warn({ operation, waitMs }, 'the platform asked to wait')
    // Shown in every language, so that it has no words.
    const answer = platformCode === undefined ? `HTTP ${httpStatus}` : platformCode
    // A platform that is unavailable (503) is so for every call.
    const only = OPERATION_BUDGETS.has(operation) && httpStatus !== 503 ? operation : undefined
    await this.#tell(operation, () => this.#parts.pacer.holdOff(waitMs, `${operation}: ${answer}`, only))
  }

  /** Tells the pacer or a listener of a call. That they fail says nothing about the call, which may have moved money (law 14). */
  async #tell(operation: string, listener: () => unknown): Promise<void> {
    try {
      await listener()
    } catch (error) {
      this.#parts.log?.error({ operation, error }, 'a listener to calls failed; the call is not affected')
    }
  }
}

/** An exchange in flight. */
interface Exchange {
  operation: string
  sentAt: number
  waitedMs: number
  /** Set as soon as one came. */
  answer?: HttpAnswer
}

/** `Date` headers have whole seconds: the true time lies up to this much later. */
const HEADER_GRAIN_MS = 999

/**
 * How far the platform's clock is ahead of ours, learnt from the `Date` header of its answers. It is measured all the time, but
 * applied only once the platform refuses our timestamp (1000210001), so that a gateway with a wrong `Date` does no harm to a
 * machine with a right clock.
 */
export class ClockOffset {
  readonly #clock: () => number
  #measuredMs: number | null = null
  /** Our clock minus the monotonic one, when the offset was measured. */
  #gap = 0
  #appliedMs = 0
  #lastHeader: string | undefined

  constructor(clock: () => number = Date.now) {
    this.#clock = clock
  }

  /** Milliseconds added to our time in `timestamp`. */
  get appliedMs(): number {
    return this.#appliedMs
  }

  /**
   * The platform's clock minus ours in milliseconds, as precise as whole seconds allow; null before the first answer. Smaller at
   * once where our clock was set right since the latest answer; a clock that only seems to have moved, since the machine slept,
   * makes it no greater.
   */
  get measuredMs(): number | null {
    if (this.#measuredMs === null) return null
    const moved = Math.round((this.#gapNow() - this.#gap) / 1000) * 1000
    const now = this.#measuredMs - moved
    return Math.abs(now) < Math.abs(this.#measuredMs) ? now : this.#measuredMs
  }

  /** Learns from one answer. `sentAt` and `receivedAt` are our time in milliseconds. */
  observe(dateHeader: string | undefined, sentAt: number, receivedAt: number): void {
    if (dateHeader === undefined || dateHeader === this.#lastHeader) return
    this.#lastHeader = dateHeader
    const seconds = Date.parse(dateHeader)
    if (Number.isNaN(seconds)) return
    const least = seconds - receivedAt
    const most = seconds + HEADER_GRAIN_MS - sentAt
    this.#measuredMs = Math.min(Math.max(this.measuredMs ?? 0, least), most)
    this.#gap = this.#gapNow()
  }

  /** Applies the measured offset. False without one. */
  correct(): boolean {
    const { measuredMs } = this
    if (measuredMs === null) return false
    this.#appliedMs = measuredMs
    return true
  }

  #gapNow(): number {
    return this.#clock() - performance.now()
  }
}

/** A pacer for one process alone. */
export class LocalPacer extends SlotPacer {
  /**
   * @param ratePerSecond permitted calls per second
   * @param budgets permitted calls per second of single operations; default: those of section 8
   */
  constructor(ratePerSecond: number, budgets: ReadonlyMap<string, number> = OPERATION_BUDGETS) {
    super({ slots: new MemorySlots(), rate: ratePerSecond, budgets })
  }
}
