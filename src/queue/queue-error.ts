/** What went wrong with the queue's store, see the messages of `QueueError`. */
export type QueueErrorCode = 'QUEUE_UNAVAILABLE' | 'QUEUE_NOT_MIGRATED' | 'QUEUE_STORE_TOO_OLD'

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
