import { transaction } from '../lib/database.ts'
import { Loop } from '../lib/loop.ts'
import { mirroredOrder, storeAskedOrder } from '../mirrors/payment-order.ts'
import type { CallOptions, PlatformClient } from '../platform/client.ts'
import { failureReason, PlatformError } from '../platform/errors.ts'
import type { OrderRecord, PaymentOrderDetail } from '../platform/operations/payment-order.ts'
import {
  areAllOf,
  cents,
  type RefundAge,
  refundedAmount,
  type Settled,
  settleByOrderRecord,
  settleByPaymentOrders,
  wouldShow,
} from '../platform/refund-settlement.ts'
import { enterpriseParams } from '../platform/request.ts'
import { meaningOf, PAYMENT_ORDER_STATUS } from '../platform/states.ts'
import { forbidding, liftHalts } from '../sync/outbox/halts.ts'
import { inEnglish, type Message, message } from '../texts/message.ts'
import { JournalError, type SendDeps } from './journal.ts'
import { adoptMoney } from './open.ts'
import {
  type ClaimedRefund,
  claimUnknown,
  claimUnshown,
  compareWithShown,
  type EarlierRefund,
  earlierRefunds,
  knownRefunded,
  lookLater,
  NOT_DISPROVED,
  noteCheck,
  type ReadRefund,
  type Refund,
  readBeingRefunded,
  recordMayTell,
  refundJournal,
  storeVerdict,
  tradeNumbersOf,
} from './refund.ts'

/** How often to look for refunds that are due. */
const LOOK_EVERY_MS = 2000
/** How often to compare refunds with the mirror, which is read far less often. */
const COMPARE_EVERY_MS = 60_000
/** Settling yields to calls that a person waits for. */
const PRIORITY = 1

export interface SettleDeps extends SendDeps {
  /** Milliseconds after which a refund that no record shows counts as not carried out. */
  notCarriedOutAfterMs: number
}

/**
 * Finds out the outcome of refunds without an answer: their sender died, or their call failed with an unknown outcome. Any
 * number of processes may run it; one at a time asks about a refund.
 */
export function refundSettler(deps: SettleDeps): Loop {
  let comparedAt = Number.NEGATIVE_INFINITY
  return new Loop({
    step: async signal => {
      if (performance.now() - comparedAt >= COMPARE_EVERY_MS) {
        comparedAt = performance.now()
        await compareWithShown(deps.pool, null)
      }
      await settleDue(deps, signal)
      await lookForOne(deps, signal)
    },
    pauseMs: LOOK_EVERY_MS,
    failed: error => deps.logger.error({ error }, 'refunds cannot be settled; trying again'),
  })
}

async function settleDue(deps: SettleDeps, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    // Before each refund: while the platform is down each takes long, and there is always another one.
    await adoptMoney(deps)
    const refund = await claimUnknown(deps.pool, null)
    if (refund === null) return
    await askAsProbe(deps, refund, () => settle(deps, refund, { priority: PRIORITY, signal }))
  }
}

/**
 * Looks for a refund that the platform has accepted, and of which nothing has shown for a while that it is completed. For one at a
 * time: there may be many, and those whose outcome is unknown do not wait for them.
 */
async function lookForOne(deps: SettleDeps, signal: AbortSignal): Promise<void> {
  const refund = signal.aborted ? null : await claimUnshown(deps.pool)
  if (refund) await askAsProbe(deps, refund, () => lookAtRecord(deps, refund, signal))
}

/**
 * While the platform is halted, one refund at a time is let through, to see whether the halt is over.
 * @param ask resolves to whether the platform answered
 */
async function askAsProbe(
  deps: SettleDeps,
  { enterprise_code, claimed_at }: Pick<ClaimedRefund, 'enterprise_code' | 'claimed_at'>,
  ask: () => Promise<boolean>,
): Promise<void> {
  const { halt, isProbe } = await forbidding(deps.pool, enterprise_code)
  if (halt) return
  const isAnswered = await ask()
  if (isProbe && isAnswered) await liftHalts(deps, enterprise_code, claimed_at, NOT_DISPROVED)
}

/**
 * Settles one refund for a person, due or not, if its outcome is unknown. Of one that the platform has accepted, or that is called rejected
 * and in doubt, it looks what the order record shows.
 * @returns the refund as it is then
 * @throws JournalError when there is no such refund
 */
export async function settleNow(deps: SettleDeps, outerRefundNo: string): Promise<ReadRefund> {
  await adoptMoney(deps)
  const claimed = await claimUnknown(deps.pool, outerRefundNo)
  if (claimed) await settle(deps, claimed, { priority: PRIORITY })
  const read = async () => {
    const refund = await refundJournal.read(deps.pool, outerRefundNo)
    if (refund) return refund
    throw new JournalError('NOT_FOUND', message('said.no_such_refund', { number: outerRefundNo }))
  }
  const refund = await read()
  if (!recordMayTell(refund)) return refund
  await lookAtRecord(deps, refund)
  return read()
}

/**
 * Asks the order record about a refund whose outcome is recorded, and notes what it shows.
 * @returns whether the platform answered
 */
async function lookAtRecord(
  { client, pool }: SettleDeps,
  refund: Refund,
  signal?: AbortSignal,
): Promise<boolean> {
  const { outer_refund_no, outer_trade_no } = refund
  const options = { priority: PRIORITY, ...(signal && { signal }) }
  let unread = message('said.order_record_unread')
  let isRead = false
  try {
    const record = await readOrderRecord(client, refund, options)
    const refunded = record && refundedAmount(record)
    const found =
      refunded === null
        ? message('said.record_shows_nothing')
        : message('said.record_shows_sum', { refunded })
    // If this process is killed, it is asked again.
    await transaction(pool, async db => {
      if (refunded !== null) await compareWithShown(db, { outer_trade_no, refunded })
      await noteCheck(db, outer_refund_no, found)
      await lookLater(db, outer_refund_no)
    })
    isRead = true
    unread = message('said.payment_order_unread', { shown: found })
    await mirrorBeingRefunded({ client, pool }, outer_trade_no, options)
    return true
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error
    if (error.kind === 'aborted' || error.kind === 'paused') return isRead
    const reason = failureReason(error)
    // Asking again soon will not help, as where there is no such order.
    const isFinal = !isRead && error.disposition === 'park'
    const found = isFinal
      ? message('said.record_not_readable', { reason })
      : message('said.could_not_read', { unread, reason })
    await noteCheck(pool, outer_refund_no, found, !cannotBeAsked(error))
    if (isFinal) await lookLater(pool, outer_refund_no)
    return isRead
  }
}

/**
 * Reads the payment orders anew that the mirror shows as being refunded: its own run may not come to them any more, and until they are
 * no longer so nobody can say that the refund was not carried out.
 * @throws PlatformError
 */
async function mirrorBeingRefunded(
  { client, pool }: Pick<SettleDeps, 'client' | 'pool'>,
  outerTradeNo: string,
  options: CallOptions,
): Promise<void> {
  for (const { enterprise_code, trade_no, looked_at } of await readBeingRefunded(pool, outerTradeNo)) {
    const query = { trade_no, ...enterpriseParams(enterprise_code) }
    const order = await client.paymentOrders.find(query, options)
    const asked = { enterpriseCode: enterprise_code, tradeNo: trade_no, askedAt: looked_at }
    await transaction(pool, db => storeAskedOrder(db, asked, order && mirroredOrder(trade_no, order)))
  }
}

const LEFT_TO_PERSON = message('said.left_to_person')

/**
 * Asks for the outcome of a refund, and stores the verdict.
 * @returns whether the platform answered
 */
async function settle(deps: SettleDeps, refund: ClaimedRefund, options: CallOptions): Promise<boolean> {
  const { pool, logger } = deps
  const { outer_refund_no, refunded_before } = refund
  // What the platform answered to the refund itself: no check tells it again.
  const answer = [refund.message ?? []].flat().filter(one => 'key' in one && one.key === 'said.platform_said')
  if (refunded_before === null) {
    const what = message('said.record_cannot_tell', { reading: LEFT_TO_PERSON })
    await storeVerdict(pool, outer_refund_no, 'unknown', [...answer, what], true)
    return false
  }
  const found = await ask(deps, refund, refunded_before, options)
  if (found === null) return false
  const doubt = doubtOf(refund, found)
  const finding = doubt === null ? found : doubted(found, doubt)
  const { verdict, forPerson, shown, toDo, isAnswered } = finding
  await noteCheck(pool, outer_refund_no, shown)
  const means = (what: Message) => message('said.shown_means', { shown, what })
  const what = {
    carried_out: shown,
    not_carried_out: means(message('said.not_carried_out')),
    unknown: forPerson && isAnswered ? means(toDo) : shown,
  }[verdict]
  await storeVerdict(pool, outer_refund_no, verdict, [...answer, what], forPerson)
  if (isAnswered) logger.info({ number: outer_refund_no, verdict }, 'order record asked about a refund')
  return isAnswered
}

/** The platform's answer, classified and in words, and what a person has to do if waiting will not tell. */
type Finding = Settled & { shown: Message; toDo: Message; isAnswered: boolean }

/** Why the records prove nothing; null: nothing speaks against them. */
function doubtOf(refund: ClaimedRefund, { verdict }: Finding): Message | null {
  if (verdict === 'carried_out') return refund.may_be_another ? message('said.restored_since') : null
  // The platform has signed that it carried something out under the refund's number: its records may be behind.
  return refund.misfit_at !== null ? message('said.notified_otherwise') : null
}

function doubted(found: Finding, doubt: Message): Finding {
  const shown = message('said.shown', { shown: [found.shown, doubt] })
  return { ...found, verdict: 'unknown', forPerson: true, shown }
}

/**
 * Asks the order record; the payment orders only where the record has shown nothing of the refund for long enough.
 * @returns null when the call was aborted, or all calls are paused: that says nothing of the refund
 */
async function ask(
  deps: SettleDeps,
  refund: ClaimedRefund,
  refundedBefore: string,
  options: CallOptions,
): Promise<Finding | null> {
  const { refund_amount: refundAmount, platform_code: platformCode, outer_trade_no } = refund
  let unread = message('said.order_record_unread')
  try {
    const record = await readOrderRecord(deps.client, refund, options)
    const refundedNow = record && refundedAmount(record)
    if (refundedNow !== null) await compareWithShown(deps.pool, { outer_trade_no, refunded: refundedNow })
    const facts = { ...ageOf(deps, refund), refundAmount, refundedBefore, refundedNow, platformCode }
    const before = { before: refundedBefore, amount: refundAmount }
    const shown =
      refundedNow === null
        ? message('said.record_shows_none', before)
        : message('said.record_shows', { refunded: refundedNow, ...before })
    const settled = settleByOrderRecord(facts)
    if (settled) return { ...settled, shown, toDo: LEFT_TO_PERSON, isAnswered: true }
    unread = message('said.payment_order_unread', { shown })
    const paymentOrders = await readPaymentOrders(deps, outer_trade_no, options)
    const paid = record?.pay_amount ?? null
    return {
      ...settleByPaymentOrders(paymentOrders, { refundedBefore, paid }),
      shown: message('said.shown', { shown: [shown, ...paymentOrders.map(ofOrder)] }),
      toDo: areAllOf(paymentOrders, paid) ? LEFT_TO_PERSON : message('said.payment_orders_missing'),
      isAnswered: true,
    }
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error
    if (error.kind === 'aborted' || error.kind === 'paused') return null
    const reason = failureReason(error)
    const shown = message('said.could_not_read', { unread, reason })
    deps.logger.info(
      { number: refund.outer_refund_no, reason: inEnglish(reason), traceId: error.traceId },
      'the outcome of a refund could not be looked up',
    )
    const forPerson = cannotBeAsked(error) || wouldShow(ageOf(deps, refund))
    return { verdict: 'unknown', forPerson, shown, toDo: LEFT_TO_PERSON, isAnswered: false }
  }
}

/**
 * By the database's clock, ours or the platform's, whichever makes it youngest: a clock that has jumped ahead decides nothing. The
 * first two may be of one host; the platform's is known by its latest answer.
 */
function ageOf({ client, notCarriedOutAfterMs }: SettleDeps, { age_ms, sent_at }: ClaimedRefund): RefundAge {
  const now = Date.now() + Math.min(client.clockOffset.measuredMs ?? 0, 0)
  const sentAt = new Date(Math.max(now - age_ms, sent_at.getTime()))
  return { sentAt, now: new Date(now), notCarriedOutAfterMs }
}

function ofOrder({ trade_no, status, refund_amount }: PaymentOrderDetail): Message {
  const isKnown = meaningOf(PAYMENT_ORDER_STATUS, status) !== undefined
  const meaning: Message = isKnown
    ? { key: `payment_order_status.${status}` }
    : message('said.status_unknown')
  const order = { trade: trade_no ?? '', status: status ?? '', meaning }
  return refund_amount == null
    ? message('said.payment_order', order)
    : message('said.payment_order_refunded', { ...order, refunded: refund_amount })
}

/** The order of a refund, in the enterprise that the refund names. */
type OrderOfRefund = Pick<Refund, 'outer_trade_no' | 'enterprise_code'>

/** How much of an order is refunded: as its record shows it, null where it does not say, and as `knownRefunded` has it. */
export interface RefundedSoFar {
  shown: string | null
  atLeast: string
  confirmed: string
  /** What was paid for the order, null where its record does not say. */
  paid: string | null
  /** Its refunds in the journal. */
  earlier: EarlierRefund[]
}

/** @throws PlatformError */
export async function readRefundedSoFar(
  { client, pool }: Pick<SendDeps, 'client' | 'pool'>,
  order: OrderOfRefund,
  options: CallOptions,
): Promise<RefundedSoFar> {
  const record = await readRecordToRefund(client, order, options)
  const shown = record && refundedAmount(record)
  if (shown !== null) await compareWithShown(pool, { outer_trade_no: order.outer_trade_no, refunded: shown })
  const known = await knownRefunded(pool, order.outer_trade_no)
  const earlier = await earlierRefunds(pool, order.outer_trade_no)
  return { ...known, shown, paid: record?.pay_amount ?? null, earlier }
}

/**
 * What was refunded of an order before a refund that is about to be sent. Null also while the order record does not show yet
 * all that dirsync knows to be refunded: what it shows later could be taken for this refund.
 */
export function refundedBefore({ shown, atLeast }: Pick<RefundedSoFar, 'shown' | 'atLeast'>): string | null {
  const [before, least] = [cents(shown), cents(atLeast)]
  return before !== null && least !== null && before >= least ? shown : null
}

/**
 * The order record (section 4.11); null when it is a bare trade number.
 * @throws PlatformError
 */
async function readOrderRecord(
  client: PlatformClient,
  { outer_trade_no, enterprise_code }: OrderOfRefund,
  options: CallOptions,
): Promise<OrderRecord | null> {
  const record = await client.orders.record({ outer_trade_no, ...enterpriseParams(enterprise_code) }, options)
  return typeof record === 'string' ? null : record
}

/**
 * The order record before a refund. Null also when it cannot be asked: its limits for the trade number are narrower than those
 * of a refund.
 * @throws PlatformError
 */
async function readRecordToRefund(...asked: Parameters<typeof readOrderRecord>): Promise<OrderRecord | null> {
  try {
    return await readOrderRecord(...asked)
  } catch (error) {
    if (cannotBeAsked(error)) return null
    throw error
  }
}

/** Whether a parameter breaks a rule: nothing was asked, and asking again will not help. */
function cannotBeAsked(error: unknown): boolean {
  return error instanceof PlatformError && error.kind === 'invalid_request'
}

/**
 * The payment orders behind an order, as far as their trade numbers are known.
 * @throws PlatformError
 */
async function readPaymentOrders(
  { client, pool }: SendDeps,
  outerTradeNo: string,
  options: CallOptions,
): Promise<PaymentOrderDetail[]> {
  const orders = []
  for (const { trade_no, enterprise_code } of await tradeNumbersOf(pool, outerTradeNo)) {
    const query = { trade_no, ...enterpriseParams(enterprise_code) }
    orders.push({ ...(await client.paymentOrders.get(query, options)), trade_no })
  }
  return orders
}
