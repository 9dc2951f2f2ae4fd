import type { EmployeeKey } from '../../directory/employee.ts'
import type { SourceScope } from '../../hr/sources.ts'
import { type ClientBase, onlyRow, type Pool, transaction } from '../../lib/database.ts'
import { formatJobKey } from '../../queue/job.ts'
import { LONGEST_REST_MS } from '../outbox/backoff.ts'
import { hasSource } from '../outbox/employee.ts'
import { addWork, PRIORITY, type Work } from '../outbox/outbox.ts'
import { type Settlement, storedEmployee } from '../outbox/outcome.ts'
import { ENDED_BY_HOLDER, isOneOf, markRetrying, NO_USER_ID, type TouchedCase, UNRESOLVED } from './cases.ts'
import {
  beginProbes,
  CASES_LEFT,
  IS_BEING_PROBED,
  IS_CASE_OF_BLOCK,
  probeWith,
  tellWithheld,
} from './withheld.ts'

/** Selects the cases to retry: at once because of an outcome, by themselves when they are due, or because a person asks. */

/** Cases that wait for a value that an employee has given up, or may have: due at once. */
export async function releasedBy(client: ClientBase, settlements: Settlement[]): Promise<TouchedCase[]> {
  const changed = settlements
    .filter(settlement => settlement.changed)
    .map(settlement => {
      const { key, runId, sentUnknown } = settlement
      const { fields = [], available = [], memory } = storedEmployee(settlement) ?? {}
      const everything = sentUnknown || memory?.platformState === 'absent'
      return { ...key, runId, fields, available, everything }
    })
  if (changed.length === 0) return []
  const { rows } = await client.query<TouchedCase>(
    `with changed as (
       select * from jsonb_to_recordset($1)
         as s ("enterpriseCode" text, "entityKey" text, "runId" bigint, fields text[], everything boolean,
               available jsonb)
     )
     select d.id, s."runId"
     from changed s
     join dirsync.dead_letter d
       on d.enterprise_code = s."enterpriseCode" and d.blocked_by = s."entityKey"
     where d.state ${isOneOf(ENDED_BY_HOLDER)} and (s.everything or d.field = any (s.fields))
     union
     select d.id, s."runId"
     from changed s
     cross join jsonb_to_recordset(s.available) as a (category text, value text)
     join dirsync.dead_letter d
       on d.enterprise_code = s."enterpriseCode" and d.category = a.category
       -- By an index of its own: a thousand may wait for a thousand values.
       and upper((d.changed_fields -> 0 ->> 'value') collate "C") = upper(a.value collate "C")
       -- Only work numbers are the same in either case.
       and (a.category = 'duplicate_work_number' or d.changed_fields -> 0 ->> 'value' = a.value)
     where d.category in ('duplicate_work_number', 'missing_department')
       and d.state ${isOneOf(ENDED_BY_HOLDER)}`,
    [JSON.stringify(changed)],
  )
  return rows
}

/** Retries cases at once. Their work joins the run that made it possible, while that is in progress. */
export async function tryAtOnce(client: ClientBase, due: TouchedCase[]): Promise<void> {
  if (due.length === 0) return
  const once = new Map(due.map(({ id, runId }) => [id, runId]))
  const { rows: running } = await client.query<{ id: number }>(
    `select id from dirsync.sync_run where id = any ($1) and state = 'running'`,
    [[...once.values()]],
  )
  const runs = new Set<number | null>(running.map(({ id }) => id))
  for (const [runId, cases] of Map.groupBy(once, ([, run]) => (runs.has(run) ? run : null))) {
    const ids = cases.map(([id]) => id)
    await addWork(client, runId, PRIORITY.change, await beginRetry(client, ids, runId))
  }
  await client.query(`select pg_notify('dirsync', 'feed')`)
}

/** SQL: a wait beyond this means that the clock was put back. */
const TOO_FAR = `now() + interval '${LONGEST_REST_MS} milliseconds'`

/**
 * SQL: whether a retry of case `d` can come to anything: nothing is sent for an enterprise without HR source. Rows of the tally have the
 * columns, too.
 */
export const CAN_BE_RETRIED = `(d.operation not in ('update-employee', 'delete-department', 'bind-openid') or ${hasSource('d')})`

/** SQL: whether no case is retried when it is due: the cron job that does it is paused or off. */
export const RETRIES_STOPPED = `exists (
  select from dirsync.job_schedule where job = 'retry-due' and (paused_at is not null or interval_seconds is null))`

export async function areRetriesStopped(db: Pool): Promise<boolean> {
  const { rows } = await db.query<{ stopped: boolean }>(`select ${RETRIES_STOPPED} as stopped`)
  return onlyRow(rows).stopped
}

/** SQL: when case `d` is retried by itself; null: it is not. */
export const NEXT_TRY = `case when ${CAN_BE_RETRIED} and not ${RETRIES_STOPPED} then d.next_retry_at end as next_retry_at`

/**
 * Requests a retry of every case that is due by itself, and of every case about a field whose probe is due, whatever a person
 * decided about it; and for the cases that have ended of fields that are still withheld. Returns the run's number; null when
 * none is due.
 */
export async function requestDueRetries(db: Pool): Promise<number | null> {
  await tellWithheld(db)
  await endLateSnoozes(db)
  const { rows } = await db.query<{ id: number }>(
    `with due as (
       select id from dirsync.dead_letter d
       where state not in ('resolved', 'ignored', 'retrying')
         and (next_retry_at <= now() or state <> 'snoozed' and next_retry_at > ${TOO_FAR})
         and ${CAN_BE_RETRIED}
       order by next_retry_at limit 10000
     ), probed as (
       select d.id from dirsync.field_block b
       join dirsync.dead_letter d on ${IS_CASE_OF_BLOCK}
       where (b.next_probe_at <= now() or b.next_probe_at > ${TOO_FAR}) and not ${IS_BEING_PROBED}
         and ${CAN_BE_RETRIED}
     ), still_withheld as (${CASES_LEFT}
     )
     insert into dirsync.sync_run (kind, keys, requested_by)
     select 'retry', array_agg(id::text order by id), 'cron'
     from (select id from due union select id from probed union select id from still_withheld) ids
     where not exists (select from dirsync.sync_run
                       where kind = 'retry' and requested_by = 'cron' and state in ('requested', 'planning')
                         and finished_at is null)
     having count(*) > 0
     returning id`,
  )
  if (rows.length > 0) await db.query(`select pg_notify('dirsync', 'run')`)
  return rows[0]?.id ?? null
}

/**
 * SQL: the snooze in force of case `d` is event `e`, and begins later than now: the clock was put back. Of a case whose retry a
 * person has requested it is over.
 */
const IS_LATE_SNOOZE = `e.dead_letter_id = d.id and e.event = 'snoozed' and e.at > now()
  and d.state = 'snoozed'
  and not exists (select from dirsync.dead_letter_event later
                  where later.dead_letter_id = d.id and later.id > e.id and later.event = 'snoozed')
  and not exists (select from dirsync.sync_run r
                  where r.kind = 'retry' and r.state in ('requested', 'planning') and r.requested_by <> 'cron'
                    and d.id::text = any (r.keys))`

/** Has snoozes begin now that began later. They last as long as a person wanted. */
async function endLateSnoozes(db: Pool): Promise<void> {
  await transaction(db, async client => {
    const { rows } = await client.query<{ id: number }>(
      `select d.id from dirsync.dead_letter_event e join dirsync.dead_letter d on ${IS_LATE_SNOOZE}
       order by d.id for no key update of d`,
    )
    // Looked for twice: while it waited for a lock, a person or another process may have changed them.
    if (rows.length > 0)
      await client.query(
        `with late as (
           select d.id, e.id as event_id, d.snooze_until - e.at as lasts
           from dirsync.dead_letter_event e join dirsync.dead_letter d on ${IS_LATE_SNOOZE}
           where d.id = any ($1)
         ), begun as (
           update dirsync.dead_letter_event e set at = now() from late where e.id = late.event_id
         )
         update dirsync.dead_letter d set snooze_until = now() + lasts, next_retry_at = now() + lasts
         from late where d.id = late.id`,
        [rows.map(({ id }) => id)],
      )
  })
}

/** SQL: the commands `c` that ask for run `r`. Others are noted with it too: that it was exported, or decided about. */
const REQUESTS = `dirsync.command c
  where c.run_id = r.id and c.name in ('retry', 'retry_category', 'bulk_retry', 'resync')`

/**
 * SQL: run `r` leaves case `d` alone. Ignored ones are, unless a person asks for the very case, and snoozed ones, unless a person
 * asks. Of a person's request and another's decision the later one counts. What dirsync retries by itself, without a run, was
 * neither ignored nor snoozed when it was selected.
 */
export const IS_LEFT_ALONE = `(
  r.id is null and d.state in ('ignored', 'snoozed')
  or d.state = 'ignored'
    and (r.requested_by = 'cron'
         or 'retry_category' = (select c.name from ${REQUESTS} order by c.id desc limit 1))
  or d.state = 'snoozed' and d.snooze_until > now() and r.requested_by = 'cron'
  or d.state in ('ignored', 'snoozed')
    and exists (select from dirsync.dead_letter_event e
                where e.dead_letter_id = d.id and e.event = d.state and (e.before ? 'undone') is not true
                  -- One that is later than now was made before the clock was put back.
                  and e.at <= clock_timestamp()
                  and e.at > coalesce((select max(c.requested_at) from ${REQUESTS}), r.requested_at)))`

/**
 * Marks cases as being retried, together with the swaps that they belong to, and returns their work; cases of mirrors request a
 * run instead. Only the entities of cases that a person listed one by one count as named: a category, the rest of a swap and due
 * cases do not.
 */
export async function beginRetry(client: ClientBase, ids: number[], runId: number | null): Promise<Work[]> {
  const probes = await beginProbes(client, ids, runId)
  const { rows: locked } = await client.query<{ id: number }>(
    `with asked as (
       select id from dirsync.dead_letter where id = any ($1)
       union
       select other.id
       from dirsync.dead_letter d join dirsync.dead_letter other on other.swap_id = d.swap_id
       where d.id = any ($1) and other.state ${isOneOf(ENDED_BY_HOLDER)}
     )
     select d.id from asked join dirsync.dead_letter d on d.id = asked.id
     where d.state <> 'resolved'
     for update of d`,
    [ids],
  )
  const retried = await retryLocked(client, locked, runId)
  const { rows } = await client.query<Work>(
    `with retried as (
       select * from dirsync.dead_letter where id = any ($1)
     ), listed as (
       select jsonb_array_elements_text(
                coalesce(arguments -> 'ids', jsonb_build_array(arguments -> 'id')))::bigint as id
       from dirsync.command where run_id = $3 and name = 'retry'
     ), reopened as (
       update dirsync.department p set parked_at = null from retried r
       where r.operation = 'delete-department' and p.enterprise_code = r.enterprise_code
         and p.dept_code = r.entity_key
     )
     select operation, enterprise_code as "enterpriseCode", entity_key as "entityKey",
            case when operation = 'bind-openid' then field else '' end as detail,
            bool_or(id in (select id from listed)) as named
     from retried where entity_key <> $2 and entity <> 'enterprise' and operation <> 'read-hr'
       and operation not like 'mirror-%'
     group by 1, 2, 3, 4`,
    [retried, NO_USER_ID, runId],
  )
  // A probing employee may have a case too, and an entity is in the outbox once.
  const work = [...probes, ...rows]
  return [...new Map(work.map(item => [`${item.operation} ${formatJobKey(item)}`, item])).values()]
}

/** Includes the open cases of named employees, and the fields withheld from them: a person requested them. */
export async function beginRetryOf(
  client: ClientBase,
  employees: EmployeeKey[],
  runId: number,
): Promise<void> {
  const { rows: locked } = await client.query<{ id: number }>(
    `select d.id
     from jsonb_to_recordset($1) as e ("enterpriseCode" text, userid text)
     join dirsync.dead_letter d on d.enterprise_code = e."enterpriseCode" and d.entity_key = e.userid
     where d.operation = 'update-employee' and d.entity = 'employee'
       and ${UNRESOLVED}
     for update of d`,
    [JSON.stringify(employees)],
  )
  await retryLocked(client, locked, runId)
  await probeWith(client, employees)
}

/** Marks those of locked cases that the run does not leave alone. Until they were locked, a decision may have been committed. */
async function retryLocked(
  client: ClientBase,
  locked: { id: number }[],
  runId: number | null,
): Promise<number[]> {
  const { rows } = await client.query<{ id: number }>(
    `select d.id from dirsync.dead_letter d left join dirsync.sync_run r on r.id = $2
     where d.id = any ($1) and ${IS_LEFT_ALONE} is not true`,
    [locked.map(({ id }) => id), runId],
  )
  return markRetrying(
    client,
    rows.map(({ id }) => id),
    runId,
  )
}

/**
 * Open cases about departments that HR no longer wants deleted.
 * @param codes the enterprises of the source that says so; null: all
 */
export async function unwantedDepartmentCases(
  client: ClientBase,
  wanted: { enterpriseCode: string; deptCode: string }[],
  codes: SourceScope['codes'],
): Promise<number[]> {
  const { rows } = await client.query<{ id: number }>(
    `select id from dirsync.dead_letter d
     where d.operation = 'delete-department' and d.state not in ('resolved', 'ignored', 'retrying')
       and ($2::text[] is null or d.enterprise_code = any ($2))
       and not exists (select from jsonb_to_recordset($1) as w ("enterpriseCode" text, "deptCode" text)
                       where w."enterpriseCode" = d.enterprise_code and w."deptCode" = d.entity_key)`,
    [JSON.stringify(wanted), codes],
  )
  return rows.map(row => row.id)
}
