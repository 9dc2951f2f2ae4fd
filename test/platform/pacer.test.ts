import { performance } from 'node:perf_hooks'
import { expect, test } from 'vitest'
import { LocalPacer } from '../../src/platform/pacer.ts'

const request = { operation: 'employee/get' }

test('lets no more calls pass than the rate permits, however many wait', async () => {
  const started = performance.now()
  const pacer = new LocalPacer(500)
  const passed: number[] = []
  await Promise.all(
    Array.from({ length: 150 }, async () => {
      await pacer.acquire(request)
      passed.push(performance.now())
    }),
  )
  for (const [index, at] of passed.entries()) {
    expect(index + 1).toBeLessThanOrEqual(((at - started) / 1000) * 500 + 1)
  }
  await pacer.close()
})

test('a pause holds everybody', async () => {
  const pacer = new LocalPacer(1000)
  await pacer.acquire(request)
  await pacer.pause(80, 'asked to')
  const started = performance.now()
  await pacer.acquire(request)
  expect(performance.now() - started).toBeGreaterThan(75)
  await pacer.close()
})

test('a rate that is none is refused', () => {
  for (const rate of [0, -1, Number.NaN, Number.POSITIVE_INFINITY]) {
    expect(() => new LocalPacer(rate)).toThrow(RangeError)
  }
})
