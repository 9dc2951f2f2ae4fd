import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Emulator, startEmulator } from '../../emulator/emulator.ts'
import { controlOf } from '../helpers/emulator-control.ts'
import { type Seed, sampleJson } from './sample.ts'

/** The orders, accounts and taxpayers of the sample, as the emulator holds them. */

interface Order {
  enterprise_code: string
  trade_no: string
  out_trade_no: string | null
  userid: string | null
  payer_name: string | null
  pay_amount: string
  total_amount: string
  refund_amount: string
  status: number
  create_time: string
  service_fee: boolean
  commerce_order_detail: {
    order_price: string
    order_list: { product_list: { deal_price: string; purchase_num: number }[] }[]
  } | null
}

const APP_ID = 'demo-application'
let emulator: Emulator
let employees: Seed['employees']
let orders: Order[]
// biome-ignore lint/suspicious/noExplicitAny: the parts of a control answer
let state: any

beforeAll(async () => {
  const seed = await sampleJson<Seed>('platform.json')
  employees = seed.employees
  emulator = await startEmulator({ strict: true, appId: APP_ID, appSecret: 'secret', seed })
  state = await controlOf(emulator.url)('GET', 'state')
  orders = state.orders
})
afterAll(() => emulator?.close())

test('there are sixty orders of four weeks, each number once', () => {
  expect(orders).toHaveLength(60)
  expect(orders.filter(order => !/^\d{16}$/.test(order.trade_no))).toEqual([])
  const days = orders.map(order => order.create_time.slice(0, 10)).sort()
  expect([days[0], days.at(-1)]).toEqual(['2026-10-24', '2026-11-20'])
  expect(new Set(orders.map(order => order.enterprise_code))).toEqual(new Set(['E100', 'E200']))
})

test('every order but a service fee has an external number that can be asked for', () => {
  expect(orders.filter(order => order.service_fee)).toHaveLength(3)
  for (const { service_fee, out_trade_no } of orders) {
    if (service_fee) expect(out_trade_no).toBeNull()
    else expect(out_trade_no).toMatch(new RegExp(`^${APP_ID}-1\\d{3}$`))
  }
})

test('the payers are employees of the sample, but for two whom HR does not know', () => {
  const names = new Map(
    employees.map(({ enterprise_code, userid, name }) => [`${enterprise_code}/${userid}`, name]),
  )
  const paid = orders.filter(order => !order.service_fee)
  const strangers = paid.filter(order => !names.has(`${order.enterprise_code}/${order.userid}`))
  expect(strangers.map(order => order.userid)).toEqual(['e19998', 'e19999', 'e19998'])
  for (const order of paid) {
    expect(order.payer_name ?? undefined).toBe(names.get(`${order.enterprise_code}/${order.userid}`))
  }
})

test('amounts agree: what was paid, what was refunded, and what the products of the mall cost', () => {
  const cents = (text: string) => Math.round(Number(text) * 100)
  const refunds = new Map<string, string>(
    state.refunds.map((refund: { outer_trade_no: string; refund_amount: string }) => [
      refund.outer_trade_no,
      refund.refund_amount,
    ]),
  )
  expect(refunds.size).toBe(5)
  for (const order of orders) {
    expect(order.pay_amount).toBe(order.status >= 3 ? order.total_amount : '0.00')
    expect(order.refund_amount).toBe(refunds.get(order.out_trade_no ?? '') ?? '0.00')
    expect(order.status === 6).toBe(order.refund_amount === order.total_amount)
  }
  const mall = orders.flatMap(order => order.commerce_order_detail ?? [])
  expect(mall).toHaveLength(4)
  for (const { order_price, order_list } of mall) {
    const products = order_list.flatMap(item => item.product_list)
    const sum = products.reduce((total, each) => total + cents(each.deal_price) * each.purchase_num, 0)
    expect(sum).toBe(cents(order_price))
  }
})

test('every status of a payment order occurs', () => {
  expect([...new Set(orders.map(order => order.status))].sort()).toEqual([1, 2, 3, 4, 5, 6, 7])
})

test('there are four accounts and three taxpayers', () => {
  expect(state.accounts.map((account: { status: number }) => account.status)).toEqual([1, 1, 2, 1])
  for (const { account_openid } of state.accounts) expect(account_openid).toHaveLength(32)
  expect(state.taxpayers).toMatchObject([
    { taxpayer_nature: 1, status: 1 },
    { taxpayer_nature: 2, status: 1 },
    { taxpayer_nature: 2, status: 2 },
  ])
})
