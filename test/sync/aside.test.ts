import { randomUUID } from 'node:crypto'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { startEmulator } from '../../emulator/emulator.ts'
import { liftHalts, raiseHalt } from '../../src/sync/outbox/halts.ts'
import { heartbeat, type Pacing, processDifferences } from '../../src/sync/processes/process.ts'
import { Standing } from '../../src/sync/processes/standing.ts'
import { inWords } from '../../src/texts/message.ts'
import { createCompany, endOf, until } from '../helpers/company.ts'
import { fleetOf, GOES_ON, LEAVES, REFUSED } from '../helpers/fleet.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { SILENT, StoreUnderTest } from './store-under-test.ts'

const PACER: Pacing = {
  ...{ ratePerSecond: 10, set: 10, learnt: false, ceiling: null, cap: null, waiting: 0, pausedForMs: 0 },
  ...{ callsPerSecond: 0, concurrency: 1, clockOffsetMs: null },
}
const REASON = { platformCode: null, message: inWords('m'), remedy: inWords('r') }

test('workers with a wrong secret leave the work to others, halt nothing, and ask every five minutes, one for all', async () => {
  await using company = await createCompany({ employees: 60 })
  const { start, resync, creations, halts, status, longAgo } = fleetOf(company)
  await using good = start('scheduler,worker')
  await resync()
  const before = await creations()
  const wrong = { PLATFORM_APP_SECRET: 'wrong' }
  await using bad = start('worker', wrong)
  await bad.waitForLine(REFUSED)
  await using planner = start('scheduler', wrong)
  await using other = start('worker', wrong)
  await other.waitForLine(REFUSED)
  await resync()
  const asked = (await creations()) - before
  expect(asked).toBeLessThanOrEqual(4)
  await longAgo(4)
  await resync()
  expect((await creations()) - before).toBe(asked)
  await longAgo(2)
  await until(async () => (await creations()) - before > asked)
  await resync()
  expect((await creations()) - before).toBe(asked + 1)

  const shown = await status()
  for (const { pid } of [bad, other])
    expect(shown).toMatch(
      new RegExp(`refuses the PLATFORM_APP_SECRET of process \\S+ \\(${pid}\\), which leaves all work`),
    )
  // It makes no calls, so nothing is refused.
  expect(shown).not.toContain(`(${planner.pid}), which`)
  expect(shown).not.toContain('has another PLATFORM_APP_SECRET')
  expect(await halts()).toEqual([])
  const said = [good, bad, other].map(({ stdout, stderr }) => stdout + stderr).join()
  expect(said).not.toMatch(/said\.halted/)
  await Promise.all([good, bad, other, planner].map(one => one.kill()))
})

test('what one process halts for its secret another one lifts, though there is no work', async () => {
  await using company = await createCompany({ employees: 30 })
  const { start, resync, halts } = fleetOf(company)
  await using good = start('scheduler,worker')
  await resync()
  await company.db.query(`
    insert into dirsync.halt (scope, category, platform_code, message, remedy)
    values ('*', 'credentials', 1000210003, '"m"', '"r"')`)
  await until(async () => (await halts()).length === 0)
  await good.kill()
})

test('a secret that is changed while processes with the old and the new one run is noticed at ordinary calls', async () => {
  await using company = await createCompany({ employees: 30 })
  const { settings, emulator } = company
  const { start, resync, halts, longAgo } = fleetOf(company)
  await using old = start('scheduler,worker')
  await resync()
  await using fresh = start('worker', { PLATFORM_APP_SECRET: 'new' })
  await fresh.waitForLine(REFUSED)

  await emulator.close()
  const account = { appId: settings.PLATFORM_APP_ID as string, appSecret: 'new' }
  await using stack = new AsyncDisposableStack()
  const changed = await startEmulator({ ...account, port: emulator.port, strict: true, seed: {} })
  stack.defer(() => changed.close())
  await longAgo(6)
  await fresh.waitForLine(GOES_ON)
  await resync()
  await old.waitForLine(REFUSED)
  expect(await halts()).toEqual([])
  await Promise.all([old.kill(), fresh.kill()])
})

/** While `file` is there, a process does not reach `port`. */
const cutOff = (file: string, port: number) =>
  `--import=data:text/javascript,${encodeURIComponent(`
    import { existsSync } from 'node:fs'
    import { Socket } from 'node:net'
    const { connect } = Socket.prototype
    Socket.prototype.connect = function (...given) {
      const [options] = Array.isArray(given[0]) ? given[0] : given
      if (Number(options?.port) === ${port} && existsSync(${JSON.stringify(file)})) options.port = 1
      return connect.apply(this, given)
    }`)}`

test('a worker that cannot reach the platform leaves the work to one that can, until it can', async () => {
  await using company = await createCompany({ employees: 600, settings: { PLATFORM_RATE_LIMIT: '200' } })
  const { start, resync, halts, status, longAgo } = fleetOf(company)
  const file = join(await temporaryFolder(), 'cut')
  await writeFile(file, '')
  await using good = start('scheduler,worker')
  await using cut = start('worker', { NODE_OPTIONS: cutOff(file, company.emulator.port) })
  await Promise.all([resync(), cut.waitForLine(LEAVES)])
  await resync()
  expect(await status()).toMatch(new RegExp(`rocess \\S+ \\(${cut.pid}\\) cannot reach the platform`))
  expect(await halts()).toEqual([])

  await rm(file)
  await longAgo(1)
  await cut.waitForLine(GOES_ON)
  await good.kill()
  await using planner = start('scheduler')
  await resync()
  await Promise.all([planner.kill(), cut.kill()])
})

test('a worker that cannot reach the platform notices it without employees to ask about, and leaves its mirror to another', async () => {
  await using company = await createCompany({ employees: 1 })
  const { db } = company
  const { start, halts } = fleetOf(company)
  const file = join(await temporaryFolder(), 'cut')
  await writeFile(file, '')
  const { rows } = await db.query(`select dirsync.resync('orders') as id`)
  await using cut = start('worker', { NODE_OPTIONS: cutOff(file, company.emulator.port) })
  await until(
    async () => (await db.query('select from dirsync.mirror_task where attempts > 0')).rowCount === 1,
  )
  await using good = start('worker')
  await cut.waitForLine(LEAVES)
  await db.query('update dirsync.mirror_task set not_before = now()')
  expect(await endOf(db, Number(rows[0].id))).toMatchObject({ state: 'done' })
  expect(await halts()).toEqual([])
  expect((await db.query('select from dirsync.failed_syncs')).rowCount).toBe(0)
  await Promise.all([cut.kill(), good.kill()])
})

describe('standing aside', () => {
  const store = new StoreUnderTest()
  const aside = () => store.rows('select aside_for from dirsync.process order by aside_for')
  const enter = async (): Promise<Standing> => {
    const me = { id: randomUUID(), secretPrint: 'same' }
    const about = { host: 'h', pid: 1, roles: ['worker'], version: '1', pacer: PACER }
    await heartbeat(store.pool, { ...me, ...about })
    return new Standing(store.pool, me)
  }

  test('is never for all: of two that fail at the same moment one works on', async () => {
    const two = [await enter(), await enter()]
    for (let round = 0; round < 100; round += 1) {
      await Promise.all(two.map(one => one.leaveForNetwork()))
      expect(await aside()).toEqual([{ aside_for: 'unreachable' }, { aside_for: null }])
      for (const one of two) await one.isAnswered()
    }
  })

  test('again soon after a return is for longer', async () => {
    await enter()
    const one = await enter()
    const asksAfter = async (seconds: number) => {
      await store.pool.query(
        `update dirsync.process set asked_at = clock_timestamp() - $1 * interval '1 second'`,
        [seconds],
      )
      return one.isToAsk()
    }
    await one.leaveForNetwork()
    expect([await asksAfter(9), await asksAfter(11)]).toEqual([false, true])
    await one.isAnswered()
    await one.leaveForNetwork()
    expect([await asksAfter(19), await asksAfter(21)]).toEqual([false, true])
  })

  test('is told of nobody, and asks nothing, while everything is halted: the last one that works found that it fails for all', async () => {
    await enter()
    const one = await enter()
    await one.leaveForNetwork()
    expect(await processDifferences(store.pool)).toHaveLength(1)
    await raiseHalt(store.pool, { ...REASON, scope: '*', category: 'platform_unavailable' }, 60_000)
    expect(await processDifferences(store.pool)).toEqual([])
    await store.pool.query(`update dirsync.process set asked_at = clock_timestamp() - interval '1 hour'`)
    expect(await one.isToAsk()).toBe(false)
    await liftHalts({ pool: store.pool, logger: SILENT }, 'E1', new Date(Date.now() + 1000))
    expect(await one.isToAsk()).toBe(true)
  })
})
