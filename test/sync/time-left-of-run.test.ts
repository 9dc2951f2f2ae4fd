import { EventEmitter } from 'node:events'
import { PassThrough } from 'node:stream'
import { expect, test, vi } from 'vitest'
import { followRun } from '../../src/cli/progress.ts'
import { type Io, withIo } from '../../src/lib/io.ts'
import { readFigures } from '../../src/sync/health/figures.ts'
import { runTimeLeft, timesLeft } from '../../src/sync/health/time-left.ts'
import { readPace } from '../../src/sync/processes/pace.ts'
import { heartbeat } from '../../src/sync/processes/process.ts'
import { hash, plant, plantRun, plantWork } from './planted.ts'
import { StoreUnderTest } from './store-under-test.ts'

const store = new StoreUnderTest()

const PACER = {
  ratePerSecond: 10,
  set: null,
  learnt: false,
  ceiling: null,
  cap: null,
  waiting: 2,
  pausedForMs: 0,
  concurrency: 8,
  callsPerSecond: 4.5,
  clockOffsetMs: null,
}

const worker = (pacer = {}) =>
  heartbeat(store.pool, {
    id: hash(),
    host: 'h',
    pid: 7,
    roles: ['worker'],
    version: '1',
    pacer: { ...PACER, ...pacer },
  })

const calls = (operation: string, count: number, differs = {}) =>
  plant(store, 'call_minute', {
    minute: new Date(Math.floor(Date.now() / 60_000) * 60_000),
    operation,
    calls: count,
    rate_limited: 0,
    failed: 0,
    waited_ms: 0,
    longest_wait_ms: 0,
    duration_ms: count * 10,
    ...differs,
  })

/** An employee in the outbox of a run, and how far HR and the platform agree. */
async function job(run: number | null, userid: string, employee: object | null, differs = {}): Promise<void> {
  if (employee) await plant(store, 'employee', { userid, source_hash: SAME, ...employee })
  await plantWork(store, userid, { priority: 7, run_id: run, ...differs })
}
const SAME = hash()

test('nothing is known of the pace where nothing runs', async () => {
  expect(await readPace(store.pool)).toEqual({
    workers: 0,
    calls_per_second: 0,
    calls_last_minute: 0,
    permitted_per_second: null,
    set_per_second: null,
    learnt: false,
    ceiling_per_second: null,
    utilisation: null,
    waiting: 0,
    concurrency: null,
    paused_until: null,
    pause_reason: null,
    cap: null,
    operations: [],
  })
  expect(await timesLeft(store.pool, await readPace(store.pool))).toEqual([])
})

test('the pace is that of all processes', async () => {
  await worker()
  await worker({ learnt: true, ratePerSecond: 12, ceiling: 14 })
  await calls('employee/get', 300, { waited_ms: 600, longest_wait_ms: 90, rate_limited: 3, failed: 4 })
  await store.pool.query(
    `insert into dirsync.pacer (gate, next_at, paused_until, pause_reason) values ('platform', now(), now() + interval '1 minute', 'HTTP 429')`,
  )
  const pace = await readPace(store.pool)
  expect(pace).toMatchObject({
    workers: 2,
    permitted_per_second: 12,
    learnt: true,
    ceiling_per_second: 14,
    waiting: 4,
    concurrency: 16,
    paused_until: expect.any(Date),
    pause_reason: 'HTTP 429',
    operations: [
      {
        operation: 'employee/get',
        calls: 300,
        rate_limited: 3,
        failed: 4,
        mean_wait_ms: 2,
        longest_wait_ms: 90,
        mean_duration_ms: 10,
      },
    ],
  })
  expect(pace).toMatchObject({ calls_per_second: 9, utilisation: 0.75 })
  // All of them, unless the test runs across the end of a minute.
  expect(pace.calls_last_minute).toBeGreaterThan(0)
})

test('a pause that a worker alone knows is the same in metrics as in the pace', async () => {
  await worker({ pausedForMs: 60_000 })
  expect((await readPace(store.pool)).paused_until).toEqual(expect.any(Date))
  expect((await readFigures(store.pool)).platformPause).toBeGreaterThan(30)
})

test('a worker that waits for nothing is no pause, however late its heartbeat is to who reads', async () => {
  await worker()
  // As one looks that commits between the reader's now() and its snapshot.
  await store.pool.query(`update dirsync.process set heartbeat_at = now() + interval '10 seconds'`)
  expect((await readPace(store.pool)).paused_until).toBeNull()
})

test('a learnt rate is shown before a worker that has just started makes its first call', async () => {
  await plant(store, 'learnt_rate', {
    gate: 'platform',
    version: 7,
    rate_per_second: 18,
    ceiling: 20,
    changed_at: new Date(),
    leased_at_change: 0,
  })
  await worker({ learnt: true, ratePerSecond: 0 })
  const learnt = { permitted_per_second: 18, learnt: true, ceiling_per_second: 20, utilisation: 0.25 }
  expect(await readPace(store.pool)).toMatchObject(learnt)
  await worker({ ratePerSecond: 9 })
  expect(await readPace(store.pool)).toMatchObject({ permitted_per_second: 9, ceiling_per_second: null })
})

test('a set rate that had to be lowered is shown with both figures', async () => {
  await worker({ set: 200, ratePerSecond: 196 })
  const asSet = { permitted_per_second: 196, set_per_second: 200, learnt: false, ceiling_per_second: null }
  expect(await readPace(store.pool)).toMatchObject(asSet)
  const kept = { version: 7, changed_at: new Date(), leased_at_change: 0 }
  // What was learnt while another rate was set is nothing to this one.
  await plant(store, 'learnt_rate', { ...kept, gate: 'platform@300', rate_per_second: 40, ceiling: 45 })
  expect(await readPace(store.pool)).toMatchObject(asSet)
  await plant(store, 'learnt_rate', { ...kept, gate: 'platform@200', rate_per_second: 56, ceiling: 60 })
  const lowered = { permitted_per_second: 56, set_per_second: 200, learnt: true, ceiling_per_second: 60 }
  expect(await readPace(store.pool)).toMatchObject(lowered)
})

test('a run needs a query per employee, and an update for whom HR changed', async () => {
  const [run, changes] = [await plantRun(store, { kind: 'full' }), await plantRun(store)]
  await job(run, 'same', { acknowledged_hash: SAME })
  await job(run, 'changed', { acknowledged_hash: hash() })
  await job(run, 'new', null)
  await job(run, 'left', { active: false })
  await job(run, 'again', { acknowledged_hash: hash() }, { not_before: new Date(Date.now() + 60_000) })
  await plant(store, 'halt', { scope: 'H1', category: 'c', message: 'm', remedy: 'r' })
  await job(null, 'halted', null, { priority: 1, enterprise_code: 'H1' })
  await job(changes, 'urgent', { acknowledged_hash: hash() }, { priority: 3 })
  expect(await runTimeLeft(store.pool, run)).toEqual({
    state: 'no_worker',
    ...{ seconds: null, calls_per_second: null, paused_ms: null },
    calls: 6,
    ahead: 2,
    later: 1,
  })
  const estimated = { state: 'estimated', calls_per_second: 10, paused_ms: null }
  await worker()
  expect(await timesLeft(store.pool, await readPace(store.pool))).toEqual([
    { run, ...estimated, calls: 6, ahead: 2, later: 1, seconds: 0.8 },
    { run: changes, ...estimated, calls: 2, ahead: 0, later: 0, seconds: 0.2 },
  ])
})

test('a run comes after an equally urgent one that was there before, as of another HR source', async () => {
  const [first, second] = [
    await plantRun(store, { kind: 'full', hr_source: 'a' }),
    await plantRun(store, { kind: 'full', hr_source: 'b' }),
  ]
  for (let i = 0; i < 10; i += 1) await job(first, `a${i}`, { acknowledged_hash: SAME })
  for (let i = 0; i < 5; i += 1) await job(second, `b${i}`, { acknowledged_hash: SAME })
  await worker()
  expect(await timesLeft(store.pool, await readPace(store.pool))).toMatchObject([
    { run: first, calls: 10, ahead: 0, seconds: 1 },
    { run: second, calls: 5, ahead: 10, seconds: 1.5 },
  ])
})

test('a run that is decided in parts needs what its parts need, and waits for none of it', async () => {
  const run = await plantRun(store, { kind: 'full', planned: 7, undecided: 0 })
  const between = await plantRun(store)
  const [first, last] = [
    await plantRun(store, { kind: 'full', planned: 2, part_of: run }),
    await plantRun(store, { kind: 'full', planned: 4, part_of: run }),
  ]
  for (let i = 0; i < 2; i += 1) await job(first, `a${i}`, { acknowledged_hash: SAME }, { priority: 3 })
  for (let i = 0; i < 4; i += 1) await job(last, `b${i}`, { acknowledged_hash: SAME })
  await job(between, 'c', { acknowledged_hash: SAME })
  await worker()
  expect(await runTimeLeft(store.pool, run)).toMatchObject({ calls: 6, ahead: 1, seconds: 0.7 })
  expect(await timesLeft(store.pool, await readPace(store.pool))).toMatchObject([
    { run, calls: 6, ahead: 1 },
    { run: between, calls: 1, ahead: 2 },
    { run: first, calls: 2, ahead: 0 },
    { run: last, calls: 4, ahead: 3 },
  ])
})

test('an employee who was never confirmed needs an update as often as others recently did', async () => {
  const run = await plantRun(store, { kind: 'full' })
  for (let i = 0; i < 10; i += 1) await job(run, `e${i}`, {})
  await worker()
  expect(await runTimeLeft(store.pool, run)).toMatchObject({ calls: 20 })
  await calls('employee/get', 100)
  await calls('employee/update', 30)
  expect(await runTimeLeft(store.pool, run)).toMatchObject({ calls: 13 })
})

test('a halt of everything and a pause are shown instead of a number', async () => {
  const run = await plantRun(store, { kind: 'full' })
  await job(run, 'e1', {})
  await worker({ pausedForMs: 60_000 })
  expect(await runTimeLeft(store.pool, run)).toMatchObject({ state: 'paused', calls: 2 })
  await plant(store, 'halt', { scope: '*', category: 'credentials', message: 'm', remedy: 'r' })
  expect(await runTimeLeft(store.pool, run)).toMatchObject({ state: 'halted' })
  await store.pool.query('update dirsync.sync_run set cancelled_at = now()')
  expect(await runTimeLeft(store.pool, run)).toBeNull()
  await store.pool.query(`update dirsync.sync_run set state = 'done', cancelled_at = null`)
  expect(await runTimeLeft(store.pool, run)).toBeNull()
})

test('a run whose enterprise alone is halted is not over in a moment', async () => {
  const run = await plantRun(store, { kind: 'full' })
  await worker()
  await job(run, 'e1', {}, { enterprise_code: 'H1' })
  await job(run, 'e2', {}, { enterprise_code: 'H1', not_before: new Date(Date.now() + 60_000) })
  await job(run, 'e3', {})
  await plant(store, 'halt', { scope: 'H1', category: 'enterprise_code', message: 'm', remedy: 'r' })
  expect(await runTimeLeft(store.pool, run)).toMatchObject({ state: 'estimated', calls: 2, later: 0 })
  await store.pool.query(`delete from dirsync.pending where enterprise_code = ''`)
  expect(await runTimeLeft(store.pool, run)).toMatchObject({ state: 'halted', calls: 0, later: 0 })
})

test('who waits for a run is told of cases that joined it, and no time left once nothing is', async () => {
  const run = await plantRun(store, { planned: 1 })
  await job(run, 'e1', { acknowledged_hash: hash() })
  await job(run, 'e2', { acknowledged_hash: hash() })
  await worker()
  const stderr = new PassThrough({ encoding: 'utf8' })
  let told = ''
  stderr.on('data', text => {
    told += text
  })
  const io = Object.assign(new EventEmitter(), { env: {}, stderr }) as unknown as Io
  const options = { pool: store.pool, id: run, label: 'run', quiet: false }
  const waiting = withIo(io, () => followRun({ ...options, stopped: new Promise(() => {}) }))
  await vi.waitFor(() => expect(told).toMatch(/^ +run +0\/2\n/))
  await store.pool.query('delete from dirsync.pending')
  await vi.waitFor(() => expect(told).toContain('1/1'))
  await store.pool.query(`update dirsync.sync_run set state = 'done', finished_at = now()`)
  expect(await waiting).toMatchObject({ state: 'done', left: 0 })
  expect(told).toMatch(/ 1\/1\n/)
})
