import type { Halt } from '../store/halt.ts'
import type { SyncSummary } from '../store/summary.ts'
import { colours } from './colours.ts'
import type { SyncResult } from './first-sync.ts'
import { pad, terminalWidth } from './layout.ts'
import { counted, print, printArrow, printText, words } from './output.ts'
import { shortTime } from './time.ts'

/** What each standing means, for whoever reads it for the first time. */
const STANDINGS = {
  in_step: 'the platform held everything already',
  updated: 'brought in step',
  partly_updated: 'all but the fields that the platform refused',
  awaiting_activation: 'not on the platform yet; asked again later',
  dead_lettered: 'nothing could be sent; waits for review',
  halted: 'their enterprise is halted, see below',
  waiting: 'still in the outbox; goes on by itself',
} as const satisfies Record<Exclude<keyof SyncSummary['employees'], 'in_scope'>, string>

/** Prints what a sync came to: one JSON document for machines, a few aligned lines for a person. */
export function printSummary(
  sync: SyncResult,
  options: { json: boolean; program: string; psql: boolean },
): void {
  const { ok, runs, summary, halts, seconds } = sync
  if (options.json) {
    const messages = sync.messages.map(({ run, message }) => ({ run, message }))
    process.stdout.write(`${JSON.stringify({ ok, runs, ...summary, halts, messages, seconds })}\n`)
    return
  }
  const headline = ok ? colours.green('The sync is done') : colours.red('The sync did not come to its end')
  print('', `${colours.bold(headline)}, after ${seconds} s.`)
  printMessages(sync.messages, options.program)
  printEmployees(summary.employees)
  printDeadLetters(summary.dead_letters)
  printMoney(summary.outcome_unknown)
  printRest(summary)
  for (const halt of halts) printHalt(halt)
  printHints(summary, options)
}

function printEmployees({ in_scope, ...standings }: SyncSummary['employees']): void {
  heading('Employees', in_scope, 'in scope')
  for (const [name, meaning] of Object.entries(STANDINGS)) {
    const count = standings[name as keyof typeof STANDINGS]
    if (count > 0) line(words(name), count, meaning)
  }
}

function printDeadLetters(categories: SyncSummary['dead_letters']): void {
  const entries = Object.entries(categories).sort(([a, m], [b, n]) => n - m || a.localeCompare(b))
  const total = entries.reduce((sum, [, count]) => sum + count, 0)
  heading('Dead letters', total, total === 0 ? 'nothing to review' : 'cases to review, by category')
  for (const [category, count] of entries) line(category, count, '')
}

function printMoney({ refunds, topups, for_person }: SyncSummary['outcome_unknown']): void {
  if (refunds + topups === 0) return
  const waiting = for_person > 0 ? `; ${for_person} wait${for_person === 1 ? 's' : ''} for a person` : ''
  const parts = [refunds > 0 && counted(refunds, 'refund'), topups > 0 && counted(topups, 'top-up')]
  heading('Outcome unknown', refunds + topups, parts.filter(Boolean).join(', ') + waiting)
}

function printRest({ departments, openids, platform_calls }: SyncSummary): void {
  const gone = departments.already_gone
  heading('Departments', departments.deleted, `deleted${gone > 0 ? `; ${gone} more had gone already` : ''}`)
  heading('Open ids', openids.bound, 'bound')
  const calls = Object.entries(platform_calls).sort(([, a], [, b]) => b - a)
  const total = calls.reduce((sum, [, count]) => sum + count, 0)
  heading('Calls', total, total === 0 ? 'to the platform' : 'to the platform, by operation')
  for (const [operation, count] of calls) line(operation, count, '')
}

function printHalt({ scope, message, remedy, since }: Halt): void {
  const what = scope === '*' ? 'Everything' : `Enterprise ${scope}`
  print('', colours.red(`${what} is halted since ${shortTime(since)}`))
  printText(message)
  printArrow(remedy)
}

function printMessages(messages: SyncResult['messages'], program: string): void {
  for (const { run, state, message } of messages) {
    print('', colours.yellow(`Run ${run}: ${words(state)}`))
    printText(message)
    if (state === 'held')
      printArrow(`${program} plan ${run}, then approve ${run} or reject ${run} --reason "…"`)
  }
}

function printHints(
  { dead_letters, outcome_unknown }: SyncSummary,
  { program, psql }: { program: string; psql: boolean },
): void {
  const hints = [
    ...(Object.keys(dead_letters).length > 0
      ? [
          ['dead-letters list', 'every case'],
          ['dead-letters show ID', 'what to do about one'],
        ]
      : []),
    ...(outcome_unknown.refunds > 0 ? [['refund list --state unknown', '']] : []),
    ...(outcome_unknown.topups > 0 ? [['topup list --state unknown', '']] : []),
    ['employee ID', 'HR against the platform, attempts, cases'],
    ['status', 'where things stand'],
  ].map(([command, does]) => [`${program} ${command}`, does as string])
  if (psql) hints.push(['psql "$DATABASE_URL" -c "table dirsync.failed_syncs"', ''])
  const width = Math.max(...hints.filter(([, does]) => does).map(([command = '']) => command.length))
  print('', colours.bold('Look closer'))
  for (const [command = '', does = ''] of hints)
    print(`  ${does ? `${pad(command, width)}   ${colours.dim(does)}` : command}`)
}

function heading(name: string, count: number, note: string): void {
  print('', `${colours.bold(pad(name, NAME))}${number(count)}  ${colours.dim(note)}`.trimEnd())
}

function line(name: string, count: number, note: string): void {
  const room = terminalWidth() - NAME - COUNT - 2
  const label = pad(`  ${name}`, NAME)
  const amount = pad(count.toLocaleString('en'), NAME + COUNT - label.length, 'right')
  print(`${label}${amount}  ${note.length > room ? '' : colours.dim(note)}`.trimEnd())
}

const NAME = 26
const COUNT = 7

function number(count: number): string {
  return pad(count.toLocaleString('en'), COUNT, 'right')
}
