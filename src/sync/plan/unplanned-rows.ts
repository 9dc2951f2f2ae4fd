import type { SourceScope } from '../../hr/sources.ts'
import type { ClientBase } from '../../lib/database.ts'
import { type Message, message, toStore } from '../../texts/message.ts'
import { endCasesWhere, NO_USER_ID } from '../cases/cases.ts'

/* Cases about HR rows that are not planned, so that no job can fail for them: rows without a user id, and another source's. */

// Rows without a user id

/**
 * HR rows without a usable user id belong to no employee, so no job can fail for them: one case of each source gives their
 * number, until a run that reads every row finds none. When a person has accepted it, it reopens as the number changes.
 */
export async function recordKeyless(
  db: ClientBase,
  runId: number,
  rows: number,
  { name, codes }: SourceScope,
): Promise<void> {
  const [operation, field] = codes ? ['read-hr', name] : ['update-employee', 'userid']
  if (rows > 0)
    await db.query(
      `select dirsync.record_failure(jsonb_build_object(
         'enterprise_code', '', 'entity', 'employee', 'entity_key', $1::text,
         'operation', $5::text, 'field', $6::text, 'category', 'invalid_hr_row',
         'message', $2::jsonb, 'remedy', $3::jsonb, 'source_hash', md5($2::jsonb::text)::uuid, 'state', 'open',
         'last_run_id', $4::bigint))`,
      [
        NO_USER_ID,
        toStore(keylessMessage(rows, name)),
        toStore(message('said.keyless_remedy')),
        runId,
        operation,
        field,
      ],
    )
  else
    await endCasesWhere(
      db,
      `d.enterprise_code = '' and d.entity_key = $1 and d.operation = $2 and d.field = $3`,
      [NO_USER_ID, operation, field],
      { runId, resolution: 'succeeded' },
    )
}

function keylessMessage(count: number, name: string): Message {
  if (name === '') return count === 1 ? message('said.keyless_one') : message('said.keyless_many', { count })
  return count === 1
    ? message('said.keyless_one_of', { name })
    : message('said.keyless_many_of', { count, name })
}

// Rows that another source has

/**
 * Opens a case for each row in `stray` that has none yet: rows that one of several sources delivers for an enterprise of another
 * one, or of none. They are not planned, so that each employee has one source, whose row stays synced. A case names both sources.
 * @param readAll every row was read: cases of rows that are no longer delivered end
 */
export async function recordStray(
  db: ClientBase,
  runId: number,
  { name }: SourceScope,
  readAll: boolean,
): Promise<void> {
  await db.query(
    `with told as (
       select distinct s.enterprise_code, s.userid,
              jsonb_build_object(
               'key', 'said.stray_' || case when s.enterprise_code = '' then 'none_' else '' end
                      || case when o.name is null then 'unowned' else 'owned' end,
               'values', jsonb_strip_nulls(jsonb_build_object(
                 'name', $1::text, 'code', nullif(s.enterprise_code, ''), 'owner', o.name))) as message
       from stray s
       left join dirsync.hr_source o on s.enterprise_code = any (o.enterprise_codes)
     )
     select dirsync.record_failure(jsonb_build_object(
       'enterprise_code', enterprise_code, 'entity', 'employee', 'entity_key', userid,
       'operation', 'read-hr', 'field', $1::text, 'category', 'stray_row',
       'message', message, 'remedy', $2::jsonb, 'source_hash', md5(message::text)::uuid, 'state', 'open',
       'last_run_id', $3::bigint))
     from told t
     where not exists (select from dirsync.dead_letter d
                       where d.enterprise_code = t.enterprise_code and d.entity_key = t.userid
                         and d.operation = 'read-hr' and d.field = $1 and d.state not in ('resolved', 'retrying')
                         and d.source_hash = md5(t.message::text)::uuid)
     order by enterprise_code, userid`,
    [name, toStore(message('said.stray_remedy')), runId],
  )
  if (!readAll) return
  await endCasesWhere(
    db,
    `d.operation = 'read-hr' and d.field = $1 and d.entity_key <> $2
       and not exists (select from stray s
                       where s.enterprise_code = d.enterprise_code and s.userid = d.entity_key)`,
    [name, NO_USER_ID],
    { runId, resolution: 'succeeded' },
  )
}
