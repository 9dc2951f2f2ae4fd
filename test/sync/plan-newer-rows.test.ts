import { describe, expect, test } from 'vitest'
import { previewRun } from '../../src/console/employees/preview.ts'
import { readOverview } from '../../src/console/overview/read.ts'
import { HrSources, type NamedSource, WHOLE } from '../../src/hr/sources.ts'
import { requestRun } from '../../src/sync/runs/run.ts'
import { requestReplan } from '../../src/sync/runs/run-requests.ts'
import { until } from '../helpers/company.ts'
import { worded } from '../texts/worded.ts'
import { clockIsOff, LIMITS, PlanUnderTest, TIMED } from './plan-under-test.ts'

const under = new PlanUnderTest()
const hr = (text: string) => under.hr.query(text)

describe('with updated_at mapped', () => {
  const plan = (options = {}) => under.plan('changes', { employees: TIMED, ...options })
  const statistics = () => under.store.rows('select read_all, source from dirsync.sync_run order by id')
  /** HR writes a row with the given time. */
  const write = (userid: string, at: string) =>
    hr(`update person set name = 'other', updated_at = ${at} where userid = '${userid}'`)

  async function inSync(source = under.source(TIMED)): Promise<void> {
    await under.hire(20)
    await hr(`update person set updated_at = now() - interval '1 hour'`)
    await plan({ source })
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
      const asked = await requestReplan(under.store.pool, WHOLE)
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

  test('rows that HR names wait for a run that reads every row while no such run has passed with the mapping', async () => {
    await inSync()
    const emptied = under.source(TIMED.replace('mobile', 'null::text as mobile'))
    await hr(`update person set name = 'other' where userid = 'e4'`)
    const named = await requestRun(under.store.pool, 'changes', ['e4'], 'trigger')
    expect(await under.planRequested(named, emptied)).toMatchObject({ state: 'running', planned: 0 })
    expect(await under.store.rows('select mapping from dirsync.sync_run where id = $1', [named])).toEqual([
      { mapping: null },
    ])
    const full = await until(async () => {
      const asked = await requestReplan(under.store.pool, WHOLE)
      return typeof asked === 'number' && asked
    })
    expect(await under.planRequested(full, emptied)).toMatchObject({ state: 'source_suspect' })
    expect(
      await under.planRequested(
        await requestRun(under.store.pool, 'changes', [], 'test'),
        under.source(TIMED),
      ),
    ).toMatchObject({
      plan: { reasons: { changed: 1 } },
    })
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

  test('a run reads every row after the clock was put back, and so what a cancelled one took back since', async () => {
    await inSync()
    await under.store.pool.query(`update dirsync.sync_run set planned_at = now() + interval '2 hours'`)
    await write('e3', `now() - interval '2 hours'`)
    const { id } = await plan()
    expect(await under.pending()).toEqual(['e3'])
    await under.store.pool.query(`
      update dirsync.sync_run set planned_at = now() + interval '2 hours' where id = ${id};
      select dirsync.cancel(${id})`)
    expect(await under.pending()).toEqual([])
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
    expect(await plan({ limits: { breaker: { count: 0, percent: 15 } } })).toMatchObject({ state: 'running' })
    await under.acknowledge()
    for (const userid of ['e4', 'e5', 'e6']) await write(userid, 'now()')
    expect(worded(await plan({ limits: { breaker: { count: 0, percent: 10 } } }))).toMatchObject({
      state: 'held',
      message: expect.stringContaining('3 of 20 employees would change'),
    })
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

  test('few rows that all lost a value are read again with all others, be they newer or named by HR', async () => {
    const source = under.source(TIMED.replace('mobile', '(select d.dept_code from department d limit 1)'))
    const limits = { breaker: { count: 5, percent: 10 } }
    const named = async () =>
      under.planRequested(
        await requestRun(under.store.pool, 'changes', ['e1', 'e2', 'e3'], 'trigger'),
        source,
        limits,
      )
    const FULL = `insert into department values ('D0')`
    await hr(FULL)
    await inSync(source)
    for (const userid of ['e1', 'e2', 'e3']) await write(userid, 'now()')
    const before = await under.untouched()

    await hr('delete from department')
    expect(await named()).toMatchObject({ state: 'running', planned: 0 })
    const asked = () => requestReplan(under.store.pool, WHOLE)
    const all = await until(async () => {
      const id = await asked()
      return typeof id === 'number' && id
    })
    expect(worded(await under.planRequested(all, source, limits))).toMatchObject({
      state: 'source_suspect',
      message: expect.stringContaining('dept_code turned empty'),
    })
    await under.store.pool.query('delete from dirsync.pending')
    expect(worded(await plan({ source, limits }))).toMatchObject({
      state: 'source_suspect',
      message: expect.stringContaining('dept_code turned empty'),
    })
    expect(await under.untouched()).toEqual(before)

    await hr(FULL)
    expect(await plan({ source, limits })).toMatchObject({ plan: { reasons: { changed: 3 } } })
    expect((await statistics()).at(-1)).toMatchObject({ read_all: false })
  })

  describe('rows without a value that most have', () => {
    const named = async (...userids: string[]) =>
      under.planRequested(
        await requestRun(under.store.pool, 'changes', userids, 'trigger'),
        under.source(TIMED),
        { breaker: { count: 10, percent: 10 } },
      )
    const WITHOUT_MOBILE = `insert into person (userid, name, mobile, updated_at)
      select 'n' || i, 'new', null, now() from generate_series(1, 3) i`

    test('have newcomers planned at once, and no other row read', async () => {
      await inSync()
      await hr(WITHOUT_MOBILE)
      expect(await named('n1', 'n2', 'n3')).toMatchObject({
        ...{ state: 'running', message: null },
        plan: { reasons: { new: 3 } },
      })
      await plan()
      await hr(`insert into person (userid, name, mobile) values ('m', 'new', null)`)
      expect(await plan()).toMatchObject({ plan: { reasons: { new: 1 } } })
      expect((await statistics()).at(-1)).toMatchObject({ read_all: false })
    })

    test('have no other row read while they do not change, or leave', async () => {
      await inSync()
      await hr(WITHOUT_MOBILE)
      await named('n1', 'n2', 'n3')
      await under.acknowledge()
      await hr('update person set updated_at = now()')
      expect(await named('n1', 'n2', 'n3')).toMatchObject({ planned: 0, message: null })
      await hr(`update person set active = false where userid like 'n%'`)
      expect(await named('n1', 'n2', 'n3')).toMatchObject({ message: null, plan: { reasons: { left: 3 } } })
      expect(await requestReplan(under.store.pool, WHOLE)).toBeNull()
    })

    test.each(['null', `' '`])(
      'wait for a reading of all where they lost it (%s), which the run says, while others go on',
      async none => {
        await inSync()
        await hr(WITHOUT_MOBILE)
        await hr(`update person set mobile = ${none} where userid in ('e1', 'e2', 'e3')`)
        expect(await named('e1', 'e2', 'e3', 'n1')).toMatchObject({
          state: 'running',
          message: expect.stringContaining('3 employees changed in HR and all lack a value'),
          plan: { reasons: { new: 1 } },
        })
        expect(
          await under.store.rows(
            `select entity_key from dirsync.pending where replan_at is not null order by 1`,
          ),
        ).toEqual(['e1', 'e2', 'e3'].map(entity_key => ({ entity_key })))
      },
    )
  })

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
