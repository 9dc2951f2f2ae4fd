import type { SourceStatistics } from '../directory/hash.ts'
import { type ClientBase, onlyRow, type Pool } from '../lib/database.ts'
import { MIRRORS, type Mirror } from './mirror-kind.ts'
import { tellWithheld } from './withheld.ts'

/**
 * A run is one pass over everything or over what somebody named. It is asked for, planned, perhaps held until a person
 * decides, and ends when nothing of it is left in the outbox. Every change of its state is in this table, with the function
 * that makes it. A test holds the statements to it, and the diagram in ARCHITECTURE.md, which is made from it.
 */
export const RUN_TRANSITIONS = [
  { from: ['new'], event: 'is asked for', to: 'requested', by: 'requestRun' },
  { from: ['new'], event: 'begins in place of a held one', to: 'planning', by: 'beginRun' },
  { from: ['requested'], event: 'is taken by a planner', to: 'planning', by: 'claimRun' },
  { from: ['planning'], event: 'loses its planner', to: 'requested', by: 'reclaimOrphanedRuns' },
  { from: ['planning'], event: 'passes', to: 'running', by: 'recordPlan' },
  { from: ['planning'], event: 'was approved', to: 'running', by: 'recordApproved' },
  { from: ['planning'], event: 'trips a breaker', to: 'held', by: 'recordPlan' },
  { from: ['planning'], event: 'fails the sanity gate', to: 'source_suspect', by: 'recordPlan' },
  { from: ['planning'], event: 'is like a held one', to: 'superseded', by: 'recordPlan' },
  { from: ['planning'], event: 'cannot be planned', to: 'failed', by: 'recordPlan' },
  { from: ['held'], event: 'is approved', to: 'requested', by: 'decide' },
  { from: ['held'], event: 'is rejected', to: 'rejected', by: 'decide' },
  { from: ['held'], event: 'HR looks right again', to: 'superseded', by: 'supersede' },
  { from: ['running'], event: 'has nothing left', to: 'done', by: 'finishRuns' },
  { from: ['running'], event: 'has nothing left in hand', to: 'cancelled', by: 'finishRuns' },
  { from: ['requested', 'planning'], event: 'is cancelled', to: 'cancelled', by: 'cancel' },
  // Nobody plans for a source that HR_SOURCES does not name any more.
  { from: ['held'], event: 'its source is taken away', to: 'rejected', by: 'endRunsOfOthers' },
  {
    from: ['requested', 'planning'],
    event: 'its source is taken away',
    to: 'cancelled',
    by: 'endRunsOfOthers',
  },
  // Mirrors plan their own runs, and nothing of one is in the outbox.
  { from: ['requested'], event: 'is taken by a mirror', to: 'running', by: 'claimMirrorRun' },
  { from: ['running'], event: 'of a mirror is cancelled', to: 'cancelled', by: 'cancel' },
  { from: ['running'], event: 'of a mirror has nothing to read', to: 'done', by: 'writeMirrorPlan' },
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
] as const

export type RunState = (typeof RUN_TRANSITIONS)[number]['to']

/** Runs that the planner turns into work for the queue. */
type PlannedKind = 'changes' | 'full' | 'employees' | 'departments' | 'openids' | 'retry'
export type RunKind = PlannedKind | Mirror

/** One row of `dirsync.sync_run`. What its column `keys` holds has a name of its own for each kind. */
export interface Run {
  id: number
  kind: RunKind
  /** changes: the user ids that HR's trigger named; empty for a run that chooses its rows itself. */
  changedUserids: string[]
  /** employees: whom a person named, as user id or `enterprise/userid`. */
  named: string[]
  /** retry: the cases to be tried again. */
  cases: number[]
  state: RunState
  /** The source of HR that it is about; empty where there is only one, and for runs that look through all. */
  source: string
  requestedBy: string
  requestedAt: Date
  startedAt: Date | null
  finishedAt: Date | null
  /** A person approved its stored plan: exactly that is carried out. */
  approved: boolean
  /** Of a full run: employees in step whom the platform confirmed within so many milliseconds are left out. */
  maxAgeMs: number | null
  inScope: number | null
  planned: number | null
  plan: PlanSummary | null
  result: RunResult | null
  message: string | null
}

/** A run for the planner. */
export type PlannableRun = Run & { kind: PlannedKind }

/** A plan in figures. */
export interface PlanSummary {
  /** Entities with work, by reason: new, changed, asked, left, vanished, delete, bind, retry. */
  reasons: Record<string, number>
  /** Some of the keys, for a person who decides about a held run. */
  sample: string[]
  /** Employees that a full run left out because the platform confirmed them recently enough. */
  skipped?: number
  /** Of a held run: rows that HR has changed since the plan was stored. */
  changed_since?: number
}

/** What came of a run, counted from the last attempt per entity. */
export interface RunResult {
  outcomes: Record<string, number>
  /** By operation: calls, milliseconds that they waited for the pacer, and those of them that came too fast. */
  calls: Record<string, number>
  waitedMs?: Record<string, number>
  tooFast?: Record<string, number>
  deadLetters: Record<string, number>
  /** Of a mirror: rows read, and those that were new or different. */
  rows?: { read: number; changed: number }
}

const COLUMNS = `id, kind,
  case when kind = 'changes' then keys else '{}' end as "changedUserids",
  case when kind = 'employees' then keys else '{}' end as named,
  case when kind = 'retry' then keys::float8[] else '{}' end as cases,
  state, hr_source as source, requested_by as "requestedBy", requested_at as "requestedAt", started_at as "startedAt",
  finished_at as "finishedAt", approved, (extract(epoch from max_age) * 1000)::float8 as "maxAgeMs",
  in_scope as "inScope", planned, plan, result, message`

/** Kinds of runs that read HR as a whole: where it has several sources, each has runs of its own. */
export const KINDS_BY_SOURCE = ['changes', 'full', 'departments'] as const satisfies readonly RunKind[]

/** The sources of HR that have runs of a kind `k` of their own, in a column `name`; '' where that is nobody's. Few rows. */
export const RUN_SOURCES = `(
  select name from dirsync.hr_source where k.kind in (${KINDS_BY_SOURCE.map(kind => `'${kind}'`).join(', ')})
  union all
  select '' where k.kind not in (${KINDS_BY_SOURCE.map(kind => `'${kind}'`).join(', ')})
    or not exists (select from dirsync.hr_source))`

/** Condition on a run: it chose its rows among all employees, so that what it found tells about HR as a whole. An index has it. */
export const OF_EVERYBODY = `kind in ('changes', 'full') and keys = '{}'`

// From the request to the plan

/**
 * Asks for a run.
 * @param keys what it is about, as the kind has it; empty: everything
 * @param source of HR, for a kind of run that is about one
 */
export async function requestRun(
  db: Pool,
  kind: RunKind,
  keys: string[],
  by: string,
  source = '',
): Promise<number> {
  const { rows } = await db.query<{ id: number }>(
    `insert into dirsync.sync_run (kind, keys, requested_by, hr_source) values ($1, $2, $3, $4) returning id`,
    [kind, keys, by, source],
  )
  await db.query(`select pg_notify('dirsync', 'run')`)
  return onlyRow(rows).id
}

/**
 * The oldest run of a source that waits to begin, named ones first; now `planning`. Else a held one for which HR is to be
 * judged again. Null when there is neither. Mirrors plan their own.
 */
export async function claimRun(db: ClientBase, source = ''): Promise<PlannableRun | null> {
  const { rows } = await db.query<PlannableRun>(
    `update dirsync.sync_run set state = 'planning', started_at = coalesce(started_at, now())
     where id = (select id from dirsync.sync_run where state = 'requested' and kind <> all ($1) and hr_source = $2
                 order by keys = '{}', id limit 1 for update skip locked)
     returning ${COLUMNS}`,
    [MIRRORS, source],
  )
  if (rows[0]) return rows[0]
  const { rows: held } = await db.query<PlannableRun>(
    `select ${COLUMNS} from dirsync.sync_run
     where state = 'held' and finished_at is null and rejudge_at <= now() and hr_source = $1
     order by id limit 1`,
    [source],
  )
  return held[0] ?? null
}

/** Gives back runs of a source whose planner died. Only for the holder of the planning lock. */
export async function reclaimOrphanedRuns(db: ClientBase, source = ''): Promise<number> {
  const { rowCount } = await db.query(
    `update dirsync.sync_run set state = 'requested'
     where state = 'planning' and finished_at is null and hr_source = $1`,
    [source],
  )
  return rowCount ?? 0
}

/** A run of the same kind that begins at once, in the transaction that judged HR for the held one. */
export async function beginRun(db: ClientBase, held: number): Promise<number> {
  const { rows } = await db.query<{ id: number }>(
    `insert into dirsync.sync_run (kind, keys, hr_source, state, requested_by, started_at)
     select kind, keys, hr_source, 'planning', 'cron', now() from dirsync.sync_run where id = $1 returning id`,
    [held],
  )
  return onlyRow(rows).id
}

/** What planning found, for the run's row. */
export interface PlannedRun {
  state: 'held' | 'running' | 'source_suspect' | 'failed' | 'superseded'
  sweep?: boolean
  inScope?: number
  plan?: PlanSummary
  source?: SourceStatistics
  /** Fingerprint of the mapping that HR's employees were read with; absent when they were not. */
  mapping?: string | undefined
  message?: string
}

/** A run was cancelled while it was planned: nothing of its plan is to be written. */
export class RunTakenBack extends Error {
  readonly code = 'RUN_TAKEN_BACK'

  constructor(id: number) {
    super(`run ${id} was cancelled while it was planned`)
  }
}

/** Writes what planning found. A run that ends here is finished. @throws RunTakenBack */
export async function recordPlan(db: ClientBase | Pool, id: number, planned: PlannedRun): Promise<void> {
  const { state, sweep = true, inScope, plan, source, message, mapping } = planned
  const count = plan && Object.values(plan.reasons).reduce((sum, n) => sum + n, 0)
  const { rowCount } = await db.query(
    `update dirsync.sync_run
     set state = $2, sweep = $3, in_scope = $4, planned = $5, plan = $6, source = $7, message = $8,
         mapping = $9, planned_at = now(), finished_at = case when $2 not in ('held', 'running') then now() end
     where id = $1 and state = 'planning'`,
    [id, state, sweep, inScope, count, plan, source, message, mapping],
  )
  if (rowCount === 0) throw new RunTakenBack(id)
}

/** The stored plan of an approved run is in the outbox. @throws RunTakenBack */
export async function recordApproved(db: ClientBase, id: number, message: string | null): Promise<void> {
  const { rowCount } = await db.query(
    `update dirsync.sync_run set state = 'running', message = $2 where id = $1 and state = 'planning'`,
    [id, message],
  )
  if (rowCount === 0) throw new RunTakenBack(id)
}

// While a run is held

/** Has HR judged again for a held run: it may have been mended meanwhile. The stored plan stays as it is. */
export async function rejudgeHeldRun(db: Pool, id: number): Promise<void> {
  await db.query(
    `update dirsync.sync_run set rejudge_at = coalesce(rejudge_at, now()) where id = $1 and state = 'held'`,
    [id],
  )
  await db.query(`select pg_notify('dirsync', 'run')`)
}

/** A plan of all employees of a source has passed: what else of them is held looks different now. */
export async function rejudgeHeldRuns(db: ClientBase, source: string): Promise<void> {
  await db.query(
    `update dirsync.sync_run set rejudge_at = now()
     where state = 'held' and finished_at is null and kind in ('changes', 'full') and hr_source = $1`,
    [source],
  )
}

/** The held run of everything of a source, of one of the kinds, but for `except`; null when there is none. */
export async function heldRun(
  db: ClientBase | Pool,
  kinds: readonly RunKind[],
  source: string,
  except: number | null = null,
): Promise<Run | null> {
  const { rows } = await db.query<Run>(
    `select ${COLUMNS} from dirsync.sync_run
     where state = 'held' and finished_at is null and kind = any ($1) and keys = '{}'
       and hr_source = $2 and id is distinct from $3::bigint
     order by id limit 1`,
    [kinds, source, except],
  )
  return rows[0] ?? null
}

/** A plan that passed takes the place of a held one. */
export async function supersede(db: ClientBase, held: number, by: number): Promise<void> {
  await db.query(
    `update dirsync.sync_run set state = 'superseded', finished_at = now(), rejudge_at = null, message = $2
     where id = $1 and state = 'held'`,
    [held, `HR looks right again: run ${by} took its place. Nothing of this plan was sent.`],
  )
}

/**
 * HR was judged again and still looks harmful: the stored plan stays, and its run tells what has changed since.
 * @param changedSince rows that HR has changed since the plan was stored; null when that is not known
 */
export async function keepHeld(
  db: ClientBase,
  held: number,
  message: string,
  changedSince: number | null,
): Promise<void> {
  await db.query(
    `update dirsync.sync_run
     set rejudge_at = null, judged_at = now(), message = $2,
         plan = case when $3::int is null then plan
                     else plan || jsonb_build_object('changed_since', $3::int) end
     where id = $1 and state = 'held'`,
    [held, message, changedSince],
  )
}

/** HR could not be judged again: that is tried again in a minute, and the stored plan stays. */
export async function judgeLater(db: Pool, held: number, message: string): Promise<void> {
  await db.query(
    `update dirsync.sync_run set rejudge_at = now() + interval '1 minute', message = $2
     where id = $1 and state = 'held'`,
    [held, message],
  )
}

// The end

/** Ends every running run of the planner's that has nothing left in the outbox, with its result; tells how many go on. */
export async function finishRuns(db: Pool): Promise<{ ended: number[]; left: number }> {
  // A job that was in hand when its run was cancelled may have come back to the outbox.
  await db.query(
    `select dirsync.take_back(id) from dirsync.sync_run
     where state = 'running' and finished_at is null and cancelled_at is not null`,
  )
  const { rows } = await db.query<{ id: number; over: boolean }>(
    `select r.id, t.run_id is null as over
     from dirsync.sync_run r
     left join (select run_id from dirsync.tally where source = 'pending'
                group by run_id having sum(n) > 0) t on t.run_id = r.id
     where r.state = 'running' and r.finished_at is null and r.kind <> all ($1)`,
    [MIRRORS],
  )
  const ended: number[] = []
  // Whoever looks at what came of a run finds the right number in it.
  if (rows.some(row => row.over)) await tellWithheld(db)
  for (const { id } of rows.filter(row => row.over)) {
    const { rowCount } = await db.query(
      `update dirsync.sync_run
       set state = case when cancelled_at is null then 'done' else 'cancelled' end,
           finished_at = now(), result = dirsync.run_result(id)
       where id = $1 and state = 'running'
         and not exists (select from dirsync.pending p where p.run_id = sync_run.id)`,
      [id],
    )
    if (rowCount === 1) ended.push(id)
  }
  return { ended, left: rows.length - ended.length }
}

// Looking at runs

export async function readRun(db: Pool, id: number): Promise<Run | null> {
  const { rows } = await db.query<Run>(`select ${COLUMNS} from dirsync.sync_run where id = $1`, [id])
  return rows[0] ?? null
}

export async function latestRuns(db: Pool, limit: number): Promise<Run[]> {
  const { rows } = await db.query<Run>(`select ${COLUMNS} from dirsync.sync_run order by id desc limit $1`, [
    limit,
  ])
  return rows
}

/** The run of a kind, of everything of a source, that waits to begin, is going on or is held; null when there is none. */
export async function unfinishedRun(db: Pool, kind: RunKind, source = ''): Promise<Run | null> {
  const { rows } = await db.query<Run>(
    `select ${COLUMNS} from dirsync.sync_run
     where kind = $1 and keys = '{}' and finished_at is null and hr_source = $2 order by id desc limit 1`,
    [kind, source],
  )
  return rows[0] ?? null
}

export interface RunProgress {
  state: RunState
  planned: number
  left: number
  message: string | null
}

/** Of the run `r`: entities in the outbox, parts of a mirror still to be read. */
export const LEFT = `(
  (select coalesce(sum(t.n), 0) from dirsync.tally t where t.source = 'pending' and t.run_id = r.id)
  + (select count(*) from dirsync.mirror_task t where t.run_id = r.id))::int`

/** How far a run is; null when there is no such run. */
export async function runProgress(db: Pool, id: number): Promise<RunProgress | null> {
  const { rows } = await db.query<RunProgress>(
    `select state, coalesce(planned, 0) as planned, message, ${LEFT} as left
     from dirsync.sync_run r where id = $1`,
    [id],
  )
  return rows[0] ?? null
}

/** Every kind of which there is a run, in a column `kind`: one look into the index for each, however many runs there are. */
export const RUN_KINDS = `
  with recursive kinds as (
    select min(kind) as kind from dirsync.sync_run
    union all
    select (select min(r.kind) from dirsync.sync_run r where r.kind > k.kind)
    from kinds k where k.kind is not null
  ) select kind from kinds where kind is not null`
