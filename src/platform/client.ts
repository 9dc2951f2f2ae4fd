import type { Logger } from 'pino'
import type { z } from 'zod'
import type { Pacer } from '../core/pacing.ts'
import { type CreatedToken, TokenFuseError, type TokenStore } from '../core/platform-token.ts'
import { type RefundVerdict, refundedAmount, settleRefund } from '../core/refund-settlement.ts'
import { abortedError, type CallOptions, type CallReport, PlatformCaller } from './caller.ts'
import { ClockOffset } from './clock-offset.ts'
import { entryOfCode, platformError } from './error-catalogue.ts'
import { PlatformError } from './errors.ts'
import type { Operation } from './operation.ts'
import { type DepartmentDeletion, departmentDelete } from './operations/department-delete.ts'
import { type EmployeeQuery, employeeGet, type PlatformEmployee } from './operations/employee-get.ts'
import { employeeOpenid, type OpenidBinding, type OpenidQuery } from './operations/employee-openid.ts'
import { type EmployeeUpdate, employeeUpdate } from './operations/employee-update.ts'
import { OPERATIONS, type OperationName } from './operations/index.ts'
import { type LimitAccount, type LimitAccountQuery, limitAccountGet } from './operations/limit-account.ts'
import { type OrderRecord, type OrderRecordQuery, orderRecordGet } from './operations/order-record.ts'
import {
  type PaymentOrder,
  type PaymentOrderDetail,
  type PaymentOrderPage,
  type PaymentOrderPageQuery,
  type PaymentOrderQuery,
  paymentOrderGet,
  paymentOrderList,
} from './operations/payment-order.ts'
import { type RefundRequest, refundCreate } from './operations/refund.ts'
import {
  type Taxpayer,
  type TaxpayerPage,
  type TaxpayerPageQuery,
  taxpayerList,
} from './operations/taxpayer.ts'
import { type TokenAnswer, tokenCreate, tokenInfo } from './operations/token.ts'
import { type TopUpAnswer, type TopUpApplication, topUpApply } from './operations/top-up.ts'
import { everyRow } from './pages.ts'
import { checkedParameters } from './parameters.ts'
import { RequestBuilder } from './request-builder.ts'
import type { SignAlgorithm } from './signing.ts'
import { TokenKeeper } from './token-keeper.ts'

export type { CallOptions, CallReport } from './caller.ts'

/** Goes before every other caller of the pacer: nobody gets anywhere without a token. */
const TOKEN_PRIORITY = -1

/** Rows a page that lists ask for: the most that the platform permits, for the fewest calls. */
const LARGEST_PAGE = 100

export type PaymentOrderListQuery = Omit<PaymentOrderPageQuery, 'page_index'>
export type TaxpayerListQuery = Omit<TaxpayerPageQuery, 'page_no'>

/** A refund whose outcome is unknown. */
export interface UnsettledRefund {
  outerTradeNo: string
  refundAmount: string
  refundedBefore: string | null
  sentAt: Date
}

export interface PlatformClientOptions {
  baseUrl: string
  appId: string
  appSecret: string
  /** Default `sha256`. */
  signAlgorithm?: SignAlgorithm
  tokenStore: TokenStore
  pacer: Pacer
  logger?: Logger
  /** For one exchange: getting a connection, headers and body. Default 10 s. */
  timeoutMs?: number
  /** Default 64. */
  maxConnections?: number
  /** Our time in milliseconds since 1970. */
  clock?: () => number
  onCall?: (call: CallReport) => void
}

/**
 * The platform's operations (section 4), typed. Every call is checked, paced, signed and given a token; a refused token is
 * renewed and a refused timestamp corrected, once per call, by the client itself. Everything else that fails is thrown as
 * a {@link PlatformError} and never repeated here: that is for who knows whether the work is still wanted.
 */
export class PlatformClient {
  readonly employees = {
    /** Queries an employee in service (section 4.4). */
    get: (query: EmployeeQuery, options?: CallOptions): Promise<PlatformEmployee> =>
      this.#call(employeeGet, query, options),
    /** Updates an employee (section 4.3); answers the work number. */
    update: (update: EmployeeUpdate, options?: CallOptions): Promise<string> =>
      this.#call(employeeUpdate, update, options),
    /** Binds, or finds, the employee's open id for a merchant application (section 4.5). */
    openid: (query: OpenidQuery, options?: CallOptions): Promise<OpenidBinding> =>
      this.#call(employeeOpenid, query, options),
  }

  readonly departments = {
    /** Deletes a department (section 4.6); answers its code. */
    delete: (department: DepartmentDeletion, options?: CallOptions): Promise<string> =>
      this.#call(departmentDelete, department, options),
  }

  readonly tokens = {
    /** Creates a token for everyone, through the store and its fuse (section 4.1). */
    create: async (): Promise<TokenAnswer> => {
      const { accessToken, createdAt, expiresAt } = await this.#keeper.renew().catch(asPlatformError)
      return { access_token: accessToken, expires_in: (expiresAt.getTime() - createdAt.getTime()) / 1000 }
    },
    /** Queries the token in use (section 4.2); waits while 60 queries have been made within a minute (section 8). */
    info: (options?: CallOptions): Promise<TokenAnswer> => this.#call(tokenInfo, {}, options),
  }

  readonly paymentOrders = {
    /** Every payment order of a time span (section 4.7), page by page, each once although rows move between pages. */
    list: (query: PaymentOrderListQuery = {}, options: CallOptions = {}): AsyncIterable<PaymentOrder> => {
      const pageSize = Number(query.page_size ?? LARGEST_PAGE)
      return everyRow({
        fetch: (page_index, signal) =>
          this.paymentOrders.page({ ...query, page_index, page_size: pageSize }, { ...options, signal }),
        keyOf: order => order.trade_no,
        pageSize,
        signal: options.signal,
      })
    },
    /** One page of them. Without a size the platform gives 20 rows. */
    page: (query: PaymentOrderPageQuery, options?: CallOptions): Promise<PaymentOrderPage> =>
      this.#call(paymentOrderList, query, options),
    /** One payment order, with its goods if it is one of the new mall (section 4.8). */
    get: (query: PaymentOrderQuery, options?: CallOptions): Promise<PaymentOrderDetail> =>
      this.#call(paymentOrderGet, query, options),
  }

  readonly limitAccounts = {
    /** The enterprise's limit accounts, or the one that is named (section 4.9). */
    list: (query: LimitAccountQuery = {}, options?: CallOptions): Promise<LimitAccount[]> =>
      this.#call(limitAccountGet, query, options),
  }

  readonly taxpayers = {
    /** Every taxpayer with the identification number (section 4.13), of one nature: small-scale where none is given. */
    list: (query: TaxpayerListQuery, options: CallOptions = {}): AsyncIterable<Taxpayer> => {
      const pageSize = Number(query.page_size ?? LARGEST_PAGE)
      return everyRow({
        fetch: (page_no, signal) =>
          this.taxpayers.page({ ...query, page_no, page_size: pageSize }, { ...options, signal }),
        keyOf: row => JSON.stringify([row.identifier, row.taxpayer_name, row.taxpayer_nature]),
        pageSize,
        signal: options.signal,
      })
    },
    /** One page of them. Without a size the platform gives 50 rows. */
    page: (query: TaxpayerPageQuery, options?: CallOptions): Promise<TaxpayerPage> =>
      this.#call(taxpayerList, query, options),
  }

  readonly orders = {
    /** A merchant's order by its external trade number (section 4.11), or its trade number alone if that is all there is. */
    record: (query: OrderRecordQuery, options?: CallOptions): Promise<OrderRecord | string> =>
      this.#call(orderRecordGet, query, options),
  }

  readonly refunds = {
    /**
     * Refunds an order (section 4.10); answers the platform's trade number. It is sent once.
     * @throws OutcomeUnknownError when it may have been carried out: ask `settle`, do not send it again
     */
    create: (request: RefundRequest, options?: CallOptions): Promise<string> =>
      this.#call(refundCreate, request, options),
    /**
     * Finds out by the order record whether a refund was carried out whose outcome is unknown.
     * @param refund `refundedBefore`: the record's `refund_amount` before it was sent, null if unknown; amounts are decimal texts
     */
    settle: async (refund: UnsettledRefund, options?: CallOptions): Promise<RefundVerdict> => {
      const record = await this.orders.record({ outer_trade_no: refund.outerTradeNo }, options)
      const { refundAmount, refundedBefore, sentAt } = refund
      const refundedNow = refundedAmount(record)
      return settleRefund({ refundAmount, refundedBefore, refundedNow, sentAt, now: new Date(this.#clock()) })
    },
  }

  readonly topUps = {
    /**
     * Applies for a top-up of enterprise points (section 4.12). It is sent once.
     * @throws OutcomeUnknownError when it may have been carried out; only the platform's back office shows whether it was
     */
    apply: (application: TopUpApplication, options?: CallOptions): Promise<TopUpAnswer> =>
      this.#call(topUpApply, application, options),
  }

  /** How the platform's clock and ours differ. */
  readonly clockOffset = new ClockOffset()

  readonly #caller: PlatformCaller
  readonly #keeper: TokenKeeper
  readonly #clock: () => number
  readonly #log: Logger | undefined
  #closing: Promise<void> | null = null

  constructor(options: PlatformClientOptions) {
    const clock = options.clock ?? Date.now
    this.#clock = clock
    this.#log = options.logger?.child({ component: 'platform' })
    this.#caller = new PlatformCaller({
      builder: new RequestBuilder({
        baseUrl: options.baseUrl,
        appId: options.appId,
        appSecret: options.appSecret,
        signAlgorithm: options.signAlgorithm ?? 'sha256',
        operations: Object.values(OPERATIONS),
      }),
      pacer: options.pacer,
      clock,
      clockOffset: this.clockOffset,
      timeoutMs: options.timeoutMs ?? 10_000,
      maxConnections: options.maxConnections ?? 64,
      log: this.#log,
      onCall: options.onCall,
    })
    this.#keeper = new TokenKeeper({
      store: options.tokenStore,
      create: () => this.#createToken(),
      clock,
      log: this.#log,
    })
  }

  /**
   * Any operation by its name, for callers that know it at run time only.
   * @param params texts or numbers by the specification's names
   */
  async call(
    operation: OperationName,
    params: Record<string, unknown>,
    options?: CallOptions,
  ): Promise<unknown> {
    if (operation !== 'token/create') return this.#call(OPERATIONS[operation] as Operation, params, options)
    checkedParameters(tokenCreate, params)
    return this.tokens.create()
  }

  /** Lets calls in flight end, then closes the connections. May be called more than once. */
  close(): Promise<void> {
    this.#closing ??= this.#caller.close()
    return this.#closing
  }

  async #call<Request extends z.ZodObject, Response extends z.ZodType>(
    operation: Operation<string, Request, Response>,
    params: object,
    options: CallOptions = {},
  ): Promise<z.output<Response>> {
    const texts = checkedParameters(operation, params)
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
        return await this.#caller.attempt(operation, texts, token, options)
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
        } else throw error
      }
    }
  }

  async #createToken(): Promise<CreatedToken> {
    const { access_token, expires_in } = await this.#call(tokenCreate, {}, { priority: TOKEN_PRIORITY })
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
