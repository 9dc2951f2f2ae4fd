import { performance } from 'node:perf_hooks'
import { afterEach, expect, test, vi } from 'vitest'
import { InFlightLimiter } from '../../src/pacing/concurrency.ts'

afterEach(() => void vi.restoreAllMocks())

test('slow first calls after an idle night are not taken for a platform that does almost nothing', () => {
  let now = performance.now()
  vi.spyOn(performance, 'now').mockImplementation(() => now)
  const limiter = new InFlightLimiter()
  const calls = (count: number, durationMs: number) => {
    for (let i = 0; i < count; i++) {
      now += durationMs / 10 // ten at a time
      limiter.observe({ operation: 'employee/get', sentAt: now, durationMs, tooFast: false, brokeOff: false })
    }
  }
  calls(200, 50)
  now += 8 * 3_600_000
  calls(10, 300)
  expect(limiter.most(20)).toBeGreaterThanOrEqual(3)
})
