import type { Command } from 'commander'
import { io } from '../lib/io.ts'
import type { OrderRecord, PaymentOrder, PaymentOrderDetail } from '../platform/operations/payment-order.ts'
import {
  ACTIVITY_TYPE,
  ASSET_CODE,
  ORDER_RECORD_STATUS,
  ORDER_STATUS,
  PAYMENT_ORDER_STATUS,
  TRADE_STATUS,
  TRADE_TYPE,
} from '../platform/states.ts'
import { dayOf, limitOf } from './arguments.ts'
import { UsageError } from './failure.ts'
import {
  ASKED_BY_PERSON,
  ENTERPRISE,
  enterpriseFlag,
  firstOf,
  type LookUpOptions,
  lookUp,
  printShown,
  stateText,
} from './look-up.ts'
import { colours, longTime, print, printFacts, printJson, printTitle, shortTime, table } from './output.ts'

const DAY_MS = 86_400_000
/** The platform's days are in GMT+8. */
const ZONE_MS = 8 * 3_600_000
const DEFAULT_DAYS = 30

/** `dirsync orders`: payment orders and order records, read from the platform. */
export function ordersCommand(program: Command): void {
  const command = program
    .command('orders')
    .description('look at payment orders, as the platform has them now')
    .addHelpText(
      'after',
      `
Personal data is shown unmasked: it is what an operator asked for.

Examples:
  dirsync orders list --from 2026-11-01 --to 2026-11-21
  dirsync orders show 1234567890123456
  dirsync orders record mall0001-2026-000017`,
    )

  command
    .command('list')
    .description('list the payment orders of some days')
    .option(
      '--from <day>',
      `first day, in GMT+8 (default ${DEFAULT_DAYS} days before the last)`,
      dayOf('--from'),
    )
    .option('--to <day>', 'last day (default today)', dayOf('--to'))
    .option('--fees', 'with the records of service fees')
    .option(...ENTERPRISE)
    .option('--limit <n>', 'how many to list', limitOf, 50)
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      `
Examples:
  dirsync orders list
  dirsync orders list --from 2026-11-01 --to 2026-11-21 --limit 200
  dirsync orders list --from 2026-11-21 --json | jq '.orders[].trade_no'`,
    )
    .action(list)

  command
    .command('show')
    .description('show a payment order with its goods')
    .argument('<trade-no>', 'number of the payment order')
    .option(...ENTERPRISE)
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      `
Examples:
  dirsync orders show 1234567890123456
  dirsync orders show 1234567890123456 --json`,
    )
    .action(show)

  command
    .command('record')
    .description("show what was paid and refunded of a merchant's order")
    .argument('<outer-trade-no>', 'external trade number; starts with the application id')
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      `
Examples:
  dirsync orders record mall0001-2026-000017`,
    )
    .action(record)
}

interface ListOptions extends LookUpOptions {
  from?: string
  to?: string
  fees?: true
  limit: number
}

async function list(options: ListOptions): Promise<void> {
  const { limit } = options
  const to = options.to ?? dayAt(Date.now())
  const from = options.from ?? dayAt(Date.parse(to) - ZONE_MS - DEFAULT_DAYS * DAY_MS)
  if (from > to) throw new UsageError(`--from ${from} lies after --to ${to}: give the earlier day first`)
  const query = {
    time_start: from,
    time_end: to,
    contain_fee_trade: options.fees ? 1 : 2,
    page_size: Math.min(limit + 1, 100),
  }
  const { found, program } = await lookUp('enterprise/consume/list', options, (client, enterprise) =>
    firstOf(client.paymentOrders.list({ ...query, ...enterprise }, ASKED_BY_PERSON), limit),
  )
  const { rows, more } = found
  if (options.json) return printJson({ from, to, more, orders: rows })
  if (rows.length === 0)
    return print(
      `There is no payment order from ${from} to ${to}: try other days (--from, --to) or another enterprise (--enterprise).`,
    )
  printOrders(rows)
  printShown(rows, more)
  print(`Everything about one: ${program} orders show ${rows[0]?.trade_no}${enterpriseFlag(options)}`)
}

async function show(trade_no: string, options: LookUpOptions): Promise<void> {
  const { found } = await lookUp('enterprise/consume/get', options, (client, enterprise) =>
    client.paymentOrders.get({ trade_no, ...enterprise }, ASKED_BY_PERSON),
  )
  if (options.json) printJson(found)
  else printOrder(found)
}

async function record(outer_trade_no: string, options: LookUpOptions): Promise<void> {
  const { found } = await lookUp('seller/pay/record', options, client =>
    client.orders.record({ outer_trade_no }, ASKED_BY_PERSON),
  )
  if (options.json) printJson(found)
  else printRecord(outer_trade_no, found)
}

/** The day of a moment in the platform's calendar. */
function dayAt(ms: number): string {
  return new Date(ms + ZONE_MS).toISOString().slice(0, 10)
}

/** Payment orders under each other. */
function printOrders(orders: PaymentOrder[]): void {
  io().stdout.write(
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

/** Everything about a payment order; for an order of the new mall, its orders and goods too. */
function printOrder(order: PaymentOrderDetail): void {
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
  io().stdout.write(
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

/**
 * The order record of a merchant's order. Some platforms answer with nothing but their own number for it (section
 * 2.8).
 */
function printRecord(outerTradeNo: string, record: OrderRecord | string): void {
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
