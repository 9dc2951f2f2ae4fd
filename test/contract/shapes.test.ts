import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { PlatformClient } from '../../src/platform/client.ts'
import type { RefundRequest } from '../../src/platform/operations/money.ts'
import type { SignAlgorithm } from '../../src/platform/request.ts'
import { duringFile } from '../helpers/during.ts'
import { APP_ID, ContractUnderTest, collected } from './contract-under-test.ts'
import { DIRECTORY, OUTER_TRADE_NO, validRequest } from './valid-requests.ts'

/** A payment order of the new mall with every field of section 2.6. */
const MALL_ORDER = {
  trade_no: '2026010100000001',
  out_trade_no: `${APP_ID}-mall-0001`,
  userid: 'employee-one',
  payer_name: 'Payer One',
  subject: 'Tea, "green" 茶',
  reason: 'welfare',
  total_amount: '99999999.90',
  pay_amount: '0.10',
  refund_amount: '0.01',
  status: 3,
  create_time: '2026-01-01 00:00:00',
  pay_time: '2026-01-01 07:59:59',
  refund_time: '2024-02-29 08:00:00',
  asset_code: 'POINT',
  commerce_order_detail: {
    shop_order_code: 'S1',
    activity_type: 2,
    buyer_name: 'Buyer One',
    order_price: '1234567890123.45',
    logistics_amount: '0.00',
    trade_status: 4,
    trade_type: 1,
    remark: 'ring twice',
    cancel_order_reason_desc: null,
    order_list: [
      {
        delivery_name: 'Recipient One',
        delivery_phone: '13800000001',
        address: 'Street 1',
        order_price: '70.00',
        order_status: 9,
        trade_status: 4,
        time_created: '2026-01-01 00:00:01',
        time_delivery: '2026-01-02 12:00:00',
        time_delivery_end: null,
        time_closed: null,
        logistics_amount: '0.30',
        product_list: [
          {
            spu_code: 'SPU',
            spu_name: 'Tea',
            product_title: 'Green tea',
            sku_code: 'SKU',
            sku_name: 'Tea 500 g',
            sku_pic_url: 'https://example.com/tea.png',
            sku_category: '500 g',
            current_price: '10.10',
            deal_price: '9.99',
            purchase_num: 7,
          },
        ],
      },
    ],
  },
}

/** What the client makes of it in the list. */
const LISTED = {
  trade_no: '2026010100000001',
  out_trade_no: `${APP_ID}-mall-0001`,
  userid: 'employee-one',
  payer_name: 'Payer One',
  subject: 'Tea, "green" 茶',
  total_amount: '99999999.90',
  pay_amount: '0.10',
  refund_amount: '0.01',
  status: 3,
  create_time: new Date('2025-12-31T16:00:00Z'),
  pay_time: new Date('2025-12-31T23:59:59Z'),
  refund_time: new Date('2024-02-29T00:00:00Z'),
  assetCode: 'POINT',
}

const NEW_YEAR = { time_start: '2026-01-01', time_end: '2026-01-01' }

const platform = duringFile(() => ContractUnderTest.start(DIRECTORY))
let client: PlatformClient

beforeAll(async () => {
  client = platform.client()
  await platform.control('POST', 'orders', [MALL_ORDER])
})

afterEach(() => platform.control('POST', 'shapes', {}))

describe('double spellings', () => {
  test.each([
    ['top', 'assetCode'],
    ['top', 'asset_code'],
    ['data', 'assetCode'],
    ['data', 'asset_code'],
  ])('payment orders at %s with %s', async (paymentOrderList, assetCode) => {
    await platform.control('POST', 'shapes', { paymentOrderList, assetCode })
    expect(await client.paymentOrders.page(NEW_YEAR)).toEqual({ total_count: 1, data_list: [LISTED] })
    expect(await collected(client.paymentOrders.list(NEW_YEAR))).toEqual([LISTED])
    expect(await client.paymentOrders.get({ trade_no: MALL_ORDER.trade_no })).toMatchObject(LISTED)
  })

  test.each(['top', 'data'])('payment orders at %s with outer_trade_no', async paymentOrderList => {
    await platform.control('POST', 'shapes', { paymentOrderList, tradeNumber: 'outer_trade_no' })
    expect(await client.paymentOrders.page(NEW_YEAR)).toEqual({ total_count: 1, data_list: [LISTED] })
    const { out_trade_no } = LISTED
    expect(await client.paymentOrders.get({ trade_no: MALL_ORDER.trade_no })).toMatchObject({ out_trade_no })
  })

  test.each(['top', 'data'])('no payment orders at %s', async paymentOrderList => {
    await platform.control('POST', 'shapes', { paymentOrderList })
    const longAgo = { time_start: '2001-01-01', time_end: '2001-12-31' }
    expect(await client.paymentOrders.page(longAgo)).toEqual({ total_count: 0, data_list: [] })
    expect(await collected(client.paymentOrders.list(longAgo))).toEqual([])
  })

  test('an order record as an object and as a bare trade number', async () => {
    const query = { outer_trade_no: MALL_ORDER.out_trade_no }
    expect(await client.orders.record(query)).toEqual({
      outer_trade_no: MALL_ORDER.out_trade_no,
      reason: 'welfare',
      pay_amount: '0.10',
      refund_amount: '0.01',
      status: 2,
      refund_time: LISTED.refund_time,
      pay_time: LISTED.pay_time,
    })
    await platform.control('POST', 'shapes', { orderRecord: 'trade_no' })
    expect(await client.orders.record(query)).toBe(MALL_ORDER.trade_no)
  })
})

describe('values', () => {
  test('every field of an order of the new mall: amounts digit for digit, times as the moments they mean', async () => {
    const { order_list, ...commerceOrder } = MALL_ORDER.commerce_order_detail
    const [item] = order_list
    expect(await client.paymentOrders.get({ trade_no: MALL_ORDER.trade_no })).toEqual({
      ...LISTED,
      commerce_order_detail: {
        ...commerceOrder,
        order_list: [
          {
            ...item,
            time_created: new Date('2025-12-31T16:00:01Z'),
            time_delivery: new Date('2026-01-02T04:00:00Z'),
          },
        ],
      },
    })
  })

  test.each(['0.00', '0.01', '0.07', '0.10', '1.00', '4.35', '1.10', '99999999.99', '9007199254740.93'])(
    'the amount %s survives from seed to client',
    async amount => {
      const trade_no = '2026020200000001'
      await platform.control('POST', 'orders', [
        { trade_no, total_amount: amount, pay_amount: amount, create_time: '2026-02-02 12:00:00' },
      ])
      const amounts = { total_amount: amount, pay_amount: amount, refund_amount: '0.00' }
      expect(await client.paymentOrders.get({ trade_no })).toMatchObject(amounts)
      const page = await client.paymentOrders.page({ time_start: '2026-02-02', time_end: '2026-02-02' })
      expect(page.data_list).toEqual([expect.objectContaining(amounts)])
      await platform.control('POST', 'accounts', [
        { account_openid: 'amounts', name: 'Amounts', balance: amount },
      ])
      expect(await client.limitAccounts.list({ account_openid: 'amounts' })).toEqual([
        expect.objectContaining({ balance: amount }),
      ])
    },
  )

  test('refunds in hundredths add up exactly', async () => {
    const out_trade_no = `${APP_ID}-dimes-0001`
    await platform.control('POST', 'orders', [
      {
        trade_no: '2026030300000001',
        out_trade_no,
        total_amount: '0.30',
        create_time: '2026-03-03 12:00:00',
      },
    ])
    for (const refunded of ['0.10', '0.20', '0.30']) {
      const request = validRequest('seller/v3/pay/syncRefund') as RefundRequest
      await client.refunds.create({ ...request, outerTradeNo: out_trade_no, refundAmount: '0.10' })
      expect(await client.orders.record({ outer_trade_no: out_trade_no })).toMatchObject({
        refund_amount: refunded,
        status: 2,
      })
    }
    const { status } = await client.paymentOrders.get({ trade_no: '2026030300000001' })
    expect(status).toBe(6)
  })

  test('days are days of GMT+8', async () => {
    await platform.control('POST', 'orders', [
      { trade_no: '2026040400000001', total_amount: '1.00', create_time: '2026-04-04 00:00:00' },
      { trade_no: '2026040400000002', total_amount: '1.00', create_time: '2026-04-04 23:59:59' },
      { trade_no: '2026040500000003', total_amount: '1.00', create_time: '2026-04-05 00:00:00' },
    ])
    const orders = client.paymentOrders.list({ time_start: '2026-04-04', time_end: '2026-04-04' })
    expect((await collected(orders)).map(order => order.create_time?.toISOString())).toEqual([
      '2026-04-04T15:59:59.000Z',
      '2026-04-03T16:00:00.000Z',
    ])
  })

  test('level and category of an enterprise without these features are null', async () => {
    await platform.control('POST', 'employees', [
      { enterprise_code: 'OFF', userid: 'employee-off', level: 'Grade7', category: ['driver'] },
    ])
    const query = { userid: 'employee-off', enterprise_code: 'OFF' }
    expect(await client.employees.get(query)).toMatchObject({ level: null, category: null })
  })

  test('states and types that the specification does not name are kept', async () => {
    const trade_no = '2026050500000001'
    await platform.control('POST', 'orders', [
      {
        trade_no,
        total_amount: '1.00',
        status: 42,
        asset_code: 'GOLD',
        create_time: '2026-05-05 12:00:00',
        commerce_order_detail: {
          activity_type: 77,
          trade_status: 78,
          trade_type: 79,
          order_list: [{ order_status: 80, trade_status: 81 }],
        },
      },
    ])
    expect(await client.paymentOrders.get({ trade_no })).toMatchObject({
      status: 42,
      assetCode: 'GOLD',
      out_trade_no: null,
      commerce_order_detail: {
        activity_type: 77,
        trade_status: 78,
        trade_type: 79,
        order_list: [{ order_status: 80, trade_status: 81 }],
      },
    })
    const account = { account_openid: 'unknown-states', name: 'Odd', product_category: 112, status: 9 }
    const sub_limits = [{ id: 2147483648, name: 'Sub', status: 8 }]
    await platform.control('POST', 'accounts', [{ ...account, sub_limits }])
    expect(await client.limitAccounts.list({ account_openid: 'unknown-states' })).toEqual([
      { ...account, balance: '0.00', sub_limits: [{ id: '2147483648', name: 'Sub', status: 8 }] },
    ])
    const taxpayer = { identifier: 'TAX-ODD', taxpayer_name: 'Odd Ltd', taxpayer_nature: 1, status: 9 }
    await platform.control('POST', 'taxpayers', [taxpayer])
    const taxpayers = client.taxpayers.list({ identifier: 'TAX-ODD', taxpayer_nature: 1 })
    expect(await collected(taxpayers)).toEqual([taxpayer])
  })

  test('what may be absent is null, and what is unknown an empty list', async () => {
    const [account] = await client.limitAccounts.list({ account_openid: 'account-openid-0001' })
    expect(account).toMatchObject({ balance: '100.10', sub_limits: null })
    expect(await client.limitAccounts.list({ account_openid: 'nobody' })).toEqual([])
    expect(await client.paymentOrders.get({ trade_no: '2026112100000001' })).toMatchObject({
      userid: null,
      refund_time: null,
      commerce_order_detail: null,
    })
    expect(await collected(client.taxpayers.list({ identifier: 'NOBODY' }))).toEqual([])
  })
})

describe.each(['top', 'data'])('paging, payment orders at %s', paymentOrderList => {
  test.each([100, 40, 7])('%i a page, while rows are added and paid between the pages', async page_size => {
    await platform.control('POST', 'shapes', { paymentOrderList })
    const enterprise_code = `${paymentOrderList}-${page_size}`
    // All of a second, so that the edges of pages lie among equals.
    const order = (number: number, create_time = '2026-06-06 12:00:00') => ({
      enterprise_code,
      trade_no: `${enterprise_code}-${String(number).padStart(4, '0')}`,
      total_amount: `${number}.01`,
      status: 1,
      create_time,
    })
    const before = Array.from({ length: 257 }, (_, number) => order(number))
    await platform.control('POST', 'orders', before)
    const added = [900, 901, 902].map(number => order(number, '2026-06-06 13:00:00'))

    const seen: (string | null)[] = []
    const { error } = await platform.watch(async () => {
      const query = { enterprise_code, page_size, time_start: '2026-06-06', time_end: '2026-06-06' }
      for await (const { trade_no } of client.paymentOrders.list(query)) {
        const next = seen.length % page_size === 0 ? added[seen.length / page_size] : undefined
        seen.push(trade_no)
        if (next === undefined) continue
        await platform.control('POST', 'orders', [next])
        await platform.control('POST', 'orders/pay', { trade_no: before[seen.length]?.trade_no })
      }
    })
    expect(error).toBeUndefined()
    expect(seen.toSorted()).toEqual([...before, ...added].map(row => row.trade_no))
  })
})

test('taxpayers of several pages, each once', async () => {
  const identifier = 'TAX-PAGES'
  const rows = Array.from({ length: 257 }, (_, number) => ({
    identifier,
    taxpayer_name: `Company ${String(number).padStart(4, '0')}`,
    taxpayer_nature: 2,
    status: 1,
  }))
  await platform.control('POST', 'taxpayers', rows)
  const { value, calls } = await platform.watch(() =>
    collected(client.taxpayers.list({ identifier, page_size: 50 })),
  )
  expect(value).toEqual(rows)
  expect(calls).toHaveLength(6)
})

test('a consumer that ends early asks for one page more at most', async () => {
  const { calls } = await platform.watch(async () => {
    for await (const _ of client.taxpayers.list({ identifier: 'TAX-PAGES', page_size: 50 })) break
  })
  expect(calls.length).toBeLessThanOrEqual(2)
})

describe.each<SignAlgorithm>(['sha256', 'sha1', 'sha512'])('signed with %s', algorithm => {
  const others = (['sha256', 'sha1', 'sha512'] as const).filter(other => other !== algorithm)
  let signing: ContractUnderTest

  beforeAll(async () => {
    signing = await ContractUnderTest.start(DIRECTORY, algorithm)
  })

  afterAll(() => signing[Symbol.asyncDispose]())

  test('a form', async () => {
    const remark = `a&b=c+d%26 "quoted"\n 字 𠮷 é`
    await signing.client().employees.update({ userid: 'employee-one', remark })
    expect(await signing.client().employees.get({ userid: 'employee-one' })).toMatchObject({ remark })
  })

  test('a JSON body, byte for byte as sent', async () => {
    const reason = `a&b=c+d%26 "quoted"\n \\ 字 𠮷 \u2028 é`
    const request = { ...validRequest('seller/v3/pay/syncRefund'), reason } as RefundRequest
    expect(await signing.client().refunds.create(request)).toBe('2026112100000001')
    expect(await signing.client().orders.record({ outer_trade_no: OUTER_TRADE_NO })).toMatchObject({
      refund_amount: '12.30',
    })
    const { refunds } = await signing.control('GET', 'state')
    expect(refunds).toEqual([expect.objectContaining({ reason })])
  })

  test.each(others)('is not what a client with %s signs', async signAlgorithm => {
    const client = signing.client({ signAlgorithm })
    await expect(client.tokens.create()).rejects.toMatchObject({ platformCode: 1000210003 })
  })
})
