import { BusinessError } from '../codes.ts'
import { defineOperation } from '../operation.ts'
import { ORDER_STATUS } from '../orders.ts'
import { refundFields } from './refund-fields.ts'

/**
 * Refund an order (specification 4.10), in parts as often as there is something left of what was paid. Checked in
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
  takesToken: true,
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
    const order = platform.orders.requirePaid(outerTradeNo)
    if (enterpriseCode !== '' && order.enterprise_code !== enterpriseCode) {
      throw new BusinessError('paymentFailed')
    }
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
      platform.notifications.add({
        outer_refund_no: outerRefundNo,
        outer_trade_no: outerTradeNo,
        refund_amount: refundAmount,
        trade_no: order.trade_no,
        url: notifyUrl,
        next_at: platform.clock.now(),
      })
    })
    platform.notifier.wake()
    return { data: order.trade_no }
  },
})
