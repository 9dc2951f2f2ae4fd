import { once } from 'node:events'
import { performance } from 'node:perf_hooks'
import { Worker } from 'node:worker_threads'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { PostgresStore } from '../../src/pacing/postgres-store.ts'
import { SharedPacer } from '../../src/pacing/shared-pacer.ts'
import { createTestDatabase, type TestDatabase } from '../helpers/postgres.ts'

const request = { operation: 'employee/get' }

let database: TestDatabase
let open: { close(): Promise<void> }[]

beforeAll(async () => {
  database = await createTestDatabase({ migrated: true })
})

afterAll(() => database.close())

beforeEach(async () => {
  await database.pool.query('truncate dirsync.pacer')
  open = []
})

afterEach(() => Promise.all(open.map(part => part.close())))

/** A pacer as a process of its own would have it. */
function pacerOf(
  rate: number,
  pool: pg.Pool = database.pool,
  budgets = new Map<string, number>(),
): SharedPacer {
  const store = new PostgresStore({ pool, url: database.url })
  const pacer = new SharedPacer({ store, rate, budgets })
  open.push(pacer, store)
  return pacer
}

/** Keeps `concurrency` callers busy until `calls` have passed; returns when each did. */
async function run(pacer: SharedPacer, calls: number, concurrency: number): Promise<number[]> {
  const passed: number[] = []
  let left = calls
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      while (left > 0) {
        left -= 1
        await pacer.acquire(request)
        passed.push(performance.now())
      }
    }),
  )
  return passed
}

/** Checks every stretch that begins at `started`: never more than the rate permits, and one. */
function expectWithin(ratePerSecond: number, started: number, passed: number[], processes = 1): void {
  // Each process puts the store's slots on its own clock, which is as exact as the store answers fast.
  const inexact = (processes - 1) * 20
  for (const [index, at] of passed.toSorted((a, b) => a - b).entries()) {
    expect(index + 1).toBeLessThanOrEqual(((at - started + inexact) / 1000) * ratePerSecond + 1)
  }
}

/** Counts the queries that reach the store. */
function countingPool(): { pool: pg.Pool; queries: () => number } {
  const pool = new pg.Pool({ connectionString: database.url, max: 2 })
  let queries = 0
  pool.on('acquire', () => {
    queries += 1
  })
  return { pool, queries: () => queries }
}

test('one process keeps the rate and reaches most of it, asking the store far less than once per call', async () => {
  const { pool, queries } = countingPool()
  const started = performance.now()
  expectWithin(500, started, await run(pacerOf(500, pool), 400, 32))
  expect(queries()).toBeLessThan(400 / 5)
  await pool.end()
})

test('several processes keep the rate together, and each gets a part', async () => {
  const started = performance.now()
  const runs = await Promise.all([1, 2, 3].map(() => run(pacerOf(500), 100, 16)))
  expectWithin(500, started, runs.flat(), 3)
})

test('processes with different priorities inside: the urgent caller goes first', async () => {
  const pacer = pacerOf(50)
  const order: string[] = []
  const come = (who: string, priority?: number) =>
    pacer.acquire({ ...request, ...(priority !== undefined && { priority }) }).then(() => order.push(who))
  await Promise.all([come('a'), come('b'), come('urgent', 1), come('c', 20)])
  expect(order).toEqual(['urgent', 'a', 'b', 'c'])
})

test('a rate that nobody reaches costs next to nothing', async () => {
  const { pool, queries } = countingPool()
  const pacer = pacerOf(100_000, pool)
  await run(pacer, 100, 32)
  const before = queries()
  await run(pacer, 5000, 32)
  expect(queries() - before).toBeLessThan(50)
  await pool.end()
})

test('a slow rate spaces calls by itself, whoever makes them', async () => {
  const [one, two] = [pacerOf(20), pacerOf(20)]
  const started = performance.now()
  for (const pacer of [one, two, one, two, one]) await pacer.acquire(request)
  expect(performance.now() - started).toBeGreaterThan(4 * 50 - 20)
})

test('an operation with a budget keeps it over all processes, and others pass meanwhile', async () => {
  const budgets = new Map([[request.operation, 25]])
  const processes = [1, 2, 3].map(() => pacerOf(500, database.pool, budgets))
  const started = performance.now()
  const [passed] = await Promise.all([
    Promise.all(processes.map(pacer => run(pacer, 4, 4))),
    ...processes.map(pacer => pacer.acquire({ operation: 'employee/update' })),
  ])
  expectWithin(25, started, passed.flat(), 3)
})

describe('abort and close', () => {
  test('who gives up rejects with the reason, and the others go on', async () => {
    const pacer = pacerOf(20)
    const abort = new AbortController()
    await pacer.acquire(request)
    const given = pacer.acquire({ ...request, signal: abort.signal }).catch(error => error.message)
    const other = pacer.acquire(request)
    abort.abort(new Error('enough'))
    expect(await given).toBe('enough')
    await other
  })

  test('closing turns away who waits', async () => {
    const pacer = pacerOf(1)
    await pacer.acquire(request)
    const waiting = expect(pacer.acquire(request)).rejects.toMatchObject({ code: 'PACER_CLOSED' })
    await pacer.close()
    await pacer.close()
    await waiting
  })
})

describe('pause', () => {
  test('holds every process, also one that has slots already', async () => {
    const [one, two] = [pacerOf(200), pacerOf(200)]
    await Promise.all([run(one, 5, 2), run(two, 5, 2)])
    await one.pause(400, 'HTTP 429 on employee/get')
    const until = performance.now() + 400
    await new Promise(resolve => setTimeout(resolve, 260)) // what two had reserved is over by then
    await Promise.all([one, two].map(pacer => pacer.acquire(request)))
    expect(performance.now()).toBeGreaterThan(until - 30)
  })

  test('is kept in the store with its reason, and never shortened', async () => {
    const pacer = pacerOf(200)
    await pacer.pause(60_000, 'first')
    await pacer.pause(10, 'second')
    const { rows } = await database.pool.query(
      `select pause_reason, paused_until > now() + interval '50 s' as long from dirsync.pacer`,
    )
    expect(rows).toEqual([{ pause_reason: 'first', long: true }])
  })

  test('a process that starts during a pause keeps it', async () => {
    await pacerOf(200).pause(300, 'asked to')
    const started = performance.now()
    await pacerOf(200).acquire(request)
    expect(performance.now() - started).toBeGreaterThan(200)
  })

  test('a process that was held up hears of a pause before it lets late calls go', async () => {
    const pacer = pacerOf(500)
    await run(pacer, 100, 16)
    await pacer.pause(50, 'so that it is known to listen')
    const calls = run(pacer, 200, 16)
    await run(pacerOf(500), 1, 1)
    const told = new Int32Array(new SharedArrayBuffer(4))
    const teller = new Worker(
      `const { workerData: { url, told } } = require('node:worker_threads')
      const { Client } = require('pg')
      const client = new Client(url)
      client.connect()
        .then(() => client.query("select pg_notify('dirsync_pacer', '400 platform')"))
        .then(() => { Atomics.store(told, 0, 1); Atomics.notify(told, 0); return client.end() })`,
      { eval: true, workerData: { url: database.url, told } },
    )
    await once(teller, 'online')
    Atomics.wait(told, 0, 0, 5000)
    Atomics.wait(told, 0, 1, 40) // on its way to us
    const until = performance.now()
    const [passed] = await Promise.all([calls, once(teller, 'exit')])
    expect(passed.filter(at => at >= until && at < until + 350)).toEqual([])
  })

  test('a longer pause is noticed by who waits already', async () => {
    const [one, two] = [pacerOf(200), pacerOf(200)]
    await one.pause(1100, 'first')
    const waiting = two.acquire(request)
    await one.pause(1400, 'second')
    const until = performance.now() + 1400
    await waiting
    expect(performance.now()).toBeGreaterThan(until - 30)
  })
})

describe('without the store', () => {
  test('a process goes on at the share it had, and comes back when the store does', async () => {
    const pool = new pg.Pool({ connectionString: database.url, max: 2 })
    const pacer = pacerOf(200, pool)
    const started = performance.now()
    const before = await run(pacer, 100, 8)
    await database.pool.query('alter table dirsync.pacer rename to pacer_away')
    const alone = await run(pacer, 60, 8)
    await database.pool.query('alter table dirsync.pacer_away rename to pacer')
    const again = await run(pacer, 150, 8)
    expectWithin(200, started, [...before, ...alone, ...again])
    const { rows } = await database.pool.query(
      `select next_at > now() - interval '1 s' as used from dirsync.pacer`,
    )
    expect(rows).toEqual([{ used: true }])
    await pool.end()
  })

  test('a pause still holds this process', async () => {
    const pool = new pg.Pool({ connectionString: database.url, max: 2 })
    const pacer = pacerOf(200, pool)
    await run(pacer, 5, 1)
    await pool.end()
    await pacer.pause(100, 'asked to')
    const started = performance.now()
    await pacer.acquire(request)
    expect(performance.now() - started).toBeGreaterThan(90)
  })
})
