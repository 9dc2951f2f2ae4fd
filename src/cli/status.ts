import type { Command } from 'commander'
import { type FiringAlerts, firingAlerts } from '../alerts/report.ts'
import { type Overview, readOverview } from '../console/overview/read.ts'
import { openRefunds } from '../money/refund.ts'
import { openTopUps } from '../money/top-up.ts'
import { createQueueBackend } from '../queue/backend.ts'
import { readDeployment } from '../sync/deployment.ts'
import { type Pace, readPace } from '../sync/figures.ts'
import { aliveProcesses, type ProcessRow } from '../sync/process.ts'
import { timesLeft } from '../sync/time-left.ts'
import { MOST_COUNTED, type WithheldField, withheldFields } from '../sync/withheld.ts'
import { withActor } from '../texts/actor.ts'
import { type CommandContext, missingAmong, missingRolesText, openContext } from './context.ts'
import { sentenceOf } from './failure.ts'
import { named, namedList, said, say, who } from './language.ts'
import {
  colours,
  countsText,
  duration,
  examples,
  figure,
  paintedBy,
  perSecond,
  plain,
  print,
  printArrow,
  printFacts,
  printFrame,
  printJson,
  printTable,
  printText,
  printTitle,
  shortTime,
  terminalWidth,
  timeLeftText,
  wrap,
} from './output.ts'

/** The state of the queue, or why it does not answer. */
type QueueStatus =
  | { kind: string; waiting: number; active: number; paused: boolean }
  | { kind: string; error: string }

/** `dirsync status`: the state of everything. */
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
  const [deployment, overview, processes, queue, [pace, left], withheld, refunds, topUps, alerts] =
    await Promise.all([
      readDeployment(pool),
      readOverview(pool),
      aliveProcesses(pool),
      queueStatus(context),
      readPace(pool).then(async pace => [pace, await timesLeft(pool, pace)] as const),
      withheldFields(pool),
      openRefunds(pool),
      openTopUps(pool),
      firingAlerts(pool),
    ])
  if (options.json) {
    const { employees, outbox, ...rest } = overview
    const alive = processes.map(({ startedAt, isOutdated, ...row }) => ({
      ...row,
      started_at: startedAt,
      is_outdated: isOutdated,
    }))
    return printJson({
      deployment: deployment && { id: deployment.id, name: deployment.name },
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
      alerts,
    })
  }
  printFrame(deployment?.name ?? null)
  printProcesses(processes, context.program)
  printHalts(overview)
  printAlerts(alerts, context.program)
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
    // A fault of the queue is a line of the answer; the log would repeat it.
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
  print(colours.bold(say('shell.title.processes')))
  if (processes.length > 0)
    printTable(processes, [
      { title: say('shell.column.host'), of: row => row.host, gives: true },
      { title: say('shell.column.pid'), of: row => row.pid, align: 'right' },
      { title: say('shell.column.roles'), of: row => namedList('process_role', row.roles) },
      { title: say('shell.column.since'), of: row => shortTime(row.startedAt) },
      { title: say('shell.column.version'), of: row => row.version },
    ])
  const outdated = processes.filter(({ isOutdated }) => isOutdated)
  if (outdated.length > 0)
    printText(
      say('shell.outdated', { processes: outdated.map(({ host, pid }) => `${pid} (${host})`).join(', ') }),
      2,
    )
  const missing = missingAmong(processes)
  const sentence = missingRolesText(missing, program)
  if (missing.length > 0) print(colours.yellow(`  ${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}`))
}

function printHalts({ halts }: Overview): void {
  if (halts.length === 0) return
  printTitle(say('shell.title.halted'))
  for (const { scope, since, next_probe_at, message, remedy } of halts) {
    const what = scope === '*' ? say('shell.everything') : say('shell.enterprise', { code: scope })
    const until = next_probe_at
      ? say('shell.next_try', { time: shortTime(next_probe_at) })
      : say('shell.until_resumed')
    print(colours.red(`  ${say('shell.halted_since', { what, time: shortTime(since), until })}`))
    printText(said(withActor({ t: say }, message)), 4)
    printArrow(said(remedy), 4)
  }
}

function printAlerts({ count, worst }: FiringAlerts, program: string): void {
  if (worst === null) return
  printTitle(say('shell.title.alerts'))
  print(`  ${say('shell.alerts_go_on', { count, worst: named('severity', worst) })}`)
  printArrow(`${program} alerts`, 2)
}

function printEmployees({ employees: { in_scope, in_step, ...others } }: Overview): void {
  printTitle(say('shell.title.employees'))
  if (in_scope === 0) {
    print(`  ${say('shell.none_in_scope')}`)
    return
  }
  print(`  ${say('shell.in_step_of', { count: in_step, total: in_scope })}`)
  printText(countsText(others, 'standing'))
}

function printWork({ outbox }: Overview, queue: QueueStatus): void {
  printTitle(say('shell.title.work'))
  const place = queue.kind === 'redis' ? 'Redis' : 'PostgreSQL'
  if ('error' in queue) printText(say('shell.queue_error', { place, error: queue.error }))
  else
    print(
      `  ${say('shell.queue', { place, waiting: String(queue.waiting), active: String(queue.active) })}${queue.paused ? say('shell.queue_paused') : ''}`,
    )
  if (outbox.length === 0) {
    print(`  ${say('shell.outbox_empty')}`)
    return
  }
  printTable(outbox, [
    { title: say('shell.column.outbox'), of: row => named('operation', row.operation) },
    { title: say('shell.column.waiting'), of: row => row.waiting, align: 'right' },
    { title: say('shell.column.in_queue'), of: row => row.enqueued, align: 'right' },
    { title: say('shell.column.later'), of: row => row.postponed, align: 'right' },
    { title: say('shell.column.since'), of: row => shortTime(row.since) },
  ])
}

/** Prints the pace of calls to the platform: the rate, the limit, and the wait of each operation. */
function printPace(pace: Pace): void {
  printTitle(say('shell.title.platform_calls'))
  printFacts([
    [
      say('shell.fact.rate'),
      say('shell.calls_minute', {
        rate: perSecond(pace.calls_per_second),
        count: pace.calls_last_minute,
      }),
    ],
    [say('shell.fact.permitted'), permitted(pace)],
    [say('shell.fact.used'), pace.utilisation === null ? null : `${Math.round(pace.utilisation * 100)} %`],
    [say('shell.fact.waiting'), pace.waiting > 0 ? figure(pace.waiting) : null],
  ])
  if (pace.paused_until) {
    const reason = pace.pause_reason ? `: ${pace.pause_reason}` : ''
    print(colours.yellow(`  ${say('shell.paused_until', { time: shortTime(pace.paused_until) })}${reason}`))
  }
  if (pace.cap) {
    const { per_second, until, set_by, reason } = pace.cap
    const lowered = `lowered to ${perSecond(per_second)} until ${shortTime(until)} by ${who(set_by)}: ${reason}`
    for (const line of wrap(plain(lowered), terminalWidth() - 2)) print(colours.yellow(`  ${line}`))
  }
  if (pace.operations.length === 0) return
  printTable(pace.operations, [
    { title: say('shell.column.in_5_minutes'), of: row => named('call', row.operation) },
    { title: say('shell.column.calls'), of: row => figure(row.calls), align: 'right' },
    { title: say('shell.column.mean_wait'), of: row => duration(row.mean_wait_ms), align: 'right' },
    { title: say('shell.column.longest'), of: row => duration(row.longest_wait_ms), align: 'right' },
    { title: say('shell.column.rejected'), of: row => figure(row.too_fast), align: 'right' },
  ])
}

function permitted(pace: Pace): string {
  const { permitted_per_second: permitted, set_per_second: set, ceiling_per_second: rejected } = pace
  if (pace.workers === 0) return say('shell.rate_no_worker')
  if (permitted === null) return say('shell.rate_not_learnt')
  if (!pace.learnt || permitted === pace.cap?.per_second) return perSecond(permitted)
  if (set !== null)
    return say('shell.rate_lowered', {
      rate: perSecond(permitted),
      set: perSecond(set),
      ceiling: perSecond(rejected ?? 0),
    })
  return rejected === null
    ? say('shell.rate_learning', { rate: perSecond(permitted) })
    : say('shell.rate_learnt', { rate: perSecond(permitted), ceiling: perSecond(rejected) })
}

/** Prints fields that are switched off, even if their case is ignored. */
function printWithheld(withheld: WithheldField[], program: string): void {
  if (withheld.length === 0) return
  printTitle(say('shell.title.withheld'))
  printTable(withheld, [
    { title: say('shell.column.enterprise'), of: row => row.enterprise_code || say('shell.only_one') },
    { title: say('shell.column.field'), of: row => fieldName(row), gives: true },
    { title: say('shell.column.from'), of: row => employeesText(row.employees), align: 'right' },
    { title: say('shell.column.since'), of: row => shortTime(row.since) },
    { title: say('shell.column.next_probe'), of: row => shortTime(row.next_probe_at) },
    {
      title: say('shell.column.dead_letter'),
      of: row => [row.dead_letter, named('state', row.state)].filter(Boolean).join(' '),
    },
  ])
  const open = withheld.find(row => row.dead_letter !== null)
  if (open)
    print(`  ${say('shell.once_on', { command: `${program} dead-letters retry ${open.dead_letter}` })}`)
}

function employeesText(employees: number): string {
  return employees > MOST_COUNTED
    ? say('shell.more_than_employees', { count: MOST_COUNTED })
    : say('shell.employees', { count: employees })
}

function fieldName({ field, codes }: WithheldField): string {
  const name = named('field', field)
  return codes === null ? name : `${name} ${codes.map(list => list.join(say('shell.codes_with'))).join(', ')}`
}

function printRuns({ runs, jobs }: Overview, left: Awaited<ReturnType<typeof timesLeft>>): void {
  printTitle(say('shell.title.latest_runs'))
  if (runs.length === 0) print(`  ${say('shell.none_yet')}`)
  else
    printTable(runs, [
      { title: say('shell.column.run'), of: run => run.id, align: 'right' },
      { title: say('shell.column.kind'), of: run => named('run_kind', run.kind) },
      ...(runs.some(run => run.hr_source !== '')
        ? [
            {
              title: say('shell.column.source'),
              of: (run: Overview['runs'][number]) => run.hr_source || null,
            },
          ]
        : []),
      {
        title: say('shell.column.state'),
        of: run => named('run_state', run.state),
        paint: paintedBy(run => run.state),
      },
      { title: say('shell.column.requested'), of: run => shortTime(run.requested_at) },
      { title: say('shell.column.finished'), of: run => shortTime(run.finished_at) },
      { title: say('shell.column.planned'), of: run => run.planned, align: 'right' },
      { title: say('shell.column.message'), of: run => said(run.message), gives: true },
    ])
  for (const run of left) printText(say('shell.run_left', { run: String(run.run), left: timeLeftText(run) }))
  if (jobs.length === 0) return
  printTitle(say('shell.title.next_ticks'))
  printTable(jobs, [
    { title: say('shell.column.job'), of: job => named('job', job.job) },
    { title: say('shell.column.schedule'), of: job => job.expression },
    { title: say('shell.column.next'), of: job => nextTick(job), gives: true },
  ])
}

function nextTick({ next_due_at: due, pause_reason: paused }: Overview['jobs'][number]): string | null {
  const time = shortTime(due)
  if (paused !== null) return say('shell.schedule_paused', { reason: paused })
  return due.getTime() < Date.now() - 60_000 ? say('shell.missed', { time }) : time
}

type OpenRefunds = Awaited<ReturnType<typeof openRefunds>>
type OpenTopUps = Awaited<ReturnType<typeof openTopUps>>

/** Prints money operations whose outcome is unknown, if there are any: one line with what to do. */
function printMoney(refunds: OpenRefunds, topUps: OpenTopUps, program: string): void {
  if (refunds.unknown === 0 && topUps.unknown === 0) return
  const line = (what: 'refunds' | 'topups', { unknown, oldest }: OpenTopUps, command: string) => {
    const since = oldest ? say('shell.since', { time: shortTime(oldest) }) : ''
    if (unknown > 0)
      print(
        colours.red(
          `  ${say(`shell.${what}`, { count: unknown })}${since}: ${program} ${command} list --state unknown`,
        ),
      )
  }
  printTitle(say('shell.title.outcome_unknown'))
  line('refunds', refunds, 'refund')
  if (refunds.for_person > 0)
    print(colours.red(`    ${say('shell.for_person', { count: String(refunds.for_person) })}`))
  line('topups', topUps, 'topup')
}

function printDeadLetters({ dead_letters }: Overview, program: string): void {
  const total = dead_letters.reduce((sum, row) => sum + row.count, 0)
  printTitle(say('shell.dead_letters_total', { count: String(total) }))
  if (total === 0) return
  printTable(dead_letters, [
    { title: say('shell.column.count'), of: row => row.count, align: 'right' },
    { title: say('shell.column.category'), of: row => named('category', row.category) },
    {
      title: say('shell.column.state'),
      of: row => named('state', row.state),
      paint: paintedBy(row => row.state),
    },
  ])
  print(`  ${say('shell.look_closer', { command: `${program} dead-letters list` })}`)
}
