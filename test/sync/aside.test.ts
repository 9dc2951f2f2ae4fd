import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startEmulator } from '../../emulator/emulator.ts'
import { createCompany, until } from '../helpers/company.ts'
import { fleetOf, GOES_ON, REFUSED } from '../helpers/fleet.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

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
  await Promise.all([resync(), cut.waitForLine(/cannot reach the platform, and others work/)])
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
