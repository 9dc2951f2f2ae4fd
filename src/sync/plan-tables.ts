import { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import type { EmployeeKey } from '../directory/employee.ts'
import {
  COPY_BEGIN,
  COPY_END,
  RowHasher,
  rowHash,
  rowIsActive,
  type SourceStatistics,
} from '../directory/hash.ts'
import type { HrEmployeeRow, HrSource } from '../hr/source.ts'
import type { SourceScope } from '../hr/sources.ts'
import { type ClientBase, COPY_MS, onlyRow } from '../lib/database.ts'

/**
 * The set-based half of planning. HR's rows are hashed into the temporary table `staged` and joined once with what is
 * acknowledged; what differs stays in the temporary table `difference`, from which a plan is written to the outbox or stored.
 * All functions work on one connection inside one transaction. Both tables go with it.
 */

/** One row per HR row that was read. */
const STAGED = `create temp table staged (
  enterprise_code text,
  userid          text,
  active          boolean, -- what HR says of the employee
  hash            uuid     -- of the HR row, as employee.source_hash has it
) on commit drop`

/**
 * One row per employee who has work, or whose HR row no plan has seen yet:
 *
 *     enterprise_code, userid
 *     active, hash    as in `staged`; null where HR has no row
 *     previous_hash   employee.source_hash: the row as the last plan that passed saw it
 *     unknown         there is no such row in `employee` yet
 *     fresh           this row of HR, or its absence, no plan has seen yet
 *     reason          why there is work: new, changed, left, vanished or asked; skipped: a full run leaves it out;
 *                     null: there is none, the row is only remembered
 */
const DIFFERENCE = 'create temp table difference on commit drop as'

/** Rows that a source delivered for an enterprise that is not its own. */
const STRAY = 'create temp table stray (enterprise_code text, userid text) on commit drop'

/**
 * Streams HR's rows into `staged`; those of enterprises that are not the source's own into `stray`.
 * @param since only rows with `updated_at` at or after this moment; null: all of them
 * @param codes the source's own enterprises; null: all there are, and there is no `stray`
 * @returns what is staged, what HR looked like, and the fingerprint of the mapping that it was read with
 */
export async function stageScan(
  db: ClientBase,
  hr: Pick<HrSource, 'scan'>,
  since: Date | null,
  codes: SourceScope['codes'],
  signal: AbortSignal,
): Promise<{ staged: Staged; source: SourceStatistics; mapping: string }> {
  await makeStage(db)
  const scan = await hr.scan({ since: since ?? undefined, signal })
  const hasher = new RowHasher(scan.columns)
  const toRows = new Transform({
    construct(done) {
      this.push(COPY_BEGIN)
      done()
    },
    transform(chunk: Buffer, _encoding, done) {
      done(null, hasher.push(chunk))
    },
    flush(done) {
      done(null, COPY_END)
    },
  })
  const copy = Object.assign(copyFrom('copy staged from stdin (format binary)'), { query_timeout: COPY_MS })
  try {
    // Listens to all three before anything else happens: one that fails at once fails the call and nothing else.
    await pipeline(scan.stream, toRows, db.query(copy), { signal })
  } finally {
    await scan.close()
  }
  const { statistics } = hasher
  const stray = codes === null ? { rows: 0, active: 0 } : await setStrayAside(db, codes)
  const source = codes === null ? statistics : { ...statistics, codes, stray: stray.rows }
  await db.query('analyze staged')
  const { staged } = hasher
  const left = { rows: staged.rows - stray.rows, active: staged.active - stray.active }
  return { staged: left, source, mapping: scan.mapping }
}

async function setStrayAside(db: ClientBase, codes: readonly string[]): Promise<Staged> {
  await db.query(STRAY)
  const { rows } = await db.query<Staged>(
    `with set_aside as (
       delete from staged where enterprise_code <> all ($1) returning enterprise_code, userid, active
     ), kept as (
       insert into stray select enterprise_code, userid from set_aside
     )
     select count(*)::int as rows, count(*) filter (where active)::int as active from set_aside`,
    [codes],
  )
  return onlyRow(rows)
}

/** Puts a few rows of HR into `staged`. */
export async function stageRows(
  db: ClientBase,
  rows: { key: EmployeeKey; row: HrEmployeeRow }[],
): Promise<Staged> {
  await makeStage(db)
  const staged = rows.map(({ key, row }) => ({
    ...key,
    active: rowIsActive(row),
    hash: rowHash(Object.keys(row), row),
  }))
  await db.query(
    `insert into staged select "enterpriseCode", userid, active, hash
     from jsonb_to_recordset($1) as s ("enterpriseCode" text, userid text, active boolean, hash uuid)`,
    [JSON.stringify(staged)],
  )
  await db.query('analyze staged')
  return { rows: staged.length, active: staged.filter(({ active }) => active).length }
}

async function makeStage(db: ClientBase): Promise<void> {
  await db.query("set local work_mem = '256MB'")
  // Compiling the comparison takes PostgreSQL longer than it saves, and a small sample tells of `staged` all that a plan asks.
  await db.query('set local jit = off')
  await db.query('set local default_statistics_target = 10')
  await db.query(STAGED)
}

/** How many rows `staged` has, duplicates among them. */
export interface Staged {
  rows: number
  active: number
}

export interface Difference {
  /** Active employees in HR. */
  inScope: number
  /** Employees with work, by reason. */
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

/** A table of dirsync's, as far as it is about some enterprises. */
function rowsOf(table: string, codes: SourceScope['codes']): string {
  if (codes === null) return table
  // CREATE TABLE AS takes no parameters.
  return `(select * from ${table} where enterprise_code in (${codes.map(pg.escapeLiteral).join(', ')}))`
}

/**
 * Joins `staged` with what is known of the employees, and makes `difference`.
 * @param staged as the table was filled
 * @param options.everything a full run: every row is work, changed or not
 * @param options.maxAgeMs of a full run: whom the platform confirmed within so many milliseconds is left out; null: nobody is
 * @param options.sweep every HR row is staged, so that whoever is missing has vanished
 * @param options.replans whether rows of the outbox wait for a plan; asking that of each would cost a look-up per HR row
 * @param options.codes the enterprises that the rows are of; null: all there are
 */
export async function compare(
  db: ClientBase,
  staged: Staged,
  options: {
    everything: boolean
    maxAgeMs: number | null
    sweep: boolean
    replans: boolean
    codes: SourceScope['codes']
  },
): Promise<Difference> {
  const { everything, maxAgeMs, sweep, replans, codes } = options
  const employees = rowsOf('dirsync.employee', codes)
  const waits = replans ? WAITS_FOR_A_PLAN : 'false'
  await db.query(
    `${DIFFERENCE}
     select coalesce(s.enterprise_code, e.enterprise_code) as enterprise_code,
            coalesce(s.userid, e.userid) as userid,
            s.active, s.hash, e.source_hash as previous_hash, e.userid is null as unknown,
            s.hash is distinct from e.source_hash or e.vanished_at is not null
              or s.userid is null and e.vanished_at is null as fresh,
            case
              -- Work that is asked for already keeps its place and its run, unless the HR row has changed.
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
              when ${recently(maxAgeMs)} then 'skipped'
              when ${everything} then 'asked'
            end as reason
     from staged s
     ${sweep ? 'full' : 'left'} join ${employees} e
       on e.enterprise_code = s.enterprise_code and e.userid = s.userid
     where ${everything} or s.userid is null or e.userid is null or e.vanished_at is not null
       or s.hash is distinct from e.source_hash
       or (s.hash is distinct from e.acknowledged_hash and s.hash is distinct from e.parked_hash)
       or ${waits}`,
  )
  const { rows } = await db.query<
    Omit<Difference, 'inScope' | 'skipped' | 'duplicates'> & { doubled: boolean }
  >(
    `with reasons as (
       select reason, count(*)::int as n from difference where reason is not null group by reason
     ), sample as (
       select concat_ws('/', nullif(enterprise_code, ''), userid) as key from difference
       where reason in ('new', 'changed', 'left', 'vanished') order by reason, 1 limit 20
     )
     select (select coalesce(jsonb_object_agg(reason, n), '{}') from reasons) as reasons,
            (select count(*)::int from difference
             where fresh and reason not in ('asked', 'skipped')) as changing,
            (select coalesce(jsonb_agg(key), '[]') from sample) as sample,
            not exists (select from ${employees} e
                        where acknowledged_hash is not null or parked_hash is not null) as first,
            ${sweep ? doubled(staged.rows, employees) : 'true'} as doubled`,
  )
  const { doubled: isDoubled, reasons, ...difference } = onlyRow(rows)
  const { skipped = 0, ...work } = reasons
  const { active: inScope } = staged
  return { ...difference, inScope, reasons: work, skipped, duplicates: isDoubled ? await duplicates(db) : [] }
}

/** Condition on an employee `e`: a worker found another HR row than the plan saw, and the work waits to be judged anew. */
const WAITS_FOR_A_PLAN = `exists (
  select from dirsync.pending p
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
                    where c.enterprise_code = e.enterprise_code and c.entity = 'employee'
                      and c.entity_key = e.userid and c.operation = 'update-employee'
                      and c.state <> 'resolved')`
}

/** Every staged row is new or matches one employee: with more matches than employees there are duplicates. */
const doubled = (stagedRows: number, employees: string) => `
  ${stagedRows} - (select count(*) from difference where unknown)
    > (select count(*) from ${employees} e) - (select count(*) from difference where hash is null)
  or (select count(*) <> count(distinct (enterprise_code, userid)) from difference where unknown)`

async function duplicates(db: ClientBase): Promise<string[]> {
  const { rows } = await db.query<{ key: string }>(
    `select concat_ws('/', nullif(enterprise_code, ''), userid) as key from staged
     group by enterprise_code, userid having count(*) > 1 order by 1 limit 5`,
  )
  return rows.map(row => row.key)
}

/** Keys of the active employees in `difference`, without those that a full run skips. */
export async function activeEmployees(db: ClientBase): Promise<EmployeeKey[]> {
  const { rows } = await db.query<EmployeeKey>(
    `select enterprise_code as "enterpriseCode", userid from difference
     where active and reason is distinct from 'skipped' order by 1, 2`,
  )
  return rows
}

/**
 * Puts the differences into the outbox and remembers the HR rows' hashes. Rows are locked in the order in which outcomes lock
 * them: the outbox by its key, then the employees by theirs.
 */
export async function writeEmployeePlan(db: ClientBase, runId: number, full: boolean): Promise<void> {
  await db.query(
    `insert into dirsync.pending as p (operation, enterprise_code, entity_key, run_id, priority)
     select 'update-employee', d.enterprise_code, d.userid, $1,
            case when $2 and d.reason = 'asked' then 7 else 3 end
     from difference d
     where d.reason <> 'skipped'
     order by d.enterprise_code, d.userid
     on conflict (operation, enterprise_code, entity_key, detail) do update
     set run_id = excluded.run_id, priority = least(p.priority, excluded.priority), version = p.version + 1,
         -- Where it is in the queue already it stays, unless it has become more urgent.
         enqueued_at = case when p.enqueued_at is null or excluded.priority < p.priority then null
                            else p.enqueued_at end,
         not_before = now(), replan_at = null, attempts = 0`,
    [runId, full],
  )
  await db.query(
    `select count(*) from (
       select from dirsync.employee e
       join difference d on d.enterprise_code = e.enterprise_code and d.userid = e.userid
       where d.fresh or d.hash is null
       order by e.enterprise_code, e.userid
       for update of e
     ) locked`,
  )
  await db.query(
    `insert into dirsync.employee (enterprise_code, userid, active, source_hash)
     select enterprise_code, userid, active, hash from difference where unknown
     order by enterprise_code, userid on conflict do nothing`,
  )
  await db.query(
    `update dirsync.employee e set active = d.active, source_hash = d.hash, vanished_at = null
     from difference d
     where d.enterprise_code = e.enterprise_code and d.userid = e.userid
       and d.fresh and not d.unknown and d.hash is not null`,
  )
  await db.query(
    `update dirsync.employee e
     set active = false, source_hash = null, acknowledged_hash = null, parked_hash = null, vanished_at = now()
     from difference d
     where d.enterprise_code = e.enterprise_code and d.userid = e.userid
       and d.hash is null and e.vanished_at is null`,
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
 * Makes the stored plan of a held run the table `difference` again, for `writeEmployeePlan`.
 * @param codes the enterprises that are still its source's; null: all there are
 * @returns how many of its rows are left out, because a later plan that passed has seen another HR row, or they are no more
 *   the source's
 */
export async function restoreEmployeePlan(
  db: ClientBase,
  runId: number,
  codes: SourceScope['codes'],
): Promise<number> {
  await db.query(
    // CREATE TABLE AS takes no parameters.
    `${DIFFERENCE}
     select w.enterprise_code, w.entity_key as userid, w.active, w.source_hash as hash, w.previous_hash,
            e.userid is null as unknown,
            w.source_hash is distinct from e.source_hash or e.vanished_at is not null as fresh, w.reason
     from ${rowsOf('dirsync.planned_work', codes)} w
     left join dirsync.employee e on e.enterprise_code = w.enterprise_code and e.userid = w.entity_key
     where w.run_id = ${runId} and e.source_hash is not distinct from w.previous_hash`,
  )
  const { rows } = await db.query<{ leftOut: number }>(
    `select ((select count(*) from dirsync.planned_work where run_id = $1)
             - (select count(*) from difference))::int as "leftOut"`,
    [runId],
  )
  return onlyRow(rows).leftOut
}

/** How many rows HR has changed since the plan of a held run was stored, by `difference`. */
export async function countChangedSince(db: ClientBase, heldRun: number): Promise<number> {
  const { rows } = await db.query<{ n: number }>(
    `select count(*)::int as n
     from (select * from dirsync.planned_work where run_id = $1 and reason is distinct from 'asked') w
     full join (select * from difference
                where reason not in ('asked', 'skipped') or reason is null and fresh) d
       on d.enterprise_code = w.enterprise_code and d.userid = w.entity_key
     where w.entity_key is null or d.userid is null or d.hash is distinct from w.source_hash`,
    [heldRun],
  )
  return onlyRow(rows).n
}
