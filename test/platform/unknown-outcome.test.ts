import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { LocalPacer } from '../../src/platform/caller.ts'
import {
  PlatformClient,
  type PlatformClientOptions,
  type UnsettledRefund,
} from '../../src/platform/client.ts'
import { dispositionOf, OutcomeUnknownError, PlatformError } from '../../src/platform/errors.ts'
import { duringTest } from '../helpers/during.ts'
import { envelope, FakePlatform, ok, type Reply, reset, silence, status } from './fake-platform.ts'

const APP = 'mall0001'

const platform = duringTest(FakePlatform.start)
let client: PlatformClient

const connect = (options: Partial<PlatformClientOptions> = {}) =>
  new PlatformClient({
    baseUrl: platform.url,
    appId: APP,
    appSecret: 'secret',
    ratePerSecond: 10_000,
    timeoutMs: 300,
    ...options,
  })

beforeEach(() => {
  client = connect()
})

afterEach(() => client.close())

const CALLS = {
  'seller/v3/pay/syncRefund': (signal?: AbortSignal) =>
    client.refunds.create(
      { outerTradeNo: `${APP}T1`, outerRefundNo: `${APP}R1`, reason: 'x', refundAmount: '1.00' },
      signal ? { signal } : {},
    ),
  'enterprise/account/applyCharge': (signal?: AbortSignal) =>
    client.topUps.apply(
      {
        account_openid: 'A1',
        amount: '1.00',
        service_provider: '1',
        external_code: APP.padEnd(30, '0'),
        taxpayer: 'x',
      },
      signal ? { signal } : {},
    ),
}

const thrownBy = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => undefined,
    error => error,
  )

const half: Reply = response => {
  response.writeHead(200, { 'content-length': '100' })
  response.write('{"code":0,', () => response.socket?.resetAndDestroy())
}

const UNKNOWN: [string, Reply, Partial<PlatformError>][] = [
  ['a time-out', silence, { kind: 'timeout' }],
  ['a connection reset', reset, { kind: 'connection' }],
  ['an answer cut off', half, { kind: 'connection' }],
  ['HTTP 500', status(500), { kind: 'http', httpStatus: 500 }],
  ['HTTP 502', status(502), { kind: 'http', httpStatus: 502 }],
  ['HTTP 503', status(503), { kind: 'http', httpStatus: 503 }],
  ['HTTP 503 with Retry-After', status(503, { 'retry-after': '1' }), { kind: 'http', retryAfterMs: 1000 }],
  ['HTTP 202', status(202), { kind: 'http', httpStatus: 202 }],
  ['HTTP 303', status(303), { kind: 'http', httpStatus: 303 }],
  ['no JSON', status(200), { kind: 'malformed' }],
  ['no envelope', status(200, {}, '[]'), { kind: 'malformed' }],
  ['an empty body', status(200, {}, ''), { kind: 'malformed' }],
  ['a code that is no number', status(200, {}, '{"code":"E1"}'), { kind: 'malformed' }],
  ...[402, 406, 408, 409, 410, 412, 418, 421, 422, 423, 425, 451, 499].map(
    (code): [string, Reply, Partial<PlatformError>] => [
      `HTTP ${code}`,
      status(code),
      { kind: 'http', httpStatus: code },
    ],
  ),
  ['an unknown code', envelope(1000999999, 'system busy', null), { platformCode: 1000999999 }],
  ["another operation's refusal", envelope(1000220064, 'payment failed', null), { platformCode: 1000220064 }],
]

const KNOWN: [string, Reply, Partial<PlatformError>][] = [
  ['a refusal of its parameters', envelope(1000220002, 'x', null), { disposition: 'park' }],
  ['an enterprise code that is not bound', envelope(1000240002, 'x', null), { disposition: 'halt' }],
  ...[400, 401, 403, 404, 405, 411, 413, 414, 415, 431].map(
    (code): [string, Reply, Partial<PlatformError>] => [`HTTP ${code}`, status(code), { kind: 'http' }],
  ),
  ['HTTP 429', status(429, { 'retry-after': '1' }), { disposition: 'wait' }],
]

describe.each(Object.entries(CALLS))('%s', (operation, call) => {
  test.each(UNKNOWN)('after %s the outcome is unknown, and it was sent once', async (_, reply, facts) => {
    platform.plan(operation, reply)
    const error = (await thrownBy(call())) as OutcomeUnknownError
    expect(error).toBeInstanceOf(OutcomeUnknownError)
    expect(error).toBeInstanceOf(PlatformError)
    expect(error).toMatchObject({
      name: 'OutcomeUnknownError',
      code: 'PLATFORM_OUTCOME_UNKNOWN',
      outcomeKnown: false,
      disposition: 'park',
      operation,
      ...facts,
    })
    expect(error.message).toContain('whether the platform carried it out is unknown. It is not sent again.')
    expect(dispositionOf(error, operation)).toMatchObject({
      disposition: 'park',
      category: 'outcome_unknown',
    })
    expect(platform.of(operation)).toHaveLength(1)
  })

  test('given up after sending, the outcome is unknown', async () => {
    platform.plan(operation, silence)
    const abort = new AbortController()
    const thrown = thrownBy(call(abort.signal))
    await platform.seen(operation)
    abort.abort()
    expect(await thrown).toBeInstanceOf(OutcomeUnknownError)
    expect(await thrown).toMatchObject({ kind: 'aborted' })
    expect(platform.of(operation)).toHaveLength(1)
  })

  test.each(KNOWN)('after %s it is known that nothing happened', async (_, reply, facts) => {
    platform.plan(operation, reply)
    const error = await thrownBy(call())
    expect(error).toBeInstanceOf(PlatformError)
    expect(error).not.toBeInstanceOf(OutcomeUnknownError)
    expect(error).toMatchObject({ outcomeKnown: true, ...facts })
    expect(platform.of(operation)).toHaveLength(1)
  })

  test('given up before sending, nothing happened', async () => {
    const error = await thrownBy(call(AbortSignal.abort()))
    expect(error).toMatchObject({ code: 'PLATFORM_ABORTED', outcomeKnown: true })
    expect(platform.of(operation)).toEqual([])
  })

  test('a refused connection leaves nothing in doubt', async () => {
    await client.tokens.create()
    await platform[Symbol.asyncDispose]()
    expect(await thrownBy(call())).toMatchObject({ code: 'PLATFORM_CONNECTION', outcomeKnown: true })
  })

  test('success without the number is success', async () => {
    platform.plan(operation, ok(null))
    expect(await thrownBy(call())).toBeUndefined()
  })
})

test('a code that asks to wait leaves open what became of a refund', async () => {
  await client.close()
  client = connect({ rateLimitedCodes: [1000999999] })
  platform.plan('seller/v3/pay/syncRefund', envelope(1000999999, 'system busy', null))
  expect(await thrownBy(CALLS['seller/v3/pay/syncRefund']())).toBeInstanceOf(OutcomeUnknownError)
})

describe('what listens to calls decides nothing', () => {
  const refund = (options = {}) =>
    client.refunds.create(
      { outerTradeNo: `${APP}T1`, outerRefundNo: `${APP}R1`, reason: 'x', refundAmount: '1.00' },
      options,
    )
  const broken = () => {
    throw new Error('broken')
  }
  const reconnect = async (options: Partial<PlatformClientOptions>) => {
    await client.close()
    client = connect(options)
    platform.plan('seller/v3/pay/syncRefund', ok('2026112100000001'), status(503, { 'retry-after': '1' }))
  }

  test.each([
    ['throws', broken],
    ['rejects', async () => broken()],
  ])('an onCall that %s changes no outcome', async (_, onCall) => {
    await reconnect({ onCall })
    expect(await refund({ onCall })).toBe('2026112100000001')
    expect(await thrownBy(refund({ onCall }))).toBeInstanceOf(OutcomeUnknownError)
  })

  test('where one throws, the others are told all the same', async () => {
    const told: string[] = []
    await reconnect({ onCall: broken })
    await refund({ onCall: ({ operation }: { operation: string }) => told.push(operation) })
    expect(told).toEqual(['seller/v3/pay/syncRefund'])
  })

  test.each(['observe', 'holdOff'] as const)('a pacer whose %s fails changes no outcome', async method => {
    const pacer = new LocalPacer(10_000)
    await reconnect({
      pacer: Object.assign(pacer, { [method]: method === 'observe' ? broken : async () => broken() }),
    })
    expect(await refund()).toBe('2026112100000001')
    const error = await thrownBy(refund())
    expect(error).toBeInstanceOf(OutcomeUnknownError)
    expect(error).toMatchObject({ httpStatus: 503, retryAfterMs: 1000 })
  })

  test('a pacer whose holdOff fails hides no refusal of a token', async () => {
    const pacer = Object.assign(new LocalPacer(10_000), { holdOff: async () => broken() })
    await reconnect({ pacer })
    platform.plan('token/create', status(429, { 'retry-after': '1' }))
    expect(await thrownBy(refund())).toMatchObject({ operation: 'token/create', disposition: 'wait' })
  })
})

test('HTTP/2, which sends what a server refused once more by itself, is not offered to the platform', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const secure = connect({ baseUrl: `https://127.0.0.1:${(server.address() as AddressInfo).port}` })
  const thrown = thrownBy(secure.tokens.create())
  const [socket] = await once(server, 'connection')
  const [hello] = (await once(socket, 'data')) as [Buffer]
  // The protocols of the extension ALPN, each after its length.
  expect(hello.includes('\x08http/1.1')).toBe(true)
  expect(hello.includes('\x02h2')).toBe(false)
  socket.destroy()
  expect(await thrown).toMatchObject({ code: 'PLATFORM_CONNECTION' })
  await secure.close()
  server.close()
})

test('an unknown outcome needs no change in HR', async () => {
  platform.plan('seller/v3/pay/syncRefund', envelope(1000220002, 'parameter validation failed', null))
  const error = (await thrownBy(CALLS['seller/v3/pay/syncRefund']())) as PlatformError
  expect(error.message).not.toContain('HR')
})

describe('settling a refund', () => {
  const sentAt = new Date(1_770_000_000_000)
  const settle = (refundedBefore: string | null, more: Partial<UnsettledRefund> = {}) =>
    client.refunds.settle({
      outerTradeNo: `${APP}-T1`,
      refundAmount: '10.10',
      refundedBefore,
      sentAt,
      ...more,
    })
  const LATE = 86_400_001
  const record = (refund_amount: number | null, state = 2) =>
    ok({ outer_trade_no: `${APP}-T1`, pay_amount: 100, refund_amount, status: state })

  test.each([
    ['the amount was added', '5.05', record(15.15), 0, 'carried_out'],
    ['the first refund of the order', '0', record(10.1), 0, 'carried_out'],
    ['nothing was added, it may still be on its way', '5.05', record(5.05), 60_000, 'unknown'],
    ['nothing was added, and it may still show', '5.05', record(5.05), 86_400_000, 'unknown'],
    ['nothing was added in a day, and no payment order is known', '5.05', record(5.05), LATE, 'unknown'],
    ['no refund at all, and no payment order is known', '0.00', record(null, 1), LATE, 'unknown'],
    ['another amount was added', '5.05', record(20), LATE, 'unknown'],
    ['the record is a bare trade number', '0', ok('2026112100000001'), LATE, 'unknown'],
    ['the amount before is unknown', null, record(10.1), LATE, 'unknown'],
  ] as const)('%s', async (_, before, reply, later, verdict) => {
    await client.close()
    client = connect({ clock: () => sentAt.getTime() + later })
    platform.plan('seller/pay/record', reply)
    expect(await settle(before)).toBe(verdict)
    expect(platform.of('seller/v3/pay/syncRefund')).toEqual([])
  })

  test.each([
    [3, 100, undefined, 'not_carried_out'],
    [3, 60, undefined, 'unknown'],
    [3, 100, 1000229001, 'unknown'],
    [5, 100, undefined, 'unknown'],
  ] as const)(
    'the payment order, where its number is known, has status %i, and paid are %d of 100; the error has the code %s',
    async (state, pay_amount, platformCode, verdict) => {
      await client.close()
      client = connect({ clock: () => sentAt.getTime() + LATE })
      platform.plan('seller/pay/record', record(5.05))
      platform.plan('enterprise/consume/get', ok({ status: state, pay_amount, refund_amount: 5.05 }))
      expect(await settle('5.05', { tradeNo: '2026112100000001', enterpriseCode: 'E1', platformCode })).toBe(
        verdict,
      )
      const asked = ['seller/pay/record', ...(platformCode ? [] : ['enterprise/consume/get'])]
      for (const operation of asked)
        expect(platform.of(operation).map(({ form }) => form.get('enterprise_code'))).toEqual(['E1'])
    },
  )

  test('an order that the platform does not know is an error', async () => {
    platform.plan(
      'seller/pay/record',
      envelope(1000220064, 'payment failed or the order does not exist', null),
    )
    expect(await thrownBy(settle('0'))).toMatchObject({ platformCode: 1000220064, disposition: 'park' })
  })
})
