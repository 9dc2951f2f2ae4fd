import { date, integer, text } from '../fields.ts'
import { defineOperation } from '../operation.ts'
import { orderAnswer } from './order-answer.ts'

/** Payment order list (specification 4.7): by days of create_time in GMT+8, both included, newest first. */
export const listOrders = defineOperation({
  name: 'enterprise/consume/list',
  encoding: 'form',
  takesToken: true,
  parameters: object =>
    object({
      enterprise_code: text(1, 20).default(''),
      time_start: date.optional(),
      time_end: date.optional(),
      contain_fee_trade: integer(1, 2).default(2),
      page_index: integer(1, 2_147_483_647).default(1),
      page_size: integer(1, 100).default(20),
    }),
  perform(platform, query) {
    const { enterprise_code: enterpriseCode, time_start: from, time_end: to } = query
    platform.enterprises.require(enterpriseCode)
    const filter = { enterpriseCode, from, to, withFees: query.contain_fee_trade === 1 }
    const { total, orders } = platform.orders.page(filter, query.page_index, query.page_size)
    const data_list = orders.map(order => orderAnswer(order, platform.shapes))
    return { data: { total_count: total, data_list }, bare: platform.shapes.paymentOrderList === 'top' }
  },
})
