import { describe, expect, test } from 'vitest'
import { requestDueRetries } from '../../src/sync/cases/retries.ts'
import { enterprisesOnPlatform } from '../../src/sync/outbox/employee.ts'
import { readHalts } from '../../src/sync/outbox/halts.ts'
import { readRun } from '../../src/sync/runs/run.ts'
import { finishRuns } from '../../src/sync/settle/finish-runs.ts'
import { endHaltsOfGone } from '../../src/sync/settle/gone-enterprises.ts'
import { caseOf, fail, hash, plant, plantRun, plantWork } from './planted.ts'
import { SILENT, StoreUnderTest } from './store-under-test.ts'

const store = new StoreUnderTest()

const AGO = new Date(Date.now() - 3_600_000)
const LATER = new Date(Date.now() + 3_600_000)
const refused = (scope: string, category = 'enterprise_code') =>
  plant(store, 'halt', { scope, category, message: 'refused', remedy: 'correct it' })
/** HR no longer has them. */
const gone = (enterprise_code: string, userid: string, differs = {}) =>
  plant(store, 'employee', { enterprise_code, userid, vanished_at: AGO, ...differs })
const end = (ownEnterprise = '') => endHaltsOfGone({ pool: store.pool, logger: SILENT, ownEnterprise })
const scopes = async () => (await readHalts(store.pool)).map(({ scope }) => scope)
const pending = async () =>
  (await store.rows<{ key: string }>('select entity_key as key from dirsync.pending order by 1')).map(
    ({ key }) => key,
  )

describe('the halt of a refused enterprise stays', () => {
  const stays: [string, () => Promise<unknown>, string?][] = [
    [
      'while HR has an employee of it',
      () => plant(store, 'employee', { enterprise_code: 'E9', userid: 'a' }),
    ],
    [
      'while HR has one who has left',
      () => plant(store, 'employee', { enterprise_code: 'E9', userid: 'a', active: false }),
    ],
    [
      'while HR has a department of it',
      () => plant(store, 'department', { enterprise_code: 'E9', dept_code: 'D1', active: true }),
    ],
    ['while it is of a source of HR', () => plant(store, 'hr_source', sourceOf('E9'))],
    ["while it is the deployment's own", async () => {}, 'E9'],
  ]
  test.each(stays)('%s, and what waits for it too', async (_, given, own = '') => {
    await given()
    await refused('E9')
    await gone('E9', 'b')
    await plantWork(store, 'b', { enterprise_code: 'E9' })
    await end(own)
    expect(await scopes()).toEqual(['E9'])
    expect(await pending()).toEqual(['b'])
  })

  test('of calls without a code, while no enterprise has one', async () => {
    await refused('')
    await end()
    expect(await scopes()).toEqual([''])
    await plant(store, 'employee', { enterprise_code: 'E1', userid: 'a' })
    await end()
    expect(await scopes()).toEqual([])
  })

  test('where it has another reason', async () => {
    await refused('*')
    await refused('E8', 'hr_unavailable')
    await refused('E9', 'platform_unavailable')
    await end()
    expect(await scopes()).toEqual(['*', 'E8', 'E9'])
  })
})

test('it ends once HR has no one of it but by a plan that is held, and what waits for it is obsolete', async () => {
  const runId = await plantRun(store)
  await refused('E9')
  const told = { platform_state: 'in_service', acknowledged_at: AGO, queried_at: AGO }
  await gone('E9', 'a', { ...told, acknowledged_hash: hash() })
  await gone('E9', 'b')
  await plant(store, 'employee', { enterprise_code: 'E9', userid: 'c', held_run: 1, held_hash: hash() })
  const lost = { enterprise_code: 'E9', active: false, lost: true, closed_at: AGO }
  for (const [dept_code, differs] of Object.entries({
    D1: {},
    D2: { rejected_run: 1 },
    D3: { deleted_at: AGO },
    D4: { parked_at: AGO },
  }))
    await plant(store, 'department', { ...lost, dept_code, ...differs })
  for (const userid of ['a', 'b']) await plantWork(store, userid, { enterprise_code: 'E9', run_id: runId })
  const id = await fail(store, { enterprise_code: 'E9', entity_key: 'a', state: 'retrying' })
  // Someone else has left, too.
  await plant(store, 'employee', { enterprise_code: 'E1', userid: 'x' })
  await gone('E1', 'leaver', { platform_state: 'in_service' })
  await plantWork(store, 'leaver', { enterprise_code: 'E1' })
  await end('E1')
  expect(await scopes()).toEqual([])
  expect(await pending()).toEqual(['leaver'])
  expect(await caseOf(store, id)).toMatchObject({ state: 'resolved', resolution: 'obsolete' })
  await finishRuns(store.pool)
  expect(await readRun(store.pool, runId)).toMatchObject({
    state: 'done',
    result: { outcomes: { obsolete: 2 } },
  })
  expect(
    await store.rows(`select enterprise_code as code, userid, status, platform_state, acknowledged_hash
                      from dirsync.employee order by 1, 2`),
  ).toEqual([
    {
      code: 'E1',
      userid: 'leaver',
      status: 'vanished',
      platform_state: 'in_service',
      acknowledged_hash: null,
    },
    { code: 'E1', userid: 'x', status: 'waiting', platform_state: 'unknown', acknowledged_hash: null },
    { code: 'E9', userid: 'a', status: 'vanished', platform_state: 'unknown', acknowledged_hash: null },
    { code: 'E9', userid: 'b', status: 'vanished', platform_state: 'unknown', acknowledged_hash: null },
    { code: 'E9', userid: 'c', status: 'held', platform_state: 'unknown', acknowledged_hash: null },
  ])
  expect(await store.rows('select dept_code from dirsync.department order by 1')).toEqual([
    { dept_code: 'D2' },
    { dept_code: 'D3' },
    { dept_code: 'D4' },
  ])
  // Should it come back, none of its departments is taken for empty before the platform has told where they are.
  expect(await store.value(`select queried_at from dirsync.employee where userid = 'a'`)).toBeNull()
  expect(
    await store.rows(`select state, sum(n)::int as n from dirsync.tally
                      where source = 'employee' and enterprise_code = 'E9' group by 1 having sum(n) <> 0 order by 1`),
  ).toEqual([
    { state: 'held', n: 1 },
    { state: 'vanished', n: 2 },
  ])
})

test('what is in hand meanwhile, and is refused once more, ends the next time', async () => {
  await refused('E9')
  await gone('E9', 'a')
  await plantWork(store, 'a', { enterprise_code: 'E9', in_hand: true, enqueued_at: AGO })
  await end('E1')
  expect(await scopes()).toEqual([])
  expect(await pending()).toEqual(['a'])
  await store.pool.query('update dirsync.pending set in_hand = false, enqueued_at = null')
  await refused('E9')
  await end('E1')
  expect(await scopes()).toEqual([])
  expect(await pending()).toEqual([])
})

test('no field is withheld from it any more, and none is asked about', async () => {
  await plant(store, 'employee', { enterprise_code: 'E1', userid: 'x', withheld: ['level'] })
  const ofField = { entity: 'enterprise', field: 'level', category: 'feature_disabled' }
  const cases: number[] = []
  for (const code of ['E1', 'E9']) {
    await plant(store, 'field_block', { enterprise_code: code, field: 'level', next_probe_at: LATER })
    cases.push(await fail(store, { ...ofField, enterprise_code: code, entity_key: code }))
  }
  for (const userid of ['a', 'b']) await gone('E9', userid, { withheld: ['level'] })
  await plant(store, 'field_refusal', { enterprise_code: 'E9', field: 'level', userid: 'a', value_hash: 'x' })
  await refused('E9')
  await end('E1')
  const codes = (from: string) => store.rows(`select enterprise_code as code from dirsync.${from}`)
  expect(await codes('field_block')).toEqual([{ code: 'E1' }])
  expect(await codes('field_refusal')).toEqual([])
  expect(await codes(`employee where withheld <> '{}'`)).toEqual([{ code: 'E1' }])
  expect(await Promise.all(cases.map(id => caseOf(store, id)))).toMatchObject([
    { state: 'open' },
    { state: 'resolved', resolution: 'obsolete' },
  ])
  expect(await requestDueRetries(store.pool)).toBeNull()
})

test('with several sources, it ends for an enterprise of none, workers end what waits, and mirrors do not ask for it', async () => {
  await plant(store, 'hr_source', sourceOf('E1'))
  const told = { platform_state: 'in_service', acknowledged_at: AGO, source_hash: hash() }
  await plant(store, 'employee', { enterprise_code: 'E8', userid: 'a', ...told })
  await plant(store, 'employee', {
    enterprise_code: 'E9',
    userid: 'a',
    ...told,
    acknowledged_hash: told.source_hash,
  })
  await gone('E9', 'b')
  await plantWork(store, 'a', { enterprise_code: 'E9' })
  expect(await enterprisesOnPlatform(store.pool, 'E1')).toEqual(['E1', 'E8', 'E9'])
  await refused('E9')
  await end()
  expect(await scopes()).toEqual([])
  expect(await pending()).toEqual(['a'])
  expect(
    await store.rows(`select userid, status from dirsync.employee where enterprise_code = 'E9' order by 1`),
  ).toEqual([
    { userid: 'a', status: 'in_sync' },
    { userid: 'b', status: 'vanished' },
  ])
  expect(await enterprisesOnPlatform(store.pool, 'E1')).toEqual(['E1', 'E8'])
})

function sourceOf(code: string) {
  return { name: 'shanghai', position: 0, kind: 'postgres', address: 'hr/hr', enterprise_codes: [code] }
}
