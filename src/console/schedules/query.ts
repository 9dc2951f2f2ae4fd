import cronstrue from 'cronstrue'
import 'cronstrue/locales/zh_CN.js'
import { z } from 'zod'
import type { Pool } from '../../lib/database.ts'
import { aliveProcesses } from '../../sync/processes/process.ts'
import { listOf } from '../endpoint.ts'

/** A tick of a cron job. */
export const Tick = z.object({
  due_at: z.date(),
  claimed_at: z.date().describe('When it began'),
  finished_at: z
    .date()
    .nullable()
    .describe(
      'null: it goes on. Where its process died, another one begins it again within seconds, twice at most',
    ),
  error: z.string().nullable(),
  skipped: z
    .string()
    .nullable()
    .describe('Why it was left out: the job was paused or off, or its schedule has changed; null: it ran'),
  requested_by: z.string().nullable().describe('Who asked for it outside the schedule; null: it was due'),
  missed: z.boolean().describe('It came late, because no scheduler was running when it was due'),
  runs: z
    .array(z.int())
    .describe(
      'The runs that it requested, or found under way, of which each source of HR has its own; without pruned ones',
    ),
})
export type Tick = z.infer<typeof Tick>

/** A cron job with its schedule and its latest ticks. */
export const Schedule = z.object({
  job: z.string(),
  expression: z.string().describe('Cron expression; six fields begin with seconds'),
  time_zone: z
    .string()
    .nullable()
    .describe('In which the scheduler reads the expression; null: an older version runs it'),
  words: z.object({ en: z.string(), 'zh-CN': z.string() }).describe('The expression in plain words'),
  next_due_at: z.date(),
  off: z.boolean().describe('Switched off: by its setting, or as MIRRORS does not list its mirror'),
  overdue: z.boolean().describe('It did not run when it was due: no scheduler'),
  paused_at: z.date().nullable(),
  paused_by: z.string().nullable(),
  pause_reason: z.string().nullable(),
  pause_effect: z
    .enum(['none', 'stalls', 'stops', 'refused'])
    .describe(
      'What pausing means: nothing; employees stay out of sync; no schedule sends what HR changes, as the other one that would is paused or off; it is not permitted',
    ),
  run_requested_at: z.date().nullable().describe('Asked to run at once, and not begun yet'),
  run_requested_by: z.string().nullable(),
  ticks: z.array(Tick).describe('The latest ten, the latest first'),
})
export type Schedule = z.infer<typeof Schedule>

/** How many ticks are listed for each job. */
const TICKS = 10

/** Every cron job that any scheduler has had, the next one due first. */
export async function listSchedules(db: Pool): Promise<Schedule[]> {
  // In one statement: a request is taken as its tick begins, and would else be seen beside it.
  const { rows } = await db.query<
    Omit<Schedule, 'words' | 'ticks'> & (Tick | { [name in keyof Tick]: null })
  >(
    `select s.job, expression, time_zone, next_due_at, s.interval_seconds is null as off,
            s.interval_seconds is not null and next_due_at < now() - interval '1 minute' as overdue,
            paused_at, paused_by, pause_reason, dirsync.pause_effect(s.job) as pause_effect,
            run_requested_at, run_requested_by,
            t.due_at, t.claimed_at, t.finished_at, t.error, t.skipped, t.requested_by,
            t.requested_by is null and t.claimed_at > t.due_at + interval '1 minute' as missed,
            to_jsonb(array(select r.id from dirsync.sync_run r where r.id = any (t.run_ids) order by r.id)) as runs
     from dirsync.job_schedule s
     left join lateral (select * from dirsync.job_tick k
                        where k.job = s.job order by k.due_at desc limit $1) t on true
     order by next_due_at, s.job, t.due_at desc`,
    [TICKS],
  )
  const schedules: Schedule[] = []
  for (const row of rows) {
    const { due_at, claimed_at, finished_at, error, skipped, requested_by, missed, runs, ...schedule } = row
    if (schedules.at(-1)?.job !== schedule.job)
      schedules.push({ ...schedule, words: inWords(schedule.expression), ticks: [] })
    if (due_at !== null)
      schedules
        .at(-1)
        ?.ticks.push({ due_at, claimed_at, finished_at, error, skipped, requested_by, missed, runs })
  }
  return schedules
}

/** A cron expression in plain words; the expression itself if it cannot be described. */
function inWords(expression: string): Schedule['words'] {
  const words = (locale: string) => {
    try {
      const said = cronstrue.toString(expression, {
        locale,
        use24HourTimeFormat: true,
        logicalAndDayFields: true,
      })
      return said.replaceAll(/(?<=\p{Script=Han})(?=\d)/gu, ' ')
    } catch {
      return expression // node-cron and cronstrue differ in rare expressions
    }
  }
  return { en: words('en'), 'zh-CN': words('zh_CN') }
}

/** The answer of `/api/v1/schedules`. */
export const SchedulesResult = listOf(Schedule).extend({
  scheduler_alive: z.boolean().describe('false: no cron job runs'),
})
export type SchedulesResult = z.infer<typeof SchedulesResult>

export async function readSchedules(db: Pool): Promise<SchedulesResult> {
  const [items, processes] = await Promise.all([listSchedules(db), aliveProcesses(db)])
  return { items, next: null, scheduler_alive: processes.some(({ roles }) => roles.includes('scheduler')) }
}
