import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Facts, readFacts } from '../../src/alerts/facts.ts'
import { heartbeat } from '../../src/sync/process.ts'
import { createTestDatabase, type TestDatabase } from '../helpers/postgres.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase({ migrated: true })
})
afterAll(() => database.close())

test('an empty deployment has no facts that anybody would be woken for', async () => {
  const facts: Facts = await readFacts(database.pool)
  expect(facts).toMatchObject({
    stops: [],
    heldRuns: [],
    suspects: [],
    leastCases: null,
    goodRun: 'never',
    failingChannels: [],
    recentCalls: { calls: 0, rejected: 0 },
    schedules: [],
    work: [],
  })
})

test('a living process that does not reach the queue is known, and a dead one is forgotten', async () => {
  const process = { host: 'here', pid: 1, roles: ['worker'], version: '1', pacer: null }
  const id = '6f1c1f5e-6f3a-4d0f-9d53-4c2f0d2b7a10'
  const since = new Date(Date.now() - 90_000)
  await heartbeat(database.pool, { ...process, id, queueAwaySince: since })
  expect((await readFacts(database.pool)).queueAway).toBeCloseTo(90, -1)
  await database.pool.query(`update dirsync.process set heartbeat_at = now() - interval '1 minute'`)
  expect((await readFacts(database.pool)).queueAway).toBeNull()
  await heartbeat(database.pool, { ...process, id })
  expect((await readFacts(database.pool)).queueAway).toBeNull()
})
