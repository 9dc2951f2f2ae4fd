import { pino } from 'pino'
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { countStatuses } from '../../src/console/employees/list.ts'
import { HAS_MAPPING } from '../../src/sync/outbox/claim.ts'
import { refeedAbandoned } from '../../src/sync/outbox/feeding.ts'
import { Commands } from '../../src/sync/runs/commands.ts'
import { type Run, readRun, recheckHeldRun, requestRun } from '../../src/sync/runs/run.ts'
import { finishRuns } from '../../src/sync/settle/finish-runs.ts'
import { settle } from '../../src/sync/settle/settlement.ts'
import { until } from '../helpers/company.ts'
import { openPool } from '../helpers/postgres.ts'
import { worded } from '../texts/worded.ts'
import { begin, employee, outcome } from './outcomes.ts'
import { MAPPING, PlanUnderTest, TIMED } from './plan-under-test.ts'
import { fail, plant, plantWork } from './planted.ts'
import { WAITING_FOR_A_LOCK } from './store-under-test.ts'

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

  test.each([
    ['an empty list', 'category', `coalesce((select json_agg(d.dept_code) from department d), '[]')`],
    ['a blank', 'remark', `concat((select d.dept_code from department d limit 1), ' ')`],
    [
      'names without values',
      'employee_attribute',
      `json_build_object('A', (select d.dept_code from department d limit 1))`,
    ],
  ])(
    'a column that turned into %s, as of a joined table that is empty for a moment',
    async (_, column, value) => {
      const employees = `select userid, name, ${value} as ${column} from person`
      await hr(`insert into department values ('D0')`)
      await under.inSync(2, employees)
      const before = await under.untouched()
      await hr('delete from department')
      expect(worded(await under.plan('changes', { employees }))).toMatchObject({
        state: 'source_suspect',
        message: expect.stringContaining(`${column} turned empty for more than 20 %`),
      })
      expect(await under.untouched()).toEqual(before)
    },
  )

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

  test('but not because the first run, which a person cancelled, had more or others', async () => {
    await under.hire(10)
    const others = MAPPING.replace('select', `select 'E1' as enterprise_code,`)
    for (const employees of [MAPPING, others]) {
      const { id } = await under.plan('changes', { employees })
      await under.store.pool.query('select dirsync.cancel($1)', [id])
      await finishRuns(under.store.pool)
    }
    expect(await under.plan('changes', { employees: `${MAPPING} where userid < 'e7'` })).toMatchObject({
      ...{ state: 'running', message: null, plan: { reasons: { new: 7 } } },
    })
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

  test('does not count who left long ago, whatever becomes of their rows, and whatever else is mapped', async () => {
    await under.inSync(20)
    await hr(`update person set active = false where userid like 'e1_'`)
    await under.plan('changes', { limits: { breaker: { count: 10, percent: 100 } } })
    await under.acknowledge()
    for (const [name, [was, is]] of Object.entries({
      one: ['***', 'x'],
      another: [null, null],
      third: ['y', ''],
    })) {
      await under.hr.query('update person set name = $1, mobile = $2 where not active', [was, is])
      await under.hr.query(`update person set name = $1 where userid = 'e1'`, [name])
      expect(await under.plan()).toMatchObject({ state: 'running', planned: 1, inScope: 10 })
      await under.acknowledge()
    }
    expect(
      worded(await under.plan('changes', { employees: `${MAPPING.replace('name,', 'name, dept_code,')}` })),
    ).toMatchObject({
      state: 'held',
      message: expect.stringContaining('10 of 10 employees would change, more than'),
    })
    expect((await countStatuses(under.store.pool)).left).toBe(10)
  })

  describe('does not count who left long ago when HR archives their rows', () => {
    const left = async (from: string) => {
      await under.inSync(30)
      await under.hr.query('update person set active = false where userid between $1 and $2', [from, 'e29'])
      await under.plan('changes', { limits: { breaker: { count: 30, percent: 100 } } })
      await under.acknowledge()
      await hr('delete from person where not active')
    }

    test.each([
      ['e25', 5],
      ['e20', 10],
    ])('those from %s on', async (from, count) => {
      await left(from)
      expect(worded(await under.plan())).toMatchObject({
        ...{ state: 'running', message: null, inScope: 30 - count },
        plan: { reasons: { vanished: count }, total: 30 - count },
      })
      expect(await countStatuses(under.store.pool)).toMatchObject({ in_sync: 30 - count, vanished: count })
    })

    test('but those in service whom HR lacks, too', async () => {
      await left('e20')
      await hr(`delete from person where userid in ('e0', 'e1', 'e2', 'e3')`)
      expect(worded(await under.plan())).toMatchObject({
        state: 'held',
        message: expect.stringContaining('4 of 20 employees would change, 4 of them by leaving'),
      })
      await hr(`delete from person where userid = 'e4'`)
      expect(worded(await under.plan())).toMatchObject({
        state: 'source_suspect',
        message: expect.stringContaining('HR delivers 15 rows, 50 % fewer than the last good run (30)'),
      })
    })

    test.each([
      [false, { state: 'running', plan: { reasons: { left: 10, changed: 1 }, total: 20 } }],
      [true, { state: 'held', plan: { reasons: { new: 10, changed: 1 }, total: 30 } }],
    ])('nor when the rows are there again, unless they are back in service: %s', async (isBack, expected) => {
      await left('e20')
      expect(await under.plan()).toMatchObject({ state: 'running', planned: 10 })
      await under.acknowledge()
      await under.hr.query(
        `insert into person (userid, name, mobile, active)
         select 'e' || i, 'n' || i, '1' || i, $1 from generate_series(20, 29) i`,
        [isBack],
      )
      await hr(`update person set name = 'married' where userid = 'e1'`)
      expect(await under.plan()).toMatchObject(expected)
    })

    test('unless their leaving was taken back', async () => {
      await left('e27')
      await under.hr.query(`delete from person where userid = 'e0'`)
      const { id } = await under.plan()
      await under.store.pool.query('select dirsync.cancel($1)', [id])
      expect(await under.plan()).toMatchObject({ state: 'held', planned: 4 })
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

  test('stays approved if the database drops the connection that writes it, and goes on', async () => {
    await under.inSync(10)
    await change()
    const { id } = await under.plan()
    const { pool } = under.store
    await pool.query('select dirsync.approve($1)', [id])
    const slow = await pool.connect()
    try {
      await slow.query(`begin; select from dirsync.employee where userid = 'e1' for update`)
      const planned = under.planRequested(id).catch(() => {})
      await until(async () => {
        const { rowCount } = await pool.query(
          `select pg_terminate_backend(pid) from pg_stat_activity
           where datname = current_database() and wait_event_type = 'Lock' and query like '%from dirsync.employee e%'`,
        )
        return rowCount === 1
      })
      await planned
    } finally {
      await slow.query('rollback')
      slow.release()
    }
    expect(await under.planRequested(id)).toMatchObject({ state: 'running', approved: true })
    expect(await under.pending()).toEqual(['e0', 'e1', 'e2', 'e3'])
  })

  /** The database answers the next plans that write the outbox in PL/pgSQL, so many times. */
  const answering = (statement: string, times: number) =>
    under.store.pool.query(`
      create sequence public.failures;
      create function public.refuse() returns trigger language plpgsql as $$
      begin
        if nextval('public.failures') <= ${times} then ${statement}; end if;
        return null;
      end $$;
      create trigger refuse before insert on dirsync.pending for each statement execute function public.refuse()`)

  /** The same with this error. */
  const failing = (code: string, times: number) =>
    answering(`raise exception 'not now' using errcode = '${code}'`, times)

  afterEach(() =>
    under.store.pool.query(
      'drop function if exists public.refuse() cascade; drop sequence if exists public.failures',
    ),
  )

  test.each([
    ['leads to a standby meanwhile', '25006', 1],
    ['ends it to break deadlocks, as often as it is repeated', '40P01', 25],
    ['takes too long for it', '57014', 1],
  ])('stays approved if the database %s, and goes on', async (_, code, times) => {
    await under.inSync(10)
    await change()
    const { id } = await under.plan()
    await under.store.pool.query('select dirsync.approve($1)', [id])
    await failing(code, times)
    await expect(under.planRequested(id)).rejects.toMatchObject({ code })
    expect(await run(id)).toMatchObject({ state: 'planning' })
    expect(await under.planRequested(id)).toMatchObject({ state: 'running', approved: true })
    expect(await under.pending()).toEqual(['e0', 'e1', 'e2', 'e3'])
  })

  test('stays approved if the database does not answer in time, five times at most', async () => {
    await under.inSync(10)
    await change()
    const { id } = await under.plan()
    const { pool, url } = under.store
    await pool.query('select dirsync.approve($1)', [id])
    const impatient = openPool({ connectionString: url, query_timeout: 1000 })
    onTestFinished(() => impatient.end())
    const logged: string[] = []
    const logger = pino({ level: 'warn' }, { write: line => void logged.push(JSON.parse(line).msg) })
    const planner = under.planner({ pool: impatient, logger })
    const planning = () => planner.planNext(new AbortController().signal)
    const slow = await pool.connect()
    onTestFinished(() => slow.release())
    await slow.query('begin; lock table dirsync.pending')
    for (const again of [1, 2, 3, 4]) {
      await expect(planning()).rejects.toThrow('Query read timeout')
      expect(await run(id)).toMatchObject({ state: 'planning' })
      expect(logged.filter(line => line.includes('tried again'))).toHaveLength(again)
    }
    await planning()
    await slow.query('rollback')
    expect(await run(id)).toMatchObject({ state: 'held', approved: false })
    expect(logged.at(-1)).toBe('run failed')
  })

  const ENDS_CONNECTION = 'perform pg_terminate_backend(pg_backend_pid())'

  test('is held again if writing its approved plan ends the connection each time, and holds up no other run', async () => {
    await under.inSync(10)
    await change()
    const { id } = await under.plan()
    const { pool } = under.store
    const departments = await requestRun(pool, 'departments', [], 'test')
    await pool.query('select dirsync.approve($1)', [id])
    await answering(ENDS_CONNECTION, 100)
    const planner = under.planner()
    const planning = () => planner.planNext(new AbortController().signal)
    for (const _ of [1, 2, 3, 4]) await expect(planning()).rejects.toMatchObject({ code: '57P01' })
    expect(await run(id)).toMatchObject({ state: 'planning' })
    await planning()
    expect(await run(id)).toMatchObject({ state: 'held', approved: false })
    await planning()
    expect((await run(departments)).startedAt).not.toBeNull()
  })

  /** Ends the connection that writes, and the one that records that as well: the server starts anew. */
  const restarting = async (times: number) => {
    await answering(ENDS_CONNECTION, times)
    await under.store.pool.query(`
      create trigger refuse before update of message on dirsync.sync_run for each statement
      execute function public.refuse()`)
  }

  test('goes on after the database has been started anew, though a tick requested it', async () => {
    await under.inSync(10)
    await under.hr.query(`update person set name = 'other' where userid = 'e1'`)
    const id = await requestRun(under.store.pool, 'full', [], 'cron')
    await restarting(2)
    const planner = under.planner()
    const planning = () => planner.planNext(new AbortController().signal)
    await expect(planning()).rejects.toMatchObject({ code: '57P01' })
    while ((await run(id)).state === 'planning') await planning().catch(() => {})
    expect(await run(id)).toMatchObject({ state: 'running' })
  })

  test('is carried out once approved, though the same process could not record an earlier check of HR', async () => {
    await under.inSync(10)
    await change()
    const { id } = await under.plan()
    await recheckHeldRun(under.store.pool, id)
    const [planner, other] = [under.planner(), under.planner()]
    const signal = new AbortController().signal
    await restarting(2)
    await expect(planner.planNext(signal)).rejects.toMatchObject({ code: '57P01' })
    await other.planNext(signal)
    await under.store.pool.query('select dirsync.approve($1)', [id])
    await planner.planNext(signal)
    expect(await run(id)).toMatchObject({ state: 'running' })
  })

  test('is not carried out once more only because the database was away when its failure should be recorded', async () => {
    await under.inSync(10)
    await change()
    const { id } = await under.plan()
    const { pool } = under.store
    await pool.query('select dirsync.approve($1)', [id])
    await restarting(100)
    const planner = under.planner()
    const planning = () => planner.planNext(new AbortController().signal)
    for (const _ of [1, 2, 3, 4, 5]) await expect(planning()).rejects.toMatchObject({ code: '57P01' })
    await pool.query('drop trigger refuse on dirsync.sync_run')
    const written = await under.store.value(`select last_value from public.failures`)
    await planning()
    expect(await run(id)).toMatchObject({ state: 'held', approved: false })
    expect(await under.store.value(`select last_value from public.failures`)).toBe(written)
  })

  test('is held again if its approved plan cannot be written, and can be approved again', async () => {
    await under.inSync(10)
    await change()
    const { id } = await under.plan()
    await failing('P0001', 1)
    expect(await approve(id)).toMatchObject({ state: 'held', approved: false, planned: 4, finishedAt: null })
    // The run that the approval requested.
    await under.planRequested(id)
    expect(worded(await run(id)).message).toMatch(
      /^4 of 10 employees would change.* It was approved, but could not be carried out.*: not now\. Decide again\. HR has not changed since\.$/,
    )
    expect(await under.pending()).toEqual([])
    const commands = new Commands(under.store.pool, { actor: 'test' })
    expect(await commands.approve(id, null, 4)).toMatchObject({ planned: 4, isRest: false })
    expect(await under.planRequested(id)).toMatchObject({ state: 'running', approved: true, message: null })
    expect(await under.pending()).toEqual(['e0', 'e1', 'e2', 'e3'])
    expect(await under.store.rows('select returned from dirsync.plan_decision order by id')).toEqual([
      { returned: 4 },
      { returned: 0 },
    ])
  })

  test('fails once if its approved plan cannot be written and version 1.0 approved it, of which no decision is stored', async () => {
    await under.inSync(10)
    await change()
    const { id } = await under.plan()
    await under.store.pool.query('select dirsync.approve($1)', [id])
    await under.store.pool.query('delete from dirsync.plan_decision')
    await failing('P0001', 1)
    expect(await under.planRequested(id)).toMatchObject({ state: 'failed' })
  })

  test('counts the employees that it covers: never more changes than employees, whichever rows were read', async () => {
    await under.hire(10)
    await hr(`update person set active = false where userid > 'e5'`)
    await hr(`update person set updated_at = now() - interval '1 hour'`)
    await under.plan('changes', { employees: TIMED })
    await under.acknowledge()
    await hr(`update person set name = 'other', active = false, updated_at = now() where userid < 'e5'`)
    await under.plan('changes', { employees: TIMED, limits: { breaker: { count: 100, percent: 100 } } })
    await hr(`update person set name = 'yet another', active = true, updated_at = now() where userid < 'e9'`)
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
      inScope: 9,
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
      message:
        'Planned rows left out: 1. A later plan that passed has seen newer ones, or a person has rejected them since.',
    })
    expect(await under.pending()).toEqual(['e0', 'e1', 'e2'])
  })

  test('does not say of an employee whom a person has named since that HR has changed the row', async () => {
    await under.inSync(10)
    await change()
    const { id } = await under.plan()
    await under.store.pool.query(
      `update dirsync.employee set source_hash = held_hash, acknowledged_hash = held_hash, held_run = null, held_hash = null
       where userid = 'e0'`,
    )
    expect(await tick(id)).toMatchObject({ state: 'held', plan: { changed_since: 0 } })
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

  test('is superseded by the next run whose plan passes, once HR has nothing of its plan left', async () => {
    await under.inSync(10)
    await change()
    const { id } = await under.plan()
    await hr(`update person set name = 'n' || substr(userid, 2) where userid < 'e3';
      update person set name = 'other' where userid = 'e5'`)
    const stays = [
      '4 of 10 employees would change, more than 2 and 10 %.',
      'Held employees or departments that still differ in HR: 1. Nothing is sent before a decision.',
      'Since then HR has changed 4 rows: approval sends the plan as it was stored and leaves them to the next one.',
    ].join(' ')
    expect(worded(await tick(id))).toMatchObject({ state: 'held', planned: 4, message: stays })
    for (const kind of ['changes', 'full'] as const)
      expect(worded(await under.plan(kind))).toMatchObject({
        state: 'superseded',
        message: `Run ${id} was held with such a plan already. Nothing was enqueued.`,
      })
    expect(await under.pending()).toEqual([])
    await hr(`update person set name = 'n3' where userid = 'e3'`)
    expect(await tick(id)).toMatchObject({ state: 'superseded', finishedAt: expect.any(Date) })
    const next = await under.store.value<number>('select max(id) from dirsync.sync_run')
    expect(await run(next)).toMatchObject({ state: 'running', requestedBy: 'cron', planned: 1 })
    expect(await under.pending()).toEqual(['e5'])
    await expect(under.store.pool.query('select dirsync.approve($1)', [id])).rejects.toThrow(
      `run ${id} is superseded: there is nothing to decide`,
    )
  })

  test('says what it was held for, and only that once a part is decided', async () => {
    await under.inSync(10)
    await change()
    const held = worded(await under.plan())
    await hr(`update person set name = 'n' || substr(userid, 2) where userid < 'e3'`)
    expect(worded(await tick(held.id)).message).toMatch(
      /still differ in HR: 1.* Since then HR has changed 3 rows/,
    )
    await under.store.pool.query(`select dirsync.reject_part($1, '{"key": "e0"}', 'no')`, [held.id])
    await under.plan()
    expect(worded(await run(held.id))).toMatchObject({ state: 'held', message: held.message })
  })

  test('waits also where HR has yet another row of one of its employees, which may be no better', async () => {
    await under.inSync(10)
    await change()
    const { id } = await under.plan()
    await hr(`update person set name = 'n' || substr(userid, 2) where userid <> 'e3';
      update person set mobile = '13900000003' where userid = 'e3'`)
    expect(await tick(id)).toMatchObject({ state: 'held' })
    expect(await under.pending()).toEqual([])
  })

  test('waits for a decision about rows that a check found since and that would be held by themselves, too', async () => {
    await under.inSync(10)
    await change()
    const { id } = await under.plan()
    await hr(`update person set name = 'wrong'`)
    expect(await tick(id)).toMatchObject({ state: 'held', planned: 4 })
    await hr(`update person set name = 'n' || substr(userid, 2) where userid not in ('e3', 'e7')`)
    expect(worded(await tick(id))).toMatchObject({
      state: 'held',
      message: expect.stringContaining('that still differ in HR: 2.'),
    })
    expect(await under.pending()).toEqual([])
    await hr(`update person set name = 'n' || substr(userid, 2)`)
    expect(await tick(id)).toMatchObject({ state: 'superseded' })
    expect(await under.pending()).toEqual([])
  })

  test('leaves a few changes that come meanwhile to the next plan, which passes once it is decided', async () => {
    await under.inSync(10)
    await change()
    const { id } = await under.plan()
    await hr(`update person set mobile = '13900000008' where userid = 'e8'`)
    expect(await tick(id)).toMatchObject({ state: 'held' })
    await approve(id)
    await under.plan()
    expect(await under.pending()).toEqual(['e0', 'e1', 'e2', 'e3', 'e8'])
  })

  test.each(['approve($1)', "reject($1, 'no')"])(
    'is decided without what a check found since: %s; that is held by itself then',
    async decision => {
      await under.inSync(10)
      await change()
      const { id } = await under.plan()
      await hr(`update person set name = 'wrong'`)
      await tick(id)
      await hr(`update person set name = 'n' || substr(userid, 2) where userid not in ('e3', 'e7')`)
      await tick(id)
      if (decision.startsWith('approve')) await approve(id)
      else await under.store.pool.query(`select dirsync.${decision}`, [id])
      const sent = await under.pending()
      await under.plan()
      await under.plan()
      const { rows } = await under.store.pool.query(
        `select id, planned from dirsync.sync_run where state = 'held'`,
      )
      expect(rows).toEqual([{ id: expect.any(Number), planned: 2 }])
      expect(rows[0].id).toBeGreaterThan(id)
      expect(await under.pending()).toEqual(sent)
      expect(sent).not.toContain('e7')
    },
  )

  test('is superseded by a run with its max age', async () => {
    await under.inSync(10)
    await under.store.pool.query('update dirsync.employee set acknowledged_at = now()')
    await change()
    const id = Number(await under.store.value(`select dirsync.resync('full', max_age => '1 hour')`))
    expect(await under.planRequested(id)).toMatchObject({ state: 'held' })
    await hr(`update person set name = 'n' || substr(userid, 2);
      update person set name = 'other' where userid = 'e5'`)
    expect(await tick(id)).toMatchObject({ state: 'superseded' })
    expect(await run(id + 1)).toMatchObject({ planned: 1, maxAgeMs: 3_600_000, plan: { skipped: 9 } })
  })

  test('of an edited mapping leaves that in force which passed when a field comes through again', async () => {
    await under.inSync(10)
    const { store } = under
    const inForce = () =>
      store.value(`select mapping from dirsync.sync_run where ${HAS_MAPPING} order by id desc limit 1`)
    const passed = await inForce()
    const name = `case when userid = 'e1' then name else upper(name) end as name`
    const edited = under.source(`select userid, ${name}, mobile, active from person`)
    expect(await under.plan('changes', { source: edited })).toMatchObject({ state: 'held' })
    await plant(store, 'field_block', { enterprise_code: '', field: 'level' })
    await fail(store, { entity: 'enterprise', entity_key: '(single enterprise)', field: 'level' })
    await store.pool.query(`update dirsync.employee set withheld = '{level}' where userid = 'e1'`)
    const key = employee('e0')
    await plantWork(store, 'e0')
    const through = outcome(key, await begin(store, key), { resolve: 'all', unblockFields: ['level'] })
    await settle(store.pool, [through])
    const id = await store.value<number>(`select id from dirsync.sync_run where kind = 'retry'`)
    expect(await under.planRequested(id, edited)).toMatchObject({ state: 'running' })
    expect(await under.pending()).toEqual(['e1'])
    expect(await inForce()).toBe(passed)
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

  test('corrects what a planner of 1.0.0, which goes on during an upgrade, does not say of who is gone', async () => {
    await under.inSync(10)
    await change()
    await hr(`delete from person where userid = 'e9'`)
    await under.plan()
    await under.store.pool.query(
      'update dirsync.employee set held_gone = not held_gone where held_run is not null',
    )
    await under.plan()
    const gone = await under.store.rows<{ userid: string }>(
      'select userid from dirsync.employee where held_gone',
    )
    expect(gone).toEqual([{ userid: 'e9' }])
  })

  test('keeps every other change of its HR source waiting, but for employees who are synced by name', async () => {
    await under.inSync(10)
    await change()
    const { id } = await under.plan()
    await hr(
      `update person set name = 'other' where userid in ('e5', 'e6'); insert into person (userid, name) values ('x', 'new')`,
    )
    expect(await tick(id)).toMatchObject({ state: 'held' })
    expect(await under.plan()).toMatchObject({ state: 'superseded' })
    expect(await under.pending()).toEqual([])
    const named = await requestRun(under.store.pool, 'employees', ['e6'], 'a test')
    expect(await under.planRequested(named)).toMatchObject({ state: 'running', planned: 1 })
    expect(await under.pending()).toEqual(['e6'])
    expect(await tick(id)).toMatchObject({ state: 'held' })
    expect(await under.pending()).toEqual(['e6'])
  })

  test.each([
    ['held', `update person set name = 'other' where userid < 'e4'`],
    ['source_suspect', `update person set mobile = null where userid < 'e4'`],
  ])('is sent by no run of rows that HR named shortly before either: %s', async (state, breaks) => {
    await under.inSync(10)
    await hr(breaks)
    const everybody = await requestRun(under.store.pool, 'changes', [], 'cron')
    const named = await requestRun(under.store.pool, 'changes', ['e0', 'e9'], 'trigger')
    expect(await under.planRequested(everybody)).toMatchObject({ state })
    expect(await under.planRequested(named)).toMatchObject({ state: 'running', planned: 0 })
    // They wait for a plan of all rows that passes.
    expect(await under.store.rows('select not_before, replan_at from dirsync.pending')).toEqual(
      Array(2).fill({ not_before: Number.POSITIVE_INFINITY, replan_at: expect.any(Date) }),
    )
  })

  test('is not made of the rows that HR named once a person has cancelled their run', async () => {
    await under.inSync(10)
    await change()
    const id = await requestRun(under.store.pool, 'changes', ['e0', 'e1', 'e2', 'e3'], 'trigger')
    const source = under.source()
    const readsAll = vi.spyOn(source, 'scan')
    const lookup = source.lookup.bind(source)
    vi.spyOn(source, 'lookup').mockImplementationOnce(async (...asked) => {
      await under.store.pool.query('select dirsync.cancel($1)', [id])
      return lookup(...asked)
    })
    onTestFinished(() => void vi.restoreAllMocks())
    expect(await under.planRequested(id)).toMatchObject({
      ...{ state: 'cancelled', wantsAll: false },
      changedUserids: ['e0', 'e1', 'e2', 'e3'],
    })
    expect(readsAll).not.toHaveBeenCalled()
  })

  test('is of all rows where HR named some: one decision about them is enough', async () => {
    const GROUP = `select c as enterprise_code, userid, name, mobile, active, updated_at
      from person cross join (values ('C1'), ('C2'), ('C3')) v (c)`
    const source = under.source(GROUP)
    const tickOf = (id: number) =>
      recheckHeldRun(under.store.pool, id).then(() => under.planRequested(id, source))
    await under.inSync(10, GROUP)
    // HR's trigger does not name this one, and its row tells nothing of it.
    await hr(`update person set name = 'other' where userid = 'e9'`)
    await hr(`update person set updated_at = now() - interval '1 day'`)
    await change()
    const id = await requestRun(under.store.pool, 'changes', ['e0', 'e1', 'e2', 'e3'], 'trigger')
    expect(worded(await under.planRequested(id, source))).toMatchObject({
      ...{ state: 'held', planned: 15, changedUserids: [] },
      message: '15 of 30 employees would change, more than 2 and 10 %.',
    })
    expect(await tickOf(id)).toMatchObject({ state: 'held', planned: 15 })
    expect(await under.plan('changes', { source })).toMatchObject({ state: 'superseded' })
    expect(await under.store.rows(`select id from dirsync.sync_run where state = 'held'`)).toEqual([{ id }])
    await under.store.pool.query(`select dirsync.reject($1, 'not so')`, [id])
    const next = await under.store.value<number>(`select id from dirsync.sync_run where state = 'requested'`)
    expect(await under.planRequested(next, source)).toMatchObject({ state: 'running', planned: 0 })
    expect(await under.pending()).toEqual([])
  })

  test('by an earlier version, of rows that HR named, is checked again with all rows', async () => {
    await under.inSync(10)
    await change()
    const { id } = await under.plan()
    await under.store.pool.query(`update dirsync.sync_run set keys = '{e0,e1,e2,e3}'`)
    expect(await under.plan()).toMatchObject({ state: 'superseded' })
    await hr(`update person set name = 'n' || substr(userid, 2) where userid < 'e3'`)
    expect(await tick(id)).toMatchObject({ state: 'held', changedUserids: [] })
    await hr(`update person set name = 'n3' where userid = 'e3'`)
    expect(await tick(id)).toMatchObject({ state: 'superseded' })
    expect(await under.pending()).toEqual([])
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
        const { rowCount } = await pool.query(`${WAITING_FOR_A_LOCK} and query like '%dirsync.cancel%'`)
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
    await pool.query(`update dirsync.pending set starts = 1, in_hand = true where entity_key = 'e0'`)
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

  test.each([
    ['queued', 'enqueued_at = now()'],
    ['requested anew meanwhile', 'version = version + 1'],
  ])(
    'and is cancelled takes back what a dead worker had in hand, %s, and calls it unknown',
    async (_, then) => {
      await under.inSync(10)
      await hr(`update person set name = 'other' where userid < 'e2'`)
      const { id } = await under.plan()
      const { pool } = under.store
      await pool.query(
        `update dirsync.pending set starts = 1, in_hand = true, ${then} where entity_key = 'e0'`,
      )
      await pool.query('select dirsync.cancel($1)', [id])
      expect(await under.pending()).toEqual(['e0'])
      await refeedAbandoned(pool)
      await finishRuns(pool)
      expect(await under.pending()).toEqual([])
      expect(await run(id)).toMatchObject({ state: 'cancelled' })
      expect(
        await under.store.rows(
          `select userid, acknowledged_hash is null as unknown from dirsync.employee where userid < 'e2' order by 1`,
        ),
      ).toEqual([
        { userid: 'e0', unknown: true },
        { userid: 'e1', unknown: false },
      ])
      expect(await under.plan()).toMatchObject({ planned: 2 })
    },
  )

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
