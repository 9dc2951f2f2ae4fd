import {
  assertSchemaCompatibility,
  type BackendFactory,
  type IQueueBackend,
  type PgPool,
  PostgresConnection,
  type PostgresConnectionOptions,
  PostgresQueueBackend,
  type QueueBaseOptions,
  runMigrations,
  SchemaMigrationRequiredError,
  SchemaVersionMismatchError,
  UnsupportedPostgresVersionError,
} from 'bullmq'
import pg from 'pg'
import { PostgresClient, SESSION_SETTINGS, surviveDrops } from '../lib/database.ts'
import { saidOf } from '../lib/failure.ts'
import { message } from '../texts/message.ts'
import {
  type ConnectionRole,
  type QueueCheck,
  QueueError,
  type QueueStore,
  type StoreConnection,
} from './store.ts'

/** The schema of BullMQ's tables, beside `dirsync` in the same database. */
const SCHEMA = 'bullmq'

/** A worker holds one connection for LISTEN; using more than these at once made it slower, not faster. */
const CONNECTIONS: Record<ConnectionRole, number> = { producer: 3, worker: 10 }

/** A connection is dropped when a statement on it got no answer for this long. */
const SILENCE_MS = 5_000

/** The queue in PostgreSQL, for installations without Redis. */
export function createPostgresStore(databaseUrl: string): QueueStore {
  return {
    kind: 'postgres',
    prefix: 'bull',
    connect: (role, onError) => connect(databaseUrl, role, onError),
    prepare: () => withClient(databaseUrl, client => runMigrations(client, SCHEMA)).then(() => {}),
    doctor: () => examine(databaseUrl),
    isAnswer: error => error instanceof pg.DatabaseError,
  }
}

function connect(url: string, role: ConnectionRole, onError: (error: unknown) => void): StoreConnection {
  const pool = new QueuePool({
    Client: PostgresClient,
    connectionString: url,
    max: CONNECTIONS[role],
    keepAlive: true,
    keepAliveInitialDelayMillis: 5_000,
    connectionTimeoutMillis: role === 'producer' ? 2_000 : 5_000,
    query_timeout: SILENCE_MS,
    onConnect: setUp,
  })
  surviveDrops(pool, onError)
  const clients = new Set<pg.PoolClient>()
  pool.on('connect', client => clients.add(client))
  pool.on('remove', client => clients.delete(client))
  let ended: Promise<void> | undefined
  const close = () => {
    ended ??= pool.end()
    return ended
  }
  const backendFactory: BackendFactory<IQueueBackend, PostgresConnectionOptions> = (name, options) =>
    new PostgresQueueBackend(
      new QueueConnection(pool as PgPool),
      name,
      options as QueueBaseOptions<PostgresConnectionOptions>,
    )
  return {
    connection: pool,
    backendFactory: backendFactory as BackendFactory<IQueueBackend, unknown>,
    write: queue => write(pool, queue),
    causeOf: error => error,
    close,
    cut() {
      for (const client of clients) client.end().catch(onError)
      close().catch(onError)
    },
  }
}

/** Beside BullMQ's own rows of a queue, under a name that it does not use. */
function write(db: pg.Pool | pg.Client, queue: string): Promise<unknown> {
  return db.query(
    `insert into ${SCHEMA}.meta (queue, field, value) values ($1, 'dirsync:written', now()::text)
     on conflict (queue, field) do update set value = excluded.value`,
    [queue],
  )
}

/**
 * BullMQ names its tables without their schema. These are statements rather than start-up options, since options in the
 * connection string would override ours. A commit need not wait for the disk: whatever PostgreSQL loses of the queue when its
 * machine fails is fed again.
 */
async function setUp(client: pg.ClientBase): Promise<void> {
  await client.query(
    `set search_path to ${SCHEMA}; set application_name to 'dirsync-queue'; set synchronous_commit to off;${SESSION_SETTINGS}`,
  )
}

/** The database's time in milliseconds. It uses up the parameter whose place it takes. */
const DATABASE_TIME = '((extract(epoch from clock_timestamp()) * 1000)::bigint + 0 * $&::bigint)'

/**
 * BullMQ's statements are told the time by the process that sends them. One whose clock is ahead would lock its jobs for as
 * long, and nobody would look for jobs of processes that vanished until then. So they get the database's time, as Redis uses
 * its own.
 */
function byDatabaseTime(statement: string): string {
  const [, parameter] = /\$(\d+) now_ms/.exec(statement) ?? []
  return parameter === undefined
    ? statement
    : statement.replace(new RegExp(`\\$${parameter}(?!\\d)`, 'g'), DATABASE_TIME)
}

/** A pool for BullMQ, which sends its statements as a text and values. */
class QueuePool extends pg.Pool {
  override query = ((statement: string, values?: unknown[]) =>
    super.query(byDatabaseTime(statement), values)) as pg.Pool['query']
}

/**
 * BullMQ never looks again once its first look at the schema failed, so a worker that starts while PostgreSQL is away would
 * never work. This one looks again.
 */
class QueueConnection extends PostgresConnection {
  #ready: Promise<void> | undefined

  override waitUntilReady(): Promise<void> {
    this.#ready ??= this.#look()
    return this.#ready
  }

  async #look(): Promise<void> {
    try {
      const client = await this.pool.connect()
      try {
        await assertSchemaCompatibility(client, SCHEMA)
      } finally {
        client.release()
      }
    } catch (error) {
      this.#ready = undefined
      throw explain(error)
    }
  }
}

async function examine(url: string): Promise<QueueCheck[]> {
  try {
    return await withClient(url, async client => {
      const { rows } = await client.query<{ version: string }>(
        `select current_setting('server_version') as version`,
      )
      const findings: QueueCheck[] = [
        { ok: true, what: message('doctor.holds_queue', { name: `PostgreSQL ${rows[0]?.version}` }) },
      ]
      const schema = await assertSchemaCompatibility(client, SCHEMA)
      await write(client, 'dirsync-doctor')
      return [...findings, { ok: true, what: message('doctor.queue_schema', { version: schema }) }]
    })
  } catch (error) {
    const { code, said } = explain(error) as QueueError
    // That there are no tables is said with what to do.
    const isBare = code === 'QUEUE_NOT_MIGRATED'
    return [{ ok: false, what: said, ...(!isBare && { remedy: message('doctor.correct_postgres') }) }]
  }
}

async function withClient<T>(url: string, action: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new PostgresClient({
    connectionString: url,
    connectionTimeoutMillis: 5_000,
    application_name: 'dirsync-queue',
  })
  client.on('error', () => {}) // the query in flight fails too, and is reported
  try {
    await client.connect()
    await client.query(SESSION_SETTINGS)
    return await action(client)
  } catch (error) {
    throw explain(error)
  } finally {
    await client.end()
  }
}

function explain(error: unknown): unknown {
  if (error instanceof QueueError) return error
  if (error instanceof SchemaMigrationRequiredError) {
    return new QueueError('QUEUE_NOT_MIGRATED', message('said.queue_bare'), { cause: error })
  }
  if (error instanceof SchemaVersionMismatchError || error instanceof UnsupportedPostgresVersionError) {
    return new QueueError('QUEUE_STORE_TOO_OLD', message('said.words', { words: error.message }), {
      cause: error,
    })
  }
  return new QueueError('QUEUE_UNAVAILABLE', message('said.queue_unserved', { reason: saidOf(error) }), {
    cause: error,
  })
}
