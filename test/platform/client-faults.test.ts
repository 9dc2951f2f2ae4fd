import { createServer } from 'node:net'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import type { CallOutcome, PacerClosedError } from '../../src/pacing/pacer.ts'
import { LocalPacer } from '../../src/platform/caller.ts'
import { type CallReport, PlatformClient, type PlatformClientOptions } from '../../src/platform/client.ts'
import { PlatformError } from '../../src/platform/errors.ts'
import { sign } from '../../src/platform/request.ts'
import { MemoryTokenStore } from '../../src/platform/token.ts'
import { duringTest } from '../helpers/during.ts'
import {
  APP_ID,
  APP_SECRET,
  envelope,
  FakePlatform,
  ok,
  type Reply,
  reset,
  silence,
  status,
} from './fake-platform.ts'

const platform = duringTest(FakePlatform.start)
let client: PlatformClient
const calls: CallReport[] = []
const pauses: { ms: number; reason: string; only?: string }[] = []

const tooFast: string[] = []

/** A pacer that notes the pauses it is asked for instead of making the test wait, and which calls it heard came too fast. */
class NotingPacer extends LocalPacer {
  override observe(outcome: CallOutcome): void {
    if (outcome.rateLimited) tooFast.push(outcome.operation)
  }

  override async holdOff(ms: number, reason: string, only?: string): Promise<void> {
    pauses.push({ ms, reason, ...(only !== undefined && { only }) })
  }
}

function connect(options: Partial<PlatformClientOptions> = {}): PlatformClient {
  return new PlatformClient({
    baseUrl: platform.url,
    appId: APP_ID,
    appSecret: APP_SECRET,
    tokenStore: new MemoryTokenStore(),
    pacer: new NotingPacer(100_000),
    onCall: call => calls.push(call),
    ...options,
  })
}

async function failureOf(call: Promise<unknown>): Promise<PlatformError> {
  const error = await call.then(
    () => undefined,
    error => error,
  )
  expect(error).toBeInstanceOf(PlatformError)
  return error
}

const get = (userid = 'u1') => client.employees.get({ userid })

beforeEach(() => {
  client = connect()
  calls.length = 0
  pauses.length = 0
  tooFast.length = 0
})

afterEach(() => client.close())

describe('what travels', () => {
  test('public parameters in the query string, business parameters in the form, all signed', async () => {
    platform.plan('employee/update', ok('A2'))
    const answer = await client.employees.update({
      userid: 'u 1',
      name: '甲&乙=+%',
      remark: '',
      gender: '1',
      level: '#default#',
    })
    expect(answer).toBe('A2')

    const [request] = platform.of('employee/update')
    expect(request?.contentType).toBe('application/x-www-form-urlencoded')
    expect(Object.fromEntries(request?.form ?? [])).toEqual({
      userid: 'u 1',
      name: '甲&乙=+%',
      remark: '',
      gender: '1',
      level: '#default#',
    })
    const { sign: signature, ...query } = Object.fromEntries(request?.query ?? [])
    expect(query).toEqual({
      appid: APP_ID,
      access_token: 'token-1',
      grant_type: 'client_credential',
      version: '1.0.0',
      timestamp: expect.stringMatching(/^\d{10}$/),
    })
    const signed = { ...query, userid: 'u 1', name: '甲&乙=+%', gender: '1', level: '#default#' }
    expect(signature).toBe(sign(signed, APP_SECRET, 'sha256'))
  })

  test('token creation carries no token and no business parameters', async () => {
    await client.tokens.create()
    const [request] = platform.of('token/create')
    expect([...(request?.query.keys() ?? [])].toSorted()).toEqual([
      'appid',
      'grant_type',
      'sign',
      'timestamp',
      'version',
    ])
    expect(request?.body).toBe('')
  })

  test('a base address may have a path', async () => {
    await client.close()
    client = connect({ baseUrl: `${platform.url}/open/api/` })
    platform.plan('open/api/token/create', ok({ access_token: 't', expires_in: 60 }))
    platform.plan('open/api/department/delete', ok('D1'))
    expect(await client.departments.delete({ dept_code: 'D1' })).toBe('D1')
  })

  test('what breaks a rule is not sent', async () => {
    const error = await failureOf(client.employees.update({ userid: 'u1', mobile: '123' }))
    expect(error).toMatchObject({ code: 'PLATFORM_INVALID_REQUEST', outcomeKnown: true, disposition: 'park' })
    expect(platform.requests).toEqual([])
  })
})

describe('answers', () => {
  test('unknown fields are ignored; null and absent ones, numbers and texts are taken as they come', async () => {
    platform.plan(
      'employee/get',
      ok({ userid: 'u1', gender: '2', card_type: '', mobile: 13900000000, level: null, brand_new: { a: 1 } }),
    )
    expect(await get()).toEqual({
      userid: 'u1',
      gender: 2,
      card_type: null,
      mobile: '13900000000',
      level: null,
    })
  })

  test('an update that answers null went well', async () => {
    platform.plan('employee/update', ok(null))
    expect(await client.employees.update({ userid: 'u1', level: 'A' })).toBe('')
  })

  test('an answer in many pieces, cut within a character', async () => {
    const whole = Buffer.from(
      JSON.stringify({ code: 0, msg: 'OK', data: { userid: 'u1', remark: '字'.repeat(50_000) } }),
    )
    platform.plan('employee/get', response => {
      response.writeHead(200)
      for (let at = 0; at < whole.length; at += 10_000) response.write(whole.subarray(at, at + 10_000))
      response.end()
    })
    expect((await get()).remark).toHaveLength(50_000)
  })

  test('a business error keeps code, message, trace id and operation', async () => {
    platform.plan('employee/get', envelope(1000220096, 'no such employee', null, { 'x-trace-id': 'T-7' }))
    expect(await failureOf(get())).toMatchObject({
      code: 'PLATFORM_BUSINESS',
      operation: 'employee/get',
      platformCode: 1000220096,
      platformMessage: 'no such employee',
      traceId: 'T-7',
      outcomeKnown: true,
      disposition: 'park',
    })
  })

  test.each([null, undefined, ''])(
    'where the platform says nothing (msg %j), none of our words are taken for its',
    async msg => {
      platform.plan('employee/get', envelope(1000220096, msg as string, null))
      const { platformMessage, maskedMessage } = await failureOf(get())
      expect([platformMessage, maskedMessage].filter(Boolean)).toEqual([])
    },
  )

  test('its masked message has no personal value that the call sent', async () => {
    const said = 'Lee Ann (13812345678, ann@example.com): no grade P7, note "on leave", tax code X1'
    platform.plan('employee/update', envelope(7, said, null))
    const failure = failureOf(
      client.employees.update({
        ...{ userid: 'e1', name: 'Lee Ann', mobile: '13812345678', email: 'ann@example.com', level: 'P7' },
        ...{ remark: 'on leave', employee_attribute: '[{"attributeCode":"tax","attributeValue":"X1"}]' },
      }),
    )
    expect(await failure).toMatchObject({
      platformMessage: said,
      maskedMessage: '**** (7) (13***, ***@*** no grade P7, note "**** (8)", tax code **** (2)',
    })
  })

  test.each<[string, Reply]>([
    ['no JSON', status(200)],
    ['nothing', status(200, {}, '')],
    ['JSON that is no envelope', status(200, {}, '[1]')],
    ['JSON null', status(200, {}, 'null')],
    ['a code that is no number', status(200, {}, '{"code":"x"}')],
    ['data that cannot be an employee', ok({ category: 7 })],
    ['no data', ok(null)],
  ])('%s: the outcome is unknown', async (_, reply) => {
    platform.plan('employee/get', reply)
    expect(await failureOf(get())).toMatchObject({
      code: 'PLATFORM_MALFORMED',
      httpStatus: 200,
      outcomeKnown: false,
      disposition: 'retry',
    })
  })

  test("an error holds nothing of the answer's body", async () => {
    platform.plan('employee/get', status(200, {}, 'name: somebody'))
    const error = await failureOf(get())
    expect(`${error.stack} ${String(error.cause)}`).not.toContain('somebody')
  })
})

describe('HTTP', () => {
  test.each([500, 502, 503, 504])('%i: the outcome is unknown, try later', async code => {
    platform.plan('employee/get', status(code, { 'x-trace-id': 'T-8' }))
    expect(await failureOf(get())).toMatchObject({
      code: 'PLATFORM_HTTP',
      httpStatus: code,
      traceId: 'T-8',
      outcomeKnown: false,
      disposition: 'retry',
    })
    expect(pauses).toEqual([])
  })

  test.each([408, 409, 499])('%i: it may have had its effect', async code => {
    platform.plan('employee/get', status(code))
    expect(await failureOf(get())).toMatchObject({ httpStatus: code, outcomeKnown: false })
  })

  test.each([302, 403, 404])('%i: the call was not carried out', async code => {
    platform.plan('employee/get', status(code))
    expect(await failureOf(get())).toMatchObject({ httpStatus: code, outcomeKnown: true })
  })

  test('429 with seconds pauses everyone', async () => {
    platform.plan('employee/get', status(429, { 'retry-after': '7' }))
    expect(await failureOf(get())).toMatchObject({
      disposition: 'wait',
      retryAfterMs: 7000,
      outcomeKnown: true,
    })
    expect(pauses).toEqual([{ ms: 7000, reason: 'employee/get: HTTP 429' }])
    expect(tooFast).toEqual(['employee/get'])
    expect(calls.at(-1)).toMatchObject({ httpStatus: 429, rateLimited: true })
  })

  test('429 on a query of the token, which has a limit of its own, pauses such queries alone', async () => {
    platform.plan('token/getTokenInfo', status(429, { 'retry-after': '7' }))
    const error = await failureOf(client.tokens.info())
    expect(error).toMatchObject({ disposition: 'wait', retryAfterMs: 7000 })
    const reason = 'token/getTokenInfo: HTTP 429'
    expect(pauses).toEqual([{ ms: 7000, reason, only: 'token/getTokenInfo' }])
    expect(tooFast).toEqual([])
    platform.plan('token/getTokenInfo', status(503, { 'retry-after': '3' }))
    await failureOf(client.tokens.info())
    expect(pauses.at(-1)).toEqual({ ms: 3000, reason: 'token/getTokenInfo: HTTP 503' })
  })

  test('429 with a date', async () => {
    const now = Math.floor(Date.now() / 1000) * 1000
    const [date, until] = [now, now + 9000].map(time => new Date(time).toUTCString()) as [string, string]
    platform.plan('employee/get', status(429, { date, 'retry-after': until }))
    expect(await failureOf(get())).toMatchObject({ retryAfterMs: 9000 })
  })

  test('429 without advice waits a second', async () => {
    platform.plan('employee/get', status(429))
    expect(await failureOf(get())).toMatchObject({ disposition: 'wait', retryAfterMs: 1000 })
  })

  test('503 with advice waits, too, but was not refused for too many calls', async () => {
    platform.plan('employee/get', status(503, { 'retry-after': '3' }))
    expect(await failureOf(get())).toMatchObject({
      disposition: 'wait',
      retryAfterMs: 3000,
      outcomeKnown: true,
    })
    expect(pauses).toEqual([{ ms: 3000, reason: 'employee/get: HTTP 503' }])
    expect(calls.at(-1)).toMatchObject({ httpStatus: 503, rateLimited: false })
  })
})

describe('connections and time', () => {
  test('a connection reset after sending leaves the outcome unknown', async () => {
    platform.plan('employee/get', reset)
    expect(await failureOf(get())).toMatchObject({
      code: 'PLATFORM_CONNECTION',
      outcomeKnown: false,
      disposition: 'retry',
    })
  })

  test('a refused connection leaves nothing in doubt', async () => {
    const tokenStore = new MemoryTokenStore()
    await tokenStore.refresh(
      () => false,
      async () => ({ accessToken: 't', expiresIn: 60 }),
    )
    await client.close()
    client = connect({ tokenStore })
    await platform[Symbol.asyncDispose]()
    expect(await failureOf(get())).toMatchObject({ code: 'PLATFORM_CONNECTION', outcomeKnown: true })
  })

  test('an answer cut off in its body leaves the outcome unknown', async () => {
    platform.plan('employee/get', response => {
      response.writeHead(200, { 'content-length': '100' })
      response.write('{"code":0,', () => response.socket?.resetAndDestroy())
    })
    expect(await failureOf(get())).toMatchObject({ code: 'PLATFORM_CONNECTION', outcomeKnown: false })
  })

  describe('with a short time-out', () => {
    beforeEach(async () => {
      await client.close()
      client = connect({ timeoutMs: 1000, maxConnections: 1 })
      await client.tokens.create()
    })

    test('no answer in time', async () => {
      platform.plan('employee/get', silence)
      expect(await failureOf(get())).toMatchObject({
        code: 'PLATFORM_TIMEOUT',
        outcomeKnown: false,
        disposition: 'retry',
      })
      platform.plan('employee/get', ok({ userid: 'u1' }))
      expect((await get()).userid).toBe('u1')
    })

    test('headers in time and a body that trickles', async () => {
      platform.plan('employee/get', response => {
        response.writeHead(200)
        const timer = setInterval(() => response.write(' '), 20)
        response.on('close', () => clearInterval(timer))
      })
      expect(await failureOf(get())).toMatchObject({ code: 'PLATFORM_TIMEOUT', outcomeKnown: false })
    })

    test('a call that never got a connection was certainly not carried out', async () => {
      platform.plan('employee/get', silence)
      const first = failureOf(get('u1'))
      await platform.seen('employee/get')
      const abort = new AbortController()
      const second = failureOf(client.employees.get({ userid: 'u2' }, { signal: abort.signal }))
      // The second call waits behind the first one on the only connection.
      await new Promise(resolve => setImmediate(resolve))
      abort.abort()
      expect(await second).toMatchObject({ code: 'PLATFORM_ABORTED', outcomeKnown: true })
      expect(await first).toMatchObject({ code: 'PLATFORM_TIMEOUT', outcomeKnown: false })
      expect(platform.of('employee/get')).toHaveLength(1)
    })
  })

  test('an abort while the platform works leaves the outcome unknown', async () => {
    platform.plan('employee/get', silence)
    const abort = new AbortController()
    const call = failureOf(client.employees.get({ userid: 'u1' }, { signal: abort.signal }))
    await platform.seen('employee/get')
    abort.abort(new Error('shutting down'))
    const error = await call
    expect(error).toMatchObject({ code: 'PLATFORM_ABORTED', outcomeKnown: false, disposition: 'wait' })
    expect((error.cause as Error).message).toBe('shutting down')
  })

  test('a signal that is aborted already sends nothing', async () => {
    const call = client.employees.get({ userid: 'u1' }, { signal: AbortSignal.abort() })
    expect(await failureOf(call)).toMatchObject({ code: 'PLATFORM_ABORTED', outcomeKnown: true })
    expect(platform.of('employee/get')).toEqual([])
  })

  test('a closed pacer gives the call up unsent', async () => {
    const pacer = new LocalPacer(100)
    await pacer.close()
    await client.close()
    client = connect({ pacer })
    const error = await failureOf(get())
    expect(error).toMatchObject({ code: 'PLATFORM_ABORTED', outcomeKnown: true })
    expect((error.cause as PacerClosedError).code).toBe('PACER_CLOSED')
  })

  test('closing lets calls in flight end; nothing can be called after it', async () => {
    platform.plan('employee/get', response => {
      setTimeout(() => ok({ userid: 'u1' })(response, platform.requests[0] as never), 50)
    })
    const call = get()
    await platform.seen('employee/get')
    await Promise.all([client.close(), client.close()])
    expect((await call).userid).toBe('u1')
    expect(await failureOf(get())).toMatchObject({ code: 'PLATFORM_ABORTED', outcomeKnown: true })
  })

  test('what is asked whether it is still wanted while the client closes is not sent', async () => {
    await client.tokens.create()
    const asked = Promise.withResolvers<void>()
    const wanted = Promise.withResolvers<boolean>()
    const isStillWanted = () => {
      asked.resolve()
      return wanted.promise
    }
    const call = failureOf(client.employees.get({ userid: 'u1' }, { isStillWanted }))
    await asked.promise
    const closed = client.close()
    wanted.resolve(true)
    expect(await call).toMatchObject({ code: 'PLATFORM_ABORTED', outcomeKnown: true })
    await closed
    expect(platform.of('employee/get')).toEqual([])
  })

  test.each([
    ['the default pacer', { code: 'PACER_CLOSED' }, {}],
    ['a pacer that it was given', { message: 'the client is closed' }, { pacer: new LocalPacer(0.001) }],
  ])(
    'closing gives up at once what waits for its turn in %s, and lets what was sent end',
    async (_, cause, paced) => {
      const tokenStore = new MemoryTokenStore()
      await tokenStore.refresh(
        () => false,
        async () => ({ accessToken: 't', expiresIn: 60 }),
      )
      const account = { baseUrl: platform.url, appId: APP_ID, appSecret: APP_SECRET }
      // Only the first call has its turn in this test.
      const slow = new PlatformClient({ ...account, tokenStore, ratePerSecond: 0.001, ...paced })
      const { promise: answered, resolve: answer } = Promise.withResolvers<void>()
      platform.plan('employee/get', (response, request) => {
        void answered.then(() => ok({ userid: 'u1' })(response, request))
      })
      const sent = slow.employees.get({ userid: 'u1' })
      await platform.seen('employee/get')
      const inLine = ['u2', 'u3'].map(userid => failureOf(slow.employees.get({ userid })))
      const closed = slow.close()
      for (const error of await Promise.all(inLine))
        expect(error).toMatchObject({ code: 'PLATFORM_ABORTED', outcomeKnown: true, cause })
      answer()
      expect((await sent).userid).toBe('u1')
      await closed
      expect(platform.requests).toHaveLength(1)
    },
  )

  test('what was given up while it waited for a connection is not sent later', async () => {
    await client.close()
    client = connect({ maxConnections: 1 })
    let answer = () => {}
    platform.plan('employee/get', response => {
      answer = () => ok({ userid: 'u1' })(response, platform.requests[0] as never)
    })
    const first = get()
    await platform.seen('employee/get')
    const givenUp = new AbortController()
    const second = failureOf(client.employees.get({ userid: 'u2' }, { signal: givenUp.signal }))
    await new Promise(setImmediate)
    givenUp.abort()
    expect(await second).toMatchObject({ code: 'PLATFORM_ABORTED', outcomeKnown: true })
    answer()
    expect((await first).userid).toBe('u1')
    platform.plan('employee/get', ok({ userid: 'u3' }))
    expect((await get('u3')).userid).toBe('u3')
    expect(platform.of('employee/get')).toHaveLength(2)
  })

  test('what waited too long for its turn is not sent', async () => {
    platform.plan('employee/get', ok({ userid: 'u1' }))
    await client.tokens.create()
    const late = client.employees.get({ userid: 'u1' }, { sendBefore: Date.now() - 1 })
    expect(await failureOf(late)).toMatchObject({ code: 'PLATFORM_ABORTED', outcomeKnown: true })
    expect(platform.of('employee/get')).toHaveLength(0)
    const inTime = client.employees.get({ userid: 'u1' }, { sendBefore: Date.now() + 60_000 })
    expect((await inTime).userid).toBe('u1')
  })

  test('a host that accepts and says nothing at all times out', async () => {
    const server = createServer(() => undefined)
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    const address = server.address() as { port: number }
    const lost = connect({ baseUrl: `http://127.0.0.1:${address.port}`, timeoutMs: 100 })
    expect(await failureOf(lost.tokens.create().then(() => undefined))).toMatchObject({
      code: 'PLATFORM_TIMEOUT',
      operation: 'token/create',
    })
    await lost.close()
    server.close()
  })
})

describe('the token', () => {
  const refused = envelope(1000210004, 'tokeninfo check failed!', null)

  test('is created once for many calls at the same time', async () => {
    platform.plan('employee/get', ...Array.from({ length: 20 }, () => ok({})))
    await Promise.all(Array.from({ length: 20 }, (_, i) => get(`u${i}`)))
    expect(platform.of('token/create')).toHaveLength(1)
  })

  test('is renewed when refused, and the call repeated once', async () => {
    platform.plan('employee/get', refused, ok({ userid: 'u1' }))
    expect((await get()).userid).toBe('u1')
    expect(platform.of('employee/get').map(({ query }) => query.get('access_token'))).toEqual([
      'token-1',
      'token-2',
    ])
  })

  test('is not created by a ping, which any answer of the platform answers', async () => {
    const gateway: Reply = response => void response.writeHead(502).end('<html>')
    platform.plan('token/getTokenInfo', refused, gateway, ok({ access_token: 'none', expires_in: 0 }))
    expect([await client.ping(), await client.ping(), await client.ping()]).toEqual([true, false, true])
    const given = client.ping({ signal: AbortSignal.abort() })
    expect(await failureOf(given)).toMatchObject({ code: 'PLATFORM_ABORTED' })
    expect(platform.of('token/create')).toEqual([])
  })

  test('is renewed once when many calls are refused together', async () => {
    await client.tokens.create()
    const answer: Reply = (response, request) =>
      (request.query.get('access_token') === 'token-1' ? refused : ok({}))(response, request)
    platform.plan('employee/get', ...Array.from({ length: 40 }, () => answer))
    await Promise.all(Array.from({ length: 20 }, (_, i) => get(`u${i}`)))
    expect(platform.of('token/create')).toHaveLength(2)
  })

  test('is not renewed twice for one call', async () => {
    platform.plan('employee/get', refused, refused)
    expect(await failureOf(get())).toMatchObject({ platformCode: 1000210004, disposition: 'retry' })
    expect(platform.of('employee/get')).toHaveLength(2)
  })

  test('wrong credentials fail the call that needed the token', async () => {
    platform.plan('token/create', envelope(1000210003, 'appinfo check failed!', null))
    expect(await failureOf(get())).toMatchObject({
      operation: 'token/create',
      platformCode: 1000210003,
      disposition: 'halt',
    })
  })

  test('in use goes on being used while the platform refuses a new one, and holds nobody up until it dies', async () => {
    let now = Date.now()
    const clock = () => now
    await client.close()
    client = connect({ clock, tokenStore: new MemoryTokenStore(clock) })
    await client.tokens.create()
    platform.plan('employee/get', ...Array.from({ length: 3 }, () => ok({ userid: 'u1' })))
    platform.plan('token/create', status(429, { 'retry-after': '1200' }))
    for (const seconds of [5800, 1199, 1]) {
      now += seconds * 1000
      expect((await get()).userid).toBe('u1')
      expect(platform.of('token/create')).toHaveLength(seconds > 1 ? 2 : 3)
    }
    expect(pauses).toEqual([])

    now += 7200_000
    platform.plan('token/create', status(429, { 'retry-after': '1200' }))
    // All who wait for it are told by the one answer.
    for (const error of await Promise.all([failureOf(get()), failureOf(get('u2'))]))
      expect(error).toMatchObject({ operation: 'token/create', disposition: 'wait' })
    expect(pauses).toEqual([{ ms: 1_200_000, reason: 'token/create: HTTP 429' }])
    // Its limit of 60 an hour says nothing about the rate.
    expect(tooFast).toEqual([])
  })

  test('after 50 creations in an hour none is asked for', async () => {
    for (let made = 0; made < 50; made += 1) await client.tokens.create()
    expect(await failureOf(client.tokens.create())).toMatchObject({
      code: 'PLATFORM_TOKEN_FUSE',
      disposition: 'halt',
      outcomeKnown: true,
    })
    expect(platform.of('token/create')).toHaveLength(50)
  })
})

describe('the clock', () => {
  const refuse = (date: Date) =>
    envelope(1000210001, 'timestamp check failed!', null, { date: date.toUTCString() })

  test("is corrected by the platform's Date, and the call repeated", async () => {
    const platformTime = new Date(Date.now() + 3_600_000)
    platform.plan('token/create', refuse(platformTime), ok({ access_token: 't', expires_in: 7200 }))
    await client.tokens.create()
    const [first, second] = platform.of('token/create').map(({ query }) => Number(query.get('timestamp')))
    expect(Math.abs((second ?? 0) - (first ?? 0) - 3600)).toBeLessThan(5)
  })

  test('refused again, it halts', async () => {
    platform.plan('token/create', refuse(new Date()), refuse(new Date()))
    expect(await failureOf(client.tokens.create())).toMatchObject({
      platformCode: 1000210001,
      disposition: 'halt',
    })
    expect(platform.of('token/create')).toHaveLength(2)
  })

  test('is left alone as long as the platform accepts it', async () => {
    const wrong = new Date(Date.now() - 86_400_000).toUTCString()
    const replies = [envelope(0, 'OK', { userid: 'u1' }, { date: wrong }), ok({ userid: 'u1' })]
    platform.plan('employee/get', ...replies)
    await get()
    expect(client.clockOffset.measuredMs).toBeLessThan(-86_300_000)
    await get()
    expect(client.clockOffset.appliedMs).toBe(0)
    const [first, second] = platform.of('employee/get').map(({ query }) => Number(query.get('timestamp')))
    expect(Math.abs((second ?? 0) - (first ?? 0))).toBeLessThan(5)
  })
})

test('every exchange is reported with operation, code, status and duration', async () => {
  platform.plan('employee/get', ok({ userid: 'u1' }), envelope(1000220096, 'x', null), status(500), reset)
  for (let call = 0; call < 4; call += 1) await get().catch(() => undefined)
  expect(calls.map(({ operation, code, httpStatus }) => [operation, code, httpStatus])).toEqual([
    ['token/create', 0, 200],
    ['employee/get', 0, 200],
    ['employee/get', 1000220096, 200],
    ['employee/get', 'PLATFORM_HTTP', 500],
    ['employee/get', 'PLATFORM_CONNECTION', undefined],
  ])
  expect(calls.every(call => call.durationMs >= 0)).toBe(true)
})

describe('whether a call is still wanted', () => {
  const update = (isStillWanted: () => Promise<boolean>, signal?: AbortSignal) =>
    client.employees.update({ userid: 'u1', name: 'n' }, { isStillWanted, ...(signal && { signal }) })

  test('is asked when its turn has come, and what is not wanted is not sent', async () => {
    client = connect()
    const failure = await failureOf(update(async () => false))
    expect(failure).toMatchObject({ kind: 'aborted', outcomeKnown: true })
    expect(platform.requests.map(({ operation }) => operation)).not.toContain('employee/update')
  })

  test('may take long: calls that learn it at the same moment have turns of their own', async () => {
    const turns: number[] = []
    const pacer = new LocalPacer(10)
    const taken = pacer.acquire.bind(pacer)
    pacer.acquire = async request => {
      await taken(request)
      turns.push(performance.now())
    }
    client = connect({ pacer })
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const updates = [1, 2, 3].map(() => update(() => promise))
    // A token and three calls have had their turns.
    await expect.poll(() => turns.length).toBe(4)
    const known = performance.now()
    resolve(true)
    await Promise.all(updates)
    // But for one whose turn had only just come.
    const passed = turns.slice(1, 4).filter(at => known - at > 50)
    expect(passed.length).toBeGreaterThan(1)
    expect(turns.slice(4)).toHaveLength(passed.length)
  })

  /** A platform whose turns for an update come after so many seconds, one after the other, and each answer after two. */
  function slowly(...seconds: number[]) {
    const now = performance.now.bind(performance)
    let passed = 0
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + passed * 1000)
    onTestFinished(() => clock.mockRestore())
    const turns: (number | undefined)[] = []
    const pacer = new LocalPacer(100_000)
    const taken = pacer.acquire.bind(pacer)
    pacer.acquire = async request => {
      await taken(request)
      if (request.operation !== 'employee/update') return
      passed += seconds[turns.length] ?? seconds.at(-1) ?? 0
      turns.push(request.priority)
    }
    client = connect({ pacer })
    let asked = 0
    const answer = async (isWanted: (times: number) => boolean) => {
      asked += 1
      passed += 2
      return isWanted(asked)
    }
    return { turns, answer, asked: () => asked }
  }
  const sent = () => platform.of('employee/update').length

  test('is asked again where the second turn, which goes ahead of others, came long after the answer', async () => {
    const { turns, answer } = slowly(0, 600)
    const options = { priority: 5, isStillWanted: () => answer(times => times < 2) }
    const failure = await failureOf(client.employees.update({ userid: 'u1', name: 'n' }, options))
    expect(failure).toMatchObject({ kind: 'aborted', outcomeKnown: true })
    expect(sent()).toBe(0)
    expect(turns).toEqual([5, 0])
  })

  test('is not asked for ever where every turn takes long', async () => {
    const { answer, asked } = slowly(60)
    await update(() => answer(() => true))
    expect(sent()).toBe(1)
    expect(asked()).toBe(5)
  })

  test('is not asked of a call that is too late by then, or was aborted', async () => {
    const { answer, asked } = slowly(0, 600)
    const late = { sendBefore: Date.now() - 1, isStillWanted: () => answer(() => true) }
    expect(await failureOf(client.employees.update({ userid: 'u1', name: 'n' }, late))).toMatchObject({
      kind: 'aborted',
    })
    expect(asked()).toBe(0)
    const stopping = new AbortController()
    const aborted = update(
      () =>
        answer(() => {
          stopping.abort(new Error('the process stops'))
          return true
        }),
      stopping.signal,
    )
    expect(await failureOf(aborted)).toMatchObject({ kind: 'aborted', outcomeKnown: true })
    expect(asked()).toBe(1)
    expect(sent()).toBe(0)
  })
})
