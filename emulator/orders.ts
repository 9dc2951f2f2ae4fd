import { z } from 'zod'
import type { Database, Statement, Stored } from './database.ts'
import { BusinessError } from './errors.ts'
import { amountNumber, amountText, parseAmount } from './fields.ts'

/**
 * An order, of which there are two views: the payment order of the enterprise (section 2.6) and, with an
 * out_trade_no, the record of the merchant (2.8). Amounts are cents, times are `yyyy-MM-dd HH:mm:ss` in GMT+8.
 */
export interface Order {
  trade_no: string
  enterprise_code: string
  /** The merchant's external trade number. */
  out_trade_no: string | null
  userid: string | null
  payer_name: string | null
  subject: string | null
  /** The reason for the order that the merchant's record shows. */
  reason: string | null
  total_amount: bigint
  pay_amount: bigint
  refund_amount: bigint
  /** Payment order status (3.1). */
  status: number
  create_time: string
  pay_time: string | null
  refund_time: string | null
  asset_code: string
  /** A service-fee record, listed only when asked for. */
  service_fee: boolean
  /** JSON text of the new mall's order, see `commerceOrder`. */
  commerce_order_detail: string | null
}

/** Which payment orders are asked for; the days are `yyyy-MM-dd`, both included. */
interface OrderQuery {
  enterpriseCode: string
  from: string | undefined
  to: string | undefined
  withFees: boolean
}

/** Payment order status (3.1). */
export const ORDER_STATUS = { pending: 1, paying: 2, completed: 3, refunded: 6, reversed: 7 } as const

const LISTED = `from orders
  where enterprise_code = ? and create_time >= ? and create_time <= ? and service_fee <= ?`

export class Orders {
  readonly put: (order: Order) => void
  readonly #find: Statement<Stored<Order>>
  readonly #findOuter: Statement<Stored<Order>>
  readonly #list: Statement<Stored<Order>>
  readonly #count: Statement<{ total: number }>
  readonly #page: Statement<Stored<Order>>

  constructor(database: Database) {
    this.put = database.writer('orders')
    this.#find = database.prepare('select * from orders where trade_no = ?')
    this.#findOuter = database.prepare('select * from orders where out_trade_no = ?')
    this.#list = database.prepare('select * from orders order by trade_no')
    this.#count = database.prepare(`select count(*) as total ${LISTED}`)
    this.#page = database.prepare(
      `select * ${LISTED} order by create_time desc, trade_no desc limit ? offset ?`,
    )
  }

  find(tradeNo: string): Order | undefined {
    const row = this.#find.get(tradeNo)
    return row && toOrder(row)
  }

  findOuter(outerTradeNo: string): Order | undefined {
    const row = this.#findOuter.get(outerTradeNo)
    return row && toOrder(row)
  }

  /**
   * The order that was paid, refunded since or not, and is of the enterprise unless that is empty; throws 1000220064 for any
   * other.
   */
  requirePaid(outerTradeNo: string, enterpriseCode: string): Order {
    const order = this.findOuter(outerTradeNo)
    const { completed, refunded } = ORDER_STATUS
    if (order === undefined || order.status < completed || order.status > refunded) {
      throw new BusinessError('paymentFailed')
    }
    if (enterpriseCode !== '' && order.enterprise_code !== enterpriseCode) {
      throw new BusinessError('paymentFailed')
    }
    return order
  }

  list(): Order[] {
    return this.#list.all().map(toOrder)
  }

  /** One page, newest first, and how many there are in all. */
  page(query: OrderQuery, index: number, size: number): { total: number; orders: Order[] } {
    const { enterpriseCode, from = '', to = '9999-12-31', withFees } = query
    const filter = [enterpriseCode, from, `${to} 23:59:59`, Number(withFees)] as const
    const rows = this.#page.all(...filter, size, (index - 1) * size)
    return { total: this.#count.get(...filter)?.total ?? 0, orders: rows.map(toOrder) }
  }
}

function toOrder(row: Stored<Order>): Order {
  return {
    ...row,
    total_amount: BigInt(row.total_amount),
    pay_amount: BigInt(row.pay_amount),
    refund_amount: BigInt(row.refund_amount),
    service_fee: row.service_fee === 1,
  }
}

/** A refund that was carried out. The amount is in cents. */
interface Refund {
  outer_refund_no: string
  outer_trade_no: string
  refund_amount: bigint
  reason: string | null
  refund_time: string
}

export class Refunds {
  readonly put: (refund: Refund) => void
  readonly #find: Statement<object>
  readonly #list: Statement<Stored<Refund>>

  constructor(database: Database) {
    this.put = database.writer('refunds')
    this.#find = database.prepare('select 1 from refunds where outer_refund_no = ?')
    this.#list = database.prepare('select * from refunds order by outer_refund_no')
  }

  /** Throws 1000229001 for a number that a refund has. */
  requireFree(outerRefundNo: string): void {
    if (this.#find.get(outerRefundNo) !== undefined) throw new BusinessError('refundNumberTaken')
  }

  list(): Refund[] {
    return this.#list.all().map(row => ({ ...row, refund_amount: BigInt(row.refund_amount) }))
  }
}

/** The order of the new mall behind a payment order (section 2.6), as a seed gives it. */

const text = z.string().nullish().transform(orNull)
const code = z.int().nullish().transform(orNull)

/** A decimal as text or JSON number, kept as text of two places. */
const amount = z
  .union([z.string(), z.number()])
  .nullish()
  .transform((value, context) => {
    if (value === null || value === undefined) return null
    const cents = parseAmount(String(value))
    if (cents !== undefined) return amountText(cents)
    context.addIssue('must be a decimal with at most two places')
    return z.NEVER
  })

const product = z.strictObject({
  spu_code: text,
  spu_name: text,
  product_title: text,
  sku_code: text,
  sku_name: text,
  sku_pic_url: text,
  sku_category: text,
  current_price: amount,
  deal_price: amount,
  purchase_num: code,
})

const orderItem = z.strictObject({
  delivery_name: text,
  delivery_phone: text,
  address: text,
  order_price: amount,
  order_status: code,
  trade_status: code,
  time_created: text,
  time_delivery: text,
  time_delivery_end: text,
  time_closed: text,
  logistics_amount: amount,
  product_list: z.array(product).default([]),
})

export const commerceOrder = z.strictObject({
  shop_order_code: text,
  activity_type: code,
  buyer_name: text,
  order_price: amount,
  logistics_amount: amount,
  trade_status: code,
  trade_type: code,
  remark: text,
  cancel_order_reason_desc: text,
  order_list: z.array(orderItem).default([]),
})

const AMOUNTS = new Set(['order_price', 'logistics_amount', 'current_price', 'deal_price'])

/** What `consume/get` answers for the JSON text that is kept: the same, with its amounts as numbers. */
export function commerceOrderAnswer(kept: string): unknown {
  return JSON.parse(kept, (name, value) =>
    AMOUNTS.has(name) && value !== null ? amountNumber(parseAmount(value) ?? 0n) : value,
  )
}

function orNull<Value>(value: Value): NonNullable<Value> | null {
  return value ?? null
}
