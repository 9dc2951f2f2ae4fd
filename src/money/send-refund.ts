import { setTimeout as sleep } from 'node:timers/promises'
import { maskText } from '../directory/masking.ts'
import type { Pool } from '../lib/database.ts'
import type { Logger } from '../lib/logger.ts'
import { trimText } from '../lib/text.ts'
import type { PlatformClient } from '../platform/client.ts'
import { entryOfCode } from '../platform/codes.ts'
import { PlatformError } from '../platform/errors.ts'
import { type RefundRequest, refundCreate } from '../platform/operations/money.ts'
import { tokenCreate } from '../platform/operations/token.ts'
import { SENT_WITHIN_MS } from '../platform/refund-settlement.ts'
import { checkedParameters } from '../platform/request.ts'
import {
  forgetRefund,
  JournalError,
  type NewRefund,
  orderLock,
  type RefundAnswer,
  storeAnswer,
  whileSending,
  writeRefund,
} from './journal.ts'
import { listRefunds, readRefund } from './refund.ts'
import { readRefundedBefore } from './settle.ts'

/** What sending needs. */
export interface SendDeps {
  pool: Pool
  client: PlatformClient
  logger: Logger
}

/** Who asks, for the journal, and how to give up. */
export interface SendOptions {
  /** `cli:` and the shell user. */
  actor: string
  /** Before it is sent, nothing has happened then; afterwards its outcome is unknown. */
  signal?: AbortSignal
}

/** How a refund ended, as far as it is known. */
export interface RefundOutcome {
  outerRefundNo: string
  state: 'accepted' | 'rejected' | 'unknown'
  /** Trade number of the platform, when it was accepted. */
  tradeNo: string | null
  /** Error code that the platform answered with; null where there was none. */
  platformCode: number | null
  traceId: string | null
  /** What happened and what to do, without personal data; null when it was accepted. */
  message: string | null
}

/**
 * Refunds an order (specification section 4.10): written down first, sent once, its answer stored. Whatever ends this
 * process meanwhile, the row tells the {@link RefundSettler} to find out what became of it.
 * @throws JournalError when the number was used before, or another refund of the order is open: nothing was sent
 * @throws PlatformError when nothing was sent (a parameter breaks a rule, the order is not known, the platform cannot be
 *   reached, it asks to wait); the number stays free
 */
export async function sendRefund(
  deps: SendDeps,
  request: RefundRequest,
  options: SendOptions,
): Promise<RefundOutcome> {
  checkedParameters(refundCreate, request)
  const refund = {
    outer_refund_no: trimText(request.outerRefundNo),
    outer_trade_no: trimText(request.outerTradeNo),
    enterprise_code: trimText(request.enterprise_code ?? ''),
    refund_amount: trimText(request.refundAmount),
  }
  const outcome = await whileSending(deps.pool, orderLock(refund.outer_trade_no), async db => {
    const refused = await refusalOf(deps.pool, refund)
    if (refused) throw refused
    // Read under the lock: until this refund is settled, no other one of dirsync's can change it.
    const refunded_before = await readRefundedBefore(deps, refund.outer_trade_no, options.signal)
    const sendBefore = Date.now() + SENT_WITHIN_MS
    const row = { ...refund, refunded_before }
    if (!(await writeRefund(db, row, options.actor)))
      throw (await refusalOf(deps.pool, refund)) ?? busy(refund.outer_trade_no)
    return send(deps, request, row, { ...options, sendBefore })
  })
  if (outcome === null) throw (await refusalOf(deps.pool, refund)) ?? busy(refund.outer_trade_no)
  return outcome
}

async function send(
  { pool, client, logger }: SendDeps,
  request: RefundRequest,
  row: NewRefund,
  { actor, signal, sendBefore }: SendOptions & { sendBefore: number },
): Promise<RefundOutcome> {
  const outerRefundNo = row.outer_refund_no
  let answer: RefundAnswer
  try {
    const tradeNo = await client.refunds.create(request, { sendBefore, ...(signal && { signal }) })
    answer = { state: 'accepted', tradeNo }
  } catch (error) {
    const failed = failedAnswer(error, logger)
    if (failed === null) {
      // If it cannot be forgotten, the settler finds that it was not carried out.
      await storePatiently(() => forgetRefund(pool, outerRefundNo), logger)
      throw error
    }
    answer = failed
  }
  const isStored = await storePatiently(async () => {
    // Nothing is written but where the database has failed over to a copy without the row.
    await writeRefund(pool, row, actor)
    await storeAnswer(pool, outerRefundNo, answer)
  }, logger)
  logger.info({ outerRefundNo, state: answer.state, isStored }, 'refund sent')
  return outcomeOf(outerRefundNo, answer, isStored)
}

function outcomeOf(outerRefundNo: string, answer: RefundAnswer, isStored: boolean): RefundOutcome {
  const outcome = {
    outerRefundNo,
    state: answer.state,
    tradeNo: answer.state === 'accepted' ? answer.tradeNo : null,
    platformCode: answer.state === 'accepted' ? null : answer.platformCode,
    traceId: answer.state === 'accepted' ? null : answer.traceId,
    message: answer.state === 'accepted' ? null : answer.message,
  }
  if (isStored) return outcome
  const message = `the platform's answer (${answer.state}) could not be stored, for dirsync's own database does not answer; dirsync start settles the refund when it does`
  return { ...outcome, state: 'unknown', message }
}

/** Why a refund must not be sent; null when nothing stands against it. */
async function refusalOf(
  pool: Pool,
  refund: { outer_refund_no: string; outer_trade_no: string },
): Promise<JournalError | null> {
  const sent = await readRefund(pool, refund.outer_refund_no)
  if (sent)
    return new JournalError(
      'ALREADY_SENT',
      `refund ${sent.outer_refund_no} was sent before (${sent.refund_amount} of order ${sent.outer_trade_no}, now ${sent.state}): a number is never sent twice; use a new one for another refund`,
    )
  for (const state of ['requested', 'unknown'] as const) {
    const [open] = await listRefunds(pool, { state, outerTradeNo: refund.outer_trade_no, limit: 1 })
    if (open)
      return new JournalError(
        'ORDER_BUSY',
        `the outcome of refund ${open.outer_refund_no} of the same order is open (${state}): nothing more is sent for the order until it is settled`,
      )
  }
  return null
}

function busy(outerTradeNo: string): JournalError {
  return new JournalError(
    'ORDER_BUSY',
    `another refund of order ${outerTradeNo} is being sent at this moment`,
  )
}

/** A call that failed after it was sent: refused by a code of the platform, or nobody knows. */
type FailedAnswer =
  | { state: 'rejected'; platformCode: number; message: string; traceId: string | null }
  | { state: 'unknown'; platformCode: number | null; message: string; traceId: string | null }

/** What a failure says about a call that must not be repeated; null: nothing was carried out, and its number is still free. */
export function failedAnswer(error: unknown, logger: Logger): FailedAnswer | null {
  if (!(error instanceof PlatformError)) {
    logger.error({ err: (error as Error).message }, 'a call that must not be repeated failed on our side')
    return {
      state: 'unknown',
      platformCode: null,
      message: 'something failed on our side of the call: see the log of dirsync',
      traceId: null,
    }
  }
  if (error.operation === tokenCreate.name) return null // without a token nothing is sent
  const traceId = error.traceId ?? null
  const { platformCode } = error
  const said = maskText(error.platformMessage ?? '')
  if (!error.outcomeKnown) {
    const message = said === '' ? error.message : `${error.message} The platform said: ${said}`
    return { state: 'unknown', platformCode: platformCode ?? null, message, traceId }
  }
  if (platformCode === undefined || isAboutAccess(error)) return null
  return { state: 'rejected', platformCode, message: said, traceId }
}

/** Refused for the application, its token, clock or enterprise: the platform did not look at what was asked. */
function isAboutAccess({ disposition, platformCode }: PlatformError): boolean {
  return disposition === 'halt' || entryOfCode(platformCode)?.disposition === 'refresh-token'
}

const TRIES = 3
const PAUSE_MS = 1000

/** Stores what became of a call, through a database that is away for a moment. False when it is away for longer. */
export async function storePatiently(store: () => Promise<void>, logger: Logger): Promise<boolean> {
  for (let attempt = 1; ; attempt++) {
    try {
      await store()
      return true
    } catch (error) {
      if (attempt === TRIES) {
        logger.error({ err: (error as Error).message }, 'what became of a call could not be stored')
        return false
      }
    }
    await sleep(PAUSE_MS)
  }
}
