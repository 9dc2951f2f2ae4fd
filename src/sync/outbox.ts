import pg from 'pg'
import type { EmployeeKey } from '../directory/employee.ts'
import type { SourceScope } from '../hr/sources.ts'
import type { ClientBase, Pool } from '../lib/database.ts'
import { onlyRow, WORK_MS } from '../lib/database.ts'
import { LONGEST_DELAY_MS } from './backoff.ts'
import type { ClaimKey } from './claim.ts'
import { PROBE_IS_DUE } from './halts.ts'

/**
 * The outbox (`dirsync.pending`): every entity with work, one row for each operation on it. Its rows are locked first, in the
 * order of their key, or with `skip locked`. Then come employees, then cases. So plans, claims and outcomes, which all touch
 * many of the same rows, never deadlock.
 */

/** The states of a row `p`, each with the condition that distinguishes it from those below it. */
export const OUTBOX_STATES = {
  begun: 'p.in_hand',
  queued: 'p.enqueued_at is not null',
  awaits_plan: `p.not_before = 'infinity'`,
  delayed: 'p.not_before > now()',
  due: 'true',
} as const
export type OutboxState = keyof typeof OUTBOX_STATES

interface OutboxTransition {
  event: string
  /** `none`: there is no row. */
  from: readonly (OutboxState | 'none')[]
  to: readonly (OutboxState | 'none')[]
}

/** Every transition between states. The diagram in ARCHITECTURE.md is made from this, and a test holds the SQL to it. */
export const OUTBOX_TRANSITIONS: readonly OutboxTransition[] = [
  { event: 'is requested', from: ['none', 'delayed', 'awaits_plan', 'queued'], to: ['due'] },
  { event: 'is missing in HR', from: ['none'], to: ['awaits_plan'] },
  { event: 'is fed', from: ['due'], to: ['queued'] },
  { event: 'is claimed', from: ['queued', 'due'], to: ['begun'] },
  { event: 'is lost by the queue', from: ['queued'], to: ['due'] },
  { event: 'its entity is in hand elsewhere', from: ['queued', 'due'], to: ['delayed'] },
  { event: 'its source is known to others only', from: ['queued', 'due'], to: ['delayed'] },
  { event: 'its process is gone', from: ['begun'], to: ['delayed'] },
  { event: 'is settled', from: ['begun'], to: ['none'] },
  { event: 'is settled, to be tried again', from: ['begun'], to: ['due', 'delayed'] },
  { event: 'is settled, requested anew meanwhile', from: ['begun'], to: ['due'] },
  { event: 'no plan has passed its HR row', from: ['begun'], to: ['awaits_plan'] },
  { event: 'its delay is over', from: ['delayed'], to: ['due'] },
  { event: 'its run is cancelled', from: ['due', 'delayed', 'queued'], to: ['none'] },
]

/**
 * Priorities in the outbox and for the pacer: first what a person named, then changes, other background work, and last what
 * full runs merely ask for. In the queue, what a dead process had in hand comes right after what a person named.
 */
export const PRIORITY = { named: 1, resumed: 2, change: 3, background: 5, full: 7 }

/** Work on an entity, as it is passed to the outbox. */
export interface Work extends ClaimKey {
  /** Departments are deleted in waves, children first; 0 for everything else. */
  wave: number
  /** A person named the entity: HR's row is sent as it is when the job runs. */
  named?: boolean
}

/** Puts work into the outbox, of a run or of none. Existing rows are requested anew, at the better priority. */
export async function addWork(
  db: ClientBase,
  runId: number | null,
  priority: number,
  work: Work[],
): Promise<void> {
  await db.query(
    `insert into dirsync.pending as p
       (operation, enterprise_code, entity_key, detail, wave, run_id, priority, named)
     select operation, "enterpriseCode", "entityKey", detail, wave, $2, $3, coalesce(named, false)
     from jsonb_to_recordset($1)
       as w (operation text, "enterpriseCode" text, "entityKey" text, detail text, wave smallint, named boolean)
     order by operation, "enterpriseCode", "entityKey", detail
     on conflict (operation, enterprise_code, entity_key, detail) do update
     set run_id = coalesce(excluded.run_id, p.run_id), priority = least(p.priority, excluded.priority),
         wave = excluded.wave, version = p.version + 1, named = p.named or excluded.named,
         enqueued_at = null, not_before = now(), replan_at = null, attempts = 0`,
    [JSON.stringify(work), runId, priority],
  )
}

/**
 * Puts employees whom HR no longer shows into the outbox, for a run that reads every row. Existing rows stay: a worker that
 * reads HR finds the same.
 */
export async function awaitPlan(db: ClientBase, employees: readonly EmployeeKey[]): Promise<void> {
  await db.query(
    `insert into dirsync.pending (operation, enterprise_code, entity_key, priority, not_before, replan_at)
     select 'update-employee', enterprise_code, userid, ${PRIORITY.change}, 'infinity', now()
     from unnest($1::text[], $2::text[]) as e (enterprise_code, userid)
     order by 2, 3
     on conflict do nothing`,
    [employees.map(key => key.enterpriseCode), employees.map(key => key.userid)],
  )
}

/** Locks the outbox rows of these cases' entities, before the cases are written. */
export async function lockWorkOfCases(db: ClientBase, ids: number[]): Promise<void> {
  await db.query(
    `select count(*) from (
       select from dirsync.pending p
       where exists (select from dirsync.dead_letter d
                     where d.id = any ($1) and d.operation = p.operation
                       and d.enterprise_code = p.enterprise_code and d.entity_key = p.entity_key)
       order by p.operation, p.enterprise_code, p.entity_key, p.detail
       for update
     ) locked`,
    [ids],
  )
}

/** Employees in service × merchant applications ($1) without a binding and without a case about it. */
const UNBOUND = `
  select e.enterprise_code, e.userid, s.appid
  from dirsync.employee e cross join unnest($1::text[]) as s (appid)
  where e.active and e.vanished_at is null and e.platform_state = 'in_service'
    and not exists (select from dirsync.openid_binding b
                    where b.enterprise_code = e.enterprise_code and b.userid = e.userid
                      and b.seller_appid = s.appid)
    and not exists (select from dirsync.dead_letter d
                    where d.enterprise_code = e.enterprise_code and d.entity_key = e.userid
                      and d.operation = 'bind-openid' and d.field = s.appid and d.state <> 'resolved'
                      -- A person's ignored case is retried when the HR row has changed.
                      and not (d.state = 'ignored' and d.source_hash is distinct from e.source_hash))
    -- Without an HR source for the enterprise, it is unknown who is in service.
    and (not exists (select from dirsync.hr_source)
         or exists (select from dirsync.hr_source h where e.enterprise_code = any (h.enterprise_codes)))`

/** The number of missing open ids. @param codes of these enterprises; null: all */
export async function countUnbound(
  db: ClientBase,
  sellerAppids: string[],
  codes: SourceScope['codes'] = null,
): Promise<number> {
  const { rows } = await db.query<{ n: number }>(
    `select count(*)::int as n from (${UNBOUND}) unbound
     where $2::text[] is null or enterprise_code = any ($2)`,
    [sellerAppids, codes],
  )
  return onlyRow(rows).n
}

/** Puts every missing open id into the outbox; waiting ones stay with their run. Returns how many are new. */
export async function addBindings(db: ClientBase, runId: number, sellerAppids: string[]): Promise<number> {
  const { rowCount } = await db.query(
    `insert into dirsync.pending (operation, enterprise_code, entity_key, detail, run_id, priority)
     select 'bind-openid', enterprise_code, userid, appid, $2, ${PRIORITY.background} from (${UNBOUND}) unbound
     order by 2, 3, 4
     on conflict do nothing`,
    [sellerAppids, runId],
  )
  return rowCount ?? 0
}

/**
 * Updates PostgreSQL's statistics of a grown outbox: statements planned while it was small would read all of it.
 * @param withEmployees the employees have grown as well
 */
export async function analyzeOutbox(db: Pool, withEmployees: boolean): Promise<void> {
  await db.query(`analyze dirsync.pending${withEmployees ? ', dirsync.employee' : ''}`)
}

/** A row that a feeder took for the queue. */
export interface Fed extends ClaimKey {
  priority: number
  /** Which job it is in: the moment of `enqueued_at`, which all rows of a job share. */
  job: string
  /** Identifies the request for the entity: the same until a worker begins it, and never reused for an entity. */
  request: string
}

export function entityOf({ operation }: ClaimKey): 'employee' | 'department' {
  return operation === 'delete-department' ? 'department' : 'employee'
}

/** Employees and departments are locked separately; all operations on one employee share its lock. */
export function lockName(key: ClaimKey): string {
  return JSON.stringify(['dirsync', entityOf(key), key.enterpriseCode, key.entityKey])
}

/** SQL: the same of a row `p`. PostgreSQL writes a text of JSON as JavaScript does. */
const LOCK_NAME = `'["dirsync","' || case p.operation when 'delete-department' then 'department' else 'employee' end
  || '",' || to_json(p.enterprise_code) || ',' || to_json(p.entity_key) || ']'`

/** SQL: the priority that a row has in the queue. */
function priorityOf(row: string): string {
  return `case when ${row}.starts > 0 then least(${row}.priority, ${PRIORITY.resumed}) else ${row}.priority end`
}

/** A row as `Fed`. */
const FED = `p.operation, p.enterprise_code as "enterpriseCode", p.entity_key as "entityKey", p.detail,
       ${priorityOf('p')} as priority, p.enqueued_at::text as job,
       coalesce(p.execution::text, extract(epoch from p.created_at)::text) as request`

/**
 * True for a row whose wave has come: its enterprise has nothing left of an earlier one, whichever run requested it. Only
 * departments have waves, and an index of their own for this.
 */
const waveHasCome = (row: string) => `(${row}.wave = 0 or not exists (
    select from dirsync.pending w
    where w.operation = 'delete-department' and w.enterprise_code = ${row}.enterprise_code
      and w.wave < ${row}.wave))`

/**
 * SQL: up to $1 due rows `q`, in feeding order, `skip locked`: a plan or an outcome is writing the others, and they come with
 * the next ones.
 * @param columns of `q`
 * @param of which enterprise; default: all
 */
const dueRows = (columns: string, of?: string) => `
  select ${columns} from dirsync.pending q
  where q.enqueued_at is null and q.not_before <= now() and ${waveHasCome('q')}
    ${of === undefined ? '' : `and q.enterprise_code = ${pg.escapeLiteral(of)}`}
  order by q.priority, q.not_before limit $1 for update skip locked`

const DUE = `q.ctid, q.operation, ${priorityOf('q')} as "inQueue"`

/**
 * The same for the enterprises that have due work and no halt of their own. Each is read by an index and merged with the
 * others, so that a halted one is never scanned, however much waits in it.
 */
async function dueBeside(db: ClientBase, halted: readonly string[]): Promise<string> {
  if (halted.length === 0) return dueRows(DUE)
  const { rows } = await db.query<{ code: string }>(
    `select enterprise_code as code from dirsync.tally
     where source = 'pending' and not enqueued and enterprise_code <> all ($1)
     group by 1 having sum(n) > 0`,
    [halted],
  )
  const each = rows.map(
    ({ code }) => `select * from (${dueRows(`${DUE}, q.priority, q.not_before`, code)}) of_one`,
  )
  return each.length === 0
    ? `select ${DUE} from dirsync.pending q where false limit $1`
    : `select w.ctid, w.operation, w."inQueue" from (${each.join(' union all ')}) w order by w.priority, w.not_before limit $1`
}

/**
 * Takes up to `room` due rows for the queue, best priority first, and marks them as enqueued. Rows of one operation and one
 * priority are divided into jobs of `perJob` keys, which differ in `enqueued_at` by a microsecond. Only one feeder at a time may
 * call it. Rows of a halted scope are not taken here: see `takeProbes`.
 */
export async function takeForQueue(
  db: ClientBase,
  room: number,
  perJob: (rows: number) => number,
): Promise<Fed[]> {
  const scopes = await haltedScopes(db)
  if (scopes.includes('*')) return []
  const { rows: due } = await db.query<DueRow>(await dueBeside(db, scopes), [room])
  const { rows } = await db.query<Fed>(
    // With the array, rows are fetched one by one, as they were found; a join might read the whole outbox for them.
    `with taken as materialized (select * from unnest($1::tid[], $2::int[]) as t (ctid, job))
     update dirsync.pending p set enqueued_at = now() + t.job * interval '1 microsecond'
     from taken t where p.ctid = any (array(select ctid from taken)) and p.ctid = t.ctid
     returning ${FED}`,
    [due.map(({ ctid }) => ctid), divided(due, perJob(due.length))],
  )
  return rows
}

/** A row that is due. */
interface DueRow {
  ctid: string
  operation: string
  /** The priority of its job. */
  inQueue: number
}

/** The number of the job that each row is in. */
function divided(due: readonly DueRow[], perJob: number): number[] {
  const open = new Map<string, { job: number; keys: number }>()
  let jobs = 0
  return due.map(({ operation, inQueue }) => {
    const kind = `${operation} ${inQueue}`
    let latest = open.get(kind)
    if (latest === undefined || latest.keys === perJob) {
      jobs += 1
      latest = { job: jobs, keys: 0 }
      open.set(kind, latest)
    }
    latest.keys += 1
    return latest.job
  })
}

async function haltedScopes(db: ClientBase): Promise<string[]> {
  const { rows } = await db.query<{ scope: string }>('select scope from dirsync.halt')
  return rows.map(({ scope }) => scope)
}

/** How many rows are searched for the best probe. */
const PROBED = 1000

/**
 * Lets one row through for every halted scope whose probe is due, and sets the time of the next. Without a row, the probe stays
 * due for the next row, or for a mirror. While a person has paused all calls none is let through: it could make no call.
 */
export async function takeProbes(db: ClientBase, nextProbe: (probes: number) => number): Promise<Fed[]> {
  const { rows: halts } = await db.query<{ scope: string; probes: number }>(
    `select scope, probes from dirsync.halt
     where (${PROBE_IS_DUE}) and not exists (select from dirsync.halt where category = 'paused')
     order by scope = '*' desc for update`,
  )
  const probes: Fed[] = []
  for (const { scope, probes: soFar } of halts) {
    const own = async () => (await haltedScopes(db)).filter(other => other !== '*')
    const due = scope === '*' ? await dueBeside(db, await own()) : dueRows(DUE, scope)
    const { rows } = await db.query<Fed>(
      `update dirsync.pending p set enqueued_at = now()
       where p.ctid = (select q.ctid from dirsync.pending q
                       where q.ctid = any (array(select ctid from (${due}) due)) and q.enqueued_at is null
                       -- The row that has failed least is the best probe.
                       order by q.attempts, q.priority, q.not_before limit 1)
       returning ${FED}`,
      [PROBED],
    )
    if (rows.length === 0) continue
    await db.query(
      `update dirsync.halt
       set next_probe_at = now() + $2 * interval '1 millisecond', probes = probes + 1 where scope = $1`,
      [scope, nextProbe(soFar)],
    )
    probes.push(...rows)
  }
  return probes
}

/** Most rows that leave their runs in one transaction. */
const DETACHED = 5000

/**
 * Some work of halted enterprises leaves its run, so that the run can end; it stays in the outbox.
 * @returns how much; as long as there is any, there may be more
 */
export async function detachHalted(db: Pool, most = DETACHED): Promise<number> {
  const { rowCount } = await db.query(
    // The outbox is read only for enterprises and runs that have such work by the tally.
    `with halted as (
       select p.ctid, p.run_id
       from (select h.scope, t.run_id
             from dirsync.halt h
             join dirsync.tally t on t.source = 'pending' and t.enterprise_code = h.scope
             -- The rest of a cancelled run is removed.
             join dirsync.sync_run r on r.id = t.run_id and r.cancelled_at is null
             where h.scope <> '*' and t.run_id is not null and not t.enqueued
             group by 1, 2 having sum(t.n) > 0) h
       cross join lateral (
         select p.ctid, p.run_id from dirsync.pending p
         where p.run_id = h.run_id and p.enterprise_code = h.scope and p.enqueued_at is null
         -- In an index's order: otherwise all are read before some are taken.
         order by p.entity_key limit $1 for update skip locked) p
       limit $1
     ), detached as (
       update dirsync.pending p set run_id = null
       from halted where p.ctid = any (array(select ctid from halted)) and p.ctid = halted.ctid
       returning halted.run_id, p.operation, p.enterprise_code, p.entity_key, p.detail
     )
     insert into dirsync.attempt
       (run_id, operation, enterprise_code, entity_key, detail, started_at, duration_ms, outcome)
     select run_id, operation, enterprise_code, entity_key, detail, now(), 0, 'halted' from detached`,
    [most],
  )
  return rowCount ?? 0
}

/**
 * Delays rows because their entities are in hand for other rows; a longer delay, if one has it, stays. A row that is itself in
 * hand is given back by whoever has it.
 */
export async function postpone(db: Pool, keys: readonly ClaimKey[], delayMs: number): Promise<void> {
  const statement = {
    text: `with others as materialized (
             select p.ctid from dirsync.pending p
             join unnest($1::text[], $2::text[], $3::text[], $4::text[]) as k (operation, enterprise_code, entity_key, detail)
               using (operation, enterprise_code, entity_key, detail)
             where not p.in_hand
             order by p.operation, p.enterprise_code, p.entity_key, p.detail for update of p
           )
           update dirsync.pending p
           set enqueued_at = null, not_before = greatest(not_before, now() + $5 * interval '1 millisecond')
           from others where p.ctid = any (array(select ctid from others)) and p.ctid = others.ctid`,
    values: [
      keys.map(key => key.operation),
      keys.map(key => key.enterpriseCode),
      keys.map(key => key.entityKey),
      keys.map(key => key.detail),
      delayMs,
    ],
    query_timeout: WORK_MS,
  }
  await db.query(statement)
}

/** What is in the queue and not begun, as far as the outbox knows. */
export async function countEnqueued(db: Pool): Promise<{ rows: number; jobs: number }> {
  const { rows } = await db.query<{ rows: number; jobs: number }>(
    `select count(*)::int as rows, count(distinct enqueued_at)::int as jobs
     from dirsync.pending where enqueued_at is not null and not in_hand`,
  )
  return onlyRow(rows)
}

/** Marks rows that nobody has begun as not enqueued, so that they are fed again; harmless for those that the queue still has. */
export async function refeed(db: Pool, olderThanMs: number): Promise<number> {
  const { rowCount } = await db.query(
    `with lost as (
       select p.ctid from dirsync.pending p
       where not p.in_hand and (p.enqueued_at < now() - $1 * interval '1 millisecond'
         -- Enqueued before the clock was put back.
         or p.enqueued_at > now() + interval '${LONGEST_DELAY_MS} milliseconds')
       for update skip locked
     )
     update dirsync.pending p set enqueued_at = null from lost where p.ctid = lost.ctid`,
    [olderThanMs],
  )
  return rowCount ?? 0
}

/**
 * What an execution has sent may still be under way when its process has gone. The next one comes as long after it as a first
 * retry comes after a call without an answer.
 */
const LATE_EFFECT_MS = 1000

/**
 * Marks rows as not enqueued whose execution has ended without a word: nobody has the lock any more that is held from before
 * it begins until its outcome is written. Its process is dead, or has lost its locks. They are due in a moment.
 */
export async function refeedAbandoned(db: Pool): Promise<number> {
  const { rowCount } = await db.query(
    `with locks as materialized (
       select (classid::bigint << 32) | objid::bigint as hash from pg_locks
       where locktype = 'advisory' and objsubid = 1 and granted
         and database = (select oid from pg_database where datname = current_database())
     ), abandoned as materialized (
       select p.ctid from dirsync.pending p
       where p.enqueued_at is not null and p.in_hand
         and hashtextextended(${LOCK_NAME}, 0) not in (select hash from locks)
       for update skip locked
     )
     update dirsync.pending p
     set enqueued_at = null, in_hand = false, not_before = greatest(not_before, now() + interval '${LATE_EFFECT_MS} milliseconds')
     from abandoned where p.ctid = any (array(select ctid from abandoned)) and p.ctid = abandoned.ctid`,
  )
  return rowCount ?? 0
}

/** Makes work due that waits longer than any delay: the clock was put back. Returns how much. */
export async function endLateDelays(db: Pool): Promise<number> {
  const { rowCount } = await db.query(
    `update dirsync.pending p set not_before = now()
     where p.ctid = any (array(
       select q.ctid from generate_series(0, 9) as level (priority)
       -- One index look-up for each.
       cross join lateral (
         select l.ctid from dirsync.pending l
         where l.priority = level.priority and l.enqueued_at is null and l.not_before < 'infinity'
           and l.not_before > now() + interval '${LONGEST_DELAY_MS} milliseconds'
         for update skip locked) q))`,
  )
  return rowCount ?? 0
}
