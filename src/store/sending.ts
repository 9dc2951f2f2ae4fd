import type { ClientBase, Pool, PoolClient } from 'pg'
import { withConnection } from './connection.ts'

/**
 * Runs `work` while this session has the lock that says "somebody who lives is sending this". It is held on the connection
 * that `work` is given: what is written there was written under the lock, and when the process dies the server frees it.
 * @returns null when another session has the lock; nothing was run
 */
export function whileSending<T>(
  pool: Pool,
  key: string,
  work: (db: PoolClient) => Promise<T>,
): Promise<T | null> {
  return withConnection(pool, async db => {
    // A host that dies without a word frees its locks within seconds.
    await db.query(
      'set tcp_keepalives_idle = 5; set tcp_keepalives_interval = 2; set tcp_keepalives_count = 3',
    )
    if (!(await take(db, 'pg_try_advisory_lock', key))) return null
    try {
      return await work(db)
    } finally {
      // The lock goes with the connection, if that is gone.
      await db.query('select pg_advisory_unlock(hashtextextended($1, 0))', [key]).catch(() => undefined)
    }
  })
}

/** Whether nobody is sending this; holds until the transaction ends. */
export function isUnattended(transaction: ClientBase, key: string): Promise<boolean> {
  return take(transaction, 'pg_try_advisory_xact_lock', key)
}

async function take(db: ClientBase, lock: string, key: string): Promise<boolean> {
  const { rows } = await db.query(`select ${lock}(hashtextextended($1, 0)) as taken`, [key])
  return rows[0].taken
}
