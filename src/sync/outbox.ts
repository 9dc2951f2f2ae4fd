import type { SourceScope } from '../hr/sources.ts'
import type { ClientBase, Pool } from '../lib/database.ts'
import { onlyRow, WORK_MS } from '../lib/database.ts'
import type { ClaimKey } from './claim.ts'

/**
 * The outbox (`dirsync.pending`): every entity with work, one row for each operation on it. Its rows are locked first of
 * all, in the order of their key, or else only as far as they are free. Then come employees, then cases. So plans, claims
 * and outcomes, which all touch many of the same rows, never wait in a circle.
 */

/** The states of a row `p`, each with the condition that tells it from those below it. */
export const OUTBOX_STATES = {
  begun: 'p.starts > 0',
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

/** Every way from one state to another. The diagram in ARCHITECTURE.md is made from this, and a test holds the SQL to it. */
export const OUTBOX_TRANSITIONS: readonly OutboxTransition[] = [
  { event: 'is asked for', from: ['none', 'delayed', 'awaits_plan', 'queued'], to: ['due'] },
  { event: 'is fed', from: ['due'], to: ['queued'] },
  { event: 'is claimed', from: ['queued', 'due'], to: ['begun'] },
  { event: 'is lost by the queue', from: ['queued'], to: ['due'] },
  { event: 'its entity is in hand elsewhere', from: ['queued', 'due'], to: ['delayed'] },
  { event: 'is settled', from: ['begun'], to: ['none'] },
  { event: 'is settled, to be tried again', from: ['begun'], to: ['due', 'delayed'] },
  { event: 'is settled, asked for anew meanwhile', from: ['begun'], to: ['due'] },
  { event: 'no plan has passed its HR row', from: ['begun'], to: ['awaits_plan'] },
  { event: 'its delay is over', from: ['delayed'], to: ['due'] },
  { event: 'its run is cancelled', from: ['due', 'delayed', 'queued'], to: ['none'] },
]

/** Work on an entity, as it is handed to the outbox. */
export interface Work extends ClaimKey {
  /** Departments are deleted in waves, children first; 0 for everything else. */
  wave: number
}

/**
 * Puts work into the outbox, of a run or of none. What is there already is asked for anew, at the better priority.
 * @param named whether a person named the entities: they are sent as HR has them when the job runs
 */
export async function addWork(
  db: ClientBase,
  runId: number | null,
  priority: number,
  work: Work[],
  named = false,
): Promise<void> {
  await db.query(
    `insert into dirsync.pending as p
       (operation, enterprise_code, entity_key, detail, wave, run_id, priority, named)
     select operation, "enterpriseCode", "entityKey", detail, wave, $2, $3, $4
     from jsonb_to_recordset($1)
       as w (operation text, "enterpriseCode" text, "entityKey" text, detail text, wave smallint)
     order by operation, "enterpriseCode", "entityKey", detail
     on conflict (operation, enterprise_code, entity_key, detail) do update
     set run_id = coalesce(excluded.run_id, p.run_id), priority = least(p.priority, excluded.priority),
         wave = excluded.wave, version = p.version + 1, named = p.named or excluded.named,
         enqueued_at = null, not_before = now(), replan_at = null, attempts = 0`,
    [JSON.stringify(work), runId, priority, named],
  )
}

/** Locks what the outbox has of the entities of these cases, before the cases are written. */
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
                      and d.operation = 'bind-openid' and d.field = s.appid and d.state <> 'resolved')
    -- Of enterprises that no source of HR has, nobody can tell who is in service.
    and (not exists (select from dirsync.hr_source)
         or exists (select from dirsync.hr_source h where e.enterprise_code = any (h.enterprise_codes)))`

/** How many open ids are missing. @param codes of these enterprises; null: of all there are */
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

/** Puts every missing open id into the outbox; what waits there already stays with its run. Returns how many are new. */
export async function addBindings(
  db: ClientBase,
  runId: number,
  priority: number,
  sellerAppids: string[],
): Promise<number> {
  const { rowCount } = await db.query(
    `insert into dirsync.pending (operation, enterprise_code, entity_key, detail, run_id, priority)
     select 'bind-openid', enterprise_code, userid, appid, $2, $3 from (${UNBOUND}) unbound
     order by 2, 3, 4
     on conflict do nothing`,
    [sellerAppids, runId, priority],
  )
  return rowCount ?? 0
}

/**
 * Tells PostgreSQL that the outbox has grown: statements planned while it was small would read all of it.
 * @param withEmployees the employees have grown as well
 */
export async function analyzeOutbox(db: Pool, withEmployees: boolean): Promise<void> {
  await db.query(`analyze dirsync.pending${withEmployees ? ', dirsync.employee' : ''}`)
}

/** A row that a feeder took for the queue. */
export interface Fed extends ClaimKey {
  priority: number
  /** Which request for the entity it is: the same until a worker begins it, and never used twice for an entity. */
  request: string
}

/** A row as `Fed`. */
const FED = `p.operation, p.enterprise_code as "enterpriseCode", p.entity_key as "entityKey", p.detail,
       p.priority, coalesce(p.execution::text, extract(epoch from p.created_at)::text) as request`

/**
 * True for a row whose wave has come: nothing of an earlier one is left in its enterprise, whichever run asked for it.
 * Departments alone have waves, and an index of their own for this.
 */
const waveHasCome = (row: string) => `(${row}.wave = 0 or not exists (
    select from dirsync.pending w
    where w.operation = 'delete-department' and w.enterprise_code = ${row}.enterprise_code
      and w.wave < ${row}.wave))`

/**
 * Takes up to `room` due rows for the queue, best priority first, and marks them as enqueued. Only one feeder at a time may
 * call it. Nothing of a halted scope is taken here: see `takeProbes`.
 */
export async function takeForQueue(db: ClientBase, room: number): Promise<Fed[]> {
  const { rows: scopes } = await db.query<{ scope: string }>('select scope from dirsync.halt')
  if (scopes.some(({ scope }) => scope === '*')) return []
  const { rows } = await db.query<Fed>(
    // The array has the rows fetched one by one, as they were found; a join might read the whole outbox for them.
    `update dirsync.pending p set enqueued_at = now()
     where p.ctid = any (array(
       select q.ctid from dirsync.pending q
       where q.enqueued_at is null and q.not_before <= now()
         and q.enterprise_code <> all ($2)
         and ${waveHasCome('q')}
       -- A plan or an outcome is writing the others: they come with the next ones.
       order by q.priority, q.not_before limit $1 for update skip locked))
     returning ${FED}`,
    [room, scopes.map(halt => halt.scope)],
  )
  return rows
}

/**
 * Lets one row through for every halted scope whose probe is due, and sets the time of the next. Where there is no row, the
 * probe stays due for the next row, or for a mirror.
 */
export async function takeProbes(db: ClientBase, nextProbe: (probes: number) => number): Promise<Fed[]> {
  const { rows: halts } = await db.query<{ scope: string; probes: number }>(
    `select scope, probes from dirsync.halt where next_probe_at <= now()
     order by scope = '*' desc for update`,
  )
  const probes: Fed[] = []
  for (const halt of halts) {
    const { rows } = await db.query<Fed>(
      `update dirsync.pending p set enqueued_at = now()
       where p.ctid = (select q.ctid from dirsync.pending q
                       where q.enqueued_at is null and q.not_before <= now() and ${waveHasCome('q')}
                         and $1 in ('*', q.enterprise_code)
                         and ($1 <> '*' or not exists (select from dirsync.halt h
                                                       where h.scope = q.enterprise_code))
                       -- The row that has failed least tells most.
                       order by q.attempts, q.priority, q.not_before limit 1 for update skip locked)
       returning ${FED}`,
      [halt.scope],
    )
    if (rows.length === 0) continue
    await db.query(
      `update dirsync.halt
       set next_probe_at = now() + $2 * interval '1 millisecond', probes = probes + 1 where scope = $1`,
      [halt.scope, nextProbe(halt.probes)],
    )
    probes.push(...rows)
  }
  return probes
}

/** Work of halted enterprises leaves its run, so that the run can end; it stays in the outbox. Returns how much. */
export async function detachHalted(db: ClientBase): Promise<number> {
  const { rowCount } = await db.query(
    // Only for enterprises that have such work according to the tally is the outbox read.
    `with halted as (
       select p.ctid, p.run_id
       from (select h.scope
             from dirsync.halt h
             join dirsync.tally t on t.source = 'pending' and t.enterprise_code = h.scope
             where h.scope <> '*' and t.run_id is not null and not t.enqueued
             group by 1 having sum(t.n) > 0) h
       join dirsync.pending p on p.enterprise_code = h.scope
       where p.run_id is not null and p.enqueued_at is null
       for update of p skip locked
     ), detached as (
       update dirsync.pending p set run_id = null from halted where p.ctid = halted.ctid
       returning halted.run_id, p.operation, p.enterprise_code, p.entity_key, p.detail
     )
     insert into dirsync.attempt
       (run_id, operation, enterprise_code, entity_key, detail, started_at, duration_ms, outcome)
     select run_id, operation, enterprise_code, entity_key, detail, now(), 0, 'halted' from detached`,
  )
  return rowCount ?? 0
}

/** Puts a row back for a while, because another process works on its entity; a longer delay, if it has one, stays. */
export async function postpone(db: Pool, key: ClaimKey, delayMs: number): Promise<void> {
  const statement = {
    text: `update dirsync.pending
           set enqueued_at = null, not_before = greatest(not_before, now() + $5 * interval '1 millisecond')
           where operation = $1 and enterprise_code = $2 and entity_key = $3 and detail = $4`,
    values: [key.operation, key.enterpriseCode, key.entityKey, key.detail, delayMs],
    query_timeout: WORK_MS,
  }
  await db.query(statement)
}

/** Rows that are in the queue, as far as the outbox knows. */
export async function countEnqueued(db: Pool): Promise<number> {
  const { rows } = await db.query<{ n: number }>(
    `select count(*)::int as n from dirsync.pending where enqueued_at is not null`,
  )
  return onlyRow(rows).n
}

/** Marks rows as not enqueued, so that they are fed again; harmless for those that the queue still has. */
export async function refeed(db: Pool, olderThanMs: number): Promise<number> {
  const { rowCount } = await db.query(
    `with lost as (
       select p.ctid from dirsync.pending p
       where p.enqueued_at < now() - $1 * interval '1 millisecond'
       for update skip locked
     )
     update dirsync.pending p set enqueued_at = null from lost where p.ctid = lost.ctid`,
    [olderThanMs],
  )
  return rowCount ?? 0
}
