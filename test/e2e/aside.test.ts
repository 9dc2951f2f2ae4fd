import { expect, test } from 'vitest'
import { createCompany, until } from '../helpers/company.ts'
import { fleetOf, REFUSED } from '../helpers/fleet.ts'

test('a worker with a wrong secret goes on once nobody else has worked for a minute, and everyone is told', {
  timeout: 180_000,
}, async () => {
  await using company = await createCompany({ employees: 30 })
  const { start, resync, creations, halts } = fleetOf(company)
  await using good = start('scheduler,worker')
  await resync()
  await using bad = start('worker', { PLATFORM_APP_SECRET: 'wrong' })
  await bad.waitForLine(REFUSED)
  const before = await creations()
  await good.kill()
  await using next = start('scheduler,worker')
  await resync()
  expect([(await creations()) - before, await halts()]).toEqual([0, []])
  const goneAt = performance.now()
  await next.kill()
  await until(async () => (await halts()).includes('credentials'))
  expect(performance.now() - goneAt).toBeGreaterThan(55_000)
  await using last = start('scheduler,worker')
  await until(async () => (await halts()).length === 0)
  await resync()
  await Promise.all([last.kill(), bad.kill()])
})
