import { join } from 'node:path'
import type pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { lockTransaction } from '../../src/lib/advisory-lock.ts'
import { assertNoPooler, createPool, transaction } from '../../src/lib/database.ts'
import { migrate } from '../../src/lib/migrate.ts'
import { SessionLocks } from '../../src/lib/session-locks.ts'
import { startEmbeddedPostgres } from '../../src/trial/postgres.ts'
import { blocksOf } from '../docs/pages.ts'
import { createTestDatabase, type TestDatabase } from '../helpers/postgres.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { caseOf, fail, plantRun } from '../sync/planted.ts'
import { SILENT, StoreUnderTest } from '../sync/store-under-test.ts'

const store = new StoreUnderTest()

/** Makes a login role that goes with the test, and connects as it. Roles belong to the whole server, hence the name. */
async function connectAs(
  database: Pick<TestDatabase, 'url'>,
  admin: pg.Pool,
  options: { owns?: string; member?: string } = {},
): Promise<{ name: string; pool: pg.Pool }> {
  const name = `test_${crypto.randomUUID().replaceAll('-', '')}`
  await admin.query(`create role ${name} login password 'secret'`)
  if (options.member) await admin.query(`grant ${options.member} to ${name}`)
  if (options.owns) await admin.query(`alter database ${options.owns} owner to ${name}`)
  const pool = poolOf(urlAs(database.url, name))
  onTestFinished(async () => {
    if (!pool.ended) await pool.end()
    // A session that ends takes its temporary objects with it, moments later.
    const sessions = () => admin.query('select from pg_stat_activity where usename = $1', [name])
    while ((await sessions()).rowCount !== 0);
    await admin.query(`reassign owned by ${name} to current_user; drop owned by ${name}`)
    await admin.query(`drop role ${name}`)
  })
  return { name, pool }
}

function poolOf(connectionString: string): pg.Pool {
  // The server may end a connection that the pool is about to end: it is logged.
  return createPool(connectionString, { max: 2, name: 'test', logger: SILENT })
}

function urlAs(address: string, user: string): string {
  const url = new URL(address)
  url.username = user
  url.password = 'secret'
  return url.href
}

async function reviewer(): Promise<pg.Pool> {
  return (await connectAs(store, store.pool, { member: 'dirsync_reviewer' })).pool
}

describe('a reviewer', () => {
  test('reads failed_syncs', async () => {
    const id = await fail(store)
    const { rows } = await (await reviewer()).query('select id, category from dirsync.failed_syncs')
    expect(rows).toEqual([{ id, category: 'duplicate_mobile' }])
  })

  test('calls the functions for people, and is named as the one who did', async () => {
    const [one, other] = [await fail(store), await fail(store, { entity_key: 'e2' })]
    const [good, bad] = [await plantRun(store, { state: 'held' }), await plantRun(store, { state: 'held' })]
    const going = await plantRun(store)
    const { name, pool } = await connectAs(store, store.pool, { member: 'dirsync_reviewer' })
    for (const text of [
      `resync('full')`,
      `retry(${one})`,
      `retry_category('duplicate_mobile')`,
      `ignore(${one}, 'shared')`,
      `snooze(${other}, now() + interval '1 day')`,
      `assign(${other}, 'mei')`,
      `comment(${other}, 'called')`,
      `approve(${good})`,
      `reject(${bad}, 'why')`,
      `cancel(${going})`,
      `pause('why')`,
      'resume()',
    ])
      await pool.query(`select dirsync.${text}`)
    expect(await caseOf(store, one)).toMatchObject({ state: 'ignored' })
    const asked = await store.rows('select name, requested_by from dirsync.command order by id')
    expect(asked).toEqual(
      [
        'resync',
        'retry',
        'retry_category',
        'ignore',
        'snooze',
        'assign',
        'comment',
        'approve',
        'reject',
        'cancel',
        'pause',
        'resume',
      ].map(command => ({
        name: command,
        requested_by: name,
      })),
    )
  })

  test('signs with no other name and no other address than its own', async () => {
    const id = await fail(store)
    const { name, pool } = await connectAs(store, store.pool, { member: 'dirsync_reviewer' })
    await transaction(pool, async client => {
      await client.query(`set local dirsync.actor = 'console:anna'; set local dirsync.address = '10.0.0.1'`)
      await client.query(`select dirsync.ignore($1, 'shared'), dirsync.pause('why')`, [id])
    })
    const own = { requested_by: name, address: expect.not.stringContaining('10.0.0.1') }
    expect(await store.rows('select requested_by, address from dirsync.command')).toEqual([own, own])
    expect(
      await store.rows(`select actor from dirsync.dead_letter_event where event = 'ignored'
                        union select raised_by from dirsync.halt`),
    ).toEqual([{ actor: name }])
  })

  test('does nothing else but reading what was refunded and topped up: no table, no other function, no sequence', async () => {
    const rights = await store.rows<{ right: string }>(
      `select c.relname || ' ' || p.name as right
       from pg_class c, (values ('select'), ('insert'), ('update'), ('delete'), ('truncate'), ('references'), ('trigger')) p (name)
       where c.relnamespace = 'dirsync'::regnamespace and c.relkind in ('r', 'v')
         and has_table_privilege('dirsync_reviewer', c.oid, p.name)
       union all
       select c.relname || '.' || a.attname from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
       where c.relnamespace = 'dirsync'::regnamespace and c.relkind = 'r' and has_column_privilege('dirsync_reviewer', c.oid, a.attnum, 'select')
         and not has_table_privilege('dirsync_reviewer', c.oid, 'select')
       union all
       select c.relname from pg_class c
       where c.relnamespace = 'dirsync'::regnamespace and case when c.relkind = 'S' then has_sequence_privilege('dirsync_reviewer', c.oid, 'usage') end
       union all
       select proname || '()' from pg_proc
       where pronamespace = 'dirsync'::regnamespace and has_function_privilege('dirsync_reviewer', oid, 'execute')
       union all
       select 'create in ' || nspname from pg_namespace
       where nspname in ('dirsync', 'public') and has_schema_privilege('dirsync_reviewer', oid, 'create')
       order by 1`,
    )
    expect(rights.map(({ right }) => right)).toEqual([
      'approve()',
      'approve_part()',
      'assign()',
      'cancel()',
      'comment()',
      'failed_syncs select',
      'failed_syncs_zh select',
      'ignore()',
      'in_language()',
      'limit_account select',
      'limit_sub_account select',
      'lower_rate()',
      'name_of()',
      'pause()',
      'payment_order select',
      'probe_now()',
      'refund select',
      'refused_notification select',
      'reject()',
      'reject_part()',
      'restore_rate()',
      'resume()',
      'resync()',
      'retry()',
      'retry_category()',
      'snooze()',
      'taxpayer select',
      'topup select',
      'undo()',
      'wake()',
    ])
  })

  test.each([
    'select * from dirsync.dead_letter',
    'select * from dirsync.sync_run',
    'select * from dirsync.employee',
    `select dirsync.record_failure('{}')`,
    `select dirsync.request_run('full', '{}', 'x', '{}')`,
    'select dirsync.decide(1, true, null)',
    'select dirsync.run_result(1)',
    'select dirsync.actor()',
    `select dirsync.set_ignored(1, 'why')`,
    'select dirsync.bulk_step(1, 1)',
    'select * from dirsync.command',
    `select nextval('dirsync.execution')`,
    'create table dirsync.mine ()',
    'create schema mine',
  ])('is refused %s', async text => {
    await expect((await reviewer()).query(text)).rejects.toMatchObject({ code: '42501' })
  })

  test('cannot change what failed_syncs shows', async () => {
    const changed = (await reviewer()).query(`update dirsync.failed_syncs set state = 'resolved'`)
    await expect(changed).rejects.toThrow('cannot update view')
  })

  test('cannot slip objects of their own under the functions', async () => {
    const id = await fail(store)
    const pool = await reviewer()
    const client = await pool.connect()
    try {
      // Temporary objects are found first, unless a function says otherwise.
      await client.query(`
        create temp table dead_letter (like pg_class); create temp table sync_run (id bigint, kind text);
        create function pg_temp.now() returns timestamptz language sql as $$ select 'infinity'::timestamptz $$;
        create function pg_temp.btrim(text) returns text language plpgsql as $$ begin raise exception 'hijacked'; end $$;
        create function pg_temp.pg_notify(text, text) returns void language plpgsql as $$ begin raise exception 'hijacked'; end $$;
        create function pg_temp.array_agg(text) returns text[] language plpgsql as $$ begin raise exception 'hijacked'; end $$;
        create function pg_temp.equal(bigint, bigint) returns boolean language plpgsql as $$ begin raise exception 'hijacked'; end $$;
        create operator pg_temp.= (leftarg = bigint, rightarg = bigint, function = pg_temp.equal);
        set search_path = pg_temp, dirsync, pg_catalog`)
      const held = await plantRun(store, { state: 'held' })
      await client.query(`select dirsync.resync('employees', ' e1 ')`)
      await client.query(`select dirsync.snooze($1, pg_catalog.now() + interval '1 day', ' r ')`, [id])
      await client.query(`select dirsync.retry_category('duplicate_mobile')`)
      await client.query('select dirsync.retry($1)', [id])
      await client.query('select dirsync.approve($1)', [held])
      await client.query(`select dirsync.ignore($1, ' r ')`, [id])
      await client.query(`select dirsync.assign($1, ' mei ')`, [id])
      await client.query(`select dirsync.comment($1, ' r ')`, [id])
    } finally {
      client.release(true)
    }
    expect(await caseOf(store, id)).toMatchObject({ state: 'ignored', note: 'r' })
  })

  test('who may create functions in public, as on many servers, has none of them run as dirsync', async () => {
    const { name, pool } = await connectAs(store, store.pool, { member: 'dirsync_reviewer' })
    // PostgreSQL 13 and 14 grant it to everyone, and a server that was upgraded from them keeps that.
    await store.pool.query(`grant create on schema public to ${name}`)
    // Each fits a call of dirsync's better than PostgreSQL's own.
    await pool.query(`
      create table public.run_as (name name);
      grant insert on public.run_as to public;
      create function public.hashtextextended(text, integer) returns bigint language sql as
        $$ insert into public.run_as values (current_user); select 1::bigint $$;
      create function public.pg_try_advisory_lock(text) returns boolean language sql as
        $$ insert into public.run_as values (current_user); select true $$`)
    const own = poolOf(store.url)
    const locks = new SessionLocks(store.url, SILENT)
    onTestFinished(() => locks.close())
    onTestFinished(() => own.end())
    await transaction(own, client => lockTransaction(client, { key: 'employee e1' }))
    await locks.lock('employee e1')
    await assertNoPooler(store.url)
    expect((await pool.query('select name from public.run_as')).rows).toEqual([])
  })

  test('is served by functions that all fix their search_path, and by none that PUBLIC may call', async () => {
    const definers = await store.rows<{ proname: string; proconfig: string[] | null }>(
      `select proname, proconfig from pg_proc where pronamespace = 'dirsync'::regnamespace and prosecdef order by 1`,
    )
    expect(definers.map(({ proname }) => proname)).toEqual([
      'acknowledge_alert',
      'approve',
      'approve_part',
      'assign',
      'cancel',
      'clear_quiet_hours',
      'comment',
      'ignore',
      'in_language',
      'lower_rate',
      'mute_alert',
      'name_of',
      'pause',
      'pause_schedule',
      'probe_now',
      'reject',
      'reject_part',
      'restore_rate',
      'resume',
      'resume_schedule',
      'resync',
      'retry',
      'retry_category',
      'run_schedule',
      'set_quiet_hours',
      'snooze',
      'undo',
      'unmute_alert',
      'wake',
    ])
    for (const { proconfig } of definers) expect(proconfig).toContain('search_path=pg_catalog, pg_temp')
    const open = await store.rows(
      `select proname from pg_proc where pronamespace = 'dirsync'::regnamespace and has_function_privilege('public', oid, 'execute')`,
    )
    expect(open).toEqual([])
  })
})

describe('two deployments on one server', () => {
  test('share the role, and docs/reviewing.md keeps their reviewers apart', async () => {
    const deployment = async () => {
      const database = await createTestDatabase()
      onTestFinished(() => database.close())
      const owner = await connectAs(database, store.pool, { owns: database.name })
      await migrate(owner.pool)
      const reviewer = await connectAs(database, store.pool, { member: 'dirsync_reviewer' })
      return { database, owner, reviewer }
    }
    const all = [await deployment(), await deployment()] as const
    const read = async ({ name }: { name: string }, { url }: TestDatabase) => {
      await using opened = new AsyncDisposableStack()
      const pool = opened.adopt(poolOf(urlAs(url, name)), pool => pool.end())
      return (await pool.query('select * from dirsync.failed_syncs')).rows
    }
    expect(await read(all[0].reviewer, all[1].database)).toEqual([])

    const written = blocksOf('docs/reviewing.md').flatMap(
      ({ text }) => text.match(/^.* connect on database .*;$/gm) ?? [],
    )
    expect(written).toHaveLength(2)
    for (const { database, owner, reviewer } of all)
      for (const text of written)
        await owner.pool.query(
          text.replace('database dirsync', `database ${database.name}`).replace('reviewer_li', reviewer.name),
        )
    for (const [own, other] of [all, all.toReversed()] as [(typeof all)[0], (typeof all)[0]][]) {
      expect(await read(own.reviewer, own.database)).toEqual([])
      await expect(read(own.reviewer, other.database)).rejects.toThrow('permission denied for database')
    }
    for (const { database, owner } of all) {
      await owner.pool.end()
      await database.close()
    }
  })
})

describe('where the database user may not create roles', () => {
  test('migrate returns the statements, which a superuser runs', async () => {
    // A server of its own: roles belong to the whole server, and the run's has this one.
    const server = await startEmbeddedPostgres({
      dataDir: join(await temporaryFolder(), 'data'),
    })
    const admin = poolOf(server.url('postgres'))
    try {
      await admin.query(
        `create role plain login password 'secret'; create role reader login password 'secret'`,
      )
      await admin.query('create database theirs owner plain')
      const as = (user: string) => poolOf(urlAs(server.url('theirs'), user))
      const plain = as('plain')
      const { applied, reviewerStatements } = await migrate(plain)
      expect(applied[0]).toBe('0001_record.sql')
      expect(reviewerStatements[0]).toBe('create role dirsync_reviewer nologin')
      expect((await migrate(plain)).reviewerStatements).toEqual(reviewerStatements)

      const superuser = poolOf(server.url('theirs'))
      await superuser.query(reviewerStatements.join(';\n'))
      await superuser.query('grant dirsync_reviewer to reader')
      await superuser.end()
      const reader = as('reader')
      expect((await reader.query('select * from dirsync.failed_syncs')).rows).toEqual([])
      expect((await reader.query('select dirsync.resync() as run')).rows).toEqual([{ run: 1 }])
      await expect(reader.query('select * from dirsync.dead_letter')).rejects.toMatchObject({ code: '42501' })
      expect(await migrate(plain)).toEqual({ applied: [], reviewerStatements: [] })
      await Promise.all([reader.end(), plain.end()])
    } finally {
      await admin.end()
      await server.stop()
    }
  })

  test('the owner of the schema grants the rights to the role that is there', async () => {
    const database = await createTestDatabase()
    onTestFinished(() => database.close())
    const owner = await connectAs(database, store.pool, { owns: database.name })
    expect((await migrate(owner.pool)).reviewerStatements).toEqual([])
    const { rows } = await database.pool.query(
      `select has_table_privilege('dirsync_reviewer', 'dirsync.failed_syncs', 'select') as reads`,
    )
    expect(rows).toEqual([{ reads: true }])
    await owner.pool.end()
    await database.close()
  })

  test('a schema that another user created for it is enough', async () => {
    const database = await createTestDatabase()
    onTestFinished(() => database.close())
    const user = await connectAs(database, store.pool)
    await database.pool.query(`create schema dirsync authorization ${user.name}`)
    const { applied } = await migrate(user.pool)
    expect(applied[0]).toBe('0001_record.sql')
    await user.pool.end()
    await database.close()
  })
})
