import type { ClientBase, Pool } from 'pg'
import type { Settlement } from './settlement.ts'

/**
 * What nearly every outcome comes to, in one statement: the attempt is noted, the outbox row is removed or given back, and
 * the employee is remembered unless a later execution has overtaken this one.
 *
 * Every position is in that range. But PostgreSQL, which guesses a hundred rows of any JSON and reads whole tables for so many,
 * then expects few; and since it expects the same for every value, it plans the statement once per connection.
 */
const WRITE = `
with s as materialized (
  select * from jsonb_to_recordset($1) as s (position int, operation text, "enterpriseCode" text, "entityKey" text, detail text,
    version int, execution bigint, done boolean, delay int, attempts int,
    "runId" bigint, "startedAt" timestamptz, "durationMs" int, outcome text, calls jsonb, "waitedMs" jsonb, "tooFast" jsonb, fields text[], "platformCode" bigint,
    "traceId" text, error text,
    remember boolean, active boolean, "sourceHash" uuid, "acknowledgedHash" uuid, "parkedHash" uuid, acknowledged jsonb,
    withheld text[], "platformState" text, "deptCode" text)
  where position between 0 and 1000000
), noted as (
  insert into dirsync.attempt (run_id, operation, enterprise_code, entity_key, detail, started_at, duration_ms, outcome, calls, waited_ms, too_fast,
                               fields, platform_code, trace_id, error)
  select "runId", operation, "enterpriseCode", "entityKey", detail, "startedAt", "durationMs", outcome, calls, "waitedMs", "tooFast", fields,
         "platformCode", "traceId", error
  from s
), gone as (
  delete from dirsync.pending p using s
  where p.operation = s.operation and p.enterprise_code = s."enterpriseCode" and p.entity_key = s."entityKey" and p.detail = s.detail
    and p.execution = s.execution and s.done and p.version = s.version
  returning s.position
), back as (
  update dirsync.pending p
  set enqueued_at = null, starts = 0, attempts = s.attempts, not_before = now() + s.delay * interval '1 millisecond'
  from s
  where p.operation = s.operation and p.enterprise_code = s."enterpriseCode" and p.entity_key = s."entityKey" and p.detail = s.detail
    and p.execution = s.execution and not (s.done and p.version = s.version)
  returning s.position
), valid as (
  select position, true as done from gone union all select position, false from back
), remembered as (
  insert into dirsync.employee as e (enterprise_code, userid, active, source_hash, acknowledged_hash, parked_hash, acknowledged, withheld,
                                     platform_state, dept_code, acknowledged_at, queried_at)
  select "enterpriseCode", "entityKey", active, "sourceHash", "acknowledgedHash", "parkedHash", acknowledged, withheld, "platformState",
         "deptCode", case when "acknowledgedHash" is not null or acknowledged <> '{}' then now() end,
         case when "platformState" <> 'unknown' then now() end
  from s where remember and position in (select position from valid)
  on conflict (enterprise_code, userid) do update
  set active = excluded.active, source_hash = coalesce(excluded.source_hash, e.source_hash),
      acknowledged_hash = excluded.acknowledged_hash, parked_hash = excluded.parked_hash,
      -- Whoever the platform lacks holds nothing there; nobody knows what a later account will hold.
      acknowledged = case when excluded.platform_state = 'absent' then '{}' else e.acknowledged || excluded.acknowledged end,
      withheld = excluded.withheld,
      platform_state = case when excluded.platform_state = 'unknown' then e.platform_state else excluded.platform_state end,
      dept_code = case when excluded.platform_state = 'unknown' then e.dept_code else excluded.dept_code end,
      acknowledged_at = coalesce(excluded.acknowledged_at, e.acknowledged_at),
      queried_at = coalesce(excluded.queried_at, e.queried_at)
)
select position, done from valid`

/**
 * Writes the part of the outcomes that all have.
 * @returns the settlements that no later execution has overtaken, and which of them leave nothing to do
 */
export async function writeOutcomes(
  db: ClientBase | Pool,
  settlements: Settlement[],
): Promise<{ valid: Settlement[]; done: Settlement[] }> {
  const rows = settlements.map(({ key, version, execution, runId, again, attempt, employee }, position) => ({
    position,
    ...key,
    version,
    execution,
    runId,
    ...attempt,
    done: again === null,
    delay: again?.delayMs ?? 0,
    attempts: again?.attempts ?? 0,
    remember: employee !== null,
    ...employee,
  }))
  const result = await db.query<{ position: number; done: boolean }>({
    name: 'write-outcomes',
    text: WRITE,
    values: [JSON.stringify(rows)],
  })
  const of = (rows: { position: number }[]) => rows.map(row => settlements[row.position] as Settlement)
  return { valid: of(result.rows), done: of(result.rows.filter(row => row.done)) }
}
