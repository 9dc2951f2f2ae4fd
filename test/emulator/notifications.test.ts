import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import type { RequestListener } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { duringFile, duringTest } from '../helpers/during.ts'
import { APP_ID, PlatformUnderTest, sign } from './platform-under-test.ts'
import { startMerchant } from './receiver.ts'

const TRADE_NO = 'T000000000000001'
const OUTER = `${APP_ID}-order-1`
const HOUR = 3600

const platform = duringFile(() => PlatformUnderTest.start({ notificationTimeoutMs: 60_000 }))
const receiver = duringTest(startMerchant)

beforeEach(async () => {
  await platform.reset()
  await seedOrder(platform)
})

const seedOrder = (on: PlatformUnderTest) =>
  on.control('POST', 'orders', [{ trade_no: TRADE_NO, out_trade_no: OUTER, total_amount: '100.00' }])
const refund = (
  number: number,
  refundAmount = '1.00',
  on = platform,
  more: object = { notifyUrl: receiver.url },
) =>
  on.callJson('seller/v3/pay/syncRefund', {
    outerTradeNo: OUTER,
    outerRefundNo: `${APP_ID}-refund-${number}`,
    reason: 'Returned',
    refundAmount,
    ...more,
  })
const notifications = (on = platform) => on.control('GET', 'notifications')
/** Waits until the first notification looks like this. */
const first = (shape: object, on = platform) =>
  expect.poll(async () => (await notifications(on))[0]).toMatchObject(shape)
const order = async () => (await platform.control('GET', 'state')).orders[0]

test('a refund is notified with a signed form, once', async () => {
  await refund(1, '12.5')
  await first({ state: 'delivered' })
  expect(receiver.forms).toHaveLength(1)
  const { sign: given, timestamp, ...fields } = receiver.forms[0] as Record<string, string>
  expect(fields).toEqual({
    appid: APP_ID,
    outer_trade_no: OUTER,
    outer_refund_no: `${APP_ID}-refund-1`,
    refund_amount: '12.50',
    trade_no: TRADE_NO,
  })
  expect(given).toBe(sign({ ...fields, timestamp: timestamp as string }))
  expect(Math.abs(Number(timestamp) - Date.now() / 1000)).toBeLessThan(60)
  expect(receiver.headers[0]).toMatchObject({
    method: 'POST',
    'content-type': 'application/x-www-form-urlencoded',
  })
  expect(await notifications()).toEqual([
    {
      ...fields,
      appid: undefined,
      url: receiver.url,
      state: 'delivered',
      attempts: [{ at: expect.any(String), httpStatus: 200, answer: 'success', error: null }],
      next_at: null,
    },
  ])
  await platform.moveClock(20 * HOUR)
  expect(receiver.forms).toHaveLength(1)
})

test('nothing is sent for a refund that is refused, or without an address', async () => {
  await refund(1, '100.01')
  await refund(2, '1.00', platform, {})
  await refund(3, '1.00')
  await receiver.received(1)
  await first({ state: 'delivered' })
  expect(receiver.forms.map(form => form.outer_refund_no)).toEqual([`${APP_ID}-refund-3`])
})

describe('a notification that is not acknowledged', () => {
  test('comes again with a fresh time when it is due by the clock, until it is, and changes no order', async () => {
    receiver.answer = (_request, response) => response.end('fail')
    await refund(1)
    await first({ state: 'pending', attempts: [{ answer: 'fail' }] })
    const before = await order()
    await platform.moveClock(5)
    expect(receiver.forms).toHaveLength(1)
    await platform.moveClock(16)
    await first({ attempts: { length: 2 } })
    receiver.answer = (_request, response) => response.writeHead(500).end('success')
    await platform.moveClock(16 + 61)
    await first({ attempts: [{}, {}, { httpStatus: 500 }] })
    receiver.answer = (_request, response) => response.end('success')
    await platform.moveClock(16 + 61 + 301)
    await first({ state: 'delivered', attempts: { length: 4 } })
    const times = receiver.forms.map(form => Number(form.timestamp))
    for (const [index, offset] of [0, 16, 77, 378].entries()) {
      const passed = (times[index] ?? 0) - (times[0] ?? 0)
      expect(passed).toBeGreaterThanOrEqual(offset - 1)
      expect(passed).toBeLessThan(offset + 60)
    }
    for (const { sign: given, ...fields } of receiver.forms) expect(given).toBe(sign(fields))
    expect(await order()).toEqual(before)
  })

  test('is given up 24 hours after the first attempt', async () => {
    receiver.answer = (_request, response) => response.end('fail')
    await refund(1)
    await first({ attempts: { length: 1 } })
    await platform.moveClock(24 * HOUR + 1)
    await first({ state: 'given up', attempts: { length: 1 }, next_at: null })
    expect(receiver.forms).toHaveLength(1)
  })

  test('is one that is answered with anything else, or not at all', async () => {
    receiver.answer = (_request, response) => response.end('success'.repeat(100_000))
    await refund(1)
    await first({ attempts: [{ httpStatus: 200, answer: expect.stringMatching(/^success.{93}$/) }] })
    receiver.answer = request => request.socket.destroy()
    await platform.moveClock(16)
    await first({ attempts: [{}, { httpStatus: null, answer: null, error: 'ECONNRESET' }] })
    receiver.answer = (_request, response) => response.writeHead(302, { location: '/else' }).end('success')
    await platform.moveClock(16 + 61)
    await first({ attempts: [{}, {}, { httpStatus: 302 }] })
    expect(receiver.forms).toHaveLength(3)
    await receiver[Symbol.asyncDispose]()
    await platform.moveClock(16 + 61 + 301)
    await first({ state: 'pending', attempts: [{}, {}, {}, { error: 'ECONNREFUSED' }] })
  })

  test.each([
    ['not answered', () => {}],
    ['answered without end', (_request, response) => response.writeHead(200).write('success')],
  ] as [string, RequestListener][])('is one that is %s in time', async (_how, answer) => {
    await using impatient = await PlatformUnderTest.start({ notificationTimeoutMs: 50 })
    await seedOrder(impatient)
    receiver.answer = answer
    await refund(1, '1.00', impatient)
    await first({ state: 'pending', attempts: [{ httpStatus: null, error: 'TimeoutError' }] }, impatient)
  })
})

test('a slow merchant delays no other, and is called once at a time', async () => {
  let held = 0
  receiver.answer = (_request, response) => {
    held += 1
    if (held > 1) response.end('success')
  }
  await refund(1)
  await receiver.received(1)
  for (let number = 2; number <= 40; number += 1) await refund(number)
  await receiver.received(40)
  await platform.moveClock(1)
  const states = async () =>
    (await notifications()).filter((each: { state: string }) => each.state === 'delivered')
  await expect.poll(async () => (await states()).length).toBe(39)
  expect(new Set(receiver.forms.map(form => form.outer_refund_no)).size).toBe(40)
})

test('a lost answer is notified all the same', async () => {
  await platform.control('POST', 'faults', { operation: 'seller/v3/pay/syncRefund', loseAnswer: true })
  await expect(refund(1)).rejects.toThrow('fetch failed')
  await receiver.received(1)
})

test('a reset forgets what was to be sent', async () => {
  receiver.answer = () => {}
  await refund(1)
  await receiver.received(1)
  await platform.reset()
  expect(await notifications()).toEqual([])
  await seedOrder(platform)
  receiver.answer = (_request, response) => response.end('success')
  await refund(1)
  await first({ state: 'delivered', attempts: { length: 1 } })
  expect(receiver.forms).toHaveLength(2)
})

test('what is not delivered is kept over a restart, with its attempts', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'notifications-'))
  try {
    const options = { data: join(folder, 'platform.sqlite'), notificationTimeoutMs: 60_000 }
    const before = await PlatformUnderTest.start(options)
    await seedOrder(before)
    receiver.answer = (_request, response) => response.end('fail')
    await refund(1, '1.00', before)
    await first({ attempts: { length: 1 } }, before)
    receiver.answer = () => {}
    await before.moveClock(16)
    await receiver.received(2)
    // Closed in the middle of the second attempt, which therefore counts for nothing and is due at once.
    await before.emulator.close()
    receiver.answer = (_request, response) => response.end('success')
    await using after = await PlatformUnderTest.start(options)
    await after.moveClock(16)
    await first({ state: 'delivered', attempts: [{ answer: 'fail' }, { answer: 'success' }] }, after)
    expect(receiver.forms).toHaveLength(3)
  } finally {
    await rm(folder, { recursive: true })
  }
})

test('closing the emulator ends an attempt under way', async () => {
  await using closing = await PlatformUnderTest.start({ notificationTimeoutMs: 3_600_000 })
  await seedOrder(closing)
  const ended = new Promise(resolve => {
    receiver.answer = request => void once(request.socket, 'close').then(resolve)
  })
  await refund(1, '1.00', closing)
  await receiver.received(1)
  await closing.emulator.close()
  await ended
})
