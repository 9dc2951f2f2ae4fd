import { beforeAll, describe, expect, test } from 'vitest'
import type { PlatformClient } from '../../src/platform/client.ts'
import type { RefundRequest } from '../../src/platform/operations/money.ts'
import { duringFile } from '../helpers/during.ts'
import { ContractUnderTest } from './contract-under-test.ts'
import { AMOUNTS, fullRefund, MOST, type Part, PLACES, TEXTS } from './refund-request.ts'
import { DIRECTORY, validRequest } from './valid-requests.ts'

const platform = duringFile(() => ContractUnderTest.start(DIRECTORY))
let client: PlatformClient

beforeAll(async () => {
  client = platform.client()
})

const REFUND = 'seller/v3/pay/syncRefund'
const TOP_UP = 'enterprise/account/applyCharge'

describe('a refund with every field of section 2.9', () => {
  test.each([
    ['most', 1],
    ['most', 2],
    ['least', 1],
    ['least', 2],
  ] as const)('each its %s, isThirdOrders %i', async (extreme, isThirdOrders) => {
    const request = fullRefund(`${extreme}-${isThirdOrders}`, isThirdOrders, extreme)
    const { outerTradeNo: out_trade_no, outerRefundNo } = request
    const trade_no = `full-${extreme}-${isThirdOrders}`
    await platform.control('POST', 'orders', [{ trade_no, out_trade_no, total_amount: MOST }])
    expect(await client.refunds.create(request as unknown as RefundRequest)).toBe(trade_no)
    const { refunds } = await platform.control('GET', 'state')
    expect(refunds).toContainEqual(
      expect.objectContaining({
        outer_refund_no: outerRefundNo,
        outer_trade_no: out_trade_no,
        refund_amount: extreme === 'most' ? MOST : '0.01',
      }),
    )
  })
})

type Breach = [field: string, value: unknown]

const parts = Object.keys(PLACES) as Part[]

const TOO_LONG: Breach[] = parts.flatMap(part =>
  PLACES[part].flatMap(place =>
    Object.entries(TEXTS[part]).map(
      ([name, limit]): Breach => [
        `${place}${name}`,
        (name === 'notifyUrl' ? 'http://m/' : '').padEnd(limit + 1, 'x'),
      ],
    ),
  ),
)

const WRONG_AMOUNTS: Breach[] = parts.flatMap(part =>
  PLACES[part].flatMap(place => {
    const { paid, cost, any } = AMOUNTS[part]
    return [
      ...[...paid, ...cost, ...any].flatMap((name): Breach[] =>
        ['100000000.00', '1.001', '1e2', '1,00'].map(value => [`${place}${name}`, value]),
      ),
      ...paid.map((name): Breach => [`${place}${name}`, '0.00']),
      ...[...paid, ...cost].map((name): Breach => [`${place}${name}`, '-0.01']),
      ...any.map((name): Breach => [`${place}${name}`, '-100000000.00']),
    ]
  }),
)

const WRONG_REST: Breach[] = [
  ['outerTradeNo', undefined],
  ['outerRefundNo', undefined],
  ['refundAmount', undefined],
  ['reason', undefined],
  ['outerTradeNo', 'other-application-1'],
  ['outerRefundNo', 'other-application-1'],
  ['outerTradeNo', 'shop8'.padEnd(51, '0')],
  ['outerRefundNo', 'shop8'.padEnd(51, '0')],
  ['tradeInfo.thirdOrders.0.outerTradeNo', 'other-application-1'],
  ['tradeInfo.thirdOrders.0.outerTradeNo', 'shop8'.padEnd(51, '0')],
  ['tradeInfo.isThirdOrders', 0],
  ['tradeInfo.isThirdOrders', 3],
  ['tradeInfo.thirdOrders', undefined],
  ['tradeInfo.thirdOrders', []],
  ['tradeInfo.goodsDetail', undefined],
  ['tradeInfo.goodsDetail', []],
  ...PLACES.goods.flatMap((place): Breach[] => [
    [`${place}quantity`, 2_147_483_648],
    [`${place}quantity`, -1],
    [`${place}quantity`, 1.5],
    [`${place}invoiceType`, 0],
    [`${place}invoiceType`, 3],
  ]),
  ['tradeInfo.unknownField', 'x'],
]

describe('what breaks a limit of a refund is refused by both', () => {
  let number = 0

  const breaches = [...TOO_LONG, ...WRONG_AMOUNTS, ...WRONG_REST].map(
    ([field, value]) => [field, String(value).slice(0, 20), value] as const,
  )

  test.each(breaches)('%s: %s', async (field, _, value) => {
    number += 1
    const isThirdOrders = field.startsWith('tradeInfo.goodsDetail') ? 2 : 1
    const request = fullRefund(`wrong-${number}`, isThirdOrders, 'least')
    setAt(request, field.split('.'), value)

    const { error, calls } = await platform.watch(() =>
      client.refunds.create(request as unknown as RefundRequest),
    )
    expect(error).toMatchObject({ code: 'PLATFORM_INVALID_REQUEST', outcomeKnown: true })
    expect(error.problems.map((problem: { field: string }) => problem.field)).toEqual([field])
    expect(calls).toEqual([])

    const { code, msg } = await platform.jsonByHand(REFUND, request)
    expect(code).toBe(1000220002)
    expect(msg).toContain(field.split('.').at(-1))
  })

  test('thirdPayAmount that differs from thirdCostAmount', async () => {
    const request = fullRefund('rebate', 1, 'least')
    request.tradeInfo.thirdPayAmount = '0.01'
    const call = client.refunds.create(request as unknown as RefundRequest)
    await expect(call).rejects.toMatchObject({
      code: 'PLATFORM_INVALID_REQUEST',
      problems: [{ field: 'tradeInfo.thirdPayAmount' }],
    })
    const { code, msg } = await platform.jsonByHand(REFUND, request)
    expect(code).toBe(1000220002)
    expect(msg).toContain('must be equal to thirdPayAmount')
  })

  test('an amount given as a number is refused by the client alone: it has been through binary floating point', async () => {
    const request = { ...validRequest(REFUND), refundAmount: 12.3 }
    await expect(client.call(REFUND, request)).rejects.toMatchObject({
      code: 'PLATFORM_INVALID_REQUEST',
      problems: [{ field: 'refundAmount' }],
    })
    expect(await platform.jsonByHand(REFUND, request)).toMatchObject({ code: 0 })
  })

  test('snake_case is understood by the emulator and is no parameter of the client', async () => {
    const request = Object.fromEntries(
      Object.entries(validRequest(REFUND)).map(([name, value]) => [
        name.replaceAll(/[A-Z]/g, letter => `_${letter.toLowerCase()}`),
        value,
      ]),
    )
    await expect(client.call(REFUND, request)).rejects.toMatchObject({ code: 'PLATFORM_INVALID_REQUEST' })
    expect(await platform.jsonByHand(REFUND, request)).toMatchObject({ code: 0 })
  })
})

describe('a top-up', () => {
  /** Every field of section 4.12, each as long as it may be. */
  const full = () => ({
    ...(validRequest(TOP_UP) as Record<string, string>),
    service_provider: '1',
    email: 'one@example.com',
    mobile: '13800000001',
    applicant_name: '𠮷'.repeat(100),
    taxpayer: 'Example Ltd',
    remark: '𠮷'.repeat(150),
    invoice_extr_remark: '𠮷'.repeat(150),
    invoice_remark: '𠮷'.repeat(150),
  })

  test('with every field of section 4.12 is accepted by both', async () => {
    const request = full()
    const { external_code } = request as Record<string, string>
    expect(await client.call(TOP_UP, request)).toEqual({
      apply_charge_openid: expect.stringMatching(/^.{1,64}$/),
      external_code,
    })
  })

  test.each([
    ['account_openid', 'x'.repeat(33)],
    ['account_openid', undefined],
    ['enterprise_code', 'x'.repeat(21)],
    ['amount', '0.00'],
    ['amount', '-1.00'],
    ['amount', '1.001'],
    ['amount', undefined],
    ['service_provider', 'bank'],
    ['service_provider', undefined],
    ['mobile', '2380000000'],
    ['mobile', '+8613800000001'],
    ['applicant_name', 'x'.repeat(101)],
    ['external_code', 'shop8'.padEnd(29, '0')],
    ['external_code', 'shop8'.padEnd(101, '0')],
    ['external_code', 'other'.padEnd(30, '0')],
    ['external_code', undefined],
    ['taxpayer', 'x'.repeat(101)],
    ['identifier', 'x'.repeat(46)],
    ['remark', 'x'.repeat(151)],
    ['invoice_extr_remark', 'x'.repeat(151)],
    ['invoice_remark', 'x'.repeat(151)],
  ])('that breaks the limit of %s is refused by both', async (field, value) => {
    const request: Record<string, string> = full()
    if (value === undefined) delete request[field]
    else request[field] = value
    const { error, calls } = await platform.watch(() => client.call(TOP_UP, request))
    expect(error).toMatchObject({ code: 'PLATFORM_INVALID_REQUEST', problems: [{ field }] })
    expect(calls).toEqual([])
    const { code, msg } = await platform.byHand(TOP_UP, request)
    expect(code).toBe(1000220002)
    expect(msg).toContain(field)
  })

  test('without taxpayer and identifier is refused by both', async () => {
    const { taxpayer, identifier, ...request } = full() as Record<string, string>
    await expect(client.call(TOP_UP, request)).rejects.toMatchObject({ code: 'PLATFORM_INVALID_REQUEST' })
    expect(await platform.byHand(TOP_UP, request)).toMatchObject({ code: 1000220002 })
  })
})

/** Puts a value where the path leads; undefined takes away what stands there. */
function setAt(target: object, path: string[], value: unknown): void {
  const holder = path.slice(0, -1).reduce((at, key) => (at as Record<string, object>)[key] ?? {}, target)
  const name = path.at(-1) ?? ''
  if (value === undefined) delete (holder as Record<string, unknown>)[name]
  else (holder as Record<string, unknown>)[name] = value
}
