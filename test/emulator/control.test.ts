import { beforeEach, describe, expect, test } from 'vitest'
import { CALL_LOG_SIZE, CallLog } from '../../emulator/call-log.ts'
import { duringFile } from '../helpers/during.ts'
import { heldBytes } from '../helpers/memory.ts'
import { APP_SECRET, PlatformUnderTest } from './platform-under-test.ts'

const platform = duringFile(() => PlatformUnderTest.start())

beforeEach(() => platform.reset())

describe('seeding', () => {
  test('the state is in the seed format: put back, it is the same', async () => {
    await platform.control('POST', 'enterprises', [
      { enterprise_code: 'E1', features: { level: false, employee_attribute: ['tax'] } },
    ])
    await platform.control('POST', 'departments', [
      { enterprise_code: 'E1', dept_code: 'A1', dept_name: 'child first', parent_code: 'A' },
      { enterprise_code: 'E1', dept_code: 'A', dept_name: 'A', base: true },
    ])
    await platform.control('POST', 'employees', [
      {
        enterprise_code: 'E1',
        userid: 'u1',
        gender: '1',
        mobile: '13800000001',
        dept_code: 'A1',
        category: ['a'],
        employee_attribute: [{ attributeCode: 'tax', attributeValue: '1' }],
      },
      { userid: 'u2', in_service: false },
    ])
    await platform.control('POST', 'openids', [{ userid: 'u2', seller_appid: 's', open_userid: 'o' }])
    const state = await platform.control('GET', 'state')
    expect(state).toMatchObject({
      enterprises: [
        { enterprise_code: 'E1', features: { level: false, category: true, employee_attribute: ['tax'] } },
      ],
      departments: [
        { enterprise_code: 'E1', dept_code: 'A', parent_code: null, base: true },
        { enterprise_code: 'E1', dept_code: 'A1', parent_code: 'A', base: false },
      ],
      employees: [
        { enterprise_code: '', userid: 'u2', in_service: false, name: null, category: null },
        { enterprise_code: 'E1', userid: 'u1', gender: 1, mobile_area: 86, in_service: true },
      ],
      openids: [{ enterprise_code: '', userid: 'u2', seller_appid: 's', open_userid: 'o' }],
    })
    await platform.reset()
    expect(await platform.control('POST', 'state', state)).toEqual({
      enterprises: 1,
      departments: 2,
      employees: 2,
      openids: 1,
      orders: 0,
      refunds: 0,
      accounts: 0,
      topups: 0,
      taxpayers: 0,
    })
    expect(await platform.control('GET', 'state')).toEqual(state)
    expect(await platform.control('GET', 'state?userid=u2')).toEqual({
      employees: [state.employees[0]],
      openids: state.openids,
    })
  })

  test('an answer of employee/get, put back, is the same', async () => {
    await platform.control('POST', 'departments', [{ dept_code: 'D1' }])
    await platform.control('POST', 'employees', [
      { userid: 'u1', name: 'Ana', corp_code: 'W1', gender: 1, mobile: '13800000001', dept_code: 'D1' },
    ])
    const { data } = await platform.get({ userid: 'u1' })
    expect(data).toMatchObject({ userid: 'u1', dept_code: 'D1', dept_name: 'D1' })
    await platform.reset()
    await platform.control('POST', 'departments', [{ dept_code: 'D1' }])
    await platform.control('POST', 'employees', [data])
    expect((await platform.get({ userid: 'u1' })).data).toEqual(data)
  })

  test('attributes may be the JSON text of an update', async () => {
    const employee_attribute = [{ attributeCode: 'tax', attributeValue: '1' }]
    await platform.control('POST', 'employees', [
      { userid: 'u1', employee_attribute: JSON.stringify(employee_attribute) },
      { userid: 'u2', employee_attribute: '' },
    ])
    expect(await platform.employee('u1')).toMatchObject({ employee_attribute })
    expect(await platform.employee('u2')).toMatchObject({ employee_attribute: null })
  })

  test('a new enterprise code is bound with everything on', async () => {
    await platform.control('POST', 'employees', [{ enterprise_code: 'E2', userid: 'u1' }])
    expect((await platform.control('GET', 'state')).enterprises).toEqual([
      { enterprise_code: 'E2', features: { level: true, category: true, employee_attribute: ['*'] } },
    ])
  })

  test('the features of the single enterprise can be switched off', async () => {
    await platform.control('POST', 'enterprises', [{ features: { level: false } }])
    await platform.control('POST', 'employees', [{ userid: 'u1' }])
    expect((await platform.update('u1', { level: 'P1' })).code).toBe(1000220030)
    expect((await platform.update('u1', { category: 'a' })).code).toBe(0)
  })

  test('what has the same key is replaced', async () => {
    await platform.control('POST', 'employees', [{ userid: 'u1', name: 'Ana', remark: 'x' }])
    await platform.control('POST', 'employees', [{ userid: 'u1', name: 'Eva' }])
    expect(await platform.employee('u1')).toMatchObject({ name: 'Eva', remark: null })
  })

  test.each([
    ['employees', [{ name: 'x' }], 'employees.0.userid'],
    ['employees', [{ userid: 'u2', nickname: 'x' }], 'nickname'],
    ['employees', { userid: 'u2' }, 'expected array'],
    ['employees', undefined, 'expected array'],
    ['employees', [{ userid: 'u2', email: 'ANA@example.com' }], 'email is held by employee u1'],
    ['employees', [{ userid: 'u2', mobile: '13800000001' }], 'mobile is held by employee u1'],
    ['employees', [{ userid: 'u2' }, { userid: 'u3', dept_code: 'D9' }], 'department D9 does not exist'],
    ['departments', [{ dept_code: 'A', dept_name: 'A', parent_code: 'B' }], 'parent B does not exist'],
    ['enterprises', [{ enterprise_code: 'E', features: { salary: true } }], 'salary'],
    ['employees', [{ userid: 'u2', cost_center_id: '9007199254740992' }], 'employees.0.cost_center_id'],
    ['employees', [{ userid: 'u2', gender: '9'.repeat(400) }], 'employees.0.gender'],
    ['employees', [{ userid: 'u2', employee_attribute: '[{' }], 'employees.0.employee_attribute'],
    ['openids', [{ userid: 'u1' }], 'openids.0.seller_appid'],
    [
      'orders',
      [{ trade_no: 'T1', total_amount: '1', out_trade_no: 'a', outer_trade_no: 'b' }],
      'outer_trade_no',
    ],
  ])('a wrong seed of %s is refused as a whole: %j', async (what, items, reason) => {
    await platform.control('POST', 'employees', [
      { userid: 'u1', email: 'ana@example.com', mobile: '13800000001' },
    ])
    const before = await platform.control('GET', 'state')
    const answer = await platform.request(`/_emulator/${what}`, {
      method: 'POST',
      ...(items && { body: JSON.stringify(items) }),
    })
    expect(answer.status).toBe(400)
    expect(JSON.parse(answer.text).error).toContain(reason)
    expect(await platform.control('GET', 'state')).toEqual(before)
  })
})

describe('the call log', () => {
  test('has every call, without secrets', async () => {
    await platform.control('POST', 'employees', [{ userid: 'u1' }])
    const token = await platform.token()
    const answer = await platform.get({ userid: 'u1' })
    await platform.send('employee/get', { appid: 'x' }, { userid: 'u2' })
    const { calls, lastId } = await platform.control('GET', 'calls')
    expect(calls.map((call: { operation: string }) => call.operation)).toEqual([
      'token/create',
      'employee/get',
      'employee/get',
    ])
    expect(calls[1]).toMatchObject({
      id: lastId - 1,
      at: expect.stringMatching(/^\d{4}-\d{2}-\d{2}T/),
      params: { userid: 'u1', version: '1.0.0' },
      httpStatus: 200,
      code: 0,
      end: 'answered',
      traceId: answer.headers.get('x-trace-id'),
      durationMs: expect.any(Number),
    })
    expect(calls[2]).toMatchObject({ code: 1000210003, params: { appid: 'x', userid: 'u2' } })
    const text = JSON.stringify(calls)
    expect(text).not.toContain(token)
    expect(text).not.toContain(APP_SECRET)
    expect(text).not.toMatch(/"(sign|access_token|appsecret)"/)
  })

  test('is read from an id on, by operation, and in portions', async () => {
    const since = (await platform.control('GET', 'calls')).lastId
    await platform.token()
    for (const userid of ['a', 'b', 'c']) await platform.get({ userid })
    const read = async (query: string) =>
      (await platform.control('GET', `calls?${query}`)).calls.map((call: { id: number }) => call.id - since)
    expect(await read(`since=${since}`)).toEqual([1, 2, 3, 4])
    expect(await read(`since=${since + 2}`)).toEqual([3, 4])
    expect(await read(`since=${since}&operation=employee/get&limit=2`)).toEqual([2, 3])
    expect(await read(`since=${since + 4}`)).toEqual([])
    expect((await platform.request('/_emulator/calls?since=x')).status).toBe(400)
    expect((await platform.request('/_emulator/calls?from=1')).status).toBe(400)
  })

  test('says from which id on it still has the calls', async () => {
    const log = new CallLog()
    const call = { at: '', operation: 'o', params: {}, httpStatus: 200, code: 0, traceId: '', durationMs: 1 }
    expect(log.oldestId).toBe(1)
    for (let id = 1; id <= CALL_LOG_SIZE; id += 1) log.add({ ...call, end: 'answered' })
    expect(log.oldestId).toBe(1)
    log.add({ ...call, end: 'answered' })
    expect(log.oldestId).toBe(2)
    expect(log.list({ since: 0, limit: 1 })).toMatchObject([{ id: 2 }])
    log.clear()
    expect(log.oldestId).toBe(log.lastId + 1)
    await platform.token()
    const { calls, oldestId, lastId } = await platform.control('GET', 'calls')
    expect(calls.map(({ id }: { id: number }) => id)).toEqual([oldestId])
    expect(lastId).toBe(oldestId)
  })

  test('keeps the last calls up to its bound, and cuts long values', async () => {
    const log = new CallLog()
    const call = {
      at: '',
      operation: 'employee/get',
      params: {},
      httpStatus: 200,
      code: 0,
      end: 'answered',
      traceId: '',
      durationMs: 0,
    } as const
    for (let count = 0; count < CALL_LOG_SIZE + 5; count += 1) log.add(call)
    const kept = log.list({ since: 0, limit: Number.POSITIVE_INFINITY })
    expect(kept.length).toBe(CALL_LOG_SIZE)
    expect(kept[0]?.id).toBe(6)
    expect(kept.at(-1)?.id).toBe(CALL_LOG_SIZE + 5)
    await platform.get({ userid: 'x'.repeat(5000) })
    const { calls } = await platform.control('GET', 'calls?operation=employee/get')
    expect(calls[0].params.userid).toBe(`${'x'.repeat(1000)}… (5000 characters)`)
  })
})

test('what the log keeps of a call is small, however long the call was', async () => {
  const names = Array.from({ length: 50 }, (_, name) => `a-long-name-${name}`)
  const many = Object.fromEntries(names.map(name => [name, name.repeat(60)]))
  const send = async () => {
    for (let call = 0; call < 50; call += 1)
      await platform.send(
        'employee/get',
        {},
        { userid: `employee-number-${call}`, more: 'x'.repeat(900_000) },
      )
    for (let call = 0; call < 100; call += 1) await platform.send('employee/get', {}, many)
    return heldBytes()
  }
  // Buffers of the connections come with the first of them.
  const before = await send()
  // Of 50 MB. Other tests of this process leave some of their own.
  expect((await send()) - before).toBeLessThan(30_000_000)
  const { calls } = await platform.control('GET', 'calls')
  expect(calls[49].params.userid).toBe('employee-number-49')
  expect(JSON.stringify(calls.at(-1)).length).toBeLessThan(7000)
})

describe('the counters', () => {
  test('count by operation, code and HTTP status', async () => {
    await platform.control('POST', 'employees', [{ userid: 'u1' }])
    await platform.get({ userid: 'u1' })
    await platform.get({ userid: 'u2' })
    await platform.send('employee/get', {}, 'a=%')
    const stats = await platform.control('GET', 'stats')
    expect(stats.calls).toBe(4)
    expect(stats.operations['employee/get']).toEqual({
      calls: 3,
      byCode: { 0: 1, 1000220096: 1 },
      byHttpStatus: { 200: 2, 400: 1 },
      rateLimited: 0,
      reset: 0,
      answersLost: 0,
      abandoned: 0,
    })
    expect(stats.callsPerSecondPeak).toBeGreaterThanOrEqual(1)
    expect(stats.maxConcurrent).toBe(1)
  })

  test('tell how many calls for one employee were open at once', async () => {
    await platform.control('POST', 'employees', [
      { userid: 'u1' },
      { userid: 'u2' },
      { enterprise_code: 'E1', userid: 'u1' },
    ])
    await platform.token()
    await platform.together([
      () => platform.get({ userid: 'u1' }),
      () => platform.get({ userid: 'u2' }),
      () => platform.get({ userid: 'u1', enterprise_code: 'E1' }),
    ])
    expect(await platform.control('GET', 'stats')).toMatchObject({
      maxConcurrent: 3,
      maxConcurrentPerUserid: 1,
      overlappingUserids: [],
    })
    await platform.together([
      () => platform.get({ userid: 'u1' }),
      () => platform.update('u1', { name: 'x' }),
      () => platform.get({ userid: 'u2' }),
    ])
    expect(await platform.control('GET', 'stats')).toMatchObject({
      maxConcurrentPerUserid: 2,
      overlappingUserids: [{ enterprise_code: '', userid: 'u1', concurrent: 2 }],
    })
  })

  test('calls one after another are never open at once, however fast they follow', async () => {
    await platform.control('POST', 'employees', [{ userid: 'u1' }])
    for (let count = 0; count < 100; count += 1) await platform.get({ userid: 'u1' })
    expect((await platform.control('GET', 'stats')).maxConcurrentPerUserid).toBe(1)
  })
})

describe('the clock', () => {
  test('moves the Date header, the timestamp window and the log', async () => {
    const answer = await platform.control('POST', 'clock', { offsetSeconds: 7200 })
    expect(answer.offsetSeconds).toBe(7200)
    const early = await platform.createToken()
    expect(early.code).toBe(1000210001)
    const ahead = Date.parse(early.headers.get('date') ?? '') - Date.now()
    expect(Math.abs(ahead - 7_200_000)).toBeLessThan(60_000)
    await platform.moveClock(7200)
    expect((await platform.createToken()).code).toBe(0)
    const { calls } = await platform.control('GET', 'calls')
    expect(Date.parse(calls[0].at)).toBeGreaterThan(Date.now() + 7_000_000)
    expect(await platform.control('GET', 'clock')).toMatchObject({ offsetSeconds: 7200 })
  })

  test('takes a number', async () => {
    for (const body of [{}, { offsetSeconds: '1' }, { offsetSeconds: 1, extra: 1 }]) {
      const answer = await platform.request('/_emulator/clock', {
        method: 'POST',
        body: JSON.stringify(body),
      })
      expect(answer.status).toBe(400)
    }
  })
})

test('a reset empties everything: state, tokens, limits, faults, log, counters, clock', async () => {
  await platform.control('POST', 'employees', [{ enterprise_code: 'E1', userid: 'u1' }])
  await platform.token()
  await platform.control('POST', 'clock', { offsetSeconds: 10 })
  await platform.control('POST', 'faults', { operation: '*', httpStatus: 500 })
  const token = await platform.token()
  await platform.reset()
  expect(await platform.control('GET', 'state')).toEqual({
    enterprises: [],
    departments: [],
    employees: [],
    openids: [],
    orders: [],
    refunds: [],
    accounts: [],
    topups: [],
    taxpayers: [],
  })
  expect(await platform.control('GET', 'faults')).toEqual([])
  expect((await platform.control('GET', 'calls')).calls).toEqual([])
  expect(await platform.control('GET', 'stats')).toMatchObject({ calls: 0, operations: {} })
  expect((await platform.control('GET', 'clock')).offsetSeconds).toBe(0)
  expect(await platform.token()).not.toBe(token)
})

test('control answers have a trace id, and an unknown control request says what there is', async () => {
  const answer = await platform.request('/_emulator/nothing')
  expect(answer.status).toBe(404)
  expect(answer.headers.get('x-trace-id')).toMatch(/^[0-9a-f]+$/)
  expect(JSON.parse(answer.text).routes).toContain('GET state')
  expect((await platform.request('/_emulator/state', { method: 'PUT' })).status).toBe(404)
  expect((await platform.request('/_emulator/state', { method: 'POST', body: '{' })).status).toBe(400)
})
