import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { APP_ID, APP_SECRET, PlatformUnderTest, sign } from './platform-under-test.ts'

let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'emulator-'))
})
afterAll(() => rm(folder, { recursive: true }))

test('the state in a file survives a restart, and the seed is for an empty platform only', async () => {
  const options = {
    data: join(folder, 'platform.sqlite'),
    seed: {
      enterprises: [{ enterprise_code: 'E1', features: { level: false } }],
      departments: [{ dept_code: 'D1', dept_name: 'One' }],
      employees: [{ userid: 'u1', name: 'Ana', dept_code: 'D1' }],
      orders: [{ trade_no: 'T1', out_trade_no: '{appid}-1', total_amount: '9.99' }],
      accounts: [{ account_openid: 'a1', name: 'Welfare', balance: '5' }],
      taxpayers: [{ identifier: '91A', taxpayer_name: 'One' }],
    },
  }
  const first = await PlatformUnderTest.start(options)
  const token = await first.token()
  for (let count = 1; count < 59; count += 1) await first.createToken()
  await first.update('u1', { name: 'Eva', category: 'a,b' })
  const openId = (await first.call('employee/openid', { userid: 'u1', seller_appid: 's' })).data
  await first.call('department/delete', { dept_code: 'D1' })
  const refund = {
    outerTradeNo: `${APP_ID}-1`,
    outerRefundNo: `${APP_ID}-r`,
    reason: 'x',
    refundAmount: 0.99,
  }
  await first.callJson('seller/v3/pay/syncRefund', refund)
  const charge = { account_openid: 'a1', amount: '1', service_provider: '1', identifier: '91A' }
  await first.call('enterprise/account/applyCharge', { ...charge, external_code: `${APP_ID}-t` })
  const state = await first.control('GET', 'state')
  await first.emulator.close()

  await using second = await PlatformUnderTest.start(options)
  expect(await second.control('GET', 'state')).toEqual(state)
  expect(state.employees[0]).toMatchObject({ name: 'Eva', category: ['a', 'b'], dept_code: null })
  expect(state).toMatchObject({
    orders: [{ refund_amount: '0.99' }],
    refunds: [{ refund_amount: '0.99' }],
    topups: [{ amount: '1.00' }],
  })
  const parameters = { ...second.publicParameters(token), userid: 'u1' }
  const answer = await second.send('employee/get', { ...parameters, sign: sign(parameters) }, '')
  expect(answer.data.name).toBe('Eva')
  expect((await second.call('employee/openid', { userid: 'u1', seller_appid: 's' })).data).toEqual(openId)
  expect((await second.createToken()).status).toBe(429)
})

test('a platform that has only given tokens is empty: it takes the seed, and the tokens stay valid', async () => {
  const data = join(folder, 'tokens.sqlite')
  const first = await PlatformUnderTest.start({ data })
  const token = await first.token()
  await first.emulator.close()

  await using second = await PlatformUnderTest.start({ data, seed: { employees: [{ userid: 'u1' }] } })
  const parameters = { ...second.publicParameters(token), userid: 'u1' }
  expect(await second.send('employee/get', { ...parameters, sign: sign(parameters) }, '')).toMatchObject({
    code: 0,
  })
})

test('without a file every emulator begins empty', async () => {
  await using one = await PlatformUnderTest.start({ seed: { employees: [{ userid: 'u1' }] } })
  await using other = await PlatformUnderTest.start()
  expect((await one.get({ userid: 'u1' })).code).toBe(0)
  expect((await other.get({ userid: 'u1' })).code).toBe(1000220096)
})

test('it listens on a free port of the loopback address, or on the address it is told', async () => {
  await using free = await PlatformUnderTest.start()
  expect(free.emulator.url).toBe(`http://127.0.0.1:${free.emulator.port}`)
  await using open = await PlatformUnderTest.start({ host: '0.0.0.0' })
  expect(open.emulator.url).toBe(`http://0.0.0.0:${open.emulator.port}`)
  expect((await open.createToken()).code).toBe(0)
})

test('closing ends idle and busy connections, and may be repeated', async () => {
  const platform = await PlatformUnderTest.start()
  await platform.token()
  await platform.control('POST', 'faults', { operation: '*', latencyMs: 3_600_000 })
  const busy = platform.get({ userid: 'u1' })
  const ended = expect(busy).rejects.toThrow('fetch failed')
  const open = async () => (await platform.control('GET', 'stats')).maxConcurrentPerUserid
  await expect.poll(open).toBe(1)
  await Promise.all([platform.emulator.close(), platform.emulator.close()])
  await ended
  await platform.emulator.close()
  await expect(platform.createToken()).rejects.toThrow('fetch failed')
})

test('a wrong seed, a taken port and an impossible file reject the start', async () => {
  await expect(PlatformUnderTest.start({ seed: { employes: [] } })).rejects.toThrow('employes')
  await expect(PlatformUnderTest.start({ data: join(folder, 'no', 'such', 'folder') })).rejects.toThrow()
  const holder = createServer().listen(0, '127.0.0.1')
  await new Promise(resolve => holder.once('listening', resolve))
  const { port } = holder.address() as { port: number }
  await expect(PlatformUnderTest.start({ port })).rejects.toMatchObject({ code: 'EADDRINUSE' })
  holder.close()
})

test('the application is the one it was started with', async () => {
  await using platform = await PlatformUnderTest.start({ appId: 'mine', appSecret: 'my secret' })
  const parameters = { ...platform.publicParameters(), appid: 'mine' }
  const create = (query: Record<string, string>) => platform.send('token/create', query, '')
  expect((await create({ ...parameters, sign: sign(parameters, 'my secret') })).code).toBe(0)
  expect((await create({ ...parameters, sign: sign(parameters, APP_SECRET) })).code).toBe(1000210003)
  const other = { ...parameters, appid: APP_ID }
  expect((await create({ ...other, sign: sign(other, 'my secret') })).code).toBe(1000210003)
})
