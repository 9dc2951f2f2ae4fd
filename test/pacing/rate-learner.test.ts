import { pino } from 'pino'
import { beforeEach, expect, test, vi } from 'vitest'
import { startEmulator } from '../../emulator/emulator.ts'
import { PostgresSlots } from '../../src/pacing/postgres-slots.ts'
import { SlotPacer } from '../../src/pacing/slot-pacer.ts'
import { type CallReport, PlatformClient } from '../../src/platform/client.ts'
import { duringFile } from '../helpers/during.ts'
import { controlOf } from '../helpers/emulator-control.ts'
import { createTestDatabase } from '../helpers/postgres.ts'
import { APP_ID, APP_SECRET } from '../platform/fake-platform.ts'

const LIMIT = 20
const RATE_LIMITED = 1_000_210_099

const database = duringFile(() => createTestDatabase({ migrated: true }))
const emulator = duringFile(() =>
  startEmulator({
    strict: true,
    appId: APP_ID,
    appSecret: APP_SECRET,
    seed: { employees: [{ userid: 'u1' }] },
  }),
)

beforeEach(async () => {
  await database.pool.query('truncate dirsync.pacer, dirsync.learnt_rate')
  await controlOf(emulator.url)('DELETE', 'faults')
})

const plant = (rule: object) => controlOf(emulator.url)('POST', 'faults', rule)

/** What a process has that learns the rate; `calls` are its calls but those for a token, `warnings` what it logs. */
function processOf(rate: number | 'auto' = 'auto') {
  const slots = new PostgresSlots({ url: database.url })
  const warnings: { msg: string; set?: number; rate?: number }[] = []
  const logger = pino({ level: 'warn' }, { write: (line: string) => void warnings.push(JSON.parse(line)) })
  const pacer = new SlotPacer({ slots, rate, budgets: new Map(), logger })
  const calls: CallReport[] = []
  const client = new PlatformClient({
    baseUrl: emulator.url,
    appId: APP_ID,
    appSecret: APP_SECRET,
    pacer,
    rateLimitedCodes: [RATE_LIMITED],
    onCall: call => {
      if (call.operation === 'employee/get') calls.push(call)
    },
  })
  return {
    pacer,
    calls,
    warnings,
    /** Keeps the callers busy until `isEnough`. */
    async callUntil(isEnough: () => boolean, callers = 10) {
      const loop = async () => {
        while (!isEnough()) await client.employees.get({ userid: 'u1' }).catch(() => {})
      }
      await Promise.all(Array.from({ length: callers }, loop))
    },
    async [Symbol.asyncDispose]() {
      await client.close()
      await pacer.close()
      await slots.close()
    },
  }
}

const learnt = (ratePerSecond: number) =>
  database.pool.query(
    `insert into dirsync.learnt_rate (gate, version, rate_per_second, changed_at, leased_at_change)
     values ('platform', 1, $1, now(), 0)`,
    [ratePerSecond],
  )

// How close it comes to the limit, test/pacing/learning.test.ts shows in virtual time: here a busy machine bunches calls up.
test('a limit is found by two processes, exceeded rarely, and known to the next one', async () => {
  await plant({ operation: 'employee/get', rateLimit: { kind: 'sliding-log', limit: LIMIT, windowMs: 1000 } })
  await learnt(15)
  {
    await using one = processOf()
    await using two = processOf()
    const refused = () => [...one.calls, ...two.calls].filter(({ rateLimited }) => rateLimited).length
    const accepted = () => one.calls.length + two.calls.length - refused()
    const isLowered = () => one.pacer.snapshot().ceiling !== null && two.pacer.snapshot().ceiling !== null
    await Promise.all([one.callUntil(isLowered), two.callUntil(isLowered)])

    // Calls that bunch up are refused at a rate that is right: it comes to it all the same.
    let before: { refused: number; accepted: number }
    do {
      before = { refused: refused(), accepted: accepted() }
      const isEnough = () => accepted() >= before.accepted + LIMIT
      await Promise.all([one.callUntil(isEnough), two.callUntil(isEnough)])
    } while (refused() - before.refused > 1)
  }
  const known = async () => {
    const { rows } = await database.pool.query(
      'select rate_per_second::float8 as "ratePerSecond", ceiling::float8 from dirsync.learnt_rate',
    )
    return rows
  }
  const [before] = await known()
  await using next = processOf()
  await next.pacer.acquire({ operation: 'employee/get' })
  // It writes what it has learnt before it goes by that.
  await vi.waitFor(async () => {
    const { ratePerSecond, ceiling } = next.pacer.snapshot()
    expect(await known()).toEqual([{ ratePerSecond, ceiling }])
  })
  const { ratePerSecond, ceiling, learnt: isLearnt } = next.pacer.snapshot()
  expect({ ceiling, isLearnt }).toEqual({ ceiling: before.ceiling, isLearnt: true })
  // The next one may have been due to raise it.
  expect(ratePerSecond).toBeGreaterThanOrEqual(before.ratePerSecond)
})

test('where nothing is known, it begins slowly', async () => {
  await using process = processOf()
  await process.callUntil(() => process.calls.length >= 2, 1)
  expect(process.pacer.snapshot()).toMatchObject({ ratePerSecond: 5, ceiling: null, learnt: true })
})

test('a code that means too many calls lowers the rate, another failure does not', async () => {
  await learnt(200)
  await plant({ operation: 'employee/get', code: 1_002_200_106, times: 5 })
  await using process = processOf()
  await process.callUntil(() => process.calls.length >= 20)
  expect(process.pacer.snapshot().ceiling).toBeNull()

  await plant({ operation: 'employee/get', code: RATE_LIMITED, times: 1 })
  await process.callUntil(() => process.pacer.snapshot().ceiling !== null)
  expect(process.pacer.snapshot()).toMatchObject({ ratePerSecond: 170, ceiling: 200 })
})

test('a rate that was deleted, or lost in a failover, is learnt anew by running processes', async () => {
  await learnt(200)
  await database.pool.query('update dirsync.learnt_rate set version = 9')
  await using process = processOf()
  await process.callUntil(() => process.calls.length >= 2)
  await database.pool.query('delete from dirsync.learnt_rate')
  await process.callUntil(() => process.pacer.snapshot().ratePerSecond < 100, 1)
  await plant({ operation: 'employee/get', code: RATE_LIMITED, times: 1 })
  await process.callUntil(() => process.pacer.snapshot().ceiling !== null, 1)
  expect(process.pacer.snapshot()).toMatchObject({ ratePerSecond: 4.25, ceiling: 5 })
})

test('a rate that was set too high is lowered to what the platform accepts, and a single warning names both', async () => {
  const limit = { kind: 'sliding-log', limit: LIMIT, windowMs: 1000, retryAfter: false }
  await plant({ operation: 'employee/get', rateLimit: limit })
  const warnings: { msg: string; set?: number; rate?: number }[] = []
  {
    await using one = processOf(100)
    await using two = processOf(100)
    const all = () => [...one.calls, ...two.calls]
    const refused = () => all().filter(({ rateLimited }) => rateLimited).length
    const rate = () => Math.max(one.pacer.snapshot().ratePerSecond, two.pacer.snapshot().ratePerSecond)
    const isLowered = () => rate() <= LIMIT || all().length > 1000
    await Promise.all([one.callUntil(isLowered), two.callUntil(isLowered)])
    expect(rate()).toBeLessThanOrEqual(LIMIT)
    const accepted = () => all().length - refused()
    // As above: on a busy machine it may take a while longer.
    let before: { refused: number; accepted: number }
    do {
      before = { refused: refused(), accepted: accepted() }
      const isEnough = () => accepted() >= before.accepted + 2 * LIMIT
      await Promise.all([one.callUntil(isEnough), two.callUntil(isEnough)])
    } while (refused() - before.refused > 1)
    expect(one.pacer.snapshot()).toMatchObject({ set: 100, learnt: true })
    await Promise.all([one.pacer.close(), two.pacer.close()])
    warnings.push(...[...one.warnings, ...two.warnings].filter(({ set }) => set !== undefined))
  }
  expect(warnings).toMatchObject([
    { set: 100, msg: expect.stringMatching(/^PLATFORM_RATE_LIMIT is 100 calls per second, .* with [\d.]+$/) },
  ])
  expect(warnings[0]?.rate).toBeLessThanOrEqual(LIMIT * 1.3)

  await using another = processOf(50)
  // One call alone: the platform still counts those that the others sent within the last second.
  await another.callUntil(() => another.calls.length >= 1, 1)
  expect(another.pacer.snapshot()).toMatchObject({ set: 50, learnt: false, ceiling: null })
  await using same = processOf(100)
  await same.callUntil(() => same.calls.length >= 1)
  expect(same.pacer.snapshot().ratePerSecond).toBeLessThanOrEqual(LIMIT * 1.3)
})

test('a rate that was set and is permitted is used from the first second on, and nothing is learnt', async () => {
  await using process = processOf(200)
  await process.callUntil(() => process.calls.length >= 100)
  expect(process.pacer.snapshot()).toMatchObject({ set: 200, learnt: false, ceiling: null })
  expect((await database.pool.query('select from dirsync.learnt_rate')).rowCount).toBe(0)
})

test('a rate that had to be lowered returns to what was set, and no further', async () => {
  await database.pool.query(
    `insert into dirsync.learnt_rate (gate, version, rate_per_second, ceiling, lowered_at, changed_at, leased_at_change)
     values ('platform@100', 3, 97, 60, now() - interval '10 minutes', now() - interval '1 minute', 0)`,
  )
  await using process = processOf(100)
  await process.callUntil(() => process.pacer.snapshot().ceiling === null && process.calls.length > 0)
  expect(process.pacer.snapshot()).toMatchObject({ set: 100, learnt: false })
  // What all processes share; on a busy machine this one spaces its own calls a little wider.
  const { rows } = await database.pool.query('select rate_per_second, ceiling from dirsync.learnt_rate')
  expect(rows).toEqual([{ rate_per_second: expect.closeTo(98), ceiling: null }])
  expect(process.pacer.snapshot().ratePerSecond).toBeLessThanOrEqual(rows[0].rate_per_second)
})
