import type { Pool } from '../src/lib/database.ts'
import type { CronJob } from './index.ts'

export const prune: CronJob = {
  name: 'prune',
  does: 'drops attempts, calls and decided plans after 30 days, closed dead letters after 180',
  schedule: '15 4 * * *',
  async run({ pool, logger }) {
    logger.info(await pruneHistory(pool), 'history pruned')
  },
}

/** Removes what is only history. Returns the rows removed per table that may lose any. */
export async function pruneHistory(db: Pool): Promise<Record<string, number>> {
  const statements = {
    attempt: `delete from dirsync.attempt where started_at < now() - interval '30 days'`,
    call_minute: `delete from dirsync.call_minute where minute < now() - interval '30 days'`,
    dead_letter: `delete from dirsync.dead_letter d where state = 'resolved' and resolved_at < now() - interval '180 days'
                  -- What a person accepted stays accepted as long as there is whom it concerns; else it would fail anew.
                  or state = 'ignored' and last_failed_at < now() - interval '180 days' and entity <> 'mirror'
                    and not exists (select from dirsync.employee e where e.enterprise_code = d.enterprise_code
                                      and e.userid = d.entity_key and e.vanished_at is null)
                    and not exists (select from dirsync.department p where p.enterprise_code = d.enterprise_code
                                      and p.dept_code = d.entity_key and p.deleted_at is null)
                    and not (operation = 'mirror-orders'
                             and exists (select from dirsync.payment_order o
                                         where o.enterprise_code = d.enterprise_code and o.userid = d.entity_key))`,
    sync_run: `delete from dirsync.sync_run r where finished_at < now() - interval '180 days'
               -- The sanity gate and the watermark still need the last good sweep.
               and id < (select coalesce(max(id), 0) from dirsync.sync_run where sweep and source is not null and state = 'done')
               -- HR's trigger may ask for a run every second, retries for one every ten seconds.
               or (kind = 'changes' and keys <> '{}' or kind = 'retry') and planned = 0 and finished_at < now() - interval '1 day'`,
    planned_work: `delete from dirsync.planned_work w using dirsync.sync_run r
                   where r.id = w.run_id and r.finished_at < now() - interval '30 days'`,
    job_tick: `delete from dirsync.job_tick where due_at < now() - interval '1 day'
               and due_at < (select max(due_at) from dirsync.job_tick t where t.job = job_tick.job)`,
    command: `delete from dirsync.command where requested_at < now() - interval '180 days'`,
    // The longest window of payment orders has 366 days.
    mirror_day: `delete from dirsync.mirror_day where day < current_date - 400`,
    // A department that HR still lists, closed, stays known as deleted.
    department: `delete from dirsync.department where deleted_at < now() - interval '180 days'
                 and first_missing_at < now() - interval '180 days'`,
    openid_binding: `delete from dirsync.openid_binding b using dirsync.employee e
                     where e.enterprise_code = b.enterprise_code and e.userid = b.userid
                       and e.vanished_at < now() - interval '180 days' and e.platform_state = 'absent'`,
    employee: `delete from dirsync.employee where vanished_at < now() - interval '180 days' and platform_state = 'absent'`,
  }
  const removed: Record<string, number> = {}
  for (const [table, statement] of Object.entries(statements)) {
    const { rowCount } = await db.query(statement)
    removed[table] = rowCount ?? 0
  }
  return removed
}
