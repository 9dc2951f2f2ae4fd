import type { Command } from 'commander'
import type { Ask } from '../console/ask.ts'
import { haltsResultOf } from '../console/halts/query.ts'
import { processBlocks } from '../console/halts/view.ts'
import { readNow } from '../console/overview/query.ts'
import { readSetup } from '../console/overview/setup.ts'
import { setupLine } from '../console/overview/setup-view.ts'
import {
  employeeSection,
  latestRunTable,
  overviewTiles,
  todoBlocks,
  todoCommands,
} from '../console/overview/view.ts'
import { capNotice, operationTable, paceTiles, rateFacts } from '../console/platform/view.ts'
import { jobTable } from '../console/schedules/view.ts'
import { type Block, type Shown, tableOf, term } from '../console/shown.ts'
import { timeText } from '../console/ui/parts.ts'
import { caseStatus } from '../console/ui/states.ts'
import { MOST_COUNTED } from '../lib/database.ts'
import { readOnlyTrouble } from '../lib/failure.ts'
import type { OpenEntries } from '../money/open.ts'
import { createQueueBackend } from '../queue/backend.ts'
import { type WithheldField, withheldFields } from '../sync/cases/withheld.ts'
import { readDeployment } from '../sync/health/deployment.ts'
import { timesLeft } from '../sync/health/time-left.ts'
import { processDifferences, readOnlySince } from '../sync/processes/process.ts'
import { inLanguage } from '../texts/failures.ts'
import { inEnglish, type Said } from '../texts/message.ts'
import { type CommandContext, openContext } from './context.ts'
import { shellAsk } from './definition.ts'
import { saidOf } from './failure.ts'
import { named, said, say } from './language.ts'
import { examples, printFrame, printJson, shortTime } from './output.ts'
import { printScreen } from './shown.ts'
import { figuredTimeLeft } from './time-left.ts'

/** The state of the queue, or why it does not answer. */
type QueueStatus =
  | { kind: string; waiting: number; active: number; paused: boolean }
  | { kind: string; error: Said }

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
  const { pool, program } = context
  const ask = shellAsk(context)
  const [deployment, found] = await Promise.all([readDeployment(pool), readStatus(context, ask)])
  if (options.json) return printJson(documentOf(deployment, found))
  printFrame(deployment?.name ?? null)
  printScreen(statusShown(ask, found, program), program)
}

type Status = Awaited<ReturnType<typeof readStatus>>

/** What the overview shows, and what lies beyond it. */
async function readStatus(context: CommandContext, { language }: Ask) {
  const { pool } = context
  const [now, since, differences, queue, withheld, setup] = await Promise.all([
    readNow(pool, language),
    readOnlySince(pool),
    processDifferences(pool),
    queueStatus(context),
    withheldFields(pool),
    readSetup(context, { readOnly: true, env: {} }),
  ])
  const left = await timesLeft(pool, now.pace)
  return { ...now, readOnlySince: since, differences, left, queue, withheld, setup }
}

/** For programs. */
function documentOf(deployment: Awaited<ReturnType<typeof readDeployment>>, found: Status) {
  const { employees, outbox, ...rest } = found.overview
  const { alerts } = found.result
  return {
    deployment: deployment && { id: deployment.id, name: deployment.name },
    processes: found.processes.filter(({ alive }) => alive),
    employees,
    queue: 'error' in found.queue ? { ...found.queue, error: inEnglish(found.queue.error) } : found.queue,
    outbox,
    pace: found.pace,
    time_left: found.left,
    read_only_since: found.readOnlySince,
    ...rest,
    jobs: found.schedules.map(({ job, expression, off, next_due_at, pause_reason }) => ({
      ...{ job, expression, off, next_due_at, pause_reason },
    })),
    withheld: found.withheld,
    open_refunds: found.money.refund,
    open_topups: found.money.topup,
    alerts: { count: alerts.length, worst: alerts[0]?.severity ?? null },
  }
}

function statusShown(ask: Ask, found: Status, program: string): Shown {
  const { result, overview, pace, processes } = found
  return {
    title: ask.t('overview.title'),
    blocks: [
      ...readOnlyNotice(ask, found),
      ...queueNotice(ask, found),
      ...todoBlocks(ask, result),
      ...setupLine(ask, found.setup),
      overviewTiles(ask, result),
      ...processBlocks(ask, haltsResultOf(overview.halts, processes, found.differences)),
      employeeSection(ask, result),
      workSection(found),
      {
        section: ask.t('nav.platform'),
        blocks: [...capNotice(ask, pace), { tiles: paceTiles(ask, pace) }, rateFacts(ask, pace)],
      },
      ...(pace.operations.length > 0
        ? [
            {
              section: ask.t('platform.operations'),
              aside: ask.t('platform.last_minutes'),
              blocks: [operationTable(ask, pace.operations)],
            },
          ]
        : []),
      ...withheldSection(found.withheld, program),
      {
        section: ask.t('overview.latest_runs'),
        blocks: [
          latestRunTable(ask, result),
          ...found.left.map(run => ({
            text: say('shell.run_left', { run: String(run.run), left: figuredTimeLeft(run) }),
          })),
        ],
      },
      ...(found.schedules.length > 0
        ? [{ section: ask.t('schedules.title'), blocks: [jobTable(ask, found.schedules)] }]
        : []),
      ...moneySection(found),
      caseSection(ask, overview),
      { commands: say('shell.hints'), lines: [...new Set(commandsOf(found))] },
    ],
  }
}

/** That processes cannot sign, so that none of them is to be blamed. */
function readOnlyNotice(ask: Ask, { readOnlySince: since }: Status): Block[] {
  if (since === null) return []
  const title = say('shell.read_only', { time: timeText(ask, since) })
  return [{ notice: 'bad', title, todo: inLanguage(ask.language, readOnlyTrouble().remedy) }]
}

/** At once: the alert, which says what to do, comes after a minute, and from processes that want the queue. */
function queueNotice({ t }: Ask, { queue, result }: Status): Block[] {
  if (!('error' in queue) || result.alerts.some(({ rule }) => rule === 'queue_away')) return []
  return [
    {
      notice: 'bad',
      title: t('alert.queue_away.title', { process: 'none' }),
      what: said(queue.error),
      todo: t('alert.queue_away.remedy'),
    },
  ]
}

function commandsOf({ result, money }: Status): string[] {
  return [
    ...todoCommands(result),
    ...(money.refund.unknown > 0 ? ['refund list'] : []),
    ...(money.topup.unknown > 0 ? ['topup list'] : []),
  ]
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
    return { kind: queue.kind, error: saidOf(error) }
  } finally {
    await queue.close()
  }
}

/** The queue, and what the outbox holds. */
function workSection({ overview: { outbox }, queue }: Status): Block {
  const place = queue.kind === 'redis' ? 'Redis' : 'PostgreSQL'
  const state =
    'error' in queue
      ? say('shell.queue_error', { place, error: said(queue.error) })
      : say('shell.queue', { place, waiting: String(queue.waiting), active: String(queue.active) }) +
        (queue.paused ? say('shell.queue_paused') : '')
  return {
    section: say('shell.title.work'),
    blocks: [
      { text: state },
      tableOf(
        outbox,
        [
          { title: say('shell.column.outbox'), of: row => term('operation', row.operation) },
          { title: say('shell.column.waiting'), kind: 'number', of: row => row.waiting },
          { title: say('shell.column.in_queue'), kind: 'number', of: row => row.enqueued },
          { title: say('shell.column.later'), kind: 'number', of: row => row.postponed },
          { title: say('shell.column.since'), of: row => ({ since: row.since }) },
        ],
        { caption: say('shell.title.work'), empty: say('shell.outbox_empty') },
      ),
    ],
  }
}

/** Fields that are switched off, even if their case is ignored. */
function withheldSection(withheld: WithheldField[], program: string): Block[] {
  if (withheld.length === 0) return []
  const open = withheld.find(row => row.dead_letter !== null)
  const once = open && say('shell.once_on', { command: `${program} dead-letters retry ${open.dead_letter}` })
  const title = say('shell.title.withheld')
  const table = tableOf(
    withheld,
    [
      { title: say('shell.column.enterprise'), of: row => row.enterprise_code || say('shell.only_one') },
      { title: say('shell.column.field'), gives: true, of: fieldName },
      { title: say('shell.column.from'), kind: 'number', of: row => employeesText(row.employees) },
      { title: say('shell.column.since'), of: row => ({ since: row.since }) },
      { title: say('shell.column.next_probe'), of: row => row.next_probe_at && { since: row.next_probe_at } },
      {
        title: say('shell.column.dead_letter'),
        of: row => row.dead_letter && [String(row.dead_letter), ' ', term('state', row.state ?? '')],
      },
    ],
    { caption: title },
  )
  return [{ section: title, blocks: [table, ...(once ? [{ text: once }] : [])] }]
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

/** Money operations whose outcome is unknown. */
function moneySection({ money: { refund, topup } }: Status): Block[] {
  if (refund.unknown === 0 && topup.unknown === 0) return []
  const line = (what: 'refunds' | 'topups', { unknown, oldest }: OpenEntries, more = ''): Block[] => {
    const since = oldest ? say('shell.since', { time: shortTime(oldest) }) : ''
    const text = say(`shell.${what}`, { count: unknown }) + since + more
    return unknown > 0 ? [{ text: { tone: 'bad', text } }] : []
  }
  const { for_person: count } = refund
  const waiting = count > 0 ? say('shell.comma') + say('shell.for_person', { count: String(count) }) : ''
  return [
    {
      section: say('shell.title.outcome_unknown'),
      blocks: [...line('refunds', refund, waiting), ...line('topups', topup)],
    },
  ]
}

function caseSection({ t }: Ask, { dead_letters }: Status['overview']): Block {
  const total = dead_letters.reduce((sum, row) => sum + row.count, 0)
  return {
    section: t('cases.title'),
    aside: t('cases.waiting', { count: total }),
    blocks: [
      tableOf(
        dead_letters,
        [
          { title: t('overview.count'), kind: 'number', of: ({ count }) => count },
          { title: t('overview.category'), of: ({ category }) => term('category', category) },
          { title: t('overview.state'), of: ({ state }) => caseStatus(state) },
        ],
        { caption: t('cases.title'), empty: t('cases.none') },
      ),
    ],
  }
}
