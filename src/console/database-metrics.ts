import { Counter, Gauge, Registry } from 'prom-client'
import { RULE_NAMES, RULES } from '../alerts/rule.ts'
import type { Pool } from '../lib/database.ts'
import { openRefunds } from '../money/refund.ts'
import { openTopUps } from '../money/top-up.ts'
import { JOB_OPERATIONS } from '../queue/job.ts'
import { type Figures, SHOWN_EMPLOYEE_STATUSES } from '../sync/figures.ts'
import { type Health, readHealth } from '../sync/health.ts'
import { ROLES } from '../sync/process.ts'
import type { RunState } from '../sync/run.ts'

/**
 * The state of the whole deployment, read from PostgreSQL at each scrape, so it is the same in every process. Without
 * the database, only `dirsync_database_up 0` is exposed, instead of stale values.
 */
export class DatabaseMetrics {
  readonly #pool: Pool
  readonly #onTrouble: (error: Error) => void
  #reading: Promise<string> | undefined

  constructor(options: { pool: Pool; onTrouble: (error: Error) => void }) {
    this.#pool = options.pool
    this.#onTrouble = options.onTrouble
  }

  /** The metrics in Prometheus' text format. Concurrent scrapes share one reading. */
  text(): Promise<string> {
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined
    })
    return this.#reading
  }

  async #read(): Promise<string> {
    const read = await Promise.all([
      readHealth(this.#pool),
      openRefunds(this.#pool),
      openTopUps(this.#pool),
    ]).catch((error: Error) => {
      this.#onTrouble(error)
      return null
    })
    // A new registry for each reading: series that are gone from the database disappear from the answer.
    const registry = new Registry()
    const add: AddMetric = (name, help, labelNames, samples) => {
      const parts = { name, help, labelNames, registers: [registry] }
      const counter = name.endsWith('_total') ? new Counter(parts) : null
      const gauge = counter ? null : new Gauge(parts)
      for (const [labels, value] of samples) {
        counter?.inc(labels, value)
        gauge?.set(labels, value)
      }
    }
    const up = read === null ? 0 : 1
    add('dirsync_database_up', '1 when this scrape could read the database, otherwise 0.', [], [[{}, up]])
    if (read !== null) {
      const [health, refunds, topUps] = read
      addFigures(add, health)
      addHealth(add, health)
      add(
        'dirsync_outcomes_unknown',
        'Refunds and top-ups that were sent and may have been carried out.',
        ['kind'],
        [
          [{ kind: 'refund' }, refunds.unknown],
          [{ kind: 'topup' }, topUps.unknown],
        ],
      )
    }
    return registry.metrics()
  }
}

type AddMetric = <Label extends string>(
  name: string,
  help: string,
  labelNames: Label[],
  samples: [labels: Record<Label, string>, value: number][],
) => void

/** Exposed even at zero, so that an alert can tell "none" from "not measured". */
const RUN_STATES = keys<RunState>({
  requested: 1,
  planning: 1,
  held: 1,
  running: 1,
  done: 1,
  failed: 1,
  source_suspect: 1,
  rejected: 1,
  superseded: 1,
  cancelled: 1,
})

/** The names of a union; the compiler demands that none is missing. */
function keys<Name extends string>(names: Record<Name, 1>): Name[] {
  return Object.keys(names) as Name[]
}

/** Adds the name of the source to the labels if HR has several. */
function ofSource(labels: Record<string, string>, source: string): Record<string, string> {
  return source === '' ? labels : { ...labels, source }
}

function addFigures(add: AddMetric, figures: Figures): void {
  add(
    'dirsync_pending_entities',
    'Entities whose desired state the platform has not confirmed, by operation and whether they are in the queue.',
    ['operation', 'enqueued'],
    JOB_OPERATIONS.flatMap(operation =>
      [true, false].map(enqueued => [
        { operation, enqueued: String(enqueued) },
        countOf(figures.pending, row => row.operation === operation && row.enqueued === enqueued),
      ]),
    ),
  )
  add(
    'dirsync_pending_oldest_age_seconds',
    'Age of the oldest pending entity, by operation; 0 when there is none.',
    ['operation'],
    JOB_OPERATIONS.map(operation => {
      const rows = figures.pending.filter(row => row.operation === operation)
      return [{ operation }, Math.max(0, ...rows.map(row => row.oldestAge))]
    }),
  )
  add(
    'dirsync_dead_letters',
    'Cases for review that are not resolved, by category and state.',
    ['category', 'state'],
    figures.deadLetters.map(({ category, state, count }) => [{ category, state }, count]),
  )
  add(
    'dirsync_runs',
    'Runs of the last 180 days, by state.',
    ['state'],
    RUN_STATES.map(state => [{ state }, countOf(figures.runs, row => row.state === state)]),
  )
  const ended = (of: (row: Figures['endedRuns'][number]) => number) =>
    figures.endedRuns.map((row): [{ kind: string; state: string }, number] => {
      const { kind, state } = row
      return [{ kind, state }, of(row)]
    })
  add(
    'dirsync_runs_total',
    'Runs that ended, by kind and state. Counted in the database, for all processes together.',
    ['kind', 'state'],
    ended(row => row.ended),
  )
  add(
    'dirsync_run_seconds_total',
    'How long they took, from their request to their end, added up.',
    ['kind', 'state'],
    ended(row => row.seconds),
  )
  add(
    'dirsync_run_last_success_age_seconds',
    'Time since the last successful run ended, by kind; absent when there was none.',
    ['kind', 'source'],
    figures.lastSuccesses.map(({ kind, source, age }) => [ofSource({ kind }, source), age]),
  )
  add(
    'dirsync_halts',
    'Halts in force, by category: of everything, of a source of HR, or of an enterprise.',
    ['category', 'scope', 'source'],
    figures.halts.map(({ category, scope, source, count }) => [ofSource({ category, scope }, source), count]),
  )
  add(
    'dirsync_employees',
    'Employees by status: how far the platform agrees with HR, and why not.',
    ['status'],
    SHOWN_EMPLOYEE_STATUSES.map(status => [
      { status },
      countOf(figures.employees, row => row.status === status),
    ]),
  )
  add(
    'dirsync_processes',
    'Processes that gave a sign of life within 15 s, by role.',
    ['role'],
    ROLES.map(role => [{ role }, countOf(figures.processes, row => row.role === role)]),
  )

  const { calls_per_second, utilisation } = figures.pace
  add(
    'dirsync_platform_calls_per_second',
    'Calls to the platform per second over the last ten seconds, of all workers.',
    [],
    [[{}, calls_per_second]],
  )
  if (utilisation !== null)
    add(
      'dirsync_platform_utilisation_ratio',
      'Share of the permitted rate that was used over the last ten seconds, 0 to 1; absent while the rate is not known.',
      [],
      [[{}, utilisation]],
    )
  add(
    'dirsync_platform_pause_seconds',
    'Remaining time of a pause that the platform asked for; 0 when there is none.',
    [],
    [[{}, figures.platformPause]],
  )
}

/** The figures that alert rules use. */
function addHealth(add: AddMetric, health: Health): void {
  add(
    'dirsync_run_suspect',
    '1 when the latest run that checked HR found it wrong, otherwise 0, by kind; delivery="incomplete" while files are being delivered; absent when there was none.',
    ['kind', 'source', 'delivery'],
    health.sourceChecks.map(({ kind, source, suspect, delivering }) => [
      ofSource({ kind, ...(delivering && { delivery: 'incomplete' }) }, source),
      suspect ? 1 : 0,
    ]),
  )
  add(
    'dirsync_run_interval_seconds',
    'The longest time between two ticks of its schedule, by kind; absent while it is off or paused.',
    ['kind', 'source'],
    health.schedules.map(({ kind, source, interval }) => [ofSource({ kind }, source), interval]),
  )
  add(
    'dirsync_run_unsuccessful_seconds',
    'For how long there should have been a good run, by kind: since the last one or since its schedule has been in force, without halts and what a run under way needs; absent while it is off or paused.',
    ['kind', 'source'],
    health.schedules.map(({ kind, source, unsuccessful }) => [ofSource({ kind }, source), unsuccessful]),
  )
  add(
    'dirsync_hr_delivery_seconds',
    'For how long runs have read the same delivery, of an HR in files.',
    ['source'],
    health.deliveries.map(({ source, age }) => [ofSource({}, source), age]),
  )
  add(
    'dirsync_schedule_paused_seconds',
    'For how long a person has paused a cron job, by its name; absent while it is not paused.',
    ['schedule'],
    health.pausedSchedules.map(({ job, age }) => [{ schedule: job }, age]),
  )
  add(
    'dirsync_job_failing_seconds',
    'Time since a cron job, or a run that it asks for, first failed without a good one after it; absent while it is fine. changes and full: see dirsync_run_unsuccessful_seconds.',
    ['schedule', 'source'],
    health.failingJobs.map(({ job, source, age }) => [ofSource({ schedule: job }, source), age]),
  )
  add(
    'dirsync_processes_lost',
    'Processes that went without a word within a day and that no other has replaced.',
    [],
    [[{}, health.lostProcesses.length]],
  )
  add(
    'dirsync_heartbeat_failing',
    '1 while the monitor of HEARTBEAT_URL does not take a call, otherwise 0.',
    [],
    [[{}, health.heartbeatFailing === null ? 0 : 1]],
  )
  add(
    'dirsync_work_oldest_age_seconds',
    'Time that the oldest work has waited while it could be done, beyond what all of it needs; 0 when there is none. Full runs and halted enterprises do not count.',
    [],
    [[{}, health.work[0]?.age ?? 0]],
  )
  add(
    'dirsync_notifications_refused_last_day',
    'Refunds of which the platform notified within a day and that were never sent so.',
    [],
    [[{}, health.notificationsRefused.count]],
  )
  add(
    'dirsync_token_creations_last_hour',
    'Access tokens that were asked for within the last hour.',
    [],
    [[{}, health.tokenCreations]],
  )
  if (health.clockOffset !== null)
    add(
      'dirsync_clock_offset_seconds',
      'How far the clock of a living process differs from the platform’s, the largest of them; absent while none knows.',
      [],
      [[{}, Math.abs(health.clockOffset)]],
    )
  add(
    'dirsync_queue_away_seconds',
    'For how long a living process has not reached the queue; 0 when all do.',
    [],
    [[{}, health.queueAway?.age ?? 0]],
  )
  add(
    'dirsync_processes_outdated',
    'Living processes with other HR sources than the one that was started last.',
    [],
    [[{}, health.outdatedProcesses.length]],
  )
  const { bytes, connections, connectionsLimit } = health.database
  add('dirsync_database_size_bytes', 'Size of the database of dirsync.', [], [[{}, bytes]])
  add('dirsync_database_connections', 'Connections to its server, of all databases.', [], [[{}, connections]])
  add(
    'dirsync_database_connections_limit',
    'Connections that its server permits, without those kept for administrators.',
    [],
    [[{}, connectionsLimit]],
  )
  add('dirsync_figures_seconds', 'How long it took to read these figures.', [], [[{}, health.took]])
  add(
    'dirsync_alerts',
    'Alerts that fire, by rule and severity.',
    ['rule', 'severity'],
    RULE_NAMES.map(rule => {
      const { severity } = RULES[rule]
      return [{ rule, severity }, countOf(health.alerts, row => row.rule === rule)]
    }),
  )
  add(
    'dirsync_alert_channel_failing_seconds',
    'For how long a channel of alerts has taken no message; 0 when it is fine.',
    ['channel'],
    health.channels.map(({ channel, failing }) => [{ channel }, failing]),
  )
  add(
    'dirsync_alert_deliveries',
    'Messages of alerts of the last seven days, by channel and what became of them: waiting, sent, given_up.',
    ['channel', 'state'],
    health.messages.map(({ channel, state, count }) => [{ channel, state }, count]),
  )
}

function countOf<Row extends { count: number }>(rows: Row[], isWanted: (row: Row) => boolean): number {
  return rows.find(isWanted)?.count ?? 0
}
