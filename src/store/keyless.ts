import type { ClientBase } from 'pg'

/** Stands for the user id in the case about rows that have none. */
export const NOBODY = '(no user id)'

/**
 * HR rows without a user id that could be one are about nobody, so no job can fail for them: one case tells how many there are, until a run
 * that reads every row finds none. When a person has accepted it, it reopens as the number changes.
 */
export async function recordKeyless(db: ClientBase, runId: number, rows: number): Promise<void> {
  if (rows > 0)
    await db.query(
      `select dirsync.record_failure(jsonb_build_object(
         'enterprise_code', '', 'entity', 'employee', 'entity_key', $1::text, 'operation', 'update-employee', 'field', 'userid',
         'category', 'invalid_hr_row', 'message', $2::text, 'remedy', $3::text, 'source_hash', md5($2)::uuid, 'state', 'open',
         'last_run_id', $4::bigint))`,
      [
        NOBODY,
        `${rows === 1 ? 'One row of HR has' : `${rows} rows of HR have`} no user id, or one that is far too long.`,
        'Give each a user id of at most 100 characters in HR, or leave them out of the mapping; it ends with the next run that reads every row.',
        runId,
      ],
    )
  else
    await db.query(
      `with ended as (
         update dirsync.dead_letter set state = 'resolved', resolution = 'succeeded', resolved_by = 'dirsync', resolved_at = now(),
                                        next_retry_at = null, version = version + 1
         where entity_key = $1 and operation = 'update-employee' and state <> 'resolved'
         returning id
       )
       insert into dirsync.dead_letter_event (dead_letter_id, event, run_id, note) select id, 'resolved', $2, 'succeeded' from ended`,
      [NOBODY, runId],
    )
}
