// @module-tag mariadb

import { describe, expect, test } from 'vitest'
import { countStatuses } from '../../src/console/employees/list.ts'
import { HrSources } from '../../src/hr/sources.ts'
import { claimDeployment } from '../../src/sync/health/deployment.ts'
import { type Claim, type ClaimKey, claim } from '../../src/sync/outbox/claim.ts'
import { type Run, readRun, requestRun } from '../../src/sync/runs/run.ts'
import { finishRuns } from '../../src/sync/settle/finish-runs.ts'
import { settle as settleOutcomes } from '../../src/sync/settle/settlement.ts'
import { hrSource } from '../hr/hr-database.ts'
import { worded } from '../texts/worded.ts'
import { groupUnderTest, MAPPING } from './group-under-test.ts'
import { outcome } from './outcomes.ts'
import { acknowledge } from './plan-under-test.ts'

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
  employees,
  pending,
  job,
} = groupUnderTest()

describe('back to one HR system', () => {
  const one = () => HrSources.one(hrSource(shanghai.url, MAPPING))
  const MISSING =
    'HR delivers none of the 2 employees who are known of enterprise E2: they would count as having left. If another HR system has them, set HR_SOURCES for every process.'
  const ALL = [
    { code: 'E1', n: 10, vanished: 0 },
    { code: 'E2', n: 2, vanished: 0 },
  ]

  /** Of Beijing's company there are few; the only HR read Shanghai's before there were several. */
  async function severalInSync(): Promise<void> {
    await claimDeployment(store.pool, {
      baseUrl: 'https://platform.example',
      appId: 'a',
      enterpriseCode: '',
    })
    await hire(shanghai.pool, people('E1', 10))
    await plan(one(), '')
    await acknowledge(store)
    await hire(beijing.admin, people('E2', 2, 'b'))
    const hr = await settle(both())
    for (const { name } of hr.all) await plan(hr, name)
    await acknowledge(store)
    expect(await employees()).toEqual(ALL)
  }
  /** @param known changes what is known of those whom HR lacks */
  async function heldWithout(known: () => Promise<unknown> = async () => {}): Promise<Run> {
    await severalInSync()
    await known()
    await settle([])
    const held = await plan(one(), '')
    expect(worded(held)).toMatchObject({ state: 'held', message: MISSING })
    expect(await pending()).toEqual([])
    expect(await employees()).toEqual(ALL)
    return held
  }
  /** What a decision requests is planned first. */
  const passes = async () => {
    const id = await requestRun(store.pool, 'changes', [], 'test')
    while (await planNext(one(), ''));
    expect(worded(await readRun(store.pool, id))).toMatchObject({ state: 'running', message: null })
  }

  test('that lacks an enterprise makes no leavers before a person approves', async () => {
    const held = await heldWithout()
    expect(worded(await plan(one(), ''))).toMatchObject({ state: 'superseded' })
    expect(worded(await readRun(store.pool, held.id))).toMatchObject({
      state: 'held',
      message: `${MISSING} HR has not changed since.`,
    })
    await store.pool.query('select dirsync.approve($1)', [held.id])
    await planNext(one(), '')
    expect(await readRun(store.pool, held.id)).toMatchObject({ state: 'running' })
    expect(await employees()).toMatchObject([{ vanished: 0 }, { vanished: 2 }])
    await passes()
  })

  const cancel = (run: number) => store.pool.query('select dirsync.cancel($1)', [run])
  /** HR is the only one, and the run is cancelled while the next plan reads it. */
  const cancelledMeanwhile = (run: number) => {
    const hr = hrSource(shanghai.url, MAPPING)
    const { scan } = hr
    hr.scan = async options => {
      await cancel(run)
      return scan.call(hr, options)
    }
    return HrSources.one(hr)
  }
  test.each<[string, (run: number) => Promise<unknown>]>([
    ['at once', cancel],
    ['once the run that it requested has passed', run => passes().then(() => cancel(run))],
    ['while the next run reads HR', run => planNext(cancelledMeanwhile(run), '')],
  ])(
    'that lacks an enterprise, about which a person decides anew, with the approval cancelled %s',
    async (_, end) => {
      const held = await heldWithout()
      await store.pool.query('select dirsync.approve($1)', [held.id])
      await planNext(one(), '')
      await end(held.id)
      await requestRun(store.pool, 'changes', [], 'test')
      while (await planNext(one(), ''));
      expect(await store.rows(`select message from dirsync.sync_run where state = 'held'`)).toMatchObject([
        { message: expect.stringContaining(MISSING) },
      ])
      expect(await employees()).toEqual(ALL)
    },
  )

  /** Workers find another HR row than the plan saw. */
  const replan = async (keys: ClaimKey[]) => {
    const claims = await claim(store.pool, keys, one().owners)
    const again = { delayMs: 0, attempts: 0 }
    const outcomes = keys.map((key, i) => outcome(key, claims[i] as Claim, { outcome: 'replan', again }))
    await settleOutcomes(store.pool, outcomes)
  }
  /** What an invalid row leaves. */
  const neverAsked = () =>
    store.pool.query(
      `update dirsync.employee set platform_state = 'unknown', acknowledged_hash = null, parked_hash = source_hash
       where enterprise_code = 'E2'`,
    )
  const byName = () => plan(one(), '', 'employees', ['b0', 'b1'])
  test.each<[string, () => Promise<Run>, (() => Promise<unknown>)?]>([
    [
      'a plan that workers had asked for',
      () => replan([job('E2', 'b0'), job('E2', 'b1')]).then(() => plan(one(), '')),
    ],
    ['a run of employees by name', byName],
    ['a run of employees by name, of whom the platform was never asked,', byName, neverAsked],
  ])(
    'that lacks an enterprise, with the approval cancelled, and later %s which had taken its work over',
    async (_, take, known = async () => {}) => {
      const held = await heldWithout(known)
      await store.pool.query('select dirsync.approve($1)', [held.id])
      while (await planNext(one(), ''));
      const over = await take()
      // What an overtaken outcome leaves.
      await store.pool.query(`update dirsync.employee set active = true where enterprise_code = 'E2'`)
      await cancel(held.id)
      await finishRuns(store.pool)
      await passes()
      await cancel(over.id)
      expect(worded(await plan(one(), ''))).toMatchObject({ state: 'held', message: MISSING })
      expect(await employees()).toEqual(ALL)
    },
  )

  test('that lacks an enterprise, with the approval cancelled: also of whom the platform was never asked', async () => {
    await severalInSync()
    await neverAsked()
    await settle([])
    const { id } = await plan(one(), '')
    await store.pool.query('select dirsync.approve($1)', [id])
    await planNext(one(), '')
    await cancel(id)
    await planNext(one(), '')
    // HR is checked again for the one that is held.
    await plan(one(), '')
    expect(worded(await readRun(store.pool, id + 1))).toMatchObject({
      state: 'held',
      message: `${MISSING} HR has not changed since.`,
    })
    expect(await employees()).toEqual(ALL)
  })

  test('that lacks one which had no source before either', async () => {
    await severalInSync()
    await settle([source('shanghai', ['E1'], shanghai.url)])
    await settle([])
    expect(worded(await plan(one(), ''))).toMatchObject({ state: 'held', message: MISSING })
  })

  test('that lacks an enterprise, whose people stay once that was rejected', async () => {
    const held = await heldWithout()
    await store.pool.query(`select dirsync.reject($1, 'not ours')`, [held.id])
    for (const _ of ['now', 'ever after']) await passes()
    expect(await employees()).toEqual(ALL)
    const hr = await settle(both())
    for (const { name } of hr.all) expect(await plan(hr, name)).toMatchObject({ state: 'running' })
    expect(await countStatuses(store.pool)).toMatchObject({ in_sync: 12, held: 0, rejected: 0 })
  })

  test('that lacks an enterprise, by mistake: with several once more nothing is held', async () => {
    const held = await heldWithout()
    const hr = await settle(both())
    expect(await readRun(store.pool, held.id)).toMatchObject({ state: 'rejected' })
    for (const { name } of hr.all) expect(await plan(hr, name)).toMatchObject({ state: 'running' })
    expect(await countStatuses(store.pool)).toMatchObject({ in_sync: 12, held: 0, rejected: 0 })
  })

  test('that lacks more enterprises while the run is held, about which a person decides, too', async () => {
    await severalInSync()
    await shanghai.pool.query('delete from person')
    const codes = ['E3', 'E4', 'E5', 'E6', 'E7', 'E8']
    await hire(
      shanghai.pool,
      codes.flatMap(code => people(code, 1, code)),
    )
    const hr = await settle([source('shanghai', codes, shanghai.url)])
    await plan(hr, 'shanghai')
    await acknowledge(store)
    await hire(shanghai.pool, people('E1', 10))
    await settle([])
    const held = await plan(one(), '')
    expect(worded(held)).toMatchObject({ state: 'held', message: MISSING })
    await shanghai.pool.query(`delete from person where enterprise_code = 'E8'`)
    await plan(one(), '')
    expect(worded(await readRun(store.pool, held.id))).toMatchObject({
      state: 'held',
      message: expect.stringMatching(/^HR delivers none .* of these enterprises: E2 \(2\); E8 \(1\)\. /),
    })
    await store.pool.query('select dirsync.approve($1)', [held.id])
    while (await planNext(one(), ''));
    expect(await store.rows(`select grown, state from dirsync.sync_run where state = 'held'`)).toHaveLength(1)
    expect((await employees()).filter(({ vanished }) => vanished > 0)).toMatchObject([{ code: 'E2' }])
  })

  test('that has all of them passes, unless it has far fewer rows', async () => {
    await severalInSync()
    await settle([])
    await hire(shanghai.pool, people('E2', 2, 'b'))
    await shanghai.pool.query(`delete from person where userid in ('e7', 'e8', 'e9')`)
    expect(worded(await plan(one(), ''))).toMatchObject({
      state: 'source_suspect',
      message: expect.stringContaining('HR delivers 9 rows, 25 % fewer than the last good run (12)'),
    })
    await shanghai.pool.query(`delete from person where enterprise_code = 'E1'`)
    await hire(shanghai.pool, people('E1', 10))
    await passes()
    // Once it has been read completely, missing employees are leavers.
    await shanghai.pool.query(`delete from person where enterprise_code = 'E2'`)
    expect(await plan(one(), '')).toMatchObject({ state: 'running', plan: { reasons: { vanished: 2 } } })
  })

  test('that had all of them: a cancelled run that was no reading of HR lets nobody be asked about anew', async () => {
    await severalInSync()
    await settle([])
    await hire(shanghai.pool, people('E2', 2, 'b'))
    await passes()
    await cancel((await plan(one(), '', 'employees', ['e1'])).id)
    await cancel(await requestRun(store.pool, 'orders', [], 'test'))
    await shanghai.pool.query(`delete from person where enterprise_code = 'E2'`)
    expect(await plan(one(), '')).toMatchObject({ state: 'running', plan: { reasons: { vanished: 2 } } })
  })
})
