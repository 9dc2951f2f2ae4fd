import { expect, test } from 'vitest'
import { createCompany, until } from '../helpers/company.ts'
import { spawnDirsync } from '../helpers/process.ts'

test('--once also sends what HR changes while it runs, after a plan has passed it', async () => {
  await using company = await createCompany({ employees: 60, settings: { PLATFORM_RATE_LIMIT: '40' } })
  const child = spawnDirsync(['start', '--once', '--json'], { env: company.settings })
  await until(async () => {
    const { rows } = await company.db.query('select count(*)::int as n from dirsync.attempt')
    return rows[0].n >= 5
  })
  await company.hr.query(`update person set name = 'Late' where userid >= 'e0050'`)
  expect(await child.exited).toMatchObject({ code: 0 })
  const summary = JSON.parse(child.stdout)
  expect(summary.employees).toMatchObject({ in_scope: 60, waiting: 0 })
  const late = [...(await company.onPlatform()).values()].filter(({ name }) => name === 'Late')
  expect(late).toHaveLength(10)
})

test('under a pause --once says once that everything waits, and ends', async () => {
  await using company = await createCompany({ employees: 5 })
  await company.db.query(`select dirsync.pause('maintenance'), dirsync.resync('changes')`)
  const child = spawnDirsync(['start', '--once', '--json'], { env: company.settings })
  expect(await child.exited).toMatchObject({ code: 1 })
  const { ok, messages } = JSON.parse(child.stdout)
  expect(ok).toBe(false)
  expect(messages).toMatchObject([{ message: expect.stringContaining('maintenance') }])
})
