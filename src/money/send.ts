import { setTimeout as sleep } from 'node:timers/promises'
import { whileLocked } from '../lib/advisory-lock.ts'
import { type ClientBase, inTransaction, type Pool, transaction } from '../lib/database.ts'
import type { Logger } from '../lib/logger.ts'
import { trimText } from '../lib/text.ts'
import type { CallOptions } from '../platform/client.ts'
import { entryOfCode } from '../platform/codes.ts'
import { PlatformError, platformSaid } from '../platform/errors.ts'
import {
  type RefundRequest,
  refundCreate,
  type TopUpApplication,
  topUpApply,
} from '../platform/operations/money.ts'
import { tokenCreate } from '../platform/operations/token.ts'
import { cents, exceedsRest, SENT_WITHIN_MS } from '../platform/refund-settlement.ts'
import { checkedParameters } from '../platform/request.ts'
import { actAs, noteCommand } from '../sync/runs/commands.ts'
import { inWords, type Message, message, type Said } from '../texts/message.ts'
import type { SendDeps } from './journal.ts'
import { type Answer, type Entry, isOpen, type Journal, JournalError } from './journal.ts'
import { adoptMoney } from './open.ts'
import { mayStillCome, openRefundOf, orderLock, type Refund, refundJournal, writeRefund } from './refund.ts'
import { type RefundedSoFar, readRefundedSoFar, refundedBefore } from './settle.ts'
import {
  beginTopUp,
  type NewTopUp,
  notOpenOf,
  otherTopUp,
  topUpJournal,
  topUpLock,
  writeTopUp,
} from './top-up.ts'

interface SendOptions {
  /** The requester, for the journal: `cli:` and the shell user. */
  actor: string
  /** Aborts. Before the call nothing has happened then; afterwards the outcome is unknown. */
  signal?: AbortSignal
}

/** The outcome of a refund or a top-up, as far as it is known. */
export interface SendOutcome {
  number: string
  state: Answer['state']
  /** The platform's own number for it, when accepted. */
  receipt: string | null
  /** The error code that the platform answered with. */
  platformCode: number | null
  traceId: string | null
  /** What happened and what to do, without personal data; null when it was accepted. */
  message: Said | null
}

/** The outcome of a refund, and what was known to be refunded of its order before it. */
export interface RefundOutcome extends SendOutcome {
  before: RefundedSoFar
}

/**
 * Refunds an order (section 4.10): writes it down, sends it once, stores the answer. If this process dies meanwhile, the
 * settler finds out the outcome.
 * @param options.agreed what was refunded of the order when a person agreed to this refund
 * @throws JournalError when the number was used before, another refund of the order is open, more was refunded since a person
 * agreed, or the amount is more than is left: nothing was sent
 * @throws PlatformError when nothing was sent (a parameter breaks a rule, the order is not known, the platform cannot be
 * reached, it asks to wait); the number stays free
 */
export async function sendRefund(
  deps: SendDeps,
  request: RefundRequest,
  options: SendOptions & { agreed?: RefundedSoFar | undefined },
): Promise<RefundOutcome> {
  checkedParameters(refundCreate, request)
  const { pool, client } = deps
  const refund = {
    outer_refund_no: trimText(request.outerRefundNo),
    outer_trade_no: trimText(request.outerTradeNo),
    enterprise_code: trimText(request.enterprise_code ?? ''),
    refund_amount: trimText(request.refundAmount),
  }
  // Before the lock is taken: an earlier refund of the order, whose sender died, would seem to be in hand under it.
  await adoptMoney(deps)
  const outcome = await whileLocked(pool, orderLock(refund.outer_trade_no), async db => {
    const refusal = await refusalOfRefund(pool, refund)
    if (refusal) throw refusal
    // Read under the lock: until this refund is settled, dirsync sends no other one of the order.
    const soFar = await readRefundedSoFar(deps, refund, options.signal ? { signal: options.signal } : {})
    // Another person may have agreed to the same refund at the same time.
    if (options.agreed && !isSame(soFar, options.agreed))
      throw new JournalError('ORDER_CHANGED', message('said.order_changed', { trade: refund.outer_trade_no }))
    const excess = refusalOfAmount(refund, soFar)
    if (excess) throw excess
    // What the order record shows later could be the one that came after all.
    const isClear = !(await mayStillCome(pool, refund.outer_trade_no))
    // By the platform's clock: ours may be behind together with the database's, or ahead by days.
    const now = () => {
      const { appliedMs, measuredMs } = client.clockOffset
      return new Date(Date.now() + Math.max(appliedMs, 0) + Math.min(measuredMs ?? 0, 0))
    }
    const row = { ...refund, refunded_before: isClear ? refundedBefore(soFar) : null }
    const { refund_amount: amount, ...numbers } = refund
    const values = { ...numbers, amount }
    const write = (client: ClientBase, state?: Answer['state']) =>
      changeNoted(client, options, 'send_refund', values, () =>
        writeRefund(client, row, options.actor, state, now()),
      )
    const outcome = await sendOnce(deps, options, {
      journal: refundJournal,
      number: refund.outer_refund_no,
      begin: () => inTransaction(db, () => write(db)),
      forget: why =>
        inTransaction(db, () =>
          changeNoted(db, options, 'unsent_refund', { ...values, why }, () =>
            refundJournal.forget(db, row.outer_refund_no),
          ),
        ),
      notified: async () => {
        const stored = await refundJournal.read(pool, row.outer_refund_no)
        return stored?.state === 'notified' ? stored.trade_no : null
      },
      restore: async ({ state }) =>
        (await transaction(pool, client => write(client, state))) ||
        (await refundJournal.read(pool, row.outer_refund_no)) !== null,
      call: callOptions => client.refunds.create(request, callOptions),
      ifNotStored: message('said.refund_settles_itself'),
    })
    return outcome && { ...outcome, before: soFar }
  })
  if (outcome) return outcome
  throw (
    (await refusalOfRefund(pool, refund)) ??
    new JournalError('ORDER_BUSY', message('said.order_busy', { trade: refund.outer_trade_no }))
  )
}

/**
 * Why a refund must not be sent of an order of which so much is refunded; null when it may be. The order record may be behind with
 * refunds that dirsync knows of.
 */
export function refusalOfAmount(
  refund: Pick<Refund, 'outer_trade_no' | 'refund_amount' | 'enterprise_code'>,
  soFar: RefundedSoFar,
): JournalError | null {
  const { outer_trade_no: trade, refund_amount: amount, enterprise_code } = refund
  const { shown, confirmed, paid } = soFar
  const refunded = refundedBefore({ shown, atLeast: confirmed }) ?? confirmed
  if (!exceedsRest(amount, { paid, refunded })) return null
  // Without it, the platform may not find the order of a group.
  const of = enterprise_code === '' ? '' : ` --enterprise ${enterprise_code}`
  const left = { amount, trade, refunded, paid: paid ?? '', of }
  return new JournalError('ORDER_EXCEEDED', message('said.order_exceeded', left))
}

function isSame(one: RefundedSoFar, other: RefundedSoFar): boolean {
  return cents(one.shown) === cents(other.shown) && cents(one.atLeast) === cents(other.atLeast)
}

/** Why a refund must not be sent; null when it may be. */
async function refusalOfRefund(
  pool: Pool,
  refund: { outer_refund_no: string; outer_trade_no: string },
): Promise<JournalError | null> {
  const sent = await refundJournal.read(pool, refund.outer_refund_no)
  if (sent)
    return new JournalError(
      'ALREADY_SENT',
      message('said.refund_sent_before', {
        number: sent.outer_refund_no,
        amount: sent.refund_amount,
        trade: sent.outer_trade_no,
        money_state: sent.state,
      }),
    )
  const open = await openRefundOf(pool, refund.outer_trade_no)
  return (
    open &&
    new JournalError(
      'ORDER_BUSY',
      message('said.order_open', { number: open.outer_refund_no, money_state: open.state }),
    )
  )
}

/**
 * Applies for a top-up (section 4.12): writes it down, sends it once, stores the answer. An unknown outcome stays unknown until
 * a person resolves it, since the platform offers no query for it.
 * @param options.althoughOpen numbers of open applications for the same account that may stay open beside this one
 * @param options.agreedAt when a person agreed to it, by the database's clock
 * @throws JournalError when the number was used before, an open application of the account is not named, one that is named is not
 * open, or another one was
 * accepted since a person agreed: nothing was sent
 * @throws PlatformError when nothing was sent; the number stays free
 */
export async function sendTopUp(
  deps: SendDeps,
  application: TopUpApplication,
  options: SendOptions & { althoughOpen: readonly string[]; agreedAt?: Date | undefined },
): Promise<SendOutcome> {
  checkedParameters(topUpApply, application)
  const { pool, client } = deps
  const topUp = topUpOf(application, options.althoughOpen)
  await adoptMoney(deps)
  const agreedAt = options.agreedAt ?? null
  const { although_open: _, ...values } = topUp
  const noted = (client: ClientBase, write: () => Promise<boolean>) =>
    changeNoted(client, options, 'send_topup', values, write)
  const outcome = await whileLocked(pool, topUpLock(topUp.external_code), db =>
    sendOnce(deps, options, {
      journal: topUpJournal,
      number: topUp.external_code,
      begin: () => inTransaction(db, () => noted(db, () => beginTopUp(db, topUp, options.actor, agreedAt))),
      forget: why =>
        inTransaction(db, () =>
          changeNoted(db, options, 'unsent_topup', { ...values, why }, () =>
            topUpJournal.forget(db, topUp.external_code),
          ),
        ),
      notified: async () => null,
      restore: async () => {
        await transaction(pool, client => noted(client, () => writeTopUp(client, topUp, options.actor)))
        return true
      },
      call: async callOptions => (await client.topUps.apply(application, callOptions)).apply_charge_openid,
      ifNotStored: message('said.topup_note_down'),
    }),
  )
  if (outcome) return outcome
  const { external_code: number, account_openid: account } = topUp
  throw (
    (await refusalOfTopUp(pool, topUp, agreedAt)) ??
    new JournalError('ALREADY_SENT', message('said.topup_busy', { number, account }))
  )
}

/** What the journal holds of an application. */
export function topUpOf(application: TopUpApplication, althoughOpen: readonly string[]): NewTopUp {
  return {
    external_code: trimText(application.external_code),
    account_openid: trimText(application.account_openid),
    enterprise_code: trimText(application.enterprise_code ?? ''),
    amount: trimText(application.amount),
    although_open: althoughOpen.map(trimText),
  }
}

/** Why a top-up must not be sent; null when it may be. */
export async function refusalOfTopUp(
  pool: Pool,
  topUp: NewTopUp,
  agreedAt: Date | null,
): Promise<JournalError | null> {
  const { external_code } = topUp
  const sent = await topUpJournal.read(pool, external_code)
  if (sent)
    return new JournalError(
      'ALREADY_SENT',
      message('said.topup_sent_before', {
        number: external_code,
        amount: sent.amount,
        account: sent.account_openid,
        money_state: sent.state,
      }),
    )
  const other = await otherTopUp(pool, topUp, agreedAt)
  if (other === null) {
    const notOpen = await notOpenOf(pool, topUp, agreedAt)
    const named = { number: notOpen ?? '', account: topUp.account_openid }
    return notOpen === null ? null : new JournalError('NAMED_NOT_OPEN', message('said.named_not_open', named))
  }
  const { external_code: number, amount, state } = other
  return isOpen(other)
    ? new JournalError('ACCOUNT_BUSY', message('said.account_busy', { number, amount, money_state: state }))
    : new JournalError('ACCOUNT_CHANGED', message('said.account_changed', { number, amount }))
}

/** Changes the journal and, unless it refuses, notes in the audit what was asked for, or was not sent. In a transaction. */
async function changeNoted(
  client: ClientBase,
  { actor }: SendOptions,
  name: `${'send' | 'unsent'}_${'refund' | 'topup'}`,
  values: Readonly<Record<string, string | Said>>,
  change: () => Promise<boolean>,
): Promise<boolean> {
  await actAs(client, { actor })
  if (!(await change())) return false
  await noteCommand(client, name, { ...values, enterprise_code: values.enterprise_code || null })
  return true
}

/** A transfer of money, and how to write it down and send it. */
interface Transfer {
  journal: Pick<Journal<Entry>, 'noun' | 'storeAnswer'>
  number: string
  /** Writes it down; false when the journal refuses it. */
  begin(): Promise<boolean>
  /**
   * Deletes it; false when the journal has none that may be deleted. Only under the lock: without, another process may have sent the
   * number since.
   */
  forget(why: Said): Promise<boolean>
  /** The platform's own number, once it has notified that it carried it out; otherwise null. */
  notified(): Promise<string | null>
  /** Writes it down again, in case the database has failed over to a copy without its row. False when the journal refuses it. */
  restore(answer: Answer): Promise<boolean>
  /** Sends it; returns the platform's own number. */
  call(options: CallOptions): Promise<string>
  /** What happens, or is to be done, once a database that could not store the answer is back. */
  ifNotStored: Message
}

/** Writes it down, sends it, stores the answer. Null when the journal refuses it: nothing was sent. */
async function sendOnce(
  { pool, logger }: SendDeps,
  { signal }: SendOptions,
  { journal, number, begin, forget, notified, restore, call, ifNotStored }: Transfer,
): Promise<SendOutcome | null> {
  const sendBefore = Date.now() + SENT_WITHIN_MS
  if (!(await begin())) return null
  const nothing = { number, receipt: null, platformCode: null, traceId: null, message: null }
  const unstored = (state: Answer['state'], known: Partial<SendOutcome>): SendOutcome => ({
    ...nothing,
    ...known,
    state: 'unknown',
    message: message('said.answer_not_stored', { money_state: state, what: ifNotStored }),
  })
  let answer: Answer
  // A gateway may send it twice, and pass on the answer of the second time alone.
  let receipt = null as string | null
  const wasNotified = (): SendOutcome => ({ ...nothing, state: 'accepted', receipt })
  try {
    answer = { state: 'accepted', receipt: await call({ sendBefore, ...(signal && { signal }) }) }
  } catch (error) {
    const failed = failedAnswer(error, logger)
    if (failed === null) {
      const { platformCode = null, traceId = null, verdict, kind, cause } = error as PlatformError
      // What people are told does not say what ails dirsync.
      if (kind === 'aborted' && !signal?.aborted)
        logger.warn({ error: cause }, `${journal.noun} not sent: dirsync gave the call up`)
      const isStored = await storePatiently(async () => {
        if (!(await forget(verdict.said.meaning))) receipt = await notified()
      }, logger)
      // Its row is later found without a sender, as after a crash, so the number is not free.
      if (!isStored) return unstored('rejected', { platformCode, traceId })
      if (receipt === null) throw error
      return wasNotified()
    }
    answer = failed
  }
  const isStored = await storePatiently(async () => {
    if (!(await restore(answer))) throw new Error('another refund of its order is open')
    await journal.storeAnswer(pool, number, answer)
    if (answer.state !== 'accepted') receipt = await notified()
  }, logger)
  logger.info({ number, state: answer.state, isStored }, `${journal.noun} sent`)
  if (receipt !== null) return wasNotified()
  return isStored ? { ...nothing, ...answer } : unstored(answer.state, answer)
}

/**
 * What a failure says about a call that must not be repeated: refused by a code of the platform, or unknown. Null: nothing was
 * carried out, and its number is still free.
 */
export function failedAnswer(error: unknown, logger: Logger): Exclude<Answer, { state: 'accepted' }> | null {
  if (!(error instanceof PlatformError)) {
    logger.error({ error }, 'a call that must not be repeated failed in dirsync')
    return {
      state: 'unknown',
      platformCode: null,
      message: message('said.our_side'),
      traceId: null,
    }
  }
  if (error.operation === tokenCreate.name) return null // without a token nothing is sent
  const { platformCode, traceId = null } = error
  if (!error.outcomeKnown) {
    const what = [error.said, ...platformSaid(error)]
    return { state: 'unknown', platformCode: platformCode ?? null, message: what, traceId }
  }
  if (platformCode === undefined || isAboutAccess(error)) return null
  const words = error.maskedMessage ?? ''
  const why = words === '' ? error.verdict.said.meaning : inWords(words)
  return { state: 'rejected', platformCode, message: why, traceId }
}

/** Refused for the application, its token, clock or enterprise: the platform did not look at the request itself. */
function isAboutAccess({ disposition, platformCode }: PlatformError): boolean {
  return disposition === 'halt' || entryOfCode(platformCode)?.disposition === 'refresh-token'
}

const TRIES = 3
const PAUSE_MS = 1000

/** Stores the outcome of a call, retrying through a short outage of the database. False after a longer one. */
async function storePatiently(store: () => Promise<unknown>, logger: Logger): Promise<boolean> {
  for (let attempt = 1; ; attempt++) {
    try {
      await store()
      return true
    } catch (error) {
      if (attempt === TRIES) {
        logger.error({ error }, 'what became of a call could not be stored')
        return false
      }
    }
    await sleep(PAUSE_MS)
  }
}
