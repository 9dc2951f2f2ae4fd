import { Counter, Gauge, Registry } from 'prom-client'
import { RULE_NAMES, RULES } from '../alerts/rule.ts'
import { isReadOnly, type Pool } from '../lib/database.ts'
import { readOnlyTrouble } from '../lib/failure.ts'
import { type OpenMoney, readOpenMoney } from '../money/open.ts'
import { JOB_OPERATIONS } from '../queue/job.ts'
import { SHOWN_EMPLOYEE_STATUSES } from '../sync/health/figures.ts'
import { type Health, readHealth } from '../sync/health/health.ts'
import { ASIDES, ROLES } from '../sync/processes/process.ts'
import { RUN_STATES } from '../sync/runs/run.ts'
import { SaidError } from '../texts/message.ts'

/** A metric; `buckets` of a histogram. */
export interface Metric {
  help: string
  labels?: readonly string[]
  buckets?: readonly number[]
}

/** What is read of the deployment at each scrape. */
interface Deployment extends Health {
  money: OpenMoney
}

type Sample = [labels: Record<string, string>, value: number]

interface DatabaseMetric extends Metric {
  /** Its series; null: the metric is absent. */
  read(deployment: Deployment): Sample[] | null
}

/** Figures of the whole deployment. docs/monitoring.md lists them, generated from here. */
export const DATABASE_METRICS = {
  dirsync_database_up: {
    help: '1 when this scrape could read the database, and it takes writes, otherwise 0.',
    read: () => one(1),
  },
  dirsync_pending_entities: {
    help: 'Entities whose desired state the platform has not confirmed, by operation and whether they are in the queue.',
    labels: ['operation', 'enqueued'],
    read: ({ pending }) =>
      JOB_OPERATIONS.flatMap(operation =>
        [true, false].map(
          (enqueued): Sample => [
            { operation, enqueued: String(enqueued) },
            countOf(pending, row => row.operation === operation && row.enqueued === enqueued),
          ],
        ),
      ),
  },
  dirsync_pending_oldest_age_seconds: {
    help: 'Age of the oldest pending entity, by operation; 0 when there is none.',
    labels: ['operation'],
    read: ({ pending }) =>
      JOB_OPERATIONS.map(operation => {
        const rows = pending.filter(row => row.operation === operation)
        return [{ operation }, Math.max(0, ...rows.map(row => row.oldestAge))]
      }),
  },
  dirsync_dead_letters: {
    help: 'Cases for review that are not resolved, by category and state.',
    labels: ['category', 'state'],
    read: ({ deadLetters }) => deadLetters.map(({ category, state, count }) => [{ category, state }, count]),
  },
  dirsync_runs: {
    help: 'Runs that are kept, by state: for 180 days, for ever if people decided about them; those of rows that HR named, and retries by themselves, for 30; for one if such a run, or any retry, had nothing to do.',
    labels: ['state'],
    read: ({ runs }) =>
      // Even at zero, so that an alert can tell "none" from "not measured".
      RUN_STATES.map(state => [{ state }, countOf(runs, row => row.state === state)]),
  },
  dirsync_runs_total: {
    help: 'Runs that ended, by kind and state. Counted in the database, for all processes together.',
    labels: ['kind', 'state'],
    read: ({ endedRuns }) => endedRuns.map(({ kind, state, ended }) => [{ kind, state }, ended]),
  },
  dirsync_run_seconds_total: {
    help: 'How long the runs took that ended, from request to end, added up.',
    labels: ['kind', 'state'],
    read: ({ endedRuns }) => endedRuns.map(({ kind, state, seconds }) => [{ kind, state }, seconds]),
  },
  dirsync_run_last_success_age_seconds: {
    help: 'Time since the last successful run ended, by kind. Absent when there was none; of employees, until the first sync on the present account, and of every HR source that has begun it, is done.',
    labels: ['kind', 'source'],
    read: ({ lastSuccesses }) =>
      lastSuccesses.map(({ kind, source, age }) => [ofSource({ kind }, source), age]),
  },
  dirsync_halts: {
    help: 'Halts in force, by category (paused: by a person): of everything, of a source of HR (one, however many enterprises it has), or of an enterprise.',
    labels: ['category', 'scope', 'source'],
    read: ({ halts }) =>
      halts.map(({ category, scope, source, count }) => [ofSource({ category, scope }, source), count]),
  },
  dirsync_employees: {
    help: 'Employees by status: how far the platform agrees with HR, and why not.',
    labels: ['status'],
    read: ({ employees }) =>
      SHOWN_EMPLOYEE_STATUSES.map(status => [{ status }, countOf(employees, row => row.status === status)]),
  },
  dirsync_processes: {
    help: 'Processes that gave a sign of life within 15 s, by role.',
    labels: ['role'],
    read: ({ processes }) => ROLES.map(role => [{ role }, countOf(processes, row => row.role === role)]),
  },
  dirsync_platform_calls_per_second: {
    help: 'Calls to the platform per second over the last ten seconds, of all workers.',
    read: ({ pace }) => one(pace.calls_per_second),
  },
  dirsync_platform_utilisation_ratio: {
    help: 'Share of the permitted rate that was used over the last ten seconds, 0 to 1; absent while the rate is not known.',
    read: ({ pace }) => (pace.utilisation === null ? null : one(pace.utilisation)),
  },
  dirsync_platform_pause_seconds: {
    help: 'Remaining time of a pause that the platform asked for; 0 when there is none.',
    read: ({ platformPause }) => one(platformPause),
  },
  dirsync_run_suspect: {
    help: '1 when the latest run that checked HR, or check for a held one, found it wrong, otherwise 0, by kind; delivery="incomplete" while files are being delivered; absent when there was none.',
    labels: ['kind', 'source', 'delivery'],
    read: ({ sourceChecks }) =>
      sourceChecks.map(({ kind, source, suspect, delivering }) => [
        ofSource({ kind, ...(delivering && { delivery: 'incomplete' }) }, source),
        suspect ? 1 : 0,
      ]),
  },
  dirsync_run_interval_seconds: {
    help: 'The longest time between two ticks of its schedule, by kind; absent while it is off or paused.',
    labels: ['kind', 'source'],
    read: ({ schedules }) =>
      schedules.map(({ kind, source, interval }) => [ofSource({ kind }, source), interval]),
  },
  dirsync_run_unsuccessful_seconds: {
    help: 'For how long there should have been a good run, by kind: since the last one, or since its schedule has been in force, a pause or halt ended, or HR was last checked for a held run; without what a run under way needs; absent while it is off or paused.',
    labels: ['kind', 'source'],
    read: ({ schedules }) =>
      schedules.map(({ kind, source, unsuccessful }) => [ofSource({ kind }, source), unsuccessful]),
  },
  dirsync_hr_delivery_seconds: {
    help: 'For how long runs have read the same delivery, of an HR in files.',
    labels: ['source'],
    read: ({ deliveries }) => deliveries.map(({ source, age }) => [ofSource({}, source), age]),
  },
  dirsync_schedule_paused_seconds: {
    help: 'For how long a person has paused a cron job, by its name; absent while it is not paused.',
    labels: ['schedule'],
    read: ({ pausedSchedules }) => pausedSchedules.map(({ job, age }) => [{ schedule: job }, age]),
  },
  dirsync_job_failing_seconds: {
    help: 'Time since a cron job, or a run that it asks for, first failed without a good one after it; absent while it is fine. changes and full: see dirsync_run_unsuccessful_seconds.',
    labels: ['schedule', 'source'],
    read: ({ failingJobs }) =>
      failingJobs.map(({ job, source, age }) => [ofSource({ schedule: job }, source), age]),
  },
  dirsync_processes_lost: {
    help: 'Processes that went without a word within a day and that no other has replaced.',
    read: ({ lostProcesses }) => one(lostProcesses.length),
  },
  dirsync_heartbeat_failing: {
    help: '1 while the monitor of HEARTBEAT_URL does not take a call, otherwise 0.',
    read: ({ heartbeatFailing }) => one(heartbeatFailing === null ? 0 : 1),
  },
  dirsync_work_oldest_age_seconds: {
    help: 'Time that the oldest work has waited while it could be done, beyond what all of it needs; 0 when there is none. Full runs and halted enterprises do not count.',
    read: ({ work }) => one(work[0]?.age ?? 0),
  },
  dirsync_outcomes_unknown: {
    help: 'Refunds and top-ups that were sent and may have been carried out; also those whose sender hangs, and accepted refunds that nothing shows a week later.',
    labels: ['kind'],
    read: ({ money }) => Object.entries(money).map(([kind, { unknown }]) => [{ kind }, unknown]),
  },
  dirsync_outcomes_contradicted_last_week: {
    help: 'Refunds and top-ups that turned out within the last seven days otherwise than recorded, or perhaps.',
    labels: ['kind'],
    read: ({ outcomesContradicted }) =>
      ['refund', 'topup'].map(kind => [{ kind }, countOf(outcomesContradicted, row => row.kind === kind)]),
  },
  dirsync_notifications_refused_last_day: {
    help: 'Refunds that the platform reported within the last day but that dirsync never sent, or sent for another order or amount.',
    read: ({ notificationsRefused }) => one(notificationsRefused.count),
  },
  dirsync_token_creations_last_hour: {
    help: 'Access tokens that were asked for within the last hour.',
    read: ({ tokenCreations }) => one(tokenCreations),
  },
  dirsync_clock_offset_seconds: {
    help: 'How far the clock of a living process differs from the platform’s, the largest of them; absent while none knows.',
    read: ({ clockOffset }) => (clockOffset === null ? null : one(Math.abs(clockOffset))),
  },
  dirsync_queue_away_seconds: {
    help: 'For how long no living worker, or no scheduler, has reached the queue (scope: everything), or else a process alone (scope: process); 0 when they do.',
    labels: ['scope'],
    read: ({ queueAway, queueAwayForAll }) => [
      [{ scope: 'everything' }, queueAwayForAll ?? 0],
      [{ scope: 'process' }, queueAwayForAll === null ? (queueAway[0]?.age ?? 0) : 0],
    ],
  },
  dirsync_processes_outdated: {
    help: 'Living processes with other HR sources than the one that was started last.',
    read: ({ outdatedProcesses }) => one(outdatedProcesses.length),
  },
  dirsync_processes_aside: {
    help: 'Living processes that leave all work to others, by reason: `secret` (the platform refuses theirs), `unreachable` (they do not reach it; none while it is away for all).',
    labels: ['reason'],
    read: ({ asideProcesses }) =>
      ASIDES.map(reason => [{ reason }, asideProcesses.filter(aside => aside.reason === reason).length]),
  },
  dirsync_database_size_bytes: {
    help: 'Size of the database of dirsync.',
    read: ({ database }) => one(database.bytes),
  },
  dirsync_database_connections: {
    help: 'Connections to the server of the database, of all its databases.',
    read: ({ database }) => one(database.connections),
  },
  dirsync_database_connections_limit: {
    help: 'Connections that the server of the database permits, without those kept for administrators.',
    read: ({ database }) => one(database.connectionsLimit),
  },
  dirsync_figures_seconds: {
    help: 'How long it took to read these figures.',
    read: ({ took }) => one(took),
  },
  dirsync_alerts: {
    help: 'Alerts that fire, by rule and severity.',
    labels: ['rule', 'severity'],
    read: ({ alerts }) =>
      RULE_NAMES.map(rule => [
        { rule, severity: RULES[rule].severity },
        countOf(alerts, row => row.rule === rule),
      ]),
  },
  dirsync_alert_channel_failing_seconds: {
    help: 'For how long messages of a channel have not reached all of its recipients; 0 when they do, or none waits.',
    labels: ['channel'],
    read: ({ channels }) => channels.map(({ channel, failing }) => [{ channel }, failing]),
  },
  dirsync_alert_deliveries: {
    help: 'Messages of the last seven days (alerts, events and notices to users), by channel and what became of them: waiting, sent, given_up.',
    labels: ['channel', 'state'],
    read: ({ messages }) => messages.map(({ channel, state, count }) => [{ channel, state }, count]),
  },
} satisfies Record<string, DatabaseMetric>

function one(value: number): Sample[] {
  return [[{}, value]]
}

/** Adds the name of the source to the labels if HR has several. */
function ofSource(labels: Record<string, string>, source: string): Record<string, string> {
  return source === '' ? labels : { ...labels, source }
}

function countOf<Row extends { count: number }>(rows: Row[], isWanted: (row: Row) => boolean): number {
  return rows.find(isWanted)?.count ?? 0
}

/**
 * The state of the whole deployment, read from PostgreSQL at each scrape, so it is the same in every process. Without
 * the database, or while that takes no writes, only `dirsync_database_up 0` is exposed, instead of stale values.
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
    const read = await this.#readFigures().catch((error: Error) => {
      this.#onTrouble(error)
      return null
    })
    // A new registry for each reading: series that are gone from the database disappear from the answer.
    const registry = new Registry()
    const add = (name: string, { help, labels: labelNames = [] }: Metric, samples: Sample[]) => {
      const parts = { name, help, labelNames, registers: [registry] }
      const counter = name.endsWith('_total') ? new Counter(parts) : null
      const gauge = counter ? null : new Gauge(parts)
      for (const [labels, value] of samples) {
        counter?.inc(labels, value)
        gauge?.set(labels, value)
      }
    }
    if (read === null) add('dirsync_database_up', DATABASE_METRICS.dirsync_database_up, one(0))
    else {
      const [health, money] = read
      for (const [name, metric] of Object.entries<DatabaseMetric>(DATABASE_METRICS)) {
        const samples = metric.read({ ...health, money })
        if (samples !== null) add(name, metric, samples)
      }
    }
    return registry.metrics()
  }

  async #readFigures(): Promise<[Health, OpenMoney]> {
    if (await isReadOnly(this.#pool)) throw new SaidError(readOnlyTrouble().what)
    return Promise.all([readHealth(this.#pool), readOpenMoney(this.#pool)])
  }
}
