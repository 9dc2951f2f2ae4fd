import type { EmployeeKey } from '../../directory/employee.ts'
import type { SourceScope } from '../../hr/sources.ts'
import { type ClientBase, LOOK_MS, onlyRow, type Pool, WORK_MS } from '../../lib/database.ts'
import { type ClaimKey, isAnothers, keyColumns } from './claim.ts'
import { decisionAbout, hasSource } from './employee.ts'

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
  { event: 'its source is known to others only', from: ['queued', 'due', 'begun'], to: ['delayed'] },
  { event: 'its process is gone', from: ['begun'], to: ['delayed'] },
  { event: 'a claim finds its process gone', from: ['begun'], to: ['delayed'] },
  { event: 'is settled', from: ['begun'], to: ['none'] },
  { event: 'is settled, to be tried again', from: ['begun'], to: ['due', 'delayed'] },
  { event: 'is settled, requested anew meanwhile', from: ['begun'], to: ['due'] },
  { event: 'no plan has passed its HR row', from: ['begun'], to: ['awaits_plan'] },
  { event: 'its delay is over', from: ['delayed'], to: ['due'] },
  { event: 'its run is cancelled', from: ['due', 'delayed', 'queued'], to: ['none'] },
  { event: 'is rejected', from: ['due', 'delayed', 'queued'], to: ['none'] },
  { event: 'its enterprise is gone', from: ['due', 'delayed', 'queued', 'awaits_plan'], to: ['none'] },
]

/**
 * Priorities in the outbox and for the pacer: first what a person named, then changes, other background work, and last what
 * full runs merely ask for. In the queue, what a dead process had in hand comes right after what a person named.
 */
export const PRIORITY = { named: 1, resumed: 2, change: 3, background: 5, full: 7 }

/** Work on an entity, as it is passed to the outbox. */
export interface Work extends ClaimKey {
  /** Departments are deleted in waves, children first; default: 0. */
  wave?: number
  /** A person named the entity: HR's row is sent as it is when the job runs. */
  named?: boolean
}

export function updateOf({ enterpriseCode, userid }: EmployeeKey): Work {
  return { operation: 'update-employee', enterpriseCode, entityKey: userid, detail: '' }
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
     select operation, "enterpriseCode", "entityKey", detail, coalesce(wave, 0), $2, $3, coalesce(named, false)
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
 * The same for a run that was requested, but without what a person named and another one has rejected since: the later word counts.
 * An outcome says so.
 * @returns the work that was added
 */
export async function addRequested(
  db: ClientBase,
  runId: number,
  priority: number,
  work: Work[],
): Promise<Work[]> {
  const named = work.flatMap((item, position) => (item.named ? [{ ...item, position }] : []))
  const decision = decisionAbout('n.run', 'n.operation', 'n."enterpriseCode"', 'n."entityKey"')
  const { rows } = await db.query<{ position: number }>(
    `with rejected as materialized (
       select n.*
       from (select k.*, coalesce(e.held_run, d.rejected_run) as run
             from jsonb_to_recordset($2)
               as k (operation text, "enterpriseCode" text, "entityKey" text, detail text, position int)
             left join dirsync.employee e
               on k.operation = 'update-employee' and e.enterprise_code = k."enterpriseCode"
              and e.userid = k."entityKey" and e.rejected
             left join dirsync.department d
               on k.operation = 'delete-department' and d.enterprise_code = k."enterpriseCode"
              and d.dept_code = k."entityKey") n
       cross join lateral (${decision}) o
       -- Another person may have joined the run.
       where o.decided_at > (
         select greatest(r.requested_at, max(c.requested_at))
         from dirsync.sync_run r left join dirsync.command c on c.run_id = r.id and c.name in ('resync', 'retry')
         where r.id = $1 group by r.id)
     ), noted as (
       insert into dirsync.attempt
         (run_id, operation, enterprise_code, entity_key, detail, started_at, duration_ms, outcome, error)
       select $1, operation, "enterpriseCode", "entityKey", detail, now(), 0, 'obsolete',
              jsonb_build_object('key', case operation when 'delete-department' then 'said.deletion_rejected'
                                                       else 'said.rejected_unsent' end,
                                 'values', jsonb_build_object('run', run))
       from rejected order by position
     )
     select position from rejected`,
    [runId, JSON.stringify(named)],
  )
  const rejected = new Set(rows.map(({ position }) => position))
  const added = work.filter((_, position) => !rejected.has(position))
  await addWork(db, runId, priority, added)
  return added
}

/**
 * Puts employees whom HR no longer shows into the outbox, for a run that reads every row. Existing rows stay: a worker that
 * reads HR finds the same.
 */
export async function awaitPlan(db: ClientBase, employees: readonly EmployeeKey[]): Promise<void> {
  if (employees.length === 0) return
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

/** Employees in service × merchant applications ($1) without a binding, or with one from a backup, and without a case about it. */
const UNBOUND = `
  select e.enterprise_code, e.userid, s.appid
  from dirsync.employee e cross join unnest($1::text[]) as s (appid)
  where e.active and e.vanished_at is null and e.platform_state = 'in_service'
    and not exists (select from dirsync.openid_binding b
                    where b.enterprise_code = e.enterprise_code and b.userid = e.userid
                      and b.seller_appid = s.appid and not b.doubted)
    and not exists (select from dirsync.dead_letter d
                    where d.enterprise_code = e.enterprise_code and d.entity_key = e.userid
                      and d.operation = 'bind-openid' and d.field = s.appid and d.state <> 'resolved'
                      -- A person's ignored case is retried when the HR row has changed, whether or not a plan has passed it.
                      and not (d.state = 'ignored'
                               and d.source_hash is distinct from coalesce(e.held_hash, e.source_hash)))
    and not ${isAnothers('e.enterprise_code', 'e.userid')}
    -- Without an HR source for the enterprise, it is unknown who is in service.
    and ${hasSource('e')}`

/** The number of missing open ids. @param codes of these enterprises; null: all */
export async function countUnbound(
  db: ClientBase,
  sellerAppids: string[],
  codes: SourceScope['codes'],
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

export function entityOf({ operation }: ClaimKey): 'employee' | 'department' {
  return operation === 'delete-department' ? 'department' : 'employee'
}

/** Employees and departments are locked separately; all operations on one employee share its lock. */
export function lockName(key: ClaimKey): string {
  return JSON.stringify(['dirsync', entityOf(key), key.enterpriseCode, key.entityKey])
}

/** SQL: the same of a row `p`. PostgreSQL writes a text of JSON as JavaScript does. */
export const LOCK_NAME = `'["dirsync","' || case p.operation when 'delete-department' then 'department' else 'employee' end
  || '",' || to_json(p.enterprise_code) || ',' || to_json(p.entity_key) || ']'`

/** Most rows that leave their runs in one transaction. */
const DETACHED = 5000

/**
 * Some work of halted enterprises leaves its run, so that the run can end; it stays in the outbox.
 * @returns how much; as long as there is any, there may be more
 */
export async function detachHalted(db: Pool, most = DETACHED): Promise<number> {
  const { rowCount } = await db.query({
    // The outbox is read only for enterprises and runs that have such work by the tally.
    text: `with halted as (
       select p.ctid, p.run_id, h.message
       from (select h.scope, t.run_id, h.message
             from dirsync.halt h
             join dirsync.tally t on t.source = 'pending' and t.enterprise_code = h.scope
             -- The rest of a cancelled run is removed.
             join dirsync.sync_run r on r.id = t.run_id and r.cancelled_at is null
             where h.scope <> '*' and t.run_id is not null and not t.enqueued
             group by 1, 2, 3 having sum(t.n) > 0) h
       cross join lateral (
         select p.ctid, p.run_id from dirsync.pending p
         where p.run_id = h.run_id and p.enterprise_code = h.scope and p.enqueued_at is null
         -- In an index's order: otherwise all are read before some are taken.
         order by p.entity_key limit $1 for update skip locked) p
       limit $1
     ), detached as (
       update dirsync.pending p set run_id = null
       from halted where p.ctid = any (array(select ctid from halted)) and p.ctid = halted.ctid
       returning halted.run_id, halted.message, p.operation, p.enterprise_code, p.entity_key, p.detail
     )
     insert into dirsync.attempt
       (run_id, operation, enterprise_code, entity_key, detail, started_at, duration_ms, outcome, error)
     select run_id, operation, enterprise_code, entity_key, detail, now(), 0, 'halted', message from detached`,
    values: [most],
    query_timeout: LOOK_MS,
  })
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
    values: [...keyColumns(keys), delayMs],
    query_timeout: WORK_MS,
  }
  await db.query(statement)
}
