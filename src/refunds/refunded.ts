import { cents, refundedAmount } from '../core/refund-settlement.ts'
import type { PlatformClient } from '../platform/client.ts'
import { PlatformError } from '../platform/errors.ts'
import type { PaymentOrderDetail } from '../platform/operations/payment-order.ts'
import { acceptedAmount, tradeNumbersOf } from '../store/refund.ts'
import type { SendDeps } from './send-refund.ts'

/**
 * What the order record (specification section 4.11) says to be refunded of an order; null when it does not say, or cannot
 * be asked: its limits for the trade number are narrower than those of the refund.
 * @throws PlatformError
 */
export async function readRefunded(
  client: PlatformClient,
  outerTradeNo: string,
  signal: AbortSignal | undefined,
  priority?: number,
): Promise<string | null> {
  try {
    const record = await client.orders.record(
      { outer_trade_no: outerTradeNo },
      { ...(signal && { signal }), ...(priority !== undefined && { priority }) },
    )
    return refundedAmount(record)
  } catch (error) {
    if (error instanceof PlatformError && error.kind === 'invalid_request') return null
    throw error
  }
}

/**
 * What was refunded of an order before a refund that is about to be sent; null also while the order record does not show
 * yet what dirsync itself has refunded: later it could be taken for this refund.
 * @throws PlatformError
 */
export async function readRefundedBefore(
  { client, pool }: SendDeps,
  outerTradeNo: string,
  signal: AbortSignal | undefined,
): Promise<string | null> {
  const shown = await readRefunded(client, outerTradeNo, signal)
  const [before, ours] = [cents(shown), cents(await acceptedAmount(pool, outerTradeNo))]
  return before !== null && ours !== null && before >= ours ? shown : null
}

/**
 * The payment orders behind an order, as far as their trade numbers are known.
 * @throws PlatformError
 */
export async function readPaymentOrders(
  { client, pool }: SendDeps,
  outerTradeNo: string,
  signal: AbortSignal | undefined,
  priority: number,
): Promise<(PaymentOrderDetail & { trade_no: string })[]> {
  const orders = []
  for (const { trade_no, enterprise_code } of await tradeNumbersOf(pool, outerTradeNo)) {
    const query = enterprise_code === '' ? { trade_no } : { trade_no, enterprise_code }
    const order = await client.paymentOrders.get(query, { ...(signal && { signal }), priority })
    orders.push({ ...order, trade_no })
  }
  return orders
}
