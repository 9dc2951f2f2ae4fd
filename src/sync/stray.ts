import type { SourceScope } from '../hr/sources.ts'
import type { ClientBase } from '../lib/database.ts'
import { message, toStore } from '../texts/message.ts'
import { endCases } from './cases.ts'
import { NO_USER_ID } from './plan-employees.ts'

/**
 * Rows that one of several sources delivers for an enterprise of another one, or of none. They are not planned, so that each
 * employee has one source, whose row stays synced. A case for each employee names both sources.
 */

/**
 * Opens a case for each row in `stray` that has none yet.
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
  const { rows } = await db.query<{ id: number }>(
    `select id from dirsync.dead_letter d
     where operation = 'read-hr' and field = $1 and entity_key <> $2 and state <> 'resolved'
       and not exists (select from stray s
                       where s.enterprise_code = d.enterprise_code and s.userid = d.entity_key)
     order by id`,
    [name, NO_USER_ID],
  )
  await endCases(
    db,
    rows.map(({ id }) => ({ id, runId, resolution: 'succeeded' })),
  )
}
