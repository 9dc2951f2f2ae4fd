import { z } from 'zod'
import { PlanFilter } from '../../sync/stored-plan.ts'
import { action, download, read } from '../endpoint.ts'
import { decided, RunParams, reason } from '../runs/routes.ts'
import type { Services } from '../services.ts'
import { PlanQuery, PlanResult, readPlan, readWholePlan } from './query.ts'
import { PlanItem } from './stored.ts'
import { planShown } from './view.ts'

/** The stored plan of a held run: view it, then approve or reject it. */
export function plan(services: Pick<Services, 'pool' | 'hr' | 'config'>) {
  const { pool, hr, config } = services
  const decision = z.object({ run: z.int() })
  return {
    one: read({
      path: '/runs/:id/plan',
      tag: 'runs',
      role: 'viewer',
      summary:
        'The stored plan of a held run: why it is held, figures, and its entities with masked differences',
      params: RunParams,
      query: PlanQuery,
      result: PlanResult,
      run: (_ask, { params, input }) => readPlan(pool, hr, params.id, input),
      shown: (ask, result, { input }) => planShown(ask, result, input, config),
    }),
    csv: download({
      path: '/runs/:id/plan.csv',
      tag: 'runs',
      role: 'viewer',
      summary: 'The same plan as a file, complete or filtered',
      params: RunParams,
      query: PlanFilter,
      fileName: ({ params }) => `plan-${params.id}.csv`,
      columns: PlanItem.keyof().options,
      async *rows(_ask, { params, input }) {
        for await (const entry of readWholePlan(pool, hr, params.id, input))
          yield { ...entry, changed: entry.changed.map(({ field }) => field).join(' ') }
      },
    }),
    approve: action({
      path: '/runs/:id/approve',
      tag: 'runs',
      role: 'operator',
      summary: 'Send the stored plan of a held run exactly as it is, without later changes in HR',
      params: RunParams,
      body: z.object({ reason: reason.optional() }),
      result: decision,
      starts: ({ run }) => `/runs/${run}`,
      run: async (ask, { params, input }) => ({
        run: await decided(pool, params.id, ask.commands.approve(params.id, input.reason ?? null)),
      }),
      next: (_ask, { run }) => ({ to: `/runs/${run}`, notice: { key: 'plan.approved', values: { run } } }),
    }),
    reject: action({
      path: '/runs/:id/reject',
      tag: 'runs',
      role: 'operator',
      summary: 'Discard the stored plan of a held run; none of it is sent',
      params: RunParams,
      body: z.object({ reason }),
      result: decision,
      run: async (ask, { params, input }) => ({
        run: await decided(pool, params.id, ask.commands.reject(params.id, input.reason)),
      }),
      next: (_ask, { run }) => ({ to: `/runs/${run}`, notice: { key: 'plan.rejected', values: { run } } }),
    }),
  }
}
