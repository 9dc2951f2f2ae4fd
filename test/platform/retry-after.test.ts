import { expect, test } from 'vitest'
import { retryAfterMs } from '../../src/platform/exchange.ts'

const NOW = Date.parse('2026-03-01T12:00:00Z')

test('seconds', () => {
  expect(retryAfterMs('7', undefined, NOW)).toBe(7000)
  expect(retryAfterMs('0', undefined, NOW)).toBe(0)
  expect(retryAfterMs(' 7 ', undefined, NOW)).toBe(7000)
  expect(retryAfterMs('1.5', undefined, NOW)).toBe(1500)
  expect(retryAfterMs('120.0', undefined, NOW)).toBe(120_000)
})

test("a date is compared with the answer's own clock, else with ours", () => {
  const until = 'Sun, 01 Mar 2026 12:00:30 GMT'
  expect(retryAfterMs(until, 'Sun, 01 Mar 2026 12:00:10 GMT', NOW)).toBe(20_000)
  expect(retryAfterMs(until, undefined, NOW)).toBe(30_000)
  expect(retryAfterMs('Sun, 01 Mar 2026 12:00:30 +0000', undefined, NOW)).toBe(30_000)
  expect(retryAfterMs('2026-03-01T12:00:30Z', 'yesterday', NOW)).toBe(30_000)
  expect(retryAfterMs(until, 'Sun, 01 Mar 2026 12:01:00 GMT', NOW)).toBe(0)
})

test('more than an hour is cut to an hour', () => {
  expect(retryAfterMs('999999', undefined, NOW)).toBe(3_600_000)
})

test('nothing that can be read', () => {
  expect(retryAfterMs(undefined, undefined, NOW)).toBeUndefined()
  for (const text of ['soon', '-1', '5, 5', '10;', '1 May'])
    expect(retryAfterMs(text, undefined, NOW)).toBeUndefined()
})
