import { beforeEach, describe, expect, test } from 'vitest'
import { duringFile } from '../helpers/during.ts'
import { PlatformUnderTest } from './platform-under-test.ts'

const TRADE_NO = 'T000000000000001'
const platform = duringFile(() => PlatformUnderTest.start({ appId: MERCHANT }))

// Short enough for the ten to thirty characters of an external trade number (4.11).
const MERCHANT = 'merchant01'
const OUTER = `${MERCHANT}-order-1`

beforeEach(async () => {
  await platform.reset()
  await platform.control('POST', 'orders', [
    { trade_no: TRADE_NO, out_trade_no: OUTER, total_amount: '100.00', reason: 'Lunch' },
  ])
})

const refund = (number: string | number, refundAmount: unknown, more: object = {}) =>
  platform.callJson('seller/v3/pay/syncRefund', {
    outerTradeNo: OUTER,
    outerRefundNo: `${MERCHANT}-refund-${number}`,
    reason: 'Returned',
    refundAmount,
    ...more,
  })
const record = (outer_trade_no = OUTER) => platform.call('seller/pay/record', { outer_trade_no })
const view = async () => (await platform.call('enterprise/consume/get', { trade_no: TRADE_NO })).data

describe('a refund', () => {
  test('in parts goes to what was paid, and never beyond', async () => {
    expect(await refund(1, '33.34')).toMatchObject({ code: 0, data: TRADE_NO })
    expect((await refund(2, '66.67')).code).toBe(1000229002)
    expect((await refund(2, 33.33)).code).toBe(0)
    expect((await refund(3, '33.34')).code).toBe(1000229002)
    expect((await refund(3, '33.33')).code).toBe(0)
    expect((await refund(4, '0.01')).code).toBe(1000229002)
    expect(await view()).toMatchObject({ refund_amount: 100, status: 6 })
    expect((await platform.control('GET', 'state')).refunds).toEqual(
      ['33.34', '33.33', '33.33'].map((refund_amount, index) => ({
        outer_refund_no: `${MERCHANT}-refund-${index + 1}`,
        outer_trade_no: OUTER,
        refund_amount,
        reason: 'Returned',
        refund_time: expect.stringMatching(/^\d{4}-/),
      })),
    )
  })

  test('changes both views of the order at once', async () => {
    expect((await record()).data).toEqual({
      outer_trade_no: OUTER,
      reason: 'Lunch',
      pay_amount: 100,
      refund_amount: 0,
      status: 1,
      refund_time: null,
      pay_time: (await view()).pay_time,
    })
    await refund(1, '0.10')
    const partly = await record()
    expect(partly.data).toMatchObject({ refund_amount: 0.1, status: 2 })
    expect(partly.text).toContain('"pay_amount":100.00,"refund_amount":0.10')
    expect(await view()).toMatchObject({
      refund_amount: 0.1,
      status: 3,
      refund_time: partly.data.refund_time,
      pay_amount: 100,
    })
    await platform.moveClock(60)
    await refund(2, '99.90')
    const fully = (await record()).data
    expect(fully).toMatchObject({ refund_amount: 100, status: 2 })
    expect(fully.refund_time > partly.data.refund_time).toBe(true)
    expect(await view()).toMatchObject({ refund_amount: 100, status: 6, refund_time: fully.refund_time })
  })

  test('of a number that was used is refused, whatever else it asks', async () => {
    await refund(1, '10.00')
    expect((await refund(1, '10.00')).code).toBe(1000229001)
    expect((await refund(1, '5.00', { reason: 'Other', outerTradeNo: `${MERCHANT}-none` })).code).toBe(
      1000229001,
    )
    expect((await view()).refund_amount).toBe(10)
  })

  test('that was refused leaves its number free', async () => {
    expect((await refund(1, '100.01')).code).toBe(1000229002)
    expect((await refund(1, '100.00')).code).toBe(0)
  })

  test('of many at a time stops at what was paid', async () => {
    const answers = await Promise.all(Array.from({ length: 30 }, (_, index) => refund(index, '7.00')))
    expect(answers.filter(({ code }) => code === 0)).toHaveLength(14)
    expect(answers.filter(({ code }) => code === 1000229002)).toHaveLength(16)
    expect((await view()).refund_amount).toBe(98)
  })

  test.each([1, 2, 7])('of an order with status %i is refused', async status => {
    await platform.control('POST', 'orders', [
      { trade_no: TRADE_NO, out_trade_no: OUTER, total_amount: '100.00', status },
    ])
    expect((await refund(1, '1.00')).code).toBe(1000220064)
    expect((await record()).code).toBe(1000220064)
  })

  test.each([4, 5])('of an order with status %i counts what was refunded before', async status => {
    const part = { refund_amount: '99.00', status }
    await platform.control('POST', 'orders', [
      { trade_no: TRADE_NO, out_trade_no: OUTER, total_amount: '100.00', ...part },
    ])
    expect((await refund(1, '1.01')).code).toBe(1000229002)
    expect((await refund(1, '1.00')).code).toBe(0)
    expect((await view()).status).toBe(6)
  })

  test('of an order of another enterprise is refused when one is named', async () => {
    await platform.control('POST', 'orders', [
      { trade_no: TRADE_NO, out_trade_no: OUTER, total_amount: '100.00', enterprise_code: 'E1' },
    ])
    await platform.control('POST', 'enterprises', [{ enterprise_code: 'E2' }])
    const body = { outerTradeNo: OUTER, outerRefundNo: `${MERCHANT}-1`, reason: 'x', refundAmount: '1' }
    const of = (enterprise_code: string) =>
      platform.callJson('seller/v3/pay/syncRefund', body, { enterprise_code })
    expect((await of('E2')).code).toBe(1000220064)
    expect((await of('E3')).code).toBe(1000240002)
    expect((await of('E1')).code).toBe(0)
  })
})

describe('the order record', () => {
  test('of an unknown order is 1000220064', async () => {
    expect((await record(`${MERCHANT}-none`)).code).toBe(1000220064)
  })

  test.each(['', 'merchant0', `${MERCHANT}${'x'.repeat(21)}`, 'somebodys-order-1'])(
    'refuses the number %j',
    async number => {
      expect(await record(number)).toMatchObject({
        code: 1000220002,
        msg: expect.stringContaining('outer_trade_no'),
      })
    },
  )

  test('of an order of another enterprise is refused when one is named', async () => {
    await platform.control('POST', 'orders', [
      { trade_no: TRADE_NO, out_trade_no: OUTER, total_amount: '100.00', enterprise_code: 'E1' },
    ])
    await platform.control('POST', 'enterprises', [{ enterprise_code: 'E2' }])
    const of = (enterprise_code: string) =>
      platform.call('seller/pay/record', { outer_trade_no: OUTER, enterprise_code })
    expect((await of('E2')).code).toBe(1000220064)
    expect((await of('E3')).code).toBe(1000240002)
    expect((await of('E1')).data).toMatchObject({ outer_trade_no: OUTER })
    expect((await record()).data).toMatchObject({ outer_trade_no: OUTER })
  })

  test('is the bare trade number in the other shape', async () => {
    await platform.control('POST', 'shapes', { orderRecord: 'trade_no' })
    expect((await record()).data).toBe(TRADE_NO)
    expect((await record(`${MERCHANT}-none`)).code).toBe(1000220064)
  })
})

describe('faults', () => {
  const operation = 'seller/v3/pay/syncRefund'

  test('a lost answer leaves the refund done', async () => {
    const lost = { operation, loseAnswer: true, times: 1, match: { outerRefundNo: `${MERCHANT}-refund-1` } }
    await platform.control('POST', 'faults', lost)
    await expect(refund(1, '10.00')).rejects.toThrow('fetch failed')
    expect((await record()).data).toMatchObject({ refund_amount: 10, status: 2 })
    expect((await refund(1, '10.00')).code).toBe(1000229001)
    expect((await platform.control('GET', 'calls')).calls.at(-3)).toMatchObject({ end: 'answer-lost' })
  })

  test('a reset and a planted code leave it undone', async () => {
    await platform.control('POST', 'faults', [
      { operation, reset: true, times: 1 },
      { operation, httpStatus: 502, times: 1 },
      { operation, code: 1000210004, times: 1 },
    ])
    await expect(refund(1, '10.00')).rejects.toThrow('fetch failed')
    expect((await refund(1, '10.00')).status).toBe(502)
    expect((await refund(1, '10.00')).code).toBe(1000210004)
    expect((await record()).data.refund_amount).toBe(0)
    expect((await refund(1, '10.00')).code).toBe(0)
  })
})
