import { describe, expect, test } from 'vitest'
import { transaction } from '../../src/lib/database.ts'
import { endLostRetries, NO_USER_ID } from '../../src/sync/cases/cases.ts'
import { beginRetry, requestDueRetries } from '../../src/sync/cases/retries.ts'
import type { ClaimKey } from '../../src/sync/outbox/claim.ts'
import { addWork } from '../../src/sync/outbox/outbox.ts'
import { failure } from '../../src/sync/outbox/outcome.ts'
import { finishRuns } from '../../src/sync/settle/finish-runs.ts'
import { settle } from '../../src/sync/settle/settlement.ts'
import { begin, employee, memory, outcome, refusal } from './outcomes.ts'
import { PlanUnderTest, TIMED } from './plan-under-test.ts'
import { caseOf, fail, plantRun } from './planted.ts'

/** What a cancelled run leaves behind: nothing that is unknown is taken for known, and no case waits for work that is gone. */

const under = new PlanUnderTest()
const { store } = under
const E1 = employee('e1')

const cancel = (run: number) => store.pool.query('select dirsync.cancel($1)', [run])
/** Plans the run that waits. */
const planNext = async () =>
  under.planRequested(await store.value(`select id from dirsync.sync_run where state = 'requested'`))
/** The job ends without having come to anything, and is to be tried again. */
const comesBack = async (key: ClaimKey, differs = {}) => {
  const claimed = await begin(store, key)
  return () => settle(store.pool, [outcome(key, claimed, { again: { delayMs: 0, attempts: 1 }, ...differs })])
}

const lostAnswer = { outcome: 'retry', sentUnknown: true } as const

describe('an update that the platform may have carried out', () => {
  const rename = (name: string) => under.hr.query(`update person set name = $1 where userid = 'e1'`, [name])

  test.each(['while it waits to be tried again', 'while it is in hand'])(
    'is found out about after its run was cancelled %s, although HR has the confirmed row again',
    async moment => {
      await under.inSync(3)
      await rename('other')
      const { id } = await under.plan()
      const end = await comesBack(E1, lostAnswer)
      if (moment === 'while it is in hand') await cancel(id)
      await end()
      if (moment !== 'while it is in hand') await cancel(id)
      await finishRuns(store.pool)
      expect(await under.pending()).toEqual([])

      await rename('n1')
      expect(await under.plan()).toMatchObject({ state: 'running', plan: { reasons: { changed: 1 } } })
      expect(await under.pending()).toEqual(['e1'])
    },
  )

  test('is still looked up, although a person has rejected the next row of HR', async () => {
    await under.inSync(3)
    await rename('other')
    await under.plan()
    await (await comesBack(E1, lostAnswer))()
    await under.hr.query(`update person set name = 'third'`)
    await (await comesBack(E1, { ...lostAnswer, outcome: 'replan' }))()
    const { id } = await under.plan()
    await store.pool.query(`select dirsync.reject($1, 'not so')`, [id])
    await planNext()
    expect(await under.pending()).toEqual([])

    await rename('n1')
    expect(await under.plan()).toMatchObject({ state: 'running', plan: { reasons: { changed: 1 } } })
    expect(await under.pending()).toEqual(['e1'])
  })

  test('is not assumed of work that was never begun', async () => {
    await under.inSync(3)
    await rename('other')
    const { id } = await under.plan()
    await cancel(id)
    await rename('n1')
    expect(await under.plan()).toMatchObject({ state: 'running', planned: 0 })
  })
})

describe('an employee whose work was withdrawn with a cancelled run', () => {
  const statuses = () =>
    store
      .rows('select userid, status from dirsync.employee order by userid')
      .then(rows => Object.fromEntries(rows.map(row => Object.values(row))))

  test('does not count as in sync, and the next plan shows what HR has changed', async () => {
    await under.inSync(3)
    await under.hr.query(`update person set name = 'other' where userid < 'e2'`)
    const { id } = await under.plan()
    await cancel(id)
    expect(await statuses()).toEqual({ e0: 'waiting', e1: 'waiting', e2: 'in_sync' })
    await under.hr.query(`update person set name = 'n0' where userid = 'e0'`)
    expect(await under.plan()).toMatchObject({ state: 'running', plan: { reasons: { changed: 1 } } })
    expect(await statuses()).toEqual({ e0: 'in_sync', e1: 'waiting', e2: 'in_sync' })
  })

  test('stays as it was where HR has changed nothing: the run had only compared them with the platform', async () => {
    await under.inSync(3)
    await store.pool.query(
      `update dirsync.employee set parked_hash = source_hash, acknowledged_hash = null where userid = 'e2'`,
    )
    const before = { e0: 'in_sync', e1: 'in_sync', e2: 'dead_lettered' }
    expect(await statuses()).toEqual(before)
    const { id } = await under.plan('full')
    expect(await under.pending()).toEqual(['e0', 'e1', 'e2'])
    await cancel(id)
    expect(await statuses()).toEqual(before)
    expect(await under.plan()).toMatchObject({ state: 'running', planned: 0 })
  })

  describe('who HR no longer has', () => {
    const ANY_NUMBER = {
      limits: { gate: { maxFewerRows: 100, maxEmptied: 100 }, breaker: { count: 100, percent: 100 } },
    }
    const found: Parameters<typeof outcome>[2] = {
      outcome: 'parked',
      employee: memory({ active: false }),
      failures: [refusal({ category: 'left_hr', field: '' })],
    }
    const vanished = async () =>
      Object.entries(await statuses()).flatMap(([userid, status]) => (status === 'vanished' ? [userid] : []))
    const GONE = ['e4', 'e5', 'e6', 'e7']

    test('stays so where that is a case: its retry had only asked again', async () => {
      await under.inSync(8)
      await under.hr.query(`delete from person where userid >= 'e4'`)
      await under.plan('changes', ANY_NUMBER)
      for (const userid of GONE) {
        const key = employee(userid)
        await settle(store.pool, [outcome(key, await begin(store, key), found)])
      }
      await finishRuns(store.pool)
      await store.pool.query(`select dirsync.retry_category('left_hr')`)
      const { id } = await planNext()
      expect(await under.pending()).toEqual(GONE)
      await cancel(id)
      expect(await vanished()).toEqual(GONE)
      expect(await under.plan()).toMatchObject({ state: 'running', planned: 0 })
      expect(await vanished()).toEqual(GONE)
    })

    test('and of whom an execution that began before has stored a row: that is forgotten', async () => {
      await under.inSync(8)
      await under.hr.query(`delete from person where userid = 'e7'`)
      const { id } = await under.plan()
      // What an overtaken outcome leaves.
      await store.pool.query(
        `update dirsync.employee set parked_hash = gen_random_uuid(), platform_state = 'absent' where userid = 'e7'`,
      )
      await cancel(id)
      expect(await vanished()).toEqual(['e7'])
      expect(await under.plan()).toMatchObject({ state: 'running', planned: 0 })
      await under.hr.query(`update person set name = 'other' where userid < 'e4'`)
      expect(await under.plan()).toMatchObject({ state: 'held', planned: 4 })
      expect(await vanished()).toEqual(['e7'])
    })

    test('is planned anew where the platform was not asked yet, or may have been changed since', async () => {
      await under.inSync(10)
      const gone = await fail(store, { entity_key: 'e9', category: 'left_hr', field: '' })
      await under.hr.query(`delete from person where userid >= 'e8'`)
      const { id } = await under.plan()
      await (await comesBack(employee('e9'), lostAnswer))()
      await cancel(id)
      expect(await caseOf(store, gone)).toMatchObject({ state: 'open' })
      expect(await vanished()).toEqual([])
      expect(await under.plan()).toMatchObject({ state: 'running', plan: { reasons: { vanished: 2 } } })
    })

    test('and whose departure was settled before waits for no decision about the others', async () => {
      await under.inSync(8)
      await fail(store, { entity_key: 'e7', category: 'left_hr', field: '' })
      await under.hr.query(`delete from person where userid = 'e7'`)
      await under.hr.query(`update person set name = 'other' where userid < 'e4'`)
      const { id } = await under.plan()
      await store.pool.query('select dirsync.approve($1)', [id])
      for (const _ of ['what was approved', 'what came since']) await planNext()
      await cancel(id)
      expect(await under.plan()).toMatchObject({ state: 'held', plan: { reasons: { changed: 4 } } })
      expect(await store.rows(`select status, held_run from dirsync.employee where userid = 'e7'`)).toEqual([
        { status: 'vanished', held_run: null },
      ])
    })
  })

  test.each([
    ['', []],
    [', and before the last job of its run', [employee('e2')]],
  ])(
    'is read again where its job came back only after a later run had read every row%s',
    async (_, others) => {
      const plan = () => under.plan('changes', { employees: TIMED })
      await under.inSync(3, TIMED)
      await under.hr.query(
        `update person set name = 'other', updated_at = now() - interval '1 day' where userid = 'e1'`,
      )
      const { id } = await under.plan('full', { employees: TIMED })
      const end = await comesBack(E1)
      for (const other of others) await begin(store, other)
      await cancel(id)
      await plan()
      await end()
      await finishRuns(store.pool)
      expect(await under.pending()).not.toContain('e1')
      await plan()
      expect(await under.pending()).toContain('e1')
    },
  )
})

describe('a case that was to be tried again', () => {
  const bind = (detail: string): ClaimKey => ({ ...E1, operation: 'bind-openid', detail })
  /** Begins the retry of a case, as planning its run does. */
  const retry = (run: number, ...ids: number[]) =>
    transaction(store.pool, async db => addWork(db, run, 3, await beginRetry(db, ids, run)))
  const retryRun = () => plantRun(store, { kind: 'retry', requested_by: 'cron' })
  const waits = { state: 'open', next_retry_at: expect.any(Date) }

  test('waits again when its job was in hand, and comes back after the run was cancelled', async () => {
    const [id, run] = [await fail(store), await retryRun()]
    await retry(run, id)
    const end = await comesBack(E1, { outcome: 'halted' })
    await cancel(run)
    expect(await caseOf(store, id)).toMatchObject({ state: 'retrying' })
    await end()
    await finishRuns(store.pool)
    expect(await caseOf(store, id)).toMatchObject(waits)
  })

  test('waits again although the same employee has other work of the kind', async () => {
    const [id, run] = [await fail(store, { operation: 'bind-openid', field: 'mall1' }), await retryRun()]
    await transaction(store.pool, db => addWork(db, null, 3, [{ ...bind('mall2'), wave: 0 }]))
    await retry(run, id)
    await cancel(run)
    expect(await caseOf(store, id)).toMatchObject(waits)
  })

  test('waits again when another run has taken its work over, and that is cancelled', async () => {
    const [id, run, other] = [await fail(store), await retryRun(), await plantRun(store)]
    await retry(run, id)
    await transaction(store.pool, db => addWork(db, other, 3, [{ ...E1, wave: 0 }]))
    await cancel(run)
    expect(await caseOf(store, id)).toMatchObject({ state: 'retrying' })
    await cancel(other)
    expect(await caseOf(store, id)).toMatchObject(waits)
  })

  test('waits again when its mirror is not read after all', async () => {
    const of = { operation: 'mirror-orders', entity: 'mirror', field: '2026-01-01', state: 'retry_scheduled' }
    const [id, run, reading] = [
      await fail(store, of),
      await retryRun(),
      await plantRun(store, { kind: 'orders' }),
    ]
    await transaction(store.pool, db => beginRetry(db, [id], run))
    await endLostRetries(store.pool)
    expect(await caseOf(store, id)).toMatchObject({ state: 'retrying' })
    await cancel(reading)
    expect(await caseOf(store, id)).toMatchObject({
      state: 'retry_scheduled',
      next_retry_at: expect.any(Date),
    })
  })

  test('waits again when its work is gone, whatever has taken it', async () => {
    const [lost, kept] = [await fail(store), await fail(store, { entity_key: 'e2' })]
    await retry(await retryRun(), lost, kept)
    await store.pool.query(`delete from dirsync.pending where entity_key = 'e1'`)
    expect(await endLostRetries(store.pool)).toBe(1)
    expect(await caseOf(store, lost)).toMatchObject(waits)
    expect(await caseOf(store, kept)).toMatchObject({ state: 'retrying', next_retry_at: null })
  })

  test.each([
    ['not_on_platform', 'awaiting_activation'],
    ['platform_unavailable', 'retry_scheduled'],
    ['unclassified', 'retry_scheduled'],
    ['unsettled_hr_row', 'retry_scheduled'],
    ['invalid_document', 'open'],
  ])(
    'of category %s keeps its rhythm, whether it was cancelled or a snooze has ended: %s',
    async (category, state) => {
      for (const occurrences of [1, 3, 2000]) {
        const before = { field: 'mobile', category, occurrences: occurrences - 1 }
        const failed = failure({
          ...{ category, entity: 'employee', field: 'mobile', message: [], remedy: [], sourceHash: null },
          cases: [{ ...before, sourceHash: null, state: 'retrying', wanted: null, isReleased: false }],
        })
        expect(failed.state).toBe(state)
        const [id, run] = [await fail(store, { category, state }), await retryRun()]
        await store.pool.query('update dirsync.dead_letter set occurrences = $2 where id = $1', [
          id,
          occurrences,
        ])
        const isAsAfterAFailure = async () => {
          const found = await caseOf(store, id)
          expect(found.state).toBe(state)
          const ratio = (Number(found.next_retry_at) - Date.now()) / failed.nextRetryMs
          // Times are spread by 30 % either way.
          expect(ratio).toBeGreaterThan(0.75)
          expect(ratio).toBeLessThan(1.45)
        }
        await retry(run, id)
        await cancel(run)
        await isAsAfterAFailure()
        await store.pool.query('update dirsync.dead_letter set next_retry_at = now() where id = $1', [id])
        await store.pool.query(`select dirsync.snooze($1, now() + interval '1 day')`, [id])
        await store.pool.query('select dirsync.wake($1)', [id])
        await isAsAfterAFailure()
        await store.clear()
      }
    },
  )

  test('of rows of HR that are not synced waits for the next run that reads them, once its snooze has ended', async () => {
    const ids = [
      await fail(store, { operation: 'read-hr', field: 'a', category: 'stray_row' }),
      await fail(store, { entity_key: NO_USER_ID, field: 'userid', category: 'invalid_hr_row' }),
    ]
    for (const id of ids) {
      await store.pool.query(`select dirsync.snooze($1, now() + interval '1 day')`, [id])
      await store.pool.query('select dirsync.wake($1)', [id])
      expect(await caseOf(store, id)).toMatchObject({ state: 'open', next_retry_at: null })
    }
  })

  test('does not come up every minute where it waits for another employee, and its own was rejected', async () => {
    await under.inSync(4)
    const id = await fail(store, { blocked_by: 'e0', next_retry_at: new Date() })
    await under.hr.query(`update person set name = 'other'`)
    const held = await under.plan()
    await store.pool.query(`select dirsync.reject($1, 'not so')`, [held.id])
    await planNext()
    await requestDueRetries(store.pool)
    await planNext()
    await (await comesBack(E1, { outcome: 'replan' }))()
    await under.plan()
    expect(await under.pending()).toEqual([])
    expect(await endLostRetries(store.pool)).toBe(1)
    expect(
      await store.rows(
        `select state, next_retry_at > now() + interval '1 hour' as rests from dirsync.dead_letter where id = $1`,
        [id],
      ),
    ).toEqual([{ state: 'open', rests: true }])
  })

  test('is left alone while another transaction asks for its work', async () => {
    const id = await fail(store)
    await store.pool.query(`update dirsync.dead_letter set state = 'retrying'`)
    await transaction(store.pool, async db => {
      await addWork(db, null, 3, await beginRetry(db, [id], null))
      expect(await endLostRetries(store.pool)).toBe(0)
    })
    expect(await caseOf(store, id)).toMatchObject({ state: 'retrying' })
  })
})
