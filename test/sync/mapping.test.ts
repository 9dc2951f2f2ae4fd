import { rm, writeFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { requestDueRetries } from '../../src/sync/cases/retries.ts'
import { type Company, createCompany, endOf, startSilently, until } from '../helpers/company.ts'
import { createTestDatabase } from '../helpers/postgres.ts'
import { worded } from '../texts/worded.ts'

const EMPLOYEES = 20

let company: Company
let scheduler: { stop(): Promise<void> }
let worker: { stop(): Promise<void> }

/** Planner and workers are apart, as the processes of a deployment are: each has read the mapping for itself. */
beforeAll(async () => {
  company = await createCompany({ employees: EMPLOYEES })
  await company.hr.query(`
    alter table person add column remark text, add column birth_day date;
    create view mapped as select userid, name, mobile, email, dept_code, entry_day, active from person`)
  await map('select * from mapped')
  scheduler = await company.start(['scheduler'])
  worker = await company.start(['worker'])
  await company.run('full')
})
afterAll(() => company[Symbol.asyncDispose]())

const map = (sql: string) => writeFile(company.settings.HR_EMPLOYEES_SQL as string, sql)
const onPlatform = async (field: string) => {
  const employees = [...(await company.onPlatform()).values()]
  return new Set(employees.map(employee => employee[field]))
}
const queries = async (work: () => Promise<unknown>) => {
  const before = (await company.calls())['employee/get'] ?? 0
  await work()
  return ((await company.calls())['employee/get'] ?? 0) - before
}

test('a column that a view has now reaches everybody with the next run, once', async () => {
  await company.hr.query(`update person set remark = 'from HR';
    create or replace view mapped as select userid, name, mobile, email, dept_code, entry_day, active, remark from person`)
  expect(await company.run('changes')).toMatchObject({ result: { outcomes: { updated: EMPLOYEES } } })
  expect(await onPlatform('remark')).toEqual(new Set(['from HR']))
  expect(await queries(() => company.run('changes'))).toBe(0)
})

test('an edited file is taken over by the next run, without a restart', async () => {
  await map(`select userid, 'Dr. ' || name as name, dept_code, remark, active from mapped`)
  expect(await company.run('changes')).toMatchObject({ result: { outcomes: { updated: EMPLOYEES } } })
  expect((await company.onPlatform()).get('e0003')).toMatchObject({ name: 'Dr. Person 3' })
  expect(await queries(() => company.run('changes'))).toBe(0)
})

test('an edited file is taken over also by a run for one employee', async () => {
  await map(`select userid, 'Mx. ' || name as name, dept_code, remark, active from mapped`)
  await company.run('employees', 'e0004')
  expect((await company.onPlatform()).get('e0004')).toMatchObject({ name: 'Mx. Person 4' })
})

test('a case retried after a corrected mapping uses the new mapping', async () => {
  await map(
    `select userid, name, dept_code, case userid when 'e0006' then repeat('x', 300) else remark end as remark, active from mapped`,
  )
  await company.run('changes')
  const { rows } = await company.db.query(
    `select id from dirsync.failed_syncs where entity_key = 'e0006' and field = 'remark'`,
  )
  await map(`select userid, name, dept_code, 'short' as remark, active from mapped`)
  await company.retry(rows[0].id)
  expect((await company.onPlatform()).get('e0006')).toMatchObject({ remark: 'short' })
})

test('a worker that reads another HR than the planner gives up on a row with a case, until both read the same', async () => {
  await map('select userid, name, dept_code, remark, active from mapped')
  await company.run('changes')
  await using stale = await createTestDatabase()
  const { rows } = await company.hr.query('select * from mapped')
  await stale.pool.query(`
    create table department (dept_code text, parent_code text, active boolean, closed_at timestamptz);
    create table mapped (userid text, name text, mobile text, email text, dept_code text, entry_day date,
                         active boolean, remark text)`)
  await stale.pool.query('insert into mapped select * from jsonb_populate_recordset(null::mapped, $1)', [
    JSON.stringify(rows),
  ])
  const hrUrl = company.settings.HR_DATABASE_URL as string
  const workWith = async (url: string) => {
    await worker.stop()
    company.settings.HR_DATABASE_URL = url
    worker = await company.start(['worker'])
  }
  const cases = async () =>
    (
      await company.db.query(
        `select state, category from dirsync.dead_letter where entity_key = 'e0003' order by id desc limit 1`,
      )
    ).rows
  const isGivenUp = () =>
    until(async () => {
      await company.run('changes')
      const { rows: attempts } = await company.db.query(
        `select count(*) filter (where outcome = 'replan') > 9 or bool_or(outcome = 'parked') as over
         from dirsync.attempt where entity_key = 'e0003'`,
      )
      return attempts[0].over as boolean
    })

  await workWith(stale.url)
  await company.hr.query(`update person set remark = 'newer' where userid = 'e0003'`)
  await isGivenUp()
  expect(await cases()).toEqual([{ state: 'retry_scheduled', category: 'unsettled_hr_row' }])
  // The same row is not planned again and again.
  expect(await company.run('changes')).toMatchObject({ result: { outcomes: {} } })

  await workWith(hrUrl)
  await company.db.query(`update dirsync.dead_letter set next_retry_at = now()`)
  await endOf(company.db, (await requestDueRetries(company.db)) as number)
  expect(await cases()).toEqual([{ state: 'resolved', category: 'unsettled_hr_row' }])
  expect((await company.onPlatform()).get('e0003')).toMatchObject({ remark: 'newer' })
})

describe('a worker whose file is not the one of the plan', () => {
  const PLANNED = `select userid, 'Prof. ' || name as name, dept_code, remark, active from mapped`
  const OTHER = `select userid, 'Sir ' || name as name, dept_code, remark, active from mapped`
  const file = () => `${company.settings.HR_EMPLOYEES_SQL}.worker`

  const startWorker = async (sql: string) => {
    await worker.stop()
    await writeFile(file(), sql)
    worker = await startSilently({ ...company.settings, HR_EMPLOYEES_SQL: file() }, ['worker'])
  }

  beforeAll(async () => {
    await map('select userid, name, dept_code, remark, active from mapped')
    await company.run('changes')
    await startWorker(OTHER)
  })
  afterAll(async () => {
    await worker.stop()
    worker = await company.start(['worker'])
  })

  const waiting = async () =>
    (
      await company.db.query(
        `select count(*) filter (where outcome = 'wait')::int as waits, count(distinct entity_key)::int as employees,
                min(dirsync.in_language('en', error)) as error
         from dirsync.attempt where run_id = (select max(id) from dirsync.sync_run)`,
      )
    ).rows[0]
  /** Whether it has come to this, with everything due at once. */
  const hurried = (isSo: () => Promise<boolean>) =>
    until(async () => {
      await company.db.query('update dirsync.pending set not_before = now() where not_before > now()')
      await company.db.query(`select pg_notify('dirsync', 'feed')`)
      return isSo()
    })
  const unsettled = async () =>
    (
      await company.db.query(
        `select count(*)::int as n from dirsync.dead_letter where category = 'unsettled_hr_row' and state <> 'resolved'`,
      )
    ).rows[0].n

  test('waits for it, however often the platform let it wait before, without another plan, and goes on once it has it', async () => {
    await company.db.query(
      `insert into dirsync.attempt (enterprise_code, entity_key, operation, execution, started_at, duration_ms, outcome, calls)
       select enterprise_code, userid, 'update-employee', nextval('dirsync.execution'), now(), 5, 'wait', '{"employee/get": 1}'
       from dirsync.employee, generate_series(1, 4)`,
    )
    await map(PLANNED)
    const { rows } = await company.db.query(`select dirsync.resync('changes')::int as id`)
    await until(async () => (await waiting()).employees === EMPLOYEES)
    expect(await waiting()).toEqual({
      waits: EMPLOYEES,
      employees: EMPLOYEES,
      error: expect.stringContaining('give every process the same file'),
    })
    expect((await company.db.query('select max(id)::int as id from dirsync.sync_run')).rows).toEqual(rows)
    await startWorker(PLANNED)
    await hurried(async () => (await company.db.query('select from dirsync.pending')).rowCount === 0)
    expect(await endOf(company.db, rows[0].id)).toMatchObject({
      result: { outcomes: { updated: EMPLOYEES } },
    })
    expect(await unsettled()).toBe(0)
  })

  test('is no longer waited for once a plan with its file has passed', async () => {
    await map(OTHER.replace('Sir', 'Lady'))
    await company.db.query(`select dirsync.resync('changes')`)
    await until(async () => (await waiting()).employees === EMPLOYEES)
    const next = PLANNED.replace('Prof.', 'Lord')
    await writeFile(file(), next)
    await map(next)
    await company.run('changes')
    expect(await unsettled()).toBe(0)
    expect((await company.db.query('select from dirsync.pending')).rowCount).toBe(0)
  })

  test('is not waited for where that plan is older than the file that this worker has taken over since', async () => {
    await startWorker(PLANNED)
    await map(PLANNED)
    await company.run('changes')
    await company.db.query(`select dirsync.pause('so that the plan waits')`)
    await map(PLANNED.replace('Prof.', 'Earl'))
    const { rows } = await company.db.query(`select dirsync.resync('changes')::int as id`)
    await until(async () => {
      const { rows: runs } = await company.db.query('select state from dirsync.sync_run where id = $1', [
        rows[0].id,
      ])
      return runs[0].state === 'running'
    })
    // What both read is edited again before this worker has looked.
    const next = PLANNED.replace('Prof.', 'Duke')
    await writeFile(file(), next)
    await map(next)
    await company.db.query(`select dirsync.resume()`)
    await until(async () => (await company.db.query('select from dirsync.pending')).rowCount === 0)
    expect((await company.onPlatform()).get('e0003')).toMatchObject({ name: 'Duke Person 3' })
    expect(await waiting()).toMatchObject({ waits: 0 })
  })

  test('gives up after four waits, with a case', async () => {
    await map(OTHER.replace('Sir', 'Dame'))
    await company.db.query(`select dirsync.resync('changes')`)
    await hurried(async () => (await unsettled()) === EMPLOYEES)
    expect(await waiting()).toMatchObject({ waits: 4 * EMPLOYEES })
  })
})

test('a mapping that was edited while everything was stopped in the middle of a run is planned at once', async () => {
  await worker.stop()
  await map(`select userid, 'Old ' || name as name, dept_code, remark, active from mapped`)
  const { rows } = await company.db.query(`select dirsync.resync('changes')::int as id`)
  await until(async () => (await company.db.query('select from dirsync.pending')).rowCount === EMPLOYEES)
  await scheduler.stop()
  await map(`select userid, 'New ' || name as name, dept_code, remark, active from mapped`)
  scheduler = await company.start(['scheduler'])
  worker = await company.start(['worker'])
  await until(async () => (await company.db.query('select from dirsync.pending')).rowCount === 0)
  expect((await company.onPlatform()).get('e0003')).toMatchObject({ name: 'New Person 3' })
  const outcomes = await company.db.query(
    `select outcome, count(*)::int as n from dirsync.attempt where run_id >= $1 group by outcome order by outcome`,
    [rows[0].id],
  )
  expect(outcomes.rows).toEqual([
    { outcome: 'replan', n: EMPLOYEES },
    { outcome: 'updated', n: EMPLOYEES },
  ])
})

test.each([
  ['does not parse', 'select userid, name from mapped where', 'syntax error'],
  ['holds two statements', 'select 1; select 2', 'a second statement begins'],
  ['names no column of a mapping', 'select userid, name as nmae from mapped', 'unknown column "nmae"'],
])('a file that %s ends the run with the reason, and harms nothing', async (_, sql, reason) => {
  await company.run('changes')
  await map(sql)
  const run = await company.run('changes')
  expect(run).toMatchObject({ state: 'failed', message: expect.stringContaining(reason) })
  expect(run.message).toContain('employees.sql')
  await map('select userid, name, dept_code, remark, active from mapped')
  await company.run('changes')
  expect(await company.run('full')).toMatchObject({ result: { outcomes: { in_sync: EMPLOYEES } } })
})

test('a worker that cannot read with the mapping of the plan halts, says why, and goes on once it is mended', async () => {
  await worker.stop()
  const { rows } = await company.db.query(`select dirsync.resync('full')::int as id`)
  const state = async () =>
    (await company.db.query('select state from dirsync.sync_run where id = $1', [rows[0].id])).rows[0].state
  await until(async () => (await state()) === 'running')
  await map('select userid, name as nmae, dept_code, remark, active from mapped')
  await company.start(['worker'])
  const halt = await until(async () => (await company.db.query('select * from dirsync.halt')).rows[0] ?? null)
  expect(worded(halt)).toMatchObject({
    scope: '*',
    category: 'hr_unavailable',
    message: expect.stringMatching(/employees\.sql:1:24: unknown column "nmae"/),
  })
  await map('select userid, name, dept_code, remark, active from mapped')
  await until(async () => {
    await company.db.query('update dirsync.halt set next_probe_at = now()')
    await company.db.query(`select pg_notify('dirsync', 'feed')`)
    return (await state()) === 'done'
  })
  expect(await endOf(company.db, rows[0].id)).toMatchObject({ result: { outcomes: { in_sync: EMPLOYEES } } })
})

test('a file that is gone ends the run with the reason', async () => {
  await rm(company.settings.HR_EMPLOYEES_SQL as string)
  expect(await company.run('changes')).toMatchObject({
    state: 'failed',
    message: expect.stringContaining('cannot be read (ENOENT)'),
  })
})
