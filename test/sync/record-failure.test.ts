import { describe, expect, test } from 'vitest'
import { worded } from '../texts/worded.ts'
import { caseOf, fail, hash, story } from './planted.ts'
import { StoreUnderTest } from './store-under-test.ts'

const store = new StoreUnderTest()
const cases = () => store.value<number>('select count(*) from dirsync.dead_letter')

describe('a failure', () => {
  test('opens a case', async () => {
    const sourceHash = hash()
    const id = await fail(store, {
      enterprise_code: 'C1',
      platform_code: 1002218007,
      trace_id: 'trace',
      changed_fields: [{ field: 'mobile', value: '138****0000' }],
      blocked_by: 'e2',
      source_hash: sourceHash,
      next_retry_at: '2222-01-01T00:00:00Z',
      last_run_id: 7,
    })
    expect(await caseOf(store, id)).toMatchObject({
      enterprise_code: 'C1',
      entity: 'employee',
      entity_key: 'e1',
      platform_code: 1002218007,
      trace_id: 'trace',
      changed_fields: [{ field: 'mobile', value: '138****0000' }],
      blocked_by: 'e2',
      source_hash: sourceHash,
      state: 'open',
      occurrences: 1,
      first_run_id: 7,
      last_run_id: 7,
      version: 1,
      next_retry_at: new Date('2222-01-01T00:00:00Z'),
    })
    expect(await story(store, id)).toEqual([
      { event: 'opened', actor: 'dirsync', note: 'duplicate_mobile', run_id: 7 },
    ])
  })

  test('that repeats counts up the open case and says nothing new', async () => {
    const id = await fail(store, { last_run_id: 1 })
    for (const run of [2, 3]) expect(await fail(store, { last_run_id: run, message: `time ${run}` })).toBe(id)
    expect(worded(await caseOf(store, id))).toMatchObject({
      occurrences: 3,
      first_run_id: 1,
      last_run_id: 3,
      message: 'time 3',
      version: 3,
    })
    expect(await story(store, id)).toHaveLength(1)
  })

  test('for another reason stays the same case, and the change is part of its story', async () => {
    const id = await fail(store)
    expect(await fail(store, { category: 'invalid_parameter', last_run_id: 2 })).toBe(id)
    expect(await caseOf(store, id)).toMatchObject({ category: 'invalid_parameter', occurrences: 2 })
    expect((await story(store, id)).at(-1)).toMatchObject({
      event: 'changed',
      note: 'invalid_parameter',
      run_id: 2,
    })
  })

  test('after the case was resolved opens a new one', async () => {
    const id = await fail(store)
    await store.pool.query(`update dirsync.dead_letter set state = 'resolved', resolved_at = now()`)
    expect(await fail(store)).not.toBe(id)
    expect(await caseOf(store, id)).toMatchObject({ state: 'resolved', occurrences: 1 })
  })

  test.each([
    ['enterprise_code', 'C2'],
    ['entity_key', 'e2'],
    ['field', 'email'],
    ['operation', 'bind-openid'],
    ['entity', 'department'],
  ])('with another %s is a case of its own', async (name, value) => {
    const id = await fail(store)
    expect(await fail(store, { [name]: value })).not.toBe(id)
    expect(await cases()).toBe(2)
  })

  test('recorded by two processes at the same moment is one case', async () => {
    await Promise.allSettled(Array.from({ length: 6 }, () => fail(store)))
    expect(await cases()).toBe(1)
  })

  test('of a case that is being retried brings it back to where it waits', async () => {
    const id = await fail(store)
    await store.pool.query(`update dirsync.dead_letter set state = 'retrying', next_retry_at = null`)
    await fail(store, { state: 'retry_scheduled', next_retry_at: '2222-01-01T00:00:00Z' })
    expect(await caseOf(store, id)).toMatchObject({
      state: 'retry_scheduled',
      next_retry_at: new Date('2222-01-01T00:00:00Z'),
    })
  })

  test('with no HR row involved keeps an ignored case ignored', async () => {
    const id = await fail(store, { source_hash: null })
    await store.pool.query(`update dirsync.dead_letter set state = 'ignored', note = 'known'`)
    await fail(store, { source_hash: null })
    expect(await caseOf(store, id)).toMatchObject({ state: 'ignored', occurrences: 2 })
  })

  test('to reach the platform leaves an ignored case of the same row as it is, and a changed row opens it', async () => {
    const sourceHash = hash()
    const id = await fail(store, { field: '', source_hash: sourceHash })
    await store.pool.query(`update dirsync.dead_letter set state = 'ignored', note = 'known'`)
    const [before, events] = [await caseOf(store, id), await story(store, id)]
    const away = { field: '', category: 'platform_unavailable', state: 'retry_scheduled' }
    expect(await fail(store, { ...away, source_hash: sourceHash })).toBe(id)
    expect(await caseOf(store, id)).toEqual(before)
    expect(await story(store, id)).toEqual(events)
    await fail(store, { field: '', source_hash: sourceHash })
    expect(await caseOf(store, id)).toMatchObject({ state: 'ignored', category: 'duplicate_mobile' })

    await fail(store, { ...away, source_hash: hash() })
    expect(await caseOf(store, id)).toMatchObject({ state: 'retry_scheduled', category: away.category })
  })
})

describe('failed_syncs', () => {
  test('has what a reviewer reads, in that order', async () => {
    const id = await fail(store, { field: '' })
    const { fields, rows } = await store.pool.query('select * from dirsync.failed_syncs')
    expect(fields.map(({ name }) => name)).toEqual([
      'id',
      'enterprise_code',
      'entity',
      'entity_key',
      'operation',
      'field',
      'category',
      'platform_code',
      'message',
      'remedy',
      'blocked_by',
      'occurrences',
      'first_failed_at',
      'last_failed_at',
      'state',
      'next_retry_at',
      'swap_id',
    ])
    expect(rows).toMatchObject([{ id, field: null, state: 'open' }])
  })

  test('leaves out what is resolved or ignored, and shows the open ones first, the latest on top', async () => {
    const states = [
      'retrying',
      'open',
      'snoozed',
      'open',
      'blocked',
      'awaiting_activation',
      'retry_scheduled',
    ]
    for (const [position, state] of [...states, 'resolved', 'ignored'].entries()) {
      const id = await fail(store, { entity_key: `e${position}` })
      await store.pool.query(
        `update dirsync.dead_letter set state = $2, note = 'x', resolved_at = case when $2 = 'resolved' then now() end,
           last_failed_at = now() + $3 * interval '1 hour' where id = $1`,
        [id, state, position],
      )
    }
    const shown = await store.rows<{ entity_key: string }>('select entity_key from dirsync.failed_syncs')
    expect(shown.map(row => row.entity_key)).toEqual(['e3', 'e1', 'e6', 'e5', 'e4', 'e2', 'e0'])
  })
})

test.each([
  ['an unknown state', `update dirsync.dead_letter set state = 'closed'`],
  ['a resolved case without its time', `update dirsync.dead_letter set state = 'resolved'`],
  ['an ignored case without a reason', `update dirsync.dead_letter set state = 'ignored', note = null`],
  ['an unknown operation', `update dirsync.dead_letter set operation = 'add-employee'`],
])('the table refuses %s', async (_, text) => {
  await fail(store)
  await expect(store.pool.query(text)).rejects.toMatchObject({ code: '23514' })
})
