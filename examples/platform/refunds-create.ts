import { OutcomeUnknownError } from 'dirsync/platform'
import { connect, enterprise_code } from './connect.ts'

/** Refund part of an order (4.10). Money moves: it is sent once, and its outcome is looked up, never guessed. */
await using client = connect()
const [outerTradeNo, outerRefundNo] = process.argv.slice(2)
if (outerTradeNo === undefined || outerRefundNo === undefined)
  throw new Error('usage: refunds-create.ts OUTER_TRADE_NO OUTER_REFUND_NO')

const refundAmount = '1.00'
const record = await client.orders.record({ outer_trade_no: outerTradeNo })
const refundedBefore = typeof record === 'string' ? null : (record.refund_amount ?? '0')
const sentAt = new Date()
try {
  const reason = 'goods were returned'
  console.log(
    await client.refunds.create({ outerTradeNo, outerRefundNo, refundAmount, reason, enterprise_code }),
  )
} catch (error) {
  if (!(error instanceof OutcomeUnknownError)) throw error
  console.log(await client.refunds.settle({ outerTradeNo, refundAmount, refundedBefore, sentAt }))
}
