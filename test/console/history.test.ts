import { expect, test } from 'vitest'
import { readHistory } from '../../src/console/overview/history.ts'
import { createPool } from '../../src/lib/database.ts'
import { noteStatuses } from '../../src/sync/health/figures.ts'
import { readPace } from '../../src/sync/processes/pace.ts'
import { hash, plant, plantRun, plantWork } from '../sync/planted.ts'
import { rowsExamined } from '../sync/rows-examined.ts'
import { SILENT, StoreUnderTest } from '../sync/store-under-test.ts'

const store = new StoreUnderTest()

const DAY_MS = 86_400_000
const status = (at: Date, differs: object = {}) => ({
  at,
  in_sync: 90,
  awaiting_activation: 10,
  dead_lettered: 0,
  halted: 0,
  waiting: 0,
  open_cases: {},
  cases: 0,
  pending: 0,
  oldest_pending_seconds: 0,
  is_halted: false,
  ...differs,
})
const NOON = new Date('2026-03-01T12:00:00Z')
const after = (minutes: number) => new Date(NOON.getTime() + minutes * 60_000)

test('the overall state is recorded once per five minutes, with the cases by category', async () => {
  const confirmed = hash()
  await plant(
    store,
    'employee',
    { userid: 'e1', source_hash: confirmed, acknowledged_hash: confirmed },
    { userid: 'e2', source_hash: hash() },
    { userid: 'e3', source_hash: hash(), active: false },
  )
  await plantWork(store, 'e2')
  await store.pool.query(`update dirsync.pending set created_at = now() - interval '90 seconds'`)
  await Promise.all([1, 2, 3].map(() => noteStatuses(store.pool)))
  expect(await store.rows('select * from dirsync.status_history')).toMatchObject([
    { in_sync: 1, waiting: 1, halted: 0, pending: 1, cases: 0, open_cases: {}, is_halted: false },
  ])
  expect(await store.value('select oldest_pending_seconds from dirsync.status_history')).toBeGreaterThan(85)
})

test('a point is there for every five minutes, empty where nothing was written down', async () => {
  await plant(
    store,
    'status_history',
    status(after(0)),
    status(after(10), {
      in_sync: 50,
      waiting: 40,
      pending: 40,
      oldest_pending_seconds: 600,
      cases: 3,
      is_halted: true,
    }),
  )
  const history = await readHistory(store.pool, { from: after(0), to: after(20) })
  expect(history).toMatchObject({
    step: 300,
    x: [0, 5, 10, 15].map(minutes => after(minutes).getTime() / 1000),
    in_sync: [0.9, null, 0.5, null],
    pending: [0, null, 40, null],
    open_cases: [0, null, 3, null],
    oldest_pending: [0, null, 600, null],
    halted: [0, null, 1, null],
  })
})

test('a point of an hour shows the worst of it', async () => {
  await plant(
    store,
    'status_history',
    status(after(0)),
    status(after(30), { in_sync: 0, waiting: 90, pending: 90 }),
    status(after(55), { pending: 1 }),
  )
  const history = await readHistory(store.pool, { from: after(0), to: after(60), step: 3600 })
  expect(history).toMatchObject({ x: [NOON.getTime() / 1000], in_sync: [0], pending: [90] })
})

const calls = (operation: string, at: Date, calls: number, rate_limited = 0) => ({
  operation,
  minute: at,
  calls,
  rate_limited,
  failed: rate_limited,
  waited_ms: 0,
  longest_wait_ms: 0,
  duration_ms: 0,
})

test('calls are per minute, by operation, the same from minutes and from hours', async () => {
  await plant(
    store,
    'call_minute',
    calls('employee/get', after(0), 100, 10),
    calls('employee/get', after(4), 50),
    calls('employee/update', after(61), 30),
  )
  const fine = await readHistory(store.pool, { from: after(0), to: after(10) })
  expect(fine.calls).toEqual([{ operation: 'employee/get', per_minute: [30, 0], refused_per_minute: [2, 0] }])
  await noteStatuses(store.pool)
  // After it was summed up the last hour goes on.
  await plant(store, 'call_minute', calls('employee/update', after(119), 30))
  const coarse = await readHistory(store.pool, { from: after(0), to: after(120), step: 3600 })
  expect(coarse.calls).toEqual([
    { operation: 'employee/get', per_minute: [2.5, 0], refused_per_minute: [10 / 60, 0] },
    { operation: 'employee/update', per_minute: [0, 1], refused_per_minute: [0, 0] },
  ])
  await noteStatuses(store.pool)
  expect(await store.value(`select calls from dirsync.call_hour where operation = 'employee/update'`)).toBe(
    60,
  )
})

/** That so many calls of a step that began `since` are told per minute that has passed of it. */
function expectRate(
  rate: number | undefined,
  { calls, since, now, seconds }: { calls: number; since: Date; now: Date; seconds: number },
): void {
  const passed = (at: number) => Math.min(seconds, Math.max(60, (at - since.getTime()) / 1000)) / 60
  expect(rate).toBeLessThanOrEqual(calls / passed(now.getTime() - 1000))
  expect(rate).toBeGreaterThanOrEqual(calls / passed(Date.now() + 1000))
}

test('calls of a step under way are per minute that has passed of it, not a drop', async () => {
  const now = new Date()
  const since = new Date(now.getTime() - (now.getTime() % 300_000))
  const before = new Date(since.getTime() - 300_000)
  await plant(
    store,
    'call_minute',
    calls('employee/get', before, 600, 300),
    calls('employee/get', since, 600, 300),
  )
  const { calls: shown } = await readHistory(store.pool, { from: before, to: now })
  expect(shown).toEqual([
    {
      operation: 'employee/get',
      per_minute: [120, expect.any(Number)],
      refused_per_minute: [60, expect.any(Number)],
    },
  ])
  expectRate(shown[0]?.per_minute[1], { calls: 600, since, now, seconds: 300 })
  expectRate(shown[0]?.refused_per_minute[1], { calls: 300, since, now, seconds: 300 })
})

test('hours after a clock ran ahead are summed up once it is put back', async () => {
  const hours = 3_600_000
  const now = Date.now()
  const thisHour = new Date(now - (now % hours))
  const at = (hour: number) => new Date(thisHour.getTime() + hour * hours)
  await plant(store, 'call_minute', calls('employee/get', at(-3), 60), calls('employee/get', at(5), 60))
  await noteStatuses(store.pool)
  await plant(store, 'call_minute', calls('employee/get', at(-2), 120), calls('employee/get', at(0), 240))
  await noteStatuses(store.pool)
  const { calls: shown } = await readHistory(store.pool, { from: at(-3), to: at(1), step: 3600 })
  expect(shown.map(({ per_minute }) => per_minute)).toEqual([[1, 2, 0, expect.any(Number)]])
  expectRate(shown[0]?.per_minute[3], { calls: 240, since: thisHour, now: new Date(now), seconds: 3600 })
})

test('calls that were counted while a clock ran ahead are none of the last minutes once it is put back', async () => {
  const minute = 60_000
  const now = Date.now()
  const at = (minutes: number) => new Date(now - (now % minute) + minutes * minute)
  await plant(store, 'call_minute', calls('employee/get', at(-1), 6), calls('employee/get', at(20), 6000))
  await noteStatuses(store.pool)
  const { operations, calls_last_minute } = await readPace(store.pool)
  expect(operations).toMatchObject([{ calls: 6 }])
  expect(calls_last_minute).toBeLessThanOrEqual(6)
})

test('full runs and bad ends are marked', async () => {
  const marked = [
    await plantRun(store, { kind: 'full', state: 'done', finished_at: after(1) }),
    await plantRun(store, { kind: 'changes', state: 'source_suspect', finished_at: after(2) }),
  ]
  await plantRun(store, { kind: 'changes', state: 'done', finished_at: after(3) })
  await plantRun(store, { kind: 'full', state: 'done', finished_at: after(99) })
  const { runs } = await readHistory(store.pool, { from: after(0), to: after(10) })
  expect(runs.map(({ id }) => id)).toEqual(marked.toReversed())
})

test('of thirty days few rows are read, in at most 300 points', async () => {
  await store.pool.query(`
    insert into dirsync.status_history
    select at, 900000, 1000, 500, 0, i % 1000, '{}', i % 70, i % 1000, i % 900, false
    from generate_series(now() - interval '35 days', now(), '5 minutes') with ordinality t (at, i);
    insert into dirsync.call_minute
    select date_trunc('minute', at), operation, 100, 1, 1, 1, 1, 1
    from generate_series(now() - interval '30 days', now(), '1 minute') at,
         unnest(array['employee/get', 'employee/update', 'employee/openid', 'token/create']) operation;
    insert into dirsync.sync_run (kind, state, requested_by, requested_at, finished_at)
    select case when i % 288 = 0 then 'full' else 'changes' end, 'done', 'test', at, at
    from generate_series(now() - interval '180 days', now(), '5 minutes') with ordinality t (at, i);
    analyze dirsync.status_history; analyze dirsync.call_minute; analyze dirsync.sync_run`)
  await using pool = Object.assign(createPool(store.url, { max: 1, name: 'test', logger: SILENT }), {
    [Symbol.asyncDispose]: () => pool.end(),
  })
  // By the connection that is asked what it has read: another one may count this seconds later.
  await noteStatuses(pool)
  await store.pool.query('analyze dirsync.call_hour')
  const now = new Date()
  for (const days of [1, 7, 30]) {
    const span = { from: new Date(now.getTime() - days * DAY_MS), to: now }
    const examined = await rowsExamined(pool, async () => {
      const { x, calls: series, in_sync } = await readHistory(pool, span)
      expect(x.length).toBeLessThanOrEqual(300)
      expect(x.length).toBeGreaterThan(150)
      expect(in_sync.length).toBe(x.length)
      expect(series.map(({ per_minute }) => per_minute.length)).toEqual([1, 2, 3, 4].map(() => x.length))
    })
    // There are 240,000.
    expect(examined).toBeLessThan(30_000)
  }
})
