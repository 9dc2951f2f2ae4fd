import { z } from 'zod'
import { compareDecimals } from '../../core/decimal.ts'
import { decimal, externalNumber, text, whole, wholeOf } from '../fields.ts'

/** The order information of a refund (section 2.9): both of its tables in one object. */

const LIST = 'must be a list'
const OBJECT = 'must be an object'
export const MOST_MONEY = '99999999.99'
const MOST_INTEGER = 2_147_483_647

/** decimal (10,2) without a limit of its own. */
const decimal10 = decimal(`-${MOST_MONEY}`, MOST_MONEY)
const cost = decimal('0.00', MOST_MONEY)
const paid = decimal('0.01', MOST_MONEY)

const goods = z.strictObject(
  {
    skuCode: text(50).optional(),
    skuName: text(50).optional(),
    skuCateCode: text(100).optional(),
    skuCateDesc: text(100).optional(),
    sku2ndCateCode: text(100).optional(),
    sku2ndCateDesc: text(100).optional(),
    sku3rdCateCode: text(100).optional(),
    sku3rdCateDesc: text(100).optional(),
    quantity: whole(0, MOST_INTEGER).optional(),
    price: decimal10.optional(),
    taxRate: decimal10.optional(),
    taxCode: text(50).optional(),
    taxUnit: text(20).optional(),
    invoiceType: wholeOf([1, 2], '1 (ordinary invoice) or 2 (special invoice)').optional(),
    amount: decimal10.optional(),
    gatAmount: decimal10.optional(),
    costAmount: cost.optional(),
    freight: decimal10.optional(),
  },
  OBJECT,
)

const thirdOrder = z.strictObject(
  {
    outerTradeNo: externalNumber(50, 2).optional(),
    thirdSubTradeNo: text(50).optional(),
    thirdSubRefundNo: text(50).optional(),
    thirdSubDeliveryFee: cost.optional(),
    thirdSubRefundAmount: paid.optional(),
    thirdSubCostAmount: cost.optional(),
    goodsDetail: z.array(goods, LIST).optional(),
  },
  OBJECT,
)

export const tradeInfo = z
  .strictObject(
    {
      provinceCode: text(50).optional(),
      provinceName: text(50).optional(),
      cityCode: text(50).optional(),
      cityName: text(50).optional(),
      locationCode: text(50).optional(),
      locationName: text(50).optional(),
      shopName: text(100).optional(),
      shopPhone: text(50).optional(),
      shopAddress: text(500).optional(),
      poiCateCode: text(100).optional(),
      poiCateDesc: text(100).optional(),
      poi2ndCateCode: text(100).optional(),
      poi2ndCateDesc: text(100).optional(),
      poi3rdCateCode: text(100).optional(),
      poi3rdCateDesc: text(100).optional(),
      recipientName: text(50).optional(),
      recipientPhone: text(50).optional(),
      recipientAddress: text(500).optional(),
      thirdTradeNo: text(50).optional(),
      thirdRefundNo: text(50).optional(),
      thirdRefundAmount: paid.optional(),
      /** In no table of the specification; it names the field in the rule of the rebate mode. */
      thirdPayAmount: cost.optional(),
      thirdCostAmount: cost.optional(),
      thirdDeliveryFee: cost.optional(),
      isThirdOrders: wholeOf([1, 2], '1 (has sub-orders) or 2 (none)').optional(),
      thirdOrders: z.array(thirdOrder, LIST).optional(),
      goodsDetail: z.array(goods, LIST).optional(),
    },
    OBJECT,
  )
  .refine(info => info.isThirdOrders !== 1 || Boolean(info.thirdOrders?.length), {
    path: ['thirdOrders'],
    message: 'is required with sub-orders (isThirdOrders 1)',
  })
  .refine(info => info.isThirdOrders !== 2 || Boolean(info.goodsDetail?.length), {
    path: ['goodsDetail'],
    message: 'is required without sub-orders (isThirdOrders 2)',
  })
  .refine(
    ({ thirdPayAmount: pay, thirdCostAmount: cost }) =>
      // One that has a problem of its own arrives here as it was given.
      !pay?.rawJSON || !cost?.rawJSON || compareDecimals(pay.rawJSON, cost.rawJSON) === 0,
    { path: ['thirdPayAmount'], message: 'must be equal to thirdCostAmount (rebate mode)' },
  )
