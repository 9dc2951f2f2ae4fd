import type { Logger } from 'pino'
import type { z } from 'zod'
import type { Pacer } from '../pacing/pacer.ts'
import { abortedError, type CallOptions, type CallReport, ClockOffset, PlatformCaller } from './caller.ts'
import { entryOfCode, outcomeUnknown, PlatformError, platformError } from './errors.ts'
import type { Application, Operation } from './operation.ts'
import { OPERATIONS } from './operations/index.ts'
import { tokenCreate } from './operations/token.ts'
import { LocalPacer } from './pacer.ts'
import { checkedParameters, type ParameterTexts, RequestBuilder, type SignAlgorithm } from './request.ts'
import { SharedLookups } from './shared-lookups.ts'
import {
  type CreatedToken,
  MemoryTokenStore,
  type PlatformToken,
  TokenFuseError,
  TokenKeeper,
  type TokenStore,
} from './token.ts'

/** Goes before every other caller of the pacer: nobody gets anywhere without a token. */
const TOKEN_PRIORITY = -1

const DEFAULT_RATE = 10
/** A page of a hundred orders with their goods is far below it. */
const DEFAULT_ANSWER_BYTES = 8 * 1024 * 1024

export interface PlatformClientOptions {
  baseUrl: string
  appId: string
  appSecret: string
  /** Default `sha256`. */
  signAlgorithm?: SignAlgorithm
  /** Whether the merchant settles by price difference: refunds then need `costAmount` or `tradeInfo`. Default false. */
  priceDifferenceMode?: boolean
  /** Default: a {@link MemoryTokenStore}, for one process alone. */
  tokenStore?: TokenStore
  /** Default: a {@link LocalPacer}, for one process alone. */
  pacer?: Pacer
  /** Calls per second of the default pacer. Default 10. */
  ratePerSecond?: number
  /** Codes of the platform (section 7, or undocumented) that mean: too many calls. HTTP 429 always does. Default none. */
  tooFastCodes?: readonly number[]
  logger?: Logger
  /** For one exchange: getting a connection, headers and body. Default 10 s. */
  timeoutMs?: number
  /** Longest body of an answer, in bytes; a longer one fails as `malformed`. Default 8 MB (8,388,608). */
  maxAnswerBytes?: number
  /** Default 64. */
  maxConnections?: number
  /** Our time in milliseconds since 1970. */
  clock?: () => number
  onCall?: (call: CallReport) => void
}

/**
 * An application's session with the platform: its token, the difference of the clocks, and calls that are checked and
 * repeated where the platform refused the token or the timestamp, once for each.
 */
export class PlatformSession {
  /** How the platform's clock and ours differ. */
  readonly clockOffset = new ClockOffset()

  readonly #caller: PlatformCaller
  readonly #keeper: TokenKeeper
  readonly #lookups = new SharedLookups()
  readonly #application: Application
  readonly #log: Logger | undefined
  #closing: Promise<void> | null = null

  constructor(options: PlatformClientOptions) {
    const clock = options.clock ?? Date.now
    this.#application = {
      appId: options.appId,
      priceDifferenceMode: options.priceDifferenceMode ?? false,
    }
    this.#log = options.logger?.child({ component: 'platform' })
    this.#caller = new PlatformCaller({
      builder: new RequestBuilder({
        baseUrl: options.baseUrl,
        appId: options.appId,
        appSecret: options.appSecret,
        signAlgorithm: options.signAlgorithm ?? 'sha256',
        operations: Object.values(OPERATIONS),
      }),
      pacer: options.pacer ?? new LocalPacer(options.ratePerSecond ?? DEFAULT_RATE),
      clock,
      clockOffset: this.clockOffset,
      tooFastCodes: new Set(options.tooFastCodes),
      limits: {
        timeoutMs: options.timeoutMs ?? 10_000,
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

  /** A new token for everyone, through the store and its fuse. */
  renewToken(): Promise<PlatformToken> {
    return this.#keeper.renew().catch(asPlatformError)
  }

  /** Lets calls in flight end, then closes the connections. May be called more than once. */
  close(): Promise<void> {
    this.#closing ??= this.#caller.close()
    return this.#closing
  }

  /**
   * Checks a request as {@link call} does, and sends nothing.
   * @throws PlatformError of kind `invalid_request`
   */
  check(operation: Operation, params: object): ParameterTexts {
    return checkedParameters(operation, params, this.#application)
  }

  /**
   * A look-up is shared with whoever asks the same while it waits for its turn.
   * @throws PlatformError; OutcomeUnknownError where the operation must not be repeated and may have been carried out
   */
  async call<Request extends z.ZodObject, Response extends z.ZodType>(
    operation: Operation<string, Request, Response>,
    params: object,
    options: CallOptions = {},
  ): Promise<z.output<Response>> {
    const texts = this.check(operation, params)
    if (!operation.lookup) return this.#call(operation, texts, options)
    const key = `${operation.name} ${JSON.stringify(texts)}`
    return this.#lookups.ask(operation.name, key, options, (shared, sending) =>
      this.#call(operation, texts, shared, sending),
    )
  }

  async #call<Response extends z.ZodType>(
    operation: Operation<string, z.ZodObject, Response>,
    texts: ParameterTexts,
    options: CallOptions,
    sending?: () => void,
  ): Promise<z.output<Response>> {
    let isTokenRenewed = false
    let isClockCorrected = false
    for (;;) {
      let token: string | undefined
      if (operation.token) {
        const current = this.#keeper.current()
        token =
          typeof current === 'string'
            ? current
            : await orAborted(current, operation.name, options.signal).catch(asPlatformError)
      }
      try {
        return await this.#caller.attempt(operation, texts, token, options, sending)
      } catch (error) {
        if (!(error instanceof PlatformError)) throw error
        const entry = entryOfCode(error.platformCode)
        if (entry?.disposition === 'refresh-token' && token !== undefined && !isTokenRenewed) {
          isTokenRenewed = true
          await this.#keeper.refuse(token)
        } else if (entry?.category === 'clock_skew' && !isClockCorrected && this.clockOffset.correct()) {
          isClockCorrected = true
          this.#log?.warn(
            { offsetMs: this.clockOffset.appliedMs },
            "our clock is off; the platform's is used",
          )
        } else throw operation.idempotent || error.outcomeKnown ? error : outcomeUnknown(error)
      }
    }
  }

  async #createToken(): Promise<CreatedToken> {
    const { access_token, expires_in } = await this.call(tokenCreate, {}, { priority: TOKEN_PRIORITY })
    this.#log?.info({ expiresIn: expires_in }, 'access token created')
    return { accessToken: access_token, expiresIn: expires_in }
  }
}

/** Waits for a shared promise no longer than one caller's signal allows. */
async function orAborted<T>(
  promise: Promise<T>,
  operation: string,
  signal: AbortSignal | undefined,
): Promise<T> {
  if (signal === undefined) return promise
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const onAbort = () => reject(abortedError(operation, signal.reason))
  if (signal.aborted) onAbort()
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    return await Promise.race([promise, aborted])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

/** The fuse of token creation is a failure of the call that needed the token. */
function asPlatformError(error: unknown): never {
  if (!(error instanceof TokenFuseError)) throw error
  throw platformError(
    { kind: 'token_fuse', operation: tokenCreate.name, retryAfterMs: error.retryAfterMs, outcomeKnown: true },
    error,
  )
}
