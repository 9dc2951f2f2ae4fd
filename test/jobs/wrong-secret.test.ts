import { expect, test } from 'vitest'
import { dirsync } from '../cli/dirsync.ts'
import { createCompany, until } from '../helpers/company.ts'
import { freePort } from '../helpers/free-port.ts'
import { spawnDirsync } from '../helpers/process.ts'

test('a worker with a wrong secret leaves the jobs to the others, halts nothing, and is named', async () => {
  await using company = await createCompany({ employees: 60 })
  const { db, settings } = company
  const start = (roles: string, env: Record<string, string> = {}) =>
    spawnDirsync(['start', '--roles', roles], { env: { ...settings, ...env } })
  const creations = async () => (await company.calls())['token/create'] ?? 0
  await using good = start('scheduler,worker')
  await until(async () => (await db.query(`select from dirsync.platform_token`)).rowCount === 1)
  await until(async () => (await db.query(`select from dirsync.sync_run where state = 'done'`)).rowCount)
  const before = await creations()

  const port = await freePort()
  await using bad = start('worker,console', {
    PLATFORM_APP_SECRET: 'wrong',
    CONSOLE_PORT: String(port),
    CONSOLE_URL: `http://127.0.0.1:${port}`,
  })
  await bad.waitForLine(/Running|console/)
  const refused = bad.waitForLine(/refuses the signature of this process/)
  let isRefused = false
  refused.then(
    () => {
      isRefused = true
    },
    () => {},
  )
  await until(async () => {
    expect((await dirsync(['resync', '--full', '--wait'], settings)).code).toBe(0)
    expect(good.stderr + bad.stderr).not.toMatch(/halted: /)
    return isRefused
  })
  // It does not take the jobs of this one.
  expect((await dirsync(['resync', '--full', '--wait'], settings)).code).toBe(0)
  expect((await creations()) - before).toBe(1)
  for (const { stdout, stderr } of [good, bad]) expect(stdout + stderr).not.toMatch(/halted: /)

  const ready = await fetch(`http://127.0.0.1:${port}/readyz`)
  expect([ready.status, await ready.json()]).toMatchObject([503, { missing: [{ part: 'credentials' }] }])
  await until(async () => {
    const { stdout } = await dirsync(['status'], settings)
    return (
      stdout.replaceAll(/\s+/g, ' ').includes(`and accepts that of others`) && stdout.includes(`(${bad.pid})`)
    )
  })
})
