import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, onTestFinished, test } from 'vitest'
import { LOCKS } from '../../src/lib/advisory-lock.ts'
import { createPool } from '../../src/lib/database.ts'
import { MigrationError, migrate, missingMigrations } from '../../src/lib/migrate.ts'
import { until } from '../helpers/company.ts'
import { createTestDatabase, openPool } from '../helpers/postgres.ts'
import { SILENT, StoreUnderTest, WAITING_FOR_A_LOCK } from '../sync/store-under-test.ts'

const MIGRATIONS = new URL('../../src/migrations/', import.meta.url)
const FILES = readdirSync(MIGRATIONS).sort()

/** An empty database and a pool of its own for a process that migrates it. */
async function emptyDatabase() {
  const database = await createTestDatabase()
  onTestFinished(() => database.close())
  return database
}

test('the files are numbered without gaps, and leave no function to everyone', () => {
  expect(FILES.map(name => Number(name.slice(0, 4)))).toEqual(FILES.map((_, index) => index + 1))
  const functions = new Set<string>()
  for (const file of FILES) {
    const sql = readFileSync(new URL(file, MIGRATIONS), 'utf8')
    for (const [, name = ''] of sql.matchAll(/^create function dirsync\.(\w+)/gm)) functions.add(name)
    if (sql.includes('revoke execute on all functions in schema dirsync from public;')) functions.clear()
  }
  expect([...functions]).toEqual([])
})

describe('migrate', () => {
  test('brings an empty database up to date, and leaves one that is as it is', async () => {
    const { pool } = await emptyDatabase()
    expect(await missingMigrations(pool)).toEqual(FILES)
    expect(await migrate(pool)).toEqual({ applied: FILES, reviewerStatements: [] })
    expect(await missingMigrations(pool)).toEqual([])
    expect(await migrate(pool)).toEqual({ applied: [], reviewerStatements: [] })
  })

  test('applies every file once, however many processes start at the same moment', async () => {
    const database = await emptyDatabase()
    const other = createPool(database.url, { max: 2, name: 'other', logger: SILENT })
    onTestFinished(() => other.end())
    const results = await Promise.all([migrate(database.pool), migrate(other), migrate(database.pool)])
    expect(results.flatMap(result => result.applied).sort()).toEqual(FILES)
  })

  test('refuses a database that a newer dirsync has migrated', async () => {
    const { pool } = await emptyDatabase()
    await migrate(pool)
    await pool.query(`insert into dirsync.migration values ('9998_newer.sql'), ('9999_newest.sql')`)
    const refused = migrate(pool)
    await expect(refused).rejects.toBeInstanceOf(MigrationError)
    await expect(refused).rejects.toThrow(
      /^a newer dirsync migrated this database \(9998_newer.sql, 9999_newest.sql\): upgrade/,
    )
  })

  test('refuses a database in which not every name can be written, before it makes anything', async () => {
    const { pool: admin, url } = await emptyDatabase()
    const name = `latin_${process.pid}`
    await admin.query(
      `create database ${name} encoding 'LATIN1' locale 'C' locale_provider libc template template0`,
    )
    const pool = createPool(Object.assign(new URL(url), { pathname: name }).href, {
      max: 1,
      name,
      logger: SILENT,
    })
    try {
      await expect(migrate(pool)).rejects.toThrow(
        /^the database's encoding is LATIN1, not UTF8: create it again/,
      )
      expect((await pool.query(`select from pg_namespace where nspname = 'dirsync'`)).rowCount).toBe(0)
    } finally {
      await pool.end()
      await admin.query(`drop database ${name}`)
    }
  })

  test.each([
    ['0001_directory.sql', '0002_platform.sql'],
    ['0001_runs.sql', '0002_employees.sql'],
  ])(
    'says how to go on from a database that was made before the first release, from %s on',
    async (...names) => {
      const { pool } = await emptyDatabase()
      await pool.query(`
      create schema dirsync;
      create table dirsync.migration (name text primary key, applied_at timestamptz not null default now())`)
      await pool.query('insert into dirsync.migration select unnest($1::text[])', [names])
      await expect(migrate(pool)).rejects.toThrow(
        /^a version from before the first release made this schema.*"drop schema dirsync cascade".*then migrate/,
      )
      expect(await missingMigrations(pool)).toEqual(FILES)

      await pool.query('drop schema dirsync cascade')
      expect((await migrate(pool)).applied).toEqual(FILES)
    },
  )

  test('rolls back a file that fails, names it, and goes on from there once its cause is gone', async () => {
    const { pool } = await emptyDatabase()
    await pool.query('create schema dirsync; create table dirsync.command ()')
    const error = await migrate(pool).catch(failure => failure)
    expect(error).toBeInstanceOf(MigrationError)
    expect(error).toMatchObject({ code: 'MIGRATION_FAILED', cause: { code: '42P07' } })
    expect(error.message).toMatch(/^migration 0001_record.sql failed and was rolled back: relation "command"/)
    const { rows } = await pool.query(
      `select tablename from pg_tables where schemaname = 'dirsync' order by 1`,
    )
    expect(rows).toEqual([{ tablename: 'command' }, { tablename: 'migration' }])
    expect(await missingMigrations(pool)).toEqual(FILES)

    await pool.query('drop table dirsync.command')
    expect((await migrate(pool)).applied).toEqual(FILES)
  })

  test('gives way to those who wait for a table behind it, and goes on once it is free', async () => {
    const { pool } = await emptyDatabase()
    await pool.query(`create schema dirsync;
      create table dirsync.migration (name text primary key, applied_at timestamptz not null default now())`)
    const reader = await pool.connect()
    await reader.query('begin; lock table dirsync.migration in share mode')
    const migrating = migrate(pool)
    const isWaiting = async () => (await pool.query(WAITING_FOR_A_LOCK)).rowCount !== 0
    await until(isWaiting)
    await until(async () => !(await isWaiting()))
    await reader.query('commit')
    reader.release()
    expect((await migrating).applied).toEqual(FILES)
  })

  test('goes on after a deadlock with a transaction that holds what it wants, and wants what it holds', async () => {
    const { pool, name, url } = await emptyDatabase()
    await pool.query(`create schema dirsync;
      create table dirsync.migration (name text primary key, applied_at timestamptz not null default now());
      create table wanted ();
      create sequence applied;
      -- The first time, it waits until the other one waits for it.
      create function meet() returns trigger language plpgsql as $$ begin
        if nextval('public.applied') = 1 then
          while not exists (
            select from pg_locks l join pg_database d on d.oid = l.database
            where d.datname = current_database() and l.relation = 'dirsync.migration'::regclass and not l.granted
          ) loop
            perform pg_sleep(0.01);
          end loop;
          lock table public.wanted;
        end if;
        return new;
      end $$;
      create trigger meet after insert on dirsync.migration for each row execute function meet()`)
    const other = await pool.connect()
    await other.query(`set deadlock_timeout = '1min'; begin; lock table wanted`)
    await pool.query(`alter database ${name} set deadlock_timeout = '200ms'`)
    const migrator = createPool(url, { max: 2, name: 'migrator', logger: SILENT })
    onTestFinished(() => migrator.end())
    const migrating = migrate(migrator)
    await until(async () => (await pool.query('select is_called from applied')).rows[0].is_called)
    await other.query('lock table dirsync.migration in share mode; commit')
    other.release()
    expect((await migrating).applied).toEqual(FILES)
  })

  test('waits for another process, and for a file, longer than any other statement may take', async () => {
    const { pool, url } = await emptyDatabase()
    const query_timeout = 3000
    const hurried = openPool({ connectionString: url, query_timeout })
    onTestFinished(() => hurried.end())
    const longer = `pg_sleep(${query_timeout / 1000 + 0.5})`
    // The second table is the first one of a file.
    await pool.query(`create sequence made;
      create function delay() returns event_trigger language plpgsql as $$
        begin if nextval('public.made') = 2 then perform ${longer}; end if; end $$;
      create event trigger delay on ddl_command_start when tag in ('CREATE TABLE') execute function delay()`)
    const other = await pool.connect()
    await other.query('select pg_advisory_lock($1)', [LOCKS.migration])
    const migrating = migrate(hurried)
    await until(async () => (await other.query(WAITING_FOR_A_LOCK)).rowCount !== 0)
    await other.query(`select ${longer}, pg_advisory_unlock($1)`, [LOCKS.migration])
    other.release()
    expect((await migrating).applied).toEqual(FILES)
  })

  test('gives its lock back after a failure', async () => {
    const { pool } = await emptyDatabase()
    await pool.query('create schema dirsync; create table dirsync.command ()')
    await migrate(pool).catch(() => {})
    const { rows } = await pool.query(
      `select from pg_locks where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())`,
    )
    expect(rows).toEqual([])
  })
})

describe('the schema documents itself', () => {
  const store = new StoreUnderTest()

  test('every table, view, sequence and column has a comment', async () => {
    const bare = await store.rows(
      `select c.relname, a.attname from pg_class c
       left join lateral (
         select attname, attnum from pg_attribute where attrelid = c.oid and attnum > 0 and not attisdropped and c.relkind <> 'S'
         union all select null, 0) a on true
       where c.relnamespace = 'dirsync'::regnamespace and c.relkind in ('r', 'v', 'm', 'p', 'f')
         and coalesce(case when a.attnum = 0 then obj_description(c.oid, 'pg_class') else col_description(c.oid, a.attnum) end, '') = ''
       order by 1, 2`,
    )
    expect(bare).toEqual([])
  })

  test('the views of cases say of their columns what the table does, but where they differ', async () => {
    const others = await store.rows(
      `select v.attrelid::regclass::text as view, v.attname as column
       from pg_attribute v join pg_attribute t using (attname)
       where t.attrelid = 'dirsync.dead_letter'::regclass and t.attnum > 0
         and v.attrelid in ('dirsync.failure'::regclass, 'dirsync.failed_syncs'::regclass, 'dirsync.failed_syncs_zh'::regclass)
         and attname not in ('id', 'entity', 'entity_key', 'operation', 'message', 'remedy')
         and col_description(v.attrelid, v.attnum) <> col_description(t.attrelid, t.attnum)
       order by 1, 2`,
    )
    expect(others).toEqual([])
  })

  test('what stands above or behind a column in a migration is its comment, and above a table the table’s', async () => {
    const [comments] = await store.rows<Record<string, string>>(
      `select obj_description('dirsync.payment_order'::regclass) as "table",
              col_description('dirsync.payment_order'::regclass, 1) as behind,
              col_description('dirsync.payment_order'::regclass, 15) as above`,
    )
    expect(comments).toEqual({
      table:
        "Payment orders (section 2.6) as the platform last showed them. The payer's name and the e-commerce detail are not kept.",
      behind: 'Enterprise; empty for a single enterprise.',
      above:
        'When dirsync last asked for this order alone: its day has left the window, and something was under way, or dirsync has refunded it.',
    })
  })

  test('every function has a comment', async () => {
    const bare = await store.rows(
      `select proname from pg_proc where pronamespace = 'dirsync'::regnamespace and coalesce(obj_description(oid, 'pg_proc'), '') = ''`,
    )
    expect(bare).toEqual([])
  })

  test('the names of the contract are there', async () => {
    const tables = await store.rows<{ relname: string }>(
      `select relname from pg_class where relnamespace = 'dirsync'::regnamespace and relkind in ('r', 'v') order by 1`,
    )
    expect(tables.map(({ relname }) => relname)).toEqual(
      expect.arrayContaining([
        'attempt',
        'command',
        'dead_letter',
        'dead_letter_event',
        'department',
        'employee',
        'failed_syncs',
        'openid_binding',
        'sync_run',
      ]),
    )
    const columns = await store.rows<{ attname: string }>(
      `select attname from pg_attribute where attrelid = 'dirsync.dead_letter'::regclass and attnum > 0 order by attnum`,
    )
    expect(columns.map(({ attname }) => attname).join(', ')).toBe(
      'id, enterprise_code, entity, entity_key, operation, field, category, platform_code, trace_id, message, remedy, ' +
        'changed_fields, blocked_by, source_hash, state, first_failed_at, last_failed_at, occurrences, next_retry_at, ' +
        'snooze_until, first_run_id, last_run_id, resolution, resolved_by, resolved_at, note, version, swap_id, assignee',
    )
  })
})
