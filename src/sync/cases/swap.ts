import type { ClientBase } from '../../lib/database.ts'
import { message, type Said, toStore } from '../../texts/message.ts'
import { wantedIn } from '../outbox/claim.ts'
import { type CaseState, ENDED_BY_HOLDER, openBlocked, type RecordedCase, type TouchedCase } from './cases.ts'

/**
 * Employees who want each other's mobile number or e-mail address: A that of B, B that of A, or a longer circle. None of them
 * can be sent before another, so their cases are one group (`dead_letter.swap_id`), which says what a person can do. All of it
 * happens in the transaction of an outcome, under the lock of those that concern others.
 */

/** Longer circles are not recognised: their members stay ordinary cases. */
const MOST_MEMBERS = 200

/** A case `d` that waits for its holder. One that is being retried may succeed, so it is not part of a circle. */
const WAITS = `d.operation = 'update-employee' and d.state in ('open', 'blocked', 'snoozed', 'ignored')`

interface Member {
  id: number
  userid: string
  /** The holder of the wanted value. */
  holder: string
  field: string
  /** The wanted value, masked. */
  wanted: string | null
}

/**
 * Groups cases that wait for each other in a circle, and ends groups that a member has left.
 * @param recorded cases that have just failed
 * @param resolved cases that have just ended
 * @returns the members of groups that have ended: each is due at once
 */
export async function reviewSwaps(
  client: ClientBase,
  recorded: RecordedCase[],
  resolved: TouchedCase[],
): Promise<TouchedCase[]> {
  const whole: number[] = []
  for (const { id, waits } of recorded) {
    const swap = waits ? await recogniseSwap(client, id) : null
    if (swap !== null) whole.push(swap)
  }
  const touched = [...recorded, ...resolved]
  if (touched.length === 0) return []
  const runId = touched[0]?.runId ?? null
  const ids = touched.map(({ id }) => id)
  return (await dissolveSwaps(client, ids, whole)).map(id => ({ id, runId }))
}

/**
 * Follows a case from holder to holder. If that leads back to it, all the cases on the way become one group.
 * @returns the group's number, which is that of its oldest case; null without a circle
 */
async function recogniseSwap(client: ClientBase, id: number): Promise<number | null> {
  const { rows } = await client.query<Member>(
    `with recursive circle as (
       select 1 as position, d.* from dirsync.dead_letter d where d.id = $1 and ${WAITS}
       union all
       select c.position + 1, d.*
       from circle c
       join dirsync.dead_letter d
         on d.enterprise_code = c.enterprise_code and d.entity_key = c.blocked_by
         and d.field = c.field and ${WAITS}
       where c.position < ${MOST_MEMBERS} and d.id <> $1
     )
     select id, entity_key as userid, blocked_by as holder, field,
            ${wantedIn('circle')} as wanted
     from circle order by position`,
    [id],
  )
  const first = rows[0]
  if (!first || rows.length < 2 || rows.at(-1)?.holder !== first.userid) return null
  const ids = rows.map(member => member.id)
  const swap = Math.min(...ids)
  const about = aboutSwap(rows, swap)
  await client.query(
    `with grouped as (
       update dirsync.dead_letter d
       set swap_id = $2, message = $3, remedy = $4, version = d.version + 1
       from dirsync.dead_letter before
       where d.id = any ($1) and before.id = d.id
       returning d.id, d.last_run_id, before.swap_id
     )
     insert into dirsync.dead_letter_event (dead_letter_id, event, run_id, said)
     select id, 'changed', last_run_id, $5
     from grouped where swap_id is distinct from $2`,
    [
      ...[ids, swap, toStore(about.message), toStore(about.remedy)],
      toStore(message('said.swap_of', { case: swap })),
    ],
  )
  await openBlocked(client, ids)
  return swap
}

/** What to say about a circle, whose members each want the next one's value, beginning with its oldest case. */
function aboutSwap(circle: Member[], swap: number): { message: Said; remedy: Said } {
  const start = circle.findIndex(({ id }) => id === swap)
  const [oldest, ...others] = [...circle.slice(start), ...circle.slice(0, start)] as [Member, ...Member[]]
  const { userid, holder } = oldest
  const what = { key: `field.${oldest.field}` } as const
  // The last one wants the oldest one's value.
  const value = others.at(-1)?.wanted
  return {
    message: message('said.swap', {
      ...{ userid, what, holder },
      others: others.map(member => message('said.swap_member', member)),
    }),
    remedy: value
      ? message('said.swap_remedy', { what, userid, value, case: swap })
      : message('said.swap_remedy_plain', { what, userid, case: swap }),
  }
}

/**
 * Ends the groups of these cases, except those given: a member has left.
 * @returns the other members that still wait: only a retry shows the state of each
 */
async function dissolveSwaps(client: ClientBase, ids: number[], stillWhole: number[]): Promise<number[]> {
  const { rows } = await client.query<{ id: number; state: CaseState }>(
    `update dirsync.dead_letter d set swap_id = null, version = d.version + 1
     where d.swap_id in (select swap_id from dirsync.dead_letter where id = any ($1))
       and d.swap_id <> all ($2)
     returning d.id, d.state`,
    [ids, stillWhole],
  )
  return rows
    .filter(({ id, state }) => ENDED_BY_HOLDER.includes(state) && !ids.includes(id))
    .map(({ id }) => id)
}
