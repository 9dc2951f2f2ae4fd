import { type IQueueBackend, Queue } from 'bullmq'
import { saidOf } from '../lib/failure.ts'
import type { Logger } from '../lib/logger.ts'
import { Trouble } from '../lib/trouble.ts'
import { within } from '../lib/waiting.ts'
import { message } from '../texts/message.ts'
import type { JobOperation, QueuedJob } from './job.ts'
import { type BullId, type JobData, type JobHandler, JobWorker } from './job-worker.ts'
import { createPostgresStore } from './postgres.ts'
import { createRedisStore } from './redis.ts'
import { type QueueCheck, QueueError, type QueueStore, type StoreConnection } from './store.ts'

/** Jobs in one call of BullMQ: on PostgreSQL, more may need more locks than the server has. */
const CHUNK = 1000

const OPERATION_TIMEOUT_MS = 10_000

interface QueueCounts {
  waiting: number
  active: number
  /** Every job that has not ended. */
  total: number
}

interface StoreOptions {
  /** Null: the queue lives in the schema `bullmq` of dirsync's database. */
  redisUrl: string | null
  databaseUrl: string
}

/**
 * Creates the queue in Redis or PostgreSQL. Opens no connection yet.
 * @param options.deployment its id is part of the queue's name: another deployment in the same store has a queue of its own
 */
export function createQueueBackend(
  options: StoreOptions & { deployment: string; logger: Logger },
): QueueBackend {
  const store = openQueueStore(options)
  const id = { name: `dirsync-${options.deployment}`, prefix: store.prefix }
  return new QueueBackend(store, id, options.logger)
}

/** The store alone, to prepare or examine it without a queue. Opens no connection yet. */
export function openQueueStore({ redisUrl, databaseUrl }: StoreOptions): QueueStore {
  return redisUrl === null ? createPostgresStore(databaseUrl) : createRedisStore(redisUrl)
}

type BullQueue = Queue<JobData, void, JobOperation, JobData, void, JobOperation, IQueueBackend, unknown>

interface Opened {
  queue: BullQueue
  connection: StoreConnection
}

/**
 * Distributes jobs to workers, at most one at a time of the same id, lower priorities first, and gives a job whose process
 * vanished to another one within 15 s. Jobs with the same key and different ids know nothing of each other: the processor sees
 * to it that no two of them work on it at once. The queue carries keys only. Outcomes, retries and delays live in the outbox,
 * from which the queue is fed again after a wipe.
 *
 * The operations reject with a QueueError within some seconds while the store is away.
 *
 * Duplicates are kept out by BullMQ's job ids, which are free again as soon as a job is removed at its end. BullMQ's
 * `deduplication` would also keep an add that comes while its job is active, but then adds job by job on PostgreSQL, with one
 * of the server's shared locks each, and has more to do at the end of every job; the outbox gives such a request another id
 * anyway (`jobId`). BullMQ's own ids start again at 1 when the store is wiped, while jobs with the same ids may still be
 * running, whose locks the worker would then confuse; the outbox never reuses the id of a job that has begun.
 */
export class QueueBackend {
  readonly #store: QueueStore
  readonly #id: BullId
  readonly #trouble: Trouble
  /** Apart from reads: a full store still answers those. */
  readonly #writes: Trouble
  #opened: Opened | undefined
  #closing: Promise<void> | undefined

  constructor(store: QueueStore, id: BullId, logger: Logger) {
    this.#store = store
    this.#id = id
    this.#trouble = new Trouble(logger, 'the queue')
    this.#writes = new Trouble(logger, 'writing to the queue')
  }

  get kind(): 'redis' | 'postgres' {
    return this.#store.kind
  }

  /** For how many milliseconds operations have failed or writes were refused; null while they succeed. */
  get awayMs(): number | null {
    const longest = Math.max(this.#trouble.lastedMs ?? -1, this.#writes.lastedMs ?? -1)
    return longest < 0 ? null : longest
  }

  /** The error of the latest operation, while the store is away. */
  get lastError(): string | null {
    return this.#trouble.last ?? this.#writes.last
  }

  /** Brings the store up to date, or finds that it cannot serve. @throws QueueError */
  prepare(): Promise<void> {
    return this.#store.prepare()
  }

  doctor(): Promise<QueueCheck[]> {
    return this.#store.doctor()
  }

  /**
   * Adds jobs. One whose id waits or is active is left as it is; once that has ended, the id is free again. After a rejection
   * part of the jobs may be queued; repeating the call as a whole is safe.
   */
  async add(jobs: QueuedJob[]): Promise<void> {
    for (let from = 0; from < jobs.length; from += CHUNK) {
      const entries = jobs
        .slice(from, from + CHUNK)
        .map(({ id, name, keys: [key = '', ...others], priority }) => ({
          name,
          data: others.length > 0 ? { key, others } : { key },
          opts: { jobId: id, priority, removeOnComplete: true, removeOnFail: true },
        }))
      await this.#do(({ queue }) => queue.addBulk(entries), true)
    }
  }

  /** @throws QueueError also while the store refuses writes: the caller wants to add, or wants others to */
  async counts(): Promise<QueueCounts> {
    // There may be nothing to add for a long time, so the refused write is tried until it succeeds.
    if (this.#writes.lastedMs !== null) await this.check()
    return this.#do(async ({ queue }) => {
      const counts = await queue.getJobCounts('active', 'waiting', 'prioritized', 'delayed')
      const { active = 0, waiting = 0, prioritized = 0, delayed = 0 } = counts
      const idle = waiting + prioritized + delayed
      return { waiting: idle, active, total: idle + active }
    })
  }

  /** Tests a write. @throws QueueError while the store is away, or refuses writes */
  async check(): Promise<void> {
    await this.#do(({ connection }) => connection.write(this.#id.name), true)
  }

  /** Whether the queue itself was paused with a tool of BullMQ's: workers then claim no job. */
  isPaused(): Promise<boolean> {
    return this.#do(({ queue }) => queue.isPaused())
  }

  /**
   * Starts a worker. A handler that throws is a bug or an outage of dirsync's own store: that is logged, the job ends
   * nevertheless, and the outbox brings it back.
   */
  work(handler: JobHandler, options: { concurrency: number; logger: Logger }): JobWorker {
    return new JobWorker({
      ...options,
      handler,
      store: this.#store,
      queue: this.#id,
      hasWork: async () => (await this.counts()).waiting > 0 && !(await this.isPaused()),
      isAway: () => this.awayMs !== null,
    })
  }

  /** Removes every job, waiting or active, and the pause. */
  async obliterate(): Promise<void> {
    await this.#do(({ queue }) => queue.obliterate({ force: true }))
  }

  /** Close the workers first. Idempotent. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    await this.#opened?.queue.close()
    await this.#opened?.connection.close()
  }

  async #do<T>(operation: (opened: Opened) => Promise<T>, isWrite = false): Promise<T> {
    try {
      const result = await within(OPERATION_TIMEOUT_MS, operation(this.#open()), late)
      this.#trouble.works()
      if (isWrite) this.#writes.works()
      return result
    } catch (thrown) {
      const error = this.#opened?.connection.causeOf(thrown) ?? thrown
      const isAnswer = this.#store.isAnswer(error)
      const trouble = isWrite && isAnswer ? this.#writes : this.#trouble
      trouble.report(error)
      if (error instanceof QueueError) throw error
      const said = message(isAnswer ? 'said.queue_refuses' : 'said.queue_away', {
        place: this.#store.kind === 'redis' ? 'Redis' : 'PostgreSQL',
        reason: saidOf(error),
      })
      throw new QueueError('QUEUE_UNAVAILABLE', said, { cause: error })
    }
  }

  #open(): Opened {
    if (this.#closing !== undefined) throw new QueueError('QUEUE_UNAVAILABLE', message('said.queue_closed'))
    this.#opened ??= this.#connect()
    return this.#opened
  }

  #connect(): Opened {
    const report = (error: unknown) => this.#trouble.report(error)
    const connection = this.#store.connect('producer', report)
    const queue: BullQueue = new Queue(
      this.#id.name,
      {
        connection: connection.connection,
        prefix: this.#id.prefix,
        // Otherwise BullMQ would wait for ever for the first connection, and never forget that its first command failed.
        skipWaitingForReady: true,
        skipVersionCheck: true,
        streams: { events: { maxLen: 100 } }, // they have no reader
      },
      connection.backendFactory,
    )
    queue.on('error', report)
    return { queue, connection }
  }
}

function late(): QueueError {
  return new QueueError(
    'QUEUE_UNAVAILABLE',
    message('said.queue_late', { seconds: OPERATION_TIMEOUT_MS / 1000 }),
  )
}
