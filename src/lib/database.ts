import { randomInt } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import pg, { DatabaseError } from 'pg'
import { CodedError, type MessageValue, message } from '../texts/message.ts'
import { codeOf, pemFile, READ_ONLY, sentenceOf, TlsSettingError } from './failure.ts'
import type { Logger } from './logger.ts'
import { within } from './waiting.ts'

/**
 * Runs statements. A statement whose rows are read names their type, `query<{ id: number }>(…)`: without one, rows are `never`,
 * and reading a column does not compile.
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
    // The limit is in milliseconds; without: the pool's.
    statement: string | ((pg.QueryConfig | pg.QueryArrayConfig) & { query_timeout?: number }),
    values?: unknown[],
  ): Promise<pg.QueryResult<Row>>
  <Stream extends pg.Submittable>(stream: Stream): Stream
}

/** Adds a value to a statement. Returns its placeholder. */
export type PlaceValue = (value: unknown) => string

/** The values of a statement that is put together piece by piece. */
export function placeholders(...values: unknown[]): { values: unknown[]; place: PlaceValue } {
  return { values, place: value => `$${values.push(value)}` }
}

/** The only row of a statement that always returns one. */
export function onlyRow<Row>([row]: Row[]): Row {
  if (row === undefined) throw new TypeError('a statement that always gives a row gave none')
  return row
}

/** How far rows are counted that may be as many as the company's employees. */
export const MOST_COUNTED = 10_000

/** Counts the rows of a FROM clause up to `most`: its cost must not grow with the company. */
export async function countUpTo(db: Pool, most: number, from: string, values?: unknown[]): Promise<number> {
  const { rows } = await db.query<{ n: number }>(
    `select count(*)::int as n from (select ${from} limit ${most}) few`,
    values,
  )
  return onlyRow(rows).n
}

/** The database's time, which all processes agree on whatever their own clocks say. */
export async function databaseTime(db: ClientBase | Pool): Promise<Date> {
  const { rows } = await db.query<{ now: Date }>('select now()')
  return onlyRow(rows).now
}

/** Whether the database takes no writes, as a standby: reads then succeed, and show what was before. */
export async function isReadOnly(db: Pool): Promise<boolean> {
  const { rows } = await db.query<{ is: boolean }>(
    `select current_setting('transaction_read_only')::boolean as is`,
  )
  return onlyRow(rows).is
}

/** Reads bigint columns as numbers: those of rows and cases stay far below 2^53. */
const types = new pg.TypeOverrides()
types.setTypeParser(pg.types.builtins.INT8, Number)

/**
 * How long each kind of work may hold up a statement before its connection is dropped. The client keeps the time: a database
 * that hangs without closing the connection cannot report a timeout.
 */

/** Claims, settlements and other writes of a job: milliseconds by themselves, longer behind a plan's rows. */
export const WORK_MS = 10_000
/** Feeding a chunk of the outbox to the queue. */
export const FEED_MS = 30_000
/** What a loop begins with, each second: it is what finds that the database's host has gone without a word. */
export const LOOK_MS = 30_000
/** A migration, which may rewrite a large table; and waiting for another process that does. */
export const DAY_MS = 24 * 60 * 60_000
/** Everything without a limit of its own: statements of plans, pruning of history. */
const ANY_MS = 10 * 60_000
/** Copying all of HR, which takes as long as HR takes. */
export const COPY_MS = 60 * 60_000

/** The share of a statement's time that it may wait for a lock, so that it fails as locked, not as timed out. */
const LOCK_SHARE = 0.8

/** How long connecting may take, and the first statement of a connection. */
const CONNECT_MS = 5000

/**
 * Sets what a session relies on, whatever the server's, the database's or the user's defaults: no time-outs but the client's own,
 * times in the format that `pg` reads. And it makes the server end a session, and so free its locks, within 15 s of its client's
 * host dying silently: the server's own defaults take hours. Older servers lack some of these settings.
 */
export const SESSION_SETTINGS = `
  select set_config(name, value, false)
  from (values ('tcp_keepalives_idle', '5'), ('tcp_keepalives_interval', '5'), ('tcp_keepalives_count', '2'),
               ('tcp_user_timeout', '15000'), ('idle_session_timeout', '0'), ('statement_timeout', '0'),
               ('lock_timeout', '0'), ('idle_in_transaction_session_timeout', '0'), ('transaction_timeout', '0'),
               ('default_transaction_isolation', 'read committed'), ('DateStyle', 'ISO, YMD'),
               ('IntervalStyle', 'postgres')) as wanted (name, value)
  join pg_settings using (name)`

/** SQL: a time, unless it is of the future: then the clock was put back, and what happened at that time may be out of date. */
export const ifPast = (time: string) => `case when ${time} <= now() then ${time} end`

/**
 * On many servers any user may create functions in the schema `public`, and one that fits a call better than PostgreSQL's own would be
 * run with our rights. Our statements name the schema `dirsync`. A statement rather than a start-up option, which poolers refuse.
 */
const OUR_SESSION = {
  text: `set search_path to pg_catalog, pg_temp;${SESSION_SETTINGS}`,
  query_timeout: CONNECT_MS,
}

/**
 * A pool of connections to dirsync's own database. An idle connection that drops is logged, never fatal.
 * @param options.timeoutMs longest time to connect, for each statement, and (80 % of it) for a lock; default: 5 s to connect, 10 minutes for a statement
 */
export function createPool(
  url: string,
  options: { max: number; name: string; logger: Logger; timeoutMs?: number },
): pg.Pool {
  const { max, name, logger, timeoutMs } = options
  const timeouts = timeoutMs && {
    connectionTimeoutMillis: timeoutMs,
    // The server may be unable to report its own timeout.
    query_timeout: timeoutMs,
  }
  // As a setting of `pg` it would be a start-up option.
  const limit = timeoutMs
    ? `; set statement_timeout = ${timeoutMs}; set lock_timeout = ${timeoutMs * LOCK_SHARE}`
    : ''
  const first = {
    ...OUR_SESSION,
    text: `${OUR_SESSION.text}${limit};${NOTICE_IT_AT_WORK}`,
  }
  const pool = new pg.Pool({
    ...connection(url, name),
    Client: PostgresClient,
    max,
    query_timeout: ANY_MS,
    ...timeouts,
    onConnect: client => client.query(first),
  })
  surviveDrops(pool, error => logger.warn({ error }, 'an idle database connection dropped'))
  return pool
}

/**
 * Has a pool go on when a connection breaks: it replaces an idle one, and the statements of one that is handed out fail.
 * @param told of an idle one that broke, unless the pool is being ended, which a server that stops then too may find out first
 */
export function surviveDrops(pool: pg.Pool, told: (error: Error) => void): void {
  pool.on('error', error => {
    if (!pool.ending) told(error)
  })
  // Unhandled, the event of one that is handed out would end the process.
  pool.on('connect', client => client.on('error', () => {}))
}

/** A connection outside any pool, for LISTEN and session locks. The caller opens it and handles 'error'. */
export function createClient(url: string, name: string): pg.Client {
  const client = new PostgresClient(connection(url, name))
  // Before the caller's first statement, which fails too if this one does.
  client.once('connect', () => void client.query(OUR_SESSION).catch(() => client.end()))
  return client
}

/**
 * An address for `pg`. Today it takes these modes for `verify-full`, and warns at each start that a later version will check
 * less: naming what is meant keeps the check. An address that asks for libpq's own meanings has them; libpq has no `no-verify`, and
 * `pg` would check everything.
 */
function postgresAddress(url: string): string {
  const compatible = /(?<=[?&])uselibpqcompat=true(?:&|$)/
  if (compatible.test(url))
    return /[?&]sslmode=no-verify(?:&|$)/.test(url) ? url.replace(compatible, '') : url
  return url.replaceAll(/(?<=[?&]sslmode=)(?:prefer|require|verify-ca)(?=&|$)/g, 'verify-full')
}

/** The files that an address may name for TLS. */
const FILES = { sslrootcert: 'CERTIFICATE', sslcert: 'CERTIFICATE', sslkey: 'PRIVATE KEY' } as const

/** What the driver takes for TLS … */
const PARAMETERS = ['sslmode', ...Object.keys(FILES), 'sslnegotiation', 'ssl']
/** … and what it passes over without harm, since an address for libpq may have it. */
const OF_LIBPQ =
  /^(?:ssl(?:password|crl|crldir|sni|compression|certmode|keylogfile)|ssl_(?:min|max)_protocol_version|gsslib)$/
/** libpq's `allow` is taken as the others are, and not offered. */
const MODES = ['disable', 'no-verify', 'prefer', 'require', 'verify-ca', 'verify-full']

/** Values of `ssl` that the driver knows, besides none. Over any other it throws where nothing catches. */
const SSL = ['true', '1', '0', 'no-verify']

/**
 * The driver passes over a name that it does not know, and would encrypt nothing.
 * @throws TlsSettingError for a misspelt parameter or value, and for a file that the driver could not read, or that lacks what TLS
 * would take from it
 */
function checkTls(url: string): void {
  // Of a name that is given twice, the last value, as the driver takes it.
  const given: Record<string, string> = Object.fromEntries(new URLSearchParams(/\?([^#]*)/.exec(url)?.[1]))
  const { sslmode, ssl = '', uselibpqcompat } = given
  const unknown = Object.keys(given).find(
    name => /ssl|tls/i.test(name.replace(/[-_]/g, '')) && !PARAMETERS.includes(name) && !OF_LIBPQ.test(name),
  )
  if (unknown !== undefined)
    throw unusable(message('said.wanted_parameters', { name: unknown, names: PARAMETERS }))
  if (sslmode !== undefined && ![...MODES, 'allow'].includes(sslmode))
    throw unusable(message('said.wanted_value', { name: 'sslmode', names: MODES }))
  if (!['', ...SSL].includes(ssl)) throw unusable(message('said.wanted_value', { name: 'ssl', names: SSL }))
  const isOff = sslmode === 'disable'
  const isUnchecked = sslmode === 'no-verify' || (sslmode === 'prefer' && uselibpqcompat === 'true')
  for (const [name, kind] of Object.entries(FILES)) {
    const isUnused = isOff || (isUnchecked && name === 'sslrootcert')
    if (given[name]) pemFile(given[name], isUnused ? '' : kind)
  }
}

/**
 * Reads its address as it is made. For one that no server could answer, `connect` fails with a TlsSettingError; making the client
 * does not, since a pool with waiting requests makes the next one where nothing catches.
 */
export class PostgresClient extends pg.Client {
  readonly #trouble: TlsSettingError | null

  // biome-ignore lint/correctness/noUnreachableSuper: the second is called where the first threw or was not reached
  constructor(config: pg.ClientConfig = {}) {
    const { connectionString: url = '', ...others } = config
    let trouble: TlsSettingError | null = null
    try {
      checkTls(url)
      super({ ...others, connectionString: postgresAddress(url) })
    } catch (error) {
      super({ ...others, sslnegotiation: 'postgres' }) // never connected
      // Its first sentence: the driver goes on about the risks of another setting.
      const [reason] = sentenceOf(error).replace('SECURITY WARNING: ', '').split('. ', 1)
      trouble = error instanceof TlsSettingError ? error : unusable(reason ?? '')
    }
    this.#trouble = trouble
  }

  override connect(): Promise<pg.Client>
  override connect(callback: (error: Error) => void): void
  override connect(callback?: (error: Error) => void): unknown {
    const trouble = this.#trouble
    if (callback === undefined) return trouble ? Promise.reject(trouble) : super.connect()
    return trouble ? process.nextTick(callback, trouble) : super.connect(callback)
  }
}

function unusable(reason: MessageValue): TlsSettingError {
  return new TlsSettingError(message('said.address_unusable', { reason }), message('said.correct_tls'))
}

function connection(url: string, name: string) {
  return {
    connectionString: url,
    application_name: `dirsync ${name}`,
    types,
    connectionTimeoutMillis: CONNECT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: 5000,
  }
}

/**
 * Makes the server end a statement within 2 s of its client giving it up, and so free its rows: otherwise it notices when it has
 * something to send, and what is tried again waits for it. Servers before version 14 lack the setting, and some platforms refuse it.
 */
const NOTICE_IT_AT_WORK = `
  do $$ begin
    perform set_config('client_connection_check_interval', '2000', false);
  exception when others then null;
  end $$`

/**
 * Lends one connection of the pool to `work`. A connection that dropped, on which a statement timed out, or that leads to a
 * standby, does not return to the pool.
 * @param timeoutMs for all of `work`, but not for getting the connection; then the connection is closed. Default: no limit
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
  // A connection that drops between two statements emits this event, which ends the process unless it is handled.
  client.on('error', note)
  try {
    if (timeoutMs === undefined) return await work(client)
    return await within(timeoutMs, work(client), () => new StatementTimeoutError(timeoutMs))
  } catch (error) {
    if (isGivenUp(error) || codeOf(error) === READ_ONLY) note(error as Error)
    throw error
  } finally {
    client.off('error', note)
    client.release(broken)
  }
}

/** The same on a connection that has just answered: for a loop whose `work` may take long, which a lost host would take from it. */
export function withLiveConnection<T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
  return withConnection(pool, async client => {
    await client.query({ text: 'select', query_timeout: LOOK_MS })
    return work(client)
  })
}

/**
 * Runs `work` in one transaction; rolls back when it throws.
 * @param timeoutMs for all of it; default: each statement has the pool's
 * @throws StatementTimeoutError after which it is unknown whether the transaction was committed
 */
export async function transaction<T>(
  pool: Pool,
  work: (client: PoolClient) => Promise<T>,
  timeoutMs?: number,
): Promise<T> {
  return withConnection(pool, client => inTransaction(client, () => work(client)), timeoutMs)
}

/** The same on a connection that the caller has. */
export async function inTransaction<T>(client: ClientBase, work: () => Promise<T>): Promise<T> {
  try {
    await client.query('begin')
    const result = await work()
    await client.query('commit')
    return result
  } catch (error) {
    await rollback(client, error)
    throw error
  }
}

/** Runs `work` in a transaction that is always rolled back. */
export async function rolledBack<T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
  return withConnection(pool, async client => {
    let failure: unknown
    try {
      await client.query('begin')
      return await work(client)
    } catch (error) {
      failure = error
      throw error
    } finally {
      await rollback(client, failure)
    }
  })
}

/** Ends a transaction. A connection that is gone has ended it already; behind a statement that was given up it would only wait. */
async function rollback(client: ClientBase, failure: unknown): Promise<void> {
  if (!isGivenUp(failure)) await client.query('rollback').catch(() => undefined)
}

/** A statement or transaction that timed out. It is unknown whether it was committed. */
class StatementTimeoutError extends Error {
  readonly code = 'STATEMENT_TIMEOUT'

  constructor(timeoutMs: number) {
    super(`PostgreSQL did not answer within ${timeoutMs} ms`)
    this.name = 'StatementTimeoutError'
  }
}

/** True for the error of a statement that the client gave up: its connection is unusable. */
function isGivenUp(error: unknown): boolean {
  return (
    error instanceof StatementTimeoutError ||
    (error instanceof Error && error.message === 'Query read timeout')
  )
}

/** Codes of a server that ends a connection, or accepts none, and of the network. */
const LOST = /^(?:08|57P0[123]$|ECONN|EPIPE)/

/** True for the error of a statement whose connection was lost, or leads to a standby by now. It is unknown whether it was committed. */
export function isConnectionLost(error: unknown): boolean {
  const code = codeOf(error)
  return (
    LOST.test(code) || code === READ_ONLY || (error as Error).message === 'Connection terminated unexpectedly'
  )
}

/** SQLSTATE query_canceled: a person did, or a timeout that the server keeps. */
const CANCELED = '57014'
/** SQLSTATE deadlock_detected. */
const DEADLOCK = '40P01'

/** True for the error of a transaction that others were in the way of, or that took too long: the same may succeed another time. */
export function isHeldUp(error: unknown): boolean {
  return isGivenUp(error) || isDeadlock(error) || codeOf(error) === CANCELED
}

const REPEATS = 5
/** Lets the waiters of the transaction that was ended go first. */
const PAUSE_MS = 50

/**
 * Repeats a transaction that PostgreSQL ended to break a deadlock. Plans and outcomes lock rows in one order, except for the
 * rare outcome that requests others. The action writes in one transaction, so nothing of a first try remains.
 */
export function repeatOnDeadlock<T>(action: () => Promise<T>): Promise<T> {
  return repeatWhere(isDeadlock, action)
}

/** The same, also for a timeout that may have been committed: for actions without effect a second time. */
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
  return error instanceof DatabaseError && codeOf(error) === DEADLOCK
}

/** The same for the last step of a transaction: the work before it is kept. */
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

/** How often to compare the connections: other users of the pooler may take a backend in between. */
const ROUNDS = 3

/** DATABASE_URL leads through a pooler that gives a connection another backend for every transaction. */
export class PoolerError extends CodedError<'DATABASE_POOLED'> {
  constructor() {
    super('DATABASE_POOLED', message('said.pooled'))
  }
}

/**
 * Detects a pooler in transaction or statement mode by testing what dirsync relies on: a lock taken by one connection keeps
 * another out, and a connection keeps its backend. The lock comes first, since some poolers keep the backend of a lock holder.
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
  // A key of this check alone: behind a pooler, the lock may remain.
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
    // A pooler has to give the lock holder another backend than the one that this transaction keeps, or afterwards the one that
    // was used last.
    if ((await backend('select pg_backend_pid() as pid')) !== pid) throw new PoolerError()
    await other.query('rollback')
    if ((await backend('select pg_backend_pid() as pid')) !== pid) throw new PoolerError()
  }
}
