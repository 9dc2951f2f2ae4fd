import { setTimeout as sleep } from 'node:timers/promises'
import { type Job, WaitingError } from 'bullmq'
import type { Logger } from '../lib/logger.ts'
import type { JobData, JobOperation, JobProcessor, JobWorker, QueueCounts, QueueStore } from './backend.ts'
import { BullWorker } from './bullmq.ts'

const WATCH_EVERY_MS = 3_000

/** A worker that claims nothing from one look to the next, while jobs wait and it has room, is replaced after so many. */
const LOOKS_UNTIL_STUCK = 3

/** A processor that threw keeps its place for this long, so that an outage does not empty the queue in a flood. */
const REST_AFTER_FAILURE_MS = 1_000

/** The locks of a process that vanished run out within this span, so that its jobs are told in one line. */
const TELL_STALLED_AFTER_MS = 5_000

/** How long aborted jobs have to end. */
const GRACE_MS = 700

interface WorkerParts {
  store: QueueStore
  queue: { name: string; prefix: string }
  processor: JobProcessor
  concurrency: number
  logger: Logger
  /** What is queued and whether the queue is paused; rejects while the store is away. */
  look(): Promise<QueueCounts & { paused: boolean }>
}

/** See `JobWorker`. Watches over BullMQ's worker, replaces it when it is stuck, and ends within a deadline. */
export class WatchedWorker implements JobWorker {
  readonly #parts: WorkerParts
  readonly #storeTrouble: Trouble
  readonly #processorTrouble: Trouble
  readonly #watch: NodeJS.Timeout
  readonly #workers = new Set<BullWorker>()
  #worker: BullWorker
  #concurrency: number
  #running = 0
  #claimedAt = 0
  #vainLooks = 0
  #looking = false
  #closing: Promise<void> | undefined
  #stalled: string[] = []
  #stalledTimer: NodeJS.Timeout | undefined
  #becomesIdle = Promise.withResolvers<void>()

  constructor(parts: WorkerParts) {
    this.#parts = parts
    this.#concurrency = parts.concurrency
    this.#storeTrouble = new Trouble(parts.logger, "the worker's connection to the queue")
    this.#processorTrouble = new Trouble(parts.logger, 'the processing of jobs')
    this.#worker = this.#open()
    this.#watch = setInterval(() => this.#check(), WATCH_EVERY_MS)
  }

  get running(): number {
    return this.#running
  }

  setConcurrency(concurrency: number): void {
    this.#worker.concurrency = concurrency
    this.#concurrency = concurrency
  }

  close(deadlineMs: number): Promise<void> {
    this.#closing ??= this.#close(deadlineMs)
    return this.#closing
  }

  async #close(deadlineMs: number): Promise<void> {
    clearInterval(this.#watch)
    this.#tellStalled()
    const workers = [...this.#workers]
    const ended = Promise.all(workers.map(worker => worker.end()))
    // Without jobs there is nothing to wait for but the store, which may be away.
    if (this.#running === 0) this.#becomesIdle.resolve()
    const idle = this.#becomesIdle.promise.then(() => sleep(GRACE_MS, undefined, { ref: false }))
    if (await isFirst(ended, sleep(deadlineMs, undefined, { ref: false }), idle)) return
    for (const worker of workers) worker.cancelAllJobs()
    if (await isFirst(ended, sleep(GRACE_MS))) return
    for (const worker of workers) worker.abandon()
    this.#parts.logger.warn({ running: this.#running }, 'the worker was stopped by force; its jobs run again')
  }

  #open(): BullWorker {
    const { store, queue } = this.#parts
    const report = (error: unknown) => this.#storeTrouble.report(error)
    const worker = new BullWorker(queue, (job, token, signal) => this.#process(job, token, signal), {
      concurrency: this.#concurrency,
      store: store.connect('worker', report),
    })
    worker.on('error', report)
    worker.on('stalled', id => this.#noteStalled(id))
    this.#workers.add(worker)
    return worker
  }

  #noteStalled(id: string): void {
    this.#stalled.push(id)
    this.#stalledTimer ??= setTimeout(() => this.#tellStalled(), TELL_STALLED_AFTER_MS).unref()
  }

  #tellStalled(): void {
    clearTimeout(this.#stalledTimer)
    this.#stalledTimer = undefined
    const jobs = this.#stalled
    this.#stalled = []
    if (jobs.length > 0)
      this.#parts.logger.info({ jobs }, 'jobs of a process that vanished are taken up again')
  }

  /** The job ends here, whatever happens: retries live in the table of pending entities. */
  async #process(
    job: Job<JobData, void, JobOperation>,
    token: string | undefined,
    signal: AbortSignal = new AbortController().signal,
  ): Promise<void> {
    this.#claimedAt = Date.now()
    this.#running += 1
    try {
      await this.#parts.processor({ name: job.name, key: job.data.key }, signal)
      this.#processorTrouble.works()
    } catch (error) {
      if (signal.aborted) await handBack(job, token)
      this.#processorTrouble.report(error)
      await sleep(REST_AFTER_FAILURE_MS, undefined, { signal }).catch(() => handBack(job, token))
    } finally {
      this.#running -= 1
      if (this.#running === 0 && this.#closing !== undefined) this.#becomesIdle.resolve()
    }
  }

  /** Blocking reads can hang after a fail-over, and so can any connection. A fresh worker has fresh connections. */
  async #check(): Promise<void> {
    const isClaiming = Date.now() - this.#claimedAt < WATCH_EVERY_MS
    if (isClaiming || this.#running >= this.#concurrency) this.#vainLooks = 0
    if (isClaiming || this.#looking) return
    this.#looking = true
    try {
      const { waiting, paused } = await this.#parts.look()
      this.#storeTrouble.works()
      const isIdle = waiting === 0 || paused || this.#running >= this.#concurrency
      this.#vainLooks = isIdle ? 0 : this.#vainLooks + 1
    } catch {
      // The store is away, for which the worker cannot be blamed. Who looked has logged it.
    } finally {
      this.#looking = false
    }
    if (this.#vainLooks >= LOOKS_UNTIL_STUCK && this.#closing === undefined) this.#replace()
  }

  #replace(): void {
    this.#parts.logger.warn('jobs wait and the worker claims none: it is replaced')
    const stuck = this.#worker
    this.#worker = this.#open()
    this.#vainLooks = 0
    // Its running jobs may still end well; a minute is more than any of them takes.
    isFirst(stuck.end(), sleep(60_000, undefined, { ref: false })).then(ended => {
      if (!ended) stuck.abandon()
      this.#workers.delete(stuck)
    })
  }
}

/** An aborted job goes back to the queue, where another process finds it at once. */
async function handBack(job: Job, token: string | undefined): Promise<never> {
  await job.moveToWait(token)
  throw new WaitingError()
}

/** Whether the first promise settles before any other does. */
async function isFirst(promise: Promise<unknown>, ...others: Promise<unknown>[]): Promise<boolean> {
  const settles = promise.then(
    () => true,
    () => true,
  )
  return await Promise.race([settles, ...others.map(other => other.then(() => false))])
}

/** Successes right after an error do not prove much: a store that flaps is in trouble all the time. */
const QUIET_MS = 2_000

/**
 * Logs a trouble once when it begins and once when it is over, however often it repeats in between: an outage of a
 * minute is two lines, not ten thousand.
 *
 * Only the error's name, code, message and stack are logged. Further properties, such as PostgreSQL's `detail`, may hold
 * values of rows.
 */
export class Trouble {
  readonly #logger: Logger
  readonly #what: string
  #beganAt = 0
  #lastAt = 0
  #errors = 0

  /** @param what names what is in trouble, as the subject of a sentence */
  constructor(logger: Logger, what: string) {
    this.#logger = logger
    this.#what = what
  }

  /** An error happened. */
  report(error: unknown): void {
    this.#lastAt = Date.now()
    this.#errors += 1
    if (this.#errors > 1) return
    this.#beganAt = this.#lastAt
    this.#logger.warn({ error: errorFacts(error) }, `${this.#what} is in trouble; logged again when it works`)
  }

  /** Something worked. */
  works(): void {
    if (this.#errors === 0 || Date.now() - this.#lastAt < QUIET_MS) return
    const seconds = Math.round((this.#lastAt - this.#beganAt) / 1000)
    this.#logger.info({ errors: this.#errors, seconds }, `${this.#what} works again`)
    this.#errors = 0
  }
}

function errorFacts(error: unknown): { name?: string; code?: unknown; message: string; stack?: string } {
  if (!(error instanceof Error)) return { message: 'a value that is no error was thrown' }
  const { name, message, stack } = error
  const code = 'code' in error ? { code: error.code } : {}
  return { name, ...code, message, ...(stack === undefined ? {} : { stack }) }
}

/** Jobs in hand for each call at a time, at most. */
const JOBS_PER_CALL = 4

/** At a time jobs are taken up for no more than this long of calls: on a busy machine reading and writing take about as long. */
const SECONDS_AHEAD = 0.25

/**
 * How many jobs a worker takes up at a time. While some call the platform, others are read or written down, and the more of
 * them there are, the fewer statements each of them costs PostgreSQL. But at a rate that permits few calls they would only
 * wait for the pacer, ahead of more urgent ones that come later.
 *
 * @param concurrentCalls calls to the platform at a time
 * @param ratePerSecond permitted calls per second
 */
export function jobsInHand(concurrentCalls: number, ratePerSecond: number): number {
  const ahead = Math.floor(ratePerSecond * SECONDS_AHEAD)
  return Math.min(JOBS_PER_CALL * concurrentCalls, Math.max(concurrentCalls, ahead))
}
