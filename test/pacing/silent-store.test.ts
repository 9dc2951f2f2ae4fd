import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { PostgresStore } from '../../src/pacing/postgres-store.ts'
import { until } from '../helpers/company.ts'
import { createTestDatabase } from '../helpers/postgres.ts'
import { startTcpProxy } from '../queue/tcp-proxy.ts'

test('slots and pauses that a silent database does not answer are given up, and go over new connections', async () => {
  const database = await createTestDatabase({ migrated: true })
  onTestFinished(() => database.close())
  const proxy = await startTcpProxy(database.url)
  onTestFinished(() => proxy[Symbol.asyncDispose]())
  const pool = new pg.Pool({ connectionString: proxy.url, max: 2 })
  pool.on('error', () => undefined)
  onTestFinished(() => pool.end())
  const store = new PostgresStore({ pool, url: proxy.url })
  onTestFinished(() => store.close())
  const told: string[] = []
  store.watch(gate => told.push(gate))
  const listens = async () =>
    (
      await database.pool.query(
        `select from pg_stat_activity where application_name = 'dirsync pacer' and state = 'idle'`,
      )
    ).rowCount === 1
  await until(listens)
  const request = { gate: 'platform', holder: 'one', count: 1, spacingMs: 10 }
  await store.lease(request)

  proxy.silence()
  const answers = await Promise.allSettled([
    store.lease(request),
    store.pause('platform', 60_000, 'too fast'),
  ])
  expect(answers.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  expect(await store.lease(request)).toMatchObject({ count: 1 })
  await until(listens)
  await store.pause('platform', 60_000, 'too fast')
  await until(async () => told.includes('platform'))
})
