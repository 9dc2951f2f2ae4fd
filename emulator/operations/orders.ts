import { z } from 'zod'
import { BusinessError } from '../errors.ts'
import { amountNumber, date, decimal, enterpriseCode, integer, type ObjectSchema, text } from '../fields.ts'
import { defineOperation } from '../operation.ts'
import { commerceOrderAnswer, ORDER_STATUS, type Order } from '../orders.ts'
import type { Shapes } from '../platform.ts'

/** Payment order list (section 4.7): by days of create_time in GMT+8, both included, newest first. */
export const listOrders = defineOperation({
  name: 'enterprise/consume/list',
  parameters: object =>
    object({
      enterprise_code: enterpriseCode,
      time_start: date.optional(),
      time_end: date.optional(),
      contain_fee_trade: integer(1, 2).default(2),
      page_index: integer(1, 2_147_483_647).default(1),
      page_size: integer(1, 100).default(20),
    }),
  perform(platform, query) {
    const { enterprise_code, time_start: from, time_end: to } = query
    platform.enterprises.require(enterprise_code)
    const filter = { enterpriseCode: enterprise_code, from, to, withFees: query.contain_fee_trade === 1 }
    const { total, orders } = platform.orders.page(filter, query.page_index, query.page_size)
    const data_list = orders.map(order => orderAnswer(order, platform.shapes))
    return { data: { total_count: total, data_list }, bare: platform.shapes.paymentOrderList === 'top' }
  },
})

/** Payment order detail (section 4.8). Only orders of the new mall have commerce_order_detail. */
export const getOrder = defineOperation({
  name: 'enterprise/consume/get',
  parameters: object =>
    object({
      enterprise_code: enterpriseCode,
      trade_no: text(1, 16),
    }),
  perform(platform, { enterprise_code, trade_no }) {
    platform.enterprises.require(enterprise_code)
    const order = platform.orders.find(trade_no)
    if (order?.enterprise_code !== enterprise_code) throw new BusinessError('paymentOrderMissing')
    const answer = orderAnswer(order, platform.shapes)
    if (order.commerce_order_detail === null) return { data: answer }
    return { data: { ...answer, commerce_order_detail: commerceOrderAnswer(order.commerce_order_detail) } }
  },
})

/** A payment order as both queries answer it (section 2.6), without the order of the new mall. */
function orderAnswer(order: Order, shapes: Shapes) {
  const { trade_no, out_trade_no, userid, payer_name, subject, status } = order
  return {
    trade_no,
    [shapes.tradeNumber]: out_trade_no,
    userid,
    payer_name,
    subject,
    total_amount: amountNumber(order.total_amount),
    pay_amount: amountNumber(order.pay_amount),
    refund_amount: amountNumber(order.refund_amount),
    status,
    create_time: order.create_time,
    pay_time: order.pay_time,
    refund_time: order.refund_time,
    [shapes.assetCode]: order.asset_code,
  }
}

/**
 * Query order by external trade number (section 4.11): an order that was paid, refunded since or not, and is of the enterprise
 * when one is named. The section lists no `enterprise_code`: a call without one is right in a group, too.
 */
export const getOrderRecord = defineOperation({
  name: 'seller/pay/record',
  parameters: object => object({ outer_trade_no: text(10, 30), enterprise_code: enterpriseCode }),
  perform(platform, { outer_trade_no, enterprise_code }) {
    platform.requireOwnNumber('outer_trade_no', outer_trade_no)
    if (enterprise_code !== '') platform.enterprises.require(enterprise_code)
    const order = platform.orders.requirePaid(outer_trade_no, enterprise_code)
    if (platform.shapes.orderRecord === 'trade_no') return { data: order.trade_no }
    return {
      data: {
        outer_trade_no,
        reason: order.reason,
        pay_amount: amountNumber(order.pay_amount),
        refund_amount: amountNumber(order.refund_amount),
        status: order.refund_amount === 0n ? 1 : 2,
        refund_time: order.refund_time,
        pay_time: order.pay_time,
      },
    }
  },
})

/**
 * The body of a refund (section 2.9). `tradeInfo` has the fields of both tables that the specification gives
 * it. All of its fields may be missing: the specification does not show which are required, except for the lists
 * that `isThirdOrders` calls for.
 */

const MAX = '99999999.99'
const MAX_INT = 2_147_483_647
const money = decimal('0.00', MAX).optional()
/** Of an amount that the specification gives no range. */
const anyMoney = decimal(`-${MAX}`, MAX).optional()
const place = text(0, 50).optional()
const category = text(0, 100).optional()
const number = text(1, 50).optional()

const goods = (object: ObjectSchema) =>
  object({
    skuCode: number,
    skuName: number,
    skuCateCode: category,
    skuCateDesc: category,
    sku2ndCateCode: category,
    sku2ndCateDesc: category,
    sku3rdCateCode: category,
    sku3rdCateDesc: category,
    quantity: integer(0, MAX_INT).optional(),
    price: anyMoney,
    taxRate: anyMoney,
    taxCode: number,
    taxUnit: text(1, 20).optional(),
    invoiceType: integer(1, 2).optional(),
    amount: anyMoney,
    gatAmount: anyMoney,
    costAmount: money,
    freight: anyMoney,
  })

const thirdOrder = (object: ObjectSchema) =>
  object({
    outerTradeNo: text(2, 50).optional(),
    thirdSubTradeNo: number,
    thirdSubRefundNo: number,
    thirdSubDeliveryFee: money,
    thirdSubRefundAmount: decimal('0.01', MAX).optional(),
    thirdSubCostAmount: money,
    goodsDetail: z.array(goods(object)).optional(),
  })

const tradeInfo = (object: ObjectSchema) =>
  object({
    provinceCode: place,
    provinceName: place,
    cityCode: place,
    cityName: place,
    locationCode: place,
    locationName: place,
    shopName: text(0, 100).optional(),
    shopPhone: place,
    shopAddress: text(0, 500).optional(),
    poiCateCode: category,
    poiCateDesc: category,
    poi2ndCateCode: category,
    poi2ndCateDesc: category,
    poi3rdCateCode: category,
    poi3rdCateDesc: category,
    recipientName: place,
    recipientPhone: place,
    recipientAddress: text(0, 500).optional(),
    thirdTradeNo: number,
    thirdRefundNo: number,
    thirdRefundAmount: decimal('0.01', MAX).optional(),
    thirdPayAmount: money,
    thirdCostAmount: money,
    thirdDeliveryFee: money,
    isThirdOrders: integer(1, 2).optional(),
    thirdOrders: z.array(thirdOrder(object)).optional(),
    goodsDetail: z.array(goods(object)).optional(),
  }).superRefine((info, context) => {
    const { isThirdOrders, thirdOrders, goodsDetail, thirdPayAmount, thirdCostAmount } = info
    const refuse = (field: string, message: string) =>
      context.addIssue({ code: 'custom', path: [field], message })
    if (isThirdOrders === 1 && !thirdOrders?.length) refuse('thirdOrders', 'is required with sub-orders')
    if (isThirdOrders === 2 && !goodsDetail?.length) refuse('goodsDetail', 'is required without sub-orders')
    const [paid, cost] = [thirdPayAmount, thirdCostAmount]
    if (paid !== undefined && cost !== undefined && paid !== cost)
      refuse('thirdCostAmount', 'must be equal to thirdPayAmount')
  })

/** An address that can be notified. */
const address = text(1, 254).refine(
  value => ['http:', 'https:'].includes(URL.parse(value)?.protocol ?? ''),
  'must be an http or https address',
)

/** Every name in camelCase and in snake_case; one name in both is refused. */
const refundFields = (object: ObjectSchema) =>
  z.preprocess(
    (body, context) => {
      const { value, repeated } = camelCaseNames(body)
      if (repeated)
        context.addIssue({ code: 'custom', path: [repeated], message: 'is given in both spellings' })
      return value
    },
    object({
      outerTradeNo: text(2, 50),
      outerRefundNo: text(2, 50),
      reason: text(1, 254),
      refundAmount: decimal('0.01', MAX),
      costAmount: money,
      deliveryFee: decimal('0.01', MAX).optional(),
      notifyUrl: address.optional(),
      tradeInfo: tradeInfo(object).optional(),
      enterpriseCode,
    }),
  )

function camelCaseNames(value: unknown): { value: unknown; repeated?: string | undefined } {
  let repeated: string | undefined
  const rename = (part: unknown): unknown => {
    if (Array.isArray(part)) return part.map(rename)
    if (typeof part !== 'object' || part === null) return part
    const renamed = new Map<string, unknown>()
    for (const [name, member] of Object.entries(part)) {
      const camel = name.replaceAll(/_([a-z0-9])/g, (_, letter) => letter.toUpperCase())
      if (renamed.has(camel)) repeated ??= camel
      renamed.set(camel, rename(member))
    }
    return Object.fromEntries(renamed)
  }
  return { value: rename(value), repeated }
}

/**
 * Refund an order (section 4.10), in parts as often as there is something left of what was paid. Checked in
 * this order:
 *
 * 1. 1000220002: types, limits and lists of the body; numbers that do not start with the application id
 * 2. 1000240002: enterprise_code
 * 3. 1000229001: the refund number is that of a refund that was carried out
 * 4. 1000220064: the order is not known (in that enterprise, when one is named) or was not paid
 * 5. 1000229002: the amount is more than what is left
 *
 * A refund of the rest makes the payment order refunded (6), a smaller one leaves it completed (3). The settlement
 * prices are read and forgotten. The notification follows when the refund is done.
 */
export const refundOrder = defineOperation({
  name: 'seller/v3/pay/syncRefund',
  encoding: 'json',
  parameters: refundFields,
  perform(platform, refund) {
    const { outerTradeNo, outerRefundNo, refundAmount, enterpriseCode, notifyUrl } = refund
    platform.requireOwnNumber('outerTradeNo', outerTradeNo)
    platform.requireOwnNumber('outerRefundNo', outerRefundNo)
    for (const [index, sub] of (refund.tradeInfo?.thirdOrders ?? []).entries()) {
      const name = `tradeInfo.thirdOrders.${index}.outerTradeNo`
      if (sub.outerTradeNo !== undefined) platform.requireOwnNumber(name, sub.outerTradeNo)
    }
    platform.enterprises.require(enterpriseCode)
    platform.refunds.requireFree(outerRefundNo)
    const order = platform.orders.requirePaid(outerTradeNo, enterpriseCode)
    const refunded = order.refund_amount + refundAmount
    if (refunded > order.pay_amount) throw new BusinessError('overdrawn')

    const time = platform.clock.timeText()
    platform.database.transaction(() => {
      platform.orders.put({
        ...order,
        refund_amount: refunded,
        refund_time: time,
        status: refunded === order.pay_amount ? ORDER_STATUS.refunded : ORDER_STATUS.completed,
      })
      platform.refunds.put({
        outer_refund_no: outerRefundNo,
        outer_trade_no: outerTradeNo,
        refund_amount: refundAmount,
        reason: refund.reason,
        refund_time: time,
      })
      if (notifyUrl === undefined) return
      platform.notifications.put({
        outer_refund_no: outerRefundNo,
        outer_trade_no: outerTradeNo,
        refund_amount: refundAmount,
        trade_no: order.trade_no,
        url: notifyUrl,
        state: 'pending',
        first_at: null,
        next_at: platform.clock.now(),
        attempts: [],
      })
    })
    platform.notifier.wake()
    return { data: order.trade_no }
  },
})
