import { z } from 'zod'
import type { Pool } from '../../lib/database.ts'
import { aliveProcesses } from '../../sync/process.ts'
import { listSchedules, Schedule } from './read.ts'

/** The answer of `/api/v1/schedules`. */
export const SchedulesResult = z.object({
  schedules: z.array(Schedule).describe('The next one first'),
  scheduler_alive: z.boolean().describe('false: no cron job runs'),
})
export type SchedulesResult = z.infer<typeof SchedulesResult>

export async function readSchedules(db: Pool): Promise<SchedulesResult> {
  const [schedules, processes] = await Promise.all([listSchedules(db), aliveProcesses(db)])
  return { schedules, scheduler_alive: processes.some(({ roles }) => roles.includes('scheduler')) }
}
