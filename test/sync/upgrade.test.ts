import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import type pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { rowHash } from '../../src/directory/hash.ts'
import { migrate, missingMigrations } from '../../src/lib/migrate.ts'
import { message } from '../../src/texts/message.ts'
import { storeTexts } from '../../src/texts/store.ts'
import { type Company, createCompany, endOf, until } from '../helpers/company.ts'
import { createTestDatabase, type TestDatabase } from '../helpers/postgres.ts'
import { inThePast, loadDump, schemaOf } from './released/database.ts'
import { emptyTables, fill } from './released/fill.ts'
import { hashes, MIGRATIONS, RELEASED, released } from './released/releases.ts'

/** Versions whose schema is kept as a dump, which each later version must upgrade. */
const VERSIONS = Object.keys(released())
/** The next release's dump will be made of this. */
const PRESENT = 'this version'
/** Rows by table; `text` is written anew by every start. */
async function rowCounts(db: pg.Pool): Promise<Record<string, number>> {
  const { rows } = await db.query<{ name: string }>(
    `select relname as name from pg_class
     where relnamespace = 'dirsync'::regnamespace and relkind = 'r' and relname not in ('migration', 'text')`,
  )
  const counts: Record<string, number> = {}
  for (const { name } of rows)
    counts[name] = Number((await db.query(`select count(*) as n from dirsync.${name}`)).rows[0].n)
  return counts
}

test('every release from 1.0.0 on has a dump and the hashes of its migrations', () => {
  const changelog = readFileSync(new URL('../../CHANGELOG.md', import.meta.url), 'utf8')
  const releases = [...changelog.matchAll(/^## ([1-9]\d*\.\d+\.\d+)$/gm)].map(([, version]) => version)
  expect(VERSIONS.toSorted()).toEqual(releases.toSorted())
  const dumps = readdirSync(RELEASED).filter(file => /^\d.*\.sql$/.test(file))
  expect(dumps.sort()).toEqual(VERSIONS.map(version => `${version}.sql`).sort())
})

test('no released migration has changed: a change is a new file with the next number', () => {
  const now = hashes()
  for (const [version, then] of Object.entries(released()))
    expect(now, `the migrations of ${version}`).toMatchObject(then)
})

/**
 * A database that goes on with the present version. Besides rows of every table it holds what dirsync wrote on its own for this
 * company of 12: e0001 in a department that the platform lacks, whose case is being retried; the like case of e0002 ignored;
 * e0003 with a new mobile number, the answer to which was lost; e0100 not on the platform yet; a held run that renames five and
 * adds e0101; a full run that waits; a mirror that is being read; a bulk action that was requested; a refund of unknown outcome;
 * and alerts of the held run and of a halt that is over.
 */
describe.each([...VERSIONS, PRESENT])('a database of %s', version => {
  let own: TestDatabase
  let company: Company
  const db = async <T = Record<string, unknown>>(sql: string, values: unknown[] = []) =>
    (await company.db.query(sql, values)).rows as T[]

  beforeAll(async () => {
    own = await createTestDatabase()
    company = await createCompany({
      employees: 12,
      databases: { own, hr: await createTestDatabase() },
      settings: { BREAKER_EMPLOYEES: '3', SELLER_APPIDS: 'mall0001' },
    })
    if (version === PRESENT) await fill(own.pool, inThePast)
    else await loadDump(own.pool, version)
    // The company's platform has an address of its own.
    await own.pool.query('update dirsync.deployment set base_url = $1, app_id = $2', [
      company.settings.PLATFORM_BASE_URL,
      company.settings.PLATFORM_APP_ID,
    ])
    await company.hr.query(`
      insert into person
      select u, 'Person ' || i, '19900000' || i, 'e' || i || '@example.com', 'D1', date '2020-01-01', null, null, true
      from (values ('e0100', 100), ('e0101', 101)) p (u, i);
      update person set dept_code = 'NOWHERE' where userid in ('e0001', 'e0002');
      update person set dept_code = 'D0' where dept_code = 'D4';
      update person set mobile = '19955550003' where userid = 'e0003';
      update person set name = 'Renamed' where userid between 'e0006' and 'e0010'`)
    // What the platform has accepted so far.
    const { employees } = await company.control<{ employees: Record<string, unknown>[] }>('GET', 'state')
    await company.control(
      'POST',
      'employees',
      employees.map(held => ({
        ...held,
        ...(held.dept_code === 'D4' && { dept_code: 'D0' }),
        ...(held.userid === 'e0003' && { mobile: '19955550003' }),
      })),
    )
  })
  afterAll(() => company[Symbol.asyncDispose]())

  const statuses = async () =>
    Object.fromEntries(
      (
        await db<{ status: string; users: string }>(
          `select status, string_agg(userid, ' ' order by userid) as users from dirsync.employee group by 1`,
        )
      ).map(({ status, users }) => [status, users]),
    )
  const caseOf = async (userid: string) =>
    (
      await db(`select state, occurrences, category from dirsync.dead_letter where entity_key = $1`, [userid])
    )[0]

  test('has rows in every table, is upgraded, keeps them, and has the schema of a new one', async () => {
    expect(await emptyTables(own.pool)).toEqual([])
    const before = await rowCounts(own.pool)
    const then = released()[version] ?? hashes()
    const later = readdirSync(MIGRATIONS)
      .filter(file => !(file in then))
      .sort()
    expect(await missingMigrations(own.pool)).toEqual(later)
    expect(await migrate(own.pool)).toEqual({ applied: later, reviewerStatements: [] })
    await storeTexts(own.pool)
    expect(await rowCounts(own.pool)).toMatchObject(before)

    // The scheduler of before, which is still there, reads what has to be read.
    await db(`update dirsync.plan_reading set state = 'done', looked_at = 6, after_key = 'e0101', finished_at = now()
      where run_id = 7 and state = 'running'`)

    await using fresh = await createTestDatabase({ migrated: true })
    expect(await schemaOf(own.pool)).toEqual(await schemaOf(fresh.pool))
  })

  test('has everyone in the status that they had', async () => {
    expect(await statuses()).toEqual({
      in_sync: 'e0000 e0004 e0005 e0011',
      dead_lettered: 'e0001',
      accepted: 'e0002',
      waiting: 'e0003',
      held: 'e0006 e0007 e0008 e0009 e0010 e0101',
      awaiting_activation: 'e0100',
    })
    const { rows } = await own.pool.query(
      `with told as (
         select source, case source when 'dead_letter' then operation || ' ' || enterprise_code || ' ' || state
                                    else coalesce(state, operation) end, sum(n)::int as n
         from dirsync.tally where source in ('employee', 'pending', 'dead_letter') group by 1, 2 having sum(n) <> 0
       ), counted as (
         select 'employee', status, count(*)::int from dirsync.employee group by 2
         union all select 'pending', operation, count(*)::int from dirsync.pending group by 2
         union all select 'dead_letter', operation || ' ' || enterprise_code || ' ' || state, count(*)::int
                   from dirsync.dead_letter where state <> 'resolved' group by 2
       )
       (table told except table counted) union all (table counted except table told)`,
    )
    expect(rows).toEqual([])
  })

  test('takes no one for gone whose decision a worker of an older version has ended', async () => {
    const client = await own.pool.connect()
    try {
      await client.query('begin')
      await client.query(
        `update dirsync.employee set held_run = 1, held_hash = null, held_gone = true, rejected = true where userid = 'e0000'`,
      )
      const { rows } = await client.query(
        `update dirsync.employee set held_run = null, held_hash = null, rejected = false where userid = 'e0000'
         returning status`,
      )
      expect(rows).toEqual([{ status: 'in_sync' }])
    } finally {
      await client.query('rollback')
      client.release()
    }
  })

  test.each(['failed_syncs', 'failed_syncs_zh'])('lists in %s what waits for a decision', async view => {
    const rows = await db(
      `select entity_key, state, message, remedy from dirsync.${view} order by entity_key`,
    )
    expect(rows.map(({ entity_key, state }) => `${entity_key} ${state}`)).toEqual([
      'R-2 open',
      'e0001 retrying',
      'e0100 awaiting_activation',
    ])
    for (const { message, remedy } of rows) expect(message && remedy).toMatch(/\S/)
  })

  test('goes on with its work, and asks where the answer was lost', async () => {
    await company.start()
    await until(async () => (await db('select from dirsync.pending')).length === 0)
    for (const id of [6, 8, 10]) expect(await endOf(company.db, id)).toMatchObject({ state: 'done' })
    expect(
      await db(
        `select outcome, calls from dirsync.attempt where entity_key = 'e0003' and run_id = 6 order by id`,
      ),
    ).toEqual([
      { outcome: 'retry', calls: { 'employee/get': 1, 'employee/update': 1 } },
      { outcome: 'in_sync', calls: { 'employee/get': 1 } },
    ])
    expect(await caseOf('e0001')).toMatchObject({ state: 'open', occurrences: 2 })
    expect(await caseOf('e0002')).toMatchObject({ state: 'ignored', occurrences: 1 })
  })

  test('carries out the bulk action that was asked for', async () => {
    const action = async () => (await db('select state, done, skipped, failed from dirsync.bulk_action'))[0]
    await until(async () => (await action())?.state === 'done')
    expect(await action()).toEqual({ state: 'done', done: 1, skipped: 0, failed: 0 })
    expect(await db(`select actor, note from dirsync.dead_letter_event where event = 'commented'`)).toEqual([
      { actor: expect.stringContaining('console:sample'), note: 'asked the office' },
    ])
  })

  test('finds the full run that waited to be like the held one, which goes on being held', async () => {
    expect(await endOf(company.db, 9)).toMatchObject({ state: 'superseded' })
    expect(await endOf(company.db, 7)).toMatchObject({ state: 'held' })
  })

  test('has read HR for the held plan, so that who moves and what is odd is known', async () => {
    const reading = async () =>
      (await db('select state, looked_at, moves, departments from dirsync.plan_reading where run_id = 7'))[0]
    await until(async () => {
      const { state, moves } = (await reading()) ?? {}
      return state === 'done' && moves !== null
    })
    const counted = [
      { enterprise_code: '', department: 'D0', n: 2 },
      { enterprise_code: '', department: 'D1', n: 2 },
      { enterprise_code: '', department: 'D2', n: 1 },
      { enterprise_code: '', department: 'D3', n: 1 },
    ]
    expect(await reading()).toEqual({ state: 'done', looked_at: 6, moves: [], departments: counted })
  })

  test('keeps its alerts and mutes', async () => {
    const alerts = () =>
      db(
        `select id::int, rule, state, gone_at is not null as "isGone" from dirsync.alert where id < 100 order by id`,
      )
    await until(async () => (await alerts()).some(({ isGone }) => isGone))
    expect(await alerts()).toEqual([
      { id: 1, rule: 'held_run', state: 'firing', isGone: false },
      { id: 2, rule: 'halt', state: 'firing', isGone: true },
    ])
    expect(await db('select rule, subject from dirsync.alert_mute')).toEqual([
      { rule: 'out_of_sync', subject: null },
    ])
  })

  test('carries out the plan that was held before, and has nothing more to send', async () => {
    await company.db.query('select dirsync.approve(7)')
    expect(await endOf(company.db, 7)).toMatchObject({
      state: 'done',
      result: { outcomes: { updated: 5, awaiting_activation: 1 } },
    })
    expect(await company.run('changes')).toMatchObject({ state: 'done', result: { calls: {} } })
    expect(await statuses()).toEqual({
      in_sync: 'e0000 e0003 e0004 e0005 e0006 e0007 e0008 e0009 e0010 e0011',
      dead_lettered: 'e0001',
      accepted: 'e0002',
      awaiting_activation: 'e0100 e0101',
    })
  })
})

describe.each(VERSIONS)('a database of %s', version => {
  let old: TestDatabase

  beforeEach(async () => {
    old = await createTestDatabase()
    await loadDump(old.pool, version)
  })
  afterEach(() => old.close())

  test('is upgraded whatever user id and trace id an open case has', async () => {
    const text = (length: number) => randomBytes(length).toString('base64').slice(0, length)
    const [key, trace] = [text(1999), text(8000)]
    await old.pool.query(`update dirsync.dead_letter set entity_key = $1, trace_id = $2 where id = 1`, [
      key,
      trace,
    ])
    await migrate(old.pool)
    const { rows } = await old.pool.query('select entity_key, trace_id from dirsync.dead_letter where id = 1')
    expect(rows).toEqual([{ entity_key: key, trace_id: trace }])
  })

  test('shows no note of a decision that is no longer in force', async () => {
    await old.pool.query(`update dirsync.dead_letter set note = 'agreed'`)
    await migrate(old.pool)
    const { rows } = await old.pool.query(
      `select distinct state in ('snoozed', 'ignored', 'resolved') as was, note from dirsync.dead_letter order by was`,
    )
    expect(rows).toEqual([
      { was: false, note: null },
      { was: true, note: 'agreed' },
    ])
  })

  test('does not take those who had left HR before for held or rejected with a later run', async () => {
    await old.pool.query(
      `update dirsync.employee
       set vanished_at = now(), active = false, source_hash = null, acknowledged_hash = null, held_run = 7, held_hash = null,
           rejected = userid = 'e0004'
       where userid in ('e0000', 'e0004')`,
    )
    await migrate(old.pool)
    const { rows } = await old.pool.query(
      `select userid, status, held_run, rejected from dirsync.employee where vanished_at is not null order by 1`,
    )
    const vanished = { status: 'vanished', held_run: null, rejected: false }
    expect(rows).toEqual([
      { userid: 'e0000', ...vanished },
      { userid: 'e0004', ...vanished },
    ])
  })

  test('takes no one who has left for leaving now, nor whose leaving waits for a decision for leaving otherwise', async () => {
    await old.pool.query(`
      update dirsync.employee set active = false where userid in ('e0000', 'e0004');
      update dirsync.employee set source_hash = gen_random_uuid() where userid = 'e0004';
      update dirsync.planned_work set active = false where entity_key = 'e0006'`)
    await migrate(old.pool)
    const left = rowHash(['name'], { active: 'f', name: null })
    const { rows } = await old.pool.query(
      `select userid, status, source_hash = $1 as is_left, acknowledged_hash = $1 as is_known, held_hash = $1 as leaves
       from dirsync.employee where userid in ('e0000', 'e0004', 'e0005', 'e0006') order by 1`,
      [left],
    )
    expect(rows).toEqual([
      { userid: 'e0000', status: 'left', is_left: true, is_known: true, leaves: null },
      { userid: 'e0004', status: 'left', is_left: true, is_known: false, leaves: null },
      { userid: 'e0005', status: 'in_sync', is_left: false, is_known: false, leaves: null },
      { userid: 'e0006', status: 'held', is_left: false, is_known: false, leaves: true },
    ])
    const planned = await old.pool.query(
      `select entity_key from dirsync.planned_work where source_hash = $1`,
      [left],
    )
    expect(planned.rows).toEqual([{ entity_key: 'e0006' }])
  })

  // What a person decides, and what processes call and write: a migration that fails leaves them to go on with those before it.
  const USES = [
    ...['approve(7)', `reject(7, 'no')`, `decide(7, true, null)`, `decide(7, false, 'no')`, 'cancel(6)'],
    ...['cancel(8)', 'cancel(9)', 'cancel(10)', 'take_back(6)', 'end_lost_retries()', 'run_result(6)'],
    ...['retry(1)', 'retry(3)', `retry_category('missing_department')`, `ignore(1, 'no')`, `ignore(3, 'no')`],
    ...[`snooze(1, now() + interval '1 day')`, `assign(1, 'anna')`, `comment(1, 'asked')`],
    ...[`pause('maintenance')`, 'resume()', `lower_rate(1, now() + interval '1 hour', 'busy')`],
    ...['restore_rate()', `probe_now('E911')`, 'resync()', `resync('full')`, `resync('employees', 'e0001')`],
    ...[`acknowledge_alert(1)`, `mute_alert('held_run', now() + interval '1 hour', 'no')`],
    ...[`unmute_alert('out_of_sync')`, `set_quiet_hours('22:00', '07:00', 'UTC')`, 'is_quiet(now())'],
    ...[`pause_schedule('prune', 'no')`, `run_schedule('prune')`, `pause_effect('prune')`],
    ...[`resume_schedule('prune')`, 'clear_quiet_hours()', 'hr_owners()', `sources_for('changes')`],
    ...[`bulk_begin('retry', '{"category": "missing_department"}', '{}', 'anna')`, 'bulk_step(10, 10)'],
    ...['bulk_stop(1)', `bulk_start(1, 'anna')`, 'fold_tally()', 'note_statuses()', 'cancel_dry_run(1)'],
    ...[`admit_sign_in('a', '10.0.0.1', 'anna')`, `forgive_sign_in('a', 'anna', true)`],
    `request_run('changes', '{}', 'resync', '{}')`,
    `lease_slots('platform', 'a', 1, 10, null, 0)`,
    `record_failure('{"enterprise_code": "", "entity": "employee", "entity_key": "e0004", "operation": "update-employee",
       "field": "mobile", "category": "duplicate_mobile", "message": {"key": "said.words"}, "remedy": {"key": "said.words"},
       "state": "open"}')`,
  ]
  const WRITES = [
    'update dirsync.employee set acknowledged_hash = source_hash, source_hash = gen_random_uuid()',
    'update dirsync.dead_letter set state = state, occurrences = occurrences + 1',
    `update dirsync.sync_run set state = 'done', finished_at = now() where id = 6`,
    `update dirsync.sync_run set state = 'superseded', finished_at = now() where id = 7`,
    'delete from dirsync.pending',
    'delete from dirsync.dead_letter_event',
    'table dirsync.failed_syncs',
    'table dirsync.failed_syncs_zh',
  ]

  test('serves the processes of that version between any two migrations', async () => {
    const failed: string[] = []
    const client = await old.pool.connect()
    try {
      const used = async (after: string) => {
        for (const statement of [...USES.map(call => `select * from dirsync.${call}`), ...WRITES]) {
          await client.query('begin')
          await client
            .query(statement)
            .catch(({ code, message }) => failed.push(`${after}: ${statement}: ${code} ${message}`))
          await client.query('rollback')
        }
      }
      await client.query(`
        update dirsync.bulk_action set state = 'preview';
        update dirsync.dry_run set state = 'requested', finished_at = null`)
      await used(version)
      for (const file of await missingMigrations(old.pool)) {
        await client.query(readFileSync(new URL(file, MIGRATIONS), 'utf8'))
        await used(file)
      }
    } finally {
      client.release()
    }
    expect(failed).toEqual([])
  })

  test('still carries out a held leaving whose earlier work was taken back', async () => {
    await old.pool.query(`
      update dirsync.employee set active = false, source_hash = '00000000-0000-0000-0000-000000000000' where userid = 'e0006';
      update dirsync.planned_work set active = false, previous_hash = '00000000-0000-0000-0000-000000000000'
      where entity_key = 'e0006'`)
    await migrate(old.pool)
    const { rows } = await old.pool.query(
      `select w.source_hash = $1 as leaves, w.previous_hash = e.source_hash as counts
       from dirsync.planned_work w join dirsync.employee e on e.userid = w.entity_key where w.entity_key = 'e0006'`,
      [rowHash(['name'], { active: 'f', name: null })],
    )
    expect(rows).toEqual([{ leaves: true, counts: true }])
  })

  test.each([
    'https://u:hush@p.example/api',
    'https://p.example/api?key=hush',
    'https://u@p.example/api/?a=b/c',
  ])('goes on with the account at %s, without what is refused in its address now', async address => {
    await old.pool.query('update dirsync.deployment set base_url = $1', [address])
    await migrate(old.pool)
    const { rows } = await old.pool.query('select base_url from dirsync.deployment')
    expect(rows).toEqual([{ base_url: 'https://p.example/api' }])
  })

  test('names the views of others that use what it replaces, and how to drop them', async () => {
    await old.pool.query(`
      create schema "Audit";
      create view public.stuck as select userid from dirsync.employee where status <> 'in_sync';
      create materialized view "Audit".stuck as select count(*) from public.stuck;
      create view public.cases as select id from dirsync.dead_letter`)
    const refusal = await migrate(old.pool).catch((error: unknown) => error)
    const command = 'drop materialized view "Audit".stuck; drop view public.stuck'
    expect(refusal).toMatchObject({
      message: expect.stringContaining(`migration 0017_parts_of_plans.sql was rolled back, as views`),
      said: message('said.migration_views', { name: '0017_parts_of_plans.sql', command }),
    })
    await old.pool.query(command)
    await migrate(old.pool)
    expect((await old.pool.query('select from public.cases')).rowCount).toBe(3)
  })
})
