import cronstrue from 'cronstrue/dist/cronstrue-i18n.js'
import type { Pool } from '../lib/database.ts'
import type { Language } from '../texts/texts.ts'

/** A tick of a cron job. */
export interface Tick {
  due_at: Date
  claimed_at: Date
  /** Null: it goes on, or its process died. */
  finished_at: Date | null
  error: string | null
  /** Why it was left out: the job was paused. Null: it ran. */
  skipped: string | null
  /** Who asked for it outside the schedule; null: it was due. */
  requested_by: string | null
  /** It came late, because nobody was there when it was due. */
  missed: boolean
}

/** A cron job as its schedule stands, with its latest ticks. */
export interface Schedule {
  job: string
  expression: string
  /** The expression in plain words, by language. */
  words: Record<Language, string>
  next_due_at: Date
  /** Nobody ran it when it was due: no scheduler is alive, or the job was switched off since. */
  overdue: boolean
  paused_at: Date | null
  paused_by: string | null
  pause_reason: string | null
  /** What pausing means for the directory: nothing; employees stay out of step until it is resumed; not permitted. */
  pause_effect: 'none' | 'stalls' | 'refused'
  /** A person asked to run it at once, and no scheduler has begun yet. */
  run_requested_at: Date | null
  run_requested_by: string | null
  /** The latest first. */
  ticks: Tick[]
}

/** Ticks that are listed for each job. */
const TICKS = 10

/** Every cron job that a scheduler has ever had, the next one first. */
export async function listSchedules(db: Pool): Promise<Schedule[]> {
  const [{ rows: schedules }, { rows: ticks }] = await Promise.all([
    db.query<Omit<Schedule, 'words' | 'ticks'>>(
      `select job, expression, next_due_at, next_due_at < now() - interval '1 minute' as overdue,
              paused_at, paused_by, pause_reason, dirsync.pause_effect(job) as pause_effect,
              run_requested_at, run_requested_by
       from dirsync.job_schedule order by next_due_at, job`,
    ),
    db.query<Tick & { job: string }>(
      `select t.job, t.due_at, t.claimed_at, t.finished_at, t.error, t.skipped, t.requested_by,
              t.requested_by is null and t.claimed_at > t.due_at + interval '1 minute' as missed
       from dirsync.job_schedule s
       cross join lateral (select * from dirsync.job_tick k
                           where k.job = s.job order by k.due_at desc limit $1) t
       order by t.job, t.due_at desc`,
      [TICKS],
    ),
  ])
  return schedules.map(schedule => ({
    ...schedule,
    words: inWords(schedule.expression),
    ticks: ticks.filter(({ job }) => job === schedule.job).map(({ job: _, ...tick }) => tick),
  }))
}

/** A cron expression in plain words; the expression itself where there are none for it. */
function inWords(expression: string): Schedule['words'] {
  const words = (locale: string) => {
    try {
      return cronstrue.toString(expression, { locale, use24HourTimeFormat: true })
    } catch {
      return expression // node-cron and cronstrue differ in rare expressions
    }
  }
  return { en: words('en'), 'zh-CN': words('zh_CN') }
}
