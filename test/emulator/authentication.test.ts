import { describe, expect, test } from 'vitest'
import { duringFile } from '../helpers/during.ts'
import { PlatformUnderTest, sign } from './platform-under-test.ts'

const platform = duringFile(() =>
  PlatformUnderTest.start({ seed: { employees: [{ userid: 'u1', name: 'Ana' }] } }),
)

type Parameters = Record<string, string>

/** Calls employee/get, signing what `change` leaves of the public parameters. */
async function getWith(
  change: (parameters: Parameters) => Parameters,
  business: Parameters = { userid: 'u1' },
) {
  const parameters = change(platform.publicParameters(await platform.token()))
  return platform.send(
    'employee/get',
    { ...parameters, sign: sign({ ...parameters, ...business }) },
    business,
  )
}

function without(name: string) {
  return ({ [name]: _, ...rest }: Parameters) => rest
}

test('a call with the right public parameters succeeds, in the query string or in the body', async () => {
  const parameters = { ...platform.publicParameters(await platform.token()), userid: 'u1' }
  const signed = { ...parameters, sign: sign(parameters) }
  expect((await platform.send('employee/get', {}, signed)).code).toBe(0)
  expect((await platform.send('employee/get', signed, '')).code).toBe(0)
  expect((await getWith(same => same)).code).toBe(0)
})

test('version and grant_type may be left out, and must be right when given', async () => {
  expect((await getWith(without('version'))).code).toBe(0)
  expect((await getWith(without('grant_type'))).code).toBe(0)
  for (const version of ['1', '1.0', '1.0.0.0', '10.0.0', 'a.b.c']) {
    expect((await getWith(same => ({ ...same, version }))).code).toBe(1000220002)
  }
  expect((await getWith(same => ({ ...same, grant_type: 'password' }))).code).toBe(1000220002)
})

describe('1000210003 answers', () => {
  test.each(['appid', 'sign'])('a call without %s', async name => {
    const parameters = { ...platform.publicParameters(await platform.token()), userid: 'u1' }
    const { [name]: _, ...rest } = { ...parameters, sign: sign(parameters) } as Parameters
    expect(await platform.send('employee/get', {}, rest)).toMatchObject({
      status: 200,
      code: 1000210003,
      msg: 'appinfo check failed!',
      data: null,
    })
  })

  test('an unknown appid', async () => {
    expect((await getWith(same => ({ ...same, appid: 'another' }))).code).toBe(1000210003)
  })

  test('a parameter that was changed, added or taken away after signing', async () => {
    const parameters = { ...platform.publicParameters(await platform.token()), userid: 'u1' }
    const signed: Parameters = { ...parameters, sign: sign(parameters) }
    const { version: _, ...less } = signed
    for (const sent of [{ ...signed, userid: 'u2' }, { ...signed, email: 'x@example.com' }, less]) {
      expect((await platform.send('employee/get', {}, sent)).code).toBe(1000210003)
    }
  })

  test('another secret', async () => {
    const parameters = platform.publicParameters()
    const sent = { ...parameters, sign: sign(parameters, 'another secret') }
    expect((await platform.send('token/create', sent, '')).code).toBe(1000210003)
  })
})

test('values are trimmed before they are verified and read', async () => {
  const parameters: Parameters = { ...platform.publicParameters(await platform.token()), userid: 'u1' }
  const sent = { ...parameters, sign: sign(parameters), userid: ' \tu1  ' }
  expect((await platform.send('employee/get', {}, sent)).data.userid).toBe('u1')
})

test('a parameter with an empty value is not signed', async () => {
  const parameters = { ...platform.publicParameters(await platform.token()), userid: 'u1' }
  const sent = { ...parameters, remark: '  ', sign: sign(parameters) }
  expect((await platform.send('employee/update', {}, sent)).code).toBe(0)
})

describe('the timestamp', () => {
  test.each([-290, -200, 200, 290])('may deviate by %d seconds', async seconds => {
    const shifted = await getWith(same => ({
      ...same,
      timestamp: String(Number(platform.timestamp()) + seconds),
    }))
    expect(shifted.code).toBe(0)
  })

  test.each([-3000, -310, 310, 3000])('gets 1000210001 when it deviates by %d seconds', async seconds => {
    const shifted = await getWith(same => ({
      ...same,
      timestamp: String(Number(platform.timestamp()) + seconds),
    }))
    expect(shifted).toMatchObject({
      status: 200,
      code: 1000210001,
      msg: 'timestamp check failed!',
      data: null,
    })
  })

  test.each(['', 'now', '-1', '1e9', '0x6553f100'])('gets 1000210001 when it is %j', async timestamp => {
    expect((await getWith(same => ({ ...same, timestamp }))).code).toBe(1000210001)
  })

  test('gets 1000210001 in milliseconds, or when it is missing', async () => {
    expect((await getWith(same => ({ ...same, timestamp: `${platform.timestamp()}000` }))).code).toBe(
      1000210001,
    )
    expect((await getWith(without('timestamp'))).code).toBe(1000210001)
  })
})

test('1000210004 answers a missing, empty or unknown token', async () => {
  for (const change of [
    without('access_token'),
    (same: Parameters) => ({ ...same, access_token: '' }),
    (same: Parameters) => ({ ...same, access_token: 'f'.repeat(32) }),
  ]) {
    expect(await getWith(change)).toMatchObject({
      status: 200,
      code: 1000210004,
      msg: 'tokeninfo check failed!',
    })
  }
})

test('the signature is checked before the timestamp, the timestamp before the token, the token before the rest', async () => {
  const old = { ...platform.publicParameters('unknown'), timestamp: '1', nonsense: '1' }
  expect((await platform.send('employee/get', { ...old, sign: 'wrong' }, '')).code).toBe(1000210003)
  expect((await platform.send('employee/get', { ...old, sign: sign(old) }, '')).code).toBe(1000210001)
  const now = { ...old, timestamp: platform.timestamp() }
  expect((await platform.send('employee/get', { ...now, sign: sign(now) }, '')).code).toBe(1000210004)
})

test('an unknown parameter gets 1000220002, also under a name every object has', async () => {
  for (const name of ['Userid', 'appsecret', '_body', '__proto__', 'constructor', 'toString', '']) {
    const answer = await platform.call(
      'employee/get',
      JSON.parse(`{"userid":"u1",${JSON.stringify(name)}:"x"}`),
    )
    expect(answer).toMatchObject({ status: 200, code: 1000220002, data: null })
    expect(answer.msg).toBe(`parameter validation failed: unknown parameter ${name}`)
  }
})

test('a parameter given twice gets 1000220002, in one place or in both', async () => {
  const query = `${new URLSearchParams(platform.publicParameters(await platform.token()))}&sign=x`
  for (const [path, body] of [
    [`/employee/get?${query}&userid=u1&userid=u1`, ''],
    [`/employee/get?${query}&userid=u1`, 'userid=u1'],
    [`/employee/get?${query}`, 'userid=u1&userid=u2'],
    [`/employee/get?${query}&sign=y`, 'userid=u1'],
  ] as const) {
    const answer = await platform.request(path, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body,
    })
    expect(answer.code).toBe(1000220002)
    expect(answer.msg).toContain('given more than once')
  }
})
