import { pino } from 'pino'
import { describe, expect, test } from 'vitest'
import { databaseTime } from '../../src/lib/database.ts'
import { sendTopUp } from '../../src/money/send.ts'
import { topUpJournal } from '../../src/money/top-up.ts'
import { MemoryTokenStore, type TokenStore } from '../../src/platform/token.ts'
import { sender } from '../sync/journal.ts'
import { worded } from '../texts/worded.ts'
import { APP_ID, APPLICATION, RefundsUnderTest, TOP_UP_CALL } from './refunds-under-test.ts'

const refunds = new RefundsUnderTest()
const CODE = APPLICATION.external_code

const send = (over: Partial<typeof APPLICATION> = {}, althoughOpen: string[] = [], agreedAt?: Date) =>
  sendTopUp(refunds.deps, { ...APPLICATION, ...over }, { actor: 'cli:tester', althoughOpen, agreedAt })
const read = () => topUpJournal.read(refunds.store.pool, CODE)

describe('a top-up application', () => {
  test('is recorded, sent once and accepted; the journal names no person', async () => {
    const outcome = await send()
    expect(outcome).toMatchObject({ number: CODE, state: 'accepted', message: null })
    expect(outcome.receipt).not.toBe('')
    const topUp = await read()
    expect(topUp).toMatchObject({
      account_openid: APPLICATION.account_openid,
      amount: '250.00',
      state: 'accepted',
      apply_charge_openid: outcome.receipt,
    })
    expect(JSON.stringify(topUp)).not.toContain(APPLICATION.mobile)
    await expect(send()).rejects.toMatchObject({ code: 'ALREADY_SENT' })
    expect(await refunds.calls(TOP_UP_CALL)).toBe(1)
  })

  test('is in the audit, with who asked for it', async () => {
    await send()
    expect(await refunds.store.rows('select name, arguments, requested_by from dirsync.command')).toEqual([
      {
        name: 'send_topup',
        arguments: { external_code: CODE, account_openid: APPLICATION.account_openid, amount: '250.00' },
        requested_by: (await read())?.requested_by,
      },
    ])
  })

  test('that the platform refuses is rejected', async () => {
    await refunds.fault(TOP_UP_CALL, { code: 1000220002, message: 'wrong mobile 13900000001' })
    expect(worded(await send())).toMatchObject({
      state: 'rejected',
      platformCode: 1000220002,
      message: 'wrong mobile 13***',
    })
    expect(await read()).toMatchObject({ state: 'rejected', platform_code: 1000220002 })
  })

  test('whose code is not listed as a refusal of top-ups is unknown, and is not sent again', async () => {
    await refunds.fault(TOP_UP_CALL, { code: 1000999999, message: 'system busy' })
    expect(await send()).toMatchObject({ state: 'unknown', platformCode: 1000999999 })
    expect(await read()).toMatchObject({ state: 'unknown', platform_code: 1000999999, settled_at: null })
    await expect(send()).rejects.toMatchObject({ code: 'ALREADY_SENT' })
    expect(await refunds.calls(TOP_UP_CALL)).toBe(1)
  })

  test('whose answer is about another one is unknown, and is not sent again', async () => {
    const data = { apply_charge_openid: 'another', external_code: `${APPLICATION.external_code}2` }
    await refunds.fault(TOP_UP_CALL, { body: JSON.stringify({ code: 0, msg: 'OK', data }) })
    expect(await send()).toMatchObject({ state: 'unknown' })
    expect(await read()).toMatchObject({ state: 'unknown', apply_charge_openid: null })
    await expect(send()).rejects.toMatchObject({ code: 'ALREADY_SENT' })
  })

  test('whose answer is lost is unknown, and is not sent again', async () => {
    await refunds.fault(TOP_UP_CALL, { loseAnswer: true })
    expect(worded(await send())).toMatchObject({
      state: 'unknown',
      message: expect.stringContaining('unknown'),
    })
    expect(await read()).toMatchObject({ state: 'unknown', settled_at: null })
    await expect(send()).rejects.toMatchObject({ code: 'ALREADY_SENT' })
    expect(await refunds.calls(TOP_UP_CALL)).toBe(1)
  })

  test('that a fail-over of the database lost is written down again with its answer', async () => {
    await refunds.fault(TOP_UP_CALL, { hold: true })
    const sent = send()
    await refunds.arrived(sent)
    await refunds.store.pool.query('delete from dirsync.topup')
    await refunds.release()
    expect(await sent).toMatchObject({ state: 'accepted' })
    expect(await read()).toMatchObject({ state: 'accepted', amount: '250.00' })
  })

  test('is sent by one of many who try at the same moment', async () => {
    const tries = [1, 2, 3, 4].map(() =>
      send().then(
        ({ state }) => state,
        error => error.code,
      ),
    )
    const results = await Promise.all(tries)
    expect(results.sort()).toEqual(['ALREADY_SENT', 'ALREADY_SENT', 'ALREADY_SENT', 'accepted'])
    expect(await refunds.calls(TOP_UP_CALL)).toBe(1)
  })

  test('is refused under a number that was used, with what became of it', async () => {
    await send()
    await expect(send({ account_openid: 'another-account', amount: '1.00' })).rejects.toMatchObject({
      code: 'ALREADY_SENT',
      message: expect.stringMatching(/250\.00 .*points-account.* accepted/),
    })
  })

  test('is not sent while another process sends it', async () => {
    await sender(refunds.store, { topUp: CODE })
    await expect(send()).rejects.toMatchObject({
      code: 'ALREADY_SENT',
      message: expect.stringMatching(
        new RegExp(`^top-up ${CODE}, or another .* is being sent at this moment$`),
      ),
    })
  })

  test.each([
    ['breaks a rule', { amount: '0' }, {}, { kind: 'invalid_request' }],
    [
      'comes at a moment when the platform asks to wait',
      {},
      { httpStatus: 429, retryAfter: 0 },
      { kind: 'http' },
    ],
  ])('that %s is not sent, and its number stays free', async (_, over, fault, expected) => {
    if (Object.keys(fault).length > 0) await refunds.fault(TOP_UP_CALL, fault)
    await expect(send(over)).rejects.toMatchObject(expected)
    expect(await read()).toBeNull()
    expect(await send()).toMatchObject({ state: 'accepted' })
  })

  test('that is turned away with its application is not sent, and the audit says so', async () => {
    await refunds.fault(TOP_UP_CALL, { code: 1000210003 })
    await expect(send()).rejects.toMatchObject({ platformCode: 1000210003 })
    expect(await refunds.store.rows('select name, arguments from dirsync.command order by id')).toMatchObject(
      [
        { name: 'send_topup' },
        {
          name: 'unsent_topup',
          arguments: { external_code: CODE, amount: '250.00', why: expect.stringContaining('its secret') },
        },
      ],
    )
  })
})

describe('the store of the token fails', () => {
  const AWAY = new Error('database away')
  const sendWith = async (store: TokenStore) => {
    await using client = refunds.connect(refunds.url, { tokenStore: store })
    const log: string[] = []
    const logger = pino(
      { serializers: { error: pino.stdSerializers.err } },
      { write: line => void log.push(line) },
    )
    const deps = { ...refunds.deps, client, logger }
    await expect(
      sendTopUp(deps, APPLICATION, { actor: 'cli:tester', althoughOpen: [] }),
    ).rejects.toMatchObject({ kind: 'aborted', operation: TOP_UP_CALL, cause: AWAY })
    expect(await read()).toBeNull()
    expect(log.join()).toContain('database away')
  }

  test('before a top-up is sent: its number stays free', async () => {
    await sendWith(Object.assign(new MemoryTokenStore(), { read: () => Promise.reject(AWAY) }))
    expect(await refunds.calls(TOP_UP_CALL)).toBe(0)
    expect(await send()).toMatchObject({ state: 'accepted' })
  })

  test('after the platform refused the token of a top-up: its number stays free', async () => {
    await refunds.fault(TOP_UP_CALL, { code: 1000210004 })
    await sendWith(Object.assign(new MemoryTokenStore(), { drop: () => Promise.reject(AWAY) }))
    expect(await refunds.calls(TOP_UP_CALL)).toBe(1)
    expect(await send()).toMatchObject({ state: 'accepted' })
  })
})

describe('an account', () => {
  const second = { external_code: `${APP_ID}-topup-00000000002` }
  const third = { external_code: `${APP_ID}-topup-00000000003` }

  test('has no other top-up while the outcome of one is unknown, unless it is named', async () => {
    await refunds.fault(TOP_UP_CALL, { loseAnswer: true })
    await send()
    await expect(send(second)).rejects.toMatchObject({
      name: 'JournalError',
      code: 'ACCOUNT_BUSY',
      message: expect.stringContaining(`top-up ${CODE} (250.00) of the same account is open (unknown)`),
    })
    await expect(send(second, [third.external_code])).rejects.toMatchObject({ code: 'ACCOUNT_BUSY' })
    expect(await topUpJournal.read(refunds.store.pool, second.external_code)).toBeNull()
    expect(await refunds.calls(TOP_UP_CALL)).toBe(1)

    expect(await send(second, [CODE])).toMatchObject({ state: 'accepted' })
    expect(await topUpJournal.read(refunds.store.pool, second.external_code)).toMatchObject({
      although_open: [CODE],
    })
  })

  test('is not sent despite one that is not an open one of its account', async () => {
    const OTHER = { external_code: `${CODE}b` }
    await send()
    for (const named of ['nonsense', CODE])
      await expect(send(OTHER, [named])).rejects.toMatchObject({
        code: 'NAMED_NOT_OPEN',
        message: expect.stringContaining(`${named} is not an open top-up of account`),
      })
    expect(await refunds.calls(TOP_UP_CALL)).toBe(1)
    expect(await topUpJournal.read(refunds.store.pool, OTHER.external_code)).toBeNull()
  })

  test('has no other top-up while one is in hand', async () => {
    await refunds.fault(TOP_UP_CALL, { hold: true })
    const sent = send()
    await refunds.arrived(sent)
    await expect(send(second)).rejects.toMatchObject({
      code: 'ACCOUNT_BUSY',
      message: expect.stringContaining('is open (requested)'),
    })
    await refunds.release()
    expect(await sent).toMatchObject({ state: 'accepted' })
    expect(await send(second)).toMatchObject({ state: 'accepted' })
  })

  test('is not topped up again by a person who was asked while one was in hand that is accepted since', async () => {
    await refunds.fault(TOP_UP_CALL, { hold: true })
    const sent = send()
    await refunds.arrived(sent)
    const agreedAt = await databaseTime(refunds.store.pool)
    await refunds.release()
    expect(await sent).toMatchObject({ state: 'accepted' })
    await expect(send(second, [], agreedAt)).rejects.toMatchObject({
      code: 'ACCOUNT_CHANGED',
      message: expect.stringContaining(`top-up ${CODE} (250.00) of the same account was accepted`),
    })
    expect(await refunds.calls(TOP_UP_CALL)).toBe(1)
    expect(await send(second, [CODE], agreedAt)).toMatchObject({ state: 'accepted' })
  })

  test.each([
    ['accepted', { code: 'ACCOUNT_CHANGED' }],
    ['rejected', { state: 'accepted' }],
  ] as const)(
    'of which an unknown one is resolved as %s while a person is asked',
    async (state, expected) => {
      await refunds.fault(TOP_UP_CALL, { loseAnswer: true })
      await send()
      const agreedAt = await databaseTime(refunds.store.pool)
      await topUpJournal.resolve(refunds.store.pool, CODE, state, 'the vendor says so', { actor: 'cli:li' })
      expect(await send(second, [], agreedAt).catch(error => error)).toMatchObject(expected)
    },
  )

  test('needs every open one named', async () => {
    await refunds.fault(TOP_UP_CALL, { loseAnswer: true })
    await send()
    await refunds.fault(TOP_UP_CALL, { loseAnswer: true })
    expect(await send(second, [CODE])).toMatchObject({ state: 'unknown' })
    await expect(send(third, [CODE])).rejects.toMatchObject({
      message: expect.stringContaining(`top-up ${second.external_code} `),
    })
    expect(await send(third, [CODE, second.external_code])).toMatchObject({ state: 'accepted' })
  })

  test('is topped up only once by many at the same moment, each with a number of its own', async () => {
    await refunds.control('POST', 'faults', { operation: TOP_UP_CALL, loseAnswer: true })
    const tries = Array.from({ length: 8 }, (_, i) =>
      send({ external_code: `${APP_ID}-topup-1000000000${i}` }).then(
        ({ state }) => state,
        error => error.code,
      ),
    )
    const results = await Promise.all(tries)
    expect(results.sort()).toEqual([...Array(7).fill('ACCOUNT_BUSY'), 'unknown'])
    expect(await refunds.calls(TOP_UP_CALL)).toBe(1)
  })

  test('that was topped up does not stand in the way of another, nor of the next top-up', async () => {
    await send()
    expect(await send(second)).toMatchObject({ state: 'accepted' })
    await refunds.fault(TOP_UP_CALL, { loseAnswer: true })
    await send(third)
    await refunds.control('POST', 'accounts', [{ account_openid: 'other-account', name: 'other' }])
    const other = { account_openid: 'other-account', external_code: `${APP_ID}-topup-00000000004` }
    expect(await send(other)).toMatchObject({ state: 'accepted' })
  })
})
