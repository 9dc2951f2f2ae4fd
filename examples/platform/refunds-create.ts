import { OutcomeUnknownError, refundedAmount } from 'dirsync/platform'
import { connect, enterprise_code } from './connect.ts'

/** Refund part of an order (4.10). Money moves: it is sent once, and its outcome is looked up, never guessed. */
await using client = connect()
const [outerTradeNo, outerRefundNo] = process.argv.slice(2)
if (outerTradeNo === undefined || outerRefundNo === undefined)
  throw new Error('usage: refunds-create.ts OUTER_TRADE_NO OUTER_REFUND_NO')

const refundAmount = '1.00'
const refundedBefore = refundedAmount(
  await client.orders.record({ outer_trade_no: outerTradeNo, enterprise_code }),
)
const sentAt = new Date()
try {
  const reason = 'goods were returned'
  console.log(
    await client.refunds.create({ outerTradeNo, outerRefundNo, refundAmount, reason, enterprise_code }),
  )
} catch (error) {
  if (!(error instanceof OutcomeUnknownError)) throw error
  const sent = { outerTradeNo, refundAmount, refundedBefore, sentAt, enterpriseCode: enterprise_code }
  console.log(await client.refunds.settle({ ...sent, platformCode: error.platformCode }))
}
