import { describe, expect, test } from 'vitest'
import { transaction, withConnection } from '../../src/lib/database.ts'
import { type Claim, claim } from '../../src/sync/outbox/claim.ts'
import { addWork } from '../../src/sync/outbox/outbox.ts'
import { settle } from '../../src/sync/settle/settlement.ts'
import { until } from '../helpers/company.ts'
import { begin, employee, outcome } from './outcomes.ts'
import { fail, hash, plant, plantRun, plantWork } from './planted.ts'
import { StoreUnderTest, WAITING_FOR_A_LOCK } from './store-under-test.ts'

const store = new StoreUnderTest()

const E1 = employee('e1')

const askAnew = (run: number) => withConnection(store.pool, db => addWork(db, run, 1, [{ ...E1, wave: 0 }]))

describe('claiming', () => {
  test('begins what is in the outbox, in the order asked for, and nothing else', async () => {
    const run = await plantRun(store)
    await plantWork(store, 'e1', { run_id: run, priority: 1, attempts: 2 })
    await plantWork(store, 'e3')
    const [first, second, third] = await claim(store.pool, [employee('e3'), employee('e2'), E1], {})
    expect(second).toBeNull()
    expect(first).toMatchObject({ runId: null, priority: 3, starts: 1, attempts: 0, cases: [] })
    expect(third).toMatchObject({
      runId: run,
      priority: 1,
      starts: 1,
      attempts: 2,
      version: 1,
      halted: false,
    })
    expect(first?.execution).not.toBe(third?.execution)
  })

  test('names the mapping of the latest plan that passed, even if the clock was put back since', async () => {
    const at = (minutes: number) => new Date(Date.UTC(2026, 0, 1, 0, minutes))
    await plantWork(store, 'e1')
    expect(await begin(store, E1)).toMatchObject({ mapping: null })
    await plantRun(store, { state: 'running', mapping: 'of an earlier plan', planned_at: at(3) })
    await plantRun(store, { state: 'done', mapping: 'of the latest plan', planned_at: at(2) })
    await plantRun(store, { kind: 'openids', state: 'running', planned_at: at(4) })
    for (const state of ['held', 'rejected', 'source_suspect', 'failed'])
      await plantRun(store, { state, mapping: 'not in force', planned_at: at(5) })
    expect(await begin(store, E1)).toMatchObject({ mapping: 'of the latest plan' })
  })

  test('brings along what is known of the employee, its open cases and the blocked fields', async () => {
    const [source, acknowledged] = [hash(), hash()]
    await plantWork(store, 'e1')
    await plant(store, 'employee', {
      userid: 'e1',
      source_hash: source,
      acknowledged_hash: acknowledged,
      acknowledged: { name: 'x' },
    })
    await plant(
      store,
      'field_block',
      { enterprise_code: '', field: 'level' },
      { enterprise_code: 'C1', field: 'category' },
    )
    await fail(store, { source_hash: source })
    await fail(store, { field: 'email' })
    await store.pool.query(
      `update dirsync.dead_letter set state = 'resolved', resolved_at = now() where field = 'email'`,
    )
    await fail(store, { entity_key: 'e2' })
    await fail(store, { operation: 'bind-openid' })
    expect(await begin(store, E1)).toMatchObject({
      sourceHash: source,
      acknowledgedHash: acknowledged,
      acknowledged: { name: 'x' },
      cases: [{ field: 'mobile', sourceHash: source, state: 'open', occurrences: 1 }],
      blocks: [{ field: 'level', codes: null, probing: false, refusedHash: null }],
    })
  })

  test('counts executions that never came to an end', async () => {
    await plantWork(store, 'e1')
    await begin(store, E1)
    await begin(store, E1)
    expect(await begin(store, E1)).toMatchObject({ starts: 3 })
  })

  test('remembers that an execution may have sent something, whatever comes before an outcome ends the work', async () => {
    const run = await plantRun(store)
    await plantWork(store, 'e1')
    expect(await begin(store, E1)).toMatchObject({ sentUnknown: false })
    const second = await begin(store, E1)
    expect(second).toMatchObject({ sentUnknown: true })
    const again = { delayMs: 0, attempts: 0 }
    await settle(store.pool, [outcome(E1, second, { again, sentUnknown: true, outcome: 'wait' })])
    await askAnew(run)
    const third = await begin(store, E1)
    expect(third).toMatchObject({ sentUnknown: true, starts: 1, attempts: 0 })

    // It was asked for anew meanwhile: the outcome settles what was sent before, and the work goes on.
    await askAnew(run)
    await settle(store.pool, [outcome(E1, third, { changed: true, sentUnknown: true })])
    expect(await begin(store, E1)).toMatchObject({ sentUnknown: false })
  })

  test('leaves for a second what its process has left behind, also when it was requested anew meanwhile', async () => {
    const run = await plantRun(store)
    await plantWork(store, 'e1', { enqueued_at: new Date() })
    await plantWork(store, 'e2', { enqueued_at: new Date() })
    await begin(store, E1)
    await askAnew(run)
    // The queue has it once more when the process dies, whose lock is free at once.
    await store.pool.query('update dirsync.pending set enqueued_at = now()')
    expect(await claim(store.pool, [E1, employee('e2')], {})).toMatchObject([null, { starts: 1 }])
    expect(
      await store.rows(
        `select entity_key, in_hand, enqueued_at is not null as queued, starts,
                round(extract(epoch from not_before - now())::numeric, 1)::float8 between 0.5 and 1 as soon
         from dirsync.pending order by 1`,
      ),
    ).toEqual([
      { entity_key: 'e1', in_hand: false, queued: false, starts: 1, soon: true },
      { entity_key: 'e2', in_hand: true, queued: true, starts: 1, soon: false },
    ])
    expect(await claim(store.pool, [E1], {})).toEqual([null])
    await store.pool.query('update dirsync.pending set not_before = now()')
    expect(await claim(store.pool, [E1], {})).toMatchObject([{ version: 2, starts: 2, sentUnknown: true }])
  })

  test('leaves alone what waits for its next attempt', async () => {
    await plantWork(store, 'e1', { not_before: '2100-01-01T00:00:00Z' })
    expect(await claim(store.pool, [E1], {})).toEqual([null])
  })

  test.each([
    [
      'a case is retried',
      `update dirsync.dead_letter set state = 'retrying'`,
      { cases: [{ field: 'mobile', state: 'retrying' }] },
    ],
    [
      'the confirmed row is in doubt',
      'update dirsync.employee set acknowledged_hash = null',
      { acknowledgedHash: null },
    ],
  ])(
    'that has waited for whoever requests the work anew sees what that wrote: %s',
    async (_, write, seen) => {
      const run = await plantRun(store)
      await plantWork(store, 'e1')
      await plant(store, 'employee', { userid: 'e1', source_hash: hash(), acknowledged_hash: hash() })
      await fail(store)
      const claimed = await transaction(store.pool, async db => {
        await db.query('select from dirsync.pending for update')
        await db.query(write)
        const claims = claim(store.pool, [E1], {})
        await until(async () => (await store.rows(WAITING_FOR_A_LOCK)).length > 0)
        await addWork(db, run, 1, [{ ...E1, wave: 0 }])
        return { claims }
      })
      const [begun] = await claimed.claims
      expect(begun).toMatchObject({ version: 2, runId: run, starts: 1, sentUnknown: false, ...seen })
      await settle(store.pool, [outcome(E1, begun as Claim)])
      expect(await store.rows('select from dirsync.pending')).toEqual([])
    },
  )

  test.each([
    ['*', '', true],
    ['C1', 'C1', true],
    ['C2', 'C1', false],
  ])(
    'under a halt of %s, work of enterprise %j that was in the queue before it is given back: %s',
    async (scope, enterprise, halted) => {
      await plantWork(store, 'e1', { enterprise_code: enterprise, enqueued_at: '2020-01-01T00:00:00Z' })
      await plant(store, 'halt', {
        scope,
        category: 'credentials',
        message: 'm',
        remedy: 'r',
        since: '2020-01-02T00:00:00Z',
      })
      expect(await begin(store, employee('e1', enterprise))).toMatchObject({ halted })
      await store.pool.query(`update dirsync.pending set enqueued_at = '2020-01-03'`)
      expect(await begin(store, employee('e1', enterprise))).toMatchObject({ halted: false })
    },
  )
})
