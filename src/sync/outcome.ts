import { DatabaseError } from 'pg'
import { type ClientBase, type Pool, WORK_MS } from '../lib/database.ts'
import { slowProbeDelay } from './backoff.ts'
import type { Settlement } from './settlement.ts'

/**
 * What nearly every outcome comes to, in one statement: the attempt is noted, the outbox row is removed or given back, and
 * the employee is remembered unless a later execution has overtaken this one. An account that the platform calls absent takes
 * its open ids along: one that comes back has others.
 *
 * Every position is in that range. But PostgreSQL, which guesses a hundred rows of any JSON and reads whole tables for so many,
 * then expects few; and since it expects the same for every value, it plans the statement once per connection.
 *
 * The outbox rows are locked before anything is written, in the order of their key: so does whoever else locks several, and
 * none waits for another in a circle. The last line, which reads them all, is what PostgreSQL executes first.
 */
const WRITE = `
with s as materialized (
  select * from jsonb_to_recordset($1) as s (position int, operation text, "enterpriseCode" text, "entityKey" text, detail text,
    version int, execution bigint, done boolean, delay int, attempts int, "sentUnknown" boolean,
    "runId" bigint, "startedAt" timestamptz, "durationMs" int, outcome text, calls jsonb, "waitedMs" jsonb, "tooFast" jsonb, fields text[], "platformCode" bigint,
    "traceId" text, error text,
    remember boolean, active boolean, "acknowledgedHash" uuid, "parkedHash" uuid, acknowledged jsonb,
    overwritten jsonb, withheld text[], "platformState" text, "deptCode" text)
  where position between 0 and 1000000
), held as materialized (
  select s.position, s.done and p.version = s.version as done, p.version = s.version as is_current,
         s.outcome = 'replan' as is_replan, s."sentUnknown" and not s.done as sent_unknown, s.delay, s.attempts,
         p.operation, p.enterprise_code, p.entity_key, p.detail
  from s join dirsync.pending p on p.operation = s.operation and p.enterprise_code = s."enterpriseCode"
                               and p.entity_key = s."entityKey" and p.detail = s.detail
  where p.execution = s.execution
  order by p.operation, p.enterprise_code, p.entity_key, p.detail
  for update of p
), noted as (
  insert into dirsync.attempt (run_id, operation, enterprise_code, entity_key, detail, started_at, duration_ms, outcome, calls, waited_ms, too_fast,
                               fields, platform_code, trace_id, error, execution)
  select "runId", operation, "enterpriseCode", "entityKey", detail, "startedAt", "durationMs", outcome, calls, "waitedMs", "tooFast", fields,
         "platformCode", "traceId", error, execution
  from s
  on conflict (execution) do nothing
), gone as (
  delete from dirsync.pending p using held h
  where p.operation = h.operation and p.enterprise_code = h.enterprise_code and p.entity_key = h.entity_key
    and p.detail = h.detail and h.done
), back as (
  update dirsync.pending p
  -- The execution is over: its outcome changes nothing a second time.
  set execution = nextval('dirsync.execution'), enqueued_at = null, starts = 0, attempts = h.attempts,
      sent_unknown = h.sent_unknown,
      -- Whoever asked anew has judged the HR row meanwhile; else it waits, outside its run, until a plan has.
      not_before = case when not h.is_replan then now() + h.delay * interval '1 millisecond'
                        when h.is_current then 'infinity' else now() end,
      replan_at = case when h.is_replan and h.is_current then now() end,
      run_id = case when h.is_replan and h.is_current then null else p.run_id end
  from held h
  where p.operation = h.operation and p.enterprise_code = h.enterprise_code and p.entity_key = h.entity_key
    and p.detail = h.detail and not h.done
), unbound as (
  delete from dirsync.openid_binding b using s
  where (s.remember and s."platformState" = 'absent' or s.outcome = 'awaiting_activation')
    and s.position in (select position from held)
    and b.enterprise_code = s."enterpriseCode" and b.userid = s."entityKey"
), remembered as (
  insert into dirsync.employee as e (enterprise_code, userid, active, acknowledged_hash, parked_hash, acknowledged, overwritten,
                                     withheld, platform_state, dept_code, acknowledged_at, queried_at)
  select "enterpriseCode", "entityKey", active, "acknowledgedHash", "parkedHash", acknowledged, overwritten,
         withheld, "platformState", "deptCode", case when "acknowledgedHash" is not null or acknowledged <> '{}' then now() end,
         case when "platformState" <> 'unknown' then now() end
  from s where remember and position in (select position from held)
  order by "enterpriseCode", "entityKey"
  on conflict (enterprise_code, userid) do update
  set active = excluded.active, acknowledged_hash = excluded.acknowledged_hash, parked_hash = excluded.parked_hash,
      -- Whoever the platform lacks holds nothing there; nobody knows what a later account will hold.
      acknowledged = case when excluded.platform_state = 'absent' then '{}' else e.acknowledged || excluded.acknowledged end,
      overwritten = case when excluded.platform_state = 'unknown' then e.overwritten else excluded.overwritten end,
      withheld = excluded.withheld,
      platform_state = case when excluded.platform_state = 'unknown' then e.platform_state else excluded.platform_state end,
      dept_code = case when excluded.platform_state = 'unknown' then e.dept_code else excluded.dept_code end,
      acknowledged_at = coalesce(excluded.acknowledged_at, e.acknowledged_at),
      queried_at = coalesce(excluded.queried_at, e.queried_at)
)
select position, done from held`

/**
 * Writes the part of the outcomes that all have.
 * @returns the settlements that no later execution has overtaken, and which of them leave nothing to do
 */
export async function writeOutcomes(
  db: ClientBase | Pool,
  settlements: Settlement[],
): Promise<{ valid: Settlement[]; done: Settlement[] }> {
  const rows = settlements.map((settlement, position) => {
    const { key, version, execution, runId, again, attempt, employee, sentUnknown } = settlement
    return {
      position,
      ...key,
      version,
      execution,
      runId,
      sentUnknown,
      ...attempt,
      done: again === null,
      delay: again?.delayMs ?? 0,
      attempts: again?.attempts ?? 0,
      remember: employee !== null,
      ...employee,
    }
  })
  const statement = {
    name: 'write-outcomes',
    text: WRITE,
    values: [JSON.stringify(rows)],
    query_timeout: WORK_MS,
  }
  const result = await db.query<{ position: number; done: boolean }>(statement)
  const of = (rows: { position: number }[]) => rows.map(row => settlements[row.position] as Settlement)
  return { valid: of(result.rows), done: of(result.rows.filter(row => row.done)) }
}

/** The fields of the unresolved cases of an outcome's entity and operation. */
export async function openFields(db: Pool, { key }: Settlement): Promise<string[]> {
  const { rows } = await db.query<{ field: string }>(
    `select field from dirsync.dead_letter
     where enterprise_code = $1 and entity_key = $2 and operation = $3 and state <> 'resolved'`,
    [key.enterpriseCode, key.entityKey, key.operation],
  )
  return rows.map(row => row.field)
}

/**
 * What is written in place of an outcome that PostgreSQL refuses: the job is over, and a case tells why. Nothing new is
 * taken as known of the entity; its next attempt asks the platform first, as every attempt does.
 * @param open fields of its unresolved cases, which all stay
 */
export function refusedSettlement(settlement: Settlement, error: DatabaseError, open: string[]): Settlement {
  const { key, attempt, employee } = settlement
  const sourceHash = employee?.acknowledgedHash ?? employee?.parkedHash ?? null
  const message = `PostgreSQL refused to store what came of this job (${reasonOf(error)}).`
  return {
    ...settlement,
    attempt: { ...attempt, outcome: 'parked', fields: [], platformCode: null, traceId: null, error: message },
    again: null,
    employee: employee && {
      ...employee,
      acknowledgedHash: null,
      parkedHash: sourceHash,
      acknowledged: {},
      withheld: [],
      platformState: 'unknown',
      deptCode: null,
    },
    failures: [
      {
        entity: key.operation === 'delete-department' ? 'department' : 'employee',
        field: key.detail,
        category: 'internal_error',
        platformCode: null,
        traceId: null,
        message,
        remedy:
          'Look for an odd value of this entity in HR and on the platform, mend it, then retry; report it with this message if there is none.',
        changedFields: [],
        blockedBy: null,
        sourceHash,
        state: 'open',
        nextRetryMs: slowProbeDelay(Math.random()),
      },
    ],
    keep: open,
    binding: null,
    department: key.operation === 'delete-department' ? 'parked' : null,
    blockFields: [],
    unblockFields: [],
  }
}

/** The server's own sentence may quote the value; the names of its rules do not. */
function reasonOf({ code, constraint, table, column }: DatabaseError): string {
  const names = { constraint, table, column }
  const named = Object.entries(names).flatMap(([what, name]) => (name ? [`${what} ${name}`] : []))
  return [`SQLSTATE ${code}`, ...named].join(', ')
}

/** Classes of SQLSTATE that say that data is unfit: not of its type, against a constraint, too long for an index. */
const CLASSES = ['22', '23', '54']

/** Whether PostgreSQL refused what it was given, and would refuse it again. */
export function isUnfit(error: unknown): error is DatabaseError {
  return error instanceof DatabaseError && CLASSES.some(code => error.code?.startsWith(code))
}
