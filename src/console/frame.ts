import { html } from '@remix-run/html-template'
import { onlyRow } from '../lib/database.ts'
import type { Ask } from './ask.ts'
import { mayAs } from './auth/viewer.ts'
import { SCREENS } from './screens.ts'
import type { Services } from './services.ts'
import { STANDSTILL, type Standstill, stateBar } from './state.ts'
import type { Frame } from './ui/layout.ts'

const COUNTS = SCREENS.flatMap(({ name, badge }) => (badge ? [`'${name}', (${badge.sql})`] : []))

type Own = Pick<Frame, 'notice' | 'version' | 'current'>

/** Reads what is shown around every page, from a few rows. */
export async function readFrame({ pool }: Services, ask: Ask, own: Own): Promise<Frame> {
  const { rows } = await pool.query<{
    name: string | null
    app_id: string
    counts: Record<string, unknown>
    state: Standstill
  }>({
    name: 'console frame',
    text: `
      select (select name from dirsync.deployment) as name, (select app_id from dirsync.deployment) as app_id,
             jsonb_build_object(${COUNTS.join(', ')}) as counts,
             ${STANDSTILL} as state`,
  })
  const { name, app_id, counts, state } = onlyRow(rows)
  return {
    ...own,
    deployment: name ?? app_id ?? 'dirsync',
    bar: stateBar(ask, state),
    entries: seenBy(ask).map(({ name, badge }) => {
      const value = (counts[name] ?? 0) as never
      return { name, badge: badge?.count ? badge.count(value) : value, list: badge?.list }
    }),
  }
}

/** The frame without figures, for when they cannot be read or are not worth it. */
export function plainFrame(ask: Ask, own: Own): Frame {
  const entries = seenBy(ask).map(({ name }) => ({ name, badge: 0 }))
  return { ...own, deployment: 'dirsync', bar: html``, entries }
}

function seenBy({ viewer }: Ask) {
  return SCREENS.filter(({ role = 'viewer' }) => mayAs(viewer.role, role))
}

/** The entry of the navigation that an address lies below; null if it is none. */
export function entryOf(url: string): Frame['current'] {
  const first = /^\/([^/?]*)/.exec(url)?.[1]
  return SCREENS.find(({ name }) => name === first)?.name ?? null
}
