import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { dryRunPage, listDryRuns, readDryRun } from '../../src/console/mapping/dry-runs.ts'
import type { HrSource } from '../../src/hr/source.ts'
import { HrSources } from '../../src/hr/sources.ts'
import { hrReadings } from '../../src/sync/coordinator.ts'
import { dryRunNow, requestDryRun, runNextDryRun } from '../../src/sync/plan/dry-run.ts'
import { Commands } from '../../src/sync/runs/commands.ts'
import { until } from '../helpers/company.ts'
import { createMariadbDatabase } from '../helpers/mariadb.ts'
import { delivered } from '../hr/files/delivered.ts'
import { hrSource } from '../hr/hr-database.ts'
import { worded } from '../texts/worded.ts'
import { PlanUnderTest } from './plan-under-test.ts'
import { SILENT, WAITING_FOR_A_LOCK } from './store-under-test.ts'

const place = new PlanUnderTest()
const TODAY = 'select userid, name, mobile, dept_code, active from person'
const ASKER = { actor: 'console:ann', address: '192.0.2.1' }
const never = new AbortController().signal
const LIMITS = {
  gate: { maxFewerRows: 20, maxEmptied: 20 },
  breaker: { count: 2, percent: 10 },
  departments: { count: 1, percent: 10 },
  departmentGraceMs: 3_600_000,
  maxLeavers: 50,
  readAllEveryMs: 3_600_000,
}

const deps = (source = place.source(TODAY)) => ({
  pool: place.store.pool,
  hr: HrSources.one(source),
  limits: LIMITS,
  memoryMb: 512,
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

const listed = async () => (await listDryRuns(place.store.pool, { limit: 5 })).items
const entities = async (id: number) => (await dryRunPage(place.store.pool, id, { limit: 100 })).items

describe('a dry run', () => {
  test('shows who appears, who disappears, and whose fields change, with masked values', async () => {
    await place.inSync(20, TODAY)
    await place.hr.query(`update person set active = false where userid = 'e7'`)
    const found = await dryRun(
      `select userid, case when userid = 'e3' then 'Somebody' else name end as name, mobile, dept_code,
              case when userid = 'e7' then true else active end as active
       from person where userid <> 'e5'`,
    )
    expect(found).toMatchObject({
      state: 'done',
      message: null,
      requested_by: expect.stringContaining('console:ann'),
      rows_read: 19 + 19 + 20,
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
        enterprise_code: '',
        userid: 'e3',
        what: 'changes',
        department: 'D0',
        changed: [{ field: 'name', from: 'n*', to: 'S*' }],
      },
      { enterprise_code: '', userid: 'e5', what: 'disappears', department: 'D0', changed: [] },
      { enterprise_code: '', userid: 'e7', what: 'appears', department: 'D0', changed: [] },
    ])
  })

  test('of HR in MariaDB tells the same, and where a SELECT is wrong', { tags: 'mariadb' }, async () => {
    await using hr = await createMariadbDatabase()
    await hr.admin.query(`create table person (userid varchar(20), name varchar(50), dept_code varchar(20));
      insert into person values ('e1', 'Ann', 'D1'), ('e2', 'Ben', 'D1'), ('e3', 'Cem', 'D2')`)
    const today = 'select userid, name, dept_code from person'
    const source = hrSource(hr.url, today)
    const signal = new AbortController().signal
    const of = async (mapping: string) => {
      const { id } = await dryRunNow(deps(source), ASKER, { sql: mapping, source: '' }, { signal })
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
      enterprise_code: '',
      userid: 'e3',
      what: 'changes',
      department: 'D2',
      changed: [{ field: 'name', from: 'C*', to: 'D*' }],
    })
    const { found: wrong } = await of('select userid,\n  nme as name\nfrom person')
    expect(worded(wrong)).toMatchObject({
      state: 'failed',
      error_line: 2,
      error_column: 3,
      message: expect.stringContaining("Unknown column 'nme'"),
    })
  })

  test('of HR in files tells the same, within the memory that it has', async () => {
    const hr = await delivered()
    const people = Array.from({ length: 2000 }, (_, i) => `e${i},n${i},D${i % 40}`)
    await hr.deliver('person.csv', `userid,name,dept_code\n${people.join('\n')}\n`)
    const source = hr.source('select userid, name, dept_code from person')
    const sql = `select p.userid, upper(p.name) as name, p.dept_code from person p
                 where p.userid <> 'e7' order by p.name || p.dept_code desc`
    const { id } = await dryRunNow(deps(source), ASKER, { sql, source: '' }, { signal: never })
    expect(await readDryRun(place.store.pool, id)).toMatchObject({
      state: 'done',
      summary: { rows: 1999, rowsToday: 2000, compared: { disappears: 1, changes: 1999 } },
    })
  })

  test('counts rule breaks by column, and hides the values that break them', async () => {
    await place.inSync(5, TODAY)
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
      what: 'mends',
      changed: [{ field: 'mobile', from: '**** (6)', to: null }],
    })
    expect(broken).toMatchObject({
      what: 'breaks',
      changed: [{ field: 'mobile', from: '138****0002', to: '**** (5)' }],
    })
  })

  test('names columns that are added and removed; an added one changes only employees with a value', async () => {
    await place.inSync(4, TODAY)
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
    await place.inSync(20, TODAY)
    const few = await dryRun(`${TODAY} where userid < 'e13'`)
    expect(worded(few.summary)).toMatchObject({
      verdict: 'source_suspect',
      verdictMessage: expect.stringMatching(/fewer/),
    })
    const many = await dryRun(`select userid, name || '!' as name, mobile, dept_code, active from person`)
    expect(worded(many.summary)).toMatchObject({
      verdict: 'held',
      verdictMessage: expect.stringMatching(/20 of 20 employees would change/),
      planned: { changed: 20 },
    })
    expect((await dryRun(TODAY)).summary).toMatchObject({ verdict: 'running', compared: {}, planned: {} })
  })

  test('writes nothing but itself, and sends nothing', async () => {
    await place.inSync(6, TODAY)
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
    await place.inSync(3, TODAY)
    const found = await dryRun(`${TODAY} union all ${TODAY} where userid = 'e1'`)
    expect(found.summary).toMatchObject({ verdict: 'source_suspect', compared: {} })
  })

  test('before the first run, of more rows than dirsync may expect, is measured by the mapping in use', async () => {
    // One whom a sync by name has made known.
    await place.store.pool.query(`insert into dirsync.employee (userid) values ('e1')`)
    await place.hr.query(
      `insert into person (userid, name) select 'e' || i, 'n' from generate_series(1, 100001) i`,
    )
    expect(await dryRun(TODAY)).toMatchObject({
      state: 'done',
      summary: { rows: 100_001, rowsToday: 100_001, compared: {} },
    })
  })

  test('is made where departments lack what the mapping in use lacks, and refused where the SELECT takes it away', async () => {
    await place.hire(1)
    const lacking = 'select userid, name, mobile, active from person'
    const departments = 'select dept_code, parent_code, active from department'
    const mistakeOf = async (inUse: string, sql: string) =>
      (await dryRunNow(deps(place.source(inUse, departments)), ASKER, { sql, source: '' }, { signal: never }))
        .mistake
    expect(await mistakeOf(lacking, TODAY)).toBeNull()
    expect(await mistakeOf(lacking, lacking)).toBeNull()
    expect(await mistakeOf(TODAY, lacking)).toMatchObject({ message: { key: 'said.mapping_dept_code' } })
  })
})

describe('a SELECT that is wrong', () => {
  test('is answered in a sentence with line and column', async () => {
    const found = await dryRun('select userid,\n       nme as name,\n       active\nfrom person')
    expect(worded(found)).toMatchObject({
      state: 'failed',
      message: 'column "nme" does not exist (42703)',
      error_line: 2,
      error_column: 8,
      summary: null,
    })
  })

  test('is not blamed for the place where the one in use is wrong', async () => {
    await place.inSync(3, TODAY)
    const broken = deps(place.source('select userid,\n  nme as name\nfrom person'))
    const { id } = await dryRunNow(broken, ASKER, { sql: TODAY, source: '' }, { signal: never })
    expect(worded(await readDryRun(place.store.pool, id))).toMatchObject({
      state: 'failed',
      message: expect.stringMatching(/^the SELECT in use is wrong: \S+:2:3: column "nme" does not exist/),
      error_line: null,
    })
  })

  test('reports the place of a cast that fails, as far as the server knows it', async () => {
    await place.inSync(3, TODAY)
    expect(worded(await dryRun(`select userid,\n  'x'::int as name from person`))).toMatchObject({
      state: 'failed',
      message: expect.stringMatching(/^the query failed on a value in HR/),
      error_line: 2,
      error_column: 3,
    })
  })

  test('without the condition of a join is stopped before it fills the disk', async () => {
    await place.hire(2)
    const found = await dryRun(`select userid || i as userid, name from person, generate_series(1, 60000) i`)
    expect(worded(found)).toMatchObject({
      state: 'failed',
      message: expect.stringMatching(
        /^it gives more than 100,000 rows, .*: does a join lack its condition\?$/,
      ),
      summary: null,
    })
  })

  test('is stopped also where the one in use has lost the condition', async () => {
    await place.inSync(3, TODAY)
    const broken = deps(
      place.source('select userid || i as userid, name from person, generate_series(1, 60000) i'),
    )
    const { id } = await dryRunNow(broken, ASKER, { sql: TODAY, source: '' }, { signal: never })
    expect(worded(await readDryRun(place.store.pool, id))).toMatchObject({
      state: 'failed',
      message: expect.stringMatching(/^the SELECT in use is wrong: it gives more than 100,000 rows/),
    })
  })

  test('reports unknown columns and failing values without a value', async () => {
    await place.hire(1)
    expect(worded(await dryRun('select userid, name as nom from person'))).toMatchObject({
      state: 'failed',
      message: expect.stringMatching(/^unknown column "nom"/),
    })
    const cast = await dryRun('select userid, (name::int)::text as name from person')
    expect(worded(cast)).toMatchObject({ state: 'failed', message: expect.stringMatching(/SQLSTATE 22P02/) })
    expect(worded(cast).message).not.toMatch(/n0/)
  })

  test.each([
    ['select 1; drop table person', 'a second statement begins', { line: 1, column: 11 }],
    ['delete from person', 'must be a SELECT', null],
    ["select 'x", 'not closed', { line: 1, column: 8 }],
    ['select 1) m; drop table person; select (1', 'closes that was never opened', { line: 1, column: 9 }],
    ['', 'no statement', null],
  ])('is refused at once if it is not a single SELECT: %s', async (sql, message, where) => {
    await expect(requestDryRun(deps(), ASKER, { sql, source: '' })).rejects.toMatchObject({
      message: expect.stringContaining(message),
      place: where,
    })
    expect(await listed()).toEqual([])
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

test('of one asker three may wait, however many are asked for at once, and others have their turn', async () => {
  const ask = (asker: typeof ASKER) => requestDryRun(deps(), asker, { sql: TODAY, source: '' })
  const asked = await Promise.allSettled(Array.from({ length: 20 }, () => ask(ASKER)))
  expect(asked.filter(({ status }) => status === 'fulfilled')).toHaveLength(3)
  await expect(ask(ASKER)).rejects.toMatchObject({
    code: 'COMMAND_INVALID',
    message: '3 dry runs of yours are not over: wait for one, or cancel it',
  })
  await ask({ ...ASKER, actor: 'console:ben' })
  await place.inSync(2, TODAY)
  await runNextDryRun(deps(), never)
  await ask(ASKER)
})

describe('dry runs of several processes', () => {
  test('one that lost its process is carried out by another one, and not for ever', async () => {
    await place.inSync(2, TODAY)
    const id = await requestDryRun(deps(), ASKER, { sql: TODAY, source: '' })
    const lose = (starts: number) =>
      place.store.pool.query(
        `update dirsync.dry_run set state = 'running', starts = $1, finished_at = null`,
        [starts],
      )
    await lose(2)
    await runNextDryRun(deps(), never)
    expect(await readDryRun(place.store.pool, id)).toMatchObject({ state: 'done' })
    await lose(3)
    expect(await runNextDryRun(deps(), never)).toBe(false)
    expect(worded(await readDryRun(place.store.pool, id))).toMatchObject({
      state: 'failed',
      message: 'The process that carried it out ended before it was done.',
    })
  })

  test('a scheduler carries out what is requested as it runs, and gives back what it has not done', async () => {
    await place.inSync(2, TODAY)
    const readings = hrReadings(deps())
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
    // Its start counts: who stops and starts again begins it no more than three times.
    expect(await place.store.rows('select starts from dirsync.dry_run where id = $1', [waiting])).toEqual([
      { starts: 1 },
    ])
    await runNextDryRun(deps(), never)
    expect(await readDryRun(place.store.pool, waiting)).toMatchObject({ state: 'done' })
  })

  test('in the foreground, stopping it ends it for good', async () => {
    await place.inSync(3, TODAY)
    const stop = new AbortController()
    await place.hr.query('create or replace view slow as select pg_sleep(60)::text as slept')
    const slow = `select userid, (select slept from slow) as name from person`
    const running = dryRunNow(deps(), ASKER, { sql: slow, source: '' }, { signal: stop.signal })
    await until(async () => {
      const [newest] = await listed()
      return newest?.state === 'running'
    })
    stop.abort()
    expect(worded(await readDryRun(place.store.pool, (await running).id))).toMatchObject({
      state: 'failed',
      message: 'It was stopped before it was done.',
    })
    expect(await runNextDryRun(deps(), never)).toBe(false)
  })

  test('in the foreground it waits for its turn, and ends with its number', async () => {
    await place.inSync(2, TODAY)
    const begun: number[] = []
    const { id } = await dryRunNow(
      deps(),
      ASKER,
      { sql: TODAY, source: '' },
      { signal: never, begun: number => begun.push(number) },
    )
    expect(begun).toEqual([id])
    expect(await readDryRun(place.store.pool, id)).toMatchObject({ state: 'done' })
    const newest = await listDryRuns(place.store.pool, { limit: 1 })
    expect(newest).toMatchObject({ items: [{ id, state: 'done' }], next: null })
  })
})

describe('the process that reads HR for a dry run', () => {
  const SLOW = 'select userid, (select slept from slow) as name from person'
  const DEATH = /^The process that read it ended before it was done \(.+\): it may need more than \d+ MB/

  /** A dry run that HR's server sleeps for. */
  async function slow(): Promise<number> {
    await place.inSync(2, TODAY)
    await place.hr.query('create or replace view slow as select pg_sleep(60)::text as slept')
    return requestDryRun(deps(), ASKER, { sql: SLOW, source: '' })
  }

  const sessions = async () =>
    (
      await place.hr.query(
        `select from pg_stat_activity
         where datname = current_database() and application_name = 'dirsync dry run' and wait_event = 'PgSleep'`,
      )
    ).rowCount

  test('is all that ends where it is killed; the next dry run is carried out', async () => {
    const id = await slow()
    const carried = runNextDryRun(deps(), never)
    await until(async () => (await sessions()) === 1)
    for (const child of childrenOfThis()) process.kill(child, 'SIGKILL')
    expect(await carried).toBe(true)
    expect(worded(await readDryRun(place.store.pool, id))).toMatchObject({
      state: 'failed',
      message: expect.stringMatching(DEATH),
    })
    expect((await dryRun(TODAY)).state).toBe('done')
  })

  test('is all that ends where rows need more memory than it may have', async () => {
    await place.inSync(1000, TODAY)
    const long = `select userid, repeat('x', 1000000) || userid as name, mobile, dept_code, active from person`
    const id = await requestDryRun(deps(), ASKER, { sql: long, source: '' })
    const before = process.memoryUsage().rss
    expect(await runNextDryRun({ ...deps(), memoryMb: 128 }, never)).toBe(true)
    expect(worded(await readDryRun(place.store.pool, id))).toMatchObject({
      state: 'failed',
      message: expect.stringMatching(DEATH),
    })
    expect(process.memoryUsage().rss - before).toBeLessThan(200_000_000)
  })

  test('leaves nothing on the disk where it is killed while DuckDB puts rows there', async () => {
    await place.inSync(1, TODAY)
    const hr = await delivered()
    await hr.deliver('staff.csv', 'id,name\n1,Ann\n')
    const source = hr.source('select id as userid, name from staff')
    await source.inspect()
    const [kept = ''] = await readdir(hr.settings.keep)
    const spilled = async () =>
      (await readdir(join(hr.settings.keep, kept), { recursive: true })).filter(name => name.endsWith('.tmp'))
    const sorted = `select range::varchar as userid, md5(range::varchar) as name from range(50000000) order by name`
    const id = await requestDryRun(deps(source), ASKER, { sql: sorted, source: '' })
    const carried = runNextDryRun(deps(source), never)
    await until(async () => (await spilled()).length > 0)
    for (const child of childrenOfThis()) process.kill(child, 'SIGKILL')
    expect(await carried).toBe(true)
    expect(worded(await readDryRun(place.store.pool, id))).toMatchObject({
      message: expect.stringMatching(DEATH),
    })
    expect(await spilled()).toEqual([])
  })

  test('is all that ends where the driver breaks at an answer', async () => {
    await place.inSync(2, TODAY)
    await using broken = await withRowsThatNobodyAskedFor(place.source(TODAY))
    const source = hrSource(broken.url, TODAY)
    const id = await requestDryRun(deps(source), ASKER, { sql: TODAY, source: '' })
    expect(await runNextDryRun(deps(source), never)).toBe(true)
    expect(worded(await readDryRun(place.store.pool, id))).toMatchObject({
      state: 'failed',
      message: expect.stringMatching(/^The process that read it ended before it was done \(code \d+\)/),
    })
    expect((await dryRun(TODAY)).state).toBe('done')
  })

  test('refuses a row that is far too long, and names it', async () => {
    await place.inSync(2, TODAY)
    const found = await dryRun(
      `select userid, repeat('x', 40000000) as name, repeat('y', 40000000) as remark, active from person where userid = 'e1'`,
    )
    expect(worded(found)).toMatchObject({
      state: 'failed',
      message: expect.stringMatching(
        /^the row of e1 is longer than 1024 kB, above all in (name|remark): shorten it/,
      ),
    })
  })

  test('ends within a second once the dry run is cancelled, and HR’s server with it', async () => {
    const id = await slow()
    const carried = runNextDryRun(deps(), never)
    await until(async () => (await sessions()) === 1)
    const commands = new Commands(place.store.pool, ASKER)
    expect(await commands.cancelDryRun(id)).toBe(id)
    expect(await carried).toBe(true)
    expect(await readDryRun(place.store.pool, id)).toMatchObject({ state: 'cancelled', message: null })
    await until(async () => (await sessions()) === 0)
    expect(childrenOfThis()).toEqual([])
    await expect(commands.cancelDryRun(id)).rejects.toMatchObject({
      code: 'COMMAND_NOT_FOUND',
      message: `dry run ${id} is cancelled, so nothing of it is under way`,
    })
    await expect(commands.cancelDryRun(id + 1)).rejects.toMatchObject({ code: 'COMMAND_NOT_FOUND' })
    expect(
      await place.store.rows('select name, arguments from dirsync.command order by id desc limit 1'),
    ).toEqual([{ name: 'cancel_dry_run', arguments: { dry_run: id } }])
  })

  test('never begins with one that was cancelled before', async () => {
    await place.inSync(2, TODAY)
    const id = await requestDryRun(deps(), ASKER, { sql: TODAY, source: '' })
    await new Commands(place.store.pool, ASKER).cancelDryRun(id)
    expect(await runNextDryRun(deps(), never)).toBe(false)
    expect(await readDryRun(place.store.pool, id)).toMatchObject({ state: 'cancelled', started_at: null })
  })
})

/**
 * HR behind a proxy that sends an unrequested message before an answer, on which pg throws where no caller waits: a
 * description of rows.
 */
async function withRowsThatNobodyAskedFor(hr: HrSource): Promise<AsyncDisposable & { url: string }> {
  const { url } = (await hr.settings()).server
  const { hostname, port } = new URL(url)
  const sockets = new Set<Socket>()
  const proxy = createServer(client => {
    const server = connect(Number(port), hostname)
    for (const socket of [client, server]) sockets.add(socket.on('error', () => {}))
    client.pipe(server)
    server.on('data', chunk => {
      if (chunk.includes('{QUERY')) client.write(Buffer.from('T\0\0\0\x06\0\0', 'latin1'))
      client.write(chunk)
    })
  })
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  const own = Object.assign(new URL(url), { port: String((proxy.address() as AddressInfo).port) })
  return {
    url: own.href,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      proxy.close()
    },
  }
}

/** The processes that this one has started for dry runs. */
function childrenOfThis(): number[] {
  const list = execFileSync('ps', ['-eo', 'pid=,ppid=,args='], { encoding: 'utf8' })
  return list
    .split('\n')
    .map(line => line.trim().split(/\s+/))
    .filter(
      ([, parent, ...words]) => Number(parent) === process.pid && words.join(' ').includes('dry-run-child'),
    )
    .map(([pid]) => Number(pid))
}

/** A dry run waits for a lock in HR. */
async function waitsInHr(): Promise<boolean> {
  const { rowCount } = await place.hr.query(`${WAITING_FOR_A_LOCK} and application_name = 'dirsync dry run'`)
  return rowCount === 1
}
