import { expect, test } from 'vitest'
import { createCompany, until } from '../helpers/company.ts'
import { spawnDirsync } from '../helpers/process.ts'

test('SIGTERM ends the service within 10 s although HR hangs', { timeout: 60_000 }, async () => {
  await using company = await createCompany({ employees: 20 })
  await using service = spawnDirsync(['start', '--roles', 'scheduler,worker'], { env: company.settings })
  await service.waitForLine(/Running/)
  const locker = await company.hr.connect()
  try {
    await locker.query('begin; lock table department')
    await company.db.query(`select dirsync.resync('departments')`)
    await until(async () => {
      const { rows } = await company.db.query(`select state from dirsync.sync_run order by id desc limit 1`)
      return rows[0].state === 'planning'
    })
    const stopping = performance.now()
    expect(await service.kill('SIGTERM')).toEqual({ code: 0, signal: null })
    expect(performance.now() - stopping).toBeLessThan(10_000)
  } finally {
    locker.release(true)
  }
})
