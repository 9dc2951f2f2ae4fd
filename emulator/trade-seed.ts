import { z } from 'zod'
import { amountText } from './amount.ts'
import { commerceOrder } from './commerce-order.ts'
import { ControlError } from './control-error.ts'
import { ORDER_STATUS, type Order } from './orders.ts'
import type { Platform } from './platform.ts'
import { amount, enterpriseCode, optionalText, time } from './seed-values.ts'
import { applicationOpenId } from './topups.ts'

/** The part of a seed that has to do with money: orders, refunds, accounts, top-ups and taxpayers. */

/** Where a number begins with this, the application id of the platform takes its place. */
const APP_ID = '{appid}'

const number = z.string().min(1)

const order = z.strictObject({
  enterprise_code: enterpriseCode,
  trade_no: number,
  out_trade_no: optionalText,
  userid: optionalText,
  payer_name: optionalText,
  subject: optionalText,
  reason: optionalText,
  total_amount: amount,
  pay_amount: amount.optional(),
  refund_amount: amount.default(0n),
  status: z.int().default(ORDER_STATUS.completed),
  create_time: time.optional(),
  pay_time: time.nullish(),
  refund_time: time.nullish(),
  asset_code: z.string().default('POINT'),
  service_fee: z.boolean().default(false),
  commerce_order_detail: commerceOrder.nullish(),
})

const refund = z.strictObject({
  outer_refund_no: number,
  outer_trade_no: number,
  refund_amount: amount,
  reason: optionalText,
  refund_time: time.optional(),
})

const account = z.strictObject({
  enterprise_code: enterpriseCode,
  account_openid: number,
  name: z.string(),
  product_category: z.int().default(1),
  balance: amount.default(0n),
  status: z.int().default(1),
  sub_limits: z
    .array(z.strictObject({ id: z.int(), name: z.string(), status: z.int().default(1) }))
    .nullish()
    .transform(list => list ?? null),
})

const topup = z.strictObject({
  enterprise_code: enterpriseCode,
  external_code: number,
  account_openid: number,
  amount,
  apply_charge_openid: number.optional(),
  time_created: time.optional(),
})

const taxpayer = z.strictObject({
  enterprise_code: enterpriseCode,
  identifier: number,
  taxpayer_name: z.string().min(1),
  taxpayer_nature: z.int().default(2),
  status: z.int().default(1),
})

export const TRADE_SEED = {
  orders: z.array(order).default([]),
  refunds: z.array(refund).default([]),
  accounts: z.array(account).default([]),
  topups: z.array(topup).default([]),
  taxpayers: z.array(taxpayer).default([]),
}

const tradeSeed = z.object(TRADE_SEED)

type TradeSeed = z.output<typeof tradeSeed>

/**
 * Adds this part of a seed. A paid order that does not say otherwise was paid in full when it was created, and a
 * time that is left out is the platform's present one.
 */
export function putTrade(platform: Platform, seed: TradeSeed): void {
  const own = (text: string) => (text.startsWith(APP_ID) ? platform.appId + text.slice(APP_ID.length) : text)
  const now = platform.clock.timeText()
  for (const item of [...seed.orders, ...seed.accounts, ...seed.topups, ...seed.taxpayers]) {
    if (item.enterprise_code !== '') platform.enterprises.register(item.enterprise_code)
  }
  for (const item of seed.orders) {
    const out_trade_no = item.out_trade_no && own(item.out_trade_no)
    const holder = out_trade_no ? platform.orders.findOuter(out_trade_no) : undefined
    if (holder !== undefined && holder.trade_no !== item.trade_no) {
      throw new ControlError(`order ${item.trade_no}: out_trade_no is held by order ${holder.trade_no}`)
    }
    platform.orders.put(withDefaults({ ...item, out_trade_no }, now))
  }
  for (const item of seed.refunds) {
    const { outer_refund_no, outer_trade_no, refund_time = now } = item
    const numbers = { outer_refund_no: own(outer_refund_no), outer_trade_no: own(outer_trade_no) }
    platform.refunds.put({ ...item, ...numbers, refund_time })
  }
  for (const item of seed.accounts) platform.accounts.put(item)
  for (const item of seed.topups) {
    const external_code = own(item.external_code)
    const { apply_charge_openid = applicationOpenId(external_code), time_created = now } = item
    platform.topups.put({ ...item, external_code, apply_charge_openid, time_created })
  }
  for (const item of seed.taxpayers) platform.taxpayers.put(item)
}

/** The orders, refunds, accounts, top-ups and taxpayers of the platform in the seed format. */
export function currentTrade(platform: Platform) {
  return {
    orders: platform.orders.list().map(({ commerce_order_detail: detail, ...item }) => ({
      ...item,
      total_amount: amountText(item.total_amount),
      pay_amount: amountText(item.pay_amount),
      refund_amount: amountText(item.refund_amount),
      commerce_order_detail: detail === null ? null : JSON.parse(detail),
    })),
    refunds: platform.refunds
      .list()
      .map(item => ({ ...item, refund_amount: amountText(item.refund_amount) })),
    accounts: platform.accounts.list().map(item => ({ ...item, balance: amountText(item.balance) })),
    topups: platform.topups.list().map(item => ({ ...item, amount: amountText(item.amount) })),
    taxpayers: platform.taxpayers.list(),
  }
}

function withDefaults(item: z.output<typeof order>, now: string): Order {
  const isPaid = item.status >= ORDER_STATUS.completed
  const create_time = item.create_time ?? now
  return {
    ...item,
    pay_amount: item.pay_amount ?? (isPaid ? item.total_amount : 0n),
    create_time,
    pay_time: item.pay_time === undefined && isPaid ? create_time : (item.pay_time ?? null),
    refund_time: item.refund_time ?? null,
    commerce_order_detail: item.commerce_order_detail ? JSON.stringify(item.commerce_order_detail) : null,
  }
}
