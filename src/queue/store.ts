import type { BackendFactory, IQueueBackend } from 'bullmq'

/** What a job of BullMQ holds: its key. Nothing personal may ever be added (DESIGN, law 7). */
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
