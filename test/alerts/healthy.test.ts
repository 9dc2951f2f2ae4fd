import { expect, onTestFinished, test } from 'vitest'
import { readAlertFacts } from '../../src/alerts/facts.ts'
import { findings } from '../../src/alerts/rule.ts'
import { loadConfig } from '../../src/config.ts'
import { createCompany, startSilently, until } from '../helpers/company.ts'
import { duringFile } from '../helpers/during.ts'

const company = duringFile(() => createCompany({ employees: 60, settings: { SELLER_APPIDS: 'mall0001' } }))

/** A process of dirsync with its schedule, until the test ends or it is stopped. */
async function service(settings: Record<string, string> = {}) {
  const started = await startSilently({ ...company.settings, ...settings }, ['scheduler', 'worker'], true)
  onTestFinished(() => started.stop())
  return started
}

async function found(settings: Record<string, string> = {}) {
  // The tests' own server is busy with other tests, too.
  const patient = { ALERT_DATABASE_SLOW: 'off', ALERT_DATABASE_FULL: 'off' }
  const limits = loadConfig({ ...company.settings, ...patient, ...settings })
  return findings(await readAlertFacts(company.db), limits, new Date())
}

const schedules = async () =>
  (await readAlertFacts(company.db)).schedules.map(({ kind, interval }) => [kind, interval])

test('a company that is synced for the first time, changes, and is asked about in full raises nothing', async () => {
  const running = await service()
  let isOver = false
  onTestFinished(() => {
    isOver = true
  })
  // What a run leaves out of sync for the moments that it takes is none that an hour raises.
  const raised: string[] = []
  let judgements = 0
  const watching = (async () => {
    while (!isOver) {
      raised.push(...(await found()).filter(({ forMs }) => forMs === 0).map(({ rule }) => rule))
      judgements += 1
    }
  })()
  const first = await company.run('changes')
  expect(first.state).toBe('done')
  await company.hr.query(`update person set name = 'Another' where userid in ('e0001', 'e0002')`)
  for (const kind of ['changes', 'full', 'departments', 'openids'])
    expect((await company.run(kind)).state, kind).toBe('done')
  isOver = true
  await watching
  expect(raised).toEqual([])
  expect(judgements).toBeGreaterThan(5)
  expect(await found()).toEqual([])
  const facts = await readAlertFacts(company.db)
  expect(facts).toMatchObject({
    firstSync: 'lately',
    work: [],
    sourceChecks: [
      { kind: 'changes', suspect: false },
      { kind: 'full', suspect: false },
      { kind: 'departments', suspect: false },
    ],
  })
  expect(await schedules()).toEqual([
    ['changes', 300],
    ['full', 86_400],
  ])
  // A worker knows the platform's clock from its answers, and says so with its next sign of life.
  await until(async () => (await readAlertFacts(company.db)).clockOffset !== null)
  expect(Math.abs((await readAlertFacts(company.db)).clockOffset ?? 60)).toBeLessThan(5)
  await running.stop()
})

test('a schedule that is switched off is never overdue; one that comes back counts from then on', async () => {
  const off = await service({ SCHEDULE_FULL_RESYNC: 'off', SCHEDULE_SYNC_CHANGES: '*/10 8-17 * * 1-5' })
  expect(await schedules()).toEqual([['changes', 3600 * (24 * 2 + 14) + 600]])
  await off.stop()
  await company.db.query(`update dirsync.job_schedule set in_force_since = now() - interval '30 days'`)
  await company.db.query(
    `update dirsync.sync_run set finished_at = now() - interval '30 days' where state = 'done'`,
  )
  const on = await service()
  expect(await schedules()).toEqual([
    ['changes', 300],
    ['full', 86_400],
  ])
  expect(await found()).toEqual([])
  await on.stop()
})
