import { Counter, Gauge, Registry } from 'prom-client'
import { RULE_NAMES, RULES } from '../alerts/rule.ts'
import type { Pool } from '../lib/database.ts'
import { openRefunds } from '../money/refund.ts'
import { openTopUps } from '../money/top-up.ts'
import { JOB_OPERATIONS } from '../queue/job.ts'
import { type Figures, SHOWN_EMPLOYEE_STATUSES } from '../sync/figures.ts'
import { type Health, readHealth } from '../sync/health.ts'
import { ROLES } from '../sync/process.ts'
import { RUN_STATES } from '../sync/run.ts'

/** A metric; `buckets` of a histogram. */
export interface Metric {
  help: string
  labels: readonly string[]
  buckets?: readonly number[]
}

/** Figures of the whole deployment. docs/monitoring.md lists them, generated from here. */
export const DATABASE_METRICS = {
  dirsync_database_up: {
    help: '1 when this scrape could read the database, otherwise 0.',
    labels: [],
  },
  dirsync_pending_entities: {
    help: 'Entities whose desired state the platform has not confirmed, by operation and whether they are in the queue.',
    labels: ['operation', 'enqueued'],
  },
  dirsync_pending_oldest_age_seconds: {
    help: 'Age of the oldest pending entity, by operation; 0 when there is none.',
    labels: ['operation'],
  },
  dirsync_dead_letters: {
    help: 'Cases for review that are not resolved, by category and state.',
    labels: ['category', 'state'],
  },
  dirsync_runs: {
    help: 'Runs that are kept, by state: for 180 days, for ever if people decided about them; those of rows that HR named, and retries by themselves, for 30; for one if such a run, or any retry, had nothing to do.',
    labels: ['state'],
  },
  dirsync_runs_total: {
    help: 'Runs that ended, by kind and state. Counted in the database, for all processes together.',
    labels: ['kind', 'state'],
  },
  dirsync_run_seconds_total: {
    help: 'How long the runs took that ended, from request to end, added up.',
    labels: ['kind', 'state'],
  },
  dirsync_run_last_success_age_seconds: {
    help: 'Time since the last successful run ended, by kind; absent when there was none.',
    labels: ['kind', 'source'],
  },
  dirsync_halts: {
    help: 'Halts in force, by category (paused: by a person): of everything, of a source of HR, or of an enterprise.',
    labels: ['category', 'scope', 'source'],
  },
  dirsync_employees: {
    help: 'Employees by status: how far the platform agrees with HR, and why not.',
    labels: ['status'],
  },
  dirsync_processes: {
    help: 'Processes that gave a sign of life within 15 s, by role.',
    labels: ['role'],
  },
  dirsync_platform_calls_per_second: {
    help: 'Calls to the platform per second over the last ten seconds, of all workers.',
    labels: [],
  },
  dirsync_platform_utilisation_ratio: {
    help: 'Share of the permitted rate that was used over the last ten seconds, 0 to 1; absent while the rate is not known.',
    labels: [],
  },
  dirsync_platform_pause_seconds: {
    help: 'Remaining time of a pause that the platform asked for; 0 when there is none.',
    labels: [],
  },
  dirsync_run_suspect: {
    help: '1 when the latest run that checked HR found it wrong, otherwise 0, by kind; delivery="incomplete" while files are being delivered; absent when there was none.',
    labels: ['kind', 'source', 'delivery'],
  },
  dirsync_run_interval_seconds: {
    help: 'The longest time between two ticks of its schedule, by kind; absent while it is off or paused.',
    labels: ['kind', 'source'],
  },
  dirsync_run_unsuccessful_seconds: {
    help: 'For how long there should have been a good run, by kind: since the last one or since its schedule has been in force, without halts and what a run under way needs; absent while it is off or paused.',
    labels: ['kind', 'source'],
  },
  dirsync_hr_delivery_seconds: {
    help: 'For how long runs have read the same delivery, of an HR in files.',
    labels: ['source'],
  },
  dirsync_schedule_paused_seconds: {
    help: 'For how long a person has paused a cron job, by its name; absent while it is not paused.',
    labels: ['schedule'],
  },
  dirsync_job_failing_seconds: {
    help: 'Time since a cron job, or a run that it asks for, first failed without a good one after it; absent while it is fine. changes and full: see dirsync_run_unsuccessful_seconds.',
    labels: ['schedule', 'source'],
  },
  dirsync_processes_lost: {
    help: 'Processes that went without a word within a day and that no other has replaced.',
    labels: [],
  },
  dirsync_heartbeat_failing: {
    help: '1 while the monitor of HEARTBEAT_URL does not take a call, otherwise 0.',
    labels: [],
  },
  dirsync_work_oldest_age_seconds: {
    help: 'Time that the oldest work has waited while it could be done, beyond what all of it needs; 0 when there is none. Full runs and halted enterprises do not count.',
    labels: [],
  },
  dirsync_outcomes_unknown: {
    help: 'Refunds and top-ups that were sent and may have been carried out.',
    labels: ['kind'],
  },
  dirsync_notifications_refused_last_day: {
    help: 'Refunds that the platform reported within the last day but that dirsync never sent, or sent for another order or amount.',
    labels: [],
  },
  dirsync_token_creations_last_hour: {
    help: 'Access tokens that were asked for within the last hour.',
    labels: [],
  },
  dirsync_clock_offset_seconds: {
    help: 'How far the clock of a living process differs from the platform’s, the largest of them; absent while none knows.',
    labels: [],
  },
  dirsync_queue_away_seconds: {
    help: 'For how long a living process has not reached the queue; 0 when all do.',
    labels: [],
  },
  dirsync_processes_outdated: {
    help: 'Living processes with other HR sources than the one that was started last.',
    labels: [],
  },
  dirsync_database_size_bytes: {
    help: 'Size of the database of dirsync.',
    labels: [],
  },
  dirsync_database_connections: {
    help: 'Connections to the server of the database, of all its databases.',
    labels: [],
  },
  dirsync_database_connections_limit: {
    help: 'Connections that the server of the database permits, without those kept for administrators.',
    labels: [],
  },
  dirsync_figures_seconds: {
    help: 'How long it took to read these figures.',
    labels: [],
  },
  dirsync_alerts: {
    help: 'Alerts that fire, by rule and severity.',
    labels: ['rule', 'severity'],
  },
  dirsync_alert_channel_failing_seconds: {
    help: 'For how long a channel of alerts has taken no message; 0 when it is fine, or none waits for it.',
    labels: ['channel'],
  },
  dirsync_alert_deliveries: {
    help: 'Messages of alerts of the last seven days, by channel and what became of them: waiting, sent, given_up.',
    labels: ['channel', 'state'],
  },
} as const satisfies Record<string, Metric>
type DatabaseMetric = keyof typeof DATABASE_METRICS

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
    const add: AddMetric = (name, samples) => {
      const { help, labels: labelNames }: Metric = DATABASE_METRICS[name]
      const parts = { name, help, labelNames, registers: [registry] }
      const counter = name.endsWith('_total') ? new Counter(parts) : null
      const gauge = counter ? null : new Gauge(parts)
      for (const [labels, value] of samples) {
        counter?.inc(labels, value)
        gauge?.set(labels, value)
      }
    }
    const up = read === null ? 0 : 1
    add('dirsync_database_up', [[{}, up]])
    if (read !== null) {
      const [health, refunds, topUps] = read
      addFigures(add, health)
      addHealth(add, health)
      add('dirsync_outcomes_unknown', [
        [{ kind: 'refund' }, refunds.unknown],
        [{ kind: 'topup' }, topUps.unknown],
      ])
    }
    return registry.metrics()
  }
}

type AddMetric = (name: DatabaseMetric, samples: [labels: Record<string, string>, value: number][]) => void

/** Adds the name of the source to the labels if HR has several. */
function ofSource(labels: Record<string, string>, source: string): Record<string, string> {
  return source === '' ? labels : { ...labels, source }
}

function addFigures(add: AddMetric, figures: Figures): void {
  add(
    'dirsync_pending_entities',
    JOB_OPERATIONS.flatMap(operation =>
      [true, false].map(enqueued => [
        { operation, enqueued: String(enqueued) },
        countOf(figures.pending, row => row.operation === operation && row.enqueued === enqueued),
      ]),
    ),
  )
  add(
    'dirsync_pending_oldest_age_seconds',
    JOB_OPERATIONS.map(operation => {
      const rows = figures.pending.filter(row => row.operation === operation)
      return [{ operation }, Math.max(0, ...rows.map(row => row.oldestAge))]
    }),
  )
  add(
    'dirsync_dead_letters',
    figures.deadLetters.map(({ category, state, count }) => [{ category, state }, count]),
  )
  add(
    'dirsync_runs',
    // Even at zero, so that an alert can tell "none" from "not measured".
    RUN_STATES.map(state => [{ state }, countOf(figures.runs, row => row.state === state)]),
  )
  const ended = (of: (row: Figures['endedRuns'][number]) => number) =>
    figures.endedRuns.map((row): [{ kind: string; state: string }, number] => {
      const { kind, state } = row
      return [{ kind, state }, of(row)]
    })
  add(
    'dirsync_runs_total',
    ended(row => row.ended),
  )
  add(
    'dirsync_run_seconds_total',
    ended(row => row.seconds),
  )
  add(
    'dirsync_run_last_success_age_seconds',
    figures.lastSuccesses.map(({ kind, source, age }) => [ofSource({ kind }, source), age]),
  )
  add(
    'dirsync_halts',
    figures.halts.map(({ category, scope, source, count }) => [ofSource({ category, scope }, source), count]),
  )
  add(
    'dirsync_employees',
    SHOWN_EMPLOYEE_STATUSES.map(status => [
      { status },
      countOf(figures.employees, row => row.status === status),
    ]),
  )
  add(
    'dirsync_processes',
    ROLES.map(role => [{ role }, countOf(figures.processes, row => row.role === role)]),
  )

  const { calls_per_second, utilisation } = figures.pace
  add('dirsync_platform_calls_per_second', [[{}, calls_per_second]])
  if (utilisation !== null) add('dirsync_platform_utilisation_ratio', [[{}, utilisation]])
  add('dirsync_platform_pause_seconds', [[{}, figures.platformPause]])
}

/** The figures that alert rules use. */
function addHealth(add: AddMetric, health: Health): void {
  add(
    'dirsync_run_suspect',
    health.sourceChecks.map(({ kind, source, suspect, delivering }) => [
      ofSource({ kind, ...(delivering && { delivery: 'incomplete' }) }, source),
      suspect ? 1 : 0,
    ]),
  )
  add(
    'dirsync_run_interval_seconds',
    health.schedules.map(({ kind, source, interval }) => [ofSource({ kind }, source), interval]),
  )
  add(
    'dirsync_run_unsuccessful_seconds',
    health.schedules.map(({ kind, source, unsuccessful }) => [ofSource({ kind }, source), unsuccessful]),
  )
  add(
    'dirsync_hr_delivery_seconds',
    health.deliveries.map(({ source, age }) => [ofSource({}, source), age]),
  )
  add(
    'dirsync_schedule_paused_seconds',
    health.pausedSchedules.map(({ job, age }) => [{ schedule: job }, age]),
  )
  add(
    'dirsync_job_failing_seconds',
    health.failingJobs.map(({ job, source, age }) => [ofSource({ schedule: job }, source), age]),
  )
  add('dirsync_processes_lost', [[{}, health.lostProcesses.length]])
  add('dirsync_heartbeat_failing', [[{}, health.heartbeatFailing === null ? 0 : 1]])
  add('dirsync_work_oldest_age_seconds', [[{}, health.work[0]?.age ?? 0]])
  add('dirsync_notifications_refused_last_day', [[{}, health.notificationsRefused.count]])
  add('dirsync_token_creations_last_hour', [[{}, health.tokenCreations]])
  if (health.clockOffset !== null) add('dirsync_clock_offset_seconds', [[{}, Math.abs(health.clockOffset)]])
  add('dirsync_queue_away_seconds', [[{}, health.queueAway?.age ?? 0]])
  add('dirsync_processes_outdated', [[{}, health.outdatedProcesses.length]])
  const { bytes, connections, connectionsLimit } = health.database
  add('dirsync_database_size_bytes', [[{}, bytes]])
  add('dirsync_database_connections', [[{}, connections]])
  add('dirsync_database_connections_limit', [[{}, connectionsLimit]])
  add('dirsync_figures_seconds', [[{}, health.took]])
  add(
    'dirsync_alerts',
    RULE_NAMES.map(rule => {
      const { severity } = RULES[rule]
      return [{ rule, severity }, countOf(health.alerts, row => row.rule === rule)]
    }),
  )
  add(
    'dirsync_alert_channel_failing_seconds',
    health.channels.map(({ channel, failing }) => [{ channel }, failing]),
  )
  add(
    'dirsync_alert_deliveries',
    health.messages.map(({ channel, state, count }) => [{ channel, state }, count]),
  )
}

function countOf<Row extends { count: number }>(rows: Row[], isWanted: (row: Row) => boolean): number {
  return rows.find(isWanted)?.count ?? 0
}
