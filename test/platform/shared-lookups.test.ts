import { setImmediate } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Emulator, startEmulator } from '../../emulator/emulator.ts'
import { PlatformClient } from '../../src/platform/client.ts'
import { LocalPacer } from '../../src/platform/pacer.ts'
import { APP_ID, APP_SECRET } from './fake-platform.ts'

let emulator: Emulator
let client: PlatformClient

beforeEach(async () => {
  const employees = ['u1', 'u2'].map((userid, i) => ({ userid, mobile: `1390000000${i}`, remark: 'old' }))
  emulator = await startEmulator({ strict: true, appId: APP_ID, appSecret: APP_SECRET, seed: { employees } })
  client = new PlatformClient({
    baseUrl: emulator.url,
    appId: APP_ID,
    appSecret: APP_SECRET,
    pacer: new LocalPacer(20),
  })
  // It takes the first turn: whoever comes now waits 50 ms for the next one.
  await client.tokens.create()
})

afterEach(async () => {
  await client.close()
  await emulator.close()
})

const get = (userid: string, options = {}) => client.employees.get({ userid }, options)

/** What the platform was asked for, in the order of the answers, tokens left out. */
async function calls(): Promise<string[]> {
  const response = await fetch(`${emulator.url}/_emulator/calls`)
  const log = (await response.json()) as { calls: { operation: string; params: { userid: string } }[] }
  return log.calls
    .filter(({ operation }) => operation !== 'token/create')
    .map(({ operation, params }) => `${operation} ${params.userid}`)
}

test('look-ups for the same that wait for their turn are one call, and all get its answer', async () => {
  const answers = await Promise.all([
    get('u1'),
    get(' u1 ', { signal: new AbortController().signal }),
    client.call('employee/get', { userid: 'u1' }),
    get('u2'),
  ])
  expect(answers).toMatchObject(['u1', 'u1', 'u1', 'u2'].map(userid => ({ userid })))
  expect(await calls()).toEqual(['employee/get u1', 'employee/get u2'])
})

test('all get its failure', async () => {
  const outcomes = await Promise.allSettled([get('nobody'), get('nobody')])
  expect(outcomes).toMatchObject([
    { reason: { platformCode: 1000220096 } },
    { reason: { platformCode: 1000220096 } },
  ])
  expect(await calls()).toHaveLength(1)
})

test('one that was sent is not shared any more: it may not know of what was written since', async () => {
  const rule = { operation: 'employee/get', latencyMs: 1500, times: 1 }
  const body = JSON.stringify([rule])
  const answer = await fetch(`${emulator.url}/_emulator/faults`, { method: 'POST', body })
  expect(answer.status).toBe(200)
  const early = get('u1')
  await client.employees.update({ userid: 'u1', remark: 'new' })
  expect(await get('u1')).toMatchObject({ remark: 'new' })
  expect(await calls()).toEqual(['employee/update u1', 'employee/get u1'])
  await early
  expect(await calls()).toHaveLength(3)
})

test('a write is never shared', async () => {
  const update = () => client.employees.update({ userid: 'u1', remark: 'new' })
  await Promise.all([update(), update()])
  expect(await calls()).toEqual(['employee/update u1', 'employee/update u1'])
})

test('who gives up gives up for himself alone; when nobody is left, nothing is sent', async () => {
  const [first, second] = [new AbortController(), new AbortController()]
  const left = get('u1', { signal: first.signal })
  const kept = get('u1', { signal: second.signal })
  first.abort()
  await expect(left).rejects.toMatchObject({ code: 'PLATFORM_ABORTED' })
  expect(await kept).toMatchObject({ userid: 'u1' })

  const [third, fourth] = [new AbortController(), new AbortController()]
  const gone = [get('u1', { signal: third.signal }), get('u1', { signal: fourth.signal })]
  third.abort()
  fourth.abort()
  for (const call of gone) await expect(call).rejects.toMatchObject({ code: 'PLATFORM_ABORTED' })
  await get('u2')
  expect(await calls()).toEqual(['employee/get u1', 'employee/get u2'])
})

test('the most urgent of those who ask decides its place in the line', async () => {
  const patient = get('u1', { priority: 9 })
  const other = get('u2', { priority: 5 })
  await setImmediate()
  await Promise.all([get('u1', { priority: 1 }), patient, other])
  expect(await calls()).toEqual(['employee/get u1', 'employee/get u2'])
})
