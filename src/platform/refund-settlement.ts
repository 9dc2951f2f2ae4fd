import { ORDER_RECORD_STATUS, PAYMENT_ORDER_STATUS } from './states.ts'

/** Longest time between writing a refund to the journal and sending it. */
export const SENT_WITHIN_MS = 30_000

/**
 * Until then a refund that nothing shows may still arrive: the platform refuses a request whose timestamp is off by more than 5
 * minutes (section 5), our clock may have been ahead by as much, and it was sent within {@link SENT_WITHIN_MS}.
 */
const ARRIVES_WITHIN_MS = 11 * 60_000

/** How long the platform repeats the notification of a refund (section 6); its records may lag as long. */
export const NOT_CARRIED_OUT_AFTER_MS = 24 * 3_600_000

export type RefundVerdict = 'carried_out' | 'not_carried_out' | 'unknown'

/** What the order record (section 2.8), or a payment order (section 2.6), says about what was paid and refunded. */
export interface RefundedRecord {
  pay_amount?: string | null | undefined
  refund_amount?: string | null | undefined
  status?: number | null | undefined
}

/** When a refund was sent, and its age from which "not carried out" may be inferred. */
export interface RefundAge {
  sentAt: Date
  now: Date
  /** Milliseconds; at least {@link ARRIVES_WITHIN_MS} counts. */
  notCarriedOutAfterMs: number
}

/** Whether a refund is old enough to show if it had been carried out. */
export function wouldShow({ sentAt, now, notCarriedOutAfterMs }: RefundAge): boolean {
  return now.getTime() - sentAt.getTime() > Math.max(notCarriedOutAfterMs, ARRIVES_WITHIN_MS)
}

/** What became of a refund. `forPerson`: waiting will not tell; a person has to find out. */
export interface Settled {
  verdict: RefundVerdict
  forPerson: boolean
}

const unknown = (forPerson: boolean): Settled => ({ verdict: 'unknown', forPerson })
const known = (verdict: RefundVerdict): Settled => ({ verdict, forPerson: false })

/**
 * The outcome of a refund whose answer was lost, inferred from the order record before and now. `unknown` also when anything but
 * this very refund may explain it. Amounts are decimal strings.
 * @param refund.refundedBefore null: the record did not say
 * @param refund.refundedNow null: the record does not say
 * @param refund.platformCode the error code, not a listed refusal, that it was answered with: its number may have been carried
 * out before, so a record that stays the same does not say "not carried out"
 * @returns null when the record has shown nothing of it for long enough: then {@link settleByPaymentOrders} decides
 */
export function settleByOrderRecord(
  refund: RefundAge & {
    refundAmount: string
    refundedBefore: string | null
    refundedNow: string | null
    platformCode?: number | null | undefined
  },
): Settled | null {
  const [amount, before, now] = [refund.refundAmount, refund.refundedBefore, refund.refundedNow].map(cents)
  if (amount == null || before == null) return unknown(true)
  if (now == null) return unknown(wouldShow(refund))
  if (amount > 0n && now - before === amount) return known('carried_out')
  if (now !== before) return unknown(true)
  if (!wouldShow(refund)) return unknown(false)
  return refund.platformCode == null ? null : unknown(true)
}

/**
 * Whether these are all payment orders behind an order: one of several assets has one for each. In one that is not known, a refund
 * may be pending for longer than any record is behind.
 * @param paid for the order, as its record says; null where it does not
 */
export function areAllOf(orders: readonly RefundedRecord[], paid: string | null): boolean {
  const sum = sumOf(orders.map(({ pay_amount = null }) => cents(pay_amount)))
  return orders.length > 0 && sum !== null && sum === cents(paid)
}

/**
 * The outcome of a refund of which the order record shows nothing: not carried out if all payment orders behind the order are
 * known, and show exactly what was refunded before, and no refund in progress.
 */
export function settleByPaymentOrders(
  orders: readonly RefundedRecord[],
  { refundedBefore, paid }: { refundedBefore: string | null; paid: string | null },
): Settled {
  if (!areAllOf(orders, paid)) return unknown(true)
  const amounts = orders.map(({ status, refund_amount = null }) => {
    const isCompleted = status === PAYMENT_ORDER_STATUS.COMPLETED.value
    if (!isCompleted && status !== PAYMENT_ORDER_STATUS.REFUNDED.value) return null
    return cents(refund_amount ?? (isCompleted ? '0' : null))
  })
  const shown = sumOf(amounts)
  return shown !== null && shown === cents(refundedBefore) ? known('not_carried_out') : unknown(true)
}

/** Null when one of them is not known. */
function sumOf(amounts: (bigint | null)[]): bigint | null {
  return amounts.reduce((sum, amount) => (sum === null || amount === null ? null : sum + amount), 0n)
}

/** How much of an order is refunded; null when the record is a bare trade number or does not say. */
export function refundedAmount(record: RefundedRecord | string): string | null {
  if (typeof record === 'string') return null
  const isUntouched = record.status === ORDER_RECORD_STATUS.NOT_REFUNDED.value
  return record.refund_amount ?? (isUntouched ? '0' : null)
}

/**
 * Whether a refund is more than is left of its order; false where the order record does not tell, or says that nothing was paid.
 * Amounts are decimal strings.
 */
export function exceedsRest(
  amount: string,
  order: { paid: string | null; refunded: string | null },
): boolean {
  const [wanted, paid, refunded] = [amount, order.paid, order.refunded].map(cents)
  return wanted != null && !!paid && refunded != null && wanted > paid - refunded
}

/** A decimal string in hundredths; null when it is not a decimal, or has more than two places. */
export function cents(decimal: string | null): bigint | null {
  const match = decimal?.match(/^(\d{1,18})(?:\.(\d{1,2})0*)?$/)
  return match ? BigInt(`${match[1]}${(match[2] ?? '').padEnd(2, '0')}`) : null
}
