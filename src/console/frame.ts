import { countUrgent, FIRING_ALERTS, type FiringAlert } from '../alerts/report.ts'
import { onlyRow } from '../lib/database.ts'
import type { Services } from './services.ts'
import type { Frame } from './ui/layout.ts'

/** What surrounds every page, read from a few rows. */
export async function readFrame({ pool }: Services, own: Pick<Frame, 'notice' | 'version'>): Promise<Frame> {
  const { rows } = await pool.query<{
    name: string | null
    app_id: string
    cases: number
    held: number
    halts: number
    alerts: FiringAlert[]
  }>({
    name: 'console frame',
    text: `
      select (select name from dirsync.deployment) as name, (select app_id from dirsync.deployment) as app_id,
             coalesce((select sum(n) from dirsync.tally
                       where source = 'dead_letter' and state in ('open', 'blocked')), 0)::int as cases,
             coalesce((select sum(n) from dirsync.tally
                       where source = 'sync_run' and state = 'held'), 0)::int as held,
             (select count(*) from dirsync.halt)::int as halts,
             (select coalesce(jsonb_agg(f), '[]')
              from (${FIRING_ALERTS}) f) as alerts`,
  })
  const { name, app_id, cases, held, halts, alerts } = onlyRow(rows)
  return {
    ...own,
    deployment: name ?? app_id ?? 'dirsync',
    badges: { cases, runs: held, halts, alerts: countUrgent(alerts) },
  }
}
