import type { BackendFactory, IQueueBackend } from 'bullmq'
import type { Logger } from '../lib/logger.ts'
import { BullmqBackend } from './bullmq.ts'
import { createPostgresStore } from './postgres.ts'
import { createRedisStore } from './redis.ts'

export type JobName = 'update-employee' | 'delete-department' | 'bind-openid'

export interface QueuedJob {
  /** Tells jobs apart. No whole number, no colon. */
  id: string
  name: JobName
  /** Opaque text; all that is stored of the job. */
  key: string
  /** 1 (first) to 10. */
  priority: number
}

export interface QueueCounts {
  waiting: number
  active: number
  /** Everything that is not finished. */
  total: number
}

export type JobProcessor = (job: { name: JobName; key: string }, signal: AbortSignal) => Promise<void>

/** Claims jobs and runs the processor on them. Survives outages of the store by itself. */
export interface JobWorker {
  /** Jobs in the processor's hands. */
  readonly running: number
  /** From 1. Jobs that run already go on when it falls. */
  setConcurrency(concurrency: number): void
  /**
   * Stops claiming and waits for the running jobs. At the deadline their signals are aborted; those which end by
   * throwing go back to the queue, those which do not end are left to be taken up when their locks expire. Takes the
   * deadline and about a second at most, also without a store. Idempotent.
   */
  close(deadlineMs: number): Promise<void>
}

/**
 * The queue: distributes jobs to workers, at most one at a time of the same id, lower priorities first, and gives a job
 * whose process vanished to another one within 20 s. Jobs of the same key and different ids know nothing of each other:
 * that no two of them work at once is the business of the processor. It carries keys only (laws 1, 2, 7, 10):
 * outcomes, retries and delays live in the table of pending entities, from which it is fed again whenever it was wiped.
 *
 * The operations reject with a QueueError within some seconds while the store is away.
 */
export interface QueueBackend {
  readonly kind: 'redis' | 'postgres'
  /** Brings the store up to date (PostgreSQL: its schema), or finds that it cannot serve. @throws QueueError */
  prepare(): Promise<void>
  /**
   * Adds jobs. One whose id waits or is active is left as it is; once that has ended, the id is free again. Safe to repeat
   * as a whole when it rejects: part of the jobs may be queued.
   */
  add(jobs: QueuedJob[]): Promise<void>
  counts(): Promise<QueueCounts>
  /** No worker of any process claims a job until `resume`. The mark lives in the store and is wiped with it. */
  pause(): Promise<void>
  resume(): Promise<void>
  isPaused(): Promise<boolean>
  /**
   * Starts a worker. A processor that throws is a bug or an outage of dirsync's own store: that is logged, the job ends
   * nevertheless, and the table of pending entities brings it back.
   */
  work(processor: JobProcessor, options: { concurrency: number; logger: Logger }): JobWorker
  /** Removes every job, waiting or active, and the pause. */
  obliterate(): Promise<void>
  doctor(): Promise<Finding[]>
  /** Close the workers first. Idempotent. */
  close(): Promise<void>
}

/** The queue in Redis, or in the schema `bullmq` of dirsync's database where no Redis is given. Opens nothing yet. */
export function createQueueBackend(options: {
  redisUrl: string | null
  databaseUrl: string
  /** Id of the deployment, part of the queue's name: another one in the same store has a queue of its own. */
  deployment: string
  logger: Logger
}): QueueBackend {
  const { deployment, logger } = options
  return new BullmqBackend(openQueueStore(options), { name: `dirsync-${deployment}`, prefix: 'bull' }, logger)
}

/** Where the queues live, for whoever prepares or examines the store and needs no queue. Opens nothing yet. */
export function openQueueStore(options: { redisUrl: string | null; databaseUrl: string }): QueueStore {
  const { redisUrl, databaseUrl } = options
  return redisUrl === null ? createPostgresStore(databaseUrl) : createRedisStore(redisUrl)
}

/** What a job of BullMQ holds: its key. Nothing personal may ever be added (law 7). */
export interface JobData {
  key: string
}

/** One line of `dirsync doctor`. */
export interface Finding {
  ok: boolean
  what: string
  remedy?: string
}

/**
 * A producer is asked by somebody who waits, so its operations fail within some seconds while the store is away; a
 * worker has nobody to tell and waits for the store instead.
 */
export type ConnectionRole = 'producer' | 'worker'

/** Connections to the store that one `Queue` or `Worker` of BullMQ uses and nobody else. */
export interface StoreConnection {
  /** BullMQ's `connection` option. */
  readonly connection: unknown
  readonly backendFactory: BackendFactory<IQueueBackend, unknown>
  /** Closes what BullMQ leaves open, once its `Queue` or `Worker` is closed. Idempotent. */
  close(): Promise<void>
  /** Drops every connection at once, whatever is in flight. */
  cut(): void
}

/** Where the queue lives. */
export interface QueueStore {
  readonly kind: 'redis' | 'postgres'
  /** @param onError hears of connections that break; they are made again without anybody's doing */
  connect(role: ConnectionRole, onError: (error: unknown) => void): StoreConnection
  /** Makes the store ready for the queue. @throws QueueError */
  prepare(): Promise<void>
  doctor(): Promise<Finding[]>
}

/** What went wrong with the queue's store, see the messages of `QueueError`. */
type QueueErrorCode = 'QUEUE_UNAVAILABLE' | 'QUEUE_NOT_MIGRATED' | 'QUEUE_STORE_TOO_OLD'

/**
 * An operation on the queue could not be done. Nothing is lost by it: the table of pending entities is the outbox, and
 * what was not queued is fed again.
 */
export class QueueError extends Error {
  readonly code: QueueErrorCode

  constructor(code: QueueErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'QueueError'
    this.code = code
  }
}
