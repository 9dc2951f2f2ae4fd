import type { ScheduledTask, TaskOptions } from 'node-cron'
import cron from 'node-cron'
import { ConfigError } from '../src/config.ts'
import type { Pool } from '../src/lib/database.ts'
import type { Logger } from '../src/lib/logger.ts'
import type { CronJob, JobContext } from './index.ts'

/** A job with the expression that holds for it. */
interface ScheduledJob {
  job: CronJob
  expression: string
}

/**
 * The schedule of every job: its default, or `SCHEDULE_<JOB>`; `off` leaves it out.
 * @throws ConfigError for a wrong expression, or a setting that names no job
 */
export function scheduledJobs(jobs: readonly CronJob[], schedules: Record<string, string>): ScheduledJob[] {
  for (const name of Object.keys(schedules))
    if (!jobs.some(job => job.name === name))
      throw new ConfigError(
        `${settingName(name)} names no cron job: there are ${jobs.map(job => settingName(job.name)).join(', ')}`,
      )
  return jobs.flatMap(job => {
    const expression = schedules[job.name] ?? job.schedule
    if (expression.toLowerCase() === 'off') return []
    if (!cron.validate(expression))
      throw new ConfigError(
        `${settingName(job.name)} holds ${JSON.stringify(expression)} but should be a cron expression such as ${JSON.stringify(job.schedule)}, or off`,
      )
    return [{ job, expression }]
  })
}

/** The setting that schedules a job. */
export function settingName(job: string): string {
  return `SCHEDULE_${job.toUpperCase().replaceAll('-', '_')}`
}

/** Runs cron jobs. However many processes do so, a tick runs once: the one that writes its row first runs it. */
export class CronScheduler {
  readonly #pool: Pool
  readonly #jobs: ScheduledJob[]
  readonly #context: JobContext
  readonly #processId: string
  readonly #logger: Logger
  readonly #running = new Set<Promise<void>>()
  #tasks: ScheduledTask[] = []

  constructor(options: {
    pool: Pool
    jobs: ScheduledJob[]
    context: JobContext
    processId: string
    logger: Logger
  }) {
    this.#pool = options.pool
    this.#jobs = options.jobs
    this.#context = options.context
    this.#processId = options.processId
    this.#logger = options.logger
  }

  /** Runs what was missed while everything was down, once, and schedules the rest. When it fails, nothing is scheduled. */
  async start(): Promise<void> {
    try {
      await this.#schedule()
    } catch (error) {
      await this.stop()
      throw error
    }
  }

  async #schedule(): Promise<void> {
    const options: TaskOptions = {
      noOverlap: true,
      // A process that slept or was busy when a tick was due runs it late, the latest one only; the default drops it.
      missedExecutionTolerance: Number.POSITIVE_INFINITY,
      suppressMissedWarning: true,
      logger: libraryLogger(this.#logger),
    }
    for (const scheduled of this.#jobs) {
      const missed = await missedTick(this.#pool, scheduled.job.name, scheduled.expression)
      if (missed) {
        this.#logger.info(
          { job: scheduled.job.name, dueAt: missed },
          'a tick was missed while nothing ran: running it now',
        )
        this.#start(scheduled, missed)
      }
      const task = cron.schedule(
        scheduled.expression,
        context => this.#start(scheduled, context.date),
        options,
      )
      this.#tasks.push(task)
      await this.#rememberNext(scheduled, task)
    }
  }

  /** Schedules nothing more and waits for the ticks in hand. */
  async stop(): Promise<void> {
    for (const task of this.#tasks) await task.destroy()
    this.#tasks = []
    await Promise.all(this.#running)
  }

  #start(scheduled: ScheduledJob, dueAt: Date): Promise<void> {
    const tick = this.#tick(scheduled, dueAt).finally(() => this.#running.delete(tick))
    this.#running.add(tick)
    return tick
  }

  async #tick({ job, expression }: ScheduledJob, dueAt: Date): Promise<void> {
    // Processes see the same tick milliseconds apart; the second it was due is the same for all.
    const due = new Date(Math.floor(dueAt.getTime() / 1000) * 1000)
    try {
      if (!(await claimTick(this.#pool, job.name, due, this.#processId))) return
      const task = this.#tasks[this.#jobs.findIndex(scheduled => scheduled.job === job)]
      if (task) await this.#rememberNext({ job, expression }, task)
      const error = await this.#failure(job)
      if (error)
        this.#logger.error({ job: job.name, err: error }, 'cron job failed; its next tick tries again')
      await finishTick(this.#pool, job.name, due, error)
    } catch (error) {
      // The database is away: the coordinator says so once, and the next tick tries again.
      this.#logger.debug({ job: job.name, err: (error as Error).message }, 'tick not run')
    }
  }

  /** Runs the job; what it failed with, or null. */
  async #failure(job: CronJob): Promise<string | null> {
    try {
      await job.run(this.#context)
      return null
    } catch (reason) {
      return reason instanceof Error ? reason.message : String(reason)
    }
  }

  async #rememberNext({ job, expression }: ScheduledJob, task: ScheduledTask): Promise<void> {
    const next = task.getNextRun()
    if (next) await scheduleTick(this.#pool, job.name, expression, next)
  }
}

/** The library's own words go where all words go; they repeat what is told here, so they are for debugging. */
function libraryLogger(logger: Logger): NonNullable<TaskOptions['logger']> {
  const tell = (message: string | Error) => logger.debug({ component: 'node-cron' }, String(message))
  return { info: tell, warn: tell, error: tell, debug: tell }
}

/** Claims a tick: true for exactly one of all processes that try. */
async function claimTick(db: Pool, job: string, dueAt: Date, processId: string): Promise<boolean> {
  const { rowCount } = await db.query(
    `insert into dirsync.job_tick (job, due_at, claimed_by) values ($1, $2, $3) on conflict do nothing`,
    [job, dueAt, processId],
  )
  return rowCount === 1
}

async function finishTick(db: Pool, job: string, dueAt: Date, error: string | null): Promise<void> {
  await db.query(
    `update dirsync.job_tick set finished_at = now(), error = $3 where job = $1 and due_at = $2`,
    [job, dueAt, error],
  )
}

/** Remembers when a job is due next. */
async function scheduleTick(db: Pool, job: string, expression: string, nextDueAt: Date): Promise<void> {
  await db.query(
    `insert into dirsync.job_schedule (job, expression, next_due_at) values ($1, $2, $3)
     on conflict (job) do update set expression = excluded.expression, next_due_at = excluded.next_due_at`,
    [job, expression, nextDueAt],
  )
}

/** The tick of a job that was due while no scheduler ran; null when none was missed. */
async function missedTick(db: Pool, job: string, expression: string): Promise<Date | null> {
  const { rows } = await db.query<{ due: Date }>(
    `select next_due_at as due from dirsync.job_schedule s
     where job = $1 and expression = $2 and next_due_at < now()
       and not exists (select from dirsync.job_tick t where t.job = s.job and t.due_at >= s.next_due_at)`,
    [job, expression],
  )
  return rows[0]?.due ?? null
}
