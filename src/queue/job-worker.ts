import { setTimeout as sleep } from 'node:timers/promises'
import { type IQueueBackend, type Job, type JobProgress, WaitingError, Worker } from 'bullmq'
import type { Logger } from '../lib/logger.ts'
import { Trouble } from '../lib/trouble.ts'
import type { DeliveredJob, JobOperation } from './job.ts'
import type { QueueStore, StoreConnection } from './store.ts'

/** A job's payload in BullMQ: its keys. Nothing personal may ever be added. */
export interface JobData {
  /** The first one, where versions before 1.1 look for their only one. */
  key: string
  others?: string[]
}

/** How BullMQ names a queue in its store. */
export interface BullId {
  name: string
  prefix: string
}

/**
 * Takes a job over. What it resolves with is nothing to the queue.
 * @param signal aborts when the worker stops, or when it has lost the job to another worker
 */
export type JobHandler = (job: DeliveredJob, signal: AbortSignal) => Promise<unknown>

/** How often to check whether the worker still claims jobs. */
const WATCH_EVERY_MS = 3_000

/** A worker is replaced after this many consecutive checks in which jobs wait and it has room, but claims none. */
const CHECKS_UNTIL_STUCK = 3

/** A handler that threw keeps its slot for this long, so that an outage does not drain the queue in a flood. */
const REST_AFTER_FAILURE_MS = 1_000

/** The locks of a process that vanished expire within this span, so that its jobs are logged in one line. */
const TELL_STALLED_AFTER_MS = 5_000

/** How long aborted jobs have to end. */
const GRACE_MS = 700

/** How long the jobs of a replaced worker have to end: more than any of them takes. */
const REPLACED_MS = 60_000

interface WorkerParts {
  store: QueueStore
  queue: BullId
  handler: JobHandler
  concurrency: number
  logger: Logger
  /** Whether there are jobs to claim; rejects while the store is away. */
  hasWork(): Promise<boolean>
  /** Whether the store was away when `hasWork` last asked. */
  isAway(): boolean
}

/**
 * Claims jobs and runs the handler on them. Survives outages of the store by itself, replaces BullMQ's worker when that is
 * stuck, and stops within a deadline.
 */
export class JobWorker {
  readonly #parts: WorkerParts
  readonly #storeTrouble: Trouble
  readonly #handlerTrouble: Trouble
  readonly #watch: NodeJS.Timeout
  readonly #workers = new Set<BullWorker>()
  #worker: BullWorker
  #running = 0
  #claimedAt = Number.NEGATIVE_INFINITY
  #vainChecks = 0
  #checking = false
  #closing: Promise<void> | undefined
  #stalled: string[] = []
  #stalledTimer: NodeJS.Timeout | undefined
  #becomesIdle = Promise.withResolvers<void>()

  constructor(parts: WorkerParts) {
    this.#parts = parts
    this.#storeTrouble = new Trouble(parts.logger, "the worker's connection to the queue")
    this.#handlerTrouble = new Trouble(parts.logger, 'the processing of jobs')
    this.#worker = this.#open()
    this.#watch = setInterval(() => this.#check(), WATCH_EVERY_MS)
  }

  /** Jobs in the handler. */
  get running(): number {
    return this.#running
  }

  /**
   * Stops claiming and waits for the running jobs. At the deadline their signals are aborted. Jobs that end by throwing go back
   * to the queue; jobs that do not end are claimed elsewhere when their locks expire. Takes at most the deadline and about a
   * second, also without a store. Idempotent.
   */
  close(deadlineMs: number): Promise<void> {
    this.#closing ??= this.#close(deadlineMs)
    return this.#closing
  }

  async #close(deadlineMs: number): Promise<void> {
    clearInterval(this.#watch)
    this.#tellStalled()
    const workers = [...this.#workers]
    const ended = Promise.all(workers.map(worker => worker.end()))
    // Without jobs, only the store is left to wait for, and it may be away.
    if (await isFirst(ended, sleep(deadlineMs, undefined, { ref: false }), this.#idle())) return
    for (const worker of workers) worker.cancelAllJobs()
    if (await isFirst(ended, sleep(GRACE_MS))) return
    for (const worker of workers) worker.abandon()
    this.#parts.logger.warn(
      { running: this.#running },
      'the worker was stopped by force; its jobs will run again',
    )
  }

  /** Resolves when there has been no job for a moment: a claim that was under way can still bring one. */
  async #idle(): Promise<void> {
    do {
      if (this.#running > 0) await this.#becomesIdle.promise
      await sleep(GRACE_MS, undefined, { ref: false })
    } while (this.#running > 0)
  }

  #open(): BullWorker {
    const { store, queue, concurrency } = this.#parts
    const report = (error: unknown) => this.#storeTrouble.report(error)
    const worker = new BullWorker(queue, (job, token, signal) => this.#process(job, token, signal), {
      concurrency,
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

  /** The job ends here, whatever happens: retries live in the outbox. */
  async #process(
    job: Job<JobData, void, JobOperation>,
    token: string | undefined,
    signal: AbortSignal = new AbortController().signal,
  ): Promise<void> {
    this.#claimedAt = performance.now()
    this.#running += 1
    try {
      const { name, data, priority } = job
      await this.#parts.handler({ name, keys: [data.key, ...(data.others ?? [])], priority }, signal)
      this.#handlerTrouble.works()
    } catch (error) {
      if (signal.aborted) await handBack(job, token)
      this.#handlerTrouble.report(error)
      await sleep(REST_AFTER_FAILURE_MS, undefined, { signal }).catch(() => handBack(job, token))
    } finally {
      this.#running -= 1
      if (this.#running === 0) {
        this.#becomesIdle.resolve()
        this.#becomesIdle = Promise.withResolvers()
      }
    }
  }

  /** Blocking reads can hang after a fail-over, and so can any connection. A fresh worker has fresh connections. */
  async #check(): Promise<void> {
    const isClaiming = performance.now() - this.#claimedAt < WATCH_EVERY_MS
    if (isClaiming || this.#running >= this.#parts.concurrency) this.#vainChecks = 0
    // Once it claims again, a check still has to notice the end of the outage.
    if ((isClaiming && !this.#parts.isAway()) || this.#checking) return
    this.#checking = true
    try {
      const hasWork = await this.#parts.hasWork()
      this.#storeTrouble.works()
      this.#vainChecks = hasWork && this.#running < this.#parts.concurrency ? this.#vainChecks + 1 : 0
    } catch {
      // The store is away, which has been logged and is not the worker's fault.
    } finally {
      this.#checking = false
    }
    if (this.#vainChecks >= CHECKS_UNTIL_STUCK && this.#closing === undefined) this.#replace()
  }

  #replace(): void {
    this.#parts.logger.warn('jobs wait, but the worker claims none: it is replaced')
    const stuck = this.#worker
    this.#worker = this.#open()
    this.#vainChecks = 0
    // Its running jobs may still succeed.
    isFirst(stuck.end(), sleep(REPLACED_MS, undefined, { ref: false })).then(ended => {
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

/**
 * A job of a killed process is free 10 s after its last sign of life and claimed within 2 to 4 s more. Stalls do not count
 * against a job (`attempt` rows do), so BullMQ's own limit is out of the way. A claim or completion that finds the store away
 * is repeated after 1 s; BullMQ's 15 s would be longer than the lock.
 */
const SETTINGS = {
  lockDuration: 10_000,
  stalledInterval: 2_000,
  maxStalledCount: 50,
  runRetryDelay: 1_000,
  skipVersionCheck: true, // prepare() and doctor() check it, and report it in our words
}

/** BullMQ retries at once after a claim that failed otherwise than by a refused connection. */
const PAUSE_AFTER_FAILED_CLAIM_MS = 250

type BullJob = Job<JobData, void, JobOperation>

/** BullMQ's worker, with a pause between failed claims and a way to end it without the store. */
class BullWorker extends Worker<JobData, void, JobOperation, IQueueBackend, JobProgress, unknown> {
  readonly #store: StoreConnection

  constructor(
    queue: BullId,
    processor: (job: BullJob, token: string | undefined, signal: AbortSignal | undefined) => Promise<void>,
    options: { concurrency: number; store: StoreConnection },
  ) {
    const { concurrency, store } = options
    super(
      queue.name,
      processor,
      { ...SETTINGS, prefix: queue.prefix, concurrency, connection: store.connection },
      store.backendFactory,
    )
    this.#store = store
  }

  protected override async moveToActive(token: string, name?: string): Promise<BullJob> {
    try {
      return await super.moveToActive(token, name)
    } catch (error) {
      await sleep(PAUSE_AFTER_FAILED_CLAIM_MS)
      throw error
    }
  }

  /** Stops claiming, waits for the running jobs and the store, however long they take, then closes the connections. */
  async end(): Promise<void> {
    await this.close()
    await this.#store.close()
  }

  /** Drops everything at once. Running jobs are claimed by another process when their locks expire. */
  abandon(): void {
    this.cancelAllJobs()
    const ignore = () => {} // the connections are cut next
    this.lockManager.close().catch(ignore)
    this.backend.close(true).catch(ignore)
    this.#store.cut()
  }
}
