import { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { type EmployeeKey, keyText } from '../../directory/employee.ts'
import {
  COPY_BEGIN,
  COPY_END,
  LEFT_HASH,
  RowHasher,
  rowHash,
  rowIsActive,
  type SourceStatistics,
  smallHash,
} from '../../directory/hash.ts'
import type { HrEmployeeRow, HrSource } from '../../hr/source.ts'
import type { SourceScope } from '../../hr/sources.ts'
import { type ClientBase, COPY_MS, onlyRow } from '../../lib/database.ts'
import { ENDED_BY_HOLDER, isOneOf } from '../cases/cases.ts'
import { HAS_UNKNOWN_PLACE, IS_UNLOCATED } from '../outbox/claim.ts'
import { HELD_DECISION, ONLY_HELD } from '../outbox/employee.ts'
import { PRIORITY } from '../outbox/outbox.ts'
import { DOUBTED } from '../runs/restored.ts'
import { EMPLOYEE_KINDS_SQL, IS_HELD_WHOLE, NOT_BEGUN } from '../runs/run.ts'

/**
 * The set-based half of planning. HR's rows are hashed into the temporary table `staged` and joined once with the acknowledged
 * rows; differing ones stay in the temporary table `difference`, from which a plan is written to the outbox or stored. All
 * functions work on one connection inside one transaction. Both tables go with it.
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
 *     previous_hash   employee.source_hash: the row in the last plan that passed
 *     counted         was an active employee before (of a comparison alone)
 *     had_left        or vanished, by the last plan that passed (of a comparison alone)
 *     resting         a person rejected this very row of HR, or its absence; or, of a plan that is decided in parts, has yet to
 *                     decide about it, or its part has yet to begin: nothing is planned (of a comparison alone)
 *     undecided       the held run about which a person has yet to decide (of a comparison alone)
 *     unknown         there is no such row in `employee` yet
 *     fresh           no plan has seen this row of HR, or its absence, yet
 *     reason          why there is work: new, changed, left, vanished or asked; skipped: a full run leaves it out;
 *                     null: there is none, the row is only stored
 */
const DIFFERENCE = 'create temp table difference on commit drop as'

/** Rows that a source delivered for an enterprise that is not its own. */
const STRAY = 'create temp table stray (enterprise_code text, userid text) on commit drop'

/**
 * Streams HR's rows into `staged`; those of enterprises outside the source into `stray`.
 * @param since only rows with `updated_at` at or after this time; null: all of them
 * @param codes the source's own enterprises; null: all, and there is no `stray`
 * @returns what is staged, HR's statistics, and the fingerprint of the mapping that it was read with
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
  const hasher = new RowHasher(scan.columns, new Date())
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
    // Starts listening to all three at once: one that fails immediately fails the call and nothing else.
    await pipeline(scan.stream, toRows, db.query(copy), { signal })
  } finally {
    await scan.close()
  }
  const { statistics } = hasher
  const stray = codes === null ? { rows: 0, active: 0 } : await setStrayAside(db, codes)
  const { staged } = hasher
  const left = { rows: staged.rows - stray.rows, active: staged.active - stray.active }
  const source = codes === null ? statistics : { ...ownOf(statistics, stray), codes, stray: stray.rows }
  await db.query('analyze staged')
  return { staged: left, source, mapping: scan.mapping }
}

/** Without stray employees, each of whom counts as one with a department. */
function ownOf({ active = 0, placed, ...others }: SourceStatistics, stray: Staged): SourceStatistics {
  return {
    ...others,
    active: active - stray.active,
    ...(placed !== undefined && { placed: Math.max(0, placed - stray.active) }),
  }
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
  // Of a first reading that was not enough.
  await db.query('drop table if exists pg_temp.staged, pg_temp.difference, pg_temp.stray')
  await db.query("set local work_mem = '256MB'")
  // Compiling the comparison takes PostgreSQL longer than it saves, and a small sample of `staged` suffices for the plan.
  await db.query('set local jit = off')
  await db.query('set local default_statistics_target = 10')
  await db.query(STAGED)
}

/** Number of rows in `staged`, duplicates included. */
export interface Staged {
  rows: number
  active: number
}

export interface Difference {
  /** Active employees in HR. */
  inScope: number
  /** The employees of the plan: the active ones, and those who leave by it. */
  total: number
  /** Employees with work, by reason. */
  reasons: Record<string, number>
  /** Employees left out of a full run because the platform confirmed them recently enough. */
  skipped: number
  /** Employees who change by `IS_CHANGING`: the figure for the breaker. */
  changing: number
  /** Those of them who have left or vanished: nothing is sent about them. */
  gone: number
  sample: string[]
  /** Up to five keys that HR delivers more than once. */
  duplicates: string[]
  /** True when nothing was ever acknowledged or parked: the first run. */
  first: boolean
}

/** A table of dirsync's, restricted to some enterprises. */
function rowsOf(table: string, codes: SourceScope['codes']): string {
  if (codes === null) return table
  // CREATE TABLE AS takes no parameters.
  return `(select * from ${table} where enterprise_code in (${codes.map(pg.escapeLiteral).join(', ')}))`
}

/** What is compared, besides `staged`. */
interface Comparison {
  /** A full run: every row is work, changed or not. */
  everything: boolean
  /** Of a full run: skips employees whom the platform confirmed within this many milliseconds; null: none. */
  maxAgeMs: number | null
  /** Every HR row is staged, so that missing employees have vanished. */
  readAll: boolean
  /** Whether rows of the outbox wait for a plan; checking each would cost a look-up per HR row. */
  replans: boolean
  /** The enterprises of the rows; null: all. */
  codes: SourceScope['codes']
  /** Runs that are decided in parts. */
  inParts: readonly number[]
}

/** The figures of a difference, as they are read. */
interface Figures extends Omit<Difference, 'inScope' | 'total' | 'skipped' | 'duplicates'> {
  known: number
  joining: number
  parting: number
  leaving: number
  doubled: boolean
}

/** Joins `staged` with the known employees, and creates `difference`. */
export async function compare(db: ClientBase, staged: Staged, comparison: Comparison): Promise<Difference> {
  await db.query(differenceBy(comparison))
  const { rows } = await db.query<Figures>(figuresOf(staged, comparison))
  const { doubled: isDoubled, reasons, known, joining, parting, leaving, ...difference } = onlyRow(rows)
  const { skipped = 0, ...work } = reasons
  const inScope = comparison.readAll ? staged.active : known + joining - parting
  return {
    ...difference,
    inScope,
    total: inScope + leaving,
    reasons: work,
    skipped,
    duplicates: isDoubled ? await duplicates(db) : [],
  }
}

/** SQL: creates `difference`. */
function differenceBy({ everything, maxAgeMs, readAll, replans, codes, inParts }: Comparison): string {
  const waits = `(${replans ? WAITS_FOR_A_PLAN : 'false'})`
  const rests =
    '(u.run is not null or coalesce(e.rejected and s.hash is not distinct from e.held_hash, false))'
  return `
${DIFFERENCE}
select coalesce(s.enterprise_code, e.enterprise_code) as enterprise_code,
       coalesce(s.userid, e.userid) as userid,
       s.active, s.hash, e.source_hash as previous_hash, e.userid is null as unknown,
       e.status not in ('left', 'vanished') and not (e.held_run is not null and e.held_gone) as counted,
       coalesce(e.source_hash = '${LEFT_HASH}' or e.vanished_at is not null, false) as had_left,
       ${rests} as resting, case when u.is_open then u.run end as undecided,
       not ${rests} and not (s.userid is null and ${ONLY_HELD})
         and (s.hash is distinct from e.source_hash or (s.userid is null) <> (e.vanished_at is not null)
              -- Their leaving was sent by a part whose run was cancelled, and HR has the old row again.
              or s.active <> e.active) as fresh,
       case
         when ${rests} then null
         -- Only a held plan has ever known of them.
         when s.userid is null and ${ONLY_HELD} then null
         -- Work that is already requested keeps its place and its run, unless the HR row has changed. What began before
         -- the memory came into doubt does not end that.
         when s.hash = e.source_hash and e.vanished_at is null
              and exists (select from dirsync.pending p
                          where p.operation = 'update-employee' and p.enterprise_code = e.enterprise_code
                            and p.entity_key = e.userid and p.replan_at is null
                            and not (p.in_hand and (${DOUBTED}) is true)) then null
         when s.userid is null then
           case when e.vanished_at is null and e.platform_state <> 'absent' then 'vanished'
                when ${waits} then 'asked' end
         when s.hash is distinct from e.acknowledged_hash and s.hash is distinct from e.parked_hash then
           case when not s.active then 'left'
                when e.userid is null or e.source_hash is null then 'new'
                -- HR has not changed it: the full run asks that was requested with the doubt.
                when s.hash = e.source_hash and ${DOUBTED} then
                  case when ${everything} or ${waits} then 'asked' end
                else 'changed' end
         when ${waits} then 'asked'
         -- Back to the row that the platform confirmed, while another one may be on its way to it.
         when s.hash <> e.source_hash and ${MAY_BE_SENT} then 'asked'
         when not s.active and not ${IS_UNLOCATED} then null
         when ${recently(maxAgeMs)} then 'skipped'
         when ${everything} then 'asked'
       end as reason
from staged s
${readAll ? 'full' : 'left'} join ${rowsOf('dirsync.employee', codes)} e
  on e.enterprise_code = s.enterprise_code and e.userid = s.userid
left join lateral (${undecidedAmong(inParts)}) u on true
${maxAgeMs === null ? '' : joinConfirmed(maxAgeMs)}
where ${everything} or s.userid is null or e.userid is null or e.vanished_at is not null
  or s.active <> e.active
  or s.hash is distinct from e.source_hash
  or (s.hash is distinct from e.acknowledged_hash and s.hash is distinct from e.parked_hash)
  or ${waits}`
}

/**
 * Condition on an employee `d` of `difference`: the breaker counts them, as no plan has seen their HR row, or its absence, yet. That HR no
 * longer has the row of one who had left, or has it again, changes nothing.
 */
const IS_CHANGING = `(d.fresh and d.reason not in ('asked', 'skipped') and (d.active or not d.had_left))`

/** SQL: the figures of `difference`. */
function figuresOf(staged: Staged, { readAll, codes }: Comparison): string {
  const [employees, tally] = [rowsOf('dirsync.employee', codes), rowsOf('dirsync.tally', codes)]
  return `
with reasons as (
  select reason, count(*)::int as n from difference where reason is not null group by reason
), sample as (
  select concat_ws('/', nullif(enterprise_code, ''), userid) as key from difference
  where reason in ('new', 'changed', 'left', 'vanished') order by reason, 1 limit 20
)
select (select coalesce(jsonb_object_agg(reason, n), '{}') from reasons) as reasons,
       (select count(*)::int from difference d where ${IS_CHANGING}) as changing,
       (select count(*)::int from difference d where ${IS_CHANGING} and reason in ('left', 'vanished')) as gone,
       (select coalesce(sum(n), 0)::int from ${tally} t
        where source = 'employee' and state not in ('left', 'vanished'))
         - (select count(*)::int from ${employees} e
            where e.held_run is not null and e.held_gone and e.status = 'held') as known,
       (select count(*)::int from difference where active and counted is not true) as joining,
       (select count(*)::int from difference where counted and active is not true) as parting,
       (select count(*)::int from difference
        where reason is not null and active is not true and not had_left) as leaving,
       (select coalesce(jsonb_agg(key), '[]') from sample) as sample,
       not exists (select from ${employees} e
                   where acknowledged_hash is not null or parked_hash is not null) as first,
       ${readAll ? doubled(staged.rows, employees) : 'true'} as doubled`
}

/**
 * SQL: the run among these whose plan has the employee `s` or `e`, not begun yet, unless HR has restored the old row. Whom it
 * would only ask about are in it while HR and the memory have the row that it saw: what HR changes later is no part of the decision.
 */
function undecidedAmong(runs: readonly number[]): string {
  if (runs.length === 0) return 'select null::bigint as run, false as is_open'
  return `select w.run_id as run, w.decision_id is null as is_open from dirsync.planned_work w
    where w.run_id in (${runs.join(', ')}) and w.operation = 'update-employee' and ${NOT_BEGUN}
      and w.enterprise_code = coalesce(s.enterprise_code, e.enterprise_code)
      and w.entity_key = coalesce(s.userid, e.userid)
      and case when w.reason = 'asked' then s.hash = w.source_hash and s.hash = e.source_hash and e.vanished_at is null
               else s.hash is distinct from e.source_hash or e.vanished_at is not null end
    limit 1`
}

/** Condition on an employee `e`: they are in the outbox. */
const HAS_WORK = `exists (
  select from dirsync.pending p
  where p.operation = 'update-employee' and p.enterprise_code = e.enterprise_code and p.entity_key = e.userid)`

/** Condition on an employee `e`: a worker found another HR row than the plan saw, and the work waits for a new plan. */
const WAITS_FOR_A_PLAN = `exists (
  select from dirsync.pending p
  where p.replan_at is not null and p.operation = 'update-employee'
    and p.enterprise_code = e.enterprise_code and p.entity_key = e.userid)`

/** Condition on an employee `e`: an execution has begun whose outcome is not known, or whose answer was lost. */
const MAY_BE_SENT = `exists (
  select from dirsync.pending p
  where (p.starts > 0 or p.sent_unknown) and p.operation = 'update-employee'
    and p.enterprise_code = e.enterprise_code and p.entity_key = e.userid)`

/** A longer time means always; PostgreSQL's own intervals and times are limited. */
const LONGEST_AGE_MS = 100 * 365 * 86_400_000

const momentBefore = (ageMs: number) =>
  `now() - ${Math.min(ageMs, LONGEST_AGE_MS)} * interval '1 millisecond'`

/** SQL: `c`, an employee `e` whom an attempt within the time found in sync. Their row in `employee` may not have been written. */
const joinConfirmed = (maxAgeMs: number) => `left join (
  select enterprise_code, entity_key as userid from dirsync.attempt
  where operation = 'update-employee' and outcome = 'in_sync' and started_at >= ${momentBefore(maxAgeMs)}
  group by 1, 2) c on c.enterprise_code = e.enterprise_code and c.userid = e.userid`

/**
 * Condition on an employee `e` with the staged row `s`, and `c` of `joinConfirmed`: the platform confirmed this very row within the time, and no field is
 * in doubt.
 */
function recently(maxAgeMs: number | null): string {
  if (maxAgeMs === null) return 'false'
  return `(e.acknowledged_at >= ${momentBefore(maxAgeMs)} or c.userid is not null)
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

/** `keyText` of the known employees in `difference` whose change would be sent. */
export async function changedEmployees(db: ClientBase): Promise<Set<string>> {
  const { rows } = await db.query<EmployeeKey>(
    `select enterprise_code as "enterpriseCode", userid from difference where reason = 'changed'`,
  )
  return new Set(rows.map(keyText))
}

/** How many employees a plan leaves out because a person rejected this very row of HR. */
export async function countRejected(db: ClientBase, codes: SourceScope['codes']): Promise<number> {
  const { rows } = await db.query<{ count: number }>(
    `select ((select coalesce(sum(n), 0) from ${rowsOf('dirsync.tally', codes)} t
              where source = 'employee' and state = 'rejected')
             - (select count(*) from dirsync.employee e
                where e.status = 'rejected'
                  and exists (select from difference d
                              where d.enterprise_code = e.enterprise_code and d.userid = e.userid
                                and not d.resting)))::int as count`,
  )
  return onlyRow(rows).count
}

/** How many employees a plan leaves out because a person has yet to decide about them, by held run. */
export async function countUndecidedRuns(db: ClientBase): Promise<{ run: number; count: number }[]> {
  const { rows } = await db.query<{ run: number; count: number }>(
    `select undecided::int as run, count(*)::int as count from difference
     where undecided is not null group by 1 order by 1`,
  )
  return rows
}

/** Whether a full run skips an employee in `difference`. A million of them are kept as numbers, and read in batches. */
export async function skippedEmployees(db: ClientBase): Promise<(key: EmployeeKey) => boolean> {
  const skipped = new Set<number>()
  await db.query(
    `declare skipped cursor for
     select enterprise_code as "enterpriseCode", userid from difference where reason = 'skipped'`,
  )
  for (;;) {
    const { rows } = await db.query<EmployeeKey>('fetch 10000 from skipped')
    if (rows.length === 0) return key => skipped.has(smallHash(keyText(key)))
    for (const key of rows) skipped.add(smallHash(keyText(key)))
  }
}

/**
 * Puts the differences into the outbox and stores the HR rows' hashes. Rows are locked in the order in which outcomes lock
 * them: the outbox by its key, then the employees by theirs.
 */
export async function writeEmployeePlan(db: ClientBase, runId: number, full: boolean): Promise<void> {
  await requestWork(db, runId, full)
  await renewWork(db)
  await lockChanging(db)
  await dropRejectedReplans(db)
  await askAboutLost(db, full)
  await addUnknown(db)
  await releaseHeld(db)
  await storeRows(db)
  await storeVanished(db)
}

async function requestWork(db: ClientBase, runId: number, full: boolean): Promise<void> {
  await db.query(
    `insert into dirsync.pending as p (operation, enterprise_code, entity_key, run_id, priority)
     select 'update-employee', d.enterprise_code, d.userid, $1,
            case when $2 and d.reason = 'asked' then ${PRIORITY.full} else ${PRIORITY.change} end
     from difference d
     where d.reason <> 'skipped'
     order by d.enterprise_code, d.userid
     on conflict (operation, enterprise_code, entity_key, detail) do update
     set run_id = excluded.run_id, priority = least(p.priority, excluded.priority), version = p.version + 1,
         -- A row that is queued already stays, unless it has become more urgent.
         enqueued_at = case when p.enqueued_at is null or excluded.priority < p.priority then null
                            else p.enqueued_at end,
         not_before = now(), replan_at = null, attempts = 0`,
    [runId, full],
  )
}

/**
 * HR is back to the row that the platform confirmed, while there is work for another one: an execution that has begun, or ended,
 * since the rows were compared may send that one, so it does not end the work. It stays part of the run that it was.
 */
async function renewWork(db: ClientBase): Promise<void> {
  await db.query(
    `insert into dirsync.pending as p (operation, enterprise_code, entity_key, priority)
     select 'update-employee', e.enterprise_code, e.userid, ${PRIORITY.change}
     from difference d join dirsync.employee e using (enterprise_code, userid)
     where d.fresh and d.reason is null and d.hash is not null
       and (${HAS_WORK} or d.hash is distinct from e.acknowledged_hash and d.hash is distinct from e.parked_hash)
     order by 2, 3
     on conflict (operation, enterprise_code, entity_key, detail) do update set version = p.version + 1`,
  )
}

/** Locks the employees whose rows change. */
async function lockChanging(db: ClientBase): Promise<void> {
  await db.query(
    `select count(*) from (
       select from dirsync.employee e
       join difference d on d.enterprise_code = e.enterprise_code and d.userid = e.userid
       where d.fresh or d.hash is null
       order by e.enterprise_code, e.userid
       for update of e
     ) locked`,
  )
}

/** No plan will check what a worker found for a rejected row. Fields with an unknown value on the platform stay unknown. */
async function dropRejectedReplans(db: ClientBase): Promise<void> {
  await db.query(
    `with gone as (
       delete from dirsync.pending p using difference d, dirsync.employee e
       where e.rejected and not d.fresh and d.reason is null and p.replan_at is not null
         and p.operation = 'update-employee' and p.enterprise_code = d.enterprise_code and p.entity_key = d.userid
         and e.enterprise_code = d.enterprise_code and e.userid = d.userid
       returning p.enterprise_code, p.entity_key, p.sent_unknown
     ), unknown as (
       update dirsync.employee e set acknowledged_hash = null, parked_hash = null from gone g
       where g.sent_unknown and e.enterprise_code = g.enterprise_code and e.userid = g.entity_key
       returning e.enterprise_code, e.userid
     )
     -- No outcome will release those who wait for a value that the platform may have been told to give up.
     update dirsync.dead_letter c set next_retry_at = now() from unknown u
     where c.enterprise_code = u.enterprise_code and c.blocked_by = u.userid and c.state ${isOneOf(ENDED_BY_HOLDER)}`,
  )
}

/**
 * Where departments may be deleted and it is not known in which one they are, the platform is asked about those whom nothing
 * else has looked up: who was rejected, or has vanished. So it is about who was rejected after an update without an answer, which
 * the platform may have carried out. A failed look-up is retried as its case, and by full runs.
 */
async function askAboutLost(db: ClientBase, full: boolean): Promise<void> {
  await db.query(
    `insert into dirsync.pending (operation, enterprise_code, entity_key, priority)
     select 'update-employee', e.enterprise_code, e.userid, ${PRIORITY.full}
     from difference d join dirsync.employee e using (enterprise_code, userid)
     where (e.rejected and not d.fresh or e.vanished_at is not null and d.hash is null) and ${HAS_UNKNOWN_PLACE} and d.reason is null
       and (e.rejected and e.moving_to is not null
            or exists (select from dirsync.department k
                       where k.enterprise_code = e.enterprise_code and k.deleted_at is null and not k.lost))
       and ($1 or not exists (select from dirsync.dead_letter c
                              where c.enterprise_code = e.enterprise_code and c.entity_key = e.userid
                                and c.operation = 'update-employee' and c.field = '' and c.state <> 'resolved'))
     order by 2, 3 on conflict do nothing`,
    [full],
  )
}

async function addUnknown(db: ClientBase): Promise<void> {
  await db.query(
    `insert into dirsync.employee (enterprise_code, userid, active, had_left, source_hash)
     select enterprise_code, userid, active, not active, hash from difference where unknown
     order by enterprise_code, userid on conflict do nothing`,
  )
}

async function releaseHeld(db: ClientBase): Promise<void> {
  await db.query(
    `update dirsync.employee e set had_left = e.had_left or e.held_gone, ${NOT_HELD} from difference d
     where d.enterprise_code = e.enterprise_code and d.userid = e.userid and e.held_run is not null
       and (d.fresh or d.reason is not null)`,
  )
}

/** Stores the hashes of rows that no plan has seen yet, of known employees. */
async function storeRows(db: ClientBase): Promise<void> {
  await db.query(
    // Back to the row that the platform has confirmed, while another one may have arrived since.
    `update dirsync.employee e
     set active = d.active, source_hash = d.hash, vanished_at = null, had_left = e.had_left or not d.active,
         acknowledged_hash = case
           when e.acknowledged_hash is distinct from d.hash then e.acknowledged_hash
           when not ${MAY_BE_SENT} then e.acknowledged_hash end
     from difference d
     where d.enterprise_code = e.enterprise_code and d.userid = e.userid
       and d.fresh and not d.unknown and d.hash is not null`,
  )
}

async function storeVanished(db: ClientBase): Promise<void> {
  await db.query(
    `update dirsync.employee e
     set active = false, had_left = true, source_hash = null, acknowledged_hash = null, parked_hash = null,
         vanished_at = coalesce(e.vanished_at, now())
     from difference d
     where d.enterprise_code = e.enterprise_code and d.userid = e.userid and d.hash is null and d.fresh`,
  )
}

const NOT_HELD = 'held_run = null, held_hash = null, held_gone = false, rejected = false'

/**
 * Condition on an employee `e` with the row `d` of `difference`: HR has restored the row that the platform has answered for, after another
 * one whose plan was cancelled, or has yet to be sent. There is nothing to decide.
 */
const IS_RESTORED = `(d.reason is null and coalesce(d.hash in (e.acknowledged_hash, e.parked_hash), false))`

/**
 * Marks exactly the differing employees as waiting for the decision about a held run: they are not in sync, whatever row the
 * platform has confirmed before. For one whose row was compared and does not differ, HR has restored the old row.
 * @param heldRun null: the plan passed, and nothing waits any more
 * @param options.readAll every HR row was compared, not only those in `staged`
 */
export async function markHeld(
  db: ClientBase,
  heldRun: number | null,
  { readAll, codes }: { readAll: boolean; codes: SourceScope['codes'] },
): Promise<void> {
  if (heldRun !== null) {
    await db.query(
      `insert into dirsync.employee (enterprise_code, userid, active, held_run, held_hash, held_gone)
       select enterprise_code, userid, coalesce(active, true), $1, hash, active is not true from difference
       where unknown and reason is not null order by 1, 2 on conflict do nothing`,
      [heldRun],
    )
    await db.query(
      `with waiting as materialized (
         select e.enterprise_code, e.userid, d.hash, d.active is not true as gone from dirsync.employee e
         join difference d on d.enterprise_code = e.enterprise_code and d.userid = e.userid
         where (d.fresh and not ${IS_RESTORED} or d.reason in ('new', 'changed', 'left', 'vanished'))
           and ((e.held_run, e.held_hash, e.held_gone) is distinct from ($1, d.hash, d.active is not true) or e.rejected)
         order by 1, 2 for update of e
       )
       update dirsync.employee e set held_run = $1, held_hash = w.hash, held_gone = w.gone, rejected = false
       from waiting w where w.enterprise_code = e.enterprise_code and w.userid = e.userid`,
      [heldRun],
    )
  }
  const compared = readAll
    ? 'true'
    : 'exists (select from staged s where s.enterprise_code = e.enterprise_code and s.userid = e.userid)'
  const over = `e.held_run is not null and ($1::text[] is null or e.enterprise_code = any ($1)) and ${compared}
    and not exists (select from difference d
                    where d.enterprise_code = e.enterprise_code and d.userid = e.userid
                      and (d.resting or $2 and (d.reason is not null or d.fresh and not ${IS_RESTORED})))`
  await db.query(`delete from dirsync.employee e where ${over} and ${ONLY_HELD}`, [codes, heldRun !== null])
  await db.query(`update dirsync.employee e set ${NOT_HELD} where ${over}`, [codes, heldRun !== null])
}

/** No decision about these runs will follow. Employees that waited for one stay out of sync until a plan sees HR's state then. */
export function endWaiting(db: ClientBase, heldRuns: readonly number[]): Promise<void> {
  return letGoWhere(db, 'e.held_run = any ($1)', [heldRuns])
}

/**
 * The same for employees whom no plan of the held run's source looks at, as their enterprise has another one or none, once nobody can
 * decide about the run any more. Until then they do wait: the source may get the enterprise back, and what was approved is what is sent.
 */
export function endForgottenWaiting(db: ClientBase): Promise<void> {
  return letGoWhere(
    db,
    // What a part has not sent is undecided again if that is cancelled.
    `exists (select from dirsync.hr_source)
     and not exists (select from dirsync.hr_source h join dirsync.sync_run r on r.hr_source = h.name
                     where r.id = e.held_run and e.enterprise_code = any (h.enterprise_codes))
     and e.held_run not in (
       select coalesce(r.part_of, r.id) from dirsync.sync_run r
       where r.finished_at is null and (r.state <> 'running' or r.part_of is not null))`,
  )
}

async function letGoWhere(db: ClientBase, which: string, values: unknown[] = []): Promise<void> {
  const waits = `e.held_run is not null and ${which} and not e.rejected`
  await db.query(`delete from dirsync.employee e where ${waits} and ${ONLY_HELD}`, values)
  await db.query(
    // No row has this hash; `take_back` sets it, too.
    `update dirsync.employee e
     set ${NOT_HELD}, source_hash = case when e.source_hash is not null then uuid '00000000-0000-0000-0000-000000000000' end
     where ${waits}`,
    values,
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
 * Turns the stored plan of a held run into the table `difference` again, for `writeEmployeePlan`.
 * @param codes the enterprises that are still its source's; null: all
 * @returns how many of its rows are left out, because a later plan that passed has seen another HR row, a person has rejected them
 * with another plan since, or they no longer belong to the source
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
     where w.run_id = ${runId} and e.source_hash is not distinct from w.previous_hash
       -- Another plan may have had the same row, or a newer one: the later word counts.
       and (e.rejected and (select decided_at from (${HELD_DECISION}) d)
              > (select coalesce(decided_at, requested_at) from dirsync.sync_run where id = ${runId})) is not true`,
  )
  const { rows } = await db.query<{ leftOut: number }>(
    `select ((select count(*) from dirsync.planned_work where run_id = $1)
             - (select count(*) from difference))::int as "leftOut"`,
    [runId],
  )
  // The plan's details of these were not read yet, and could not be determined once it has been sent.
  await db.query(
    `update dirsync.planned_work w
     set acknowledged = e.acknowledged, known_department = coalesce(w.known_department, e.dept_code)
     from dirsync.employee e
     where w.run_id = $1 and w.reason = 'changed' and w.fields is null
       and e.enterprise_code = w.enterprise_code and e.userid = w.entity_key`,
    [runId],
  )
  return onlyRow(rows).leftOut
}

/** SQL: HR's row of a held plan `w` is the one that the platform was brought to since, as by a run of named employees. */
const WAS_SENT = `exists (select from dirsync.employee e
  where e.enterprise_code = w.enterprise_code and e.userid = w.entity_key
    and e.source_hash is not distinct from w.source_hash)`

/** Condition on an employee `d` of `difference`: the stored plan of a run `r` has a change of theirs, not necessarily to this row. */
const IS_IN_PLAN = `exists (
  select from dirsync.planned_work w
  where w.run_id = r.id and w.operation = 'update-employee' and w.enterprise_code = d.enterprise_code
    and w.entity_key = d.userid and w.reason <> 'asked')`

/** How many employees change of whom the stored plan of a held run has nothing. @param codes only of these enterprises; null: of all */
export async function countJoined(
  db: ClientBase,
  heldRun: number,
  codes: readonly string[] | null = null,
): Promise<number> {
  const { rows } = await db.query<{ n: number }>(
    `select count(*)::int as n from difference d cross join (select $1::bigint as id) r
     -- Not an anti join, which a plan that was never analyzed makes quadratic.
     where ${IS_CHANGING} and ${IS_IN_PLAN} is not true and ($2::text[] is null or d.enterprise_code = any ($2))`,
    [heldRun, codes],
  )
  return onlyRow(rows).n
}

/** How many employees change who wait for a decision because of a run of a source that is, or was, held as a whole. */
export async function countStillHeld(db: ClientBase, source: string): Promise<number> {
  const { rows } = await db.query<{ n: number }>(
    `select count(*)::int as n from difference d
     where ${IS_CHANGING} and exists (
       select from dirsync.sync_run r
       where r.kind in ${EMPLOYEE_KINDS_SQL} and r.hr_source = $1
         and (${IS_HELD_WHOLE} and ${IS_IN_PLAN}
              -- What joined it is in no plan that a person could have decided about, also once that is decided.
              -- Beside one that is decided in parts, everything else goes on.
              or r.grown and not (r.state = 'held' and r.undecided is not null) and exists (
                select from dirsync.employee e
                where e.enterprise_code = d.enterprise_code and e.userid = d.userid
                  and e.held_run = r.id and not e.rejected)))`,
    [source],
  )
  return onlyRow(rows).n
}

/**
 * Undecided rows of a held run that is decided in parts: those that differ by `difference`, and those with another row in HR.
 * @param codes the enterprises that were compared; null: all
 */
export async function countUndecided(
  db: ClientBase,
  heldRun: number,
  codes: SourceScope['codes'],
): Promise<{ count: number; changed: number }> {
  const { rows } = await db.query<{ count: number; changed: number }>(
    `select count(d.userid)::int as count,
            (count(*) filter (where w.reason <> 'asked' and case when d.userid is null then not ${WAS_SENT}
                                                                 else d.hash is distinct from w.source_hash end))::int
              as changed
     from ${rowsOf('dirsync.planned_work', codes)} w
     left join difference d on d.undecided = w.run_id and d.enterprise_code = w.enterprise_code
       and d.userid = w.entity_key
     where w.run_id = $1 and w.reason is not null and w.decision_id is null`,
    [heldRun],
  )
  return onlyRow(rows)
}

/**
 * How many rows HR has changed since the plan of a held run was stored, by `difference`.
 * @param codes the enterprises that were compared; null: all
 */
export async function countChangedSince(
  db: ClientBase,
  heldRun: number,
  codes: SourceScope['codes'],
): Promise<number> {
  const { rows } = await db.query<{ n: number }>(
    `select count(*)::int as n
     from (select * from ${rowsOf('dirsync.planned_work', codes)} p
           where run_id = $1 and reason is distinct from 'asked' and decision_id is null) w
     full join (select * from difference
                where reason not in ('asked', 'skipped') or reason is null and (fresh or undecided = $1)) d
       on d.enterprise_code = w.enterprise_code and d.userid = w.entity_key
     where w.entity_key is null
        or case when d.userid is null then not ${WAS_SENT} else d.hash is distinct from w.source_hash end`,
    [heldRun],
  )
  return onlyRow(rows).n
}
