import type { CallOptions, ClockOffset } from './caller.ts'
import { PlatformError } from './errors.ts'
import type { Operation } from './operation.ts'
import {
  type LimitAccount,
  type LimitAccountQuery,
  limitAccountGet,
  type Taxpayer,
  type TaxpayerPage,
  type TaxpayerPageQuery,
  taxpayerList,
} from './operations/account.ts'
import {
  type DepartmentDeletion,
  departmentDelete,
  type EmployeeQuery,
  type EmployeeUpdate,
  employeeGet,
  employeeOpenid,
  employeeUpdate,
  type OpenidBinding,
  type OpenidQuery,
  type PlatformEmployee,
} from './operations/employee.ts'
import { OPERATIONS, type OperationName } from './operations/index.ts'
import {
  type RefundRequest,
  refundCreate,
  type TopUpAnswer,
  type TopUpApplication,
  topUpApply,
} from './operations/money.ts'
import {
  type OrderRecord,
  type OrderRecordQuery,
  orderRecordGet,
  type PaymentOrder,
  type PaymentOrderDetail,
  type PaymentOrderPage,
  type PaymentOrderPageQuery,
  type PaymentOrderQuery,
  paymentOrderGet,
  paymentOrderList,
} from './operations/payment-order.ts'
import { type TokenAnswer, tokenCreate, tokenInfo } from './operations/token.ts'
import {
  NOT_CARRIED_OUT_AFTER_MS,
  type RefundVerdict,
  refundedAmount,
  settleByOrderRecord,
  settleByPaymentOrders,
} from './refund-settlement.ts'
import { type PlatformClientOptions, PlatformSession } from './session.ts'

export type { CallOptions, CallReport } from './caller.ts'
export type { PlatformClientOptions } from './session.ts'

/** Rows per page that `list` asks for: the most that the platform permits, for the fewest calls. */
const LARGEST_PAGE = 100
/** The answer for the number of a payment order that does not exist (section 7). */
const NO_SUCH_PAYMENT_ORDER = 1000220120

export type PaymentOrderListQuery = Omit<PaymentOrderPageQuery, 'page_index'>
export type TaxpayerListQuery = Omit<TaxpayerPageQuery, 'page_no'>

/** A refund whose outcome is unknown. */
export interface UnsettledRefund {
  outerTradeNo: string
  refundAmount: string
  refundedBefore: string | null
  sentAt: Date
  /** That of the `OutcomeUnknownError`. With a code, "not carried out" is never inferred: it may say that the number was used. */
  platformCode?: number | undefined
  /**
   * Number of the payment order: "not carried out" needs it, since the refund must not show there either, nor be in progress. Of an
   * order that was paid with several assets, and has several, "not carried out" cannot be told.
   */
  tradeNo?: string
  /** Enterprise of the refund; absent for a single enterprise. */
  enterpriseCode?: string
  /** Milliseconds after which a refund that no record shows was not carried out. Default 24 hours. */
  notCarriedOutAfterMs?: number
}

/**
 * The platform's operations (section 4), typed. Every call is checked, paced, signed and given a token. When the platform
 * refuses the token or the timestamp, the client renews or corrects it and repeats the call, once for each. Every other failure
 * is thrown as a {@link PlatformError}: retrying is up to the caller, who knows whether the work is still wanted.
 */
export class PlatformClient {
  readonly employees = {
    /** Queries an employee in service (section 4.4). */
    get: (query: EmployeeQuery, options?: CallOptions): Promise<PlatformEmployee> =>
      this.#session.call(employeeGet, query, options),
    /** Updates an employee (section 4.3); returns the work number. */
    update: (update: EmployeeUpdate, options?: CallOptions): Promise<string> =>
      this.#session.call(employeeUpdate, update, options),
    /** Binds, or finds, the employee's open id for a merchant application (section 4.5). */
    openid: (query: OpenidQuery, options?: CallOptions): Promise<OpenidBinding> =>
      this.#session.call(employeeOpenid, query, options),
  }

  readonly departments = {
    /** Deletes a department (section 4.6); returns its code. */
    delete: (department: DepartmentDeletion, options?: CallOptions): Promise<string> =>
      this.#session.call(departmentDelete, department, options),
  }

  readonly tokens = {
    /** Creates a token for all processes, through the store and its fuse (section 4.1). */
    create: async (): Promise<TokenAnswer> => {
      const { accessToken, createdAt, expiresAt } = await this.#session.renewToken()
      return { access_token: accessToken, expires_in: (expiresAt.getTime() - createdAt.getTime()) / 1000 }
    },
    /** Queries the token in use (section 4.2); waits after 60 queries within a minute (section 8). */
    info: (options?: CallOptions): Promise<TokenAnswer> => this.#session.call(tokenInfo, {}, options),
  }

  /**
   * Whether the platform answers this process at all, if only that it refuses. It asks about a token (section 4.2), and creates none.
   * @throws PlatformError of a call that was not made: it was aborted, or all calls are paused
   */
  ping(options: CallOptions = {}): Promise<boolean> {
    return this.#session.ping(options)
  }

  readonly paymentOrders = {
    /**
     * Every payment order of a time span (section 4.7), page by page, each once although rows move between pages. The value
     * that it returns at its end says whether the platform counts more than it has listed.
     */
    list: (query: PaymentOrderListQuery = {}, options: CallOptions = {}): EveryRow<PaymentOrder> => {
      const pageSize = Number(query.page_size ?? LARGEST_PAGE)
      return everyRow({
        operation: paymentOrderList.name,
        fetch: (page_index, signal) =>
          this.paymentOrders.page({ ...query, page_index, page_size: pageSize }, { ...options, signal }),
        keyOf: order => order.trade_no,
        pageSize,
        signal: options.signal,
      })
    },
    /** One page of them. Without a size the platform returns 20 rows. */
    page: async (query: PaymentOrderPageQuery, options?: CallOptions): Promise<PaymentOrderPage> => {
      const answer = await this.#session.call(paymentOrderList, query, options)
      return { ...answer, data_list: answer.data_list ?? [] }
    },
    /** One payment order, with its goods if it is one of the new mall (section 4.8). */
    get: (query: PaymentOrderQuery, options?: CallOptions): Promise<PaymentOrderDetail> =>
      this.#session.call(paymentOrderGet, query, options),
    /** As `get`; null: the platform has no such order. */
    find: async (query: PaymentOrderQuery, options?: CallOptions): Promise<PaymentOrderDetail | null> =>
      this.paymentOrders.get(query, options).catch(error => {
        if (error instanceof PlatformError && error.platformCode === NO_SUCH_PAYMENT_ORDER) return null
        throw error
      }),
  }

  readonly limitAccounts = {
    /** The enterprise's limit accounts, or a named one (section 4.9). */
    list: async (query: LimitAccountQuery = {}, options?: CallOptions): Promise<LimitAccount[]> =>
      (await this.#session.call(limitAccountGet, query, options)) ?? [],
  }

  readonly taxpayers = {
    /**
     * Every taxpayer with the identification number (section 4.13), of one nature: small-scale by default. What it returns at
     * its end is as of payment orders.
     */
    list: (query: TaxpayerListQuery, options: CallOptions = {}): EveryRow<Taxpayer> => {
      const pageSize = Number(query.page_size ?? LARGEST_PAGE)
      return everyRow({
        operation: taxpayerList.name,
        fetch: (page_no, signal) =>
          this.taxpayers.page({ ...query, page_no, page_size: pageSize }, { ...options, signal }),
        keyOf: keyOfTaxpayer,
        pageSize,
        signal: options.signal,
      })
    },
    /** One page of them. Without a size the platform returns 50 rows. */
    page: async (query: TaxpayerPageQuery, options?: CallOptions): Promise<TaxpayerPage> => {
      const answer = await this.#session.call(taxpayerList, query, options)
      return { ...answer, data_list: answer.data_list ?? [] }
    },
  }

  readonly orders = {
    /** A merchant's order by its external trade number (section 4.11), or its trade number alone if there is no more. */
    record: (query: OrderRecordQuery, options?: CallOptions): Promise<OrderRecord | string> =>
      this.#session.call(orderRecordGet, query, options),
  }

  readonly refunds = {
    /**
     * Refunds an order (section 4.10); returns the platform's trade number. It is sent once.
     * @throws OutcomeUnknownError when it may have been carried out: ask `settle`, do not send it again
     */
    create: (request: RefundRequest, options?: CallOptions): Promise<string> =>
      this.#session.call(refundCreate, request, options),
    /**
     * Finds out whether a refund with an unknown outcome was carried out, by the order record and, given its number, the
     * payment order.
     * @param refund `refundedBefore`: {@link refundedAmount} of the record before it was sent; amounts are decimal texts
     */
    settle: async (refund: UnsettledRefund, options?: CallOptions): Promise<RefundVerdict> => {
      const { tradeNo, enterpriseCode, notCarriedOutAfterMs = NOT_CARRIED_OUT_AFTER_MS } = refund
      const enterprise = enterpriseCode === undefined ? {} : { enterprise_code: enterpriseCode }
      const record = await this.orders.record({ outer_trade_no: refund.outerTradeNo, ...enterprise }, options)
      const refundedNow = refundedAmount(record)
      const facts = { ...refund, refundedNow, notCarriedOutAfterMs, now: new Date(this.#clock()) }
      const settled = settleByOrderRecord(facts)
      if (settled) return settled.verdict
      if (tradeNo === undefined || typeof record === 'string') return 'unknown'
      const paymentOrder = await this.paymentOrders.get({ trade_no: tradeNo, ...enterprise }, options)
      const { refundedBefore } = refund
      return settleByPaymentOrders([paymentOrder], { refundedBefore, paid: record.pay_amount }).verdict
    },
  }

  readonly topUps = {
    /**
     * Applies for a top-up of enterprise points (section 4.12). It is sent once.
     * @throws OutcomeUnknownError when it may have been carried out; only the platform's back office shows whether it was
     */
    apply: (application: TopUpApplication, options?: CallOptions): Promise<TopUpAnswer> =>
      this.#session.call(topUpApply, application, options),
  }

  readonly #session: PlatformSession
  readonly #clock: () => number

  constructor(options: PlatformClientOptions) {
    this.#session = new PlatformSession(options)
    this.#clock = options.clock ?? Date.now
  }

  /** The difference between the platform's clock and ours. */
  get clockOffset(): ClockOffset {
    return this.#session.clockOffset
  }

  /**
   * Any operation by name, for callers that learn it at run time.
   * @param params texts or numbers, by the platform's names
   * @throws RangeError for a name that is not an operation
   */
  async call(
    operation: OperationName,
    params: Record<string, unknown>,
    options?: CallOptions,
  ): Promise<unknown> {
    if (!Object.hasOwn(OPERATIONS, operation))
      throw new RangeError(`"${operation}" is not an operation of the platform.`)
    if (operation !== 'token/create')
      return this.#session.call(OPERATIONS[operation] as Operation, params, options)
    this.#session.check(tokenCreate, params)
    return this.tokens.create()
  }

  /** Gives up calls that wait for their turn, lets those in flight end, then closes the connections. Idempotent. */
  close(): Promise<void> {
    return this.#session.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}

export interface ListPage<Row> {
  readonly total_count: number | null
  readonly has_next?: boolean | null
  readonly data_list: readonly Row[]
}

/** Tells the rows of a list of taxpayers apart. */
export function keyOfTaxpayer({ identifier, taxpayer_name, taxpayer_nature }: Taxpayer): string {
  return JSON.stringify([identifier, taxpayer_name, taxpayer_nature])
}

/** A list of which the platform counts more rows than it returned. */
export interface ShortList {
  /** Rows by the platform's count. */
  counted: number
  /** Different rows that it returned. */
  found: number
}

/** Rows one by one; at the end null, or that the list is short. */
export type EveryRow<Row> = AsyncGenerator<Row, ShortList | null, undefined>

/** Rows that are added in front make a page repeat the one before. A list that goes on like that has no end. */
const MOST_REPEATS = 3

/** How often to go through the pages of a list when rows move while they are read. */
export const MOST_PASSES = 3

/** The different rows of a paged list that were read so far, pass by pass. */
export class RowsSeen<Row> {
  readonly #operation: string
  readonly #keyOf: (row: Row) => string | null
  /** The last pass that had each. */
  readonly #withKey = new Map<string, number>()
  readonly #withoutKey = new Map<string, number>()
  #pass = 0
  #keyless = 0
  #before: number
  #repeats = 0

  /**
   * @param operation for the error
   * @param keyOf identifies a row
   * @param before rows on the pages before the first that it is given
   */
  constructor(operation: string, keyOf: (row: Row) => string | null, before = 0) {
    this.#operation = operation
    this.#keyOf = keyOf
    this.#before = before
  }

  /** How many there are, those without a key in the present pass included. */
  get found(): number {
    return this.#withKey.size + this.#before + this.#keyless
  }

  /** How many of those it was given in the present pass have no key. */
  get keyless(): number {
    return this.#keyless
  }

  /**
   * Adds the next page of a pass.
   * @param index from 1, which begins a pass
   * @returns its rows that were not seen before; those without a key in the first pass only
   * @throws PlatformError of kind `malformed` when page after page of a pass brings only rows that it has had, and none is the
   * last
   */
  add(index: number, rows: readonly Row[], isLast: boolean): Row[] {
    if (index === 1) {
      this.#pass += 1
      this.#keyless = 0
      this.#before = 0
      this.#repeats = 0
    }
    let isRepeat = true
    const fresh: Row[] = []
    for (const row of rows) {
      const key = this.#keyOf(row)
      const id = key ?? JSON.stringify(row)
      const had = key === null ? this.#withoutKey : this.#withKey
      if (key === null) this.#keyless += 1
      if (key === null ? this.#pass <= 1 : !had.has(id)) fresh.push(row)
      if (had.get(id) !== this.#pass) isRepeat = false
      had.set(id, this.#pass)
    }
    this.#repeats = isRepeat ? this.#repeats + 1 : 0
    if (!isLast && this.#repeats > MOST_REPEATS)
      throw new PlatformError({ kind: 'malformed', operation: this.#operation, outcomeKnown: false })
    return fresh
  }
}

/**
 * Every row of a paged list, each once. The next page is fetched while the rows of the current one are consumed; when the
 * consumer ends early, that fetch is aborted.
 *
 * Rows that are added or removed meanwhile push others over the edge of a page. A row that was seen before is skipped. When the
 * total changed between pages, or fewer rows were seen than there are, the pages are read again for the missed rows, three
 * times at most. (A row removed and another added between the same two pages cannot always be noticed.)
 * @param operation for the error
 * @param fetch returns one page, counted from 1
 * @param keyOf identifies a row; a row without a key is returned in the first pass only
 * @returns at its end: null, or that the platform counts more rows than it returned
 * @throws PlatformError of kind `malformed` when page after page of a pass brings only rows that it has had, and none is the last
 */
export async function* everyRow<Row>(options: {
  operation: string
  fetch: (index: number, signal: AbortSignal) => Promise<ListPage<Row>>
  keyOf: (row: Row) => string | null
  pageSize: number
  signal?: AbortSignal | undefined
}): EveryRow<Row> {
  const { operation, fetch, keyOf, pageSize } = options
  const giveUp = new AbortController()
  const signal = options.signal ? AbortSignal.any([options.signal, giveUp.signal]) : giveUp.signal
  const seen = new RowsSeen(operation, keyOf)
  try {
    for (let pass = 1; ; pass += 1) {
      let hasMoved = false
      let rowsOfPass = 0
      let total: number | null = null
      let next: Promise<ListPage<Row>> | null = fetch(1, signal)
      for (let index = 1; next !== null; index += 1) {
        const page: ListPage<Row> = await next
        rowsOfPass += page.data_list.length
        if (index > 1 && page.total_count !== total) hasMoved = true
        // An empty page says nothing of how many there are, if an earlier one did.
        if (index === 1 || page.data_list.length > 0) total = page.total_count
        const isEnd = isLastPage(page, rowsOfPass, pageSize)
        const fresh = seen.add(index, page.data_list, isEnd)
        next = isEnd ? null : fetch(index + 1, signal)
        next?.catch(() => undefined) // a failure is thrown when its turn comes, if it comes
        yield* fresh
      }
      const short = total !== null && seen.found < total ? { counted: total, found: seen.found } : null
      if (pass === MOST_PASSES || !(hasMoved || short)) return short
    }
  } finally {
    giveUp.abort()
  }
}

/** Whether a pass ends with a page. `rowsOfPass`: rows on its pages so far, those of this page included. */
export function isLastPage<Row>(page: ListPage<Row>, rowsOfPass: number, pageSize: number): boolean {
  if (page.data_list.length === 0) return true
  if (typeof page.has_next === 'boolean') return !page.has_next
  // The total, not a short page: a platform may return fewer rows a page than requested.
  return page.total_count === null ? page.data_list.length < pageSize : rowsOfPass >= page.total_count
}
