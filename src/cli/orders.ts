import type { Command } from 'commander'
import { platformDay, shellWord } from '../lib/text.ts'
import { paidWith } from '../money/refund.ts'
import type { OrderRecord, PaymentOrder, PaymentOrderDetail } from '../platform/operations/payment-order.ts'
import { message } from '../texts/message.ts'
import { dayOf, limitOf } from './arguments.ts'
import { UsageError } from './failure.ts'
import { say } from './language.ts'
import {
  ASKED_BY_PERSON,
  amountText,
  ENTERPRISE,
  enterpriseFlag,
  firstOf,
  type LookUpOptions,
  lookUp,
  shownText,
  stateText,
} from './look-up.ts'
import {
  colours,
  columnTitle,
  longTime,
  print,
  printJson,
  printNamedFacts,
  printTable,
  printTitle,
  shortTime,
} from './output.ts'

const DAY_MS = 86_400_000
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
    .option(...ENTERPRISE)
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
  const to = options.to ?? platformDay(new Date())
  // Midnight in UTC is 8 o'clock of the same day there.
  const from = options.from ?? platformDay(new Date(Date.parse(to) - DEFAULT_DAYS * DAY_MS))
  if (from > to) throw new UsageError(message('said.days_reversed', { from, to }))
  const query = {
    time_start: from,
    time_end: to,
    contain_fee_trade: options.fees ? 1 : 2,
    page_size: Math.min(limit + 1, 100),
  }
  const { found, program } = await lookUp('enterprise/consume/list', options, (client, enterprise) =>
    firstOf(client.paymentOrders.list({ ...query, ...enterprise }, ASKED_BY_PERSON), limit),
  )
  const { rows, ...rest } = found
  if (options.json) return printJson({ from, to, ...rest, orders: rows })
  if (rows.length === 0) return print(rest.more ? shownText(found) : say('shell.no_orders', { from, to }))
  printOrders(rows)
  print('', shownText(found))
  const number = rows.find(row => row.trade_no)?.trade_no
  if (!number) return
  print(
    say('shell.order_shown', {
      command: `${program} orders show ${shellWord(number)}${enterpriseFlag(options)}`,
    }),
  )
}

async function show(trade_no: string, options: LookUpOptions): Promise<void> {
  const { found } = await lookUp('enterprise/consume/get', options, (client, enterprise) =>
    client.paymentOrders.get({ trade_no, ...enterprise }, ASKED_BY_PERSON),
  )
  if (options.json) printJson(found)
  else printOrder(found)
}

async function record(outer_trade_no: string, options: LookUpOptions): Promise<void> {
  const { found } = await lookUp('seller/pay/record', options, async (client, enterprise, pool) => ({
    record: await client.orders.record({ outer_trade_no, ...enterprise }, ASKED_BY_PERSON),
    asset: options.json ? null : await paidWith(pool, outer_trade_no),
  }))
  if (options.json) printJson(found.record)
  else printRecord(outer_trade_no, found.record, found.asset)
}

/** Payment orders under each other. */
function printOrders(orders: PaymentOrder[]): void {
  printTable(orders, [
    { title: columnTitle('trade_no'), of: row => row.trade_no ?? null, whole: true },
    { title: columnTitle('created'), of: row => shortTime(row.create_time) },
    { title: columnTitle('user'), of: row => row.userid, gives: true },
    { title: columnTitle('subject'), of: row => row.subject, gives: true, spare: true },
    { title: columnTitle('paid'), of: row => amountText(row.pay_amount, null), align: 'right' },
    { title: columnTitle('refunded'), of: row => amountText(row.refund_amount, null), align: 'right' },
    { title: columnTitle('asset'), of: row => row.assetCode },
    { title: columnTitle('status'), of: row => stateText('payment_order_status', row.status), gives: true },
  ])
}

/** Everything about a payment order; for an order of the new mall, its orders and goods too. */
function printOrder(order: PaymentOrderDetail): void {
  print(colours.bold(say('shell.title.payment_order', { number: order.trade_no })))
  printNamedFacts([
    ['status', stateText('payment_order_status', order.status)],
    ['user', order.userid],
    ['payer', order.payer_name],
    ['subject', order.subject],
    ['total', amountText(order.total_amount, order.assetCode)],
    ['paid', amountText(order.pay_amount, order.assetCode)],
    ['refunded', amountText(order.refund_amount, order.assetCode)],
    ['asset', stateText('asset_code', order.assetCode)],
    ['order', order.out_trade_no],
    ['created', longTime(order.create_time)],
    ['paid_at', longTime(order.pay_time)],
    ['refunded_at', longTime(order.refund_time)],
  ])
  const mall = order.commerce_order_detail
  if (!mall) return
  printTitle(say('shell.title.mall_order'))
  printNamedFacts([
    ['order', mall.shop_order_code],
    ['activity', stateText('activity_type', mall.activity_type)],
    ['type', stateText('trade_type', mall.trade_type)],
    ['trade_status', stateText('trade_status', mall.trade_status)],
    ['buyer', mall.buyer_name],
    ['price', amountText(mall.order_price, order.assetCode)],
    ['shipping_fee', amountText(mall.logistics_amount, order.assetCode)],
    ['buyer_message', mall.remark],
    ['closed_because', mall.cancel_order_reason_desc],
  ])
  for (const [i, delivery] of (mall.order_list ?? []).entries())
    printDelivery(delivery, i + 1, order.assetCode)
}

type Mall = NonNullable<PaymentOrderDetail['commerce_order_detail']>
type Delivery = NonNullable<Mall['order_list']>[number]

function printDelivery(delivery: Delivery, number: number, asset: string | null): void {
  printTitle(say('shell.title.delivery', { number: String(number) }))
  printNamedFacts([
    ['status', stateText('order_status', delivery.order_status)],
    ['trade_status', stateText('trade_status', delivery.trade_status)],
    ['recipient', delivery.delivery_name],
    ['phone', delivery.delivery_phone],
    ['address', delivery.address],
    ['price', amountText(delivery.order_price, asset)],
    ['shipping_fee', amountText(delivery.logistics_amount, asset)],
    ['deal', longTime(delivery.time_created)],
    ['shipped', longTime(delivery.time_delivery)],
    ['ship_until', longTime(delivery.time_delivery_end)],
    ['closed', longTime(delivery.time_closed)],
  ])
  const products = delivery.product_list ?? []
  if (products.length === 0) return
  print('')
  printTable(products, [
    { title: 'SKU', of: row => row.sku_code ?? null },
    { title: columnTitle('goods'), of: row => row.product_title ?? row.spu_name, gives: true },
    { title: columnTitle('spec'), of: row => row.sku_category ?? row.sku_name, gives: true },
    { title: columnTitle('count'), of: row => row.purchase_num, align: 'right' },
    { title: columnTitle('price'), of: row => amountText(row.current_price, asset), align: 'right' },
    { title: columnTitle('deal_price'), of: row => amountText(row.deal_price, asset), align: 'right' },
  ])
}

/**
 * The order record of a merchant's order. Some platforms answer with nothing but their own number for it (section
 * 2.8).
 */
function printRecord(outerTradeNo: string, record: OrderRecord | string, asset: string | null): void {
  print(colours.bold(say('shell.title.order', { number: outerTradeNo })))
  if (typeof record === 'string') {
    printNamedFacts([['trade_no', record]])
    return
  }
  printNamedFacts([
    ['status', stateText('order_record_status', record.status)],
    ['reason', record.reason],
    ['paid', amountText(record.pay_amount, asset)],
    ['refunded', amountText(record.refund_amount, asset)],
    ['paid_at', longTime(record.pay_time)],
    ['refunded_at', longTime(record.refund_time)],
  ])
}
