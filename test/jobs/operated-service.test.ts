import { expect, test } from 'vitest'
import { loadConfig } from '../../src/config.ts'
import { createLogger } from '../../src/lib/logger.ts'
import { startService } from '../../src/main.ts'
import { Commands } from '../../src/sync/commands.ts'
import { dirsync } from '../cli/dirsync.ts'
import { createCompany, endOf, until } from '../helpers/company.ts'

const logger = createLogger({ level: 'silent', pretty: false })

const EMPLOYEES = 60

test('a running service takes what an operator asks: a job now, a lower rate, a paused schedule', async () => {
  await using company = await createCompany({ employees: EMPLOYEES })
  const config = loadConfig({ ...company.settings, SCHEDULE_SYNC_CHANGES: '0 0 29 6 *' })
  const commands = new Commands(company.db, { actor: 'test:operator' })
  const service = await startService({ config, roles: ['scheduler', 'worker'], logger, schedule: true })
  try {
    const runOf = async (asked: Date) =>
      until(async () => {
        const { rows } = await company.db.query<{ id: number }>(
          `select id::int from dirsync.sync_run where kind = 'full' and requested_at >= $1`,
          [asked],
        )
        return rows[0]?.id ?? null
      })
    const asked = performance.now()
    const run = await runOf(await commands.runSchedule('full-resync'))
    expect(performance.now() - asked).toBeLessThan(2000)
    expect((await endOf(company.db, run)).state).toBe('done')

    await commands.lowerRate(20, new Date(Date.now() + 3_600_000), 'the vendor asked for it')
    const begun = performance.now()
    const slow = await runOf(await commands.runSchedule('full-resync'))
    await until(async () => performance.now() - begun > 1500)
    await commands.pauseSchedule('openids', 'no merchant today')
    const status = await dirsync(['status'], company.settings)
    expect(status.stdout).toMatch(/permitted +20\/s/)
    expect(status.stdout.replace(/\s+/g, ' ')).toMatch(
      /lowered to 20\/s until \S+( \S+)? by .*test:operator.*: the vendor asked for it/,
    )
    expect(status.stdout).toMatch(/^ +openids .* paused: no merchant today/m)
    expect((await endOf(company.db, slow)).state).toBe('done')
    // 60 calls at 20 a second; at 2000 a second they take a fraction of a second.
    expect(performance.now() - begun).toBeGreaterThan((EMPLOYEES / 20 - 0.5) * 1000)

    await commands.restoreRate()
    const again = performance.now()
    await endOf(company.db, await runOf(await commands.runSchedule('full-resync')))
    expect(performance.now() - again).toBeLessThan(2500)
  } finally {
    await service.stop()
  }
})
