import { pino } from 'pino'
import { beforeAll, describe, expect, test } from 'vitest'
import { failedAnswer } from '../../src/money/send.ts'
import type { PlatformClient } from '../../src/platform/client.ts'
import { OutcomeUnknownError, PlatformError } from '../../src/platform/errors.ts'
import type { OperationName } from '../../src/platform/operations/index.ts'
import type { RefundRequest, TopUpApplication } from '../../src/platform/operations/money.ts'
import { duringFile } from '../helpers/during.ts'
import { ContractUnderTest } from './contract-under-test.ts'
import {
  DIRECTORY,
  ONCE_ONLY,
  OPERATION_NAMES,
  OUTER_TRADE_NO,
  TRADE_NO,
  validRequest,
} from './valid-requests.ts'

interface Circumstance {
  fault: object
  kind: 'http' | 'connection' | 'malformed'
  httpStatus?: number
  disposition: 'retry' | 'wait'
  outcomeKnown: boolean
  retryAfterMs?: number
}

const HTML = { fault: { body: '<html>busy</html>' }, kind: 'malformed', httpStatus: 200 } as const
const UNKNOWN = { disposition: 'retry', outcomeKnown: false } as const
const WAIT = { kind: 'http', disposition: 'wait', outcomeKnown: true, retryAfterMs: 7000 } as const

const CIRCUMSTANCES: Record<string, Circumstance> = {
  'HTTP 429 with Retry-After': { ...WAIT, fault: { httpStatus: 429, retryAfter: 7 }, httpStatus: 429 },
  'HTTP 503 with Retry-After': { ...WAIT, fault: { httpStatus: 503, retryAfter: 7 }, httpStatus: 503 },
  'HTTP 503': { ...UNKNOWN, fault: { httpStatus: 503 }, kind: 'http', httpStatus: 503 },
  'HTTP 500': { ...UNKNOWN, fault: { httpStatus: 500 }, kind: 'http', httpStatus: 500 },
  'a reset connection': { ...UNKNOWN, fault: { reset: true }, kind: 'connection' },
  'an answer lost after the effect': { ...UNKNOWN, fault: { loseAnswer: true }, kind: 'connection' },
  'no JSON': { ...UNKNOWN, ...HTML },
  'JSON that is no envelope': { ...UNKNOWN, ...HTML, fault: { body: '{"status":"ok"}' } },
}

const platform = duringFile(() => ContractUnderTest.start(DIRECTORY))
let client: PlatformClient

beforeAll(async () => {
  client = platform.client()
  await client.tokens.create()
})

describe.each(OPERATION_NAMES)('%s', operation => {
  test.each(Object.entries(CIRCUMSTANCES))('%s', async (_, { fault, ...expected }) => {
    const outcomeKnown = expected.outcomeKnown && !(isOnceOnly(operation) && expected.httpStatus === 503)
    platform.pauses.length = 0
    const { error, calls } = await platform.watchFailing(operation, fault, () =>
      client.call(operation, validRequest(operation)),
    )

    expect(error).toBeInstanceOf(PlatformError)
    expect(error).toMatchObject({ operation, kind: expected.kind, outcomeKnown })
    expect(error.platformCode).toBeUndefined()
    expect([error.httpStatus, error.retryAfterMs]).toEqual([expected.httpStatus, expected.retryAfterMs])
    // While the present token lives, nobody waits for another one.
    const isHeldOff = expected.retryAfterMs !== undefined && operation !== 'token/create'
    expect(platform.pauses).toEqual(isHeldOff ? [expected.retryAfterMs] : [])
    if (expected.httpStatus !== undefined) expect(error.traceId).toBe(calls[0]?.traceId)

    const isInDoubt = isOnceOnly(operation) && !outcomeKnown
    expect(error instanceof OutcomeUnknownError).toBe(isInDoubt)
    expect(error.code).toBe(
      isInDoubt ? 'PLATFORM_OUTCOME_UNKNOWN' : `PLATFORM_${expected.kind.toUpperCase()}`,
    )
    expect(error.disposition).toBe(isInDoubt ? 'park' : expected.disposition)
    expect(calls.map(call => call.operation)).toEqual([operation])
  })
})

const isOnceOnly = (operation: OperationName) => ONCE_ONLY.includes(operation)

describe('a refund whose outcome is unknown', () => {
  const LONG_AGO_MS = 25 * 3_600_000
  const refundedNow = async () => {
    const record = await client.orders.record({ outer_trade_no: OUTER_TRADE_NO })
    return typeof record === 'string' ? null : record.refund_amount
  }

  async function refundThrough(fault: object) {
    const refundedBefore = await refundedNow()
    const sentAt = new Date()
    const request = validRequest('seller/v3/pay/syncRefund') as RefundRequest
    const { error, calls } = await platform.watchFailing('seller/v3/pay/syncRefund', fault, () =>
      client.refunds.create(request),
    )
    expect(error).toBeInstanceOf(OutcomeUnknownError)
    expect(error).toMatchObject({ code: 'PLATFORM_OUTCOME_UNKNOWN', outcomeKnown: false })
    expect(calls).toHaveLength(1)
    const { refunds } = await platform.control('GET', 'state')
    return {
      request,
      unsettled: { outerTradeNo: OUTER_TRADE_NO, refundAmount: request.refundAmount, refundedBefore, sentAt },
      isCarriedOut: refunds.some((row: { outer_refund_no: string }) => {
        return row.outer_refund_no === request.outerRefundNo
      }),
    }
  }

  test('was carried out when the answer alone was lost, and cannot be carried out again', async () => {
    const { unsettled, isCarriedOut, request } = await refundThrough({ loseAnswer: true })
    expect(isCarriedOut).toBe(true)
    expect(await client.refunds.settle(unsettled)).toBe('carried_out')
    await expect(client.refunds.create(request)).rejects.toMatchObject({ platformCode: 1000229001 })
    expect(await client.refunds.settle(unsettled)).toBe('carried_out')
  })

  test.each([[{ reset: true }], [{ httpStatus: 500 }], [{ httpStatus: 503 }], [{ body: 'busy' }]])(
    'stays unknown after %j until it cannot arrive any more',
    async fault => {
      const { unsettled, isCarriedOut } = await refundThrough(fault)
      expect(isCarriedOut).toBe(false)
      expect(await client.refunds.settle(unsettled)).toBe('unknown')
      const longAgo = new Date(Date.now() - LONG_AGO_MS)
      expect(await client.refunds.settle({ ...unsettled, sentAt: longAgo })).toBe('unknown')
      expect(await client.refunds.settle({ ...unsettled, sentAt: longAgo, tradeNo: TRADE_NO })).toBe(
        'not_carried_out',
      )
    },
  )

  test.each(['0.70', '20.00'])('stays unknown when another one of %s came between', async refundAmount => {
    const { unsettled } = await refundThrough({ reset: true })
    const other = validRequest('seller/v3/pay/syncRefund') as RefundRequest
    await client.refunds.create({ ...other, refundAmount })
    const longAgo = new Date(Date.now() - LONG_AGO_MS)
    expect(await client.refunds.settle({ ...unsettled, sentAt: longAgo })).toBe('unknown')
  })

  test('stays unknown while the order record is the bare trade number', async () => {
    const { unsettled } = await refundThrough({ loseAnswer: true })
    await platform.control('POST', 'shapes', { orderRecord: 'trade_no' })
    expect(await client.refunds.settle(unsettled)).toBe('unknown')
    await platform.control('POST', 'shapes', {})
    expect(await client.refunds.settle(unsettled)).toBe('carried_out')
  })
})

test('a top-up whose answer was lost was applied for once', async () => {
  const application = validRequest('enterprise/account/applyCharge') as TopUpApplication
  const { error, calls } = await platform.watchFailing(
    'enterprise/account/applyCharge',
    { loseAnswer: true },
    () => client.topUps.apply(application),
  )
  expect(error).toBeInstanceOf(OutcomeUnknownError)
  expect(calls).toHaveLength(1)
  const { topups } = await platform.control('GET', 'state')
  const applied = topups.filter((row: { external_code: string }) => {
    return row.external_code === application.external_code
  })
  expect(applied).toEqual([expect.objectContaining({ amount: '1000.00' })])
})

describe.each(ONCE_ONLY)('%s without a token', operation => {
  const silent = pino({ level: 'silent' })

  test.each([[{ loseAnswer: true }], [{ httpStatus: 500 }], [{ body: 'busy' }], [{ code: 1009999999 }]])(
    'was not sent after %j, so that its number stays free',
    async fault => {
      const { error, calls } = await platform.watchFailing('token/create', fault, () =>
        platform.client().call(operation, validRequest(operation)),
      )
      expect(error).not.toBeInstanceOf(OutcomeUnknownError)
      expect(error.operation).toBe('token/create')
      expect(calls.map(call => call.operation)).toEqual(['token/create'])
      expect(failedAnswer(error, silent)).toBeNull()
    },
  )

  test('was not carried out when its token was refused and no other one is to be had', async () => {
    const other = platform.client()
    await other.tokens.create()
    await platform.control('POST', 'token/expire')
    const { error, calls } = await platform.watchFailing('token/create', { httpStatus: 500 }, () =>
      other.call(operation, validRequest(operation)),
    )
    expect(calls.map(call => [call.operation, call.code])).toEqual([
      [operation, 1000210004],
      ['token/create', null],
    ])
    expect(failedAnswer(error, silent)).toBeNull()
  })

  test('is in doubt when the answer to its repetition is lost, and was carried out once', async () => {
    const { error, calls } = await platform.watchFailing(
      operation,
      { code: 1000210004, times: 1 },
      async () => {
        await platform.control('POST', 'faults', { operation, loseAnswer: true })
        return client.call(operation, validRequest(operation))
      },
    )
    expect(error).toBeInstanceOf(OutcomeUnknownError)
    expect(calls.map(call => [call.operation, call.code])).toEqual([
      [operation, 1000210004],
      ['token/create', 0],
      [operation, 0],
    ])
    expect(failedAnswer(error, silent)).toMatchObject({ state: 'unknown' })
  })
})

describe.each(ONCE_ONLY)('%s that was aborted', operation => {
  test('before it was sent has a known outcome', async () => {
    const call = client.call(operation, validRequest(operation), { signal: AbortSignal.abort() })
    const error = await call.catch(error => error)
    expect(error).not.toBeInstanceOf(OutcomeUnknownError)
    expect(error).toMatchObject({ code: 'PLATFORM_ABORTED', outcomeKnown: true })
  })

  test('while the platform works has an unknown one', async () => {
    const abort = new AbortController()
    const { error } = await platform.watchFailing(operation, WITHOUT_END, async () => {
      const call = client.call(operation, validRequest(operation), { signal: abort.signal })
      call.catch(() => undefined)
      await isInHand()
      abort.abort()
      return call
    })
    expect(error).toMatchObject({ code: 'PLATFORM_OUTCOME_UNKNOWN', kind: 'aborted', outcomeKnown: false })
  })

  test('by its own time-out has an unknown one', async () => {
    const hasty = platform.client({ timeoutMs: 1000 })
    await hasty.tokens.create()
    const { error } = await platform.watchFailing(operation, WITHOUT_END, () =>
      hasty.call(operation, validRequest(operation)),
    )
    expect(error).toMatchObject({ code: 'PLATFORM_OUTCOME_UNKNOWN', kind: 'timeout', outcomeKnown: false })
  })
})

/** The next call of the operation is answered when the emulator closes. */
const WITHOUT_END = { latencyMs: 600_000, times: 1 }

/** Waits until the emulator has taken up the call for which {@link WITHOUT_END} was in force. */
async function isInHand(): Promise<void> {
  while ((await platform.control('GET', 'faults')).length > 0);
}
