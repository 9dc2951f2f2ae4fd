import { BusinessError } from '../codes.ts'
import { commerceOrderAnswer } from '../commerce-order.ts'
import { text } from '../fields.ts'
import { defineOperation } from '../operation.ts'
import { orderAnswer } from './order-answer.ts'

/** Payment order detail (specification 4.8); commerce_order_detail stands in it for orders of the new mall alone. */
export const getOrder = defineOperation({
  name: 'enterprise/consume/get',
  encoding: 'form',
  takesToken: true,
  parameters: object =>
    object({
      enterprise_code: text(1, 20).default(''),
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
