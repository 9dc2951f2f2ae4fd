import { settleRefund, wouldShow } from '../core/refund-settlement.ts'
import { PlatformError } from '../platform/errors.ts'
import type { PaymentOrderDetail } from '../platform/operations/payment-order.ts'
import { meaningOf, PAYMENT_ORDER_STATUS } from '../platform/states.ts'
import { JournalError } from '../store/journal-error.ts'
import { type Refund, readRefund } from '../store/refund.ts'
import { adoptRefunds, type ClaimedRefund, claimUnknown, storeVerdict } from '../store/refund-journal.ts'
import { readPaymentOrders, readRefunded } from './refunded.ts'
import type { SendDeps } from './send-refund.ts'

/** Settling goes after whatever a person waits for. */
const PRIORITY = 1

/** What settling needs. */
export interface SettleDeps extends SendDeps {
  /** Milliseconds after which a refund that nothing shows was not carried out. */
  notCarriedOutAfterMs: number
}

/**
 * Asks the order record, and the payment order where need be, what became of a refund, and stores what they show.
 * @returns whether the platform answered
 */
export async function settle(
  deps: SettleDeps,
  refund: ClaimedRefund,
  signal?: AbortSignal,
): Promise<boolean> {
  const { pool, notCarriedOutAfterMs } = deps
  const { outer_refund_no, refunded_before } = refund
  if (refunded_before === null) {
    const message = `what was refunded before is not known, so the order record cannot tell: ${ASK}`
    await storeVerdict(pool, outer_refund_no, 'unknown', message, true)
    return false
  }
  const now = new Date()
  // Sent so long ago by the database's clock and by ours: one that has jumped ahead decides nothing.
  const sentAt = new Date(Math.max(now.getTime() - refund.age_ms, refund.sent_at.getTime()))
  const age = { sentAt, now, notCarriedOutAfterMs }
  let evidence: Evidence
  try {
    evidence = await gather(deps, refund, age, signal)
  } catch (error) {
    if (!(error instanceof UnreadableError)) throw error
    // We gave the call up ourselves, or a person has paused all: that says nothing of the refund.
    if (error.cause.kind === 'aborted' || error.cause.kind === 'paused') return false
    await storeVerdict(pool, outer_refund_no, 'unknown', error.message, wouldShow(age))
    return false
  }
  const { judged, shown } = evidence
  const message = {
    carried_out: shown,
    not_carried_out: `${shown}: it was not carried out, and cannot be any more`,
    unknown: judged.forPerson ? `${shown}: ${ASK}` : shown,
  }[judged.verdict]
  await storeVerdict(pool, outer_refund_no, judged.verdict, message, judged.forPerson)
  deps.logger.info(
    { outerRefundNo: outer_refund_no, verdict: judged.verdict },
    'order record asked about a refund',
  )
  return true
}

/** What order record and payment order show, in words and as it is judged. */
interface Evidence {
  judged: ReturnType<typeof settleRefund>
  shown: string
}

/** The payment orders are asked only where the order record would have the refund not carried out. */
async function gather(
  deps: SettleDeps,
  refund: ClaimedRefund,
  age: Parameters<typeof wouldShow>[0],
  signal: AbortSignal | undefined,
): Promise<Evidence> {
  const { refund_amount: refundAmount, refunded_before: refundedBefore, outer_trade_no } = refund
  const refundedNow = await readRefunded(deps.client, outer_trade_no, signal, PRIORITY).catch(
    unreadable('the order record'),
  )
  const facts = { ...age, refundAmount, refundedBefore, refundedNow }
  const shown = `the order record shows ${refundedNow ?? 'no amount'} refunded, ${refundedBefore} before this refund of ${refundAmount}`
  const judged = settleRefund({ ...facts, paymentOrders: [] })
  if (judged.verdict !== 'not_carried_out') return { judged, shown }
  const paymentOrders = await readPaymentOrders(deps, outer_trade_no, signal, PRIORITY).catch(
    unreadable(`${shown}; the payment order`),
  )
  return {
    judged: settleRefund({ ...facts, paymentOrders }),
    shown: [shown, ...paymentOrders.map(inWords)].join('; '),
  }
}

function inWords({ trade_no, status, refund_amount }: PaymentOrderDetail): string {
  const meaning = meaningOf(PAYMENT_ORDER_STATUS, status) ?? 'which the specification does not know'
  return `payment order ${trade_no} has status ${status} (${meaning}), ${refund_amount ?? 'no amount'} refunded`
}

/** What would show what became of a refund cannot be read. */
class UnreadableError extends Error {
  declare readonly cause: PlatformError
}

function unreadable(what: string) {
  return (error: unknown): never => {
    if (!(error instanceof PlatformError)) throw error
    throw new UnreadableError(`${what} could not be read: ${error.message}`, { cause: error })
  }
}

const ASK = 'ask the platform, then say so with dirsync refund resolve'

/**
 * Settles one refund now, due or not, if its outcome is unknown.
 * @returns the refund as it is then
 * @throws JournalError when there is no such refund
 */
export async function settleNow(
  deps: SettleDeps,
  outerRefundNo: string,
  signal?: AbortSignal,
): Promise<Refund> {
  await adoptRefunds(deps.pool)
  const claimed = await claimUnknown(deps.pool, outerRefundNo)
  if (claimed) await settle(deps, claimed, signal)
  const refund = await readRefund(deps.pool, outerRefundNo)
  if (refund === null) throw new JournalError('NOT_FOUND', `there is no refund ${outerRefundNo}`)
  return refund
}
