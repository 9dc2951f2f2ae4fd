import type { BackendFactory, IQueueBackend } from 'bullmq'
import { CodedError, type Message, type Said } from '../texts/message.ts'

/** Where the queue lives: Redis (redis.ts) or PostgreSQL (postgres.ts). */
export interface QueueStore {
  readonly kind: 'redis' | 'postgres'
  /** Begins the names of all keys of a queue. */
  readonly prefix: string
  /** @param onError called when a connection breaks; it reconnects by itself */
  connect(role: ConnectionRole, onError: (error: unknown) => void): StoreConnection
  /** Brings the store up to date (PostgreSQL: its schema), or finds that it cannot serve. @throws QueueError */
  prepare(): Promise<void>
  doctor(): Promise<QueueCheck[]>
  /** Whether the failure is an answer of the store: it is reachable, and refuses. */
  isAnswer(error: unknown): boolean
}

/**
 * The callers of a producer wait, so it fails within some seconds while the store is away. A worker has no caller to fail and
 * waits for the store instead.
 */
export type ConnectionRole = 'producer' | 'worker'

/** Connections to the store of a single BullMQ `Queue` or `Worker`. */
export interface StoreConnection {
  /** BullMQ's `connection` option. */
  readonly connection: unknown
  readonly backendFactory: BackendFactory<IQueueBackend, unknown>
  /** Writes a value that is never read: a store with a full disk or memory still answers reads. */
  write(queue: string): Promise<unknown>
  /** Closes what BullMQ leaves open, once its `Queue` or `Worker` is closed. Idempotent. */
  close(): Promise<void>
  /** What an operation failed of: why the store cannot be reached, where the error only says that the client gave up. */
  causeOf(error: unknown): unknown
  /** Drops every connection at once, whatever is in flight. */
  cut(): void
}

/** One line of `dirsync doctor`. */
export interface QueueCheck {
  ok: boolean
  what: Said
  remedy?: Message
}

/** An operation on the queue failed. Nothing is lost: what was not queued is fed again from the outbox. */
export class QueueError extends CodedError<
  'QUEUE_UNAVAILABLE' | 'QUEUE_NOT_MIGRATED' | 'QUEUE_STORE_TOO_OLD'
> {}
