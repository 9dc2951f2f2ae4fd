import { setTimeout } from 'node:timers/promises'
import type pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { HrSources } from '../../src/hr/sources.ts'
import { createClient, createPool } from '../../src/lib/database.ts'
import { UNTRACED } from '../../src/lib/tracing.ts'
import { parseJobKey } from '../../src/queue/job.ts'
import { type Claim, type ClaimKey, claim } from '../../src/sync/outbox/claim.ts'
import { type FedQueue, Feeder } from '../../src/sync/outbox/feeder.ts'
import type { Settlement } from '../../src/sync/outbox/outcome.ts'
import type { PlannerOptions } from '../../src/sync/plan/planner.ts'
import { Planner } from '../../src/sync/plan/planner.ts'
import { requestRun } from '../../src/sync/runs/run.ts'
import { settle } from '../../src/sync/settle/settlement.ts'
import { until } from '../helpers/company.ts'
import { memory, outcome, refusal } from './outcomes.ts'
import { PlanUnderTest } from './plan-under-test.ts'
import { SILENT, WAITING_FOR_A_LOCK } from './store-under-test.ts'

const EMPLOYEES = 7500
const PLANS = 20
const WORKERS = 4
const BATCH = 100
/** Outcomes between two plans, at least: so the workers are busy whatever the machine does. */
const BETWEEN = 300

/** Nothing is held: these tests are about locks. */
const LIMITS: PlannerOptions['limits'] = {
  gate: { maxFewerRows: 100, maxEmptied: 100 },
  breaker: { count: EMPLOYEES, percent: 100 },
  departments: { count: 1, percent: 10 },
  departmentGraceMs: 3_600_000,
  maxLeavers: 50,
  readAllEveryMs: 0,
}

const PLANNER = {
  source: '',
  logger: SILENT,
  limits: LIMITS,
  sellerAppids: [],
  ownEnterprise: '',
  tracing: UNTRACED,
}

const plans = new PlanUnderTest()
const { store } = plans

/** What a worker makes of a job: mostly an update, now and then a refusal or another try. */
function comeOf(key: ClaimKey, claimed: Claim, i: number): Settlement {
  const { sourceHash } = claimed
  if (i % 7 === 0) return outcome(key, claimed, { again: { delayMs: 0, attempts: 1 } })
  if (i % 5 === 0)
    return outcome(key, claimed, {
      employee: memory({ parkedHash: sourceHash }),
      outcome: 'parked',
      failures: [refusal({ sourceHash })],
      resolve: 'all',
    })
  return outcome(key, claimed, {
    employee: memory({ acknowledgedHash: sourceHash }),
    ...(i % 2 === 0 && { outcome: 'updated', fields: ['mobile'] }),
    resolve: claimed.cases.length > 0 ? 'all' : 'none',
  })
}

/** A queue, a feeder and workers that settle whatever comes, until they are told to stop. */
function busyWorkers(pool: pg.Pool) {
  const waiting: ClaimKey[] = []
  const queue: FedQueue = {
    async add(jobs) {
      for (const { name, keys } of jobs)
        for (const key of keys) waiting.push({ operation: name, ...parseJobKey(key) })
    },
    counts: async () => ({ total: waiting.length }),
  }
  const feeder = new Feeder({ pool, queue, highWater: 2000, logger: SILENT })
  let stopped = false
  let settled = 0
  const feed = async () => {
    while (!stopped) if ((await feeder.feed()) === 0) await setTimeout(5)
  }
  const work = async () => {
    while (!stopped) {
      // In any order, as jobs of different ages and priorities come out of a queue.
      const keys = Array.from({ length: Math.min(BATCH, waiting.length) }, () =>
        waiting.splice(Math.floor(Math.random() * waiting.length), 1),
      ).flat()
      if (keys.length === 0) {
        await setTimeout(5)
        continue
      }
      const claims = await claim(pool, keys, {})
      const begun = keys.flatMap((key, i) => (claims[i] ? [comeOf(key, claims[i], settled + i)] : []))
      await settle(pool, begun)
      settled += begun.length
    }
  }
  const running = Promise.all([feed(), ...Array.from({ length: WORKERS }, work)])
  let failure: unknown
  running.catch(error => {
    failure = error
  })
  return {
    async haveSettled(outcomes: number) {
      await until(async () => failure !== undefined || settled >= outcomes)
      if (failure !== undefined) throw failure
    },
    async stop() {
      stopped = true
      await running
    },
  }
}

/** A pool of connections by that name, ended with the test at the latest. */
function poolOf(name: string) {
  const pool = createPool(store.url, { max: 12, name, logger: SILENT })
  let ended: Promise<void> | undefined
  const end = () => {
    ended ??= pool.end()
    return ended
  }
  onTestFinished(end)
  return { pool, end }
}

/** Deadlocks that PostgreSQL has broken in dirsync's database; what a session saw is counted when it has ended. */
async function deadlocks(sessions: string): Promise<number> {
  await until(
    async () =>
      (await store.value<number>(
        `select count(*)::int from pg_stat_activity where datname = current_database() and application_name = $1`,
        [`dirsync ${sessions}`],
      )) === 0,
  )
  return store.value('select deadlocks::int from pg_stat_database where datname = current_database()')
}

test('plans of many rows and busy workers never wait for each other in a circle', async () => {
  await plans.hire(EMPLOYEES)
  const before = await deadlocks('busy')
  const { pool, end } = poolOf('busy')
  const planner = new Planner({ ...PLANNER, pool, hr: HrSources.one(plans.source()) })
  const workers = busyWorkers(pool)
  for (let i = 0; i < PLANS; i++) {
    await workers.haveSettled(i * BETWEEN)
    await plans.hr.query(`update person set name = 'n' || $1::text`, [i])
    await requestRun(pool, i % 4 === 3 ? 'full' : 'changes', [], 'test')
    await planner.planNext(new AbortController().signal)
  }
  await workers.stop()
  await end()
  const planned = await store.rows(
    `select state, (plan -> 'reasons' ->> 'changed')::int as changed from dirsync.sync_run order by id`,
  )
  expect(planned.filter(({ state }) => state !== 'running' && state !== 'done')).toEqual([])
  expect(await deadlocks('busy')).toBe(before)
}, 240_000)

test('a plan that PostgreSQL ends to break a circle repeats what it writes, and does not read HR again', async () => {
  await plans.hire(10)
  const run = (source = plans.source()) => plans.plan('changes', { source, limits: LIMITS })
  await run()
  await plans.hr.query(`update person set name = 'changed'`)
  const source = plans.source()
  const scan = source.scan.bind(source)
  let scans = 0
  source.scan = options => {
    scans++
    return scan(options)
  }

  // PostgreSQL ends the backend that finds the circle, not the one that waits longest without checking for one.
  const database = new URL(store.url).pathname.slice(1)
  await store.pool.query(`alter database ${database} set deadlock_timeout = '5s'`)
  const before = await deadlocks('planning')
  const { pool: planning, end } = poolOf('planning')
  const other = createClient(store.url, 'other')
  await other.connect()
  onTestFinished(() => other.end())
  await other.query(`set deadlock_timeout = '1h'`)
  await other.query('begin')
  await other.query(`select from dirsync.employee where userid = 'e9' for update`)
  await requestRun(planning, 'changes', [], 'test')
  const planner = new Planner({ ...PLANNER, pool: planning, hr: HrSources.one(source) })
  const planned = planner.planNext(new AbortController().signal)
  await until(
    async () =>
      (await store.rows(`${WAITING_FOR_A_LOCK} and application_name = 'dirsync planning'`)).length > 0,
  )
  await other.query(`select from dirsync.employee where userid = 'e0' for update`)
  await other.query('commit')
  await planned

  expect(scans).toBe(1)
  expect(
    await store.rows('select state, plan -> $1 as reasons from dirsync.sync_run order by id desc limit 1', [
      'reasons',
    ]),
  ).toEqual([{ state: 'running', reasons: { changed: 10 } }])
  await end()
  expect(await deadlocks('planning')).toBeGreaterThan(before)
}, 60_000)
