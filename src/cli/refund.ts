import { type Command, Option } from 'commander'
import type { Config } from '../config.ts'
import type { Refund, RefundState } from '../money/refund.ts'
import { limitOf, newNumber, oneOf, REFUND_NUMBER } from './arguments.ts'
import { openContext } from './context.ts'
import { FailedError, UsageError } from './failure.ts'
import { colours, longTime, print, printArrow, printFacts, printJson, shortTime, table } from './output.ts'
import {
  addRequestOptions,
  paintSentState,
  REFUND_STATES,
  type RequestOption,
  type RequestValues,
  requestOf,
  sentStateText,
} from './request.ts'

const OPTIONS: RequestOption[] = [
  {
    field: 'outerTradeNo',
    flag: 'order',
    value: 'outer-trade-no',
    help: 'external trade number of the order',
    required: true,
  },
  {
    field: 'refundAmount',
    flag: 'amount',
    value: 'amount',
    help: 'amount to refund, such as 12.50',
    required: true,
  },
  { field: 'reason', flag: 'reason', value: 'reason', help: 'why, in 1 to 254 characters', required: true },
  {
    field: 'outerRefundNo',
    flag: 'number',
    value: 'outer-refund-no',
    help: 'external refund number; starts with the application id (default: a new one)',
  },
  {
    field: 'notifyUrl',
    flag: 'notify-url',
    value: 'url',
    help: 'address to be notified (default NOTIFICATION_URL)',
  },
  {
    field: 'costAmount',
    flag: 'cost-amount',
    value: 'amount',
    help: 'settlement price, in price-difference mode',
  },
  {
    field: 'deliveryFee',
    flag: 'delivery-fee',
    value: 'amount',
    help: 'shipping fee, where the settlement price is without it',
  },
  {
    field: 'enterprise_code',
    flag: 'enterprise',
    value: 'code',
    help: 'enterprise (default PLATFORM_ENTERPRISE_CODE)',
  },
]

/** `dirsync refund`: refunds of merchant orders, and what became of them. */
export function refundCommand(program: Command): void {
  const command = program
    .command('refund')
    .summary('refund an order, see what became of it')
    .description('refund an order: send, list, show, settle, resolve')
    .addHelpText(
      'after',
      `
A refund is written down before it is sent, and its number is never sent twice.
One whose outcome is unknown is settled by what the order record says: by the
service, or by hand with settle. Where that cannot tell, a person does: resolve.

Examples:
  dirsync refund send --order app1-000017 --amount 12.50 --reason "damaged"
  dirsync refund list --state unknown
  dirsync refund settle app1R20261121080000XYZ`,
    )
  sendCommand(command)
  command
    .command('list')
    .description('list the latest refunds, or those of a state')
    .option('--state <state>', `only these: ${REFUND_STATES.join(', ')}`, oneOf('state', REFUND_STATES))
    .option('--limit <n>', 'how many to list', limitOf, 50)
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      `
Examples:
  dirsync refund list
  dirsync refund list --state unknown`,
    )
    .action(list)
  numbered(command.command('show').description('tell everything about one'), 'show').action(show)
  numbered(
    command.command('settle').description('find out now what became of one whose outcome is unknown'),
    'settle',
  ).action(settle)
  numbered(
    command
      .command('resolve')
      .description('say what became of one where the order record cannot tell')
      .addOption(
        new Option('--as <outcome>', 'accepted: carried out; rejected: not carried out')
          .choices(['accepted', 'rejected'])
          .makeOptionMandatory(),
      )
      .requiredOption('--reason <reason>', 'how you know, for whoever asks later'),
    'resolve',
    ' --as accepted \\\n    --reason "the vendor says so"',
  ).action(resolve)
}

function sendCommand(command: Command): void {
  const send = command.command('send').description('refund an order, after a question on a terminal')
  addRequestOptions(send, OPTIONS)
  send
    .addHelpText(
      'after',
      `
The file holds the request of the specification, with tradeInfo where needed
(dirsync platform seller/v3/pay/syncRefund --help); flags override its fields.

Examples:
  dirsync refund send --order app1-000017 --amount 12.50 --reason "damaged"
  dirsync refund send --json refund.json --amount 12.50 --yes`,
    )
    .action(async (values: RequestValues) => {
      const { sendRefundRequest } = await import('./send-refund.ts')
      await sendRefundRequest(await requestOf(values, OPTIONS), defaults)
    })
}

function defaults(config: Config) {
  const { PLATFORM_APP_ID: appId, NOTIFICATION_URL: notifyUrl } = config
  return {
    outerRefundNo: newNumber(appId, REFUND_NUMBER, new Date()),
    ...(notifyUrl === null ? {} : { notifyUrl }),
  }
}

function numbered(command: Command, name: string, more = ''): Command {
  return command
    .argument('<outer-refund-no>', 'external refund number')
    .option('--json', 'print one JSON document')
    .addHelpText('after', `\nExamples:\n  dirsync refund ${name} app1R20261121080000XYZ${more}`)
}

async function list(options: { state?: RefundState; limit: number; json?: true }): Promise<void> {
  const { listRefunds } = await import('../money/refund.ts')
  await using context = await openContext()
  const { state, limit } = options
  const refunds = await listRefunds(context.pool, { ...(state ? { state } : {}), limit: limit + 1 })
  const shown = refunds.slice(0, limit)
  const more = refunds.length > limit
  if (options.json) printJson({ more, refunds: shown })
  else if (shown.length === 0)
    print(
      state
        ? `There is no refund of state ${state}.`
        : `dirsync has sent no refund yet: ${context.program} refund send --help`,
    )
  else printRefunds(shown, more, context.program)
}

async function show(number: string, options: { json?: true }): Promise<void> {
  const { readRefund } = await import('../money/refund.ts')
  await using context = await openContext()
  const refund = await readRefund(context.pool, number)
  if (!refund)
    throw new FailedError(`dirsync has sent no refund ${number}: ${context.program} refund list shows them`)
  if (options.json) printJson(refund)
  else printRefund(refund, context.program)
}

async function settle(number: string, options: { json?: true }): Promise<void> {
  const { settleNow } = await import('../money/settle.ts')
  await using context = await openContext()
  const { pool, logger, config, program } = context
  const notCarriedOutAfterMs = config.REFUND_LOST_AFTER_HOURS * 3_600_000
  const client = await context.platform()
  const refund = await settleNow({ pool, logger, client, notCarriedOutAfterMs }, number)
  if (options.json) printJson(refund)
  else printRefund(refund, program)
  // What is still open is printed already, with what to do.
  if (refund.state === 'unknown' || refund.state === 'requested') throw new FailedError('')
}

async function resolve(
  number: string,
  options: { as: 'accepted' | 'rejected'; reason: string; json?: true },
): Promise<void> {
  if (options.reason.trim() === '') throw new UsageError('--reason is empty: say how you know')
  const { resolveRefund } = await import('../money/refund.ts')
  await using context = await openContext()
  const refund = await resolveRefund(context.pool, number, options.as, options.reason.trim(), context.actor)
  if (options.json) printJson(refund)
  else print(`Refund ${number} is ${options.as}.`)
}

/** Refunds under each other, and how to look closer. */
function printRefunds(refunds: Refund[], more: boolean, program: string): void {
  process.stdout.write(
    table(
      [
        { title: 'NUMBER', of: row => row.outer_refund_no, gives: true },
        { title: 'ORDER', of: row => row.outer_trade_no, gives: true, spare: true },
        { title: 'AMOUNT', of: row => row.refund_amount, align: 'right' },
        { title: 'STATE', of: row => row.state, paint: paintSentState },
        { title: 'SENT', of: row => shortTime(row.sent_at) },
      ],
      refunds,
    ),
  )
  print('', more ? `${refunds.length} shown, and there are more (--limit).` : `${refunds.length} in all.`)
  print(`Everything about one: ${program} refund show ${refunds[0]?.outer_refund_no}`)
}

/** Everything about a refund, and what to do where its outcome is unknown. */
function printRefund(refund: Refund, program: string): void {
  const { outer_refund_no: number, state } = refund
  print(colours.bold(`Refund ${number}`))
  printFacts([
    ['state', sentStateText(state)],
    ['order', refund.outer_trade_no],
    ['amount', refund.refund_amount],
    ['refunded before', refund.refunded_before],
    ['enterprise', refund.enterprise_code],
    // Once the platform or a person has said it, the message tells of a doubt that is over.
    ['message', state === 'notified' || refund.resolved_by ? null : refund.message],
    ['code', refund.platform_code],
    ['trade', refund.trade_no],
    ['trace', refund.trace_id],
    ['sent', `${longTime(refund.sent_at)} by ${refund.requested_by}`],
    ['outcome known', longTime(refund.settled_at)],
    ['notified', longTime(refund.notified_at)],
    ['asked', refund.settle_attempts > 0 ? `${refund.settle_attempts} times about the order` : null],
    ['asked next', longTime(refund.next_settle_at)],
    ['for a person', state === 'unknown' ? longTime(refund.left_to_person_at) : null],
    ['resolved', refund.resolved_by && `by ${refund.resolved_by}: ${refund.resolution}`],
  ])
  if (state !== 'unknown') return
  printArrow(
    refund.next_settle_at && !refund.left_to_person_at
      ? `The service asks the order record again. Now: ${program} refund settle ${number}`
      : `The order record cannot tell. Find out from the vendor, then: ${program} refund resolve ${number} --as accepted (or rejected) --reason "…"`,
  )
}
