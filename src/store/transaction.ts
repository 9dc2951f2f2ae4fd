import type { ClientBase, Pool, PoolClient } from 'pg'
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
