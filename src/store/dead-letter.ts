import type { ClientBase, Pool } from 'pg'
import type { JobName } from '../core/job.ts'
import { NOBODY } from './keyless.ts'
import type { Work } from './pending.ts'
import { beginProbes, probeWith, tellWithheld } from './withheld.ts'

/**
 * Asks for a retry of every case that is due by itself, and of those of fields whose probe is due, whatever a person decided
 * about them. Returns the run's number; null when none is due.
 */
export async function requestDueRetries(db: Pool): Promise<number | null> {
  await tellWithheld(db)
  const { rows } = await db.query(
    `with due as (
       select id from dirsync.dead_letter
       where next_retry_at <= now() and state not in ('resolved', 'ignored', 'retrying')
       order by next_retry_at limit 10000
     ), probed as (
       select d.id from dirsync.field_block b
       join dirsync.dead_letter d on d.enterprise_code = b.enterprise_code and d.entity = 'enterprise'
         and d.operation = 'update-employee' and d.field = b.field and d.state <> 'resolved'
       where b.next_probe_at <= now()
     )
     insert into dirsync.sync_run (kind, keys, requested_by)
     select 'retry', array_agg(id::text order by id), 'cron' from (select id from due union select id from probed) ids
     where not exists (select from dirsync.sync_run
                       where kind = 'retry' and requested_by = 'cron' and state in ('requested', 'planning') and finished_at is null)
     having count(*) > 0
     returning id`,
  )
  if (rows.length > 0) await db.query(`select pg_notify('dirsync', 'run')`)
  return rows[0]?.id ?? null
}

/**
 * Marks cases as being retried, with those of the swaps they belong to, and returns the work that they ask for; those of
 * mirrors ask for a run instead. One that a person accepted is tried again only when a person asks for it.
 */
export async function beginRetry(db: ClientBase, ids: number[], runId: number | null): Promise<Work[]> {
  const probes = await beginProbes(db, ids, runId)
  const { rows } = await db.query<{
    operation: JobName
    enterpriseCode: string
    entityKey: string
    detail: string
  }>(
    `with asked as (
       select id from dirsync.dead_letter where id = any ($1)
       union
       select other.id from dirsync.dead_letter d join dirsync.dead_letter other on other.swap_id = d.swap_id
       where d.id = any ($1) and other.state in ('open', 'blocked')
     ), retried as (
       update dirsync.dead_letter d
       set state = 'retrying', next_retry_at = null, snooze_until = null, version = d.version + 1
       from asked
       where d.id = asked.id and d.state <> 'resolved'
         -- Unless a person asks, what a person ignores is left alone, and an enterprise's is probed without a word.
         and not ((d.state = 'ignored' or d.entity = 'enterprise' and d.state = 'snoozed' and d.snooze_until > now())
                  and exists (select from dirsync.sync_run r where r.id = $2 and r.requested_by = 'cron'))
       returning d.*
     ), told as (
       insert into dirsync.dead_letter_event (dead_letter_id, event, run_id) select id, 'retried', $2 from retried
     ), reopened as (
       update dirsync.department p set parked_at = null from retried r
       where r.operation = 'delete-department' and p.enterprise_code = r.enterprise_code and p.dept_code = r.entity_key
     )
     select distinct operation, enterprise_code as "enterpriseCode", entity_key as "entityKey",
            case when operation = 'bind-openid' then field else '' end as detail
     from retried where entity_key <> $3 and entity <> 'enterprise' and operation not like 'mirror-%'`,
    [ids, runId, NOBODY],
  )
  return [...rows.map(row => ({ ...row, wave: 0 })), ...probes]
}

/**
 * Whether a person named the cases of a retry run one by one. A whole category, a case of the enterprise, or what is due by
 * itself names nobody.
 */
export async function isRetryByName(db: ClientBase, runId: number): Promise<boolean> {
  const { rowCount } = await db.query(
    `select from dirsync.command c join dirsync.sync_run r on r.id = c.run_id
     where c.run_id = $1 and c.name = 'retry'
       and not exists (select from dirsync.dead_letter d where d.id = any (r.keys::bigint[]) and d.entity = 'enterprise')
     limit 1`,
    [runId],
  )
  return (rowCount ?? 0) > 0
}

/** Lets the open cases of named employees be tried too, and the fields withheld from them: a person asked for them. */
export async function beginRetryOf(
  db: ClientBase,
  employees: { enterpriseCode: string; userid: string }[],
  runId: number,
): Promise<void> {
  await db.query(
    `with retried as (
       update dirsync.dead_letter d
       set state = 'retrying', next_retry_at = null, snooze_until = null, version = d.version + 1
       from jsonb_to_recordset($1) as e ("enterpriseCode" text, userid text)
       where d.enterprise_code = e."enterpriseCode" and d.entity_key = e.userid and d.operation = 'update-employee'
         and d.entity = 'employee' and d.state not in ('resolved', 'ignored')
       returning d.id
     )
     insert into dirsync.dead_letter_event (dead_letter_id, event, run_id) select id, 'retried', $2 from retried`,
    [JSON.stringify(employees), runId],
  )
  await probeWith(db, employees)
}

/** Open cases about departments that HR does not want deleted any more. */
export async function unwantedDepartmentCases(
  db: ClientBase,
  wanted: { enterpriseCode: string; deptCode: string }[],
): Promise<number[]> {
  const { rows } = await db.query(
    `select id from dirsync.dead_letter d
     where d.operation = 'delete-department' and d.state not in ('resolved', 'ignored', 'retrying')
       and not exists (select from jsonb_to_recordset($1) as w ("enterpriseCode" text, "deptCode" text)
                       where w."enterpriseCode" = d.enterprise_code and w."deptCode" = d.entity_key)`,
    [JSON.stringify(wanted)],
  )
  return rows.map(row => row.id)
}
