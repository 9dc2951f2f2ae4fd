import { z } from 'zod'
import { amountNumber, amountText, parseAmount } from './amount.ts'

/** The order of the new mall behind a payment order (specification 2.6), as a seed gives it. */

const text = z.string().nullish().transform(orNull)
const code = z.int().nullish().transform(orNull)

/** A decimal as text or JSON number, kept as text of two places. */
const amount = z
  .union([z.string(), z.number()])
  .nullish()
  .transform((value, context) => {
    if (value === null || value === undefined) return null
    const cents = parseAmount(String(value))
    if (cents !== undefined) return amountText(cents)
    context.addIssue('must be a decimal with at most two places')
    return z.NEVER
  })

const product = z.strictObject({
  spu_code: text,
  spu_name: text,
  product_title: text,
  sku_code: text,
  sku_name: text,
  sku_pic_url: text,
  sku_category: text,
  current_price: amount,
  deal_price: amount,
  purchase_num: code,
})

const orderItem = z.strictObject({
  delivery_name: text,
  delivery_phone: text,
  address: text,
  order_price: amount,
  order_status: code,
  trade_status: code,
  time_created: text,
  time_delivery: text,
  time_delivery_end: text,
  time_closed: text,
  logistics_amount: amount,
  product_list: z.array(product).default([]),
})

export const commerceOrder = z.strictObject({
  shop_order_code: text,
  activity_type: code,
  buyer_name: text,
  order_price: amount,
  logistics_amount: amount,
  trade_status: code,
  trade_type: code,
  remark: text,
  cancel_order_reason_desc: text,
  order_list: z.array(orderItem).default([]),
})

const AMOUNTS = new Set(['order_price', 'logistics_amount', 'current_price', 'deal_price'])

/** What `consume/get` answers for the JSON text that is kept: the same, with its amounts as numbers. */
export function commerceOrderAnswer(kept: string): unknown {
  return JSON.parse(kept, (name, value) =>
    AMOUNTS.has(name) && value !== null ? amountNumber(parseAmount(value) ?? 0n) : value,
  )
}

function orNull<Value>(value: Value): NonNullable<Value> | null {
  return value ?? null
}
