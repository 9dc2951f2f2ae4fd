import type { Pool } from 'pg'

/** Removes what is only history. Returns the rows removed per table. */
export async function prune(db: Pool): Promise<Record<string, number>> {
  const statements = {
    attempt: `delete from dirsync.attempt where started_at < now() - interval '30 days'`,
    dead_letter: `delete from dirsync.dead_letter where state = 'resolved' and resolved_at < now() - interval '180 days'
                  or state = 'ignored' and last_failed_at < now() - interval '180 days'`,
    sync_run: `delete from dirsync.sync_run r where finished_at < now() - interval '180 days'
               -- The sanity gate and the watermark still need the last good sweep.
               and id < (select coalesce(max(id), 0) from dirsync.sync_run where sweep and source is not null and state = 'done')`,
    job_tick: `delete from dirsync.job_tick where due_at < now() - interval '1 day'
               and due_at < (select max(due_at) from dirsync.job_tick t where t.job = job_tick.job)`,
    command: `delete from dirsync.command where requested_at < now() - interval '180 days'`,
    employee: `delete from dirsync.employee where vanished_at < now() - interval '180 days' and platform_state = 'absent'`,
  }
  const removed: Record<string, number> = {}
  for (const [table, statement] of Object.entries(statements)) {
    const { rowCount } = await db.query(statement)
    removed[table] = rowCount ?? 0
  }
  return removed
}
