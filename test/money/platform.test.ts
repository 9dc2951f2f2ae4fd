import { expect, test } from 'vitest'
import { loadConfig } from '../../src/config.ts'
import { startReceiver } from '../../src/money/receiver.ts'
import { sendRefund } from '../../src/money/send.ts'
import { silent } from '../console/console-under-test.ts'
import { freePort } from '../helpers/free-port.ts'
import { LEAST } from '../helpers/least-settings.ts'
import { APP_ID, REFUND_CALL, REQUEST, RefundsUnderTest } from './refunds-under-test.ts'

const refunds = new RefundsUnderTest()

/** The receiver as the role starts it, for the application of the emulated platform. */
async function start(port = 0) {
  const config = loadConfig({
    ...LEAST,
    DATABASE_URL: refunds.store.url,
    PLATFORM_BASE_URL: refunds.url,
    PLATFORM_APP_ID: APP_ID,
    PLATFORM_APP_SECRET: 'secret',
    NOTIFICATION_PORT: String(port),
  })
  const receiver = await startReceiver(config, silent)
  return Object.assign(receiver, { [Symbol.asyncDispose]: () => receiver.close() })
}

const send = (receiver: string) =>
  sendRefund(
    refunds.deps,
    { ...REQUEST, notifyUrl: `${receiver}/notifications/refund` },
    { actor: 'cli:tester' },
  )

/** Resolves when the platform's only notification looks like this. */
const notification = (wanted: object) =>
  expect.poll(() => refunds.control('GET', 'notifications')).toMatchObject([wanted])

const DELIVERED = { httpStatus: 200, answer: 'success' }

test('the notification of the platform is taken, and the journal says notified', async () => {
  await using receiver = await start()
  await send(receiver.url)
  await notification({ state: 'delivered', attempts: [DELIVERED] })
  expect(await refunds.refund()).toMatchObject({
    state: 'notified',
    trade_no: '0000000000000001',
    notified_at: expect.any(Date),
  })
})

test('notifications missed while nothing listened are sent again', async () => {
  const port = await freePort()
  await send(`http://127.0.0.1:${port}`)
  await notification({ state: 'pending', attempts: [{ error: 'ECONNREFUSED' }] })
  expect(await refunds.refund()).toMatchObject({ state: 'accepted' })
  await using _receiver = await start(port)
  await refunds.control('POST', 'clock', { offsetSeconds: 20 })
  await notification({ state: 'delivered', attempts: [{ error: 'ECONNREFUSED' }, DELIVERED] })
  expect(await refunds.refund()).toMatchObject({ state: 'notified' })
})

test('notifications from a clock that is hours ahead are refused', async () => {
  const port = await freePort()
  await send(`http://127.0.0.1:${port}`)
  await notification({ attempts: [{ error: 'ECONNREFUSED' }] })
  await using _receiver = await start(port)
  await refunds.control('POST', 'clock', { offsetSeconds: 3600 })
  await notification({ attempts: [{}, { httpStatus: 400, answer: 'fail' }] })
  expect(await refunds.refund()).toMatchObject({ state: 'accepted' })
})

test('a refund whose answer was lost is known by its notification', async () => {
  await using receiver = await start()
  await refunds.fault(REFUND_CALL, { loseAnswer: true })
  await send(receiver.url)
  await notification({ state: 'delivered', attempts: [DELIVERED] })
  await expect.poll(() => refunds.refund()).toMatchObject({ state: 'notified' })
  expect(await refunds.calls(REFUND_CALL)).toBe(1)
})
