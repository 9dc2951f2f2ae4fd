import { describe, expect, test } from 'vitest'
import { settle } from '../../src/store/settlement.ts'
import { begin, employee, memory, outcome, refusal } from './outcomes.ts'
import { caseOf, fail, hash, plant, story } from './planted.ts'
import { StoreUnderTest } from './store-under-test.ts'

const store = new StoreUnderTest()

const E1 = employee('e1')
const work = (entityKey: string, differs = {}) =>
  plant(store, 'pending', { operation: 'update-employee', entity_key: entityKey, priority: 3, ...differs })

/** Executes the work on an employee to the given end. */
async function execute(key: typeof E1, differs: Parameters<typeof outcome>[2]): Promise<void> {
  await work(key.entityKey, { enterprise_code: key.enterpriseCode })
  await settle(store.pool, [outcome(key, await begin(store, key), differs)])
}

const setState = (id: number, state: string) =>
  store.pool.query(
    `update dirsync.dead_letter set state = $2, note = 'x', next_retry_at = null where id = $1`,
    [id, state],
  )

describe('a success', () => {
  test.each(['open', 'retry_scheduled', 'blocked', 'awaiting_activation', 'retrying', 'snoozed', 'ignored'])(
    'resolves a case that is %s',
    async state => {
      const id = await fail(store, { last_run_id: 1 })
      await setState(id, state)
      await execute(E1, { keep: [], runId: 9 })
      expect(await caseOf(store, id)).toMatchObject({
        state: 'resolved',
        resolution: 'succeeded',
        resolved_by: 'dirsync',
        resolved_at: expect.any(Date),
        next_retry_at: null,
      })
      expect((await story(store, id)).at(-1)).toEqual({
        event: 'resolved',
        actor: 'dirsync',
        note: 'succeeded',
        run_id: 9,
      })
    },
  )

  test.each([
    ['obsolete', 'obsolete'],
    ['left', 'obsolete'],
    ['updated', 'succeeded'],
  ] as const)('with outcome %s says so in its resolution: %s', async (outcome, resolution) => {
    const id = await fail(store)
    await execute(E1, { keep: [], attempt: { outcome } })
    expect(await caseOf(store, id)).toMatchObject({ resolution })
  })

  test('leaves alone what is of another employee, operation or enterprise', async () => {
    const others = [
      await fail(store, { entity_key: 'e2' }),
      await fail(store, { operation: 'bind-openid' }),
      await fail(store, { enterprise_code: 'C1' }),
    ]
    await execute(E1, { keep: [] })
    for (const id of others) expect(await caseOf(store, id)).toMatchObject({ state: 'open' })
  })

  test('leaves alone the fields that it keeps, and those that failed anew', async () => {
    const [kept, failed, through] = [
      await fail(store, { field: 'email' }),
      await fail(store, { field: 'mobile' }),
      await fail(store, { field: 'dept_code' }),
    ]
    await execute(E1, { keep: ['email'], failures: [refusal()] })
    expect(await caseOf(store, kept)).toMatchObject({ state: 'open', occurrences: 1 })
    expect(await caseOf(store, failed)).toMatchObject({ state: 'open', occurrences: 2 })
    expect(await caseOf(store, through)).toMatchObject({ state: 'resolved' })
  })

  test('that keeps nothing in mind resolves nothing', async () => {
    const id = await fail(store)
    await execute(E1, { keep: null })
    expect(await caseOf(store, id)).toMatchObject({ state: 'open' })
  })

  test('of one merchant application says nothing about another', async () => {
    const key = { operation: 'bind-openid' as const, enterpriseCode: '', entityKey: 'e1', detail: '20000001' }
    const [one, other] = [
      await fail(store, { operation: 'bind-openid', field: '20000001' }),
      await fail(store, { operation: 'bind-openid', field: '20000002' }),
    ]
    await plant(store, 'pending', {
      operation: 'bind-openid',
      entity_key: 'e1',
      detail: '20000001',
      priority: 5,
    })
    await settle(store.pool, [outcome(key, await begin(store, key), { keep: [], binding: 'open' })])
    expect(await caseOf(store, one)).toMatchObject({ state: 'resolved' })
    expect(await caseOf(store, other)).toMatchObject({ state: 'open' })
  })

  test('is not there without its resolved case, nor the case without it', async () => {
    const id = await fail(store)
    await work('e1')
    const claimed = await begin(store, E1)
    const before = await store.contents()
    await store.pool.query(
      `alter table dirsync.dead_letter_event add constraint broken check (event <> 'resolved')`,
    )
    const settling = settle(store.pool, [
      outcome(E1, claimed, { keep: [], employee: memory({ acknowledgedHash: hash() }) }),
    ])
    await expect(settling).rejects.toMatchObject({ code: '23514' })
    expect(await store.contents()).toEqual(before)
    await store.pool.query('alter table dirsync.dead_letter_event drop constraint broken')
    await settle(store.pool, [outcome(E1, claimed, { keep: [] })])
    expect(await caseOf(store, id)).toMatchObject({ state: 'resolved' })
  })
})

describe('a failure', () => {
  test('opens its case in the same transaction, with when it is tried again', async () => {
    const sourceHash = hash()
    const before = Date.now()
    await execute(E1, {
      runId: 5,
      keep: [],
      failures: [
        refusal({
          sourceHash,
          changedFields: [{ field: 'mobile', value: '138***' }],
          nextRetryMs: 3_600_000,
        }),
      ],
      attempt: { outcome: 'parked', error: 'taken' },
    })
    const [opened] = await store.rows<{ next_retry_at: Date }>('select * from dirsync.dead_letter')
    expect(opened).toMatchObject({
      entity: 'employee',
      entity_key: 'e1',
      operation: 'update-employee',
      field: 'mobile',
      platform_code: 1002218007,
      source_hash: sourceHash,
      changed_fields: [{ field: 'mobile', value: '138***' }],
      first_run_id: 5,
    })
    expect(opened?.next_retry_at.getTime()).toBeGreaterThanOrEqual(before + 3_600_000)
  })

  test('of several fields opens a case for each', async () => {
    await execute(E1, {
      keep: [],
      failures: [refusal(), refusal({ field: 'email', category: 'duplicate_email' })],
    })
    expect(await store.value('select count(*) from dirsync.dead_letter')).toBe(2)
  })

  test('that ends a job lets the cases wait that were to be tried and were not', async () => {
    const [untried, tried] = [await fail(store, { field: 'email' }), await fail(store)]
    await setState(untried, 'retrying')
    await setState(tried, 'retrying')
    await execute(E1, { keep: ['email'], failures: [refusal()] })
    expect(await caseOf(store, untried)).toMatchObject({ state: 'open', next_retry_at: expect.any(Date) })
    expect(await caseOf(store, tried)).toMatchObject({ state: 'open', occurrences: 2 })
  })

  test('that will be tried again at once leaves them in hand', async () => {
    const id = await fail(store, { field: 'email' })
    await setState(id, 'retrying')
    await execute(E1, { keep: ['email'], again: { delayMs: 0, attempts: 1 } })
    expect(await caseOf(store, id)).toMatchObject({ state: 'retrying' })
  })
})

describe('a case that waits for another employee', () => {
  const E2 = employee('e2')
  const waits = (sourceHash: string | null = null) => refusal({ blockedBy: 'e2', sourceHash })
  const mobile = () =>
    store.rows(
      `select state, blocked_by, next_retry_at <= now() as due from dirsync.dead_letter where entity_key = 'e1'`,
    )

  test('stays open while nothing is to be expected of the holder', async () => {
    await execute(E1, { keep: [], failures: [waits()] })
    expect(await mobile()).toEqual([{ state: 'open', blocked_by: 'e2', due: false }])
  })

  test('is blocked while the holder has work in the outbox, and due as soon as the holder has changed', async () => {
    await work('e2')
    await execute(E1, { keep: [], failures: [waits()] })
    expect(await mobile()).toEqual([{ state: 'blocked', blocked_by: 'e2', due: false }])
    await settle(store.pool, [
      outcome(E2, await begin(store, E2), { attempt: { outcome: 'updated', fields: ['mobile'] } }),
    ])
    expect(await mobile()).toEqual([{ state: 'retry_scheduled', blocked_by: 'e2', due: true }])
  })

  test('stays blocked when nothing of the holder was changed', async () => {
    await work('e2')
    await execute(E1, { keep: [], failures: [waits()] })
    await settle(store.pool, [outcome(E2, await begin(store, E2), { keep: [] })])
    expect(await mobile()).toMatchObject([{ state: 'blocked' }])
  })

  test('is due when the holder is in step after an execution that did not live to tell what it sent', async () => {
    await work('e2')
    await execute(E1, { keep: [], failures: [waits()] })
    await settle(store.pool, [outcome(E2, await begin(store, E2), { changed: true })])
    expect(await mobile()).toMatchObject([{ state: 'retry_scheduled', due: true }])
  })

  test('is due at once when the holder changed between the refusal and its writing', async () => {
    await work('e1')
    const claimed = await begin(store, E1)
    const startedAt = new Date(Date.now() - 1000)
    await execute(E2, { attempt: { outcome: 'updated', fields: ['mobile'] } })
    await settle(store.pool, [
      outcome(E1, claimed, { keep: [], failures: [waits()], attempt: { startedAt } }),
    ])
    expect(await mobile()).toEqual([{ state: 'retry_scheduled', blocked_by: 'e2', due: true }])
  })

  test('is not left waiting when both outcomes are written at the same moment', async () => {
    await work('e1')
    await work('e2')
    const [one, two] = [await begin(store, E1), await begin(store, E2)]
    // Holds up the holder's outcome in the middle of its transaction, when it has looked for whom to release.
    const held = await store.pool.connect()
    await held.query('begin; lock table dirsync.field_block in exclusive mode')
    const holder = settle(store.pool, [
      outcome(E2, two, { keep: [], attempt: { outcome: 'updated', fields: ['mobile'] } }),
    ])
    const waiter = settle(store.pool, [outcome(E1, one, { keep: [], failures: [waits()] })])
    await held.query('commit')
    held.release()
    await Promise.all([holder, waiter])
    expect(await mobile()).toEqual([{ state: 'retry_scheduled', blocked_by: 'e2', due: true }])
  })

  test('of another enterprise is not released by a namesake', async () => {
    await fail(store, { enterprise_code: 'C1', blocked_by: 'e2' })
    await execute(E2, { attempt: { outcome: 'updated', fields: ['mobile'] } })
    expect(await mobile()).toMatchObject([{ state: 'open' }])
  })

  test.each(['ignored', 'snoozed'])('is left alone while it is %s', async state => {
    const id = await fail(store, { blocked_by: 'e2' })
    await setState(id, state)
    await execute(E2, { attempt: { outcome: 'updated', fields: ['mobile'] } })
    expect(await caseOf(store, id)).toMatchObject({ state })
  })
})
