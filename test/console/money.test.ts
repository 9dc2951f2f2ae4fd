import { beforeEach, describe, expect, test } from 'vitest'
import type { z } from 'zod'
import {
  entryNumber,
  MOST_ENTRIES_COUNTED,
  MoneyInput,
  moneyCounts,
  readMoney,
  refundDetails,
  topUpDetails,
} from '../../src/console/money/query.ts'
import { recordNotification, refundJournal } from '../../src/money/refund.ts'
import { topUpJournal } from '../../src/money/top-up.ts'
import { message, toStore } from '../../src/texts/message.ts'
import { translator } from '../../src/texts/texts.ts'
import { REFUND, senderAt, TOP_UP, writeDown, writeTopUpDown } from '../sync/journal.ts'
import { SILENT, StoreUnderTest } from '../sync/store-under-test.ts'
import { worded } from '../texts/worded.ts'

const store = new StoreUnderTest()

const list = (input: z.input<typeof MoneyInput>) =>
  readMoney(
    { pool: store.pool, logger: SILENT },
    { zone: 'UTC', t: translator('en'), now: new Date() },
    MoneyInput.parse(input),
  )
const numbersOf = async (input: z.input<typeof MoneyInput>) => (await list(input)).items.map(entryNumber)

const refund = async (number: string) => {
  const row = await refundJournal.read(store.pool, number)
  return row && refundDetails(store.pool, row)
}

beforeEach(async () => {
  await store.pool.query(`
    insert into dirsync.refund (outer_refund_no, outer_trade_no, refund_amount, state, requested_by, sent_at, settled_at, notified_at, next_settle_at)
      values ('r1', 'o1', 1.50, 'unknown', 'ann', '2026-11-01T10:00Z', null, null, '2026-11-01T11:00Z'),
             ('r2', 'o2', 2, 'accepted', 'ann', '2026-11-02T10:00Z', '2026-11-02T10:01Z', null, null),
             ('r3', 'o3', 3, 'notified', 'ann', '2026-11-03T10:00Z', '2026-11-03T10:01Z', '2026-11-03T10:02Z', null),
             ('r4', 'o4', 4, 'unknown', 'ann', '2026-11-04T10:00Z', null, null, null);
    insert into dirsync.topup (external_code, account_openid, amount, state, requested_by, sent_at, settled_at)
      values ('t1', 'a1', 10, 'rejected', 'ann', '2026-11-02T10:00Z', '2026-11-02T10:01Z'),
             ('t2', 'a1', 10, 'unknown', 'ann', '2026-11-01T10:00Z', null)`)
})

describe('refunds and top-ups', () => {
  test('whose outcome is open come first, page by page', async () => {
    const first = await list({ limit: 3 })
    expect(first.items.map(entryNumber)).toEqual(['r4', 'r1', 'r3'])
    const rest = await list({ limit: 3, cursor: first.next ?? undefined })
    expect(rest).toMatchObject({ items: [{ outer_refund_no: 'r2' }], next: null })
    expect(await numbersOf({ kind: 'topups' })).toEqual(['t2', 't1'])
  })

  test('whose outcome is open are all on the next page, although that of the last one became known', async () => {
    const { next } = await list({ limit: 1 })
    await refundJournal.storeAnswer(store.pool, 'r4', { state: 'accepted', receipt: 'p4' })
    const rest = await list({ limit: 2, cursor: next ?? undefined })
    expect(rest.items.map(entryNumber)).toEqual(['r1', 'r4'])
  })

  test('of one state come the latest first, page by page', async () => {
    const first = await list({ state: 'unknown', limit: 1 })
    expect(first.items).toMatchObject([{ outer_refund_no: 'r4', refund_amount: '4.00' }])
    const rest = await list({ state: 'unknown', limit: 1, cursor: first.next ?? undefined })
    expect(rest).toMatchObject({ items: [{ outer_refund_no: 'r1' }], next: null })
  })

  test('are in the unit that their order was paid in, as far as the mirror knows', async () => {
    await store.pool.query(`
      insert into dirsync.payment_order (trade_no, out_trade_no, asset_code)
        values ('1', 'o1', 'POINT'), ('2', 'o2', 'POINT'), ('3', 'o2', 'CASH')`)
    const { items } = await list({})
    const assets = items.map(item => 'outer_refund_no' in item && [item.outer_refund_no, item.asset_code])
    expect(Object.fromEntries(assets.filter(asset => asset !== false))).toEqual({
      ...{ r1: 'POINT', r2: null, r3: null, r4: null },
    })
    expect(await refund('r1')).toMatchObject({ asset_code: 'POINT' })
    const settled = await refundJournal.resolve(store.pool, 'r1', 'rejected', 'so it is', { actor: 'a test' })
    expect(settled).toMatchObject({ asset_code: 'POINT' })
  })

  test('are listed from a moment on, open ones too, or by their number', async () => {
    expect(await numbersOf({ since: '2026-11-02T10:00Z' })).toEqual(['r4', 'r3', 'r2'])
    expect(await numbersOf({ since: '2026-11-02T10:00:01Z' })).toEqual(['r4', 'r3'])
    expect(await numbersOf({ since: '2026-11-01T00:00Z', state: 'unknown' })).toEqual(['r4', 'r1'])
    expect(await numbersOf({ since: '2026-11-02T00:00Z', state: 'unknown' })).toEqual(['r4'])
    expect(await numbersOf({ number: 'r3' })).toEqual(['r3'])
    expect(await numbersOf({ number: 'r3', state: 'unknown' })).toEqual([])
    expect(await numbersOf({ number: 'r' })).toEqual([])
  })

  test('that nothing shows as completed a day later are listed by themselves', async () => {
    expect(await numbersOf({ unshown: 'true' })).toEqual(['r2'])
    expect(await numbersOf({ unshown: 'true', state: 'unknown' })).toEqual([])
    expect(await numbersOf({ unshown: 'true', kind: 'topups' })).toEqual([])
    await store.pool.query(`update dirsync.refund set sent_at = now() where outer_refund_no = 'r2'`)
    expect(await numbersOf({ unshown: 'true' })).toEqual([])
  })

  test('are listed by their order or account and by the platform’s number, too', async () => {
    await store.pool.query(`
      update dirsync.refund set trade_no = 'p3' where outer_refund_no = 'r3';
      update dirsync.topup set apply_charge_openid = 'c1' where external_code = 't1'`)
    expect(await numbersOf({ number: 'p3' })).toEqual(['r3'])
    expect(await numbersOf({ number: 'c1', kind: 'topups' })).toEqual(['t1'])
    expect(await numbersOf({ number: 'o3' })).toEqual(['r3'])
    expect(await numbersOf({ number: 'o3', state: 'unknown' })).toEqual([])
    expect(await numbersOf({ number: 'a1', kind: 'topups' })).toEqual(['t2', 't1'])
  })

  test('whose sender has died are unknown, though no worker runs', async () => {
    await writeDown(store)
    await writeTopUpDown(store)
    const ends = [
      await senderAt(store.url, { order: REFUND.outer_trade_no }),
      await senderAt(store.url, { topUp: TOP_UP.external_code }),
    ]
    const counts = async () => (await list({ kind: 'topups' })).counts
    expect(await counts()).toMatchObject({
      refunds: { requested: 1, unknown: 2 },
      topups: { requested: 1, unknown: 1 },
    })
    for (const end of ends) await end()
    await store.unlocked()
    expect(await counts()).toMatchObject({
      refunds: { requested: 0, unknown: 3 },
      topups: { requested: 0, unknown: 2 },
    })
  })

  test('are counted by state', async () => {
    const none = { requested: 0, unknown: 0, accepted: 0, rejected: 0, notified: 0 }
    expect(await moneyCounts(store.pool)).toEqual({
      refunds: { ...none, unknown: 2, accepted: 1, notified: 1 },
      topups: { ...none, unknown: 1, rejected: 1 },
    })
  })

  test('are counted no further than a person reads', async () => {
    await store.pool.query(
      `insert into dirsync.topup (external_code, account_openid, amount, state, requested_by, settled_at)
       select 'm' || i, 'a1', 1, 'accepted', 'ann', now() from generate_series(0, $1::int + 5) i`,
      [MOST_ENTRIES_COUNTED],
    )
    expect((await moneyCounts(store.pool)).topups.accepted).toBe(MOST_ENTRIES_COUNTED + 1)
  })

  test('show what happened, and what comes next', async () => {
    expect(await refund('r1')).toMatchObject({
      events: [{ event: 'sent', by: 'ann' }],
      outlook: { next: 'asks', at: new Date('2026-11-01T11:00Z') },
    })
    await store.pool.query(
      `insert into dirsync.halt (scope, category, message, remedy) values ('*', 'paused', '[]', '[]')`,
    )
    expect((await refund('r1'))?.outlook).toEqual({ next: 'held' })
    await store.pool.query('delete from dirsync.halt')
    expect((await refund('r3'))?.events.map(({ event }) => event)).toEqual(['sent', 'settled', 'notified'])
    expect((await refund('r4'))?.outlook).toEqual({ next: 'person', since: null })
    // The doubt that a notification has ended is no outcome.
    await store.pool.query(`update dirsync.refund set message = $1 where outer_refund_no = 'r1'`, [
      toStore(message('said.sender_ended')),
    ])
    const notification = {
      outer_refund_no: 'r1',
      outer_trade_no: 'o1',
      refund_amount: '1.50',
      trade_no: 'p1',
    }
    await recordNotification(store.pool, notification)
    expect(await refund('r1')).toMatchObject({
      events: [{ event: 'sent' }, { event: 'notified', text: null }],
    })
    const [topUp] = await topUpJournal.page(store.pool, { number: 't2', limit: 1 })
    expect(topUp && topUpDetails(topUp).outlook).toMatchObject({ next: 'person' })
    await refundJournal.resolve(store.pool, 'r4', 'rejected', 'the vendor says so', { actor: 'console:ann' })
    expect(worded(await refund('r4'))?.events.at(-1)).toMatchObject({
      event: 'resolved',
      by: expect.stringContaining('console:ann'),
      text: 'the vendor says so',
    })
  })

  test('that were recorded as not carried out and were carried out after all have no outcome that became known then', async () => {
    const { pool } = store
    await pool.query(
      `update dirsync.refund set state = 'rejected', settled_at = '2026-11-01T12:00Z' where outer_refund_no = 'r1'`,
    )
    const notified = { outer_refund_no: 'r1', outer_trade_no: 'o1', refund_amount: '1.50', trade_no: 'p1' }
    await recordNotification(pool, notified)
    const events = async (number: string) => (await refund(number))?.events.map(({ event }) => event)
    expect(await events('r1')).toEqual(['sent', 'called_refused', 'notified'])
    await topUpJournal.storeAnswer(pool, 't1', { state: 'accepted', receipt: 'p2' })
    const [topUp] = await topUpJournal.page(pool, { number: 't1', limit: 1 })
    expect(topUp && topUpDetails(topUp).events).toMatchObject([{ event: 'sent' }, { event: 'after_all' }])
  })
})
