import type { Command } from 'commander'
import { ASSET_CODE, meaningOf, PAYMENT_ORDER_STATUS } from '../platform/states.ts'
import { type EmployeeStory, readEmployeeStory } from '../report/employee-story.ts'
import { employeeName } from './arguments.ts'
import { lookAtEmployee, printView, viewDocument } from './compare.ts'
import { openContext } from './context.ts'
import {
  colours,
  longTime,
  paintState,
  print,
  printFacts,
  printJson,
  printTable,
  printText,
  printTitle,
  shortTime,
  words,
} from './output.ts'

/** `dirsync employee`: one employee's story. */
export function employeeCommand(program: Command): void {
  program
    .command('employee')
    .description(
      "tell one employee's story: HR against the platform, work, attempts, dead letters, payment orders",
    )
    .argument('<id>', 'user id, or enterprise/userid', employeeName)
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      `
Asks HR and the platform. Personal data is masked.

Examples:
  dirsync employee e10172
  dirsync employee E200/e10172 --json`,
    )
    .action(employee)
}

async function employee(name: string, options: { json?: true }): Promise<void> {
  await using context = await openContext()
  const view = await lookAtEmployee(context, name)
  const story = await readEmployeeStory(context.pool, view.key)
  if (options.json) return printJson({ ...viewDocument(view), fields: view.preview?.fields ?? [], ...story })
  const { enterpriseCode, userid } = view.key
  print(colours.bold(`Employee ${userid}${enterpriseCode === '' ? '' : ` of enterprise ${enterpriseCode}`}`))
  printView(view)
  printRecord(story)
  printPending(story)
  printAttempts(story)
  printDeadLetters(story, context.program)
  printBindings(story)
  printOrders(story)
}

function printRecord({ record, halts }: EmployeeStory): void {
  printTitle('What dirsync knows')
  if (!record) {
    print('  nothing yet: no run has seen the employee')
    return
  }
  printFacts([
    ['standing', record.in_step ? 'in step' : 'not in step'],
    ['on platform', words(record.platform_state)],
    ['confirmed', longTime(record.acknowledged_at)],
    ['asked', longTime(record.queried_at)],
    ['left HR', longTime(record.vanished_at)],
    ['not sent', record.withheld.join(', ')],
  ])
  for (const { scope, message, remedy } of halts)
    printText(`halted (${scope === '*' ? 'everything' : `enterprise ${scope}`}): ${message} ${remedy}`)
}

function printPending({ pending }: EmployeeStory): void {
  if (pending.length === 0) return
  printTitle('Pending')
  printTable(pending, [
    { title: 'OPERATION', of: row => row.operation },
    { title: 'FOR', of: row => row.detail },
    { title: 'RUN', of: row => row.run_id, align: 'right' },
    { title: 'SINCE', of: row => shortTime(row.created_at) },
    { title: 'FAILED', of: row => row.attempts, align: 'right' },
    {
      title: 'NEXT',
      of: row =>
        row.replan_at ? 'waits for a plan' : row.enqueued_at ? 'in the queue' : shortTime(row.not_before),
    },
  ])
}

function printAttempts({ attempts }: EmployeeStory): void {
  printTitle('Attempts')
  if (attempts.length === 0) {
    print('  none')
    return
  }
  printTable(attempts, [
    { title: 'AT', of: row => shortTime(row.started_at) },
    { title: 'RUN', of: row => row.run_id, align: 'right' },
    { title: 'OPERATION', of: row => [row.operation, row.detail].filter(Boolean).join(' '), gives: true },
    { title: 'OUTCOME', of: row => row.outcome, paint: paintState },
    {
      title: 'SENT, OR WHY NOT',
      of: row => [row.fields.join(', '), row.error].filter(Boolean).join('; '),
      gives: true,
    },
  ])
}

function printDeadLetters({ dead_letters }: EmployeeStory, program: string): void {
  if (dead_letters.length === 0) return
  printTitle('Dead letters')
  printTable(dead_letters, [
    { title: 'ID', of: row => row.id, align: 'right' },
    { title: 'FIELD', of: row => row.field },
    { title: 'CATEGORY', of: row => row.category },
    { title: 'STATE', of: row => row.state, paint: paintState },
    { title: 'LAST', of: row => shortTime(row.last_failed_at) },
    { title: 'BLOCKED BY', of: row => row.blocked_by, gives: true },
  ])
  print(`  What to do about one: ${program} dead-letters show ${dead_letters[0]?.id}`)
}

function printBindings({ bindings }: EmployeeStory): void {
  if (bindings.length === 0) return
  printTitle('Open ids')
  printTable(bindings, [
    { title: 'MERCHANT', of: row => row.seller_appid },
    { title: 'OPEN ID', of: row => row.open_userid, gives: true },
    { title: 'SINCE', of: row => shortTime(row.bound_at) },
  ])
}

function printOrders({ payment_orders }: EmployeeStory): void {
  if (payment_orders.length === 0) return
  printTitle('Payment orders')
  printTable(payment_orders, [
    { title: 'ORDER', of: row => row.trade_no },
    { title: 'MADE', of: row => shortTime(row.created_at) },
    { title: 'SUBJECT', of: row => row.subject, gives: true },
    { title: 'PAID', of: row => row.pay_amount, align: 'right' },
    { title: 'REFUNDED', of: row => row.refund_amount, align: 'right', spare: true },
    { title: 'WITH', of: row => meaningOf(ASSET_CODE, row.asset_code) ?? row.asset_code, spare: true },
    { title: 'STATUS', of: row => meaningOf(PAYMENT_ORDER_STATUS, row.status) ?? row.status },
  ])
}
