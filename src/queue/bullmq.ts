import { setTimeout as sleep } from 'node:timers/promises'
import { type IQueueBackend, type Job, type JobProgress, Queue, Worker } from 'bullmq'
import type { Logger } from '../lib/logger.ts'
import {
  type Finding,
  type JobData,
  type JobOperation,
  type JobProcessor,
  type JobWorker,
  type QueueBackend,
  type QueueCounts,
  type QueuedJob,
  QueueError,
  type QueueStore,
  type StoreConnection,
} from './backend.ts'
import { Trouble, WatchedWorker } from './job-worker.ts'

/** Jobs in one call of BullMQ. */
const CHUNK = 1000

const OPERATION_TIMEOUT_MS = 10_000

type BullQueue = Queue<JobData, void, JobOperation, JobData, void, JobOperation, IQueueBackend, unknown>

/**
 * Duplicates are kept out by BullMQ's job ids, which are free again as soon as a job is removed at its end. BullMQ's
 * `deduplication` would also keep an add that comes while its job is active, but then adds job by job on PostgreSQL, with
 * one of the server's shared locks each, and has more to do at the end of every job; the outbox gives such a request
 * another id anyway (`jobId`). BullMQ's own ids start again at 1 when the store is wiped, while jobs with the same ids may
 * still be running, whose locks the worker would then confuse; the outbox never asks again by the id of a job it has begun.
 */
export class BullmqBackend implements QueueBackend {
  readonly #store: QueueStore
  readonly #id: { name: string; prefix: string }
  readonly #trouble: Trouble
  #opened: { queue: BullQueue; connection: StoreConnection } | undefined
  #closing: Promise<void> | undefined

  constructor(store: QueueStore, id: { name: string; prefix: string }, logger: Logger) {
    this.#store = store
    this.#id = id
    this.#trouble = new Trouble(logger, 'the queue')
  }

  get kind(): 'redis' | 'postgres' {
    return this.#store.kind
  }

  prepare(): Promise<void> {
    return this.#store.prepare()
  }

  async add(jobs: QueuedJob[]): Promise<void> {
    for (let from = 0; from < jobs.length; from += CHUNK) {
      await this.#do('add', queue => addChunk(queue, jobs.slice(from, from + CHUNK)))
    }
  }

  counts(): Promise<QueueCounts> {
    return this.#do('count', countJobs)
  }

  pause(): Promise<void> {
    return this.#do('pause', queue => queue.pause())
  }

  resume(): Promise<void> {
    return this.#do('resume', queue => queue.resume())
  }

  isPaused(): Promise<boolean> {
    return this.#do('read the pause', queue => queue.isPaused())
  }

  work(processor: JobProcessor, options: { concurrency: number; logger: Logger }): JobWorker {
    return new WatchedWorker({
      ...options,
      processor,
      store: this.#store,
      queue: this.#id,
      look: () =>
        this.#do('look', async queue => ({ ...(await countJobs(queue)), paused: await queue.isPaused() })),
    })
  }

  async obliterate(): Promise<void> {
    await this.#do('obliterate', queue => queue.obliterate({ force: true }))
  }

  doctor(): Promise<Finding[]> {
    return this.#store.doctor()
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    await this.#opened?.queue.close()
    await this.#opened?.connection.close()
  }

  async #do<T>(what: string, operation: (queue: BullQueue) => Promise<T>): Promise<T> {
    try {
      const result = await within(OPERATION_TIMEOUT_MS, operation(this.#open()))
      this.#trouble.works()
      return result
    } catch (error) {
      this.#trouble.report(error)
      if (error instanceof QueueError) throw error
      throw new QueueError('QUEUE_UNAVAILABLE', `The queue could not ${what}: ${this.#store.kind} is away.`, {
        cause: error,
      })
    }
  }

  #open(): BullQueue {
    if (this.#closing !== undefined) throw new QueueError('QUEUE_UNAVAILABLE', 'The queue is closed.')
    this.#opened ??= this.#connect()
    return this.#opened.queue
  }

  #connect(): { queue: BullQueue; connection: StoreConnection } {
    const report = (error: unknown) => this.#trouble.report(error)
    const connection = this.#store.connect('producer', report)
    const queue: BullQueue = new Queue(
      this.#id.name,
      {
        connection: connection.connection,
        prefix: this.#id.prefix,
        // BullMQ would wait for ever for the first connection, and for ever remember that its first command failed.
        skipWaitingForReady: true,
        skipVersionCheck: true,
        streams: { events: { maxLen: 100 } }, // nobody reads them
      },
      connection.backendFactory,
    )
    queue.on('error', report)
    return { queue, connection }
  }
}

async function addChunk(queue: BullQueue, jobs: QueuedJob[]): Promise<void> {
  const entries = jobs.map(({ id, name, key, priority }) => ({
    name,
    data: { key },
    opts: { jobId: id, priority, removeOnComplete: true, removeOnFail: true },
  }))
  await queue.addBulk(entries)
}

async function countJobs(queue: BullQueue): Promise<QueueCounts> {
  const { active = 0, ...others } = await queue.getJobCounts('active', 'waiting', 'prioritized', 'delayed')
  const waiting = Object.values(others).reduce((sum, count) => sum + count, 0)
  return { waiting, active, total: waiting + active }
}

async function within<T>(ms: number, operation: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(
    () =>
      reject(new QueueError('QUEUE_UNAVAILABLE', `The queue's store did not answer within ${ms / 1000} s.`)),
    ms,
  )
  try {
    return await Promise.race([operation, promise])
  } finally {
    clearTimeout(timer)
  }
}

/**
 * A killed process' job is free 10 s after its last sign of life and taken up within 2 to 4 s more. Stalls are no
 * verdict on the job (`attempt` rows are), so BullMQ's own limit is out of the way. A claim or completion that finds the
 * store away is repeated after 1 s; BullMQ's 15 s would be longer than the lock.
 */
const SETTINGS = {
  lockDuration: 10_000,
  stalledInterval: 2_000,
  maxStalledCount: 50,
  runRetryDelay: 1_000,
  skipVersionCheck: true, // prepare() and doctor() look, and say it in our words
}

/** BullMQ asks again at once after a claim that failed otherwise than by a refused connection. */
const PAUSE_AFTER_FAILED_CLAIM_MS = 250

type BullJob = Job<JobData, void, JobOperation>

/** BullMQ's worker, with a pause between failed claims and a way to end it that does not depend on the store. */
export class BullWorker extends Worker<JobData, void, JobOperation, IQueueBackend, JobProgress, unknown> {
  readonly #store: StoreConnection

  constructor(
    queue: { name: string; prefix: string },
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

  /** Drops everything at once. What runs here is taken up by another process when its lock has expired. */
  abandon(): void {
    this.cancelAllJobs()
    const ignore = () => {} // the connections are cut next
    this.lockManager.close().catch(ignore)
    this.backend.close(true).catch(ignore)
    this.#store.cut()
  }
}
