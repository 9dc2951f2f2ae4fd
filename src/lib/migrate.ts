import { readdir, readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type { DatabaseError } from 'pg'
import { message, SaidError } from '../texts/message.ts'
import { onceLocked } from './advisory-lock.ts'
import { type ClientBase, DAY_MS, inTransaction, onlyRow, type Pool, type PoolClient } from './database.ts'
import { codeOf, databaseTrouble, NO_RIGHT } from './failure.ts'

const DIRECTORY = new URL('../migrations/', import.meta.url)

/**
 * While a migration waits for a table, everything else that wants the table waits behind it. So it waits this long, and tries
 * again later.
 */
const LOCK_TIMEOUT_MS = 1000
const LOCK_TRIES = 30

/** SQLSTATE: something depends on what is to be dropped. */
const STILL_USED = '2BP01'

/** The first files of schemas from before the first release: their files were joined into one per theme, twice. */
const BEFORE_RELEASE = ['0001_directory.sql', '0001_runs.sql']

/** A table of a migration, with the comment above it. */
const TABLE = /((?:^-- .*\n)*)^create (?:unlogged )?table (dirsync\.\w+) \(\n([\s\S]*?)^\)/gm
/** A column with the comment above it; its definition may continue on lines that stand further in. */
const COLUMN = /(?:^ {2}-- .*\n)*^ {2}(?!(?:primary|check|constraint)\b)(\w+) .*(?:\n {3,}.*)*/gm

export class MigrationError extends SaidError {
  readonly code = 'MIGRATION_FAILED'
}

interface MigrationResult {
  /** Names of the files applied by this call. */
  applied: string[]
  /** Statements for someone who may create roles; empty when the reviewer's role is in place. */
  reviewerStatements: string[]
}

/**
 * Brings schema `dirsync` up to date: applies every numbered file once, each in its own transaction, under a lock.
 * @throws MigrationError naming the file when one fails, or saying why this code or user cannot continue from this database
 */
export async function migrate(pool: Pool): Promise<MigrationResult> {
  const files = await migrationFiles()
  try {
    return await onceLocked(pool, 'migration', client => bringUpToDate(client, files))
  } catch (cause) {
    if (codeOf(cause) !== NO_RIGHT) throw cause
    throw new MigrationError(message('said.and_remedy', databaseTrouble(cause)), { cause })
  }
}

async function migrationFiles(): Promise<string[]> {
  return (await readdir(DIRECTORY)).filter(name => name.endsWith('.sql')).sort()
}

async function bringUpToDate(client: PoolClient, files: string[]): Promise<MigrationResult> {
  const { rowCount: schemas } = await client.query(`select from pg_namespace where nspname = 'dirsync'`)
  // "if not exists" would need the right to create schemas even where the schema exists.
  if (schemas === 0) {
    await assertEncoding(client)
    await client.query('create schema dirsync')
  }
  await client.query(`create table if not exists dirsync.migration (
    name text primary key, applied_at timestamptz not null default now())`)
  const known = await appliedMigrations(client)
  assertKnown(known.filter(name => !files.includes(name)))
  const applied: string[] = []
  for (const name of files.filter(file => !known.includes(file))) {
    await apply(client, name)
    applied.push(name)
  }
  return { applied, reviewerStatements: await grantReviewer(client) }
}

/** Any other encoding lacks characters of names, and of texts. */
async function assertEncoding(client: ClientBase): Promise<void> {
  const { rows } = await client.query<{ name: string }>(`select current_setting('server_encoding') as name`)
  const { name } = onlyRow(rows)
  if (name !== 'UTF8') throw new MigrationError(message('said.schema_encoding', { name }))
}

async function appliedMigrations(db: ClientBase | Pool): Promise<string[]> {
  const { rows } = await db.query<{ name: string }>('select name from dirsync.migration')
  return rows.map(row => row.name)
}

function assertKnown(unknown: string[]): void {
  if (BEFORE_RELEASE.some(name => unknown.includes(name)))
    throw new MigrationError(message('said.schema_before_release'))
  if (unknown.length > 0) throw new MigrationError(message('said.schema_newer', { names: unknown }))
}

async function apply(client: PoolClient, name: string, tries = 1): Promise<void> {
  const sql = await readFile(new URL(name, DIRECTORY), 'utf8')
  try {
    await inTransaction(client, async () => {
      await client.query(`set local lock_timeout = ${LOCK_TIMEOUT_MS}`)
      await client.query('insert into dirsync.migration (name) values ($1)', [name])
      await client.query({ text: sql + tableComments(sql), query_timeout: DAY_MS })
    })
  } catch (cause) {
    const { code, detail, message: words } = cause as Partial<DatabaseError> & Error
    // Not within the time, or not without a deadlock.
    const isLocked = code === '55P03' || code === '40P01'
    if (isLocked && tries < LOCK_TRIES) {
      await sleep(LOCK_TIMEOUT_MS)
      return apply(client, name, tries + 1)
    }
    const drop = code === STILL_USED ? await dropOfViews(client, detail ?? '') : null
    throw new MigrationError(
      drop === null
        ? message(isLocked ? 'said.migration_locked' : 'said.migration_failed', { name, words })
        : message('said.migration_views', { name, command: drop }),
      { cause },
    )
  }
}

/** SQL that drops the views outside of the schema that stand in the way of a migration; null where nothing or something else does. */
async function dropOfViews(client: ClientBase, detail: string): Promise<string | null> {
  const { rows } = await client.query<{ drop: string | null }>(
    `with recursive used (oid) as (
       select oid from pg_class where relnamespace = 'dirsync'::regnamespace
       union
       select r.ev_class from used u join pg_depend d on d.refclassid = 'pg_class'::regclass and d.refobjid = u.oid
       join pg_rewrite r on d.classid = 'pg_rewrite'::regclass and r.oid = d.objid
     )
     -- The newest first, as one may use another.
     select string_agg(format('drop %s %I.%I', case c.relkind when 'm' then 'materialized view' else 'view' end,
                              n.nspname, c.relname), '; ' order by c.oid desc) as drop
     from used join pg_class c using (oid) join pg_namespace n on n.oid = c.relnamespace
     -- Of all that use the schema, those that PostgreSQL names.
     where n.nspname <> 'dirsync' and position(c.oid::regclass::text in $1) > 0`,
    [detail],
  )
  return onlyRow(rows).drop
}

/**
 * What a migration says in comments directly above a table, and above or behind its columns, as comments of the database: each is
 * written once, beside what it is about.
 */
function tableComments(sql: string): string {
  const statements: string[] = []
  const comment = (thing: string, source: string) => {
    const text = [...source.matchAll(/-- (.*)$/gm)].map(([, line]) => line).join(' ')
    if (text) statements.push(`comment on ${thing} is '${text.replaceAll("'", "''")}';\n`)
  }
  for (const [, above, table, columns = ''] of sql.matchAll(TABLE)) {
    comment(`table ${table}`, above ?? '')
    for (const [definition, name] of columns.matchAll(COLUMN)) comment(`column ${table}.${name}`, definition)
  }
  return statements.join('')
}

/** Names of the migrations that the database still lacks; empty when it is up to date. */
export async function missingMigrations(pool: Pool): Promise<string[]> {
  return (await differences(pool)).missing
}

/** The files that the database lacks, and those that it has and this code does not know. */
async function differences(pool: Pool): Promise<{ missing: string[]; unknown: string[] }> {
  const files = await migrationFiles()
  const { rows } = await pool.query<{ present: boolean }>(
    `select to_regclass('dirsync.migration') is not null as present`,
  )
  if (!onlyRow(rows).present) return { missing: files, unknown: [] }
  const known = await appliedMigrations(pool)
  return {
    missing: files.filter(file => !known.includes(file)),
    unknown: known.filter(name => !files.includes(name)),
  }
}

/**
 * What `migrate` still has to do: files that the database lacks, and whether the reviewer has its rights.
 * @throws MigrationError where it would refuse
 */
export async function migrationFindings(pool: Pool): Promise<{ missing: string[]; hasReviewer: boolean }> {
  const { missing, unknown } = await differences(pool)
  assertKnown(unknown)
  if (missing.length > 0) return { missing, hasReviewer: false }
  const { rows } = await pool.query<{ has: boolean }>(
    `select coalesce((select has_table_privilege(oid, 'dirsync.failed_syncs', 'select')
                             and has_table_privilege(oid, 'dirsync.failed_syncs_zh', 'select')
                      from pg_roles where rolname = 'dirsync_reviewer'), false) as has`,
  )
  return { missing, hasReviewer: onlyRow(rows).has }
}

const CREATE_ROLE = 'create role dirsync_reviewer nologin'

/** What the reviewer may do: read the view, money and mirrors, and call the functions for people. */
const GRANTS = [
  'grant usage on schema dirsync to dirsync_reviewer',
  'grant select on dirsync.failed_syncs, dirsync.refund, dirsync.topup to dirsync_reviewer',
  'grant select on dirsync.failed_syncs_zh, dirsync.refused_notification to dirsync_reviewer',
  'grant select on dirsync.payment_order, dirsync.limit_account to dirsync_reviewer',
  'grant select on dirsync.limit_sub_account, dirsync.taxpayer to dirsync_reviewer',
  ...[
    'resync(text, text, interval, text)',
    'retry(bigint)',
    'retry_category(text)',
    'ignore(bigint, text)',
    'snooze(bigint, timestamptz, text)',
    'assign(bigint, text)',
    'comment(bigint, text)',
    'wake(bigint)',
    'undo(bigint)',
    'approve(bigint)',
    'reject(bigint, text)',
    'approve_part(bigint, jsonb, text)',
    'reject_part(bigint, jsonb, text)',
    'cancel(bigint, text)',
    'pause(text)',
    'resume()',
    'lower_rate(float8, timestamptz, text)',
    'restore_rate()',
    'probe_now(text)',
    'name_of(text, text, text)',
    'in_language(text, jsonb)',
  ].map(signature => `grant execute on function dirsync.${signature} to dirsync_reviewer`),
]

/**
 * Creates the role `dirsync_reviewer` where the database user may, and grants it its rights.
 * Roles belong to the whole server, so another database's migration may be creating the same role at this moment.
 * @returns the statements that a privileged user has to run, empty when all is done.
 */
async function grantReviewer(client: ClientBase): Promise<string[]> {
  const exists = async () =>
    (await client.query(`select from pg_roles where rolname = 'dirsync_reviewer'`)).rowCount === 1
  if (!(await exists())) {
    const { rows } = await client.query<{ may: boolean }>(
      'select rolcreaterole or rolsuper as may from pg_roles where rolname = current_user',
    )
    if (!onlyRow(rows).may) return [CREATE_ROLE, ...GRANTS]
    try {
      await client.query(CREATE_ROLE)
    } catch (error) {
      if (!(await exists())) throw error
    }
  }
  for (const grant of GRANTS) await client.query(grant)
  return []
}
