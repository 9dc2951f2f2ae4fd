import { z } from 'zod'
import { ControlError, parseControl } from './control-error.ts'
import { ORDER_STATUS } from './orders.ts'
import type { Platform } from './platform.ts'

const whichOrder = z.union([
  z.strictObject({ trade_no: z.string() }),
  z.strictObject({ out_trade_no: z.string() }),
])

/** Pays an order that is pending or being paid, in full; throws `ControlError` for any other. */
export function payOrder(platform: Platform, body: unknown): { trade_no: string; status: number } {
  const which = parseControl(whichOrder, body)
  const order =
    'trade_no' in which ? platform.orders.find(which.trade_no) : platform.orders.findOuter(which.out_trade_no)
  if (order === undefined) throw new ControlError('there is no such order')
  const { pending, paying, completed } = ORDER_STATUS
  if (order.status !== pending && order.status !== paying) {
    throw new ControlError(`order ${order.trade_no} has status ${order.status}: only 1 and 2 can be paid`)
  }
  const paid = { pay_amount: order.total_amount, pay_time: platform.clock.timeText(), status: completed }
  platform.orders.put({ ...order, ...paid })
  return { trade_no: order.trade_no, status: completed }
}
