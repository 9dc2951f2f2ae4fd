import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { LeaseRequest, PacerStore } from '../../src/pacing/store.ts'
import { createTestDatabase, type TestDatabase } from '../helpers/postgres.ts'
import { STORES } from './stores.ts'

const request: LeaseRequest = { gate: 'platform', holder: 'one', count: 4, spacingMs: 10 }
const learnt = {
  ratePerSecond: 50,
  ceiling: 60,
  loweredAtMs: 1_000_000,
  changedAtMs: 2_000_000,
  leasedAtChange: 7,
}

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase({ migrated: true })
})
afterAll(() => database.close())

describe.each(STORES)('slots in $kind', ({ deploy }) => {
  let deployment: Awaited<ReturnType<typeof deploy>>
  let stores: PacerStore[]
  let store: PacerStore

  function open(): PacerStore {
    const opened = deployment.open()
    stores.push(opened)
    return opened
  }

  beforeEach(async () => {
    await database.pool.query('delete from dirsync.learnt_rate')
    deployment = await deploy(database)
    stores = []
    store = open()
  })
  afterEach(() => Promise.all(stores.map(opened => opened.close())))

  test('processes that ask at once get slots that do not overlap, evenly spaced', async () => {
    const other = open()
    const leases = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        (index % 2 ? other : store).lease({ ...request, holder: `${index % 2}` }),
      ),
    )
    const starts = leases.map(({ startMs }) => startMs).sort((a, b) => a - b)
    for (const [index, start] of starts.slice(1).entries())
      expect(start - (starts[index] as number)).toBeGreaterThan(39.99)
    expect(Math.max(...leases.map(({ leased }) => leased))).toBe(80)
    expect(leases.every(({ startMs, nowMs }) => startMs >= nowMs)).toBe(true)
  })

  test('tells whether another process reserved before', async () => {
    expect(await store.lease(request)).toMatchObject({
      count: 4,
      shared: false,
      spacingMs: 10,
      leased: 4,
      version: 0,
    })
    expect(await store.lease(request)).toMatchObject({ shared: false })
    expect(await store.lease({ ...request, holder: 'two' })).toMatchObject({ shared: true })
  })

  test('asking for nothing reserves nothing', async () => {
    await store.lease(request)
    expect(await store.lease({ ...request, count: 0 })).toMatchObject({ count: 0, leased: 4 })
    expect(await store.lease({ ...request, count: 1 })).toMatchObject({ leased: 5 })
  })

  test('no slot lies within a pause, and a pause is never shortened', async () => {
    await store.pause('platform', 60_000, 'HTTP 429')
    await store.pause('platform', 10, 'HTTP 429')
    const { startMs, nowMs, pausedUntilMs } = await store.lease(request)
    expect(startMs - nowMs).toBeGreaterThan(50_000)
    expect(startMs).toBe(pausedUntilMs)
  })

  test('slots and pauses go back with a clock that is put back', async () => {
    const budgeted = { ...request, count: 1, budget: { gate: 'operation:employee/get', spacingMs: 500 } }
    await store.lease(budgeted)
    await store.pause('platform', 1000, 'HTTP 429')
    await store.lease(request)
    await deployment.putClockBack(3_600_000)
    const { startMs, nowMs, pausedUntilMs } = await store.lease(budgeted)
    expect(startMs - nowMs).toBeLessThan(2000)
    expect((pausedUntilMs as number) - nowMs).toBeLessThan(1001)
    expect((await store.lease(request)).startMs).toBeCloseTo(startMs + 10, 1)
  })

  test('a pause is told to every process, and one that comes later learns of it', async () => {
    const told: string[] = []
    const { promise: early, resolve: hearEarly } = Promise.withResolvers<void>()
    const { promise: late, resolve: hearLate } = Promise.withResolvers<void>()
    // The first pause may be read on connecting, the second is pushed.
    await open().pause('platform', 30_000, 'HTTP 503')
    store.watch((gate, ms) => {
      told.push(gate)
      if (ms === 40_000) hearEarly()
      else open().pause('platform', 40_000, 'HTTP 429')
    })
    await early
    open().watch((gate, ms) => {
      if (gate === 'platform' && ms > 30_000) hearLate()
    })
    await late
    expect(new Set(told)).toEqual(new Set(['platform']))
  })

  test('a budget has its own spacing within the gate, and costs no slot while it has none', async () => {
    const budgeted = { ...request, count: 1, budget: { gate: 'operation:employee/get', spacingMs: 500 } }
    const first = await store.lease(budgeted)
    expect(first.count).toBe(1)
    const second = await store.lease(budgeted)
    expect(second).toMatchObject({ count: 0, leased: 1 })
    expect(second.startMs - first.startMs).toBeCloseTo(500, 1)
    const third = await store.lease({ ...request, count: 60 })
    expect(third).toMatchObject({ count: 60, leased: 61 })
    const fourth = await store.lease(budgeted)
    expect(fourth).toMatchObject({ count: 1, leased: 62 })
    expect(fourth.startMs - third.startMs).toBeCloseTo(600, 1)
  })

  describe('what is learnt', () => {
    test('spaces the slots, and nothing is reserved before', async () => {
      const unknown = { ...request, spacingMs: null }
      expect(await store.lease(unknown)).toMatchObject({ count: 0, spacingMs: 0, learnt: null, version: 0 })
      expect(await store.learn('platform', 0, learnt)).toBe(true)
      expect(await store.lease(unknown)).toMatchObject({ count: 4, spacingMs: 20, learnt, version: 1 })
    })

    test('is replaced by one of those who saw the same version', async () => {
      await store.learn('platform', 0, learnt)
      const results = await Promise.all(
        [open(), open(), store].map(process =>
          process.learn('platform', 1, { ...learnt, ratePerSecond: 40 }),
        ),
      )
      expect(results.sort()).toEqual([false, false, true])
      expect(await store.learn('platform', 0, learnt)).toBe(false)
      const lease = await store.lease({ ...request, spacingMs: null })
      expect(lease).toMatchObject({ spacingMs: 25, version: 2 })
    })

    test('under the name of a set rate spaces slots wider than that, never closer, and is nothing to another rate', async () => {
      const [set, other] = [
        { ...request, learntAs: 'platform@100' },
        { ...request, learntAs: 'platform@200' },
      ]
      expect(await store.lease(set)).toMatchObject({ count: 4, spacingMs: 10, learnt: null, version: 0 })
      expect(await store.learn('platform@100', 0, learnt)).toBe(true)
      expect(await store.lease(set)).toMatchObject({ count: 4, spacingMs: 20, learnt, version: 1 })
      expect(await store.lease(other)).toMatchObject({ spacingMs: 10, learnt: null, version: 0 })
      expect(await store.lease({ ...request, spacingMs: null })).toMatchObject({ spacingMs: 0, learnt: null })
      expect(await store.learn('platform@100', 1, { ...learnt, ratePerSecond: 100_000 })).toBe(true)
      expect(await store.lease(set)).toMatchObject({ spacingMs: 10, version: 2 })
      await deployment.wipe()
      expect(await open().lease(set)).toMatchObject({ learnt: { ratePerSecond: 100_000 } })
    })

    test('outlives the slots, whose count goes on where it was', async () => {
      await store.learn('platform', 0, learnt)
      await deployment.wipe()
      const lease = await open().lease({ ...request, spacingMs: null })
      expect(lease).toMatchObject({ learnt, spacingMs: 20, leased: 11 })
    })
  })
})
