import { amountNumber } from '../amount.ts'
import type { Order } from '../orders.ts'
import type { Shapes } from '../shapes.ts'

/** A payment order as both queries answer it (specification 2.6), without the order of the new mall. */
export function orderAnswer(order: Order, shapes: Shapes) {
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
