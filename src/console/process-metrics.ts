import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { PacerSnapshot } from '../pacing/pacer.ts'

/** One HTTP exchange with the platform, as its client reports it. */
interface ObservedCall {
  operation: string
  durationMs: number
  /** Code of the platform's answer, or the code of our error (`PLATFORM_TIMEOUT`, …). */
  code: number | string
  httpStatus?: number
  /** How long it waited for its turn before. */
  waitedMs: number
  /** Whether the platform rejected it because there were too many. */
  tooFast: boolean
}

interface ObservedJob {
  operation: string
  outcome: string
  durationMs: number
}

/** A call ends within its time-out of 10 s. */
const CALL_BUCKETS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
/** A call of a full run may wait while others are sent. */
const WAIT_BUCKETS = [0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]
/** A job waits for the pacer before each of its calls. */
const JOB_BUCKETS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120]

/**
 * What this process did, counted in memory since its start, and how Node.js fares in it. Labels come from closed lists:
 * operations, outcomes, and codes that the platform's specification names.
 */
export class ProcessMetrics {
  readonly #registry = new Registry()
  readonly #platformCodes: ReadonlySet<string>
  readonly #calls: Counter<'operation' | 'code'>
  readonly #callSeconds: Histogram<'operation'>
  readonly #waitSeconds: Histogram<'operation'>
  readonly #tooFast: Counter<'operation'>
  readonly #jobs: Counter<'operation' | 'outcome'>
  readonly #jobSeconds: Histogram<'operation'>
  readonly #notifications: Counter<'outcome'>

  /** @param options.platformCodes the codes that may become labels; any other one is `unlisted` */
  constructor(options: { version: string; platformCodes: Iterable<string> }) {
    this.#platformCodes = new Set(['0', ...options.platformCodes])
    const registers = [this.#registry]
    collectDefaultMetrics({ register: this.#registry })
    new Gauge({
      name: 'dirsync_build_info',
      help: 'Always 1; the version of this process as label.',
      labelNames: ['version'],
      registers,
    }).set({ version: options.version }, 1)
    this.#calls = new Counter({
      name: 'dirsync_platform_calls_total',
      help: 'Calls of this process to the platform, by operation and code: 0 is success, else a code of the platform or the kind of failure.',
      labelNames: ['operation', 'code'],
      registers,
    })
    this.#callSeconds = new Histogram({
      name: 'dirsync_platform_call_duration_seconds',
      help: 'How long the calls of this process to the platform took, without waiting for the pacer.',
      labelNames: ['operation'],
      buckets: CALL_BUCKETS,
      registers,
    })
    this.#waitSeconds = new Histogram({
      name: 'dirsync_platform_call_wait_seconds',
      help: 'How long the calls of this process waited for the pacer before they were sent.',
      labelNames: ['operation'],
      buckets: WAIT_BUCKETS,
      registers,
    })
    this.#tooFast = new Counter({
      name: 'dirsync_platform_calls_too_fast_total',
      help: 'Calls of this process that the platform rejected because there were too many, by operation.',
      labelNames: ['operation'],
      registers,
    })
    this.#jobs = new Counter({
      name: 'dirsync_jobs_total',
      help: 'Jobs that this process carried out, by operation and outcome.',
      labelNames: ['operation', 'outcome'],
      registers,
    })
    this.#jobSeconds = new Histogram({
      name: 'dirsync_job_duration_seconds',
      help: 'How long the jobs of this process took, waiting for the pacer included.',
      labelNames: ['operation'],
      buckets: JOB_BUCKETS,
      registers,
    })
    this.#notifications = new Counter({
      name: 'dirsync_notifications_total',
      help: 'What came to the receiver of refund notifications of this process: stored, repeated, or why it was refused.',
      labelNames: ['outcome'],
      registers,
    })
  }

  /** Fits `onCall` of the platform client. */
  readonly observeCall = (call: ObservedCall): void => {
    const { operation } = call
    this.#calls.inc({ operation, code: this.#labelOf(call) })
    this.#callSeconds.observe({ operation }, call.durationMs / 1000)
    this.#waitSeconds.observe({ operation }, call.waitedMs / 1000)
    this.#tooFast.inc({ operation }, call.tooFast ? 1 : 0)
  }

  /** Shows how the pacer of this process stands at the moment of each scrape. */
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
      'Calls per second that are let go, of all processes together; 0 while an unknown limit is not yet learnt.',
      now => now.ratePerSecond,
    )
    gauge('learnt', '1 when that rate was learnt, 0 when it was set.', now => (now.learnt ? 1 : 0))
    gauge(
      'ceiling_calls_per_second',
      'The rate at which the platform last rejected calls; absent when none is known.',
      now => now.ceiling,
    )
    gauge('waiting_calls', 'Calls of this process that wait for their turn.', now => now.waiting)
    gauge(
      'pause_seconds',
      'What is left of a pause that the platform asked for, as this process knows it.',
      now => now.pausedForMs / 1000,
    )
  }

  /** Fits `onSettled` of the job processor. */
  readonly observeJob = ({ operation, outcome, durationMs }: ObservedJob): void => {
    this.#jobs.inc({ operation, outcome })
    this.#jobSeconds.observe({ operation }, durationMs / 1000)
  }

  /** Fits `onOutcome` of the receiver of notifications. */
  readonly observeNotification = (outcome: string): void => this.#notifications.inc({ outcome })

  /** The present values in Prometheus' text format. */
  text(): Promise<string> {
    return this.#registry.metrics()
  }

  /** `timeout`, `connection` … for our own errors; of HTTP statuses only 429 stands alone, the others by their class. */
  #labelOf({ code, httpStatus }: ObservedCall): string {
    if (typeof code === 'number') return this.#platformCodes.has(String(code)) ? String(code) : 'unlisted'
    const kind = code.replace(/^PLATFORM_/, '').toLowerCase()
    if (kind !== 'http' || httpStatus === undefined) return kind
    return httpStatus === 429 ? 'http_429' : `http_${Math.floor(httpStatus / 100)}xx`
  }
}
