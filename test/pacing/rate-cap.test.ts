import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Emulator, startEmulator } from '../../emulator/emulator.ts'
import { PostgresSlots } from '../../src/pacing/postgres-slots.ts'
import { SlotPacer } from '../../src/pacing/slot-pacer.ts'
import { PlatformClient } from '../../src/platform/client.ts'
import { readPace } from '../../src/report/figures.ts'
import { Commands } from '../../src/sync/commands.ts'
import { heartbeat } from '../../src/sync/process.ts'
import { createTestDatabase, type TestDatabase } from '../helpers/postgres.ts'
import { APP_ID, APP_SECRET } from '../platform/fake-platform.ts'

const TOO_FAST = 1_000_210_099

let database: TestDatabase
let emulator: Emulator
let commands: Commands

beforeAll(async () => {
  database = await createTestDatabase({ migrated: true })
  emulator = await startEmulator({
    strict: true,
    appId: APP_ID,
    appSecret: APP_SECRET,
    seed: { employees: [{ userid: 'u1' }] },
  })
  commands = new Commands(database.pool, { actor: 'test:operator' })
})

afterAll(async () => {
  await emulator.close()
  await database.close()
})

/** Commands that earlier tests have left: none is ever removed. */
let before: number
beforeEach(async () => {
  await database.pool.query('truncate dirsync.pacer, dirsync.learnt_rate, dirsync.rate_cap')
  const { rows } = await database.pool.query('select coalesce(max(id), 0)::int as last from dirsync.command')
  before = rows[0].last
})

const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1000)

/** What a process has that calls the platform without a pause; `sent` is when its calls left. */
function processOf(rate: number | 'auto') {
  const slots = new PostgresSlots({ url: database.url })
  const pacer = new SlotPacer({ slots, rate, budgets: new Map() })
  const sent: number[] = []
  const client = new PlatformClient({
    baseUrl: emulator.url,
    appId: APP_ID,
    appSecret: APP_SECRET,
    pacer,
    tooFastCodes: [TOO_FAST],
    onCall: call => {
      if (call.operation === 'employee/get') sent.push(performance.now())
    },
  })
  const giveUp = new AbortController()
  const loop = async () => {
    while (!giveUp.signal.aborted)
      await client.employees.get({ userid: 'u1' }, { signal: giveUp.signal }).catch(() => undefined)
  }
  const loops = Array.from({ length: 6 }, loop)
  return {
    pacer,
    sent,
    async [Symbol.asyncDispose]() {
      giveUp.abort()
      await Promise.all(loops)
      await client.close()
      await pacer.close()
      await slots.close()
    },
  }
}

type Process = ReturnType<typeof processOf>

const sentBy = (processes: Process[]) => processes.flatMap(({ sent }) => sent).sort((a, b) => a - b)

/** Resolves once so many calls have left since `since`, with the milliseconds that it took. */
async function called(processes: Process[], count: number, since: number): Promise<number> {
  for (;;) {
    const at = sentBy(processes).filter(time => time >= since)[count - 1]
    if (at !== undefined) return at - since
    await new Promise(resolve => setTimeout(resolve, 5))
  }
}

test('a lowered rate holds for all processes within a second, and comes back by itself when its time is over', async () => {
  await using one = processOf(100)
  await using two = processOf(100)
  const both = [one, two]
  await called(both, 60, 0)
  const until = performance.now() + 4000
  await commands.lowerRate(10, inSeconds(4), 'the vendor asked for it')
  const held = performance.now() + 1000
  await called(both, 1, until)
  const during = sentBy(both).filter(at => at >= held && at < until).length
  expect(during).toBeGreaterThanOrEqual(10)
  expect(during).toBeLessThanOrEqual(33)
  // 100 calls at 100 a second, and at most a second until everybody has noticed. At 10 a second they would take ten.
  expect(await called(both, 100, until)).toBeLessThan(8000)
})

test('restored before its time, calls go on at once, however slow they were', async () => {
  await using process = processOf(100)
  await called([process], 20, 0)
  await commands.lowerRate(0.05, inSeconds(3600), 'hardly any')
  const lowered = performance.now() + 700
  await called([process], 1, 0)
  await new Promise(resolve => setTimeout(resolve, 2500))
  expect(process.sent.filter(at => at > lowered).length).toBeLessThanOrEqual(1)
  expect(await commands.restoreRate()).toBe(true)
  expect(await called([process], 30, performance.now())).toBeLessThan(10_000)
  expect(await commands.restoreRate()).toBe(false)
})

describe('a rate that is learnt', () => {
  const learnt = async () =>
    (
      await database.pool.query<{ rate_per_second: number; ceiling: number | null; version: number }>(
        `select rate_per_second, ceiling, version::int from dirsync.learnt_rate where gate = 'platform'`,
      )
    ).rows[0]

  test('does not grow through the cap, and does not take it for its ceiling', async () => {
    await database.pool.query(
      `insert into dirsync.learnt_rate (gate, version, rate_per_second, changed_at, leased_at_change)
       values ('platform', 1, 40, now(), 0)`,
    )
    // 30 of 40 would pass for used, and make the learnt rate grow.
    await commands.lowerRate(30, inSeconds(3600), 'a test')
    await using process = processOf('auto')
    await called([process], 150, 0)
    expect(await learnt()).toEqual({ rate_per_second: 40, ceiling: null, version: 1 })
    expect(process.pacer.snapshot()).toMatchObject({ ratePerSecond: 40, ceiling: null, cap: 30 })
    const between = process.sent.slice(30)
    const perSecond = ((between.length - 1) / ((between.at(-1) ?? 0) - (between[0] ?? 0))) * 1000
    expect(perSecond).toBeLessThan(31)

    await commands.restoreRate()
    const restored = performance.now()
    while ((await learnt())?.version === 1) await called([process], 10, performance.now())
    expect((await learnt())?.rate_per_second).toBeGreaterThan(40)
    expect(performance.now() - restored).toBeLessThan(10_000)
  })

  test('is lowered by a refusal while the cap holds, from where it was and not from the cap', async () => {
    await database.pool.query(
      `insert into dirsync.learnt_rate (gate, version, rate_per_second, changed_at, leased_at_change)
       values ('platform', 1, 40, now(), 0)`,
    )
    await commands.lowerRate(10, inSeconds(3600), 'a test')
    await using process = processOf('auto')
    await called([process], 5, 0)
    await fetch(`${emulator.url}/_emulator/faults`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify([{ operation: 'employee/get', code: TOO_FAST, times: 1 }]),
    })
    while ((await learnt())?.version === 1) await called([process], 1, performance.now())
    await called([process], 20, performance.now())
    expect(await learnt()).toEqual({ rate_per_second: 34, ceiling: 40, version: 2 })
  })

  test('that nothing is known of is not begun by a cap', async () => {
    await commands.lowerRate(1000, inSeconds(3600), 'a test')
    await using slots = Object.assign(new PostgresSlots({ url: database.url }), {
      [Symbol.asyncDispose]: () => slots.close(),
    })
    const lease = await slots.lease({ count: 4, spacingMs: null, learntAs: 'platform' })
    expect(lease).toMatchObject({ count: 0, spacingMs: 0, cap: { ratePerSecond: 1000 } })
  })
})

describe('slots while the rate is lowered', () => {
  const request = { count: 1, spacingMs: 10, learntAs: 'platform@100' }
  async function slotsOf() {
    const slots = new PostgresSlots({ url: database.url })
    return Object.assign(slots, { [Symbol.asyncDispose]: () => slots.close() })
  }

  test('lie as far apart as the lower of the two rates says', async () => {
    await using slots = await slotsOf()
    await commands.lowerRate(1000, inSeconds(60), 'above the other')
    expect(await slots.lease(request)).toMatchObject({ count: 1, spacingMs: 10, ownSpacingMs: 10 })
    await commands.lowerRate(20, inSeconds(60), 'below it')
    expect(await slots.lease({ ...request, count: 4 })).toMatchObject({ spacingMs: 50, ownSpacingMs: 10 })
  })

  test('are not given far ahead, and the next one comes soon once the rate is restored', async () => {
    await using slots = await slotsOf()
    await commands.lowerRate(0.1, inSeconds(60), 'hardly any')
    expect(await slots.lease(request)).toMatchObject({ count: 1, spacingMs: 10_000 })
    const next = await slots.lease(request)
    expect(next.count).toBe(0)
    expect(next.startMs - next.nowMs).toBeGreaterThan(9000)
    await commands.restoreRate()
    const restored = await slots.lease(request)
    expect(restored).toMatchObject({ count: 1, spacingMs: 10 })
    expect(restored.startMs - restored.nowMs).toBeLessThan(20)
  })

  test('do not come closer when the rate is lowered further', async () => {
    await using slots = await slotsOf()
    await commands.lowerRate(10, inSeconds(60), 'low')
    const first = await slots.lease(request)
    await commands.lowerRate(5, inSeconds(60), 'lower')
    const second = await slots.lease(request)
    expect(second.startMs - first.startMs).toBeGreaterThanOrEqual(99)
    expect(second.spacingMs).toBe(200)
  })
})

describe('lowering the rate', () => {
  test('is told with who did it, until when and why, and written down', async () => {
    const pacer = {
      ratePerSecond: 98,
      set: 100,
      learnt: false,
      ceiling: null,
      cap: null,
      waiting: 0,
      pausedForMs: 0,
      callsPerSecond: 2,
      concurrency: 16,
      clockOffsetMs: null,
    }
    await heartbeat(database.pool, {
      id: crypto.randomUUID(),
      host: 'h',
      pid: 1,
      roles: ['worker'],
      version: '1',
      pacer,
    })
    const until = inSeconds(600)
    expect(await commands.lowerRate(4, until, ' the vendor asked for it ')).toBe(4)
    const pace = await readPace(database.pool)
    expect(pace).toMatchObject({ permitted_per_second: 4, set_per_second: 100, utilisation: 0.5 })
    expect(pace.cap).toMatchObject({ per_second: 4, until, reason: 'the vendor asked for it' })
    expect(pace.cap?.set_by).toContain('test:operator')
    await commands.restoreRate()
    expect(await readPace(database.pool)).toMatchObject({ permitted_per_second: 98, cap: null })
    const { rows } = await database.pool.query(
      'select name, arguments from dirsync.command where id > $1 order by id',
      [before],
    )
    expect(rows).toMatchObject([
      { name: 'lower_rate', arguments: { per_second: 4, reason: 'the vendor asked for it' } },
      { name: 'restore_rate' },
    ])
  })

  test.each([
    ['a rate of nothing', () => commands.lowerRate(0, inSeconds(60), 'why')],
    ['a rate that is no number', () => commands.lowerRate(Number.NaN, inSeconds(60), 'why')],
    ['a time in the past', () => commands.lowerRate(5, inSeconds(-1), 'why')],
    ['a time that is far away', () => commands.lowerRate(5, inSeconds(40 * 86_400), 'why')],
    ['no reason', () => commands.lowerRate(5, inSeconds(60), '  ')],
  ])('is refused with %s', async (_what, lower) => {
    await expect(lower()).rejects.toMatchObject({ code: 'COMMAND_INVALID' })
    const { rows } = await database.pool.query('select from dirsync.rate_cap')
    expect(rows).toEqual([])
  })
})
