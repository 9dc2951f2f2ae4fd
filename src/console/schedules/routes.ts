import { z } from 'zod'
import { action, type Endpoint, read, reason } from '../endpoint.ts'
import { Problem } from '../problem.ts'
import type { Screen } from '../screen.ts'
import type { Services } from '../services.ts'
import { readSchedules, SchedulesResult } from './query.ts'
import { jobPath, jobShown, schedulesShown } from './view.ts'

const job = z.object({ job: z.string().max(100) })

export const screen: Screen = {
  name: 'schedules',
  topics: {
    schedules: `
      select md5(string_agg(concat_ws('|', s.job, s.next_due_at, s.paused_at, s.paused_by, s.pause_reason,
                                      s.run_requested_at, t.due_at, t.finished_at), ',' order by s.job))
      from dirsync.job_schedule s
      left join lateral (select due_at, finished_at from dirsync.job_tick k
                         where k.job = s.job order by due_at desc limit 1) t on true`,
  },
  endpoints: schedules,
}

function schedules(services: Services): Endpoint[] {
  return [
    read({
      path: '/schedules',
      role: 'viewer',
      summary: 'The cron jobs: when they run, how their latest ticks went, which are paused',
      query: z.object({ job: z.string().max(100).optional().describe('This job alone') }),
      result: SchedulesResult,
      async run(_ask, { input }) {
        const result = await readSchedules(services.pool)
        if (input.job === undefined) return result
        const only = result.items.filter(schedule => schedule.job === input.job)
        if (only.length === 0) throw new Problem('not_found')
        return { ...result, items: only }
      },
      shown: (ask, result, { input }) => {
        const [schedule] = result.items
        return input.job !== undefined && schedule
          ? jobShown(ask, schedule, result.scheduler_alive)
          : schedulesShown(ask, result)
      },
    }),
    action({
      path: '/schedules/:job/run',
      role: 'operator',
      summary: 'Run a cron job once now, even while it is paused',
      params: job,
      result: z.object({
        requested_at: z.date().describe('Unchanged if an earlier request still waits for a scheduler'),
      }),
      starts: (_done, { params }) => jobPath(params.job),
      run: async (ask, { params }) => ({
        requested_at: await ask.commands.runSchedule(params.job),
      }),
      next: (_ask, _done, { params }) => ({
        to: jobPath(params.job),
        notice: { key: 'schedules.run_asked' },
      }),
    }),
    action({
      path: '/schedules/:job/pause',
      role: 'operator',
      summary: 'Skip the ticks of a cron job until it is resumed',
      params: job,
      body: z.object({ reason }),
      result: z.object({
        warning: z.string().nullable().describe('The effect on the directory; null: none'),
      }),
      run: async (ask, { params, input }) => ({
        warning: await ask.commands.pauseSchedule(params.job, input.reason),
      }),
      next: (_ask, _done, { params }) => ({
        to: jobPath(params.job),
        notice: { key: 'schedules.paused_now' },
      }),
    }),
    action({
      path: '/schedules/:job/resume',
      role: 'operator',
      summary: 'Let a cron job run again from its next tick on',
      params: job,
      result: z.object({ resumed: z.boolean().describe('false: it was not paused') }),
      run: async (ask, { params }) => ({
        resumed: await ask.commands.resumeSchedule(params.job),
      }),
      next: (_ask, { resumed }, { params }) => ({
        to: jobPath(params.job),
        notice: { key: resumed ? 'schedules.resumed' : 'schedules.not_paused' },
      }),
    }),
  ]
}
