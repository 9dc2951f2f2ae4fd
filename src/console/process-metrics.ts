import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { Pool } from '../lib/database.ts'
import type { PacerSnapshot } from '../pacing/pacer.ts'
import type { CallReport } from '../platform/caller.ts'
import type { OnSettled } from '../sync/job-processor.ts'

/** Seconds. A call ends within its timeout of 10 s. */
const CALL_BUCKETS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
/** A call of a full run may wait while others are sent. */
const WAIT_BUCKETS = [0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]
/** The objective is 10 minutes: `le="600"` counts the changes that met it. */
const CHANGE_BUCKETS = [1, 5, 15, 30, 60, 120, 300, 600, 1800, 3600, 14_400, 86_400]
/** A job waits for the pacer before each of its calls. */
const JOB_BUCKETS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120]

/**
 * Counters of this process since its start, and Node.js' own metrics. Labels come from closed lists: operations,
 * outcomes, and codes that the platform's specification names.
 */
export class ProcessMetrics {
  readonly #registry = new Registry()
  readonly #platformCodes: ReadonlySet<string>
  readonly #calls = this.#counter(
    'dirsync_platform_calls_total',
    'Calls of this process to the platform, by operation and code: 0 is success, otherwise the code of the platform or the kind of failure.',
    ['operation', 'code'],
  )
  readonly #callSeconds = this.#histogram(
    'dirsync_platform_call_duration_seconds',
    'How long the calls of this process to the platform took, without the time they waited for the pacer.',
    CALL_BUCKETS,
  )
  readonly #waitSeconds = this.#histogram(
    'dirsync_platform_call_wait_seconds',
    'How long the calls of this process waited for the pacer before they were sent.',
    WAIT_BUCKETS,
  )
  readonly #rateLimited = this.#counter(
    'dirsync_platform_calls_rate_limited_total',
    'Calls of this process that the platform rejected because there were too many, by operation.',
    ['operation'],
  )
  readonly #jobs = this.#counter(
    'dirsync_jobs_total',
    'Jobs that this process carried out, by operation and outcome.',
    ['operation', 'outcome'],
  )
  readonly #jobSeconds = this.#histogram(
    'dirsync_job_duration_seconds',
    'How long the jobs of this process took, with the time they waited for the pacer.',
    JOB_BUCKETS,
  )
  readonly #changeSeconds = new Histogram({
    name: 'dirsync_change_seconds',
    help: 'Time from the moment at which dirsync found a change in HR, or a person asked, to the confirmation by the platform.',
    buckets: CHANGE_BUCKETS,
    registers: [this.#registry],
  })
  readonly #notifications = this.#counter(
    'dirsync_notifications_total',
    'Refund notifications that this process received, by outcome: stored, repeated, or why it refused them.',
    ['outcome'],
  )

  /** @param options.platformCodes the codes that may become labels; any other code becomes `unlisted` */
  constructor(options: { version: string; platformCodes: Iterable<string> }) {
    this.#platformCodes = new Set(['0', ...options.platformCodes])
    collectDefaultMetrics({ register: this.#registry })
    new Gauge({
      name: 'dirsync_build_info',
      help: 'Always 1. Its label is the version of this process.',
      labelNames: ['version'],
      registers: [this.#registry],
    }).set({ version: options.version }, 1)
  }

  #counter<Label extends string>(name: string, help: string, labelNames: Label[]): Counter<Label> {
    return new Counter({ name, help, labelNames, registers: [this.#registry] })
  }

  #histogram(name: string, help: string, buckets: number[]): Histogram<'operation'> {
    return new Histogram({ name, help, labelNames: ['operation'], buckets, registers: [this.#registry] })
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
  readonly #poolGauge = new Gauge({
    name: 'dirsync_pool_connections',
    help: 'Database connections of this process, by pool: in use, idle, and requests that wait for one.',
    labelNames: ['pool', 'state'],
    registers: [this.#registry],
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
    const gauge = (name: string, help: string, of: (now: PacerSnapshot) => number | null) =>
      new Gauge({
        name: `dirsync_pacer_${name}`,
        help,
        registers: [this.#registry],
        collect() {
          const value = of(snapshot())
          if (value === null) this.remove()
          else this.set(value)
        },
      })
    gauge(
      'permitted_calls_per_second',
      'Calls per second that the pacer permits, for all processes together; 0 while an unknown limit is not yet learnt.',
      now => Math.min(now.ratePerSecond, now.cap ?? now.ratePerSecond),
    )
    gauge('learnt', '1 when that rate was learnt, 0 when it was set.', now => (now.learnt ? 1 : 0))
    gauge(
      'ceiling_calls_per_second',
      'The rate at which the platform last rejected calls; absent when none is known.',
      now => now.ceiling,
    )
    gauge('waiting_calls', 'Calls of this process that wait for the pacer.', now => now.waiting)
    gauge(
      'pause_seconds',
      'Remaining time of a pause that the platform asked for, as this process knows it.',
      now => now.pausedForMs / 1000,
    )
  }

  /** All metrics in Prometheus' text format. */
  text(): Promise<string> {
    return this.#registry.metrics()
  }
}
