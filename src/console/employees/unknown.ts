import { z } from 'zod'
import type { Pool } from '../../lib/database.ts'
import { ENTERPRISES_WITH_SOURCE } from '../../sync/outbox/employee.ts'
import type { Ask } from '../ask.ts'
import type { NoticeBlock } from '../shown.ts'
import { employeePath } from '../ui/paths.ts'

/* Enterprises whose user ids the platform does not know: one mistake in the mapping, rather than many people to wait for. */

export const UnknownPeople = z.object({
  enterprise_code: z.string(),
  looked: z.int().describe('Employees in service that were looked at: the first and the last by user id'),
  unknown: z.int().describe('Those of them that the platform does not know'),
  example: z.string().describe('The user id of one'),
})
export type UnknownPeople = z.infer<typeof UnknownPeople>

/** Employees at each end of an enterprise that are looked at, so that the cost does not grow with it. */
const LOOKED = 50
const MOST_ENTERPRISES = 10
/** Fewer are new people who have yet to be activated. */
const FEWEST = 3
const SHARE = 0.95

/** Enterprises of which the platform knows hardly anyone, of the first few with an HR source that have people it does not know. */
export async function readUnknownPeople(db: Pool): Promise<UnknownPeople[]> {
  const end = (order: 'asc' | 'desc') => `
    (select userid, status from dirsync.employee e where e.enterprise_code = x.code order by userid ${order} limit ${LOOKED})`
  const { rows } = await db.query<UnknownPeople>({
    name: 'unknown people',
    text: `
      select x.code as enterprise_code, looked, "unknown", example
      from (select k.enterprise_code as code from (${ENTERPRISES_WITH_SOURCE}) k
            cross join lateral (select from dirsync.employee e
                                where e.enterprise_code = k.enterprise_code and e.status = 'awaiting_activation'
                                limit 1) e
            order by code limit ${MOST_ENTERPRISES}) x
      cross join lateral (
        select count(*)::int as looked,
               count(*) filter (where status = 'awaiting_activation')::int as "unknown",
               min(userid) filter (where status = 'awaiting_activation') as example
        from (${end('asc')} union ${end('desc')}) few
        where status not in ('left', 'vanished')) seen
      where "unknown" >= ${FEWEST} and "unknown" >= ${SHARE} * looked
      order by code`,
  })
  return rows
}

/** @param isAnyoneInSync whether the platform knows people of other enterprises */
export function unknownNotice({ t }: Ask, found: UnknownPeople, isAnyoneInSync: boolean): NoticeBlock {
  const { enterprise_code: code, looked, unknown, example } = found
  return {
    notice: 'warn',
    title: t('employees.unknown_ids', { enterprise: code || 'none', unknown, looked }),
    what: [
      t('employees.unknown_ids.example'),
      ' ',
      { to: employeePath({ enterpriseCode: code, userid: example }), text: { code: example } },
    ],
    todo: t(isAnyoneInSync ? 'employees.unknown_ids.enterprise' : 'employees.unknown_ids.userid'),
  }
}
