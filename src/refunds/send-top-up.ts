import { SENT_WITHIN_MS } from '../core/refund-settlement.ts'
import { trimText } from '../core/text.ts'
import { type TopUpApplication, topUpApply } from '../platform/operations/top-up.ts'
import { checkedParameters } from '../platform/parameters.ts'
import { JournalError } from '../store/journal-error.ts'
import { whileSending } from '../store/sending.ts'
import {
  forgetTopUp,
  type NewTopUp,
  readTopUp,
  storeTopUpAnswer,
  type TopUpAnswer,
  topUpLock,
  writeTopUp,
} from '../store/topup.ts'
import { failedAnswer } from './failed-answer.ts'
import type { SendDeps, SendOptions } from './send-refund.ts'
import { storePatiently } from './store-patiently.ts'

/** How a top-up application ended, as far as it is known. */
export interface TopUpOutcome {
  externalCode: string
  state: 'accepted' | 'rejected' | 'unknown'
  /** The platform's open id of the application, when it was accepted. */
  applyChargeOpenid: string | null
  /** Error code of the platform, when it was rejected by one. */
  platformCode: number | null
  traceId: string | null
  /** What happened and what to do, without personal data; null when it was accepted. */
  message: string | null
}

/**
 * Applies for a top-up (specification section 4.12): written down first, sent once, its answer stored. An unknown outcome
 * stays unknown until a person resolves it, for the interface has no question about it.
 * @throws JournalError when the number was used before: nothing was sent
 * @throws PlatformError when nothing was sent; the number stays free
 */
export async function sendTopUp(
  deps: SendDeps,
  application: TopUpApplication,
  options: SendOptions,
): Promise<TopUpOutcome> {
  checkedParameters(topUpApply, application)
  const topUp = {
    external_code: trimText(application.external_code),
    account_openid: trimText(application.account_openid),
    enterprise_code: trimText(application.enterprise_code ?? ''),
    amount: trimText(application.amount),
  }
  const outcome = await whileSending(deps.pool, topUpLock(topUp.external_code), async db => {
    const sendBefore = Date.now() + SENT_WITHIN_MS
    if (!(await writeTopUp(db, topUp, options.actor))) throw await alreadySent(deps, topUp.external_code)
    return send(deps, application, topUp, { ...options, sendBefore })
  })
  if (outcome === null) throw await alreadySent(deps, topUp.external_code)
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
    platformCode: answer.state === 'rejected' ? answer.platformCode : null,
    traceId: answer.state === 'accepted' ? null : answer.traceId,
    message: answer.state === 'accepted' ? null : answer.message,
  }
  if (isStored) return outcome
  const message = `the platform's answer (${answer.state}) could not be stored, for dirsync's own database does not answer: note it down, and say so with dirsync topup resolve when it does`
  return { ...outcome, state: 'unknown', message }
}

async function alreadySent({ pool }: SendDeps, externalCode: string): Promise<JournalError> {
  const sent = await readTopUp(pool, externalCode)
  return new JournalError(
    'ALREADY_SENT',
    sent
      ? `top-up ${externalCode} was sent before (${sent.amount} for account ${sent.account_openid}, now ${sent.state}): a number is never sent twice; use a new one for another top-up`
      : `top-up ${externalCode} is being sent at this moment`,
  )
}
