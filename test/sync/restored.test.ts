import pg from 'pg'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, inject, onTestFinished, test } from 'vitest'
import { noticeRestore } from '../../src/sync/runs/restored.ts'
import { dirsync } from '../cli/dirsync.ts'
import { type Company, createCompany, type Person, until } from '../helpers/company.ts'
import { createTestDatabase, openPool, type TestDatabase } from '../helpers/postgres.ts'
import { spawnDirsync } from '../helpers/process.ts'
import { breachesAtRest } from '../simulation/at-rest.ts'
import { WAITING_FOR_A_LOCK } from './store-under-test.ts'

/*
 * dirsync's database as it was some time ago, after the platform has moved on: a backup that is restored. What it does not know
 * any more must not be called in sync.
 */

let own: TestDatabase
let company: Company
let service: { stop(): Promise<void> }
const FIELDS = ['name', 'mobile', 'email', 'dept_code', 'entry_day'] as const

beforeAll(async () => {
  own = await createTestDatabase({ migrated: true })
  company = await createCompany({ employees: 60, databases: { own, hr: await createTestDatabase() } })
})
afterAll(() => company[Symbol.asyncDispose]())

const rename = (userid: string, name: string) =>
  company.hr.query('update person set name = $2 where userid = $1', [userid, name])
const statusOf = async (userid: string) =>
  (await own.pool.query('select status from dirsync.employee where userid = $1', [userid])).rows[0]?.status
const quiet = () =>
  until(async () => {
    const { rows } = await own.pool.query(
      `select exists (select from dirsync.pending)
              or exists (select from dirsync.sync_run where finished_at is null) as busy`,
    )
    return rows[0].busy === false
  })

async function atRest(): Promise<string[]> {
  const { rows } = await company.hr.query<Person>('select *, entry_day::text as entry_day from person')
  return breachesAtRest<Person>(own.pool, {
    hr: new Map(rows.map(row => [row.userid, row])),
    platform: (await company.onPlatform()) as unknown as Map<string, Partial<Person>>,
    fields: FIELDS,
    touched: new Set(),
  })
}

/** Runs statements where nothing is connected to dirsync's database. */
async function asAdmin({ name }: TestDatabase, ...statements: string[]): Promise<void> {
  const admin = new pg.Client(inject('postgresUrl'))
  await admin.connect()
  try {
    await admin.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}' and pid <> pg_backend_pid()`,
    )
    for (const statement of statements) await admin.query(statement)
  } finally {
    await admin.end()
  }
}

test('after an older state is restored, whoever may differ is not in sync until the platform was asked', async () => {
  const backup = `${own.name}_backup`
  const first = await company.start()
  expect(await company.run('changes')).toMatchObject({ state: 'done' })
  await first.stop()
  await asAdmin(own, `create database ${backup} template ${own.name} strategy file_copy`)

  const second = await company.start()
  for (const userid of ['e0001', 'e0002']) await rename(userid, 'Renamed')
  expect(await company.run('changes')).toMatchObject({ result: { outcomes: { updated: 2 } } })
  await second.stop()
  // HR goes back to what the backup knows, and on to something new; nobody has sent either.
  await rename('e0001', 'Person 1')
  await rename('e0003', 'Renamed')
  await asAdmin(
    own,
    `drop database ${own.name} with (force)`,
    `alter database ${backup} rename to ${own.name}`,
  )

  // Looked at before anything has started: what a command shows is so.
  const shown = await dirsync(['employee', 'e0001', '--json'], company.settings)
  expect(shown.json()).toMatchObject({ status: 'waiting' })
  const { rows } = await own.pool.query(
    `select count(*)::int as n from dirsync.employee where status = 'in_sync'`,
  )
  expect(rows).toEqual([{ n: 0 }])
  const status = async () => (await dirsync(['status'], company.settings)).stdout
  expect(await status()).toContain('the platform has yet to be asked about 60 employees')

  service = await company.start()
  await quiet()
  await company.run('changes')
  await quiet()
  expect(await status()).not.toContain('yet to be asked')
  const held = await company.onPlatform()
  expect(held.get('e0001')).toMatchObject({ name: 'Person 1' })
  expect(held.get('e0003')).toMatchObject({ name: 'Renamed' })
  expect(await atRest()).toEqual([])
})

test('no department is deleted by what the older state says of where its people are, nor kept by it for ever', async () => {
  const databases = { own: await createTestDatabase({ migrated: true }), hr: await createTestDatabase() }
  const { name, pool } = databases.own
  const settings = { BREAKER_EMPLOYEES: '3' }
  await using other = await createCompany({ employees: 20, databases, settings })
  const departments = async () => {
    const held = await other.control<{ departments: { dept_code: string }[] }>('GET', 'state')
    return held.departments.map(({ dept_code }) => dept_code).sort()
  }
  const hasNone = (which: string) => until(async () => (await pool.query(which)).rowCount === 0)

  const first = await other.start()
  await other.hr.query(`update person set dept_code = 'D0' where dept_code in ('D3', 'D4')`)
  for (const kind of ['changes', 'departments'])
    expect(await other.run(kind)).toMatchObject({ state: 'done', message: null })
  // Of these no plan has anything to be sent: one has left, another is gone, and some are as a person has rejected.
  await other.hr.query(`update person set active = false where userid = 'e0001';
    delete from person where userid = 'e0002'`)
  expect(await other.run('changes')).toMatchObject({ result: { outcomes: { parked: 2 } } })
  await other.hr.query(`update person set name = 'Renamed' where userid between 'e0010' and 'e0013'`)
  const held = await other.run('changes')
  expect(held).toMatchObject({ state: 'held' })
  await pool.query(`select dirsync.reject($1, 'not so')`, [held.id])
  await hasNone('select from dirsync.sync_run where finished_at is null')
  await first.stop()
  await asAdmin(databases.own, `create database ${name}_backup template ${name} strategy file_copy`)

  const second = await other.start()
  await other.hr.query(`update person set dept_code = 'D4' where userid = 'e0005'`)
  expect(await other.run('changes')).toMatchObject({ result: { outcomes: { updated: 1 } } })
  await second.stop()
  // HR moves them back, by a row that cannot be sent.
  await other.hr.query(`update person set dept_code = 'D0', mobile = '1' where userid = 'e0005';
    update department set active = false, closed_at = now() - interval '2 days' where dept_code in ('D3', 'D4')`)
  await asAdmin(
    databases.own,
    `drop database ${name} with (force)`,
    `alter database ${name}_backup rename to ${name}`,
  )

  const planOf = (kind: string) =>
    until(async () => {
      const { rows } = await pool.query(
        `select plan -> 'reasons' as reasons, dirsync.in_language('en', message) as message
         from dirsync.sync_run where kind = $1 and planned_at is not null and id > $2`,
        [kind, held.id],
      )
      return rows[0] ?? null
    })
  await pool.query(`select dirsync.pause('until departments were planned')`)
  await other.start()
  await planOf('full')
  await pool.query(`select dirsync.resync('departments')`)
  const why = expect.stringContaining('It has not told of')
  expect(await planOf('departments')).toMatchObject({ reasons: {}, message: why })
  await pool.query('select dirsync.resume()')
  await hasNone('select from dirsync.pending')
  expect(await other.run('departments')).toMatchObject({
    message: null,
    result: { outcomes: { deleted: 1 } },
  })
  expect(await departments()).toEqual(['D0', 'D1', 'D2', 'D4'])
  expect((await other.onPlatform()).get('e0005')).toMatchObject({ dept_code: 'D4' })
})

test('a restart is no restoration', async () => {
  const calls = await company.calls()
  const again = await company.start()
  await again.stop()
  expect(await statusOf('e0001')).toBe('in_sync')
  expect(await company.run('changes')).toMatchObject({ state: 'done', result: { calls: {} } })
  expect((await company.calls())['employee/get']).toBe(calls['employee/get'])
})

test('a server that may not tell which one it is, or may again, counts as the same', async () => {
  const client = await own.pool.connect()
  onTestFinished(async () => {
    await client.query('rollback')
    client.release()
  })
  await client.query(`begin; create role ${own.name}_owner;
    grant usage on schema dirsync to ${own.name}_owner;
    grant all on all tables in schema dirsync to ${own.name}_owner;
    grant all on all sequences in schema dirsync to ${own.name}_owner;
    grant all on all functions in schema dirsync to ${own.name}_owner`)
  const isNoticed = async (...changes: string[]) => {
    for (const change of changes) await client.query(change)
    await client.query(`set local role ${own.name}_owner`)
    const { rows } = await client.query('select dirsync.notice_restore() as noticed')
    await client.query('reset role')
    return rows[0].noticed
  }
  const silent = 'revoke execute on function pg_control_system() from public'
  const telling = 'grant execute on function pg_control_system() to public'
  const first = 'update dirsync.deployment set incarnation = null'
  const another = `update dirsync.deployment set incarnation = regexp_replace(incarnation, '\\d+$', '1')`
  for (const change of [first, silent, telling]) expect(await isNoticed(change)).toBe(false)
  for (const change of [silent, first, telling]) expect(await isNoticed(change)).toBe(false)
  expect(await isNoticed(silent, another)).toBe(true)
  expect(await isNoticed(telling, `update dirsync.deployment set incarnation = '7' || incarnation`)).toBe(
    true,
  )
})

test('the full run that asks is not taken for a change of everyone', async () => {
  const { rows } = await own.pool.query(
    `select state, requested_by, result -> 'outcomes' as outcomes from dirsync.sync_run
     where requested_by like '%(restore)' order by id`,
  )
  expect(rows).toMatchObject([{ state: 'done' }])
})

test('a sync once and for all waits for that full run, and counts its calls', async () => {
  await service.stop()
  const message = async () => {
    const { rows } = await own.pool.query<{ id: string }>(`
      insert into dirsync.alert_message (channel, kind, content) values ('none', 'summary', '{}') returning id`)
    await own.pool.query('delete from dirsync.alert_message')
    return Number(rows[0]?.id)
  }
  const before = await message()
  await own.pool.query('select dirsync.doubt_memory()')
  // Receivers of alerts know by their numbers what they have had, also what this database no longer knows.
  expect(await message()).toBeGreaterThan(before + 100_000)
  await using once = spawnDirsync(['start', '--once', '--json'], { env: company.settings })
  expect(await once.exited).toEqual({ code: 0, signal: null })
  const { runs, employees, platform_calls } = JSON.parse(once.stdout)
  expect(runs.full).toHaveLength(2)
  expect(employees).toMatchObject({ in_sync: 60 })
  // Its own run asks once more about those whom the other one has dealt with by then.
  expect(platform_calls['employee/get']).toBeGreaterThanOrEqual(60)
  expect((await own.pool.query('select from dirsync.pending')).rowCount).toBe(0)
})

test('when that full run fails, another one asks once HR looks right again', async () => {
  await own.pool.query('select dirsync.doubt_memory()')
  await company.hr.query('alter table person rename to away')
  service = await company.start()
  await quiet()
  await company.hr.query('alter table away rename to person')
  await own.pool.query(
    `update dirsync.sync_run set finished_at = finished_at - interval '1 minute' where state = 'failed'`,
  )
  await company.run('changes')
  const inSync = () =>
    own.pool.query(`select from dirsync.employee where status = 'in_sync'`).then(found => found.rowCount)
  await expect.poll(inSync).toBe(60)
  await service.stop()
})

test('a restoration is said before it is noted, which takes as long as others hold the employees', async () => {
  const query_timeout = 500
  const hurried = openPool({ connectionString: own.url, query_timeout })
  onTestFinished(() => hurried.end())
  const lines: string[] = []
  const logger = pino({}, { write: line => void lines.push(line) })
  await own.pool.query(`update dirsync.deployment set incarnation = '1'`)
  const other = await own.pool.connect()
  onTestFinished(() => other.release(true))
  await other.query('begin; lock table dirsync.employee in exclusive mode')
  const noticing = noticeRestore(hurried, logger)
  await until(async () => (await own.pool.query(WAITING_FOR_A_LOCK)).rowCount !== 0)
  expect(lines).toMatchObject([expect.stringContaining('the database was restored')])
  await other.query(`select pg_sleep(${query_timeout / 1000 + 0.5}); commit`)
  await noticing
  expect(lines[1]).toContain('a full run asks')
  expect(lines[1]).toContain('users and tokens may be older')
  expect(lines[1]).toContain('unless nothing was lost, as in a planned switch to a replica or a move')
})
