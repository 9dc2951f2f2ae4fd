import type { Config } from '../config.ts'
import { accountOf } from '../connections.ts'
import { databaseTime, type Pool } from '../lib/database.ts'
import { shellWord, trimText } from '../lib/text.ts'
import type { SendDeps } from '../money/journal.ts'
import { adoptMoney } from '../money/open.ts'
import { EARLIER_REFUNDS, paidWith, refundJournal } from '../money/refund.ts'
import {
  type RefundOutcome,
  refusalOfAmount,
  refusalOfTopUp,
  type SendOutcome,
  sendRefund,
  sendTopUp,
  topUpOf,
} from '../money/send.ts'
import { type RefundedSoFar, readRefundedSoFar, refundedBefore } from '../money/settle.ts'
import {
  type RefundRequest,
  refundCreate,
  type TopUpApplication,
  topUpApply,
} from '../platform/operations/money.ts'
import { orderRecordGet } from '../platform/operations/payment-order.ts'
import { cents } from '../platform/refund-settlement.ts'
import { checkedParameters } from '../platform/request.ts'
import { claimDeployment } from '../sync/health/deployment.ts'
import { recentRestore } from '../sync/runs/restored.ts'
import { message } from '../texts/message.ts'
import { type CommandContext, missingRoles, openContext } from './context.ts'
import { FailedError, stopSignal } from './failure.ts'
import { named, said, say } from './language.ts'
import { ASKED_BY_PERSON, amountText, enterpriseOf, orExplained, remedyOf, stateText } from './look-up.ts'
import {
  factLines,
  factsOf,
  longTime,
  type NamedFact,
  print,
  printAside,
  printJson,
  shortTime,
} from './output.ts'
import { confirm, type GivenRequest, needsQuestion } from './request.ts'

/** How `refund send` and `topup send` proceed once the request is complete; `dirsync platform` uses this, too. */

/** Fields that a request may leave out. */
type Defaults = (config: Config) => Record<string, unknown>

const NONE: Defaults = () => ({})

/**
 * Refunds an order.
 * @throws UsageError, FailedError, JournalError
 */
export function sendRefundRequest(given: GivenRequest, defaults: Defaults = NONE): Promise<void> {
  let agreed: RefundedSoFar | undefined
  return sendRequest<RefundRequest, RefundOutcome>(given, defaults, {
    what: 'refund',
    operation: refundCreate,
    paidWith: ({ outerTradeNo }, pool) => paidWith(pool, outerTradeNo),
    summary: async (refund, { pool, client, asset, signal }) => {
      const order = {
        outer_trade_no: trimText(refund.outerTradeNo),
        enterprise_code: trimText(refund.enterprise_code ?? ''),
      }
      agreed = await readRefundedSoFar({ pool, client }, order, { ...ASKED_BY_PERSON, signal })
      const refusal = refusalOfAmount({ ...order, refund_amount: trimText(refund.refundAmount) }, agreed)
      if (refusal) throw refusal
      const unasked = recordUnasked(refund)
      return [
        ['order', refund.outerTradeNo],
        ['paid', unasked === null ? (amountText(agreed.paid, asset) ?? say('shell.not_told')) : null],
        ...beforeOf(refund, agreed, asset),
        ['this_refund', amountText(refund.refundAmount, asset)],
        ['number', refund.outerRefundNo],
        ['reason', refund.reason],
        ['enterprise', refund.enterprise_code],
        ['notifies', refund.notifyUrl],
      ]
    },
    send: (deps, refund, options) => sendRefund(deps, refund, { ...options, agreed }),
    facts: (refund, { state, receipt, before }, asset) => [
      ['order', refund.outerTradeNo],
      // A person who was asked has read it.
      ...(agreed || (before.earlier.length === 0 && canAskRecord(refund.outerTradeNo))
        ? []
        : beforeOf(refund, before, asset)),
      ['amount', amountText(refund.refundAmount, asset)],
      ['trade', receipt],
      ['note', state === 'accepted' ? say('shell.refund_not_completed') : null],
    ],
    document: ({ outerTradeNo, refundAmount }, { number, receipt, before }) => ({
      outer_refund_no: number,
      outer_trade_no: outerTradeNo,
      refund_amount: refundAmount,
      trade_no: receipt,
      record_asked: canAskRecord(outerTradeNo),
      refunded_before: before.shown,
      refunded_at_least: before.atLeast,
      earlier_refunds: before.earlier,
    }),
    whenUnknown: async ({ number, platformCode }, { pool, program }) => {
      // The database may be away. The outcome is told all the same, or the refund would be sent again.
      const sent = await refundJournal.read(pool, number).catch(() => null)
      if (sent?.refunded_before === null)
        return [say('shell.refund_for_person'), resolveCommand(program, 'refund', number)]
      const settle = `${program} refund settle ${shellWord(number)}`
      if (platformCode !== null) return [say('shell.refund_code_unlisted', { code: platformCode }), settle]
      const lacksWorker = await missingRoles(pool).then(
        missing => missing.includes('worker'),
        () => false,
      )
      const words = lacksWorker ? 'shell.refund_unsettled' : 'shell.refund_unknown'
      return [say(words), settle]
    },
  })
}

/** What is refunded of an order already, by its record and by the journal, and which refunds of it the journal has. */
function beforeOf(
  { outerTradeNo }: RefundRequest,
  { shown, atLeast, earlier }: RefundedSoFar,
  asset: string | null,
): NamedFact[] {
  const record = recordUnasked({ outerTradeNo }) ?? amountText(shown, asset) ?? say('shell.not_told')
  // The record may be behind with what dirsync has sent.
  const isBehind = refundedBefore({ shown, atLeast }) === null && cents(atLeast) !== 0n
  const least = amountText(atLeast, asset)
  return [
    ['refunded_before', isBehind ? say('shell.refunded_at_least', { record, least }) : record],
    ...earlier.map(
      ({ outer_refund_no, refund_amount, state, sent_at, may_still_come }): NamedFact => [
        'earlier_refund',
        say(may_still_come ? 'shell.earlier_refund_may_come' : 'shell.earlier_refund', {
          number: outer_refund_no,
          amount: amountText(refund_amount, asset),
          state: named('money_state', state),
          time: longTime(sent_at),
        }),
      ],
    ),
    [
      'earlier_refunds',
      earlier.length < EARLIER_REFUNDS ? null : say('shell.earlier_refunds', { order: outerTradeNo }),
    ],
  ]
}

/** Says that the record of a refund's order cannot be asked; null if it can. */
function recordUnasked({ outerTradeNo }: Pick<RefundRequest, 'outerTradeNo'>): string | null {
  return canAskRecord(outerTradeNo) ? null : say('shell.record_not_asked')
}

/** The record takes fewer numbers of orders than a refund. */
function canAskRecord(outerTradeNo: string): boolean {
  return orderRecordGet.request.shape.outer_trade_no.safeParse(trimText(outerTradeNo)).success
}

/**
 * Applies for a top-up.
 * @param althoughOpen open applications for the same account that the person accepts
 * @throws UsageError, FailedError, JournalError
 */
export function sendTopUpRequest(
  given: GivenRequest,
  defaults: Defaults = NONE,
  althoughOpen: readonly string[] = [],
): Promise<void> {
  let agreedAt: Date | undefined
  return sendRequest<TopUpApplication, SendOutcome>(given, defaults, {
    what: 'top_up',
    operation: topUpApply,
    summary: async (application, { pool, logger }) => {
      agreedAt = await databaseTime(pool)
      await adoptMoney({ pool, logger })
      const refusal = await refusalOfTopUp(pool, topUpOf(application, althoughOpen), agreedAt)
      if (refusal) throw refusal
      return [
        ['account', application.account_openid],
        ['amount', amountText(application.amount)],
        ['number', application.external_code],
        ['although_open', althoughOpen.join(', ')],
        ['payment', stateText('service_provider', Number(application.service_provider))],
        ['taxpayer', application.taxpayer],
        ['identifier', application.identifier],
        ['applicant', application.applicant_name],
        ['enterprise', application.enterprise_code],
      ]
    },
    send: (deps, application, options) =>
      sendTopUp(deps, application, { ...options, althoughOpen, agreedAt }),
    facts: ({ account_openid, amount }, { receipt }) => [
      ['account', account_openid],
      ['amount', amountText(amount)],
      ['application', receipt],
    ],
    document: ({ account_openid, amount }, { number, receipt }) => ({
      external_code: number,
      account_openid,
      amount,
      apply_charge_openid: receipt,
    }),
    whenUnknown: ({ number }, { program }) => [
      say('shell.top_up_unknown'),
      resolveCommand(program, 'topup', number),
    ],
  })
}

/** How the two differ. */
interface Sending<Request, Outcome extends SendOutcome> {
  what: 'refund' | 'top_up'
  operation: typeof refundCreate | typeof topUpApply
  /** What its amount is in, where that is not always money; null: it is not known. It is asked before anything is sent. */
  paidWith?(request: Request, pool: Pool): Promise<string | null>
  /** What a person needs to know before confirming. */
  summary(
    request: Request,
    ask: SendDeps & { asset: string | null; signal: AbortSignal },
  ): Promise<NamedFact[]>
  send(deps: SendDeps, request: Request, options: { actor: string; signal: AbortSignal }): Promise<Outcome>
  /** The outcome for people, and for `--json`, where the two differ. */
  facts(request: Request, outcome: Outcome, asset: string | null): NamedFact[]
  document(request: Request, outcome: Outcome): Record<string, unknown>
  /** What to do if the outcome is unknown: in words, and as a command. */
  whenUnknown(
    outcome: SendOutcome,
    context: CommandContext,
  ): [words: string, command: string] | Promise<[words: string, command: string]>
}

/** How a person says what became of one whose outcome is unknown. */
function resolveCommand(program: string, command: 'refund' | 'topup', number: string): string {
  return `${program} ${command} resolve ${shellWord(number)} --as accepted --reason "…"`
}

const nameOf = (what: Sending<unknown, SendOutcome>['what']) =>
  message(what === 'refund' ? 'said.refund' : 'said.top_up')

/**
 * Asks on a terminal, sends through the journal, and reports the truth even after Ctrl-C: nothing was sent, or the
 * outcome is unknown.
 */
async function sendRequest<Request extends object, Outcome extends SendOutcome>(
  { request, json, yes, flagOf }: GivenRequest,
  defaults: Defaults,
  sending: Sending<Request, Outcome>,
): Promise<void> {
  const { what, operation } = sending
  const asks = needsQuestion(nameOf(what), yes)
  await using context = await openContext({ handlesSignals: true })
  const { config, pool, logger, actor } = context
  const complete = { ...enterpriseOf(context), ...defaults(config), ...request } as Request
  const explain = <T>(failing: string, call: () => T | Promise<T>) => orExplained(failing, call, flagOf)
  await explain(operation.name, () =>
    checkedParameters(operation, complete, {
      appId: config.PLATFORM_APP_ID,
      priceDifferenceMode: config.REFUND_PRICE_DIFFERENCE,
    }),
  )
  // The database must belong to this account: what is sent is recorded there, and only this account can settle it.
  await claimDeployment(pool, accountOf(config), config.DEPLOYMENT_NAME)
  const client = await context.platform()
  const stop = new AbortController()
  void stopSignal().then(() => stop.abort())
  const { signal } = stop
  const asset = (await sending.paidWith?.(complete, pool)) ?? null
  const restoredAt = await recentRestore(pool)
  const time = shortTime(restoredAt)
  const lacks = time && `${say('money.restored', { time })} ${say('money.restored_todo')}`
  if (asks) {
    const facts = await explain('seller/pay/record', () =>
      sending.summary(complete, { pool, client, logger, asset, signal }),
    )
    const lines = factLines(factsOf([...facts, ['platform', config.PLATFORM_BASE_URL], ['note', lacks]]))
    await confirm([say(`shell.would_send.${what}`), ...lines], say(`shell.send.${what}`), signal)
  } else if (lacks) printAside(lacks)
  const outcome = await orExplained(
    operation.name,
    () => sending.send({ pool, client, logger }, complete, { actor, signal }),
    flagOf,
    message('said.money_not_sent', { what: nameOf(what) }),
  )
  await tell(sending, complete, { ...outcome, restoredAt }, asset, json, context)
}

/**
 * Reports the outcome.
 * @throws FailedError unless it is accepted
 */
async function tell<Request, Outcome extends SendOutcome>(
  sending: Sending<Request, Outcome>,
  request: Request,
  outcome: Outcome & { restoredAt: Date | null },
  asset: string | null,
  json: boolean,
  context: CommandContext,
): Promise<void> {
  const { number, state, platformCode, traceId, message: reason } = outcome
  const what = nameOf(sending.what)
  if (json)
    printJson({
      ...sending.document(request, outcome),
      state,
      platform_code: platformCode,
      trace_id: traceId,
      message: reason,
      restored_at: outcome.restoredAt,
    })
  const facts = factLines(
    factsOf([
      ...sending.facts(request, outcome, asset),
      ['code', platformCode],
      ['message', said(reason)],
      // For an unknown outcome, the specific remedy below replaces that of the code.
      ['remedy', state === 'unknown' ? null : remedyOf(platformCode)],
      ['trace', traceId],
    ]),
  )
  if (state === 'unknown') {
    const [words, command] = await sending.whenUnknown(outcome, context)
    throw new FailedError(
      [
        said(message('said.money_unknown', { what, number })),
        ...facts,
        `  → ${words}`,
        `    ${command}`,
      ].join('\n'),
    )
  }
  if (state === 'rejected')
    throw new FailedError([said(message('said.money_rejected', { what, number })), ...facts].join('\n'))
  if (!json)
    print(
      said(message(sending.what === 'refund' ? 'said.refund_accepted' : 'said.top_up_accepted', { number })),
      ...facts,
    )
}
