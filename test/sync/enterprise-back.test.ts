// @module-tag mariadb

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { HrSources, type NamedSource } from '../../src/hr/sources.ts'
import { claimDeployment } from '../../src/sync/health/deployment.ts'
import { lastFullReading, watermark } from '../../src/sync/runs/earlier-runs.ts'
import { readRun, requestRun } from '../../src/sync/runs/run.ts'
import { until } from '../helpers/company.ts'
import { hrSource } from '../hr/hr-database.ts'
import { worded } from '../texts/worded.ts'
import { groupUnderTest, MAPPING } from './group-under-test.ts'
import { acknowledge } from './plan-under-test.ts'

const { store, shanghai, beijing, settle, planNext, plan, people, hire, employees, pending } =
  groupUnderTest()

describe('an enterprise that comes back', () => {
  const TIMED = MAPPING.replace(' from', ', updated_at from')
  const timed = (name: string, codes: string[], url: string): NamedSource => ({
    ...{ name, codes, hr: hrSource(url, TIMED, {}) },
  })
  const before = () => [timed('shanghai', ['E1', 'E3'], shanghai.url), timed('beijing', ['E2'], beijing.url)]
  const moved = () => [timed('shanghai', ['E1'], shanghai.url), timed('beijing', ['E3', 'E2'], beijing.url)]

  beforeAll(async () => {
    await shanghai.pool.query('alter table person add column updated_at timestamptz default now()')
    await beijing.admin.query('alter table person add column updated_at timestamp default now()')
  })
  afterAll(async () => {
    await shanghai.pool.query('alter table person drop column updated_at')
    await beijing.admin.query('alter table person drop column updated_at')
  })

  /** Every company has its employees, and `first` has read them. */
  async function known(first: NamedSource[]): Promise<HrSources> {
    await hire(shanghai.pool, [...people('E1', 10), ...people('E3', 10, 'c'), ...people('E2', 10, 'b')])
    if (first.length > 0) await shanghai.pool.query(`delete from person where enterprise_code = 'E2'`)
    await shanghai.pool.query(
      `update person set updated_at = now() - case userid when 'e9' then interval '1 day' else '3 days' end`,
    )
    await hire(beijing.admin, people('E2', 10, 'b'))
    await settle(first)
    const hr = first.length > 0 ? new HrSources(first) : HrSources.one(hrSource(shanghai.url, TIMED))
    for (const { name } of hr.all) await plan(hr, name)
    await acknowledge(store)
    return hr
  }
  /** Beijing has the enterprise meanwhile, two with other names and one not at all, and has sent that. */
  async function sendOthers(): Promise<void> {
    await hire(beijing.admin, people('E3', 9, 'c'))
    await beijing.admin.query(`update person set name = 'Other' where userid in ('c1', 'c2')`)
    expect(await plan(await settle(moved()), 'beijing')).toMatchObject({ state: 'running', planned: 3 })
    await acknowledge(store)
  }

  test('is read completely, although its source had read it once', async () => {
    await known(before())
    await sendOthers()
    const back = await settle(before())
    expect(await watermark(store.pool, { name: 'shanghai', codes: ['E1', 'E3'] })).toBeNull()
    await plan(back, 'shanghai')
    expect(await pending()).toEqual(['E3/c1', 'E3/c2', 'E3/c9'])
    expect(await employees()).toMatchObject([{ vanished: 0 }, { vanished: 0 }, { vanished: 0 }])
    await acknowledge(store)
    // A process that starts with the same sources changes nothing, in whatever order it names the enterprises.
    const again = await settle(before().map(one => ({ ...one, codes: one.codes?.toReversed() ?? [] })))
    await plan(again, 'shanghai')
    expect(await readsAll()).toBe(false)
    // What was read after the clock had been put back by a day counts, too.
    await store.pool.query(`update dirsync.sync_run set planned_at = planned_at - interval '1 day'`)
    expect(await lastFullReading(store.pool, { name: 'shanghai', codes: ['E1', 'E3'] })).not.toBeNull()
  })

  test('is read completely by the only HR that there is once more', async () => {
    await claimDeployment(store.pool, {
      baseUrl: 'https://platform.example',
      appId: 'a',
      enterpriseCode: '',
    })
    const only = await known([])
    await sendOthers()
    for (const _ of ['as before', 'the same once more']) await settle([])
    await plan(only, '')
    expect(await pending()).toEqual(['E3/c1', 'E3/c2', 'E3/c9'])
    await acknowledge(store)
    await plan(only, '')
    expect(await readsAll()).toBe(false)
  })

  test('and that its source delivers no more makes no leavers', async () => {
    await known(before())
    await shanghai.pool.query(`delete from person where enterprise_code = 'E3' and userid > 'c1'`)
    await store.pool.query(`delete from dirsync.employee where enterprise_code = 'E3' and userid > 'c1'`)
    await plan(await settle(before()), 'shanghai', 'full')
    await settle(moved())
    await shanghai.pool.query(`delete from person where enterprise_code = 'E3'`)
    expect(worded(await plan(await settle(before()), 'shanghai', 'full'))).toMatchObject({
      state: 'source_suspect',
      message: expect.stringContaining('2 employees who are known of enterprise E3'),
    })
  })

  test('is read again if it had left and come back while it was read', async () => {
    const hr = await known(before())
    const reader = await shanghai.pool.connect()
    await reader.query('begin; lock table person')
    const run = await requestRun(store.pool, 'changes', [], 'test', 'shanghai', true)
    const planning = planNext(hr, 'shanghai')
    await until(async () => (await readRun(store.pool, run))?.state === 'planning')
    await settle(moved())
    const back = await settle(before())
    await reader.query('rollback')
    reader.release()
    await planning
    expect(await readRun(store.pool, run)).toMatchObject({ state: 'running' })
    await plan(back, 'shanghai')
    expect(await readsAll()).toBe(true)
    await plan(back, 'shanghai')
    expect(await readsAll()).toBe(false)
  })

  /** Whether the latest run read every row. */
  const readsAll = () =>
    store.value<boolean>('select read_all from dirsync.sync_run order by id desc limit 1')
})
