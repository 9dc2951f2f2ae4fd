import { trimText } from '../lib/text.ts'
import { type TopUpApplication, topUpApply } from '../platform/operations/money.ts'
import { SENT_WITHIN_MS } from '../platform/refund-settlement.ts'
import { checkedParameters } from '../platform/request.ts'
import { JournalError, whileSending } from './journal.ts'
import { failedAnswer, type SendDeps, type SendOptions, storePatiently } from './send-refund.ts'
import {
  beginTopUp,
  forgetTopUp,
  type NewTopUp,
  otherOpenTopUp,
  readTopUp,
  storeTopUpAnswer,
  type TopUpAnswer,
  topUpLock,
  writeTopUp,
} from './top-up.ts'

interface TopUpOptions extends SendOptions {
  /** Numbers of open applications for the same account, beside which this one is to be sent all the same. */
  althoughOpen?: readonly string[]
}

/** How a top-up application ended, as far as it is known. */
export interface TopUpOutcome {
  externalCode: string
  state: 'accepted' | 'rejected' | 'unknown'
  /** The platform's open id of the application, when it was accepted. */
  applyChargeOpenid: string | null
  /** Error code that the platform answered with; null where there was none. */
  platformCode: number | null
  traceId: string | null
  /** What happened and what to do, without personal data; null when it was accepted. */
  message: string | null
}

/**
 * Applies for a top-up (specification section 4.12): written down first, sent once, its answer stored. An unknown outcome
 * stays unknown until a person resolves it, for the interface has no question about it.
 * @throws JournalError when the number was used before, or the account has an open application that is not named: nothing
 *   was sent
 * @throws PlatformError when nothing was sent; the number stays free
 */
export async function sendTopUp(
  deps: SendDeps,
  application: TopUpApplication,
  options: TopUpOptions,
): Promise<TopUpOutcome> {
  checkedParameters(topUpApply, application)
  const topUp = {
    external_code: trimText(application.external_code),
    account_openid: trimText(application.account_openid),
    enterprise_code: trimText(application.enterprise_code ?? ''),
    amount: trimText(application.amount),
    although_open: (options.althoughOpen ?? []).map(trimText),
  }
  const outcome = await whileSending(deps.pool, topUpLock(topUp.external_code), async db => {
    const sendBefore = Date.now() + SENT_WITHIN_MS
    if (!(await beginTopUp(db, topUp, options.actor))) throw await refusalOf(deps, topUp)
    return send(deps, application, topUp, { ...options, sendBefore })
  })
  if (outcome === null) throw await refusalOf(deps, topUp)
  return outcome
}

async function send(
  { pool, client, logger }: SendDeps,
  application: TopUpApplication,
  row: NewTopUp,
  { actor, signal, sendBefore }: SendOptions & { sendBefore: number },
): Promise<TopUpOutcome> {
  const externalCode = row.external_code
  let answer: TopUpAnswer
  try {
    const { apply_charge_openid } = await client.topUps.apply(application, {
      sendBefore,
      ...(signal && { signal }),
    })
    answer = { state: 'accepted', applyChargeOpenid: apply_charge_openid }
  } catch (error) {
    const failed = failedAnswer(error, logger)
    if (failed === null) {
      await storePatiently(() => forgetTopUp(pool, externalCode), logger)
      throw error
    }
    answer = failed
  }
  const isStored = await storePatiently(async () => {
    // Nothing is written but where the database has failed over to a copy without the row.
    await writeTopUp(pool, row, actor)
    await storeTopUpAnswer(pool, externalCode, answer)
  }, logger)
  logger.info({ externalCode, state: answer.state, isStored }, 'top-up application sent')
  const outcome = {
    externalCode,
    state: answer.state,
    applyChargeOpenid: answer.state === 'accepted' ? answer.applyChargeOpenid : null,
    platformCode: answer.state === 'accepted' ? null : answer.platformCode,
    traceId: answer.state === 'accepted' ? null : answer.traceId,
    message: answer.state === 'accepted' ? null : answer.message,
  }
  if (isStored) return outcome
  const message = `the platform's answer (${answer.state}) could not be stored, for dirsync's own database does not answer: note it down, and say so with dirsync topup resolve when it does`
  return { ...outcome, state: 'unknown', message }
}

/** Why a top-up may not be sent. */
async function refusalOf({ pool }: SendDeps, topUp: NewTopUp): Promise<JournalError> {
  const { external_code, account_openid } = topUp
  const sent = await readTopUp(pool, external_code)
  if (sent)
    return new JournalError(
      'ALREADY_SENT',
      `top-up ${external_code} was sent before (${sent.amount} for account ${sent.account_openid}, now ${sent.state}): a number is never sent twice; use a new one for another top-up`,
    )
  const open = await otherOpenTopUp(pool, topUp)
  if (open)
    return new JournalError(
      'ACCOUNT_BUSY',
      `top-up ${open.external_code} (${open.amount}) of the same account is open (${open.state}): find out first whether it was carried out; to send another one beside it, name it: dirsync topup send … --although-open ${open.external_code}`,
    )
  return new JournalError(
    'ALREADY_SENT',
    `top-up ${external_code}, or another one of account ${account_openid}, is being sent at this moment`,
  )
}
