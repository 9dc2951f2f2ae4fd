import { EventEmitter, once } from 'node:events'
import cron from 'node-cron'
import type { PoolClient } from 'pg'
import { type DestinationStream, pino } from 'pino'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { CRON_JOBS, type CronJob, type JobContext } from '../../jobs/index.ts'
import { type CronScheduler, scheduledJobs } from '../../jobs/scheduler.ts'
import { ConfigError } from '../../src/config.ts'
import { onlyRow } from '../../src/lib/database.ts'
import { deregister } from '../../src/sync/processes/process.ts'
import { duringFile } from '../helpers/during.ts'
import { createTestDatabase } from '../helpers/postgres.ts'
import { WAITING_FOR_A_LOCK } from '../sync/store-under-test.ts'
import { LivingScheduler } from './living-scheduler.ts'

const EVERY_SECOND = '* * * * * *'
/** Due once a year: not while a test runs. */
const YEARLY = '0 0 29 6 *'

function job(differs: Partial<CronJob> = {}): CronJob {
  return { name: 'a-job', does: 'is scheduled', schedule: YEARLY, run: async () => {}, ...differs }
}

describe('the schedule', () => {
  test('is each job’s own, unless a setting says otherwise', () => {
    const scheduled = scheduledJobs({ 'sync-changes': '*/2 * * * *', prune: 'OFF' })
    expect(scheduled.map(({ job }) => job.name)).toEqual(
      CRON_JOBS.map(({ name }) => name).filter(name => name !== 'prune'),
    )
    for (const { job, expression } of scheduled)
      expect(expression).toBe(job.name === 'sync-changes' ? '*/2 * * * *' : job.schedule)
  })

  test('has every job, with a default that is right', () => {
    expect(scheduledJobs({}).map(({ job }) => job.name)).toEqual([
      'sync-changes',
      'full-resync',
      'departments',
      'openids',
      'mirror-orders',
      'mirror-accounts',
      'mirror-taxpayers',
      'retry-due',
      'sweep',
      'history',
      'prune',
    ])
    for (const { does } of CRON_JOBS) expect(does).not.toBe('')
  })

  test.each(['every day', '* * *', '61 * * * *', '0 0 32 1 *', '* * * * * * *', '@never'])(
    'refuses the expression %j, saying what it should be',
    expression => {
      const refused = () => scheduledJobs({ 'full-resync': expression })
      expect(refused).toThrow(ConfigError)
      expect(refused).toThrow(
        `SCHEDULE_FULL_RESYNC holds ${JSON.stringify(expression)} but should be a cron expression such as "0 2 * * *", or off`,
      )
    },
  )

  test('refuses to leave out the job without which what the queue loses is never sent', () => {
    const refused = () => scheduledJobs({ sweep: 'off' })
    expect(refused).toThrow(ConfigError)
    expect(refused).toThrow(
      'SCHEDULE_SWEEP holds "off" but sweep cannot be paused: what the queue loses would never be sent',
    )
  })

  test('refuses a setting that names no job, and names those there are', () => {
    const refused = () => scheduledJobs({ 'sync-change': EVERY_SECOND })
    expect(refused).toThrow(ConfigError)
    expect(refused).toThrow(/^SCHEDULE_SYNC_CHANGE names no cron job: there are SCHEDULE_SYNC_CHANGES, /)
  })
})

interface Tick {
  job: string
  due_at: Date
  claimed_by: string
  finished_at: Date | null
  error: string | null
}

const database = duringFile(() => createTestDatabase({ migrated: true }))
let changes: EventEmitter
let listener: PoolClient

beforeAll(async () => {
  await database.pool.query(`
    create function told() returns trigger language plpgsql as $$ begin notify tick; return null; end $$;
    create trigger told after insert or update on dirsync.job_tick for each statement execute function told()`)
  listener = await database.pool.connect()
  changes = new EventEmitter()
  listener.on('notification', () => changes.emit('tick'))
  listener.on('error', () => {}) // the database is dropped
  await listener.query('listen tick')
})

afterAll(async () => {
  listener.release(true)
})

beforeEach(async () => {
  await database.pool.query('truncate dirsync.job_tick, dirsync.job_schedule')
})

async function ticks(): Promise<Tick[]> {
  return (await database.pool.query<Tick>('select * from dirsync.job_tick order by due_at')).rows
}

/** Resolves with the ticks that have ended once there are so many. */
async function finished(count: number): Promise<Tick[]> {
  for (;;) {
    const changed = once(changes, 'tick')
    const done = (await ticks()).filter(tick => tick.finished_at !== null)
    if (done.length >= count) return done
    await changed
  }
}

async function nextDue(): Promise<{ expression: string; next_due_at: Date } | undefined> {
  return (await database.pool.query('select expression, next_due_at from dirsync.job_schedule')).rows[0]
}

/** Leaves behind what a scheduler of an earlier day would have. */
async function due(expression: string, at: string): Promise<void> {
  await database.pool.query(
    `insert into dirsync.job_schedule (job, expression, next_due_at, interval_seconds, in_force_since)
     values ('a-job', $1, $2, 86400, '2021-01-01')`,
    [expression, at],
  )
}

/** A scheduler as a process of its own would have it; stopped with the test. Without a job, that is switched off. */
function scheduler(scheduled: CronJob | null, log?: DestinationStream): LivingScheduler {
  const created = new LivingScheduler({
    pool: database.pool,
    jobs: scheduled ? [{ job: scheduled, expression: scheduled.schedule }] : [],
    recordsOthersAsOff: true,
    context: { pool: database.pool } as JobContext,
    processId: crypto.randomUUID(),
    logger: log ? pino({ level: 'debug' }, log) : pino({ level: 'silent' }),
  })
  onTestFinished(() => created.stop())
  return created
}

test('a tick runs once, however many schedulers there are', async () => {
  let runs = 0
  const run = async () => {
    runs += 1
  }
  const schedulers = [1, 2, 3].map(() => scheduler(job({ schedule: EVERY_SECOND, run })))
  await Promise.all(schedulers.map(each => each.start()))
  await finished(3)
  await Promise.all(schedulers.map(each => each.stop()))
  const done = await ticks()
  expect(runs).toBe(done.length)
  expect(done.map(tick => tick.due_at.getMilliseconds())).toEqual(done.map(() => 0))
  expect((await nextDue())?.next_due_at.getTime()).toBeGreaterThan(done.at(-1)?.due_at.getTime() ?? 0)
})

test('a job that fails says so in its tick, and its next tick runs', async () => {
  const failures: ((() => Promise<void>) | undefined)[] = [
    () => Promise.reject(new Error('HR is away')),
    () => {
      throw new Error('thrown at once')
    },
  ]
  const failing = scheduler(job({ schedule: EVERY_SECOND, run: async () => failures.shift()?.() }))
  await failing.start()
  const done = await finished(3)
  expect(done.slice(0, 3).map(tick => tick.error)).toEqual(['HR is away', 'thrown at once', null])
})

test('a job that fails in the same way at every tick is told of once in the log', async () => {
  const lines: { level: number; error?: object }[] = []
  const log = {
    write(line: string) {
      lines.push(JSON.parse(line))
    },
  }
  const run = async () => {
    throw new Error('Redis is away')
  }
  await scheduler(job({ schedule: EVERY_SECOND, run }), log).start()
  await finished(3)
  const told = lines.filter(({ level }) => level === 50)
  expect(told).toMatchObject([{ job: 'a-job', error: 'Redis is away' }])
})

describe('a tick that was missed while everything was down', () => {
  test('runs once on start, for schedulers that start at the same moment too', async () => {
    await due(YEARLY, '2021-06-29T00:00:00Z')
    let runs = 0
    const missed = job({
      run: async () => {
        runs += 1
      },
    })
    const schedulers = [1, 2, 3].map(() => scheduler(missed))
    await Promise.all(schedulers.map(each => each.start()))
    await Promise.all(schedulers.map(each => each.stop()))
    expect(runs).toBe(1)
    expect(await ticks()).toMatchObject([
      { job: 'a-job', due_at: new Date('2021-06-29T00:00:00Z'), error: null },
    ])

    const later = scheduler(missed)
    await later.start()
    await later.stop()
    expect(runs).toBe(1)
  })

  test('is void once the expression has changed', async () => {
    await due('0 3 * * *', '2021-06-29T03:00:00Z')
    const changed = scheduler(job({ run: () => Promise.reject(new Error('must not run')) }))
    await changed.start()
    await changed.stop()
    expect(await ticks()).toEqual([])
    const next = await nextDue()
    expect(next?.expression).toBe(YEARLY)
    expect(next?.next_due_at.getTime()).toBeGreaterThan(Date.now())
  })

  test('is void where the job was off meanwhile', async () => {
    await due(YEARLY, '2021-06-29T00:00:00Z')
    const off = scheduler(null)
    await off.start()
    await off.stop()
    const on = scheduler(job({ run: () => Promise.reject(new Error('must not run')) }))
    await on.start()
    await on.stop()
    expect(await ticks()).toEqual([])
  })

  test('is void where the job was paused then, and was resumed before the start', async () => {
    await due(YEARLY, '2021-06-29T00:00:00Z')
    await database.pool.query(
      `select dirsync.pause_schedule('a-job', 'why'); select dirsync.resume_schedule('a-job')`,
    )
    const resumed = scheduler(job({ run: () => Promise.reject(new Error('must not run')) }))
    await resumed.start()
    await resumed.stop()
    expect(await ticks()).toEqual([])
  })

  test('is not noticed before it is due, nor on the first start ever', async () => {
    const early = scheduler(job({ run: () => Promise.reject(new Error('must not run')) }))
    await early.start()
    await early.stop()
    await early.start()
    await early.stop()
    expect(await ticks()).toEqual([])
  })
})

describe('while schedulers are replaced one after the other, what an earlier one still runs', () => {
  /** The schedule once the earlier one has run a tick and stopped. */
  async function afterwards(earlier: CronScheduler): Promise<Record<string, unknown> | undefined> {
    await finished((await ticks()).length + 1)
    await earlier.stop()
    const { rows } = await database.pool.query('select * from dirsync.job_schedule')
    return rows[0]
  }

  test('does not switch a job on again', async () => {
    const earlier = scheduler(job({ schedule: EVERY_SECOND }))
    await earlier.start()
    await scheduler(null).start()
    expect(await afterwards(earlier)).toMatchObject({ interval_seconds: null })
  })

  test('does not bring its expression back', async () => {
    const earlier = scheduler(job({ schedule: EVERY_SECOND }))
    await earlier.start()
    await scheduler(job()).start()
    const before = await nextDue()
    expect(before?.expression).toBe(YEARLY)
    expect(await afterwards(earlier)).toMatchObject({ ...before, interval_seconds: expect.any(Number) })
  })

  test('does not bring its expression back as long as any later one lives', async () => {
    const earlier = scheduler(job({ schedule: EVERY_SECOND }))
    await earlier.start()
    const [later, latest] = [scheduler(job()), scheduler(job())]
    await later.start()
    await latest.start()
    await latest.leave()
    expect(await afterwards(earlier)).toMatchObject({ expression: YEARLY })
  })

  test.each([
    ['on, where the later one had it off', job(), null],
    ['off, where the later one had it on', null, job()],
    ['at its times, where the later one had others', job(), job({ schedule: '0 3 * * *' })],
  ])('is %s, once that one is gone', async (_, its, others) => {
    const schedule = async () => {
      const { rows } = await database.pool.query(
        'select expression, interval_seconds from dirsync.job_schedule',
      )
      return rows[0]
    }
    const gone = scheduler(job())
    await gone.start()
    await gone.leave()
    await scheduler(its).start()
    const before = await schedule()
    const later = scheduler(others)
    await later.start()
    expect(await schedule()).not.toEqual(before)
    await later.leave()
    await expect.poll(schedule).toEqual(before)
  })
})

describe('a tick whose process died before it ended', () => {
  /** Left behind by a process that was last heard of a while ago. */
  async function begun(times: number, secondsAgo: number): Promise<string> {
    await due(YEARLY, '2099-06-29T00:00:00Z')
    const { rows } = await database.pool.query<{ claimed_by: string }>(
      `with died as (
         insert into dirsync.process (id, host, pid, roles, version, heartbeat_at)
         values (gen_random_uuid(), 'a', 1, '{scheduler}', '1', now() - $2 * interval '1 second') returning id)
       insert into dirsync.job_tick (job, due_at, claimed_by, begun)
       select 'a-job', '2021-06-29T00:00:00Z', id, $1 from died returning claimed_by`,
      [times, secondsAgo],
    )
    return onlyRow(rows).claimed_by
  }

  test('is run by one other process', async () => {
    await begun(1, 60)
    let runs = 0
    const run = async () => {
      runs += 1
    }
    await Promise.all([1, 2].map(() => scheduler(job({ run })).start()))
    expect(await finished(1)).toMatchObject([{ due_at: new Date('2021-06-29T00:00:00Z'), begun: 2 }])
    expect(runs).toBe(1)
  })

  test('is left to the process that took it over at the same moment', async () => {
    await begun(1, 60)
    const other = await database.pool.connect()
    await other.query(
      `begin;
       with living as (
         insert into dirsync.process (id, host, pid, roles, version)
         values (gen_random_uuid(), 'b', 1, '{scheduler}', '1') returning id)
       update dirsync.job_tick set claimed_by = id, begun = 2 from living`,
    )
    const late = scheduler(job({ run: () => Promise.reject(new Error('must not run')) }))
    const started = late.start()
    await expect.poll(async () => (await database.pool.query(WAITING_FOR_A_LOCK)).rowCount).toBeGreaterThan(0)
    await other.query('commit')
    other.release()
    await started
    await late.stop()
    expect(await ticks()).toMatchObject([{ begun: 2 }])
  })

  test('is run where that process had stopped in order, and left it behind', async () => {
    await deregister(database.pool, await begun(1, 0))
    await scheduler(job({ run: async () => {} })).start()
    expect(await finished(1)).toMatchObject([{ due_at: new Date('2021-06-29T00:00:00Z'), begun: 2 }])
  })

  test('is skipped where the job is paused', async () => {
    await begun(1, 60)
    await database.pool.query(`select dirsync.pause_schedule('a-job', 'why')`)
    await scheduler(job({ run: () => Promise.reject(new Error('must not run')) })).start()
    expect(await finished(1)).toMatchObject([{ error: null, skipped: expect.stringContaining('why') }])
  })

  test.each([
    [
      'was paused, and was resumed before the start',
      `select dirsync.pause_schedule('a-job', 'why'), dirsync.resume_schedule('a-job')`,
      job(),
    ],
    ['has another expression', 'select', job({ schedule: '0 3 * * *' })],
    ['is off', 'select', null],
    [
      'is off, also if a person had asked for it',
      `update dirsync.job_tick set requested_by = 'a person'`,
      null,
    ],
    [
      'was paused, also if it has killed three',
      `update dirsync.job_tick set begun = 3; select dirsync.pause_schedule('a-job', 'why')`,
      job(),
    ],
  ])('is skipped where the job %s', async (_, meanwhile, then) => {
    await begun(1, 60)
    await database.pool.query(meanwhile)
    const run = () => Promise.reject(new Error('must not run'))
    await scheduler(then && { ...then, run }).start()
    expect(await finished(1)).toMatchObject([{ error: null, skipped: expect.any(String) }])
  })

  test('is run where a person had asked for it, although the job is paused', async () => {
    await begun(1, 60)
    await database.pool.query(
      `update dirsync.job_tick set requested_by = 'a person'; select dirsync.pause_schedule('a-job', 'why')`,
    )
    await scheduler(job()).start()
    expect(await finished(1)).toMatchObject([{ begun: 2, skipped: null }])
  })

  test.each([
    ['one that has killed three', 3, 60, []],
    ['one whose process lives', 1, 0, []],
    ['one that has been made up for', 1, 60, ['2022-06-29T00:00:00Z']],
  ])('is left alone: %s', async (_, times, secondsAgo, later) => {
    await begun(times, secondsAgo)
    await database.pool.query(
      `insert into dirsync.job_tick (job, due_at, claimed_by, finished_at)
       select 'a-job', due, gen_random_uuid(), now() from unnest($1::timestamptz[]) due`,
      [later],
    )
    const lines: string[] = []
    const log = { write: (line: string) => void lines.push(line) }
    const started = scheduler(job({ run: () => Promise.reject(new Error('must not run')) }), log)
    await started.start()
    await started.stop()
    expect((await ticks()).map(({ error }) => error)).toEqual([null, ...later.map(() => null)])
    expect(lines.join('')).not.toContain('error')
  })
})

test('a process that slept when a tick was due runs it late', async () => {
  let at: Date
  let late: CronScheduler
  // On a busy machine a start may take long; the tick must be due after it.
  for (;;) {
    at = new Date((Math.floor(Date.now() / 1000) + 2) * 1000)
    late = scheduler(job({ schedule: `${at.getSeconds()} * * * * *` }))
    await late.start()
    if (Date.now() < at.getTime()) break
    await late.stop()
    await database.pool.query('truncate dirsync.job_tick, dirsync.job_schedule')
  }
  const asleep = new Int32Array(new SharedArrayBuffer(4))
  Atomics.wait(asleep, 0, 0, at.getTime() + 2100 - Date.now())
  expect(await finished(1)).toMatchObject([{ due_at: at, error: null }])
})

describe('a clock that is set', () => {
  const HOUR = 3_600_000
  const Real = Date

  /** From now on this process's clock is ahead by so much. */
  function setAhead(ms: number): void {
    globalThis.Date = class extends Real {
      constructor(...given: [] | [string | number | Date]) {
        super(...((given.length === 0 ? [Real.now() + ms] : given) as [number]))
      }
      static override now(): number {
        return Real.now() + ms
      }
    } as DateConstructor
  }
  afterEach(() => {
    globalThis.Date = Real
  })

  /** Ticks that ran when they were due, by the right time. Those that are planted ended before they were due. */
  const present = async () =>
    (await ticks()).filter(
      ({ due_at, finished_at }) =>
        finished_at !== null && finished_at > due_at && due_at.getTime() <= Date.now(),
    )

  test('far ahead, delays no job: the times between are not gone through one by one', async () => {
    const running = scheduler(job({ schedule: EVERY_SECOND }))
    await running.start()
    await finished(1)
    setAhead(400 * 24 * HOUR)
    while ((await ticks()).filter(({ due_at }) => due_at.getTime() > Real.now() + HOUR).length < 2)
      await once(changes, 'tick')
  })

  test('back, stops no job: its ticks go on by the new time', async () => {
    setAhead(HOUR)
    const running = scheduler(job({ schedule: EVERY_SECOND }))
    await running.start()
    await finished(2)
    // As if they had run in the coming minutes, before the clock was put back.
    await database.pool.query(
      `insert into dirsync.job_tick (job, due_at, claimed_by, finished_at)
       select 'a-job', date_trunc('second', now()) + i * interval '1 second', gen_random_uuid(), now()
       from generate_series(2, 1800) i`,
    )
    setAhead(0)
    while ((await present()).length < 2) await once(changes, 'tick')
    expect((await ticks()).filter(({ due_at }) => due_at.getTime() > Date.now() + 2000)).toEqual([])
  })

  test('back by an hour, as clocks on walls are when summer ends, leaves out none of that hour', async () => {
    const { TZ } = process.env
    onTestFinished(() => {
      if (TZ === undefined) delete process.env.TZ
      else process.env.TZ = TZ
    })
    process.env.TZ = 'America/New_York'
    const second = Date.parse('2026-11-01T06:00:01Z')
    expect(new Date(second).getTimezoneOffset()).toBe(300)
    setAhead(second - Real.now())
    await scheduler(job({ schedule: '*/3 * * * * *' })).start()
    const { rows } = await database.pool.query<{ next: Date }>(
      'select next_due_at as next from dirsync.job_schedule',
    )
    expect(rows[0]?.next.getTime()).toBeLessThan(second + 60_000)
  })

  test('back while the database is away, stops none once it is there again', async () => {
    const lines = new EventEmitter()
    setAhead(HOUR)
    const running = scheduler(job({ schedule: EVERY_SECOND }), {
      write: (line: string) => void lines.emit(JSON.parse(line).msg),
    })
    await running.start()
    await finished(2)
    await database.pool.query('alter table dirsync.job_schedule rename to gone')
    try {
      setAhead(0)
      await once(lines, 'not all scheduled anew')
    } finally {
      await database.pool.query('alter table dirsync.gone rename to job_schedule')
    }
    while ((await present()).length < 2) await once(changes, 'tick')
  })

  test('back before a start, stops none either', async () => {
    await database.pool.query(
      `insert into dirsync.job_tick (job, due_at, claimed_by, finished_at)
       select 'a-job', date_trunc('second', now()) + i * interval '1 second', gen_random_uuid(), now()
       from generate_series(120, 1800) i`,
    )
    const started = scheduler(job({ schedule: YEARLY }))
    await started.start()
    expect(await ticks()).toEqual([])
  })
})

test('stop waits for the tick in hand, and nothing comes after it', async () => {
  const [begun, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const story: string[] = []
  const long = scheduler(
    job({
      schedule: EVERY_SECOND,
      run: async () => {
        begun.resolve()
        await end.promise
        story.push('ended')
      },
    }),
  )
  await long.start()
  await begun.promise
  const stopped = long.stop().then(() => story.push('stopped'))
  await ticks()
  end.resolve()
  await stopped
  expect(story).toEqual(['ended', 'stopped'])
  expect(await ticks()).toMatchObject([{ finished_at: expect.any(Date) }])
  await long.stop()
})

test('a tick that cannot be written is not run, and the next one is', async () => {
  const lines = new EventEmitter()
  const log = { write: (line: string) => void lines.emit(JSON.parse(line).msg) }
  let runs = 0
  const patient = scheduler(
    job({
      schedule: EVERY_SECOND,
      run: async () => {
        runs += 1
      },
    }),
    log,
  )
  await patient.start()
  await database.pool.query('alter table dirsync.job_tick rename to gone')
  await once(lines, 'tick not run')
  await database.pool.query('alter table dirsync.gone rename to job_tick')
  const before = runs
  await finished(before + 1)
  expect(runs).toBeGreaterThan(before)
})

test('a daily tick that cannot be written when it is due runs once the database is there again', async () => {
  const lines = new EventEmitter()
  const log = { write: (line: string) => void lines.emit(JSON.parse(line).msg) }
  await database.pool.query(`
    create function away() returns trigger language plpgsql as $$ begin raise exception 'away'; end $$;
    create trigger away before insert on dirsync.job_tick execute function away()`)
  let due: Date
  // On a busy machine a start may take long; the tick must be due after it.
  for (;;) {
    due = new Date((Math.floor(Date.now() / 1000) + 2) * 1000)
    const daily = `${due.getSeconds()} ${due.getMinutes()} ${due.getHours()} * * *`
    const schedulers = [1, 2].map(() => scheduler(job({ schedule: daily }), log))
    const missed = once(lines, 'tick not run')
    await Promise.all(schedulers.map(each => each.start()))
    if (Date.now() < due.getTime()) {
      await missed
      break
    }
    await Promise.all(schedulers.map(each => each.stop()))
  }
  await database.pool.query('drop function away() cascade')
  expect(await finished(1)).toMatchObject([{ due_at: due, error: null }])
})

test('a start that fails leaves nothing scheduled', async () => {
  await database.pool.query('alter table dirsync.job_schedule rename to gone')
  try {
    const failing = scheduler(job({ schedule: EVERY_SECOND }))
    await expect(failing.start()).rejects.toThrow('job_schedule')
    expect(cron.getTasks().size).toBe(0)
  } finally {
    await database.pool.query('alter table dirsync.gone rename to job_schedule')
  }
})
