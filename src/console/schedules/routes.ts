import { z } from 'zod'
import { action, type Endpoint, read } from '../endpoint.ts'
import { Problem } from '../problem.ts'
import { commandsOf, type Services } from '../services.ts'
import { readSchedules, SchedulesResult } from './query.ts'
import { jobBody, schedulesBody } from './view.ts'

const job = z.object({ job: z.string().max(100) })
const reason = z.string().trim().min(1).max(500).describe('Why; it is kept in the audit')

/** The page of one job, with its ticks and controls. */
const pageOf = (name: string) => `/schedules?job=${encodeURIComponent(name)}`

export function schedules(services: Services): Endpoint[] {
  return [
    read({
      path: '/schedules',
      tag: 'schedules',
      role: 'viewer',
      summary: 'The cron jobs: when they run, how their latest ticks went, which are paused',
      query: z.object({ job: z.string().max(100).optional().describe('This job alone') }),
      result: SchedulesResult,
      async run(_ask, { input }) {
        const result = await readSchedules(services.pool)
        if (input.job === undefined) return result
        const only = result.schedules.filter(schedule => schedule.job === input.job)
        if (only.length === 0) throw new Problem('not_found')
        return { ...result, schedules: only }
      },
      page(ask, result, { input }) {
        const [schedule] = result.schedules
        return {
          title: ask.t('schedules.title'),
          nav: 'schedules',
          body:
            input.job !== undefined && schedule
              ? jobBody(ask, schedule, result.scheduler_alive)
              : schedulesBody(ask, result),
        }
      },
    }),
    action({
      path: '/schedules/:job/run',
      tag: 'schedules',
      role: 'operator',
      summary: 'Run a cron job once now, even while it is paused',
      params: job,
      result: z.object({
        requested_at: z.date().describe('Unchanged if an earlier request still waits for a scheduler'),
      }),
      run: async (ask, { params }) => ({
        requested_at: await commandsOf(services, ask).runSchedule(params.job),
      }),
      next: (_ask, _done, { params }) => ({
        to: pageOf(params.job),
        notice: { key: 'schedules.run_asked' },
      }),
    }),
    action({
      path: '/schedules/:job/pause',
      tag: 'schedules',
      role: 'operator',
      summary: 'Skip the ticks of a cron job until it is resumed',
      params: job,
      body: z.object({ reason }),
      result: z.object({
        warning: z.string().nullable().describe('The effect on the directory; null: none'),
      }),
      run: async (ask, { params, input }) => ({
        warning: await commandsOf(services, ask).pauseSchedule(params.job, input.reason),
      }),
      next: (_ask, _done, { params }) => ({
        to: pageOf(params.job),
        notice: { key: 'schedules.paused_now' },
      }),
    }),
    action({
      path: '/schedules/:job/resume',
      tag: 'schedules',
      role: 'operator',
      summary: 'Let a cron job run again from its next tick on',
      params: job,
      result: z.object({ resumed: z.boolean().describe('false: it was not paused') }),
      run: async (ask, { params }) => ({
        resumed: await commandsOf(services, ask).resumeSchedule(params.job),
      }),
      next: (_ask, { resumed }, { params }) => ({
        to: pageOf(params.job),
        notice: { key: resumed ? 'schedules.resumed' : 'schedules.not_paused' },
      }),
    }),
  ]
}
