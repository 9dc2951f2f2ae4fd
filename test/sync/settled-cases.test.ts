import { describe, expect, test } from 'vitest'
import { fieldHash } from '../../src/directory/hash.ts'
import { withConnection } from '../../src/lib/database.ts'
import { beginRetry } from '../../src/sync/cases/retries.ts'
import type { Claim } from '../../src/sync/outbox/claim.ts'
import { settle } from '../../src/sync/settle/settlement.ts'
import { inWords } from '../../src/texts/message.ts'
import { until } from '../helpers/company.ts'
import { begin, type Differs, employee, memory, outcome, refusal } from './outcomes.ts'
import { caseOf, fail, hash, plant, plantRun, plantWork, story } from './planted.ts'
import { StoreUnderTest, WAITING_FOR_A_LOCK } from './store-under-test.ts'

const store = new StoreUnderTest()

const E1 = employee('e1')

/** Executes the work on an employee to the given end. */
async function execute(key: typeof E1, differs: Parameters<typeof outcome>[2]): Promise<void> {
  await plantWork(store, key.entityKey, { enterprise_code: key.enterpriseCode })
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
      await execute(E1, { resolve: 'all' as const, runId: 9 })
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
    await execute(E1, { resolve: 'all' as const, outcome })
    expect(await caseOf(store, id)).toMatchObject({ resolution })
  })

  test('leaves alone what is of another employee, operation or enterprise', async () => {
    const others = [
      await fail(store, { entity_key: 'e2' }),
      await fail(store, { operation: 'bind-openid' }),
      await fail(store, { enterprise_code: 'C1' }),
    ]
    await execute(E1, { resolve: 'all' as const })
    for (const id of others) expect(await caseOf(store, id)).toMatchObject({ state: 'open' })
  })

  test('leaves alone the fields that it keeps, and those that failed anew', async () => {
    const [kept, failed, through] = [
      await fail(store, { field: 'email' }),
      await fail(store, { field: 'mobile' }),
      await fail(store, { field: 'dept_code' }),
    ]
    await execute(E1, { resolve: { except: ['email'] }, failures: [refusal()] })
    expect(await caseOf(store, kept)).toMatchObject({ state: 'open', occurrences: 1 })
    expect(await caseOf(store, failed)).toMatchObject({ state: 'open', occurrences: 2 })
    expect(await caseOf(store, through)).toMatchObject({ state: 'resolved' })
  })

  test('that keeps nothing in mind resolves nothing', async () => {
    const id = await fail(store)
    await execute(E1, { resolve: 'none' })
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
    await settle(store.pool, [
      outcome(key, await begin(store, key), { resolve: 'all' as const, binding: 'open' }),
    ])
    expect(await caseOf(store, one)).toMatchObject({ state: 'resolved' })
    expect(await caseOf(store, other)).toMatchObject({ state: 'open' })
  })

  test('is not there without its resolved case, nor the case without it', async () => {
    const id = await fail(store)
    await plantWork(store, 'e1')
    const claimed = await begin(store, E1)
    const before = await store.contents()
    await store.pool.query('alter table dirsync.dead_letter_event rename column note to out_of_the_way')
    const settling = settle(store.pool, [
      outcome(E1, claimed, { resolve: 'all' as const, employee: memory({ acknowledgedHash: hash() }) }),
    ])
    await expect(settling).rejects.toMatchObject({ code: '42703' })
    await store.pool.query('alter table dirsync.dead_letter_event rename column out_of_the_way to note')
    expect(await store.contents()).toEqual(before)
    await settle(store.pool, [outcome(E1, claimed, { resolve: 'all' as const })])
    expect(await caseOf(store, id)).toMatchObject({ state: 'resolved' })
  })
})

describe('a failure', () => {
  test('opens its case in the same transaction, with when it is tried again', async () => {
    const sourceHash = hash()
    const before = Date.now()
    await execute(E1, {
      runId: 5,
      resolve: 'all' as const,
      failures: [
        refusal({
          sourceHash,
          changedFields: [{ field: 'mobile', value: '138***' }],
          nextRetryMs: 3_600_000,
        }),
      ],
      outcome: 'parked',
      error: inWords('taken'),
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
      resolve: 'all' as const,
      failures: [refusal(), refusal({ field: 'email', category: 'duplicate_email' })],
    })
    expect(await store.value('select count(*) from dirsync.dead_letter')).toBe(2)
  })

  test('that ends a job lets the cases wait that were to be tried and were not', async () => {
    const [untried, tried] = [await fail(store, { field: 'email' }), await fail(store)]
    await setState(untried, 'retrying')
    await setState(tried, 'retrying')
    await execute(E1, { resolve: { except: ['email'] }, failures: [refusal()] })
    expect(await caseOf(store, untried)).toMatchObject({ state: 'open', next_retry_at: expect.any(Date) })
    expect(await caseOf(store, tried)).toMatchObject({ state: 'open', occurrences: 2 })
  })

  test('has cases of several employees that wait with it tried again at different times', async () => {
    const keys = [E1, employee('e2')]
    const ids = await Promise.all(keys.map(({ entityKey: entity_key }) => fail(store, { entity_key })))
    for (const id of ids) await setState(id, 'retrying')
    for (const { entityKey } of keys) await plantWork(store, entityKey)
    const claims = await Promise.all(keys.map(key => begin(store, key)))
    const untried: Differs = { resolve: { except: ['mobile'] } }
    await settle(
      store.pool,
      keys.map((key, i) => outcome(key, claims[i] as Claim, untried)),
    )
    const times = await Promise.all(ids.map(async id => (await caseOf(store, id)).next_retry_at))
    expect(new Set(times.map(Number)).size).toBe(2)
  })

  test('that will be tried again at once leaves them in hand', async () => {
    const id = await fail(store, { field: 'email' })
    await setState(id, 'retrying')
    await execute(E1, { resolve: { except: ['email'] }, again: { delayMs: 0, attempts: 1 } })
    expect(await caseOf(store, id)).toMatchObject({ state: 'retrying' })
  })
})

describe('a case that waits for another employee', () => {
  const E2 = employee('e2')
  const waits = (sourceHash: string | null = null) => refusal({ blockedBy: 'e2', sourceHash })
  const mobile = () =>
    store.rows(
      `select d.state, d.blocked_by, p.enqueued_at is null and p.not_before <= now() as "isDue", p.run_id
       from dirsync.dead_letter d left join dirsync.pending p on p.entity_key = d.entity_key
       where d.entity_key = 'e1'`,
    )
  const waiting = (state: string) => [{ state, blocked_by: 'e2', isDue: null, run_id: null }]
  const tried = (run: number | null = null) => [
    { state: 'retrying', blocked_by: 'e2', isDue: true, run_id: run },
  ]

  test('stays open while nothing is to be expected of the holder', async () => {
    await execute(E1, { resolve: 'all' as const, failures: [waits()] })
    expect(await mobile()).toEqual(waiting('open'))
  })

  test('is blocked while the holder has work in the outbox, and due as soon as the holder has changed', async () => {
    await plantWork(store, 'e2')
    await execute(E1, { resolve: 'all' as const, failures: [waits()] })
    expect(await mobile()).toEqual(waiting('blocked'))
    await settle(store.pool, [
      outcome(E2, await begin(store, E2), { outcome: 'updated', fields: ['mobile'] }),
    ])
    expect(await mobile()).toEqual(tried())
  })

  test('is tried in the run that released it, while that goes on, by dirsync, whoever asked for the run', async () => {
    for (const [run, joins] of [
      [{}, true],
      [{ requested_by: 'anna' }, true],
      [{ requested_by: 'anna', kind: 'retry' }, true],
      [{ requested_by: 'anna', kind: 'employees' }, true],
      [{ requested_by: 'anna', state: 'done' }, false],
    ] as const) {
      const runId = await plantRun(store, run)
      await plantWork(store, 'e2')
      await execute(E1, { resolve: 'all' as const, failures: [waits()] })
      const two = await begin(store, E2)
      await settle(store.pool, [outcome(E2, two, { runId, fields: ['mobile'] })])
      expect(await mobile()).toEqual(tried(joins ? runId : null))
      const id = await store.value<number>(`select id from dirsync.dead_letter where entity_key = 'e1'`)
      expect((await story(store, id)).at(-1)).toMatchObject({ event: 'retried', actor: 'dirsync' })
      await store.clear()
    }
  })

  test('stays blocked when the holder has changed something else', async () => {
    await plantWork(store, 'e2')
    await execute(E1, { resolve: 'all' as const, failures: [waits()] })
    await settle(store.pool, [outcome(E2, await begin(store, E2), { fields: ['email'] })])
    expect(await mobile()).toEqual(waiting('blocked'))
  })

  test('stays blocked when nothing of the holder was changed', async () => {
    await plantWork(store, 'e2')
    await execute(E1, { resolve: 'all' as const, failures: [waits()] })
    await settle(store.pool, [outcome(E2, await begin(store, E2), { resolve: 'all' as const })])
    expect(await mobile()).toMatchObject([{ state: 'blocked' }])
  })

  test('is due when the holder is in sync after an execution that died before it recorded what it sent', async () => {
    await plantWork(store, 'e2')
    await execute(E1, { resolve: 'all' as const, failures: [waits()] })
    const two = await begin(store, E2)
    await settle(store.pool, [outcome(E2, two, { changed: true, sentUnknown: true })])
    expect(await mobile()).toEqual(tried())
  })

  test.each([
    ['changed', { outcome: 'updated', fields: ['mobile'] }],
    ['left', { outcome: 'left' }],
    [
      'had nothing left to do after an answer was lost',
      { outcome: 'obsolete', changed: true, sentUnknown: true },
    ],
  ] satisfies [string, Differs][])(
    'is due at once when the holder %s between the refusal and its writing',
    async (_, holder) => {
      await plantWork(store, 'e1')
      const claimed = await begin(store, E1)
      const startedAt = new Date(Date.now() - 1000)
      await execute(E2, holder)
      await settle(store.pool, [
        outcome(E1, claimed, { resolve: 'all' as const, failures: [waits()], startedAt }),
      ])
      expect(await mobile()).toEqual(tried())
    },
  )

  test('is not tried again and again because the holder’s last outcome is of a clock that was ahead', async () => {
    const ahead = new Date(Date.now() + 3_600_000)
    await plantWork(store, 'e2')
    const claimed = await begin(store, E2)
    await settle(store.pool, [
      outcome(E2, claimed, { outcome: 'updated', fields: ['mobile'], startedAt: ahead }),
    ])
    await execute(E1, { resolve: 'all' as const, failures: [waits()] })
    expect(await mobile()).toEqual(waiting('open'))
  })

  test('is not left waiting when both outcomes are written at the same moment', async () => {
    await plantWork(store, 'e1')
    await plantWork(store, 'e2')
    const [one, two] = [await begin(store, E1), await begin(store, E2)]
    // Both executions have begun before either ends.
    const refused = outcome(E1, one, { resolve: 'all' as const, failures: [waits()] })
    const changed = outcome(E2, two, { resolve: 'all' as const, outcome: 'updated', fields: ['mobile'] })
    // Holds up the holder's outcome in the middle of its transaction, when it has looked for whom to release.
    const held = await store.pool.connect()
    await held.query('begin; lock table dirsync.field_block in exclusive mode')
    const holder = settle(store.pool, [changed])
    const waiter = settle(store.pool, [refused])
    await held.query('commit')
    held.release()
    await Promise.all([holder, waiter])
    expect(await mobile()).toEqual(tried())
  })

  test('of another enterprise is not released by a namesake', async () => {
    await fail(store, { enterprise_code: 'C1', blocked_by: 'e2' })
    await execute(E2, { outcome: 'updated', fields: ['mobile'] })
    expect(await mobile()).toMatchObject([{ state: 'open' }])
  })

  test.each(['ignored', 'snoozed'])('is left alone while it is %s', async state => {
    const id = await fail(store, { blocked_by: 'e2' })
    await setState(id, state)
    await execute(E2, { outcome: 'updated', fields: ['mobile'] })
    expect(await caseOf(store, id)).toMatchObject({ state })
  })

  test.each([
    ['ignored', `ignore($1, 'agreed')`],
    ['snoozed', `snooze($1, now() + interval '1 day')`],
  ])('is left alone where it is %s while the outcome of its holder is written', async (state, decides) => {
    const id = await fail(store, { blocked_by: 'e2' })
    const person = await store.pool.connect()
    try {
      await person.query('begin')
      await person.query(`select dirsync.${decides}`, [id])
      const settled = execute(E2, { outcome: 'updated', fields: ['mobile'] })
      await until(async () => (await store.rows(WAITING_FOR_A_LOCK)).length > 0)
      await person.query('commit')
      await settled
    } finally {
      person.release()
    }
    expect(await caseOf(store, id)).toMatchObject({ state })
  })

  test.each([
    ['snoozed', `snooze($1, now() + interval '1 day')`, 'wake'],
    ['snoozed', `snooze($1, now() + interval '1 day')`, 'undo'],
    ['ignored', `ignore($1, 'agreed')`, 'undo'],
  ])('is tried soon if the holder has changed while it was %s by %s, after %s', async (_, sets, ends) => {
    const next_retry_at = new Date(Date.now() + 6 * 86_400_000)
    const soon = async () => {
      const id = await fail(store, { blocked_by: 'e2', next_retry_at })
      await store.pool.query(`select dirsync.${sets}`, [id])
      await execute(E2, differs)
      await store.pool.query(`select dirsync.${ends}($1)`, [id])
      const { state, next_retry_at: next } = await caseOf(store, id)
      expect(state).toBe('open')
      await store.clear()
      return Number(next) < Date.now() + 120_000
    }
    let differs: Differs = { outcome: 'updated', fields: ['mobile'] }
    expect(await soon()).toBe(true)
    differs = { outcome: 'left' }
    expect(await soon()).toBe(true)
    differs = { outcome: 'obsolete', changed: true, employee: memory({ platformState: 'absent' }) }
    expect(await soon()).toBe(true)
    // The platform may have accepted what was sent.
    differs = { sentUnknown: true, again: { delayMs: 60_000, attempts: 1 } }
    expect(await soon()).toBe(true)
    // Nothing of what it waits for has changed.
    differs = { outcome: 'updated', fields: ['email'] }
    expect(await soon()).toBe(false)
    differs = { outcome: 'in_sync' }
    expect(await soon()).toBe(false)
  })

  test('keeps its rhythm for what was known of its holder before it failed', async () => {
    const lost: Differs = { sentUnknown: true, again: { delayMs: 60_000, attempts: 1 } }
    const absent: Differs = {
      outcome: 'obsolete',
      changed: true,
      employee: memory({ platformState: 'absent' }),
    }
    for (const differs of [lost, absent]) {
      await execute(E2, { ...differs, startedAt: new Date(Date.now() - 60_000) })
      const next_retry_at = new Date(Date.now() + 6 * 86_400_000)
      const id = await fail(store, { blocked_by: 'e2', next_retry_at })
      await store.pool.query(`select dirsync.ignore($1, 'agreed')`, [id])
      await store.pool.query('select dirsync.undo($1)', [id])
      const { next_retry_at: next } = await caseOf(store, id)
      expect(Number(next)).toBeGreaterThan(Date.now() + 86_400_000)
      await store.clear()
    }
  })
})

describe('a case that waits for a work number', () => {
  const E2 = employee('e2')
  const WAITS = {
    field: 'corp_code',
    category: 'duplicate_work_number',
    changedFields: [{ field: 'corp_code', value: 'w2' }],
  }
  const GIVES_UP: Differs = {
    outcome: 'updated',
    fields: ['corp_code'],
    available: [{ category: 'duplicate_work_number', value: 'W2' }],
    employee: memory({
      acknowledged: { corp_code: 'new' },
      overwritten: { corp_code: fieldHash('corp_code', 'W2') },
    }),
  }
  const states = () => store.rows('select state from dirsync.dead_letter order by id')

  test('is due once an employee of its enterprise has given up this very number', async () => {
    const waits = { field: 'corp_code', category: 'duplicate_work_number' }
    for (const [enterprise_code, value] of [
      ['', 'w2'],
      ['', 'w3'],
      ['C1', 'w2'],
    ])
      await fail(store, {
        ...waits,
        enterprise_code,
        entity_key: `of ${value}`,
        changed_fields: [{ field: 'corp_code', value }],
      })
    await execute(E2, GIVES_UP)
    expect(await states()).toEqual([{ state: 'retrying' }, { state: 'open' }, { state: 'open' }])
  })

  test('is due at once when the number was given up while it was refused, and only then', async () => {
    await execute(E2, GIVES_UP)
    await plantWork(store, 'e1')
    const late = await begin(store, E1)
    const refused: Differs = {
      resolve: 'all',
      failures: [refusal(WAITS)],
      startedAt: new Date(Date.now() + 1),
    }
    await settle(store.pool, [outcome(E1, late, refused)])
    expect(await states()).toEqual([{ state: 'open' }])
    await plantWork(store, 'e1')
    const claimed = await begin(store, E1)
    const startedAt = new Date(Date.now() - 60_000)
    await settle(store.pool, [outcome(E1, claimed, { ...refused, startedAt })])
    expect(await states()).toEqual([{ state: 'retrying' }])
  })
})

describe('cases that wait for each other', () => {
  const refusedBy = (holder: string) => ({
    resolve: 'all' as const,
    failures: [refusal({ blockedBy: holder, changedFields: [{ field: 'mobile', value: `of ${holder}` }] })],
    outcome: 'parked' as const,
  })
  const groups = () =>
    store.rows<{
      entity_key: string
      swap_id: number | null
      state: string
      message: string
      remedy: string
    }>(
      `select entity_key, swap_id, state, dirsync.in_language('en', message) as message, dirsync.in_language('en', remedy) as remedy from dirsync.dead_letter order by entity_key`,
    )
  /** Every employee is refused because of the given holder, in any order. */
  const refuse = async (...edges: [string, string][]) => {
    for (const [userid, holder] of edges) await execute(employee(userid), refusedBy(holder))
  }

  test.each([[['e1', 'e2', 'e3']], [['e3', 'e1', 'e2']], [['e2', 'e1', 'e3']]])(
    'are one group whichever comes last: %j',
    async order => {
      const holders: Record<string, string> = { e1: 'e2', e2: 'e3', e3: 'e1' }
      await refuse(...order.map(userid => [userid, holders[userid] as string] as [string, string]))
      const found = await groups()
      const [first] = order as [string]
      const oldest = await store.value<number>('select min(id) from dirsync.dead_letter')
      for (const one of found) expect(one).toMatchObject({ swap_id: oldest, state: 'open' })
      expect(found[0]?.message).toContain(`${first} wants the mobile number of ${holders[first]}, `)
      // What the oldest one has, as the one who wants it tells.
      expect(found[0]?.remedy).toContain(
        `change the mobile number of ${first} (of ${first}) to a temporary one, then retry case ${oldest}`,
      )
    },
  )

  test('are found when both outcomes are written at the same moment', async () => {
    await plantWork(store, 'e1')
    await plantWork(store, 'e2')
    const [one, two] = [await begin(store, E1), await begin(store, employee('e2'))]
    await Promise.all([
      settle(store.pool, [outcome(E1, one, refusedBy('e2'))]),
      settle(store.pool, [outcome(employee('e2'), two, refusedBy('e1'))]),
    ])
    const [first, second] = await groups()
    expect(first?.swap_id).not.toBeNull()
    expect(second?.swap_id).toBe(first?.swap_id)
    expect([first?.state, second?.state]).toEqual(['open', 'open'])
  })

  test('leave out an employee who only waits for one of them', async () => {
    await refuse(['e1', 'e2'], ['e2', 'e1'], ['e3', 'e1'])
    expect((await groups()).map(({ swap_id }) => swap_id !== null)).toEqual([true, true, false])
    // Nor does a circle that begins elsewhere hold up the one who is refused again.
    await refuse(['e3', 'e1'])
    expect((await groups()).map(({ swap_id }) => swap_id !== null)).toEqual([true, true, false])
  })

  test('are no group across enterprises', async () => {
    await refuse(['e1', 'e2'])
    await execute(employee('e2', 'C1'), refusedBy('e1'))
    expect((await groups()).map(({ swap_id }) => swap_id)).toEqual([null, null])
  })

  test('count one that sleeps or is accepted, which stays as it is', async () => {
    await refuse(['e1', 'e2'])
    await store.pool.query(`update dirsync.dead_letter set state = 'ignored', note = 'known'`)
    await refuse(['e2', 'e1'])
    expect(await groups()).toMatchObject([
      { state: 'ignored', swap_id: expect.any(Number) },
      { state: 'open', swap_id: expect.any(Number) },
    ])
  })

  test('are tried together when one of them is', async () => {
    await refuse(['e1', 'e2'], ['e2', 'e1'])
    const [{ id } = { id: 0 }] = await store.rows<{ id: number }>(
      'select max(id) as id from dirsync.dead_letter',
    )
    const tried = await withConnection(store.pool, db => beginRetry(db, [id], null))
    expect(tried.map(({ entityKey }) => entityKey).sort()).toEqual(['e1', 'e2'])
    // Refused both, they are the same group again, and neither is retried for the other's sake.
    await refuse(['e1', 'e2'])
    expect((await groups()).map(({ swap_id, state }) => [swap_id, state])).toEqual([
      [null, 'open'],
      [null, 'retrying'],
    ])
    await refuse(['e2', 'e1'])
    expect((await groups()).every(({ swap_id, state }) => swap_id !== null && state === 'open')).toBe(true)
    expect(await store.value('select count(*) from dirsync.pending')).toBe(0)
  })

  test('are on their own again when one of them is through, and each is tried at once', async () => {
    await refuse(['e1', 'e2'], ['e2', 'e3'], ['e3', 'e1'])
    await execute(E1, { resolve: 'all' as const, outcome: 'in_sync' })
    expect((await groups()).map(({ swap_id, state }) => [swap_id, state])).toEqual([
      [null, 'resolved'],
      [null, 'retrying'],
      [null, 'retrying'],
    ])
    expect(await store.rows('select entity_key from dirsync.pending order by 1')).toEqual([
      { entity_key: 'e2' },
      { entity_key: 'e3' },
    ])
  })

  test('are on their own again when one of them waits for another employee', async () => {
    await refuse(['e1', 'e2'], ['e2', 'e1'])
    await refuse(['e1', 'e9'])
    expect((await groups()).map(({ swap_id, state }) => [swap_id, state])).toEqual([
      [null, 'open'],
      [null, 'retrying'],
    ])
  })
})
