import type { Command } from 'commander'
import { money } from '../console/money/routes.ts'
import { isOpen } from '../money/journal.ts'
import { recordMayTell } from '../money/refund.ts'
import { says } from '../texts/message.ts'
import { newNumber, REFUND_NUMBER } from './arguments.ts'
import { openContext } from './context.ts'
import { runEndpoint, see, shellAsk } from './definition.ts'
import { FailedError } from './failure.ts'
import { addList, addNumbered, addResolve, addShow, type MoneyKind } from './money.ts'
import { addRequestOptions, type RequestFlags, type RequestValues, requestOf } from './request.ts'

const FLAGS: RequestFlags = {
  outerTradeNo: ['--order <outer-trade-no>', 'external trade number of the order'],
  refundAmount: ['--amount <amount>', 'amount to refund, such as 12.50'],
  reason: ['--reason <reason>', 'why, in 1 to 254 characters'],
  outerRefundNo: [
    '--number <outer-refund-no>',
    'external refund number; starts with the application id (default: a new one)',
  ],
  notifyUrl: ['--notify-url <url>', 'address to be notified (default NOTIFICATION_URL)'],
  costAmount: ['--cost-amount <amount>', 'settlement price, in price-difference mode'],
  deliveryFee: ['--delivery-fee <amount>', 'shipping fee, where the settlement price is without it'],
  enterprise_code: ['--enterprise <code>', 'enterprise (default PLATFORM_ENTERPRISE_CODE)'],
}
const REQUIRED = ['outerTradeNo', 'refundAmount', 'reason']

const REFUNDS: MoneyKind = {
  kind: 'refunds',
  command: 'refund',
  argument: 'outer-refund-no',
  numberMeaning: 'external refund number',
  exampleNumber: 'app1R20261121080000XYZ',
  exampleReason: 'the vendor says so',
}

/** `dirsync refund`: refunds of merchant orders, and their outcomes. */
export function refundCommand(program: Command): void {
  const command = program
    .command('refund')
    .description('refund an order: send, list, show, settle, resolve')
    .addHelpText(
      'after',
      `
A refund is written down before it is sent, and its number is never sent twice.
If its outcome is unknown, the order record tells what became of it: the service
asks by itself, and settle asks now. Accepted is not completed: settle asks
whether the order record shows it; and of one that may have been carried out
after all, whether it still does, unless the mirror has the order: that decides
then. That it was not carried out shows only with the order's payment orders,
which dirsync has from their mirror (MIRRORS=orders). Where the records cannot
tell, find out from the vendor and say it with resolve.

Examples:
  dirsync refund send --order app1-000017 --amount 12.50 --reason "damaged"
  dirsync refund list --state unknown
  dirsync refund settle app1R20261121080000XYZ`,
    )
  addSend(command)
  addList(command, REFUNDS)
  addShow(command, REFUNDS)
  const settling = command.command('settle').description('find out now what became of one')
  addNumbered(settling, REFUNDS).action(settle)
  addResolve(command, REFUNDS)
}

function addSend(command: Command): void {
  const send = command.command('send').description('refund an order; on a terminal it asks you first')
  addRequestOptions(send, FLAGS)
  send
    .addHelpText(
      'after',
      `
The file holds the platform's request, with tradeInfo where needed (see
dirsync platform seller/v3/pay/syncRefund --help); flags override its fields.

Examples:
  dirsync refund send --order app1-000017 --amount 12.50 --reason "damaged"
  dirsync refund send --json refund.json --amount 12.50 --yes`,
    )
    .action(async (values: RequestValues) => {
      const { sendRefundRequest } = await import('./send-money.ts')
      await sendRefundRequest(await requestOf(values, FLAGS, REQUIRED), config => ({
        outerRefundNo: newNumber(config.PLATFORM_APP_ID, REFUND_NUMBER, new Date()),
        ...(config.NOTIFICATION_URL === null ? {} : { notifyUrl: config.NOTIFICATION_URL }),
      }))
    })
}

async function settle(number: string, options: { json?: true }): Promise<void> {
  await using context = await openContext()
  const { refund, settle } = money(context)
  const asked = { params: { number }, input: {} }
  const ask = shellAsk(context, options.json && 'en')
  const read = await runEndpoint(context, refund, asked, ask)
  if (isOpen(read) || recordMayTell(read)) await runEndpoint(context, settle, asked, ask)
  const found = await see(context, refund, asked, options)
  const last = found.events.findLast(({ event }) => event === 'checked')?.text ?? null
  const isUnread =
    recordMayTell(found) && (says(last, 'said.could_not_read') || says(last, 'said.record_not_readable'))
  // It says itself what to do.
  if (isOpen(found) || isUnread) throw new FailedError('')
}
