import { once } from 'node:events'
import cron from 'node-cron'
import { pino } from 'pino'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import type { CronJob, JobContext } from '../../jobs/index.ts'
import type { CronScheduler } from '../../jobs/scheduler.ts'
import { listSchedules, type Schedule } from '../../src/console/schedules/query.ts'
import { dirsyncListener } from '../../src/lib/listener.ts'
import { Commands } from '../../src/sync/runs/commands.ts'
import { requestScheduledRun } from '../../src/sync/runs/run-requests.ts'
import { CATALOGUES } from '../../src/texts/texts.ts'
import { createTestDatabase, type TestDatabase } from '../helpers/postgres.ts'
import { WAITING_FOR_A_LOCK } from '../sync/store-under-test.ts'
import { LivingScheduler } from './living-scheduler.ts'

const EVERY_SECOND = '* * * * * *'
/** Due once a year: not while a test runs. */
const YEARLY = '0 0 29 6 *'
const SILENT = pino({ level: 'silent' })

let database: TestDatabase
let commands: Commands
/** Commands that earlier tests have left: none is ever removed. */
let before: number
beforeAll(async () => {
  database = await createTestDatabase({ migrated: true })
  commands = new Commands(database.pool, { actor: 'test:operator' })
})
afterAll(() => database.close())
beforeEach(async () => {
  await database.pool.query('truncate dirsync.job_tick, dirsync.job_schedule')
  const { rows } = await database.pool.query('select coalesce(max(id), 0)::int as last from dirsync.command')
  before = rows[0].last
})

/** A scheduler as a process of its own would have it, woken as `main.ts` does. */
async function scheduler(schedule: string, run: CronJob['run'], name = 'a-job'): Promise<CronScheduler> {
  const job: CronJob = { name, does: 'is scheduled', schedule, run }
  const created = new LivingScheduler({
    pool: database.pool,
    jobs: [{ job, expression: schedule }],
    recordsOthersAsOff: false,
    context: { pool: database.pool } as JobContext,
    processId: crypto.randomUUID(),
    logger: SILENT,
  })
  const listener = dirsyncListener(database.url, SILENT, () => created.wake())
  onTestFinished(async () => {
    await listener.close()
    await created.stop()
  })
  await listener.start()
  await created.start()
  return created
}

async function theSchedule(): Promise<Schedule> {
  const [schedule] = await listSchedules(database.pool)
  if (!schedule) throw new Error('there is no schedule')
  return schedule
}

/** Resolves with the schedule once it is as wanted; looks whenever anything was told, and every 50 ms. */
async function scheduleWhere(isWanted: (schedule: Schedule) => boolean): Promise<Schedule> {
  for (;;) {
    const schedule = await theSchedule()
    if (isWanted(schedule)) return schedule
    await once(AbortSignal.timeout(50), 'abort')
  }
}

describe('a paused job', () => {
  test('leaves its ticks out and says so, over a restart too, until it is resumed', async () => {
    let runs = 0
    const run = async () => {
      runs += 1
    }
    const first = await scheduler(EVERY_SECOND, run)
    await scheduleWhere(({ ticks }) => ticks.length > 0)
    expect(await commands.pauseSchedule('a-job', 'the vendor works on it')).toBeNull()
    await scheduleWhere(({ ticks }) => ticks[0]?.skipped !== undefined && ticks[0]?.skipped !== null)
    const before = runs
    await first.stop()
    await scheduler(EVERY_SECOND, run)
    // The latest tick may still be under way.
    const paused = await scheduleWhere(
      ({ ticks }) => ticks.filter(tick => tick.skipped).length > 2 && Boolean(ticks[0]?.finished_at),
    )
    expect(paused).toMatchObject({ pause_reason: 'the vendor works on it', pause_effect: 'none' })
    expect(paused.ticks[0]).toMatchObject({ error: null, finished_at: expect.any(Date) })
    expect(paused.ticks[0]?.skipped).toMatch(/^paused by .*test:operator.*: the vendor works on it$/)
    expect(runs).toBe(before)

    expect(await commands.resumeSchedule('a-job')).toBe(true)
    const resumed = await scheduleWhere(({ ticks }) => ticks[0]?.skipped === null)
    expect(resumed).toMatchObject({ paused_at: null, paused_by: null, pause_reason: null })
    expect(await commands.resumeSchedule('a-job')).toBe(false)
  })

  test('does not make up for what was due while everything was down', async () => {
    await database.pool.query(
      `insert into dirsync.job_schedule (job, expression, next_due_at, interval_seconds, in_force_since)
       values ('a-job', $1, '2021-06-29', 86400, '2021-01-01')`,
      [YEARLY],
    )
    await commands.pauseSchedule('a-job', 'why')
    const started = await scheduler(YEARLY, () => Promise.reject(new Error('must not run')))
    await started.stop()
    expect((await theSchedule()).ticks).toMatchObject([{ error: null, skipped: expect.any(String) }])
  })

  test('is refused without a reason, for the sweep, and where there is none', async () => {
    await database.pool.query(
      `insert into dirsync.job_schedule (job, expression, next_due_at)
       values ('sweep', '*/3 * * * * *', now()), ('full-resync', '0 2 * * *', now())`,
    )
    await expect(commands.pauseSchedule('full-resync', ' ')).rejects.toMatchObject({
      code: 'COMMAND_INVALID',
    })
    await expect(commands.pauseSchedule('sweep', 'why')).rejects.toMatchObject({ code: 'COMMAND_INVALID' })
    for (const unknown of [
      () => commands.pauseSchedule('nothing', 'why'),
      () => commands.resumeSchedule('nothing'),
      () => commands.runSchedule('nothing'),
    ])
      await expect(unknown()).rejects.toMatchObject({ code: 'COMMAND_NOT_FOUND' })
    expect((await listSchedules(database.pool)).map(({ paused_at }) => paused_at)).toEqual([null, null])
    const { rows } = await database.pool.query('select name from dirsync.command where id > $1', [before])
    expect(rows).toEqual([])
  })

  test('that keeps the directory in step is paused with the warning that the console gives', async () => {
    await database.pool.query(
      `insert into dirsync.job_schedule (job, expression, next_due_at, interval_seconds)
       select job, '0 2 * * *', now(), 86400
       from unnest(array['sync-changes', 'full-resync', 'retry-due', 'orders']) job`,
    )
    for (const job of ['sync-changes', 'full-resync', 'retry-due'] as const) {
      expect(await commands.pauseSchedule(job, 'why')).toBe(CATALOGUES.en[`schedules.pause.${job}`])
      await commands.resumeSchedule(job)
    }
    expect(await commands.pauseSchedule('orders', 'why')).toBeNull()
  })

  test('of the two that send what HR changes makes up for the other no more', async () => {
    await database.pool.query(
      `insert into dirsync.job_schedule (job, expression, next_due_at, interval_seconds)
       values ('sync-changes', '* * * * *', now(), 60), ('full-resync', '0 2 * * *', now(), null)`,
    )
    const stops = CATALOGUES.en['schedules.pause.stops']
    expect(await commands.pauseSchedule('sync-changes', 'its setting has the other off')).toBe(stops)
    await database.pool.query('update dirsync.job_schedule set interval_seconds = 86400')
    expect(await commands.pauseSchedule('full-resync', 'the other is paused')).toBe(stops)
    const both = await listSchedules(database.pool)
    expect(both.map(({ pause_effect }) => pause_effect)).toEqual(['stops', 'stops'])
  })
})

describe('a job that is run now', () => {
  test('runs once, at once, whichever scheduler takes it, and is written down', async () => {
    let runs = 0
    const run = async () => {
      runs += 1
    }
    await Promise.all([1, 2, 3].map(() => scheduler(YEARLY, run)))
    const at = await commands.runSchedule('a-job')
    const { ticks, run_requested_at } = await scheduleWhere(({ ticks }) => Boolean(ticks[0]?.finished_at))
    expect(run_requested_at).toBeNull()
    expect(ticks).toMatchObject([{ due_at: at, error: null, skipped: null, missed: false }])
    expect(ticks[0]?.requested_by).toContain('test:operator')
    expect(runs).toBe(1)
    const { rows } = await database.pool.query('select name, arguments from dirsync.command where id > $1', [
      before,
    ])
    expect(rows).toEqual([{ name: 'run_schedule', arguments: { job: 'a-job' } }])
  })

  test('is never both asked for and done: its schedule is of one moment', async () => {
    const { pool } = database
    await pool.query(
      `insert into dirsync.job_schedule (job, expression, next_due_at, run_requested_at) values ('a-job', '0 2 * * *', now(), now())`,
    )
    const client = await pool.connect()
    try {
      await client.query('begin; lock table dirsync.job_tick')
      const listed = theSchedule()
      await expect.poll(async () => (await pool.query(WAITING_FOR_A_LOCK)).rowCount).toBeGreaterThan(0)
      await client.query(
        `insert into dirsync.job_tick (job, due_at, claimed_by, finished_at)
         select job, run_requested_at, gen_random_uuid(), now() from dirsync.job_schedule;
         update dirsync.job_schedule set run_requested_at = null;
         commit`,
      )
      expect(await listed).toMatchObject({
        run_requested_at: null,
        ticks: [{ finished_at: expect.any(Date) }],
      })
    } finally {
      client.release(true)
    }
  })

  test('runs although it is paused, and one after the other where asked for while it goes on', async () => {
    const ends: (() => void)[] = []
    const begun = Promise.withResolvers<void>()
    await scheduler(YEARLY, () => {
      begun.resolve()
      return new Promise(resolve => ends.push(resolve))
    })
    await commands.pauseSchedule('a-job', 'why')
    const first = await commands.runSchedule('a-job')
    await begun.promise
    const second = await commands.runSchedule('a-job')
    // Asked for twice before it began: once.
    expect(await commands.runSchedule('a-job')).toEqual(second)
    expect(ends.length).toBe(1)
    ends[0]?.()
    await scheduleWhere(() => ends.length === 2)
    ends[1]?.()
    const { ticks } = await scheduleWhere(({ ticks }) => ticks.every(tick => tick.finished_at))
    expect(ticks.map(tick => tick.due_at)).toEqual([second, first])
  })

  test('waits for a scheduler where none is alive', async () => {
    const earlier = await scheduler(YEARLY, () => Promise.reject(new Error('must not run')))
    await earlier.stop()
    await commands.runSchedule('a-job')
    expect(await theSchedule()).toMatchObject({ run_requested_at: expect.any(Date), ticks: [] })
    await scheduler(YEARLY, async () => undefined)
    const { ticks } = await scheduleWhere(({ ticks }) => Boolean(ticks[0]?.finished_at))
    expect(ticks).toMatchObject([{ error: null }])
  })
})

test('a tick tells which run it requested, or found under way, while there is that run', async () => {
  await scheduler(YEARLY, () => requestScheduledRun(database.pool, 'full', 'cron', SILENT))
  const tick = async () => {
    const at = await commands.runSchedule('a-job')
    const { ticks } = await scheduleWhere(({ ticks: [latest] }) =>
      Boolean(latest?.finished_at && latest.due_at.getTime() === at.getTime()),
    )
    return ticks.map(({ runs }) => runs)
  }
  const [[run = 0] = []] = await tick()
  expect(run).toBeGreaterThan(0)
  expect(await tick()).toEqual([[run], [run]])
  await database.pool.query('delete from dirsync.sync_run where id = $1', [run])
  expect((await theSchedule()).ticks.map(({ runs }) => runs)).toEqual([[], []])
})

test('schedules are told in plain words of both languages, the next one first', async () => {
  await database.pool.query(
    `insert into dirsync.job_schedule (job, expression, next_due_at, interval_seconds)
     values ('full-resync', '0 2 * * *', now() + interval '1 hour', 86400), ('retry-due', '*/10 * * * * *', now(), 10),
            ('gone', 'nothing that cron knows', now() - interval '2 hours', 60)`,
  )
  await database.pool.query(
    `insert into dirsync.job_tick (job, due_at, claimed_by, claimed_at)
     select 'retry-due', now() - n * interval '10 seconds', gen_random_uuid(),
            now() - n * interval '10 seconds' + case when n = 12 then interval '5 minutes' else '0' end
     from generate_series(3, 14) n`,
  )
  const [gone, retry, full] = await listSchedules(database.pool)
  expect(gone).toMatchObject({ job: 'gone', overdue: true, words: { en: 'nothing that cron knows' } })
  expect(retry).toMatchObject({
    overdue: false,
    pause_effect: 'stalls',
    words: { en: 'Every 10 seconds', 'zh-CN': '每隔 10 秒' },
  })
  expect(retry?.ticks.length).toBe(10)
  expect(retry?.ticks.map(tick => tick.missed)).toEqual([3, 4, 5, 6, 7, 8, 9, 10, 11, 12].map(n => n === 12))
  expect(full?.words.en).toBe('At 02:00')
  expect(full?.words['zh-CN']).toContain('02:00')
})

test('a schedule with a day of the month and a day of the week needs both, and is told so', async () => {
  const firstMonday = '0 2 1-7 * 1'
  const task = cron.createTask(firstMonday, () => {})
  onTestFinished(() => task.destroy())
  const [due] = task.getNextRuns(1)
  expect([due?.getDay(), Math.ceil((due?.getDate() ?? 0) / 7)]).toEqual([1, 1])
  await database.pool.query(
    `insert into dirsync.job_schedule (job, expression, next_due_at) values ('prune', $1, now())`,
    [firstMonday],
  )
  const { words } = await theSchedule()
  expect(words.en).toBe('At 02:00, between day 1 and 7 of the month, only on Monday')
  expect(words['zh-CN']).toMatch(/仅星期一$/)
})
