import type { Command } from 'commander'
import { openRefunds } from '../money/refund.ts'
import { openTopUps } from '../money/top-up.ts'
import { createQueueBackend } from '../queue/backend.ts'
import { type Pace, readPace } from '../report/figures.ts'
import { type Overview, readOverview } from '../report/overview.ts'
import { timesLeft } from '../report/time-left.ts'
import { readDeployment } from '../sync/deployment.ts'
import { aliveProcesses, type ProcessRow } from '../sync/process.ts'
import { MOST_COUNTED, type WithheldField, withheldFields } from '../sync/withheld.ts'
import { type CommandContext, missingAmong, nobodyAlive, openContext } from './context.ts'
import { sentenceOf } from './failure.ts'
import {
  colours,
  counted,
  countsText,
  duration,
  examples,
  figure,
  paintState,
  perSecond,
  plain,
  print,
  printArrow,
  printFacts,
  printJson,
  printTable,
  printText,
  printTitle,
  shortTime,
  terminalWidth,
  timeLeftText,
  wrap,
} from './output.ts'

/** The queue as it answers, or why it does not. */
type QueueStatus =
  | { kind: string; waiting: number; active: number; paused: boolean }
  | { kind: string; error: string }

/** `dirsync status`: where things stand. */
export function statusCommand(program: Command): void {
  program
    .command('status')
    .description('show where things stand: processes, queue, halts, runs, dead letters')
    .option('--json', 'print one JSON document')
    .addHelpText('after', examples('dirsync status', 'dirsync status --json | jq .dead_letters'))
    .action(status)
}

async function status(options: { json?: true }): Promise<void> {
  await using context = await openContext()
  const { pool } = context
  const [overview, processes, queue, [pace, left], withheld, refunds, topUps] = await Promise.all([
    readOverview(pool),
    aliveProcesses(pool),
    queueStatus(context),
    readPace(pool).then(async pace => [pace, await timesLeft(pool, pace)] as const),
    withheldFields(pool),
    openRefunds(pool),
    openTopUps(pool),
  ])
  if (options.json) {
    const { employees, outbox, ...rest } = overview
    const alive = processes.map(({ startedAt, ...row }) => ({ ...row, started_at: startedAt }))
    return printJson({
      processes: alive,
      employees,
      queue,
      outbox,
      pace,
      time_left: left,
      ...rest,
      withheld,
      open_refunds: refunds,
      open_topups: topUps,
    })
  }
  printProcesses(processes, context.program)
  printHalts(overview)
  printEmployees(overview)
  printWork(overview, queue)
  printPace(pace)
  printWithheld(withheld, context.program)
  printRuns(overview, left)
  printMoney(refunds, topUps, context.program)
  printDeadLetters(overview, context.program)
}

async function queueStatus({ config, pool, logger }: CommandContext): Promise<QueueStatus> {
  const deployment = await readDeployment(pool)
  // Nothing was ever started, so there is no queue yet.
  if (!deployment)
    return { kind: config.REDIS_URL === null ? 'postgres' : 'redis', waiting: 0, active: 0, paused: false }
  const queue = createQueueBackend({
    redisUrl: config.REDIS_URL,
    databaseUrl: config.DATABASE_URL,
    deployment: deployment.id,
    // What is wrong with the queue is a line of the answer; its log would say it twice.
    logger: logger.child({}, { level: 'silent' }),
  })
  try {
    const [{ waiting, active }, paused] = await Promise.all([queue.counts(), queue.isPaused()])
    return { kind: queue.kind, waiting, active, paused }
  } catch (error) {
    return { kind: queue.kind, error: sentenceOf(error) }
  } finally {
    await queue.close()
  }
}

function printProcesses(processes: ProcessRow[], program: string): void {
  print(colours.bold('Processes'))
  if (processes.length > 0)
    printTable(processes, [
      { title: 'HOST', of: row => row.host, gives: true },
      { title: 'PID', of: row => row.pid, align: 'right' },
      { title: 'ROLES', of: row => row.roles.join(', ') },
      { title: 'SINCE', of: row => shortTime(row.startedAt) },
      { title: 'VERSION', of: row => row.version },
    ])
  const missing = missingAmong(processes)
  const sentence = nobodyAlive(missing, program)
  if (missing.length > 0) print(colours.yellow(`  ${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}`))
}

function printHalts({ halts }: Overview): void {
  if (halts.length === 0) return
  printTitle('Halted')
  for (const { scope, since, next_probe_at, message, remedy } of halts) {
    const what = scope === '*' ? 'everything' : `enterprise ${scope}`
    const until = next_probe_at ? `next try at ${shortTime(next_probe_at)}` : 'until somebody resumes'
    print(colours.red(`  ${what} since ${shortTime(since)}, ${until}`))
    printText(message, 4)
    printArrow(remedy, 4)
  }
}

function printEmployees({ employees: { in_scope, in_step, ...others } }: Overview): void {
  printTitle('Employees')
  if (in_scope === 0) {
    print('  none in scope yet')
    return
  }
  print(`  ${figure(in_step)} of ${figure(in_scope)} in step`)
  printText(countsText(others))
}

function printWork({ outbox }: Overview, queue: QueueStatus): void {
  printTitle('Work')
  const place = queue.kind === 'redis' ? 'Redis' : 'PostgreSQL'
  if ('error' in queue) printText(`queue in ${place}: ${queue.error}`)
  else
    print(
      `  queue in ${place}: ${queue.waiting} waiting, ${queue.active} active${queue.paused ? ', paused' : ''}`,
    )
  if (outbox.length === 0) {
    print('  outbox: empty')
    return
  }
  printTable(outbox, [
    { title: 'OUTBOX', of: row => row.operation },
    { title: 'WAITING', of: row => row.waiting, align: 'right' },
    { title: 'IN QUEUE', of: row => row.enqueued, align: 'right' },
    { title: 'LATER', of: row => row.postponed, align: 'right' },
    { title: 'SINCE', of: row => shortTime(row.since) },
  ])
}

/** How the calls to the platform go: the rate, the limit, and what each operation waits. */
function printPace(pace: Pace): void {
  printTitle('Platform calls')
  printFacts([
    [
      'rate',
      `${perSecond(pace.calls_per_second)}, ${counted(pace.calls_last_minute, 'call')} in the last minute`,
    ],
    ['permitted', permitted(pace)],
    ['used', pace.utilisation === null ? null : `${Math.round(pace.utilisation * 100)} %`],
    ['waiting', pace.waiting > 0 ? figure(pace.waiting) : null],
  ])
  if (pace.paused_until) {
    const reason = pace.pause_reason ? `: ${pace.pause_reason}` : ''
    print(colours.yellow(`  paused until ${shortTime(pace.paused_until)}${reason}`))
  }
  if (pace.cap) {
    const { per_second, until, set_by, reason } = pace.cap
    const lowered = `lowered to ${perSecond(per_second)} until ${shortTime(until)} by ${set_by}: ${reason}`
    for (const line of wrap(plain(lowered), terminalWidth() - 2)) print(colours.yellow(`  ${line}`))
  }
  if (pace.operations.length === 0) return
  printTable(pace.operations, [
    { title: 'IN 5 MINUTES', of: row => row.operation },
    { title: 'CALLS', of: row => figure(row.calls), align: 'right' },
    { title: 'MEAN WAIT', of: row => duration(row.mean_wait_ms), align: 'right' },
    { title: 'LONGEST', of: row => duration(row.longest_wait_ms), align: 'right' },
    { title: 'REJECTED', of: row => figure(row.too_fast), align: 'right' },
  ])
}

function permitted(pace: Pace): string {
  const { permitted_per_second: permitted, set_per_second: set, ceiling_per_second: rejected } = pace
  if (pace.workers === 0) return 'unknown, no worker is running'
  if (permitted === null) return 'not yet learnt'
  if (!pace.learnt || permitted === pace.cap?.per_second) return perSecond(permitted)
  if (set !== null)
    return `${perSecond(permitted)} of the ${perSecond(set)} set: more was rejected (last at ${perSecond(rejected ?? 0)})`
  return rejected === null
    ? `${perSecond(permitted)}, being learnt (nothing rejected yet)`
    : `${perSecond(permitted)}, learnt (last rejected at ${perSecond(rejected)})`
}

/** Fields that are switched off, even where the case is ignored. */
function printWithheld(withheld: WithheldField[], program: string): void {
  if (withheld.length === 0) return
  printTitle('Withheld')
  printTable(withheld, [
    { title: 'ENTERPRISE', of: row => row.enterprise_code || 'the only one' },
    { title: 'FIELD', of: row => fieldName(row), gives: true },
    { title: 'FROM', of: row => employeesText(row.employees), align: 'right' },
    { title: 'SINCE', of: row => shortTime(row.since) },
    { title: 'NEXT PROBE', of: row => shortTime(row.next_probe_at) },
    { title: 'DEAD LETTER', of: row => [row.dead_letter, row.state].filter(Boolean).join(' ') },
  ])
  const open = withheld.find(row => row.dead_letter !== null)
  if (open) print(`  Once it is switched on: ${program} dead-letters retry ${open.dead_letter}`)
}

function employeesText(employees: number): string {
  return employees > MOST_COUNTED
    ? `more than ${counted(MOST_COUNTED, 'employee')}`
    : counted(employees, 'employee')
}

function fieldName({ field, codes }: WithheldField): string {
  return codes === null ? field : `${field} ${codes.map(list => list.join(' with ')).join(', ')}`
}

function printRuns({ runs, jobs }: Overview, left: Awaited<ReturnType<typeof timesLeft>>): void {
  printTitle('Latest runs')
  if (runs.length === 0) print('  none yet')
  else
    printTable(runs, [
      { title: 'RUN', of: run => run.id, align: 'right' },
      { title: 'KIND', of: run => run.kind },
      { title: 'STATE', of: run => run.state, paint: paintState },
      { title: 'REQUESTED', of: run => shortTime(run.requested_at) },
      { title: 'FINISHED', of: run => shortTime(run.finished_at) },
      { title: 'PLANNED', of: run => run.planned, align: 'right' },
      { title: 'MESSAGE', of: run => run.message, gives: true },
    ])
  for (const run of left) printText(`run ${run.run}: ${timeLeftText(run)}`)
  if (jobs.length === 0) return
  printTitle('Next ticks')
  printTable(jobs, [
    { title: 'JOB', of: job => job.job },
    { title: 'SCHEDULE', of: job => job.expression },
    { title: 'NEXT', of: job => nextTick(job), gives: true },
  ])
}

function nextTick({ next_due_at: due, pause_reason: paused }: Overview['jobs'][number]): string | null {
  const time = shortTime(due)
  if (paused !== null) return `paused: ${paused}`
  return due.getTime() < Date.now() - 60_000 ? `missed ${time}; runs at the next start` : time
}

type OpenRefunds = Awaited<ReturnType<typeof openRefunds>>
type OpenTopUps = Awaited<ReturnType<typeof openTopUps>>

/** What was sent and has no known outcome, if there is any: a line with what to do. */
function printMoney(refunds: OpenRefunds, topUps: OpenTopUps, program: string): void {
  if (refunds.unknown === 0 && topUps.unknown === 0) return
  const line = (what: string, { unknown, oldest }: OpenTopUps, command: string) => {
    const since = oldest ? ` since ${shortTime(oldest)}` : ''
    if (unknown > 0)
      print(colours.red(`  ${counted(unknown, what)}${since}: ${program} ${command} list --state unknown`))
  }
  printTitle('Outcome unknown')
  line('refund', refunds, 'refund')
  if (refunds.for_person > 0)
    print(colours.red(`    of which ${refunds.for_person} for a person to find out`))
  line('top-up', topUps, 'topup')
}

function printDeadLetters({ dead_letters }: Overview, program: string): void {
  const total = dead_letters.reduce((sum, row) => sum + row.count, 0)
  printTitle(`Dead letters: ${total}`)
  if (total === 0) return
  printTable(dead_letters, [
    { title: 'COUNT', of: row => row.count, align: 'right' },
    { title: 'CATEGORY', of: row => row.category },
    { title: 'STATE', of: row => row.state, paint: paintState },
  ])
  print(`  Look closer: ${program} dead-letters list`)
}
