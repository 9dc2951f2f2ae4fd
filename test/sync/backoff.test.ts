import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { healingDelay, probeDelay, retryDelay, slowProbeDelay } from '../../src/sync/outbox/backoff.ts'

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** The middle of the jitter. */
const MIDDLE = 0.5

test.each([
  ['a transient failure', retryDelay, 1, [1, 4, 16, 60, 60].map(s => s * SECOND)],
  ['a halt', probeDelay, 0, [2, 4, 8, 16, 32, 64, 128, 256, 300, 300].map(s => s * SECOND)],
  ['a case that may heal', healingDelay, 1, [1, 2, 4, 8, 16, 24, 24].map(h => h * HOUR)],
])('%s is tried again at growing intervals', (_, delay, first, expected) => {
  expect(expected.map((_, i) => delay(first + i, MIDDLE))).toEqual(expected)
})

test('a permanent failure is probed once a week', () => {
  expect(slowProbeDelay(MIDDLE)).toBe(7 * DAY)
})

describe.each([
  ['retryDelay', retryDelay, MINUTE],
  ['probeDelay', probeDelay, 5 * MINUTE],
  ['healingDelay', healingDelay, DAY],
  ['slowProbeDelay', (_: number, random: number) => slowProbeDelay(random), 7 * DAY],
])('%s', (_, delay, most) => {
  const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
  const times = fc.integer({ min: 1, max: 100_000 })

  test('is a whole number of milliseconds, jittered by 30 % at most, however often it failed', () => {
    fc.assert(
      fc.property(times, random, (n, r) => {
        const middle = delay(n, MIDDLE)
        const milliseconds = delay(n, r)
        expect(Number.isInteger(milliseconds)).toBe(true)
        expect(milliseconds).toBeGreaterThanOrEqual(Math.floor(middle * 0.7))
        expect(milliseconds).toBeLessThanOrEqual(Math.ceil(middle * 1.3))
        expect(middle).toBeLessThanOrEqual(most)
      }),
    )
  })

  test('never shrinks with more failures', () => {
    fc.assert(
      fc.property(times, random, (n, r) => {
        expect(delay(n + 1, r)).toBeGreaterThanOrEqual(delay(n, r))
      }),
    )
  })
})
