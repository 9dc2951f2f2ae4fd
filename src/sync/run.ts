import type { SourceStatistics } from '../directory/hash.ts'
import { type ClientBase, onlyRow, type Pool } from '../lib/database.ts'
import type { Logger } from '../lib/logger.ts'
import { rejudgeHeldRun } from './held-run.ts'
import { MIRRORS, type Mirror } from './mirror-kind.ts'
import { tellWithheld } from './withheld.ts'

/** Runs that the planner turns into work for the queue. */
export type PlannedKind = 'changes' | 'full' | 'employees' | 'departments' | 'openids' | 'retry'
export type RunKind = PlannedKind | Mirror
export type RunState =
  | 'requested'
  | 'planning'
  | 'held'
  | 'running'
  | 'done'
  | 'failed'
  | 'source_suspect'
  | 'rejected'
  | 'superseded'
  | 'cancelled'

/** Every kind of which there is a run, in a column `kind`: one look into the index for each, however many runs there are. */
export const RUN_KINDS = `
  with recursive kinds as (
    select min(kind) as kind from dirsync.sync_run
    union all
    select (select min(r.kind) from dirsync.sync_run r where r.kind > k.kind) from kinds k where k.kind is not null
  ) select kind from kinds where kind is not null`

/** One row of `dirsync.sync_run`. */
export interface Run {
  id: number
  kind: RunKind
  keys: string[]
  state: RunState
  requestedBy: string
  requestedAt: Date
  startedAt: Date | null
  finishedAt: Date | null
  approved: boolean
  /** Of a full run: employees in step whom the platform confirmed within so many milliseconds are left out. */
  maxAgeMs: number | null
  inScope: number | null
  planned: number | null
  plan: PlanSummary | null
  result: RunResult | null
  message: string | null
}

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

const COLUMNS = `id, kind, keys, state, requested_by as "requestedBy", requested_at as "requestedAt", started_at as "startedAt",
  finished_at as "finishedAt", approved, (extract(epoch from max_age) * 1000)::float8 as "maxAgeMs", in_scope as "inScope", planned, plan, result, message`

export async function requestRun(db: Pool, kind: RunKind, keys: string[], by: string): Promise<number> {
  const { rows } = await db.query<{ id: number }>(
    `insert into dirsync.sync_run (kind, keys, requested_by) values ($1, $2, $3) returning id`,
    [kind, keys, by],
  )
  await db.query(`select pg_notify('dirsync', 'run')`)
  return onlyRow(rows).id
}

/**
 * The oldest run that waits to begin, named ones first; now `planning`. Else a held one for which HR is to be judged again.
 * Null when there is neither. Mirrors plan their own.
 */
export async function claimRun(db: ClientBase): Promise<(Run & { kind: PlannedKind }) | null> {
  const { rows } = await db.query<Run & { kind: PlannedKind }>(
    `update dirsync.sync_run set state = 'planning', started_at = coalesce(started_at, now())
     where id = (select id from dirsync.sync_run where state = 'requested' and kind <> all ($1)
                 order by keys = '{}', id limit 1 for update skip locked)
     returning ${COLUMNS}`,
    [MIRRORS],
  )
  if (rows[0]) return rows[0]
  const { rows: held } = await db.query<Run & { kind: PlannedKind }>(
    `select ${COLUMNS} from dirsync.sync_run where state = 'held' and finished_at is null and rejudge_at <= now()
     order by id limit 1`,
  )
  return held[0] ?? null
}

/** Gives back runs whose planner died. Only for the holder of the planning lock. */
export async function reclaimOrphanedRuns(db: ClientBase): Promise<number> {
  const { rowCount } = await db.query(
    `update dirsync.sync_run set state = 'requested' where state = 'planning' and finished_at is null`,
  )
  return rowCount ?? 0
}

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

/** The held run of all employees, of either kind; null when there is none. */
async function heldEmployeeRun(db: Pool): Promise<Run | null> {
  const { rows } = await db.query<Run>(
    `select ${COLUMNS} from dirsync.sync_run
     where state = 'held' and finished_at is null and kind in ('changes', 'full') and keys = '{}' order by id limit 1`,
  )
  return rows[0] ?? null
}

/** The run of a kind, of everything, that waits to begin, is going on or is held; null when there is none. */
export async function unfinishedRun(db: Pool, kind: RunKind): Promise<Run | null> {
  const { rows } = await db.query<Run>(
    `select ${COLUMNS} from dirsync.sync_run where kind = $1 and keys = '{}' and finished_at is null order by id desc limit 1`,
    [kind],
  )
  return rows[0] ?? null
}

/** True when nobody is about to judge HR for the run any more: it has been planned, or has ended without. */
export async function isPlanned(db: Pool, id: number): Promise<boolean> {
  const { rowCount } = await db.query(
    `select from dirsync.sync_run where id = $1 and (state in ('requested', 'planning') or rejudge_at <= now())`,
    [id],
  )
  return rowCount === 0
}

/** Statistics of the last good run that read every HR row, when it did, and with which mapping. */
export async function lastSweep(
  db: ClientBase | Pool,
): Promise<{ statistics: SourceStatistics; at: Date; mapping: string | null } | null> {
  const { rows } = await db.query<{ statistics: SourceStatistics; at: Date; mapping: string | null }>(
    `select source as statistics, planned_at as at, mapping from dirsync.sync_run
     where kind in ('changes', 'full') and keys = '{}' and sweep and source is not null and state in ('running', 'done')
     order by id desc limit 1`,
  )
  return rows[0] ?? null
}

/** Whether the last run that chose its rows itself was let pass, and none is held: HR looked right. */
export async function lastPlanPassed(db: Pool): Promise<boolean> {
  const { rows } = await db.query<{ passed: boolean }>(
    `select state in ('running', 'done', 'cancelled')
            and not exists (select from dirsync.sync_run h
                            where h.state = 'held' and h.kind in ('changes', 'full') and h.finished_at is null) as passed
     from dirsync.sync_run
     where kind in ('changes', 'full') and keys = '{}' and planned_at is not null order by id desc limit 1`,
  )
  return rows[0]?.passed ?? false
}

/**
 * Newest `updated_at` that good runs have seen since the last sweep, but never later than the run that saw it: a row from
 * the future must not hide the present. Null when none is known.
 */
export async function watermark(db: ClientBase | Pool): Promise<Date | null> {
  const { rows } = await db.query<{ newest: Date | null }>(
    `select max(greatest(least((source ->> 'newest')::timestamptz, planned_at), 'epoch')) as newest from dirsync.sync_run
     where kind in ('changes', 'full') and source ->> 'newest' is not null and state in ('running', 'done')
       -- Of the account that is remembered now, no older run sent anything.
       and planned_at >= coalesce((select since from dirsync.deployment), '-infinity')
       and id >= (select coalesce(max(id), 0) from dirsync.sync_run
                  where kind in ('changes', 'full') and keys = '{}' and sweep and source is not null and state in ('running', 'done'))`,
  )
  return onlyRow(rows).newest
}

/** Whether a run was cancelled since: what it took back is to be read again, however old its rows are. */
export async function cancelledSince(db: ClientBase | Pool, at: Date): Promise<boolean> {
  const { rowCount } = await db.query('select from dirsync.sync_run where cancelled_at > $1 limit 1', [at])
  return (rowCount ?? 0) > 0
}

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

/** Writes what planning found. A run that ends here (suspect, failed, superseded) is finished. @throws RunTakenBack */
export async function recordPlan(db: ClientBase | Pool, id: number, planned: PlannedRun): Promise<void> {
  const count = planned.plan && Object.values(planned.plan.reasons).reduce((sum, n) => sum + n, 0)
  const { rowCount } = await db.query(
    `update dirsync.sync_run
     set state = $2, sweep = $3, in_scope = $4, planned = $5, plan = $6, source = $7, message = $8, mapping = $9,
         planned_at = now(),
         finished_at = case when $2 in ('source_suspect', 'failed', 'superseded') then now() end
     where id = $1 and state = 'planning'`,
    [
      id,
      planned.state,
      planned.sweep ?? true,
      planned.inScope ?? null,
      count ?? null,
      planned.plan ?? null,
      planned.source ?? null,
      planned.message ?? null,
      planned.mapping ?? null,
    ],
  )
  if (rowCount === 0) throw new RunTakenBack(id)
}

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
     left join (select run_id from dirsync.tally where source = 'pending' group by run_id having sum(n) > 0) t on t.run_id = r.id
     where r.state = 'running' and r.finished_at is null and r.kind <> all ($1)`,
    [MIRRORS],
  )
  const ended: number[] = []
  // Whoever looks at what came of a run finds the right number in it.
  if (rows.some(row => row.over)) await tellWithheld(db)
  for (const { id } of rows.filter(row => row.over)) {
    const { rowCount } = await db.query(
      `update dirsync.sync_run set state = case when cancelled_at is null then 'done' else 'cancelled' end,
         finished_at = now(), result = dirsync.run_result(id)
       where id = $1 and state = 'running' and not exists (select from dirsync.pending p where p.run_id = sync_run.id)`,
      [id],
    )
    if (rowCount === 1) ended.push(id)
  }
  return { ended, left: rows.length - ended.length }
}

export interface RunProgress {
  state: RunState
  planned: number
  left: number
  message: string | null
}

/** Of the run `r`: entities in the outbox, parts of a mirror still to be read. */
export const LEFT = `((select coalesce(sum(t.n), 0) from dirsync.tally t where t.source = 'pending' and t.run_id = r.id)
  + (select count(*) from dirsync.mirror_task t where t.run_id = r.id))::int`

/** How far a run is; null when there is no such run. */
export async function runProgress(db: Pool, id: number): Promise<RunProgress | null> {
  const { rows } = await db.query<RunProgress>(
    `select state, coalesce(planned, 0) as planned, message,
            ${LEFT} as left
     from dirsync.sync_run r where id = $1`,
    [id],
  )
  return rows[0] ?? null
}

/**
 * Requests a run that nobody asked for by name: not while one of its kind waits to begin or goes on. Only a
 * changes run may begin while an earlier one still sends, so that a change of HR never waits behind a long run.
 * While a run is held HR is judged again, since it may have been mended meanwhile; the stored plan stays as it is.
 */
export async function requestScheduledRun(
  pool: Pool,
  kind: RunKind,
  by: string,
  logger: Logger,
): Promise<number> {
  const held = kind === 'changes' ? await heldEmployeeRun(pool) : null
  const unfinished = held ?? (await unfinishedRun(pool, kind))
  if (unfinished?.state === 'held') await rejudgeHeldRun(pool, unfinished.id)
  const goesOn = unfinished && (unfinished.state !== 'running' || kind !== 'changes')
  if (!goesOn) return requestRun(pool, kind, [], by)
  logger.info(
    { runId: unfinished.id, state: unfinished.state },
    `a run of kind ${kind} is unfinished: no second one`,
  )
  return unfinished.id
}
