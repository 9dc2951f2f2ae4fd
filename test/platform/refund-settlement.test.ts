import { describe, expect, test } from 'vitest'
import {
  cents,
  type RefundedRecord,
  refundedAmount,
  settleByOrderRecord,
  settleByPaymentOrders,
} from '../../src/platform/refund-settlement.ts'

const SENT_AT = new Date('2026-03-01T00:00:00Z')
const MINUTE = 60_000

const DAY = 24 * 60

/** What is said about a refund of 5.00 sent so many minutes ago; its payment order shows what was refunded before. */
function settled(
  refundedBefore: string | null,
  refundedNow: string | null,
  minutes = 1,
  more: {
    refundAmount?: string
    paymentOrders?: RefundedRecord[]
    notCarriedOutAfterMs?: number
    platformCode?: number
    paid?: string | null
  } = {},
) {
  const { paymentOrders = [{ status: 3, refund_amount: refundedBefore }], ...others } = more
  const { paid = `${9 * paymentOrders.length}.00` } = more
  const settled = settleByOrderRecord({
    refundAmount: '5.00',
    refundedBefore,
    refundedNow,
    sentAt: SENT_AT,
    now: new Date(SENT_AT.getTime() + minutes * MINUTE),
    notCarriedOutAfterMs: DAY * MINUTE,
    ...others,
  })
  return (
    settled ??
    settleByPaymentOrders(
      paymentOrders.map(order => ({ pay_amount: '9.00', ...order })),
      { refundedBefore, paid },
    )
  )
}
const verdict = (...args: Parameters<typeof settled>) => settled(...args).verdict

describe('a refund whose answer was lost', () => {
  test.each([
    ['0', '5.00'],
    ['0.00', '5'],
    ['7.10', '12.1'],
    ['99999994.99', '99999999.99'],
  ])('was carried out when the record went from %s to %s', (before, now) => {
    expect(verdict(before, now)).toBe('carried_out')
    expect(verdict(before, now, 2 * DAY)).toBe('carried_out')
  })

  test('was not carried out when the record is the same a day later, and not a moment before', () => {
    expect(verdict('1.00', '1')).toBe('unknown')
    expect(verdict('1.00', '1', DAY)).toBe('unknown')
    expect(verdict('1.00', '1', DAY + 0.01)).toBe('not_carried_out')
  })

  test('stays unknown where neither what was paid nor what was refunded is known, however alike that looks', () => {
    const order = { status: 3, pay_amount: null, refund_amount: '1.00' }
    const known = { refundedBefore: '1.00', paid: '9.00' }
    expect(settleByPaymentOrders([{ ...order, pay_amount: '9.00' }], known).verdict).toBe('not_carried_out')
    expect(settleByPaymentOrders([order], { ...known, paid: null }).verdict).toBe('unknown')
    const silent = { status: 4, pay_amount: '9.00', refund_amount: '1.00' }
    expect(settleByPaymentOrders([silent], { ...known, refundedBefore: null }).verdict).toBe('unknown')
  })

  test('is never taken for not carried out while it may still arrive, whatever was set', () => {
    const soon = { notCarriedOutAfterMs: 0 }
    // Its timestamp may have been 5 minutes ahead, and is accepted for 5 more; it was sent within half a minute.
    expect(verdict('1.00', '1', 11, soon)).toBe('unknown')
    expect(verdict('1.00', '1', 11.01, soon)).toBe('not_carried_out')
  })

  test.each([
    ['completed', [{ status: 3, refund_amount: '1.00' }]],
    ['refunded, by what was refunded before', [{ status: 6, refund_amount: '1.00' }]],
    ['two, of which one was refunded before', [{ status: 3 }, { status: 6, refund_amount: '1' }]],
  ])('was not carried out when the payment order says so too: %s', (_, paymentOrders) => {
    expect(verdict('1.00', '1.00', DAY + 1, { paymentOrders })).toBe('not_carried_out')
  })

  test.each([
    ['pending refund', [{ status: 4, refund_amount: '1.00' }]],
    ['refunding', [{ status: 5, refund_amount: '1.00' }]],
    ['reversed', [{ status: 7, refund_amount: '1.00' }]],
    ['no status', [{ status: null, refund_amount: '1.00' }]],
    ['more refunded than the record shows', [{ status: 3, refund_amount: '6.00' }]],
    ['less refunded than the record shows', [{ status: 3 }]],
    ['refunded, and it does not say how much', [{ status: 6 }]],
    ['one of two is refunding', [{ status: 3, refund_amount: '1.00' }, { status: 5 }]],
    ['the first of two is refunding', [{ status: 5 }, { status: 3, refund_amount: '1.00' }]],
  ])('is for a person when the payment order does not say so: %s', (_, paymentOrders) => {
    expect(settled('1.00', '1.00', DAY + 1, { paymentOrders })).toEqual({
      verdict: 'unknown',
      forPerson: true,
    })
  })

  test.each<[string, { paid?: string | null; paymentOrders?: RefundedRecord[] }]>([
    ['another one has to be there', { paid: '12.00' }],
    ['the record does not say what was paid', { paid: null }],
    ['one does not say what was paid', { paymentOrders: [{ status: 3, pay_amount: null }] }],
  ])('is for a person when the payment orders are not all of the order: %s', (_, more) => {
    expect(settled('0', '0', DAY + 1, more)).toEqual({ verdict: 'unknown', forPerson: true })
  })

  test('is for a person when no payment order is known: it may be pending, however old it is', () => {
    for (const days of [1.1, 3, 30])
      expect(settled('0', '0', days * DAY, { paymentOrders: [] })).toEqual({
        verdict: 'unknown',
        forPerson: true,
      })
    expect(settled('0', '5.00', 3 * DAY, { paymentOrders: [] })).toMatchObject({ verdict: 'carried_out' })
    expect(settled('0', '0', DAY, { paymentOrders: [] })).toMatchObject({ forPerson: false })
  })

  test('is for a person when it was answered with a code: its number may have been carried out before', () => {
    expect(settled('5.00', '5.00', DAY, { platformCode: 1000229001 })).toMatchObject({ forPerson: false })
    expect(settled('5.00', '5.00', DAY + 1, { platformCode: 1000229001 })).toEqual({
      verdict: 'unknown',
      forPerson: true,
    })
    expect(verdict('5.00', '10.00', DAY + 1, { platformCode: 1000229001 })).toBe('carried_out')
  })

  test('is for a person as soon as waiting will not tell', () => {
    expect(settled('0', '0')).toMatchObject({ forPerson: false })
    expect(settled('0', null)).toMatchObject({ forPerson: false })
    expect(settled('0', null, DAY + 1)).toMatchObject({ forPerson: true })
    expect(settled('0', '5.00')).toEqual({ verdict: 'carried_out', forPerson: false })
    expect(settled('0', '0', DAY + 1)).toEqual({ verdict: 'not_carried_out', forPerson: false })
    expect(settled('0', '0', DAY + 1, { refundAmount: 'x' })).toEqual({ verdict: 'unknown', forPerson: true })
    expect(settled('0', '3.00')).toMatchObject({ forPerson: true })
    expect(settled(null, '5.00')).toMatchObject({ forPerson: true })
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
    expect(verdict(before, now, 2 * DAY)).toBe('unknown')
  })

  test('of nothing is never carried out: it would be seen in any record', () => {
    expect(verdict('1.00', '1.00', 1, { refundAmount: '0' })).toBe('unknown')
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
