import { inspect } from 'node:util'
import { beforeAll, describe, expect, test } from 'vitest'
import type { PlatformClient } from '../../src/platform/client.ts'
import { PlatformError } from '../../src/platform/errors.ts'
import type { OperationName } from '../../src/platform/operations/index.ts'
import { MemoryTokenStore } from '../../src/platform/token.ts'
import { duringFile } from '../helpers/during.ts'
import { APP_ID, ContractUnderTest, type SeenCall, type Watched } from './contract-under-test.ts'
import { DIRECTORY, OPERATION_NAMES, validRequest } from './valid-requests.ts'

const TIMESTAMP = 1000210001
const APPLICATION = 1000210003
const TOKEN = 1000210004
const ENTERPRISE = 1000240002

/** What each code of section 7 asks for once it reaches the caller. */
const DISPOSITIONS: Record<number, string> = {
  [TIMESTAMP]: 'halt', // again, after the clock was corrected
  [APPLICATION]: 'halt',
  [TOKEN]: 'retry', // again, with a new token: like any failure that is not the request's
  1000220002: 'park',
  1000220096: 'park',
  1000220102: 'park',
  1002219003: 'park',
  1000220010: 'park', // but 'done' where a department is deleted
  1002218004: 'park',
  1002218007: 'park',
  1002219046: 'park',
  1000220030: 'park',
  1000210028: 'park',
  1000220072: 'park',
  [ENTERPRISE]: 'halt',
  1002219069: 'park',
  1002200106: 'park',
  1002212002: 'park',
  1000220120: 'park', // no row of its own; permanent, so it is not repeated (law 5)
  1000220064: 'park', // likewise
}

function dispositionOf(operation: OperationName, code: number): string | undefined {
  return operation === 'department/delete' && code === 1000220010 ? 'done' : DISPOSITIONS[code]
}

/** What must not be repeated, and the codes after which it is known that nothing was carried out. */
const MONEY: OperationName[] = ['seller/v3/pay/syncRefund', 'enterprise/account/applyCharge']
const REFUSALS_OF_MONEY = [TIMESTAMP, APPLICATION, TOKEN, ENTERPRISE, 1000220002]

const isLeftOpen = (operation: OperationName, code: number) =>
  MONEY.includes(operation) && !REFUSALS_OF_MONEY.includes(code)

const platform = duringFile(() => ContractUnderTest.start(DIRECTORY))

const codesOf = (calls: SeenCall[], operation: OperationName) =>
  calls.filter(call => call.operation === operation).map(({ code }) => code)

/** Checks everything that a business failure says, and that it gives away nothing of the request. */
function expectFailure(
  { error, calls }: Watched,
  operation: OperationName,
  code: number,
  request: Record<string, unknown>,
): void {
  expect(error).toBeInstanceOf(PlatformError)
  const isOpen = isLeftOpen(operation, code)
  expect({ ...error }).toEqual({
    name: isOpen ? 'OutcomeUnknownError' : 'PlatformError',
    code: isOpen ? 'PLATFORM_OUTCOME_UNKNOWN' : 'PLATFORM_BUSINESS',
    kind: 'business',
    operation,
    platformCode: code,
    httpStatus: 200,
    traceId: calls.findLast(call => call.operation === operation)?.traceId,
    outcomeKnown: !isOpen,
    disposition: isOpen ? 'park' : dispositionOf(operation, code),
  })
  expect(error.traceId).toMatch(/./)
  expect(error.message).toContain(String(code))
  for (const value of Object.values(request).filter(value => String(value).length > 3)) {
    expect(error.message).not.toContain(value)
    expect(inspect(error, { depth: 9 })).not.toContain(value)
  }
}

describe.each(OPERATION_NAMES)('planted on %s', operation => {
  let client: PlatformClient

  beforeAll(async () => {
    client = platform.client()
    await client.tokens.create()
  })

  test.each(Object.keys(DISPOSITIONS).map(Number))('%i', async code => {
    const request = validRequest(operation)
    const message = `planted for ${Object.values(request).join(', ')}`
    const watched = await platform.watchFailing(operation, { code, message }, () =>
      client.call(operation, request),
    )

    expectFailure(watched, operation, code, request)
    expect(watched.error.platformMessage).toBe(message)
    const { calls } = watched
    // A call that was refused because of its time or token had no effect, so even a refund may be repeated once.
    const isTokenRenewed = code === TOKEN && operation !== 'token/create'
    const times = code === TIMESTAMP || isTokenRenewed ? 2 : 1
    expect(codesOf(calls, operation)).toEqual(Array(times).fill(code))
    expect(calls).toHaveLength(times + (isTokenRenewed ? 1 : 0))
  })

  test('an unknown code', async () => {
    const request = validRequest(operation)
    const { error, calls } = await platform.watchFailing(operation, { code: 1009999999 }, () =>
      client.call(operation, request),
    )
    const isOpen = isLeftOpen(operation, 1009999999)
    expect(error).toMatchObject({
      platformCode: 1009999999,
      disposition: isOpen ? 'park' : 'retry',
      outcomeKnown: !isOpen,
    })
    expect(calls).toHaveLength(1)
  })
})

/** One code of section 7 provoked where section 7 names it, by a request that goes the whole way. */
type Natural = [code: number, operation: OperationName, request: Record<string, string>]

const one = { userid: 'employee-one' }
const ENTERPRISE_OPERATIONS = OPERATION_NAMES.filter(name => !name.startsWith('token/'))

const NATURAL: Natural[] = [
  [1000220002, 'employee/update', { userid: 'employee-two', card_no: 'P1234567' }],
  [1000220096, 'employee/update', { userid: 'employee-unknown', remark: 'a remark' }],
  [1000220096, 'employee/get', { userid: 'employee-unknown' }],
  [1000220096, 'employee/openid', { userid: 'employee-unknown', seller_appid: 'seller01' }],
  [1000220102, 'employee/update', { userid: 'employee-gone', remark: 'a remark' }],
  [1000220102, 'employee/get', { mobile: '13899999999' }],
  [1000220102, 'employee/openid', { userid: 'employee-gone', seller_appid: 'seller01' }],
  [1002219003, 'employee/update', { ...one, new_corp_code: 'work0002' }],
  [1000220010, 'employee/update', { ...one, dept_code: 'unknown-department' }],
  [1000220010, 'department/delete', { dept_code: 'unknown-department' }],
  [1002218004, 'employee/update', { ...one, email: 'Two@example.com' }],
  [1002218007, 'employee/update', { ...one, mobile: '13800000002' }],
  [1002219046, 'employee/update', { ...one, card_type: '1', card_no: '110105194912310021' }],
  [1000220030, 'employee/update', { userid: 'employee-off', enterprise_code: 'OFF', level: 'Grade7' }],
  [1000210028, 'employee/update', { userid: 'employee-off', enterprise_code: 'OFF', category: 'driver' }],
  [
    1000220072,
    'employee/update',
    {
      userid: 'employee-off',
      enterprise_code: 'OFF',
      employee_attribute: '[{"attributeCode":"contract","attributeValue":"intern"}]',
    },
  ],
  [1002219069, 'employee/update', { ...one, mobile_area: '9999', mobile: '13800000001' }],
  [1002200106, 'department/delete', { dept_code: 'elsewhere-department' }],
  [1002212002, 'department/delete', { dept_code: 'base-department' }],
  [1000220120, 'enterprise/consume/get', { trade_no: '2026112199999999' }],
  [1000220064, 'seller/pay/record', { outer_trade_no: `${APP_ID}-order-9999` }],
  ...ENTERPRISE_OPERATIONS.map(
    (name): Natural => [
      ENTERPRISE,
      name,
      { ...(validRequest(name) as Record<string, string>), enterprise_code: 'NOT-BOUND' },
    ],
  ),
]

/** As {@link NATURAL}, where the client refuses to send what the platform would refuse: sent by hand. */
const BY_HAND: Natural[] = [
  [1000220002, 'employee/update', { ...one, entry_day: '2026/11/21' }],
  [1000220002, 'employee/get', { mobile_area: '86' }],
  [1000220002, 'employee/openid', { ...one, seller_appid: 'far-too-long' }],
  [1000220002, 'department/delete', { dept_code: 'd'.repeat(51) }],
]

/** Provoked for every operation by a clock, a secret or a token that is wrong, see below. */
const EVERYWHERE = {
  [TIMESTAMP]: OPERATION_NAMES,
  [APPLICATION]: OPERATION_NAMES,
  [TOKEN]: OPERATION_NAMES.filter(name => name !== 'token/create'),
}

describe('provoked', () => {
  test.each(NATURAL)('%i on %s', async (code, operation, request) => {
    const client = platform.client()
    await client.tokens.create()
    const watched = await platform.watch(() => client.call(operation, request))
    expectFailure(watched, operation, code, request)
    expect(watched.calls).toHaveLength(1)
  })

  test.each(BY_HAND)('%i on %s, past the client', async (code, operation, request) => {
    const refused = await platform.watch(() => platform.client().call(operation, request))
    expect(refused.error).toMatchObject({ kind: 'invalid_request', disposition: 'park', outcomeKnown: true })
    expect(refused.calls).toEqual([])
    expect(await platform.byHand(operation, request)).toMatchObject({ code, data: null })
  })

  test.each(EVERYWHERE[APPLICATION])('a wrong secret on %s', async operation => {
    const tokenStore = new MemoryTokenStore()
    if (operation !== 'token/create') await platform.client({ tokenStore }).tokens.create()
    const client = platform.client({ tokenStore, appSecret: 'Secret-of-another' })
    const request = validRequest(operation)
    const watched = await platform.watch(() => client.call(operation, request))
    expectFailure(watched, operation, APPLICATION, request)
    expect(watched.calls).toHaveLength(1)
    expect(inspect(watched.error)).not.toContain('Secret-of')
  })

  test.each(EVERYWHERE[TOKEN])('a token that has expired on %s', async operation => {
    const client = platform.client()
    await client.tokens.create()
    await platform.control('POST', 'token/expire')
    const watched = await platform.watch(() => client.call(operation, validRequest(operation)))
    expect(watched.error).toBeUndefined()
    expect(watched.calls.map(call => [call.operation, call.code])).toEqual([
      [operation, TOKEN],
      ['token/create', 0],
      [operation, 0],
    ])
  })

  test.each(EVERYWHERE[TIMESTAMP])('a clock that is ten minutes off on %s', async operation => {
    const client = platform.client()
    await client.tokens.create()
    await platform.control('POST', 'clock', { offsetSeconds: 600 })
    const watched = await platform.watch(() => client.call(operation, validRequest(operation)))
    await platform.control('POST', 'clock', { offsetSeconds: 0 })
    expect(watched.error).toBeUndefined()
    expect(watched.calls.map(call => [call.operation, call.code])).toEqual([
      [operation, TIMESTAMP],
      [operation, 0],
    ])
    expect(Math.round(client.clockOffset.appliedMs / 60_000)).toBe(10)
  })

  test.each([
    ['seller/v3/pay/syncRefund', 1000229001],
    ['enterprise/account/applyCharge', 1000229003],
  ] as const)('a number that was used before on %s, by a code of no table', async (operation, code) => {
    const client = platform.client()
    const request = validRequest(operation)
    await client.call(operation, request)
    const { error, calls } = await platform.watch(() => client.call(operation, request))
    expect(error).toMatchObject({ kind: 'business', platformCode: code, outcomeKnown: false })
    expect(calls).toHaveLength(1)
  })
})

/** Section 7: which operations are named for a code. */
const SECTION_7: [code: number, operations: readonly OperationName[]][] = [
  [TIMESTAMP, OPERATION_NAMES],
  [APPLICATION, ['token/create', 'token/getTokenInfo']],
  [TOKEN, OPERATION_NAMES.filter(name => name !== 'token/create')],
  [1000220002, ['employee/update', 'employee/get', 'employee/openid', 'department/delete']],
  [1000220096, ['employee/update', 'employee/get', 'employee/openid']],
  [1000220102, ['employee/update', 'employee/get', 'employee/openid']],
  [1002219003, ['employee/update']],
  [1000220010, ['employee/update', 'department/delete']],
  [1002218004, ['employee/update']],
  [1002218007, ['employee/update']],
  [1002219046, ['employee/update']],
  [1000220030, ['employee/update']],
  [1000210028, ['employee/update']],
  [1000220072, ['employee/update']],
  [
    ENTERPRISE,
    [
      'employee/update',
      'employee/get',
      'employee/openid',
      'department/delete',
      'enterprise/consume/list',
      'enterprise/consume/get',
      'assets/limit/enterprise/get',
      'seller/v3/pay/syncRefund',
      'seller/pay/record',
      'enterprise/account/applyCharge',
      'taxpayer/findList',
    ],
  ],
  [1002219069, ['employee/update']],
  [1002200106, ['department/delete']],
  [1002212002, ['department/delete']],
  [1000220120, ['enterprise/consume/get']],
  [1000220064, ['seller/pay/record']],
]

test('every pair of code and operation that section 7 names was provoked', () => {
  const provoked = new Set([
    ...[...NATURAL, ...BY_HAND].map(([code, operation]) => `${code} ${operation}`),
    ...Object.entries(EVERYWHERE).flatMap(([code, names]) => names.map(name => `${code} ${name}`)),
  ])
  const named = SECTION_7.flatMap(([code, operations]) => operations.map(name => `${code} ${name}`))
  expect(named.filter(pair => !provoked.has(pair))).toEqual([])
  expect(SECTION_7.map(([code]) => code).toSorted()).toEqual(Object.keys(DISPOSITIONS).map(Number).toSorted())
})
