import type { ClientBase, Pool, PoolClient } from 'pg'

/** Runs `work` in one transaction; rolled back when it throws. */
export async function transaction<T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect()
  let broken: Error | undefined
  // A connection that drops between two statements reports it here too; the statement in hand fails by itself.
  const note = (error: Error) => {
    broken = error
  }
  client.on('error', note)
  try {
    await client.query('begin')
    const result = await work(client)
    await client.query('commit')
    return result
  } catch (error) {
    await rollback(client)
    throw error
  } finally {
    client.off('error', note)
    client.release(broken)
  }
}

/** Ends a transaction that failed; a connection that is gone has ended it already. */
async function rollback(client: ClientBase): Promise<void> {
  await client.query('rollback').catch(() => undefined)
}
