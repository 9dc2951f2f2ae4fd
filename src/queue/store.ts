import type { BackendFactory, IQueueBackend } from 'bullmq'
import type { Logger } from '../lib/logger.ts'

/** Where the queue lives: Redis (redis.ts) or PostgreSQL (postgres.ts). */
export interface QueueStore {
  readonly kind: 'redis' | 'postgres'
  /** @param onError hears of connections that break; they are made again by themselves */
  connect(role: ConnectionRole, onError: (error: unknown) => void): StoreConnection
  /** Brings the store up to date (PostgreSQL: its schema), or finds that it cannot serve. @throws QueueError */
  prepare(): Promise<void>
  doctor(): Promise<Finding[]>
}

/**
 * Somebody waits for what a producer does, so it fails within some seconds while the store is away. A worker has nobody to
 * tell and waits for the store instead.
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

/** One line of `dirsync doctor`. */
export interface Finding {
  ok: boolean
  what: string
  remedy?: string
}

type QueueErrorCode = 'QUEUE_UNAVAILABLE' | 'QUEUE_NOT_MIGRATED' | 'QUEUE_STORE_TOO_OLD'

/** An operation on the queue could not be done. Nothing is lost: what was not queued is fed again from the outbox. */
export class QueueError extends Error {
  readonly code: QueueErrorCode

  constructor(code: QueueErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'QueueError'
    this.code = code
  }
}

/** A success right after an error does not prove much: a store that flaps is in trouble all the time. */
const QUIET_MS = 2_000

/**
 * Logs trouble once when it begins and once when it is over, however often it repeats in between: an outage of a minute is
 * two lines, not ten thousand.
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
  if (!(error instanceof Error)) return { message: 'something other than an error was thrown' }
  const { name, message, stack } = error
  const code = 'code' in error ? { code: error.code } : {}
  return { name, ...code, message, ...(stack === undefined ? {} : { stack }) }
}
