import { beforeEach, describe, expect, test } from 'vitest'
import type { LeaseRequest, Slots } from '../../src/pacing/slots.ts'

export const request: LeaseRequest = { count: 4, spacingMs: 10, learntAs: 'platform' }
export const budgeted = { ...request, count: 1, budget: { operation: 'employee/get', spacingMs: 500 } }
export const learnt = {
  ratePerSecond: 50,
  ceiling: 60,
  loweredAtMs: 1_000_000,
  changedAtMs: 2_000_000,
  leasedAtChange: 7,
}

/** What holds of slots wherever they are kept. */
export function describeSlots(kept: string, open: () => Slots): void {
  describe(`slots ${kept}`, () => {
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
      expect(await slots.lease({ ...request, count: 0 })).toMatchObject({
        count: 0,
        leased: 4,
        shared: false,
      })
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
}
