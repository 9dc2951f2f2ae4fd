import { type ClientBase, onlyRow, type Pool } from '../lib/database.ts'
import { restMirrorCases } from '../sync/cases.ts'
import { MIRRORS, type Mirror, type MirrorOperation } from '../sync/mirror-kind.ts'

/** The run of a mirror as its runner knows it. */
export interface MirrorRun {
  id: number
  kind: Mirror
  requestedBy: string
  /** The database's time when it began: what "today" means to the run, whatever the clocks of processes say. */
  startedAt: Date
}

/** One part that a run has to read: a day, an order, an enterprise's accounts, a taxpayer. */
export interface PlannedTask {
  enterpriseCode: string
  /** What fails and heals as one, see `dirsync.mirror_task.part`. */
  part: string
  entityKey: string
  detail: string
}

/** A part and how far it has been read. */
export interface MirrorTask extends PlannedTask, PageCursor {
  runId: number
  position: number
  calls: number
  changed: number
  attempts: number
  /** Milliseconds until it may be tried; 0: now. */
  waitMs: number
  /** The database's time when the task was handed out. */
  handedOutAt: Date
}

/** The mirrors that have a run which waits to begin, or goes on, perhaps without anybody at work on it. */
export async function wantedMirrors(db: Pool): Promise<Mirror[]> {
  const { rows } = await db.query<{ kind: Mirror }>(
    `select distinct kind from dirsync.sync_run where finished_at is null and kind = any ($1) and state in ('requested', 'running')`,
    [MIRRORS],
  )
  return rows.map(row => row.kind)
}

/** The run of a mirror that was begun and has not ended. */
export async function begunMirrorRun(db: Pool, mirror: Mirror): Promise<MirrorRun | null> {
  const { rows } = await db.query<MirrorRun>(
    `select id, kind, requested_by as "requestedBy", started_at as "startedAt" from dirsync.sync_run
     where kind = $1 and state = 'running' and finished_at is null order by id limit 1`,
    [mirror],
  )
  return rows[0] ?? null
}

/** The oldest run of a mirror that waits to begin, begun by the transaction that plans it; null when there is none. */
export async function claimMirrorRun(db: ClientBase, mirror: Mirror): Promise<MirrorRun | null> {
  const { rows } = await db.query<MirrorRun>(
    `update dirsync.sync_run set state = 'running', started_at = now(), planned_at = now()
     where id = (select id from dirsync.sync_run where kind = $1 and state = 'requested' order by id limit 1 for update skip locked)
     returning id, kind, requested_by as "requestedBy", started_at as "startedAt"`,
    [mirror],
  )
  return rows[0] ?? null
}

/**
 * Writes what a run has to read.
 * @param plan.reasons parts by kind, for people
 * @param plan.message why there is nothing to read
 */
export async function writeMirrorPlan(
  db: ClientBase,
  runId: number,
  plan: { tasks: PlannedTask[]; reasons: Record<string, number>; message: string | null },
): Promise<void> {
  const { tasks, reasons, message } = plan
  const sample = tasks.slice(0, 20).map(({ enterpriseCode, entityKey }) => entityKey || enterpriseCode)
  await db.query(
    `insert into dirsync.mirror_task (run_id, position, enterprise_code, part, entity_key, detail)
     select $1, t.position, t."enterpriseCode", t.part, t."entityKey", t.detail
     from jsonb_to_recordset($2) as t (position int, "enterpriseCode" text, part text, "entityKey" text, detail text)`,
    [runId, JSON.stringify(tasks.map((task, position) => ({ ...task, position })))],
  )
  await db.query(
    `update dirsync.sync_run
     set planned = $2::int, in_scope = $2::int, plan = $3, message = case when $2 = 0 then $4 end,
         state = case when $2 = 0 then 'done' else state end, finished_at = case when $2 = 0 then now() end,
         result = case when $2 = 0 then dirsync.run_result(id) end
     where id = $1`,
    [runId, tasks.length, { reasons, sample: sample.filter(Boolean) }, message],
  )
}

/** The next part that a run has to read; null when it has read all. */
export async function nextMirrorTask(db: Pool, runId: number): Promise<MirrorTask | null> {
  const { rows } = await db.query<MirrorTask>(
    `select run_id as "runId", position, enterprise_code as "enterpriseCode", part, entity_key as "entityKey", detail, next_page as page,
            pass, most, calls, changed, attempts, now() as "handedOutAt",
            ceil(greatest(extract(epoch from not_before - clock_timestamp()) * 1000, 0))::int as "waitMs"
     from dirsync.mirror_task where run_id = $1 order by position limit 1`,
    [runId],
  )
  return rows[0] ?? null
}

/** Rows read and changed since the cursor last moved, and the calls they took. */
interface Progress {
  read: number
  changed: number
  calls: number
}

/**
 * Moves the cursor of a part, in the transaction that stores what was read. False when somebody else has moved it: then
 * nothing may be stored.
 */
export async function advanceMirrorTask(
  db: ClientBase,
  task: MirrorTask,
  progress: Progress,
  next: PageCursor,
): Promise<boolean> {
  const { rowCount } = await db.query(
    `update dirsync.mirror_task
     set next_page = $5, pass = $6, most = $7, calls = calls + $8, changed = changed + $9, attempts = 0, not_before = now()
     where run_id = $1 and position = $2 and next_page = $3 and pass = $4`,
    [
      task.runId,
      task.position,
      task.page,
      task.pass,
      next.page,
      next.pass,
      next.most,
      progress.calls,
      progress.changed,
    ],
  )
  await countRows(db, task.runId, progress)
  return rowCount === 1
}

/** Removes a part that was read to the end; false when somebody else has moved its cursor. */
export async function endMirrorTask(
  db: ClientBase,
  task: MirrorTask,
  progress: Progress,
): Promise<{ mine: boolean; partDone: boolean }> {
  const { rowCount } = await db.query(
    `delete from dirsync.mirror_task where run_id = $1 and position = $2 and next_page = $3 and pass = $4`,
    [task.runId, task.position, task.page, task.pass],
  )
  await countRows(db, task.runId, progress)
  const { rows } = await db.query<{ done: boolean }>(
    `select not exists (select from dirsync.mirror_task where run_id = $1 and enterprise_code = $2 and part = $3) as done`,
    [task.runId, task.enterpriseCode, task.part],
  )
  return { mine: rowCount === 1, partDone: onlyRow(rows).done }
}

async function countRows(db: ClientBase, runId: number, { read, changed }: Progress): Promise<void> {
  if (read === 0) return
  await db.query(
    `update dirsync.sync_run
     set result = jsonb_build_object('rows', jsonb_build_object(
           'read', coalesce((result #>> '{rows,read}')::int, 0) + $2::int,
           'changed', coalesce((result #>> '{rows,changed}')::int, 0) + $3::int))
     where id = $1`,
    [runId, read, changed],
  )
}

/** Puts a part off. */
export async function postponeMirrorTask(
  db: ClientBase,
  task: MirrorTask,
  again: { delayMs: number; attempts: number },
): Promise<void> {
  await db.query(
    `update dirsync.mirror_task set attempts = $3, not_before = now() + $4 * interval '1 millisecond'
     where run_id = $1 and position = $2`,
    [task.runId, task.position, again.attempts, again.delayMs],
  )
}

/**
 * Gives parts up, and tells why in the run's message.
 * @param which the part, every part of the enterprise (`part` null), or the whole run (`enterpriseCode` null)
 */
export async function dropMirrorTasks(
  db: ClientBase,
  runId: number,
  which: { enterpriseCode: string | null; part: string | null },
  message: string,
): Promise<void> {
  await db.query(
    `delete from dirsync.mirror_task
     where run_id = $1 and ($2::text is null or enterprise_code = $2) and ($3::text is null or part = $3)`,
    [runId, which.enterpriseCode, which.part],
  )
  await db.query(
    `update dirsync.sync_run set message = case when strpos(coalesce(message, ''), $2) > 0 then message else concat_ws(' ', message, $2) end
     where id = $1`,
    [runId, message],
  )
}

/** How one execution of a part went, for the history. */
interface MirrorAttempt {
  startedAt: Date
  durationMs: number
  outcome: string
  calls: Record<string, number>
  platformCode: number | null
  traceId: string | null
  error: string | null
}

export async function noteMirrorAttempt(
  db: ClientBase,
  operation: MirrorOperation,
  task: MirrorTask,
  attempt: MirrorAttempt,
): Promise<void> {
  await db.query(
    `insert into dirsync.attempt (run_id, operation, enterprise_code, entity_key, detail, started_at, duration_ms, outcome, calls,
                                  platform_code, trace_id, error)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
    [
      task.runId,
      operation,
      task.enterpriseCode,
      task.entityKey,
      task.detail,
      attempt.startedAt,
      attempt.durationMs,
      attempt.outcome,
      attempt.calls,
      attempt.platformCode,
      attempt.traceId,
      attempt.error,
    ],
  )
}

/**
 * Ends a run that has nothing left to read: failed when the platform refused a part or stayed away, or when every enterprise
 * was halted; else done. Null when it is not over.
 */
export async function finishMirrorRun(
  db: ClientBase,
  { id, kind }: MirrorRun,
): Promise<{ state: 'done' | 'failed'; message: string | null } | null> {
  const { rows } = await db.query<{ state: 'done' | 'failed'; message: string | null }>(
    `update dirsync.sync_run
     set state = case when exists (select from dirsync.attempt where run_id = sync_run.id and outcome = 'parked')
                        or message is not null
                           and not exists (select from dirsync.attempt where run_id = sync_run.id and outcome in ('in_step', 'updated'))
                      then 'failed' else 'done' end, finished_at = now(),
         result = dirsync.run_result(id) || coalesce(result, '{}')
     where id = $1 and state = 'running' and not exists (select from dirsync.mirror_task where run_id = $1)
     returning state, message`,
    [id],
  )
  await restMirrorCases(db, kind)
  return rows[0] ?? null
}

/** Passes over the pages of one list, however restless it is. */
const MAX_PASSES = 3
/** Pages of one pass: a platform that neither counts nor ends is not believed. */
const MAX_PAGES = 10_000

/** Where a reader of pages stands. */
export interface PageCursor {
  /** The page to read next, from 1. */
  page: number
  /** The pass over the pages that it belongs to, from 1. */
  pass: number
  /** The most rows that the platform has counted during the pass. */
  most: number
}

export const FIRST_PAGE: PageCursor = { page: 1, pass: 1, most: 0 }

/**
 * The cursor after a page, or null when the list was read.
 * When rows go while pages are read, others move up and slip through. That shows at the end: the platform counts fewer rows
 * than before, or more than are known. Then another pass is made.
 * @param isLast whether it was the last page of its pass
 * @param total rows of the list by the platform's count; null when it does not say
 * @param known different rows seen so far
 */
export function nextPage(
  { page, pass, most }: PageCursor,
  { isLast, total, known }: { isLast: boolean; total: number | null; known: number },
): PageCursor | null {
  if (!isLast && page < MAX_PAGES) return { page: page + 1, pass, most: Math.max(most, total ?? 0) }
  const isWhole = total === null || (known >= total && total >= most)
  return isWhole || pass >= MAX_PASSES ? null : { page: 1, pass: pass + 1, most: 0 }
}
