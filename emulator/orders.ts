import type { SQLInputValue, StatementSync } from 'node:sqlite'
import { BusinessError } from './codes.ts'
import type { Database } from './database.ts'

/**
 * An order, of which there are two views: the payment order of the enterprise (specification 2.6) and, with an
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

const COLUMNS = [
  ...['trade_no', 'enterprise_code', 'out_trade_no', 'userid', 'payer_name', 'subject', 'reason'],
  ...['total_amount', 'pay_amount', 'refund_amount', 'status', 'create_time', 'pay_time', 'refund_time'],
  ...['asset_code', 'service_fee', 'commerce_order_detail'],
]

const LISTED = `from orders where enterprise_code = ? and create_time >= ? and create_time <= ?
  and service_fee <= ?`

export class Orders {
  readonly #find: StatementSync
  readonly #findOuter: StatementSync
  readonly #list: StatementSync
  readonly #count: StatementSync
  readonly #page: StatementSync
  readonly #put: StatementSync

  constructor({ sqlite }: Database) {
    this.#find = sqlite.prepare('select * from orders where trade_no = ?')
    this.#findOuter = sqlite.prepare('select * from orders where out_trade_no = ?')
    this.#list = sqlite.prepare('select * from orders order by trade_no')
    this.#count = sqlite.prepare(`select count(*) as total ${LISTED}`)
    this.#page = sqlite.prepare(
      `select * ${LISTED} order by create_time desc, trade_no desc limit ? offset ?`,
    )
    this.#put = sqlite.prepare(`
      insert into orders (${COLUMNS.join(', ')}) values (${COLUMNS.map(() => '?').join(', ')})
      on conflict (trade_no) do update set
      ${COLUMNS.slice(1)
        .map(column => `${column} = excluded.${column}`)
        .join(', ')}`)
  }

  find(tradeNo: string): Order | undefined {
    const row = this.#find.get(tradeNo)
    return row && toOrder(row)
  }

  findOuter(outerTradeNo: string): Order | undefined {
    const row = this.#findOuter.get(outerTradeNo)
    return row && toOrder(row)
  }

  /** The order that was paid, refunded since or not; throws 1000220064 for any other. */
  requirePaid(outerTradeNo: string): Order {
    const order = this.findOuter(outerTradeNo)
    const { completed, refunded } = ORDER_STATUS
    if (order === undefined || order.status < completed || order.status > refunded) {
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
    return { total: this.#count.get(...filter)?.total as number, orders: rows.map(toOrder) }
  }

  put(order: Order): void {
    const row: Record<string, unknown> = { ...order, service_fee: Number(order.service_fee) }
    this.#put.run(...COLUMNS.map(column => row[column] as SQLInputValue))
  }
}

function toOrder(row: Record<string, unknown>): Order {
  return {
    ...(row as unknown as Order),
    total_amount: BigInt(row.total_amount as number),
    pay_amount: BigInt(row.pay_amount as number),
    refund_amount: BigInt(row.refund_amount as number),
    service_fee: row.service_fee === 1,
  }
}
