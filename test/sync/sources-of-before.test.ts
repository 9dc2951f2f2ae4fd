// @module-tag mariadb

import { describe, expect, test } from 'vitest'
import { HrSources, type NamedSource, WHOLE } from '../../src/hr/sources.ts'
import { claim } from '../../src/sync/outbox/claim.ts'
import { haltForHr, readHalts } from '../../src/sync/outbox/halts.ts'
import { readRun, requestRun } from '../../src/sync/runs/run.ts'
import { HrChanges } from '../../src/sync/runs/run-requests.ts'
import { finishRuns } from '../../src/sync/settle/finish-runs.ts'
import { settle as settleOutcomes } from '../../src/sync/settle/settlement.ts'
import { inWords } from '../../src/texts/message.ts'
import { until } from '../helpers/company.ts'
import { hrSource } from '../hr/hr-database.ts'
import { groupUnderTest, LIMITS, MAPPING } from './group-under-test.ts'
import { outcome } from './outcomes.ts'
import { SILENT } from './store-under-test.ts'

const {
  store,
  shanghai,
  beijing,
  both,
  source,
  settle,
  planNext,
  plan,
  people,
  hire,
  inSync,
  job,
  employees,
  pending,
} = groupUnderTest()

describe('a process that was started before the sources changed', () => {
  test('and knows the only HR plans nothing, and no one vanishes', async () => {
    const hr = await inSync()
    await shanghai.pool.query(`update person set name = 'Changed' where userid = 'e1'`)
    const older = HrSources.one(hrSource(shanghai.url, MAPPING))
    const everybody = await requestRun(store.pool, 'changes', [], 'poller')
    const named = await requestRun(store.pool, 'employees', ['e1'], 'test')
    expect(await planNext(older, '')).toBe(false)
    expect(await employees()).toEqual([
      { code: 'E1', n: 10, vanished: 0 },
      { code: 'E2', n: 10, vanished: 0 },
    ])
    expect(await readRun(store.pool, everybody)).toMatchObject({ state: 'requested' })
    // In the order asked for: a process with these sources has none that is nameless.
    for (const _ of [everybody, named]) await planNext(hr, '')
    expect(await readRun(store.pool, named)).toMatchObject({ state: 'running' })
  })

  test('plans the sources that have not changed, and no other one', async () => {
    await hire(shanghai.pool, people('E1', 5))
    await hire(beijing.admin, people('E2', 5, 'b'))
    const three = ['E1', 'E3']
    const older = await settle([
      source('shanghai', three, shanghai.url),
      source('beijing', ['E2'], beijing.url),
    ])
    const newer = await settle(both())
    const runs = await Promise.all(
      ['shanghai', 'beijing', ''].map(name =>
        requestRun(store.pool, name === '' ? 'openids' : 'changes', [], 'test', name),
      ),
    )
    const states = () => Promise.all(runs.map(async run => (await readRun(store.pool, run))?.state))
    for (const name of ['shanghai', 'beijing', '']) await planNext(older, name)
    expect(await states()).toEqual(['requested', 'running', 'requested'])
    for (const name of ['shanghai', 'beijing', '']) await planNext(newer, name)
    expect(await states()).toEqual(['running', 'running', 'running'])
  })

  test('writes nothing of a plan that it had begun, and another one makes it', async () => {
    const hr = await inSync()
    const newer = [source('shanghai', ['E1', 'E2'], shanghai.url)]
    await shanghai.pool.query(`update person set name = 'Changed' where userid = 'e1'`)
    const run = await requestRun(store.pool, 'changes', [], 'test', 'shanghai')
    const reader = await shanghai.pool.connect()
    await reader.query('begin; lock table person')
    const planning = planNext(hr, 'shanghai')
    await until(async () => (await readRun(store.pool, run))?.state === 'planning')
    await settle(newer)
    await reader.query('rollback')
    reader.release()
    await planning
    expect(await readRun(store.pool, run)).toMatchObject({ state: 'requested', message: null })
    expect(await pending()).toEqual([])
  })

  test('claims nothing of an enterprise that now belongs to another source, and gives it back', async () => {
    await hire(shanghai.pool, [...people('E1', 1), ...people('E3', 1, 'c')])
    await hire(beijing.admin, people('E2', 1, 'b'))
    const older = await settle([
      source('shanghai', ['E1', 'E3'], shanghai.url),
      source('beijing', ['E2'], beijing.url),
    ])
    for (const { name } of older.all) await plan(older, name)
    await store.pool.query('update dirsync.pending set enqueued_at = now()')
    const newer = await settle([
      source('shanghai', ['E1'], shanghai.url),
      source('beijing', ['E2', 'E3'], beijing.url),
    ])
    const keys = [job('E1', 'e0'), job('E2', 'b0'), job('E3', 'c0')]
    expect(await claim(store.pool, keys, older.owners)).toEqual([expect.anything(), expect.anything(), null])
    expect(await claim(store.pool, keys, {})).toEqual([null, null, null])
    expect(
      await store.rows(
        `select entity_key as key, starts, enqueued_at is null and not_before > now() as "givenBack"
         from dirsync.pending order by 1`,
      ),
    ).toEqual([
      { key: 'b0', starts: 1, givenBack: true },
      { key: 'c0', starts: 0, givenBack: true },
      { key: 'e0', starts: 1, givenBack: true },
    ])
    await store.pool.query('update dirsync.pending set not_before = now()')
    expect(await claim(store.pool, keys, newer.owners)).not.toContain(null)
  })

  test('leaves nothing that waits for a source which is gone, once it is started with the others', async () => {
    const older = await inSync()
    await beijing.admin.query(`update person set name = 'Changed' where userid = 'b1'`)
    const { id } = await plan(older, 'beijing')
    const key = job('E2', 'b1')
    const [claimed] = await claim(store.pool, [key], older.owners)
    if (!claimed) throw new Error('there is no work')
    const start = () => settle([source('shanghai', ['E1'], shanghai.url)])
    await start()
    // It still has this in hand.
    const again = { delayMs: 0, attempts: 0 }
    await settleOutcomes(store.pool, [outcome(key, claimed, { outcome: 'replan', again })])
    const gone = older.named('beijing') as NamedSource
    await haltForHr({ pool: store.pool, logger: SILENT }, gone, inWords('no answer'))
    await start()
    expect(await store.rows('select not_before <= now() as due, replan_at from dirsync.pending')).toEqual([
      { due: true, replan_at: null },
    ])
    expect(await readHalts(store.pool)).toEqual([])
    await finishRuns(store.pool)
    expect(await readRun(store.pool, id)).toMatchObject({ state: 'cancelled' })
  })

  test('asks for no run that only it could plan', async () => {
    await inSync()
    await store.pool.query(
      `insert into dirsync.pending (operation, enterprise_code, entity_key, priority, not_before, replan_at)
       values ('update-employee', 'E2', 'b1', 3, 'infinity', now())`,
    )
    const before = await store.value('select count(*)::int from dirsync.sync_run')
    const changes = new HrChanges({
      pool: store.pool,
      scope: WHOLE,
      limits: LIMITS,
      by: 'trigger',
      logger: SILENT,
    })
    changes.changed(['e1'])
    await changes.stop()
    expect(await store.value('select count(*)::int from dirsync.sync_run')).toBe(before)
  })
})
