import { cents, settleRefund } from '../core/refund-settlement.ts'
import { PlatformError } from '../platform/errors.ts'
import { JournalError } from '../store/journal-error.ts'
import { type Refund, readRefund } from '../store/refund.ts'
import { adoptRefunds, type ClaimedRefund, claimUnknown, storeVerdict } from '../store/refund-journal.ts'
import { readRefunded } from './refunded.ts'
import type { SendDeps } from './send-refund.ts'

/** Settling goes after whatever a person waits for. */
const PRIORITY = 1

/** Asks the order record what became of a refund, and stores what it shows. */
export async function settle(deps: SendDeps, refund: ClaimedRefund, signal?: AbortSignal): Promise<void> {
  const { outer_refund_no, refunded_before } = refund
  if (refunded_before === null) {
    const message = `what was refunded before is not known, so the order record cannot tell: ${ASK}`
    await storeVerdict(deps.pool, outer_refund_no, 'unknown', message)
    return
  }
  let refundedNow: string | null
  try {
    refundedNow = await readRefunded(deps.client, refund.outer_trade_no, signal, PRIORITY)
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error
    if (error.kind === 'aborted') return
    const message = `the order record could not be read: ${error.message}`
    await storeVerdict(deps.pool, outer_refund_no, 'unknown', message)
    return
  }
  const now = new Date()
  const verdict = settleRefund({
    refundAmount: refund.refund_amount,
    refundedBefore: refunded_before,
    refundedNow,
    // Sent so long ago by the database's clock and by ours: one that has jumped ahead decides nothing.
    sentAt: new Date(Math.max(now.getTime() - refund.age_ms, refund.sent_at.getTime())),
    now,
  })
  const shown = `the order record shows ${refundedNow ?? 'no amount'} refunded, ${refunded_before} before this refund of ${refund.refund_amount}`
  const isUnchanged = cents(refundedNow) === cents(refunded_before)
  const message = {
    carried_out: shown,
    not_carried_out: `${shown}: it was not carried out, and cannot be any more`,
    unknown: isUnchanged ? shown : `${shown}: ${ASK}`,
  }[verdict]
  await storeVerdict(deps.pool, outer_refund_no, verdict, message)
  deps.logger.info({ outerRefundNo: outer_refund_no, verdict }, 'order record asked about a refund')
}

const ASK = 'ask the platform, then say so with dirsync refund resolve'

/**
 * Settles one refund now, due or not, if its outcome is unknown.
 * @returns the refund as it is then
 * @throws JournalError when there is no such refund
 */
export async function settleNow(
  deps: SendDeps,
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
