import type { ClientBase, Pool } from 'pg'
import type { EmployeeField } from '../core/employee.ts'
import type { JobKey, JobName } from '../core/job.ts'
import { transaction } from './transaction.ts'

export type Outcome =
  | 'in_step'
  | 'updated'
  | 'partly_updated'
  | 'deleted'
  | 'bound'
  | 'awaiting_activation'
  | 'left'
  | 'parked'
  | 'retry'
  | 'wait'
  | 'halted'
  | 'obsolete'

/** A failure that becomes a case for review. */
export interface Failure {
  entity: 'employee' | 'department'
  field: string
  category: string
  platformCode: number | null
  traceId: string | null
  message: string
  remedy: string
  changedFields: { field: string; value: string | null }[]
  blockedBy: string | null
  sourceHash: string | null
  state: 'open' | 'retry_scheduled' | 'blocked' | 'awaiting_activation'
  /** Milliseconds until dirsync tries again by itself. */
  nextRetryMs: number
}

/** What is remembered of an employee after an attempt. */
export interface EmployeeMemory {
  active: boolean
  sourceHash: string | null
  acknowledgedHash: string | null
  parkedHash: string | null
  acknowledged: Partial<Record<EmployeeField, string>>
  withheld: string[]
  platformState: 'unknown' | 'in_service' | 'absent'
  deptCode: string | null
}

/** The outcome of one job, to be written in one transaction. */
export interface Settlement {
  key: JobKey & { operation: JobName }
  /** As claimed; an outcome of an execution that was overtaken leaves everything but its attempt unwritten. */
  version: number
  starts: number
  runId: number | null
  attempt: {
    startedAt: Date
    durationMs: number
    outcome: Outcome
    calls: Record<string, number>
    fields: string[]
    platformCode: number | null
    traceId: string | null
    error: string | null
  }
  /** Null: done with it. Else it goes back to the outbox. */
  again: { delayMs: number; attempts: number } | null
  employee: EmployeeMemory | null
  failures: Failure[]
  /** Resolve the open cases of this entity and operation that are neither among `failures` nor of these fields; null: resolve none. */
  keep: string[] | null
  binding: string | null
  department: 'deleted' | 'parked' | null
  blockFields: { field: string; platformCode: number | null }[]
  unblockFields: string[]
}

/** Writes the outcomes of many jobs in one transaction (DESIGN, law 4: success and resolved cases together). */
export async function settle(db: Pool, settlements: Settlement[]): Promise<void> {
  await transaction(db, async client => {
    await writeAttempts(client, settlements)
    const valid = await closeWork(client, settlements)
    await rememberEmployees(
      client,
      valid.filter(s => s.employee),
    )
    await resolveCases(
      client,
      valid.filter(s => s.keep !== null),
    )
    for (const settlement of valid) await writeRest(client, settlement)
    await releaseDependents(
      client,
      valid.filter(s => s.attempt.fields.length > 0),
    )
  })
}

async function writeAttempts(client: ClientBase, settlements: Settlement[]): Promise<void> {
  const rows = settlements.map(({ key, runId, attempt }) => ({ ...key, runId, ...attempt }))
  await client.query({
    name: 'settle-attempts',
    text: `insert into dirsync.attempt (run_id, operation, enterprise_code, entity_key, detail, started_at, duration_ms, outcome, calls,
                                        fields, platform_code, trace_id, error)
           select "runId", operation, "enterpriseCode", "entityKey", detail, "startedAt", "durationMs", outcome, calls,
                  array(select jsonb_array_elements_text(fields)), "platformCode", "traceId", error
           from jsonb_to_recordset($1) as a (operation text, "enterpriseCode" text, "entityKey" text, detail text, "runId" bigint,
             "startedAt" timestamptz, "durationMs" int, outcome text, calls jsonb, fields jsonb, "platformCode" bigint, "traceId" text, error text)`,
    values: [JSON.stringify(rows)],
  })
}

/** Removes or gives back the outbox rows. Returns the settlements that no later execution has overtaken. */
async function closeWork(client: ClientBase, settlements: Settlement[]): Promise<Settlement[]> {
  const rows = settlements.map(({ key, version, starts, again }, position) => ({
    ...key,
    version,
    starts,
    position,
    done: again === null,
    delay: again?.delayMs ?? 0,
    attempts: again?.attempts ?? 0,
  }))
  const result = await client.query({
    name: 'settle-pending',
    text: `with s as (
             select * from jsonb_to_recordset($1) as s (operation text, "enterpriseCode" text, "entityKey" text, detail text, version int,
               starts int, position int, done boolean, delay int, attempts int)
           ), gone as (
             delete from dirsync.pending p using s
             where p.operation = s.operation and p.enterprise_code = s."enterpriseCode" and p.entity_key = s."entityKey"
               and p.detail = s.detail and p.starts = s.starts and s.done and p.version = s.version
             returning s.position
           ), back as (
             update dirsync.pending p
             set enqueued_at = null, starts = 0, attempts = s.attempts, not_before = now() + s.delay * interval '1 millisecond'
             from s
             where p.operation = s.operation and p.enterprise_code = s."enterpriseCode" and p.entity_key = s."entityKey"
               and p.detail = s.detail and p.starts = s.starts and not (s.done and p.version = s.version)
             returning s.position
           )
           select position from gone union all select position from back`,
    values: [JSON.stringify(rows)],
  })
  return result.rows.map(row => settlements[row.position] as Settlement)
}

async function rememberEmployees(client: ClientBase, settlements: Settlement[]): Promise<void> {
  if (settlements.length === 0) return
  const rows = settlements.map(({ key, employee }) => ({ ...key, ...employee }))
  await client.query({
    name: 'settle-employees',
    text: `insert into dirsync.employee as e (enterprise_code, userid, active, source_hash, acknowledged_hash, parked_hash, acknowledged,
                                              withheld, platform_state, dept_code, acknowledged_at, queried_at)
           select "enterpriseCode", "entityKey", active, "sourceHash", "acknowledgedHash", "parkedHash", acknowledged,
                  array(select jsonb_array_elements_text(withheld)), "platformState", "deptCode", now(), now()
           from jsonb_to_recordset($1) as s ("enterpriseCode" text, "entityKey" text, active boolean, "sourceHash" uuid, "acknowledgedHash" uuid,
             "parkedHash" uuid, acknowledged jsonb, withheld jsonb, "platformState" text, "deptCode" text)
           on conflict (enterprise_code, userid) do update
           set active = excluded.active, source_hash = coalesce(excluded.source_hash, e.source_hash),
               acknowledged_hash = excluded.acknowledged_hash, parked_hash = excluded.parked_hash,
               -- Whoever the platform lacks holds nothing there; nobody knows what a later account will hold.
               acknowledged = case when excluded.platform_state = 'absent' then '{}' else e.acknowledged || excluded.acknowledged end, withheld = excluded.withheld,
               platform_state = case when excluded.platform_state = 'unknown' then e.platform_state else excluded.platform_state end,
               dept_code = case when excluded.platform_state = 'unknown' then e.dept_code else excluded.dept_code end,
               acknowledged_at = case when excluded.acknowledged_hash is null then e.acknowledged_at else now() end,
               queried_at = case when excluded.platform_state = 'unknown' then e.queried_at else now() end`,
    values: [JSON.stringify(rows)],
  })
}

async function resolveCases(client: ClientBase, settlements: Settlement[]): Promise<void> {
  if (settlements.length === 0) return
  const rows = settlements.map(({ key, runId, failures, keep, attempt }) => ({
    ...key,
    runId,
    kept: [...failures.map(failure => failure.field), ...(keep ?? [])],
    resolution: attempt.outcome === 'obsolete' || attempt.outcome === 'left' ? 'obsolete' : 'succeeded',
  }))
  await client.query(
    `with s as (
       select * from jsonb_to_recordset($1) as s (operation text, "enterpriseCode" text, "entityKey" text, detail text, "runId" bigint, kept jsonb,
         resolution text)
     ), resolved as (
       update dirsync.dead_letter d
       set state = 'resolved', resolution = s.resolution, resolved_by = 'dirsync', resolved_at = now(), next_retry_at = null,
           version = d.version + 1
       from s
       where d.enterprise_code = s."enterpriseCode" and d.entity_key = s."entityKey" and d.operation = s.operation
         and d.state not in ('resolved', 'ignored') and not s.kept ? d.field
         and (s.operation <> 'bind-openid' or d.field = s.detail)
       returning d.id, s."runId", s.resolution
     )
     insert into dirsync.dead_letter_event (dead_letter_id, event, run_id, note) select id, 'resolved', "runId", resolution from resolved`,
    [JSON.stringify(rows)],
  )
}

/** The rarer parts: cases, bindings, departments, blocked fields. */
async function writeRest(client: ClientBase, settlement: Settlement): Promise<void> {
  const { key } = settlement
  for (const failure of settlement.failures) await recordFailure(client, settlement, failure)
  if (settlement.binding !== null)
    await client.query(
      `insert into dirsync.openid_binding (enterprise_code, userid, seller_appid, open_userid) values ($1, $2, $3, $4)
       on conflict (enterprise_code, userid, seller_appid) do update set open_userid = excluded.open_userid, bound_at = now()`,
      [key.enterpriseCode, key.entityKey, key.detail, settlement.binding],
    )
  if (settlement.department !== null)
    await client.query(
      `update dirsync.department set deleted_at = case when $3 = 'deleted' then now() end, parked_at = case when $3 = 'parked' then now() end
       where enterprise_code = $1 and dept_code = $2`,
      [key.enterpriseCode, key.entityKey, settlement.department],
    )
  for (const { field, platformCode } of settlement.blockFields)
    await client.query(
      `insert into dirsync.field_block (enterprise_code, field, platform_code) values ($1, $2, $3) on conflict do nothing`,
      [key.enterpriseCode, field, platformCode],
    )
  for (const field of settlement.unblockFields) await unblockField(client, settlement, field)
}

async function recordFailure(client: ClientBase, settlement: Settlement, failure: Failure): Promise<void> {
  const { key, runId } = settlement
  await client.query('select dirsync.record_failure($1)', [
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
      next_retry_at: new Date(Date.now() + failure.nextRetryMs),
      last_run_id: runId,
    }),
  ])
  if (failure.blockedBy === null) return
  // The holder may have changed between the platform's refusal and this row, or be about to.
  await client.query(
    `update dirsync.dead_letter d
     set state = case when changed then 'retry_scheduled' else 'blocked' end,
         next_retry_at = case when changed then now() else d.next_retry_at end
     from (select exists (select from dirsync.attempt a
                          where a.enterprise_code = $1 and a.entity_key = $4 and a.fields <> '{}'
                            and a.started_at + a.duration_ms * interval '1 millisecond' > $5) as changed,
                  exists (select from dirsync.pending p
                          where p.operation = 'update-employee' and p.enterprise_code = $1 and p.entity_key = $4) as waits) holder
     where d.enterprise_code = $1 and d.entity_key = $2 and d.operation = 'update-employee' and d.field = $3 and d.state = 'open'
       and (holder.changed or holder.waits)`,
    [key.enterpriseCode, key.entityKey, failure.field, failure.blockedBy, settlement.attempt.startedAt],
  )
}

/** A field got through again: whoever it was withheld from is asked for anew. */
async function unblockField(client: ClientBase, settlement: Settlement, field: string): Promise<void> {
  const { enterpriseCode } = settlement.key
  const { rowCount } = await client.query(
    'delete from dirsync.field_block where enterprise_code = $1 and field = $2',
    [enterpriseCode, field],
  )
  if (rowCount === 0) return
  await client.query(
    `insert into dirsync.pending (operation, enterprise_code, entity_key, priority)
     select 'update-employee', enterprise_code, userid, 3 from dirsync.employee where enterprise_code = $1 and $2 = any (withheld)
     on conflict (operation, enterprise_code, entity_key, detail) do update
     set version = dirsync.pending.version + 1, enqueued_at = null, not_before = now()`,
    [enterpriseCode, field],
  )
}

/** Cases that waited for an employee who has now changed are due at once. */
async function releaseDependents(client: ClientBase, settlements: Settlement[]): Promise<void> {
  if (settlements.length === 0) return
  await client.query(
    `update dirsync.dead_letter d set state = 'retry_scheduled', next_retry_at = now(), version = d.version + 1
     from jsonb_to_recordset($1) as s ("enterpriseCode" text, "entityKey" text)
     where d.enterprise_code = s."enterpriseCode" and d.blocked_by = s."entityKey" and d.state in ('open', 'blocked')`,
    [JSON.stringify(settlements.map(({ key }) => key))],
  )
}
