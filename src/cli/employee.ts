import type { Command } from 'commander'
import { type EmployeeStory, readEmployeeStory } from '../console/employees/story.ts'
import { employeeName } from './arguments.ts'
import { lookAtEmployee, printView, viewDocument } from './compare.ts'
import { openContext } from './context.ts'
import { meaning, named, namedList, said, say } from './language.ts'
import {
  colours,
  longTime,
  paintedBy,
  print,
  printFacts,
  printJson,
  printTable,
  printText,
  printTitle,
  shortTime,
  words,
} from './output.ts'

/** `dirsync employee`: the story of one employee. */
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
  print(
    colours.bold(
      enterpriseCode === ''
        ? say('shell.employee_is', { userid })
        : say('shell.employee_of', { userid, code: enterpriseCode }),
    ),
  )
  printView(view)
  printRecord(story)
  printPending(story)
  printAttempts(story)
  printDeadLetters(story, context.program)
  printBindings(story)
  printOrders(story)
}

/** The status, with the run that awaits a decision or was rejected. */
function standingText({ standing, held }: NonNullable<EmployeeStory['record']>): string {
  const name = named('standing', standing)
  return held ? `${name} (#${held.run})` : name
}

function printRecord({ record, halts }: EmployeeStory): void {
  printTitle(say('shell.title.what_dirsync_knows'))
  if (!record) {
    print(`  ${say('shell.not_seen')}`)
    return
  }
  printFacts([
    [say('shell.fact.standing'), standingText(record)],
    [say('shell.fact.on_platform'), words(named('platform_state', record.platform_state))],
    [say('shell.fact.confirmed'), longTime(record.acknowledged_at)],
    [say('shell.fact.asked'), longTime(record.queried_at)],
    [say('shell.fact.left_hr'), longTime(record.vanished_at)],
    [say('shell.fact.not_sent'), namedList('field', record.withheld)],
  ])
  for (const { scope, message, remedy } of halts)
    printText(
      say('shell.halted_because', {
        what: scope === '*' ? say('shell.everything') : say('shell.enterprise', { code: scope }),
        reason: said([message, remedy]),
      }),
    )
}

function printPending({ pending }: EmployeeStory): void {
  if (pending.length === 0) return
  printTitle(say('shell.title.pending'))
  printTable(pending, [
    { title: say('shell.column.operation'), of: row => named('operation', row.operation) },
    { title: say('shell.column.for'), of: row => row.detail },
    { title: say('shell.column.run'), of: row => row.run_id, align: 'right' },
    { title: say('shell.column.since'), of: row => shortTime(row.created_at) },
    { title: say('shell.column.failed'), of: row => row.attempts, align: 'right' },
    {
      title: say('shell.column.next'),
      of: row =>
        row.replan_at
          ? say('shell.waits_for_plan')
          : row.enqueued_at
            ? say('shell.in_queue')
            : shortTime(row.not_before),
    },
  ])
}

function printAttempts({ attempts }: EmployeeStory): void {
  printTitle(say('shell.title.attempts'))
  if (attempts.length === 0) {
    print(`  ${say('shell.none')}`)
    return
  }
  printTable(attempts, [
    { title: say('shell.column.at'), of: row => shortTime(row.started_at) },
    { title: say('shell.column.run'), of: row => row.run_id, align: 'right' },
    {
      title: say('shell.column.operation'),
      of: row => [named('operation', row.operation), row.detail].filter(Boolean).join(' '),
      gives: true,
    },
    {
      title: say('shell.column.outcome'),
      of: row => named('outcome', row.outcome),
      paint: paintedBy(row => row.outcome),
    },
    {
      title: say('shell.column.sent_or_why_not'),
      of: row => [namedList('field', row.fields), said(row.error)].filter(Boolean).join('; '),
      gives: true,
    },
  ])
}

function printDeadLetters({ dead_letters }: EmployeeStory, program: string): void {
  if (dead_letters.length === 0) return
  printTitle(say('shell.title.dead_letters'))
  printTable(dead_letters, [
    { title: say('shell.column.id'), of: row => row.id, align: 'right' },
    { title: say('shell.column.field'), of: row => named('field', row.field) },
    { title: say('shell.column.category'), of: row => named('category', row.category) },
    {
      title: say('shell.column.state'),
      of: row => named('state', row.state),
      paint: paintedBy(row => row.state),
    },
    { title: say('shell.column.last'), of: row => shortTime(row.last_failed_at) },
    { title: say('shell.column.blocked_by'), of: row => row.blocked_by, gives: true },
  ])
  print(`  ${say('shell.what_to_do', { command: `${program} dead-letters show ${dead_letters[0]?.id}` })}`)
}

function printBindings({ bindings }: EmployeeStory): void {
  if (bindings.length === 0) return
  printTitle(say('shell.title.open_ids'))
  printTable(bindings, [
    { title: say('shell.column.merchant'), of: row => row.seller_appid },
    { title: say('shell.column.open_id'), of: row => row.open_userid, gives: true },
    { title: say('shell.column.since'), of: row => shortTime(row.bound_at) },
  ])
}

function printOrders({ payment_orders }: EmployeeStory): void {
  if (payment_orders.length === 0) return
  printTitle(say('shell.title.payment_orders'))
  printTable(payment_orders, [
    { title: say('shell.column.order'), of: row => row.trade_no },
    { title: say('shell.column.made'), of: row => shortTime(row.created_at) },
    { title: say('shell.column.subject'), of: row => row.subject, gives: true },
    { title: say('shell.column.paid'), of: row => row.pay_amount, align: 'right' },
    { title: say('shell.column.refunded'), of: row => row.refund_amount, align: 'right', spare: true },
    { title: say('shell.column.with'), of: row => meaning('asset_code', row.asset_code), spare: true },
    { title: say('shell.column.status'), of: row => meaning('payment_order_status', row.status) },
  ])
}
