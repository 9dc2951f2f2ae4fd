import type { ClientBase, Pool } from '../lib/database.ts'
import type { JobKey, JobName } from '../queue/job.ts'
import { addWork, type Work } from './outbox.ts'
import { NOBODY } from './plan-employees.ts'
import type { Failure, Settlement } from './settlement.ts'
import { dissolveSwaps, recogniseSwap } from './swap.ts'
import { beginProbes, probeWith, tellWithheld } from './withheld.ts'

/** What an outcome does to the cases for review; all inside the transaction that writes it. */

/** Whoever waited for an employee is served as a change is. */
const PRIORITY = 3

/** What of an outcome concerns the cases; of jobs and of mirrors. */
type Settled = Pick<Settlement, 'runId' | 'failures' | 'keep' | 'employee'> & {
  key: JobKey & { operation: string }
  attempt: Pick<Settlement['attempt'], 'outcome'>
}

/** A case that an outcome has opened, counted up, resolved or released, and the run in which it did. */
interface TouchedCase {
  id: number
  runId: number | null
}

/** A case that has just failed. */
export interface RecordedCase extends TouchedCase {
  /** Somebody has what it wants. */
  waits: boolean
  /** … and has changed since it was refused. */
  isDue: boolean
}

/** Resolves the cases that an outcome has settled, also those that a person had accepted: their reason is gone. */
export async function resolveCases(client: ClientBase, settlements: Settled[]): Promise<TouchedCase[]> {
  if (settlements.length === 0) return []
  const rows = settlements.map(({ key, runId, failures, keep, attempt, employee }) => ({
    ...key,
    runId,
    kept: [...failures.map(failure => failure.field), ...(keep ?? [])],
    resolution: isMoot(attempt.outcome, employee) ? 'obsolete' : 'succeeded',
  }))
  const { rows: resolved } = await client.query<TouchedCase>(
    `with s as (
       select * from jsonb_to_recordset($1) as s (operation text, "enterpriseCode" text, "entityKey" text, detail text, "runId" bigint, kept jsonb,
         resolution text)
     ), resolved as (
       update dirsync.dead_letter d
       set state = 'resolved', resolution = s.resolution, resolved_by = 'dirsync', resolved_at = now(), next_retry_at = null,
           version = d.version + 1
       from s
       where d.enterprise_code = s."enterpriseCode" and d.entity_key = s."entityKey" and d.operation = s.operation
         and d.entity <> 'enterprise' and d.state <> 'resolved' and not s.kept ? d.field
         and (s.operation not in ('bind-openid', 'mirror-orders', 'mirror-taxpayers') or d.field = s.detail)
       returning d.id, s."runId", s.resolution
     ), told as (
       insert into dirsync.dead_letter_event (dead_letter_id, event, run_id, note)
       select id, 'resolved', "runId", resolution from resolved
     )
     select id, "runId" from resolved`,
    [JSON.stringify(rows)],
  )
  return resolved
}

/** Nothing went through: what the other cases were about does not matter any more. */
function isMoot(outcome: Settlement['attempt']['outcome'], employee: Settlement['employee']): boolean {
  return (
    ['obsolete', 'left', 'awaiting_activation'].includes(outcome) ||
    (outcome === 'parked' && employee?.active === false)
  )
}

/** Opens a case, or counts up the one there is. */
export async function recordFailure(
  client: ClientBase,
  settlement: Pick<Settlement, 'runId'> & {
    key: Pick<Settled['key'], 'operation' | 'enterpriseCode' | 'entityKey'>
    attempt: Pick<Settlement['attempt'], 'startedAt'>
  },
  failure: Failure,
): Promise<RecordedCase> {
  const { key, runId } = settlement
  const { rows: recorded } = await client.query<{ id: number }>(
    `select dirsync.record_failure($1 || jsonb_build_object('next_retry_at', now() + $2 * interval '1 millisecond')) as id`,
    [
      JSON.stringify({
        enterprise_code: key.enterpriseCode,
        entity: failure.entity,
        entity_key: key.entityKey,
        operation: key.operation,
        field: failure.field,
        category: failure.category,
        platform_code: failure.platformCode,
        trace_id: failure.traceId,
        message: failure.message,
        remedy: failure.remedy,
        changed_fields: failure.changedFields,
        blocked_by: failure.blockedBy,
        source_hash: failure.sourceHash,
        state: failure.state,
        last_run_id: runId,
      }),
      failure.nextRetryMs,
    ],
  )
  const id = recorded[0]?.id as number
  if (failure.blockedBy === null) return { id, runId, waits: false, isDue: false }
  // The holder may have changed between the platform's refusal and this row, or be about to.
  const { rows } = await client.query<{ changed: boolean }>(
    `update dirsync.dead_letter d
     set state = case when changed then 'retrying' else 'blocked' end
     from (select exists (select from dirsync.attempt a
                          where a.enterprise_code = $1 and a.entity_key = $4 and a.operation = 'update-employee'
                            and a.outcome in ('in_step', 'updated', 'partly_updated')
                            and a.started_at + a.duration_ms * interval '1 millisecond' > $3) as changed,
                  exists (select from dirsync.pending p
                          where p.operation = 'update-employee' and p.enterprise_code = $1 and p.entity_key = $4) as waits) holder
     where d.id = $2 and d.state = 'open' and (holder.changed or holder.waits)
     returning changed`,
    [key.enterpriseCode, id, settlement.attempt.startedAt, failure.blockedBy],
  )
  return { id, runId, waits: true, isDue: rows[0]?.changed === true }
}

/** Cases that were to be tried again and were not, because the job ended before it came to them, wait for their next turn. */
export async function restCases(client: ClientBase, settlements: Settlement[]): Promise<void> {
  if (settlements.length === 0) return
  await client.query(
    `update dirsync.dead_letter d
     set state = 'open', next_retry_at = now() + interval '7 days', version = d.version + 1
     from jsonb_to_recordset($1) as s (operation text, "enterpriseCode" text, "entityKey" text, detail text)
     where d.enterprise_code = s."enterpriseCode" and d.entity_key = s."entityKey" and d.operation = s.operation and d.state = 'retrying'
       and d.entity <> 'enterprise'
       and (s.operation <> 'bind-openid' or d.field = s.detail)`,
    [JSON.stringify(settlements.map(({ key }) => key))],
  )
}

/** Cases that wait for what an employee has now given up, or may have: due at once. */
export async function releasedBy(client: ClientBase, settlements: Settlement[]): Promise<TouchedCase[]> {
  if (settlements.length === 0) return []
  const rows = settlements.map(({ key, runId, attempt, sentUnknown }) => ({
    ...key,
    runId,
    fields: attempt.fields,
    sentUnknown,
  }))
  const { rows: released } = await client.query<TouchedCase>(
    `select d.id, s."runId"
     from jsonb_to_recordset($1) as s ("enterpriseCode" text, "entityKey" text, "runId" bigint, fields text[],
                                       "sentUnknown" boolean)
     join dirsync.dead_letter d on d.enterprise_code = s."enterpriseCode" and d.blocked_by = s."entityKey"
     where d.state in ('open', 'blocked') and (s."sentUnknown" or d.field = any (s.fields))`,
    [JSON.stringify(rows)],
  )
  return released
}

/**
 * Who waits for each other in a circle becomes a group, and a group that is none any more ends.
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

/** Tries cases again at once: their work joins the run that made it possible, as long as that goes on. */
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
    await addWork(client, runId, PRIORITY, await beginRetry(client, ids, runId))
  }
  await client.query(`select pg_notify('dirsync', 'feed')`)
}

/**
 * Asks for a retry of every case that is due by itself, and of those of fields whose probe is due, whatever a person decided
 * about them. Returns the run's number; null when none is due.
 */
export async function requestDueRetries(db: Pool): Promise<number | null> {
  await tellWithheld(db)
  const { rows } = await db.query<{ id: number }>(
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
  const { rows } = await db.query<{ id: number }>(
    `select id from dirsync.dead_letter d
     where d.operation = 'delete-department' and d.state not in ('resolved', 'ignored', 'retrying')
       and not exists (select from jsonb_to_recordset($1) as w ("enterpriseCode" text, "deptCode" text)
                       where w."enterpriseCode" = d.enterprise_code and w."deptCode" = d.entity_key)`,
    [JSON.stringify(wanted)],
  )
  return rows.map(row => row.id)
}
