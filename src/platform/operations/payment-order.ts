import { z } from 'zod'
import { worded } from '../../texts/message.ts'
import {
  date,
  decimalOrNull,
  enterpriseCode,
  externalNumber,
  listOrNull,
  text,
  textOrNull,
  timeOrNull,
  whole,
  wholeOf,
  wholeOrNull,
} from '../fields.ts'
import { defineOperation, foreignNumbers, isAsked } from '../operation.ts'

const MOST_PAGES = 2_147_483_647

/** The fields of a payment order in both list and detail (section 2.6). States: `states.ts`. */
const orderFields = {
  trade_no: textOrNull,
  out_trade_no: textOrNull,
  /** Another spelling of `out_trade_no`. */
  outer_trade_no: textOrNull,
  userid: textOrNull,
  payer_name: textOrNull,
  subject: textOrNull,
  total_amount: decimalOrNull,
  pay_amount: decimalOrNull,
  refund_amount: decimalOrNull,
  status: wholeOrNull,
  create_time: timeOrNull,
  pay_time: timeOrNull,
  refund_time: timeOrNull,
  assetCode: textOrNull,
  /** The examples' spelling of `assetCode`. */
  asset_code: textOrNull,
}

const paymentOrder = z.object(orderFields).transform(withOneSpelling)

const product = z.object({
  spu_code: textOrNull,
  spu_name: textOrNull,
  product_title: textOrNull,
  sku_code: textOrNull,
  sku_name: textOrNull,
  sku_pic_url: textOrNull,
  sku_category: textOrNull,
  current_price: decimalOrNull,
  deal_price: decimalOrNull,
  purchase_num: wholeOrNull,
})

const orderItem = z.object({
  delivery_name: textOrNull,
  delivery_phone: textOrNull,
  address: textOrNull,
  order_price: decimalOrNull,
  order_status: wholeOrNull,
  trade_status: wholeOrNull,
  time_created: timeOrNull,
  time_delivery: timeOrNull,
  time_delivery_end: timeOrNull,
  time_closed: timeOrNull,
  logistics_amount: decimalOrNull,
  product_list: listOrNull(product),
})

const commerceOrderDetail = z.object({
  shop_order_code: textOrNull,
  activity_type: wholeOrNull,
  buyer_name: textOrNull,
  order_price: decimalOrNull,
  logistics_amount: decimalOrNull,
  trade_status: wholeOrNull,
  trade_type: wholeOrNull,
  remark: textOrNull,
  cancel_order_reason_desc: textOrNull,
  order_list: listOrNull(orderItem),
})

/** One page of payment orders (section 4.7). */
export const paymentOrderList = defineOperation({
  name: 'enterprise/consume/list',
  idempotent: true,
  decimals: true,
  bareAnswer: true,
  request: z.strictObject({
    enterprise_code: enterpriseCode.optional(),
    time_start: date.optional(),
    time_end: date.optional(),
    contain_fee_trade: wholeOf([1, 2], worded('said.must_be_fee_trade')).optional(),
    page_index: whole(1, MOST_PAGES).optional(),
    page_size: whole(1, 100).optional(),
  }),
  /** Null is not the same as no orders, as of limit accounts. */
  response: z
    .object({ total_count: wholeOrNull, data_list: z.array(paymentOrder).nullable() })
    .nullable()
    .transform(page => page ?? { total_count: null, data_list: null }),
})

/** One payment order with its e-commerce detail, if it is one of the new mall (section 4.8). */
export const paymentOrderGet = defineOperation({
  name: 'enterprise/consume/get',
  idempotent: true,
  decimals: true,
  request: z.strictObject({ trade_no: text(16), enterprise_code: enterpriseCode.optional() }),
  response: z
    .object({
      ...orderFields,
      /** Some back ends write "empty" as an empty text or list. */
      commerce_order_detail: z
        .union([commerceOrderDetail, z.literal(''), z.tuple([])])
        .nullish()
        .transform(detail => (typeof detail === 'object' && !Array.isArray(detail) ? detail : null)),
    })
    .transform(withOneSpelling),
  isAbout: ({ trade_no }, order) => isAsked(trade_no, order.trade_no),
})

interface DoubleSpellings {
  assetCode: string | null
  asset_code: string | null
  out_trade_no: string | null
  outer_trade_no: string | null
}

function withOneSpelling<Order extends DoubleSpellings>(
  order: Order,
): Omit<Order, 'asset_code' | 'outer_trade_no'> {
  const { asset_code, outer_trade_no, ...rest } = order
  return {
    ...rest,
    assetCode: rest.assetCode ?? asset_code,
    out_trade_no: rest.out_trade_no ?? outer_trade_no,
  }
}

export type PaymentOrderPageQuery = z.input<typeof paymentOrderList.request>
export type PaymentOrderQuery = z.input<typeof paymentOrderGet.request>

/** Amounts are decimal texts; missing values are null. */
export type PaymentOrder = z.output<typeof paymentOrder>
export type PaymentOrderAnswer = z.output<typeof paymentOrderList.response>
/** The same, empty where the platform says null. */
export type PaymentOrderPage = Omit<PaymentOrderAnswer, 'data_list'> & { data_list: PaymentOrder[] }
export type PaymentOrderDetail = z.output<typeof paymentOrderGet.response>

const orderRecord = z.object({
  outer_trade_no: textOrNull,
  reason: textOrNull,
  pay_amount: decimalOrNull,
  refund_amount: decimalOrNull,
  status: wholeOrNull,
  refund_time: timeOrNull,
  pay_time: timeOrNull,
})

/** A merchant's order by its external trade number (section 4.11). */
export const orderRecordGet = defineOperation({
  name: 'seller/pay/record',
  idempotent: true,
  decimals: true,
  request: z.strictObject({
    outer_trade_no: externalNumber(30, 10),
    enterprise_code: enterpriseCode.optional(),
  }),
  /** The record of section 2.8, or the bare trade number that the description promises. */
  response: z.union([orderRecord, z.string().min(1), z.number().transform(String)]),
  isAbout: ({ outer_trade_no }, record) =>
    typeof record === 'string' || isAsked(outer_trade_no, record.outer_trade_no),
  check: ({ outer_trade_no }, { appId }) => foreignNumbers(appId, { outer_trade_no }),
})

export type OrderRecordQuery = z.input<typeof orderRecordGet.request>
export type OrderRecord = z.output<typeof orderRecord>
