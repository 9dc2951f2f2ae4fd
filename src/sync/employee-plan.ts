import type { Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { from as copyFrom } from 'pg-copy-streams'
import type { EmployeeKey } from '../directory/employee.ts'
import type { ClientBase } from '../lib/database.ts'
import { COPY_MS, onlyRow } from '../lib/database.ts'
import { endCases } from './cases.ts'

/**
 * The set-based half of planning: HR's hashes are copied into a temporary table and joined once with what was acknowledged.
 * All functions work on one connection inside one transaction; nothing outlives it unless `writeEmployeePlan` or
 * `storeEmployeePlan` ran and it commits.
 */

/** Makes the temporary table `staged`. */
export async function makeStage(db: ClientBase): Promise<void> {
  await db.query("set local work_mem = '256MB'")
  await db.query(
    'create temp table staged (enterprise_code text, userid text, active boolean, hash uuid) on commit drop',
  )
}

/**
 * Copies lines (`enterprise_code, userid, active, hash` as COPY text) into the stage. Listens to both streams from its first
 * instruction on, so that one that fails at once fails the call and nothing else.
 */
export async function fillStage(
  db: ClientBase,
  source: Readable,
  toLines: Transform,
  signal: AbortSignal,
): Promise<void> {
  const copy = Object.assign(copyFrom('copy staged from stdin'), { query_timeout: COPY_MS })
  await pipeline(source, toLines, db.query(copy), { signal })
  await db.query('analyze staged')
}

/** Puts a few rows into the stage. */
export async function fillStageWith(
  db: ClientBase,
  rows: (EmployeeKey & { active: boolean; hash: string })[],
): Promise<void> {
  await db.query(
    `insert into staged select "enterpriseCode", userid, active, hash
     from jsonb_to_recordset($1) as s ("enterpriseCode" text, userid text, active boolean, hash uuid)`,
    [JSON.stringify(rows)],
  )
  await db.query('analyze staged')
}

export interface Difference {
  /** Active employees in HR. */
  inScope: number
  /** Employees with work by reason: new, changed, asked (full run), left, vanished. */
  reasons: Record<string, number>
  /** Employees left out of a full run because the platform confirmed them recently enough. */
  skipped: number
  /** Employees whose HR row, or its absence, no plan has seen yet: what a breaker counts. */
  changing: number
  sample: string[]
  /** Up to five keys that HR delivers more than once. */
  duplicates: string[]
  /** True when nothing was ever acknowledged or parked: the first run. */
  first: boolean
}

/** Every staged row is new or matches one employee: more matches than employees means duplicates. */
const DOUBLED = `(select count(*) from staged) - (select count(*) from difference where unknown)
              > (select count(*) from dirsync.employee) - (select count(*) from difference where hash is null)
            or (select count(*) <> count(distinct (enterprise_code, userid)) from difference where unknown)`

/**
 * Joins `staged` with `dirsync.employee` and keeps what differs in the temporary table `difference`.
 * @param everything a full run: every row is work, changed or not
 * @param maxAgeMs of a full run: whom the platform confirmed within so many milliseconds is left out; null: nobody is
 * @param sweep every HR row is staged, so that whoever is missing has vanished
 * @param replans whether rows of the outbox wait for a plan; that of the others would cost a look-up per HR row
 */
export async function compare(
  db: ClientBase,
  options: { everything: boolean; maxAgeMs: number | null; sweep: boolean; replans: boolean },
): Promise<Difference> {
  const everything = String(options.everything)
  const waits = options.replans ? WAITS_FOR_A_PLAN : 'false'
  await db.query(
    `create temp table difference on commit drop as
     select coalesce(s.enterprise_code, e.enterprise_code) as enterprise_code,
            coalesce(s.userid, e.userid) as userid,
            s.active, s.hash, e.source_hash as previous_hash, e.userid is null as unknown,
            s.hash is distinct from e.source_hash or e.vanished_at is not null
              or s.userid is null and e.vanished_at is null as fresh,
            case
              -- Work that is asked for already keeps its place and its run, unless the HR row has changed meanwhile.
              when s.hash = e.source_hash and e.vanished_at is null
                   and exists (select from dirsync.pending p
                               where p.operation = 'update-employee' and p.enterprise_code = e.enterprise_code
                                 and p.entity_key = e.userid and p.replan_at is null) then null
              when s.userid is null then
                case when e.vanished_at is null and e.platform_state <> 'absent' then 'vanished'
                     when ${waits} then 'asked' end
              when s.hash is distinct from e.acknowledged_hash and s.hash is distinct from e.parked_hash then
                case when not s.active then 'left'
                     when e.userid is null or e.source_hash is null then 'new'
                     else 'changed' end
              when ${waits} then 'asked'
              when not s.active then null
              when ${recently(options.maxAgeMs)} then 'skipped'
              when ${everything} then 'asked'
            end as reason
     from staged s
     ${options.sweep ? 'full' : 'left'} join dirsync.employee e
       on e.enterprise_code = s.enterprise_code and e.userid = s.userid
     where ${everything} or s.userid is null or e.userid is null or e.vanished_at is not null
       or s.hash is distinct from e.source_hash
       or (s.hash is distinct from e.acknowledged_hash and s.hash is distinct from e.parked_hash)
       or ${waits}`,
  )
  const { rows } = await db.query<Omit<Difference, 'skipped' | 'duplicates'> & { doubled: boolean }>(
    `with reasons as (select reason, count(*)::int as n from difference where reason is not null group by reason)
     select (select count(*)::int from staged where active) as "inScope",
            (select coalesce(jsonb_object_agg(reason, n), '{}') from reasons) as reasons,
            (select count(*)::int from difference where fresh and reason not in ('asked', 'skipped')) as changing,
            (select coalesce(jsonb_agg(key), '[]') from
              (select concat_ws('/', nullif(enterprise_code, ''), userid) as key from difference
               where reason in ('new', 'changed', 'left', 'vanished') order by reason, 1 limit 20) s) as sample,
            not exists (select from dirsync.employee where acknowledged_hash is not null or parked_hash is not null) as first,
            ${options.sweep ? DOUBLED : 'false'} as doubled`,
  )
  const { doubled, reasons, ...difference } = onlyRow(rows)
  const { skipped = 0, ...work } = reasons
  return {
    ...difference,
    reasons: work,
    skipped,
    duplicates: doubled || !options.sweep ? await duplicates(db) : [],
  }
}

/** Condition on an employee `e`: a worker found another HR row than the plan saw, and the work waits to be judged anew. */
const WAITS_FOR_A_PLAN = `exists (select from dirsync.pending p
  where p.replan_at is not null and p.operation = 'update-employee'
    and p.enterprise_code = e.enterprise_code and p.entity_key = e.userid)`

/** A longer time is as good as always; PostgreSQL's own intervals and times end somewhere. */
const LONGEST_AGE_MS = 100 * 365 * 86_400_000

/** Condition on an employee `e` with the staged row `s`: the platform confirmed this very row within the time, and nothing is doubted. */
function recently(maxAgeMs: number | null): string {
  if (maxAgeMs === null) return 'false'
  return `e.acknowledged_at >= now() - ${Math.min(maxAgeMs, LONGEST_AGE_MS)} * interval '1 millisecond'
                   and s.hash = e.source_hash and s.hash = e.acknowledged_hash and e.vanished_at is null
                   and e.platform_state = 'in_service' and not e.acknowledged @? '$.* ? (@ == "?")'
                   and not exists (select from dirsync.dead_letter c
                                   where c.enterprise_code = e.enterprise_code and c.entity = 'employee' and c.entity_key = e.userid
                                     and c.operation = 'update-employee' and c.state <> 'resolved')`
}

async function duplicates(db: ClientBase): Promise<string[]> {
  const { rows } = await db.query<{ key: string }>(
    `select concat_ws('/', nullif(enterprise_code, ''), userid) as key from staged
     group by enterprise_code, userid having count(*) > 1 order by 1 limit 5`,
  )
  return rows.map(row => row.key)
}

/**
 * Puts the differences into the outbox and remembers the HR rows' hashes. Rows are locked in the order in which outcomes lock
 * them: the outbox by its key, then the employees by theirs.
 */
export async function writeEmployeePlan(db: ClientBase, runId: number, full: boolean): Promise<void> {
  await addEmployees(db, runId, full)
  await lockEmployees(db)
  await db.query(
    `insert into dirsync.employee (enterprise_code, userid, active, source_hash)
     select enterprise_code, userid, active, hash from difference where unknown
     order by enterprise_code, userid on conflict do nothing`,
  )
  await db.query(
    `update dirsync.employee e set active = d.active, source_hash = d.hash, vanished_at = null
     from difference d
     where d.enterprise_code = e.enterprise_code and d.userid = e.userid and d.fresh and not d.unknown and d.hash is not null`,
  )
  await db.query(
    `update dirsync.employee e set active = false, source_hash = null, acknowledged_hash = null, parked_hash = null, vanished_at = now()
     from difference d
     where d.enterprise_code = e.enterprise_code and d.userid = e.userid and d.hash is null and e.vanished_at is null`,
  )
}

async function addEmployees(db: ClientBase, runId: number, full: boolean): Promise<void> {
  await db.query(
    `insert into dirsync.pending as p (operation, enterprise_code, entity_key, run_id, priority)
     select 'update-employee', d.enterprise_code, d.userid, $1, case when $2 and d.reason = 'asked' then 7 else 3 end
     from difference d
     where d.reason <> 'skipped'
     order by d.enterprise_code, d.userid
     on conflict (operation, enterprise_code, entity_key, detail) do update
     set run_id = excluded.run_id, priority = least(p.priority, excluded.priority), version = p.version + 1,
         enqueued_at = case when p.enqueued_at is null or excluded.priority < p.priority then null else p.enqueued_at end,
         not_before = now(), replan_at = null, attempts = 0`,
    [runId, full],
  )
}

async function lockEmployees(db: ClientBase): Promise<void> {
  await db.query(
    `select count(*) from (
       select from dirsync.employee e join difference d on d.enterprise_code = e.enterprise_code and d.userid = e.userid
       where d.fresh or d.hash is null
       order by e.enterprise_code, e.userid
       for update of e
     ) locked`,
  )
}

/** Stores the differences as the plan of a held run, entity by entity. */
export async function storeEmployeePlan(db: ClientBase, runId: number): Promise<void> {
  await db.query(
    `insert into dirsync.planned_work
       (run_id, operation, enterprise_code, entity_key, reason, active, source_hash, previous_hash)
     select $1, 'update-employee', enterprise_code, userid, reason, active, hash, previous_hash
     from difference where reason is distinct from 'skipped' and (reason is not null or fresh)`,
    [runId],
  )
}

/**
 * Makes the stored plan of a held run the temporary table `difference` again, for `writeEmployeePlan`.
 * @returns how many of its rows are left out, because a later plan that passed has seen another HR row
 */
export async function restoreEmployeePlan(db: ClientBase, runId: number): Promise<number> {
  await db.query(
    `create temp table difference on commit drop as
     select w.enterprise_code, w.entity_key as userid, w.active, w.source_hash as hash, e.userid is null as unknown,
            w.source_hash is distinct from e.source_hash or e.vanished_at is not null as fresh, w.reason
     from dirsync.planned_work w
     left join dirsync.employee e on e.enterprise_code = w.enterprise_code and e.userid = w.entity_key
     where w.run_id = $1 and e.source_hash is not distinct from w.previous_hash`.replace('$1', String(runId)),
  )
  const { rows } = await db.query<{ left_out: number }>(
    `select ((select count(*) from dirsync.planned_work where run_id = $1) - (select count(*) from difference))::int
       as left_out`,
    [runId],
  )
  return rows[0]?.left_out ?? 0
}

/** How many rows HR has changed since the plan of a held run was stored, by the temporary table `difference`. */
export async function countChangedSince(db: ClientBase, heldRun: number): Promise<number> {
  const { rows } = await db.query<{ n: number }>(
    `select count(*)::int as n
     from (select * from dirsync.planned_work where run_id = $1 and reason is distinct from 'asked') w
     full join (select * from difference where reason not in ('asked', 'skipped') or reason is null and fresh) d
       on d.enterprise_code = w.enterprise_code and d.userid = w.entity_key
     where w.entity_key is null or d.userid is null or d.hash is distinct from w.source_hash`,
    [heldRun],
  )
  return rows[0]?.n ?? 0
}

/** Stands for the user id in the case about rows that have none. */
export const NOBODY = '(no user id)'

/**
 * HR rows without a user id that could be one are about nobody, so no job can fail for them: one case tells how many there are, until a run
 * that reads every row finds none. When a person has accepted it, it reopens as the number changes.
 */
export async function recordKeyless(db: ClientBase, runId: number, rows: number): Promise<void> {
  if (rows > 0)
    await db.query(
      `select dirsync.record_failure(jsonb_build_object(
         'enterprise_code', '', 'entity', 'employee', 'entity_key', $1::text, 'operation', 'update-employee', 'field', 'userid',
         'category', 'invalid_hr_row', 'message', $2::text, 'remedy', $3::text, 'source_hash', md5($2)::uuid, 'state', 'open',
         'last_run_id', $4::bigint))`,
      [
        NOBODY,
        `${rows === 1 ? 'One row of HR has' : `${rows} rows of HR have`} no user id, or one that is far too long.`,
        'Give each a user id of at most 100 characters in HR, or leave them out of the mapping; it ends with the next run that reads every row.',
        runId,
      ],
    )
  else {
    const { rows: open } = await db.query<{ id: number }>(
      `select id from dirsync.dead_letter
       where entity_key = $1 and operation = 'update-employee' and state <> 'resolved'`,
      [NOBODY],
    )
    await endCases(
      db,
      open.map(({ id }) => ({ id, runId, resolution: 'succeeded' })),
    )
  }
}
