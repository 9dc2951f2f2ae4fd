import { onlyRow } from '../lib/database.ts'
import type { Ask } from './ask.ts'
import { mayAs } from './auth/viewer.ts'
import { SCREENS } from './screens.ts'
import type { Services } from './services.ts'
import type { Frame } from './ui/layout.ts'

const COUNTS = SCREENS.flatMap(({ name, badge }) => (badge ? [`'${name}', (${badge.sql})`] : []))

/** Reads what is shown around every page, from a few rows. */
export async function readFrame(
  { pool }: Services,
  { viewer }: Ask,
  own: Pick<Frame, 'notice' | 'version' | 'current'>,
): Promise<Frame> {
  const { rows } = await pool.query<{
    name: string | null
    app_id: string
    counts: Record<string, unknown>
  }>({
    name: 'console frame',
    text: `
      select (select name from dirsync.deployment) as name, (select app_id from dirsync.deployment) as app_id,
             jsonb_build_object(${COUNTS.join(', ')}) as counts`,
  })
  const { name, app_id, counts } = onlyRow(rows)
  const seen = SCREENS.filter(({ role = 'viewer' }) => mayAs(viewer.role, role))
  return {
    ...own,
    deployment: name ?? app_id ?? 'dirsync',
    entries: seen.map(({ name, badge }) => {
      const value = (counts[name] ?? 0) as never
      return { name, badge: badge?.count ? badge.count(value) : value }
    }),
  }
}
