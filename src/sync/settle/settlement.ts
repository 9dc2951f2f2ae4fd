import { DatabaseError } from 'pg'
import { lockTransaction } from '../../lib/advisory-lock.ts'
import { type ClientBase, type Pool, repeatWhatIsFenced, transaction, WORK_MS } from '../../lib/database.ts'
import { storable, storableJson } from '../../lib/storable.ts'
import { message } from '../../texts/message.ts'
import { openFields, type RecordedCase, recordFailure, resolveCases, restCases } from '../cases/cases.ts'
import { releasedBy, tryAtOnce } from '../cases/retries.ts'
import { reviewSwaps } from '../cases/swap.ts'
import { askLate, restProbes } from '../cases/withheld.ts'
import { entityOf, PRIORITY } from '../outbox/outbox.ts'
import {
  type FinishedSettlement,
  failure,
  finished,
  type Settlement,
  storedEmployee,
  unasked,
  unsent,
} from '../outbox/outcome.ts'
import { liftBlocks, recordRefusals } from './field-blocks.ts'

/** How long outcomes that are written together wait for a row that another transaction has locked. */
const PATIENCE_MS = 1000
/** The same of one by itself: each of those that were together may wait as long. */
const PATIENCE_ALONE_MS = 10

/**
 * Writes the outcomes of many jobs, each completely or not at all: success and resolved cases together. An outcome that
 * PostgreSQL refuses becomes a case that says so, and the others are written without it. A write that times out is repeated: if
 * it was committed after all, its executions are over, and nothing happens a second time.
 * @returns those of which nothing is written: they wait for another transaction, such as a person's decision
 */
export async function settle(db: Pool, settlements: Settlement[]): Promise<Settlement[]> {
  const {
    known = [],
    quiet = [],
    full = [],
  } = Object.groupBy(settlements, settlement =>
    isKnown(settlement) ? 'known' : isQuiet(settlement) ? 'quiet' : 'full',
  )
  return [
    ...(await settleSome(db, known, () => writeKnown(db, known))),
    ...(await settleSome(db, quiet, () => writeOutcomes(db, quiet, PATIENCE_MS))),
    ...(await settleSome(db, full, () => settleInFull(db, full, PATIENCE_MS))),
  ]
}

/** Writes outcomes together; where PostgreSQL refuses one of them, or has one wait, each by itself. */
async function settleSome(
  db: Pool,
  settlements: Settlement[],
  write: () => Promise<unknown>,
): Promise<Settlement[]> {
  if (settlements.length === 0) return []
  const heldUp: Settlement[] = []
  try {
    await repeatWhatIsFenced(write)
  } catch (error) {
    if (!isUnfit(error) && !isLocked(error)) throw error
    for (const settlement of settlements) if (!(await settleAlone(db, settlement))) heldUp.push(settlement)
  }
  return heldUp
}

/** False if it waits for another transaction. */
async function settleAlone(db: Pool, settlement: Settlement): Promise<boolean> {
  const write = (one: Settlement) => repeatWhatIsFenced(() => settleInFull(db, [one], PATIENCE_ALONE_MS))
  try {
    await write(settlement).catch(async error => {
      if (!isUnfit(error)) throw error
      await write(refusedSettlement(settlement, error, await openFields(db, settlement.key)))
    })
    return true
  } catch (error) {
    if (isLocked(error)) return false
    throw error
  }
}

/** Only the attempt, the outbox and the employee are touched: one statement does it. */
function isQuiet(settlement: Settlement): boolean {
  if (concernsOthers(settlement) || settlement.present !== undefined) return false
  if (settlement.again !== null) return true
  const { failures, stored } = settlement
  return failures.length === 0 && (stored === null || stored.of === 'employee')
}

/** The employee is in sync as they were known: nothing is stored but the attempt, which has no failure and no fields. */
function isKnown(settlement: Settlement): boolean {
  const { outcome, error, platformCode, traceId } = settlement
  const employee = storedEmployee(settlement)
  return (
    isQuiet(settlement) &&
    outcome === 'in_sync' &&
    employee?.isStored === true &&
    employee.fields.length === 0 &&
    error === null &&
    platformCode === null &&
    traceId === null
  )
}

/**
 * Outcomes that release others, wait to be released, or end a case that may be part of a swap are written one after the other.
 * Two that do not see each other would both find none to release.
 */
function concernsOthers(settlement: Settlement): boolean {
  if (settlement.changed) return true
  if (settlement.again !== null) return false
  const employee = storedEmployee(settlement)
  return (
    settlement.resolve !== 'none' ||
    settlement.failures.some(failure => failure.blockedBy !== null) ||
    (employee !== null &&
      [employee.blockFields, employee.unblockFields, employee.memory.withheld].some(list => list.length > 0))
  )
}

function isFinished(settlement: Settlement): settlement is FinishedSettlement {
  return settlement.again === null
}

async function settleInFull(db: Pool, given: Settlement[], patienceMs: number): Promise<void> {
  const settlements = given.map(storable)
  const write = async (client: ClientBase) => {
    if (settlements.some(concernsOthers)) await lockTransaction(client, 'settlement')
    const { valid, done } = await writeOutcomes(client, settlements, patienceMs)
    await writePresent(client, done)
    const ended = valid.filter(isFinished)
    const resolved = await resolveCases(client, ended)
    const recorded: RecordedCase[] = []
    for (const settlement of ended) {
      const standsFor = await recordRefusals(client, settlement)
      for (const failure of settlement.failures)
        if (!standsFor.includes(failure.field))
          recorded.push(await recordFailure(client, settlement, failure))
      await writeBinding(client, settlement)
      await writeDepartment(client, settlement)
      await liftBlocks(client, settlement)
    }
    await restCases(client, done.filter(isFinished))
    await restProbes(client, ended)
    await askLate(client, ended)
    await askAbsent(client, ended)
    await tryAtOnce(client, [
      ...recorded.filter(({ isDue }) => isDue),
      ...(await releasedBy(client, valid)),
      ...(await reviewSwaps(client, recorded, resolved)),
    ])
  }
  await transaction(db, write, WORK_MS)
}

/**
 * SQL: employee `e` waits for the decision that the claim of the outcome `n` saw, not for a later one. Of the updated row itself
 * alone, PostgreSQL reads the columns anew once it has waited for its lock.
 */
const IS_OVER = `n."isHeld" and e.held_hash is not distinct from n."heldHash"`

/**
 * For employees whom a person named, and those whose rejected row the platform has, HR's row is the one that was compared, as if
 * a plan had passed it. Those that waited for a decision about an older row no longer do; a row held since stays.
 */
async function writePresent(client: ClientBase, done: Settlement[]): Promise<void> {
  const named = done.flatMap(settlement =>
    settlement.present && storedEmployee(settlement) ? [{ ...settlement.key, ...settlement.present }] : [],
  )
  if (named.length === 0) return
  await client.query(
    `update dirsync.employee e
     set source_hash = n.hash,
         active = e.active and n.hash is not null,
         vanished_at = case when n.hash is null then coalesce(e.vanished_at, now()) end,
         held_run = case when ${IS_OVER} then null else e.held_run end,
         held_hash = case when ${IS_OVER} then null else e.held_hash end,
         held_gone = e.held_gone and not (${IS_OVER}),
         rejected = e.rejected and not (${IS_OVER})
     from jsonb_to_recordset($1)
       as n ("enterpriseCode" text, "entityKey" text, hash uuid, "isHeld" boolean, "heldHash" uuid)
     where e.enterprise_code = n."enterpriseCode" and e.userid = n."entityKey"`,
    [JSON.stringify(named)],
  )
}

async function writeBinding(client: ClientBase, { key, stored }: FinishedSettlement): Promise<void> {
  if (stored?.of !== 'openid') return
  await client.query(
    `insert into dirsync.openid_binding (enterprise_code, userid, seller_appid, open_userid)
     values ($1, $2, $3, $4)
     on conflict (enterprise_code, userid, seller_appid) do update
     set open_userid = excluded.open_userid, bound_at = now(), doubted = false`,
    [key.enterpriseCode, key.entityKey, key.detail, stored.openUserid],
  )
}

/**
 * Requests employees whom the platform lacks by the answer to a job for their open id, unless that is known: their update learns it, and
 * waits for the account as a case. None is made that would learn nothing: of a row that waits for a decision or was rejected, and of
 * one that breaks a rule.
 */
async function askAbsent(client: ClientBase, ended: FinishedSettlement[]): Promise<void> {
  const absent = ended
    .filter(({ key, outcome }) => key.operation === 'bind-openid' && outcome === 'awaiting_activation')
    .map(({ key }) => key)
  if (absent.length === 0) return
  await client.query(
    `insert into dirsync.pending (operation, enterprise_code, entity_key, priority)
     select distinct 'update-employee', e.enterprise_code, e.userid, ${PRIORITY.background}
     from jsonb_to_recordset($1) as a ("enterpriseCode" text, "entityKey" text)
     join dirsync.employee e on e.enterprise_code = a."enterpriseCode" and e.userid = a."entityKey"
     where e.platform_state <> 'absent' and e.held_run is null
       and not exists (select from dirsync.dead_letter d
                       where d.operation = 'update-employee' and d.enterprise_code = e.enterprise_code
                         and d.entity_key = e.userid and d.category = 'invalid_hr_row' and d.state <> 'resolved')
     order by 2, 3
     on conflict do nothing`,
    [JSON.stringify(absent)],
  )
}

async function writeDepartment(client: ClientBase, { key, stored }: FinishedSettlement): Promise<void> {
  if (stored?.of !== 'department') return
  await client.query(
    `update dirsync.department
     set deleted_at = case when $3 = 'deleted' then now() end,
         parked_at = case when $3 = 'parked' then now() end
     where enterprise_code = $1 and dept_code = $2`,
    [key.enterpriseCode, key.entityKey, stored.state],
  )
}

/**
 * SQL: the usual outcome in one statement. The attempt is recorded, the outbox row is removed or given back.
 *
 * Every position is in that range. But PostgreSQL, which guesses a hundred rows for any JSON and reads whole tables for so
 * many, then expects few; and since it expects the same for every value, it plans the statement once per connection.
 *
 * The outbox rows are locked before anything is written, in the order of their key, as everywhere that several are locked, so
 * that there is no deadlock. PostgreSQL executes the last line first, which reads them all.
 *
 * For how long it waits for locks ($2) is set before, and holds for the rest of its transaction.
 * @param given the outcomes `s`
 * @param more statements on those whose execution is the latest, `locked`
 */
const writing = (given: string, more = '') => `
with patience as materialized (
  select set_config('lock_timeout', $2, true)
), s as materialized (
  select s.* from patience cross join ${given}
  where position between 0 and 1000000
), locked as materialized (
  select s.*, s.done and p.version = s.version and (p.named or not s."needsName") as is_done,
         p.version = s.version as is_current, s.outcome = 'replan' as is_replan
  from s join dirsync.pending p on p.operation = s.operation and p.enterprise_code = s."enterpriseCode"
                               and p.entity_key = s."entityKey" and p.detail = s.detail
  where p.execution = s.execution
  order by p.operation, p.enterprise_code, p.entity_key, p.detail
  for update of p
), noted as (
  insert into dirsync.attempt (run_id, operation, enterprise_code, entity_key, detail, started_at,
                               duration_ms, outcome, calls, waited_ms, rate_limited, fields, platform_code,
                               trace_id, error, execution)
  select "runId", operation, "enterpriseCode", "entityKey", detail, "startedAt", "durationMs",
         outcome, calls, "waitedMs", "rateLimited", fields, "platformCode", "traceId", error, execution
  from s
  on conflict (execution) do nothing
), gone as (
  delete from dirsync.pending p using locked l
  where p.operation = l.operation and p.enterprise_code = l."enterpriseCode"
    and p.entity_key = l."entityKey" and p.detail = l.detail and l.is_done
), back as (
  update dirsync.pending p
  -- The execution is over: its outcome changes nothing a second time.
  set execution = nextval('dirsync.execution'), enqueued_at = null, starts = 0, in_hand = false, attempts = l.attempts,
      sent_unknown = l."sentUnknown" and not l.done,
      -- If it was requested anew meanwhile, a plan has checked the HR row. If not, it waits, outside its run,
      -- until a plan has.
      not_before = case when not l.is_replan then now() + l.delay * interval '1 millisecond'
                        when l.is_current then 'infinity' else now() end,
      replan_at = case when l.is_replan and l.is_current then now() end,
      run_id = case when l.is_replan and l.is_current then null else p.run_id end
  from locked l
  where p.operation = l.operation and p.enterprise_code = l."enterpriseCode"
    and p.entity_key = l."entityKey" and p.detail = l.detail and not l.is_done${more}
)
select position, is_done as done from locked`

/**
 * With what is to be remembered of the employees. An account that the platform calls absent loses its open ids: an account that
 * comes back has others.
 */
const WRITE = writing(
  `json_to_recordset($1) as s (
    position int, operation text, "enterpriseCode" text, "entityKey" text, detail text,
    version int, execution bigint, done boolean, delay int, attempts int, "sentUnknown" boolean,
    "runId" bigint, "startedAt" timestamptz, "durationMs" int, outcome text,
    calls jsonb, "waitedMs" jsonb, "rateLimited" jsonb,
    fields text[], "platformCode" bigint, "traceId" text, error jsonb,
    remember boolean, active boolean, "acknowledgedHash" uuid, "parkedHash" uuid, acknowledged jsonb,
    overwritten jsonb, withheld text[], "platformState" text, "isAnswered" boolean, "deptCode" text,
    "hadLeft" boolean, account int, "isAnew" boolean, "needsName" boolean)`,
  `
), unbound as (
  delete from dirsync.openid_binding b using locked l
  where (l.remember and l."platformState" = 'absent' or l.outcome = 'awaiting_activation' or l."isAnew")
    and b.enterprise_code = l."enterpriseCode" and b.userid = l."entityKey"
), remembered as (
  insert into dirsync.employee as e (enterprise_code, userid, active, acknowledged_hash, parked_hash,
                                     acknowledged, overwritten, withheld, platform_state, dept_code, had_left,
                                     account, acknowledged_at, queried_at)
  select "enterpriseCode", "entityKey", active, "acknowledgedHash", "parkedHash",
         acknowledged, overwritten, withheld, "platformState", "deptCode", "hadLeft", account,
         case when "acknowledgedHash" is not null or acknowledged <> '{}' then now() end,
         case when "isAnswered" then now() end
  from locked where remember
  order by "enterpriseCode", "entityKey"
  on conflict (enterprise_code, userid) do update
  set active = excluded.active,
      acknowledged_hash = excluded.acknowledged_hash, parked_hash = excluded.parked_hash,
      -- An account that the platform lacks holds nothing; the content of a later one is unknown.
      acknowledged = case when excluded.platform_state = 'absent' then '{}'
                          when (e.enterprise_code, e.userid) in
                               (select "enterpriseCode", "entityKey" from locked where "isAnew") then excluded.acknowledged
                          else e.acknowledged || excluded.acknowledged end,
      overwritten = case when excluded.platform_state = 'unknown' then e.overwritten
                         else excluded.overwritten end,
      withheld = excluded.withheld,
      platform_state = case when excluded.platform_state = 'unknown' then e.platform_state
                            else excluded.platform_state end,
      dept_code = case when excluded.platform_state = 'unknown' then e.dept_code else excluded.dept_code end,
      had_left = excluded.platform_state <> 'absent' and coalesce(excluded.had_left, e.had_left),
      account = coalesce(excluded.account, e.account),
      moving_to = case when excluded.platform_state = 'unknown' then e.moving_to end,
      acknowledged_at = coalesce(excluded.acknowledged_at, e.acknowledged_at),
      queried_at = coalesce(excluded.queried_at, e.queried_at)`,
)

/** Of employees who are in sync as they were known, most of a full run: arrays cost PostgreSQL less than JSON. */
const WRITE_KNOWN = writing(`(
    select (i - 1)::int as position, "enterpriseCode", "entityKey", version, execution, "runId", "startedAt",
           "durationMs", outcome, calls, "waitedMs", "rateLimited",
           'update-employee' as operation, '' as detail, true as done, 0 as delay, 0 as attempts,
           false as "sentUnknown", '{}'::text[] as fields, null::bigint as "platformCode",
           null::text as "traceId", null::jsonb as error, false as "needsName"
    from unnest($1::text[], $3::text[], $4::int[], $5::bigint[], $6::bigint[], $7::timestamptz[], $8::int[],
                $9::text[], $10::jsonb[], $11::jsonb[], $12::jsonb[])
      with ordinality as u ("enterpriseCode", "entityKey", version, execution, "runId", "startedAt",
                            "durationMs", outcome, calls, "waitedMs", "rateLimited", i)) s`)

async function writeKnown(db: Pool, settlements: Settlement[]): Promise<void> {
  const each = <T>(value: (settlement: Settlement) => T) => settlements.map(value)
  await db.query({
    name: 'write-outcomes-known',
    text: WRITE_KNOWN,
    values: [
      each(({ key }) => key.enterpriseCode),
      `${PATIENCE_MS}ms`,
      each(({ key }) => key.entityKey),
      each(({ version }) => version),
      each(({ execution }) => execution),
      each(({ runId }) => runId),
      each(({ startedAt }) => startedAt.toISOString()),
      each(({ durationMs }) => durationMs),
      each(({ outcome }) => outcome),
      each(({ calls }) => JSON.stringify(calls)),
      each(({ waitedMs }) => JSON.stringify(waitedMs)),
      each(({ rateLimited }) => JSON.stringify(rateLimited)),
    ],
    query_timeout: WORK_MS,
  })
}

/** Returns the settlements that no later execution has overtaken, and which of them leave nothing to do. */
async function writeOutcomes(
  db: ClientBase | Pool,
  settlements: Settlement[],
  patienceMs: number,
): Promise<{ valid: Settlement[]; done: Settlement[] }> {
  const rows = settlements.map((settlement, position) => {
    const { key, again, version, execution, sentUnknown, runId, startedAt, durationMs } = settlement
    const { outcome, calls, waitedMs, rateLimited, platformCode, traceId, error } = settlement
    const employee = storedEmployee(settlement)
    return {
      position,
      ...key,
      ...{ version, execution, sentUnknown, runId, startedAt, durationMs },
      ...{ outcome, calls, waitedMs, rateLimited, platformCode, traceId, error },
      done: again === null,
      delay: again?.delayMs ?? 0,
      attempts: again?.attempts ?? 0,
      fields: employee?.fields ?? [],
      // Nothing of a row that a person named was sent. Once another one has rejected it, it is looked at anew, unnamed.
      needsName: settlement.present?.named === true && !employee?.fields.length,
      remember: employee !== null && !employee.isStored,
      ...(employee?.isStored ? null : employee?.memory),
    }
  })
  const statement = {
    name: 'write-outcomes',
    text: WRITE,
    values: [storableJson(JSON.stringify(rows)), `${patienceMs}ms`],
    query_timeout: WORK_MS,
  }
  const { rows: locked } = await db.query<{ position: number; done: boolean }>(statement)
  const of = (some: { position: number }[]) => some.map(row => settlements[row.position] as Settlement)
  return { valid: of(locked), done: of(locked.filter(row => row.done)) }
}

/** Classes of SQLSTATE for unfit data: not of its type, against a constraint, too long for an index. */
const UNFIT = ['22', '23', '54']

/** SQLSTATE lock_not_available. */
const LOCKED = '55P03'

function isLocked(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === LOCKED
}

/** Whether PostgreSQL refused the data, and would refuse it again. */
export function isUnfit(error: unknown): error is DatabaseError {
  return error instanceof DatabaseError && UNFIT.some(code => error.code?.startsWith(code))
}

/**
 * The replacement of an outcome that PostgreSQL refuses: the job is over, and a case says why. The entity's stored state stays;
 * its next attempt asks the platform first, as every attempt does.
 * @param open fields of its unresolved cases, which all stay
 */
function refusedSettlement(settlement: Settlement, error: DatabaseError, open: string[]): Settlement {
  const { key } = settlement
  const entity = entityOf(key)
  const memory = storedEmployee(settlement)?.memory
  const sourceHash = memory?.acknowledgedHash ?? memory?.parkedHash ?? null
  const what = message('said.not_stored', { reason: reasonOf(error) })
  const refused = finished('parked', {
    error: what,
    stored: memory
      ? unsent({ ...unasked(memory.active), overwritten: memory.overwritten, parkedHash: sourceHash })
      : entity === 'department'
        ? { of: 'department', state: 'parked' }
        : null,
    failures: [
      failure({
        entity,
        category: 'internal_error',
        field: key.detail,
        message: what,
        remedy: message('said.not_stored_remedy'),
        sourceHash,
        cases: [],
      }),
    ],
    resolve: { except: open },
  })
  return { ...settlement, ...refused }
}

/** The server's own sentence may quote the value; the names of its rules do not. */
function reasonOf({ code, constraint, table, column }: DatabaseError): string {
  const names = { constraint, table, column }
  const named = Object.entries(names).flatMap(([what, name]) => (name ? [`${what} ${name}`] : []))
  return [`SQLSTATE ${code}`, ...named].join(', ')
}
