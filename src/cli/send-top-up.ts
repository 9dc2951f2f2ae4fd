import type { Config } from '../config.ts'
import { accountOf } from '../connections.ts'
import { sendTopUp, type TopUpOutcome } from '../money/send-top-up.ts'
import { type TopUpApplication, topUpApply } from '../platform/operations/money.ts'
import { SERVICE_PROVIDER } from '../platform/states.ts'
import { claimDeployment } from '../sync/deployment.ts'
import { openContext } from './context.ts'
import { stopSignal } from './failure.ts'
import { enterpriseOf, orExplained, remedyOf, stateText } from './look-up.ts'
import { factLines } from './output.ts'
import { checkedRequest, confirm, type MoneyRequest, needsQuestion, tellOutcome } from './request.ts'

/**
 * Applies for a top-up through the journal, after a question on a terminal. Ctrl-C ends it with the truth: nothing was sent,
 * or the outcome is unknown.
 * @param defaults fields that the application may leave out
 * @param althoughOpen numbers of open applications for the same account, beside which it is sent all the same
 * @throws UsageError, FailedError, JournalError
 */
export async function sendTopUpRequest(
  { request, json, yes, flagOf }: MoneyRequest,
  defaults: (config: Config) => Partial<TopUpApplication> = () => ({}),
  althoughOpen: readonly string[] = [],
): Promise<void> {
  const asks = needsQuestion('top-up application', yes)
  await using context = await openContext({ handlesSignals: true })
  const { config, pool, logger, actor, program } = context
  const complete = {
    ...enterpriseOf(context, undefined),
    ...defaults(config),
    ...request,
  } as TopUpApplication
  const explain = <T>(call: Promise<T>) => orExplained(topUpApply.name, json, call, flagOf)
  await explain(checkedRequest(topUpApply, complete, config))
  // What is sent is written down, for this account and no other to settle.
  await claimDeployment(pool, accountOf(config))
  const client = await context.platform()
  const stop = new AbortController()
  void stopSignal().then(() => stop.abort())
  if (asks) await confirm(summaryOf(complete, althoughOpen, config), 'Send this application?', stop.signal)
  const outcome = await explain(
    sendTopUp({ pool, client, logger }, complete, { actor, signal: stop.signal, althoughOpen }),
  )
  tell(outcome, complete, json, program)
}

/** What a person has to know to say yes. */
function summaryOf(application: TopUpApplication, althoughOpen: readonly string[], config: Config): string[] {
  return [
    'This application for a top-up would be sent:',
    ...factLines([
      ['account', application.account_openid],
      ['amount', application.amount],
      ['number', application.external_code],
      ['although open', althoughOpen.join(', ') || null],
      ['payment', stateText(SERVICE_PROVIDER, Number(application.service_provider))],
      ['taxpayer', application.taxpayer],
      ['identifier', application.identifier],
      ['applicant', application.applicant_name],
      ['enterprise', application.enterprise_code],
      ['platform', config.PLATFORM_BASE_URL],
    ]),
  ]
}

function tell(
  { externalCode, state, applyChargeOpenid, platformCode, traceId, message }: TopUpOutcome,
  { account_openid, amount }: TopUpApplication,
  json: boolean,
  program: string,
): void {
  tellOutcome(
    {
      what: 'top-up',
      number: externalCode,
      state,
      facts: [
        ['account', account_openid],
        ['amount', amount],
        ['application', applyChargeOpenid],
        ['code', platformCode],
        ['message', message],
        // What to do about a code that says nothing of the outcome is told below.
        ['remedy', state === 'unknown' ? null : remedyOf(platformCode)],
        ['trace', traceId],
      ],
      document: {
        external_code: externalCode,
        account_openid,
        amount,
        state,
        apply_charge_openid: applyChargeOpenid,
        platform_code: platformCode,
        trace_id: traceId,
        message,
      },
      remedy: "see in the platform's back office whether it is there, then (or --as rejected)",
      command: `${program} topup resolve ${externalCode} --as accepted --reason "…"`,
    },
    json,
  )
}
