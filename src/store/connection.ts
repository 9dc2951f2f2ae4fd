import type { Pool, PoolClient } from 'pg'

/**
 * Lends one connection of the pool to `work`. One that drops between two statements says so as an event, which would end the
 * process if nobody listened; the next statement on it fails by itself, and the pool makes a new one.
 */
export async function withConnection<T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect()
  let broken: Error | undefined
  const note = (error: Error) => {
    broken = error
  }
  client.on('error', note)
  try {
    return await work(client)
  } finally {
    client.off('error', note)
    client.release(broken)
  }
}
