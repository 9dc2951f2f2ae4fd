import { randomInt } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import pg, { DatabaseError } from 'pg'
import type { Logger } from './logger.ts'
import { within } from './waiting.ts'

/**
 * What runs statements. A statement whose rows are read says what a row is, `query<{ id: number }>(…)`: rows of one that does
 * not are `never`, and reading a column of them does not compile.
 */
export interface ClientBase extends Omit<pg.ClientBase, 'query'> {
  query: Query
}
export interface PoolClient extends Omit<pg.PoolClient, 'query'> {
  query: Query
}
export interface Pool extends Omit<pg.Pool, 'query' | 'connect'> {
  query: Query
  connect(): Promise<PoolClient>
}
interface Query {
  <Row extends pg.QueryResultRow = never>(
    statement: string | pg.QueryConfig | pg.QueryArrayConfig,
    values?: unknown[],
  ): Promise<pg.QueryResult<Row>>
  <Stream extends pg.Submittable>(stream: Stream): Stream
}

/** The row of a statement that always gives one. */
export function onlyRow<Row>([row]: Row[]): Row {
  if (row === undefined) throw new TypeError('a statement that always gives a row gave none')
  return row
}

/** Reads bigint columns as numbers: those of rows and cases stay far below 2^53. */
const types = new pg.TypeOverrides()
types.setTypeParser(pg.types.builtins.INT8, Number)

/**
 * How long a statement may take before its connection is given up, by kind of work. The client counts: a database that hangs
 * without closing the connection cannot say that it gives up.
 */

/** Claims, settlements and whatever else a job writes: milliseconds by themselves, longer behind a plan's rows. */
export const WORK_MS = 10_000
/** Giving the queue a chunk of the outbox. */
export const FEED_MS = 30_000
/** Whatever has no limit of its own: statements of plans, migrations, pruning of history. */
const ANY_MS = 10 * 60_000
/** Copying all of HR, which takes as long as HR does. */
export const COPY_MS = 60 * 60_000

/**
 * A pool of connections to dirsync's own database. An idle connection that drops is logged, never fatal.
 * @param options.timeoutMs longest time to connect and for each statement; absent: 5 s to connect, 10 minutes for a statement
 */
export function createPool(
  url: string,
  options: { max: number; name: string; logger: Logger; timeoutMs?: number },
): pg.Pool {
  const { max, name, logger, timeoutMs } = options
  const timeouts = timeoutMs && {
    connectionTimeoutMillis: timeoutMs,
    statement_timeout: timeoutMs,
    // The server may be unable to tell us that it gave up.
    query_timeout: timeoutMs,
  }
  const pool = new pg.Pool({ ...connection(url, name), max, query_timeout: ANY_MS, ...timeouts })
  pool.on('error', error => logger.warn({ err: error.message }, 'an idle database connection dropped'))
  return pool
}

/** A connection outside any pool, for LISTEN and session locks. The caller opens it and handles 'error'. */
export function createClient(url: string, name: string): pg.Client {
  return new pg.Client(connection(url, name))
}

function connection(url: string, name: string) {
  return {
    connectionString: url,
    application_name: `dirsync ${name}`,
    types,
    connectionTimeoutMillis: 5000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 5000,
  }
}

/**
 * Has the server end a session within 15 s when its client's host died without a word, and so free its locks: its own
 * defaults take hours. Servers before version 14 do not have every one of these settings.
 */
export const NOTICE_LOST_CLIENT = `
  select set_config(name, value, false)
  from (values ('tcp_keepalives_idle', '5'), ('tcp_keepalives_interval', '5'), ('tcp_keepalives_count', '2'),
               ('tcp_user_timeout', '15000'), ('idle_session_timeout', '0')) as wanted (name, value)
  join pg_settings using (name)`

/**
 * Lends one connection of the pool to `work`. A connection that dropped, or on which a statement was given up, does not go
 * back to the pool.
 * @param timeoutMs for all of `work`, but not for getting the connection; then the connection is closed. Absent: no limit
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
  // A connection that drops between two statements says so by this event, which ends the process if nobody listens.
  client.on('error', note)
  try {
    if (timeoutMs === undefined) return await work(client)
    return await within(timeoutMs, work(client), () => new StatementTimeoutError(timeoutMs))
  } catch (error) {
    if (isGivenUp(error)) note(error as Error)
    throw error
  } finally {
    client.off('error', note)
    client.release(broken)
  }
}

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

/** Runs `work` in a transaction that leaves nothing behind, whatever it wrote. */
export async function rolledBack<T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
  return withConnection(pool, async client => {
    try {
      await client.query('begin')
      return await work(client)
    } finally {
      await rollback(client)
    }
  })
}

/** Ends a transaction. A connection that is gone has ended it already. */
async function rollback(client: ClientBase): Promise<void> {
  await client.query('rollback').catch(() => undefined)
}

/** A statement, or a transaction, that was given up. Nobody knows whether it was committed. */
class StatementTimeoutError extends Error {
  readonly code = 'STATEMENT_TIMEOUT'

  constructor(timeoutMs: number) {
    super(`PostgreSQL did not answer within ${timeoutMs} ms`)
    this.name = 'StatementTimeoutError'
  }
}

/** True for the error of a statement that its client gave up: its connection is of no use any more. */
function isGivenUp(error: unknown): boolean {
  return (
    error instanceof StatementTimeoutError ||
    (error instanceof Error && error.message === 'Query read timeout')
  )
}

/** SQLSTATE deadlock_detected. */
const DEADLOCK = '40P01'
const REPEATS = 5
/** Lets those that waited for the one that was ended go first. */
const PAUSE_MS = 50

/**
 * Repeats what PostgreSQL ended to break a deadlock. Plans and outcomes lock rows in one order, except for the rare outcome
 * that asks for others. The action writes in one transaction, so nothing of a first try is left.
 */
export function repeatOnDeadlock<T>(action: () => Promise<T>): Promise<T> {
  return repeatWhere(isDeadlock, action)
}

/** The same, also for what was given up and may have been committed: for an action that has no effect a second time. */
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

/** The same for the last step of a transaction: what was done before it is kept. */
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

/** How often the connections are compared: other users of the pooler may take a backend in between. */
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
  // A key of this check alone: where there is a pooler, the lock may stay behind.
  const key = randomInt(2 ** 47)
  const backend = async (statement: string, values: unknown[] = []) =>
    onlyRow((await holder.query<{ pid: number }>(statement, values)).rows).pid
  const pid = await backend('select pg_backend_pid() as pid, pg_try_advisory_lock($1)', [key])
  for (let round = 1; round <= ROUNDS; round++) {
    await other.query('begin')
    const { rows } = await other.query<{ taken: boolean }>('select pg_try_advisory_xact_lock($1) as taken', [
      key,
    ])
    if (onlyRow(rows).taken) throw new PoolerError()
    // A pooler has to give the holder another backend than the one that this transaction keeps.
    if ((await backend('select pg_backend_pid() as pid')) !== pid) throw new PoolerError()
    await other.query('rollback')
  }
}

/** A text as PostgreSQL can store it: U+0000 and half characters, which it cannot, become U+FFFD. */
export function storableText(text: string): string {
  return text.includes('\0') || !text.isWellFormed() ? text.toWellFormed().replaceAll('\0', '\ufffd') : text
}

/** A value made of objects, lists and texts, with each of its texts storable. */
export function storable<T>(value: T): T
export function storable(value: unknown): unknown {
  if (typeof value === 'string') return storableText(value)
  if (Array.isArray(value)) return value.map(storable)
  if (typeof value !== 'object' || value === null || value instanceof Date) return value
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, storable(item)]))
}

/**
 * JSON of rows that the platform gave, for `jsonb_populate_recordset`. What PostgreSQL's texts and times cannot hold and
 * nobody misses is replaced: NUL and half characters by U+FFFD, moments before the year 1 (an empty date of some platforms) by null.
 */
export function storableJson(rows: unknown): string {
  return JSON.stringify(rows, function (this: Record<string, unknown>, name, value: unknown) {
    if (this[name] instanceof Date) return this[name].getUTCFullYear() < 1 ? null : value
    return typeof value === 'string' ? storableText(value) : value
  })
}
