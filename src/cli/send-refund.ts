import type { Config } from '../config.ts'
import { accountOf } from '../connections.ts'
import { type RefundOutcome, sendRefund } from '../money/send-refund.ts'
import type { PlatformClient } from '../platform/client.ts'
import { PlatformError } from '../platform/errors.ts'
import { type RefundRequest, refundCreate } from '../platform/operations/money.ts'
import type { OrderRecord } from '../platform/operations/payment-order.ts'
import { cents, refundedAmount } from '../platform/refund-settlement.ts'
import { claimDeployment } from '../sync/deployment.ts'
import { type CommandContext, openContext, warnWhenNobodyWorks } from './context.ts'
import { stopSignal } from './failure.ts'
import { enterpriseOf, orExplained, remedyOf } from './look-up.ts'
import { factLines } from './output.ts'
import { checkedRequest, confirm, type MoneyRequest, needsQuestion, tellOutcome } from './request.ts'

const NOT_TOLD = 'not told by the platform'

/**
 * Refunds an order through the journal, after a question on a terminal. Ctrl-C ends it with the truth: nothing was sent, or
 * the outcome is unknown.
 * @param defaults fields that the request may leave out
 * @throws UsageError, FailedError, JournalError
 */
export async function sendRefundRequest(
  { request, json, yes, flagOf }: MoneyRequest,
  defaults: (config: Config) => Partial<RefundRequest> = () => ({}),
): Promise<void> {
  const asks = needsQuestion('refund', yes)
  await using context = await openContext({ handlesSignals: true })
  const { config, pool, logger, actor } = context
  const complete = { ...enterpriseOf(context, undefined), ...defaults(config), ...request } as RefundRequest
  const explain = <T>(operation: string, call: Promise<T>) => orExplained(operation, json, call, flagOf)
  await explain(refundCreate.name, checkedRequest(refundCreate, complete, config))
  // What is sent is written down, for this account and no other to settle.
  await claimDeployment(pool, accountOf(config))
  const client = await context.platform()
  const stop = new AbortController()
  void stopSignal().then(() => stop.abort())
  const { signal } = stop
  if (asks) {
    const record = await explain('seller/pay/record', recordOf(client, complete.outerTradeNo, signal))
    await confirm(summaryOf(complete, record, config), 'Send this refund?', signal)
  }
  const outcome = await explain(
    refundCreate.name,
    sendRefund({ pool, client, logger }, complete, { actor, signal }),
  )
  await tell(outcome, complete, json, context)
}

/** The order record; null when it cannot say: its limits of the trade number are narrower than those of a refund. */
async function recordOf(
  client: PlatformClient,
  outer_trade_no: string,
  signal: AbortSignal,
): Promise<OrderRecord | null> {
  try {
    const record = await client.orders.record({ outer_trade_no }, { priority: 1, signal })
    return typeof record === 'string' ? null : record
  } catch (error) {
    if (error instanceof PlatformError && error.kind === 'invalid_request') return null
    throw error
  }
}

/** What a person has to know to say yes. */
function summaryOf(refund: RefundRequest, known: OrderRecord | null, config: Config): string[] {
  const before = known && refundedAmount(known)
  const [amount, paid, gone] = [refund.refundAmount, known?.pay_amount ?? null, before].map(cents)
  const exceeds = amount != null && paid != null && gone != null && amount > paid - gone
  return [
    'This refund would be sent:',
    ...factLines([
      ['order', refund.outerTradeNo],
      ['paid', known?.pay_amount ?? NOT_TOLD],
      ['refunded before', before ?? NOT_TOLD],
      ['this refund', refund.refundAmount],
      ['', exceeds ? 'That is more than is left of the order: the platform would refuse it.' : null],
      ['number', refund.outerRefundNo],
      ['reason', refund.reason],
      ['enterprise', refund.enterprise_code],
      ['notifies', refund.notifyUrl],
      ['platform', config.PLATFORM_BASE_URL],
    ]),
  ]
}

async function tell(
  { outerRefundNo, state, tradeNo, platformCode, traceId, message }: RefundOutcome,
  { outerTradeNo, refundAmount }: RefundRequest,
  json: boolean,
  context: CommandContext,
): Promise<void> {
  if (state === 'unknown') await warnWhenNobodyWorks(context)
  tellOutcome(
    {
      what: 'refund',
      number: outerRefundNo,
      state,
      facts: [
        ['order', outerTradeNo],
        ['amount', refundAmount],
        ['trade', tradeNo],
        ['code', platformCode],
        ['message', message],
        // What to do about a code that says nothing of the outcome is told below.
        ['remedy', state === 'unknown' ? null : remedyOf(platformCode)],
        ['trace', traceId],
      ],
      document: {
        outer_refund_no: outerRefundNo,
        outer_trade_no: outerTradeNo,
        refund_amount: refundAmount,
        state,
        trade_no: tradeNo,
        platform_code: platformCode,
        trace_id: traceId,
        message,
      },
      remedy: 'the service finds it out by the order record; or now',
      command: `${context.program} refund settle ${outerRefundNo}`,
    },
    json,
  )
}
