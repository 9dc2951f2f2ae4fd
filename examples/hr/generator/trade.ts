import type { Pair, PlatformEmployee } from './people.ts'
import type { Random } from './random.ts'

/** Four weeks of payment orders, two or three a day; fixed days, since the seed is a file. */
const FIRST_DAY = '2026-10-24'
const DAYS = 28
const ORDERS = 60

/** The application id, which the emulator puts in. */
const APP_ID = '{appid}'
const STRANGERS = ['e19998', 'e19999']
const MALL = [7, 22, 37, 52]
const SERVICE_FEES = [15, 30, 45]
/** Payment order status of the orders that are not simply completed (3). */
const STATUS: Record<number, number> = { 4: 7, 12: 6, 33: 6, 57: 5, 58: 4, 59: 2, 60: 1 }
/** Orders of which a part was refunded, in per cent. */
const PARTLY: Record<number, number> = { 10: 50, 26: 20, 41: 75 }

const SUBJECTS = [
  { subject: 'Staff lunch', asset_code: 'QUOTA', least: 1500, range: 3000 },
  { subject: 'Taxi', asset_code: 'QUOTA', least: 900, range: 9000 },
  { subject: 'Bookshop', asset_code: 'POINT', least: 2000, range: 20_000 },
  { subject: 'Phone bill', asset_code: 'CASH', least: 5000, range: 5000 },
  { subject: 'Health check', asset_code: 'THIRD', least: 30_000, range: 60_000 },
]
const PRODUCTS = [
  { code: 'TEA', name: 'Green tea', title: 'Green tea, 100 g', category: 'tin', price: 5880 },
  { code: 'CUP', name: 'Cup', title: 'Cup with lid', category: 'white', price: 3990 },
  { code: 'LAMP', name: 'Desk lamp', title: 'Desk lamp, dimmable', category: 'black', price: 15_900 },
]

/**
 * The purchases of the sample employees; the payers are employees of E100 and E200, and two that HR does not know.
 */
export function tradeSeed(random: Random, people: Pair[]) {
  const employees = people.flatMap(pair => pair.platform ?? [])
  const orders = Array.from({ length: ORDERS }, (_, index) => order(index + 1, random, employees))
  const refunds = orders.flatMap(({ out_trade_no, refund_amount, refund_time }) =>
    out_trade_no !== undefined && refund_amount !== undefined && refund_time !== undefined
      ? [
          {
            outer_refund_no: out_trade_no.replace('-', '-R'),
            outer_trade_no: out_trade_no,
            refund_amount,
            reason: 'Returned',
            refund_time,
          },
        ]
      : [],
  )
  return { orders, refunds, accounts: ACCOUNTS, taxpayers: TAXPAYERS }
}

function order(n: number, random: Random, employees: PlatformEmployee[]) {
  const mall = MALL.includes(n)
  const fee = SERVICE_FEES.includes(n)
  const kind = random.pick(SUBJECTS)
  const products = mall ? PRODUCTS.slice(0, 1 + random.below(PRODUCTS.length)) : []
  const payer = n % 20 === 9 ? undefined : random.pick(employees)
  const total = mall
    ? products.reduce((sum, each, index) => sum + each.price * (index + 1), 0)
    : fee
      ? 200
      : kind.least + random.below(kind.range)
  const created = time(Math.floor(((n - 1) * DAYS) / ORDERS), 7 + random.below(14), random.below(3600))
  const status = STATUS[n] ?? 3
  const isPaid = status >= 3
  const percent = status === 6 ? 100 : PARTLY[n]
  const refunded = percent && Math.floor((total * percent) / 100)
  return {
    enterprise_code: payer?.enterprise_code ?? 'E100',
    trade_no: `${created.slice(0, 10).replaceAll('-', '')}${String(n).padStart(8, '0')}`,
    ...(!fee && { out_trade_no: `${APP_ID}-${1000 + n}` }),
    ...(fee
      ? {}
      : payer
        ? { userid: payer.userid, payer_name: payer.name }
        : { userid: STRANGERS[n % 40 === 9 ? 0 : 1] }),
    subject: fee ? 'Service fee' : mall ? 'New mall' : kind.subject,
    total_amount: amount(total),
    status,
    create_time: created,
    ...(isPaid && { pay_time: later(created, 5) }),
    ...(refunded && { refund_amount: amount(refunded), refund_time: later(created, 86_400) }),
    asset_code: mall || fee ? 'POINT' : kind.asset_code,
    ...(fee && { service_fee: true }),
    ...(mall && payer && { commerce_order_detail: mallOrder(n, created, total, products, payer) }),
  }
}

function mallOrder(
  n: number,
  created: string,
  total: number,
  products: typeof PRODUCTS,
  { name, mobile = '' }: PlatformEmployee,
) {
  const shipped = n !== MALL.at(-1)
  const states = shipped ? { order_status: 10, trade_status: 5 } : { order_status: 4, trade_status: 3 }
  return {
    shop_order_code: `M${1000 + n}`,
    activity_type: 1 + (n % 2),
    buyer_name: name,
    order_price: amount(total),
    logistics_amount: '0.00',
    trade_status: states.trade_status,
    trade_type: 2,
    remark: 'To the reception',
    order_list: [
      {
        delivery_name: name,
        delivery_phone: mobile,
        address: '1 Sample Street',
        order_price: amount(total),
        ...states,
        time_created: created,
        ...(shipped && { time_delivery: later(created, 86_400) }),
        time_delivery_end: later(created, 3 * 86_400),
        logistics_amount: '0.00',
        product_list: products.map((product, index) => ({
          spu_code: product.code,
          spu_name: product.name,
          product_title: product.title,
          sku_code: `${product.code}-1`,
          sku_name: product.name,
          sku_pic_url: `https://mall.example.com/${product.code.toLowerCase()}.jpg`,
          sku_category: product.category,
          current_price: amount(product.price + 500),
          deal_price: amount(product.price),
          purchase_num: index + 1,
        })),
      },
    ],
  }
}

const ACCOUNTS = [
  {
    enterprise_code: 'E100',
    account_openid: accountId(1),
    name: 'Welfare points',
    product_category: 1,
    balance: '125000.00',
    sub_limits: [
      { id: 101, name: 'Festivals' },
      { id: 102, name: 'Birthdays' },
      { id: 103, name: 'Anniversary', status: 2 },
    ],
  },
  {
    enterprise_code: 'E100',
    account_openid: accountId(2),
    name: 'Staff lunch',
    product_category: 2,
    balance: '8320.50',
    sub_limits: [{ id: 201, name: 'Canteen' }],
  },
  {
    enterprise_code: 'E100',
    account_openid: accountId(3),
    name: 'Taxi (old contract)',
    product_category: 3,
    balance: '0.00',
    status: 2,
  },
  {
    enterprise_code: 'E200',
    account_openid: accountId(4),
    name: 'Care',
    product_category: 112,
    balance: '990.05',
  },
]

const TAXPAYERS = [
  {
    enterprise_code: 'E100',
    identifier: '91000000SAMPLE0001',
    taxpayer_name: 'Sample Holding',
    taxpayer_nature: 1,
  },
  { enterprise_code: 'E100', identifier: '91000000SAMPLE0001', taxpayer_name: 'Sample Holding, branch' },
  { enterprise_code: 'E200', identifier: '91000000SAMPLE0002', taxpayer_name: 'Sample Trading', status: 2 },
]

function accountId(n: number): string {
  return `sample${String(n).padStart(26, '0')}`
}

function amount(cents: number): string {
  return (cents / 100).toFixed(2)
}

function time(day: number, hour: number, second: number): string {
  return text(Date.parse(`${FIRST_DAY}T00:00:00Z`) + ((day * 24 + hour) * 3600 + second) * 1000)
}

function later(from: string, seconds: number): string {
  return text(Date.parse(`${from.replace(' ', 'T')}Z`) + seconds * 1000)
}

function text(milliseconds: number): string {
  return new Date(milliseconds).toISOString().slice(0, 19).replace('T', ' ')
}
