import { describe, expect, test } from 'vitest'
import { readOverview } from '../../src/console/overview/read.ts'
import { readRunStory } from '../../src/console/runs/story.ts'
import { WHOLE } from '../../src/hr/sources.ts'
import { planningMs, recheckHeldRun, requestRun } from '../../src/sync/runs/run.ts'
import { requestReplan } from '../../src/sync/runs/run-requests.ts'
import { settle } from '../../src/sync/settle/settlement.ts'
import { until } from '../helpers/company.ts'
import { freePort } from '../helpers/free-port.ts'
import { hrSource } from '../hr/hr-database.ts'
import { worded } from '../texts/worded.ts'
import { begin, employee, memory, outcome } from './outcomes.ts'
import { MAPPING, PlanUnderTest } from './plan-under-test.ts'
import { fail, plant, plantWork } from './planted.ts'
import { WAITING_FOR_A_LOCK } from './store-under-test.ts'

const under = new PlanUnderTest()
const hr = (text: string) => under.hr.query(text)
const employees = () => under.store.rows('select * from dirsync.employee order by userid')

describe('the first run', () => {
  test('asks for everybody, however many they are', async () => {
    await under.hire(30)
    expect(await under.plan()).toMatchObject({
      state: 'running',
      inScope: 30,
      planned: 30,
      plan: { reasons: { new: 30 } },
    })
    expect(await under.pending()).toHaveLength(30)
    expect(
      await under.store.rows('select distinct run_id is not null as owned, priority from dirsync.pending'),
    ).toEqual([{ owned: true, priority: 3 }])
  })

  test('asks about leavers too, but counts only the active ones as in scope', async () => {
    await under.hire(3)
    await hr(`update person set active = false where userid = 'e0'`)
    expect(await under.plan()).toMatchObject({ inScope: 2, plan: { reasons: { new: 2, left: 1 } } })
    expect(await employees()).toMatchObject([{ active: false }, { active: true }, { active: true }])
  })

  test('is held when by the mapping most have left, unless a setting permits it', async () => {
    await under.hire(30)
    const inactive = MAPPING.replace('active', '0 as active')
    const held = await under.plan('changes', { employees: inactive })
    expect(worded(held)).toMatchObject({
      state: 'held',
      message: expect.stringContaining('HR says that 30 of 30 employees have left, more than 50 %'),
      plan: { reasons: { left: 30 }, leavers: { left: 30, of: 30 } },
    })
    expect(await under.pending()).toEqual([])
    // None of them was ever in service: neither the plan nor a count has them in scope.
    const counted = async () => (await readOverview(under.store.pool)).employees.in_scope
    expect([held.inScope, await counted()]).toEqual([0, 0])
    expect(await under.plan('full', { employees: inactive })).toMatchObject({
      state: 'superseded',
      inScope: 0,
    })
    const most = MAPPING.replace('active', `userid > 'e3' as active`)
    expect(await under.plan('changes', { employees: most, limits: { maxLeavers: 90 } })).toMatchObject({
      state: 'running',
      plan: { reasons: { new: 6, left: 24 } },
    })
  })
})

describe('a later run', () => {
  test('requests no work when nothing has changed', async () => {
    await under.inSync(5)
    const before = await under.untouched()
    expect(await under.plan()).toMatchObject({
      state: 'running',
      inScope: 5,
      planned: 0,
      plan: { reasons: {}, sample: [] },
    })
    expect(await under.untouched()).toEqual(before)
  })

  test('requests work for employees who are new, changed, left, vanished or returned, and says which', async () => {
    await under.inSync(20)
    await hr(`delete from person where userid in ('e1', 'e2')`)
    await under.plan()
    await under.acknowledge()
    await under.hire(1, 20)
    await hr(`update person set name = 'other' where userid = 'e3'`)
    await hr(`update person set active = false where userid = 'e4'`)
    await hr(`delete from person where userid = 'e5'`)
    await hr(`insert into person (userid, name) values ('e1', 'back')`)
    const run = await under.plan('changes', { limits: { breaker: { count: 9, percent: 0 } } })
    expect(run).toMatchObject({
      state: 'running',
      inScope: 18,
      planned: 5,
      plan: {
        reasons: { new: 2, changed: 1, left: 1, vanished: 1 },
        sample: ['e3', 'e4', 'e1', 'e20', 'e5'],
      },
    })
    expect(await under.pending()).toEqual(['e1', 'e20', 'e3', 'e4', 'e5'])
    const known = new Map((await employees()).map(row => [row.userid, row]))
    expect(known.get('e5')).toMatchObject({
      active: false,
      source_hash: null,
      acknowledged_hash: null,
      vanished_at: expect.any(Date),
    })
    expect(known.get('e1')).toMatchObject({ active: true, vanished_at: null })
    expect(known.get('e4')).toMatchObject({ active: false })
    expect(known.get('e2')).toMatchObject({ vanished_at: expect.any(Date) })
  })

  test('asks for whom HR has given a state that is unclear, and once only', async () => {
    const employees = `select userid, name, case dept_code when 'D0' then '1' else dept_code end as active from person`
    await under.inSync(3, employees)
    await hr(`update person set dept_code = 'retired' where userid = 'e1'`)
    expect(await under.plan('changes', { employees })).toMatchObject({ plan: { reasons: { changed: 1 } } })
    await under.acknowledge('e1')
    expect(await under.plan('changes', { employees })).toMatchObject({ planned: 0 })
    await hr(`update person set dept_code = 'D0' where userid = 'e1'`)
    expect(await under.plan('changes', { employees })).toMatchObject({ plan: { reasons: { changed: 1 } } })
  })

  test('asks once about vanished employees, and not at all if the platform never had them', async () => {
    await under.inSync(10)
    await under.store.pool.query(`update dirsync.employee set platform_state = 'absent' where userid = 'e2'`)
    await hr(`delete from person where userid in ('e1', 'e2')`)
    expect(await under.plan()).toMatchObject({ plan: { reasons: { vanished: 1 } } })
    await under.acknowledge()
    expect(await under.plan()).toMatchObject({ planned: 0 })
  })

  test('does not ask again for a row that is a dead letter, until the row changes', async () => {
    await under.inSync(5)
    await hr(`update person set mobile = '1' where userid = 'e1'`)
    await under.plan()
    await under.acknowledge('e1')
    expect(await under.plan()).toMatchObject({ planned: 0 })
    await hr(`update person set mobile = '2' where userid = 'e1'`)
    expect(await under.plan()).toMatchObject({ plan: { reasons: { changed: 1 } } })
  })

  test('asks for everybody when another column is mapped', async () => {
    await under.inSync(5)
    const wider = 'select userid, name, mobile, active, dept_code from person'
    expect(await under.plan('changes', { employees: wider })).toMatchObject({
      state: 'held',
      plan: { reasons: { changed: 5 } },
    })
    const reordered = 'select active, mobile, name, userid from person'
    expect(await under.plan('changes', { employees: reordered })).toMatchObject({ planned: 0 })
  })
})

describe('work that is in the outbox already', () => {
  test('keeps its run and its place, and is counted in no other run', async () => {
    await under.hire(10)
    const first = await under.plan()
    await under.store.pool.query(
      `update dirsync.pending set enqueued_at = now(), attempts = 2, in_hand = entity_key > 'e5'`,
    )
    // One is in step by now, so that this is no first run any more.
    await under.store.pool.query(
      `update dirsync.employee set acknowledged_hash = source_hash where userid = 'e0'`,
    )
    await under.store.pool.query(`delete from dirsync.pending where entity_key = 'e0'`)
    const before = await under.store.rows('select * from dirsync.pending order by entity_key')
    expect(await under.plan()).toMatchObject({ state: 'running', planned: 0 })
    expect(await under.store.rows('select * from dirsync.pending order by entity_key')).toEqual(before)
    expect(before).toMatchObject(
      Array.from({ length: 9 }, () => ({ run_id: first.id, version: 1, attempts: 2 })),
    )
  })

  test('is asked for anew when its row has changed meanwhile', async () => {
    await under.hire(3)
    await under.plan()
    await under.store.pool.query(`update dirsync.pending set enqueued_at = now(), attempts = 2, priority = 1`)
    await hr(`update person set name = 'other' where userid = 'e1'`)
    const second = await under.plan()
    expect(second).toMatchObject({ planned: 1, plan: { reasons: { changed: 1 } } })
    expect(await under.store.rows(`select * from dirsync.pending where entity_key = 'e1'`)).toMatchObject([
      { run_id: second.id, version: 2, attempts: 0, priority: 1, enqueued_at: expect.any(Date) },
    ])
  })

  test('of a full run is taken into the queue again when a change makes it urgent', async () => {
    await under.inSync(3)
    await under.plan('full')
    await under.store.pool.query(`update dirsync.pending set enqueued_at = now()`)
    await hr(`update person set name = 'other' where userid = 'e1'`)
    await under.plan()
    expect(
      await under.store.rows(`select priority, enqueued_at from dirsync.pending where entity_key = 'e1'`),
    ).toEqual([{ priority: 3, enqueued_at: null }])
  })

  test("is not ended by an execution that begins while a plan finds HR's earlier row again", async () => {
    await under.inSync(2)
    await under.hr.query(`update person set name = 'other' where userid = 'e1'`)
    await under.plan()
    await under.hr.query(`update person set name = 'n1' where userid = 'e1'`)
    await using held = await under.store.pool.connect().then(client => ({
      client,
      async [Symbol.asyncDispose]() {
        await client.query('rollback')
        client.release()
      },
    }))
    await held.client.query(`begin; select from dirsync.employee where userid = 'e1' for update`)
    const planned = under.plan()
    // It has compared the rows.
    await until(async () => (await under.store.rows(WAITING_FOR_A_LOCK)).length > 0)
    const claimed = begin(under.store, employee('e1'))
    await Promise.race([claimed, until(async () => (await under.store.rows(WAITING_FOR_A_LOCK)).length > 1)])
    await held.client.query('rollback')
    await planned
    const { sourceHash } = await claimed
    await settle(under.store.pool, [
      outcome(employee('e1'), await claimed, { employee: memory({ acknowledgedHash: sourceHash }) }),
    ])
    expect(
      await under.store.rows(
        `select status, exists (select from dirsync.pending) as has_work from dirsync.employee where userid = 'e1'`,
      ),
    ).not.toEqual([{ status: 'waiting', has_work: false }])
  })
})

describe('a full run', () => {
  test('asks for everybody, changes before the rest, and is not held for it', async () => {
    await under.inSync(9)
    await hr(`update person set name = 'other' where userid = 'e1'`)
    expect(await under.plan('full')).toMatchObject({
      state: 'running',
      planned: 9,
      plan: { reasons: { changed: 1, asked: 8 } },
    })
    expect(await under.store.rows('select entity_key from dirsync.pending where priority = 3')).toEqual([
      { entity_key: 'e1' },
    ])
    expect(await under.store.value('select count(*) from dirsync.pending where priority = 7')).toBe(8)
  })

  test('asks once more about whom a worker had in hand when the memory came into doubt', async () => {
    await under.inSync(3)
    await under.plan('full')
    const claimed = await begin(under.store, employee('e0'))
    await under.store.pool.query('select dirsync.doubt_memory()')
    const asks = Number(await under.store.value('select max(id) from dirsync.sync_run'))
    expect(await under.planRequested(asks)).toMatchObject({ plan: { reasons: { asked: 1 } } })
    // The platform shows them as they were known when the worker began.
    const found = { employee: memory(), isStored: true }
    await settle(under.store.pool, [outcome(employee('e0'), claimed, found)])
    expect(await under.pending()).toEqual(['e0', 'e1', 'e2'])
  })

  test('with a max age leaves out whose very row the platform confirmed within it, unless something is in doubt', async () => {
    await under.inSync(9)
    await under.store.pool.query(`
      update dirsync.employee set acknowledged_at = now() - case userid when 'e1' then interval '61 minutes' else '59 minutes' end;
      update dirsync.employee set acknowledged_at = null where userid = 'e2';
      update dirsync.employee set acknowledged = '{"mobile": "?"}' where userid = 'e3';
      update dirsync.employee set acknowledged_hash = null, parked_hash = source_hash where userid = 'e4';
      update dirsync.employee set platform_state = 'unknown' where userid = 'e6'`)
    await fail(under.store, { entity_key: 'e5' })
    await hr(`update person set name = 'other' where userid = 'e7'`)
    const id = await under.store.value(`select dirsync.resync('full', max_age => '1 hour')`)
    expect(await under.planRequested(Number(id))).toMatchObject({
      maxAgeMs: 3_600_000,
      inScope: 9,
      planned: 7,
      plan: { reasons: { changed: 1, asked: 6 }, skipped: 2 },
    })
    expect(await under.pending()).toEqual(['e1', 'e2', 'e3', 'e4', 'e5', 'e6', 'e7'])
  })

  test.each(['infinity', '178000000 years'])(
    'with a max age of %s leaves out whom it ever confirmed',
    async age => {
      await under.inSync(2)
      await under.store.pool.query(
        `update dirsync.employee set acknowledged_at = now() - interval '9 years' where userid = 'e0'`,
      )
      const id = await under.store.value(`select dirsync.resync('full', max_age => '${age}')`)
      expect(await under.planRequested(Number(id))).toMatchObject({ state: 'running', plan: { skipped: 1 } })
    },
  )

  test('leaves to its run what is in the outbox, leavers that were checked, and vanished employees', async () => {
    await under.inSync(9)
    await hr(`update person set active = false where userid = 'e0'`)
    await hr(`delete from person where userid = 'e8'`)
    await under.plan()
    await under.acknowledge()
    await hr(`update person set name = 'other' where userid = 'e1'`)
    await under.plan()
    const run = await under.plan('full')
    expect(run).toMatchObject({ inScope: 7, plan: { reasons: { asked: 6 } } })
  })
})

describe('in several enterprises', () => {
  const MANY = `select 'C' || right(userid, 1) as enterprise_code, name as userid, name, mobile from person`

  test('the same user id is a different employee in each', async () => {
    await under.hire(2)
    await hr(`update person set name = 'same'`)
    expect(await under.plan('changes', { employees: MANY })).toMatchObject({
      planned: 2,
      plan: { sample: ['C0/same', 'C1/same'] },
    })
    await under.acknowledge()
    await hr(`update person set mobile = '1' where userid = 'e1'`)
    await under.plan('changes', { employees: MANY })
    expect(await under.store.rows('select enterprise_code, entity_key from dirsync.pending')).toEqual([
      { enterprise_code: 'C1', entity_key: 'same' },
    ])
  })
})

describe('rows without a user id', () => {
  test('are left out, and are one case until there are none', async () => {
    await under.hire(10)
    await hr(`insert into person (userid, name) values (null, 'x'), ('', 'y'), ('  ', 'z')`)
    expect(worded(await under.plan())).toMatchObject({ state: 'running', planned: 10 })
    const cases = () =>
      under.store.rows(
        `select category, dirsync.in_language('en', message) as message, state from dirsync.dead_letter`,
      )
    expect(await cases()).toEqual([
      {
        category: 'invalid_hr_row',
        message: '3 rows of HR have no user id, or one that is far too long.',
        state: 'open',
      },
    ])
    await hr(`delete from person where name in ('x', 'y', 'z')`)
    await under.acknowledge()
    await under.plan('changes', { limits: { gate: { maxFewerRows: 50, maxEmptied: 50 } } })
    expect(await cases()).toMatchObject([{ state: 'resolved' }])
  })
})

describe('of an enterprise that no run has met yet', () => {
  const mapped = `select company as enterprise_code, userid, name from
    (select userid, name, case when userid = 'e2' then 'E8' else 'E7' end as company from person) p`
  const plan = async (kind: 'employees' | 'changes', ...keys: string[]) =>
    under.planRequested(await requestRun(under.store.pool, kind, keys, 'test'), under.source(mapped))
  const pending = () =>
    under.store.rows('select enterprise_code, entity_key from dirsync.pending order by 1, 2')

  test('employees are planned by their user ids, or with the enterprise before it', async () => {
    await under.hire(4)
    expect(worded(await plan('employees', 'e1', 'E8/e2', 'E8/e3', 'e9'))).toMatchObject({
      state: 'running',
      message: 'unknown: E8/e3, e9',
    })
    expect(await pending()).toEqual([
      { enterprise_code: 'E7', entity_key: 'e1' },
      { enterprise_code: 'E8', entity_key: 'e2' },
    ])
  })

  test("so are those that HR's trigger names", async () => {
    await under.hire(1)
    await plan('changes')
    await under.hire(3, 1)
    expect(await plan('changes', 'e1', 'e2')).toMatchObject({ state: 'running' })
    expect(await pending()).toEqual([
      { enterprise_code: 'E7', entity_key: 'e0' },
      { enterprise_code: 'E7', entity_key: 'e1' },
      { enterprise_code: 'E8', entity_key: 'e2' },
    ])
  })
})

describe('when HR cannot be read', () => {
  test('the run fails, says why, and changes nothing; the next one tries', async () => {
    await under.inSync(3)
    const before = await under.untouched()
    await hr('alter table person rename to people')
    try {
      expect(worded(await under.plan())).toMatchObject({
        state: 'failed',
        message: expect.stringContaining('"person" does not exist'),
      })
    } finally {
      await hr('alter table people rename to person')
    }
    expect(await under.untouched()).toEqual(before)
    expect(await under.plan()).toMatchObject({ state: 'running' })
  })

  test('because a value breaks the mapping in the middle of the scan, nothing is left behind', async () => {
    await under.inSync(3)
    const before = await under.untouched()
    await hr(`insert into person (userid, mobile) values ('e9', 'none')`)
    const brittle = MAPPING.replace('mobile,', 'mobile::bigint::text as mobile,')
    expect(worded(await under.plan('changes', { employees: brittle }))).toMatchObject({
      state: 'failed',
      message: expect.stringContaining('failed on a value in HR'),
    })
    expect(await under.untouched()).toEqual(before)
  })

  test('because its connection is cut in the middle of the scan, the run fails', async () => {
    const planned = under.plan('changes', {
      employees: `select n as userid, 'n' as name from generate_series(1, 3000000) n`,
    })
    const cut = () =>
      hr(`select pg_terminate_backend(pid) from pg_stat_activity
          where datname = current_database() and query like 'copy %' and state = 'active'`)
    await expect.poll(async () => (await cut()).rowCount).toBe(1)
    expect(worded(await planned)).toMatchObject({
      state: 'failed',
      message: expect.stringContaining('closed the connection (57P01)'),
    })
    expect(await under.pending()).toEqual([])
  })
})

test('HR that does not answer halts everything, also while nothing is in the queue, until a run has read it', async () => {
  const halts = () =>
    under.store.rows(
      `select scope, category, dirsync.in_language('en', message) as message from dirsync.halt`,
    )
  await under.hire(3)
  const away = hrSource(`postgres://nobody@127.0.0.1:${await freePort()}/hr`, MAPPING)
  expect(await under.plan('changes', { source: away })).toMatchObject({ state: 'failed' })
  expect(await halts()).toEqual([
    { scope: '*', category: 'hr_unavailable', message: expect.stringMatching(/^HR cannot be read: /) },
  ])
  // A mapping that HR refuses is no HR that is away, and says nothing about whether it answers.
  await under.plan('changes', { employees: 'select userid from nowhere' })
  expect(await halts()).toHaveLength(1)
  expect(await under.plan()).toMatchObject({ state: 'running' })
  expect(await halts()).toEqual([])
})

test('the planner’s own connection may be cut, and the process lives on', async () => {
  await under.hire(3)
  const { pool } = under.store
  const source = under.source()
  const scan = source.scan.bind(source)
  source.scan = async options => {
    await pool.query(
      `select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and pid <> pg_backend_pid()
         and database = (select oid from pg_database where datname = current_database())`,
    )
    return scan(options)
  }
  expect(await under.plan('changes', { source })).toMatchObject({ state: 'running', planned: 3 })
  await plant(under.store, 'sync_run', { kind: 'changes', state: 'requested' })
  expect(await under.plan()).toBeDefined()
})

describe('HR that takes long to read', () => {
  /** HR takes so many seconds for each reading. */
  const slow = (seconds: number) => {
    // A source of its own: others are kept for further tests.
    const source = under.source(`${MAPPING} where userid <> '${seconds}'`)
    const scan = source.scan.bind(source)
    source.scan = async options => {
      await under.store.pool.query('select pg_sleep($1)', [seconds])
      return scan(options)
    }
    return source
  }

  test('is left in peace for nine times as long, whether it passed or was checked again', async () => {
    const { pool } = under.store
    const leftInPeace = async (run: number) => {
      expect(await planningMs(pool, run)).toBeGreaterThanOrEqual(2000)
      await plantWork(under.store, 'e0', { not_before: 'infinity', replan_at: new Date() })
      expect(await requestReplan(pool, WHOLE)).toBe('early')
      await pool.query('delete from dirsync.pending')
    }
    await under.hire(20)
    const passed = await under.plan('changes', { source: slow(2) })
    expect(passed.state).toBe('running')
    await under.acknowledge()
    await leftInPeace(passed.id)

    await hr(`update person set name = 'other'`)
    const { id } = await under.plan()
    await recheckHeldRun(pool, id)
    expect(await under.planRequested(id, slow(2.1))).toMatchObject({ state: 'held' })
    await leftInPeace(id)
  })

  test('makes a run take as long that ends once it is planned', async () => {
    const { id, state } = await under.plan('changes', { source: slow(1) })
    expect(state).toBe('source_suspect')
    const run = await readRunStory(under.store.pool, id)
    const soonest = (run?.started_at?.getTime() ?? Number.NaN) + 1000
    for (const at of [run?.planned_at, run?.finished_at])
      expect(at?.getTime()).toBeGreaterThanOrEqual(soonest)
  })

  test('and fails counts as read for as long', async () => {
    const source = slow(1.1)
    const scan = source.scan
    source.scan = async options => {
      await scan(options)
      throw new Error('HR went away')
    }
    const { id, state } = await under.plan('changes', { source })
    expect(state).toBe('failed')
    expect(await planningMs(under.store.pool, id)).toBeGreaterThanOrEqual(1000)
  })
})
