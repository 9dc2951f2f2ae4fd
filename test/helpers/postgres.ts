import pg from 'pg'
import { inject } from 'vitest'
import { migrate } from '../../src/lib/migrate.ts'
import { storeTexts } from '../../src/texts/store.ts'

/** A database that belongs to one test, or one test file. */
export interface TestDatabase extends AsyncDisposable {
  readonly url: string
  readonly name: string
  readonly pool: pg.Pool
  /** Drops the database, even with clients connected. Idempotent. */
  close(): Promise<void>
}

/** A pool that takes it as its end when the forced drop of its database cuts a connection. */
export function openPool(config: pg.PoolConfig): pg.Pool {
  const pool = new pg.Pool(config)
  pool.on('error', () => {})
  return pool
}

let created = 0

/**
 * Creates an empty database on the run's PostgreSQL, or with `migrated` a copy of one that has every migration.
 * Hold it with `await using`, or close it.
 * @param options.copyOf name of another database to copy, to which nothing is connected
 */
export async function createTestDatabase(
  options: { migrated?: boolean; copyOf?: string } = {},
): Promise<TestDatabase> {
  const adminUrl = inject('postgresUrl')
  created += 1
  const name = `${inject('databasePrefix')}${process.pid}_${created}`
  await withAdmin(adminUrl, async admin => {
    const template =
      options.copyOf ?? (options.migrated ? await migratedTemplate(admin, adminUrl) : 'template0')
    // Copied file by file: nothing is logged that a crash would need.
    await admin.query(`create database ${name} template ${template} strategy file_copy`)
  })
  const url = databaseUrl(adminUrl, name)
  const pool = openPool({ connectionString: url, max: 10 })
  let closing: Promise<void> | undefined
  const close = async () => {
    await pool.end()
    await withAdmin(adminUrl, admin => admin.query(`drop database if exists ${name} with (force)`))
  }
  const closeOnce = () => {
    closing ??= close()
    return closing
  }
  return { url, name, pool, close: closeOnce, [Symbol.asyncDispose]: closeOnce }
}

/** Drops every database of a run, when it ends. */
export async function dropDatabasesOf(adminUrl: string, prefix: string): Promise<void> {
  await withAdmin(adminUrl, async admin => {
    const { rows } = await admin.query<{ datname: string }>(
      'select datname from pg_database where starts_with(datname, $1)',
      [prefix],
    )
    for (const { datname } of rows) await admin.query(`drop database if exists ${datname} with (force)`)
  })
}

/** Name of the run's migrated database; the first who wants it makes it. */
async function migratedTemplate(admin: pg.Client, adminUrl: string): Promise<string> {
  const template = `${inject('databasePrefix')}migrated`
  const exists = async () =>
    ((await admin.query('select from pg_database where datname = $1', [template])).rowCount ?? 0) > 0
  if (await exists()) return template

  await admin.query(`select pg_advisory_lock(hashtext($1))`, [template])
  try {
    if (await exists()) return template
    const unfinished = `${template}_unfinished`
    await admin.query(`drop database if exists ${unfinished} with (force)`)
    await admin.query(`create database ${unfinished} template template0`)
    await migrateDatabase(databaseUrl(adminUrl, unfinished))
    await admin.query(`alter database ${unfinished} rename to ${template}`)
    return template
  } finally {
    await admin.query(`select pg_advisory_unlock(hashtext($1))`, [template])
  }
}

async function migrateDatabase(url: string): Promise<void> {
  const pool = new pg.Pool({ connectionString: url })
  try {
    await migrate(pool)
    await storeTexts(pool)
  } finally {
    await pool.end()
  }
}

function databaseUrl(adminUrl: string, database: string): string {
  const url = new URL(adminUrl)
  url.pathname = `/${database}`
  return url.href
}

async function withAdmin<T>(adminUrl: string, action: (admin: pg.Client) => Promise<T>): Promise<T> {
  const admin = new pg.Client({ connectionString: adminUrl })
  await admin.connect()
  try {
    return await action(admin)
  } finally {
    await admin.end()
  }
}
