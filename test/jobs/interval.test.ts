import { expect, onTestFinished, test, vi } from 'vitest'
import { longestInterval } from '../../jobs/interval.ts'

const MINUTE = 60
const HOUR = 3600
const DAY = 86_400

test.each([
  ['*/3 * * * * *', 3],
  ['* * * * * *', 1],
  ['*/5 * * * *', 5 * MINUTE],
  ['*/7 * * * *', 7 * MINUTE],
  ['30 4,16 * * *', 12 * HOUR],
  ['0 2 * * *', DAY],
  // The night, and the weekend with it.
  ['*/5 8-18 * * *', 13 * HOUR + 5 * MINUTE],
  ['0 2 * * 1-5', 3 * DAY],
  ['*/10 9-17 * * MON-FRI', 2 * DAY + 15 * HOUR + 10 * MINUTE],
  ['0 2 1 * *', 31 * DAY],
  ['0 2 L * *', 31 * DAY],
  ['0 2 29 2 *', 367 * DAY],
])('the longest time between two ticks of %s is %d s', (expression, seconds) => {
  for (const now of ['2026-11-22T08:00', '2026-03-01T00:00', '2027-12-31T23:59'])
    expect(longestInterval(expression, new Date(now)), now).toBe(seconds)
})

test.each([
  ['Europe/Berlin', '0 2 * * *', DAY],
  ['America/Santiago', '0 */2 * * *', 2 * HOUR],
])('a night in which the clocks of %s change counts as any other, for %s', (zone, expression, seconds) => {
  vi.stubEnv('TZ', zone)
  onTestFinished(() => void vi.unstubAllEnvs())
  expect(longestInterval(expression, new Date('2026-11-22T08:00Z'))).toBe(seconds)
})
