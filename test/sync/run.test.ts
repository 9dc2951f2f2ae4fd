import { describe, expect, test } from 'vitest'
import { WHOLE } from '../../src/hr/sources.ts'
import { withConnection } from '../../src/lib/database.ts'
import { lastFullReading, watermark } from '../../src/sync/runs/earlier-runs.ts'
import {
  claimRun,
  planningMs,
  RunTakenBack,
  readRun,
  recheckHeldRun,
  reclaimOrphanedRuns,
  recordPlan,
  requestRun,
  runProgress,
  unfinishedRun,
} from '../../src/sync/runs/run.ts'
import { isPlanned } from '../../src/sync/runs/run-requests.ts'
import { finishRuns } from '../../src/sync/settle/finish-runs.ts'
import { inWords } from '../../src/texts/message.ts'
import { fail, plant, plantRun, plantWork } from './planted.ts'
import { StoreUnderTest } from './store-under-test.ts'

const store = new StoreUnderTest()

const claim = () => withConnection(store.pool, client => claimRun(client, ''))
const source = (newest: string | null) => ({ rows: 10, keyless: 0, empty: {}, newest })
const good = (differs = {}) =>
  plantRun(store, { state: 'done', read_all: true, source: source(null), planned_at: new Date(), ...differs })

describe('requested runs', () => {
  test('are planned in the order asked for, whatever they name, but approved ones go first', async () => {
    const ids = [
      await requestRun(store.pool, 'changes', [], 'cron'),
      await requestRun(store.pool, 'changes', ['e1'], 'trigger'),
      await requestRun(store.pool, 'employees', ['e1'], 'cli'),
      await plantRun(store, { state: 'requested', approved: true }),
    ]
    const claimed = [await claim(), await claim(), await claim(), await claim()]
    expect(claimed.map(run => run?.id)).toEqual([ids[3], ids[0], ids[1], ids[2]])
    expect(claimed[3]).toMatchObject({
      kind: 'employees',
      named: ['e1'],
      state: 'planning',
      requestedBy: 'cli',
      startedAt: expect.any(Date),
      approved: false,
    })
    expect(await claim()).toBeNull()
  })

  test('of mirrors are left to their readers', async () => {
    const id = await requestRun(store.pool, 'orders', [], 'cron')
    expect(await claim()).toBeNull()
    await plantRun(store, { kind: 'accounts', state: 'running' })
    expect(await finishRuns(store.pool)).toEqual({ ended: [], left: 0 })
    expect(await readRun(store.pool, id)).toMatchObject({ state: 'requested' })
  })

  test('are claimed by one of two planners', async () => {
    await requestRun(store.pool, 'changes', [], 'cron')
    const claimed = await Promise.all([claim(), claim()])
    expect(claimed.filter(run => run !== null)).toHaveLength(1)
  })

  test('are given back when their planner died, and keep when they began', async () => {
    const id = await requestRun(store.pool, 'changes', [], 'cron')
    const first = await claim()
    expect(await reclaimOrphanedRuns(store.pool, '')).toBe(1)
    const again = await claim()
    expect(again).toMatchObject({ id, startedAt: first?.startedAt })
  })
})

describe('a plan', () => {
  const plan = { reasons: { new: 2, changed: 3 }, sample: ['e1'] }

  test('that may run is written down, with how much it asks', async () => {
    const id = await plantRun(store, { state: 'planning' })
    await recordPlan(store.pool, id, {
      state: 'running',
      inScope: 9,
      plan,
      source: source('x'),
      readAll: false,
      message: inWords('m'),
    })
    expect(await readRun(store.pool, id)).toMatchObject({
      state: 'running',
      inScope: 9,
      planned: 5,
      plan,
      message: inWords('m'),
      finishedAt: null,
    })
    expect(await store.value('select read_all from dirsync.sync_run')).toBe(false)
  })

  test.each(['source_suspect', 'failed'] as const)('that ends the run as %s ends it', async state => {
    const id = await plantRun(store, { state: 'planning' })
    await recordPlan(store.pool, id, { state, message: inWords('why') })
    expect(await readRun(store.pool, id)).toMatchObject({
      state,
      finishedAt: expect.any(Date),
      planned: null,
    })
  })

  test('that is held is not over', async () => {
    const id = await plantRun(store, { state: 'planning' })
    await recordPlan(store.pool, id, { state: 'held', plan, message: inWords('why') })
    expect(await readRun(store.pool, id)).toMatchObject({ state: 'held', planned: 5, finishedAt: null })
    expect(await isPlanned(store.pool, id)).toBe(true)
    await recheckHeldRun(store.pool, id)
    expect(await isPlanned(store.pool, id)).toBe(false)
    // Asked for before the clock was put back.
    await store.pool.query(`update dirsync.sync_run set recheck_at = now() + interval '1 day'`)
    await recheckHeldRun(store.pool, id)
    expect(await store.value(`select recheck_at < now() + interval '2 minutes' from dirsync.sync_run`)).toBe(
      true,
    )
    const done = await good()
    await recheckHeldRun(store.pool, done)
    expect(await isPlanned(store.pool, done)).toBe(true)
  })

  test('of a run that another process has planned meanwhile changes nothing', async () => {
    const id = await plantRun(store, { state: 'running' })
    const late = recordPlan(store.pool, id, { state: 'failed', message: inWords('too late') })
    await expect(late).rejects.toThrow(RunTakenBack)
    expect(await readRun(store.pool, id)).toMatchObject({ state: 'running', message: null })
  })
})

describe('a running run', () => {
  const attempt = (run: number, entityKey: string, outcome: string, differs = {}) =>
    plant(store, 'attempt', {
      run_id: run,
      operation: 'update-employee',
      entity_key: entityKey,
      outcome,
      started_at: new Date(),
      duration_ms: 1,
      calls: { 'employee/get': 1 },
      ...differs,
    })

  test('ends when nothing of it is left in the outbox, and not before', async () => {
    const [busy, idle, held] = [
      await plantRun(store),
      await plantRun(store),
      await plantRun(store, { state: 'held' }),
    ]
    await plantWork(store, 'e1', { run_id: busy })
    expect(await finishRuns(store.pool)).toEqual({ ended: [idle], left: 1 })
    expect(await readRun(store.pool, idle)).toMatchObject({ state: 'done', finishedAt: expect.any(Date) })
    expect(await runProgress(store.pool, busy)).toMatchObject({ state: 'running', left: 1 })
    expect(await readRun(store.pool, held)).toMatchObject({ state: 'held' })
    await store.pool.query('delete from dirsync.pending')
    expect(await finishRuns(store.pool)).toEqual({ ended: [busy], left: 0 })
  })

  test('has as result the last outcome of each entity, all calls, and the cases by category', async () => {
    const [run, other] = [await plantRun(store), await plantRun(store, { state: 'done' })]
    await attempt(run, 'e1', 'retry')
    await attempt(run, 'e1', 'updated', {
      calls: { 'employee/get': 1, 'employee/update': 2 },
      waited_ms: { 'employee/get': 0, 'employee/update': 300 },
      rate_limited: { 'employee/update': 1 },
    })
    await attempt(run, 'e2', 'parked', { waited_ms: { 'employee/get': 20 } })
    await attempt(run, 'e3', 'updated')
    await attempt(run, 'e3', 'bound', {
      operation: 'bind-openid',
      detail: '20000001',
      calls: { 'employee/openid': 1 },
    })
    await attempt(other, 'e4', 'updated')
    await fail(store, { entity_key: 'e2', last_run_id: run })
    await fail(store, { entity_key: 'e3', last_run_id: run })
    await fail(store, { entity_key: 'e5', last_run_id: run, category: 'left_hr' })
    await fail(store, { entity_key: 'e6', last_run_id: other })
    await store.pool.query(
      `update dirsync.dead_letter set state = 'ignored', note = 'x' where entity_key = 'e3'`,
    )
    await finishRuns(store.pool)
    expect((await readRun(store.pool, run))?.result).toEqual({
      outcomes: { updated: 2, parked: 1, bound: 1 },
      calls: { 'employee/get': 4, 'employee/update': 2, 'employee/openid': 1 },
      waitedMs: { 'employee/get': 20, 'employee/update': 300 },
      rateLimited: { 'employee/update': 1 },
      deadLetters: { duplicate_mobile: 1, left_hr: 1 },
    })
  })

  test('without any work has an empty result', async () => {
    const run = await plantRun(store)
    await finishRuns(store.pool)
    expect((await readRun(store.pool, run))?.result).toEqual({
      outcomes: {},
      calls: {},
      waitedMs: {},
      rateLimited: {},
      deadLetters: {},
    })
  })

  test('is ended by one of two coordinators', async () => {
    await plantRun(store)
    const ends = await Promise.all([finishRuns(store.pool), finishRuns(store.pool)])
    expect(ends.flatMap(({ ended }) => ended)).toHaveLength(1)
  })
})

test.each([
  ['0 before it is over', { state: 'planning', started_at: new Date(0) }, 0],
  ['that of the last check', { planned_for: '1 minute', checked_for: '2 seconds' }, 2000],
  ['never longer than HR can be read: the clock was put forward', { planned_for: '25 hours' }, 3_600_000],
])('the time for which HR was read is %s', async (_, run, ms) => {
  expect(await planningMs(store.pool, await plantRun(store, run))).toBe(ms)
})

describe('the last full reading', () => {
  test('is the last good run of changes or everything that read every row', async () => {
    expect(await lastFullReading(store.pool, WHOLE)).toBeNull()
    await good({ source: { ...source(null), rows: 1 } })
    await good({
      kind: 'full',
      state: 'running',
      source: { ...source(null), rows: 2 },
      planned_at: '2026-01-01T00:00:00Z',
    })
    await good({ read_all: false })
    for (const state of ['source_suspect', 'held', 'failed', 'rejected', 'planning']) await good({ state })
    await good({ kind: 'departments', source: null })
    expect(await lastFullReading(store.pool, WHOLE)).toMatchObject({
      statistics: { rows: 2 },
      at: new Date('2026-01-01T00:00:00Z'),
    })
  })
})

describe('the watermark', () => {
  const seen = (newest: string | null, differs = {}) =>
    good({ source: source(newest), planned_at: '2026-06-01T00:00:00Z', ...differs })

  test('is unknown before a good run has seen any time', async () => {
    expect(await watermark(store.pool, WHOLE)).toBeNull()
    await seen(null)
    expect(await watermark(store.pool, WHOLE)).toBeNull()
  })

  test('is the newest that was seen since the last full reading', async () => {
    await seen('2026-05-09 00:00:00+08')
    await seen('2026-05-01 08:00:00.5+08')
    await seen('2026-05-02 08:00:00+08', { read_all: false, state: 'running' })
    await seen(null, { read_all: false })
    await seen('2026-05-03 08:00:00+08', { read_all: false, state: 'held' })
    expect(await watermark(store.pool, WHOLE)).toEqual(new Date('2026-05-02T00:00:00Z'))
  })

  test.each(['2999-01-01 00:00:00+08', 'infinity', '2026-06-01 08:00:01+08'])(
    'is the time of the run when a row is from the future: %s',
    async newest => {
      await seen(newest)
      expect(await watermark(store.pool, WHOLE)).toEqual(new Date('2026-06-01T00:00:00Z'))
    },
  )

  test('is a time even where HR knows none', async () => {
    await seen('-infinity')
    expect(await watermark(store.pool, WHOLE)).toEqual(new Date(0))
  })
})

test('the unfinished run of a kind is the latest', async () => {
  await plantRun(store, { state: 'held' })
  const later = await plantRun(store, { state: 'running' })
  await plantRun(store, { state: 'done', finished_at: new Date() })
  await plantRun(store, { kind: 'full', state: 'running' })
  expect(await unfinishedRun(store.pool, 'changes', '')).toMatchObject({ id: later })
  expect(await unfinishedRun(store.pool, 'openids', '')).toBeNull()
})
