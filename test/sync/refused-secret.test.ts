import { expect, test } from 'vitest'
import { startEmulator } from '../../emulator/emulator.ts'
import { dirsync } from '../cli/dirsync.ts'
import { createCompany, until } from '../helpers/company.ts'
import { spawnDirsync } from '../helpers/process.ts'

const REFUSED = /refuses the application secret of this process/

test('a worker with a wrong secret leaves the work to the others, halts nothing, and goes on with it alone', async () => {
  await using company = await createCompany({ employees: 60 })
  const { db, settings } = company
  const start = (roles: string, env: Record<string, string> = {}) =>
    spawnDirsync(['start', '--roles', roles], { env: { ...settings, ...env } })
  const creations = async () => (await company.calls())['token/create'] ?? 0
  const halts = async () => (await db.query('select category from dirsync.halt')).rows
  const resync = async () => expect((await dirsync(['resync', '--full', '--wait'], settings)).code).toBe(0)
  await using good = start('scheduler,worker')
  await resync()
  const before = await creations()

  await using bad = start('worker', { PLATFORM_APP_SECRET: 'wrong' })
  await bad.waitForLine(REFUSED)
  await resync()
  expect((await creations()) - before).toBeLessThanOrEqual(3)
  const { stdout } = await dirsync(['status'], settings)
  expect(stdout.replaceAll(/\s+/g, ' ')).toContain('The platform refuses the PLATFORM_APP_SECRET of process')
  expect(stdout.replaceAll(/\s+/g, ' ')).toContain(`(${bad.pid}), which leaves all work to others`)
  for (const { stdout, stderr } of [good, bad]) expect(stdout + stderr).not.toMatch(/halted: /)
  const { rows } = await db.query(`select distinct outcome from dirsync.attempt where outcome = 'halted'`)
  expect([rows, await halts()]).toEqual([[], []])

  // Nobody else works any more: what is refused is a halt again, which says so to everyone.
  await good.kill()
  await until(async () => (await halts()).some(({ category }) => category === 'credentials'))
  await using again = start('scheduler,worker')
  await until(async () => (await halts()).length === 0)
  await resync()
  await Promise.all([again.kill(), bad.kill()])
})

test('a secret that is changed while processes with the old and the new one run is noticed at ordinary calls', async () => {
  await using company = await createCompany({ employees: 30 })
  const { db, settings, emulator } = company
  const start = (secret: string, roles = 'worker') =>
    spawnDirsync(['start', '--roles', roles], {
      env: { ...settings, PLATFORM_APP_SECRET: secret, LOG_LEVEL: 'info' },
    })
  await using old = start(settings.PLATFORM_APP_SECRET as string, 'scheduler,worker')
  expect((await dirsync(['resync', '--full', '--wait'], settings)).code).toBe(0)
  await using fresh = start('new')
  await fresh.waitForLine(REFUSED)

  await emulator.close()
  const { port } = emulator
  const account = { appId: settings.PLATFORM_APP_ID as string, appSecret: 'new' }
  await using stack = new AsyncDisposableStack()
  stack.adopt(await startEmulator({ ...account, port, strict: true, seed: {} }), next => next.close())
  // As if the five minutes were over, after which it asks again.
  await db.query(
    `update dirsync.process set refused_at = refused_at - interval '5 minutes' where refused_at is not null`,
  )
  await fresh.waitForLine(/goes on with the work/)
  expect((await dirsync(['resync', '--full', '--wait'], settings)).code).toBe(0)
  await old.waitForLine(REFUSED)
  expect((await db.query('select from dirsync.halt')).rowCount).toBe(0)
  await Promise.all([old.kill(), fresh.kill()])
})
