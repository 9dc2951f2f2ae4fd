import { randomInt } from 'node:crypto'
import { createClient } from './pool.ts'

/** So often the connections are compared: other users of the pooler may take a backend in between. */
const ROUNDS = 3

/** DATABASE_URL leads through a pooler that lends a connection another backend for every transaction. */
export class PoolerError extends Error {
  readonly code = 'DATABASE_POOLED'

  constructor() {
    super(
      "DATABASE_URL leads through a pooler that changes the server's session between statements, so locks and LISTEN do not hold: connect to PostgreSQL itself, or use the pooler's session mode",
    )
    this.name = 'PoolerError'
  }
}

/**
 * Finds a pooler in transaction or statement mode by what dirsync builds on: a lock taken by one connection keeps another
 * one out, and the connection stays with its backend. The lock comes first, since some poolers keep the backend for
 * whoever holds one.
 * @throws PoolerError, or what `pg` throws when the database does not answer
 */
export async function assertNoPooler(url: string): Promise<void> {
  await using opened = new AsyncDisposableStack()
  const connect = async () => {
    const client = opened.adopt(createClient(url, 'pooler check'), client => client.end())
    client.on('error', () => undefined) // the statement in flight fails too
    await client.connect()
    return client
  }
  const [holder, other] = [await connect(), await connect()]
  // Of one check only: where there is a pooler, the lock may stay behind.
  const key = randomInt(2 ** 47)
  const held = await holder.query('select pg_backend_pid() as pid, pg_try_advisory_lock($1)', [key])
  for (let round = 1; round <= ROUNDS; round++) {
    await other.query('begin')
    const { rows } = await other.query('select pg_try_advisory_xact_lock($1) as taken', [key])
    if (rows[0].taken) throw new PoolerError()
    // A pooler has to give the holder another backend than the one that this transaction keeps.
    const again = await holder.query('select pg_backend_pid() as pid')
    if (again.rows[0].pid !== held.rows[0].pid) throw new PoolerError()
    await other.query('rollback')
  }
}
