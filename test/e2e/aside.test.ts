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

test.each([503, 403])(
  'where some calls fail for all workers (HTTP %i), one halt stays until these succeed, and nobody stands aside',
  {
    timeout: 180_000,
  },
  async httpStatus => {
    await using company = await createCompany({ employees: 100 })
    const { db } = company
    const { start, resync, status } = fleetOf(company)
    const workers = [start('scheduler,worker'), start('worker')]
    await using stack = new AsyncDisposableStack()
    for (const worker of workers) stack.use(worker)
    await until(
      async () => (await db.query('select from dirsync.process where pacer is not null')).rowCount === 2,
    )
    await resync()
    await company.control('POST', 'faults', { operation: 'employee/get', httpStatus })
    await db.query(`select dirsync.resync('full')`)
    const halt = () =>
      db.query<{ since: string; category: string; probes: number }>(
        'select since::text, category, probes from dirsync.halt',
      )
    const asked = async () => (await company.calls())['employee/get'] ?? 0
    const probed = (times: number) =>
      until(async () => {
        const [first] = (await halt()).rows
        return first !== undefined && first.probes >= times && first
      })
    const first = await probed(1)
    const before = await asked()
    const last = await probed(4)
    expect(last).toMatchObject({ since: first.since, category: 'platform_unavailable' })
    // One for each probe; the first may still have been under way.
    expect((await asked()) - before).toBeLessThanOrEqual(4)
    expect((await db.query('select from dirsync.process where aside_for is not null')).rowCount).toBe(0)
    expect(await status()).not.toContain('cannot reach the platform')
    await company.control('DELETE', 'faults')
    await db.query(`select dirsync.probe_now('*')`)
    await until(async () => (await halt()).rowCount === 0)
    await resync()
    await Promise.all(workers.map(worker => worker.kill()))
  },
)
