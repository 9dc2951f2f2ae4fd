import { type ClientBase, DatabaseError, type Pool, type PoolClient } from 'pg'
import { withConnection } from './connection.ts'

/** Runs `work` in one transaction; rolled back when it throws. */
export async function transaction<T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
  return withConnection(pool, async client => {
    try {
      await client.query('begin')
      const result = await work(client)
      await client.query('commit')
      return result
    } catch (error) {
      await rollback(client)
      throw error
    }
  })
}

/** Ends a transaction that failed; a connection that is gone has ended it already. */
async function rollback(client: ClientBase): Promise<void> {
  await client.query('rollback').catch(() => undefined)
}

/** SQLSTATE deadlock_detected. */
const DEADLOCK = '40P01'
const REPEATS = 5

/**
 * Repeats what PostgreSQL ended to break a deadlock: plans and outcomes touch the same rows of several tables, each in
 * its own order. The action writes in one transaction, so nothing of a first try is left.
 */
export async function repeatOnDeadlock<T>(action: () => Promise<T>): Promise<T> {
  for (let repeat = 1; ; repeat++) {
    try {
      return await action()
    } catch (error) {
      const isDeadlock = error instanceof DatabaseError && error.code === DEADLOCK
      if (!isDeadlock || repeat === REPEATS) throw error
    }
  }
}
