import { describe, expect, test } from 'vitest'
import { type Settlement, settle } from '../../src/store/settlement.ts'
import { begin, employee, memory, outcome, refusal } from './outcomes.ts'
import { fail, plant } from './planted.ts'
import { StoreUnderTest } from './store-under-test.ts'

const store = new StoreUnderTest()

const blocks = () =>
  store.rows('select enterprise_code, field, platform_code from dirsync.field_block order by 1, 2')
const asked = async () =>
  (await store.rows<{ entity_key: string }>('select entity_key from dirsync.pending order by 1')).map(
    row => row.entity_key,
  )

const E1 = employee('e1', 'C1')
const switchedOff = refusal({ field: 'level', category: 'feature_disabled', platformCode: 1000220030 })
const refused: Partial<Settlement> = {
  keep: [],
  failures: [switchedOff],
  employee: memory({ withheld: ['level'] }),
  blockFields: [{ field: 'level', platformCode: 1000220030 }],
}

async function execute(key: typeof E1, differs: Parameters<typeof outcome>[2]): Promise<void> {
  await plant(store, 'pending', { ...outboxRow(key), priority: 3 })
  await settle(store.pool, [outcome(key, await begin(store, key), differs)])
}

const outboxRow = (key: typeof E1) => ({
  operation: key.operation,
  enterprise_code: key.enterpriseCode,
  entity_key: key.entityKey,
})

/** Employees of enterprise C1 from whom the grade is withheld. */
async function withheldFrom(...userids: string[]): Promise<void> {
  for (const userid of userids)
    await plant(store, 'employee', {
      enterprise_code: 'C1',
      userid,
      withheld: ['level'],
      platform_state: 'in_service',
    })
}

describe('a field whose feature is switched off', () => {
  test('is blocked for its enterprise, with one case that probes it', async () => {
    await execute(E1, refused)
    expect(await blocks()).toEqual([{ enterprise_code: 'C1', field: 'level', platform_code: 1000220030 }])
    await execute(employee('e2', 'C1'), { keep: ['level'], employee: memory({ withheld: ['level'] }) })
    expect(await blocks()).toHaveLength(1)
    expect(await asked()).toEqual([])
  })

  test('that two found out about at the same moment is blocked once', async () => {
    for (const userid of ['e1', 'e2'])
      await plant(store, 'pending', { ...outboxRow(employee(userid, 'C1')), priority: 3 })
    const keys = [E1, employee('e2', 'C1')]
    const claims = await Promise.all(keys.map(key => begin(store, key)))
    await Promise.all(keys.map((key, i) => settle(store.pool, [outcome(key, claims[i] as never, refused)])))
    expect(await blocks()).toHaveLength(1)
    expect(await store.value('select count(*) from dirsync.dead_letter')).toBe(2)
    expect(await asked()).toEqual([])
  })
})

describe('once a probe gets through', () => {
  const through = { keep: [], employee: memory(), unblockFields: ['level'], attempt: { fields: ['level'] } }

  test('everybody it was withheld from is asked for anew, and nobody else', async () => {
    await execute(E1, refused)
    await withheldFrom('e2', 'e3')
    await plant(
      store,
      'employee',
      { enterprise_code: 'C1', userid: 'e4' },
      { enterprise_code: 'C2', userid: 'e5', withheld: ['level'] },
    )
    await plant(store, 'field_block', { enterprise_code: 'C2', field: 'level' })
    await fail(store, { enterprise_code: 'C2', field: 'level', category: 'feature_disabled' })
    await execute(E1, through)
    expect(await blocks()).toMatchObject([{ enterprise_code: 'C2' }])
    expect(await asked()).toEqual(['e2', 'e3'])
  })

  test('work that is under way is asked for again', async () => {
    await execute(E1, refused)
    await withheldFrom('e2')
    await plant(store, 'pending', {
      ...outboxRow(employee('e2', 'C1')),
      priority: 1,
      enqueued_at: new Date(),
    })
    await execute(E1, through)
    expect(
      await store.rows('select entity_key, version, priority, enqueued_at from dirsync.pending'),
    ).toEqual([{ entity_key: 'e2', version: 2, priority: 1, enqueued_at: null }])
  })

  test('one whose outcome was decided before, and is written after, is asked for anew too', async () => {
    await execute(E1, refused)
    await plant(store, 'pending', { ...outboxRow(employee('e2', 'C1')), priority: 3 })
    const late = await begin(store, employee('e2', 'C1'))
    expect(late.blockedFields).toEqual(['level'])
    await execute(E1, through)
    expect(await asked()).toEqual(['e2'])
    await settle(store.pool, [
      outcome(employee('e2', 'C1'), late, { keep: [], employee: memory({ withheld: ['level'] }) }),
    ])
    expect(await asked()).toEqual(['e2'])
  })

  test('a field that is blocked still is not asked for', async () => {
    await execute(E1, refused)
    await plant(store, 'employee', { enterprise_code: 'C1', userid: 'e2', withheld: ['category'] })
    await plant(store, 'field_block', { enterprise_code: 'C1', field: 'category' })
    await fail(store, {
      enterprise_code: 'C1',
      entity_key: 'e2',
      field: 'category',
      category: 'feature_disabled',
    })
    await execute(E1, through)
    expect(await asked()).toEqual([])
  })
})

describe('a block that nobody would probe', () => {
  test('is dropped when the last case about it ends otherwise, and whoever waits finds out anew', async () => {
    await execute(E1, refused)
    await withheldFrom('e2')
    await execute(E1, {
      keep: [],
      employee: memory({ platformState: 'absent' }),
      attempt: { outcome: 'left' },
    })
    expect(await blocks()).toEqual([])
    expect(await asked()).toEqual(['e2'])
  })

  test('is dropped when the case turns out to be about something else', async () => {
    await execute(E1, refused)
    await execute(E1, { keep: [], failures: [refusal({ field: 'level', category: 'invalid_parameter' })] })
    expect(await blocks()).toEqual([])
  })

  test.each(['ignored', 'snoozed', 'retrying'])('stays while a case about it is %s', async state => {
    await execute(E1, refused)
    await store.pool.query(`update dirsync.dead_letter set state = $1, note = 'known'`, [state])
    await execute(employee('e2', 'C1'), { keep: [] })
    expect(await blocks()).toHaveLength(1)
  })
})
