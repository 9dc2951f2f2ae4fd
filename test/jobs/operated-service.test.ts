import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { loadConfig } from '../../src/config.ts'
import { createLogger } from '../../src/lib/logger.ts'
import { startService } from '../../src/main.ts'
import { Commands } from '../../src/sync/runs/commands.ts'
import { dirsync } from '../cli/dirsync.ts'
import { openApp, signInAs } from '../console/console-under-test.ts'
import { type Company, createCompany, endOf, until } from '../helpers/company.ts'
import { spawnDirsync } from '../helpers/process.ts'

const logger = createLogger({ level: 'silent', pretty: false })

const EMPLOYEES = 60
/** Due once a year: not while a test runs. */
const YEARLY = '0 0 29 6 *'

test('a running service takes what an operator asks: a job now, a lower rate, a paused schedule', async () => {
  await using company = await createCompany({ employees: EMPLOYEES })
  const config = loadConfig({ ...company.settings, SCHEDULE_SYNC_CHANGES: YEARLY })
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
    const run = await runOf(await commands.runSchedule('full-resync'))
    expect((await endOf(company.db, run)).state).toBe('done')

    await commands.lowerRate(20, new Date(Date.now() + 3_600_000), 'the vendor asked for it')
    // Slots that were taken before are good for up to a second.
    await delay(1000)
    const begun = performance.now()
    const slow = await runOf(await commands.runSchedule('full-resync'))
    await commands.pauseSchedule('openids', 'no merchant today')
    const status = await dirsync(['status'], company.settings)
    expect(status.stdout).toMatch(/Permitted now +20 calls per second/)
    expect(status.stdout.replace(/\s+/g, ' ')).toMatch(
      /test:operator.* limited the rate to at most 20 calls per second\. the vendor asked for it Until \S+ \S+/,
    )
    expect(status.stdout).toMatch(/^ +openids .* paused: no merchant today/m)
    // 60 calls at 20 a second, of which the first may leave at once.
    const lowered = await endOf(company.db, slow)
    expect(lowered.state).toBe('done')
    expect(performance.now() - begun).toBeGreaterThan(((EMPLOYEES - 1) / 20) * 1000)

    await commands.restoreRate()
    const restored = await endOf(company.db, await runOf(await commands.runSchedule('full-resync')))
    const waited = async (id: number) => {
      const { rows } = await company.db.query<{ ms: number }>(
        `select sum(value::int)::int as ms from dirsync.attempt, jsonb_each_text(waited_ms) where run_id = $1`,
        [id],
      )
      return rows[0]?.ms ?? 0
    }
    expect(await waited(restored.id)).toBeLessThan((await waited(slow)) / 2)
  } finally {
    await service.stop()
  }
})

/** Starts the service, with some jobs off: what it syncs then, and what it says that it leaves out. */
async function startOf(company: Company, off: string[]): Promise<{ kinds: string[]; told: string | null }> {
  const { rows } = await company.db.query('select coalesce(max(id), 0) as last from dirsync.sync_run')
  // None of them is to be due meanwhile, which would request its run before the start does.
  const settings = Object.fromEntries(
    ['FULL_RESYNC', 'SYNC_CHANGES', 'DEPARTMENTS', 'OPENIDS'].map(name => [`SCHEDULE_${name}`, YEARLY]),
  )
  for (const name of off) settings[name] = 'off'
  await using service = spawnDirsync(['start', '--roles', 'scheduler,worker'], {
    env: { ...company.settings, ...settings },
  })
  await service.waitForLine(/Running/)
  const { rows: runs } = await company.db.query<{ kind: string }>(
    `select distinct kind from dirsync.sync_run where id > $1 and (requested_by = 'start' or kind = 'retry') order by 1`,
    [rows[0].last],
  )
  const [line] = service.stderr.split('\n').filter(line => line.includes('Left out'))
  return { kinds: runs.map(({ kind }) => kind), told: line ? JSON.parse(line).msg : null }
}

test('a first start syncs everyone with the sync of changes where the full run is off', async () => {
  await using company = await createCompany({ employees: 4 })
  const off = ['SCHEDULE_FULL_RESYNC', 'SCHEDULE_DEPARTMENTS', 'SCHEDULE_OPENIDS']
  expect(await startOf(company, [...off, 'SCHEDULE_SYNC_CHANGES'])).toEqual({
    kinds: [],
    told: 'Left out of the sync at this start, because off or paused: full-resync, departments, openids',
  })
  expect(await startOf(company, off)).toEqual({
    kinds: ['changes'],
    told: 'Left out of the sync at this start, because off or paused: departments, openids',
  })
  const { rows } = await company.db.query('select planned from dirsync.sync_run')
  expect(rows).toEqual([{ planned: 4 }])
})

test('a start leaves out what is off or paused, also where that is everything', async () => {
  await using company = await createCompany({ employees: 4 })
  await company.hr.query(`update person set mobile = 'none' where userid = 'e0000'`)
  const start = (off: string[] = []) => startOf(company, off)
  expect(await start()).toEqual({ kinds: ['departments', 'full', 'openids'], told: null })

  await company.hr.query(
    `update department set active = false, closed_at = now() - interval '1 week' where dept_code = 'D4'`,
  )
  await company.db.query(
    `update dirsync.dead_letter set next_retry_at = now();
     select dirsync.pause_schedule('openids', 'why'), dirsync.pause_schedule('retry-due', 'why')`,
  )
  expect(await start(['SCHEDULE_DEPARTMENTS'])).toEqual({
    kinds: ['changes'],
    told: 'Left out of the sync at this start, because off or paused: departments, openids, retry-due',
  })
  expect(await company.control('GET', 'state')).toMatchObject({
    departments: expect.arrayContaining([expect.objectContaining({ dept_code: 'D4' })]),
  })

  const nothing = await start(['SCHEDULE_SYNC_CHANGES', 'SCHEDULE_DEPARTMENTS'])
  expect(nothing.kinds).toEqual([])
  // What is not left out still is synced.
  await company.db.query(`select dirsync.resume_schedule('retry-due')`)
  expect(await start(['SCHEDULE_SYNC_CHANGES', 'SCHEDULE_DEPARTMENTS'])).toMatchObject({ kinds: ['retry'] })
})

test('a schedule is read and told in the zone of its scheduler, wherever the viewer is', async () => {
  await using company = await createCompany({ employees: 1 })
  await using scheduler = spawnDirsync(['start', '--roles', 'scheduler'], {
    env: { ...company.settings, TZ: 'Asia/Shanghai', SCHEDULE_FULL_RESYNC: '0 2 * * *' },
  })
  await scheduler.waitForLine(/Running/)
  const { rows } = await company.db.query(
    `select time_zone, to_char(next_due_at at time zone 'UTC', 'HH24:MI') as due
     from dirsync.job_schedule where job = 'full-resync'`,
  )
  expect(rows).toEqual([{ time_zone: 'Asia/Shanghai', due: '18:00' }])

  await using console = await openApp(company.settings.DATABASE_URL ?? '')
  const cookie = `${await signInAs(console, 'viewer')}; dirsync_zone=Europe%2FBerlin`
  const get = async (url: string, language = 'en') =>
    (await console.app.inject({ url, headers: { cookie, 'accept-language': language } })).body
  for (const url of ['/schedules', '/schedules?job=full-resync'])
    expect(await get(url)).toContain('At 02:00 (Asia/Shanghai)')
  expect(await get('/schedules', 'zh-CN')).toContain('在 02:00（Asia/Shanghai）')
  const { items: schedules } = JSON.parse(await get('/api/v1/schedules?job=full-resync'))
  expect(schedules).toMatchObject([{ job: 'full-resync', time_zone: 'Asia/Shanghai' }])

  // An older version did not say.
  await company.db.query('update dirsync.job_schedule set time_zone = null')
  expect(await get('/schedules')).toMatch(/At 02:00\s*</)
})
