/** Longest time between a refund's row in the journal and the moment at which it is sent. */
export const SENT_WITHIN_MS = 30_000

/**
 * After so long a refund that the order record does not show cannot arrive any more: the platform refuses a request whose
 * timestamp is off by more than 5 minutes (specification section 5), our clock may have been ahead by as much, and it was
 * sent within {@link SENT_WITHIN_MS}.
 */
const ARRIVES_WITHIN_MS = 11 * 60_000

export type RefundVerdict = 'carried_out' | 'not_carried_out' | 'unknown'

/** What the order record (specification section 2.8) says about refunds. */
export interface RefundedRecord {
  refund_amount?: string | null | undefined
  status?: number | null | undefined
}

/**
 * What became of a refund whose answer was lost, judged by what the order record said before and says now.
 * `unknown` also when anything but this very refund may explain the difference. Amounts are decimal strings.
 * @param refund.refundedBefore null: the record did not say
 * @param refund.refundedNow null: the record does not say
 */
export function settleRefund(refund: {
  refundAmount: string
  refundedBefore: string | null
  refundedNow: string | null
  sentAt: Date
  now: Date
}): RefundVerdict {
  const [amount, before, now] = [refund.refundAmount, refund.refundedBefore, refund.refundedNow].map(cents)
  if (amount == null || before == null || now == null) return 'unknown'
  if (amount > 0n && now - before === amount) return 'carried_out'
  const isOver = refund.now.getTime() - refund.sentAt.getTime() > ARRIVES_WITHIN_MS
  return now === before && isOver ? 'not_carried_out' : 'unknown'
}

/** How much of an order is refunded; null when the record is a bare trade number or leaves it open. */
export function refundedAmount(record: RefundedRecord | string): string | null {
  if (typeof record === 'string') return null
  // Status 1: the order succeeded and nothing of it was refunded.
  return record.refund_amount ?? (record.status === 1 ? '0' : null)
}

/** A decimal string in hundredths; null when it is none, or has more than two places. */
export function cents(decimal: string | null): bigint | null {
  const match = decimal?.match(/^(\d{1,18})(?:\.(\d{1,2})0*)?$/)
  return match ? BigInt(`${match[1]}${(match[2] ?? '').padEnd(2, '0')}`) : null
}
