import { beforeEach, describe, expect, test } from 'vitest'
import { duringFile } from '../helpers/during.ts'
import { APP_ID, PlatformUnderTest, sign } from './platform-under-test.ts'

const OPERATION = 'seller/v3/pay/syncRefund'
const OUTER = `${APP_ID}-order-1`
const platform = duringFile(() => PlatformUnderTest.start())

beforeEach(async () => {
  await platform.reset()
  await platform.control('POST', 'orders', [
    { trade_no: 'T1', out_trade_no: OUTER, total_amount: '99999999.99' },
  ])
})

const BODY = { outerTradeNo: OUTER, outerRefundNo: `${APP_ID}-refund-1`, reason: 'x', refundAmount: '1.00' }
const GOODS = {
  skuCode: 'S1',
  skuName: 'Tea',
  skuCateCode: '',
  sku2ndCateCode: '12',
  sku3rdCateDesc: 'c'.repeat(100),
  quantity: 2,
  price: '5.00',
  taxRate: 0.13,
  taxCode: '103',
  taxUnit: 'box',
  invoiceType: 1,
  amount: 10.0,
  gatAmount: '10.00',
  costAmount: '8.50',
  freight: '0.00',
}
const refund = (more: object) => platform.callJson(OPERATION, { ...BODY, ...more })
const asText = (text: string) => platform.callJson(OPERATION, text)

describe('the body', () => {
  test('is taken in camelCase and in snake_case, to the last list', async () => {
    const tradeInfo = {
      provinceCode: '',
      poi2ndCateCode: '7',
      shopAddress: 'a'.repeat(500),
      recipientName: 'n'.repeat(50),
      thirdTradeNo: '1',
      thirdRefundAmount: '1.00',
      thirdCostAmount: '0.00',
      isThirdOrders: 1,
      thirdOrders: [{ outerTradeNo: `${APP_ID}-sub`, thirdSubRefundAmount: '1.00', goodsDetail: [GOODS] }],
    }
    const fees = { costAmount: '0.00', deliveryFee: '0.01' }
    expect((await refund({ ...fees, tradeInfo })).code).toBe(0)
    const snake = (value: unknown): unknown => {
      if (Array.isArray(value)) return value.map(snake)
      if (typeof value !== 'object' || value === null) return value
      const rename = (name: string) => name.replaceAll(/[A-Z]|2nd|3rd/g, part => `_${part.toLowerCase()}`)
      return Object.fromEntries(Object.entries(value).map(([name, member]) => [rename(name), snake(member)]))
    }
    const body = snake({ ...BODY, ...fees, tradeInfo, outerRefundNo: `${APP_ID}-refund-2` }) as object
    expect(Object.keys(body)).toContain('outer_refund_no')
    expect(JSON.stringify(body)).toContain('"poi_2nd_cate_code"')
    expect((await platform.callJson(OPERATION, body)).code).toBe(0)
  })

  test('is refused with one name in both spellings', async () => {
    const answer = await refund({ refund_amount: '2.00' })
    expect(answer).toMatchObject({ code: 1000220002, msg: expect.stringContaining('refundAmount') })
  })

  test('keeps an amount exact that binary floating point would not', async () => {
    const text = (number: number, amount: string) =>
      JSON.stringify({ ...BODY, outerRefundNo: `${APP_ID}-${number}` }).replace('"1.00"', amount)
    expect((await asText(text(1, '99999999.98'))).code).toBe(0)
    expect((await asText(text(2, '0.02'))).code).toBe(1000229002)
    for (const wrong of [
      '0.010000000000000000001',
      '1e-2',
      '0.01e0',
      '-1',
      '1.000',
      '1e400',
      'true',
      'null',
      '[]',
    ]) {
      expect([wrong, (await asText(text(2, wrong))).code]).toEqual([wrong, 1000220002])
    }
    expect((await asText(text(2, '0.01'))).code).toBe(0)
  })

  test.each([
    [{ outerTradeNo: undefined }, 'outerTradeNo is required'],
    [{ outerRefundNo: undefined }, 'outerRefundNo is required'],
    [{ reason: undefined }, 'reason is required'],
    [{ refundAmount: undefined }, 'refundAmount is required'],
    [{ outerTradeNo: 'other-order' }, 'outerTradeNo must start with the application id'],
    [{ outerRefundNo: 'other-refund' }, 'outerRefundNo must start with the application id'],
    [{ outerTradeNo: `${APP_ID}${'x'.repeat(19)}` }, 'outerTradeNo must have 2 to 50'],
    [{ reason: '' }, 'reason must have 1 to 254'],
    [{ reason: 'x'.repeat(255) }, 'reason'],
    [{ reason: ['x'] }, 'reason'],
    [{ refundAmount: '0' }, 'refundAmount must be a decimal from 0.01 to 99999999.99'],
    [{ refundAmount: '100000000' }, 'refundAmount'],
    [{ refundAmount: '1,00' }, 'refundAmount'],
    [{ costAmount: '100000000.00' }, 'costAmount'],
    [{ deliveryFee: '0.00' }, 'deliveryFee'],
    [{ deliveryFee: '1.001' }, 'deliveryFee'],
    [{ notifyUrl: 'ftp://merchant/' }, 'notifyUrl must be an http or https address'],
    [{ notifyUrl: 'merchant' }, 'notifyUrl'],
    [{ notifyUrl: `http://m/${'x'.repeat(254)}` }, 'notifyUrl'],
    [{ buyerName: 'x' }, 'unknown parameter buyerName'],
    [{ tradeInfo: 'x' }, 'tradeInfo'],
    [{ tradeInfo: { shopName: 'x'.repeat(101) } }, 'tradeInfo.shopName must have 0 to 100'],
    [{ tradeInfo: { cityCode: 'x'.repeat(51) } }, 'tradeInfo.cityCode'],
    [{ tradeInfo: { thirdTradeNo: '' } }, 'tradeInfo.thirdTradeNo'],
    [{ tradeInfo: { thirdRefundAmount: '0.00' } }, 'tradeInfo.thirdRefundAmount'],
    [{ tradeInfo: { isThirdOrders: 3 } }, 'tradeInfo.isThirdOrders'],
    [{ tradeInfo: { isThirdOrders: 1 } }, 'tradeInfo.thirdOrders is required with sub-orders'],
    [{ tradeInfo: { isThirdOrders: 1, thirdOrders: [] } }, 'tradeInfo.thirdOrders is required'],
    [{ tradeInfo: { isThirdOrders: 1, goodsDetail: [GOODS] } }, 'tradeInfo.thirdOrders is required'],
    [{ tradeInfo: { isThirdOrders: '2' } }, 'tradeInfo.goodsDetail is required without sub-orders'],
    [{ tradeInfo: { isThirdOrders: 2, goodsDetail: {} } }, 'tradeInfo.goodsDetail'],
    [
      { tradeInfo: { thirdPayAmount: '1.00', thirdCostAmount: '2.00' } },
      'tradeInfo.thirdCostAmount must be equal',
    ],
    [
      { tradeInfo: { goodsDetail: [GOODS, { ...GOODS, quantity: 1.5 }] } },
      'tradeInfo.goodsDetail.1.quantity',
    ],
    [{ tradeInfo: { goodsDetail: [{ taxUnit: 'x'.repeat(21) }] } }, 'tradeInfo.goodsDetail.0.taxUnit'],
    [{ tradeInfo: { goodsDetail: [{ colour: 'red' }] } }, 'colour'],
    [
      { tradeInfo: { isThirdOrders: 1, thirdOrders: [{ outerTradeNo: 'other' }] } },
      'tradeInfo.thirdOrders.0.outerTradeNo must start with the application id',
    ],
  ])('with %j is refused', async (more, message) => {
    expect(await refund(more)).toMatchObject({ code: 1000220002, msg: expect.stringContaining(message) })
    expect((await platform.control('GET', 'state')).refunds).toEqual([])
  })
})

test('thirdPayAmount may come without thirdCostAmount', async () => {
  expect(await refund({ tradeInfo: { thirdPayAmount: '1.00' } })).toMatchObject({ code: 0 })
})

describe('hostile bodies', () => {
  test.each([
    ['', 400],
    ['{', 400],
    ['{"a":1}}', 400],
    ['undefined', 400],
    ['{"reason":"\\u0000"}', 400],
    ['{"reason":"\\ud800"}', 400],
    ['null', 200],
    ['[]', 200],
    ['"text"', 200],
    ['{}', 200],
    ['{"__proto__":{"reason":"x"}}', 200],
    ['{"constructor":{"prototype":{}}}', 200],
    [`{"tradeInfo":${'['.repeat(11)}${']'.repeat(11)}}`, 200],
  ])('%s gets a refusal', async (text, status) => {
    const answer = await asText(text)
    expect(answer.status).toBe(status)
    if (status === 200) expect(answer.code).toBe(1000220002)
  })

  test('nested without end is refused before it costs anything', async () => {
    for (const [open, close] of [
      ['[', ']'],
      ['{"a":', '}'],
    ] as const) {
      const depth = 150_000
      const answer = await asText(`{"tradeInfo":${open.repeat(depth)}1${close.repeat(depth)}}`)
      expect([200, 400]).toContain(answer.status)
      expect(answer.code).not.toBe(0)
    }
    expect((await refund({})).code).toBe(0)
  })

  test('of another encoding get 415, and other bytes than those signed 1000210003', async () => {
    const text = JSON.stringify(BODY)
    const parameters = platform.publicParameters(await platform.token())
    const query = { ...parameters, sign: sign({ ...parameters, _body: text }) }
    const form = await platform.send(OPERATION, query, text)
    expect(form.status).toBe(415)
    const headers = { 'content-type': 'application/json' }
    for (const other of [`${text} `, text.replace('1.00', '1.01'), text.replace('"x"', '"\\u0078"')]) {
      expect((await platform.send(OPERATION, query, other, { headers })).code).toBe(1000210003)
    }
    expect((await platform.send(OPERATION, query, text, { headers })).code).toBe(0)
  })

  test('stand in the log cut, however large their lists are', async () => {
    const tradeInfo = { isThirdOrders: 2, goodsDetail: Array.from({ length: 1000 }, () => GOODS) }
    expect((await refund({ tradeInfo })).code).toBe(0)
    const { calls } = await platform.control('GET', 'calls')
    expect(calls.at(-1).params.tradeInfo).toMatch(/^\{"isThirdOrders".{980,990}… \(\d+ characters\)$/)
  })
})
