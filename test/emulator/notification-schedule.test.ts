import { expect, test } from 'vitest'
import type { Attempt, Notification } from '../../emulator/notifications.ts'
import { afterAttempt, isOver } from '../../emulator/notifications.ts'

const HOUR_MS = 3_600_000
const FIRST = 1_000_000

const fresh: Notification = {
  outer_refund_no: 'r',
  outer_trade_no: 'o',
  refund_amount: 1n,
  trade_no: 't',
  url: 'http://merchant/',
  state: 'pending',
  first_at: FIRST,
  next_at: FIRST,
  attempts: [],
}
const attempt = (more: Partial<Attempt>): Attempt => ({
  at: '',
  httpStatus: null,
  answer: null,
  error: null,
  ...more,
})

test('the waits grow, and the last attempt is within 24 hours of the first', () => {
  const waits: number[] = []
  let notification = fresh
  while (notification.state === 'pending') {
    const at = notification.next_at
    notification = afterAttempt(notification, attempt({ error: 'ECONNREFUSED' }), at)
    if (notification.state === 'pending') waits.push(notification.next_at - at)
  }
  expect(waits).toEqual(waits.toSorted((a, b) => a - b))
  expect(new Set(waits).size).toBe(waits.length)
  expect(waits[0]).toBe(15_000)
  const total = waits.reduce((sum, wait) => sum + wait, 0)
  expect(total).toBeGreaterThan(20 * HOUR_MS)
  expect(total).toBeLessThanOrEqual(24 * HOUR_MS)
  expect(notification).toMatchObject({ state: 'given up', attempts: { length: waits.length + 1 } })
})

test.each([
  [{ httpStatus: 200, answer: 'success' }, 'delivered'],
  [{ httpStatus: 200, answer: 'success\n' }, 'pending'],
  [{ httpStatus: 200, answer: ' success' }, 'pending'],
  [{ httpStatus: 200, answer: 'Success' }, 'pending'],
  [{ httpStatus: 200, answer: '' }, 'pending'],
  [{ httpStatus: 200, answer: 'fail' }, 'pending'],
  [{ httpStatus: 500, answer: 'success' }, 'pending'],
  [{ error: 'TimeoutError' }, 'pending'],
])('after %j it is %s', (outcome, state) => {
  expect(afterAttempt(fresh, attempt(outcome), FIRST).state).toBe(state)
})

test('it is over 24 hours after the first attempt, not before', () => {
  expect(isOver(fresh, FIRST + 24 * HOUR_MS)).toBe(false)
  expect(isOver(fresh, FIRST + 24 * HOUR_MS + 1)).toBe(true)
  expect(isOver({ ...fresh, first_at: null }, FIRST + 48 * HOUR_MS)).toBe(false)
})
