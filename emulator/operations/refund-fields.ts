import { z } from 'zod'
import { decimal, integer, type ObjectSchema, text } from '../fields.ts'

/**
 * The body of a refund (specification 2.9). `tradeInfo` has the fields of both tables that the specification gives
 * it. All of its fields may be missing: the specification does not show which are required, except for the lists
 * that `isThirdOrders` calls for.
 */

const MAX = '99999999.99'
const MAX_INT = 2_147_483_647
const money = decimal('0.00', MAX).optional()
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
    price: money,
    taxRate: money,
    taxCode: number,
    taxUnit: text(1, 20).optional(),
    invoiceType: integer(1, 2).optional(),
    amount: money,
    gatAmount: money,
    costAmount: money,
    freight: money,
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
    if (thirdPayAmount !== undefined && thirdPayAmount !== thirdCostAmount) {
      refuse('thirdCostAmount', 'must be equal to thirdPayAmount')
    }
  })

/** An address that can be notified. */
const address = text(1, 254).refine(
  value => ['http:', 'https:'].includes(URL.parse(value)?.protocol ?? ''),
  'must be an http or https address',
)

/** Every name in camelCase and in snake_case; one name in both is refused. */
export const refundFields = (object: ObjectSchema) =>
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
      enterpriseCode: text(1, 20).default(''),
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
