import { describe, expect, test } from 'vitest'
import { PlatformError } from '../../src/platform/errors.ts'
import type { Operation } from '../../src/platform/operation.ts'
import { OPERATIONS, type OperationName } from '../../src/platform/operations/index.ts'
import { checkedParameters } from '../../src/platform/request.ts'

const APP = 'mall0001'
const APPLICATION = { appId: APP, priceDifferenceMode: false }

/** The problems of a request, as `field: rule`. */
function problems(name: OperationName, params: object, application = APPLICATION): string[] {
  try {
    checkedParameters(OPERATIONS[name] as Operation, params, application)
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error
    expect(error).toMatchObject({ kind: 'invalid_request', outcomeKnown: true })
    return (error.problems ?? []).map(({ field, rule, said }) => {
      // A rule in words would be English in every language.
      expect(said.key, rule).not.toBe('said.words')
      return `${field}: ${rule}`
    })
  }
  return []
}

const own = (length: number) => APP.padEnd(length, '7')

const REQUESTS: Partial<Record<OperationName, Record<string, unknown>>> = {
  'enterprise/consume/list': {},
  'enterprise/consume/get': { trade_no: '1234567890123456' },
  'assets/limit/enterprise/get': {},
  'taxpayer/findList': { identifier: '91110000600037341L' },
  'seller/pay/record': { outer_trade_no: own(20) },
  'seller/v3/pay/syncRefund': {
    outerTradeNo: own(20),
    outerRefundNo: own(21),
    reason: 'damaged',
    refundAmount: '1.00',
  },
  'enterprise/account/applyCharge': {
    account_openid: 'a'.repeat(32),
    amount: '100.00',
    service_provider: 1,
    external_code: own(30),
    identifier: '91110000600037341L',
  },
}

const limits: [OperationName, string, unknown, unknown][] = [
  ...Object.keys(REQUESTS).map((name): [OperationName, string, unknown, unknown] => [
    name as OperationName,
    'enterprise_code',
    'x'.repeat(20),
    'x'.repeat(21),
  ]),
  ['enterprise/consume/list', 'time_start', '2024-02-29', '2023-02-29'],
  ['enterprise/consume/list', 'time_end', '2024-12-31', '2024-12-31 00:00:00'],
  ['enterprise/consume/list', 'contain_fee_trade', 1, 0],
  ['enterprise/consume/list', 'contain_fee_trade', '2', '3'],
  ['enterprise/consume/list', 'page_index', 1, 0],
  ['enterprise/consume/list', 'page_size', 100, 101],
  ['enterprise/consume/list', 'page_size', '1', '0'],
  ['enterprise/consume/list', 'page_size', 20, 20.5],
  ['enterprise/consume/list', 'page_size', 20, 'twenty'],
  ['enterprise/consume/list', 'page_size', 20, true],
  ['enterprise/consume/get', 'trade_no', 'x'.repeat(16), 'x'.repeat(17)],
  ['assets/limit/enterprise/get', 'account_openid', 'x'.repeat(32), 'x'.repeat(33)],
  ['taxpayer/findList', 'identifier', 'x'.repeat(45), 'x'.repeat(46)],
  ['taxpayer/findList', 'taxpayer_name', '字'.repeat(100), '字'.repeat(101)],
  ['taxpayer/findList', 'taxpayer_nature', 2, 3],
  ['taxpayer/findList', 'page_no', '1', '0'],
  ['taxpayer/findList', 'page_size', 100, 101],
  ['seller/pay/record', 'outer_trade_no', own(30), own(31)],
  ['seller/pay/record', 'outer_trade_no', own(10), own(9)],
  ['seller/v3/pay/syncRefund', 'outerTradeNo', own(50), own(51)],
  ['seller/v3/pay/syncRefund', 'outerRefundNo', own(50), own(51)],
  ['seller/v3/pay/syncRefund', 'reason', '因'.repeat(254), '因'.repeat(255)],
  ['seller/v3/pay/syncRefund', 'reason', 'x', '\ud800'],
  ['seller/v3/pay/syncRefund', 'refundAmount', '0.01', '0.00'],
  ['seller/v3/pay/syncRefund', 'refundAmount', '99999999.99', '100000000.00'],
  ['seller/v3/pay/syncRefund', 'refundAmount', '1.5', '1.505'],
  ['seller/v3/pay/syncRefund', 'refundAmount', '100', '1e2'],
  ['seller/v3/pay/syncRefund', 'refundAmount', '0.5', '.5'],
  ['seller/v3/pay/syncRefund', 'refundAmount', '7', '007'],
  ['seller/v3/pay/syncRefund', 'refundAmount', '1', '-1'],
  ['seller/v3/pay/syncRefund', 'refundAmount', '1', '１'],
  ['seller/v3/pay/syncRefund', 'costAmount', '0.00', '-0.01'],
  ['seller/v3/pay/syncRefund', 'costAmount', '99999999.99', '100000000'],
  ['seller/v3/pay/syncRefund', 'deliveryFee', '0.01', '0'],
  ['seller/v3/pay/syncRefund', 'deliveryFee', '99999999.99', '100000000'],
  ['seller/v3/pay/syncRefund', 'notifyUrl', 'http://m/'.padEnd(254, 'x'), 'http://m/'.padEnd(255, 'x')],
  ['seller/v3/pay/syncRefund', 'notifyUrl', 'https://hr.example.com/n', 'hr.example.com/n'],
  ['seller/v3/pay/syncRefund', 'notifyUrl', 'http://[::1]:8080/n', 'http://'],
  ['seller/v3/pay/syncRefund', 'notifyUrl', 'http://m', 'ftp://m/'],
  ['enterprise/account/applyCharge', 'account_openid', 'x'.repeat(32), 'x'.repeat(33)],
  ['enterprise/account/applyCharge', 'amount', '0.01', '0.00'],
  ['enterprise/account/applyCharge', 'amount', '1234567.80', '1.001'],
  ['enterprise/account/applyCharge', 'service_provider', '1', '1.0'],
  ['enterprise/account/applyCharge', 'mobile', '13800000000', '8613800000000'],
  ['enterprise/account/applyCharge', 'mobile', '13800000000', 13_800_000_000],
  ['enterprise/account/applyCharge', 'applicant_name', '字'.repeat(100), '字'.repeat(101)],
  ['enterprise/account/applyCharge', 'external_code', own(100), own(101)],
  ['enterprise/account/applyCharge', 'external_code', own(30), own(29)],
  ['enterprise/account/applyCharge', 'taxpayer', 'x'.repeat(100), 'x'.repeat(101)],
  ['enterprise/account/applyCharge', 'identifier', 'x'.repeat(45), 'x'.repeat(46)],
  ['enterprise/account/applyCharge', 'remark', 'x'.repeat(150), 'x'.repeat(151)],
  ['enterprise/account/applyCharge', 'invoice_extr_remark', 'x'.repeat(150), 'x'.repeat(151)],
  ['enterprise/account/applyCharge', 'invoice_remark', 'x'.repeat(150), 'x'.repeat(151)],
]

test.each(limits)('%s: the limits of %s', (operation, field, good, bad) => {
  expect(problems(operation, { ...REQUESTS[operation], [field]: good })).toEqual([])
  expect(problems(operation, { ...REQUESTS[operation], [field]: bad })).toEqual([
    expect.stringMatching(new RegExp(`^${field}: must (?:be|have) `)),
  ])
})

test.each([
  ['enterprise/consume/get', ['trade_no']],
  ['taxpayer/findList', ['identifier']],
  ['seller/pay/record', ['outer_trade_no']],
  ['seller/v3/pay/syncRefund', ['outerTradeNo', 'outerRefundNo', 'reason', 'refundAmount']],
  ['enterprise/account/applyCharge', ['account_openid', 'amount', 'service_provider', 'external_code']],
] as const)('%s requires %j', (operation, required) => {
  const told = problems(operation, {}).filter(problem => problem.endsWith(': is required'))
  expect(told).toEqual(required.map(field => `${field}: is required`))
})

test('an amount is a text: a number has been through binary floating point', () => {
  const rule = 'must be a decimal from 0.01 to 99999999.99 with at most 2 places, as a text, not a number'
  expect(
    problems('seller/v3/pay/syncRefund', { ...REQUESTS['seller/v3/pay/syncRefund'], refundAmount: 1.1 }),
  ).toEqual([`refundAmount: ${rule}`])
  expect(
    problems('seller/v3/pay/syncRefund', { ...REQUESTS['seller/v3/pay/syncRefund'], refundAmount: true }),
  ).toEqual([`refundAmount: ${rule}`])
  const [problem] = problems('enterprise/account/applyCharge', {
    ...REQUESTS['enterprise/account/applyCharge'],
    amount: 100,
  })
  expect(problem).toMatch(/^amount: must be a decimal .* as a text, not a number$/)
})

describe('rules across fields', () => {
  const refund = (more: object, priceDifferenceMode = false) =>
    problems(
      'seller/v3/pay/syncRefund',
      { ...REQUESTS['seller/v3/pay/syncRefund'], ...more },
      { appId: APP, priceDifferenceMode },
    )
  const tradeInfo = (info: object) => refund({ tradeInfo: info })

  test('a top-up names the taxpayer or its number', () => {
    const { identifier: _, ...application } = REQUESTS['enterprise/account/applyCharge'] ?? {}
    expect(problems('enterprise/account/applyCharge', application)).toEqual([
      ': needs at least one of taxpayer, identifier',
    ])
    expect(problems('enterprise/account/applyCharge', { ...application, taxpayer: 'x' })).toEqual([])
    expect(problems('enterprise/account/applyCharge', { ...application, taxpayer: ' ' })).toHaveLength(1)
  })

  test.each(['&', '=', '\u0007'])('numbers with %j cannot be notified of', character => {
    const numbers = { outerTradeNo: `${own(20)}${character}1`, outerRefundNo: `${own(20)}${character}2` }
    const rule = 'must not contain &, = or control characters: the notification would be refused'
    expect(refund({ ...numbers, notifyUrl: 'https://hr.example.com/n' })).toEqual([
      `outerTradeNo: ${rule}`,
      `outerRefundNo: ${rule}`,
    ])
    expect(refund(numbers)).toEqual([])
  })

  test('external numbers begin with the application id', () => {
    const foreign = 'other0017'.padEnd(30, '7')
    expect(refund({ outerTradeNo: foreign, outerRefundNo: foreign })).toEqual([
      'outerTradeNo: must begin with the application id',
      'outerRefundNo: must begin with the application id',
    ])
    expect(
      tradeInfo({
        isThirdOrders: 1,
        thirdOrders: [{ outerTradeNo: own(20) }, { outerTradeNo: foreign }, {}],
      }),
    ).toEqual(['tradeInfo.thirdOrders.1.outerTradeNo: must begin with the application id'])
    expect(problems('seller/pay/record', { outer_trade_no: foreign })).toEqual([
      'outer_trade_no: must begin with the application id',
    ])
    const topUp = { ...REQUESTS['enterprise/account/applyCharge'], external_code: foreign }
    expect(problems('enterprise/account/applyCharge', topUp)).toEqual([
      'external_code: must begin with the application id',
    ])
  })

  test('with sub-orders they are required, without them the goods', () => {
    expect(tradeInfo({ isThirdOrders: 1, goodsDetail: [{ skuCode: 'A' }] })).toEqual([
      'tradeInfo.thirdOrders: is required with sub-orders (isThirdOrders 1)',
    ])
    expect(tradeInfo({ isThirdOrders: '1', thirdOrders: [] })).toHaveLength(1)
    expect(tradeInfo({ isThirdOrders: 1, thirdOrders: [{ thirdSubTradeNo: 'S1' }] })).toEqual([])
    expect(tradeInfo({ isThirdOrders: 2, thirdOrders: [{ thirdSubTradeNo: 'S1' }] })).toEqual([
      'tradeInfo.goodsDetail: is required without sub-orders (isThirdOrders 2)',
    ])
    expect(tradeInfo({ isThirdOrders: 2, goodsDetail: [{ skuCode: 'A' }] })).toEqual([])
  })

  test('in rebate mode paid and cost amount are equal, whatever their places', () => {
    expect(tradeInfo({ thirdPayAmount: '10', thirdCostAmount: '10.00' })).toEqual([])
    expect(tradeInfo({ thirdPayAmount: '10.01', thirdCostAmount: '10.00' })).toEqual([
      'tradeInfo.thirdPayAmount: must be equal to thirdCostAmount (rebate mode)',
    ])
    expect(tradeInfo({ thirdPayAmount: '10.01' })).toEqual([])
  })

  test('in price-difference mode, and in no other, the cost or the order information is required', () => {
    expect(refund({}, false)).toEqual([])
    for (const without of [{}, { tradeInfo: {} }, { tradeInfo: { shopName: ' ' } }])
      expect(refund(without, true)).toEqual([
        ': needs one of costAmount and tradeInfo (price-difference mode)',
      ])
    expect(refund({ costAmount: '0.00' }, true)).toEqual([])
    expect(refund({ tradeInfo: { shopName: 'x' } }, true)).toEqual([])
  })
})

describe('order information', () => {
  const info = (tradeInfo: object) =>
    problems('seller/v3/pay/syncRefund', { ...REQUESTS['seller/v3/pay/syncRefund'], tradeInfo })

  test.each([
    ...['provinceCode', 'cityName', 'locationCode', 'shopPhone', 'recipientName', 'recipientPhone'].map(
      field => [field, 50] as const,
    ),
    ...['shopName', 'poiCateDesc', 'poi2ndCateDesc', 'poi3rdCateDesc'].map(field => [field, 100] as const),
    ...['shopAddress', 'recipientAddress'].map(field => [field, 500] as const),
    ...['thirdTradeNo', 'thirdRefundNo'].map(field => [field, 50] as const),
  ])('%s has at most %i characters and may be empty', (field, limit) => {
    expect(info({ [field]: '字'.repeat(limit) })).toEqual([])
    expect(info({ [field]: '' })).toEqual([])
    expect(info({ [field]: '字'.repeat(limit + 1) })).toHaveLength(1)
  })

  test('goods and sub-orders are checked where they stand', () => {
    const goods = {
      skuCode: 'A'.repeat(50),
      skuName: 'x',
      sku3rdCateDesc: 'x'.repeat(100),
      quantity: '2147483647',
      price: '99999999.99',
      taxRate: '0.13',
      taxUnit: 'x'.repeat(20),
      invoiceType: 2,
      amount: '1',
      gatAmount: '0',
      costAmount: '0.00',
      freight: '0.00',
    }
    expect(info({ goodsDetail: [goods] })).toEqual([])
    expect(
      info({
        thirdOrders: [
          {},
          {
            thirdSubRefundAmount: '0',
            goodsDetail: [goods, { ...goods, quantity: 2147483648, invoiceType: 3, colour: 'red' }],
          },
        ],
      }).map(problem => problem.split(':')[0]),
    ).toEqual([
      'tradeInfo.thirdOrders.1.thirdSubRefundAmount',
      'tradeInfo.thirdOrders.1.goodsDetail.1.quantity',
      'tradeInfo.thirdOrders.1.goodsDetail.1.invoiceType',
      'tradeInfo.thirdOrders.1.goodsDetail.1.colour',
    ])
  })

  test.each([
    ['thirdRefundAmount', '0.01', '0.00'],
    ['thirdCostAmount', '0.00', '-0.01'],
    ['thirdDeliveryFee', '99999999.99', '100000000.00'],
    ['thirdSubOrders', undefined, 1],
    ['shopName', 'x', 1],
    ['goodsDetail', [], {}],
    ['thirdOrders', [], 'x'],
  ])('%s', (field, good, bad) => {
    expect(info({ [field]: good })).toEqual([])
    expect(info({ [field]: bad })).toEqual([expect.stringMatching(new RegExp(`^tradeInfo\\.${field}: `))])
  })
})

test.each(['__proto__', 'constructor', 'toString', 'outer_refund_no'])(
  'a parameter %s that the operation does not have is named',
  field => {
    const tradeInfo = JSON.parse(`{"${field}": "x"}`)
    const request = { ...REQUESTS['seller/v3/pay/syncRefund'], tradeInfo }
    expect(problems('seller/v3/pay/syncRefund', request)).toEqual([
      `tradeInfo.${field}: is no parameter of this operation`,
    ])
  },
)
