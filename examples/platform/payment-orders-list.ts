import { connect, enterprise_code } from './connect.ts'

/** Every payment order of a span of days (4.7), page after page: the next one is fetched while this one is read. */
await using client = connect()
const [time_start = '2026-10-01', time_end = '2026-11-30'] = process.argv.slice(2)
for await (const order of client.paymentOrders.list({ time_start, time_end, enterprise_code }))
  console.log(order.trade_no, order.pay_amount, order.pay_time?.toISOString() ?? 'not paid')
