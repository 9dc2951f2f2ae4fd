import { amountNumber } from '../amount.ts'
import { text } from '../fields.ts'
import { defineOperation } from '../operation.ts'

/** Query order by external trade number (specification 4.11): an order that was paid, refunded since or not. */
export const getOrderRecord = defineOperation({
  name: 'seller/pay/record',
  encoding: 'form',
  takesToken: true,
  parameters: object => object({ outer_trade_no: text(10, 30) }),
  perform(platform, { outer_trade_no }) {
    platform.requireOwnNumber('outer_trade_no', outer_trade_no)
    const order = platform.orders.requirePaid(outer_trade_no)
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
