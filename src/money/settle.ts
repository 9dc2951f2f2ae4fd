import { setTimeout as sleep } from 'node:timers/promises'
import type { PlatformClient } from '../platform/client.ts'
import { PlatformError } from '../platform/errors.ts'
import type { PaymentOrderDetail } from '../platform/operations/payment-order.ts'
import { cents, refundedAmount, settleRefund, wouldShow } from '../platform/refund-settlement.ts'
import { meaningOf, PAYMENT_ORDER_STATUS } from '../platform/states.ts'
import { probeDelay } from '../sync/backoff.ts'
import { forbidding, liftHalts } from '../sync/halts.ts'
import {
  adoptRefunds,
  type ClaimedRefund,
  claimUnknown,
  JournalError,
  storeVerdict,
  UNCONCERNED,
  UNTOLD,
} from './journal.ts'
import { acceptedAmount, type Refund, readRefund, tradeNumbersOf } from './refund.ts'
import type { SendDeps } from './send-refund.ts'
import { adoptTopUps } from './top-up.ts'

const LOOK_EVERY_MS = 2000

/**
 * Finds out what became of refunds whose answer is missing: those whose sender died, and those whose call failed with an
 * unknown outcome. Any number of processes may run it; each refund is asked about by one at a time.
 */
export class RefundSettler {
  readonly #deps: SettleDeps
  readonly #stopping = new AbortController()
  #loop: Promise<void> | null = null
  #troubled = false

  constructor(deps: SettleDeps) {
    this.#deps = deps
  }

  start(): void {
    this.#loop ??= this.#run()
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#loop
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping
    while (!signal.aborted) {
      try {
        await this.#settleDue()
        this.#troubled = false
      } catch (error) {
        // Once per outage of the database, not once per turn.
        if (!this.#troubled && !signal.aborted)
          this.#deps.logger.error(
            { err: (error as Error).message },
            'refunds cannot be settled; trying again',
          )
        this.#troubled = true
      }
      await sleep(LOOK_EVERY_MS, undefined, { signal }).catch(() => undefined) // it stops
    }
  }

  async #settleDue(): Promise<void> {
    const { signal } = this.#stopping
    while (!signal.aborted) {
      // Before each one: while the platform is down they take long, and never come to an end.
      await this.#adopt()
      const refund = await claimUnknown(this.#deps.pool, null)
      if (refund === null) return
      await this.#settle(refund, signal)
    }
  }

  /** Under a halt of the platform one refund is let through, to see whether it is over: nobody else may be at work. */
  async #settle(refund: ClaimedRefund, signal: AbortSignal): Promise<void> {
    const { pool, logger } = this.#deps
    const { enterprise_code, claimed_at } = refund
    const { halt, isProbe } = await forbidding(pool, enterprise_code, UNCONCERNED, probes =>
      probeDelay(probes + 1, Math.random()),
    )
    if (halt) return
    const isAnswered = await settle(this.#deps, refund, signal)
    if (!isProbe || !isAnswered) return
    for (const scope of await liftHalts(pool, enterprise_code, claimed_at, UNTOLD))
      logger.info({ scope }, 'the halt is over: work continues')
  }

  async #adopt(): Promise<void> {
    const { pool, logger } = this.#deps
    for (const outerRefundNo of await adoptRefunds(pool))
      logger.warn({ outerRefundNo }, 'the sender of a refund ended before it stored the answer')
    for (const externalCode of await adoptTopUps(pool))
      logger.warn(
        { externalCode },
        'the sender of a top-up ended before it stored the answer: ask the platform, then say so with dirsync topup resolve',
      )
  }
}

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
async function settle(deps: SettleDeps, refund: ClaimedRefund, signal?: AbortSignal): Promise<boolean> {
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

/**
 * What the order record (specification section 4.11) says to be refunded of an order; null when it does not say, or cannot
 * be asked: its limits for the trade number are narrower than those of the refund.
 * @throws PlatformError
 */
async function readRefunded(
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
async function readPaymentOrders(
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
