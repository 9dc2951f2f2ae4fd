import { expect } from 'vitest'
import { dirsync } from '../cli/dirsync.ts'
import type { Company } from './company.ts'
import { spawnDirsync } from './process.ts'

/** What a worker logs that stands aside for its secret. */
export const REFUSED = /refuses the application secret of this process/
/** What a worker logs that stands aside for its network. */
export const LEAVES = /cannot reach the platform, and others work/
/** What one logs that works again. */
export const GOES_ON = /goes on with the work/

/** A fleet on a company: processes, and what their operator sees. */
export function fleetOf(company: Company) {
  const { db, settings } = company
  return {
    start: (roles: string, env: Record<string, string> = {}) =>
      spawnDirsync(['start', '--roles', roles], { env: { ...settings, LOG_LEVEL: 'info', ...env } }),
    async resync(): Promise<void> {
      const { code, stderr } = await dirsync(['resync', '--full', '--wait'], settings)
      expect([code, stderr]).toEqual([0, expect.not.stringContaining('failed')])
    },
    creations: async () => (await company.calls())['token/create'] ?? 0,
    halts: async () =>
      (await db.query<{ category: string }>('select category from dirsync.halt')).rows.map(
        ({ category }) => category,
      ),
    status: async () => (await dirsync(['status'], settings, '', 1000)).stdout,
    /** As if what has been going on since had been for longer by so much. */
    longAgo: (minutes: number) =>
      db.query(`update dirsync.process set asked_at = asked_at - $1 * interval '1 minute'`, [minutes]),
  }
}
