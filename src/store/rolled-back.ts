import type { Pool, PoolClient } from 'pg'
import { withConnection } from './connection.ts'

/** Runs `work` in a transaction that leaves nothing behind, whatever it wrote. */
export async function rolledBack<T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
  return withConnection(pool, async client => {
    try {
      await client.query('begin')
      return await work(client)
    } finally {
      await client.query('rollback').catch(() => undefined) // a connection that is gone has ended it already
    }
  })
}
