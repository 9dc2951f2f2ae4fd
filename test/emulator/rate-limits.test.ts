import { describe, expect, test } from 'vitest'
import { createRateLimit, slidingLog } from '../../emulator/faults.ts'

describe('a sliding log', () => {
  test('passes `limit` calls in any stretch of the window, and tells how long to wait', () => {
    const limit = createRateLimit('sliding-log', 2, 1000)
    expect([0, 400, 500, 999].map(now => limit.take(now))).toEqual([0, 0, 500, 1])
    expect([1000, 1001, 1400, 1401].map(now => limit.take(now))).toEqual([0, 399, 0, 599])
  })

  test('counts a history that it is given', () => {
    const limit = slidingLog(2, 1000, [0, 300, 600])
    expect([700, 1299, 1300, 1599, 1600].map(now => limit.take(now))).toEqual([600, 1, 0, 1, 0])
  })
})

test('a fixed window passes `limit` calls, and as many again when the next window begins', () => {
  const limit = createRateLimit('fixed-window', 2, 1000)
  expect([900, 990, 999, 1000, 1001, 1002].map(now => limit.take(now))).toEqual([0, 0, 1, 0, 0, 998])
})

test('a token bucket passes a burst, then one call each time a token has flowed in', () => {
  const limit = createRateLimit('token-bucket', 2, 1000)
  expect([0, 0, 0, 499, 500, 500].map(now => limit.take(now))).toEqual([0, 0, 500, 1, 0, 500])
  expect([10_000, 10_000, 10_000].map(now => limit.take(now))).toEqual([0, 0, 500])
})
