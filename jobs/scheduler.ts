import cron, { type ScheduledTask } from 'node-cron'
import { ConfigError } from '../src/config.ts'
import { type ClientBase, LOOK_MS, type Pool, transaction } from '../src/lib/database.ts'
import type { Logger } from '../src/lib/logger.ts'
import { Loop } from '../src/lib/loop.ts'
import { ownZone } from '../src/lib/time-text.ts'
import { ALIVE } from '../src/sync/processes/process.ts'
import { MIRRORS, type Mirror } from '../src/sync/runs/mirror-kind.ts'
import { type Message, message } from '../src/texts/message.ts'
import { CRON_JOBS, type CronJob, type JobContext } from './index.ts'
import { longestInterval } from './interval.ts'

/** How often to log a job that fails at every tick in the same way. */
const TELL_AGAIN_MS = 600_000

/** A job with the expression in force. */
interface ScheduledJob {
  job: CronJob
  expression: string
}

/**
 * The schedule of every job: its default, or `SCHEDULE_<JOB>`; `off` leaves it out, as does a mirror that is not switched on.
 * @throws ConfigError for a wrong expression, `off` for a job that is needed, or a setting that names no job
 */
export function scheduledJobs(
  schedules: Record<string, string>,
  mirrors: readonly Mirror[] = MIRRORS,
): ScheduledJob[] {
  for (const name of Object.keys(schedules))
    if (!CRON_JOBS.some(job => job.name === name))
      throw new ConfigError([
        message('said.wanted_cron_job', {
          name: settingName(name),
          names: CRON_JOBS.map(job => settingName(job.name)),
        }),
      ])
  return CRON_JOBS.flatMap(job => {
    const expression = schedules[job.name] ?? job.schedule
    const refused = (wanted: Message) => {
      const held = JSON.stringify(expression)
      return new ConfigError([message('said.setting_holds', { name: settingName(job.name), held, wanted })])
    }
    if (expression.toLowerCase() === 'off') {
      if (job.isNeeded) throw refused(message('said.never_paused', { job: job.name }))
      return []
    }
    if (!cron.validate(expression))
      throw refused(message('said.wanted_cron', { example: JSON.stringify(job.schedule) }))
    const isOff = MIRRORS.some(mirror => mirror === job.kind && !mirrors.includes(mirror))
    return isOff ? [] : [{ job, expression }]
  })
}

export function settingName(job: string): string {
  return `SCHEDULE_${job.toUpperCase().replaceAll('-', '_')}`
}

/** A job that is scheduled. */
interface Task {
  /** Of the library, which only tells the times. */
  task: ScheduledTask
  /** Seconds; see `longestInterval`. */
  interval: number
  stop(): Promise<void>
}

interface SchedulerOptions {
  pool: Pool
  jobs: ScheduledJob[]
  /** Whether cron jobs that are not among these are recorded as switched off; false with --once, where the sweep alone runs. */
  recordsOthersAsOff: boolean
  context: JobContext
  processId: string
  logger: Logger
}

/** How often to look at the clock, which may be set meanwhile. */
const CLOCK_MS = 1000
/** A starting process deletes ticks that lie further in the future; clocks that differ by less are tolerated. */
const TOLERATED_AHEAD = '1 minute'

/** Most processes that begin a tick, one after the death of another: what kills them is not to kill every one. */
const MOST_BEGUN = 3

/**
 * Runs cron jobs. However many processes do so, a tick runs once, in the one that writes its row first; another one begins it
 * again only where that one has died of it or meanwhile.
 */
export class CronScheduler {
  readonly #options: SchedulerOptions
  readonly #tasks = new Map<CronJob, Task>()
  readonly #running = new Set<Promise<unknown>>()
  /** Jobs that run here outside their times: a person asked for them, or their process died. */
  readonly #besides = new Set<string>()
  /** The last logged error of each job. */
  readonly #told = new Map<string, { error: string; at: number }>()
  #watch: NodeJS.Timeout | undefined
  #rescheduling: Promise<void> = Promise.resolve()
  #claiming: Loop | undefined

  constructor(options: SchedulerOptions) {
    this.#options = options
  }

  /**
   * Schedules all jobs, and first runs once each job that missed a tick while every scheduler was down. If it fails, nothing stays
   * scheduled.
   */
  async start(): Promise<void> {
    const { pool, jobs, recordsOthersAsOff } = this.#options
    try {
      await forgetTicks(pool, jobs, TOLERATED_AHEAD)
      for (const scheduled of jobs) await this.#schedule(scheduled)
      if (recordsOthersAsOff) await rememberOff(pool, jobs)
    } catch (error) {
      await this.stop()
      throw error
    }
    this.#watchClock()
    this.#claiming = new Loop({
      step: async () => {
        await this.#storeAgain()
        await this.#runBesides()
      },
      pauseMs: CLOCK_MS,
      failed: error => this.#options.logger.debug({ error }, 'could not check for requests of cron jobs'),
    })
    this.#claiming.start()
  }

  /**
   * After the clock is put back, the same times come again: without this, neither the times that jobs wait for nor the rows of past
   * ticks would let a job run until those times have passed.
   */
  #watchClock(): void {
    const { logger } = this.#options
    let clockOffset = Date.now() - performance.now()
    let isScheduled = true
    let isAtIt = false
    this.#watch = setInterval(() => {
      const before = clockOffset
      clockOffset = Date.now() - performance.now()
      if (clockOffset <= before - CLOCK_MS) {
        logger.warn('the clock was put back: cron jobs are rescheduled')
        isScheduled = false
      }
      if (isScheduled || isAtIt) return
      isAtIt = true
      isScheduled = true
      this.#rescheduling = this.#scheduleAnew()
        .catch((error: Error) => {
          // The database is away: the next look tries again.
          isScheduled = false
          logger.debug({ error }, 'not all scheduled anew')
        })
        .finally(() => {
          isAtIt = false
        })
    }, CLOCK_MS)
  }

  async #scheduleAnew(): Promise<void> {
    const { pool, jobs } = this.#options
    for (const { stop } of this.#tasks.values()) await stop()
    const scheduled = await Promise.allSettled(jobs.map(job => this.#schedule(job)))
    await forgetTicks(pool, jobs, '0')
    for (const result of scheduled) if (result.status === 'rejected') throw result.reason
  }

  /** Checks whether a person has requested to run a job at once (`dirsync.run_schedule`). */
  wake(): void {
    this.#claiming?.wake()
  }

  /** Stops scheduling and waits for the ticks in progress. */
  async stop(): Promise<void> {
    clearInterval(this.#watch)
    await this.#rescheduling
    for (const { stop } of this.#tasks.values()) await stop()
    this.#tasks.clear()
    await this.#claiming?.stop()
    await Promise.all(this.#running)
  }

  async #schedule(scheduled: ScheduledJob): Promise<void> {
    const { pool, logger } = this.#options
    const { job, expression } = scheduled
    const missed = await missedTick(pool, scheduled)
    if (missed) {
      logger.info({ job: job.name, dueAt: missed }, 'a tick was missed while nothing ran: running it now')
      this.#start(scheduled, missed)
    }
    const task = timesOf(expression)
    const timed = {
      task,
      interval: longestInterval(expression, new Date()),
      stop: atEachTime(task, dueAt => this.#start(scheduled, dueAt)),
    }
    this.#tasks.set(job, timed)
    await rememberSchedule(pool, scheduled, timed)
  }

  #start(scheduled: ScheduledJob, dueAt: Date): Promise<boolean> {
    const tick = this.#tick(scheduled, dueAt).finally(() => this.#running.delete(tick))
    this.#running.add(tick)
    return tick
  }

  /** @returns false if the tick is to be tried again */
  async #tick(scheduled: ScheduledJob, dueAt: Date): Promise<boolean> {
    const { pool, processId, logger } = this.#options
    const { job } = scheduled
    // Processes see the same tick milliseconds apart; the second it was due is the same for all.
    const due = new Date(Math.floor(dueAt.getTime() / 1000) * 1000)
    let claimed: Awaited<ReturnType<typeof claimTick>>
    try {
      claimed = await transaction(
        pool,
        async db => {
          const state = await claimTick(db, job.name, due, processId)
          const task = this.#tasks.get(job)
          if (task && state !== 'taken') await rememberNext(db, scheduled, task)
          return state
        },
        LOOK_MS,
      )
    } catch (error) {
      // The database is away: the coordinator reports that once.
      logger.debug({ job: job.name, error }, 'tick not run')
      return false
    }
    if (claimed === 'paused') logger.debug({ job: job.name }, 'tick skipped: the cron job is paused')
    if (claimed === 'claimed')
      await this.#run(job, due).catch((error: Error) =>
        logger.debug({ job: job.name, error }, 'could not record the end of a cron job'),
      )
    return true
  }

  /** Runs a job whose tick was claimed. */
  async #run(job: CronJob, due: Date): Promise<void> {
    const { pool, logger, context } = this.#options
    const { runs, error } = await outcomeOf(() => job.run(context))
    if (error && this.#isNews(job.name, error))
      logger.error({ job: job.name, error }, 'cron job failed; its next tick tries again')
    if (!error) this.#told.delete(job.name)
    await finishTick(pool, job.name, due, runs, error)
  }

  /** Whether an error differs from the last logged one of this job, or that was long ago. */
  #isNews(job: string, error: string): boolean {
    const told = this.#told.get(job)
    if (told?.error === error && Date.now() - told.at < TELL_AGAIN_MS) return false
    this.#told.set(job, { error, at: Date.now() })
    return true
  }

  /** Stores the schedules as at the start, where a scheduler that started later stored others and is gone. */
  async #storeAgain(): Promise<void> {
    const { pool, jobs, recordsOthersAsOff, processId } = this.#options
    if (!recordsOthersAsOff || !(await areOutdated(pool, jobs, processId))) return
    for (const scheduled of jobs) {
      const task = this.#tasks.get(scheduled.job)
      if (task) await rememberSchedule(pool, scheduled, task)
    }
    await rememberOff(pool, jobs)
  }

  /** Runs what a person asked for, and what a process had begun that has died since. */
  async #runBesides(): Promise<void> {
    const { pool, jobs, processId, logger } = this.#options
    // A job that runs here is not begun a second time: its request waits for its end.
    const free = jobs.map(({ job }) => job).filter(({ name }) => !this.#besides.has(name))
    const names = free.map(({ name }) => name)
    const asked = await claimRequests(pool, names, processId)
    const abandoned = await takeOverTicks(pool, names, processId)
    for (const { name, due, begun } of [...asked, ...abandoned]) {
      const job = free.find(other => other.name === name)
      if (!job) continue
      if (begun === 1) logger.info({ job: name }, 'running it now, as a person asked')
      else logger.warn({ job: name, dueAt: due, begun }, 'running it again: the process that ran it is gone')
      this.#besides.add(name)
      const tick = this.#run(job, due)
        .catch((error: Error) => logger.debug({ job: name, error }, 'could not record the end of a cron job'))
        .finally(() => {
          this.#running.delete(tick)
          this.#besides.delete(name)
          this.wake()
        })
      this.#running.add(tick)
    }
  }
}

/** The runs that a job requested or joined, and its error, or null. */
async function outcomeOf(
  work: () => ReturnType<CronJob['run']>,
): Promise<{ runs: readonly number[]; error: string | null }> {
  try {
    return { runs: (await work()) ?? [], error: null }
  } catch (reason) {
    return { runs: [], error: reason instanceof Error ? reason.message : String(reason) }
  }
}

/**
 * The times of a schedule. One that is due in every hour of every day is told in UTC: by the local time, the library leaves out the
 * hour that comes twice when summer ends.
 */
function timesOf(expression: string): ScheduledTask {
  const { hour, dayOfMonth, month, dayOfWeek } = cron.parse(expression)
  const isHourly =
    hour.length === 24 && dayOfMonth.length === 31 && month.length === 12 && dayOfWeek.length === 7
  const hasWholeHours = new Date().getTimezoneOffset() % 60 === 0
  return cron.createTask(expression, () => {}, isHourly && hasWholeHours ? { timezone: 'UTC' } : {})
}

/**
 * Runs something at each time of a schedule, unless it is still running. A process that slept or was busy when a time came runs it
 * late, and waits for the next time from then on. The library's own timer would go through every time that was missed: after
 * a clock has jumped ahead, that keeps the process busy for minutes or for ever.
 * @param run resolves with false to be tried again, until the next time has come
 * @returns ends it
 */
function atEachTime(task: ScheduledTask, run: (dueAt: Date) => Promise<boolean>): () => Promise<void> {
  let next = nextTime(task)
  let due: Date | null = null
  let isRunning = false
  let timer: NodeJS.Timeout
  const wait = () => {
    timer = setTimeout(look, Math.max(0, Math.min(next.getTime() - Date.now(), CLOCK_MS)))
  }
  const look = () => {
    if (Date.now() >= next.getTime()) {
      due = next
      next = nextTime(task)
    }
    if (due && !isRunning) {
      isRunning = true
      void run(due).then(isDone => {
        isRunning = false
        // What came due meanwhile is left out.
        if (isDone) due = null
      })
    }
    wait()
  }
  wait()
  return async () => {
    clearTimeout(timer)
    await task.destroy()
  }
}

function nextTime(task: ScheduledTask): Date {
  return task.getNextRuns(1)[0] as Date
}

/** The tick of a job that was due while no scheduler ran; null without one. What was due in a pause or while it was off is void. */
async function missedTick(db: Pool, { job, expression }: ScheduledJob): Promise<Date | null> {
  const { rows } = await db.query<{ due: Date }>(
    `select next_due_at as due from dirsync.job_schedule s
     where job = $1 and expression = $2 and interval_seconds is not null
       and next_due_at between in_force_since and now()
       and not exists (select from dirsync.job_tick t where t.job = s.job and t.due_at >= s.next_due_at)`,
    [job.name, expression],
  )
  return rows[0]?.due ?? null
}

/** Future ticks cannot have run: they are from before the clock was put back. */
async function forgetTicks(db: Pool, jobs: readonly ScheduledJob[], ahead: string): Promise<void> {
  await db.query(
    `delete from dirsync.job_tick
     where job = any ($1) and due_at > $2::timestamptz + $3::interval and requested_by is null`,
    [jobs.map(({ job }) => job.name), new Date(), ahead],
  )
}

/** Stores the schedule of a job, and when it is due next. */
async function rememberSchedule(
  db: Pool,
  { job, expression }: ScheduledJob,
  { task, interval }: Task,
): Promise<void> {
  await db.query(
    `insert into dirsync.job_schedule as s (job, expression, next_due_at, interval_seconds, time_zone)
     values ($1, $2, $3, $4, $5)
     on conflict (job) do update
     set expression = excluded.expression, next_due_at = excluded.next_due_at,
         interval_seconds = excluded.interval_seconds, time_zone = excluded.time_zone,
         in_force_since = case when s.expression = excluded.expression and s.interval_seconds is not null
                               then s.in_force_since else now() end`,
    [job.name, expression, nextTime(task), interval, ownZone()],
  )
}

/** Stores when a job is due next, unless a scheduler that started later has given it another schedule, or switched it off. */
async function rememberNext(
  db: ClientBase,
  { job, expression }: ScheduledJob,
  { task }: Task,
): Promise<void> {
  await db.query(
    `update dirsync.job_schedule set next_due_at = $3
     where job = $1 and expression = $2 and interval_seconds is not null`,
    [job.name, expression, nextTime(task)],
  )
}

/** Whether the stored schedules are not those of this process, although no living scheduler started later. */
async function areOutdated(db: Pool, jobs: readonly ScheduledJob[], processId: string): Promise<boolean> {
  const { rowCount } = await db.query({
    text: `select from dirsync.process me
     where me.id = $1
       and exists (
         select from dirsync.job_schedule s
         left join unnest($2::text[], $3::text[]) as mine (job, expression) on mine.job = s.job
         where case when s.interval_seconds is not null then s.expression end
               is distinct from mine.expression)
       and not exists (
         select from dirsync.process later
         where later.roles @> '{scheduler}' and (later.started_at, later.id) > (me.started_at, me.id)
           and later.${ALIVE})`,
    values: [processId, jobs.map(({ job }) => job.name), jobs.map(({ expression }) => expression)],
    query_timeout: LOOK_MS,
  })
  return rowCount !== 0
}

/** Stores that all other jobs are switched off, so that they are not reported as overdue. */
async function rememberOff(db: Pool, jobs: readonly ScheduledJob[]): Promise<void> {
  await db.query(
    `update dirsync.job_schedule set interval_seconds = null
     where job <> all ($1) and interval_seconds is not null`,
    [jobs.map(({ job }) => job.name)],
  )
}

/** The jobs that run by themselves: neither switched off nor paused. */
export async function jobsInForce(db: Pool): Promise<string[]> {
  const { rows } = await db.query<{ job: string }>(
    'select job from dirsync.job_schedule where interval_seconds is not null and paused_at is null',
  )
  return rows.map(({ job }) => job)
}

/** SQL: why a tick of the job `s` ends as soon as it is claimed, which it does where the job is paused; else null. */
const PAUSED_BY = `case when s.paused_at is not null
  then format('paused by %s: %s', s.paused_by, s.pause_reason) end`

/** Claims a tick, for exactly one of all processes that try. If the job is paused, the tick ends there. */
async function claimTick(
  db: ClientBase,
  job: string,
  dueAt: Date,
  processId: string,
): Promise<'claimed' | 'paused' | 'taken'> {
  const { rows } = await db.query<{ paused: boolean }>(
    `insert into dirsync.job_tick (job, due_at, claimed_by, finished_at, skipped)
     select $1, $2, $3, case when s.paused_at is not null then now() end, ${PAUSED_BY}
     from (select) as one
     left join dirsync.job_schedule s on s.job = $1
     on conflict do nothing
     returning skipped is not null as paused`,
    [job, dueAt, processId],
  )
  const [tick] = rows
  if (!tick) return 'taken'
  return tick.paused ? 'paused' : 'claimed'
}

interface BegunTick {
  name: string
  due: Date
  /** How often it has been begun. */
  begun: number
}

/** Claims people's requests to run jobs at once, each for exactly one of all processes: its tick is claimed with it. */
async function claimRequests(db: Pool, jobs: string[], processId: string): Promise<BegunTick[]> {
  const { rows } = await db.query<BegunTick>({
    text: `with requested as (
       select job, run_requested_at, run_requested_by from dirsync.job_schedule
       where run_requested_at is not null and job = any ($1) for update skip locked
     ), taken as (
       update dirsync.job_schedule s set run_requested_at = null, run_requested_by = null
       from requested r where r.job = s.job
     )
     insert into dirsync.job_tick (job, due_at, claimed_by, requested_by)
     select job, run_requested_at, $2, run_requested_by from requested
     on conflict do nothing
     returning job as name, due_at as due, begun`,
    values: [jobs, processId],
    query_timeout: LOOK_MS,
  })
  return rows
}

/**
 * Claims the latest tick of each job whose process died, or stopped and left, before it ended. An earlier one has been made up for.
 * It ends there as skipped if the job is off, or if it was due by the schedule, which has changed or was paused since.
 */
async function takeOverTicks(db: Pool, jobs: string[], processId: string): Promise<BegunTick[]> {
  const { rows } = await db.query<BegunTick>(
    `with taken as (
       update dirsync.job_tick t set claimed_by = $2, begun = begun + (why is null)::int,
         finished_at = case when why is not null then now() end, skipped = why
       from dirsync.job_schedule s
       -- One index look-up for each: it is asked every second, among the ticks of a day.
       cross join lateral (
         select due_at, claimed_by, requested_by
         from dirsync.job_tick l where l.job = s.job order by due_at desc limit 1) latest
       cross join lateral (
         select case
           when s.interval_seconds is null then 'switched off'
           -- What a person asked for runs in any case.
           when latest.requested_by is not null then null
           when latest.due_at < s.in_force_since
             then 'due before its schedule was changed, switched on or resumed'
           else ${PAUSED_BY}
         end) void (why)
       where t.job = s.job and t.due_at = latest.due_at and finished_at is null
         -- Any scheduler ends what is void, also of a job that it does not run.
         and (why is not null or s.job = any ($1) and begun < $3)
         -- As this statement began: it may have waited for another process, whose row it does not see.
         and t.claimed_by = latest.claimed_by
         and not exists (select from dirsync.process p where p.id = t.claimed_by and ${ALIVE})
       returning t.job as name, t.due_at as due, begun, skipped
     )
     select name, due, begun from taken where skipped is null`,
    [jobs, processId, MOST_BEGUN],
  )
  return rows
}

async function finishTick(
  db: Pool,
  job: string,
  dueAt: Date,
  runs: readonly number[],
  error: string | null,
): Promise<void> {
  await db.query(
    `update dirsync.job_tick set finished_at = now(), run_ids = $3, error = $4 where job = $1 and due_at = $2`,
    [job, dueAt, runs, error],
  )
}
