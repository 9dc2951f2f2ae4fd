import { z } from 'zod'
import { readUrgent, UrgentAlert } from '../../alerts/report.ts'
import type { RuleName } from '../../alerts/rule.ts'
import { onlyRow, type Pool } from '../../lib/database.ts'
import { type OpenMoney, readOpenMoney } from '../../money/open.ts'
import { FOR_A_PERSON } from '../../sync/cases/cases.ts'
import { areRetriesStopped, CAN_BE_RETRIED } from '../../sync/cases/retries.ts'
import { ignoredFields } from '../../sync/cases/withheld.ts'
import { countDoubted, HOURS_KEPT, MINUTES_KEPT, SOURCE_LOST_AT } from '../../sync/health/figures.ts'
import { type Pace, readPace } from '../../sync/processes/pace.ts'
import { countRoles } from '../../sync/processes/process.ts'
import { HELD_RUNS } from '../../sync/runs/run.ts'
import type { Language } from '../../texts/texts.ts'
import type { Ask } from '../ask.ts'
import { RetriesStopped } from '../cases/dead-letter.ts'
import { readUnknownPeople, UnknownPeople } from '../employees/unknown.ts'
import { HaltReport, listProcesses, type Process } from '../halts/query.ts'
import { KINDS as MONEY_KINDS, type Kind as MoneyKind } from '../money/query.ts'
import type { PlatformResult } from '../platform/query.ts'
import { RANGE, rangeOf } from '../range.ts'
import { ListedRun } from '../runs/list.ts'
import { listSchedules, Schedule } from '../schedules/query.ts'
import { readHistory } from './history.ts'
import { type Overview, readOverview } from './read.ts'

const Counts = z.record(z.string(), z.int())

/** The answer of `/api/v1/overview`. */
export const OverviewResult = z.object({
  employees: Counts.describe('Employees in service according to HR, by status; in_scope is their sum'),
  source_lost_at: z
    .date()
    .nullable()
    .describe(
      'When an enterprise last lost its HR source; null: not within a week, so that employees without one are nothing to do',
    ),
  share_in_sync: z
    .number()
    .nullable()
    .describe('0 to 1, of the employees with an HR source; null: there are none yet'),
  oldest_work: z.date().nullable().describe('Since when the oldest pending entity has been out of sync'),
  pending: z.object({ waiting: z.int(), enqueued: z.int(), postponed: z.int() }),
  halts: z.array(HaltReport),
  held_runs: z.array(
    ListedRun.pick({ id: true, kind: true, hr_source: true, requested_at: true, planned: true }),
  ),
  latest_runs: z.array(ListedRun),
  suspect_runs: z
    .array(ListedRun)
    .describe('Runs that found HR wrong, which no later one has found right; at most two of each HR source'),
  failed_runs: z
    .array(ListedRun)
    .describe(
      'Runs that failed, by kind and HR source, if no later one has been planned; those of named employees and retries only until all employees were checked',
    ),
  open_cases: z.array(z.object({ category: z.string(), count: z.int() })),
  unknown_people: z
    .array(UnknownPeople)
    .describe('Enterprises of which the platform knows hardly anyone by their user id'),
  doubted: z
    .int()
    .describe(
      'Employees about whom the platform was not asked since a restore or fail-over; 10,000: or more',
    ),
  ignored_fields: z
    .array(z.object({ enterprise_code: z.string(), field: z.string(), dead_letter: z.int() }))
    .describe(
      'Withheld fields whose case was ignored, at most 20: employees without one count as dead_lettered',
    ),
  cases_that_wait: z
    .int()
    .describe('Unresolved cases that dirsync retries by itself, without those whose retry is under way'),
  retries_stopped: RetriesStopped,
  money_for_person: z
    .object({ refunds: z.int(), topups: z.int() })
    .describe('Refunds and top-ups of unknown outcome about which a person has to find out'),
  pace: z.object({
    calls_per_second: z.number(),
    permitted_per_second: z.number().nullable(),
    utilisation: z.number().nullable(),
    paused_until: z.date().nullable().describe('The platform asked for no calls until then'),
    pause_reason: z.string().nullable(),
  }),
  roles_alive: Counts.describe('Living processes by role'),
  stalled_jobs: z
    .array(
      Schedule.pick({ job: true, paused_at: true, paused_by: true, pause_reason: true, pause_effect: true }),
    )
    .describe('Cron jobs that a person has paused, and without which employees stay out of sync'),
  alerts: z.array(UrgentAlert).describe('Current alerts that are not muted, the worst first'),
})
export type OverviewResult = z.infer<typeof OverviewResult>

const SPANS = { '24h': 24 * 3600, '30d': 30 * 86_400 } as const
export const HistorySpan = z.object({
  span: z.enum(['24h', '30d']).default('24h').describe('How far back'),
  ...RANGE,
})

const Line = z.array(z.number().nullable())
/** The answer of `/api/v1/overview/history`: columns of equal length. */
export const HistoryResult = z.object({
  step: z.number().describe('Seconds between two points'),
  x: z.array(z.number()).describe('Seconds since 1970'),
  in_sync: Line.describe('Share of employees in sync, 0 to 1, the lowest of each step; null: not recorded'),
  open_cases: Line.describe('The highest value of each step'),
  pending: Line.describe('Entities to be sent, the highest value of each step'),
  halted: z
    .array(z.union([z.literal(0), z.literal(1)]).nullable())
    .describe('1: all work was halted, or calls were paused, at some moment of the step'),
  calls: z.array(
    z.object({
      operation: z.string(),
      per_minute: z.array(z.number()),
      refused_per_minute: z.array(z.number()),
    }),
  ),
})
export type HistoryResult = z.infer<typeof HistoryResult>

const DAY_MS = 86_400_000

export function readSpan(db: Pool, ask: Ask, input: z.output<typeof HistorySpan>): Promise<HistoryResult> {
  return readHistory(db, spanOf(ask, input))
}

/** The time that the history shows, in hours where no minutes of calls are kept. */
export function spanOf(
  ask: Ask,
  { span, ...range }: z.output<typeof HistorySpan>,
): { from: Date; to: Date; step: number } {
  const { from: given, to = ask.now } = rangeOf(ask, range)
  const from = given ?? new Date(to.getTime() - SPANS[span] * 1000)
  return { from, to, step: daysAgo(ask, from) > MINUTES_KEPT ? 3600 : 0 }
}

/** Says that nothing is kept of the time of a history; null: something is. */
export function notKept(ask: Ask, { x, step }: Pick<HistoryResult, 'x' | 'step'>): string | null {
  const end = new Date(((x.at(-1) ?? 0) + step) * 1000)
  return daysAgo(ask, end) > HOURS_KEPT ? ask.t('overview.not_kept', { days: HOURS_KEPT }) : null
}

function daysAgo({ now }: Ask, moment: Date): number {
  return (now.getTime() - moment.getTime()) / DAY_MS
}

/** The state of the whole deployment: the figures, and what they are made of. */
interface Now {
  result: OverviewResult
  overview: Overview
  pace: Pace
  processes: Process[]
  money: OpenMoney
  schedules: Schedule[]
}

/** Reads the figures of the whole deployment. The cost does not depend on the number of employees. */
export async function readNow(db: Pool, language: Language): Promise<Now> {
  const [
    overview,
    pace,
    processes,
    alerts,
    unknown_people,
    doubted,
    ignored_fields,
    money,
    schedules,
    retries_stopped,
    { rows: held },
    { rows: sources },
  ] = await Promise.all([
    readOverview(db),
    readPace(db),
    listProcesses(db),
    readUrgent(db, language),
    readUnknownPeople(db),
    countDoubted(db),
    ignoredFields(db),
    readOpenMoney(db),
    listSchedules(db),
    areRetriesStopped(db),
    db.query<OverviewResult['held_runs'][number]>(
      `select id, kind, hr_source, requested_at, planned from ${HELD_RUNS} held order by id`,
    ),
    db.query<Pick<OverviewResult, 'source_lost_at' | 'cases_that_wait'>>(
      `select ${SOURCE_LOST_AT} as source_lost_at,
              (select coalesce(sum(n), 0)::int from dirsync.tally d
               where source = 'dead_letter' and state in ('retry_scheduled', 'awaiting_activation', 'snoozed')
                 and ${CAN_BE_RETRIED}) as cases_that_wait`,
    ),
  ])
  const alive = processes.filter(process => process.alive)
  return {
    result: {
      ...resultOf(overview, pace, alive, held),
      ...{ alerts, unknown_people, doubted, ignored_fields, retries_stopped },
      ...onlyRow(sources),
      stalled_jobs: schedules.filter(
        ({ off, paused_at, pause_effect }) => !off && paused_at !== null && pause_effect !== 'none',
      ),
      money_for_person: { refunds: money.refund.for_person, topups: money.topup.for_person },
    },
    ...{ overview, pace, processes, money, schedules },
  }
}

function resultOf(
  overview: Overview,
  pace: Pace,
  processes: readonly { roles: string[] }[],
  held: OverviewResult['held_runs'],
): Omit<
  OverviewResult,
  | 'alerts'
  | 'source_lost_at'
  | 'unknown_people'
  | 'doubted'
  | 'ignored_fields'
  | 'cases_that_wait'
  | 'retries_stopped'
  | 'stalled_jobs'
  | 'money_for_person'
> {
  const { in_scope, in_sync, no_source } = overview.employees
  const withSource = in_scope - no_source
  const sum = (name: 'waiting' | 'enqueued' | 'postponed') =>
    overview.outbox.reduce((total, row) => total + row[name], 0)
  const oldest = Math.min(...overview.outbox.map(({ since }) => since.getTime()))
  const open = new Map<string, number>()
  for (const { category, state, count } of overview.dead_letters)
    if (FOR_A_PERSON.includes(state)) open.set(category, (open.get(category) ?? 0) + count)
  return {
    employees: overview.employees,
    share_in_sync: withSource === 0 ? null : in_sync / withSource,
    oldest_work: Number.isFinite(oldest) ? new Date(oldest) : null,
    pending: { waiting: sum('waiting'), enqueued: sum('enqueued'), postponed: sum('postponed') },
    halts: overview.halts,
    held_runs: held,
    latest_runs: overview.runs,
    suspect_runs: overview.suspect_runs,
    failed_runs: overview.failed_runs,
    open_cases: [...open].map(([category, count]) => ({ category, count })).sort((a, b) => b.count - a.count),
    pace: {
      calls_per_second: pace.calls_per_second,
      permitted_per_second: pace.permitted_per_second,
      utilisation: pace.utilisation,
      paused_until: pace.paused_until,
      pause_reason: pace.pause_reason,
    },
    roles_alive: countRoles(processes),
  }
}

/** What an operator has to do, the most urgent first. */
export type Todo =
  | { what: 'no_worker' | 'no_scheduler' }
  | { what: 'halt'; halt: OverviewResult['halts'][number] }
  | { what: 'holdoff'; holdoff: PlatformResult['holdoffs'][number] }
  | { what: 'doubted' | 'no_source'; count: number }
  | { what: 'unknown'; people: UnknownPeople }
  | { what: 'held'; run: OverviewResult['held_runs'][number] }
  | { what: 'suspect'; run: ListedRun }
  | { what: 'failed'; runs: [ListedRun, ...ListedRun[]] }
  | { what: 'alerts'; alerts: OverviewResult['alerts'] }
  | { what: 'stalled'; job: OverviewResult['stalled_jobs'][number] }
  | { what: 'money'; kind: MoneyKind; count: number }
  | { what: 'cases'; count: number }

/** Alert rules about things that the overview lists anyway. */
const LISTED: readonly RuleName[] = ['halt', 'paused', 'held_run', 'source_suspect', 'role_missing']

/** Critical alerts that are told with what to do, each for itself. */
const MOST_TOLD = 3

/** What needs a person, or keeps everything waiting. An empty list: everything is in sync, or dirsync is working on it. */
export function todosOf(overview: OverviewResult): Todo[] {
  const { halts, held_runs, suspect_runs, failed_runs, open_cases, roles_alive, pace } = overview
  const { paused_until, pause_reason } = pace
  const { no_source = 0 } = overview.employees
  const others = overview.alerts.filter(
    ({ rule, subject }) =>
      !LISTED.includes(rule) &&
      !(rule === 'schedule_paused' && overview.stalled_jobs.some(({ job }) => job === subject)),
  )
  const critical = others.filter(({ severity }) => severity === 'critical')
  const lesser = others.filter(({ severity }) => severity !== 'critical')
  // Without its alert: that is switched off, muted, or still to come.
  const money = MONEY_KINDS.filter(
    kind =>
      overview.money_for_person[kind] > 0 &&
      !others.some(({ rule, subject }) => rule === 'money_unknown' && `${subject}s` === kind),
  )
  const cases = open_cases.reduce((sum, { count }) => sum + count, 0)
  return [
    ...(roles_alive.worker ? [] : [{ what: 'no_worker' } as const]),
    ...(roles_alive.scheduler ? [] : [{ what: 'no_scheduler' } as const]),
    ...halts.map(halt => ({ what: 'halt', halt }) as const),
    ...(paused_until
      ? [{ what: 'holdoff', holdoff: { gate: 'platform', paused_until, pause_reason } } as const]
      : []),
    ...[...critical.slice(0, MOST_TOLD).map(alert => [alert]), critical.slice(MOST_TOLD)]
      .filter(alerts => alerts.length > 0)
      .map(alerts => ({ what: 'alerts', alerts }) as const),
    ...money.map(kind => ({ what: 'money', kind, count: overview.money_for_person[kind] }) as const),
    ...overview.stalled_jobs.map(job => ({ what: 'stalled', job }) as const),
    ...(overview.doubted > 0 ? [{ what: 'doubted', count: overview.doubted } as const] : []),
    ...(no_source > 0 && overview.source_lost_at ? [{ what: 'no_source', count: no_source } as const] : []),
    ...overview.unknown_people.map(people => ({ what: 'unknown', people }) as const),
    ...held_runs.map(run => ({ what: 'held', run }) as const),
    ...suspect_runs.map(run => ({ what: 'suspect', run }) as const),
    ...alike(failed_runs).map(runs => ({ what: 'failed', runs }) as const),
    ...(lesser.length > 0 ? [{ what: 'alerts', alerts: lesser } as const] : []),
    ...(cases > 0 ? [{ what: 'cases', count: cases } as const] : []),
  ]
}

/** Failed runs by HR source and reason: one cause needs one remedy. */
function alike(failed: readonly ListedRun[]): [ListedRun, ...ListedRun[]][] {
  const groups = Map.groupBy(failed, ({ hr_source, message }) => JSON.stringify([hr_source, message]))
  return [...groups.values()].flatMap(([first, ...others]) => (first ? [[first, ...others]] : []))
}
