import type { Pool, PoolClient } from 'pg'

/** Runs `work` in a transaction that leaves nothing behind, whatever it wrote. */
export async function rolledBack<T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect()
  // A connection that drops between two statements reports it here too; the statement in hand fails by itself.
  let broken: Error | undefined
  const note = (error: Error) => {
    broken = error
  }
  client.on('error', note)
  try {
    await client.query('begin')
    return await work(client)
  } finally {
    await client.query('rollback').catch(() => undefined) // a connection that is gone has ended it already
    client.off('error', note)
    client.release(broken)
  }
}
