import { setTimeout as sleep } from 'node:timers/promises'
import { type ClientBase, DatabaseError, type Pool, type PoolClient } from 'pg'
import { withConnection } from './connection.ts'
import { isGivenUp } from './time-limits.ts'

/**
 * Runs `work` in one transaction; rolled back when it throws.
 * @param timeoutMs for all of it; absent: each statement has the pool's
 * @throws StatementTimeoutError after which nobody knows whether it was committed
 */
export async function transaction<T>(
  pool: Pool,
  work: (client: PoolClient) => Promise<T>,
  timeoutMs?: number,
): Promise<T> {
  const run = async (client: PoolClient) => {
    try {
      await client.query('begin')
      const result = await work(client)
      await client.query('commit')
      return result
    } catch (error) {
      // Behind a statement that was given up it would wait for ever.
      if (!isGivenUp(error)) await rollback(client)
      throw error
    }
  }
  return withConnection(pool, run, timeoutMs)
}

/** Ends a transaction that failed; a connection that is gone has ended it already. */
async function rollback(client: ClientBase): Promise<void> {
  await client.query('rollback').catch(() => undefined)
}

/** SQLSTATE deadlock_detected. */
const DEADLOCK = '40P01'
const REPEATS = 5
/** Whoever waited for the one that was ended gets its turn first. */
const PAUSE_MS = 50

/**
 * Repeats what PostgreSQL ended to break a deadlock. Plans and outcomes lock in one order, but for the rare outcome that asks
 * for others. The action writes in one transaction, so nothing of a first try is left.
 */
export function repeatOnDeadlock<T>(action: () => Promise<T>): Promise<T> {
  return repeatWhere(isDeadlock, action)
}

/** The same, also for what was given up and may have been committed: for an action that does nothing a second time. */
export function repeatWhatIsFenced<T>(action: () => Promise<T>): Promise<T> {
  return repeatWhere(error => isDeadlock(error) || isGivenUp(error), action)
}

async function repeatWhere<T>(isToRepeat: (error: unknown) => boolean, action: () => Promise<T>): Promise<T> {
  for (let repeat = 1; ; repeat++) {
    try {
      return await action()
    } catch (error) {
      if (!isToRepeat(error) || repeat === REPEATS) throw error
      await sleep(PAUSE_MS)
    }
  }
}

function isDeadlock(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === DEADLOCK
}

/** The same for the last step of a transaction: what was done before it stays. */
export async function repeatStepOnDeadlock<T>(db: ClientBase, step: () => Promise<T>): Promise<T> {
  await db.query('savepoint step')
  return repeatOnDeadlock(async () => {
    try {
      return await step()
    } catch (error) {
      await db.query('rollback to step').catch(() => undefined) // fails where the connection is gone
      throw error
    }
  })
}
