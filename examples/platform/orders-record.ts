import { connect, enterprise_code } from './connect.ts'

/** The merchant's record of an order (4.11). */
await using client = connect()
const outer_trade_no = process.argv[2]
if (outer_trade_no === undefined) throw new Error('usage: orders-record.ts OUTER_TRADE_NO')
const record = await client.orders.record({ outer_trade_no, enterprise_code })
console.log(typeof record === 'string' ? record : [record.pay_amount, record.refund_amount])
