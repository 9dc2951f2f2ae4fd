import type { Refund } from '../store/refund.ts'
import { colours } from './colours.ts'
import { print, printArrow, printFacts } from './output.ts'
import { paintSentState, sentStateText } from './sent-state.ts'
import { table } from './table.ts'
import { longTime, shortTime } from './time.ts'

/** Refunds under each other, and how to look closer. */
export function printRefunds(refunds: Refund[], more: boolean, program: string): void {
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
export function printRefund(refund: Refund, program: string): void {
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
