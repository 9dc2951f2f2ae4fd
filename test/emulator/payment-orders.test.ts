import { beforeEach, describe, expect, test } from 'vitest'
import { duringFile } from '../helpers/during.ts'
import { APP_ID, PlatformUnderTest } from './platform-under-test.ts'

const platform = duringFile(() => PlatformUnderTest.start())

beforeEach(() => platform.reset())

const list = async (query: Record<string, string> = {}) =>
  JSON.parse((await platform.call('enterprise/consume/list', query)).text)
const get = (query: Record<string, string>) => platform.call('enterprise/consume/get', query)
const numbers = (answer: { data_list: { trade_no: string }[] }) =>
  answer.data_list.map(order => order.trade_no)
const order = (number: number, more: object = {}) => ({
  trade_no: `T${String(number).padStart(15, '0')}`,
  total_amount: '10.00',
  ...more,
})

describe('the list', () => {
  test('is paged, newest first', async () => {
    const orders = Array.from({ length: 45 }, (_, index) =>
      order(index, { create_time: `2026-11-01 10:${String(index).padStart(2, '0')}:00` }),
    )
    await platform.control('POST', 'orders', orders)
    const newest = orders.map(each => each.trade_no).reverse()
    const first = await list()
    expect(first.total_count).toBe(45)
    expect(numbers(first)).toEqual(newest.slice(0, 20))
    expect(numbers(await list({ page_index: '3' }))).toEqual(newest.slice(40))
    expect(numbers(await list({ page_index: '2', page_size: '30' }))).toEqual(newest.slice(30))
    expect(await list({ page_index: '2147483647', page_size: '100' })).toEqual({
      total_count: 45,
      data_list: [],
    })
  })

  test('orders of one second have a fixed sequence, so that no page repeats one', async () => {
    const same = Array.from({ length: 7 }, (_, index) => order(index, { create_time: '2026-11-01 10:00:00' }))
    await platform.control('POST', 'orders', same)
    const pages = await Promise.all([1, 2, 3].map(page => list({ page_size: '3', page_index: String(page) })))
    expect(new Set(pages.flatMap(numbers)).size).toBe(7)
  })

  test('takes whole days of GMT+8, both included', async () => {
    await platform.control('POST', 'orders', [
      order(1, { create_time: '2026-10-31 23:59:59' }),
      order(2, { create_time: '2026-11-01 00:00:00' }),
      order(3, { create_time: '2026-11-02 23:59:59' }),
      order(4, { create_time: '2026-11-03 00:00:00' }),
    ])
    const days = async (time_start?: string, time_end?: string) => {
      const query = { ...(time_start && { time_start }), ...(time_end && { time_end }) }
      return numbers(await list(query)).map(number => Number(number.slice(1)))
    }
    expect(await days('2026-11-01', '2026-11-02')).toEqual([3, 2])
    expect(await days('2026-11-01')).toEqual([4, 3, 2])
    expect(await days(undefined, '2026-11-01')).toEqual([2, 1])
    expect(await days('2026-11-03', '2026-11-01')).toEqual([])
  })

  test('has service fees only when they are asked for', async () => {
    await platform.control('POST', 'orders', [order(1), order(2, { service_fee: true })])
    expect(await list()).toMatchObject({ total_count: 1 })
    expect(await list({ contain_fee_trade: '2' })).toMatchObject({ total_count: 1 })
    expect(await list({ contain_fee_trade: '1' })).toMatchObject({ total_count: 2 })
  })

  test('is that of one enterprise', async () => {
    await platform.control('POST', 'orders', [order(1), order(2, { enterprise_code: 'E1' })])
    expect(numbers(await list())).toEqual([order(1).trade_no])
    expect(numbers(await list({ enterprise_code: 'E1' }))).toEqual([order(2).trade_no])
    expect((await list({ enterprise_code: 'E2' })).code).toBe(1000240002)
  })

  test.each([
    [{ time_start: '2026-02-30' }, 'time_start'],
    [{ time_end: '20261101' }, 'time_end'],
    [{ contain_fee_trade: '3' }, 'contain_fee_trade'],
    [{ page_index: '0' }, 'page_index'],
    [{ page_size: '101' }, 'page_size'],
    [{ page_size: '0' }, 'page_size'],
    [{ enterprise_code: 'x'.repeat(21) }, 'enterprise_code'],
    [{ page_no: '1' }, 'page_no'],
  ])('%j is refused', async (query, name) => {
    expect(await list(query)).toMatchObject({
      code: 1000220002,
      msg: expect.stringContaining(name),
      data: null,
    })
  })
})

describe('a payment order', () => {
  test('has every field, amounts as numbers of two places', async () => {
    await platform.control('POST', 'orders', [
      order(1, {
        out_trade_no: '{appid}-1',
        userid: 'u1',
        payer_name: 'Ana',
        subject: 'Lunch',
        total_amount: 99999999.9,
        pay_amount: '0.1',
        create_time: '2026-11-01 10:00:00',
        pay_time: '2026-11-01 10:00:05',
        asset_code: 'QUOTA',
      }),
    ])
    const answer = await get({ trade_no: order(1).trade_no })
    expect(answer.data).toEqual({
      trade_no: order(1).trade_no,
      out_trade_no: `${APP_ID}-1`,
      userid: 'u1',
      payer_name: 'Ana',
      subject: 'Lunch',
      total_amount: 99999999.9,
      pay_amount: 0.1,
      refund_amount: 0,
      status: 3,
      create_time: '2026-11-01 10:00:00',
      pay_time: '2026-11-01 10:00:05',
      refund_time: null,
      assetCode: 'QUOTA',
    })
    expect(answer.text).toContain('"total_amount":99999999.90,"pay_amount":0.10,"refund_amount":0.00')
    expect((await list()).data_list).toEqual([answer.data])
  })

  test('of the new mall has its detail in the detail alone, down to the products', async () => {
    const product = { sku_code: 'S1', current_price: '12.5', deal_price: 12, purchase_num: 2 }
    const commerce_order_detail = {
      shop_order_code: 'M1',
      activity_type: 1,
      buyer_name: 'Ana',
      order_price: '24.00',
      trade_status: 4,
      order_list: [{ delivery_name: 'Ana', order_status: 7, order_price: 24, product_list: [product] }],
    }
    await platform.control('POST', 'orders', [order(1, { commerce_order_detail }), order(2)])
    const answer = await get({ trade_no: order(1).trade_no })
    expect(answer.data.commerce_order_detail).toMatchObject({
      ...commerce_order_detail,
      order_price: 24,
      remark: null,
      order_list: [
        {
          ...commerce_order_detail.order_list[0],
          time_closed: null,
          product_list: [{ ...product, current_price: 12.5, spu_code: null }],
        },
      ],
    })
    expect(answer.text).toContain('"current_price":12.50,"deal_price":12.00')
    expect((await get({ trade_no: order(2).trade_no })).data).not.toHaveProperty('commerce_order_detail')
    for (const listed of (await list()).data_list) expect(listed).not.toHaveProperty('commerce_order_detail')
  })

  test('that is not there, or belongs to another enterprise, is 1000220120', async () => {
    await platform.control('POST', 'orders', [order(1, { enterprise_code: 'E1' }), order(2)])
    const { trade_no } = order(1)
    expect((await get({ trade_no, enterprise_code: 'E1' })).code).toBe(0)
    expect((await get({ trade_no })).code).toBe(1000220120)
    expect((await get({ trade_no: 'T9' })).code).toBe(1000220120)
    expect((await get({ trade_no, enterprise_code: 'E2' })).code).toBe(1000240002)
    expect((await get({})).msg).toContain('trade_no is required')
    expect((await get({ trade_no: 'x'.repeat(17) })).code).toBe(1000220002)
  })
})

describe('paying through the control interface', () => {
  const out_trade_no = `${APP_ID}-1`
  beforeEach(() =>
    platform.control('POST', 'orders', [order(1, { out_trade_no, status: 1 }), order(2, { status: 2 })]),
  )

  test('completes an order, for both views', async () => {
    const pending = await get({ trade_no: order(1).trade_no })
    expect(pending.data).toMatchObject({ status: 1, pay_amount: 0, pay_time: null })
    await platform.control('POST', 'orders/pay', { out_trade_no })
    await platform.control('POST', 'orders/pay', { trade_no: order(2).trade_no })
    const paid = await get({ trade_no: order(1).trade_no })
    expect(paid.data).toMatchObject({ status: 3, pay_amount: 10, pay_time: expect.stringMatching(/^\d{4}-/) })
    expect((await get({ trade_no: order(2).trade_no })).data.status).toBe(3)
  })

  test.each([
    [{ trade_no: 'T9' }, 'no such order'],
    [{ out_trade_no: 'T9' }, 'no such order'],
    [{}, 'Invalid input'],
  ])('%j is refused', async (which, reason) => {
    await expect(platform.control('POST', 'orders/pay', which)).rejects.toThrow(reason)
  })

  test('is done once', async () => {
    await platform.control('POST', 'orders/pay', { out_trade_no })
    await expect(platform.control('POST', 'orders/pay', { out_trade_no })).rejects.toThrow('status 3')
  })
})

describe('answers in their two shapes', () => {
  beforeEach(() => platform.control('POST', 'orders', [order(1, { asset_code: 'CASH' })]))

  test.each([{}, { assetCode: 'asset_code', tradeNumber: 'outer_trade_no' }])(
    'an answer of enterprise/consume/get in the shape %j, put back, is the same',
    async shape => {
      await platform.control('POST', 'orders', [
        order(1, {
          out_trade_no: `${APP_ID}-1`,
          refund_amount: '2.50',
          refund_time: '2026-11-02 10:00:00',
          asset_code: 'QUOTA',
          commerce_order_detail: { order_price: 10, order_list: [{ product_list: [{ deal_price: 10 }] }] },
        }),
        order(2, { status: 1 }),
      ])
      await platform.control('POST', 'shapes', shape)
      const read = async () =>
        Promise.all([1, 2].map(async number => (await get({ trade_no: order(number).trade_no })).data))
      const answers = await read()
      await platform.reset()
      await platform.control('POST', 'orders', answers)
      await platform.control('POST', 'shapes', shape)
      expect(await read()).toEqual(answers)
    },
  )

  test('the list at the top level or under data', async () => {
    const top = await list()
    expect(top).toMatchObject({ total_count: 1, data_list: [{ assetCode: 'CASH' }] })
    expect(Object.keys(top)).toEqual(['total_count', 'data_list'])
    await platform.control('POST', 'shapes', { paymentOrderList: 'data', assetCode: 'asset_code' })
    const { data_list } = top
    const [{ assetCode, ...rest }] = data_list
    expect(await list()).toEqual({
      code: 0,
      msg: 'OK',
      data: { total_count: 1, data_list: [{ ...rest, asset_code: 'CASH' }] },
    })
    expect((await get({ trade_no: order(1).trade_no })).data).toMatchObject({ asset_code: 'CASH' })
    expect((await platform.control('GET', 'calls')).calls.at(-1).code).toBe(0)
  })

  test('the business number as out_trade_no or outer_trade_no', async () => {
    const { out_trade_no, ...rest } = (await list()).data_list[0]
    await platform.control('POST', 'shapes', { tradeNumber: 'outer_trade_no' })
    expect((await list()).data_list).toEqual([{ ...rest, outer_trade_no: out_trade_no }])
  })

  test('are told, and go back with a reset', async () => {
    const first = {
      paymentOrderList: 'top',
      orderRecord: 'object',
      assetCode: 'assetCode',
      tradeNumber: 'out_trade_no',
    }
    expect(await platform.control('GET', 'shapes')).toEqual(first)
    const changed = { ...first, orderRecord: 'trade_no' }
    expect(await platform.control('POST', 'shapes', { orderRecord: 'trade_no' })).toEqual(changed)
    await platform.reset()
    expect(await platform.control('GET', 'shapes')).toEqual(first)
    for (const body of [{ orderRecord: 'text' }, { order: 1 }, undefined]) {
      await expect(platform.control('POST', 'shapes', body)).rejects.toThrow('400')
    }
  })
})
