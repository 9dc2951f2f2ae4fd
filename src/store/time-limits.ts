/**
 * How long a statement may take before its connection is given up, by kind of work. The client counts: a database that hangs
 * without closing the connection cannot say that it gives up.
 */

/** Claims, settlements and what else a job writes: milliseconds by themselves, longer behind a plan's rows. */
export const WORK_MS = 10_000
/** A chunk for the queue. */
export const FEED_MS = 30_000
/** Whatever has no limit of its own: statements of plans, migrations, pruning of history. */
export const ANY_MS = 10 * 60_000
/** Copying all of HR, which takes as long as HR does. */
export const COPY_MS = 60 * 60_000

/** A statement, or a transaction, that was given up. Nobody knows whether it was committed. */
export class StatementTimeoutError extends Error {
  readonly code = 'STATEMENT_TIMEOUT'

  constructor(timeoutMs: number) {
    super(`PostgreSQL did not answer within ${timeoutMs} ms`)
    this.name = 'StatementTimeoutError'
  }
}

/** True for the error of a statement that its client gave up: its connection is of no use any more. */
export function isGivenUp(error: unknown): boolean {
  return (
    error instanceof StatementTimeoutError ||
    (error instanceof Error && error.message === 'Query read timeout')
  )
}
