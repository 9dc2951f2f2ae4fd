// @module-tag mariadb

import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { readArrival } from '../../src/console/cases/arrival.ts'
import { caseStory, everyCase, groupCases, listCasesPage } from '../../src/console/cases/read.ts'
import { countStatuses, listEmployees } from '../../src/console/employees/list.ts'
import { readEmployeeStory } from '../../src/console/employees/story.ts'
import { readHistory } from '../../src/console/overview/history.ts'
import { readNow, todosOf } from '../../src/console/overview/query.ts'
import { readOverview, syncSummary } from '../../src/console/overview/read.ts'
import { HrSources } from '../../src/hr/sources.ts'
import { requestDueRetries } from '../../src/sync/cases/retries.ts'
import { claimDeployment } from '../../src/sync/health/deployment.ts'
import { countDoubted, noteStatuses } from '../../src/sync/health/figures.ts'
import { claim } from '../../src/sync/outbox/claim.ts'
import { unaskedEnterprises } from '../../src/sync/outbox/employee.ts'
import { detachHalted } from '../../src/sync/outbox/outbox.ts'
import { type Run, readRun, requestRun } from '../../src/sync/runs/run.ts'
import { requestScheduledRun } from '../../src/sync/runs/run-requests.ts'
import { finishRuns } from '../../src/sync/settle/finish-runs.ts'
import { settle as settleOutcomes } from '../../src/sync/settle/settlement.ts'
import { hrSource } from '../hr/hr-database.ts'
import { worded } from '../texts/worded.ts'
import { DEPARTMENTS, groupUnderTest, MAPPING } from './group-under-test.ts'
import { employee, outcome } from './outcomes.ts'
import { acknowledge } from './plan-under-test.ts'
import { caseOf, fail, plant } from './planted.ts'
import { SILENT } from './store-under-test.ts'

const {
  store,
  shanghai,
  beijing,
  both,
  source,
  settle,
  planNext,
  plan,
  people,
  hire,
  inSync,
  execute,
  worker,
  job,
  employees,
  pending,
} = groupUnderTest()

/** Shanghai has E1 and E3, Beijing E2, with so many people each; all are in sync. */
async function inSyncWithE3(each: number): Promise<HrSources> {
  await hire(shanghai.pool, [...people('E1', each), ...people('E3', each, 'c')])
  await hire(beijing.admin, people('E2', each, 'b'))
  const hr = await settle([
    source('shanghai', ['E1', 'E3'], shanghai.url),
    source('beijing', ['E2'], beijing.url),
  ])
  for (const { name } of hr.all) await plan(hr, name)
  await acknowledge(store)
  return hr
}

describe('the sources change', () => {
  test('one that is added is not held for all its employees', async () => {
    await hire(shanghai.pool, people('E1', 10))
    const one = await settle([source('shanghai', ['E1'], shanghai.url)])
    await plan(one, 'shanghai')
    await acknowledge(store)
    await hire(beijing.admin, people('E2', 10, 'b'))
    const hr = await settle(both())
    expect(await plan(hr, 'beijing')).toMatchObject({ state: 'running', plan: { reasons: { new: 10 } } })
  })

  test('one that is added and held for its leavers goes on once HR leaves them out', async () => {
    await shanghai.pool.query('delete from person')
    await hire(shanghai.pool, people('E1', 10))
    await shanghai.pool.query(`update person set active = false where userid > 'e3'`)
    const hr = await settle([source('shanghai', ['E1'], shanghai.url)])
    const held = await plan(hr, 'shanghai')
    expect(held).toMatchObject({ state: 'held' })
    await shanghai.pool.query(`delete from person where not active`)
    expect(worded(await plan(hr, 'shanghai'))).toMatchObject({ state: 'running', message: null })
    expect(await readRun(store.pool, held.id)).toMatchObject({ state: 'superseded' })
  })

  test('one whose first run was cancelled for its mapping is read as if that had never been', async () => {
    await hire(shanghai.pool, [...people('E1', 7), ...people('E3', 3, 'c')])
    const hr = await settle([source('shanghai', ['E1', 'E3'], shanghai.url)])
    await store.pool.query('select dirsync.cancel($1)', [(await plan(hr, 'shanghai')).id])
    await finishRuns(store.pool)
    await shanghai.pool.query(`delete from person where enterprise_code = 'E3'`)
    expect(worded(await plan(hr, 'shanghai'))).toMatchObject({ state: 'running', message: null })
  })

  test('one that delivers no leavers any more once it has another enterprise goes on', async () => {
    await hire(shanghai.pool, people('E1', 10))
    await shanghai.pool.query(`update person set active = false where userid > 'e5'`)
    await plan(await settle([source('shanghai', ['E1'], shanghai.url)]), 'shanghai')
    await acknowledge(store)
    await shanghai.pool.query('delete from person where not active')
    const hr = await settle([source('shanghai', ['E1', 'E3'], shanghai.url)])
    expect(worded(await plan(hr, 'shanghai'))).toMatchObject({ state: 'running', message: null })
    await acknowledge(store)
    await shanghai.pool.query(`delete from person where userid > 'e3'`)
    const other = await settle([source('shanghai', ['E1', 'E4'], shanghai.url)])
    expect(await plan(other, 'shanghai')).toMatchObject({ state: 'source_suspect' })
  })

  test('one that is removed makes no leavers; its held and waiting runs end, and waiting work is withdrawn', async () => {
    const hr = await inSync()
    await beijing.admin.query(`update person set name = 'Changed' where userid = 'b1'`)
    const running = await plan(hr, 'beijing')
    expect(running.state).toBe('running')
    await beijing.admin.query(`update person set name = 'Other'`)
    await hire(beijing.admin, people('E2', 1, 'new'))
    const held = await plan(hr, 'beijing')
    const waiting = await requestRun(store.pool, 'full', [], 'test', 'beijing')
    const rest = await settle([source('shanghai', ['E1'], shanghai.url)])
    expect(worded(await readRun(store.pool, held.id))).toMatchObject({
      state: 'rejected',
      message: 'Its HR source is not among those of the settings any more. Nothing of this plan was sent.',
    })
    // No decision is made about its change, and it is not in sync.
    expect(
      await store.rows(`select status, count(*)::int as n from dirsync.employee group by 1 order by 1`),
    ).toEqual([
      { status: 'in_sync', n: 10 },
      { status: 'waiting', n: 10 },
    ])
    // Nothing goes on with them by itself, and no figure says so.
    expect(await syncSummary(store.pool, 1, new Date())).toMatchObject({
      employees: { in_sync: 10, no_source: 10, waiting: 0 },
    })
    expect(await countStatuses(store.pool)).toMatchObject({ no_source: 10, waiting: 0 })
    expect((await listEmployees(store.pool, { status: 'no_source' }, { limit: 20 })).items).toHaveLength(10)
    expect(await readRun(store.pool, waiting)).toMatchObject({ state: 'cancelled' })
    await finishRuns(store.pool)
    expect(await readRun(store.pool, running.id)).toMatchObject({ state: 'cancelled' })
    expect(await plan(rest, 'shanghai')).toMatchObject({ state: 'running', planned: 0 })
    expect(await pending()).toEqual([])
    expect(await employees()).toEqual([
      { code: 'E1', n: 10, vanished: 0 },
      { code: 'E2', n: 10, vanished: 0 },
    ])
    // When it comes back, what it has changed is planned as ever.
    expect(await plan(await settle(both()), 'beijing')).toMatchObject({ state: 'held', planned: 11 })
  })

  test('one that gets another name reads again what its cancelled runs give back, however late', async () => {
    // Only the last of them is newer than what was read before.
    const mapping = MAPPING.replace(
      ' from',
      `, timestamptz '2026-01-01' + (userid = 'e9')::int * interval '1 day' as updated_at from`,
    )
    const named = (name: string) => settle([{ name, codes: ['E1'], hr: hrSource(shanghai.url, mapping, {}) }])
    await hire(shanghai.pool, people('E1', 10))
    const older = await named('shanghai')
    await plan(older, 'shanghai')
    await acknowledge(store)
    await shanghai.pool.query(`update person set name = 'Changed' where userid = 'e1'`)
    await plan(older, 'shanghai', 'full')
    const key = job('E1', 'e1')
    const [claimed] = await claim(store.pool, [key], older.owners)
    if (!claimed) throw new Error('there is no work')
    const newer = await named('sh')
    await plan(newer, 'sh')
    await settleOutcomes(store.pool, [outcome(key, claimed, { again: { delayMs: 0, attempts: 1 } })])
    await finishRuns(store.pool)
    expect(await pending()).toEqual([])
    await plan(newer, 'sh')
    expect(await pending()).toEqual(['E1/e1'])
    await acknowledge(store)
    await plan(newer, 'sh')
    expect(await store.value('select read_all from dirsync.sync_run order by id desc limit 1')).toBe(false)
  })

  test('everyone in service of one that is removed is without HR source, those who were in sync too', async () => {
    await inSync()
    await store.pool.query(`update dirsync.employee set vanished_at = now() where userid = 'b9'`)
    await store.pool.query(
      `update dirsync.employee set acknowledged_hash = gen_random_uuid() where userid = 'b1'`,
    )
    await settle([source('shanghai', ['E1'], shanghai.url)])
    const stands = { in_sync: 10, no_source: 9, waiting: 0 }
    expect(await countStatuses(store.pool)).toMatchObject({ ...stands, vanished: 1 })
    expect(await syncSummary(store.pool, 1, new Date())).toMatchObject({ employees: stands })
    const { items, next } = await listEmployees(store.pool, { status: 'no_source' }, { limit: 3 })
    const rest = await listEmployees(store.pool, { status: 'no_source' }, { after: next ?? '', limit: 20 })
    expect([...items, ...rest.items].map(({ userid, status }) => `${userid} ${status}`)).toEqual(
      ['b0', 'b1', 'b2', 'b3', 'b4', 'b5', 'b6', 'b7', 'b8'].map(userid => `${userid} no_source`),
    )
    await noteStatuses(store.pool)
    expect(await store.rows('select in_sync, waiting, no_source from dirsync.status_history')).toEqual([
      stands,
    ])
    expect(
      (await readEmployeeStory(store.pool, { enterpriseCode: 'E2', userid: 'b0' })).record,
    ).toMatchObject({
      status: 'no_source',
    })
  })

  test('one that is removed for good is a to-do for a week, and then no more', async () => {
    await claimDeployment(store.pool, { baseUrl: 'https://platform.example', appId: 'a', enterpriseCode: '' })
    await inSync()
    await finishRuns(store.pool)
    await plant(store, 'process', {
      id: randomUUID(),
      host: 'h',
      pid: 1,
      version: '1',
      roles: ['scheduler', 'worker'],
    })
    await settle([source('shanghai', ['E1'], shanghai.url)])
    await noteStatuses(store.pool)
    const told = async () => {
      const { result } = await readNow(store.pool, 'en')
      const todos = todosOf(result).filter(({ what }) => what === 'no_source')
      return { todos, share: result.share_in_sync, arrival: await readArrival(store.pool) }
    }
    expect(await told()).toEqual({
      ...{ todos: [{ what: 'no_source', count: 10 }], share: 1, arrival: 'no_source' },
    })
    const weekGoesBy = () =>
      store.pool.query(`update dirsync.deployment set source_lost_at = source_lost_at - interval '7 days'`)
    await weekGoesBy()
    const none = { todos: [], share: 1, arrival: 'arrived' }
    expect(await told()).toEqual(none)
    const now = new Date()
    const { in_sync } = await readHistory(store.pool, { from: new Date(now.getTime() - 600_000), to: now })
    expect(in_sync.filter(share => share !== null)).toEqual([1])
    // Starts that change nothing are no news; that it comes back while the other one goes is.
    await settle([source('shanghai', ['E1'], shanghai.url)])
    expect(await told()).toEqual(none)
    await settle([source('beijing', ['E2'], beijing.url)])
    const lost = { todos: [{ what: 'no_source', count: 10 }], arrival: 'no_source' }
    expect(await told()).toMatchObject(lost)
    // So is one that the only HR had.
    await settle([])
    await weekGoesBy()
    expect(await told()).toMatchObject(none)
    await settle([source('beijing', ['E2'], beijing.url)])
    expect(await told()).toMatchObject(lost)
  })

  test('after a restore the platform has yet to be asked about the employees of all but one that is removed', async () => {
    await inSync()
    const hr = await settle([source('shanghai', ['E1'], shanghai.url)])
    await store.pool.query('select dirsync.doubt_memory()')
    expect(await countDoubted(store.pool)).toBe(10)
    await planNext(hr, 'shanghai')
    await acknowledge(store)
    expect(await countDoubted(store.pool)).toBe(0)
    await settle(both())
    expect(await countDoubted(store.pool)).toBe(10)
    await settle([])
    expect(await countDoubted(store.pool)).toBe(10)
  })

  describe('one loses an enterprise while a run is held', () => {
    const whole = () => [source('shanghai', ['E1', 'E3'], shanghai.url)]
    /** Nor does HR deliver it. */
    async function without(): Promise<HrSources> {
      await shanghai.pool.query(`delete from person where enterprise_code = 'E3'`)
      return settle([source('shanghai', ['E1'], shanghai.url)])
    }

    /** One of them was rejected earlier. */
    async function heldForBoth(): Promise<Run> {
      await hire(shanghai.pool, [...people('E1', 10), ...people('E3', 10, 'c')])
      const hr = await settle(whole())
      await plan(hr, 'shanghai')
      await acknowledge(store)
      await shanghai.pool.query(`update person set name = 'Changed' where userid <> 'c9'`)
      await hire(shanghai.pool, people('E3', 1, 'new'))
      const held = await plan(hr, 'shanghai')
      expect(held).toMatchObject({ state: 'held', planned: 20 })
      await store.pool.query(`update dirsync.employee set rejected = true where userid = 'c0'`)
      return held
    }
    const approve = async (run: Run, hr: HrSources) => {
      await store.pool.query('select dirsync.approve($1)', [run.id])
      await planNext(hr, 'shanghai')
      return worded(await readRun(store.pool, run.id))
    }
    const WAITING = { held: 19, no_source: 2, rejected: 0, in_sync: 0 }
    const LET_GO = { held: 0, no_source: 10, rejected: 0, in_sync: 0 }

    test('for a moment: what is approved is sent', async () => {
      const held = await heldForBoth()
      await settle([source('shanghai', ['E1'], shanghai.url)])
      expect(await countStatuses(store.pool)).toMatchObject(WAITING)
      const hr = await settle(whole())
      await plan(hr, 'shanghai')
      expect(await approve(held, hr)).toMatchObject({ state: 'running', message: null })
      expect(await pending()).toHaveLength(20)
    })

    test('which is approved then: nothing of the enterprise is sent, nor waits any more', async () => {
      const held = await heldForBoth()
      const hr = await without()
      expect(worded(await plan(hr, 'shanghai'))).toMatchObject({ state: 'superseded' })
      // Of the enterprise nothing is read.
      expect(worded(await readRun(store.pool, held.id))).toMatchObject({
        state: 'held',
        message: expect.stringMatching(/HR has not changed since\.$/),
      })
      expect(await countStatuses(store.pool)).toMatchObject(WAITING)
      expect(await approve(held, hr)).toMatchObject({
        state: 'running',
        message: expect.stringMatching(/^Planned rows left out: 10\. /),
      })
      expect(await countStatuses(store.pool)).toMatchObject(LET_GO)
    })

    test('which a later plan supersedes: none of the enterprise waits any more', async () => {
      const held = await heldForBoth()
      const hr = await without()
      await shanghai.pool.query(
        `update person set name = replace(userid, 'e', 'n') where enterprise_code = 'E1'`,
      )
      await plan(hr, 'shanghai')
      expect(await readRun(store.pool, held.id)).toMatchObject({ state: 'superseded' })
      expect(await countStatuses(store.pool)).toMatchObject({ ...LET_GO, in_sync: 10 })
      // When it comes back, what HR has changed is planned as ever.
      await hire(shanghai.pool, people('E3', 10, 'c'))
      await shanghai.pool.query(
        `update person set name = 'Changed' where enterprise_code = 'E3' and userid <> 'c9'`,
      )
      await plan(await settle(whole()), 'shanghai')
      expect(await countStatuses(store.pool)).toMatchObject({
        held: 8,
        no_source: 0,
        rejected: 1,
        in_sync: 11,
      })
    })

    test('which was over before: the next start lets go who has been waiting since', async () => {
      const held = await heldForBoth()
      await store.pool.query(
        `update dirsync.sync_run set state = 'superseded', finished_at = now() where id = $1`,
        [held.id],
      )
      await without()
      // The others are looked at by the next plan.
      expect(await countStatuses(store.pool)).toMatchObject({ ...LET_GO, held: 10 })
    })

    test('of which a part is under way: the others wait until that cannot be taken back any more', async () => {
      const held = await heldForBoth()
      const of = { keys: ['c1', 'c2'] }
      const part = await store.value<number>('select dirsync.approve_part($1, $2)', [held.id, of])
      await planNext(await settle(whole()), 'shanghai')
      expect(await pending()).toEqual(['E3/c1', 'E3/c2'])
      const hr = await without()
      await shanghai.pool.query(`update person set name = replace(userid, 'e', 'n')`)
      await plan(hr, 'shanghai')
      expect(await readRun(store.pool, held.id)).toMatchObject({ state: 'superseded' })
      expect(await countStatuses(store.pool)).toMatchObject({
        ...WAITING,
        held: 7,
        no_source: 4,
        in_sync: 10,
      })
      await store.pool.query('select dirsync.cancel($1)', [part])
      expect(await readRun(store.pool, held.id)).toMatchObject({ state: 'held' })
      expect(await countStatuses(store.pool)).toMatchObject({ ...WAITING, held: 9, in_sync: 10 })
      await plan(hr, 'shanghai')
      await finishRuns(store.pool)
      await plan(hr, 'shanghai')
      expect(await countStatuses(store.pool)).toMatchObject({ ...LET_GO, in_sync: 10 })
    })
  })

  test('one that is removed after a part of its plan was sent is not said to have sent nothing', async () => {
    const hr = await inSync()
    await beijing.admin.query(`update person set name = 'Other' where userid < 'b6'`)
    const held = await plan(hr, 'beijing')
    await store.pool.query('select dirsync.approve_part($1, $2)', [held.id, { keys: ['b0', 'b1'] }])
    await planNext(hr, 'beijing')
    await acknowledge(store)
    await finishRuns(store.pool)
    await settle([source('shanghai', ['E1'], shanghai.url)])
    expect(worded(await readRun(store.pool, held.id))).toMatchObject({
      state: 'rejected',
      message:
        'Its HR source is not among those of the settings any more. What nobody had decided about by then was not sent.',
    })
  })

  test('one that is removed leaves no retry of a withheld field under way', async () => {
    await inSync()
    const E2 = { enterprise_code: 'E2', field: 'level' }
    await store.pool.query(`update dirsync.employee set withheld = '{level}' where userid = 'b3'`)
    await plant(store, 'field_block', { ...E2, next_probe_at: new Date(0) })
    const id = await fail(store, {
      ...E2,
      entity: 'enterprise',
      entity_key: 'E2',
      category: 'feature_disabled',
    })
    const hr = await settle([source('shanghai', ['E1'], shanghai.url)])
    const run = await requestRun(store.pool, 'retry', [String(id)], 'test')
    await planNext(hr, '')
    expect(await caseOf(store, id)).toMatchObject({ state: 'retrying' })
    await execute(hr, employee('b3', 'E2'))
    expect(await store.rows('select run_id, outcome, error from dirsync.attempt')).toEqual([
      { run_id: run, outcome: 'obsolete', error: 'no HR source has enterprise E2' },
    ])
    expect(await caseOf(store, id)).toMatchObject({ state: 'open' })
    expect(
      await store.rows(
        `select probing, next_probe_at > now() + interval '4 days' as late from dirsync.field_block`,
      ),
    ).toEqual([{ probing: false, late: true }])
    expect(await requestDueRetries(store.pool)).toBeNull()
  })

  test('the cases of one that is removed do not become work for a person', async () => {
    const hr = await inSync()
    const case_ = { enterprise_code: 'E2', field: '', next_retry_at: new Date(0) }
    const waiting = { category: 'not_on_platform', state: 'awaiting_activation' }
    const id = await fail(store, { ...case_, ...waiting, entity_key: 'b3' })
    const others = [
      await fail(store, {
        ...case_,
        category: 'platform_unavailable',
        state: 'retry_scheduled',
        entity_key: 'b4',
      }),
      await fail(store, { ...case_, entity_key: 'b5' }),
    ]
    // Its retry is under way.
    await requestDueRetries(store.pool)
    await planNext(hr, '')
    for (const one of [id, ...others]) expect(await caseOf(store, one)).toMatchObject({ state: 'retrying' })
    const rest = await settle([source('shanghai', ['E1'], shanghai.url)])
    for (const userid of ['b3', 'b4', 'b5']) await execute(rest, employee(userid, 'E2'))
    expect(await store.rows('select distinct outcome from dirsync.attempt')).toEqual([
      { outcome: 'obsolete' },
    ])
    const states = async () => Promise.all([id, ...others].map(async one => (await caseOf(store, one)).state))
    expect(await states()).toEqual(['awaiting_activation', 'retry_scheduled', 'open'])
    const told = async () => {
      const [{ result }, groups, { items }] = await Promise.all([
        readNow(store.pool, 'en'),
        groupCases(store.pool),
        listCasesPage(store.pool, {}, { limit: 10 }),
      ])
      let exported = 0
      for await (const { next_retry_at } of everyCase(store.pool, {}, 'latest'))
        if (next_retry_at !== null) exported += 1
      const [review] = await store.rows<{ n: number }>(
        'select count(next_retry_at)::int as n from dirsync.failed_syncs',
      )
      return {
        ...{ exported, reviewed: review?.n },
        cases_that_wait: result.cases_that_wait,
        groups: groups.reduce((sum, { waiting }) => sum + waiting, 0),
        retried: items.filter(({ next_retry_at }) => next_retry_at !== null).length,
      }
    }
    expect(await told()).toEqual({ exported: 0, reviewed: 0, cases_that_wait: 0, groups: 0, retried: 0 })

    await store.pool.query(`update dirsync.dead_letter set next_retry_at = now()`)
    expect(await requestDueRetries(store.pool)).toBeNull()
    expect(await caseStory(store.pool, id)).toMatchObject({ state: 'awaiting_activation', has_source: false })
    await settle(both())
    expect(await requestDueRetries(store.pool)).not.toBeNull()
    expect(await caseStory(store.pool, id)).toMatchObject({ has_source: true })
    const everything = { exported: 3, reviewed: 3, cases_that_wait: 2, groups: 2, retried: 3 }
    expect(await told()).toEqual(everything)
    await store.pool.query(
      `insert into dirsync.job_schedule (job, expression, next_due_at) values ('retry-due', 'off', now())`,
    )
    expect(await told()).toEqual({ ...everything, exported: 0, reviewed: 0, retried: 0 })
  })

  test('a run of one whom dirsync knows, and whose enterprise no source has, says so', async () => {
    await inSync()
    const hr = await settle([source('shanghai', ['E1'], shanghai.url)])
    const of = async (...names: string[]) => {
      const { state, message } = worded(await plan(hr, '', 'employees', names))
      return { state, message }
    }
    const message = 'no HR source has enterprise E2'
    expect(await of('b1')).toEqual({ state: 'failed', message })
    expect(await of('b1', 'nobody')).toEqual({ state: 'failed', message: `unknown: nobody; ${message}` })
    // That is no failure of such runs.
    expect((await readOverview(store.pool)).failed_runs).toEqual([])
    expect(await of('e1', 'E2/b1')).toEqual({ state: 'running', message })
    expect(await of('nobody')).toMatchObject({ message: 'neither HR nor dirsync knows an employee nobody' })
  })

  test('from one HR to several: no one is sent anew, and the gate knows how many there were', async () => {
    await hire(shanghai.pool, [...people('E1', 10), ...people('E2', 10, 'b')])
    const hr = hrSource(shanghai.url, MAPPING)
    const whole = HrSources.one(hr)
    expect(await plan(whole, '')).toMatchObject({ state: 'running', inScope: 20 })
    await acknowledge(store)
    await hire(beijing.admin, people('E2', 3, 'b'))
    await shanghai.pool.query(`delete from person where enterprise_code = 'E2'`)
    const several = await settle(both())
    expect(await plan(several, 'shanghai')).toMatchObject({ state: 'running', planned: 0, inScope: 10 })
    expect(worded(await plan(several, 'beijing'))).toMatchObject({
      state: 'source_suspect',
      message: expect.stringContaining('HR delivers 3 rows, 70 % fewer than the last good run (10)'),
    })
    await beijing.admin.query('delete from person')
    await hire(beijing.admin, people('E2', 10, 'b'))
    expect(await plan(several, 'beijing')).toMatchObject({ state: 'running', planned: 0, inScope: 10 })
  })

  test('an enterprise that moves to another source is checked there', async () => {
    await inSyncWithE3(5)
    await shanghai.pool.query(`delete from person where enterprise_code = 'E3'`)
    await hire(beijing.admin, people('E3', 5, 'c'))
    const moved = await settle([
      source('shanghai', ['E1'], shanghai.url),
      source('beijing', ['E2', 'E3'], beijing.url),
    ])
    for (const { name } of moved.all)
      expect(await plan(moved, name)).toMatchObject({ state: 'running', planned: 0 })
    expect(await employees()).toMatchObject([{ vanished: 0 }, { vanished: 0 }, { vanished: 0 }])
  })

  test('an enterprise that moves to a source that has none of it makes no leavers, few as they are', async () => {
    await hire(shanghai.pool, [...people('E1', 10), ...people('E3', 2, 'c')])
    await hire(beijing.admin, people('E2', 10, 'b'))
    const hr = await settle([
      source('shanghai', ['E1', 'E3'], shanghai.url),
      source('beijing', ['E2'], beijing.url),
    ])
    for (const { name } of hr.all) await plan(hr, name)
    await acknowledge(store)
    const moved = await settle([
      source('shanghai', ['E1'], shanghai.url),
      source('beijing', ['E2', 'E3'], beijing.url),
    ])
    expect(worded(await plan(moved, 'beijing'))).toMatchObject({
      state: 'source_suspect',
      message:
        'HR delivers none of the 2 employees who are known of enterprise E3: check the mapping query, or enterprise_codes in the file of HR_SOURCES. Nothing was enqueued.',
    })
    expect(await pending()).toEqual([])
    // Once it has been read completely, missing employees are leavers, even the last one of an enterprise.
    await hire(beijing.admin, people('E3', 2, 'c'))
    expect(await plan(moved, 'beijing')).toMatchObject({ state: 'running', planned: 0 })
    await beijing.admin.query(`delete from person where enterprise_code = 'E3'`)
    expect(await plan(moved, 'beijing')).toMatchObject({
      state: 'running',
      plan: { reasons: { vanished: 2 } },
    })
  })

  test('a named employee of an enterprise that moves to a source that has none of it does not leave by that', async () => {
    await hire(shanghai.pool, [...people('E1', 3), ...people('E3', 2, 'c')])
    await hire(beijing.admin, people('E2', 3, 'b'))
    const hr = await settle([
      source('shanghai', ['E1', 'E3'], shanghai.url),
      source('beijing', ['E2'], beijing.url),
    ])
    for (const { name } of hr.all) await plan(hr, name)
    await acknowledge(store)
    // Named before the file changes, by mistake; or after.
    const before = await plan(hr, '', 'employees', ['E3/c0'])
    const moved = await settle([
      source('shanghai', ['E1'], shanghai.url),
      source('beijing', ['E2', 'E3'], beijing.url),
    ])
    const after = await plan(moved, '', 'employees', ['E3/c1'])
    for (const userid of ['c0', 'c1']) await execute(moved, employee(userid, 'E3'))
    expect(await employees()).toMatchObject([{ vanished: 0 }, { vanished: 0 }, { vanished: 0 }])
    const error =
      'HR has no row of this employee, but no run has passed that read every row of HR as it is set up now: such a run decides whether they have left'
    expect(
      await store.rows(
        `select run_id, outcome, dirsync.in_language('en', error) as error from dirsync.attempt order by id`,
      ),
    ).toEqual([before, after].map(({ id }) => ({ run_id: id, outcome: 'obsolete', error })))
    expect(await plan(moved, 'beijing')).toMatchObject({ state: 'source_suspect' })
  })

  test('a named employee who leaves by an earlier plan leaves, though their source was not read since', async () => {
    await hire(shanghai.pool, people('E1', 10))
    const hr = await settle([source('shanghai', ['E1'], shanghai.url)])
    await plan(hr, 'shanghai')
    await acknowledge(store)
    await shanghai.pool.query(`delete from person where userid = 'e0'`)
    expect(await plan(hr, 'shanghai')).toMatchObject({ state: 'running', planned: 1 })
    const more = await settle([source('shanghai', ['E1', 'E4'], shanghai.url)])
    const { id } = await plan(more, '', 'employees', ['E1/e0'])
    await execute(more, employee('e0', 'E1'))
    // The platform is asked about them, as the plan wants: it is away.
    expect(await store.rows('select run_id, outcome from dirsync.attempt')).toEqual([
      { run_id: id, outcome: 'retry' },
    ])
  })

  test('departments of an enterprise that moves to a source that has none of them are not missing', async () => {
    await shanghai.pool.query(
      `insert into department values ('E1', 'D0', null, true), ('E3', 'D3', null, true)`,
    )
    await beijing.admin.query(
      `insert into department values ('E2', 'D0', null, true), ('E2', 'D1', null, true)`,
    )
    const first = await settle([
      source('shanghai', ['E1', 'E3'], shanghai.url, DEPARTMENTS),
      source('beijing', ['E2'], beijing.url, DEPARTMENTS),
    ])
    await hire(shanghai.pool, people('E1', 2))
    await hire(beijing.admin, people('E2', 2))
    for (const { name } of first.all) await plan(first, name, 'departments')
    const moved = await settle([
      source('shanghai', ['E1'], shanghai.url, DEPARTMENTS),
      source('beijing', ['E2', 'E3'], beijing.url, DEPARTMENTS),
    ])
    await beijing.admin.query(`delete from department where dept_code = 'D1'`)
    await plan(moved, 'beijing')
    await acknowledge(store)
    await plan(moved, 'beijing', 'departments')
    expect(await plan(moved, 'beijing', 'departments')).toMatchObject({ plan: { reasons: { delete: 1 } } })
    expect(await pending()).toEqual(['E2/D1'])
  })

  test('the deletion of a department ends where the enterprise has moved to a source without departments', async () => {
    await shanghai.pool.query(
      `insert into department values ('E1', 'D0', null, true), ('E3', 'D0', null, true), ('E3', 'D4', null, false)`,
    )
    await hire(shanghai.pool, [...people('E1', 5), ...people('E3', 5, 'c')])
    const hr = await settle([
      source('shanghai', ['E1', 'E3'], shanghai.url, DEPARTMENTS),
      source('beijing', ['E2'], beijing.url),
    ])
    await plan(hr, 'shanghai')
    await acknowledge(store)
    await plan(hr, 'shanghai', 'departments')
    const { id } = await plan(hr, 'shanghai', 'departments')
    expect(await pending()).toEqual(['E3/D4'])
    await hire(beijing.admin, people('E3', 5, 'c'))
    const moved = await settle([
      source('shanghai', ['E1'], shanghai.url, DEPARTMENTS),
      source('beijing', ['E2', 'E3'], beijing.url),
    ])
    await execute(moved, {
      operation: 'delete-department',
      enterpriseCode: 'E3',
      entityKey: 'D4',
      detail: '',
    })
    expect(await pending()).toEqual([])
    expect(
      await store.rows(
        `select outcome, dirsync.in_language('en', error) as error from dirsync.attempt where run_id = ${id}`,
      ),
    ).toEqual([{ outcome: 'obsolete', error: 'departments_sql is not set: no department is ever deleted' }])
    await finishRuns(store.pool)
    expect(await readRun(store.pool, id)).toMatchObject({ state: 'done' })
    // The next run of the source that still has departments is planned.
    expect(await requestScheduledRun(store.pool, 'departments', 'cron', SILENT)).toHaveLength(2)
  })

  test('the deletion of a department waits for a worker that knows the new mapping, and ends if there is none any more', async () => {
    await shanghai.pool.query(
      `insert into department values ('E1', 'D0', null, true), ('E1', 'D4', null, false)`,
    )
    await hire(shanghai.pool, people('E1', 5))
    const without = () => new HrSources(both())
    const older = worker(without())
    const hr = await settle([
      source('shanghai', ['E1'], shanghai.url, DEPARTMENTS),
      source('beijing', ['E2'], beijing.url),
    ])
    await plan(hr, 'shanghai')
    await acknowledge(store)
    await plan(hr, 'shanghai', 'departments')
    const { id } = await plan(hr, 'shanghai', 'departments')
    const key = { ...job('E1', 'D4'), operation: 'delete-department' } as const
    const attempts = () =>
      store.rows(
        `select outcome, dirsync.in_language('en', error) as error from dirsync.attempt where run_id = ${id} order by id`,
      )
    await older(key)
    expect(await pending()).toEqual(['E1/D4'])
    const waits = {
      outcome: 'wait',
      error:
        'the worker was started without departments_sql before the deletion was planned: it waits for one that has it. If the mapping was removed, cancel the run or restart the worker',
    }
    expect(await attempts()).toEqual([waits])
    await store.pool.query('update dirsync.pending set not_before = now()')
    await execute(without(), key)
    expect(await pending()).toEqual([])
    const ends = { outcome: 'obsolete', error: 'departments_sql is not set: no department is ever deleted' }
    expect(await attempts()).toEqual([waits, ends])
    await finishRuns(store.pool)
    expect(await readRun(store.pool, id)).toMatchObject({ state: 'done' })
  })

  test('a held plan sends nothing of an enterprise that has moved since', async () => {
    const hr = await inSyncWithE3(10)
    // Shanghai hands its second company over before the file of HR_SOURCES says so.
    await shanghai.pool.query(
      `delete from person where userid in ('c1', 'c2', 'c3');
       update person set name = 'Changed' where enterprise_code = 'E1'`,
    )
    const held = await plan(hr, 'shanghai')
    expect(held).toMatchObject({ state: 'held', planned: 13 })
    await hire(beijing.admin, people('E3', 10, 'c'))
    const moved = await settle([
      source('shanghai', ['E1'], shanghai.url),
      source('beijing', ['E2', 'E3'], beijing.url),
    ])
    expect(await plan(moved, 'beijing')).toMatchObject({ state: 'running', planned: 0 })
    await store.pool.query('select dirsync.approve($1)', [held.id])
    await planNext(moved, 'shanghai')
    expect(worded(await readRun(store.pool, held.id))).toMatchObject({
      state: 'running',
      message: expect.stringMatching(
        /^Planned rows left out: 3\. .* or their enterprise is not in their HR source any more/,
      ),
    })
    expect(await employees()).toMatchObject([{ vanished: 0 }, { vanished: 0 }, { vanished: 0 }])
    expect(await pending()).toHaveLength(10)
  })

  test('what a removed one had does not hide that all others are halted', async () => {
    await hire(shanghai.pool, people('E1', 2))
    await hire(beijing.admin, people('E2', 2, 'b'))
    const hr = await settle(both())
    for (const { name } of hr.all) await plan(hr, name)
    await acknowledge(store)
    await settle([source('shanghai', ['E1'], shanghai.url)])
    expect(await unaskedEnterprises(store.pool)).toEqual([])
    await plant(store, 'halt', { scope: 'E1', category: 'enterprise_code', message: 'm', remedy: 'r' })
    expect(await unaskedEnterprises(store.pool)).toEqual(['E1'])
  })

  test('what a removed one had set aside under a halt is not missed by a sync of the others', async () => {
    const hr = await inSync()
    await finishRuns(store.pool)
    await requestRun(store.pool, 'full', [], 'test', 'beijing')
    await planNext(hr, 'beijing')
    await plant(store, 'halt', { scope: 'E2', category: 'enterprise_code', message: 'm', remedy: 'r' })
    expect(await detachHalted(store.pool)).toBe(10)
    expect(await unaskedEnterprises(store.pool)).toEqual(['E2'])
    await settle([source('shanghai', ['E1'], shanghai.url)])
    expect(await unaskedEnterprises(store.pool)).toEqual([])
  })

  test('none of an enterprise that has moved waits for a decision about a run that is over', async () => {
    const hr = await inSyncWithE3(10)
    await shanghai.pool.query(`update person set name = 'Changed' where enterprise_code = 'E3'`)
    await hire(shanghai.pool, people('E3', 1, 'new'))
    const held = await plan(hr, 'shanghai')
    expect(held).toMatchObject({ state: 'held', planned: 11 })
    const moved = await settle([
      source('shanghai', ['E1'], shanghai.url),
      source('beijing', ['E2', 'E3'], beijing.url),
    ])
    await shanghai.pool.query(`delete from person where enterprise_code = 'E3'`)
    // It can still be approved.
    expect(await countStatuses(store.pool)).toMatchObject({ held: 11, waiting: 0, in_sync: 20 })
    await plan(moved, 'shanghai')
    expect(await readRun(store.pool, held.id)).toMatchObject({ state: 'superseded' })
    expect(await countStatuses(store.pool)).toMatchObject({ held: 0, waiting: 10, in_sync: 20 })
    // Its new source delivers what has changed.
    await hire(beijing.admin, people('E3', 11, 'c'))
    await beijing.admin.query(`update person set name = 'Changed' where enterprise_code = 'E3'`)
    expect(await plan(moved, 'beijing')).toMatchObject({ state: 'held' })
    expect(await countStatuses(store.pool)).toMatchObject({ held: 11, waiting: 0, in_sync: 20 })
  })

  test('an approved plan says which deletions of departments it leaves out, as their enterprise has moved', async () => {
    const closed = ['D1', 'D2', 'D3', 'D4'].flatMap(code => [
      `('E1', '${code}', null, false)`,
      `('E3', '${code}', null, false)`,
    ])
    await shanghai.pool.query(
      `insert into department values ('E1', 'D0', null, true), ('E3', 'D0', null, true), ${closed}`,
    )
    await hire(shanghai.pool, [...people('E1', 5), ...people('E3', 5, 'c')])
    const hr = await settle([
      source('shanghai', ['E1', 'E3'], shanghai.url, DEPARTMENTS),
      source('beijing', ['E2'], beijing.url),
    ])
    await plan(hr, 'shanghai')
    await acknowledge(store)
    await plan(hr, 'shanghai', 'departments')
    const held = await plan(hr, 'shanghai', 'departments')
    expect(held).toMatchObject({ state: 'held', planned: 8 })
    const moved = await settle([
      source('shanghai', ['E1'], shanghai.url, DEPARTMENTS),
      source('beijing', ['E2', 'E3'], beijing.url),
    ])
    await store.pool.query('select dirsync.approve($1)', [held.id])
    await planNext(moved, 'shanghai')
    expect(worded(await readRun(store.pool, held.id))).toMatchObject({
      state: 'running',
      message: expect.stringMatching(/^Planned rows left out: 4\. .* not in their HR source any more/),
    })
    expect(await pending()).toEqual(['E1/D1', 'E1/D2', 'E1/D3', 'E1/D4'])
  })
})

test('an update without an answer is asked about once the enterprise has a source again, whatever HR has by then', async () => {
  await hire(shanghai.pool, [...people('E1', 5), ...people('E3', 5, 'c')])
  const whole = [source('shanghai', ['E1', 'E3'], shanghai.url)]
  const hr = await settle(whole)
  await plan(hr, 'shanghai')
  await acknowledge(store)
  const rename = (name: string) =>
    shanghai.pool.query(`update person set name = $1 where userid = 'c1'`, [name])
  await rename('Other')
  await plan(hr, 'shanghai')
  const key = employee('c1', 'E3')
  const [claimed] = await claim(store.pool, [key], hr.owners)
  if (!claimed) throw new Error('there is no work')
  await settleOutcomes(store.pool, [
    outcome(key, claimed, { outcome: 'retry', sentUnknown: true, again: { delayMs: 0, attempts: 1 } }),
  ])

  const without = await settle([source('shanghai', ['E1'], shanghai.url)])
  await execute(without, key)
  expect(await pending()).toEqual([])
  await finishRuns(store.pool)

  await rename('n1')
  expect(await plan(await settle(whole), 'shanghai')).toMatchObject({
    state: 'running',
    plan: { reasons: { changed: 1 } },
  })
  expect(await pending()).toEqual(['E3/c1'])
})
