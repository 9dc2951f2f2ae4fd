import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startEmulator } from '../../emulator/emulator.ts'
import { PostgresSlots } from '../../src/pacing/postgres-slots.ts'
import { SlotPacer } from '../../src/pacing/slot-pacer.ts'
import type { LeaseRequest } from '../../src/pacing/slots.ts'
import { PlatformClient } from '../../src/platform/client.ts'
import { readPace } from '../../src/sync/processes/pace.ts'
import { heartbeat } from '../../src/sync/processes/process.ts'
import { Commands } from '../../src/sync/runs/commands.ts'
import { until } from '../helpers/company.ts'
import { duringFile } from '../helpers/during.ts'
import { controlOf } from '../helpers/emulator-control.ts'
import { createTestDatabase } from '../helpers/postgres.ts'
import { APP_ID, APP_SECRET } from '../platform/fake-platform.ts'

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
let commands: Commands

beforeAll(async () => {
  commands = new Commands(database.pool, { actor: 'test:operator' })
})

/** Commands that earlier tests have left: none is ever removed. */
let before: number
beforeEach(async () => {
  await database.pool.query('truncate dirsync.pacer, dirsync.learnt_rate, dirsync.rate_cap')
  const { rows } = await database.pool.query('select coalesce(max(id), 0)::int as last from dirsync.command')
  before = rows[0].last
})

const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1000)

/** Slots that remember all that they gave: times of the database, on which a busy machine has no influence. */
class NotedSlots extends PostgresSlots {
  /** When each slot is, and when it was asked for. */
  readonly given: { at: number; asked: number }[] = []
  /** How often there was none soon. */
  inVain = 0

  override async lease(request: LeaseRequest) {
    const lease = await super.lease(request)
    for (let i = 0; i < lease.count; i += 1)
      this.given.push({ at: lease.startMs + i * lease.spacingMs, asked: lease.nowMs })
    if (lease.count === 0) this.inVain += 1
    return lease
  }
}

/** What a process has that calls the platform without a pause; `sent` is when its calls had their answers. */
function processOf(rate: number | 'auto') {
  const slots = new NotedSlots({ url: database.url })
  const pacer = new SlotPacer({ slots, rate, budgets: new Map() })
  const sent: number[] = []
  const client = new PlatformClient({
    baseUrl: emulator.url,
    appId: APP_ID,
    appSecret: APP_SECRET,
    pacer,
    rateLimitedCodes: [RATE_LIMITED],
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
    slots,
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

/** Waits until so many calls have left since `since`. */
const called = (processes: Process[], count: number, since: number) =>
  until(async () => processes.flatMap(({ sent }) => sent).filter(time => time >= since).length >= count)

/** What lies between two slots that follow each other in a time, in milliseconds. */
function gaps(processes: Process[], from: number, to: number): number[] {
  const times = processes
    .flatMap(({ slots }) => slots.given.map(({ at }) => at))
    .filter(at => at >= from && at < to)
    .sort((a, b) => a - b)
  return times.slice(1).map((at, i) => at - (times[i] as number))
}

/** The time of the database. */
async function now(): Promise<number> {
  const { rows } = await database.pool.query(
    `select extract(epoch from clock_timestamp())::float8 * 1000 as ms`,
  )
  return rows[0].ms
}

test('a lowered rate holds for all processes within a second, and comes back by itself when its time is over', async () => {
  await using one = processOf(100)
  await using two = processOf(100)
  const both = [one, two]
  await called(both, 60, 0)
  const over = inSeconds(4)
  await commands.lowerRate(10, over, 'the vendor asked for it')
  const lowered = await now()
  await until(async () => gaps(both, over.getTime(), Number.POSITIVE_INFINITY).some(gap => gap < 20))
  // 100 ms, or a little less: a process whose timers are late asks for slots that lie a little farther apart, or no more.
  const early = gaps(both, lowered + 1000, over.getTime()).filter(gap => gap < 90)
  expect(early).toEqual([])
  for (const { sent, slots } of both) expect(sent.length).toBeLessThanOrEqual(slots.given.length)
})

test('restored before its time, calls go on at once, however slow they were', {
  timeout: 60_000,
}, async () => {
  await using process = processOf(100)
  await called([process], 20, 0)
  await commands.lowerRate(0.01, inSeconds(3600), 'hardly any')
  const lowered = await now()
  const { slots } = process
  await until(async () => slots.inVain >= 2)
  expect(slots.given.filter(({ at }) => at > lowered + 1000).length).toBeLessThanOrEqual(1)
  expect(await commands.restoreRate()).toBe(true)
  // With the lowered rate the next one alone would take 100 s.
  await called([process], 30, performance.now())
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
    expect(gaps([process], 0, Number.POSITIVE_INFINITY).filter(gap => gap < 1000 / 30 - 0.1)).toEqual([])

    await commands.restoreRate()
    while ((await learnt())?.version === 1) await called([process], 10, performance.now())
    expect((await learnt())?.rate_per_second).toBeGreaterThan(40)
  })

  test('is lowered by a refusal while the cap holds, from where it was and not from the cap', async () => {
    await database.pool.query(
      `insert into dirsync.learnt_rate (gate, version, rate_per_second, changed_at, leased_at_change)
       values ('platform', 1, 40, now(), 0)`,
    )
    await commands.lowerRate(10, inSeconds(3600), 'a test')
    await using process = processOf('auto')
    await called([process], 5, 0)
    const refusal = { operation: 'employee/get', code: RATE_LIMITED, times: 1 }
    await controlOf(emulator.url)('POST', 'faults', refusal)
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
