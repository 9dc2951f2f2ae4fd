import { onlyRow, type Pool } from '../src/lib/database.ts'
import { HOURS_KEPT, MINUTES_KEPT } from '../src/sync/health/figures.ts'
import { ATTEMPTS_KEPT_DAYS } from '../src/sync/outbox/claim.ts'
import { keepOutcomes } from '../src/sync/plan/stored-plan.ts'
import { EMPLOYEE_KINDS_SQL, OF_EVERYBODY } from '../src/sync/runs/run.ts'

/** Deletes rows that are only history, so many by a statement. Returns the rows deleted, by table. */
export async function pruneHistory(db: Pool, portion = 100_000): Promise<Record<string, number>> {
  await keepOutcomes(db)
  const removed: Record<string, number> = {}
  for (const [table, which] of Object.entries({ attempt: await oldAttempts(db), ...OLD }))
    removed[table] = await remove(db, table, which, portion)
  return removed
}

/** Each portion stays deleted if a later one fails: what has grown for weeks takes longer than a statement may. */
async function remove(db: Pool, table: string, which: string, portion: number): Promise<number> {
  let removed = 0
  for (;;) {
    const { rowCount } = await db.query(
      `delete from dirsync.${table} where ctid = any (array(
         select t.ctid from dirsync.${table} t where ${which} limit ${portion} for update))`,
    )
    const count = rowCount ?? 0
    removed += count
    if (count < portion) return removed
  }
}

/**
 * Reads only those that go, by the primary key up to the first that stays: the index on their time tells nothing about pages that
 * younger ones have taken over.
 */
async function oldAttempts(db: Pool): Promise<string> {
  const old = `now() - interval '${ATTEMPTS_KEPT_DAYS} days'`
  const { rows } = await db.query<{ id: string }>(
    // One that a clock was ahead for is not the first that stays.
    `select coalesce((select id from dirsync.attempt where started_at between ${old} and now() order by id limit 1),
                     9223372036854775807)::text as id`,
  )
  return `
    id < ${onlyRow(rows).id} and started_at < ${old}
      -- A run is counted when it ends, with the runs that sent parts of its plan.
      and coalesce(run_id <> all (array(
            select r.id from dirsync.sync_run r where r.finished_at is null
            union all
            select p.id from dirsync.sync_run r join dirsync.sync_run p on p.part_of = r.id
            where r.finished_at is null)), true)
    order by id`
}

/** The longest window of payment orders has 366 days. */
const OLDEST_ORDER = 'current_date - 400'

/** By table, in the order in which they are pruned: which of its rows `t` are only history. */
const OLD = {
  call_minute: `minute < now() - interval '${MINUTES_KEPT} days'`,
  call_hour: `hour < now() - interval '${HOURS_KEPT} days'`,
  status_history: `at < now() - interval '${HOURS_KEPT} days'`,
  dead_letter: `
    state = 'resolved' and resolved_at < now() - interval '180 days'
    -- A case that a person accepted stays accepted while its subject exists; otherwise it would fail anew. Those of a mirror, of
    -- a field that is off, and of another source's row end with their cause.
    or state = 'ignored' and last_failed_at < now() - interval '180 days'
      and entity not in ('mirror', 'enterprise') and operation <> 'read-hr'
      and not exists (select from dirsync.employee e
                      where e.enterprise_code = t.enterprise_code and e.userid = t.entity_key
                        and (e.vanished_at is null or e.platform_state <> 'absent'))
      and not exists (select from dirsync.department p
                      where p.enterprise_code = t.enterprise_code and p.dept_code = t.entity_key
                        and p.deleted_at is null)
      and not (operation = 'mirror-orders'
               and exists (select from dirsync.payment_order o
                           where o.enterprise_code = t.enterprise_code and o.userid = t.entity_key))`,
  // While its cause stays, a case is retried for ever. It keeps how often it failed, and when first and last.
  dead_letter_event: `event = 'retried' and actor = 'dirsync' and at < now() - interval '30 days'`,
  sync_run: `
    -- What people decided stays, and what was sent of it. Of what was rejected in 1.0.0, only the run tells.
    part_of is null and state <> 'rejected' and not exists (select from dirsync.plan_decision d where d.run_id = t.id) and (
    finished_at < now() - interval '180 days'
      -- The sanity gate and the watermark still need the last full reading of each source.
      and id < (select coalesce(max(id), 0) from dirsync.sync_run s
                where read_all and source is not null and state = 'done'
                  and (s.hr_source = t.hr_source or t.kind not in ${EMPLOYEE_KINDS_SQL}))
      -- By the last good one of its kind a rare schedule is not overdue. One of another kind would be looked for among all runs.
      and (t.kind not in ${EMPLOYEE_KINDS_SQL}
           or id is distinct from (select max(id) from dirsync.sync_run s
                                   where ${OF_EVERYBODY} and s.kind = t.kind and s.hr_source = t.hr_source
                                     and state = 'done'))
    -- HR's trigger may request a run every second, retries one every ten seconds: their attempts go as soon.
    or (kind = 'changes' and keys <> '{}' or kind = 'retry' and requested_by = 'cron')
      and finished_at < now() - interval '${ATTEMPTS_KEPT_DAYS} days'
    or (kind = 'changes' and keys <> '{}' or kind = 'retry') and planned = 0
      and finished_at < now() - interval '1 day')`,
  planned_work: `
    exists (select from dirsync.sync_run r
            where r.id = t.run_id
              and r.finished_at < now() - case when r.part_of is not null
                                                 or exists (select from dirsync.plan_decision d where d.run_id = r.id)
                                               then interval '180 days' else interval '30 days' end)
      -- What still differs by a rejected part shows who rejected it, and why.
      and (t.decision_id is null
           or not exists (select from dirsync.employee e
                          where t.operation = 'update-employee' and e.enterprise_code = t.enterprise_code
                            and e.userid = t.entity_key and e.held_run = t.run_id and e.rejected)
              and not exists (select from dirsync.department p
                              where t.operation = 'delete-department' and p.enterprise_code = t.enterprise_code
                                and p.dept_code = t.entity_key and p.rejected_run = t.run_id and p.deleted_at is null))`,
  dry_run: `finished_at < now() - interval '30 days'`,
  job_tick: `
    due_at < now() - interval '1 day'
      and due_at < (select max(due_at) from dirsync.job_tick later where later.job = t.job)`,
  // Those that were killed; others delete their own.
  process: `heartbeat_at < now() - interval '1 day'`,
  alert_message: `created_at < now() - interval '30 days'`,
  alert: `ended_at < now() - interval '180 days'`,
  // No process has had a channel for them for as long as messages wait.
  notice: `at < now() - interval '1 day'`,
  // They show from where a user has signed in before, and who was signed in when.
  console_session: `expires_at < now() - interval '30 days'`,
  sign_in_key: `expires_at < now() - interval '30 days'`,
  sign_in_link: `expires_at < now() - interval '30 days'`,
  sign_in_flow: 'expires_at < now()',
  refused_notification: `
    last_at < now() - interval '30 days'
      -- It keeps a refund of unknown outcome from being called not carried out.
      and not exists (select from dirsync.refund r
                      where r.outer_refund_no = t.outer_refund_no and r.state in ('requested', 'unknown'))`,
  idempotency_key: `at < now() - interval '1 day'`,
  sign_in_failure: `last_at < now() - interval '1 hour'`,
  api_token: `
    least(revoked_at, expires_at) < now() - interval '180 days'
      -- Whose a token is shows by the one that it was added with.
      and not exists (select from dirsync.api_token later
                      where later.id > t.id and later.created_by like '%(api:token:' || t.name || ')')`,
  // A trigger refuses to delete younger ones.
  command: `requested_at < now() - interval '180 days'`,
  bulk_action: `
    created_at < now() - interval '1 day' and (state = 'preview' or created_at < now() - interval '30 days')`,
  mirror_day: `day < ${OLDEST_ORDER}`,
  // A department that HR still lists, closed, stays known as deleted.
  department: `deleted_at < now() - interval '180 days' and first_missing_at < now() - interval '180 days'`,
  openid_binding: `
    exists (select from dirsync.employee e
            where e.enterprise_code = t.enterprise_code and e.userid = t.userid
              and e.vanished_at < now() - interval '180 days' and e.platform_state = 'absent')`,
  employee: `
    vanished_at < now() - interval '180 days' and platform_state = 'absent'
      -- One who has returned, and waits for a decision or was rejected.
      and held_run is null
      -- Without them the payer of an order would be unknown.
      and not exists (select from dirsync.payment_order o
                      where o.enterprise_code = t.enterprise_code and o.userid = t.userid
                        and o.listed_on >= ${OLDEST_ORDER})`,
}
