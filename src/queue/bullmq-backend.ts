import { randomUUID } from 'node:crypto'
import { type IQueueBackend, Queue } from 'bullmq'
import type { Logger } from '../logger.ts'
import type { JobName, JobProcessor, JobWorker, QueueBackend, QueueCounts, QueuedJob } from './backend.ts'
import { WatchedWorker } from './job-worker.ts'
import { QueueError } from './queue-error.ts'
import type { Finding, JobData, QueueStore, StoreConnection } from './store.ts'
import { Trouble } from './trouble.ts'

/** BullMQ's PostgreSQL backend takes one of the server's shared locks per job: 1,000 at once are a sixth of them all. */
const CHUNK = 500

const OPERATION_TIMEOUT_MS = 10_000

type BullQueue = Queue<JobData, void, JobName, JobData, void, JobName, IQueueBackend, unknown>

/**
 * Of BullMQ's ways to have one job per key this uses `deduplication` with `keepLastIfActive`: an add while the job is
 * active is kept, and becomes a job in the transaction that ends the active one, so no add is lost in between. The other
 * way, the key as job id, ignores such an add; it is no faster to process, only to add on PostgreSQL (23,000 against
 * 10,000 a second), and is no safer against leftovers: a deduplication's mark whose job is gone, after a wipe or a loss,
 * is recognised by the next add on both backends. (`ttl` has no effect together with `keepLastIfActive`.)
 *
 * Job ids are random since BullMQ's own start again at 1 when the store is wiped, while jobs with the same ids may still
 * be running, whose locks the worker would then confuse.
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
  const entries = jobs.map(({ name, key, priority }) => ({
    name,
    data: { key },
    opts: {
      jobId: randomUUID(),
      priority,
      deduplication: { id: `${name}:${key}`, keepLastIfActive: true },
      removeOnComplete: true,
      removeOnFail: true,
    },
  }))
  const queued = await queue.addBulk(entries)
  for (const [index, job] of queued.entries()) {
    const entry = entries[index]
    if (entry?.opts.priority !== 1 || job.id === entry.opts.jobId) continue
    await job.changePriority({ priority: 1 }).catch(error => ignoreIfGone(queue, job.id, error))
  }
}

/** A job that ended meanwhile had started after the add, so it has seen what was to be seen. */
async function ignoreIfGone(queue: BullQueue, id: string | undefined, error: unknown): Promise<void> {
  if (id !== undefined && (await queue.getJob(id)) !== undefined) throw error
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
