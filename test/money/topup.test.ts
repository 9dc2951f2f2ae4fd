import { describe, expect, test } from 'vitest'
import { adoptMoney, readOpenMoney } from '../../src/money/open.ts'
import { refusalOfTopUp } from '../../src/money/send.ts'
import { topUpJournal } from '../../src/money/top-up.ts'
import { inWords } from '../../src/texts/message.ts'
import { sender, TOP_UP, writeTopUpDown } from '../sync/journal.ts'
import { SILENT, StoreUnderTest } from '../sync/store-under-test.ts'
import { worded } from '../texts/worded.ts'

const store = new StoreUnderTest()
const CODE = TOP_UP.external_code

const UNKNOWN = {
  state: 'unknown',
  platformCode: null,
  message: inWords('no answer in time'),
  traceId: null,
} as const

describe('the journal of top-ups', () => {
  test('takes a number once, whatever became of it', async () => {
    expect(await writeTopUpDown(store)).toBe(true)
    expect(await topUpJournal.read(store.pool, CODE)).toMatchObject({ ...TOP_UP, state: 'requested' })
    for (const answer of [
      UNKNOWN,
      { state: 'rejected', platformCode: 1000220002, message: inWords('wrong'), traceId: 't' },
      { state: 'accepted', receipt: 'A1' },
    ] as const) {
      await topUpJournal.storeAnswer(store.pool, CODE, answer)
      expect(await writeTopUpDown(store)).toBe(false)
    }
    expect(await topUpJournal.read(store.pool, CODE)).toMatchObject({
      state: 'accepted',
      apply_charge_openid: 'A1',
      platform_code: null,
      message: null,
    })
  })

  test('forgets what was not sent, and nothing else', async () => {
    await writeTopUpDown(store)
    await topUpJournal.forget(store.pool, CODE)
    expect(await writeTopUpDown(store)).toBe(true)
    await topUpJournal.storeAnswer(store.pool, CODE, { state: 'accepted', receipt: 'A1' })
    await topUpJournal.forget(store.pool, CODE)
    expect(await topUpJournal.read(store.pool, CODE)).not.toBeNull()
  })

  test('lists the latest first and counts what is open', async () => {
    await writeTopUpDown(store)
    await topUpJournal.storeAnswer(store.pool, CODE, UNKNOWN)
    await writeTopUpDown(store, { external_code: 'second' })
    expect((await topUpJournal.page(store.pool, { limit: 10 })).map(topUp => topUp.external_code)).toEqual([
      'second',
      CODE,
    ])
    expect(await topUpJournal.page(store.pool, { state: 'unknown', limit: 10 })).toHaveLength(1)
    // What is in hand is not what is unknown.
    await store.pool.query(
      `update dirsync.topup set sent_at = sent_at - interval '4 minutes' where state = 'requested'`,
    )
    const oldest = (await topUpJournal.read(store.pool, CODE))?.sent_at
    expect((await readOpenMoney(store.pool)).topup).toEqual({
      requested: 1,
      unknown: 1,
      for_person: 1,
      oldest,
      latest: oldest,
    })
  })
})

test('failed_syncs shows an unknown top-up until it is resolved', async () => {
  const failed = () => store.rows('select * from dirsync.failed_syncs')
  await writeTopUpDown(store)
  expect(await failed()).toEqual([])
  await topUpJournal.storeAnswer(store.pool, CODE, UNKNOWN)
  expect(worded(await failed())).toMatchObject([
    {
      id: null,
      entity: 'topup',
      entity_key: CODE,
      operation: 'send-topup',
      category: 'outcome_unknown',
      message: 'no answer in time',
      remedy: expect.stringContaining(`dirsync topup resolve ${CODE}`),
      state: 'open',
      next_retry_at: null,
    },
  ])
  await topUpJournal.resolve(store.pool, CODE, 'rejected', 'not there', { actor: 'cli:tester' })
  expect(await failed()).toEqual([])
})

describe('a top-up whose sender ended', () => {
  test('is unknown as soon as its lock is free, and not while the sender lives', async () => {
    await writeTopUpDown(store)
    const process = await sender(store, { topUp: CODE })
    expect(await topUpJournal.adopt(store.pool)).toEqual([])
    await process.dies()
    expect(await topUpJournal.adopt(store.pool)).toEqual([CODE])
    expect((await topUpJournal.read(store.pool, CODE))?.state).toBe('unknown')
  })

  test('is unknown to whoever wants to send another one, though no worker runs', async () => {
    await writeTopUpDown(store)
    const other = { ...TOP_UP, external_code: 'another' }
    const refusal = async () => {
      await adoptMoney({ pool: store.pool, logger: SILENT })
      return (await refusalOfTopUp(store.pool, other, null))?.message
    }
    const process = await sender(store, { topUp: CODE })
    expect(await refusal()).toContain('open (requested)')
    await process.dies()
    expect(await refusal()).toContain('open (unknown)')
  })
})

describe("a person's word", () => {
  test('settles an unknown top-up, with a reason and a name, and is written down', async () => {
    await writeTopUpDown(store)
    await topUpJournal.storeAnswer(store.pool, CODE, UNKNOWN)
    const topUp = await topUpJournal.resolve(store.pool, CODE, 'accepted', 'the money is there', {
      actor: 'cli:tester',
    })
    expect(topUp).toMatchObject({ state: 'accepted', resolution: 'the money is there' })
    expect(await store.rows('select name, arguments, requested_by from dirsync.command')).toEqual([
      {
        name: 'resolve_topup',
        arguments: { external_code: CODE, state: 'accepted', reason: 'the money is there' },
        requested_by: topUp.resolved_by,
      },
    ])
    await expect(
      topUpJournal.resolve(store.pool, CODE, 'rejected', 'r', { actor: 'cli:tester' }),
    ).rejects.toMatchObject({
      code: 'NOT_UNKNOWN',
    })
    await expect(
      topUpJournal.resolve(store.pool, 'other', 'rejected', 'r', { actor: 'cli:tester' }),
    ).rejects.toMatchObject({
      code: 'NOT_FOUND',
    })
  })
})
