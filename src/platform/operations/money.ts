import { z } from 'zod'
import { isAddress } from '../../lib/text.ts'
import { message, worded } from '../../texts/message.ts'
import { parameterProblem } from '../errors.ts'
import {
  answerText,
  compareDecimals,
  decimal,
  enterpriseCode,
  externalNumber,
  fitsNotification,
  text,
  whole,
  wholeOf,
} from '../fields.ts'
import { defineOperation, foreignNumbers, isAsked } from '../operation.ts'

/** The order information of a refund (section 2.9): both of its tables in one object. */

const LIST = worded('said.must_be_list')
const OBJECT = worded('said.must_be_object')
const MAINLAND_MOBILE = worded('said.must_be_mainland_mobile')
const MOST_MONEY = '99999999.99'
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
    invoiceType: wholeOf([1, 2], worded('said.must_be_invoice_type')).optional(),
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

const tradeInfo = z
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
      isThirdOrders: wholeOf([1, 2], worded('said.must_be_sub_orders')).optional(),
      thirdOrders: z.array(thirdOrder, LIST).optional(),
      goodsDetail: z.array(goods, LIST).optional(),
    },
    OBJECT,
  )
  .refine(info => info.isThirdOrders !== 1 || Boolean(info.thirdOrders?.length), {
    path: ['thirdOrders'],
    message: worded('said.is_required_with_sub_orders'),
  })
  .refine(info => info.isThirdOrders !== 2 || Boolean(info.goodsDetail?.length), {
    path: ['goodsDetail'],
    message: worded('said.is_required_without_sub_orders'),
  })
  .refine(
    ({ thirdPayAmount: pay, thirdCostAmount: cost }) =>
      // A value with a problem of its own arrives here unparsed.
      !pay?.rawJSON || !cost?.rawJSON || compareDecimals(pay.rawJSON, cost.rawJSON) === 0,
    { path: ['thirdPayAmount'], message: worded('said.must_equal_cost') },
  )

/** Refund an order (section 4.10). The platform refuses a number that was used before. */
export const refundCreate = defineOperation({
  name: 'seller/v3/pay/syncRefund',
  idempotent: false,
  encoding: 'json',
  inQuery: ['enterprise_code'],
  decimals: true,
  request: z.strictObject({
    outerTradeNo: externalNumber(50, 2),
    outerRefundNo: externalNumber(50, 2),
    reason: text(254),
    refundAmount: decimal('0.01', MOST_MONEY),
    enterprise_code: enterpriseCode.optional(),
    costAmount: decimal('0.00', MOST_MONEY).optional(),
    deliveryFee: decimal('0.01', MOST_MONEY).optional(),
    notifyUrl: text(254)
      .refine(value => isAddress(value, ['http://', 'https://']), worded('said.must_be_web_address'))
      .optional(),
    tradeInfo: tradeInfo.optional(),
  }),
  /** The platform's trade number; empty when a success comes without it. */
  response: z.union([z.string(), z.number().transform(String), z.null().transform(() => '')]).default(''),
  check: (request, { appId, priceDifferenceMode }) => [
    ...foreignNumbers(appId, {
      outerTradeNo: request.outerTradeNo,
      outerRefundNo: request.outerRefundNo,
      ...Object.fromEntries(
        (request.tradeInfo?.thirdOrders ?? []).map((order, index) => [
          `tradeInfo.thirdOrders.${index}.outerTradeNo`,
          order.outerTradeNo,
        ]),
      ),
    }),
    ...(['outerTradeNo', 'outerRefundNo'] as const)
      .filter(field => request.notifyUrl !== undefined && !fitsNotification(request[field]))
      .map(field => parameterProblem(field, message('said.must_fit_notification'))),
    ...(priceDifferenceMode &&
    request.costAmount === undefined &&
    Object.keys(request.tradeInfo ?? {}).length === 0
      ? [parameterProblem('', message('said.needs_cost_or_trade_info'))]
      : []),
  ],
})

/** Amounts are decimal texts, here and in `tradeInfo`. */
export type RefundRequest = z.input<typeof refundCreate.request>

/** Apply for a top-up of enterprise points (section 4.12). */
export const topUpApply = defineOperation({
  name: 'enterprise/account/applyCharge',
  idempotent: false,
  decimals: true,
  request: z
    .strictObject({
      account_openid: text(32),
      enterprise_code: enterpriseCode.optional(),
      amount: decimal('0.01', '999999999999.99'),
      service_provider: whole(0, 2_147_483_647),
      email: text(254).optional(),
      mobile: z
        .string(MAINLAND_MOBILE)
        .regex(/^1\d{10}$/, MAINLAND_MOBILE)
        .optional(),
      applicant_name: text(100).optional(),
      external_code: externalNumber(100, 30),
      taxpayer: text(100).optional(),
      identifier: text(45).optional(),
      remark: text(150).optional(),
      invoice_extr_remark: text(150).optional(),
      invoice_remark: text(150).optional(),
    })
    .refine(
      application => application.taxpayer !== undefined || application.identifier !== undefined,
      // Also beside other problems, so that all are reported at once.
      { message: worded('said.needs_one_of', { names: ['taxpayer', 'identifier'] }), when: () => true },
    ),
  /** A success may come without the numbers: they are empty then. */
  response: z
    .object({ apply_charge_openid: answerText, external_code: answerText })
    .nullish()
    .transform(data => ({
      apply_charge_openid: data?.apply_charge_openid ?? '',
      external_code: data?.external_code ?? '',
    })),
  isAbout: ({ external_code }, answer) => isAsked(external_code, answer.external_code),
  check: ({ external_code }, { appId }) => foreignNumbers(appId, { external_code }),
})

/** `amount` is a decimal text. */
export type TopUpApplication = z.input<typeof topUpApply.request>
export type TopUpAnswer = z.output<typeof topUpApply.response>
