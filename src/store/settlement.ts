import type { ClientBase, Pool } from 'pg'
import type { EmployeeField } from '../core/employee.ts'
import type { JobKey, JobName } from '../core/job.ts'
import { askWithheld, blockFields, dropUnprobedBlocks, unblockFields } from './field-block.ts'
import { recordFailure, releaseDependents, resolveCases, restCases } from './settled-cases.ts'
import { transaction } from './transaction.ts'

/** Held by a transaction whose outcomes concern others. */
const LOCK = 0x7365746c // 'setl'

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
  execution: number
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
  /** Resolve the cases of this entity and operation that are neither among `failures` nor of these fields; null: resolve none. */
  keep: string[] | null
  binding: string | null
  department: 'deleted' | 'parked' | null
  blockFields: { field: string; platformCode: number | null }[]
  unblockFields: string[]
}

/** Writes the outcomes of many jobs in one transaction (DESIGN, law 4: success and resolved cases together). */
export async function settle(db: Pool, settlements: Settlement[]): Promise<void> {
  await transaction(db, async client => {
    if (settlements.some(concernsOthers)) await client.query('select pg_advisory_xact_lock($1)', [LOCK])
    await writeAttempts(client, settlements)
    const { valid, done } = await closeWork(client, settlements)
    await rememberEmployees(
      client,
      valid.filter(s => s.employee),
    )
    await resolveCases(
      client,
      valid.filter(s => s.keep !== null),
    )
    for (const settlement of valid) await writeRest(client, settlement)
    await restCases(
      client,
      done.filter(s => s.keep !== null && s.keep.length > 0),
    )
    await reconsiderWithheld(client, valid)
    await releaseDependents(
      client,
      valid.filter(s => s.attempt.fields.length > 0),
    )
  })
}

/**
 * Outcomes that release others, or wait to be released, are written one after the other: two that do not see each other
 * would both believe that there is nobody to release.
 */
function concernsOthers({ attempt, failures, employee, unblockFields }: Settlement): boolean {
  return (
    attempt.fields.length > 0 ||
    unblockFields.length > 0 ||
    (employee !== null && employee.withheld.length > 0) ||
    failures.some(failure => failure.blockedBy !== null)
  )
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

/**
 * Removes or gives back the outbox rows.
 * @returns the settlements that no later execution has overtaken, and which of them leave nothing to do
 */
async function closeWork(
  client: ClientBase,
  settlements: Settlement[],
): Promise<{ valid: Settlement[]; done: Settlement[] }> {
  const rows = settlements.map(({ key, version, execution, again }, position) => ({
    ...key,
    version,
    execution,
    position,
    done: again === null,
    delay: again?.delayMs ?? 0,
    attempts: again?.attempts ?? 0,
  }))
  const result = await client.query({
    name: 'settle-pending',
    text: `with s as (
             select * from jsonb_to_recordset($1) as s (operation text, "enterpriseCode" text, "entityKey" text, detail text, version int,
               execution bigint, position int, done boolean, delay int, attempts int)
           ), gone as (
             delete from dirsync.pending p using s
             where p.operation = s.operation and p.enterprise_code = s."enterpriseCode" and p.entity_key = s."entityKey"
               and p.detail = s.detail and p.execution = s.execution and s.done and p.version = s.version
             returning s.position
           ), back as (
             update dirsync.pending p
             set enqueued_at = null, starts = 0, attempts = s.attempts, not_before = now() + s.delay * interval '1 millisecond'
             from s
             where p.operation = s.operation and p.enterprise_code = s."enterpriseCode" and p.entity_key = s."entityKey"
               and p.detail = s.detail and p.execution = s.execution and not (s.done and p.version = s.version)
             returning s.position
           )
           select position, true as done from gone union all select position, false from back`,
    values: [JSON.stringify(rows)],
  })
  const of = (rows: { position: number }[]) => rows.map(row => settlements[row.position] as Settlement)
  return { valid: of(result.rows), done: of(result.rows.filter(row => row.done)) }
}

async function rememberEmployees(client: ClientBase, settlements: Settlement[]): Promise<void> {
  if (settlements.length === 0) return
  const rows = settlements.map(({ key, employee }) => ({ ...key, ...employee }))
  await client.query({
    name: 'settle-employees',
    text: `insert into dirsync.employee as e (enterprise_code, userid, active, source_hash, acknowledged_hash, parked_hash, acknowledged,
                                              withheld, platform_state, dept_code, acknowledged_at, queried_at)
           select "enterpriseCode", "entityKey", active, "sourceHash", "acknowledgedHash", "parkedHash", acknowledged,
                  array(select jsonb_array_elements_text(withheld)), "platformState", "deptCode",
                  case when "acknowledgedHash" is not null or acknowledged <> '{}' then now() end,
                  case when "platformState" <> 'unknown' then now() end
           from jsonb_to_recordset($1) as s ("enterpriseCode" text, "entityKey" text, active boolean, "sourceHash" uuid, "acknowledgedHash" uuid,
             "parkedHash" uuid, acknowledged jsonb, withheld jsonb, "platformState" text, "deptCode" text)
           on conflict (enterprise_code, userid) do update
           set active = excluded.active, source_hash = coalesce(excluded.source_hash, e.source_hash),
               acknowledged_hash = excluded.acknowledged_hash, parked_hash = excluded.parked_hash,
               -- Whoever the platform lacks holds nothing there; nobody knows what a later account will hold.
               acknowledged = case when excluded.platform_state = 'absent' then '{}' else e.acknowledged || excluded.acknowledged end,
               withheld = excluded.withheld,
               platform_state = case when excluded.platform_state = 'unknown' then e.platform_state else excluded.platform_state end,
               dept_code = case when excluded.platform_state = 'unknown' then e.dept_code else excluded.dept_code end,
               acknowledged_at = coalesce(excluded.acknowledged_at, e.acknowledged_at),
               queried_at = coalesce(excluded.queried_at, e.queried_at)`,
    values: [JSON.stringify(rows)],
  })
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
  await blockFields(client, settlement)
  await unblockFields(client, settlement)
}

/** Whoever a field was withheld from is asked for anew once it is sent again; also when that was decided during the attempt. */
async function reconsiderWithheld(client: ClientBase, settlements: Settlement[]): Promise<void> {
  const enterprises = new Set(settlements.map(({ key }) => key.enterpriseCode))
  const freed = new Set(await dropUnprobedBlocks(client, [...enterprises]))
  for (const { key, unblockFields } of settlements)
    if (unblockFields.length > 0) freed.add(key.enterpriseCode)
  const withheld = settlements.filter(
    ({ key, employee }) => employee && employee.withheld.length > 0 && !freed.has(key.enterpriseCode),
  )
  await askWithheld(client, [
    ...[...freed].map(enterpriseCode => ({ enterpriseCode, userid: null })),
    ...withheld.map(({ key }) => ({ enterpriseCode: key.enterpriseCode, userid: key.entityKey })),
  ])
}
