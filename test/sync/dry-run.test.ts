import { describe, expect, test } from 'vitest'
import { HrSources } from '../../src/hr/sources.ts'
import { dryRunPage, listDryRuns, readDryRun } from '../../src/report/dry-runs.ts'
import { dryRunNow, requestDryRun, runNextDryRun } from '../../src/sync/dry-run.ts'
import { HrReadings } from '../../src/sync/hr-readings.ts'
import { until } from '../helpers/company.ts'
import { createMariadbDatabase } from '../helpers/mariadb.ts'
import { hrSource } from '../hr/hr-database.ts'
import { PlanUnderTest } from './plan-under-test.ts'
import { SILENT } from './store-under-test.ts'

const place = new PlanUnderTest()
const TODAY = 'select userid, name, mobile, dept_code, active from person'
const ASKER = { actor: 'console:ann', address: '192.0.2.1' }
const never = new AbortController().signal
const LIMITS = {
  gate: { maxFewerRows: 20, maxEmptied: 20 },
  breaker: { count: 2, percent: 10 },
  departments: { count: 1, percent: 10 },
  departmentGraceMs: 3_600_000,
  sweepIntervalMs: 3_600_000,
}

const deps = (source = place.source(TODAY)) => ({
  pool: place.store.pool,
  hr: HrSources.one(source),
  limits: LIMITS,
  logger: SILENT,
})

/** A dry run of a SELECT, carried out. */
async function dryRun(mapping: string) {
  const id = await requestDryRun(deps(), ASKER, { sql: mapping, source: '' })
  expect(await runNextDryRun(deps(), never)).toBe(true)
  const found = await readDryRun(place.store.pool, id)
  if (!found) throw new Error(`no dry run ${id}`)
  return found
}

const entities = async (id: number) => (await dryRunPage(place.store.pool, id, { limit: 100 })).entities

describe('a dry run', () => {
  test('tells who appears, who disappears, and whose fields change, with masked values', async () => {
    await place.inStep(20, TODAY)
    await place.hr.query(`update person set active = false where userid = 'e7'`)
    const found = await dryRun(
      `select userid, case when userid = 'e3' then 'Somebody' else name end as name, mobile, dept_code,
              case when userid = 'e7' then true else active end as active
       from person where userid <> 'e5'`,
    )
    expect(found).toMatchObject({
      state: 'done',
      message: null,
      address: '192.0.2.1',
      requestedBy: expect.stringContaining('console:ann'),
      rowsRead: 19 + 19 + 20,
      summary: {
        rows: 19,
        rowsToday: 20,
        inScope: 19,
        compared: { appears: 1, disappears: 1, changes: 1 },
        columns: [{ field: 'name', n: 1 }],
        departments: [{ department: 'D0', n: 3 }],
        broken: [],
        addedColumns: [],
        removedColumns: [],
        stored: 3,
      },
    })
    expect(await entities(found.id)).toEqual([
      {
        enterpriseCode: '',
        entityKey: 'e3',
        reason: 'changes',
        department: 'D0',
        changed: [{ field: 'name', from: 'n*', to: 'S*' }],
      },
      { enterpriseCode: '', entityKey: 'e5', reason: 'disappears', department: 'D0', changed: [] },
      { enterpriseCode: '', entityKey: 'e7', reason: 'appears', department: 'D0', changed: [] },
    ])
  })

  test('of HR in MariaDB tells the same, and where a SELECT is wrong', async () => {
    await using hr = await createMariadbDatabase()
    await hr.admin.query(`create table person (userid varchar(20), name varchar(50), dept_code varchar(20));
      insert into person values ('e1', 'Ann', 'D1'), ('e2', 'Ben', 'D1'), ('e3', 'Cem', 'D2')`)
    const today = 'select userid, name, dept_code from person'
    const source = hrSource(hr.url, today)
    const signal = new AbortController().signal
    const of = async (mapping: string) => {
      const id = await dryRunNow(deps(source), ASKER, { sql: mapping, source: '' }, { signal })
      return { id, found: await readDryRun(place.store.pool, id) }
    }
    const { id, found } = await of(
      `select userid, if(userid = 'e3', 'Dee', name) as name, dept_code from person where userid <> 'e1'`,
    )
    expect(found).toMatchObject({
      state: 'done',
      summary: { rows: 2, rowsToday: 3, compared: { disappears: 1, changes: 1 } },
    })
    expect(await entities(id)).toContainEqual({
      enterpriseCode: '',
      entityKey: 'e3',
      reason: 'changes',
      department: 'D2',
      changed: [{ field: 'name', from: 'C*', to: 'D*' }],
    })
    const { found: wrong } = await of('select userid,\n  nme as name\nfrom person')
    expect(wrong).toMatchObject({
      state: 'failed',
      errorLine: 2,
      errorColumn: 3,
      message: expect.stringContaining("Unknown column 'nme'"),
    })
  })

  test('counts rule breaks by column, and hides the values that break them', async () => {
    await place.inStep(5, TODAY)
    await place.hr.query(`update person set mobile = 'secret' where userid = 'e1'`)
    const found = await dryRun(
      `select userid, name, case when userid = 'e2' then '12345' when userid <> 'e1' then mobile end as mobile,
              dept_code, active from person`,
    )
    expect(found.summary).toMatchObject({
      compared: { breaks: 1, mends: 1 },
      broken: [{ field: 'mobile', n: 1 }],
      brokenToday: [{ field: 'mobile', n: 1 }],
    })
    const [mended, broken] = await entities(found.id)
    expect(mended).toMatchObject({
      reason: 'mends',
      changed: [{ field: 'mobile', from: '**** (6 characters)', to: null }],
    })
    expect(broken).toMatchObject({
      reason: 'breaks',
      changed: [{ field: 'mobile', from: '138****0002', to: '**** (5 characters)' }],
    })
  })

  test('names columns that are added and removed; an added one changes those alone who have a value', async () => {
    await place.inStep(4, TODAY)
    const found = await dryRun(
      `select userid, name, case when userid = 'e2' then 'two@example.com' end as email, dept_code, active from person`,
    )
    expect(found.summary).toMatchObject({
      compared: { changes: 1 },
      columns: [{ field: 'email', n: 1 }],
      addedColumns: ['email'],
      removedColumns: ['mobile'],
      // Other columns make every row another one for a run.
      planned: { changed: 4 },
    })
    expect(await entities(found.id)).toMatchObject([
      { changed: [{ field: 'email', from: null, to: 't***@example.com' }] },
    ])
  })

  test('tells whether the gate or the breaker would stop a run', async () => {
    await place.inStep(20, TODAY)
    const few = await dryRun(`${TODAY} where userid < 'e13'`)
    expect(few.summary).toMatchObject({
      verdict: 'source_suspect',
      verdictMessage: expect.stringMatching(/fewer/),
    })
    const many = await dryRun(`select userid, name || '!' as name, mobile, dept_code, active from person`)
    expect(many.summary).toMatchObject({
      verdict: 'held',
      verdictMessage: expect.stringMatching(/20 of 20 employees would change/),
      planned: { changed: 20 },
    })
    expect((await dryRun(TODAY)).summary).toMatchObject({ verdict: 'running', compared: {}, planned: {} })
  })

  test('writes nothing but itself, and sends nothing', async () => {
    await place.inStep(6, TODAY)
    const before = await place.store.contents()
    await dryRun(
      `select userid, upper(name) as name, mobile, dept_code, active from person where userid <> 'e1'`,
    )
    const { dry_run, dry_run_entity, command, ...rest } = await place.store.contents()
    const { dry_run: _, dry_run_entity: __, command: ___, ...restBefore } = before
    expect(rest).toEqual(restBefore)
    expect([dry_run?.length, dry_run_entity?.length, command?.length]).toEqual([1, 6, 1])
  })

  test('counts a key that the SELECT returns twice once, and says that the run would stop', async () => {
    await place.inStep(3, TODAY)
    const found = await dryRun(`${TODAY} union all ${TODAY} where userid = 'e1'`)
    expect(found.summary).toMatchObject({ verdict: 'source_suspect', compared: {} })
  })
})

describe('a SELECT that is wrong', () => {
  test('is answered in a sentence with line and column', async () => {
    const found = await dryRun('select userid,\n       nme as name,\n       active\nfrom person')
    expect(found).toMatchObject({
      state: 'failed',
      message: 'column "nme" does not exist (42703)',
      errorLine: 2,
      errorColumn: 8,
      summary: null,
    })
  })

  test('is not blamed for the place where the one in use is wrong', async () => {
    await place.inStep(3, TODAY)
    const broken = deps(place.source('select userid,\n  nme as name\nfrom person'))
    const id = await dryRunNow(broken, ASKER, { sql: TODAY, source: '' }, { signal: never })
    expect(await readDryRun(place.store.pool, id)).toMatchObject({
      state: 'failed',
      message: expect.stringMatching(/^the SELECT in use is wrong: \S+:2:3: column "nme" does not exist/),
      errorLine: null,
    })
  })

  test('is told the place of a cast that a value does not pass, as far as the server knows it', async () => {
    await place.inStep(3, TODAY)
    expect(await dryRun(`select userid,\n  'x'::int as name from person`)).toMatchObject({
      state: 'failed',
      message: expect.stringMatching(/^the query failed on a value in HR/),
      errorLine: 2,
      errorColumn: 3,
    })
  })

  test('without the condition of a join is stopped before it fills the disk', async () => {
    await place.hire(2)
    const found = await dryRun(`select userid || i as userid, name from person, generate_series(1, 60000) i`)
    expect(found).toMatchObject({
      state: 'failed',
      message: expect.stringMatching(
        /^It gives more than 100,000 rows, .*: does a join lack its condition\?$/,
      ),
      summary: null,
    })
  })

  test('of columns that dirsync does not know, or of values that fail, is told without a value', async () => {
    await place.hire(1)
    expect(await dryRun('select userid, name as nom from person')).toMatchObject({
      state: 'failed',
      message: expect.stringMatching(/^unknown column "nom"/),
    })
    const cast = await dryRun('select userid, (name::int)::text as name from person')
    expect(cast).toMatchObject({ state: 'failed', message: expect.stringMatching(/SQLSTATE 22P02/) })
    expect(cast.message).not.toMatch(/n0/)
  })

  test.each([
    ['select 1; drop table person', 'a second statement begins', { line: 1, column: 11 }],
    ['delete from person', 'must be a SELECT', null],
    ["select 'x", 'not closed', { line: 1, column: 8 }],
    ['select 1) m; drop table person; select (1', 'closes that was never opened', { line: 1, column: 9 }],
    ['', 'no statement', null],
  ])('is refused at once where it is no single one: %s', async (sql, message, where) => {
    await expect(requestDryRun(deps(), ASKER, { sql, source: '' })).rejects.toMatchObject({
      message: expect.stringContaining(message),
      place: where,
    })
    expect(await listDryRuns(place.store.pool, { limit: 5 })).toEqual([])
  })

  test.each([
    ['a change within WITH', `with gone as (delete from person returning *) select userid, name from gone`],
    ['a sequence', `select userid, nextval('numbers')::text as name from person`],
    ['a function that writes', `select userid, write_it() as name from person`],
    [
      'a function that writes, after it made the session writable',
      `select userid, write_it() as name from person
       where set_config('default_transaction_read_only', 'off', false) = 'off'
         and set_config('transaction_read_only', 'off', false) = 'off'`,
    ],
  ])('changes nothing in HR: %s', async (_, sql) => {
    await place.hire(2)
    await place.hr.query(`
      drop table if exists written; create table written (n int);
      drop sequence if exists numbers; create sequence numbers;
      create or replace function write_it() returns text language plpgsql as
        $$ begin insert into written values (1); return 'x'; end $$`)
    expect((await dryRun(sql)).state).toBe('failed')
    expect((await place.hr.query('select * from written')).rows).toEqual([])
    expect((await place.hr.query('select is_called from numbers')).rows).toEqual([{ is_called: false }])
    expect((await place.hr.query('select from person')).rowCount).toBe(2)
  })
})

describe('dry runs of several processes', () => {
  test('one that lost its process is carried out by another one, and not for ever', async () => {
    await place.inStep(2, TODAY)
    const id = await requestDryRun(deps(), ASKER, { sql: TODAY, source: '' })
    const lose = (starts: number) =>
      place.store.pool.query(
        `update dirsync.dry_run set state = 'running', starts = $1, finished_at = null`,
        [starts],
      )
    await lose(1)
    await runNextDryRun(deps(), never)
    expect(await readDryRun(place.store.pool, id)).toMatchObject({ state: 'done' })
    await lose(2)
    expect(await runNextDryRun(deps(), never)).toBe(false)
    expect(await readDryRun(place.store.pool, id)).toMatchObject({
      state: 'failed',
      message: 'The process that carried it out ended before it was done.',
    })
  })

  test('a scheduler carries out what is requested as it runs, and gives back what it has not done', async () => {
    await place.inStep(2, TODAY)
    const readings = new HrReadings(deps())
    readings.start()
    const id = await requestDryRun(deps(), ASKER, { sql: TODAY, source: '' })
    readings.wake()
    await until(async () => (await readDryRun(place.store.pool, id))?.state === 'done')
    const locked = await place.hr.connect()
    await locked.query('begin; lock table person in access exclusive mode')
    const waiting = await requestDryRun(deps(), ASKER, { sql: TODAY, source: '' })
    readings.wake()
    await until(async () => (await readDryRun(place.store.pool, waiting))?.phase === 'plan' || waitsInHr())
    await readings.stop()
    await locked.query('rollback')
    locked.release()
    expect(await readDryRun(place.store.pool, waiting)).toMatchObject({ state: 'requested' })
    await runNextDryRun(deps(), never)
    expect(await readDryRun(place.store.pool, waiting)).toMatchObject({ state: 'done' })
  })

  test('in the foreground, who stops it has stopped it for everybody', async () => {
    await place.inStep(3, TODAY)
    const stop = new AbortController()
    const slow = `select userid, name || pg_sleep(60) as name from person`
    const running = dryRunNow(deps(), ASKER, { sql: slow, source: '' }, { signal: stop.signal })
    await until(async () => {
      const [newest] = await listDryRuns(place.store.pool, { limit: 1 })
      return newest?.state === 'running'
    })
    stop.abort()
    expect(await readDryRun(place.store.pool, await running)).toMatchObject({
      state: 'failed',
      message: 'It was stopped before it was done.',
    })
    expect(await runNextDryRun(deps(), never)).toBe(false)
  })

  test('in the foreground it waits for its turn, and ends with its number', async () => {
    await place.inStep(2, TODAY)
    const begun: number[] = []
    const id = await dryRunNow(
      deps(),
      ASKER,
      { sql: TODAY, source: '' },
      { signal: never, begun: number => begun.push(number) },
    )
    expect(begun).toEqual([id])
    expect(await readDryRun(place.store.pool, id)).toMatchObject({ state: 'done' })
    expect(await listDryRuns(place.store.pool, { limit: 5 })).toMatchObject([{ id, state: 'done' }])
    expect(await listDryRuns(place.store.pool, { limit: 5, before: id })).toEqual([])
  })
})

/** A dry run waits for a lock in HR. */
async function waitsInHr(): Promise<boolean> {
  const { rowCount } = await place.hr.query(
    `select from pg_stat_activity where application_name = 'dirsync dry run' and wait_event_type = 'Lock'`,
  )
  return rowCount === 1
}
