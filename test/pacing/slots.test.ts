import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { PostgresSlots } from '../../src/pacing/postgres-slots.ts'
import { type LeaseRequest, MemorySlots, type Slots } from '../../src/pacing/slots.ts'
import { duringFile } from '../helpers/during.ts'
import { createTestDatabase } from '../helpers/postgres.ts'

const request: LeaseRequest = { count: 4, spacingMs: 10, learntAs: 'platform' }
const budgeted = { ...request, count: 1, budget: { operation: 'employee/get', spacingMs: 500 } }
const learnt = {
  ratePerSecond: 50,
  ceiling: 60,
  loweredAtMs: 1_000_000,
  changedAtMs: 2_000_000,
  leasedAtChange: 7,
}

const database = duringFile(() => createTestDatabase({ migrated: true }))
let opened: PostgresSlots[]
beforeEach(async () => {
  await database.pool.query('truncate dirsync.pacer, dirsync.learnt_rate')
  opened = []
})
afterEach(() => Promise.all(opened.map(slots => slots.close())))

/** What one process has: those of PostgreSQL are shared with the others. */
function ofOneProcess(): PostgresSlots {
  const slots = new PostgresSlots({ url: database.url })
  opened.push(slots)
  return slots
}

describe.each<{ kept: string; open: () => Slots }>([
  { kept: 'in PostgreSQL', open: ofOneProcess },
  { kept: 'in memory', open: () => new MemorySlots() },
])('slots $kept', ({ open }) => {
  let slots: Slots
  beforeEach(() => {
    slots = open()
  })

  test('do not overlap, are evenly spaced, and none is in the past', async () => {
    const leases = await Promise.all(Array.from({ length: 20 }, () => slots.lease(request)))
    const starts = leases.map(({ startMs }) => startMs).sort((a, b) => a - b)
    for (const [index, start] of starts.slice(1).entries())
      expect(start - (starts[index] as number)).toBeGreaterThan(39.99)
    expect(Math.max(...leases.map(({ leased }) => leased))).toBe(80)
    expect(leases.every(({ startMs, nowMs }) => startMs >= nowMs)).toBe(true)
  })

  test('asking for nothing reserves nothing', async () => {
    const first = { count: 4, shared: false, spacingMs: 10, leased: 4, version: 0 }
    expect(await slots.lease(request)).toMatchObject(first)
    expect(await slots.lease({ ...request, count: 0 })).toMatchObject({ count: 0, leased: 4, shared: false })
    expect(await slots.lease({ ...request, count: 1 })).toMatchObject({ leased: 5 })
  })

  test('none lies within a hold-off, which is never shortened', async () => {
    await slots.holdOff(60_000, 'HTTP 429')
    await slots.holdOff(10, 'HTTP 429')
    const { startMs, nowMs, heldUntilMs } = await slots.lease(request)
    expect(startMs - nowMs).toBeGreaterThan(50_000)
    expect(startMs).toBe(heldUntilMs)
  })

  test('a budget has its own spacing within the rate, and costs no slot while it has none', async () => {
    const first = await slots.lease(budgeted)
    expect(first.count).toBe(1)
    const second = await slots.lease(budgeted)
    expect(second).toMatchObject({ count: 0, leased: 1 })
    expect(second.startMs - first.startMs).toBeCloseTo(500, 1)
    const third = await slots.lease({ ...request, count: 60 })
    expect(third).toMatchObject({ count: 60, leased: 61 })
    const fourth = await slots.lease(budgeted)
    expect(fourth).toMatchObject({ count: 1, leased: 62 })
    expect(fourth.startMs - third.startMs).toBeCloseTo(600, 1)
  })

  test('a learnt rate spaces them, and nothing is reserved before', async () => {
    const unknown = { ...request, spacingMs: null }
    expect(await slots.lease(unknown)).toMatchObject({ count: 0, spacingMs: 0, learnt: null, version: 0 })
    expect(await slots.learn('platform', 0, learnt)).toBe(true)
    expect(await slots.lease(unknown)).toMatchObject({ count: 4, spacingMs: 20, learnt, version: 1 })
  })

  test('a learnt rate is replaced by only one of those who saw the same version', async () => {
    await slots.learn('platform', 0, learnt)
    const slower = { ...learnt, ratePerSecond: 40 }
    const results = await Promise.all([1, 2, 3].map(() => slots.learn('platform', 1, slower)))
    expect(results.sort()).toEqual([false, false, true])
    expect(await slots.learn('platform', 0, learnt)).toBe(false)
    const lease = await slots.lease({ ...request, spacingMs: null })
    expect(lease).toMatchObject({ spacingMs: 25, version: 2 })
  })

  test('what is learnt of a set rate spaces them wider than that, never closer, and is nothing to another rate', async () => {
    const set = { ...request, learntAs: 'platform@100' }
    const other = { ...request, learntAs: 'platform@200' }
    expect(await slots.lease(set)).toMatchObject({ count: 4, spacingMs: 10, learnt: null, version: 0 })
    expect(await slots.learn('platform@100', 0, learnt)).toBe(true)
    expect(await slots.lease(set)).toMatchObject({ count: 4, spacingMs: 20, learnt, version: 1 })
    expect(await slots.lease(other)).toMatchObject({ spacingMs: 10, learnt: null, version: 0 })
    expect(await slots.lease({ ...request, spacingMs: null })).toMatchObject({ spacingMs: 0, learnt: null })
    expect(await slots.learn('platform@100', 1, { ...learnt, ratePerSecond: 100_000 })).toBe(true)
    expect(await slots.lease(set)).toMatchObject({ spacingMs: 10, version: 2 })
  })
})

describe('slots that processes share', () => {
  test('do not overlap, and each hears whether another reserved before', async () => {
    const [one, two] = [ofOneProcess(), ofOneProcess()]
    expect(await one.lease(request)).toMatchObject({ shared: false })
    const leases = await Promise.all(
      Array.from({ length: 20 }, (_, index) => (index % 2 ? two : one).lease(request)),
    )
    const starts = leases.map(({ startMs }) => startMs).sort((a, b) => a - b)
    for (const [index, start] of starts.slice(1).entries())
      expect(start - (starts[index] as number)).toBeGreaterThan(39.99)
    expect(await ofOneProcess().lease(request)).toMatchObject({ shared: true, leased: 88 })
  })

  test('a hold-off is told to every process, and one that comes later learns of it', async () => {
    const [one, two] = [ofOneProcess(), ofOneProcess()]
    const { promise: told, resolve: hear } = Promise.withResolvers<number>()
    two.watch(hear)
    await two.lease(request)
    await one.holdOff(40_000, 'HTTP 429')
    expect(await told).toBe(40_000)
    const { heldUntilMs, nowMs } = await ofOneProcess().lease({ ...request, count: 0 })
    expect((heldUntilMs as number) - nowMs).toBeGreaterThan(30_000)
  })

  test('a notification that is no length of time holds nothing off', async () => {
    const [one, two] = [ofOneProcess(), ofOneProcess()]
    const heard: number[] = []
    const { promise: told, resolve } = Promise.withResolvers<void>()
    two.watch(ms => {
      heard.push(ms)
      if (ms === 40_000) resolve()
    })
    await two.lease(request)
    await database.pool.query(
      `select pg_notify('dirsync_pacer', payload)
       from unnest(array['', 'soon', 'NaN', '-1', 'Infinity']) as foreign_ones (payload)`,
    )
    await one.holdOff(40_000, 'HTTP 429')
    await told
    expect(heard.filter(ms => ms !== 0)).toEqual([40_000])
  })

  test('slots and hold-offs go back with a clock that is put back', async () => {
    const slots = ofOneProcess()
    await slots.lease(budgeted)
    await slots.holdOff(1000, 'HTTP 429')
    await slots.lease(request)
    // Every time an hour ahead is the same as the clock an hour back.
    const ahead = ['next_at', 'reserved_at', 'paused_until'].map(
      column => `${column} = ${column} + interval '1 hour'`,
    )
    await database.pool.query(`update dirsync.pacer set ${ahead.join(', ')}`)
    const { startMs, nowMs, heldUntilMs } = await slots.lease(budgeted)
    expect(startMs - nowMs).toBeLessThan(2000)
    expect((heldUntilMs as number) - nowMs).toBeLessThan(1001)
    expect((await slots.lease(request)).startMs).toBeCloseTo(startMs + 10, 1)
  })

  test('what is learnt outlives a crash of the server, and the count of slots goes on where it was', async () => {
    await ofOneProcess().learn('platform', 0, learnt)
    await database.pool.query('truncate dirsync.pacer') // it is unlogged
    const lease = await ofOneProcess().lease({ ...request, spacingMs: null })
    expect(lease).toMatchObject({ learnt, spacingMs: 20, leased: 11 })
  })
})
