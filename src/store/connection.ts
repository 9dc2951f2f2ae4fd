import type { Pool, PoolClient } from 'pg'
import { isGivenUp, StatementTimeoutError } from './time-limits.ts'

/**
 * Lends one connection of the pool to `work`. One that drops between two statements says so as an event, which would end the
 * process if nobody listened; the next statement on it fails by itself, and the pool makes a new one. One on which a statement
 * was given up does not go back to the pool.
 * @param timeoutMs for all of `work`, getting the connection aside; then the connection is closed. Absent: no such limit
 * @throws StatementTimeoutError
 */
export async function withConnection<T>(
  pool: Pool,
  work: (client: PoolClient) => Promise<T>,
  timeoutMs?: number,
): Promise<T> {
  const client = await pool.connect()
  let broken: Error | undefined
  const note = (error: Error) => {
    broken = error
  }
  client.on('error', note)
  let late: StatementTimeoutError | undefined
  const deadline =
    timeoutMs === undefined
      ? undefined
      : setTimeout(() => {
          late = new StatementTimeoutError(timeoutMs)
          client.release(late)
        }, timeoutMs)
  try {
    return await work(client)
  } catch (error) {
    if (isGivenUp(error)) note(error as Error)
    throw late ?? error
  } finally {
    clearTimeout(deadline)
    client.off('error', note)
    if (late === undefined) client.release(broken)
  }
}
