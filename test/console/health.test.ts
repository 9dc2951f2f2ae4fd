import { beforeEach, describe, expect, test, vi } from 'vitest'
import { raiseHalt } from '../../src/sync/outbox/halts.ts'
import { inWords } from '../../src/texts/message.ts'
import { duringFile } from '../helpers/during.ts'
import { createTestDatabase } from '../helpers/postgres.ts'
import { startTcpProxy } from '../queue/tcp-proxy.ts'
import { openApp, recordLog } from './console-under-test.ts'

const database = duringFile(() => createTestDatabase({ migrated: true }))
beforeEach(async () => {
  await database.pool.query('truncate dirsync.halt')
})

const away = () => Promise.reject(new Error('connect ECONNREFUSED 10.1.2.3:6379'))

test.each([
  [{ outdated: true }, 'hr_sources', 'restart this one'],
  [{ aside: 'secret' as const }, 'platform', 'restart this one'],
  [{ aside: 'unreachable' as const }, 'platform', 'by itself'],
])(
  'a process that leaves work to others is not ready, and says what to do: %o',
  async (misfit, part, remedy) => {
    await using console = await openApp(database.url, { misfit })
    const answer = await console.app.inject('/readyz')
    expect(answer.statusCode).toBe(503)
    expect(answer.json()).toMatchObject({
      missing: [{ part, remedy: expect.stringContaining(remedy) }],
    })
  },
)

test('a living process says so, with its version, roles and uptime', async () => {
  await using console = await openApp(database.url)
  const response = await console.app.inject('/healthz')
  expect(response.statusCode).toBe(200)
  expect(response.json()).toEqual({
    status: 'alive',
    version: '1.2.3',
    roles: ['worker', 'console'],
    uptime_seconds: expect.any(Number),
  })
})

test('a process with its database and queue is ready', async () => {
  await using console = await openApp(database.url, { checkQueue: async () => ({ waiting: 0 }) })
  const response = await console.app.inject('/readyz')
  expect(response.statusCode).toBe(200)
  expect(response.json()).toEqual({ status: 'ready', missing: [], halts: [] })
})

test.each(['starting', 'stopping'] as const)('a process that is %s is alive, not ready', async phase => {
  await using console = await openApp(database.url)
  console.readiness.phase = phase
  const response = await console.app.inject('/readyz')
  expect(response.statusCode).toBe(503)
  expect(response.json()).toMatchObject({
    status: 'not_ready',
    missing: [{ part: 'process', problem: `this process is ${phase}`, remedy: expect.stringMatching(/\S/) }],
  })
  expect((await console.app.inject('/healthz')).statusCode).toBe(200)
})

test('without its queue a process is not ready, and reveals no internals', async () => {
  const { logger, lines } = recordLog()
  await using console = await openApp(database.url, { checkQueue: away, logger })
  const response = await console.app.inject('/readyz')
  expect(response.statusCode).toBe(503)
  expect(response.json().missing).toEqual([
    { part: 'queue', problem: expect.stringMatching(/\S/), remedy: expect.stringContaining('REDIS_URL') },
  ])
  expect(response.body).not.toContain('10.1.2.3')

  await console.app.inject('/readyz')
  const warnings = lines.filter(({ level }) => level === 40)
  expect(warnings).toMatchObject([{ missing: ['queue'], causes: [expect.stringContaining('10.1.2.3')] }])
})

test('a queue that never answers makes a process unready all the same', async () => {
  await using console = await openApp(database.url, { checkQueue: () => new Promise(() => {}) })
  const response = await console.app.inject('/readyz')
  expect(response.json().missing).toMatchObject([{ part: 'queue' }])
})

test('a schema that is behind is missing by name', async () => {
  await using empty = await createTestDatabase()
  await using console = await openApp(empty.url)
  const response = await console.app.inject('/readyz')
  expect(response.statusCode).toBe(503)
  expect(response.json().missing).toEqual([
    {
      part: 'schema',
      problem: expect.stringContaining('0001_record.sql'),
      remedy: expect.stringContaining('dirsync migrate'),
    },
  ])
})

test('a database that takes no writes, as a standby, is missing, and says what to do', async () => {
  await using console = await openApp(`${database.url}?options=-cdefault_transaction_read_only%3Don`)
  const response = await console.app.inject('/readyz')
  expect(response.statusCode).toBe(503)
  expect(response.json().missing).toEqual([
    {
      part: 'database',
      problem: 'PostgreSQL is read-only, as a replica is',
      remedy: 'Let DATABASE_URL name the primary, or switch default_transaction_read_only off.',
    },
  ])
})

test('halts are listed without their words, and leave the process ready', async () => {
  const remedy = 'Check PLATFORM_APP_ID.'
  const halts = [
    {
      scope: '*',
      category: 'credentials',
      platformCode: 1000210003,
      message: inWords('seen by the log alone'),
      remedy: inWords(remedy),
    },
    {
      scope: 'ACME',
      category: 'enterprise_code',
      platformCode: null,
      message: inWords('seen by the log alone'),
      remedy: inWords(remedy),
    },
  ]
  for (const halt of halts) await raiseHalt(database.pool, halt, 60_000)
  await using console = await openApp(database.url)
  const response = await console.app.inject('/readyz')
  expect(response.statusCode).toBe(200)
  const since = expect.stringMatching(/^\d{4}-.*Z$/)
  expect(response.json()).toEqual({
    status: 'ready',
    missing: [],
    halts: [
      { scope: 'everything', category: 'credentials', since, remedy },
      { scope: 'one enterprise', category: 'enterprise_code', since, remedy },
    ],
  })
})

describe.concurrent('while the database', () => {
  test.each([
    ['refuses connections', expect.any(String)],
    ['takes packets and never answers', 'no answer within 2000 ms'],
  ])('%s, it is alive, unready, and ready afterwards', async (how, cause) => {
    const { logger, lines } = recordLog()
    await using proxy = await startTcpProxy(database.url)
    await using console = await openApp(proxy.url, { logger })
    // Connections of the pool are open when the outage begins.
    expect((await console.app.inject('/readyz')).statusCode).toBe(200)
    if (how === 'refuses connections') await proxy.refuse()
    else proxy.silence()

    const unready = await console.app.inject('/readyz')
    expect(unready.statusCode).toBe(503)
    expect(unready.json().missing).toMatchObject([{ part: 'database' }])
    expect(lines.flatMap(line => line.causes ?? [])).toEqual([cause])
    expect((await console.app.inject('/healthz')).statusCode).toBe(200)

    if (how === 'refuses connections') await proxy.accept()
    const status = async () => (await console.app.inject('/readyz')).statusCode
    await vi.waitFor(async () => expect(await status()).toBe(200), { timeout: 60_000 })
  })
})
