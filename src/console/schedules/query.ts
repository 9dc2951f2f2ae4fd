import { z } from 'zod'
import type { Pool } from '../../lib/database.ts'
import { listSchedules } from '../../report/schedules.ts'
import { aliveProcesses } from '../../sync/process.ts'

const TickResult = z.object({
  due_at: z.date(),
  claimed_at: z.date().describe('When it began'),
  finished_at: z.date().nullable().describe('null: it goes on, or its process died'),
  error: z.string().nullable(),
  skipped: z.string().nullable().describe('Why it was left out: the job was paused; null: it ran'),
  requested_by: z.string().nullable().describe('Who asked for it outside the schedule; null: it was due'),
  missed: z.boolean().describe('It came late, because nobody was there when it was due'),
})
export type TickResult = z.infer<typeof TickResult>

const ScheduleResult = z.object({
  job: z.string(),
  expression: z.string().describe('Cron expression; six fields begin with seconds'),
  words: z.object({ en: z.string(), 'zh-CN': z.string() }).describe('The expression in plain words'),
  next_due_at: z.date(),
  overdue: z.boolean().describe('Nobody ran it when it was due: no scheduler, or switched off'),
  paused_at: z.date().nullable(),
  paused_by: z.string().nullable(),
  pause_reason: z.string().nullable(),
  pause_effect: z
    .enum(['none', 'stalls', 'refused'])
    .describe('What pausing means: nothing; employees stay out of step; it is not permitted'),
  run_requested_at: z.date().nullable().describe('Asked to run at once, and not begun yet'),
  run_requested_by: z.string().nullable(),
  ticks: z.array(TickResult).describe('The latest ten, the latest first'),
})
export type ScheduleResult = z.infer<typeof ScheduleResult>

/** What `/api/v1/schedules` answers. */
export const SchedulesResult = z.object({
  schedules: z.array(ScheduleResult).describe('The next one first'),
  scheduler_alive: z.boolean().describe('false: no cron job runs'),
})
export type SchedulesResult = z.infer<typeof SchedulesResult>

export async function readSchedules(db: Pool): Promise<SchedulesResult> {
  const [schedules, processes] = await Promise.all([listSchedules(db), aliveProcesses(db)])
  return { schedules, scheduler_alive: processes.some(({ roles }) => roles.includes('scheduler')) }
}
