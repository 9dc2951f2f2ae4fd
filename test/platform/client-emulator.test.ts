import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type Emulator, startEmulator } from '../../emulator/emulator.ts'
import { LocalPacer } from '../../src/platform/caller.ts'
import { PlatformClient } from '../../src/platform/client.ts'
import type { SignAlgorithm } from '../../src/platform/request.ts'
import { MemoryTokenStore } from '../../src/platform/token.ts'
import { controlOf } from '../helpers/emulator-control.ts'
import { APP_ID, APP_SECRET } from './fake-platform.ts'

let emulator: Emulator
let client: PlatformClient

async function start(signAlgorithm: SignAlgorithm = 'sha256') {
  emulator = await startEmulator({ strict: true, appId: APP_ID, appSecret: APP_SECRET, signAlgorithm })
  client = new PlatformClient({
    baseUrl: emulator.url,
    appId: APP_ID,
    appSecret: APP_SECRET,
    signAlgorithm,
    tokenStore: new MemoryTokenStore(),
    pacer: new LocalPacer(10_000),
  })
  await control('state', {
    departments: [
      { dept_code: 'D0', dept_name: 'base', base: true },
      { dept_code: 'D1', dept_name: 'one', parent_code: 'D0' },
      { dept_code: 'D2', dept_name: 'two', parent_code: 'D0' },
    ],
    employees: [
      { userid: 'u1', corp_code: 'A1', mobile: '13900000001', dept_code: 'D1' },
      { userid: 'u2', corp_code: 'A2', mobile: '13900000002', dept_code: 'D1', remark: 'old' },
    ],
  })
}

const control = (path: string, body: object) => controlOf(emulator.url)('POST', path, body)

beforeEach(() => start())

afterEach(async () => {
  await client.close()
  await emulator.close()
})

describe('operations', () => {
  test('an employee is queried, updated and queried again', async () => {
    expect(await client.employees.get({ userid: 'u1' })).toMatchObject({ userid: 'u1', dept_code: 'D1' })
    const number = await client.employees.update({
      userid: 'u1',
      code: 'A1',
      new_corp_code: 'B1',
      gender: 2,
      mobile_area: 86,
      dept_code: 'D2',
      birth_day: '1990-02-28',
      remark: 'a&b = "ü" 字',
      category: 'x,y',
      employee_attribute: '[{"attributeCode":"contract","attributeValue":"intern"}]',
      cost_center_id: 12,
    })
    expect(number).toBe('B1')
    expect(await client.employees.get({ mobile_area: 86, mobile: '13900000001' })).toMatchObject({
      userid: 'u1',
      corp_code: 'B1',
      gender: 2,
      dept_code: 'D2',
      birth_day: '1990-02-28',
      remark: 'a&b = "ü" 字',
      category: ['x', 'y'],
    })
  })

  test('a remark is cleared by the empty text', async () => {
    await client.employees.update({ userid: 'u2', remark: '' })
    expect((await client.employees.get({ userid: 'u2' })).remark ?? '').toBe('')
  })

  test('an open id is bound once and found again', async () => {
    const bound = await client.employees.openid({ userid: 'u1', seller_appid: 'seller01' })
    expect(bound).toMatchObject({ userid: 'u1', seller_appid: 'seller01' })
    expect(await client.employees.openid({ userid: 'u1', seller_appid: 'seller01', third_type: 5 })).toEqual(
      bound,
    )
  })

  test('a department is deleted; a second time it does not exist, which is as good', async () => {
    expect(await client.departments.delete({ dept_code: 'D2' })).toBe('D2')
    await expect(client.departments.delete({ dept_code: 'D2' })).rejects.toMatchObject({
      platformCode: 1000220010,
      disposition: 'done',
    })
  })

  test('the token in use can be queried', async () => {
    const { access_token, expires_in } = await client.tokens.info()
    expect(access_token).toMatch(/./)
    expect(expires_in).toBeGreaterThan(0)
  })

  test('any operation by its name', async () => {
    expect(await client.call('employee/get', { userid: 'u1' })).toMatchObject({ userid: 'u1' })
    const life = await client.tokens.info()
    expect(await client.call('token/create', {})).toEqual({
      access_token: expect.any(String),
      expires_in: expect.toSatisfy((seconds: number) => Math.abs(seconds - life.expires_in) < 60),
    })
  })

  test('a duplicate mobile comes back as a verdict with the trace id', async () => {
    await expect(client.employees.update({ userid: 'u1', mobile: '13900000002' })).rejects.toMatchObject({
      platformCode: 1002218007,
      disposition: 'park',
      traceId: expect.stringMatching(/./),
    })
  })
})

test.each<SignAlgorithm>(['sha1', 'sha512'])('signs with %s', async algorithm => {
  await client.close()
  await emulator.close()
  await start(algorithm)
  expect(await client.employees.get({ userid: 'u1' })).toMatchObject({ userid: 'u1' })
})

test('a token that the platform forgot is replaced without the caller noticing', async () => {
  await client.employees.get({ userid: 'u1' })
  await control('token/expire', {})
  expect(await client.employees.get({ userid: 'u1' })).toMatchObject({ userid: 'u1' })
})

test("a clock that is two hours off is corrected by the platform's", async () => {
  await control('clock', { offsetSeconds: -7200 })
  expect(await client.employees.get({ userid: 'u1' })).toMatchObject({ userid: 'u1' })
  expect(Math.round(client.clockOffset.appliedMs / 60_000)).toBe(-120)
})
