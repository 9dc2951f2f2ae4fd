import { pino } from 'pino'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { refundDetails } from '../../src/console/money/query.ts'
import type { Loop } from '../../src/lib/loop.ts'
import { contradictionOf } from '../../src/money/journal.ts'
import {
  checksOf,
  claimUnknown,
  compareWithShown,
  type ReadRefund,
  readUnshown,
  recordNotification,
  refundJournal,
  waitsForPerson,
  writeRefund,
} from '../../src/money/refund.ts'
import { sendRefund } from '../../src/money/send.ts'
import { readRefundedSoFar, refundSettler, settleNow } from '../../src/money/settle.ts'
import { topUpJournal } from '../../src/money/top-up.ts'
import { SlotPacer } from '../../src/pacing/slot-pacer.ts'
import { MemorySlots } from '../../src/pacing/slots.ts'
import { claimDeployment } from '../../src/sync/health/deployment.ts'
import { readHealth } from '../../src/sync/health/health.ts'
import { says } from '../../src/texts/message.ts'
import { until } from '../helpers/company.ts'
import { sender, TOP_UP, writeDown, writeTopUpDown } from '../sync/journal.ts'
import { plantWork } from '../sync/planted.ts'
import { worded } from '../texts/worded.ts'
import {
  APP_ID,
  ORDER,
  PAYMENT_ORDER_CALL,
  RECORD_CALL,
  REFUND_CALL,
  REQUEST,
  RefundsUnderTest,
} from './refunds-under-test.ts'

const refunds = new RefundsUnderTest()
const NO = REQUEST.outerRefundNo
/** In minutes. */
const DAY = 24 * 60

/** A refund of 4.00 that was sent by a process which died at once. */
const writtenDown = () =>
  writeDown(refunds.store, {
    outer_refund_no: NO,
    outer_trade_no: ORDER,
    refund_amount: REQUEST.refundAmount,
  })

/** The refund reaches the platform, sent by the process that died, and its answer is lost. */
const carryOut = (over: Partial<typeof REQUEST> = {}) =>
  refunds.deps.client.refunds.create({ ...REQUEST, ...over })

const TRADE_NO = '0000000000000001'

/** The mirror has the payment order of the order. */
const mirrored = () =>
  refunds.store.pool.query(
    `insert into dirsync.payment_order (trade_no, out_trade_no, status) values ($1, $2, 3)`,
    [TRADE_NO, ORDER],
  )

/** The service's settler, until the test ends. */
function settler(): Loop {
  const started = refundSettler(refunds.deps)
  started.start()
  onTestFinished(() => started.stop())
  return started
}

describe('a refund whose sender died', () => {
  test('is accepted when the order record shows it', async () => {
    await writtenDown()
    await carryOut()
    settler()
    const refund = await until(async () => {
      const read = await refunds.refund()
      return read?.state === 'accepted' && read
    })
    expect(worded(refund)).toMatchObject({
      message: 'the order record shows 4.00 refunded, 0.00 before this refund of 4.00',
      settle_attempts: 1,
      settled_at: expect.any(Date),
    })
    expect(await refunds.calls(REFUND_CALL)).toBe(1)
  })

  test('is rejected when it never took effect, a day later and not before', async () => {
    await mirrored()
    await writtenDown()
    expect(worded(await settleNow(refunds.deps, NO))).toMatchObject({
      state: 'unknown',
      message: 'the order record shows 0.00 refunded, 0.00 before this refund of 4.00',
    })
    // Longer than a request can be on its way: the order record may be behind all the same.
    await refunds.age(DAY - 1)
    expect(worded(await settleNow(refunds.deps, NO))).toMatchObject({
      state: 'unknown',
      left_to_person_at: null,
    })
    await refunds.age(1)
    expect(worded(await settleNow(refunds.deps, NO))).toMatchObject({
      state: 'rejected',
      message: `the order record shows 0.00 refunded, 0.00 before this refund of 4.00; payment order ${TRADE_NO} has status 3 (payment completed), 0.00 refunded: it was not carried out`,
    })
    await expect(sendRefund(refunds.deps, REQUEST, { actor: 'cli:tester' })).rejects.toMatchObject({
      code: 'ALREADY_SENT',
    })
    expect(await refunds.calls(REFUND_CALL)).toBe(0)
  })

  test.each([
    ['carried out', carryOut, 'accepted'],
    ['not carried out', mirrored, 'rejected'],
  ])(
    'waits for a person while no payment order of its order is known, until it shows that it was %s',
    async (_, shows, state) => {
      await writtenDown()
      // Over a weekend, for example, it may be pending.
      await refunds.age(3 * DAY)
      expect(worded(await settleNow(refunds.deps, NO))).toMatchObject({
        state: 'unknown',
        left_to_person_at: expect.any(Date),
        next_settle_at: expect.any(Date),
        message: expect.stringMatching(/mirror payment orders .* look in the platform's back office/),
      })
      await expect(
        sendRefund(refunds.deps, { ...REQUEST, outerRefundNo: `${NO}-2` }, { actor: 'cli:tester' }),
      ).rejects.toMatchObject({ code: 'ORDER_BUSY' })
      await shows()
      expect(await settleNow(refunds.deps, NO)).toMatchObject({ state })
    },
  )

  test.each([
    ['ours', 0, DAY + 60],
    ["the database's", DAY + 60, -DAY - 60],
  ])('is not rejected because one clock has jumped ahead: %s', async (_, age, ours) => {
    await mirrored()
    await writtenDown()
    await refunds.age(age)
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + ours * 60_000 })
    onTestFinished(() => void vi.useRealTimers())
    expect(worded(await settleNow(refunds.deps, NO))).toMatchObject({ state: 'unknown', settle_attempts: 1 })
  })

  test("is not rejected because the database's clock was behind when it was written down", async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + (DAY + 60) * 60_000 })
    onTestFinished(() => void vi.useRealTimers())
    await mirrored()
    await writtenDown()
    // The database's clock is set right.
    await refunds.age(DAY + 60)
    vi.useRealTimers()
    expect(worded(await settleNow(refunds.deps, NO))).toMatchObject({ state: 'unknown' })
  })

  test('is not rejected because the clock that dirsync and its database share has jumped ahead', async () => {
    await mirrored()
    await writtenDown()
    await refunds.age(DAY + 60)
    await refunds.control('POST', 'clock', { offsetSeconds: -(DAY + 60) * 60 })
    expect(worded(await settleNow(refunds.deps, NO))).toMatchObject({
      ...{ state: 'unknown', settle_attempts: 1, left_to_person_at: null },
      message: 'the order record shows 0.00 refunded, 0.00 before this refund of 4.00',
    })
    await refunds.control('POST', 'clock', { offsetSeconds: 0 })
    expect(worded(await settleNow(refunds.deps, NO))).toMatchObject({ state: 'rejected' })
  })

  test('is not rejected because that clock was behind when it was sent', async () => {
    await mirrored()
    await refunds.control('POST', 'clock', { offsetSeconds: (DAY + 60) * 60 })
    await refunds.fault(REFUND_CALL, { httpStatus: 500 })
    await sendRefund(refunds.deps, REQUEST, { actor: 'cli:tester' })
    // It is set right.
    await refunds.age(DAY + 60)
    await refunds.control('POST', 'clock', { offsetSeconds: 0 })
    expect(worded(await settleNow(refunds.deps, NO))).toMatchObject({ state: 'unknown', settle_attempts: 1 })
  })

  test('is not of the future because the clock of its sender was ahead', async () => {
    await refunds.fault(REFUND_CALL, { httpStatus: 500 })
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 30 * DAY * 60_000 })
    onTestFinished(() => void vi.useRealTimers())
    await refunds.control('POST', 'clock', { offsetSeconds: -30 * DAY * 60 })
    await using client = refunds.connect(refunds.url)
    await sendRefund({ ...refunds.deps, client }, REQUEST, { actor: 'cli:tester' })
    vi.useRealTimers()
    expect(
      await refunds.store.rows(`select sent_at < now() + interval '1 minute' as is_past from dirsync.refund`),
    ).toEqual([{ is_past: true }])
  })

  test('is asked about at once after the clock was put back', async () => {
    await writtenDown()
    await refundJournal.adopt(refunds.store.pool)
    await refunds.store.pool.query(`update dirsync.refund set next_settle_at = now() + interval '1 day'`)
    await refunds.store.pool.query(
      `insert into dirsync.halt (scope, category, message, remedy, since, next_probe_at)
       values ('*', 'credentials', '[]', '[]', now() + interval '1 day', now() + interval '1 day')`,
    )
    expect(await claimUnknown(refunds.store.pool, null)).toMatchObject({ outer_refund_no: NO })
  })

  test('is left to a person once the platform has notified of it with another amount', async () => {
    await mirrored()
    await writtenDown()
    const notification = { outer_refund_no: NO, outer_trade_no: ORDER, trade_no: TRADE_NO }
    await recordNotification(refunds.store.pool, { ...notification, refund_amount: '4.50' })
    for (const minutes of [0, DAY + 1]) {
      await refunds.age(minutes)
      expect(worded(await settleNow(refunds.deps, NO))).toMatchObject({
        state: 'unknown',
        left_to_person_at: expect.any(Date),
        message: expect.stringMatching(/0.00 .*; the platform has notified .*: ask the platform, then/),
      })
    }
    await recordNotification(refunds.store.pool, { ...notification, refund_amount: REQUEST.refundAmount })
    expect(await refunds.refund()).toMatchObject({ state: 'notified', misfit_at: null })
  })

  test('is accepted when the order record shows it, whatever the platform has notified of', async () => {
    await writtenDown()
    const notification = { outer_refund_no: NO, outer_trade_no: ORDER, trade_no: TRADE_NO }
    await recordNotification(refunds.store.pool, { ...notification, refund_amount: '4.50' })
    await carryOut()
    expect(await settleNow(refunds.deps, NO)).toMatchObject({ state: 'accepted' })
  })

  const restored = (when: string) =>
    `select dirsync.doubt_memory(); update dirsync.deployment set restored_at = restored_at + '${when}'::interval`
  test.each([
    ['after it was sent', restored('0 days'), 'unknown'],
    ['in the week before', restored('-6 days'), 'unknown'],
    ['earlier', restored('-8 days'), 'accepted'],
    ['and that not yet noticed', `update dirsync.deployment set incarnation = '1'`, 'unknown'],
  ])(
    'whose amount the order record shows may be another, lost with a database restored %s',
    async (_, happens, state) => {
      const { pool } = refunds.store
      await claimDeployment(pool, { baseUrl: refunds.url, appId: APP_ID, enterpriseCode: '' })
      await writtenDown()
      await pool.query(happens)
      await carryOut({ outerRefundNo: `${NO}-lost` })
      const settled = await settleNow(refunds.deps, NO)
      expect(settled).toMatchObject({ state, shown_at: state === 'unknown' ? null : expect.any(Date) })
      expect(waitsForPerson(settled)).toBe(state === 'unknown')
      if (state === 'unknown')
        expect(worded(settled.message)).toMatch(
          /shows 4.00 refunded.*; .*was restored.*: ask the platform, then/,
        )
      // A later check may show something else.
      expect(settled.next_settle_at).toEqual(state === 'unknown' ? expect.any(Date) : null)
    },
  )

  test('is left alone while the sender lives', async () => {
    await mirrored()
    await writtenDown()
    const process = await sender(refunds.store, { order: ORDER })
    await refunds.age(DAY + 1)
    expect(worded(await settleNow(refunds.deps, NO))).toMatchObject({ state: 'requested' })
    await process.dies()
    expect(worded(await settleNow(refunds.deps, NO))).toMatchObject({ state: 'rejected' })
  })
})

test('a refund that the platform answered with an unlisted code keeps its words while its record is asked', async () => {
  const message = 'refund amount exceeds what is left of the payment'
  await refunds.fault(REFUND_CALL, { code: 1000229002, message })
  const { state } = await sendRefund(refunds.deps, REQUEST, { actor: 'cli:tester' })
  expect(state).toBe('unknown')
  for (let check = 0; check < 2; check++) await settleNow(refunds.deps, NO)
  expect(worded(await refunds.refund())).toMatchObject({
    ...{ state: 'unknown', platform_code: 1000229002, settle_attempts: 2 },
    message:
      `The platform said: “${message}”. ` +
      'the order record shows 0.00 refunded, 0.00 before this refund of 4.00',
  })
})

test('what the call failed with is told after checks, to the story and to the support of the platform', async () => {
  await refunds.fault(REFUND_CALL, { httpStatus: 502 })
  await sendRefund(refunds.deps, REQUEST, { actor: 'cli:tester' })
  for (let check = 0; check < 2; check++) await settleNow(refunds.deps, NO)
  const refund = (await refunds.refund()) as ReadRefund
  const details = await refundDetails(refunds.store.pool, refund)
  expect(worded(details.events)).toMatchObject([
    { event: 'sent' },
    { event: 'call_failed', text: expect.stringMatching(/^when it was sent: .*HTTP 502/) },
    { event: 'checked', times: 2 },
  ])
  expect(details.earlier_checks).toBe(0)
})

test('a refund whose number the platform had carried out before is never called rejected', async () => {
  await mirrored()
  // Sent by another system, or before dirsync's database was restored.
  await carryOut()
  await sendRefund(refunds.deps, REQUEST, { actor: 'cli:tester' })
  await settleNow(refunds.deps, NO)
  expect(await refunds.refund()).toMatchObject({ state: 'unknown', left_to_person_at: null })
  await refunds.age(DAY + 1)
  await settleNow(refunds.deps, NO)
  expect(worded(await refunds.refund())).toMatchObject({
    state: 'unknown',
    left_to_person_at: expect.any(Date),
    message: expect.stringMatching(
      /^The platform said: .* 4.00 before this refund of 4.00: ask the platform/,
    ),
  })
})

describe('a refund of an order whose trade number is known', () => {
  const paymentOrder = (differs: object) =>
    refunds.control('POST', 'orders', [
      { trade_no: TRADE_NO, out_trade_no: ORDER, total_amount: '10.00', ...differs },
    ])

  test.each([
    [4, 'pending refund'],
    [5, 'refunding'],
    [7, 'reversed'],
    [99, 'an unknown one'],
  ])(
    'is not rejected while the payment order has status %i: a person has to decide',
    async (status, meaning) => {
      await mirrored()
      await writtenDown()
      // The record of an order that was reversed is none.
      const data = { outer_trade_no: ORDER, pay_amount: 10, refund_amount: 0, status: 1 }
      await paymentOrder({ status })
      await refunds.control('POST', 'faults', {
        operation: RECORD_CALL,
        body: JSON.stringify({ code: 0, msg: 'OK', data }),
      })
      await refunds.age(DAY + 1)
      expect(worded(await settleNow(refunds.deps, NO))).toMatchObject({
        state: 'unknown',
        left_to_person_at: expect.any(Date),
        next_settle_at: expect.any(Date),
        message: expect.stringContaining(`payment order ${TRADE_NO} has status ${status} (${meaning})`),
      })
      await paymentOrder({ status: 3 })
      expect(worded(await settleNow(refunds.deps, NO))).toMatchObject({ state: 'rejected' })
    },
  )

  test('is not rejected while the payment order shows more refunded than the order record', async () => {
    await mirrored()
    await writtenDown()
    await carryOut()
    const data = { outer_trade_no: ORDER, refund_amount: 0, status: 1 }
    await refunds.fault(RECORD_CALL, { body: JSON.stringify({ code: 0, msg: 'OK', data }) })
    await refunds.age(DAY + 1)
    expect(worded(await settleNow(refunds.deps, NO))).toMatchObject({
      state: 'unknown',
      message: expect.stringContaining(
        `payment order ${TRADE_NO} has status 3 (payment completed), 4.00 refunded`,
      ),
    })
  })

  test.each([
    ['paid with another one, too', 15],
    ['of an amount that is not told', null],
  ])('is not rejected while the order is %s', async (_, pay_amount) => {
    await mirrored()
    await writtenDown()
    const data = { outer_trade_no: ORDER, pay_amount, refund_amount: 0, status: 1 }
    await refunds.fault(RECORD_CALL, { body: JSON.stringify({ code: 0, msg: 'OK', data }) })
    await refunds.age(DAY + 1)
    expect(worded(await settleNow(refunds.deps, NO))).toMatchObject({
      state: 'unknown',
      left_to_person_at: expect.any(Date),
      message: expect.stringMatching(/do not add up to what was paid .* look in the platform's back office/),
    })
  })

  test('asks the payment order that an earlier refund of the order has named', async () => {
    await sendRefund(
      refunds.deps,
      { ...REQUEST, outerRefundNo: `${NO}-earlier`, refundAmount: '1.00' },
      { actor: 'cli:tester' },
    )
    await writeDown(refunds.store, {
      outer_refund_no: NO,
      outer_trade_no: ORDER,
      refund_amount: REQUEST.refundAmount,
      refunded_before: '1.00',
    })
    await paymentOrder({ status: 5, refund_amount: '1.00' })
    await refunds.age(DAY + 1)
    expect(worded(await settleNow(refunds.deps, NO))).toMatchObject({ state: 'unknown' })
    expect(await refunds.calls(PAYMENT_ORDER_CALL)).toBe(1)
  })

  test('is not rejected while the payment order cannot be read', async () => {
    await mirrored()
    await writtenDown()
    await refunds.age(DAY + 1)
    await refunds.fault(PAYMENT_ORDER_CALL, { code: 1000220120 })
    expect(worded(await settleNow(refunds.deps, NO))).toMatchObject({
      state: 'unknown',
      left_to_person_at: expect.any(Date),
      message: expect.stringContaining('the payment order could not be read'),
    })
    expect(worded(await settleNow(refunds.deps, NO))).toMatchObject({ state: 'rejected' })
  })

  test('is settled although the mirror has its payment order of an earlier enterprise code, too', async () => {
    await mirrored()
    await refunds.store.pool.query(
      `insert into dirsync.payment_order (enterprise_code, trade_no, out_trade_no, changed_at) values ('OLD', $1, $2, now() - interval '1 day')`,
      [TRADE_NO, ORDER],
    )
    await writtenDown()
    await refunds.age(DAY + 1)
    expect(await settleNow(refunds.deps, NO)).toMatchObject({ state: 'rejected' })
    expect(await refunds.calls(PAYMENT_ORDER_CALL)).toBe(1)
  })

  test('costs no question about the payment order before the day is over', async () => {
    await mirrored()
    await writtenDown()
    await refunds.age(60)
    expect(worded(await settleNow(refunds.deps, NO))).toMatchObject({ state: 'unknown' })
    expect(await refunds.calls(PAYMENT_ORDER_CALL)).toBe(0)
  })
})

describe('a person is asked', () => {
  test('when the order record cannot be read for longer than a day', async () => {
    await writtenDown()
    await refunds.fault(RECORD_CALL, { httpStatus: 500 })
    expect(worded(await settleNow(refunds.deps, NO))).toMatchObject({ left_to_person_at: null })
    await refunds.age(DAY + 1)
    await refunds.fault(RECORD_CALL, { httpStatus: 500 })
    expect(worded(await settleNow(refunds.deps, NO))).toMatchObject({
      state: 'unknown',
      left_to_person_at: expect.any(Date),
    })
  })

  test('in the words of the platform, and failures alike are one check, whatever their traces', async () => {
    await writtenDown()
    for (let check = 0; check < 2; check++) {
      await refunds.fault(RECORD_CALL, { code: 1000999999, message: 'being maintained, call 13900000001' })
      await settleNow(refunds.deps, NO)
    }
    const { message } = worded(await refunds.refund()) ?? {}
    expect(message).toMatch(
      /^the order record could not be read: seller\/pay\/record failed \([^)]*1000999999\): .* The platform said: “being maintained, call 13\*+”\.$/,
    )
    expect(message).not.toMatch(/trace|retry/)
    expect(await refunds.store.rows('select times from dirsync.refund_check')).toEqual([{ times: 2 }])
    await settleNow(refunds.deps, NO)
    expect(worded(await refunds.refund())?.message).toMatch(/^the order record shows 0\.00 refunded/)
  })

  test('is not left to a person because a person has paused all calls', async () => {
    await writtenDown()
    await refunds.age(DAY + 1)
    const isPaused = async () => true
    const pacer = new SlotPacer({ slots: new MemorySlots(), rate: 10_000, budgets: new Map(), isPaused })
    await using client = refunds.connect(refunds.url, { pacer })
    expect(await settleNow({ ...refunds.deps, client }, NO)).toMatchObject({
      state: 'unknown',
      left_to_person_at: null,
      settle_attempts: 0,
    })
  })

  test.each([
    ['2.00', 'the order record shows 2.00 refunded'],
    ['6.00', 'the order record shows 6.00 refunded'],
  ])('when another party refunded %s meanwhile', async (refundAmount, shown) => {
    await writtenDown()
    await carryOut({ outerRefundNo: `${NO}-foreign`, refundAmount })
    await refunds.age(60)
    const refund = await settleNow(refunds.deps, NO)
    expect(refund).toMatchObject({
      state: 'unknown',
      next_settle_at: expect.any(Date),
      left_to_person_at: expect.any(Date),
    })
    expect(worded(refund.message)).toBe(
      `${shown}, 0.00 before this refund of 4.00: ask the platform, then say so with \`dirsync refund resolve\``,
    )
  })

  test('when the order record is a bare trade number, which cannot tell', async () => {
    await refunds.control('POST', 'shapes', {
      paymentOrderList: 'top',
      orderRecord: 'trade_no',
      assetCode: 'assetCode',
    })
    await refunds.fault(REFUND_CALL, { loseAnswer: true })
    const outcome = await sendRefund(refunds.deps, REQUEST, { actor: 'cli:tester' })
    expect(outcome).toMatchObject({ state: 'unknown' })
    expect(worded(await refunds.refund())).toMatchObject({ refunded_before: null, next_settle_at: null })
    await refunds.age(60)
    expect(worded(await settleNow(refunds.deps, NO))).toMatchObject({
      state: 'unknown',
      message: expect.stringMatching(/^what was refunded before is not known.*`dirsync refund resolve`$/),
      settle_attempts: 0,
    })
    expect(await refunds.calls(RECORD_CALL)).toBe(1)
  })
})

describe('settling', () => {
  test('waits for an order record that cannot be read, and says why', async () => {
    await writtenDown()
    await carryOut()
    await refunds.fault(RECORD_CALL, { httpStatus: 500 })
    const logged: object[] = []
    const logger = pino({}, { write: line => void logged.push(JSON.parse(line)) })
    expect(worded(await settleNow({ ...refunds.deps, logger }, NO))).toMatchObject({
      state: 'unknown',
      message: expect.stringMatching(
        /^the order record could not be read: seller\/pay\/record failed \(http, HTTP 500/,
      ),
    })
    // Only told: the command has said it, and the service will ask again for as long as it takes.
    const info = pino.levels.values.info
    expect(logged.at(-1)).toMatchObject({
      ...{ level: info, number: NO, msg: 'the outcome of a refund could not be looked up' },
      reason: expect.stringMatching(/^seller\/pay\/record failed \(http, HTTP 500/),
    })
    expect(logged.at(-1)).not.toHaveProperty('error')
    expect(worded(await settleNow(refunds.deps, NO))).toMatchObject({ state: 'accepted' })
  })

  test('does not say what an order record shows that another application cannot ask for', async () => {
    await writtenDown()
    await using client = refunds.connect(refunds.url, { appId: 'another' })
    expect(worded(await settleNow({ ...refunds.deps, client }, NO))).toMatchObject({
      state: 'unknown',
      left_to_person_at: expect.any(Date),
      message: expect.stringMatching(/^the order record could not be read: .*outer_trade_no/),
    })
    expect(await refunds.calls(RECORD_CALL)).toBe(0)
  })

  test('lists every check with what it found, those that found the same together', async () => {
    await writtenDown()
    await refunds.fault(RECORD_CALL, { httpStatus: 500 })
    await settleNow(refunds.deps, NO)
    for (let i = 0; i < 3; i++) await settleNow(refunds.deps, NO)
    await carryOut()
    const settled = await refundDetails(refunds.store.pool, await settleNow(refunds.deps, NO))
    const shows = (refunded: string) =>
      `the order record shows ${refunded} refunded, 0.00 before this refund of 4.00`
    expect(worded(settled)?.events).toMatchObject([
      { event: 'sent' },
      { event: 'checked', times: 1, text: expect.stringMatching(/^the order record could not be read/) },
      { event: 'checked', times: 3, text: shows('0.00'), by: null },
      { event: 'checked', times: 1, text: shows('4.00') },
      { event: 'settled', text: shows('4.00') },
    ])
    const [, , same] = settled.events
    expect(same?.last_at.getTime()).toBeGreaterThan(same?.at.getTime() ?? 0)
  })

  test('of a refund that is not there is refused', async () => {
    await expect(settleNow(refunds.deps, NO)).rejects.toMatchObject({
      code: 'NOT_FOUND',
      message: `there is no refund ${NO}`,
    })
  })

  test('changes nothing where the outcome is known', async () => {
    await sendRefund(refunds.deps, REQUEST, { actor: 'cli:tester' })
    // It is shown from here on.
    await settleNow(refunds.deps, NO)
    const before = await refunds.store.contents()
    await settleNow(refunds.deps, NO)
    expect(await refunds.store.contents()).toEqual(before)
  })

  test('goes on in several processes at once, asking once', async () => {
    await writtenDown()
    await carryOut()
    for (let i = 0; i < 3; i++) settler()
    await until(async () => (await refunds.refund())?.state === 'accepted')
    expect(worded(await refunds.refund())).toMatchObject({ settle_attempts: 1 })
    expect(await refunds.calls(RECORD_CALL)).toBe(1)
  })

  test('finds senders that died while an answer is slow to come, before it asks about the next', async () => {
    const second = { outer_refund_no: `${NO}-2`, outer_trade_no: ORDER.replace('T1', 'T2') }
    await writtenDown()
    await writeDown(refunds.store, { ...second, refund_amount: '4.00' })
    await refundJournal.adopt(refunds.store.pool)
    await refunds.fault(RECORD_CALL, { hold: true })
    settler()
    await refunds.arrived()
    const third = await writeDown(refunds.store, { outer_trade_no: `${ORDER}-3` })
    await refunds.release()
    await until(async () => (await refunds.calls(RECORD_CALL)) > 1)
    expect((await refunds.refund(third))?.state).toBe('unknown')
  })

  test('survives a database that drops its connections', async () => {
    await writtenDown()
    settler()
    await until(async () => (await refunds.refund())?.state === 'unknown')
    await refunds.store.pool.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`,
    )
    await carryOut()
    await refunds.age(0)
    await until(async () => (await refunds.refund())?.state === 'accepted')
  })

  test('probes a halt of the platform by itself, and lifts it when the platform answers', async () => {
    await writtenDown()
    await refundJournal.adopt(refunds.store.pool)
    await carryOut()
    await refunds.store.pool.query(
      `insert into dirsync.halt (scope, category, message, remedy, since, next_probe_at)
       values ('*', 'credentials', '[]', '[]', now() - interval '1 minute', now())`,
    )
    settler()
    await until(async () => (await refunds.refund())?.state === 'accepted')
    await until(async () => (await refunds.store.rows('select from dirsync.halt')).length === 0)
  })

  test('leaves a halt of the platform that it cannot disprove, and asks no more until its next probe', async () => {
    await writtenDown()
    await refundJournal.adopt(refunds.store.pool)
    await refunds.store.pool.query(
      `insert into dirsync.halt (scope, category, message, remedy, since, next_probe_at)
       values ('*', 'credentials', '[]', '[]', now() - interval '1 minute', now())`,
    )
    await refunds.fault(RECORD_CALL, { code: 1000210003 })
    settler()
    await until(async () => says((await refunds.refund())?.message ?? null, 'said.could_not_read'))
    await refunds.age(0)
    expect(await refunds.store.rows('select probes from dirsync.halt')).toEqual([{ probes: 1 }])
    expect(await claimUnknown(refunds.store.pool, null)).toBeNull()
  })

  test('stops at once, also while it asks, and takes no halt for over then', async () => {
    await writtenDown()
    await refundJournal.adopt(refunds.store.pool)
    await refunds.store.pool.query(
      `insert into dirsync.halt (scope, category, message, remedy, since, next_probe_at)
       values ('*', 'credentials', '[]', '[]', now() - interval '1 minute', now())`,
    )
    await refunds.fault(RECORD_CALL, { latencyMs: 60_000 })
    const started = settler()
    await refunds.arrived()
    const stopping = performance.now()
    await started.stop()
    expect(performance.now() - stopping).toBeLessThan(20_000)
    const message = expect.stringContaining('ended before')
    expect(worded(await refunds.refund())).toMatchObject({
      state: 'unknown',
      message,
      left_to_person_at: null,
    })
    expect(await refunds.store.rows('select from dirsync.halt')).toHaveLength(1)
  })
})

test('a top-up whose sender died waits for a person, unknown', async () => {
  await writeTopUpDown(refunds.store)
  settler()
  await until(
    async () => (await topUpJournal.read(refunds.store.pool, TOP_UP.external_code))?.state === 'unknown',
  )
})

describe('a refund that was called not carried out', () => {
  const OTHER = { ...REQUEST, outerRefundNo: `${NO}-2` }
  const asTester = { actor: 'cli:tester' }
  const soFar = () => readRefundedSoFar(refunds.deps, { outer_trade_no: ORDER, enterprise_code: '' }, {})
  const doubted = async () =>
    (await refunds.store.rows('select * from dirsync.refund where contradicted_at is not null')).map(
      ({ outer_refund_no }) => outer_refund_no,
    )

  beforeEach(async () => {
    await refunds.fault(REFUND_CALL, { httpStatus: 502 })
    await sendRefund(refunds.deps, REQUEST, asTester)
    await refundJournal.resolve(refunds.store.pool, NO, 'rejected', 'not there', asTester)
    await sendRefund(refunds.deps, OTHER, asTester)
  })

  test('may have been carried out once the order record shows more than the others make', async () => {
    await soFar()
    expect(await doubted()).toEqual([])
    await carryOut()
    await soFar()
    expect(await doubted()).toEqual([NO])
    expect((await readHealth(refunds.store.pool)).outcomesContradicted).toEqual([
      { kind: 'refund', count: 1, latest: NO, of: ORDER, how: 'perhaps' },
    ])
  })

  test('is not doubted for less than its amount, as where others have refunded the order', async () => {
    await carryOut({ outerRefundNo: `${NO}-elsewhere`, refundAmount: '3.00' })
    await soFar()
    expect(await doubted()).toEqual([])
  })

  test('is doubted when the record is read to settle another one, which explains what it may be itself', async () => {
    await refunds.fault(REFUND_CALL, { loseAnswer: true })
    await sendRefund(refunds.deps, { ...OTHER, outerRefundNo: `${NO}-3`, refundAmount: '1.00' }, asTester)
    await settleNow(refunds.deps, `${NO}-3`)
    await soFar()
    expect(await doubted()).toEqual([])
    await carryOut()
    await soFar()
    expect(await doubted()).toEqual([NO])
  })

  test('may have been carried out once the mirror shows more, each payment order once', async () => {
    await mirrored()
    const shows = (refunded: string) =>
      refunds.store.pool.query('update dirsync.payment_order set refund_amount = $1', [refunded])
    await shows('4.00')
    // The order as it was under an enterprise code of before.
    await refunds.store.pool.query(
      `insert into dirsync.payment_order (enterprise_code, trade_no, out_trade_no, refund_amount, changed_at)
       select 'before', trade_no, out_trade_no, 4, now() - interval '1 day' from dirsync.payment_order`,
    )
    await compareWithShown(refunds.store.pool, null)
    expect(await doubted()).toEqual([])
    await shows('8.00')
    settler()
    await until(async () => (await doubted()).length > 0)
    expect(await doubted()).toEqual([NO])
  })

  test('does not keep from being completed what was sent in its place', async () => {
    const isShown = async () => (await refunds.refund(OTHER.outerRefundNo))?.shown_at
    await refunds.store.pool.query(
      'update dirsync.refund set refunded_before = null where outer_refund_no = $1',
      [OTHER.outerRefundNo],
    )
    await compareWithShown(refunds.store.pool, { outer_trade_no: ORDER, refunded: '3.99' })
    expect(await isShown()).toBeNull()
    await compareWithShown(refunds.store.pool, { outer_trade_no: ORDER, refunded: '4.00' })
    expect(await isShown()).toEqual(expect.any(Date))
    await compareWithShown(refunds.store.pool, { outer_trade_no: ORDER, refunded: '8.00' })
    expect(await doubted()).toEqual([NO])
  })

  test('may have been carried out while the mirror shows its order as being refunded', async () => {
    const { pool } = refunds.store
    await mirrored()
    await pool.query('update dirsync.payment_order set status = 5, refund_amount = 8')
    await compareWithShown(pool, null)
    expect(await doubted()).toEqual([NO])
  })

  test('is doubted no more once that has failed, and what was sent in its place is completed', async () => {
    const { pool } = refunds.store
    await mirrored()
    const shows = async (status: number, refunded: string, gone: string | null = null) => {
      await pool.query(
        `update dirsync.payment_order set status = $1, refund_amount = $2, gone_at = $3, changed_at = clock_timestamp()`,
        [status, refunded, gone],
      )
      await compareWithShown(pool, null)
      return doubted()
    }
    expect(await shows(5, '8.00')).toEqual([NO])
    expect(await shows(5, '4.00')).toEqual([NO])
    expect(await shows(3, '4.00', '2026-11-01')).toEqual([NO])
    // What the record shows does not say whether its order is still being refunded.
    await compareWithShown(pool, { outer_trade_no: ORDER, refunded: '4.00' })
    expect(await doubted()).toEqual([NO])
    expect(await shows(3, '0.00')).toEqual([])
    expect(await shows(6, '4.00')).toEqual([])
    expect((await refunds.refund(OTHER.outerRefundNo))?.shown_at).toEqual(expect.any(Date))
  })

  test('is doubted no more once a person has the order record read, and it shows less', async () => {
    const { pool } = refunds.store
    await compareWithShown(pool, { outer_trade_no: ORDER, refunded: '8.00' })
    expect(await doubted()).toEqual([NO])
    await settleNow(refunds.deps, NO)
    expect(await doubted()).toEqual([])
    expect((await checksOf(pool, NO)).map(worded).at(-1)).toMatchObject({
      message: 'the order record shows 4.00 refunded',
    })
    const asked = await refunds.calls(RECORD_CALL)
    await settleNow(refunds.deps, NO)
    expect(await refunds.calls(RECORD_CALL)).toBe(asked)
  })

  test('stays doubted while what is shown may be its own, and nothing says what was sent in its place', async () => {
    const { pool } = refunds.store
    await mirrored()
    const shows = async (status: number, refunded: string) => {
      await pool.query(
        `update dirsync.payment_order set status = $1, refund_amount = $2, changed_at = clock_timestamp()`,
        [status, refunded],
      )
      await compareWithShown(pool, null)
      return doubted()
    }
    expect(await shows(5, '8.00')).toEqual([NO])
    // One of the two has failed.
    expect(await shows(3, '4.00')).toEqual([NO])
    await recordNotification(pool, {
      outer_refund_no: OTHER.outerRefundNo,
      outer_trade_no: ORDER,
      refund_amount: '4.00',
      trade_no: TRADE_NO,
    })
    await compareWithShown(pool, null)
    expect(await doubted()).toEqual([])
  })

  test('stays doubted when another one is sent after what is shown', async () => {
    const { pool } = refunds.store
    await pool.query('delete from dirsync.refund where outer_refund_no = $1', [OTHER.outerRefundNo])
    await mirrored()
    const later = { outer_refund_no: OTHER.outerRefundNo, outer_trade_no: ORDER, refund_amount: '3.00' }
    for (const status of [5, 6]) {
      await pool.query(
        `update dirsync.payment_order set status = $1, refund_amount = 4, changed_at = clock_timestamp()`,
        [status],
      )
      await compareWithShown(pool, null)
      expect(await doubted()).toEqual([NO])
    }
    await writeRefund(
      pool,
      { ...later, enterprise_code: '', refunded_before: '4.00' },
      'cli:tester',
      'accepted',
    )
    await recordNotification(pool, { ...later, trade_no: TRADE_NO })
    await compareWithShown(pool, null)
    expect(await doubted()).toEqual([NO])
  })

  test('is doubted no more once the record shows less, where no mirror has its order', async () => {
    const { pool } = refunds.store
    await compareWithShown(pool, { outer_trade_no: ORDER, refunded: '8.00' })
    expect(await doubted()).toEqual([NO])
    await compareWithShown(pool, { outer_trade_no: ORDER, refunded: '0.00' })
    expect(await doubted()).toEqual([])
  })
})

describe('a refund that the platform has accepted', () => {
  const asTester = { actor: 'cli:tester' }
  /** Another refund of the order, which is accepted. */
  const writeRefundOf = async (outer_refund_no: string, refund_amount: string) => {
    const { pool } = refunds.store
    const refund = { outer_refund_no, outer_trade_no: ORDER, refund_amount, refunded_before: null }
    await writeRefund(pool, { ...refund, enterprise_code: '' }, 'cli:tester', 'accepted')
  }
  const REFUSED = { state: 'rejected', platformCode: 4, message: null, traceId: null } as const
  /** The platform goes back on the amount that its order record shows: it is behind, or the refund has failed. */
  const behind = () =>
    refunds.control('POST', 'orders', [
      { trade_no: TRADE_NO, out_trade_no: ORDER, total_amount: '10.00', refund_amount: '0.00' },
    ])
  const caughtUp = () =>
    refunds.control('POST', 'orders', [
      { trade_no: TRADE_NO, out_trade_no: ORDER, total_amount: '10.00', refund_amount: '4.00' },
    ])

  beforeEach(async () => {
    await sendRefund(refunds.deps, REQUEST, asTester)
    await behind()
  })

  test('is completed only once the order record that a person asks for shows it', async () => {
    expect(await readUnshown(refunds.store.pool)).toMatchObject({ count: 1, overdue: 0, latest: null })
    expect(await settleNow(refunds.deps, NO)).toMatchObject({ state: 'accepted', shown_at: null })
    await refunds.age(DAY + 1)
    expect(await readUnshown(refunds.store.pool)).toMatchObject({
      count: 1,
      overdue: 1,
      latest: NO,
      of: ORDER,
    })
    await caughtUp()
    const shown = await settleNow(refunds.deps, NO)
    expect(shown).toMatchObject({ state: 'accepted', shown_at: expect.any(Date) })
    expect(worded((await refundDetails(refunds.store.pool, shown)).events)).toMatchObject([
      { event: 'sent' },
      { event: 'settled' },
      { event: 'checked', text: 'the order record shows 0.00 refunded' },
      { event: 'checked', text: 'the order record shows 4.00 refunded' },
      { event: 'shown' },
    ])
    expect(await readUnshown(refunds.store.pool)).toMatchObject({ count: 0, overdue: 0 })
    const calls = await refunds.calls(RECORD_CALL)
    await settleNow(refunds.deps, NO)
    expect(await refunds.calls(RECORD_CALL)).toBe(calls)
  })

  test('is looked for in the order record by itself after an hour', async () => {
    await caughtUp()
    const calls = await refunds.calls(RECORD_CALL)
    await refunds.age(59)
    const early = settler()
    await early.tried
    await early.stop()
    expect([await refunds.calls(RECORD_CALL), (await refunds.refund())?.shown_at]).toEqual([calls, null])
    await refunds.age(2)
    settler()
    await until(async () => (await refunds.refund())?.shown_at)
  })

  /** Asks as a worker does, if it is due when so many minutes have passed. */
  const lookAfter = async (minutes: number) => {
    await refunds.store.pool.query(
      `update dirsync.refund set sent_at = sent_at - $1 * interval '1 minute',
         next_settle_at = next_settle_at - $1 * interval '1 minute'`,
      [minutes],
    )
    const calls = await refunds.calls(RECORD_CALL)
    const attempts = (await refunds.refund())?.settle_attempts
    const looking = settler()
    await looking.tried
    await looking.stop()
    return [
      (await refunds.calls(RECORD_CALL)) - calls,
      Number((await refunds.refund())?.settle_attempts) - Number(attempts),
    ]
  }

  test('that is not shown then is asked about twice a day, and just before it is overdue, for a week', async () => {
    expect(await lookAfter(61)).toEqual([1, 1])
    expect(await lookAfter(10 * 60)).toEqual([0, 0])
    expect(await lookAfter(30)).toEqual([1, 1])
    expect(await lookAfter(11 * 60 + 45)).toEqual([0, 0])
    expect(await lookAfter(15)).toEqual([1, 1])
    expect(await readUnshown(refunds.store.pool)).toMatchObject({ count: 1, overdue: 0 })
    expect(await lookAfter(12 * 60)).toEqual([1, 1])
    expect(await lookAfter(6 * DAY)).toEqual([0, 0])
  })

  test('is asked about after an hour where its record could not be read', async () => {
    await refunds.fault(RECORD_CALL, { httpStatus: 500 })
    expect(await lookAfter(61)).toEqual([1, 1])
    expect(await lookAfter(59)).toEqual([0, 0])
    expect(await lookAfter(1)).toEqual([1, 1])
  })

  test('is looked for after the first hour although a person has asked before', async () => {
    await settleNow(refunds.deps, NO)
    expect(await lookAfter(59)).toEqual([0, 0])
    expect(await lookAfter(2)).toEqual([1, 1])
    expect(await lookAfter(10 * 60)).toEqual([0, 0])
  })

  test('is not asked about every hour where the platform knows no such order', async () => {
    await refunds.store.pool.query('update dirsync.refund set outer_trade_no = $1', [`${ORDER}-none`])
    expect(await lookAfter(61)).toEqual([1, 1])
    expect(await lookAfter(61)).toEqual([0, 0])
    expect(await lookAfter(10 * 60)).toEqual([1, 1])
  })

  test('of an order that the record cannot be asked about is not said to be asked', async () => {
    await refunds.store.pool.query(`update dirsync.refund set outer_trade_no = 'T1'`)
    expect(await lookAfter(61)).toEqual([0, 0])
    expect(await refunds.store.rows('select times from dirsync.refund_check')).toEqual([{ times: 1 }])
    expect(await lookAfter(61)).toEqual([0, 0])
    expect(await refunds.store.rows('select times from dirsync.refund_check')).toEqual([{ times: 1 }])
  })

  test('is one of many that are asked about one by one, after those of unknown outcome', async () => {
    const { pool } = refunds.store
    await pool.query(
      `insert into dirsync.refund (outer_refund_no, outer_trade_no, refund_amount, refunded_before, requested_by, state,
                                   settled_at, sent_at)
       select $1 || i, $2, 4, 0, 'x', 'accepted', now(), now() - interval '3 hours' from generate_series(1, 5) i`,
      [`${NO}-`, ORDER.replace('T1', 'T2')],
    )
    await writeDown(refunds.store, {
      outer_refund_no: `${NO}-lost`,
      outer_trade_no: ORDER.replace('T1', 'T2'),
    })
    await refunds.fault(RECORD_CALL, { hold: true })
    const first = settler()
    await refunds.arrived()
    // The first one asks about what is unknown; another one about one of the others.
    const second = settler()
    await second.tried
    expect(await refunds.store.rows('select sum(settle_attempts)::int as asked from dirsync.refund')).toEqual(
      [{ asked: 1 }],
    )
    await refunds.release()
    await until(async () => (await refunds.refund(`${NO}-lost`))?.settle_attempts === 1)
    await first.stop()
    await second.stop()
  })

  test.each([
    ['before its next probe', 'credentials', '4 minutes'],
    ['as an answer of the record does not disprove', 'enterprise_code', '-1 minute'],
  ])(
    'is looked for although an older one is of an enterprise that is halted: %s',
    async (_, category, probe) => {
      const { pool } = refunds.store
      await sendRefund(
        refunds.deps,
        { ...REQUEST, outerTradeNo: ORDER.replace('T1', 'T2'), outerRefundNo: `${NO}-2` },
        asTester,
      )
      await pool.query(
        `update dirsync.refund set enterprise_code = 'E1', sent_at = sent_at - interval '1 minute' where outer_refund_no = $1`,
        [NO],
      )
      await pool.query(
        `insert into dirsync.halt (scope, category, message, remedy, since, next_probe_at)
       values ('E1', $1, '[]', '[]', now() - interval '1 minute', now() + $2::interval)`,
        [category, probe],
      )
      await refunds.age(2 * 60)
      settler()
      await until(async () => (await refunds.refund(`${NO}-2`))?.shown_at)
      expect(await refunds.store.rows('select probes from dirsync.halt')).toEqual([{ probes: 0 }])
      expect((await refunds.refund())?.settle_attempts).toBe(0)
    },
  )

  test.each(['accepted', 'unknown'])(
    'is not put off without being asked while jobs alone may probe an outage: %s',
    async state => {
      const { pool } = refunds.store
      await refunds.age(2 * 60)
      await pool.query(
        `update dirsync.refund set state = $1, next_settle_at = now(),
           settled_at = case when $1 = 'accepted' then settled_at end`,
        [state],
      )
      await pool.query(
        `insert into dirsync.halt (scope, category, message, remedy, jobs_probe_until)
         values ('*', 'platform_unavailable', '[]', '[]', now() + interval '5 minutes')`,
      )
      await plantWork(refunds.store, 'e1')
      const calls = await refunds.calls(RECORD_CALL)
      const due = (await refunds.refund())?.next_settle_at
      const looking = settler()
      await looking.tried
      await looking.stop()
      expect((await refunds.refund())?.next_settle_at).toEqual(due)
      expect(await refunds.calls(RECORD_CALL)).toBe(calls)

      await pool.query('delete from dirsync.pending')
      settler()
      await until(async () => (await refunds.calls(RECORD_CALL)) > calls)
    },
  )

  test('is completed once the mirror shows it', async () => {
    await mirrored()
    await refunds.store.pool.query('update dirsync.payment_order set refund_amount = 3.99')
    await compareWithShown(refunds.store.pool, null)
    expect((await refunds.refund())?.shown_at).toBeNull()
    await refunds.store.pool.query('update dirsync.payment_order set refund_amount = 4')
    settler()
    await until(async () => (await refunds.refund())?.shown_at)
  })

  test('is not completed while its order is only being refunded, which may fail', async () => {
    await mirrored()
    const shows = (status: number, refunded: string, gone: string | null = null) =>
      refunds.store.pool.query(
        `update dirsync.payment_order set status = $1, refund_amount = $2, gone_at = $3, changed_at = clock_timestamp()`,
        [status, refunded, gone],
      )
    const shownAt = async () => {
      await compareWithShown(refunds.store.pool, null)
      return (await refunds.refund())?.shown_at
    }
    await shows(5, '4.00')
    expect(await shownAt()).toBeNull()
    await shows(6, '4.00', '2026-11-01')
    expect(await shownAt()).toBeNull()
    await shows(6, '4.00')
    expect(await shownAt()).toEqual(expect.any(Date))
  })

  test('is completed once the mirror shows the whole order refunded, whatever was refunded before it', async () => {
    const { pool } = refunds.store
    await pool.query('update dirsync.refund set refunded_before = null')
    await mirrored()
    const shownAt = async (status: number, paid: string) => {
      await pool.query(`update dirsync.payment_order set status = $1, pay_amount = $2, refund_amount = 4`, [
        status,
        paid,
      ])
      await compareWithShown(pool, null)
      return (await refunds.refund())?.shown_at
    }
    expect(await shownAt(3, '4.00')).toBeNull()
    expect(await shownAt(6, '5.00')).toBeNull()
    expect(await shownAt(6, '4.00')).toEqual(expect.any(Date))
  })

  test('is not taken for another one of its order of which it cannot be told apart', async () => {
    const other = `${NO}-2`
    await sendRefund(refunds.deps, { ...REQUEST, outerRefundNo: other }, asTester)
    const shownAt = async (refunded: string) => {
      await compareWithShown(refunds.store.pool, { outer_trade_no: ORDER, refunded })
      return [(await refunds.refund())?.shown_at, (await refunds.refund(other))?.shown_at]
    }
    // One of the two was completed.
    expect(await shownAt('4.00')).toEqual([null, null])
    expect(await shownAt('8.00')).toEqual([expect.any(Date), expect.any(Date)])
  })

  test('that failed is not called completed because another one refunds the whole order', async () => {
    const { pool } = refunds.store
    await pool.query('update dirsync.refund set refund_amount = 10')
    await writeRefundOf(`${NO}-2`, '10.00')
    await mirrored()
    await pool.query('update dirsync.payment_order set status = 6, pay_amount = 10, refund_amount = 10')
    const shown = async () => {
      await compareWithShown(pool, null)
      return refunds.store.rows('select outer_refund_no from dirsync.refund where shown_at is not null')
    }
    expect(await shown()).toEqual([])
    await pool.query('update dirsync.refund set refunded_before = null')
    expect(await shown()).toEqual([])
    await refundJournal.storeAnswer(pool, `${NO}-2`, REFUSED)
    expect(await shown()).toEqual([{ outer_refund_no: NO }])
  })

  describe('is called rejected by a person', () => {
    const reject = () => refundJournal.resolve(refunds.store.pool, NO, 'rejected', 'it failed', asTester)

    test('only after a look at its order record a day later', async () => {
      await refunds.age(DAY - 1)
      await settleNow(refunds.deps, NO)
      await refunds.age(2)
      await refunds.store.pool.query(
        `update dirsync.refund_check set last_at = last_at - interval '2 minutes'`,
      )
      await refunds.fault(RECORD_CALL, { httpStatus: 500 })
      await settleNow(refunds.deps, NO)
      await expect(reject()).rejects.toMatchObject({
        code: 'MAY_STILL_COME',
        message: expect.stringMatching(
          /not been read within a day, nor a day after it was sent.* `dirsync refund settle /,
        ),
      })
      await settleNow(refunds.deps, NO)
      await refunds.store.pool.query(`update dirsync.refund_check set last_at = last_at - interval '2 days'`)
      await refunds.store.pool.query(`update dirsync.refund set sent_at = sent_at - interval '9 days'`)
      await expect(reject()).rejects.toMatchObject({ code: 'MAY_STILL_COME' })
      await settleNow(refunds.deps, NO)
      expect(worded(await reject())).toMatchObject({
        state: 'rejected',
        message: expect.stringMatching(
          /^the platform had accepted it at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$/,
        ),
      })
    })

    test('also where the platform answers that there is no such order', async () => {
      await refunds.store.pool.query('update dirsync.refund set outer_trade_no = $1', [`${ORDER}-none`])
      await refunds.age(DAY + 1)
      await settleNow(refunds.deps, NO)
      expect(await reject()).toMatchObject({ state: 'rejected' })
    })

    test('not while the mirror shows its order as being refunded', async () => {
      await refunds.age(DAY + 1)
      await settleNow(refunds.deps, NO)
      await mirrored()
      for (const status of [4, 5]) {
        await refunds.store.pool.query('update dirsync.payment_order set status = $1', [status])
        await expect(reject()).rejects.toMatchObject({ message: expect.stringContaining('being refunded') })
      }
      await refunds.store.pool.query('update dirsync.payment_order set status = 3')
      expect(await reject()).toMatchObject({ state: 'rejected' })
    })

    test('where the mirror has read its order long ago once a look has read it anew', async () => {
      const { pool } = refunds.store
      await refunds.age(DAY + 1)
      await mirrored()
      await pool.query('update dirsync.payment_order set status = 5')
      await refunds.fault(PAYMENT_ORDER_CALL, { httpStatus: 500 })
      await settleNow(refunds.deps, NO)
      await expect(reject()).rejects.toMatchObject({
        message: expect.stringMatching(/being refunded.* `dirsync refund settle /),
      })
      expect(worded((await refundDetails(pool, await settleNow(refunds.deps, NO))).events)).toContainEqual(
        expect.objectContaining({ event: 'checked', text: expect.stringContaining('HTTP 500') }),
      )
      expect(await reject()).toMatchObject({ state: 'rejected' })
      expect(await refunds.store.rows('select status, gone_at from dirsync.payment_order')).toEqual([
        { status: 3, gone_at: null },
      ])
    })

    test('where the mirror shows its order as being refunded, and the platform has no such order', async () => {
      const { pool } = refunds.store
      await refunds.age(DAY + 1)
      await pool.query(
        `insert into dirsync.payment_order (trade_no, out_trade_no, status) values ('0000000000009999', $1, 4)`,
        [ORDER],
      )
      await settleNow(refunds.deps, NO)
      expect(await reject()).toMatchObject({ state: 'rejected' })
    })
  })

  test('and then called rejected is doubted when it comes, whatever was contradicted before', async () => {
    const { pool } = refunds.store
    await refundJournal.storeAnswer(pool, NO, REFUSED)
    await refundJournal.storeAnswer(pool, NO, { state: 'accepted', receipt: TRADE_NO })
    await refunds.age(DAY + 1)
    await settleNow(refunds.deps, NO)
    const rejected = await refundJournal.resolve(pool, NO, 'rejected', 'it failed', asTester)
    expect(rejected).toMatchObject({ state: 'rejected', contradicted_at: null })
    await compareWithShown(pool, { outer_trade_no: ORDER, refunded: '4.00' })
    const refund = await refunds.refund()
    expect(refund && contradictionOf(refund)).toBe('perhaps')
  })

  test('is looked for again once less is shown, and not because the mirror was read before', async () => {
    await mirrored()
    const { pool } = refunds.store
    await pool.query(`update dirsync.payment_order set refund_amount = 0, changed_at = clock_timestamp()`)
    await caughtUp()
    expect((await settleNow(refunds.deps, NO)).shown_at).toEqual(expect.any(Date))
    await compareWithShown(pool, null)
    expect((await refunds.refund())?.shown_at).toEqual(expect.any(Date))
    await pool.query(`update dirsync.payment_order set changed_at = clock_timestamp()`)
    await compareWithShown(pool, null)
    expect(await readUnshown(pool)).toMatchObject({ count: 1 })
    await settleNow(refunds.deps, NO)
    await behind()
    await readRefundedSoFar(refunds.deps, { outer_trade_no: ORDER, enterprise_code: '' }, {})
    expect(await readUnshown(pool)).toMatchObject({ count: 1 })
  })

  test('is looked for again, with those it cannot be told from, once less is shown than with them', async () => {
    const other = `${NO}-2`
    await writeRefundOf(other, '4.00')
    const { pool } = refunds.store
    const shown = async (refunded: string) => {
      await compareWithShown(pool, { outer_trade_no: ORDER, refunded })
      const rows = await refunds.store.rows(
        'select outer_refund_no from dirsync.refund where shown_at is not null order by id',
      )
      return rows.map(({ outer_refund_no }) => outer_refund_no)
    }
    const notified = (outer_refund_no: string, refund_amount: string) =>
      recordNotification(pool, { outer_refund_no, outer_trade_no: ORDER, refund_amount, trade_no: TRADE_NO })
    expect(await shown('8.00')).toEqual([NO, other])
    // One of the two has failed.
    expect(await shown('4.00')).toEqual([])
    expect(await shown('8.00')).toEqual([NO, other])
    await notified(NO, '4.00')
    expect(await shown('4.00')).toEqual([NO])
    expect(await shown('8.00')).toEqual([NO, other])
    // The record may not show one yet that was sent and notified of since then.
    await writeRefundOf(`${NO}-3`, '1.00')
    await notified(`${NO}-3`, '1.00')
    expect(await shown('8.00')).toEqual([NO, other])
  })

  test('is looked for again once the mirror that showed its whole order refunded does so no more', async () => {
    const { pool } = refunds.store
    await pool.query('update dirsync.refund set refunded_before = null')
    await mirrored()
    const shownAt = async (status: number) => {
      await pool.query(
        `update dirsync.payment_order
         set status = $1, pay_amount = 4, refund_amount = 4, changed_at = clock_timestamp()`,
        [status],
      )
      await compareWithShown(pool, null)
      return (await refunds.refund())?.shown_at
    }
    expect(await shownAt(6)).toEqual(expect.any(Date))
    await compareWithShown(pool, { outer_trade_no: ORDER, refunded: '4.00' })
    expect((await refunds.refund())?.shown_at).toEqual(expect.any(Date))
    expect(await shownAt(5)).toEqual(expect.any(Date))
    expect(await shownAt(3)).toBeNull()
  })

  test('is completed once the record shows it that is read before another one, which is not', async () => {
    await caughtUp()
    await sendRefund(refunds.deps, { ...REQUEST, outerRefundNo: `${NO}-2` }, asTester)
    expect((await refunds.refund())?.shown_at).toEqual(expect.any(Date))
    expect((await refunds.refund(`${NO}-2`))?.shown_at).toBeNull()
  })
})
