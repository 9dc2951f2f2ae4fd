import { expect, test } from 'vitest'
import { MemorySlots } from '../../src/pacing/slots.ts'
import { budgeted, describeSlots, learnt, request } from './slots-contract.ts'

describeSlots('in memory', () => new MemorySlots())

test('a hold-off begins when it is asked for, and ends', async () => {
  const slots = new MemorySlots()
  await slots.holdOff(0)
  const { startMs, nowMs, heldUntilMs } = await slots.lease(request)
  expect(heldUntilMs).toBeLessThanOrEqual(nowMs)
  expect(startMs).toBe(nowMs)
})

test('a slot for a budget is free for both: after the slots of others, and for its operation', async () => {
  const slots = new MemorySlots()
  const others = await slots.lease({ ...request, count: 200 })
  const first = await slots.lease(budgeted)
  expect(first).toMatchObject({ count: 1, leased: 201 })
  expect(first.startMs).toBeCloseTo(others.startMs + 2000, 6)
  const near = await slots.lease({ ...budgeted, budget: { operation: 'employee/update', spacingMs: 500 } })
  expect(near.startMs).toBeCloseTo(first.startMs + 10, 6)
})

test('a budget that has a slot within ten milliseconds is served: no caller comes in between', async () => {
  const slots = new MemorySlots()
  const budget = { operation: 'employee/get', spacingMs: 18 }
  const first = await slots.lease({ ...request, count: 1, budget })
  const second = await slots.lease({ ...request, count: 1, budget })
  expect(second.count).toBe(1)
  expect(second.startMs - first.startMs).toBeCloseTo(18, 6)
})

test('two names are learnt apart', async () => {
  const slots = new MemorySlots()
  await slots.learn('platform', 0, learnt)
  expect(await slots.lease({ ...request, learntAs: 'other' })).toMatchObject({ learnt: null, spacingMs: 10 })
})
