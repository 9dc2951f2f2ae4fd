import { z } from 'zod'
import { action, type Endpoint, read } from '../endpoint.ts'
import type { Screen } from '../screen.ts'
import { commandsOf, type Services } from '../services.ts'
import { HistoryResult, HistorySpan, OverviewResult, readConsoleOverview, readSpan } from './query.ts'
import { overviewBody } from './view.ts'

const reason = z.string().trim().min(1).max(500).describe('Why; it is kept in the audit')

export const screen: Screen = {
  name: 'overview',
  topics: { work: `select mark from tally where source = 'pending'` },
  endpoints: overview,
}

function overview(services: Services): Endpoint[] {
  return [
    read({
      path: '/overview/history',
      tag: 'overview',
      role: 'viewer',
      summary: 'Curves of the last 24 hours or 30 days: share in sync, open cases, work, calls',
      query: HistorySpan,
      result: HistoryResult,
      run: (ask, { input }) => readSpan(services.pool, input.span, ask.now),
    }),
    read({
      path: '/overview',
      tag: 'overview',
      role: 'viewer',
      summary: 'The state of the whole deployment: employees by status, work, halts, held runs, cases, pace',
      query: HistorySpan,
      result: OverviewResult,
      run: ask => readConsoleOverview(services.pool, ask.language),
      page: async (ask, result, { input }) => ({
        title: ask.t('overview.title'),
        body: overviewBody(ask, result, input.span, await readSpan(services.pool, input.span, ask.now)),
      }),
    }),
    action({
      path: '/pause',
      tag: 'overview',
      role: 'operator',
      summary: 'Stop all calls of this deployment to the platform, until they are resumed',
      body: z.object({ reason }),
      result: z.object({ paused: z.literal(true) }),
      async run(ask, { input }) {
        await commandsOf(services, ask).pause(input.reason)
        return { paused: true as const }
      },
      next: () => ({ to: '/overview', notice: { key: 'overview.paused' } }),
    }),
    action({
      path: '/resume',
      tag: 'overview',
      role: 'operator',
      summary: 'Resume calls after a pause',
      result: z.object({ resumed: z.boolean().describe('false: they were not paused') }),
      run: async ask => ({ resumed: await commandsOf(services, ask).resume() }),
      next: (_ask, { resumed }) => ({
        to: '/overview',
        notice: { key: resumed ? 'overview.resumed' : 'overview.not_paused' },
      }),
    }),
  ]
}
