import { beforeEach, describe, expect, test } from 'vitest'
import { duringFile } from '../helpers/during.ts'
import { APP_ID, PlatformUnderTest } from './platform-under-test.ts'

const platform = duringFile(() => PlatformUnderTest.start())

beforeEach(async () => {
  await platform.reset()
  await platform.control('POST', 'state', {
    accounts: [
      {
        account_openid: 'a1',
        name: 'Welfare',
        balance: '1234567890123.45',
        sub_limits: [
          { id: 1, name: 'North' },
          { id: 2, name: 'South', status: 2 },
        ],
      },
      { account_openid: 'a2', name: 'Lunch', product_category: 2, status: 2 },
      { enterprise_code: 'E1', account_openid: 'a1', name: 'Of E1', product_category: 107, balance: 0.5 },
    ],
    taxpayers: [
      { identifier: '91A', taxpayer_name: 'General', taxpayer_nature: 1 },
      { identifier: '91B', taxpayer_name: 'Small' },
      { identifier: '91B', taxpayer_name: 'Small, disabled', status: 2 },
      { enterprise_code: 'E1', identifier: '91B', taxpayer_name: 'Of E1' },
    ],
  })
})

describe('the limit accounts', () => {
  const list = (query: Record<string, string> = {}) => platform.call('assets/limit/enterprise/get', query)

  test('are all there, with balances of two places and sub-accounts where there are any', async () => {
    const answer = await list()
    expect(answer.data).toEqual([
      {
        account_openid: 'a1',
        name: 'Welfare',
        product_category: 1,
        balance: 1234567890123.45,
        status: 1,
        sub_limits: [
          { id: 1, name: 'North', status: 1 },
          { id: 2, name: 'South', status: 2 },
        ],
      },
      { account_openid: 'a2', name: 'Lunch', product_category: 2, balance: 0, status: 2 },
    ])
    expect(answer.text).toContain('"balance":1234567890123.45,')
    expect(answer.text).toContain('"balance":0.00,')
  })

  test('are asked for by enterprise and by id', async () => {
    expect((await list({ enterprise_code: 'E1' })).data).toMatchObject([{ name: 'Of E1', balance: 0.5 }])
    expect((await list({ account_openid: 'a2' })).data).toMatchObject([{ name: 'Lunch' }])
    expect((await list({ account_openid: 'a2', enterprise_code: 'E1' })).data).toEqual([])
    expect((await list({ enterprise_code: 'E2' })).code).toBe(1000240002)
    expect((await list({ account_openid: 'x'.repeat(33) })).code).toBe(1000220002)
  })
})

describe('the taxpayers', () => {
  const list = (query: Record<string, string>) => platform.call('taxpayer/findList', query)

  test('are those of an identifier and a nature, small-scale by default', async () => {
    expect((await list({ identifier: '91B' })).data).toEqual({
      total_count: 2,
      has_next: false,
      data_list: [
        { taxpayer_name: 'Small', identifier: '91B', taxpayer_nature: 2, status: 1 },
        { taxpayer_name: 'Small, disabled', identifier: '91B', taxpayer_nature: 2, status: 2 },
      ],
    })
    expect((await list({ identifier: '91A' })).data.total_count).toBe(0)
    expect((await list({ identifier: '91A', taxpayer_nature: '1' })).data.total_count).toBe(1)
    expect((await list({ identifier: '91B', taxpayer_name: 'Small' })).data.total_count).toBe(1)
    expect((await list({ identifier: '91B', enterprise_code: 'E1' })).data.data_list).toMatchObject([
      { taxpayer_name: 'Of E1' },
    ])
  })

  test('are paged, and say whether there are more', async () => {
    const names = Array.from({ length: 105 }, (_, index) => `n${String(index).padStart(3, '0')}`)
    await platform.control(
      'POST',
      'taxpayers',
      names.map(taxpayer_name => ({ identifier: 'many', taxpayer_name })),
    )
    const page = async (more: Record<string, string>) => {
      const { data } = await list({ identifier: 'many', ...more })
      return [data.total_count, data.has_next, data.data_list.length, data.data_list[0]?.taxpayer_name]
    }
    expect(await page({})).toEqual([105, true, 50, 'n000'])
    expect(await page({ page_no: '3' })).toEqual([105, false, 5, 'n100'])
    expect(await page({ page_no: '2', page_size: '100' })).toEqual([105, false, 5, 'n100'])
    expect(await page({ page_no: '7', page_size: '15' })).toEqual([105, false, 15, 'n090'])
    expect(await page({ page_no: '8', page_size: '15' })).toEqual([105, false, 0, undefined])
  })

  test.each([
    [{}, 'identifier is required'],
    [{ identifier: 'x'.repeat(46) }, 'identifier'],
    [{ identifier: '91B', taxpayer_nature: '3' }, 'taxpayer_nature'],
    [{ identifier: '91B', page_no: '0' }, 'page_no'],
    [{ identifier: '91B', page_size: '101' }, 'page_size'],
    [{ identifier: '91B', page_index: '1' }, 'page_index'],
  ])('%j is refused', async (query, message) => {
    expect(await list(query)).toMatchObject({ code: 1000220002, msg: expect.stringContaining(message) })
  })
})

describe('a top-up application', () => {
  const external_code = `${APP_ID}-topup-1`
  const application = {
    account_openid: 'a1',
    amount: '1000.5',
    service_provider: '1',
    external_code,
    identifier: '91A',
  }
  const apply = (more: Record<string, string> = {}) => {
    const all = Object.entries({ ...application, ...more }).filter(([, value]) => value !== '')
    return platform.call('enterprise/account/applyCharge', Object.fromEntries(all))
  }
  const topups = async () => (await platform.control('GET', 'state')).topups

  test('is kept, with an open id, and leaves the balance', async () => {
    const before = await platform.control('GET', 'state')
    const answer = await apply({
      email: 'finance@example.com',
      mobile: '13800000001',
      applicant_name: 'Ana',
      taxpayer: 'General',
      remark: 'x',
      invoice_extr_remark: 'y',
      invoice_remark: 'z',
    })
    expect(answer.data).toEqual({
      apply_charge_openid: expect.stringMatching(/^[0-9a-f]{32}$/),
      external_code,
    })
    expect(await platform.control('GET', 'state')).toEqual({
      ...before,
      topups: [
        {
          ...answer.data,
          enterprise_code: '',
          account_openid: 'a1',
          amount: '1000.50',
          time_created: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/),
        },
      ],
    })
  })

  test('of a number that was used is refused, even when its answer was lost', async () => {
    await platform.control('POST', 'faults', {
      operation: 'enterprise/account/applyCharge',
      loseAnswer: true,
      times: 1,
    })
    await expect(apply()).rejects.toThrow('fetch failed')
    expect((await apply({ amount: '1' })).code).toBe(1000229003)
    expect(await topups()).toMatchObject([{ amount: '1000.50' }])
    expect((await apply({ external_code: `${APP_ID}-topup-2` })).code).toBe(0)
  })

  test('may be of any amount: the specification has no highest one', async () => {
    expect((await apply({ amount: '999999999999.99' })).code).toBe(0)
    expect(await topups()).toMatchObject([{ amount: '999999999999.99' }])
  })

  test('with service_provider 0 is paid in the default way', async () => {
    expect((await apply({ service_provider: '0' })).code).toBe(0)
    expect(await topups()).toMatchObject([{ external_code }])
  })

  test('is for a taxpayer that is known and not disabled', async () => {
    const codes = async (more: Record<string, string>) => (await apply({ identifier: '', ...more })).code
    expect(await codes({ taxpayer: 'Small, disabled' })).toBe(1000220002)
    expect(await codes({ taxpayer: 'Nobody' })).toBe(1000220002)
    expect(await codes({ identifier: '91X' })).toBe(1000220002)
    expect(await codes({ taxpayer: 'General', identifier: '91B' })).toBe(1000220002)
    expect(await codes({ taxpayer: 'Of E1' })).toBe(1000220002)
    expect(await codes({ taxpayer: 'Small', identifier: '91B' })).toBe(0)
    const other = { external_code: `${APP_ID}-topup-2`, taxpayer: 'Of E1', enterprise_code: 'E1' }
    expect(await codes(other)).toBe(0)
  })

  test('for an account and a taxpayer of which the platform holds none is checked by its form alone', async () => {
    const { enterprise_code, ...single } = { ...application, enterprise_code: 'E3' }
    await platform.reset()
    expect((await platform.call('enterprise/account/applyCharge', single)).code).toBe(0)
    // What other enterprises hold does not matter, and accounts do not matter to taxpayers.
    await platform.control('POST', 'state', {
      enterprises: [{ enterprise_code }],
      accounts: [{ account_openid: 'a2', name: 'Lunch' }],
      taxpayers: [{ enterprise_code: 'E1', identifier: '91B', taxpayer_name: 'Of E1' }],
    })
    expect((await apply({ external_code: `${APP_ID}-topup-2`, enterprise_code })).code).toBe(0)
    expect(await apply({ external_code: `${APP_ID}-topup-3` })).toMatchObject({
      code: 1000220002,
      msg: expect.stringContaining('account_openid'),
    })
    expect((await apply({ external_code: `${APP_ID}-topup-3`, account_openid: 'a2' })).code).toBe(0)
  })

  test.each([
    [{ external_code: 'x'.repeat(30) }, 'external_code must start with the application id'],
    [{ external_code: `${APP_ID}${'x'.repeat(69)}` }, 'external_code must have 30 to 100'],
    [{ external_code: '' }, 'external_code is required'],
    [{ identifier: '' }, 'one of taxpayer and identifier is required'],
    [{ identifier: 'x'.repeat(46) }, 'identifier'],
    [{ taxpayer: 'x'.repeat(101) }, 'taxpayer'],
    [{ account_openid: 'a2' }, 'account_openid is that of no valid account'],
    [{ account_openid: 'a9' }, 'account_openid is that of no valid account'],
    [{ account_openid: '' }, 'account_openid is required'],
    [{ amount: '0' }, 'amount'],
    [{ amount: '1.001' }, 'amount'],
    [{ amount: '-1' }, 'amount'],
    [{ amount: '1e3' }, 'amount'],
    [{ amount: '' }, 'amount is required'],
    [{ service_provider: '' }, 'service_provider is required'],
    [{ service_provider: 'bank' }, 'service_provider'],
    [{ service_provider: '-1' }, 'service_provider'],
    [{ mobile: '2025550100' }, 'mobile must be a mainland mobile number'],
    [{ mobile: '+8613800000001' }, 'mobile'],
    [{ remark: 'x'.repeat(151) }, 'remark'],
    [{ invoice_remark: 'x'.repeat(151) }, 'invoice_remark'],
    [{ refund: '1' }, 'unknown parameter refund'],
  ])('with %j is refused', async (more, message) => {
    expect(await apply(more)).toMatchObject({ code: 1000220002, msg: expect.stringContaining(message) })
    expect(await topups()).toEqual([])
  })

  test('of an enterprise that is not bound is refused', async () => {
    expect((await apply({ enterprise_code: 'E2' })).code).toBe(1000240002)
  })
})

describe('the seed', () => {
  test('of everything, put back, is the same', async () => {
    await platform.control('POST', 'orders', [
      {
        trade_no: 'T1',
        out_trade_no: '{appid}-1',
        total_amount: 12.3,
        commerce_order_detail: { order_price: 12.3, order_list: [{ product_list: [{ deal_price: '1' }] }] },
      },
      { trade_no: 'T2', total_amount: '1', pay_time: null, service_fee: true },
    ])
    await platform.control('POST', 'refunds', [
      { outer_refund_no: '{appid}-r', outer_trade_no: '{appid}-1', refund_amount: '1' },
    ])
    await platform.control('POST', 'topups', [
      { external_code: '{appid}-t', account_openid: 'a1', amount: '1' },
    ])
    const state = await platform.control('GET', 'state')
    expect(state.orders).toMatchObject([
      { out_trade_no: `${APP_ID}-1`, total_amount: '12.30', pay_amount: '12.30', status: 3 },
      { out_trade_no: null, pay_time: null },
    ])
    expect(state.refunds[0].outer_refund_no).toBe(`${APP_ID}-r`)
    await platform.reset()
    await platform.control('POST', 'state', state)
    expect(await platform.control('GET', 'state')).toEqual(state)
  })

  test.each([
    ['orders', [{ trade_no: 'T1' }], 'orders.0.total_amount'],
    ['orders', [{ trade_no: 'T1', total_amount: '1.234' }], 'orders.0.total_amount'],
    ['orders', [{ trade_no: 'T1', total_amount: '1', create_time: '2026-11-01' }], 'orders.0.create_time'],
    ['orders', [{ trade_no: 'T1', total_amount: '1', colour: 'red' }], 'colour'],
    [
      'orders',
      [
        { trade_no: 'T1', total_amount: '1', out_trade_no: 'o' },
        { trade_no: 'T2', total_amount: '1', out_trade_no: 'o' },
      ],
      'out_trade_no is held by order T1',
    ],
    [
      'orders',
      [{ trade_no: 'T1', total_amount: '1', commerce_order_detail: { order_price: 'x' } }],
      'orders.0.commerce_order_detail.order_price',
    ],
    ['accounts', [{ name: 'x' }], 'accounts.0.account_openid'],
    ['accounts', [{ account_openid: 'a', name: 'x', sub_limits: [{}] }], 'accounts.0.sub_limits.0.id'],
    ['taxpayers', [{ identifier: 'x' }], 'taxpayers.0.taxpayer_name'],
    ['refunds', [{ outer_refund_no: 'r' }], 'refunds.0.outer_trade_no'],
    ['topups', [{ external_code: 'x', account_openid: 'a' }], 'topups.0.amount'],
  ])('of wrong %s is refused as a whole: %j', async (what, items, reason) => {
    const before = await platform.control('GET', 'state')
    await expect(platform.control('POST', what, items)).rejects.toThrow(reason)
    expect(await platform.control('GET', 'state')).toEqual(before)
  })
})
