import { describe, expect, test } from 'vitest'
import { refundDetails } from '../../src/console/money/query.ts'
import { contradictionOf } from '../../src/money/journal.ts'
import { readOpenMoney } from '../../src/money/open.ts'
import {
  claimUnknown,
  noteCheck,
  openRefundOf,
  type ReadRefund,
  recordNotification,
  refundJournal,
  storeVerdict,
} from '../../src/money/refund.ts'
import { readHealth } from '../../src/sync/health/health.ts'
import { inWords } from '../../src/texts/message.ts'
import { until } from '../helpers/company.ts'
import { REFUND, sender, writeDown } from '../sync/journal.ts'
import { StoreUnderTest } from '../sync/store-under-test.ts'
import { worded } from '../texts/worded.ts'

const store = new StoreUnderTest()
const R1 = REFUND.outer_refund_no

const UNKNOWN = {
  state: 'unknown',
  platformCode: null,
  message: inWords('no answer in time'),
  traceId: 'trace-1',
} as const
const ACCEPTED = { state: 'accepted', receipt: 'P1' } as const
const REJECTED = {
  state: 'rejected',
  platformCode: 1000229001,
  message: inWords('number exists'),
  traceId: null,
} as const

const NOTIFICATION = {
  outer_refund_no: R1,
  outer_trade_no: REFUND.outer_trade_no,
  refund_amount: '5.00',
  trade_no: 'P1',
}

const stateOf = async (no = R1) => (await refundJournal.read(store.pool, no))?.state
/** Makes every unknown refund due. */
const makeDue = () =>
  store.pool.query(`update dirsync.refund set next_settle_at = now() where next_settle_at is not null`)

describe('the journal', () => {
  test('holds a refund as requested, with who asked', async () => {
    await writeDown(store)
    expect(await refundJournal.read(store.pool, R1)).toMatchObject({
      ...REFUND,
      state: 'requested',
      requested_by: expect.stringMatching(/^\w+ \(cli:tester\)$/),
      sent_at: expect.any(Date),
      settled_at: null,
      next_settle_at: null,
    })
    expect(await refundJournal.read(store.pool, 'app-R2')).toBeNull()
  })

  test('takes a number once, whatever became of it', async () => {
    await writeDown(store)
    for (const answer of [UNKNOWN, REJECTED, ACCEPTED]) {
      await refundJournal.storeAnswer(store.pool, R1, answer)
      await expect(writeDown(store, { outer_trade_no: 'app-T9' })).rejects.toThrow('refused by the journal')
    }
  })

  test('allows one open refund per order, so that the order record can show its outcome', async () => {
    await writeDown(store)
    await expect(writeDown(store, { outer_refund_no: 'app-R2' })).rejects.toThrow('refused by the journal')
    await refundJournal.storeAnswer(store.pool, R1, UNKNOWN)
    await expect(writeDown(store, { outer_refund_no: 'app-R2' })).rejects.toThrow('refused by the journal')
    await refundJournal.storeAnswer(store.pool, R1, ACCEPTED)
    await writeDown(store, { outer_refund_no: 'app-R2' })
  })

  test('forgets what was not sent, and nothing else', async () => {
    await writeDown(store)
    expect(await refundJournal.forget(store.pool, R1)).toBe(true)
    expect(await refundJournal.forget(store.pool, R1)).toBe(false)
    await writeDown(store)
    await refundJournal.storeAnswer(store.pool, R1, ACCEPTED)
    expect(await refundJournal.forget(store.pool, R1)).toBe(false)
    expect(await stateOf()).toBe('accepted')
  })

  test('lists what is open first, then the latest, by state; an order has one open refund', async () => {
    await writeDown(store)
    await refundJournal.storeAnswer(store.pool, R1, ACCEPTED)
    await writeDown(store, { outer_refund_no: 'app-R2' })
    await writeDown(store, { outer_refund_no: 'app-R3', outer_trade_no: 'app-T3' })
    const numbers = async (filter: Omit<Parameters<typeof refundJournal.page>[1], 'limit'>, limit = 10) =>
      (await refundJournal.page(store.pool, { ...filter, limit })).map(refund => refund.outer_refund_no)
    expect(await numbers({})).toEqual(['app-R3', 'app-R2', R1])
    expect(await numbers({}, 1)).toEqual(['app-R3'])
    expect(await numbers({ state: 'requested' })).toEqual(['app-R3', 'app-R2'])
    expect(await openRefundOf(store.pool, 'app-T1')).toMatchObject({ outer_refund_no: 'app-R2' })
    expect(await openRefundOf(store.pool, 'app-T9')).toBeNull()
  })

  test('counts what is open, and since when', async () => {
    expect((await readOpenMoney(store.pool)).refund).toEqual({
      requested: 0,
      unknown: 0,
      for_person: 0,
      oldest: null,
      latest: null,
    })
    await writeDown(store)
    await refundJournal.storeAnswer(store.pool, R1, UNKNOWN)
    await writeDown(store, { outer_refund_no: 'app-R2', outer_trade_no: 'app-T2' })
    // What is in hand is not what is unknown.
    await store.pool.query(
      `update dirsync.refund set sent_at = sent_at - interval '4 minutes' where state = 'requested'`,
    )
    const oldest = (await refundJournal.read(store.pool, R1))?.sent_at
    expect((await readOpenMoney(store.pool)).refund).toEqual({
      requested: 1,
      unknown: 1,
      for_person: 0,
      oldest,
      latest: oldest,
    })
    await storeVerdict(store.pool, R1, 'unknown', inWords('ask'), true)
    expect((await readOpenMoney(store.pool)).refund).toMatchObject({ unknown: 1, for_person: 1 })
  })
})

describe('an answer', () => {
  test('of the platform overrules what the record was taken to show, but not the notification', async () => {
    await writeDown(store)
    await refundJournal.storeAnswer(store.pool, R1, UNKNOWN)
    await storeVerdict(store.pool, R1, 'not_carried_out', inWords('nothing to be seen'))
    await refundJournal.storeAnswer(store.pool, R1, ACCEPTED)
    expect(await refundJournal.read(store.pool, R1)).toMatchObject({
      state: 'accepted',
      trade_no: 'P1',
      message: null,
    })
    await recordNotification(store.pool, NOTIFICATION)
    await refundJournal.storeAnswer(store.pool, R1, REJECTED)
    expect(await stateOf()).toBe('notified')
  })

  test('of the platform that refuses what a person recorded as carried out contradicts it', async () => {
    await writeDown(store)
    await refundJournal.storeAnswer(store.pool, R1, UNKNOWN)
    await refundJournal.resolve(store.pool, R1, 'accepted', 'the vendor says so', { actor: 'cli:li' })
    await refundJournal.storeAnswer(store.pool, R1, REJECTED)
    const refund = await refundJournal.read(store.pool, R1)
    expect(refund).toMatchObject({ state: 'rejected', contradicted_at: expect.any(Date), resolved_by: null })
    expect(worded(refund)?.message).toMatch(/had recorded it as accepted: the vendor says so$/)
    expect(contradictionOf(refund as ReadRefund)).toBe('refused')
    expect((await readHealth(store.pool)).outcomesContradicted).toEqual([
      { kind: 'refund', count: 1, latest: R1, of: REFUND.outer_trade_no, how: 'refused' },
    ])
    expect((await refundDetails(store.pool, refund as ReadRefund)).events.map(({ event }) => event)).toEqual([
      'sent',
      'call_failed',
      'refused_after_all',
    ])
  })

  test('of the platform that contradicts a person is not called their decision', async () => {
    const say = async (state: 'accepted' | 'rejected') => {
      await refundJournal.storeAnswer(store.pool, R1, UNKNOWN)
      await refundJournal.resolve(store.pool, R1, state, 'the vendor says so', { actor: 'cli:li' })
    }
    await writeDown(store)
    await say('rejected')
    await refundJournal.storeAnswer(store.pool, R1, ACCEPTED)
    expect(await refundJournal.read(store.pool, R1)).toMatchObject({
      ...{ state: 'accepted', resolved_by: null, resolution: null },
    })
    expect(worded(await refundJournal.read(store.pool, R1))?.message).toMatch(
      /^li .*had recorded it as rejected: the vendor says so$/,
    )
    await store.clear()
    await writeDown(store)
    await say('accepted')
    await refundJournal.storeAnswer(store.pool, R1, ACCEPTED)
    expect(await refundJournal.read(store.pool, R1)).toMatchObject({
      ...{ state: 'accepted', trade_no: 'P1', resolution: 'the vendor says so' },
    })
  })

  test('that is missing changes nothing that is known', async () => {
    await writeDown(store)
    await recordNotification(store.pool, NOTIFICATION)
    await refundJournal.storeAnswer(store.pool, R1, UNKNOWN)
    expect(await stateOf()).toBe('notified')
  })
})

describe('a refund whose sender ended', () => {
  test('is unknown as soon as its lock is free, and not while the sender lives', async () => {
    await writeDown(store)
    const process = await sender(store, { order: REFUND.outer_trade_no })
    expect(await refundJournal.adopt(store.pool)).toEqual([])
    expect(await stateOf()).toBe('requested')
    await process.dies()
    expect(await refundJournal.adopt(store.pool)).toEqual([R1])
    expect(await refundJournal.read(store.pool, R1)).toMatchObject({
      state: 'unknown',
      next_settle_at: expect.any(Date),
    })
    expect(await refundJournal.adopt(store.pool)).toEqual([])
  })

  test('is adopted by only one of several at the same moment', async () => {
    await writeDown(store)
    const found = await Promise.all([1, 2, 3, 4].map(() => refundJournal.adopt(store.pool)))
    expect(found.flat()).toEqual([R1])
  })
})

describe('an unknown refund', () => {
  test('is asked about by one at a time, and later and later', async () => {
    await writeDown(store)
    await refundJournal.storeAnswer(store.pool, R1, UNKNOWN)
    const claims = await Promise.all([1, 2, 3].map(() => claimUnknown(store.pool, null)))
    expect(claims.filter(claim => claim !== null)).toHaveLength(1)
    const waits: number[] = []
    for (let checks = 1; checks <= 11; checks++) {
      await noteCheck(store.pool, R1, inWords('shown'))
      await makeDue()
      const claim = await claimUnknown(store.pool, null)
      expect(claim?.settle_attempts).toBe(checks)
      waits.push(
        await store.value(
          `select round(extract(epoch from next_settle_at - now()))::int from dirsync.refund`,
        ),
      )
    }
    expect(waits).toEqual([10, 20, 40, 80, 160, 320, 600, 600, 600, 600, 600])
  })

  test('tells its age by the database clock', async () => {
    await writeDown(store)
    await refundJournal.storeAnswer(store.pool, R1, UNKNOWN)
    await store.pool.query(`update dirsync.refund set sent_at = now() - interval '7 minutes'`)
    const claim = await claimUnknown(store.pool, null)
    expect(claim?.age_ms).toBeGreaterThanOrEqual(420_000)
    expect(claim?.age_ms).toBeLessThan(480_000)
  })

  test.each(['*', 'ent'])('is left alone while a halt of %s lasts, unless a person asks', async scope => {
    await writeDown(store, { enterprise_code: 'ent' })
    await refundJournal.storeAnswer(store.pool, R1, UNKNOWN)
    await store.pool.query(
      `insert into dirsync.halt (scope, category, message, remedy, next_probe_at) values ($1, 'credentials', '[]', '[]', now() + interval '1 hour')`,
      [scope],
    )
    expect(await claimUnknown(store.pool, null)).toBeNull()
    expect(await claimUnknown(store.pool, R1)).toMatchObject({ outer_refund_no: R1 })
  })

  test('is not looked up if earlier refunds are unknown', async () => {
    await writeDown(store, { refunded_before: null })
    await refundJournal.storeAnswer(store.pool, R1, UNKNOWN)
    expect(await claimUnknown(store.pool, null)).toBeNull()
    expect(await refundJournal.read(store.pool, R1)).toMatchObject({ state: 'unknown', next_settle_at: null })
  })

  test.each([
    ['carried_out', 'accepted'],
    ['not_carried_out', 'rejected'],
  ] as const)('that was %s is %s', async (verdict, state) => {
    await writeDown(store)
    await refundJournal.storeAnswer(store.pool, R1, UNKNOWN)
    await storeVerdict(store.pool, R1, verdict, inWords('shown'))
    expect(await refundJournal.read(store.pool, R1)).toMatchObject({
      state,
      message: inWords('shown'),
      settled_at: expect.any(Date),
      next_settle_at: null,
    })
  })

  test('whose record tells nothing keeps its next time', async () => {
    await writeDown(store)
    await refundJournal.storeAnswer(store.pool, R1, UNKNOWN)
    await claimUnknown(store.pool, null)
    await storeVerdict(store.pool, R1, 'unknown', inWords('not yet'))
    expect(await refundJournal.read(store.pool, R1)).toMatchObject({
      state: 'unknown',
      message: inWords('not yet'),
      settled_at: null,
      next_settle_at: expect.any(Date),
    })
  })

  test('that became known otherwise keeps what is known', async () => {
    await writeDown(store)
    await refundJournal.storeAnswer(store.pool, R1, ACCEPTED)
    await storeVerdict(store.pool, R1, 'not_carried_out', inWords('too late'))
    expect(await stateOf()).toBe('accepted')
  })
})

describe('a notification', () => {
  test.each([undefined, UNKNOWN, ACCEPTED, REJECTED])('is stored whatever was known (%j)', async answer => {
    await writeDown(store)
    if (answer) await refundJournal.storeAnswer(store.pool, R1, answer)
    expect(await recordNotification(store.pool, NOTIFICATION)).toBe('stored')
    expect(await refundJournal.read(store.pool, R1)).toMatchObject({
      state: 'notified',
      trade_no: 'P1',
      notified_at: expect.any(Date),
      settled_at: expect.any(Date),
      next_settle_at: null,
    })
  })

  test('that comes before the answer keeps its state when the answer comes', async () => {
    await writeDown(store)
    await recordNotification(store.pool, { ...NOTIFICATION, trade_no: 'P0' })
    await refundJournal.storeAnswer(store.pool, R1, ACCEPTED)
    expect(await refundJournal.read(store.pool, R1)).toMatchObject({ state: 'notified', trade_no: 'P1' })
  })

  test('keeps its trade number when an answer without one comes late', async () => {
    await writeDown(store)
    await recordNotification(store.pool, NOTIFICATION)
    await refundJournal.storeAnswer(store.pool, R1, { ...ACCEPTED, receipt: '' })
    expect(await refundJournal.read(store.pool, R1)).toMatchObject({ state: 'notified', trade_no: 'P1' })
  })

  test('that is repeated has no effect, also at the same moment', async () => {
    await writeDown(store)
    const results = await Promise.all([1, 2, 3].map(() => recordNotification(store.pool, NOTIFICATION)))
    expect(results.sort()).toEqual(['repeated', 'repeated', 'stored'])
    const before = await store.contents()
    expect(await recordNotification(store.pool, NOTIFICATION)).toBe('repeated')
    expect(await store.contents()).toEqual(before)
  })

  test('of a refund that is forgotten at this moment is not answered as stored', async () => {
    await writeDown(store)
    const client = await store.pool.connect()
    await client.query('begin')
    await client.query('delete from dirsync.refund')
    const recorded = recordNotification(store.pool, NOTIFICATION)
    const isWaiting = () =>
      store.value<boolean>(`select exists (select from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' and query ~ 'update dirsync.refund')`)
    await until(isWaiting)
    await client.query('commit')
    client.release()
    expect(await recorded).toBe('unknown')
  })

  test('means the amount, not its spelling', async () => {
    await writeDown(store)
    expect(await recordNotification(store.pool, { ...NOTIFICATION, refund_amount: '5' })).toBe('stored')
  })

  test.each([
    [{ outer_refund_no: 'app-R2' }, 'unknown'],
    [{ outer_refund_no: "'; drop table dirsync.refund" }, 'unknown'],
    [{ outer_trade_no: 'app-T2' }, 'mismatch'],
    [{ refund_amount: '5.01' }, 'mismatch'],
    [{ refund_amount: '' }, 'mismatch'],
    [{ refund_amount: 'NaN' }, 'mismatch'],
    [{ refund_amount: `5${'0'.repeat(5000)}` }, 'mismatch'],
  ])('of something else (%j) is %s and changes nothing, but is written down', async (over, expected) => {
    await writeDown(store)
    const { refused_notification: none, ...before } = await store.contents()
    expect(none).toEqual([])
    expect(await recordNotification(store.pool, { ...NOTIFICATION, ...over })).toBe(expected)
    const { refused_notification: refused, ...after } = await store.contents()
    expect(after).toEqual(before)
    const { outer_refund_no } = { ...NOTIFICATION, ...over }
    expect(refused).toEqual([expect.objectContaining({ outer_refund_no, reason: expected, times: 1 })])
  })
})

describe('failed_syncs', () => {
  const failed = () =>
    store.rows(
      `select id, enterprise_code, entity, entity_key, operation, field, category, platform_code::int, message, remedy, state,
              next_retry_at
       from dirsync.failed_syncs`,
    )

  test('shows an unknown refund, without a number to retry or ignore it by', async () => {
    await writeDown(store, { enterprise_code: 'ent' })
    expect(await failed()).toEqual([])
    await refundJournal.storeAnswer(store.pool, R1, { ...UNKNOWN, platformCode: 1000999999 })
    expect(worded(await failed())).toEqual([
      {
        id: null,
        enterprise_code: 'ent',
        entity: 'refund',
        entity_key: R1,
        operation: 'send-refund',
        field: null,
        category: 'outcome_unknown',
        platform_code: 1000999999,
        message: 'no answer in time',
        remedy: `Nothing for now: unless calls are paused or halted, a running worker asks the order record. To ask at once: \`dirsync refund settle ${R1}\``,
        state: 'retry_scheduled',
        next_retry_at: expect.any(Date),
      },
    ])
    for (const call of ['retry(id)', `ignore(id, 'r')`])
      await expect(store.rows(`select dirsync.${call} from dirsync.failed_syncs`)).rejects.toThrow(
        /no .*case/,
      )
  })

  test('shows one that waits for a person as open, until it is settled', async () => {
    await writeDown(store)
    await refundJournal.storeAnswer(store.pool, R1, UNKNOWN)
    await storeVerdict(store.pool, R1, 'unknown', inWords('ask'), true)
    expect(worded(await failed())).toMatchObject([
      {
        state: 'open',
        message: 'ask',
        remedy: expect.stringContaining(`dirsync refund resolve ${R1} --as accepted`),
      },
    ])
    await storeVerdict(store.pool, R1, 'unknown', inWords('not yet'))
    expect(await failed()).toMatchObject([{ state: 'retry_scheduled' }])
    await refundJournal.resolve(store.pool, R1, 'accepted', 'seen', { actor: 'cli:tester' })
    expect(await failed()).toEqual([])
  })

  test('shows one that the order record can never tell as open at once', async () => {
    await writeDown(store, { refunded_before: null })
    await refundJournal.storeAnswer(store.pool, R1, UNKNOWN)
    expect(await failed()).toMatchObject([{ state: 'open', next_retry_at: null }])
  })

  test('shows what waits for a person first', async () => {
    await writeDown(store)
    await refundJournal.storeAnswer(store.pool, R1, UNKNOWN)
    await writeDown(store, { outer_refund_no: 'app-R0', outer_trade_no: 'app-T0', refunded_before: null })
    await refundJournal.storeAnswer(store.pool, 'app-R0', UNKNOWN)
    expect((await failed()).map(row => row.entity_key)).toEqual(['app-R0', R1])
  })
})

describe("a person's word", () => {
  test('settles an unknown refund, with a reason and a name, and is written down', async () => {
    await writeDown(store)
    await refundJournal.storeAnswer(store.pool, R1, UNKNOWN)
    const refund = await refundJournal.resolve(store.pool, R1, 'rejected', 'not in the back office', {
      actor: 'cli:tester',
    })
    expect(refund).toMatchObject({
      state: 'rejected',
      resolution: 'not in the back office',
      resolved_by: expect.stringMatching(/ \(cli:tester\)$/),
      settled_at: expect.any(Date),
      next_settle_at: null,
    })
    expect(await store.rows('select name, arguments, requested_by from dirsync.command')).toEqual([
      {
        name: 'resolve_refund',
        arguments: { outer_refund_no: R1, state: 'rejected', reason: 'not in the back office' },
        requested_by: refund.resolved_by,
      },
    ])
  })

  test('settles one whose sender died, without waiting for the service to notice', async () => {
    await writeDown(store)
    expect(
      await refundJournal.resolve(store.pool, R1, 'accepted', 'seen', { actor: 'cli:tester' }),
    ).toMatchObject({
      state: 'accepted',
    })
  })

  test.each([
    [async () => {}, 'NOT_FOUND', 'there is no refund app-R1'],
    [
      async () => {
        await writeDown(store)
        await sender(store, { order: REFUND.outer_trade_no })
      },
      'NOT_UNKNOWN',
      'refund app-R1 is being sent at this moment: look again in a minute',
    ],
    [
      async () => {
        await writeDown(store)
        await refundJournal.storeAnswer(store.pool, R1, ACCEPTED)
      },
      'NOT_UNKNOWN',
      'refund app-R1 is accepted: a person decides only where the outcome is unknown, or nothing shows a day later that an accepted one is completed',
    ],
  ])('is refused where there is nothing to decide', async (prepare, code, message) => {
    await prepare()
    await expect(
      refundJournal.resolve(store.pool, R1, 'rejected', 'r', { actor: 'cli:tester' }),
    ).rejects.toMatchObject({
      name: 'JournalError',
      code,
      message,
    })
    expect(await store.rows('select from dirsync.command')).toEqual([])
  })
})
