import type { Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ClientBase } from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import type { EmployeeKey } from '../core/employee.ts'

/**
 * The set-based half of planning: HR's hashes are copied into a temporary table and joined once with what was acknowledged.
 * All functions work on one connection inside one transaction; nothing outlives it unless `writePlan` ran and it commits.
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
  await pipeline(source, toLines, db.query(copyFrom('copy staged from stdin')), { signal })
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
 */
export async function compare(
  db: ClientBase,
  options: { everything: boolean; maxAgeMs: number | null; sweep: boolean },
): Promise<Difference> {
  await db.query(
    `create temp table difference on commit drop as
     select coalesce(s.enterprise_code, e.enterprise_code) as enterprise_code, coalesce(s.userid, e.userid) as userid,
            s.active, s.hash, e.userid is null as unknown,
            s.hash is distinct from e.source_hash or e.vanished_at is not null as fresh,
            case
              -- Work that is asked for already keeps its place and its run, unless the HR row has changed meanwhile.
              when s.hash = e.source_hash and e.vanished_at is null
                   and exists (select from dirsync.pending p where p.operation = 'update-employee'
                                 and p.enterprise_code = e.enterprise_code and p.entity_key = e.userid) then null
              when s.userid is null then case when e.vanished_at is null and e.platform_state <> 'absent' then 'vanished' end
              when not s.active then
                case when (e.userid is not null and s.hash is distinct from e.acknowledged_hash and s.hash is distinct from e.parked_hash)
                       or (e.userid is null) then 'left' end
              when e.userid is null or e.source_hash is null then 'new'
              when s.hash is distinct from e.acknowledged_hash and s.hash is distinct from e.parked_hash then 'changed'
              when ${recently(options.maxAgeMs)} then 'skipped'
              when $1 then 'asked'
            end as reason
     from staged s
     ${options.sweep ? 'full' : 'left'} join dirsync.employee e on e.enterprise_code = s.enterprise_code and e.userid = s.userid
     where $1 or s.userid is null or e.userid is null or e.vanished_at is not null
       or (s.hash is distinct from e.source_hash)
       or (s.hash is distinct from e.acknowledged_hash and s.hash is distinct from e.parked_hash)`.replaceAll(
      '$1',
      String(options.everything),
    ),
  )
  const { rows } = await db.query(
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
  const { doubled, reasons, ...difference } = rows[0]
  const { skipped = 0, ...work } = reasons
  return {
    ...difference,
    reasons: work,
    skipped,
    duplicates: doubled || !options.sweep ? await duplicates(db) : [],
  }
}

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
  const { rows } = await db.query(
    `select concat_ws('/', nullif(enterprise_code, ''), userid) as key from staged
     group by enterprise_code, userid having count(*) > 1 order by 1 limit 5`,
  )
  return rows.map(row => row.key)
}

/** Puts the differences into the outbox and remembers the HR rows' hashes. */
export async function writeEmployeePlan(db: ClientBase, runId: number, full: boolean): Promise<void> {
  await db.query(
    `insert into dirsync.employee (enterprise_code, userid, active, source_hash)
     select enterprise_code, userid, active, hash from difference where unknown on conflict do nothing`,
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
  await db.query(
    `insert into dirsync.pending as p (operation, enterprise_code, entity_key, run_id, priority)
     select 'update-employee', d.enterprise_code, d.userid, $1, case when $2 and d.reason = 'asked' then 7 else 3 end
     from difference d
     where d.reason <> 'skipped'
     order by d.reason = 'asked', d.enterprise_code, d.userid
     on conflict (operation, enterprise_code, entity_key, detail) do update
     set run_id = excluded.run_id, priority = least(p.priority, excluded.priority), version = p.version + 1,
         enqueued_at = case when p.enqueued_at is null or excluded.priority < p.priority then null else p.enqueued_at end,
         not_before = now(), attempts = 0`,
    [runId, full],
  )
}
