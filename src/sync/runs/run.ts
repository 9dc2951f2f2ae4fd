import type { SourceStatistics } from '../../directory/hash.ts'
import { type ClientBase, COPY_MS, onlyRow, type Pool } from '../../lib/database.ts'
import { message, type Said, toStore } from '../../texts/message.ts'
import { MIRRORS } from './mirror-kind.ts'

/** Every state of a run, in the order of its life. */
export const RUN_STATES = [
  'requested',
  'planning',
  'held',
  'running',
  'done',
  'failed',
  'source_suspect',
  'rejected',
  'superseded',
  'cancelled',
] as const
export type RunState = (typeof RUN_STATES)[number]

const UNDER_WAY: ReadonlySet<string> = new Set<RunState>(['requested', 'planning', 'running'])

/** Whether a run goes on by itself: it has neither ended nor waits for a decision. */
export function isUnderWay(state: string): boolean {
  return UNDER_WAY.has(state)
}

/**
 * A run is one pass over everything or over named entities. It is requested, planned, perhaps held until a person decides, and
 * ends when nothing of it is left in the outbox. This table has every transition, with the function that makes it. A test holds
 * the statements to it, and the diagram in ARCHITECTURE.md, which is made from it.
 */
export const RUN_TRANSITIONS = [
  { from: ['new'], event: 'is requested', to: 'requested', by: 'requestRun' },
  { from: ['new'], event: 'follows a decision', to: 'requested', by: 'decide' },
  { from: ['new'], event: 'begins in place of a held one', to: 'planning', by: 'beginRun' },
  { from: ['requested'], event: 'is taken by a planner', to: 'planning', by: 'claimRun' },
  { from: ['planning'], event: 'loses its planner', to: 'requested', by: 'reclaimOrphanedRuns' },
  { from: ['planning'], event: 'passes', to: 'running', by: 'recordPlan' },
  { from: ['planning'], event: 'was approved', to: 'running', by: 'recordApproved' },
  { from: ['planning'], event: 'trips a breaker', to: 'held', by: 'recordPlan' },
  { from: ['planning'], event: 'fails the sanity gate', to: 'source_suspect', by: 'recordPlan' },
  { from: ['planning'], event: 'is like a held one', to: 'superseded', by: 'recordPlan' },
  { from: ['planning'], event: 'cannot be planned', to: 'failed', by: 'recordPlan' },
  { from: ['planning'], event: 'was approved, but cannot be carried out', to: 'held', by: 'hold_again' },
  { from: ['held'], event: 'is approved', to: 'requested', by: 'decide' },
  { from: ['held'], event: 'is rejected', to: 'rejected', by: 'decide' },
  { from: ['new'], event: 'sends a part of a held one', to: 'requested', by: 'decide_part' },
  { from: ['held'], event: 'its last part is approved', to: 'running', by: 'decide_part' },
  { from: ['held'], event: 'its last part is rejected', to: 'rejected', by: 'decide_part' },
  { from: ['held'], event: 'a later plan passes', to: 'superseded', by: 'supersede' },
  // What was approved and not sent is undecided again.
  { from: ['running', 'superseded'], event: 'a part of it is cancelled', to: 'held', by: 'hold_again' },
  { from: ['running'], event: 'has nothing left', to: 'done', by: 'finishRuns' },
  { from: ['running'], event: 'has nothing left in hand', to: 'cancelled', by: 'finishRuns' },
  { from: ['requested', 'planning'], event: 'is cancelled', to: 'cancelled', by: 'cancel' },
  // A source that HR_SOURCES no longer names is not planned.
  { from: ['held'], event: 'its source is taken away', to: 'rejected', by: 'endRunsOfOthers' },
  {
    from: ['requested', 'planning'],
    event: 'its source is taken away',
    to: 'cancelled',
    by: 'endRunsOfOthers',
  },
  // Mirrors plan their own runs, which have nothing in the outbox.
  { from: ['requested'], event: 'is taken by a mirror', to: 'running', by: 'claimMirrorRun' },
  { from: ['running'], event: 'of a mirror is cancelled', to: 'cancelled', by: 'cancel' },
  { from: ['running'], event: 'of a mirror has nothing to read', to: 'done', by: 'writeMirrorPlan' },
  { from: ['running'], event: 'of a mirror was refused before', to: 'failed', by: 'writeMirrorPlan' },
  { from: ['running'], event: 'of a mirror has read all', to: 'done', by: 'finishMirrorRun' },
  { from: ['running'], event: 'of a mirror was refused', to: 'failed', by: 'finishMirrorRun' },
  // Nothing of the old account is carried out at the new one.
  { from: ['held'], event: 'the account is switched', to: 'rejected', by: 'forget' },
  {
    from: ['requested', 'planning', 'running'],
    event: 'the account is switched',
    to: 'failed',
    by: 'forget',
  },
] as const satisfies readonly {
  from: readonly (RunState | 'new')[]
  event: string
  to: RunState
  by: string
}[]

/** Runs that the planner turns into work for the queue. */
const PLANNED_KINDS = ['changes', 'full', 'employees', 'departments', 'openids', 'retry'] as const

/** Every kind of run, in the order of choice. */
export const RUN_KINDS = [...PLANNED_KINDS, ...MIRRORS] as const
export type RunKind = (typeof RUN_KINDS)[number]

/** One row of `dirsync.sync_run`. The content of its column `keys` has a name of its own for each kind. */
export interface Run {
  id: number
  kind: RunKind
  /** changes: the user ids that HR's trigger named; empty for a run that chooses its own rows. */
  changedUserids: string[]
  /** employees: those that a person named, as user id or `enterprise/userid`. */
  named: string[]
  /** retry: the cases to be retried. */
  cases: number[]
  state: RunState
  /** Its source of HR; empty where there is only one, and for runs that cover all. */
  source: string
  requestedBy: string
  requestedAt: Date
  startedAt: Date | null
  finishedAt: Date | null
  /** It reads every HR row, whatever `updated_at` says: some may be gone. */
  wantsAll: boolean
  /** A person approved its stored plan: exactly that is carried out. */
  approved: boolean
  /** For a full run: employees in sync whom the platform confirmed within this many milliseconds are left out. */
  maxAgeMs: number | null
  inScope: number | null
  planned: number | null
  /** Of a run that is decided in parts: rows of its plan that are not decided yet. */
  undecided: number | null
  /** While it was held, a later check would have been held by rows that its stored plan lacks alone. It stays so once decided. */
  grown: boolean
  plan: PlanSummary | null
  result: RunResult | null
  message: Said | null
}

/** A run for the planner. */
export type PlannableRun = Run & { kind: (typeof PLANNED_KINDS)[number] }

/** A plan in figures. */
export interface PlanSummary {
  /** Entities with work, by reason: new, changed, asked, left, vanished, delete, bind, retry. */
  reasons: Record<string, number>
  /** For employees: those of the plan, in service and leaving; earlier versions did not store it. */
  total?: number
  /** Some of the keys, for a person who decides about a held run. */
  sample: string[]
  /** Employees that a full run left out because the platform confirmed them recently enough. */
  skipped?: number
  /** For a first run that is held because too many have left. */
  leavers?: { left: number; of: number }
  /** For a held run: rows that HR has changed since the plan was stored. */
  changed_since?: number
}

/** The result of a run, counted from the last attempt per entity. */
export interface RunResult {
  outcomes: Record<string, number>
  /** By operation: calls, milliseconds that they waited for the pacer, and calls that came too fast. */
  calls: Record<string, number>
  waitedMs?: Record<string, number>
  rateLimited?: Record<string, number>
  deadLetters: Record<string, number>
  /** For a mirror: rows read, and those that were new or different. */
  rows?: { read: number; changed: number }
}

const COLUMNS = `id, kind,
  case when kind = 'changes' then keys else '{}' end as "changedUserids",
  case when kind = 'employees' then keys else '{}' end as named,
  case when kind = 'retry' then keys::float8[] else '{}' end as cases,
  state, hr_source as source, requested_by as "requestedBy", requested_at as "requestedAt", started_at as "startedAt",
  finished_at as "finishedAt", wants_all as "wantsAll", approved, (extract(epoch from max_age) * 1000)::float8 as "maxAgeMs",
  in_scope as "inScope", planned, undecided, grown, plan, result, message`

/** Kinds of runs that choose their own rows among all employees. Two of them are held for the same rows. */
export const EMPLOYEE_KINDS: readonly RunKind[] = ['changes', 'full']

/** SQL: the same as a list, in the words of the partial indexes. */
export const EMPLOYEE_KINDS_SQL = `(${EMPLOYEE_KINDS.map(kind => `'${kind}'`).join(', ')})`

/** SQL: the same as rows, for a table `k (kind)`. */
export const EACH_EMPLOYEE_KIND = `(values ${EMPLOYEE_KINDS.map(kind => `('${kind}')`).join(', ')})`

/** Kinds of runs that read HR as a whole: with several sources, each has runs of its own. */
export const KINDS_BY_SOURCE: readonly RunKind[] = [...EMPLOYEE_KINDS, 'departments']

/** The sources of HR that have runs of a kind `k` of their own, in a column `name`; '' for runs without a source. Few rows. */
export const RUN_SOURCES = `(
  select name from dirsync.hr_source where k.kind in (${KINDS_BY_SOURCE.map(kind => `'${kind}'`).join(', ')})
  union all
  select '' where k.kind not in (${KINDS_BY_SOURCE.map(kind => `'${kind}'`).join(', ')})
    or not exists (select from dirsync.hr_source))`

/**
 * Condition on a run: it chose its rows among all employees, so that its findings concern HR as a whole. An index has it. One that
 * sends a part of a plan has found nothing of its own.
 */
export const OF_EVERYBODY = `kind in ${EMPLOYEE_KINDS_SQL} and keys = '{}' and part_of is null`

/** SQL: when the present account was set. */
export const ACCOUNT_SINCE = `coalesce((select since from dirsync.deployment), '-infinity')`

/**
 * SQL: the first run of all employees that passed on the present account, for each source of HR in `name`; `id` is null where there is none
 * yet, and `ended` while it sends. The first, since later runs have nothing to send and are done before it. One that has nothing left but
 * what an enterprise's halt holds back is passed over: that may last for ever.
 */
export const FIRST_SYNCS = `(
  select s.name, first.id, first.finished_at as ended
  from (values ('changes')) k (kind) cross join lateral ${RUN_SOURCES} s
  left join lateral (
    -- One that sends a part of a plan counts like any other. With "=" in place of "between" the index of the ids of all sources may be
    -- taken; and without the account's first run, half a year of runs on another account be read.
    select id, finished_at from dirsync.sync_run r
    where kind in ${EMPLOYEE_KINDS_SQL} and keys = '{}' and hr_source between s.name and s.name
      and id >= coalesce((select id from dirsync.sync_run where requested_at >= ${ACCOUNT_SINCE}
                          order by requested_at limit 1), 0)
      and (state = 'done' and finished_at > ${ACCOUNT_SINCE}
           or state = 'running' and not exists (
             select from dirsync.tally t where t.source = 'pending' and t.run_id = r.id
             having sum(n) > 0 and sum(n) = sum(n) filter (
               where exists (select from dirsync.halt h where h.scope = t.enterprise_code))))
    order by hr_source, id limit 1) first on true)`

/** SQL: when the first sync of the last source was over, of those that have begun it; null before that. */
export const FIRST_SYNC_ENDED = `(
  select case when bool_and(ended is not null) then max(ended) end from ${FIRST_SYNCS} f where id is not null)`

/** SQL: a time that reading HR took. Longer than copying it may take means that the clock was put forward meanwhile. */
function bounded(columns: string): string {
  return `least(coalesce(${columns}, '0'), interval '${COPY_MS} milliseconds')`
}

/**
 * SQL: when planning a run ended. `planned_at` is before it read HR, as `checked_at` is of a held run: what happened later may not be in
 * its plan.
 */
export const PLANNED_UNTIL = `planned_at + ${bounded('planned_for')}`

/** SQL: when the last reading of HR for a run ended. */
export const READ_UNTIL = `coalesce(checked_at + ${bounded('checked_for')}, ${PLANNED_UNTIL})`

/** SQL: how long that took. */
export const READ_FOR = bounded('checked_for, planned_for')

/** SQL: the runs that wait for a decision; `planned` is what of the plan is undecided. An index has unfinished runs alone. */
export const HELD_RUNS = `(
  select id, kind, hr_source, requested_at, ${PLANNED_UNTIL} as planned_at, coalesce(undecided, planned) as planned
  from dirsync.sync_run where state = 'held' and finished_at is null)`

/**
 * Condition on a run `r` of a kind, for the latest or first such run by `order by r.kind, r.id desc` or `order by r.kind desc, r.id`.
 * A range, which together with that order is what the index on kind and id has: by `r.kind = …` the order by id alone
 * would do, and PostgreSQL walks all runs for the latest one of a kind that has none.
 */
export const ofKind = (kind: string) => `r.kind between ${kind} and ${kind}`

// From the request to the plan

/**
 * Requests a run.
 * @param keys its subjects, as the kind has them; empty: everything
 * @param source of HR, for a kind of run that has one
 * @param readAll whether every HR row is to be read
 */
export async function requestRun(
  db: Pool,
  kind: RunKind,
  keys: string[],
  by: string,
  source = '',
  readAll = false,
): Promise<number> {
  const { rows } = await db.query<{ id: number }>(
    `insert into dirsync.sync_run (kind, keys, requested_by, hr_source, wants_all)
     values ($1, $2, $3, $4, $5) returning id`,
    [kind, keys, by, source, readAll],
  )
  await db.query(`select pg_notify('dirsync', 'run')`)
  return onlyRow(rows).id
}

/** Makes a waiting run read every HR row. False when it no longer waits. */
export async function askForAll(db: Pool, id: number): Promise<boolean> {
  const { rowCount } = await db.query(
    `update dirsync.sync_run set wants_all = true where id = $1 and state = 'requested'`,
    [id],
  )
  return rowCount === 1
}

/**
 * Requests a run of the rows that HR named, or adds them to the waiting one: a source has one of them.
 * @param most user ids of a run
 * @returns null when there would be more
 */
export async function requestNamedRows(
  db: Pool,
  userids: string[],
  by: string,
  source: string,
  most: number,
): Promise<number | null> {
  const { rows } = await db.query<{ id: number; fits: boolean }>(
    `with waits as (
       select id, array(select distinct key from unnest(keys || $1::text[]) as k (key) order by key) as keys
       from dirsync.sync_run
       where state = 'requested' and kind = 'changes' and keys <> '{}' and not approved and hr_source = $2
       order by id limit 1 for update
     ), joined as (
       update dirsync.sync_run r set keys = w.keys from waits w where r.id = w.id and cardinality(w.keys) <= $3
     )
     select id, cardinality(keys) <= $3 as fits from waits`,
    [userids, source, most],
  )
  const [waits] = rows
  if (waits) return waits.fits ? waits.id : null
  return requestRun(db, 'changes', userids, by, source)
}

/** How long HR was last read for a run, to plan it or to check it again; 0 before that is over. */
export async function planningMs(db: Pool, id: number): Promise<number> {
  const { rows } = await db.query<{ ms: number }>(
    `select (extract(epoch from ${READ_FOR}) * 1000)::float8 as ms from dirsync.sync_run where id = $1`,
    [id],
  )
  return rows[0]?.ms ?? 0
}

/** Milliseconds since the planning of a run of departments began, or of the held run of which it is a part; null: it is none. */
export function deletionPlannedMsAgo(db: Pool, id: number | null): Promise<number | null> {
  return plannedMsAgo(db, `kind = 'departments' and id = $1`, [id])
}

/** The same of the latest passed run of a source, or of named employees or cases, that read HR with this mapping. */
export function mappingPlannedMsAgo(db: Pool, mapping: string, source: string): Promise<number | null> {
  return plannedMsAgo(db, `state in ('running', 'done') and mapping = $1 and hr_source in ('', $2)`, [
    mapping,
    source,
  ])
}

async function plannedMsAgo(db: Pool, condition: string, values: unknown[]): Promise<number | null> {
  const { rows } = await db.query<{ ms: number | null }>(
    `select (extract(epoch from now() - coalesce(w.started_at, r.started_at)) * 1000)::float8 as ms
     from (select started_at, part_of from dirsync.sync_run where ${condition} order by id desc limit 1) r
     left join dirsync.sync_run w on w.id = r.part_of`,
    values,
  )
  return rows[0]?.ms ?? null
}

/**
 * The oldest waiting run of a source, approved ones first; now `planning`. Else a held one for which HR is to be checked again.
 * Null when there is neither. Mirrors plan their own.
 */
export async function claimRun(db: ClientBase, source: string): Promise<PlannableRun | null> {
  const { rows } = await db.query<PlannableRun>(
    `update dirsync.sync_run set state = 'planning', started_at = coalesce(started_at, now())
     where id = (select id from dirsync.sync_run where state = 'requested' and kind <> all ($1) and hr_source = $2
                 order by approved desc, id limit 1 for update skip locked)
     returning ${COLUMNS}`,
    [MIRRORS, source],
  )
  if (rows[0]) return rows[0]
  const { rows: held } = await db.query<PlannableRun>(
    `select ${COLUMNS} from dirsync.sync_run
     where state = 'held' and finished_at is null and recheck_at <= now() and hr_source = $1
     order by id limit 1`,
    [source],
  )
  return held[0] ?? null
}

/** Makes a run of the rows that HR named one of all rows. @throws RunTakenBack */
export async function coverAllRows(db: Pool, run: PlannableRun): Promise<PlannableRun> {
  const { rowCount } = await db.query(
    `update dirsync.sync_run set keys = '{}', wants_all = true
     where id = $1 and state in ('planning', 'held')`,
    [run.id],
  )
  if (rowCount === 0) throw new RunTakenBack(run.id)
  return { ...run, changedUserids: [], wantsAll: true }
}

/** Gives back runs of a source whose planner died. Only for the holder of the planning lock. */
export async function reclaimOrphanedRuns(db: ClientBase | Pool, source: string): Promise<number> {
  const { rowCount } = await db.query(
    `update dirsync.sync_run set state = 'requested'
     where state = 'planning' and finished_at is null and hr_source = $1`,
    [source],
  )
  return rowCount ?? 0
}

/** A run of the same kind that begins at once, in the transaction that checked HR for the held one. */
export async function beginRun(db: ClientBase, held: number): Promise<number> {
  const { rows } = await db.query<{ id: number }>(
    `insert into dirsync.sync_run (kind, keys, max_age, hr_source, state, requested_by, started_at)
     select kind, keys, max_age, hr_source, 'planning', 'cron', now() from dirsync.sync_run where id = $1 returning id`,
    [held],
  )
  return onlyRow(rows).id
}

/** The result of planning, for the run's row. */
export interface PlannedRun {
  state: 'held' | 'running' | 'source_suspect' | 'failed' | 'superseded'
  readAll?: boolean
  inScope?: number
  plan?: PlanSummary
  source?: SourceStatistics
  /** Fingerprint of the mapping that HR's employees were read with; absent when they were not. */
  mapping?: string | undefined
  message?: Said
}

/** The result of planning, and how it is written: into the outbox, or into the store of held plans. */
export interface CheckedPlan {
  planned: PlannedRun
  apply(run: number): Promise<void>
  /** For kinds that may be held. */
  store?(run: number): Promise<void>
  /** Marks the employees who wait for the decision about a held run. */
  mark?(held: number): Promise<void>
  /** How many rows differ from the stored plan of a held run. */
  changedSince?(held: number): Promise<number>
  /** Whether it would be held by what the stored plan of a held run lacks alone. */
  outgrows?(held: number): Promise<boolean>
  /**
   * Of a held run that is decided in parts: how many undecided rows still differ in HR, and how many have another row there than
   * the stored plan.
   */
  undecided?(held: number): Promise<{ count: number; changed: number | null }>
}

/** The figures of a plan whose work has one reason. @param keys of the entities, as people name them */
export function planFigures(reason: string, keys: string[], count = keys.length): PlanSummary {
  return { reasons: count > 0 ? { [reason]: count } : {}, sample: keys.slice(0, 20) }
}

/** The plan of a run that ends without any work. */
export function noWork(
  state: 'running' | 'failed' | 'source_suspect',
  why: Said,
  inScope?: number,
): CheckedPlan {
  const plan = { reasons: {}, sample: [] }
  return {
    planned: { state, message: why, plan, ...(inScope !== undefined && { inScope }) },
    apply: async () => {},
  }
}

/** A run was cancelled while it was planned: nothing of its plan is to be written. */
export class RunTakenBack extends Error {
  readonly code = 'RUN_TAKEN_BACK'

  constructor(id: number) {
    super(`run ${id} was cancelled while it was planned`)
  }
}

/**
 * Writes the result of planning. A run that ends here is finished.
 * @param since when planning began; default: with the transaction
 * @throws RunTakenBack
 */
export async function recordPlan(
  db: ClientBase | Pool,
  id: number,
  planned: PlannedRun,
  since: Date | null = null,
): Promise<void> {
  const { state, readAll = true, inScope, plan, source, message, mapping } = planned
  const count = plan && Object.values(plan.reasons).reduce((sum, n) => sum + n, 0)
  const { rowCount } = await db.query(
    `update dirsync.sync_run
     set state = $2, read_all = $3, in_scope = $4, planned = $5, plan = $6, source = $7, message = $8,
         mapping = $9, planned_at = coalesce($10, now()), planned_for = clock_timestamp() - coalesce($10, now()),
         finished_at = case when $2 not in ('held', 'running') then clock_timestamp() end
     where id = $1 and state = 'planning'`,
    [id, state, readAll, inScope, count, plan, source, toStore(message), mapping, since],
  )
  if (rowCount === 0) throw new RunTakenBack(id)
}

/** The stored plan of an approved run is in the outbox. @throws RunTakenBack */
export async function recordApproved(db: ClientBase, id: number, what: Said | null): Promise<void> {
  const { rowCount } = await db.query(
    `update dirsync.sync_run set state = 'running', message = $2 where id = $1 and state = 'planning'`,
    [id, toStore(what)],
  )
  if (rowCount === 0) throw new RunTakenBack(id)
}

/**
 * A plan that was approved as a whole could not be carried out: it is held again, undecided.
 * @returns false for a part of a plan, a run that was cancelled meanwhile, or one that version 1.0 approved, which stored no decision
 */
export async function holdAgain(db: ClientBase, id: number, what: Said): Promise<boolean> {
  const { rowCount } = await db.query(
    `update dirsync.sync_run set message = $2
     where id = $1 and state = 'planning' and approved and part_of is null`,
    [id, toStore(what)],
  )
  if (rowCount === 0) return false
  const { rowCount: decided } = await db.query(
    `select dirsync.hold_again(d, d.planned) from dirsync.plan_decision d
     where d.run_id = $1 and d.approved order by d.id desc limit 1`,
    [id],
  )
  return decided === 1
}

/** A run that should send a part of a held one never began: that part is undecided again. */
export async function returnPart(db: ClientBase, id: number): Promise<void> {
  await db.query('select dirsync.return_part($1)', [id])
}

// While a run is held

/** Has HR checked again for a held run: it may have been fixed meanwhile. The stored plan stays as it is. */
export async function recheckHeldRun(db: Pool, id: number): Promise<void> {
  await db.query(
    // Never later than a failed check delays it: the clock may have been put back.
    `update dirsync.sync_run set recheck_at = least(coalesce(recheck_at, now()), now() + interval '1 minute')
     where id = $1 and state = 'held'`,
    [id],
  )
  await db.query(`select pg_notify('dirsync', 'run')`)
}

/** A plan of all employees of a source has passed: its other held runs look different now. */
export async function recheckHeldRuns(db: ClientBase, source: string): Promise<void> {
  await db.query(
    `update dirsync.sync_run r set recheck_at = now()
     where ${IS_HELD_WHOLE} and kind in ${EMPLOYEE_KINDS_SQL} and hr_source = $1`,
    [source],
  )
}

/** Whether a run is held as a whole: until a person decides, HR is checked again instead of another run. */
export function isHeldWhole<R extends Pick<Run, 'state' | 'undecided'>>(
  run: R | null,
): run is R & { state: 'held' } {
  return run?.state === 'held' && run.undecided === null
}

/** SQL: the same of a run `r`. */
export const IS_HELD_WHOLE = `(r.state = 'held' and r.finished_at is null and r.undecided is null)`

/** The held run of a source, of one of the kinds, except `except`; null without one. */
export async function heldRun(
  db: ClientBase | Pool,
  kinds: readonly RunKind[],
  source: string,
  except: number | null = null,
): Promise<Run | null> {
  const { rows } = await db.query<Run>(
    `select ${COLUMNS} from dirsync.sync_run
     where state = 'held' and finished_at is null and kind = any ($1)
       and hr_source = $2 and id is distinct from $3::bigint
     -- One that is decided in parts holds up its own rows alone.
     order by undecided is not null, id limit 1`,
    [kinds, source, except],
  )
  return rows[0] ?? null
}

/** The runs that wait for a decision, the oldest first. */
export async function heldRuns(db: ClientBase | Pool): Promise<Run[]> {
  const { rows } = await db.query<Run>(
    `select ${COLUMNS} from dirsync.sync_run where id in (select held.id from ${HELD_RUNS} held) order by id`,
  )
  return rows
}

/** SQL: what a run says whose plan will not be sent: why, and how much of it that is. @param why a message */
export const unsentBecause = (why: string) => `jsonb_build_array(${why}::jsonb, jsonb_build_object(
  'key', case when undecided is null then 'said.nothing_sent' else 'said.rest_not_sent' end))`

/** A plan that passed supersedes a held one, with all of it that is not decided. */
export async function supersede(db: ClientBase, held: number, by: number): Promise<void> {
  await db.query(
    `update dirsync.sync_run
     set state = 'superseded', finished_at = clock_timestamp(), recheck_at = null,
         message = ${unsentBecause('$2')}
     where id = $1 and state = 'held'`,
    [held, toStore(message('said.took_place', { run: by }))],
  )
}

/** Condition on a planned row `w`: it is not decided, or approved, and its run has not begun to send it. */
export const NOT_BEGUN = `(w.decision_id is null or exists (
  select from dirsync.plan_decision d join dirsync.sync_run p on p.id = d.part_run
  where d.id = w.decision_id and p.state in ('requested', 'planning')))`

/** SQL: the number of a run, and those of the runs that send parts of its plan. */
export function runAndParts(id: string): string {
  return `array(select ${id} union all select id from dirsync.sync_run where part_of = ${id})`
}

/** Condition on a run `r`: its plan is decided in parts, and not all of them have begun. */
export const IN_PARTS = `(r.undecided is not null
  and (r.state = 'held' or r.state = 'running' and exists (
    select from dirsync.sync_run p where p.part_of = r.id and p.state in ('requested', 'planning'))))`

/**
 * The runs of a source whose plans are decided in parts: what is not decided yet, or not begun, is sent by no other plan.
 * @param lock holds these, all its held runs, and those with a part that can be taken back until the end of the transaction, so that
 * nobody decides between the comparison and what is written of it
 */
export async function runsInParts(db: ClientBase, source: string, lock: boolean): Promise<number[]> {
  const { rows } = await db.query<{ id: number; isInParts: boolean }>(
    `select r.id, ${IN_PARTS} as "isInParts" from dirsync.sync_run r
     where r.hr_source = $1 and r.id in (
       select held.id from ${HELD_RUNS} held
       union select p.part_of from dirsync.sync_run p where p.finished_at is null)
     order by r.id ${lock ? 'for no key update' : ''}`,
    [source],
  )
  return rows.filter(({ isInParts }) => isInParts).map(({ id }) => id)
}

/**
 * HR was checked again, and the stored plan stays: its run says what has changed since.
 * @param what if empty, its message stays
 * @param changedSince rows that HR has changed since the plan was stored; null when that is not known
 * @param found.hasGrown whether the new plan would be held by the rows alone that the stored one lacks
 * @param found.isSuspect whether HR looked wrong
 */
export async function keepHeld(
  db: ClientBase,
  held: number,
  what: Said[],
  changedSince: number | null,
  { hasGrown = false, isSuspect = false } = {},
): Promise<void> {
  await db.query(
    `update dirsync.sync_run
     set recheck_at = null, checked_at = now(), checked_for = clock_timestamp() - now(),
         message = coalesce(nullif($2::jsonb, '[]'), message), grown = grown or $4,
         suspect_since = case when $5 then coalesce(suspect_since, now()) end,
         plan = case when $3::int is null then plan
                     else plan || jsonb_build_object('changed_since', $3::int) end
     where id = $1 and state = 'held'`,
    [held, toStore(what), changedSince, hasGrown, isSuspect],
  )
}

/** HR could not be checked again: that is retried in a minute, and the stored plan stays. */
export async function checkLater(db: Pool, held: number, what: Said): Promise<void> {
  await db.query(
    `update dirsync.sync_run set recheck_at = now() + interval '1 minute', message = $2
     where id = $1 and state = 'held'`,
    [held, toStore(what)],
  )
}

// Looking at runs

export async function readRun(db: Pool, id: number): Promise<Run | null> {
  const { rows } = await db.query<Run>(`select ${COLUMNS} from dirsync.sync_run where id = $1`, [id])
  return rows[0] ?? null
}

/** Whether there has ever been a run. */
export async function hasRuns(db: Pool): Promise<boolean> {
  const { rowCount } = await db.query('select from dirsync.sync_run limit 1')
  return rowCount === 1
}

/**
 * The latest waiting, running or held run of a kind, of everything of a source; null without one.
 * @param options.parts whether one that sends a part of a held plan counts: it reads nothing of HR
 */
export async function unfinishedRun(
  db: Pool,
  kind: RunKind,
  source: string,
  { parts = false }: { parts?: boolean } = {},
): Promise<Run | null> {
  const { rows } = await db.query<Run>(
    `select ${COLUMNS} from dirsync.sync_run
     where kind = $1 and keys = '{}' and finished_at is null and hr_source = $2 and ($3 or part_of is null)
     order by id desc limit 1`,
    [kind, source, parts],
  )
  return rows[0] ?? null
}

export interface RunProgress {
  state: RunState
  /** What was taken back is not left, nor done. */
  cancelled: boolean
  planned: number
  left: number
  message: Said | null
}

/** For the run `r`: entities in the outbox, those of the approved parts of its plan too; parts of a mirror still to be read. */
export const LEFT = `(
  (select coalesce(sum(t.n), 0) from dirsync.tally t where t.source = 'pending' and t.run_id = r.id)
  + (select coalesce(sum(case when p.state in ('requested', 'planning') then p.planned
                              else (select sum(t.n) from dirsync.tally t
                                    where t.source = 'pending' and t.run_id = p.id) end), 0)
     from dirsync.sync_run p where p.part_of = r.id and p.finished_at is null)
  + (select count(*) from dirsync.mirror_task t where t.run_id = r.id))::int`

export async function runProgress(db: Pool, id: number): Promise<RunProgress | null> {
  const { rows } = await db.query<RunProgress>(
    `select state, cancelled_at is not null as cancelled, coalesce(planned, 0) as planned, message, ${LEFT} as left
     from dirsync.sync_run r where id = $1`,
    [id],
  )
  return rows[0] ?? null
}

/** Every kind that has a run, in a column `kind`: one index look-up for each, however many runs there are. */
export const PRESENT_KINDS = `
  with recursive kinds as (
    select min(kind) as kind from dirsync.sync_run
    union all
    select (select min(r.kind) from dirsync.sync_run r where r.kind > k.kind)
    from kinds k where k.kind is not null
  ) select kind from kinds where kind is not null`
