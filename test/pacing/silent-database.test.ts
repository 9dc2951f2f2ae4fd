import { expect, onTestFinished, test } from 'vitest'
import { PostgresSlots } from '../../src/pacing/postgres-slots.ts'
import { until } from '../helpers/company.ts'
import { createTestDatabase } from '../helpers/postgres.ts'
import { startTcpProxy } from '../queue/tcp-proxy.ts'

test('a query without an answer is given up, and the next one uses a new connection', async () => {
  const database = await createTestDatabase({ migrated: true })
  onTestFinished(() => database.close())
  const proxy = await startTcpProxy(database.url)
  onTestFinished(() => proxy[Symbol.asyncDispose]())
  const slots = new PostgresSlots({ url: proxy.url })
  onTestFinished(() => slots.close())
  const told: number[] = []
  slots.watch(ms => told.push(ms))
  const listens = async () =>
    (
      await database.pool.query(
        `select from pg_stat_activity
         where datname = current_database() and application_name = 'dirsync pacer' and state = 'idle'`,
      )
    ).rowCount === 1
  const request = { count: 1, spacingMs: 10, learntAs: 'platform@100' }
  await slots.lease(request)
  await until(listens)

  proxy.silence()
  const answers = await Promise.allSettled([slots.lease(request), slots.holdOff(60_000, 'too fast')])
  expect(answers.map(({ status }) => status)).toEqual(['rejected', 'fulfilled'])
  await until(async () => told.includes(60_000))
  expect(await slots.lease(request)).toMatchObject({ count: 1, heldUntilMs: expect.any(Number) })
})

test('a session whose LISTEN gets no answer is ended', async () => {
  const database = await createTestDatabase({ migrated: true })
  onTestFinished(() => database.close())
  const proxy = await startTcpProxy(database.url)
  onTestFinished(() => proxy[Symbol.asyncDispose]())
  const slots = new PostgresSlots({ url: proxy.url })
  onTestFinished(() => slots.close())
  const sessions = async () =>
    (
      await database.pool.query(
        `select from pg_stat_activity where datname = current_database() and application_name = 'dirsync pacer'`,
      )
    ).rowCount

  proxy.loseAnswersAfter('listen dirsync_pacer')
  await expect(slots.lease({ count: 1, spacingMs: 10, learntAs: 'platform@100' })).rejects.toThrow('timeout')
  await until(async () => (await sessions()) === 0)
})
