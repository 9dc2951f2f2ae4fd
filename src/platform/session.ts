import type { Logger } from 'pino'
import type { z } from 'zod'
import { LONGEST_TIMER_MS, unlessAborted } from '../lib/waiting.ts'
import type { Pacer } from '../pacing/pacer.ts'
import { type CallOptions, type CallReport, ClockOffset, LocalPacer, PlatformCaller } from './caller.ts'
import { entryOfCode } from './codes.ts'
import { abortedError, OutcomeUnknownError, PlatformError } from './errors.ts'
import type { Application, Operation } from './operation.ts'
import { tokenCreate, tokenInfo } from './operations/token.ts'
import { checkedParameters, type ParameterTexts, RequestBuilder, type SignAlgorithm } from './request.ts'
import {
  type CreatedToken,
  MemoryTokenStore,
  type PlatformToken,
  TokenFuseError,
  TokenKeeper,
  type TokenStore,
} from './token.ts'

/** Before every other caller of the pacer: they all need a token. */
const TOKEN_PRIORITY = -1

const DEFAULT_RATE = 10
const DEFAULT_TIMEOUT_MS = 10_000
/** Far above a page of a hundred orders with their goods. */
const DEFAULT_ANSWER_BYTES = 8 * 1024 * 1024

export interface PlatformClientOptions {
  baseUrl: string
  appId: string
  appSecret: string
  /** Default `sha256`. */
  signAlgorithm?: SignAlgorithm
  /** Whether the merchant settles by price difference: refunds then need `costAmount` or `tradeInfo`. Default false. */
  priceDifferenceMode?: boolean
  /** Default: a {@link MemoryTokenStore} for this client alone. Give further clients of the application the same one. */
  tokenStore?: TokenStore
  /** Default: a {@link LocalPacer} for this client alone. Give further clients of the application the same one. */
  pacer?: Pacer
  /** Calls per second of the default pacer, which is for this client alone: two clients make twice as many. Default 10. */
  ratePerSecond?: number
  /** Codes of the platform (section 7, or undocumented) that mean too many calls. HTTP 429 always does. Default none. */
  rateLimitedCodes?: readonly number[]
  logger?: Logger
  /** For one exchange: getting a connection, headers and body. Default 10 s. */
  timeoutMs?: number
  /** Longest body of an answer, in bytes; a longer one fails as `malformed`. Default 8 MB (8,388,608). */
  maxAnswerBytes?: number
  /** Default 64. */
  maxConnections?: number
  /** Our time in milliseconds since 1970. */
  clock?: () => number
  /** Called after every HTTP exchange. What it throws is logged, and changes nothing. */
  onCall?: (call: CallReport) => void
}

/**
 * An application's session with the platform: its token, the clock offset, and checked calls. A call is repeated when the
 * platform refused its token or its timestamp, once for each.
 */
export class PlatformSession {
  /** The difference between the platform's clock and ours. */
  readonly clockOffset: ClockOffset

  readonly #caller: PlatformCaller
  /** The pacer, if nobody else has it. */
  readonly #ownPacer: Pacer | null
  readonly #keeper: TokenKeeper
  readonly #application: Application
  readonly #log: Logger | undefined
  #closing: Promise<void> | null = null
  #heldOffFor: PlatformError | null = null

  constructor(options: PlatformClientOptions) {
    const { appId, appSecret, clock = Date.now } = options
    this.clockOffset = new ClockOffset(clock)
    this.#application = { appId, priceDifferenceMode: options.priceDifferenceMode ?? false }
    this.#log = options.logger?.child({ component: 'platform' })
    const pacer = options.pacer ?? new LocalPacer(options.ratePerSecond ?? DEFAULT_RATE)
    this.#ownPacer = options.pacer ? null : pacer
    this.#caller = new PlatformCaller({
      builder: new RequestBuilder(options.baseUrl, appId, appSecret, options.signAlgorithm ?? 'sha256'),
      pacer,
      clock,
      clockOffset: this.clockOffset,
      rateLimitedCodes: new Set(options.rateLimitedCodes),
      limits: {
        timeoutMs: checkedTimeout(options.timeoutMs ?? DEFAULT_TIMEOUT_MS),
        maxAnswerBytes: options.maxAnswerBytes ?? DEFAULT_ANSWER_BYTES,
      },
      maxConnections: options.maxConnections ?? 64,
      log: this.#log,
      onCall: options.onCall,
    })
    this.#keeper = new TokenKeeper({
      store: options.tokenStore ?? new MemoryTokenStore(clock),
      create: () => this.#createToken(),
      clock,
      log: this.#log,
    })
  }

  /**
   * Checks a request as {@link call} does, and sends nothing.
   * @throws PlatformError of kind `invalid_request`
   */
  check(operation: Operation, params: object): ParameterTexts {
    return checkedParameters(operation, params, this.#application)
  }

  /** @throws PlatformError; OutcomeUnknownError where the operation must not be repeated and may have been carried out */
  async call<Response extends z.ZodType>(
    operation: Operation<string, z.ZodObject, Response>,
    params: object,
    options: CallOptions = {},
  ): Promise<z.output<Response>> {
    const texts = this.check(operation, params)
    let isTokenRenewed = false
    let isClockCorrected = false
    for (;;) {
      const token = operation.token ? await this.#token(operation, options.signal) : undefined
      try {
        return await this.#caller.attempt(operation, texts, token, options)
      } catch (error) {
        if (!(error instanceof PlatformError)) throw error
        const entry = entryOfCode(error.platformCode)
        if (entry?.disposition === 'refresh-token' && token !== undefined && !isTokenRenewed) {
          isTokenRenewed = true
          await this.#keeper.refuse(token).catch(notSent(operation))
        } else if (entry?.category === 'clock_skew' && !isClockCorrected && this.clockOffset.correct()) {
          isClockCorrected = true
          const { appliedMs } = this.clockOffset
          this.#log?.warn({ offsetMs: appliedMs }, "our clock is off; the platform's is used")
        } else throw operation.idempotent || error.outcomeKnown ? error : new OutcomeUnknownError(error)
      }
    }
  }

  /**
   * Whether the platform answers at all, if only that it refuses. Unlike any other call it creates no token.
   * @throws PlatformError of a call that was not made
   */
  async ping(options: CallOptions): Promise<boolean> {
    try {
      await this.#caller.attempt(tokenInfo, {}, this.#keeper.known ?? 'none', options)
      return true
    } catch (error) {
      if (!(error instanceof PlatformError) || ['aborted', 'paused'].includes(error.kind)) throw error
      // Its envelope, whatever is in it.
      return error.kind === 'business' || error.unreadable !== undefined || error.retryAfterMs !== undefined
    }
  }

  /** A new token for all processes, through the store and its fuse. */
  renewToken(): Promise<PlatformToken> {
    return this.#keeper.renew().catch(asPlatformError)
  }

  /**
   * Lets calls in flight end, then closes the connections. Calls that wait for their turn are given up at once; a pacer that was
   * given to the session stays open. Idempotent.
   */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    await Promise.all([this.#ownPacer?.close(), this.#caller.close()])
  }

  /** The token to use now. Callers that wait for a renewal may abort by their own signals. */
  #token(operation: Operation, signal: AbortSignal | undefined): string | Promise<string> {
    const current = this.#keeper.current()
    if (typeof current === 'string') return current
    return unlessAborted(current, signal, reason => abortedError(operation.name, reason))
      .catch(async error => {
        // All who wait for one creation are told by one error.
        if (error instanceof PlatformError && error !== this.#heldOffFor) {
          this.#heldOffFor = error
          await this.#caller.holdOff(error)
        }
        return asPlatformError(error)
      })
      .catch(notSent(operation))
  }

  async #createToken(): Promise<CreatedToken> {
    const { access_token, expires_in } = await this.call(tokenCreate, {}, { priority: TOKEN_PRIORITY })
    this.#log?.info({ expiresIn: expires_in }, 'access token created')
    return { accessToken: access_token, expiresIn: expires_in }
  }
}

function checkedTimeout(ms: number): number {
  if (ms > 0 && ms <= LONGEST_TIMER_MS) return ms
  throw new RangeError(`The timeout must be more than 0 and at most ${LONGEST_TIMER_MS} ms, it is ${ms}.`)
}

/** Turns the fuse of token creation into a failure of the call that needed the token. */
function asPlatformError(error: unknown): never {
  if (!(error instanceof TokenFuseError)) throw error
  const { retryAfterMs } = error
  throw new PlatformError(
    { kind: 'token_fuse', operation: tokenCreate.name, retryAfterMs, outcomeKnown: true },
    error,
  )
}

/** Where the store of the token fails, a call that must not be repeated was not sent, or was refused: nothing is in doubt. */
function notSent({ name, idempotent }: Operation) {
  return (error: unknown): never => {
    throw idempotent || error instanceof PlatformError ? error : abortedError(name, error)
  }
}
