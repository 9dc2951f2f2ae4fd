import type { Command } from 'commander'
import { dayOf, limitOf } from './arguments.ts'
import { openContext } from './context.ts'
import { enterpriseOf } from './enterprise.ts'
import { UsageError } from './failure.ts'
import { print, printJson } from './output.ts'
import { printOrder, printOrders, printRecord } from './print-order.ts'
import { taken } from './taken.ts'

const DAY_MS = 86_400_000
/** The platform's days are those of GMT+8. */
const ZONE_MS = 8 * 3_600_000
const DEFAULT_DAYS = 30

/** `dirsync orders`: payment orders and order records, asked from the platform now. */
export function ordersCommand(program: Command): void {
  const command = program
    .command('orders')
    .summary('look at payment orders')
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
      `first day, of GMT+8 (default ${DEFAULT_DAYS} days before the last)`,
      dayOf('--from'),
    )
    .option('--to <day>', 'last day (default today)', dayOf('--to'))
    .option('--fees', 'with the records of service fees')
    .option('--enterprise <code>', 'enterprise (default PLATFORM_ENTERPRISE_CODE)')
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
    .description('tell everything about a payment order, with its goods')
    .argument('<trade-no>', 'number of the payment order')
    .option('--enterprise <code>', 'enterprise (default PLATFORM_ENTERPRISE_CODE)')
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
    .description("tell what a merchant's order came to: paid and refunded")
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

interface ListOptions {
  from?: string
  to?: string
  fees?: true
  enterprise?: string
  limit: number
  json?: true
}

async function list(options: ListOptions): Promise<void> {
  const { json = false, limit } = options
  const to = options.to ?? dayAt(Date.now())
  const from = options.from ?? dayAt(Date.parse(to) - ZONE_MS - DEFAULT_DAYS * DAY_MS)
  if (from > to) throw new UsageError(`--from ${from} lies after --to ${to}: give the earlier day first`)
  const { orExplained } = await import('./platform-failure.ts')
  await using context = await openContext()
  const { paymentOrders } = await context.platform()
  const found = paymentOrders.list(
    {
      time_start: from,
      time_end: to,
      contain_fee_trade: options.fees ? 1 : 2,
      page_size: Math.min(limit + 1, 100),
      ...enterpriseOf(context, options.enterprise),
    },
    { priority: 1 },
  )
  const { rows, more } = await orExplained('enterprise/consume/list', json, taken(found, limit))
  if (json) return printJson({ from, to, more, orders: rows })
  if (rows.length === 0)
    return print(
      `There is no payment order from ${from} to ${to}: try other days (--from, --to) or another enterprise (--enterprise).`,
    )
  printOrders(rows)
  print(
    '',
    more ? `${rows.length} shown, and there are more: --limit, or fewer days.` : `${rows.length} in all.`,
  )
  const enterprise = options.enterprise === undefined ? '' : ` --enterprise ${options.enterprise}`
  print(`Everything about one: ${context.program} orders show ${rows[0]?.trade_no}${enterprise}`)
}

async function show(trade_no: string, options: { enterprise?: string; json?: true }): Promise<void> {
  const { json = false } = options
  const { orExplained } = await import('./platform-failure.ts')
  await using context = await openContext()
  const { paymentOrders } = await context.platform()
  const order = await orExplained(
    'enterprise/consume/get',
    json,
    paymentOrders.get({ trade_no, ...enterpriseOf(context, options.enterprise) }, { priority: 1 }),
  )
  if (json) printJson(order)
  else printOrder(order)
}

async function record(outer_trade_no: string, options: { json?: true }): Promise<void> {
  const { json = false } = options
  const { orExplained } = await import('./platform-failure.ts')
  await using context = await openContext()
  const { orders } = await context.platform()
  const found = await orExplained(
    'seller/pay/record',
    json,
    orders.record({ outer_trade_no }, { priority: 1 }),
  )
  if (json) printJson(found)
  else printRecord(outer_trade_no, found)
}

function dayAt(ms: number): string {
  return new Date(ms + ZONE_MS).toISOString().slice(0, 10)
}
