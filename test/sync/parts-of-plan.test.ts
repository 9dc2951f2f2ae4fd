import { once } from 'node:events'
import { describe, expect, test, vi } from 'vitest'
import { pruneHistory } from '../../jobs/prune.ts'
import { readEmployeeStory } from '../../src/console/employees/story.ts'
import { heldBack } from '../../src/console/plan/held-back.ts'
import type { HrSource } from '../../src/hr/source.ts'
import { WHOLE } from '../../src/hr/sources.ts'
import { createClient, transaction } from '../../src/lib/database.ts'
import { readNextPlan } from '../../src/sync/plan/stored-plan.ts'
import { asAsker, Commands } from '../../src/sync/runs/commands.ts'
import { lastPlanPassed } from '../../src/sync/runs/earlier-runs.ts'
import {
  beginRun,
  type Run,
  readRun,
  recheckHeldRun,
  requestRun,
  runsInParts,
} from '../../src/sync/runs/run.ts'
import { requestReplan, requestScheduledRun } from '../../src/sync/runs/run-requests.ts'
import { finishRuns } from '../../src/sync/settle/finish-runs.ts'
import { settle } from '../../src/sync/settle/settlement.ts'
import { until } from '../helpers/company.ts'
import { worded } from '../texts/worded.ts'
import { begin, employee, memory, outcome } from './outcomes.ts'
import { PlanUnderTest, TIMED } from './plan-under-test.ts'
import { SILENT, WAITING_FOR_A_LOCK } from './store-under-test.ts'

const under = new PlanUnderTest()
const hr = (text: string) => under.hr.query(text)
const run = async (id: number) => worded((await readRun(under.store.pool, id)) as Run)

/** Six moves, two of which change the mobile too, are held; e6 to e9 are in sync. */
async function held(): Promise<number> {
  await under.inSync(10)
  await hr(`update person set name = 'other' where userid < 'e6';
    update person set mobile = '1390000000' || substr(userid, 2) where userid in ('e4', 'e5')`)
  const { id, state } = await under.plan()
  expect(state).toBe('held')
  return id
}

const EMPLOYEES = 'select userid, name, mobile, dept_code, active from person'
/** Reads HR for a held plan in the background. */
const read = () =>
  readNextPlan({ pool: under.store.pool, hr: under.source(), logger: SILENT }, new AbortController().signal)

const DEPARTMENTS = 'select dept_code, parent_code, active, closed_at from department'

/** The deletions of D1 to D3 are held. */
async function heldDepartments(source: HrSource): Promise<number> {
  await under.inSync(3, EMPLOYEES)
  await hr(
    `insert into department select 'D' || i, null, false, now() - interval '2 days' from generate_series(1, 3) i`,
  )
  const { id, state } = await under.plan('departments', { source })
  expect(state).toBe('held')
  return id
}

const keys = (...userids: string[]) => ({ keys: userids })
const approve = (id: number, part: object | string) =>
  under.store.value<number>('select dirsync.approve_part($1, $2)', [id, part])
const reject = (id: number, part: object) =>
  under.store.value<number>(`select dirsync.reject_part($1, $2, 'not so')`, [id, part])

/** Plans everything that waits, as the scheduler does. */
async function planAll(employees?: string): Promise<void> {
  for (;;) {
    const id = await under.store.value<number | null>(
      `select min(id) from dirsync.sync_run
       where state = 'requested' or state = 'held' and recheck_at <= now()`,
    )
    if (id === null) return
    await under.planRequested(id, under.source(employees))
  }
}

/** A tick of the cron job. */
async function tick(): Promise<void> {
  await requestScheduledRun(under.store.pool, 'changes', 'cron', SILENT)
  await planAll()
}

/** Everybody but those in sync: their state, and the held run. */
async function waiting(): Promise<Record<string, string>> {
  const rows = await under.store.rows<{ userid: string; status: string }>(
    `select userid, status from dirsync.employee where status <> 'in_sync' order by 1`,
  )
  return Object.fromEntries(rows.map(({ userid, status }) => [userid, status]))
}

describe('a part of a held plan', () => {
  test('that is approved is sent, the rest stays held whatever the breaker says of it', async () => {
    const id = await held()
    const part = await approve(id, keys('e0', 'e1', 'e2', 'e3'))
    await planAll()
    expect(await run(part)).toMatchObject({ state: 'running', approved: true, planned: 4 })
    expect(await under.pending()).toEqual(['e0', 'e1', 'e2', 'e3'])
    await under.acknowledge()
    expect(await run(part)).toMatchObject({ state: 'done' })
    // Two rows are few enough for the breaker.
    for (const _ of [1, 2]) await tick()
    await under.plan('full')
    await under.acknowledge('e4', 'e5')
    expect(await run(id)).toMatchObject({ state: 'held', undecided: 2 })
    expect(await waiting()).toEqual({ e4: 'held', e5: 'held' })
  })

  test('that is rejected rests, and the run ends with the last decision', async () => {
    const id = await held()
    await reject(id, keys('e4', 'e5'))
    await tick()
    expect(await under.pending()).toEqual([])
    expect(await run(id)).toMatchObject({ state: 'held', undecided: 4 })
    expect(await waiting()).toEqual({
      ...{ e0: 'held', e1: 'held', e2: 'held', e3: 'held' },
      ...{ e4: 'rejected', e5: 'rejected' },
    })
    await under.store.pool.query('select dirsync.approve($1)', [id])
    await planAll()
    expect(await under.pending()).toEqual(['e0', 'e1', 'e2', 'e3'])
    await finishRuns(under.store.pool)
    expect(await run(id)).toMatchObject({ state: 'running' })
    await under.acknowledge()
    await finishRuns(under.store.pool)
    expect(await run(id)).toMatchObject({ state: 'done', undecided: 0 })
    await tick()
    expect(await waiting()).toEqual({ e4: 'rejected', e5: 'rejected' })
    expect(
      await under.store.rows(
        'select approved, filter, planned, reasons, why from dirsync.plan_decision order by id',
      ),
    ).toEqual([
      { approved: false, filter: keys('e4', 'e5'), planned: 2, reasons: { changed: 2 }, why: 'not so' },
      { approved: true, filter: {}, planned: 4, reasons: { changed: 4 }, why: null },
    ])
  })

  test('takes a user id without its enterprise where one row has it', async () => {
    const GROUP = `select 'C' || (right(userid, 1)::int % 2) as enterprise_code, left(userid, 2) as userid, name, active from person`
    await hr(`insert into person (userid, name) select 'e' || i, 'n' from generate_series(0, 9) i;
      insert into person (userid, name) values ('e1-2', 'n')`)
    await under.plan('changes', { employees: GROUP })
    await under.acknowledge()
    await hr(`update person set name = 'other' where userid < 'e6'`)
    const { id } = await under.plan('changes', { employees: GROUP })
    await reject(id, keys('e2', 'C1/e3'))
    expect(await waiting()).toMatchObject({ e2: 'rejected', e3: 'rejected', e4: 'held' })
    await expect(reject(id, keys('e1'))).rejects.toThrow(/no undecided row .* matches e1:/)
    await reject(id, keys('C0/e1'))
    // Whoever meant that one does not decide about the other.
    await expect(reject(id, keys('e1'))).rejects.toThrow(/no undecided row .* matches e1:/)
  })

  test('takes a user id with its enterprise for nobody else, though a user id reads like it', async () => {
    const GROUP = `select split_part(userid, ':', 1) as enterprise_code, split_part(userid, ':', 2) as userid, name, active from person`
    await hr(`insert into person (userid, name)
      select 'C' || i % 2 || ':' || case i when 0 then 'C1/e1' else 'e' || i end, 'n' from generate_series(0, 9) i`)
    await under.plan('changes', { employees: GROUP })
    await under.acknowledge()
    await hr(`update person set name = 'other' where userid < 'C1:e6'`)
    const { id } = await under.plan('changes', { employees: GROUP })
    await reject(id, keys('C1/e1'))
    expect(await waiting()).toMatchObject({ e1: 'rejected', 'C1/e1': 'held' })
  })

  test('ends the run as rejected when no part was approved', async () => {
    const id = await held()
    await reject(id, keys('e4', 'e5'))
    await reject(id, { key: 'e' })
    expect(await run(id)).toMatchObject({ state: 'rejected', finishedAt: expect.any(Date) })
    await planAll()
    expect(await under.pending()).toEqual([])
  })

  test('by what only HR tells is refused until HR is read, so that no row that it means is missed', async () => {
    const id = await held()
    const { pool } = under.store
    // A process died when it had read this far.
    await pool.query(
      `update dirsync.planned_work set department = 'D0', fields = '{name}' where run_id = $1 and entity_key <= 'e1'`,
      [id],
    )
    await pool.query(
      `insert into dirsync.plan_reading (run_id, state, after_key, looked_at, moves) values ($1, 'running', 'e1', 2, '[]')`,
      [id],
    )
    for (const part of [
      { department: 'D0' },
      { field: 'name' },
      { from: 'D0' },
      { odd: false },
      { keys: ['e0'], odd: 'no' },
    ])
      for (const decide of [approve, reject])
        await expect(decide(id, part)).rejects.toMatchObject({
          code: 'DS409',
          message: expect.stringMatching(/^HR has not been read for all rows .* or name the employees$/),
          hint: expect.stringContaining(`_part(${id}, '{"keys": `),
        })
    expect(await run(id)).toMatchObject({ state: 'held', undecided: null })
    await reject(id, keys('e5'))
    await approve(id, { reason: 'changed', key: 'e4' })
    await read()
    await reject(id, { field: 'name' })
    expect(await run(id)).toMatchObject({ state: 'running', undecided: 0 })
    expect(await waiting()).toMatchObject({ e0: 'rejected', e3: 'rejected' })
  })

  test.each(['no run waits', 'a run waits'])(
    'that is the last and is rejected leaves nobody out whom HR had changed since, while %s',
    async moment => {
      const change = (name: string, minutes: number, userids: string) =>
        hr(
          `update person set name = '${name}', updated_at = now() - interval '${minutes} min' where ${userids}`,
        )
      await under.hire(10)
      await change('before', 45, 'true')
      await under.plan('changes', { employees: TIMED })
      await under.acknowledge()
      await change('other', 30, `userid < 'e6'`)
      const { id } = await under.plan('changes', { employees: TIMED })
      await reject(id, keys('e0'))
      await planAll(TIMED)
      await change('third', 15, `userid = 'e3'`)
      await change('other', 0, `userid = 'e9'`)
      await under.plan('changes', { employees: TIMED })
      expect(await under.pending()).toEqual(['e9'])
      await under.acknowledge()
      if (moment === 'a run waits') await requestRun(under.store.pool, 'changes', [], 'cron')
      await reject(id, { key: 'e' })
      await planAll(TIMED)
      expect(await under.pending()).toEqual(['e3'])
      expect(await waiting()).toMatchObject({ e2: 'rejected', e3: 'waiting' })
    },
  )

  test('holds up no other change of HR, unless that trips the breaker too', async () => {
    const id = await held()
    await approve(id, keys('e0'))
    await planAll()
    await under.acknowledge()
    await hr(`update person set name = 'other' where userid = 'e9'`)
    await tick()
    expect(await under.pending()).toEqual(['e9'])
    await under.acknowledge()
    await hr(`update person set name = 'third' where userid in ('e6', 'e7', 'e8')`)
    await tick()
    expect(await under.pending()).toEqual([])
    expect(await run(id)).toMatchObject({ state: 'held', undecided: 5 })
    await approve(id, { key: 'e' })
    await planAll()
    expect(await under.pending()).toEqual(['e1', 'e2', 'e3', 'e4', 'e5'])
    // The others are held with a plan of their own.
    const [{ plan }] = (await under.store.rows(`select plan from dirsync.sync_run where state = 'held'`)) as [
      Run,
    ]
    expect(plan).toMatchObject({ sample: ['e6', 'e7', 'e8'] })
  })

  test('holds up no later change of who was only to be asked', async () => {
    await under.inSync(10)
    await hr(`update person set name = 'other' where userid < 'e6'`)
    const { id, state } = await under.plan('full')
    expect(state).toBe('held')
    await reject(id, keys('e0'))
    await hr(`update person set name = 'third' where userid = 'e9'`)
    await tick()
    expect(await waiting()).toMatchObject({ e1: 'held', e9: 'waiting' })
    expect(await under.pending()).toEqual(['e9'])
    await under.acknowledge()
    await hr(`update person set name = 'n9' where userid = 'e9'`)
    await tick()
    expect(await under.pending()).toEqual(['e9'])
    await under.acknowledge()
    await approve(id, { key: 'e' })
    await planAll()
    expect(await under.pending()).toEqual(['e1', 'e2', 'e3', 'e4', 'e5', 'e6', 'e7', 'e8', 'e9'])
  })

  test('stays held when HR changes the row again, and is over when HR restores it', async () => {
    const id = await held()
    await reject(id, keys('e0', 'e1', 'e2', 'e3'))
    await hr(`update person set name = 'third' where userid = 'e4'`)
    await tick()
    expect(await under.pending()).toEqual([])
    expect(await run(id)).toMatchObject({ state: 'held', undecided: 2, plan: { changed_since: 1 } })
    await hr(`update person set name = 'n' || substr(userid, 2), mobile = 13800000000 + substr(userid, 2)::int
      where userid in ('e4', 'e5')`)
    await tick()
    expect(await run(id)).toMatchObject({
      state: 'superseded',
      message: expect.stringContaining('What nobody had decided about by then was not sent.'),
    })
    expect(await waiting()).toEqual({ e0: 'rejected', e1: 'rejected', e2: 'rejected', e3: 'rejected' })
    expect(await under.pending()).toEqual([])
  })

  test('that was approved is not sent with another row than the plan saw', async () => {
    const id = await held()
    const part = await approve(id, keys('e0', 'e1'))
    // Before its run begins, another plan has passed a newer row.
    await under.store.pool.query(
      `update dirsync.employee set source_hash = gen_random_uuid() where userid = 'e1'`,
    )
    await under.planRequested(part)
    expect(await under.pending()).toEqual(['e0'])
  })

  test('that was approved is sent though its planner died', async () => {
    const id = await held()
    const part = await approve(id, keys('e0', 'e1'))
    await under.store.pool.query(`update dirsync.sync_run set state = 'planning' where id = $1`, [part])
    expect(await under.planRequested(part)).toMatchObject({ state: 'running' })
    expect(await under.pending()).toEqual(['e0', 'e1'])
  })

  test('takes as long as its own run took', async () => {
    const id = await held()
    const part = await approve(id, keys('e0', 'e1'))
    await planAll()
    await under.acknowledge()
    expect(
      await under.store.rows(
        'select started_at >= requested_at and finished_at >= started_at as apart from dirsync.sync_run where id = $1',
        [part],
      ),
    ).toEqual([{ apart: true }])
  })

  test('has not checked HR with its run', async () => {
    const id = await held()
    await approve(id, keys('e0', 'e1'))
    await planAll()
    await hr(`delete from person where userid > 'e4'`)
    expect(await under.plan()).toMatchObject({ state: 'source_suspect' })
    // A worker finds another row than its plan saw, before the last part is sent.
    await under.store.pool.query(`update dirsync.pending set replan_at = now() where entity_key = 'e0'`)
    await under.planRequested(await approve(id, { key: 'e' }))
    expect(await lastPlanPassed(under.store.pool, '')).toBe(false)
    expect(await requestReplan(under.store.pool, WHOLE)).toEqual(expect.any(Number))
  })

  test('whose run fails is undecided again', async () => {
    const id = await held()
    const part = await approve(id, keys('e0', 'e1'))
    const { pool } = under.store
    await pool.query(`
      create function public.refuse() returns trigger language plpgsql as $$ begin raise exception 'full'; end $$;
      create trigger refuse before insert on dirsync.pending for each row execute function public.refuse()`)
    await under.planRequested(part)
    await pool.query('drop function public.refuse() cascade')
    await planAll()
    expect(await run(part)).toMatchObject({ state: 'failed' })
    expect(await run(id)).toMatchObject({ state: 'held', undecided: 6 })
    expect(await under.pending()).toEqual([])
    await approve(id, keys('e0', 'e1'))
    await planAll()
    expect(await under.pending()).toEqual(['e0', 'e1'])
  })

  describe('whose run is cancelled is undecided again, and sent by nothing but another approval', () => {
    const cancel = (run: number) => under.store.pool.query('select dirsync.cancel($1)', [run])

    test.each(['requested', 'planning', 'running'])('while it is %s', async state => {
      const id = await held()
      const part = await approve(id, keys('e0', 'e1'))
      if (state === 'running') await planAll()
      else await under.store.pool.query('update dirsync.sync_run set state = $2 where id = $1', [part, state])
      await cancel(part)
      expect(await run(id)).toMatchObject({ state: 'held', undecided: 6 })
      await finishRuns(under.store.pool)
      expect(await run(part)).toMatchObject({ state: 'cancelled' })
      // Two rows are few enough for the breaker.
      for (const _ of [1, 2]) await tick()
      await under.plan('full')
      await under.acknowledge('e0', 'e1')
      expect(await run(id)).toMatchObject({ state: 'held', undecided: 6 })
      expect(await waiting()).toMatchObject({ e0: 'held', e1: 'held' })
      await approve(id, keys('e0'))
      await reject(id, keys('e1'))
      await planAll()
      expect(await under.pending()).toEqual(['e0'])
      expect(await waiting()).toMatchObject({ e1: 'rejected', e2: 'held' })
    })

    test('except for what it has sent, and what was in hand stays open until its end', async () => {
      const id = await held()
      const part = await approve(id, keys('e0', 'e1', 'e2', 'e3'))
      await planAll()
      const sent = await begin(under.store, employee('e0'))
      await settle(under.store.pool, [
        outcome(employee('e0'), sent, {
          outcome: 'updated',
          employee: memory({ acknowledgedHash: sent.sourceHash }),
        }),
      ])
      const inHand = await begin(under.store, employee('e1'))
      await cancel(part)
      expect(await run(id)).toMatchObject({ state: 'held', undecided: 4 })
      const again = { delayMs: 0, attempts: 1 }
      await settle(under.store.pool, [outcome(employee('e1'), inHand, { outcome: 'retry', again })])
      await finishRuns(under.store.pool)
      expect(await run(id)).toMatchObject({ state: 'held', undecided: 5 })
      await tick()
      expect(await under.pending()).toEqual([])
      expect(
        await under.store.rows('select planned, returned from dirsync.plan_decision where run_id = $1', [id]),
      ).toEqual([{ planned: 4, returned: 3 }])
      await approve(id, keys('e1', 'e2'))
      await planAll()
      expect(await under.pending()).toEqual(['e1', 'e2'])
    })

    test('and the person is told so, also where it is in hand', async () => {
      const id = await held()
      const part = await approve(id, keys('e0'))
      const other = await approve(id, keys('e1', 'e2'))
      await planAll()
      const commands = new Commands(under.store.pool, { actor: 'test' })
      expect(await commands.cancel(other, null)).toEqual({ run: other, undecidedIn: id })
      // All that it has left is in hand: it is undecided again if it comes back.
      const inHand = await begin(under.store, employee('e0'))
      expect(await commands.cancel(part, null)).toEqual({ run: part, undecidedIn: id })
      await reject(id, { key: 'e' })
      expect(await commands.cancel(id, null)).toEqual({ run: id, undecidedIn: id })
      const again = { delayMs: 0, attempts: 1 }
      await settle(under.store.pool, [outcome(employee('e0'), inHand, { outcome: 'retry', again })])
      await finishRuns(under.store.pool)
      expect(await run(id)).toMatchObject({ state: 'held', undecided: 1 })
    })

    test('unless its source of HR was taken away, and the person is told of no plan then', async () => {
      const id = await held()
      const part = await approve(id, keys('e0'))
      await planAll()
      await under.store.rows(`update dirsync.sync_run set hr_source = 'gone' where id in ($1, $2)`, [
        id,
        part,
      ])
      const commands = new Commands(under.store.pool, { actor: 'test' })
      expect(await commands.cancel(part, null)).toEqual({ run: part, undecidedIn: null })
      expect(await run(id)).toMatchObject({ state: 'held', undecided: 5 })
    })

    test.each(['before it begins', 'while it sends'])(
      'after the last decision, when its held run went on: %s',
      async moment => {
        const id = await held()
        await approve(id, keys('e0', 'e1', 'e2'))
        await reject(id, keys('e3'))
        const last = await approve(id, keys('e4', 'e5'))
        expect(await run(id)).toMatchObject({ state: 'running' })
        if (moment === 'while it sends') await planAll()
        await cancel(last)
        expect(await run(id)).toMatchObject({
          state: 'held',
          approved: false,
          undecided: 2,
          finishedAt: null,
        })
        for (const _ of [1, 2]) await tick()
        expect(await under.pending()).toEqual(['e0', 'e1', 'e2'])
        await under.acknowledge()
        expect(await waiting()).toEqual({ e3: 'rejected', e4: 'held', e5: 'held' })
        await reject(id, keys('e4', 'e5'))
        await finishRuns(under.store.pool)
        expect(await run(id)).toMatchObject({ state: 'done', undecided: 0 })
      },
    )

    test('and its held run is rejected with the rest when nothing of it was sent', async () => {
      const id = await held()
      const part = await approve(id, keys('e0', 'e1'))
      await planAll()
      await cancel(part)
      await reject(id, { key: 'e' })
      expect(await run(id)).toMatchObject({
        state: 'rejected',
        approved: false,
        finishedAt: expect.any(Date),
      })
    })

    test('when HR had restored all the rest meanwhile', async () => {
      const id = await held()
      const part = await approve(id, keys('e0', 'e1'))
      await planAll()
      await hr(`update person set name = 'n' || substr(userid, 2), mobile = 13800000000 + substr(userid, 2)::int
        where userid in ('e2', 'e3', 'e4', 'e5')`)
      await tick()
      expect(await run(id)).toMatchObject({ state: 'superseded' })
      // A process was reading it: nothing of it counted any more.
      await under.store.pool.query(
        `insert into dirsync.plan_reading (run_id, state, finished_at, moves) values ($1, 'stopped', now(), '[]')`,
        [id],
      )
      await cancel(part)
      expect(await run(id)).toMatchObject({ state: 'held', finishedAt: null })
      for (const _ of [1, 2]) await tick()
      expect(await under.pending()).toEqual([])
      expect(await waiting()).toEqual({ e0: 'held', e1: 'held' })
      await read()
      await approve(id, { field: 'name' })
    })

    test('and over when HR restores it', async () => {
      const id = await held()
      const part = await approve(id, keys('e0', 'e1'))
      await planAll()
      await cancel(part)
      await hr(
        `update person set name = 'n' || substr(userid, 2), mobile = 13800000000 + substr(userid, 2)::int`,
      )
      await tick()
      expect(await run(id)).toMatchObject({ state: 'superseded' })
      expect(await under.pending()).toEqual([])
      expect(await waiting()).toEqual({})
    })

    test('and over when HR takes leavers back, who are in service again', async () => {
      await under.inSync(10)
      await hr(`update person set active = false where userid = 'e0'; delete from person where userid = 'e1';
        update person set name = 'other' where userid = 'e2'`)
      const { id } = await under.plan()
      const part = await approve(id, keys('e0', 'e1'))
      await planAll()
      expect(await waiting()).toEqual({ e0: 'left', e1: 'vanished', e2: 'held' })
      await cancel(part)
      expect(await waiting()).toEqual({ e0: 'held', e1: 'held', e2: 'held' })
      await hr(`update person set active = true where userid = 'e0'; update person set name = 'n2' where userid = 'e2';
        insert into person (userid, name, mobile, dept_code) values ('e1', 'n1', '13800000001', 'D0')`)
      await tick()
      expect(await run(id)).toMatchObject({ state: 'superseded' })
      // What was confirmed of a vanished employee is forgotten.
      expect(await waiting()).toEqual({ e1: 'waiting' })
      expect(await under.pending()).toEqual(['e1'])
    })

    test('while another plan is held as a whole, which is decided as ever', async () => {
      const id = await held()
      const part = await approve(id, { key: 'e' })
      await planAll()
      await hr(`update person set name = 'third' where userid in ('e6', 'e7', 'e8')`)
      await tick()
      const other = await under.store.value<number>(`select id from dirsync.sync_run where state = 'held'`)
      await cancel(part)
      for (const _ of [1, 2]) await tick()
      expect([(await run(id)).state, (await run(other)).state]).toEqual(['held', 'held'])
      expect(await under.pending()).toEqual([])
      await under.store.pool.query(`select dirsync.reject($1, 'not so')`, [other])
      await tick()
      expect(await under.pending()).toEqual([])
      expect(await waiting()).toMatchObject({ e0: 'held', e5: 'held', e6: 'rejected', e8: 'rejected' })
    })

    test('also with the run that was decided in parts, which is held again', async () => {
      const id = await held()
      const part = await approve(id, keys('e0', 'e1'))
      await reject(id, { key: 'e' })
      await planAll()
      expect(await run(id)).toMatchObject({ state: 'running' })
      await cancel(id)
      for (const _ of [1, 2]) await finishRuns(under.store.pool)
      await tick()
      expect(await under.pending()).toEqual([])
      expect([(await run(part)).state, (await run(id)).state]).toEqual(['cancelled', 'held'])
      expect(await waiting()).toMatchObject({ e0: 'held', e1: 'held', e2: 'rejected' })
    })
  })

  test('of departments: what is not decided is deleted by no later run', async () => {
    const source = under.source(EMPLOYEES, DEPARTMENTS)
    const id = await heldDepartments(source)
    await under.planRequested(await approve(id, keys('D1')), source)
    expect(await under.pending()).toEqual(['D1'])
    await under.store.pool.query('delete from dirsync.pending')
    await under.store.pool.query(`update dirsync.department set deleted_at = now() where dept_code = 'D1'`)
    expect(await under.plan('departments', { source })).toMatchObject({ state: 'running', planned: 0 })
    expect(await run(id)).toMatchObject({ state: 'held', undecided: 2 })
    await reject(id, keys('D2'))
    expect(await under.plan('departments', { source })).toMatchObject({ planned: 0 })
    expect(await run(id)).toMatchObject({ state: 'held', undecided: 1 })
  })
})

describe('decisions about parts', () => {
  /** Decides once a plan has compared and is about to write that HR has changed e9. */
  async function decideDuringPlan(decide: () => Promise<unknown>, pattern: string): Promise<void> {
    const { pool } = under.store
    const slow = await pool.connect()
    try {
      await slow.query('begin')
      await slow.query(`select from dirsync.employee where userid = 'e9' for update`)
      await hr(`update person set name = 'other' where userid = 'e9'`)
      const planned = under.plan()
      const waits = async (query: string) =>
        until(async () => {
          const { rowCount } = await pool.query(`${WAITING_FOR_A_LOCK} and query like $1`, [query])
          return rowCount === 1
        })
      await waits('%from dirsync.employee e%')
      const decided = decide()
      await waits(pattern)
      await slow.query('rollback')
      await Promise.all([planned, decided])
    } finally {
      slow.release()
    }
  }

  test('meet a plan that is being made: they wait for it, and it undoes none of them', async () => {
    const id = await held()
    await reject(id, keys('e5'))
    await decideDuringPlan(() => reject(id, keys('e4')), '%reject_part%')
    await tick()
    expect(await under.pending()).toEqual(['e9'])
    expect(await waiting()).toMatchObject({ e3: 'held', e4: 'rejected', e5: 'rejected' })
  })

  test('that nobody commits are not taken: PostgreSQL ends the session, and the plan that waited goes on', async () => {
    const id = await held()
    const forgotten = createClient(under.store.url, 'test')
    await forgotten.connect()
    const ended = once(forgotten, 'error')
    // That its connection is gone is an event of its own.
    forgotten.on('error', () => {})
    // Shorter than the minute that a decision sets: it stays.
    await forgotten.query(`set idle_in_transaction_session_timeout = '500ms'; begin`)
    await forgotten.query('select dirsync.approve($1)', [id])
    expect(await under.plan()).toMatchObject({
      state: 'superseded',
      message: expect.stringContaining(`${id} was held`),
    })
    expect(await ended).toMatchObject([{ code: '25P03' }])
    expect(await run(id)).toMatchObject({ state: 'held' })
    expect(await under.store.rows('select from dirsync.command')).toEqual([])
  })

  test('hold up the end of no other run while a plan is made', async () => {
    const id = await held()
    const part = await approve(id, { key: 'e' })
    await planAll()
    const { id: other } = await under.plan('departments')
    const planning = await under.store.pool.connect()
    try {
      await planning.query('begin')
      await runsInParts(planning, '', true)
      await under.acknowledge()
      await finishRuns(under.store.pool)
      expect([await run(part), await run(other)]).toMatchObject([{ state: 'done' }, { state: 'done' }])
    } finally {
      await planning.query('rollback')
      planning.release()
    }
    await finishRuns(under.store.pool)
    expect(await run(id)).toMatchObject({ state: 'done' })
  })

  test('that are taken back while a plan is made wait for it, though nothing was undecided', async () => {
    const id = await held()
    const part = await approve(id, { key: 'e' })
    await planAll()
    await decideDuringPlan(
      () => under.store.pool.query('select dirsync.cancel($1)', [part]),
      '%dirsync.cancel%',
    )
    expect(await waiting()).toMatchObject({ e0: 'held', e5: 'held' })
    await reject(id, keys('e0'))
    await tick()
    expect(await waiting()).toMatchObject({ e0: 'rejected', e5: 'held' })
    expect(await under.pending()).toEqual(['e9'])
  })

  test('about departments do not wait while HR is read, and the plan goes by them', async () => {
    const source = under.source(EMPLOYEES, DEPARTMENTS)
    const id = await heldDepartments(source)
    const asked = Promise.withResolvers<void>()
    const answer = Promise.withResolvers<void>()
    const departments = source.departments.bind(source)
    vi.spyOn(source, 'departments').mockImplementationOnce(async () => {
      asked.resolve()
      await answer.promise
      return departments()
    })
    const planned = under.plan('departments', { source })
    try {
      await asked.promise
      await transaction(under.store.pool, async db => {
        await db.query(`set local lock_timeout = '3s'`)
        await db.query(`select dirsync.reject_part($1, $2, 'not so')`, [id, keys('D1')])
      })
    } finally {
      answer.resolve()
    }
    expect(await planned).toMatchObject({ state: 'running', planned: 0 })
    expect(await run(id)).toMatchObject({ state: 'held', undecided: 2 })
  })

  test('meet a plan that reads HR: what they approve is sent by its own run', async () => {
    const id = await held()
    await hr(`update person set name = 'other' where userid = 'e9'`)
    const slow = await under.hr.connect()
    try {
      await slow.query('begin')
      await slow.query('lock table person in access exclusive mode')
      await reject(id, keys('e5'))
      const other = await under.store.value<number>(
        `select id from dirsync.sync_run where state = 'requested'`,
      )
      const planned = under.planRequested(other)
      await until(async () => (await run(other)).state === 'planning')
      const part = await approve(id, keys('e0'))
      await slow.query('commit')
      await planned
      expect(await under.pending()).toEqual(['e9'])
      await planAll()
      expect(await under.store.rows('select entity_key, run_id from dirsync.pending order by 1')).toEqual([
        { entity_key: 'e0', run_id: part },
        { entity_key: 'e9', run_id: other },
      ])
    } finally {
      slow.release()
    }
  })

  /** A person approves the held plan while another run of all is planned, which is held for as many rows. */
  async function approvedMeanwhile(change?: string): Promise<{ id: number; other: number }> {
    const id = await held()
    const slow = await under.hr.connect()
    try {
      await slow.query('begin')
      await slow.query('lock table person in access exclusive mode')
      const other = await requestRun(under.store.pool, 'changes', [], 'test')
      const planned = under.planRequested(other)
      await until(async () => (await run(other)).state === 'planning')
      await under.store.pool.query('select dirsync.approve($1)', [id])
      if (change !== undefined) await slow.query(change)
      await slow.query('commit')
      expect(await planned).toMatchObject({ state: 'held', planned: 6 })
      return { id, other }
    } finally {
      slow.release()
    }
  }

  test('reject what a person approves meanwhile, with another plan of other rows or the same: the later word counts', async () => {
    const { other } = await approvedMeanwhile(`update person set name = 'third' where userid = 'e1'`)
    await reject(other, keys('e0', 'e1'))
    await planAll()
    await under.plan()
    expect(await under.pending()).toEqual(['e2', 'e3', 'e4', 'e5'])
    expect(await under.store.rows('select userid from dirsync.employee where rejected order by 1')).toEqual([
      { userid: 'e0' },
      { userid: 'e1' },
    ])
  })

  test('do not reject what an approved plan sends already: the person is told which', async () => {
    const { id, other } = await approvedMeanwhile()
    await under.planRequested(id)
    expect(await under.pending()).toEqual(['e0', 'e1', 'e2', 'e3', 'e4', 'e5'])
    const refusal = { code: 'DS409', message: expect.stringContaining(`run ${id}`) }
    await expect(reject(other, keys('e0'))).rejects.toMatchObject(refusal)
    await expect(under.store.pool.query(`select dirsync.reject($1, 'no')`, [other])).rejects.toMatchObject(
      refusal,
    )
    await under.store.pool.query(`select dirsync.cancel($1, 'no')`, [id])
    expect(await under.pending()).toEqual([])
    await reject(other, keys('e0'))
  })

  test('of which only one counts', async () => {
    const id = await held()
    const both = await Promise.allSettled([approve(id, keys('e0', 'e1')), reject(id, keys('e1', 'e2'))])
    const lost = both.filter(({ status }) => status === 'rejected') as PromiseRejectedResult[]
    expect(lost.map(({ reason }) => reason.code)).toEqual(['DS409'])
    expect(await run(id)).toMatchObject({ undecided: 4 })
  })

  test.each([
    [{ dept: 'D1' }, '22023', 'a plan cannot be filtered by dept'],
    [{}, '22023', 'say which part'],
    ['["e1"]', '22023', 'say which part'],
    [{ key: '' }, '22023', 'say which part'],
    [{ department: 'D1', key: ' \t' }, '22023', 'say which part'],
    [{ key: ['e0'] }, '22023', 'a plan cannot be filtered by key ["e0"]'],
    [{ odd: 'maybe' }, '22023', 'a plan cannot be filtered by odd "maybe"'],
    [{ keys: 'e0' }, '22023', 'a plan cannot be filtered by keys "e0"'],
    [{ keys: ['e0', null] }, '22023', 'a plan cannot be filtered by keys ["e0", null]'],
    [{ keys: ['e0', ' '] }, '22023', 'a plan cannot be filtered by keys ["e0", " "]'],
    [{ department: 'nowhere' }, 'P0002', 'no undecided row'],
    [keys(), 'P0002', 'no undecided row'],
    [keys('e0', 'e9'), 'P0002', 'has no row of e9'],
  ])('are refused for %j', async (part, code, text) => {
    const id = await held()
    await read()
    await expect(approve(id, part)).rejects.toMatchObject({ code, message: expect.stringContaining(text) })
    expect(await run(id)).toMatchObject({ state: 'held', undecided: null })
    expect(await under.store.rows('select from dirsync.plan_decision')).toEqual([])
  })

  test('hold back a planner of an earlier version, which would send the rest', async () => {
    const id = await held()
    await approve(id, keys('e0', 'e1', 'e2', 'e3'))
    await planAll()
    await under.acknowledge()
    const { pool } = under.store
    // What version 1.0.0 does: a run of its own, and the held one superseded.
    const other = await requestRun(pool, 'full', [], 'cron')
    await pool.query(`update dirsync.sync_run set state = 'planning' where id = $1`, [other])
    await expect(
      pool.query(`update dirsync.sync_run set state = 'running' where id = $1`, [other]),
    ).rejects.toThrow(`run ${id} is decided in parts`)
    const superseding = transaction(pool, async db => {
      await beginRun(db, id)
      await db.query(`update dirsync.sync_run set state = 'superseded' where id = $1`, [id])
    })
    await expect(superseding).rejects.toThrow(`run ${id} is decided in parts`)
  })

  test('tell who rejected a row for as long as it differs', async () => {
    const id = await held()
    const decide = (name: string, statement: string) =>
      asAsker(under.store.pool, { actor: `console:${name}` }, client => client.query(statement, [id]))
    await decide('mei', `select dirsync.reject_part($1, '{"keys": ["e1", "e2"]}', 'wrong department')`)
    await decide('bob', `select dirsync.approve_part($1, '{"key": "e"}', 'checked')`)
    await planAll()
    await hr(`update person set name = 'e2' where userid = 'e2'`)
    await tick()
    await under.acknowledge()
    expect(await waiting()).toEqual({ e1: 'rejected' })
    await finishRuns(under.store.pool)
    await under.store.pool.query(
      `update dirsync.sync_run set finished_at = finished_at - interval '200 days'`,
    )
    await pruneHistory(under.store.pool)
    const { record } = await readEmployeeStory(under.store.pool, { enterpriseCode: '', userid: 'e1' })
    expect(record?.held).toMatchObject({
      reason: 'wrong department',
      decided_by: expect.stringContaining('mei'),
    })
    expect(await heldBack(under.store.pool, id)).toMatchObject({ employees: 1 })
    expect(await under.store.rows('select entity_key from dirsync.planned_work')).toEqual([
      { entity_key: 'e1' },
    ])
  })

  test('name who rejected a row, when HR changes it once more', async () => {
    const id = await held()
    await reject(id, keys('e3', 'e4', 'e5'))
    await hr(`update person set name = 'third' where userid in ('e3', 'e4', 'e5')`)
    await recheckHeldRun(under.store.pool, id)
    await planAll()
    const { message } = await run(id)
    expect(message).toContain(`3 of them were rejected before, with run ${id} by postgres (not so).`)
  })
})
