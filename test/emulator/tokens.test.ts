import { beforeEach, describe, expect, test } from 'vitest'
import { duringFile } from '../helpers/during.ts'
import { PlatformUnderTest, sign } from './platform-under-test.ts'

const platform = duringFile(() => PlatformUnderTest.start())

beforeEach(() => platform.reset())

test('a token is created and told with its life', async () => {
  const { status, code, msg, data } = await platform.createToken()
  expect({ status, code, msg }).toEqual({ status: 200, code: 0, msg: 'OK' })
  expect(data).toEqual({ access_token: expect.stringMatching(/^[0-9a-f]{32}$/), expires_in: 7200 })
})

test('creation takes no access_token and no business parameter', async () => {
  for (const extra of [{ access_token: 'x' }, { userid: 'u1' }, { enterprise_code: 'E1' }]) {
    const parameters = { ...platform.publicParameters(), ...extra }
    const answer = await platform.send('token/create', { ...parameters, sign: sign(parameters) }, {})
    expect(answer.code).toBe(1000220002)
  }
})

test('a query tells the token and what is left of its life', async () => {
  const token = await platform.token()
  await platform.moveClock(200)
  const { code, data } = await platform.call('token/getTokenInfo', {})
  expect(code).toBe(0)
  expect(data.access_token).toBe(token)
  expect(data.expires_in).toBeGreaterThan(6990)
  expect(data.expires_in).toBeLessThanOrEqual(7000)
})

test('a token that has expired gets 1000210004, on every operation', async () => {
  await platform.token()
  await platform.moveClock(7201)
  for (const operation of ['token/getTokenInfo', 'employee/get', 'employee/update', 'employee/openid']) {
    expect((await platform.call(operation, {})).code).toBe(1000210004)
  }
  expect((await platform.call('department/delete', {})).code).toBe(1000210004)
})

test('the control interface ends the tokens that are valid; a new one works', async () => {
  await platform.token()
  expect(await platform.control('POST', 'token/expire')).toEqual({ expired: 1 })
  expect((await platform.call('token/getTokenInfo', {})).code).toBe(1000210004)
  const parameters = platform.publicParameters((await platform.createToken()).data.access_token)
  const answer = await platform.send('token/getTokenInfo', { ...parameters, sign: sign(parameters) }, {})
  expect(answer.code).toBe(0)
})

test('a new token leaves the earlier one valid', async () => {
  await platform.token()
  await platform.createToken()
  expect((await platform.call('token/getTokenInfo', {})).code).toBe(0)
})

describe('the limits on token calls', () => {
  test('the creation after the last one of the hour gets HTTP 429 until an hour has passed', async () => {
    for (let count = 0; count < 60; count += 1) expect((await platform.createToken()).code).toBe(0)
    const refused = await platform.createToken()
    expect(refused).toMatchObject({ status: 429, code: undefined })
    const wait = Number(refused.headers.get('retry-after'))
    expect(wait).toBeGreaterThan(3500)
    expect(wait).toBeLessThanOrEqual(3600)
    await platform.moveClock(3500)
    expect((await platform.createToken()).status).toBe(429)
    await platform.moveClock(3601)
    expect((await platform.createToken()).code).toBe(0)
  })

  test('a creation with a wrong signature does not count', async () => {
    const wrong = { ...platform.publicParameters(), sign: 'wrong' }
    for (let count = 0; count < 61; count += 1) await platform.send('token/create', wrong, {})
    expect((await platform.createToken()).code).toBe(0)
  })

  test('the query after the last one of the minute gets HTTP 429 until a minute has passed', async () => {
    for (let count = 0; count < 60; count += 1) {
      expect((await platform.call('token/getTokenInfo', {})).code).toBe(0)
    }
    const refused = await platform.call('token/getTokenInfo', {})
    expect(refused.status).toBe(429)
    expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(60)
    await platform.moveClock(61)
    expect((await platform.call('token/getTokenInfo', {})).code).toBe(0)
  })

  test('other operations are not limited', async () => {
    for (let count = 0; count < 61; count += 1) {
      expect((await platform.get({ userid: 'nobody' })).code).toBe(1000220096)
    }
  })
})
