import { z } from 'zod'
import { decimal, enterpriseCode, externalNumber, text } from '../fields.ts'
import { defineOperation, foreignNumbers } from '../operation.ts'
import { MOST_MONEY, tradeInfo } from './trade-info.ts'

/** Refund an order (section 4.10). A number that was used before is refused by the platform. */
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
    notifyUrl: text(254).optional(),
    tradeInfo: tradeInfo.optional(),
  }),
  /** The platform's trade number. Success is success, even without it: it is empty then. */
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
    ...(priceDifferenceMode && request.costAmount === undefined && request.tradeInfo === undefined
      ? [{ field: '', rule: 'needs one of costAmount and tradeInfo (price-difference mode)' }]
      : []),
  ],
})

/** Amounts are decimal texts, here and in `tradeInfo`. */
export type RefundRequest = z.input<typeof refundCreate.request>
