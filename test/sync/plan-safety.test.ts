import { describe, expect, test } from 'vitest'
import { finishRuns, type Run, readRun, rejudgeHeldRun } from '../../src/sync/run.ts'
import { until } from '../helpers/company.ts'
import { PlanUnderTest, TIMED } from './plan-under-test.ts'

const under = new PlanUnderTest()
const hr = (text: string) => under.hr.query(text)

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
    await under.inStep(10)
    const before = await under.untouched()
    await hr(change)
    expect(await under.plan()).toMatchObject({
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
    expect(await under.plan()).toMatchObject({
      state: 'source_suspect',
      message: expect.stringContaining('(e0)'),
    })
    expect(await under.pending()).toEqual([])
  })

  test('and is compared with the last good run, not with the suspect one', async () => {
    await under.inStep(10)
    await hr(`delete from person where userid > 'e5'`)
    for (const _ of [1, 2]) expect(await under.plan()).toMatchObject({ state: 'source_suspect' })
    await under.hire(4, 6)
    expect(await under.plan()).toMatchObject({ state: 'running', planned: 0 })
  })
})

describe('a run that would change much', () => {
  const change = () => hr(`update person set name = 'other' where userid < 'e4'`)

  test('is held with its plan, and writes nothing', async () => {
    await under.inStep(10)
    await change()
    const before = await under.untouched()
    expect(await under.plan()).toMatchObject({
      state: 'held',
      planned: 4,
      plan: { reasons: { changed: 4 }, sample: ['e0', 'e1', 'e2', 'e3'] },
      message: expect.stringContaining('4 of 10 employees would change, more than 2 and 10 %'),
      finishedAt: null,
    })
    expect(await under.untouched()).toEqual(before)
  })

  const approve = async (id: number) => {
    await under.store.pool.query('select dirsync.approve($1)', [id])
    return under.planRequested(id)
  }
  const run = async (id: number) => (await readRun(under.store.pool, id)) as Run
  /** As a tick of the cron job has it. */
  const tick = async (id: number) => {
    await rejudgeHeldRun(under.store.pool, id)
    return under.planRequested(id)
  }

  test('goes on once it is approved, exactly as it was stored, whatever HR says by then', async () => {
    await under.inStep(10)
    await change()
    const { id } = await under.plan()
    await hr(`update person set name = 'other' where userid = 'e5'`)
    await hr(`delete from person where userid <> 'e5'`)
    expect(await approve(id)).toMatchObject({ state: 'running', approved: true, planned: 4, message: null })
    expect(await under.pending()).toEqual(['e0', 'e1', 'e2', 'e3'])
  })

  test('is stored entity by entity, and what a later plan passed meanwhile is left out', async () => {
    await under.inStep(10)
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
    expect(await approve(id)).toMatchObject({
      state: 'running',
      message: '1 planned rows are left out: a later plan that passed has seen newer ones.',
    })
    expect(await under.pending()).toEqual(['e0', 'e1', 'e2'])
  })

  test('keeps its plan while HR still looks harmful, and tells how many rows have changed since', async () => {
    await under.inStep(10)
    await change()
    const { id } = await under.plan()
    expect(await tick(id)).toMatchObject({
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

  test('is superseded by the next run once HR looks right again', async () => {
    await under.inStep(10)
    await change()
    const { id } = await under.plan()
    await hr(`update person set name = 'n' || substr(userid, 2) where userid < 'e3'`)
    expect(await tick(id)).toMatchObject({ state: 'superseded', finishedAt: expect.any(Date) })
    expect(await run(id + 1)).toMatchObject({ state: 'running', requestedBy: 'cron', planned: 1 })
    expect(await under.pending()).toEqual(['e3'])
    await expect(under.store.pool.query('select dirsync.approve($1)', [id])).rejects.toThrow('no held run')
  })

  test('is not replaced by another run of its kind that would be held too', async () => {
    await under.inStep(10)
    await change()
    const { id } = await under.plan()
    await hr(`update person set name = 'other' where userid = 'e5'`)
    expect(await under.plan()).toMatchObject({
      state: 'superseded',
      message: expect.stringContaining(`Run ${id} is held with such a plan already`),
    })
    expect(await run(id)).toMatchObject({ state: 'held', plan: { changed_since: 1 } })
  })

  test('stands for a full run too: one decision is enough', async () => {
    await under.inStep(10)
    await change()
    const { id } = await under.plan()
    expect(await under.plan('full')).toMatchObject({
      state: 'superseded',
      message: expect.stringContaining(`Run ${id} is held with such a plan already`),
    })
    await approve(id)
    expect(await under.pending()).toEqual(['e0', 'e1', 'e2', 'e3'])
  })

  test('and whose waiting work is taken back: who had vanished is found missing again', async () => {
    await under.inStep(10)
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
    await under.inStep(10)
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
    await under.inStep(10)
    await hr(`update person set name = 'other' where userid < 'e2'`)
    const { id } = await under.plan()
    const { pool } = under.store
    await pool.query(`update dirsync.pending set starts = 1 where entity_key = 'e0'`)
    await pool.query('select dirsync.cancel($1)', [id])
    expect(await under.pending()).toEqual(['e0'])
    await finishRuns(pool)
    expect(await run(id)).toMatchObject({ state: 'running' })
    await pool.query('update dirsync.pending set starts = 0')
    await finishRuns(pool)
    expect(await under.pending()).toEqual([])
    expect(await run(id)).toMatchObject({ state: 'cancelled' })
    expect(await under.plan()).toMatchObject({ planned: 2 })
  })

  test('does not count as passed: rows that a full run has under way are still held back', async () => {
    await under.inStep(10)
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
    await under.inStep(10)
    await hr(text)
    expect(await under.plan()).toMatchObject({ state: 'held', plan: { reasons } })
  })

  test('at the limit goes on', async () => {
    await under.inStep(10)
    await hr(`update person set name = 'other' where userid < 'e2'`)
    expect(await under.plan()).toMatchObject({ state: 'running', planned: 2 })
  })

  test('is not held for what an earlier plan has asked for', async () => {
    await under.inStep(10)
    await change()
    const { id } = await under.plan()
    await under.store.pool.query('select dirsync.approve($1)', [id])
    await under.planRequested(id)
    await hr(`update person set name = 'yet another' where userid = 'e9'`)
    expect(await under.plan()).toMatchObject({ state: 'running', planned: 1 })
  })
})

describe('with updated_at mapped', () => {
  const plan = (options = {}) => under.plan('changes', { employees: TIMED, ...options })
  const statistics = () => under.store.rows('select sweep, source from dirsync.sync_run order by id')
  /** HR writes a row with the given time. */
  const write = (userid: string, at: string) =>
    hr(`update person set name = 'other', updated_at = ${at} where userid = '${userid}'`)

  async function inStep(): Promise<void> {
    await under.hire(20)
    await hr(`update person set updated_at = now() - interval '1 hour'`)
    await plan()
    await under.acknowledge()
  }

  test('a run reads only newer rows, and misses what is older', async () => {
    await inStep()
    await write('e1', 'now()')
    await write('e2', `now() - interval '2 hours'`)
    expect(await plan()).toMatchObject({ state: 'running', plan: { reasons: { changed: 1 } } })
    const [first, second] = await statistics()
    expect(first).toMatchObject({ sweep: true, source: { rows: 20 } })
    expect(second).toMatchObject({ sweep: false })
    expect(await under.pending()).toEqual(['e1'])
  })

  test('rows of the last minutes before the newest are read again', async () => {
    await inStep()
    await write('e1', `(select max(updated_at) - interval '4 minutes' from person)`)
    expect(await plan()).toMatchObject({ planned: 1 })
  })

  test('a run reads every row once the interval is over, and finds what was missed', async () => {
    await inStep()
    await write('e2', `now() - interval '2 hours'`)
    await hr(`delete from person where userid = 'e3'`)
    expect(await plan()).toMatchObject({ planned: 0 })
    await under.store.pool.query(
      `update dirsync.sync_run set planned_at = planned_at - interval '61 minutes'`,
    )
    expect(await plan()).toMatchObject({ plan: { reasons: { changed: 1, vanished: 1 } } })
    expect((await statistics()).at(-1)).toMatchObject({ sweep: true })
  })

  test('a run reads every row once the mapping is another one, and carries its fingerprint', async () => {
    await inStep()
    await write('e1', 'now()')
    await plan()
    await under.acknowledge()
    const shouting = TIMED.replace('name', 'upper(name) as name')
    expect(await plan({ employees: shouting })).toMatchObject({
      state: 'held',
      plan: { reasons: { changed: 20 } },
    })
    const mappings = await under.store.rows<{ mapping: string; sweep: boolean }>(
      'select mapping, sweep from dirsync.sync_run order by id',
    )
    const { fingerprint } = await under.source(shouting).inspect()
    expect(mappings.map(({ sweep, mapping }) => [sweep, mapping === fingerprint])).toEqual([
      [true, false],
      [false, false],
      [true, true],
    ])
  })

  test('a run reads every row after one was cancelled, however old the rows are that it took back', async () => {
    await inStep()
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
    await inStep()
    expect(await under.plan('full', { employees: TIMED })).toMatchObject({ planned: 20 })
    expect((await statistics()).at(-1)).toMatchObject({ sweep: true, source: { rows: 20 } })
  })

  test('rows that are not read are not taken for gone, nor for fewer', async () => {
    await inStep()
    expect(await plan()).toMatchObject({ state: 'running', planned: 0 })
    expect(
      await under.store.value('select count(*) from dirsync.employee where vanished_at is not null'),
    ).toBe(0)
  })

  test('the breaker counts against everybody, not against the few that were read', async () => {
    await inStep()
    for (const userid of ['e1', 'e2', 'e3']) await write(userid, 'now()')
    expect(await plan({ limits: { breaker: { count: 0, percent: 10 } } })).toMatchObject({
      state: 'held',
      message: expect.stringContaining('3 of 20 employees would change'),
    })
    expect(await plan({ limits: { breaker: { count: 0, percent: 15 } } })).toMatchObject({ state: 'running' })
  })

  test('keys that come twice among them are suspect', async () => {
    await inStep()
    await hr(`insert into person (userid, updated_at) values ('e1', now()), ('e1', now())`)
    expect(await plan()).toMatchObject({ state: 'source_suspect', message: expect.stringContaining('(e1)') })
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
