import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { previewDeletions } from '../../src/console/departments/page.ts'
import { countStatuses } from '../../src/console/employees/list.ts'
import { previewRun } from '../../src/console/employees/preview.ts'
import { readOverview } from '../../src/console/overview/read.ts'
import { HrSources, type NamedSource } from '../../src/hr/sources.ts'
import { finishRuns, type Run, readRun, recheckHeldRun, requestRun } from '../../src/sync/run.ts'
import { requestReplan } from '../../src/sync/run-requests.ts'
import { until } from '../helpers/company.ts'
import { worded } from '../texts/worded.ts'
import { LIMITS, PlanUnderTest, TIMED } from './plan-under-test.ts'

const under = new PlanUnderTest()
const hr = (text: string) => under.hr.query(text)
/** The clock of this process shows another time than the database's. */
function clockIsOff(hours: number): void {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + hours * 3_600_000 })
  onTestFinished(() => void vi.useRealTimers())
}

describe('a source that looks wrong writes nothing and says why', () => {
  test.each([
    ['no rows', `delete from person`, 'HR delivered no rows at all'],
    [
      'a fifth fewer rows',
      `delete from person where userid in ('e1', 'e2', 'e3')`,
      'HR delivers 7 rows, 30 % fewer than the last good run (10)',
    ],
    ['no user ids', `update person set userid = null`, 'none of the 10 rows that HR delivers has a user id'],
    [
      'fewer user ids',
      `update person set userid = '' where userid in ('e1', 'e2', 'e3')`,
      'HR delivers 7 rows with a user id, 30 % fewer',
    ],
    [
      'an emptied column',
      `update person set mobile = null where userid > 'e6'`,
      'mobile turned empty for more than 20 %',
    ],
    ['a key twice', `insert into person (userid) values ('e1')`, 'HR delivers a key more than once (e1)'],
    [
      'new keys twice',
      `insert into person (userid) values ('x'), (' x'), ('y'), ('y')`,
      'HR delivers keys more than once (x, y)',
    ],
  ])('%s', async (_, change, message) => {
    await under.inSync(10)
    const before = await under.untouched()
    await hr(change)
    expect(worded(await under.plan())).toMatchObject({
      state: 'source_suspect',
      message: expect.stringContaining(message),
      finishedAt: expect.any(Date),
    })
    expect(await under.untouched()).toEqual(before)
    expect(await under.plan('full')).toMatchObject({ state: 'source_suspect' })
    expect(await under.untouched()).toEqual(before)
  })

  test('on the first run too', async () => {
    expect(await under.plan()).toMatchObject({ state: 'source_suspect' })
    await under.hire(1)
    await under.hire(1)
    expect(worded(await under.plan())).toMatchObject({
      state: 'source_suspect',
      message: expect.stringContaining('(e0)'),
    })
    expect(await under.pending()).toEqual([])
  })

  test('and is compared with the last good run, not with the suspect one', async () => {
    await under.inSync(10)
    await hr(`delete from person where userid > 'e5'`)
    for (const _ of [1, 2]) expect(await under.plan()).toMatchObject({ state: 'source_suspect' })
    await under.hire(4, 6)
    expect(await under.plan()).toMatchObject({ state: 'running', planned: 0 })
  })
})

describe('a run that would change much', () => {
  const change = () => hr(`update person set name = 'other' where userid < 'e4'`)

  test('is held with its plan, and writes nothing', async () => {
    await under.inSync(10)
    await change()
    const before = await under.untouched()
    expect(worded(await under.plan())).toMatchObject({
      state: 'held',
      planned: 4,
      plan: { reasons: { changed: 4 }, sample: ['e0', 'e1', 'e2', 'e3'] },
      message: expect.stringContaining('4 of 10 employees would change, more than 2 and 10 %'),
      finishedAt: null,
    })
    expect(await under.untouched()).toEqual(before)
  })

  test('says how many of these have left or vanished, about whom nothing is sent', async () => {
    await under.inSync(10)
    await hr(`update person set active = false where userid in ('e1', 'e2')`)
    await hr(`delete from person where userid = 'e3'`)
    await hr(`update person set name = 'other' where userid = 'e4'`)
    expect(worded(await under.plan())).toMatchObject({
      state: 'held',
      message:
        '4 of 10 employees would change, 3 of them by leaving, about which nothing is sent: more than 2 and 10 %.',
    })
  })

  const approve = async (id: number) => {
    await under.store.pool.query('select dirsync.approve($1)', [id])
    return under.planRequested(id)
  }
  const run = async (id: number) => (await readRun(under.store.pool, id)) as Run
  /** As a tick of the cron job has it. */
  const tick = async (id: number) => {
    await recheckHeldRun(under.store.pool, id)
    return under.planRequested(id)
  }

  test('goes on once it is approved, exactly as it was stored, whatever HR says by then', async () => {
    await under.inSync(10)
    await change()
    const { id } = await under.plan()
    await hr(`update person set name = 'other' where userid = 'e5'`)
    await hr(`delete from person where userid <> 'e5'`)
    expect(await approve(id)).toMatchObject({ state: 'running', approved: true, planned: 4, message: null })
    expect(await under.pending()).toEqual(['e0', 'e1', 'e2', 'e3'])
  })

  test('counts the employees that it covers: never more changes than employees, whichever rows were read', async () => {
    await under.hire(10)
    await hr(`update person set active = false where userid > 'e5'`)
    await hr(`update person set updated_at = now() - interval '1 hour'`)
    await under.plan('changes', { employees: TIMED })
    await under.acknowledge()
    await hr(`update person set name = 'other', active = false, updated_at = now() where userid < 'e5'`)
    await under.plan('changes', { employees: TIMED, limits: { breaker: { count: 100, percent: 100 } } })
    await hr(`update person set name = 'yet another', updated_at = now() where userid < 'e9'`)
    const plans = await under.store.rows<{
      total: number
      planned: number
      in_scope: number
      read_all: boolean
    }>(
      `select (plan ->> 'total')::int as total, planned, in_scope, read_all from dirsync.sync_run order by id`,
    )
    expect(plans).toEqual([
      { total: 10, planned: 10, in_scope: 6, read_all: true },
      { total: 6, planned: 5, in_scope: 1, read_all: false },
    ])
    expect(worded(await under.plan('changes', { employees: TIMED }))).toMatchObject({
      state: 'held',
      inScope: 1,
      plan: { total: 9 },
      message: expect.stringContaining('9 of 9 employees would change'),
    })
  })

  test('is stored entity by entity, and what a later plan passed meanwhile is left out', async () => {
    await under.inSync(10)
    await change()
    const { id } = await under.plan()
    expect(
      await under.store.rows(
        'select entity_key, reason, active, source_hash <> previous_hash as differs from dirsync.planned_work order by 1',
      ),
    ).toEqual(
      ['e0', 'e1', 'e2', 'e3'].map(entity_key => ({
        entity_key,
        reason: 'changed',
        active: true,
        differs: true,
      })),
    )
    await under.store.pool.query(
      `update dirsync.employee set source_hash = gen_random_uuid() where userid = 'e3'`,
    )
    expect(worded(await approve(id))).toMatchObject({
      state: 'running',
      message: '1 planned rows are left out: a later plan that passed has seen newer ones.',
    })
    expect(await under.pending()).toEqual(['e0', 'e1', 'e2'])
  })

  test('keeps its plan while HR still looks harmful, and tells how many rows have changed since', async () => {
    await under.inSync(10)
    await change()
    const { id } = await under.plan()
    expect(worded(await tick(id))).toMatchObject({
      state: 'held',
      message: expect.stringContaining('HR has not changed since'),
    })
    await hr(`update person set name = 'yet another' where userid in ('e3', 'e4')`)
    expect(await tick(id)).toMatchObject({
      state: 'held',
      planned: 4,
      plan: { changed_since: 2 },
      message: expect.stringContaining('Since then HR has changed 2 rows'),
    })
    await hr('delete from person')
    expect(await tick(id)).toMatchObject({
      state: 'held',
      message: expect.stringContaining('HR delivered no rows at all'),
    })
    await approve(id)
    expect(await under.pending()).toEqual(['e0', 'e1', 'e2', 'e3'])
  })

  test('is superseded by the next run whose plan passes', async () => {
    await under.inSync(10)
    await change()
    const { id } = await under.plan()
    await hr(`update person set name = 'n' || substr(userid, 2) where userid < 'e3'`)
    expect(await tick(id)).toMatchObject({ state: 'superseded', finishedAt: expect.any(Date) })
    expect(await run(id + 1)).toMatchObject({ state: 'running', requestedBy: 'cron', planned: 1 })
    expect(await under.pending()).toEqual(['e3'])
    await expect(under.store.pool.query('select dirsync.approve($1)', [id])).rejects.toThrow('no held run')
  })

  test('is not replaced by another run of its kind that would be held too', async () => {
    await under.inSync(10)
    await change()
    const { id } = await under.plan()
    await hr(`update person set name = 'other' where userid = 'e5'`)
    expect(worded(await under.plan())).toMatchObject({
      state: 'superseded',
      message: expect.stringContaining(`Run ${id} was held with such a plan already`),
    })
    expect(await run(id)).toMatchObject({ state: 'held', plan: { changed_since: 1 } })
  })

  test('stands for a full run too: one decision is enough', async () => {
    await under.inSync(10)
    await change()
    const { id } = await under.plan()
    expect(worded(await under.plan('full'))).toMatchObject({
      state: 'superseded',
      message: expect.stringContaining(`Run ${id} was held with such a plan already`),
    })
    await approve(id)
    expect(await under.pending()).toEqual(['e0', 'e1', 'e2', 'e3'])
  })

  test('and whose waiting work is withdrawn: a vanished employee is found missing again', async () => {
    await under.inSync(10)
    await hr(`delete from person where userid < 'e2'`)
    const { id } = await under.plan()
    await under.store.pool.query('select dirsync.cancel($1)', [id])
    expect(await under.pending()).toEqual([])
    await hr(`delete from person where userid = 'e2'`)
    expect(
      await under.plan('changes', { limits: { gate: { maxFewerRows: 100, maxEmptied: 100 } } }),
    ).toMatchObject({
      state: 'held',
      plan: { reasons: { vanished: 3 } },
    })
  })

  test('and is cancelled takes back also what the feeder or a worker has touched meanwhile', async () => {
    await under.inSync(10)
    await hr(`update person set name = 'other' where userid < 'e2'`)
    const { id } = await under.plan()
    const { pool } = under.store
    const client = await pool.connect()
    try {
      await client.query('begin')
      await client.query(`update dirsync.pending set enqueued_at = now() where entity_key = 'e0'`)
      const cancelled = pool.query('select dirsync.cancel($1)', [id])
      await until(async () => {
        const { rowCount } = await pool.query(
          `select from pg_stat_activity where wait_event_type = 'Lock' and query like '%dirsync.cancel%'`,
        )
        return rowCount === 1
      })
      await client.query('commit')
      await cancelled
    } finally {
      client.release()
    }
    expect(await under.pending()).toEqual([])
  })

  test('and is cancelled takes back a job that was in hand and comes back', async () => {
    await under.inSync(10)
    await hr(`update person set name = 'other' where userid < 'e2'`)
    const { id } = await under.plan()
    const { pool } = under.store
    await pool.query(`update dirsync.pending set starts = 1 where entity_key = 'e0'`)
    await pool.query('select dirsync.cancel($1)', [id])
    expect(await under.pending()).toEqual(['e0'])
    await finishRuns(pool)
    expect(await run(id)).toMatchObject({ state: 'running' })
    await pool.query('update dirsync.pending set starts = 0, in_hand = false')
    await finishRuns(pool)
    expect(await under.pending()).toEqual([])
    expect(await run(id)).toMatchObject({ state: 'cancelled' })
    expect(await under.plan()).toMatchObject({ planned: 2 })
  })

  test('does not count as passed: rows that a full run has under way are still held back', async () => {
    await under.inSync(10)
    await under.plan('full')
    await change()
    expect(await under.plan()).toMatchObject({ state: 'held', planned: 4 })
    expect(
      await under.store.rows(`select from dirsync.employee where source_hash <> acknowledged_hash`),
    ).toEqual([])
  })

  test.each([
    ['leavers', `update person set active = false where userid < 'e4'`, { left: 4 }],
    [
      'newcomers',
      `insert into person (userid, name, mobile) values ('x1', 'n', '1'), ('x2', 'n', '2'), ('x3', 'n', '3')`,
      { new: 3 },
    ],
    [
      'a bit of all',
      `update person set active = false where userid = 'e1'; delete from person where userid = 'e2'; insert into person (userid) values ('x')`,
      { left: 1, vanished: 1, new: 1 },
    ],
  ])('is held for %s too', async (_, text, reasons) => {
    await under.inSync(10)
    await hr(text)
    expect(await under.plan()).toMatchObject({ state: 'held', plan: { reasons } })
  })

  test('at the limit goes on', async () => {
    await under.inSync(10)
    await hr(`update person set name = 'other' where userid < 'e2'`)
    expect(await under.plan()).toMatchObject({ state: 'running', planned: 2 })
  })

  test('is not held for what an earlier plan has asked for', async () => {
    await under.inSync(10)
    await change()
    const { id } = await under.plan()
    await under.store.pool.query('select dirsync.approve($1)', [id])
    await under.planRequested(id)
    // The run that judges what HR has changed meanwhile.
    expect(await under.planRequested(id + 1)).toMatchObject({ state: 'running', planned: 0 })
    await hr(`update person set name = 'yet another' where userid = 'e9'`)
    expect(await under.plan()).toMatchObject({ state: 'running', planned: 1 })
  })
})

describe('an employee waiting for a decision', () => {
  const statuses = async () =>
    Object.fromEntries(
      (
        await under.store.rows<{ status: string; ids: string }>(
          `select status, string_agg(userid || coalesce(':' || held_run, ''), ' ' order by userid) as ids
           from dirsync.employee group by 1`,
        )
      ).map(({ status, ids }) => [status, ids]),
    )
  const tallied = async () => {
    const counts = await countStatuses(under.store.pool)
    return Object.fromEntries(Object.entries(counts).filter(([, n]) => n > 0))
  }
  const decide = (what: 'approve' | 'reject', run: number) =>
    under.store.pool.query(`select dirsync.${what}($1${what === 'reject' ? `, 'not so'` : ''})`, [run])
  const next = async () => {
    const id = await under.store.value<number>(
      `select min(id) from dirsync.sync_run where state = 'requested'`,
    )
    return under.planRequested(id)
  }

  async function held(): Promise<number> {
    await under.inSync(8)
    await hr(`update person set name = 'other' where userid in ('e1', 'e2');
      update person set active = false where userid = 'e3'; delete from person where userid = 'e4';
      insert into person (userid, name) values ('x', 'new')`)
    const { id, state } = await under.plan()
    expect(state).toBe('held')
    return id
  }

  test('is not in sync, and is counted and listed with the run', async () => {
    const id = await held()
    const waiting = ['e1', 'e2', 'e3', 'e4', 'x'].map(key => `${key}:${id}`).join(' ')
    expect(await statuses()).toEqual({ in_sync: 'e0 e5 e6 e7', held: waiting })
    expect(await tallied()).toEqual({ in_sync: 4, held: 5 })
    expect((await readOverview(under.store.pool)).employees).toMatchObject({
      in_scope: 9,
      in_sync: 4,
      held: 5,
    })
  })

  test('is in sync again once HR has restored the row, and no trace is left of a newcomer who never came', async () => {
    const id = await held()
    await hr(`update person set name = 'n1' where userid = 'e1'; delete from person where userid = 'x'`)
    await recheckHeldRun(under.store.pool, id)
    await under.planRequested(id)
    expect(await statuses()).toEqual({ in_sync: 'e0 e1 e5 e6 e7', held: `e2:${id} e3:${id} e4:${id}` })
    await hr(`update person set name = 'n2' where userid = 'e2'; update person set active = true;
      insert into person (userid, name, mobile) values ('e4', 'n4', '13800000004')`)
    expect(await under.plan()).toMatchObject({ state: 'running', planned: 0 })
    expect(await statuses()).toEqual({ in_sync: 'e0 e1 e2 e3 e4 e5 e6 e7' })
  })

  test('goes on with the plan that is approved, and HR is checked again at once', async () => {
    const id = await held()
    await hr(`update person set name = 'other' where userid = 'e5'`)
    await decide('approve', id)
    await next()
    expect(await under.pending()).toEqual(['e1', 'e2', 'e3', 'e4', 'x'])
    expect(await next()).toMatchObject({ state: 'running', plan: { reasons: { changed: 1 } } })
    expect(await tallied()).toEqual({ in_sync: 3, waiting: 4, left: 1, vanished: 1 })
  })

  test('stays as it is once the plan is rejected, until HR changes the row again; everybody else goes on', async () => {
    const id = await held()
    await hr(`update person set name = 'other' where userid = 'e5'`)
    await decide('reject', id)
    expect(await next()).toMatchObject({ state: 'running', plan: { reasons: { changed: 1 } } })
    expect(await under.pending()).toEqual(['e5'])
    await under.acknowledge()
    const rejected = ['e1', 'e2', 'x'].map(key => `${key}:${id}`).join(' ')
    // HR says that these are gone, whatever a person thinks of it.
    const gone = { left: `e3:${id}`, vanished: `e4:${id}` }
    for (const kind of ['changes', 'full'] as const) {
      await under.plan(kind)
      expect(await statuses()).toEqual({ in_sync: 'e0 e5 e6 e7', rejected, ...gone })
      await under.acknowledge()
    }
    expect(await tallied()).toEqual({ in_sync: 4, rejected: 3, left: 1, vanished: 1 })
    await hr(`update person set name = 'third' where userid in ('e1', 'e2', 'x')`)
    expect(worded(await under.plan())).toMatchObject({
      state: 'held',
      plan: { reasons: { changed: 2, new: 1 } },
      message: expect.stringContaining(
        `3 of them were rejected before, with run ${id} by postgres (not so).`,
      ),
    })
  })

  test('of departments: a deletion that was rejected is not planned again before HR changes the department', async () => {
    const EMPLOYEES = 'select userid, name, mobile, dept_code, active from person'
    const source = under.source(EMPLOYEES, 'select dept_code, parent_code, active, closed_at from department')
    await under.inSync(3, EMPLOYEES)
    await hr(
      `insert into department select 'D' || i, null, false, now() - interval '2 days' from generate_series(1, 3) i`,
    )
    const { id } = await under.plan('departments', { source })
    await decide('reject', id)
    expect(await under.plan('departments', { source })).toMatchObject({ state: 'running', planned: 0 })
    await hr(`update department set active = true, closed_at = null where dept_code = 'D1'`)
    await under.plan('departments', { source })
    await hr(
      `update department set active = false, closed_at = now() - interval '2 days' where dept_code = 'D1'`,
    )
    expect(await under.plan('departments', { source })).toMatchObject({ plan: { sample: ['D1'] } })
  })
})

describe('with updated_at mapped', () => {
  const plan = (options = {}) => under.plan('changes', { employees: TIMED, ...options })
  const statistics = () => under.store.rows('select read_all, source from dirsync.sync_run order by id')
  /** HR writes a row with the given time. */
  const write = (userid: string, at: string) =>
    hr(`update person set name = 'other', updated_at = ${at} where userid = '${userid}'`)

  async function inSync(): Promise<void> {
    await under.hire(20)
    await hr(`update person set updated_at = now() - interval '1 hour'`)
    await plan()
    await under.acknowledge()
  }

  test('a run reads only newer rows, and misses older ones', async () => {
    await inSync()
    await write('e1', 'now()')
    await write('e2', `now() - interval '2 hours'`)
    expect(await plan()).toMatchObject({ state: 'running', plan: { reasons: { changed: 1 } } })
    const [first, second] = await statistics()
    expect(first).toMatchObject({ read_all: true, source: { rows: 20 } })
    expect(second).toMatchObject({ read_all: false })
    expect(await under.pending()).toEqual(['e1'])
  })

  test('a run counts those in service alike, whether it reads all rows or newer ones, and whatever was decided about leavers', async () => {
    await inSync()
    const OLD = `updated_at = now() - interval '2 hours'`
    await hr(`update person set active = false, updated_at = now() where userid in ('e1', 'e2');
      delete from person where userid = 'e3';
      insert into person (userid, name, active, updated_at) select 'past' || i, 'gone', false, now() from generate_series(1, 2) i;
      insert into person (userid, name) values ('x', 'new')`)
    const figures = async () => {
      const requested = await under.store.rows<{ id: number }>(
        `select id::int from dirsync.sync_run where state = 'requested' order by id`,
      )
      const source = under.source(TIMED)
      const { id, plan: planned } = requested[0]
        ? await under.planRequested(requested[0].id, source)
        : await plan()
      const in_scope = await under.store.value(`select in_scope from dirsync.sync_run where id = ${id}`)
      return { in_scope, total: planned?.total }
    }
    // 17 of those before, and the new one.
    await under.store.pool.query(
      `update dirsync.sync_run set planned_at = planned_at - interval '61 minutes'`,
    )
    const first = await plan()
    expect(first).toMatchObject({
      state: 'held',
      plan: { reasons: { left: 4, vanished: 1, new: 1 }, total: 23 },
    })
    await hr(`update person set ${OLD} where not active`)
    const later = { in_scope: 18, total: 18 }
    await under.store.pool.query(`select dirsync.reject($1, 'not so')`, [first.id])
    expect(await figures()).toEqual(later)
    await hr(`update person set name = 'other', updated_at = now() where userid = 'e5'`)
    expect(await figures()).toEqual(later)
    expect((await statistics()).at(-1)).toMatchObject({ read_all: false })
    expect((await readOverview(under.store.pool)).employees).toMatchObject({ in_scope: 18, rejected: 1 })
  })

  test('rows of the last minutes before the newest are read again', async () => {
    await inSync()
    await write('e1', `(select max(updated_at) - interval '4 minutes' from person)`)
    expect(await plan()).toMatchObject({ planned: 1 })
  })

  test('a time in the future, and a clock of HR that is hours behind, hide nothing', async () => {
    await under.hire(20)
    await hr(`update person set updated_at = now() - interval '9 hours'`)
    await hr(`update person set updated_at = '2099-01-01' where userid = 'e0'`)
    await plan()
    await under.acknowledge()
    await write('e1', `now() - interval '8 hours'`)
    expect(await plan()).toMatchObject({ plan: { reasons: { changed: 1 } } })
    expect((await statistics()).at(-1)).toMatchObject({ read_all: false })
    await under.acknowledge()
    await write('e2', `now() - interval '8 hours' + interval '1 second'`)
    expect(await plan()).toMatchObject({ plan: { reasons: { changed: 1 } } })
  })

  test('a row without a time is read by every run', async () => {
    await inSync()
    await write('e1', 'null')
    expect(await plan()).toMatchObject({ plan: { reasons: { changed: 1 } } })
    expect((await statistics()).at(-1)).toMatchObject({ read_all: false })
  })

  test.each([
    ['the same as', 0],
    ['hours behind', -3],
  ])('a run reads every row once the interval is over, by a clock %s the database', async (_, hours) => {
    await inSync()
    await write('e2', `now() - interval '2 hours'`)
    await hr(`delete from person where userid = 'e3'`)
    expect(await plan()).toMatchObject({ planned: 0 })
    await under.store.pool.query(
      `update dirsync.sync_run set planned_at = planned_at - interval '61 minutes'`,
    )
    clockIsOff(hours)
    expect(await plan()).toMatchObject({ plan: { reasons: { changed: 1, vanished: 1 } } })
    expect((await statistics()).at(-1)).toMatchObject({ read_all: true })
  })

  test('a run that was asked to reads every row, and finds missing employees', async () => {
    await inSync()
    await hr(`delete from person where userid = 'e3'`)
    expect(await plan()).toMatchObject({ planned: 0 })
    const run = await requestRun(under.store.pool, 'changes', [], 'trigger', '', true)
    expect(await under.planRequested(run, under.source(TIMED))).toMatchObject({
      plan: { reasons: { vanished: 1 } },
    })
  })

  test('an employee whose deletion HR tells of waits for a run that reads every row, which is asked for', async () => {
    await inSync()
    await hr(`delete from person where userid = 'e3'; update person set name = 'other' where userid = 'e4'`)
    const named = await requestRun(under.store.pool, 'changes', ['e3', 'e4', 'stranger'], 'trigger')
    expect(await under.planRequested(named, under.source(TIMED))).toMatchObject({
      plan: { reasons: { changed: 1 } },
    })
    expect(
      await under.store.rows(
        `select entity_key as key, run_id as run, replan_at is not null as waits from dirsync.pending order by 1`,
      ),
    ).toEqual([
      { key: 'e3', run: null, waits: true },
      { key: 'e4', run: named, waits: false },
    ])
    const full = await until(async () => {
      const asked = await requestReplan(under.store.pool)
      return typeof asked === 'number' && asked
    })
    expect(await under.planRequested(full, under.source(TIMED))).toMatchObject({
      state: 'running',
      plan: { reasons: { vanished: 1 } },
    })
    expect(
      await under.store.rows(
        'select run_id as run, replan_at from dirsync.pending order by entity_key limit 1',
      ),
    ).toEqual([{ run: full, replan_at: null }])
  })

  test('a run reads every row once the mapping is another one, and carries its fingerprint', async () => {
    await inSync()
    await write('e1', 'now()')
    await plan()
    await under.acknowledge()
    const shouting = TIMED.replace('name', 'upper(name) as name')
    expect(await plan({ employees: shouting })).toMatchObject({
      state: 'held',
      plan: { reasons: { changed: 20 } },
    })
    const mappings = await under.store.rows<{ mapping: string; read_all: boolean }>(
      'select mapping, read_all from dirsync.sync_run order by id',
    )
    const { fingerprint } = await under.source(shouting).inspect()
    expect(mappings.map(({ read_all, mapping }) => [read_all, mapping === fingerprint])).toEqual([
      [true, false],
      [false, false],
      [true, true],
    ])
  })

  test('a run reads every row after one was cancelled, however old the rows are that it took back', async () => {
    await inSync()
    await write('e3', `now() - interval '2 hours'`)
    const { id } = await plan()
    expect(await under.pending()).toEqual([])
    await under.store.pool.query(
      `update dirsync.sync_run set cancelled_at = now(), state = 'cancelled' where id = $1`,
      [id],
    )
    await plan()
    expect(await under.pending()).toEqual(['e3'])
  })

  test('a full run reads every row', async () => {
    await inSync()
    expect(await under.plan('full', { employees: TIMED })).toMatchObject({ planned: 20 })
    expect((await statistics()).at(-1)).toMatchObject({ read_all: true, source: { rows: 20 } })
  })

  test('rows that are not read are not taken for gone, nor for fewer', async () => {
    await inSync()
    expect(await plan()).toMatchObject({ state: 'running', planned: 0 })
    expect(
      await under.store.value('select count(*) from dirsync.employee where vanished_at is not null'),
    ).toBe(0)
  })

  test('the breaker counts against everybody, not against the few that were read', async () => {
    await inSync()
    for (const userid of ['e1', 'e2', 'e3']) await write(userid, 'now()')
    expect(worded(await plan({ limits: { breaker: { count: 0, percent: 10 } } }))).toMatchObject({
      state: 'held',
      message: expect.stringContaining('3 of 20 employees would change'),
    })
    expect(await plan({ limits: { breaker: { count: 0, percent: 15 } } })).toMatchObject({ state: 'running' })
  })

  test.each([
    ['filled before', 0],
    ['empty for many already', 8],
  ])(
    'a column that turns empty is suspect before so many changes are held, when it was %s',
    async (_, empty) => {
      await under.hire(20)
      await hr(`update person set updated_at = now() - interval '1 hour',
      mobile = case when substr(userid, 2)::int >= ${empty} then mobile end`)
      await plan()
      await under.acknowledge()
      const before = await under.untouched()
      await hr(
        `update person set mobile = null, updated_at = now() where userid in ('e11', 'e12', 'e13', 'e14', 'e15')`,
      )
      expect(worded(await plan())).toMatchObject({
        state: 'source_suspect',
        message: expect.stringContaining('mobile turned empty for more than 20 %'),
      })
      expect(await under.untouched()).toEqual(before)
    },
  )

  test('an emptied table is suspect at once, for a run and for a preview', async () => {
    await inSync()
    await hr('delete from person')
    const { employees } = await previewRun({
      ...{ pool: under.store.pool, source: HrSources.one(under.source(TIMED)).all[0] as NamedSource },
      ...{ kind: 'changes', maxAgeMs: null, limits: LIMITS, sellerAppids: [] },
    })
    for (const suspect of [employees, await plan()])
      expect(worded(suspect)).toMatchObject({
        state: 'source_suspect',
        message: expect.stringContaining('HR delivered no rows at all'),
      })
  })

  test('keys that come twice among them are suspect', async () => {
    await inSync()
    await hr(`insert into person (userid, updated_at) values ('e1', now()), ('e1', now())`)
    expect(worded(await plan())).toMatchObject({
      state: 'source_suspect',
      message: expect.stringContaining('(e1)'),
    })
  })

  test.each(['infinity', '2999-01-01'])('a row of the time %s does not hide the others', async time => {
    await under.hire(5)
    await hr(`update person set updated_at = '${time}' where userid = 'e0'`)
    await plan()
    await under.acknowledge()
    await write('e1', 'now()')
    expect(await plan()).toMatchObject({ state: 'running', plan: { reasons: { changed: 1 } } })
  })
})

describe('departments are checked against the last full reading of employees', () => {
  const EMPLOYEES = 'select userid, name, mobile, dept_code, active from person'
  const DEPARTMENTS = 'select dept_code, parent_code, active, closed_at from department'
  const delivering = (employees: string) => under.source(employees, DEPARTMENTS)
  const plan = (employees = EMPLOYEES) => under.plan('departments', { source: delivering(employees) })

  /** Ten employees of D1, whom the platform has not shown yet, two of D2, and a third department without any. */
  async function closed(): Promise<void> {
    await under.hire(12)
    await hr(`update person set dept_code = case when userid in ('e1', 'e2') then 'D2' else 'D1' end;
      insert into department values ('D1', null, true, null), ('D2', null, false, now() - interval '2 days'),
        ('D3', null, false, now() - interval '2 days')`)
    await under.plan('changes', { employees: EMPLOYEES })
    await under.acknowledge()
  }

  test('one that was closed but now stays, although the clock of the process is days ahead', async () => {
    await closed()
    await hr(`update department set closed_at = now() where dept_code = 'D3'`)
    clockIsOff(48)
    expect(await plan()).toMatchObject({ state: 'running', planned: 0 })
    const source = delivering(EMPLOYEES)
    expect(await previewDeletions(under.store.pool, HrSources.one(source), LIMITS)).toMatchObject({
      deletions: [],
    })
  })

  test('one without employees is deleted', async () => {
    await closed()
    expect(await plan()).toMatchObject({ state: 'running', plan: { reasons: { delete: 1 } } })
    expect(await under.pending()).toEqual(['D3'])
  })

  test.each([
    ['no employee at all', `${EMPLOYEES} where false`],
    ['far fewer', `${EMPLOYEES} where userid in ('e0', 'e3', 'e4')`],
    ['all of them without a department', EMPLOYEES.replace('dept_code,', 'null as dept_code,')],
    ['leavers alone', EMPLOYEES.replace(' active', ' false as active')],
  ])('none is while HR delivers %s', async (_, employees) => {
    await closed()
    expect(worded(await plan(employees))).toMatchObject({
      state: 'source_suspect',
      message: expect.stringContaining('of 12 in the last good run'),
    })
    expect(await under.pending()).toEqual([])
    const preview = await previewDeletions(under.store.pool, HrSources.one(delivering(employees)), LIMITS)
    expect(worded(preview)).toMatchObject({
      deletions: [],
      unread: expect.stringContaining('of 12 in the last good run'),
    })
  })

  test('none is while HR delivers no department, for a run and for its preview', async () => {
    await closed()
    await plan()
    await hr('delete from department')
    const why = expect.stringContaining('HR delivered no departments at all')
    expect(worded(await plan())).toMatchObject({ state: 'source_suspect', message: why })
    const preview = await previewDeletions(under.store.pool, HrSources.one(delivering(EMPLOYEES)), LIMITS)
    expect(worded(preview)).toMatchObject({ deletions: [], isHeld: false, unread: why })
  })

  test('none is before a run has read all employees, nor while the last one did not pass', async () => {
    await hr(`insert into department values ('D4', null, false, now() - interval '2 days')`)
    const unread = {
      state: 'running',
      planned: 0,
      message: expect.stringContaining('No department is deleted'),
    }
    expect(worded(await plan())).toMatchObject(unread)
    await closed()
    await hr('update person set name = null')
    await under.plan('changes', { employees: EMPLOYEES })
    expect(await plan()).toMatchObject(unread)
    expect(await under.pending()).toEqual([])
  })
})
