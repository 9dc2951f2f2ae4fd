import { z } from 'zod'
import { ALIVE, IS_OUTDATED } from '../../sync/processes/process.ts'
import { action, type Endpoint, read } from '../endpoint.ts'
import type { Screen } from '../screen.ts'
import type { Services } from '../services.ts'
import { HaltsResult, readHaltsResult } from './query.ts'
import { haltsShown, scopeInPath } from './view.ts'

export const screen: Screen = {
  name: 'halts',
  badge: { sql: 'select count(*)::int from dirsync.halt' },
  topics: {
    halts: `
      select md5(string_agg(concat_ws('|', scope, category, since, probes, next_probe_at, raised_by, message), ',' order by scope))
      from dirsync.halt`,
    processes: `
      select string_agg(concat_ws('|', id, aside_for, ${IS_OUTDATED}), ',' order by id) from dirsync.process
      where ${ALIVE}`,
  },
  endpoints: halts,
}

function halts(services: Services): Endpoint[] {
  return [
    read({
      path: '/halts',
      role: 'viewer',
      summary: 'Why work is halted, and the processes of this deployment',
      result: HaltsResult,
      run: () => readHaltsResult(services.pool),
      shown: haltsShown,
    }),
    action({
      path: '/halts/:scope/probe',
      role: 'operator',
      summary: 'Let one job through a halt now, to see whether work can go on',
      params: z.object({
        scope: z
          .string()
          .max(100)
          .transform(scope => (scope === scopeInPath('') ? '' : scope))
          .describe('Scope of the halt; `-`: the enterprise without a code'),
      }),
      result: z.object({ scope: z.string() }),
      starts: () => '/halts',
      run: async (ask, { params }) => ({ scope: await ask.commands.probeNow(params.scope) }),
      next: () => ({ to: '/halts', notice: { key: 'halts.probing' } }),
    }),
  ]
}
