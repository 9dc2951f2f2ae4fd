import { randomUUID } from 'node:crypto'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { startEmulator } from '../../emulator/emulator.ts'
import { loadConfig } from '../../src/config.ts'
import { connectPlatform } from '../../src/connections.ts'
import { probeAccount } from '../../src/sync/outbox/account-probe.ts'
import { type Halt, isToProbe, liftHalts, raiseHalt, readHalts } from '../../src/sync/outbox/halts.ts'
import { heartbeat, type Pacing, processDifferences } from '../../src/sync/processes/process.ts'
import { Standing } from '../../src/sync/processes/standing.ts'
import { inEnglish, inWords } from '../../src/texts/message.ts'
import { createCompany, endOf, until } from '../helpers/company.ts'
import { cutOff } from '../helpers/cut-off.ts'
import { createDeployment } from '../helpers/deployment.ts'
import { fleetOf, GOES_ON, LEAVES, REFUSED } from '../helpers/fleet.ts'
import { freePort } from '../helpers/free-port.ts'
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

test('a worker that cannot reach the platform leaves the work to one that can, until it can', async () => {
  await using company = await createCompany({ employees: 600, settings: { PLATFORM_RATE_LIMIT: '200' } })
  const { start, resync, halts, status, longAgo } = fleetOf(company)
  const file = join(await temporaryFolder(), 'cut')
  await writeFile(file, '')
  await using good = start('scheduler,worker')
  const port = String(await freePort())
  await using cut = start('worker,console', {
    ...{ CONSOLE_PORT: port, NODE_OPTIONS: cutOff(file, company.emulator.port) },
  })
  await Promise.all([resync(), cut.waitForLine(LEAVES)])
  await resync()
  expect(await status()).toMatch(new RegExp(`rocess \\S+ \\(${cut.pid}\\) cannot reach the platform`))
  expect(await halts()).toEqual([])
  // Its pages are as good as any.
  expect(await (await fetch(`http://127.0.0.1:${port}/readyz`)).json()).toMatchObject({ status: 'ready' })

  await rm(file)
  await longAgo(1)
  await cut.waitForLine(GOES_ON)
  await good.kill()
  await using planner = start('scheduler')
  await resync()
  await Promise.all([planner.kill(), cut.kill()])
})

test('one whose network is back works again although the last one, cut off later, has halted everything', async () => {
  await using company = await createCompany({ employees: 60 })
  const { db, emulator } = company
  const { start, resync, halts, longAgo } = fleetOf(company)
  const folder = await temporaryFolder()
  const [first, last] = [join(folder, 'first'), join(folder, 'last')]
  const worker = (file: string) => start('worker', { NODE_OPTIONS: cutOff(file, emulator.port) })
  await using planner = start('scheduler')
  await using one = worker(first)
  await using two = worker(last)
  await resync()
  await writeFile(first, '')
  await db.query(`select dirsync.resync('full')`)
  await one.waitForLine(LEAVES)
  await writeFile(last, '')
  await db.query(`select dirsync.resync('full')`)
  await until(async () => (await halts()).includes('platform_unavailable'))
  await rm(first)
  await longAgo(1)
  await one.waitForLine(GOES_ON)
  await two.waitForLine(LEAVES)
  await until(async () => (await halts()).length === 0)
  await resync()
  await Promise.all([planner, one, two].map(process => process.kill()))
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
  const aside = async () =>
    (await store.rows<{ aside_for: string | null }>('select aside_for from dirsync.process order by id')).map(
      row => row.aside_for,
    )
  let entered = 0
  /** A worker; those that enter later come later. */
  const enter = async (secretPrint = 'same'): Promise<Standing> => {
    entered += 1
    const me = { id: `00000000-0000-4000-8000-${String(entered).padStart(12, '0')}`, secretPrint }
    const about = { host: 'h', pid: entered, roles: ['worker'], version: '1', pacer: PACER }
    await heartbeat(store.pool, { ...me, ...about })
    return new Standing(store.pool, me)
  }
  const asked = (secondsAgo: number) =>
    store.pool.query(`update dirsync.process set asked_at = clock_timestamp() - $1 * interval '1 second'`, [
      secondsAgo,
    ])
  const unanswered = async () => false
  const halt = (category: string) => raiseHalt(store.pool, { ...REASON, scope: '*', category }, 60_000)
  const told = async () => (await processDifferences(store.pool)).map(({ what }) => inEnglish(what))

  test('is never for all: of two that fail at the same moment one works on', async () => {
    const two = [await enter(), await enter()]
    for (let round = 0; round < 100; round += 1) {
      await Promise.all(two.map(one => one.leaveIfCutOff(unanswered)))
      expect(new Set(await aside())).toEqual(new Set(['unreachable', null]))
      for (const one of two) await one.workAgain()
    }
  })

  test('again soon after a return is for longer', async () => {
    await enter()
    const one = await enter()
    const asksAfter = async (seconds: number) => {
      await asked(seconds)
      return one.isToAsk(false)
    }
    await one.leaveIfCutOff(unanswered)
    expect([await asksAfter(9), await asksAfter(11)]).toEqual([false, true])
    await one.workAgain()
    await one.leaveIfCutOff(unanswered)
    expect([await asksAfter(19), await asksAfter(21)]).toEqual([false, true])
  })

  test('is what one does that was frozen for so long that it counted as dead', async () => {
    await enter()
    const one = await enter()
    await store.pool.query(
      `update dirsync.process set heartbeat_at = now() - interval '1 minute' where pid = $1`,
      [entered],
    )
    expect(await one.leaveIfCutOff(unanswered)).toBe(true)
  })

  test('is not for the network where a ping is answered, nor where none could be made', async () => {
    const one = await enter()
    expect(await one.leaveIfCutOff(unanswered)).toBe(false)
    await enter()
    expect(await one.leaveIfCutOff(async () => true)).toBe(false)
    expect(await one.leaveIfCutOff(() => Promise.reject(new Error('all calls are paused')))).toBe(null)
    expect(await one.leaveIfCutOff(unanswered)).toBe(true)
  })

  test('in an outage is told of nobody, and asks once a minute: whose own trouble is over works then', async () => {
    await enter()
    const one = await enter()
    await one.leaveIfCutOff(unanswered)
    expect(await told()).toHaveLength(1)
    await halt('platform_unavailable')
    expect(await told()).toEqual([])
    await asked(50)
    expect(await one.isToAsk(false)).toBe(false)
    await asked(61)
    expect(await one.isToAsk(false)).toBe(true)
    await liftHalts({ pool: store.pool, logger: SILENT }, 'E1', new Date(Date.now() + 1000))
    await asked(11)
    expect(await one.isToAsk(false)).toBe(true)
  })

  test.each(['hr_unavailable', 'credentials'])(
    'is told of as well while there is a halt %s',
    async category => {
      await enter('right')
      await (await enter('wrong')).leaveForSecret()
      await (await enter('right')).leaveIfCutOff(unanswered)
      await halt(category)
      expect(await told()).toEqual([
        expect.stringContaining('refuses the PLATFORM_APP_SECRET'),
        expect.stringContaining('cannot reach the platform'),
      ])
    },
  )

  test('for a secret is what those do who come later with the same one, which is asked about once for all', async () => {
    await enter('right')
    expect(await (await enter('right')).joinRefused()).toBe(false)
    const first = await enter('wrong')
    expect(await first.joinRefused()).toBe(false)
    await first.leaveForSecret()
    await asked(200)
    const second = await enter('wrong')
    expect(await second.joinRefused()).toBe(true)
    expect(await second.isToAsk(false)).toBe(false)
    await asked(301)
    expect([await second.isToAsk(false), await first.isToAsk(false)]).toEqual([true, false])
    await asked(61)
    // Nobody works whom they could wait for: one of them has to say what is wrong.
    expect([await first.isToAsk(true), await second.isToAsk(true)]).toEqual([true, false])
    await first.trustSecret()
    expect(await aside()).toEqual([null, null, null, null])
  })

  test('for a secret ends soon after the other one is refused: this one may be right by now', async () => {
    await enter('old')
    const fresh = await enter('new')
    await fresh.leaveForSecret()
    expect(await fresh.isToAsk(false)).toBe(false)
    await halt('credentials')
    expect([await fresh.isToAsk(false), await fresh.isToAsk(false)]).toEqual([true, false])
  })

  test('for a secret that is refused by now outlasts that the platform answers again', async () => {
    await enter('right')
    const one = await enter('wrong')
    await one.leaveIfCutOff(unanswered)
    await one.leaveForSecret()
    await one.workAgain()
    expect([one.aside, await aside()]).toEqual(['secret', [null, 'secret']])
  })

  test('raises no halt of what the others do not meet, such as a blown fuse', async () => {
    await using deployment = await createDeployment()
    const { pool } = deployment.own
    const config = loadConfig(deployment.settings)
    await using client = connectPlatform(config, pool, SILENT)
    const account = [config.PLATFORM_BASE_URL, config.PLATFORM_APP_ID]
    await pool.query(
      `insert into dirsync.token_creation (base_url, app_id) select $1, $2 from generate_series(1, 50)`,
      account,
    )
    const about = { host: 'h', pid: 1, roles: ['worker'], version: '1', pacer: PACER, secretPrint: 's' }
    const [me, other] = [randomUUID(), randomUUID()]
    await heartbeat(pool, { id: me, ...about })
    await heartbeat(pool, { id: other, ...about, secretPrint: 'other' })
    const standing = new Standing(pool, { id: me, secretPrint: 's' })
    await standing.leaveForSecret()
    await pool.query(`update dirsync.process set asked_at = now() - interval '1 hour'`)
    const probe = probeAccount({ pool, client, standing, logger: SILENT })
    probe.start()
    onTestFinished(() => probe.stop())
    const hasAsked = `select from dirsync.process where id = $1 and asked_at > now() - interval '1 minute'`
    await until(async () => (await pool.query(hasAsked, [me])).rowCount === 1)
    await probe.stop()
    expect((await pool.query('select from dirsync.halt')).rowCount).toBe(0)
  })
})

test('an outage is probed by jobs alone while one may be: due, and of no enterprise that is halted by itself; but not for ever', async () => {
  await using deployment = await createDeployment()
  const { pool } = deployment.own
  const raise = (scope: string, category: string) => raiseHalt(pool, { ...REASON, scope, category }, 0)
  await raise('*', 'platform_unavailable')
  const isToProbeOutage = async () => {
    await pool.query('update dirsync.halt set next_probe_at = now()')
    const [halt] = await readHalts(pool)
    return isToProbe(pool, halt as Halt)
  }
  expect(await isToProbeOutage()).toBe(true)
  await pool.query(
    `insert into dirsync.pending (operation, enterprise_code, entity_key, priority) values ('update-employee', 'E9', 'e1', 1)`,
  )
  expect(await isToProbeOutage()).toBe(false)
  // As without a scheduler, or without a queue.
  await pool.query(`update dirsync.halt set jobs_probe_until = now() - interval '1 minute'`)
  expect([await isToProbeOutage(), await isToProbeOutage()]).toEqual([true, false])
  await raise('E9', 'enterprise_code')
  expect(await isToProbeOutage()).toBe(true)
  await pool.query(`delete from dirsync.halt where scope = 'E9'`)
  await pool.query(`update dirsync.pending set not_before = now() + interval '1 hour'`)
  expect(await isToProbeOutage()).toBe(true)
})
