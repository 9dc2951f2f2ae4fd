import { describe, expect, test } from 'vitest'
import { beginRetry, beginRetryOf, requestDueRetries } from '../../src/sync/cases/retries.ts'
import { askWithheld, tellWithheld } from '../../src/sync/cases/withheld.ts'
import type { RefusedField } from '../../src/sync/outbox/outcome.ts'
import { Commands } from '../../src/sync/runs/commands.ts'
import { finishRuns } from '../../src/sync/settle/finish-runs.ts'
import { settle } from '../../src/sync/settle/settlement.ts'
import { inWords } from '../../src/texts/message.ts'
import { worded } from '../texts/worded.ts'
import { begin, type Differs, employee, memory, outcome, refusal } from './outcomes.ts'
import { PlanUnderTest } from './plan-under-test.ts'
import { caseOf, fail, plant, plantRun, story } from './planted.ts'

const under = new PlanUnderTest()
const { store } = under

const blocks = () =>
  store.rows('select enterprise_code, field, platform_code, codes from dirsync.field_block order by 1, 2')
const asked = async () =>
  (await store.rows<{ entity_key: string }>('select entity_key from dirsync.pending order by 1')).map(
    row => row.entity_key,
  )
const open = () =>
  store.rows<{ id: number; message: string }>(
    `select id, entity, entity_key, field, state, dirsync.in_language('en', message) as message, occurrences from dirsync.dead_letter where state <> 'resolved' order by id`,
  )
const withheldFrom = async () =>
  (
    await store.rows<{ userid: string }>(
      `select userid from dirsync.employee where withheld <> '{}' order by 1`,
    )
  ).map(row => row.userid)

const employeeOf = (userid: string) => employee(userid, 'C1')
const E1 = employeeOf('e1')
const outboxRow = (key: typeof E1) => ({
  operation: key.operation,
  enterprise_code: key.enterpriseCode,
  entity_key: key.entityKey,
  priority: 3,
})

async function execute(key: typeof E1, differs: Parameters<typeof outcome>[2]): Promise<void> {
  await plant(store, 'pending', outboxRow(key))
  await settle(store.pool, [outcome(key, await begin(store, key), differs)])
}

const FIELDS = {
  level: { platformCode: 1000220030, codes: null },
  employee_attribute: { platformCode: 1000220072, codes: ['contract'] },
}

/** The outcome of an employee whose field was refused. */
function refused(field: keyof typeof FIELDS, differs: Partial<RefusedField> = {}): Differs {
  const { platformCode } = FIELDS[field]
  return {
    resolve: 'all' as const,
    runId: 7,
    failures: [
      refusal({ field, category: 'feature_disabled', platformCode, message: inWords('It is off.') }),
    ],
    employee: memory(),
    blockFields: [{ field, ...FIELDS[field], valueHash: 'x', isWhole: field === 'level', ...differs }],
  }
}

/** Employees of enterprise C1 from whom the field is withheld. */
async function plantWithheld(...userids: string[]): Promise<void> {
  for (const userid of userids)
    await plant(store, 'employee', {
      enterprise_code: 'C1',
      userid,
      withheld: ['level'],
      platform_state: 'in_service',
    })
}

describe('a refusal that can mean nothing but that the field is off', () => {
  test('blocks it for the enterprise, whose case stands for all', async () => {
    await execute(E1, refused('level'))
    expect(await blocks()).toEqual([
      { enterprise_code: 'C1', field: 'level', platform_code: 1000220030, codes: null },
    ])
    expect(worded(await open())).toEqual([
      {
        id: expect.any(Number),
        entity: 'enterprise',
        entity_key: 'C1',
        field: 'level',
        state: 'open',
        message: 'It is off. Withheld from 1 employee.',
        occurrences: 1,
      },
    ])
    expect(await withheldFrom()).toEqual(['e1'])
  })

  test('that two found out about at the same moment is one case', async () => {
    const keys = [E1, employeeOf('e2')]
    for (const key of keys) await plant(store, 'pending', outboxRow(key))
    const claims = await Promise.all(keys.map(key => begin(store, key)))
    await Promise.all(
      keys.map((key, i) => settle(store.pool, [outcome(key, claims[i] as never, refused('level'))])),
    )
    await tellWithheld(store.pool)
    expect(await blocks()).toHaveLength(1)
    expect(worded(await open())).toMatchObject([{ message: 'It is off. Withheld from 2 employees.' }])
    expect(await asked()).toEqual([])
  })

  test('takes the case that an employee has already', async () => {
    const id = await fail(store, { enterprise_code: 'C1', field: 'level', category: 'feature_disabled' })
    await execute(E1, refused('level'))
    expect(await caseOf(store, id)).toMatchObject({ state: 'resolved', resolution: 'merged' })
    expect(worded((await story(store, id)).at(-1)?.note)).toBe(`merged into case ${(await open())[0]?.id}`)
  })

  test('is withheld from an employee whose case it took while a worker had them in hand', async () => {
    const key = employeeOf('e2')
    const refusedFirst = { enterprise_code: 'C1', field: 'level' }
    await fail(store, { ...refusedFirst, entity_key: 'e2', category: 'feature_disabled' })
    await plant(store, 'field_refusal', { ...refusedFirst, userid: 'e2', value_hash: 'x', run_id: 7 })
    const settleNext = async (differs: Differs) => {
      await settle(store.pool, [outcome(key, await begin(store, key), differs)])
    }
    const parked: Differs = { outcome: 'parked', employee: memory(), resolve: { except: ['level'] } }

    // Their own case stands: they wait for it, and are not asked for again.
    await plant(store, 'pending', outboxRow(key))
    await settleNext(parked)
    expect(await asked()).toEqual([])

    await plant(store, 'pending', outboxRow(key))
    const claimed = await begin(store, key)
    expect(claimed).toMatchObject({ cases: [{ field: 'level' }], blocks: [] })
    await execute(E1, refused('level'))
    await settle(store.pool, [outcome(key, claimed, parked)])
    expect(await asked()).toEqual(['e2'])
    const again = await begin(store, key)
    expect(again).toMatchObject({ cases: [], blocks: [{ field: 'level' }] })
    const withheld = { ...parked, employee: memory({ withheld: ['level'] }) }
    await settle(store.pool, [outcome(key, again, { ...withheld, resolve: 'none' })])
    expect(await asked()).toEqual([])
    expect(await withheldFrom()).toEqual(['e1', 'e2'])
  })

  test('is told of an employee of the same name as the enterprise apart from the enterprise', async () => {
    await execute(E1, refused('level'))
    const namesake = employeeOf('C1')
    await plant(store, 'pending', outboxRow(namesake))
    const claimed = await begin(store, namesake)
    expect(claimed.cases).toEqual([])
    await settle(store.pool, [outcome(namesake, claimed, { resolve: 'all' as const })])
    expect(await open()).toHaveLength(1)
  })
})

describe('a refusal that may be about the value', () => {
  const attribute = (valueHash: string, codes = ['contract']) =>
    refused('employee_attribute', { valueHash, codes })

  test('is the case of its employee', async () => {
    await execute(E1, attribute('x'))
    expect(await blocks()).toEqual([])
    expect(await open()).toMatchObject([{ entity: 'employee', entity_key: 'e1' }])
    expect(await withheldFrom()).toEqual([])
  })

  test('blocks the codes with the second employee, and both cases go into one', async () => {
    await execute(E1, attribute('x'))
    await execute(employeeOf('e2'), attribute('y'))
    expect(await blocks()).toMatchObject([{ codes: [['contract']] }])
    expect(worded(await open())).toMatchObject([
      {
        entity: 'enterprise',
        message: 'It is off. Withheld from 2 employees. It concerns the attribute contract.',
      },
    ])
    expect(await withheldFrom()).toEqual(['e1', 'e2'])
  })

  test('of another run is no evidence', async () => {
    await execute(E1, attribute('x'))
    await execute(employeeOf('e2'), { ...attribute('y'), runId: 8 })
    expect(await blocks()).toEqual([])
    expect(await open()).toHaveLength(2)
  })

  test('of further codes joins the block, and an ignored case comes back', async () => {
    await execute(E1, attribute('x'))
    await execute(employeeOf('e2'), attribute('y'))
    const id = (await open())[0]?.id as number
    await store.pool.query(`select dirsync.ignore($1, 'known')`, [id])
    await execute(employeeOf('e3'), attribute('x', ['contract']))
    expect(await caseOf(store, id)).toMatchObject({ state: 'ignored' })
    await execute(employeeOf('e4'), attribute('x', ['taxpayer']))
    await execute(employeeOf('e5'), attribute('y', ['taxpayer']))
    expect(await blocks()).toMatchObject([{ codes: [['contract'], ['taxpayer']] }])
    await tellWithheld(store.pool)
    expect(worded(await open())).toMatchObject([
      {
        id,
        state: 'open',
        message: 'It is off. Withheld from 5 employees. It concerns the attribute contract, taxpayer.',
      },
    ])
    expect((await story(store, id)).at(-1)).toMatchObject({ event: 'reopened', note: 'more is withheld' })
  })
})

test('a growing number of employees is shown without changing the case under the person who decides about it', async () => {
  await execute(E1, refused('level'))
  const [before] = await open()
  const { id, version } = await caseOf(store, before?.id as number)
  await plant(store, 'employee', { enterprise_code: 'C1', userid: 'e2', withheld: ['level'] })
  await tellWithheld(store.pool)
  const commands = new Commands(store.pool, { actor: 'cli:test' })
  expect(worded(await caseOf(store, id))).toMatchObject({ message: expect.stringContaining('2 employees') })
  expect(await commands.ignore(id, 'known', version)).toBe(id)
})

describe('a probe', () => {
  const dueNow = () => store.pool.query('update dirsync.field_block set next_probe_at = now()')
  /** Begins the retry that is due; tells who is asked. */
  async function probe(by = 'cron'): Promise<string[]> {
    const id = await plantRun(store, { kind: 'retry', requested_by: by })
    const ids = (await open()).map(row => row.id)
    const client = await store.pool.connect()
    try {
      return (await beginRetry(client, ids, id)).map(work => work.entityKey)
    } finally {
      client.release()
    }
  }

  test('with an employee who has a case of their own is one piece of work with its retry', async () => {
    await execute(E1, refused('level'))
    await fail(store, { enterprise_code: 'C1', field: 'email' })
    expect(await probe()).toEqual(['e1'])
  })

  test.each(['open', 'ignored', 'snoozed', 'retrying'])(
    'is due whatever the state of its case: %s',
    async state => {
      await execute(E1, refused('level'))
      await store.pool.query(
        `update dirsync.dead_letter set state = $1, note = 'known', next_retry_at = null, snooze_until = '2100-01-01'`,
        [state],
      )
      expect(await requestDueRetries(store.pool)).toBeNull()
      await dueNow()
      expect(await requestDueRetries(store.pool)).not.toBeNull()
    },
  )

  test('asks one employee at a time, the next one each time', async () => {
    await execute(E1, refused('level'))
    await plantWithheld('e2', 'e3')
    expect([await probe(), await probe(), await probe(), await probe()]).toEqual([
      ['e2'],
      ['e3'],
      ['e1'],
      ['e2'],
    ])
  })

  test('lets only the probing employee through', async () => {
    await execute(E1, refused('level'))
    await plantWithheld('e2', 'e3')
    await probe()
    for (const userid of ['e2', 'e3']) await plant(store, 'pending', outboxRow(employeeOf(userid)))
    expect((await begin(store, employeeOf('e2'))).blocks).toMatchObject([{ probing: true }])
    expect((await begin(store, employeeOf('e3'))).blocks).toMatchObject([{ probing: false }])
  })

  test('is not given to another employee while its work waits, as it does during a pause', async () => {
    await execute(E1, refused('level'))
    await plantWithheld('e2')
    await probe()
    await plant(store, 'pending', outboxRow(employeeOf('e2')))
    await dueNow()
    expect(await requestDueRetries(store.pool)).toBeNull()
    // Work that waits for a plan may do so until somebody has decided about a run.
    await store.pool.query(`update dirsync.pending set not_before = 'infinity', replan_at = now()`)
    expect(await requestDueRetries(store.pool)).not.toBeNull()
  })

  test('is made with an employee whom a person names', async () => {
    await execute(E1, refused('level'))
    await plantWithheld('e2', 'e3')
    const client = await store.pool.connect()
    await beginRetryOf(client, [{ enterpriseCode: 'C1', userid: 'e3' }], 1)
    client.release()
    await plant(store, 'pending', outboxRow(employeeOf('e3')))
    expect((await begin(store, employeeOf('e3'))).blocks).toMatchObject([{ probing: true }])
  })

  test('leaves an ignored case as it is, and a person who retries it has it open', async () => {
    await execute(E1, refused('level'))
    await store.pool.query(`update dirsync.dead_letter set state = 'ignored', note = 'known'`)
    await probe()
    await execute(E1, refused('level'))
    expect(await open()).toMatchObject([{ state: 'ignored', occurrences: 2 }])
    await probe('postgres')
    await execute(E1, refused('level'))
    expect(await open()).toMatchObject([{ state: 'open', occurrences: 3 }])
  })

  test('that is refused comes later each time', async () => {
    await execute(E1, refused('level'))
    const hours: number[] = []
    for (let i = 0; i < 4; i++) {
      await probe()
      await execute(E1, refused('level'))
      hours.push(
        await store.value(
          `select extract(epoch from next_probe_at - now())::float / 3600 from dirsync.field_block`,
        ),
      )
    }
    expect(hours[0]).toBeLessThan(1.4)
    expect(hours[3]).toBeGreaterThan(5)
  })

  test('of a field that no employee wants any more ends it', async () => {
    await execute(E1, refused('level'))
    const id = (await open())[0]?.id as number
    await execute(E1, { resolve: 'all' as const, employee: memory() })
    expect(await probe()).toEqual([])
    expect(await blocks()).toEqual([])
    expect(await caseOf(store, id)).toMatchObject({ state: 'resolved', resolution: 'obsolete' })
    expect(await store.rows('select * from dirsync.field_refusal')).toEqual([])
  })
})

describe('once any employee gets it through', () => {
  const through: Differs = {
    resolve: 'all',
    employee: memory(),
    unblockFields: ['level'],
    fields: ['level'],
  }
  const lifting = async () =>
    (await store.rows<{ id: number; kind: string; keys: string[] }>('select * from dirsync.sync_run'))[0]

  test('its case ends, and a run in the background asks everybody from whom it was withheld', async () => {
    await execute(E1, refused('level'))
    const id = (await open())[0]?.id as number
    await plantWithheld('e2', 'e3')
    await plant(
      store,
      'employee',
      { enterprise_code: 'C1', userid: 'e4' },
      { enterprise_code: 'C2', userid: 'e5', withheld: ['level'] },
    )
    await plant(store, 'field_block', { enterprise_code: 'C2', field: 'level' })
    await execute(E1, through)
    expect(await blocks()).toMatchObject([{ enterprise_code: 'C2' }])
    expect(await caseOf(store, id)).toMatchObject({ state: 'resolved', resolution: 'succeeded' })
    expect(await asked()).toEqual([])
    const run = await lifting()
    expect(run).toMatchObject({
      kind: 'retry',
      keys: [String(id)],
      state: 'requested',
      requested_by: 'cron',
    })
    const client = await store.pool.connect()
    expect(await askWithheld(client, run?.id ?? 0, [id])).toBe(2)
    client.release()
    expect(await store.rows('select entity_key, run_id, priority from dirsync.pending order by 1')).toEqual([
      { entity_key: 'e2', run_id: run?.id, priority: 7 },
      { entity_key: 'e3', run_id: run?.id, priority: 7 },
    ])
  })

  test('an ignored case ends too', async () => {
    await execute(E1, refused('level'))
    await store.pool.query(`update dirsync.dead_letter set state = 'ignored', note = 'known'`)
    await execute(E1, through)
    expect(await open()).toEqual([])
  })

  test('one whose outcome was decided before, and is written after, is asked for anew too', async () => {
    await execute(E1, refused('level'))
    await plant(store, 'pending', outboxRow(employeeOf('e2')))
    const late = await begin(store, employeeOf('e2'))
    expect(late.blocks).toMatchObject([{ field: 'level' }])
    await execute(E1, through)
    await settle(store.pool, [
      outcome(employeeOf('e2'), late, { resolve: 'all' as const, employee: memory({ withheld: ['level'] }) }),
    ])
    expect(await store.rows('select entity_key, priority from dirsync.pending')).toEqual([
      { entity_key: 'e2', priority: 7 },
    ])
  })

  describe('those from whom it is still withheld', () => {
    const aDayLater = () =>
      store.pool.query(
        `update dirsync.sync_run set finished_at = finished_at - interval '25 hours' where state = 'cancelled'`,
      )
    /** The run that the lifting requested was lost, a day ago. */
    async function lost(): Promise<void> {
      await execute(E1, refused('level'))
      await plantWithheld('e2', 'e3')
      await execute(E1, through)
      await store.pool.query(`select dirsync.cancel(id) from dirsync.sync_run where kind = 'retry'`)
      await aDayLater()
    }
    const setEmployees = (text: string) =>
      store.pool.query(`update dirsync.employee set ${text} where withheld <> '{}'`)

    test('are asked about by another run where the work of the first was lost, and once', async () => {
      await lost()
      const again = await requestDueRetries(store.pool)
      expect(await requestDueRetries(store.pool)).toBeNull()
      expect(await under.planRequested(again ?? 0)).toMatchObject({ state: 'running', planned: 2 })
      expect(await asked()).toEqual(['e2', 'e3'])
      expect(await requestDueRetries(store.pool)).toBeNull()
      await store.pool.query('select dirsync.cancel($1)', [again])
      await finishRuns(store.pool)
      // Who cancels it wants it not at once.
      expect(await requestDueRetries(store.pool)).toBeNull()
      await aDayLater()
      expect(await requestDueRetries(store.pool)).not.toBeNull()
    })

    test('keep the work that they have', async () => {
      await lost()
      const waits = { ...outboxRow(employeeOf('e2')), not_before: 'infinity', replan_at: new Date() }
      await plant(store, 'pending', waits)
      await under.planRequested((await requestDueRetries(store.pool)) ?? 0)
      expect(
        await store.rows('select entity_key, replan_at is null as due from dirsync.pending order by 1'),
      ).toEqual([
        { entity_key: 'e2', due: false },
        { entity_key: 'e3', due: true },
      ])
    })

    test.each<[string, () => Promise<unknown>]>([
      ['their row waits for a decision', () => setEmployees('held_run = 1')],
      ['their row was rejected', () => setEmployees('held_run = 1, rejected = true')],
      ['HR says that they have left', () => setEmployees('active = false')],
      ['HR no longer has them', () => setEmployees('vanished_at = now()')],
      [
        'their job has failed, which is a case of their own',
        async () => {
          for (const entity_key of ['e2', 'e3'])
            await fail(store, { enterprise_code: 'C1', entity_key, field: '' })
        },
      ],
      ['it is off again', () => plant(store, 'field_block', { enterprise_code: 'C1', field: 'level' })],
      [
        'no source has their enterprise',
        () =>
          plant(store, 'hr_source', {
            name: 'a',
            position: 0,
            kind: 'files',
            address: 'x',
            enterprise_codes: ['C2'],
          }),
      ],
    ])('are left alone while %s', async (_, meanwhile) => {
      await lost()
      await meanwhile()
      expect(await requestDueRetries(store.pool)).toBeNull()
    })
  })

  test('no other employee is queried if it was withheld from none', async () => {
    await execute(E1, refused('level'))
    await execute(E1, through)
    expect(await lifting()).toBeUndefined()
  })
})
