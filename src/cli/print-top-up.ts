import type { TopUp } from '../store/topup.ts'
import { colours } from './colours.ts'
import { print, printArrow, printFacts } from './output.ts'
import { paintSentState, sentStateText } from './sent-state.ts'
import { table } from './table.ts'
import { longTime, shortTime } from './time.ts'

/** Top-up applications under each other, and how to look closer. */
export function printTopUps(topUps: TopUp[], more: boolean, program: string): void {
  process.stdout.write(
    table(
      [
        { title: 'NUMBER', of: row => row.external_code, gives: true },
        { title: 'ACCOUNT', of: row => row.account_openid, gives: true, spare: true },
        { title: 'AMOUNT', of: row => row.amount, align: 'right' },
        { title: 'STATE', of: row => row.state, paint: paintSentState },
        { title: 'SENT', of: row => shortTime(row.sent_at) },
      ],
      topUps,
    ),
  )
  print('', more ? `${topUps.length} shown, and there are more (--limit).` : `${topUps.length} in all.`)
  print(`Everything about one: ${program} topup show ${topUps[0]?.external_code}`)
}

/** Everything about a top-up application, and what to do where its outcome is unknown. */
export function printTopUp(topUp: TopUp, program: string): void {
  const { external_code: number, state } = topUp
  print(colours.bold(`Top-up ${number}`))
  printFacts([
    ['state', sentStateText(state)],
    ['account', topUp.account_openid],
    ['amount', topUp.amount],
    ['enterprise', topUp.enterprise_code],
    // Once a person has said it, the message tells of a doubt that is over.
    ['message', topUp.resolved_by ? null : topUp.message],
    ['code', topUp.platform_code],
    ['although open', topUp.although_open.join(', ') || null],
    ['application', topUp.apply_charge_openid],
    ['trace', topUp.trace_id],
    ['sent', `${longTime(topUp.sent_at)} by ${topUp.requested_by}`],
    ['outcome known', longTime(topUp.settled_at)],
    ['resolved', topUp.resolved_by && `by ${topUp.resolved_by}: ${topUp.resolution}`],
  ])
  if (state === 'unknown')
    printArrow(
      `See in the platform's back office whether it is there, then: ${program} topup resolve ${number} --as accepted (or rejected) --reason "…"`,
    )
}
