import { html } from '@remix-run/html-template'
import { z } from 'zod'
import { readHalts } from '../../sync/outbox/halts.ts'
import type { Ask } from '../ask.ts'
import { action, type Endpoint, read, reason } from '../endpoint.ts'
import { pauseVersion } from '../halts/query.ts'
import { Problem } from '../problem.ts'
import type { Screen } from '../screen.ts'
import type { Services } from '../services.ts'
import { pageOf } from '../ui/shown.ts'
import { HistoryResult, HistorySpan, OverviewResult, readNow, readSpan } from './query.ts'
import { dismissSetup, readSetup, SetupResult } from './setup.ts'
import { setupBlocks } from './setup-view.ts'
import { overviewCurves, overviewShown } from './view.ts'
import { readWork, WorkInput, WorkList, workShown } from './work.ts'

export const screen: Screen = {
  name: 'overview',
  topics: { work: `select mark from tally where source = 'pending'` },
  endpoints: overview,
}

function overview(services: Services): Endpoint[] {
  // Settings are shown to administrators alone.
  const readFirst = ({ readOnly, may }: Ask) =>
    readSetup(services, { readOnly, env: may('admin') ? services.env : {} })
  return [
    read({
      path: '/overview/history',
      role: 'viewer',
      summary:
        'Curves of the last 24 hours, 30 days, or between two moments within 36 days: share in sync, open cases, work, calls',
      query: HistorySpan,
      result: HistoryResult,
      run: (ask, { input }) => readSpan(services.pool, ask, input),
    }),
    read({
      path: '/overview',
      role: 'viewer',
      summary: 'The state of the whole deployment: employees by status, work, halts, held runs, cases, pace',
      query: HistorySpan,
      result: OverviewResult,
      run: async ask => (await readNow(services.pool, ask.language)).result,
      page: async (ask, result, { input }) => {
        const setup = ask.may('operator') ? setupBlocks(ask, await readFirst(ask)) : []
        const page = pageOf(ask, overviewShown(ask, result, setup))
        const history = await readSpan(services.pool, ask, input)
        return { ...page, body: html`${page.body}${overviewCurves(ask, input, history)}` }
      },
    }),
    read({
      path: '/work',
      tag: 'overview',
      role: 'viewer',
      summary:
        'What is to be sent, piece by piece: what for, by which run, since when, and when it is tried next',
      query: WorkInput,
      result: WorkList,
      run: (_ask, { input }) => readWork(services.pool, input),
      shown: workShown,
    }),
    read({
      path: '/setup',
      tag: 'overview',
      role: 'operator',
      summary: 'The first steps of a deployment: what is done, what is missing, what failed and why',
      result: SetupResult,
      run: readFirst,
      page: () => ({ to: '/overview#setup' }),
    }),
    action({
      path: '/setup/dismiss',
      tag: 'overview',
      role: 'admin',
      summary: 'Hide the first steps for good',
      result: z.object({ dismissed: z.literal(true) }),
      async run(ask) {
        await dismissSetup(services, ask.asker)
        return { dismissed: true as const }
      },
      next: () => ({ to: '/overview', notice: { key: 'setup.dismissed' } }),
    }),
    action({
      path: '/pause',
      tag: 'overview',
      role: 'operator',
      summary: 'Stop all calls of this deployment to the platform, until they are resumed',
      body: z.object({ reason }),
      result: z.object({ paused: z.literal(true) }),
      async run(ask, { input }) {
        await ask.commands.pause(input.reason)
        return { paused: true as const }
      },
      next: () => ({ to: '/overview', notice: { key: 'overview.paused' } }),
    }),
    action({
      path: '/resume',
      tag: 'overview',
      role: 'operator',
      summary: 'Resume calls after a pause',
      body: z.object({
        version: z.string().max(100).optional().describe('Of the pause that the caller saw; for forms'),
      }),
      result: z.object({ resumed: z.boolean().describe('false: they were not paused') }),
      async run(ask, { input: { version } }) {
        const pause = (await readHalts(services.pool)).find(({ category }) => category === 'paused')
        if (pause && version !== undefined && pauseVersion(pause) !== version)
          throw new Problem('changed', ask.t('overview.paused_again'))
        return { resumed: await ask.commands.resume() }
      },
      // The bar that offers it is on every page.
      next: (ask, { resumed }) => ({
        to: ask.from ?? '/overview',
        notice: { key: resumed ? 'overview.resumed' : 'overview.not_paused' },
      }),
    }),
  ]
}
