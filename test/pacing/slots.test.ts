import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { PostgresSlots } from '../../src/pacing/postgres-slots.ts'
import { duringFile } from '../helpers/during.ts'
import { createTestDatabase } from '../helpers/postgres.ts'
import { budgeted, describeSlots, learnt, request } from './slots-contract.ts'

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

describeSlots('in PostgreSQL', ofOneProcess)

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
