import { expect, test } from 'vitest'
import { createPool } from '../../src/lib/database.ts'
import { CallCounter } from '../../src/pacing/call-minute.ts'
import { SILENT, StoreUnderTest } from '../sync/store-under-test.ts'

const store = new StoreUnderTest()

const QUERY = { operation: 'employee/get', durationMs: 20.4, waitedMs: 100, rateLimited: false, code: 0 }

/** Minutes are left out: a test may run across the end of one. */
const counted = () =>
  store.rows(
    `select operation, sum(calls)::int as calls, sum(rate_limited)::int as rate_limited, sum(failed)::int as failed,
            sum(waited_ms)::int as waited_ms, max(longest_wait_ms) as longest_wait_ms, sum(duration_ms)::int as duration_ms
     from dirsync.call_minute group by operation order by operation`,
  )

test('the calls of all processes add up by operation', async () => {
  const processes = [new CallCounter(store.pool, SILENT), new CallCounter(store.pool, SILENT)]
  for (const { count } of processes) {
    count(QUERY)
    count({ ...QUERY, waitedMs: 250, code: 'PLATFORM_HTTP', rateLimited: true })
    count({ ...QUERY, operation: 'employee/update', code: 1000210003 })
  }
  await Promise.all(processes.map(counter => counter.close()))
  expect(await counted()).toEqual([
    {
      operation: 'employee/get',
      calls: 4,
      rate_limited: 2,
      failed: 2,
      waited_ms: 700,
      longest_wait_ms: 250,
      duration_ms: 80,
    },
    {
      operation: 'employee/update',
      calls: 2,
      rate_limited: 0,
      failed: 2,
      waited_ms: 200,
      longest_wait_ms: 100,
      duration_ms: 40,
    },
  ])
})

test('calls that could not be written down are kept for the next time', async () => {
  await store.pool.query('alter table dirsync.call_minute rename to hidden')
  const counter = new CallCounter(store.pool, SILENT)
  counter.count(QUERY)
  await counter.close()
  await store.pool.query('alter table dirsync.hidden rename to call_minute')
  counter.count(QUERY)
  await counter.close()
  expect(await counted()).toMatchObject([{ calls: 2, waited_ms: 200 }])
})

test('closing ends although the database is gone', async () => {
  const pool = createPool(store.url, { max: 1, name: 'gone', logger: SILENT })
  await pool.end()
  const counter = new CallCounter(pool, SILENT)
  counter.count(QUERY)
  await expect(counter.close()).resolves.toBeUndefined()
})
