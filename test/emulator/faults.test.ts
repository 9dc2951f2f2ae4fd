import { beforeEach, describe, expect, test } from 'vitest'
import { duringFile } from '../helpers/during.ts'
import { PlatformUnderTest, sign } from './platform-under-test.ts'

const platform = duringFile(() => PlatformUnderTest.start())

beforeEach(async () => {
  await platform.reset()
  await platform.control('POST', 'employees', [{ userid: 'u1', name: 'Ana' }, { userid: 'u2' }])
  await platform.token()
})

const plant = (...rules: object[]) => platform.control('POST', 'faults', rules)
const stats = () => platform.control('GET', 'stats')
const lastCall = async () => (await platform.control('GET', 'calls')).calls.at(-1)

/** The platform's clock in the middle of an hour, so that no fixed window of minutes ends within a test. */
function toMidHour() {
  const now = Math.floor(Date.now() / 1000)
  return platform.moveClock(1830 - (now % 3600))
}

describe('planted answers', () => {
  test('a business code comes in the envelope', async () => {
    await plant({ operation: 'employee/get', code: 1000220002, message: 'planted' })
    expect(await platform.get({ userid: 'u1' })).toMatchObject({
      status: 200,
      code: 1000220002,
      msg: 'planted',
      data: null,
    })
    expect((await platform.update('u1', { name: 'x' })).code).toBe(0)
  })

  test('a code may come with another HTTP status', async () => {
    await plant({ operation: '*', code: 5, httpStatus: 503, retryAfter: 7 })
    const answer = await platform.get({ userid: 'u1' })
    expect(answer).toMatchObject({ status: 503, code: 5 })
    expect(answer.headers.get('retry-after')).toBe('7')
    expect(await lastCall()).toMatchObject({ httpStatus: 503, code: 5, end: 'answered', retryAfter: 7 })
  })

  test('an HTTP status alone comes without JSON', async () => {
    await plant({ operation: '*', httpStatus: 502 })
    const answer = await platform.update('u1', { name: 'changed' })
    expect(answer).toMatchObject({ status: 502, code: undefined })
    expect(answer.headers.get('x-trace-id')).toMatch(/^[0-9a-f]+$/)
    expect((await platform.employee('u1')).name).toBe('Ana')
  })

  test('a Retry-After alone comes with HTTP 429', async () => {
    await plant({ operation: 'employee/get', retryAfter: 3, times: 1 })
    const answer = await platform.get({ userid: 'u1' })
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([429, '3'])
    expect((await platform.get({ userid: 'u1' })).code).toBe(0)
  })

  test('an error rate alone means HTTP 500; 0 means never', async () => {
    await plant({ operation: 'employee/get', errorRate: 1 }, { operation: 'employee/update', errorRate: 0 })
    expect((await platform.get({ userid: 'u1' })).status).toBe(500)
    expect((await platform.update('u1', { name: 'x' })).code).toBe(0)
  })

  test('a share of the calls fails', async () => {
    await plant({ operation: 'employee/get', errorRate: 0.5, httpStatus: 500 })
    const answers = await Promise.all(Array.from({ length: 200 }, () => platform.get({ userid: 'u1' })))
    const failed = answers.filter(({ status }) => status === 500).length
    // 100 expected, with a standard deviation of 7.
    expect(failed).toBeGreaterThan(40)
    expect(failed).toBeLessThan(160)
  })

  test('a body may be anything', async () => {
    await plant({ operation: '*', body: '<html>maintenance</html>' })
    expect(await platform.get({ userid: 'u1' })).toMatchObject({
      status: 200,
      text: '<html>maintenance</html>',
    })
    await platform.control('DELETE', 'faults')
    await plant({ operation: '*', body: '{"code":', httpStatus: 504 })
    expect(await platform.get({ userid: 'u1' })).toMatchObject({ status: 504, text: '{"code":' })
  })
})

describe('lost connections', () => {
  test('a reset comes before any effect', async () => {
    await plant({ operation: 'employee/update', reset: true })
    await expect(platform.update('u1', { name: 'changed' })).rejects.toThrow('fetch failed')
    expect((await platform.employee('u1')).name).toBe('Ana')
    expect(await lastCall()).toMatchObject({ end: 'reset', httpStatus: null, code: null })
    expect((await stats()).operations['employee/update'].reset).toBe(1)
  })

  test('an answer is lost after the effect', async () => {
    await plant({ operation: 'employee/update', loseAnswer: true })
    await expect(platform.update('u1', { name: 'changed' })).rejects.toThrow('fetch failed')
    expect((await platform.employee('u1')).name).toBe('changed')
    expect(await lastCall()).toMatchObject({ end: 'answer-lost', httpStatus: 200, code: 0 })
    expect((await stats()).operations['employee/update'].answersLost).toBe(1)
  })
})

describe('latency', () => {
  test('passes before the effect, and adds up', async () => {
    await plant({ operation: '*', latencyMs: 30 }, { operation: 'employee/get', latencyMs: 30, jitterMs: 10 })
    expect((await platform.get({ userid: 'u1' })).code).toBe(0)
    // Timers may fire a little early.
    expect((await lastCall()).durationMs).toBeGreaterThan(55)
  })

  test('a caller who disconnects meanwhile does not stop the effect', async () => {
    await plant({ operation: 'employee/update', latencyMs: 3000 })
    const leaving = new AbortController()
    const parameters = { ...platform.publicParameters(await platform.token()), userid: 'u1', name: 'late' }
    const query = { ...parameters, sign: sign(parameters) }
    const gone = expect(
      platform.send('employee/update', query, '', { signal: leaving.signal }),
    ).rejects.toThrow('aborted')
    await expect.poll(async () => (await stats()).maxConcurrentPerUserid).toBe(1)
    leaving.abort()
    await gone
    await expect.poll(async () => (await platform.employee('u1')).name).toBe('late')
    expect(await lastCall()).toMatchObject({ end: 'abandoned', httpStatus: 200, code: 0 })
    expect((await stats()).operations['employee/update'].abandoned).toBe(1)
  })
})

describe('which calls a rule is for', () => {
  test('those with the parameters it names', async () => {
    await plant({ operation: '*', match: { userid: 'u1' }, httpStatus: 500 })
    expect((await platform.get({ userid: 'u1' })).status).toBe(500)
    expect((await platform.get({ userid: 'u2' })).code).toBe(0)
    expect((await platform.call('department/delete', { dept_code: 'D' })).code).toBe(1000220010)
  })

  test('as often as `times` says, then it is gone', async () => {
    await plant({ operation: 'employee/get', code: 9, times: 2 })
    expect(await platform.control('GET', 'faults')).toEqual([
      { operation: 'employee/get', code: 9, times: 2 },
    ])
    expect((await platform.get({ userid: 'u1' })).code).toBe(9)
    expect(await platform.control('GET', 'faults')).toEqual([
      { operation: 'employee/get', code: 9, times: 1 },
    ])
    expect((await platform.get({ userid: 'u1' })).code).toBe(9)
    expect((await platform.get({ userid: 'u1' })).code).toBe(0)
    expect(await platform.control('GET', 'faults')).toEqual([])
  })

  test('`times` counts delays for a rule that only delays', async () => {
    await plant({ operation: 'employee/get', latencyMs: 1, times: 1 })
    await platform.get({ userid: 'u1' })
    expect(await platform.control('GET', 'faults')).toEqual([])
  })

  test('the first rule that fails the call decides', async () => {
    await plant({ operation: '*', code: 1, times: 1 }, { operation: 'employee/get', code: 2 })
    expect((await platform.get({ userid: 'u1' })).code).toBe(1)
    expect((await platform.get({ userid: 'u1' })).code).toBe(2)
  })

  test('none after they are cleared', async () => {
    await platform.control('POST', 'faults', { operation: '*', httpStatus: 500 })
    expect(await platform.control('DELETE', 'faults')).toEqual([])
    expect((await platform.get({ userid: 'u1' })).code).toBe(0)
  })
})

describe('rate limits', () => {
  test.each(['sliding-log', 'fixed-window', 'token-bucket'])(
    '%s: over the limit is HTTP 429 until the window has passed',
    async kind => {
      await toMidHour()
      await plant({ operation: 'employee/get', rateLimit: { kind, limit: 3, windowMs: 120_000 } })
      for (let count = 0; count < 3; count += 1) expect((await platform.get({ userid: 'u1' })).code).toBe(0)
      const refused = await platform.get({ userid: 'u1' })
      expect(refused).toMatchObject({ status: 429, code: undefined })
      const wait = Number(refused.headers.get('retry-after'))
      expect(wait).toBeGreaterThan(30)
      expect(wait).toBeLessThanOrEqual(120)
      expect((await lastCall()).end).toBe('rate-limited')
      expect((await stats()).operations['employee/get'].rateLimited).toBe(1)
      expect((await platform.update('u1', { name: 'x' })).code).toBe(0)
      const { offsetSeconds } = await platform.control('GET', 'clock')
      await platform.moveClock(offsetSeconds + wait + 1)
      expect((await platform.get({ userid: 'u1' })).code).toBe(0)
    },
  )

  test('a limit counts each operation for itself, or all together', async () => {
    const rateLimit = { kind: 'sliding-log', limit: 1, windowMs: 3_600_000 }
    const both = async () => [
      (await platform.get({ userid: 'u1' })).status,
      (await platform.update('u1', { name: 'x' })).status,
      (await platform.get({ userid: 'u1' })).status,
    ]
    await plant({ operation: '*', rateLimit })
    expect(await both()).toEqual([200, 200, 429])
    await platform.control('DELETE', 'faults')
    await plant({ operation: '*', rateLimit: { ...rateLimit, scope: 'all' } })
    expect(await both()).toEqual([200, 429, 429])
  })

  test('Retry-After may be kept back, and a refusal comes without latency or effect', async () => {
    const rateLimit = { kind: 'token-bucket', limit: 1, windowMs: 3_600_000, retryAfter: false }
    await plant({ operation: 'employee/update', rateLimit })
    await platform.update('u1', { name: 'first' })
    const refused = await platform.update('u1', { name: 'second' })
    expect(refused.status).toBe(429)
    expect(refused.headers.has('retry-after')).toBe(false)
    expect((await platform.employee('u1')).name).toBe('first')
  })

  test.each([
    [{ code: 1000210099 }, { status: 200, code: 1000210099, msg: 'Too many calls.' }],
    [
      { code: 5, httpStatus: 503, message: 'slow down' },
      { status: 503, code: 5, msg: 'slow down' },
    ],
    [{ httpStatus: 503 }, { status: 503, code: undefined, text: 'Too many calls.' }],
    [{ body: '<html>' }, { status: 200, text: '<html>' }],
    [{ message: 'slow down' }, { status: 429, text: 'slow down' }],
  ])('%j beside a limit is what calls over it get', async (shape, refusal) => {
    await toMidHour()
    const rateLimit = { kind: 'fixed-window', limit: 1, windowMs: 3_600_000 }
    await plant({ operation: 'employee/get', rateLimit, ...shape })
    expect(await platform.get({ userid: 'u1' })).toMatchObject({ status: 200, code: 0 })
    const refused = await platform.get({ userid: 'u1' })
    expect(refused).toMatchObject(refusal)
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(60)
    expect(await lastCall()).toMatchObject({ httpStatus: refusal.status, end: 'rate-limited' })
  })

  test('a Retry-After beside a limit goes before what is left of its window', async () => {
    await toMidHour()
    const rateLimit = { kind: 'fixed-window', limit: 1, windowMs: 3_600_000 }
    await plant({ operation: 'employee/get', rateLimit, retryAfter: 3 })
    expect((await platform.get({ userid: 'u1' })).code).toBe(0)
    const refused = await platform.get({ userid: 'u1' })
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '3'])
  })

  test('`times` counts refusals', async () => {
    await plant({
      operation: '*',
      times: 1,
      rateLimit: { kind: 'sliding-log', limit: 1, windowMs: 3_600_000 },
    })
    const statuses = []
    for (let count = 0; count < 4; count += 1) statuses.push((await platform.get({ userid: 'u1' })).status)
    expect(statuses).toEqual([200, 429, 200, 200])
  })
})

test.each([
  [{}, 'operation'],
  [{ operation: 'employee/create', code: 1 }, 'operation must be * or one of token/create'],
  [{ operation: '*', errorRate: 2 }, 'errorRate'],
  [{ operation: '*' }, '0: must delay, hold, fail or limit calls'],
  [{ operation: '*', message: 'x', times: 1, match: { userid: 'u1' } }, '0: must delay, hold'],
  [{ operation: '*', latencyMs: -1 }, 'latencyMs'],
  [{ operation: '*', surprise: true }, 'surprise'],
  [{ operation: '*', rateLimit: { kind: 'leaky', limit: 1, windowMs: 1 } }, 'rateLimit.kind'],
])('the rule %j is refused, with its place', async (rule, place) => {
  const answer = await platform.request('/_emulator/faults', { method: 'POST', body: JSON.stringify([rule]) })
  expect(answer.status).toBe(400)
  expect(JSON.parse(answer.text).error).toContain(place)
  expect(await platform.control('GET', 'faults')).toEqual([])
})
