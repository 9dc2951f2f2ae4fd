import { beforeEach, describe, expect, test } from 'vitest'
import {
  listRefunds,
  listTopUps,
  MOST_ENTRIES_COUNTED,
  moneyCounts,
  readRefund,
  readTopUp,
} from '../../src/console/money/read.ts'
import { refundJournal } from '../../src/money/refund.ts'
import { StoreUnderTest } from '../sync/store-under-test.ts'
import { worded } from '../texts/worded.ts'

const store = new StoreUnderTest()

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
    const first = await listRefunds(store.pool, { limit: 3 })
    expect(first.rows.map(row => row.outer_refund_no)).toEqual(['r4', 'r1', 'r3'])
    const rest = await listRefunds(store.pool, { limit: 3, after: first.next ?? undefined })
    expect(rest).toMatchObject({ rows: [{ outer_refund_no: 'r2' }], next: null })
    expect((await listTopUps(store.pool, { limit: 5 })).rows.map(row => row.external_code)).toEqual([
      't2',
      't1',
    ])
  })

  test('of one state come the latest first, page by page', async () => {
    const first = await listRefunds(store.pool, { state: 'unknown', limit: 1 })
    expect(first.rows).toMatchObject([{ outer_refund_no: 'r4', refund_amount: '4.00' }])
    const rest = await listRefunds(store.pool, { state: 'unknown', limit: 1, after: first.next ?? undefined })
    expect(rest).toMatchObject({ rows: [{ outer_refund_no: 'r1' }], next: null })
  })

  test('are listed from a moment on, open ones too', async () => {
    const numbers = async (since: string, state?: 'unknown') =>
      (await listRefunds(store.pool, { since: new Date(since), state, limit: 5 })).rows.map(
        row => row.outer_refund_no,
      )
    expect(await numbers('2026-11-02T10:00Z')).toEqual(['r4', 'r3', 'r2'])
    expect(await numbers('2026-11-02T10:00:01Z')).toEqual(['r4', 'r3'])
    expect(await numbers('2026-11-01T00:00Z', 'unknown')).toEqual(['r4', 'r1'])
    expect(await numbers('2026-11-02T00:00Z', 'unknown')).toEqual(['r4'])
  })

  test('are counted by state', async () => {
    const none = { requested: 0, unknown: 0, accepted: 0, rejected: 0, notified: 0 }
    expect(await moneyCounts(store.pool)).toEqual({
      refunds: { ...none, unknown: 2, accepted: 1, notified: 1 },
      topUps: { ...none, unknown: 1, rejected: 1 },
    })
  })

  test('are counted no further than a person reads', async () => {
    await store.pool.query(
      `insert into dirsync.topup (external_code, account_openid, amount, state, requested_by, settled_at)
       select 'm' || i, 'a1', 1, 'accepted', 'ann', now() from generate_series(0, $1::int + 5) i`,
      [MOST_ENTRIES_COUNTED],
    )
    expect((await moneyCounts(store.pool)).topUps.accepted).toBe(MOST_ENTRIES_COUNTED + 1)
  })

  test('show what happened, and what comes next', async () => {
    expect(await readRefund(store.pool, 'r1')).toMatchObject({
      events: [{ event: 'sent', by: 'ann' }],
      outlook: { next: 'asks', at: new Date('2026-11-01T11:00Z') },
    })
    expect((await readRefund(store.pool, 'r3'))?.events.map(({ event }) => event)).toEqual([
      'sent',
      'settled',
      'notified',
    ])
    expect((await readRefund(store.pool, 'r4'))?.outlook).toEqual({ next: 'person', since: null })
    expect((await readTopUp(store.pool, 't2'))?.outlook).toMatchObject({ next: 'person' })
    expect(await readRefund(store.pool, 'none')).toBeNull()
    await refundJournal.resolve(store.pool, 'r4', 'rejected', 'the vendor says so', { actor: 'console:ann' })
    expect(worded(await readRefund(store.pool, 'r4'))?.events.at(-1)).toMatchObject({
      event: 'resolved',
      by: expect.stringContaining('console:ann'),
      text: 'the vendor says so',
    })
  })
})
