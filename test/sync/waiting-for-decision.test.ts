import { describe, expect, test } from 'vitest'
import { countStatuses } from '../../src/console/employees/list.ts'
import { readOverview } from '../../src/console/overview/read.ts'
import { Commands } from '../../src/sync/runs/commands.ts'
import { readRun, recheckHeldRun, requestRun } from '../../src/sync/runs/run.ts'
import { worded } from '../texts/worded.ts'
import { PlanUnderTest } from './plan-under-test.ts'
import { caseOf, fail, plant, plantRun } from './planted.ts'

const under = new PlanUnderTest()
const hr = (text: string) => under.hr.query(text)

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

  test('of a run of named rows is in sync again once HR has restored the row', async () => {
    await under.inSync(10)
    const named = ['e1', 'e2', 'e3', 'e4']
    const all = 'e0 e1 e2 e3 e4 e5 e6 e7 e8 e9'
    await hr(`update person set name = 'other' where userid in ('${named.join("', '")}')`)
    const id = await requestRun(under.store.pool, 'changes', named, 'trigger')
    const waiting = named.map(key => `${key}:${id}`)
    expect(await under.planRequested(id)).toMatchObject({ state: 'held' })
    expect(await statuses()).toEqual({ in_sync: 'e0 e5 e6 e7 e8 e9', held: waiting.join(' ') })
    const restore = async (...userids: string[]) => {
      await hr(
        `update person set name = 'n' || substr(userid, 2) where userid in ('${userids.join("', '")}')`,
      )
      await recheckHeldRun(under.store.pool, id)
      return under.planRequested(id)
    }
    expect(await restore('e1')).toMatchObject({ state: 'held' })
    expect(await statuses()).toEqual({ in_sync: 'e0 e1 e5 e6 e7 e8 e9', held: waiting.slice(1).join(' ') })
    expect(await restore(...named)).toMatchObject({ state: 'superseded' })
    expect(await statuses()).toEqual({ in_sync: all })
  })

  test.each([
    ['was cancelled', { held: ['e2', 'e4', 'e5', 'e6'], waiting: 'e1', inSync: 4 }],
    ['has yet to be sent', { held: ['e4', 'e5', 'e6'], waiting: 'e1 e2', inSync: 5 }],
  ])(
    'is not one whose earlier change %s, and HR has taken it back: a rejection is about the others',
    async (what, expected) => {
      await under.inSync(8)
      await hr(`update person set name = 'wrong' where userid in ('e1', 'e2')`)
      const { id: earlier } = await under.plan()
      if (what === 'was cancelled') await under.store.pool.query('select dirsync.cancel($1)', [earlier])
      await hr(`update person set name = 'n1' where userid = 'e1';
        update person set name = 'other' where userid in ('e4', 'e5', 'e6')`)
      const { id, state } = await under.plan()
      expect(state).toBe('held')
      const held = expected.held.map(key => `${key}:${id}`).join(' ')
      expect(await statuses()).toEqual({ in_sync: 'e0 e3 e7', waiting: expected.waiting, held })
      await decide('reject', id)
      await next()
      await under.acknowledge()
      expect(await statuses()).toMatchObject({ rejected: held })
      expect(await tallied()).toMatchObject({ in_sync: expected.inSync })
    },
  )

  test('and who has vanished before stays vanished', async () => {
    await under.inSync(10)
    await hr(`delete from person where userid = 'e9'`)
    await under.plan()
    await under.acknowledge()
    await hr(`update person set name = 'other' where userid in ('e1', 'e2', 'e3', 'e4')`)
    const { id, plan } = await under.plan()
    expect(plan).toMatchObject({ reasons: { changed: 4 } })
    const waiting = ['e1', 'e2', 'e3', 'e4'].map(key => `${key}:${id}`).join(' ')
    expect(await statuses()).toEqual({ in_sync: 'e0 e5 e6 e7 e8', held: waiting, vanished: 'e9' })
    expect(await under.store.rows('select from dirsync.planned_work')).toHaveLength(4)
    await decide('reject', id)
    await next()
    expect(await statuses()).toEqual({ in_sync: 'e0 e5 e6 e7 e8', rejected: waiting, vanished: 'e9' })
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

  test('whom a person had named before the row was rejected is left out of a run planned after that; who names them later is heard', async () => {
    const { pool } = under.store
    const id = await held()
    const open = await fail(under.store, { entity_key: 'e2' })
    const commands = new Commands(pool, { actor: 'test' })
    const named = await commands.resyncEmployees(['e1', 'e2', 'e5'])
    const [again, retry] = [await commands.resyncEmployees(['e1']), await commands.retry([open])]
    await decide('reject', id)
    expect(await commands.resyncEmployees(['e1'])).toBe(again)
    for (const run of [named, again, retry]) await under.planRequested(run)
    const unsent = { outcome: 'obsolete', error: `rejected with run ${id}; only a sync by name sends it` }
    expect(await under.store.rows('select run_id, entity_key, outcome, error from dirsync.attempt')).toEqual([
      { run_id: named, entity_key: 'e1', ...unsent },
      { run_id: named, entity_key: 'e2', ...unsent },
      { run_id: retry, entity_key: 'e2', ...unsent },
    ])
    expect(
      await under.store.rows('select run_id, entity_key, named from dirsync.pending order by entity_key'),
    ).toEqual([
      { run_id: again, entity_key: 'e1', named: true },
      { run_id: named, entity_key: 'e5', named: true },
    ])
    expect(await caseOf(under.store, open)).toMatchObject({ state: 'open' })
    await under.acknowledge()
    expect((await readRun(pool, named))?.result).toMatchObject({ outcomes: { obsolete: 2 } })
  })

  test('releases those who wait for a value of theirs, once it is rejected and an earlier update may have given it up', async () => {
    const id = await held()
    await decide('reject', id)
    await under.planRequested(id + 1)
    await under.acknowledge()
    await under.store.pool.query(`
      insert into dirsync.pending (operation, entity_key, priority, not_before, replan_at, sent_unknown)
      values ('update-employee', 'e1', 2, 'infinity', now(), true);
      insert into dirsync.dead_letter (entity, entity_key, operation, field, category, message, remedy, blocked_by, next_retry_at)
      values ('employee', 'e5', 'update-employee', 'mobile', 'duplicate', '{}', '{}', 'e1', now() + interval '7 days')`)
    await under.plan()
    expect(await under.pending()).toEqual([])
    expect(
      await under.store.rows(`select next_retry_at <= now() as is_due from dirsync.dead_letter`),
    ).toEqual([{ is_due: true }])
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

  test('of departments: a retry of a deletion that was requested before its rejection does not make it', async () => {
    const held = await plantRun(under.store, { kind: 'departments', state: 'held' })
    const deletion = { operation: 'delete-department', entity_key: 'D1' }
    await plant(under.store, 'department', { dept_code: 'D1', active: false })
    await plant(under.store, 'planned_work', { ...deletion, run_id: held, reason: 'delete' })
    const open = await fail(under.store, { ...deletion, entity: 'department', field: '' })
    const retry = () => new Commands(under.store.pool, { actor: 'test' }).retry([open])
    const before = await retry()
    await decide('reject', held)
    await under.planRequested(before)
    expect(await under.pending()).toEqual([])
    expect(await under.store.rows('select run_id, outcome, error from dirsync.attempt')).toEqual([
      { run_id: before, outcome: 'obsolete', error: `its deletion was rejected with run ${held}` },
    ])
    await under.planRequested(await retry())
    expect(await under.pending()).toEqual(['D1'])
  })
})
