import { describe, expect, test } from 'vitest'
import { createPool } from '../../src/lib/database.ts'
import {
  claimUnknown,
  knownRefunded,
  noteCheck,
  recordNotification,
  refundJournal,
  storeVerdict,
} from '../../src/money/refund.ts'
import { failedAnswer, refusalOfAmount, sendRefund } from '../../src/money/send.ts'
import { readRefundedSoFar, refundedBefore, settleNow } from '../../src/money/settle.ts'
import { LocalPacer } from '../../src/platform/caller.ts'
import { PlatformError } from '../../src/platform/errors.ts'
import { inWords } from '../../src/texts/message.ts'
import { until } from '../helpers/company.ts'
import { startTcpProxy } from '../queue/tcp-proxy.ts'
import { sender, writeDown } from '../sync/journal.ts'
import { SILENT } from '../sync/store-under-test.ts'
import { worded } from '../texts/worded.ts'
import { ORDER, RECORD_CALL, REFUND_CALL, REQUEST, RefundsUnderTest } from './refunds-under-test.ts'

const refunds = new RefundsUnderTest()
const ME = { actor: 'cli:tester' }

const send = (over: Partial<typeof REQUEST> = {}) => sendRefund(refunds.deps, { ...REQUEST, ...over }, ME)

describe('a refund', () => {
  test('is written down, sent once and accepted', async () => {
    expect(await send()).toEqual({
      number: REQUEST.outerRefundNo,
      state: 'accepted',
      receipt: '0000000000000001',
      platformCode: null,
      traceId: null,
      before: { shown: '0.00', atLeast: '0', confirmed: '0', paid: '10.00', earlier: [] },
      message: null,
    })
    expect(worded(await refunds.refund())).toMatchObject({
      outer_trade_no: ORDER,
      refund_amount: '4.00',
      refunded_before: '0.00',
      state: 'accepted',
      trade_no: '0000000000000001',
      settled_at: expect.any(Date),
    })
    expect(await refunds.refunded()).toBe('4.00')
    expect(await refunds.calls(REFUND_CALL)).toBe(1)
  })

  test('is accepted also under a number that PostgreSQL cannot hold as it is', async () => {
    await refunds.fault(REFUND_CALL, { body: String.raw`{"code":0,"data":"T\u0000\ud83d"}` })
    expect(await send()).toMatchObject({ state: 'accepted' })
    expect(worded(await refunds.refund())).toMatchObject({ state: 'accepted', trade_no: 'T\ufffd\ufffd' })
  })

  test('is in the journal and in the audit before the platform hears of it', async () => {
    await refunds.fault(REFUND_CALL, { hold: true })
    const sent = send()
    await refunds.arrived(sent)
    const refund = worded(await refunds.refund())
    expect(refund).toMatchObject({ state: 'requested' })
    expect(await refunds.store.rows('select name, arguments, requested_by from dirsync.command')).toEqual([
      {
        name: 'send_refund',
        arguments: { outer_refund_no: REQUEST.outerRefundNo, outer_trade_no: ORDER, amount: '4.00' },
        requested_by: refund?.requested_by,
      },
    ])
    await refunds.release()
    await sent
  })

  test('leaves nothing of its reason and its recipient in the journal', async () => {
    await sendRefund(refunds.deps, { ...REQUEST, reason: 'Person 1 moved', tradeInfo: undefined }, ME)
    expect(JSON.stringify(await refunds.refund())).not.toContain('Person')
  })

  test('counts once for the next ones although the clock of its sender was ahead', async () => {
    const sendOne = (no: number) =>
      send({ refundAmount: '3.00', outerRefundNo: `${REQUEST.outerRefundNo}-${no}` })
    await sendOne(1)
    await refunds.store.pool.query(`update dirsync.refund set sent_at = sent_at + interval '1 hour'`)
    await sendOne(2)
    expect(await knownRefunded(refunds.store.pool, ORDER)).toEqual({ atLeast: '6.00', confirmed: '6.00' })
    expect(await sendOne(3)).toMatchObject({ state: 'accepted' })
  })

  test('is one of several: the next one knows what was refunded before', async () => {
    await send()
    await send({ outerRefundNo: `${REQUEST.outerRefundNo}b`, refundAmount: '6.00' })
    expect(await refunds.refund(`${REQUEST.outerRefundNo}b`)).toMatchObject({ refunded_before: '4.00' })
  })

  test('asks for the record of its order in its enterprise, before and after', async () => {
    const order = { trade_no: '0000000000000001', out_trade_no: ORDER, total_amount: '10.00' }
    await refunds.control('POST', 'orders', [{ ...order, enterprise_code: 'E1' }])
    await refunds.fault(REFUND_CALL, { loseAnswer: true })
    const ofE1 = { ...REQUEST, enterprise_code: 'E1' }
    expect(await sendRefund(refunds.deps, ofE1, ME)).toMatchObject({ state: 'unknown' })
    expect(await settleNow(refunds.deps, REQUEST.outerRefundNo)).toMatchObject({ state: 'accepted' })
    const { calls } = await refunds.control<{ calls: { params: object }[] }>(
      'GET',
      `calls?operation=${RECORD_CALL}`,
    )
    expect(calls.map(({ params }) => params)).toMatchObject([
      { enterprise_code: 'E1' },
      { enterprise_code: 'E1' },
    ])
  })

  /** The order record answers once that so much is refunded. */
  const showsOnce = (refund_amount: number) =>
    refunds.fault(RECORD_CALL, {
      body: JSON.stringify({ code: 0, msg: 'OK', data: { outer_trade_no: ORDER, refund_amount, status: 2 } }),
    })

  test('is sent where the order record says that nothing was paid', async () => {
    const data = { outer_trade_no: ORDER, pay_amount: 0, refund_amount: 0, status: 2 }
    await refunds.fault(RECORD_CALL, { body: JSON.stringify({ code: 0, msg: 'OK', data }) })
    expect(await send()).toMatchObject({ state: 'accepted' })
  })

  test('is left to a person, if need be, while the order record is behind with an earlier one', async () => {
    await send()
    await showsOnce(0)
    await refunds.fault(REFUND_CALL, { reset: true })
    const no = `${REQUEST.outerRefundNo}b`
    expect(await send({ outerRefundNo: no })).toMatchObject({ state: 'unknown' })
    expect(await refunds.refund(no)).toMatchObject({ refunded_before: null, next_settle_at: null })
    expect(await settleNow(refunds.deps, no)).toMatchObject({ state: 'unknown' })
  })

  test.each<[string, number, () => Promise<unknown>]>([
    ['ours', 5, async () => {}],
    [
      'ours, after which one was refused',
      5,
      async () => {
        await refunds.fault(REFUND_CALL, { code: 1000220002 })
        await send({ outerRefundNo: `${REQUEST.outerRefundNo}b` })
      },
    ],
    [
      'the last of ours, of which it could not be told what was refunded before',
      9,
      async () => {
        await showsOnce(5)
        await send({ outerRefundNo: `${REQUEST.outerRefundNo}b` })
      },
    ],
  ])(
    'is left to a person while the record has what others refunded, and not yet %s',
    async (_, shown, then) => {
      const order = { trade_no: '0000000000000001', out_trade_no: ORDER, total_amount: '20.00', status: 6 }
      await refunds.control('POST', 'orders', [{ ...order, refund_amount: '5.00' }])
      await send()
      await then()
      await showsOnce(shown)
      await refunds.fault(REFUND_CALL, { reset: true })
      const no = `${REQUEST.outerRefundNo}c`
      expect(await send({ outerRefundNo: no })).toMatchObject({ state: 'unknown' })
      expect(await refunds.refund(no)).toMatchObject({ refunded_before: null })
      expect(await settleNow(refunds.deps, no)).toMatchObject({ state: 'unknown' })
    },
  )

  test.each<[string, object, () => Promise<unknown>]>([
    [
      'a person called rejected',
      { reset: true },
      () => refundJournal.resolve(refunds.store.pool, REQUEST.outerRefundNo, 'rejected', 'not there', ME),
    ],
    [
      'was answered with a code that is no refusal, and is not in the order record',
      { code: 1000229999 },
      async () => {
        const found = inWords('0.00 refunded')
        await noteCheck(refunds.store.pool, REQUEST.outerRefundNo, found)
        await storeVerdict(refunds.store.pool, REQUEST.outerRefundNo, 'not_carried_out', found)
        expect(await refunds.refund()).toMatchObject({ state: 'rejected', platform_code: 1000229999 })
      },
    ],
  ])(
    'is left to a person, if need be, while an earlier one may still come that %s',
    async (_, fault, reject) => {
      // The platform is yet to carry it out.
      await refunds.fault(REFUND_CALL, fault)
      await send()
      await reject()
      await refunds.fault(REFUND_CALL, { reset: true })
      const no = `${REQUEST.outerRefundNo}b`
      expect(await send({ outerRefundNo: no })).toMatchObject({ state: 'unknown' })
      await showsOnce(4)
      expect(await settleNow(refunds.deps, no)).toMatchObject({ state: 'unknown', refunded_before: null })
    },
  )

  test('that the platform refuses is rejected, with its words masked', async () => {
    const message = 'no such shop: 13900000001'
    await refunds.fault(REFUND_CALL, { code: 1000220002, message })
    const rejected = { platformCode: 1000220002, message: 'no such shop: 13***' }
    expect(worded(await send())).toMatchObject({
      state: 'rejected',
      ...rejected,
      traceId: expect.any(String),
    })
    expect(worded(await refunds.refund())).toMatchObject({
      state: 'rejected',
      platform_code: 1000220002,
      message: rejected.message,
      trace_id: expect.any(String),
    })
    await expect(send()).rejects.toMatchObject({ code: 'ALREADY_SENT' })
  })

  test('that the platform refuses without a word is explained by its code, in the language of the reader', async () => {
    await refunds.fault(REFUND_CALL, { body: '{"code":1000220002,"msg":null,"data":null}' })
    const explained = { message: { key: 'code.1000220002.meaning' } }
    expect(await send()).toMatchObject({ state: 'rejected', ...explained })
  })

  test('that the platform refuses in words of the request leaves nothing of them', async () => {
    const request = {
      ...{ ...REQUEST, reason: 'Person 1 moved' },
      tradeInfo: { recipientName: 'Person "2"', recipientAddress: 'Long Lane' },
    }
    const message = 'Person 1 moved: no such recipient Person "2" in LONG LANE'
    await refunds.fault(REFUND_CALL, { code: 1000220002, message })
    expect(worded(await sendRefund(refunds.deps, request, ME))).toMatchObject({
      state: 'rejected',
      message: '**** (14): no such recipient **** (10) in **** (9)',
    })
  })

  test('whose code is not listed as a refusal of refunds is unknown, with its words masked', async () => {
    const said = 'The platform said: “system busy, call 13***”.'
    // "System busy" may come after the effect.
    await refunds.fault(REFUND_CALL, { code: 1000999999, message: 'system busy, call 13900000001' })
    expect(worded(await send())).toMatchObject({
      state: 'unknown',
      platformCode: 1000999999,
      message: expect.stringContaining(said),
    })
    expect(worded(await refunds.refund())).toMatchObject({
      state: 'unknown',
      platform_code: 1000999999,
      message: expect.stringContaining(said),
      settled_at: null,
    })
    await expect(send({ outerRefundNo: `${REQUEST.outerRefundNo}b` })).rejects.toMatchObject({
      code: 'ORDER_BUSY',
    })
    expect(await refunds.calls(REFUND_CALL)).toBe(1)
  })
})

test('a failure of our own says nothing of what was carried out', () => {
  expect(failedAnswer(new TypeError('a defect'), SILENT)).toMatchObject({
    state: 'unknown',
    platformCode: null,
  })
})

test.each([
  ['1.00', '1.00', '1.00'],
  ['2.50', '0.00', '2.50'],
  ['0.99', '1.00', null],
  [null, '0.00', null],
])('an order with %s refunded by its record, and %s at least, had %s before', (shown, atLeast, before) => {
  expect(refundedBefore({ shown, atLeast })).toBe(before)
})

describe('a number that was used', () => {
  test.each([
    ['accepted', {}],
    ['rejected', { code: 1000220002 }],
    ['unknown', { loseAnswer: true }],
  ])('is not sent again when it is %s: not a single call', async (state, fault) => {
    if (state !== 'accepted') await refunds.fault(REFUND_CALL, fault)
    expect(await send()).toMatchObject({ state })
    const { calls } = await refunds.control<{ calls: unknown[] }>('GET', 'calls')
    await expect(send()).rejects.toMatchObject({
      name: 'JournalError',
      code: 'ALREADY_SENT',
      message: `refund ${REQUEST.outerRefundNo} was sent before (4.00 of order ${ORDER}, now ${state}): a number is never sent twice; use a new one for another refund`,
    })
    await expect(send({ outerRefundNo: ` ${REQUEST.outerRefundNo} ` })).rejects.toMatchObject({
      code: 'ALREADY_SENT',
    })
    expect(await refunds.control<{ calls: unknown[] }>('GET', 'calls')).toMatchObject({ calls })
  })

  test('is sent only once by many at the same moment, for one order or for several', async () => {
    const other = ORDER.replace('T1', 'T2')
    const tries = [ORDER, ORDER, other, other, ORDER, other].map(outerTradeNo =>
      send({ outerTradeNo }).then(
        outcome => outcome.state,
        error => error.code,
      ),
    )
    const results = await Promise.all(tries)
    expect(results.filter(result => result === 'accepted')).toHaveLength(1)
    expect(results.every(result => ['accepted', 'ALREADY_SENT', 'ORDER_BUSY'].includes(result))).toBe(true)
    expect(await refunds.calls(REFUND_CALL)).toBe(1)
  })
})

describe('an order', () => {
  const second = { outerRefundNo: `${REQUEST.outerRefundNo}b` }

  test('has one refund at a time: another one is refused while it is being sent', async () => {
    await refunds.fault(REFUND_CALL, { hold: true })
    const sent = send()
    await refunds.arrived(sent)
    await expect(send(second)).rejects.toMatchObject({
      code: 'ORDER_BUSY',
      message: expect.stringContaining(`${REQUEST.outerRefundNo} of the same order is open (requested)`),
    })
    await refunds.release()
    expect((await sent).state).toBe('accepted')
    expect((await send(second)).state).toBe('accepted')
  })

  test('has one whose sender has died: another one is refused, and told that the outcome is unknown', async () => {
    await writeDown(refunds.store, { outer_trade_no: ORDER })
    await expect(send()).rejects.toMatchObject({
      code: 'ORDER_BUSY',
      message: expect.stringContaining('of the same order is open (unknown)'),
    })
  })

  test('has no other refund while the outcome of one is unknown', async () => {
    await refunds.fault(REFUND_CALL, { loseAnswer: true })
    await send()
    await expect(send(second)).rejects.toMatchObject({ code: 'ORDER_BUSY' })
    expect(await refunds.calls(RECORD_CALL)).toBe(1)
    expect(await refunds.calls(REFUND_CALL)).toBe(1)
  })

  test('is being looked at by another process: nothing is sent', async () => {
    await sender(refunds.store, { order: ORDER })
    await expect(send()).rejects.toMatchObject({
      code: 'ORDER_BUSY',
      message: `another refund of order ${ORDER} is being sent at this moment`,
    })
    expect(await refunds.calls(RECORD_CALL)).toBe(0)
  })
})

describe('an outcome is unknown', () => {
  test.each([
    ['the answer was lost', { loseAnswer: true }],
    ['a gateway gave up', { httpStatus: 502 }],
    ['the answer is no JSON', { body: 'sorry' }],
    ['the code is a refusal of other operations', { code: 1000220064 }],
  ])('when %s; it is not sent again', async (_, fault) => {
    await refunds.fault(REFUND_CALL, fault)
    expect(worded(await send())).toMatchObject({
      state: 'unknown',
      message: expect.stringContaining('unknown'),
    })
    expect(worded(await refunds.refund())).toMatchObject({
      state: 'unknown',
      settled_at: null,
      next_settle_at: expect.any(Date),
    })
    expect(await refunds.calls(REFUND_CALL)).toBe(1)
  })

  test('when no answer came in time', async () => {
    await refunds.fault(REFUND_CALL, { hold: true })
    const client = refunds.connect(refunds.url, { timeoutMs: 300 })
    expect(await sendRefund({ ...refunds.deps, client }, REQUEST, ME)).toMatchObject({ state: 'unknown' })
    await client.close()
  })

  test('when it was given up after it had been sent', async () => {
    await refunds.fault(REFUND_CALL, { hold: true })
    const giveUp = new AbortController()
    const sent = sendRefund(refunds.deps, REQUEST, { ...ME, signal: giveUp.signal })
    await refunds.arrived(sent)
    giveUp.abort()
    expect(await sent).toMatchObject({ state: 'unknown' })
  })

  test('when the database is away before the answer can be stored; the settler finds it out', async () => {
    await using proxy = await startTcpProxy(refunds.store.url)
    const pool = createPool(proxy.url, { max: 4, name: 'cli', logger: SILENT })
    await refunds.fault(REFUND_CALL, { hold: true })
    const sent = sendRefund({ ...refunds.deps, pool }, REQUEST, ME)
    await refunds.arrived(sent)
    await proxy.refuse()
    await refunds.release()
    expect(worded(await sent)).toMatchObject({
      state: 'unknown',
      receipt: '0000000000000001',
      message: expect.stringContaining("the platform's answer (accepted) could not be stored"),
    })
    await pool.end()
    expect(await settleNow(refunds.deps, REQUEST.outerRefundNo)).toMatchObject({ state: 'accepted' })
    expect(await refunds.calls(REFUND_CALL)).toBe(1)
  })
})

test('forgetting one that was turned away spares another one that has been sent under its number since', async () => {
  await using proxy = await startTcpProxy(refunds.store.url)
  const pool = createPool(proxy.url, { max: 4, name: 'cli', logger: SILENT })
  await refunds.fault(REFUND_CALL, { hold: true, httpStatus: 429 })
  const sent = sendRefund({ ...refunds.deps, pool }, REQUEST, ME)
  await refunds.arrived(sent)
  proxy.loseAnswersAfter('commit')
  await refunds.release()
  await until(async () => (await refunds.refund()) === null)
  // Its connections drop, and with them its lock; another process sends the number.
  await proxy.refuse()
  await refunds.store.unlocked()
  await proxy.accept()
  await refunds.fault(REFUND_CALL, { hold: true })
  const again = send()
  await refunds.arrived(again)
  // Nor does it say that the number is free.
  expect(worded(await sent)).toMatchObject({
    state: 'unknown',
    message: expect.stringContaining("the platform's answer (rejected) could not be stored"),
  })
  expect(await refunds.refund()).toMatchObject({ state: 'requested' })
  await refunds.release()
  expect(await again).toMatchObject({ state: 'accepted' })
  await pool.end()
})

describe('the answer', () => {
  test('is stored although the connections dropped while it was awaited', async () => {
    await refunds.fault(REFUND_CALL, { hold: true })
    const sent = send()
    await refunds.arrived(sent)
    await refunds.store.pool.query(
      `select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`,
    )
    // With its connection the sender has lost its lock: it looks as if it had died.
    expect(await settleNow(refunds.deps, REQUEST.outerRefundNo)).toMatchObject({ state: 'unknown' })
    await refunds.release()
    expect(await sent).toMatchObject({ state: 'accepted' })
    expect(worded(await refunds.refund())).toMatchObject({ state: 'accepted' })
  })

  test.each([
    ['accepted', {}],
    ['unknown', { loseAnswer: true }],
  ])('of a refund that a fail-over of the database lost is stored all the same: %s', async (state, fault) => {
    await refunds.fault(REFUND_CALL, { hold: true, ...fault })
    const sent = send()
    await refunds.arrived(sent)
    await refunds.store.pool.query('delete from dirsync.refund')
    await refunds.release()
    expect(await sent).toMatchObject({ state })
    expect(worded(await refunds.refund())).toMatchObject({
      state,
      refund_amount: '4.00',
      refunded_before: '0.00',
      requested_by: expect.stringContaining(ME.actor),
    })
    await expect(send()).rejects.toMatchObject({ code: 'ALREADY_SENT' })
  })

  test('of a refund that a fail-over lost is found out if it is unknown', async () => {
    await refunds.fault(REFUND_CALL, { hold: true, loseAnswer: true })
    const sent = send()
    await refunds.arrived(sent)
    await refunds.store.pool.query('delete from dirsync.refund')
    await refunds.release()
    const { message } = await sent
    expect(await refunds.refund()).toMatchObject({ message, next_settle_at: expect.any(Date) })
    expect(await claimUnknown(refunds.store.pool, null)).toMatchObject({
      outer_refund_no: REQUEST.outerRefundNo,
    })
  })

  test('that is no refusal keeps its code and words, although its sender was taken for dead', async () => {
    await refunds.fault(REFUND_CALL, { hold: true, code: 1000999999, message: 'system busy' })
    const sent = send()
    await refunds.arrived(sent)
    await refunds.store.pool.query(
      `select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`,
    )
    expect(await refundJournal.adopt(refunds.store.pool)).toEqual([REQUEST.outerRefundNo])
    await refunds.release()
    const { message, traceId } = await sent
    expect(traceId).not.toBeNull()
    expect(await refunds.refund()).toMatchObject({
      ...{ state: 'unknown', platform_code: 1000999999, trace_id: traceId, message },
    })
  })

  test.each([
    ['accepted', {}, { state: 'accepted' }],
    ['unknown', { loseAnswer: true }, null],
  ])(
    'of one that a fail-over lost, after which another of its order was sent, is stored if it is final: %s',
    async (_, fault, stored) => {
      await refunds.fault(REFUND_CALL, { hold: true, ...fault })
      const sent = send()
      await refunds.arrived(sent)
      await refunds.store.pool.query(
        `update dirsync.refund set outer_refund_no = 'another', state = 'unknown'`,
      )
      await refunds.release()
      // What the journal does not have is not called stored.
      expect(await sent).toMatchObject(
        stored ?? { state: 'unknown', message: { key: 'said.answer_not_stored' } },
      )
      expect(await refundJournal.read(refunds.store.pool, REQUEST.outerRefundNo)).toEqual(
        stored && expect.objectContaining(stored),
      )
    },
  )

  const notification = {
    outer_refund_no: REQUEST.outerRefundNo,
    outer_trade_no: ORDER,
    refund_amount: '4.00',
    trade_no: '0000000000000001',
  }

  test.each([
    ['asks to wait', { httpStatus: 429, retryAfter: 0 }],
    ['does not know the application', { code: 1000210003 }],
    ['refuses it', { code: 1000220002 }],
    ['fails', { httpStatus: 500 }],
  ])('that the platform %s does not hide a notification received meanwhile', async (_, fault) => {
    await refunds.fault(REFUND_CALL, { hold: true, ...fault })
    const sent = send()
    await refunds.arrived(sent)
    expect(await recordNotification(refunds.store.pool, notification)).toBe('stored')
    await refunds.release()
    expect(await sent).toMatchObject({ state: 'accepted', receipt: '0000000000000001', message: null })
    expect(worded(await refunds.refund())).toMatchObject({ state: 'notified' })
    await expect(send()).rejects.toMatchObject({ code: 'ALREADY_SENT' })
  })

  test('that comes after the notification leaves it as it is', async () => {
    await refunds.fault(REFUND_CALL, { hold: true })
    const sent = send()
    await refunds.arrived(sent)
    expect(await recordNotification(refunds.store.pool, notification)).toBe('stored')
    await refunds.release()
    expect(await sent).toMatchObject({ state: 'accepted' })
    expect(worded(await refunds.refund())).toMatchObject({ state: 'notified', trade_no: '0000000000000001' })
  })
})

describe('nothing is sent, and the number stays free,', () => {
  /** What `send` rejects with; afterwards the same number can be sent. */
  async function notSent(sent: Promise<unknown>): Promise<PlatformError> {
    const error = await sent.then(
      () => null,
      failure => failure,
    )
    expect(error).toBeInstanceOf(PlatformError)
    expect(worded(await refunds.refund())).toBeNull()
    expect(await refunds.refunded()).toBe('0.00')
    expect(await send()).toMatchObject({ state: 'accepted' })
    return error
  }

  test.each([
    { refundAmount: '0.00' },
    { refundAmount: '1e3' },
    { reason: '' },
    { outerRefundNo: 'foreign-1' },
  ])('when the request breaks a rule: %j', async over => {
    expect(await notSent(send(over))).toMatchObject({ kind: 'invalid_request' })
    expect(await refunds.calls(REFUND_CALL)).toBe(1)
  })

  test('when the order is not known', async () => {
    const error = await notSent(send({ outerTradeNo: `${ORDER}-unknown` }))
    expect(error).toMatchObject({ platformCode: 1000220064, operation: RECORD_CALL })
  })

  test.each([
    ['asks to wait', { httpStatus: 429, retryAfter: 0 }, { kind: 'http' }],
    ['does not know the application', { code: 1000210003 }, { platformCode: 1000210003 }],
    ['does not know the enterprise', { code: 1000240002 }, { platformCode: 1000240002 }],
  ])('when the platform %s', async (_, fault, expected) => {
    await refunds.fault(REFUND_CALL, fault)
    expect(await notSent(send())).toMatchObject(expected)
  })

  test.each([
    ['there is no new one', { httpStatus: 500 }, { operation: 'token/create' }],
    ['the new one is refused, too', {}, { platformCode: 1000210004 }],
  ])('when its token is refused, and %s', async (_, ofToken, expected) => {
    await refunds.refunded() // so there is a token
    await refunds.control('POST', 'faults', { operation: REFUND_CALL, times: 2, code: 1000210004 })
    if (Object.keys(ofToken).length > 0) await refunds.fault('token/create', ofToken)
    const error = await send().catch(failure => failure)
    await refunds.release()
    expect(await notSent(Promise.reject(error))).toMatchObject(expected)
  })

  test('when the order was refunded since the person agreed to what they saw', async () => {
    const agreed = await readRefundedSoFar(refunds.deps, { outer_trade_no: ORDER, enterprise_code: '' }, {})
    const other = `${REQUEST.outerRefundNo}b`
    await send({ outerRefundNo: other, refundAmount: '1.00' })
    const sent = (as: Partial<typeof agreed> = {}) =>
      sendRefund(refunds.deps, REQUEST, { ...ME, agreed: { ...agreed, ...as } })
    for (const seen of [{}, { shown: '1.00' }, { atLeast: '1.00' }])
      await expect(sent(seen)).rejects.toMatchObject({
        code: 'ORDER_CHANGED',
        message: expect.stringContaining(ORDER),
      })
    expect(await refunds.refund()).toBeNull()
    expect(await refunds.refunded()).toBe('1.00')
    expect(await sent({ shown: '1.0', atLeast: '1.00' })).toMatchObject({ state: 'accepted' })
  })

  test('when it is more than is left of the order', async () => {
    await send({ outerRefundNo: `${REQUEST.outerRefundNo}b`, refundAmount: '7.00' })
    const calls = await refunds.calls(REFUND_CALL)
    await expect(send()).rejects.toMatchObject({
      code: 'ORDER_EXCEEDED',
      message: expect.stringMatching(
        /^nothing was sent: 4.00 .* left of order \S+: 7.00 of 10.00 are refunded/,
      ),
    })
    expect(await refunds.calls(REFUND_CALL)).toBe(calls)
    expect(await refunds.refund()).toBeNull()
    expect(await send({ refundAmount: '3.00' })).toMatchObject({ state: 'accepted' })
  })

  test('when it is more than is left, with the enterprise in the command that shows it', async () => {
    const order = { outer_trade_no: ORDER, enterprise_code: '' }
    const soFar = await readRefundedSoFar(refunds.deps, order, {})
    const refusal = (enterprise_code: string) =>
      refusalOfAmount({ ...order, enterprise_code, refund_amount: '11.00' }, soFar)?.message
    expect(refusal('E100')).toContain(`dirsync orders record ${ORDER} --enterprise E100\``)
    expect(refusal('')).toContain(`dirsync orders record ${ORDER}\``)
  })

  test.each<[string, object]>([
    ['shows nothing refunded', { refund_amount: 0, status: 2 }],
    ['does not say what is refunded', { status: 2 }],
  ])('when dirsync itself refunded the order, whose record %s', async (_, shown) => {
    await send({ outerRefundNo: `${REQUEST.outerRefundNo}b`, refundAmount: '10.00' })
    const data = { outer_trade_no: ORDER, pay_amount: '10.00', ...shown }
    await refunds.fault(RECORD_CALL, { body: JSON.stringify({ code: 0, msg: 'OK', data }) })
    const calls = await refunds.calls(REFUND_CALL)
    await expect(send()).rejects.toMatchObject({
      code: 'ORDER_EXCEEDED',
      message: expect.stringMatching(
        /: 10.00 of 10.00 are refunded, counting what dirsync sent within a day/,
      ),
    })
    expect(await refunds.calls(REFUND_CALL)).toBe(calls)
    expect(await refunds.refund()).toBeNull()
  })

  test.each([
    "resolved_by = 'ann', resolution = 'seen'",
    "sent_at = now() - interval '25 hours'",
    "sent_at = now() - interval '25 hours', refunded_before = 10",
  ])('but it is sent where the record alone tells: %s', async set => {
    await send({ outerRefundNo: `${REQUEST.outerRefundNo}b`, refundAmount: '10.00' })
    await refunds.store.rows(`update dirsync.refund set ${set}`)
    const data = { outer_trade_no: ORDER, pay_amount: '10.00', refund_amount: 0, status: 2 }
    await refunds.fault(RECORD_CALL, { body: JSON.stringify({ code: 0, msg: 'OK', data }) })
    const calls = await refunds.calls(REFUND_CALL)
    await send().catch(() => {})
    expect(await refunds.calls(REFUND_CALL)).toBe(calls + 1)
  })

  test('and the audit says so: under its number it has one refund', async () => {
    await refunds.fault(REFUND_CALL, { code: 1000210003 })
    await notSent(send())
    const values = { outer_refund_no: REQUEST.outerRefundNo, outer_trade_no: ORDER, amount: '4.00' }
    const requested_by = expect.stringContaining(ME.actor)
    const commands = 'select name, arguments, requested_by from dirsync.command order by id'
    expect(await refunds.store.rows(commands)).toEqual([
      { name: 'send_refund', arguments: values, requested_by },
      {
        name: 'unsent_refund',
        arguments: { ...values, why: expect.stringContaining('its secret') },
        requested_by,
      },
      { name: 'send_refund', arguments: values, requested_by },
    ])
  })

  test('when it is given up before', async () => {
    await refunds.fault(RECORD_CALL, { hold: true })
    const giveUp = new AbortController()
    const sent = sendRefund(refunds.deps, REQUEST, { ...ME, signal: giveUp.signal })
    await refunds.arrived(sent)
    giveUp.abort()
    expect(await notSent(sent)).toMatchObject({ kind: 'aborted' })
  })

  test('when it waited too long: by then it may have been found not to be carried out', async () => {
    let asleep = 0
    const client = refunds.connect(refunds.url, {
      clock: () => Date.now() + asleep,
      pacer: Object.assign(new LocalPacer(1), {
        // The process stands still between writing the refund down and sending it.
        acquire: async ({ operation }: { operation: string }) => {
          if (operation === REFUND_CALL) asleep = 30_001
        },
      }),
    })
    expect(await notSent(sendRefund({ ...refunds.deps, client }, REQUEST, ME))).toMatchObject({
      kind: 'aborted',
    })
    expect(asleep).toBe(30_001)
    await client.close()
  })
})
