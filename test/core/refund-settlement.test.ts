import { describe, expect, test } from 'vitest'
import { cents, refundedAmount, settleRefund } from '../../src/core/refund-settlement.ts'

const SENT_AT = new Date('2026-03-01T00:00:00Z')
const MINUTE = 60_000

/** The verdict about a refund of 5.00 sent so many minutes ago. */
function verdict(
  refundedBefore: string | null,
  refundedNow: string | null,
  minutes = 1,
  refundAmount = '5.00',
) {
  const now = new Date(SENT_AT.getTime() + minutes * MINUTE)
  return settleRefund({ refundAmount, refundedBefore, refundedNow, sentAt: SENT_AT, now })
}

describe('a refund whose answer was lost', () => {
  test.each([
    ['0', '5.00'],
    ['0.00', '5'],
    ['7.10', '12.1'],
    ['99999994.99', '99999999.99'],
  ])('was carried out when the record went from %s to %s', (before, now) => {
    expect(verdict(before, now)).toBe('carried_out')
    expect(verdict(before, now, 60)).toBe('carried_out')
  })

  test('was not carried out when the record is the same after it could have arrived, and not a moment before', () => {
    expect(verdict('1.00', '1')).toBe('unknown')
    // Its timestamp may have been 5 minutes ahead, and is accepted for 5 more; it was sent within half a minute.
    expect(verdict('1.00', '1', 10.5)).toBe('unknown')
    expect(verdict('1.00', '1', 11)).toBe('unknown')
    expect(verdict('1.00', '1', 11.01)).toBe('not_carried_out')
  })

  test.each([
    ['0', '3.00', 'less than was asked'],
    ['0', '8.00', 'more than was asked'],
    ['5.00', '0', 'less than before'],
    [null, '5.00', 'before: nothing known'],
    ['0', null, 'now: nothing known'],
    ['0', '5.001', 'no amount of money'],
    ['0', '-5.00', 'no amount of money'],
    ['x', '5.00', 'no number'],
  ])('stays unknown, however old, when the record went from %s to %s: %s', (before, now, _why) => {
    expect(verdict(before, now)).toBe('unknown')
    expect(verdict(before, now, 600)).toBe('unknown')
  })

  test('of nothing is never carried out: it would be seen in any record', () => {
    expect(verdict('1.00', '1.00', 1, '0')).toBe('unknown')
  })
})

describe('the order record', () => {
  test.each([
    [{ refund_amount: '3.50', status: 2 }, '3.50'],
    [{ refund_amount: null, status: 1 }, '0'],
    [{ refund_amount: null, status: 2 }, null],
    [{ refund_amount: null, status: null }, null],
    [{}, null],
    ['2026030112345678', null],
  ])('%j says %j', (record, expected) => {
    expect(refundedAmount(record)).toBe(expected)
  })
})

test('hundredths are exact where binary floating point is not', () => {
  expect(cents('0.1')).toBe(10n)
  expect(cents('90071992547409.93')).toBe(9007199254740993n)
  expect(cents('12.3000')).toBe(1230n)
  for (const wrong of ['', '1.', '.5', '1e2', '+1', ' 1', '1,00', 'NaN', null])
    expect(cents(wrong), String(wrong)).toBeNull()
})
