import { z } from 'zod'
import { noticeWay, readNoticeAddresses } from '../../alerts/notices.ts'
import type { Ask } from '../ask.ts'
import type { Services } from '../services.ts'

/* Whether a person to whom cases are assigned is told of it. Whom, and how, is decided in SQL and in alerts/notices.ts. */

export const HowTold = z
  .enum(['mail', 'chat', 'no_way', 'no_need'])
  .describe(
    'How the person to whom it is assigned is told; no_way: not at all, as no address or no channel is known; no_need: no ' +
      'one, or the caller',
  )
type HowTold = z.infer<typeof HowTold>

/** How a person is told of what the asker assigns to them. */
export async function howTold(
  { pool, config }: Pick<Services, 'pool' | 'config'>,
  { viewer }: Ask,
  assignee: string | null | undefined,
): Promise<HowTold> {
  const name = assignee?.toLowerCase()
  if (!name || (name === viewer.name && viewer.via !== 'token' && viewer.via !== 'shell')) return 'no_need'
  const addresses = (await readNoticeAddresses(pool, [name])).get(name)
  return (addresses && noticeWay(addresses, config.channels)?.by) ?? 'no_way'
}

/** The same in words, behind a sentence; empty: there is nothing to say. */
export function toldText({ t }: Ask, name: string, told: HowTold): string {
  return told === 'no_need' ? '' : t(`cases.told.${told}`, { name })
}
