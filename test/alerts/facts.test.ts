import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Facts, readFacts } from '../../src/alerts/facts.ts'
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
