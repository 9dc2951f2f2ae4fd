import { describe, expect, test, vi } from 'vitest'
import { transaction } from '../../src/lib/database.ts'
import { claim } from '../../src/sync/outbox/claim.ts'
import type { Settlement } from '../../src/sync/outbox/outcome.ts'
import { settle } from '../../src/sync/settle/settlement.ts'
import { inWords } from '../../src/texts/message.ts'
import { worded } from '../texts/worded.ts'
import { begin, employee, memory, outcome, refusal } from './outcomes.ts'
import { caseOf, fail, hash, plant, plantRun, plantWork } from './planted.ts'
import { StoreUnderTest, WAITING_FOR_A_LOCK } from './store-under-test.ts'

const store = new StoreUnderTest()

const E1 = employee('e1')
const pending = () =>
  store.rows<{
    entity_key: string
    version: number
    attempts: number
    starts: number
    enqueued_at: Date | null
  }>('select *, not_before > now() as waits from dirsync.pending order by entity_key')
const attempts = () => store.rows('select * from dirsync.attempt order by id')
/** As a worker does, which comes again to what waits for another transaction. */
const settleAll = async (settlements: Settlement[]) => {
  for (let rest = settlements; rest.length > 0; ) rest = await settle(store.pool, rest)
}
const remembered = async () => (await store.rows('select * from dirsync.employee order by userid'))[0]

describe('an outcome', () => {
  test('ends the work and is written down', async () => {
    const run = await plantRun(store)
    await plantWork(store, 'e1', { run_id: run })
    const startedAt = new Date('2026-01-01T00:00:00Z')
    const claimed = await begin(store, E1)
    await settle(store.pool, [
      outcome(E1, claimed, {
        outcome: 'updated',
        startedAt,
        calls: { 'employee/get': 1 },
        fields: ['name'],
        traceId: 't',
      }),
    ])
    expect(await pending()).toEqual([])
    expect(await attempts()).toMatchObject([
      {
        run_id: run,
        operation: 'update-employee',
        entity_key: 'e1',
        started_at: startedAt,
        duration_ms: 5,
        outcome: 'updated',
        calls: { 'employee/get': 1 },
        fields: ['name'],
        trace_id: 't',
      },
    ])
  })

  test('of which nothing is stored ends the open ids of whom the platform does not have', async () => {
    await store.rows(
      `insert into dirsync.openid_binding (userid, seller_appid, open_userid) values ('e1', 'a', 'o1') returning userid`,
    )
    await plantWork(store, 'e1')
    const key = employee('e1')
    const given = { outcome: 'awaiting_activation', employee: memory(), isStored: true } as const
    await settle(store.pool, [outcome(key, await begin(store, key), given)])
    expect(await store.rows('select userid from dirsync.openid_binding')).toEqual([])
  })

  test('of which nothing is stored is written down, and ends the work of its own version and execution', async () => {
    const run = await plantRun(store)
    const keys = ['e1', 'e2', 'e3'].map(userid => employee(userid))
    const given = {
      startedAt: new Date('2026-01-01T00:00:00Z'),
      calls: { 'employee/get': 1 },
      waitedMs: { 'employee/get': 7 },
      employee: memory(),
      isStored: true,
    }
    const settlements = []
    for (const key of keys) {
      await plantWork(store, key.entityKey, { run_id: run, enqueued_at: new Date() })
      settlements.push(outcome(key, await begin(store, key), given))
    }
    await store.rows(`update dirsync.pending set version = version + 1 where entity_key = 'e2'`)
    const { execution } = await begin(store, employee('e3'))
    expect(await settle(store.pool, settlements)).toEqual([])
    expect(await pending()).toMatchObject([
      { entity_key: 'e2', version: 2, starts: 0, in_hand: false, enqueued_at: null, waits: false },
      { entity_key: 'e3', version: 1, execution, in_hand: true },
    ])
    expect(await attempts()).toMatchObject(
      settlements.map(({ key, execution }) => ({
        run_id: run,
        operation: 'update-employee',
        entity_key: key.entityKey,
        detail: '',
        started_at: given.startedAt,
        duration_ms: 5,
        outcome: 'in_sync',
        calls: given.calls,
        waited_ms: given.waitedMs,
        rate_limited: {},
        fields: [],
        platform_code: null,
        trace_id: null,
        error: null,
        execution,
      })),
    )
    expect(await remembered()).toBeUndefined()
  })

  test('that asks for another attempt puts the work back, later, with its count', async () => {
    await plantWork(store, 'e1', { enqueued_at: new Date() })
    await settle(store.pool, [
      outcome(E1, await begin(store, E1), { again: { delayMs: 60_000, attempts: 2 } }),
    ])
    expect(await pending()).toMatchObject([
      { attempts: 2, starts: 0, enqueued_at: null, waits: true, version: 1 },
    ])
  })

  test('of work that was asked for again meanwhile puts it back at once', async () => {
    await plantWork(store, 'e1', { enqueued_at: new Date() })
    const claimed = await begin(store, E1)
    await store.pool.query('update dirsync.pending set version = version + 1')
    await settle(store.pool, [outcome(E1, claimed, { employee: memory({ acknowledgedHash: hash() }) })])
    expect(await pending()).toMatchObject([
      { version: 2, attempts: 0, starts: 0, enqueued_at: null, waits: false },
    ])
    expect(await remembered()).toMatchObject({ platform_state: 'in_service' })
  })

  test('of an execution that was overtaken changes nothing but the list of attempts', async () => {
    await plantWork(store, 'e1')
    const id = await fail(store)
    const overtaken = await begin(store, E1)
    await begin(store, E1)
    const before = await store.contents()
    await settle(store.pool, [
      outcome(E1, overtaken, {
        employee: memory({ acknowledgedHash: hash() }),
        failures: [refusal({ field: 'email' })],
        resolve: 'all',
        blockFields: [{ field: 'level', platformCode: null, valueHash: 'h', codes: null, isWhole: true }],
      }),
    ])
    const { attempt, ...rest } = await store.contents()
    expect(attempt).toHaveLength(1)
    expect(rest).toEqual({ ...before, attempt: undefined })
    expect(await caseOf(store, id)).toMatchObject({ state: 'open' })
  })

  test('is known as overtaken also when its successor put the work back, or ended it', async () => {
    await plantWork(store, 'e1')
    const asleep = await begin(store, E1)
    const second = await begin(store, E1)
    await settle(store.pool, [outcome(E1, second, { again: { delayMs: 0, attempts: 1 } })])
    const third = await begin(store, E1)
    expect(third).toMatchObject({ starts: asleep.starts, version: asleep.version })
    await settle(store.pool, [outcome(E1, asleep, { employee: memory() })])
    expect(await pending()).toHaveLength(1)

    await settle(store.pool, [outcome(E1, third)])
    await plantWork(store, 'e1')
    await begin(store, E1)
    await settle(store.pool, [outcome(E1, asleep, { employee: memory() })])
    expect(await pending()).toHaveLength(1)
    expect(await remembered()).toBeUndefined()
    // The same outcome, written twice, is one attempt.
    expect(await attempts()).toHaveLength(3)
  })

  test('of work that is gone is written down, and no more', async () => {
    await plantWork(store, 'e1')
    const claimed = await begin(store, E1)
    await store.pool.query('delete from dirsync.pending')
    await settle(store.pool, [outcome(E1, claimed, { employee: memory() })])
    expect(await remembered()).toBeUndefined()
    expect(await attempts()).toHaveLength(1)
  })

  test('is written with those of many others; one that PostgreSQL refuses becomes a case that says why', async () => {
    const keys = ['e1', 'e2', 'e3'].map(userid => employee(userid))
    for (const key of keys) await plantWork(store, key.entityKey)
    const claims = await claim(store.pool, keys, {})
    const source = hash()
    const settlements = keys.map((key, i) =>
      outcome(key, claims[i] as never, {
        employee: memory({ acknowledgedHash: source }),
      }),
    )
    const broken = { ...settlements[1], outcome: 'no such outcome' }
    await settle(store.pool, [settlements[0], broken, settlements[2]] as never)
    expect(await pending()).toEqual([])
    expect(
      worded((await attempts()).map(({ entity_key, outcome, error }) => ({ entity_key, outcome, error }))),
    ).toEqual([
      { entity_key: 'e1', outcome: 'in_sync', error: null },
      { entity_key: 'e2', outcome: 'parked', error: expect.stringContaining('attempt_outcome_check') },
      { entity_key: 'e3', outcome: 'in_sync', error: null },
    ])
    expect(await store.rows('select * from dirsync.employee order by userid')).toMatchObject([
      { userid: 'e1', acknowledged_hash: source, parked_hash: null },
      { userid: 'e2', acknowledged_hash: null, parked_hash: source },
      { userid: 'e3', acknowledged_hash: source, parked_hash: null },
    ])
    expect(await store.rows('select * from dirsync.dead_letter')).toMatchObject([
      {
        entity_key: 'e2',
        operation: 'update-employee',
        field: '',
        category: 'internal_error',
        state: 'open',
        source_hash: source,
        message: expect.stringContaining('SQLSTATE 23514'),
        remedy: expect.stringContaining('retry'),
      },
    ])
  })

  test('that PostgreSQL refuses leaves the cases of its entity open, and puts those that were retried back', async () => {
    await plantWork(store, 'e1')
    const retried = await fail(store)
    const other = await fail(store, { field: 'email' })
    await store.pool.query(`update dirsync.dead_letter set state = 'retrying' where id = $1`, [retried])
    const odd = { outcome: 'no such outcome' } as unknown as { outcome: 'parked' }
    await settle(store.pool, [outcome(E1, await begin(store, E1), { resolve: 'all', ...odd })])
    expect(await caseOf(store, retried)).toMatchObject({ state: 'open' })
    expect(await caseOf(store, other)).toMatchObject({ state: 'open', resolved_at: null })
  })

  test('with what no text of PostgreSQL can hold is written without it', async () => {
    await plantWork(store, 'e1')
    const odd = 'a\0b\ud83dc'
    const failure = refusal({
      message: inWords(odd),
      traceId: odd,
      blockedBy: odd,
      changedFields: [{ field: 'name', value: odd }],
    })
    await settle(store.pool, [
      outcome(E1, await begin(store, E1), {
        failures: [failure],
        employee: memory({ deptCode: odd }),
        outcome: 'parked',
        error: inWords(odd),
        traceId: odd,
      }),
    ])
    const kept = 'a\ufffdb\ufffdc'
    expect(worded(await attempts())).toMatchObject([{ error: kept, trace_id: kept, outcome: 'parked' }])
    expect(await remembered()).toMatchObject({ dept_code: kept })
    expect(await store.rows('select * from dirsync.dead_letter')).toMatchObject([
      { message: kept, trace_id: kept, blocked_by: kept, changed_fields: [{ field: 'name', value: kept }] },
    ])
  })

  test('is written with all others or not at all while the database is in the way', async () => {
    const keys = ['e1', 'e2'].map(userid => employee(userid))
    for (const key of keys) await plantWork(store, key.entityKey)
    const claims = await claim(store.pool, keys, {})
    const settlements = keys.map((key, i) => outcome(key, claims[i] as never, { employee: memory() }))
    await store.pool.query('alter table dirsync.employee rename to out_of_the_way')
    await expect(settle(store.pool, settlements)).rejects.toThrow('dirsync.employee')
    await store.pool.query('alter table dirsync.out_of_the_way rename to employee')
    expect(await attempts()).toEqual([])
    expect(await pending()).toHaveLength(2)
  })
})

describe('the memory of an employee', () => {
  const settleWith = async (differs: Parameters<typeof memory>[0]) => {
    await plantWork(store, 'e1')
    await settle(store.pool, [outcome(E1, await begin(store, E1), { employee: memory(differs) })])
    return remembered()
  }

  test('are the hashes of what the platform confirmed, added to those of before', async () => {
    const [source, again] = [hash(), hash()]
    await settleWith({
      acknowledgedHash: source,
      acknowledged: { name: 'n', email: 'e' },
      deptCode: 'D1',
    })
    const known = await settleWith({
      parkedHash: again,
      acknowledged: { name: 'm' },
      deptCode: 'D2',
    })
    expect(known).toMatchObject({
      // Only plans write it.
      source_hash: null,
      acknowledged_hash: null,
      parked_hash: again,
      acknowledged: { name: 'm', email: 'e' },
      platform_state: 'in_service',
      dept_code: 'D2',
      acknowledged_at: expect.any(Date),
      queried_at: expect.any(Date),
    })
  })

  test('is cleared of what was confirmed once the platform has no such employee', async () => {
    await settleWith({ acknowledgedHash: hash(), acknowledged: { name: 'n' }, deptCode: 'D1' })
    expect(await settleWith({ platformState: 'absent' })).toMatchObject({
      acknowledged: {},
      platform_state: 'absent',
      dept_code: null,
    })
  })

  test('stays as it is on the platform’s side when the platform was not asked', async () => {
    const source = hash()
    const before = await settleWith({
      acknowledgedHash: source,
      acknowledged: { name: 'n' },
      deptCode: 'D1',
    })
    expect(await settleWith({ platformState: 'unknown', isAnswered: false })).toMatchObject({
      source_hash: null,
      acknowledged_hash: null,
      acknowledged: { name: 'n' },
      platform_state: 'in_service',
      dept_code: 'D1',
      acknowledged_at: before?.acknowledged_at,
      queried_at: before?.queried_at,
    })
  })

  test('of one who was never confirmed nor asked has no such times', async () => {
    expect(await settleWith({ platformState: 'unknown', isAnswered: false })).toMatchObject({
      acknowledged_at: null,
      queried_at: null,
    })
  })
})

test.each([
  ['another row', hash()],
  ['that the employee is gone', null],
])(
  'an employee whom a person named stays held if a plan holds %s while the outcome is written',
  async (_, held) => {
    const run = await plantRun(store, { state: 'held' })
    const sent = hash()
    await plant(store, 'employee', { userid: 'e1', source_hash: sent })
    await plantWork(store, 'e1', { named: true })
    const named = outcome(E1, await begin(store, E1), {
      employee: memory({ acknowledgedHash: sent }),
      isStored: true,
      present: { hash: sent, isHeld: false, heldHash: null, named: true },
    })
    let settled: Promise<void> | undefined
    await transaction(store.pool, async plan => {
      await plan.query(
        'update dirsync.employee set held_run = $1, held_hash = $2::uuid, held_gone = $2::uuid is null',
        [run, held],
      )
      settled = settleAll([named])
      await vi.waitUntil(async () => (await store.rows(WAITING_FOR_A_LOCK)).length > 0, { timeout: 20_000 })
    })
    await settled
    expect(await remembered()).toMatchObject({ held_run: run, held_hash: held, held_gone: held === null })
  },
)

test.each([
  ['ends, as sent, where the platform accepted a field of it', ['name'], { rejected: false }, []],
  [
    'comes back, unnamed, where it accepted none',
    [],
    { status: 'rejected' },
    [{ named: false, waits: false }],
  ],
] as [string, 'name'[], object, object[]][])(
  'a row that a person named, and another one rejects while it is in hand, %s',
  async (_, fields, employee, left) => {
    const [run, row] = [await plantRun(store, { state: 'held' }), hash()]
    await plant(store, 'employee', { userid: 'e1', source_hash: hash(), held_run: run, held_hash: row })
    const planned = { run_id: run, operation: 'update-employee', entity_key: 'e1', reason: 'changed' }
    await plant(store, 'planned_work', { ...planned, source_hash: row })
    await plantWork(store, 'e1', { named: true })
    const claimed = await begin(store, E1)
    await store.pool.query('select dirsync.reject($1)', [run])
    const differs = { fields, employee: memory({ parkedHash: row }), failures: [refusal()] }
    const present = { hash: row, isHeld: true, heldHash: row, named: true }
    await settle(store.pool, [outcome(E1, claimed, { outcome: 'parked', ...differs, present })])
    expect(await remembered()).toMatchObject(employee)
    expect(await pending()).toMatchObject(left)
  },
)

test.each(['ignore($1, $2)', `snooze($1, now() + interval '1 day', $2)`])(
  'those of others are written while %s of a case waits for its commit, and its own once it is committed',
  async decision => {
    const keys = ['e1', 'e2', 'e3'].map(userid => employee(userid))
    await plant(store, 'employee', { userid: 'e2' })
    for (const key of keys) await plantWork(store, key.entityKey)
    const id = await fail(store, { entity_key: 'e2' })
    const claims = await claim(store.pool, keys, {})
    const settlements = keys.map((key, i) =>
      outcome(key, claims[i] as never, {
        employee: memory({ acknowledgedHash: hash() }),
        ...(key.entityKey === 'e2' && { resolve: 'all' }),
      }),
    )
    await transaction(store.pool, async reviewer => {
      await reviewer.query(`select dirsync.${decision}`, [id, 'so'])
      expect(await settle(store.pool, settlements)).toEqual([settlements[1]])
      expect(await pending()).toMatchObject([{ entity_key: 'e2' }])
      expect(await attempts()).toMatchObject([{ entity_key: 'e1' }, { entity_key: 'e3' }])
    })
    expect(await settle(store.pool, settlements)).toEqual([])
    expect(await pending()).toEqual([])
    expect(await attempts()).toHaveLength(3)
    expect(await caseOf(store, id)).toMatchObject({ state: 'resolved' })
  },
)

test('an open id is bound, and bound anew', async () => {
  const key = { operation: 'bind-openid' as const, enterpriseCode: 'C1', entityKey: 'e1', detail: '20000001' }
  for (const binding of ['first', 'second']) {
    await store.pool.query('update dirsync.openid_binding set doubted = true')
    await plant(store, 'pending', {
      operation: 'bind-openid',
      enterprise_code: 'C1',
      entity_key: 'e1',
      detail: '20000001',
      priority: 5,
    })
    await settle(store.pool, [outcome(key, await begin(store, key), { binding, outcome: 'bound' })])
  }
  expect(await store.rows('select * from dirsync.openid_binding')).toMatchObject([
    { enterprise_code: 'C1', userid: 'e1', seller_appid: '20000001', open_userid: 'second', doubted: false },
  ])
})

test('a department is deleted, or its deletion parked', async () => {
  const key = { operation: 'delete-department' as const, enterpriseCode: '', entityKey: 'D1', detail: '' }
  await plant(store, 'department', { dept_code: 'D1', active: false }, { dept_code: 'D2', active: false })
  const settleWith = async (department: 'deleted' | 'parked') => {
    await plant(store, 'pending', { operation: 'delete-department', entity_key: 'D1', priority: 5 })
    await settle(store.pool, [outcome(key, await begin(store, key), { department })])
    return store.rows('select dept_code, deleted_at, parked_at from dirsync.department order by 1')
  }
  const untouched = { dept_code: 'D2', deleted_at: null, parked_at: null }
  expect(await settleWith('parked')).toMatchObject([
    { deleted_at: null, parked_at: expect.any(Date) },
    untouched,
  ])
  expect(await settleWith('deleted')).toMatchObject([
    { deleted_at: expect.any(Date), parked_at: null },
    untouched,
  ])
})

test('two outcomes of one moment that make a swap together say so', async () => {
  await plantWork(store, 'e1')
  await plantWork(store, 'e2')
  const swap = [
    { key: E1, blockedBy: 'e2' },
    { key: employee('e2'), blockedBy: 'e1' },
  ]
  const settlements: Settlement[] = []
  for (const { key, blockedBy } of swap)
    settlements.push(
      outcome(key, await begin(store, key), {
        outcome: 'parked',
        employee: memory(),
        failures: [refusal({ blockedBy })],
      }),
    )
  // Neither is committed before both are written, or one waits for the other.
  await store.pool.query(
    `create function public.waits() returns trigger language plpgsql as
       $$ begin perform pg_advisory_xact_lock_shared(1); return null; end $$;
     create constraint trigger waits after insert on dirsync.dead_letter
     deferrable initially deferred for each row execute function public.waits()`,
  )
  const doorkeeper = await store.pool.connect()
  try {
    await doorkeeper.query('select pg_advisory_lock(1)')
    const settled = Promise.all(settlements.map(settlement => settleAll([settlement])))
    await vi.waitUntil(
      () =>
        store.value<boolean>(
          `select count(*) = 2 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
        ),
      { timeout: 20_000 },
    )
    await doorkeeper.query('select pg_advisory_unlock(1)')
    await settled
  } finally {
    doorkeeper.release()
    await store.pool.query('drop function public.waits() cascade')
  }
  const cases = await store.rows<{ id: number; swap_id: number }>(
    'select id, swap_id from dirsync.dead_letter order by id',
  )
  const [oldest] = cases
  expect(cases.map(({ swap_id }) => swap_id)).toEqual([oldest?.id, oldest?.id])
})
