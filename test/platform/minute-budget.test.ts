import { performance } from 'node:perf_hooks'
import { expect, test } from 'vitest'
import { MinuteBudget } from '../../src/platform/minute-budget.ts'

const MINUTE = 100

test('whichever minute one looks at has no more calls than permitted, and the waiting go in their order', async () => {
  const budget = new MinuteBudget(3, MINUTE)
  const starts: number[] = []
  const order: number[] = []
  await Promise.all(
    Array.from({ length: 10 }, (_, index) =>
      budget.spend(async () => {
        starts.push(performance.now())
        order.push(index)
      }, undefined),
    ),
  )
  expect(order).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
  // A timer may fire up to a millisecond early.
  for (let i = 3; i < starts.length; i += 1) {
    expect((starts[i] ?? 0) - (starts[i - 3] ?? 0)).toBeGreaterThanOrEqual(MINUTE - 2)
  }
})

test('the minute counts from the end of a call', async () => {
  const budget = new MinuteBudget(1, MINUTE)
  const slow = Promise.withResolvers<void>()
  let ended = 0
  const first = budget.spend(() => slow.promise, undefined)
  const second = budget.spend(async () => performance.now() - ended, undefined)
  setTimeout(() => {
    ended = performance.now()
    slow.resolve()
  }, 50)
  await first
  expect(await second).toBeGreaterThanOrEqual(MINUTE - 2)
})

test('a call that fails spends its place, and one that is given up while it waits does not', async () => {
  const budget = new MinuteBudget(1, MINUTE)
  await expect(budget.spend(() => Promise.reject(new Error('refused')), undefined)).rejects.toThrow('refused')
  const abort = new AbortController()
  const given = budget.spend(async () => 'never', abort.signal)
  const waiting = budget.spend(async () => 'next', undefined)
  abort.abort(new Error('given up'))
  await expect(given).rejects.toThrow('given up')
  expect(await waiting).toBe('next')
})
