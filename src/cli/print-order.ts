import type { OrderRecord } from '../platform/operations/order-record.ts'
import type { PaymentOrder, PaymentOrderDetail } from '../platform/operations/payment-order.ts'
import {
  ACTIVITY_TYPE,
  ASSET_CODE,
  ORDER_RECORD_STATUS,
  ORDER_STATUS,
  PAYMENT_ORDER_STATUS,
  TRADE_STATUS,
  TRADE_TYPE,
} from '../platform/states.ts'
import { colours } from './colours.ts'
import { print, printFacts, printTitle } from './output.ts'
import { stateText } from './state-text.ts'
import { table } from './table.ts'
import { longTime, shortTime } from './time.ts'

/** Payment orders under each other. */
export function printOrders(orders: PaymentOrder[]): void {
  process.stdout.write(
    table(
      [
        { title: 'TRADE NO', of: row => row.trade_no ?? null },
        { title: 'CREATED', of: row => shortTime(row.create_time) },
        { title: 'USER', of: row => row.userid, gives: true },
        { title: 'SUBJECT', of: row => row.subject, gives: true, spare: true },
        { title: 'PAID', of: row => row.pay_amount, align: 'right' },
        { title: 'REFUNDED', of: row => row.refund_amount, align: 'right' },
        { title: 'ASSET', of: row => row.assetCode, spare: true },
        { title: 'STATUS', of: row => stateText(PAYMENT_ORDER_STATUS, row.status), gives: true },
      ],
      orders,
    ),
  )
}

/** Everything about a payment order; of one from the new mall, its orders and goods too. */
export function printOrder(order: PaymentOrderDetail): void {
  print(colours.bold(`Payment order ${order.trade_no}`))
  printFacts([
    ['status', stateText(PAYMENT_ORDER_STATUS, order.status)],
    ['user', order.userid],
    ['payer', order.payer_name],
    ['subject', order.subject],
    ['total', order.total_amount],
    ['paid', order.pay_amount],
    ['refunded', order.refund_amount],
    ['asset', stateText(ASSET_CODE, order.assetCode)],
    ['order', order.out_trade_no],
    ['created', longTime(order.create_time)],
    ['paid at', longTime(order.pay_time)],
    ['refunded at', longTime(order.refund_time)],
  ])
  const mall = order.commerce_order_detail
  if (!mall) return
  printTitle('Order of the mall')
  printFacts([
    ['order', mall.shop_order_code],
    ['activity', stateText(ACTIVITY_TYPE, mall.activity_type)],
    ['type', stateText(TRADE_TYPE, mall.trade_type)],
    ['trade', stateText(TRADE_STATUS, mall.trade_status)],
    ['buyer', mall.buyer_name],
    ['price', mall.order_price],
    ['shipping fee', mall.logistics_amount],
    ['message', mall.remark],
    ['closed because', mall.cancel_order_reason_desc],
  ])
  for (const [i, delivery] of (mall.order_list ?? []).entries()) printDelivery(delivery, i + 1)
}

type Mall = NonNullable<PaymentOrderDetail['commerce_order_detail']>
type Delivery = NonNullable<Mall['order_list']>[number]

function printDelivery(delivery: Delivery, number: number): void {
  printTitle(`Delivery ${number}`)
  printFacts([
    ['status', stateText(ORDER_STATUS, delivery.order_status)],
    ['trade', stateText(TRADE_STATUS, delivery.trade_status)],
    ['recipient', delivery.delivery_name],
    ['phone', delivery.delivery_phone],
    ['address', delivery.address],
    ['price', delivery.order_price],
    ['shipping fee', delivery.logistics_amount],
    ['deal', longTime(delivery.time_created)],
    ['shipped', longTime(delivery.time_delivery)],
    ['ship until', longTime(delivery.time_delivery_end)],
    ['closed', longTime(delivery.time_closed)],
  ])
  const products = delivery.product_list ?? []
  if (products.length === 0) return
  print('')
  process.stdout.write(
    table(
      [
        { title: 'SKU', of: row => row.sku_code ?? null },
        { title: 'GOODS', of: row => row.product_title ?? row.spu_name, gives: true },
        { title: 'SPEC', of: row => row.sku_category ?? row.sku_name, gives: true },
        { title: 'COUNT', of: row => row.purchase_num, align: 'right' },
        { title: 'PRICE', of: row => row.current_price, align: 'right' },
        { title: 'DEAL PRICE', of: row => row.deal_price, align: 'right' },
      ],
      products,
    ),
  )
}

/** What a merchant's order came to. Some platforms answer with their own number of the order alone (section 2.8). */
export function printRecord(outerTradeNo: string, record: OrderRecord | string): void {
  print(colours.bold(`Order ${outerTradeNo}`))
  if (typeof record === 'string') {
    printFacts([['trade no', record]])
    return
  }
  printFacts([
    ['status', stateText(ORDER_RECORD_STATUS, record.status)],
    ['reason', record.reason],
    ['paid', record.pay_amount],
    ['refunded', record.refund_amount],
    ['paid at', longTime(record.pay_time)],
    ['refunded at', longTime(record.refund_time)],
  ])
}
