import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { Pool } from '../lib/database.ts'
import type { PacerSnapshot } from '../pacing/pacer.ts'
import type { CallReport } from '../platform/caller.ts'
import type { OnSettled } from '../sync/work/job-processor.ts'
import type { Metric } from './database-metrics.ts'

/** Seconds. A call ends within its timeout of 10 s. */
const CALL_BUCKETS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
/** A call of a full run may wait while others are sent. */
const WAIT_BUCKETS = [0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]
/** The objective is 10 minutes: `le="600"` counts the changes that met it. */
const CHANGE_BUCKETS = [1, 5, 15, 30, 60, 120, 300, 600, 1800, 3600, 14_400, 86_400]
/** A job waits for the pacer before each of its calls. */
const JOB_BUCKETS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120]

/** Figures of one process. docs/monitoring.md lists them, generated from here. */
export const PROCESS_METRICS = {
  dirsync_platform_calls_total: {
    help: 'Calls of this process to the platform, by operation and code: 0 is success, otherwise the code of the platform or the kind of failure.',
    labels: ['operation', 'code'],
  },
  dirsync_platform_calls_rate_limited_total: {
    help: 'Calls of this process that the platform rejected because there were too many, by operation.',
    labels: ['operation'],
  },
  dirsync_platform_call_duration_seconds: {
    help: 'How long the calls of this process to the platform took, without the time they waited for the pacer.',
    labels: ['operation'],
    buckets: CALL_BUCKETS,
  },
  dirsync_platform_call_wait_seconds: {
    help: 'How long the calls of this process waited for the pacer before they were sent.',
    labels: ['operation'],
    buckets: WAIT_BUCKETS,
  },
  dirsync_pacer_permitted_calls_per_second: {
    help: 'Calls per second that the pacer permits, for all processes together; 0 while an unknown limit is not yet learnt.',
  },
  dirsync_pacer_learnt: {
    help: '1 when the permitted rate is learnt, also while none is known yet, or was lowered because the platform rejected calls; 0 when it is as set.',
  },
  dirsync_pacer_ceiling_calls_per_second: {
    help: 'The rate at which the platform last rejected calls; absent when none is known.',
  },
  dirsync_pacer_waiting_calls: { help: 'Calls of this process that wait for the pacer.' },
  dirsync_pacer_pause_seconds: {
    help: 'Remaining time of a pause that the platform asked for, as this process knows it.',
  },
  dirsync_jobs_total: {
    help: 'Jobs that this process carried out, each for one employee, department or binding, by operation and outcome.',
    labels: ['operation', 'outcome'],
  },
  dirsync_job_duration_seconds: {
    help: 'How long the jobs of this process took, with the time they waited for the pacer.',
    labels: ['operation'],
    buckets: JOB_BUCKETS,
  },
  dirsync_notifications_total: {
    help: 'Requests to the receiver of refund notifications of this process, other than /healthz, by outcome: stored, repeated, or why it refused them.',
    labels: ['outcome'],
  },
  dirsync_change_seconds: {
    help: 'Time from the moment at which dirsync found a change in HR, or a person asked or approved it, to the confirmation by the platform. Not counted: what became a case, and what a full run found, or took over before it was first tried. The objective is 99 % within 10 minutes.',
    buckets: CHANGE_BUCKETS,
  },
  dirsync_pool_connections: {
    help: 'Connections of this process to dirsync’s database, by pool (`main`, `console`, `notifications`, `alerts`): in use, idle, and requests that wait for one.',
    labels: ['pool', 'state'],
  },
  dirsync_build_info: { help: 'Always 1. Its label is the version of this process.', labels: ['version'] },
} as const satisfies Record<string, Metric>
type ProcessMetric = keyof typeof PROCESS_METRICS
type LabelOf<Name extends ProcessMetric> = (typeof PROCESS_METRICS)[Name] extends {
  labels: readonly (infer Label extends string)[]
}
  ? Label
  : never

/**
 * Counters of this process since its start, and Node.js' own metrics. Labels come from closed lists: operations,
 * outcomes, and codes that the platform's specification names.
 */
export class ProcessMetrics {
  readonly #registry = new Registry()
  readonly #platformCodes: ReadonlySet<string>
  readonly #calls = this.#counter('dirsync_platform_calls_total')
  readonly #callSeconds = this.#histogram('dirsync_platform_call_duration_seconds')
  readonly #waitSeconds = this.#histogram('dirsync_platform_call_wait_seconds')
  readonly #rateLimited = this.#counter('dirsync_platform_calls_rate_limited_total')
  readonly #jobs = this.#counter('dirsync_jobs_total')
  readonly #jobSeconds = this.#histogram('dirsync_job_duration_seconds')
  readonly #changeSeconds = this.#histogram('dirsync_change_seconds')
  readonly #notifications = this.#counter('dirsync_notifications_total')

  /** @param options.platformCodes the codes that may become labels; any other code becomes `unlisted` */
  constructor(options: { version: string; platformCodes: Iterable<string> }) {
    this.#platformCodes = new Set(['0', ...options.platformCodes])
    collectDefaultMetrics({ register: this.#registry })
    new Gauge(this.#parts('dirsync_build_info')).set({ version: options.version }, 1)
  }

  #parts<Name extends ProcessMetric>(name: Name) {
    const { help, labels = [] }: Metric = PROCESS_METRICS[name]
    return { name, help, labelNames: labels as readonly LabelOf<Name>[], registers: [this.#registry] }
  }

  #counter<Name extends ProcessMetric>(name: Name): Counter<LabelOf<Name>> {
    return new Counter(this.#parts(name))
  }

  #histogram<Name extends ProcessMetric>(name: Name): Histogram<LabelOf<Name>> {
    const { buckets = [] }: Metric = PROCESS_METRICS[name]
    return new Histogram({ ...this.#parts(name), buckets: [...buckets] })
  }

  /** Pass as `onCall` to the platform client. */
  readonly observeCall = (call: CallReport): void => {
    const { operation } = call
    this.#calls.inc({ operation, code: this.#labelOf(call) })
    this.#callSeconds.observe({ operation }, call.durationMs / 1000)
    this.#waitSeconds.observe({ operation }, call.waitedMs / 1000)
    this.#rateLimited.inc({ operation }, call.rateLimited ? 1 : 0)
  }

  /**
   * `timeout`, `connection` … for our own errors. Of HTTP statuses only 429 has its own label; the others are grouped
   * by class.
   */
  #labelOf({ code, httpStatus }: CallReport): string {
    if (typeof code === 'number') return this.#platformCodes.has(String(code)) ? String(code) : 'unlisted'
    const kind = code.replace(/^PLATFORM_/, '').toLowerCase()
    if (kind !== 'http' || httpStatus === undefined) return kind
    return httpStatus === 429 ? 'http_429' : `http_${Math.floor(httpStatus / 100)}xx`
  }

  /** Pass as `onSettled` to the job processor. */
  readonly observeJob = (job: Parameters<NonNullable<OnSettled>>[0]): void => {
    const { operation, outcome, durationMs, changeMs } = job
    if (changeMs !== null) this.#changeSeconds.observe(changeMs / 1000)
    this.#jobs.inc({ operation, outcome })
    this.#jobSeconds.observe({ operation }, durationMs / 1000)
  }

  /** Pass as `onOutcome` to the receiver of notifications. */
  readonly observeNotification = (outcome: string): void => this.#notifications.inc({ outcome })

  /** Exposes the size of a connection pool and the number of waiting clients at each scrape. */
  watchPool(name: string, pool: Pick<Pool, 'totalCount' | 'idleCount' | 'waitingCount'>): void {
    this.#pools.set(name, pool)
  }

  readonly #pools = new Map<string, Pick<Pool, 'totalCount' | 'idleCount' | 'waitingCount'>>()
  readonly #poolGauge: Gauge<'pool' | 'state'> = new Gauge({
    ...this.#parts('dirsync_pool_connections'),
    collect: () => {
      for (const [pool, { totalCount, idleCount, waitingCount }] of this.#pools) {
        this.#poolGauge.set({ pool, state: 'used' }, totalCount - idleCount)
        this.#poolGauge.set({ pool, state: 'idle' }, idleCount)
        this.#poolGauge.set({ pool, state: 'waiting' }, waitingCount)
      }
    },
  })

  /** Exposes the state of this process's pacer at each scrape. */
  watchPacer(snapshot: () => PacerSnapshot): void {
    const gauge = (name: ProcessMetric, of: (now: PacerSnapshot) => number | null) =>
      new Gauge({
        ...this.#parts(name),
        collect() {
          const value = of(snapshot())
          if (value === null) this.remove()
          else this.set(value)
        },
      })
    gauge('dirsync_pacer_permitted_calls_per_second', now =>
      Math.min(now.ratePerSecond, now.cap ?? now.ratePerSecond),
    )
    gauge('dirsync_pacer_learnt', now => (now.learnt ? 1 : 0))
    gauge('dirsync_pacer_ceiling_calls_per_second', now => now.ceiling)
    gauge('dirsync_pacer_waiting_calls', now => now.waiting)
    gauge('dirsync_pacer_pause_seconds', now => now.pausedForMs / 1000)
  }

  /** All metrics in Prometheus' text format. */
  text(): Promise<string> {
    return this.#registry.metrics()
  }
}
