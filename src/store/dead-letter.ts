import type { ClientBase, Pool } from 'pg'
import type { JobName } from '../core/job.ts'
import { NOBODY } from './keyless.ts'
import type { Work } from './pending.ts'

/** Asks for a retry of every case that is due by itself. Returns the run's number; null when none is due. */
export async function requestDueRetries(db: Pool): Promise<number | null> {
  const { rows } = await db.query(
    `with due as (
       select id from dirsync.dead_letter
       where next_retry_at <= now() and state not in ('resolved', 'ignored', 'retrying')
       order by next_retry_at limit 10000
     )
     insert into dirsync.sync_run (kind, keys, requested_by)
     select 'retry', array_agg(id::text order by id), 'cron' from due
     where not exists (select from dirsync.sync_run where kind = 'retry' and requested_by = 'cron' and state in ('requested', 'planning'))
     having count(*) > 0
     returning id`,
  )
  if (rows.length > 0) await db.query(`select pg_notify('dirsync', 'run')`)
  return rows[0]?.id ?? null
}

/** Marks cases as being retried and returns the work that they ask for; those of mirrors ask for a run instead. */
export async function beginRetry(db: ClientBase, ids: number[], runId: number): Promise<Work[]> {
  const { rows } = await db.query<{
    operation: JobName
    enterpriseCode: string
    entityKey: string
    detail: string
  }>(
    `with retried as (
       update dirsync.dead_letter d
       set state = 'retrying', next_retry_at = null, snooze_until = null, version = d.version + 1
       where d.id = any ($1) and d.state <> 'resolved'
       returning d.*
     ), told as (
       insert into dirsync.dead_letter_event (dead_letter_id, event, run_id) select id, 'retried', $2 from retried
     ), reopened as (
       update dirsync.department p set parked_at = null from retried r
       where r.operation = 'delete-department' and p.enterprise_code = r.enterprise_code and p.dept_code = r.entity_key
     )
     select distinct operation, enterprise_code as "enterpriseCode", entity_key as "entityKey",
            case when operation = 'bind-openid' then field else '' end as detail
     from retried where entity_key <> $3 and operation not like 'mirror-%'`,
    [ids, runId, NOBODY],
  )
  return rows.map(row => ({ ...row, wave: 0 }))
}

/** Lets the open cases of named employees be tried too: a person asked for them. */
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
         and d.state not in ('resolved', 'ignored')
       returning d.id
     )
     insert into dirsync.dead_letter_event (dead_letter_id, event, run_id) select id, 'retried', $2 from retried`,
    [JSON.stringify(employees), runId],
  )
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
