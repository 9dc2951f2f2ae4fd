import { type ClientBase, LOOK_MS, onlyRow, type Pool } from '../lib/database.ts'
import { endLostRetries, mirrorCases } from '../sync/cases/cases.ts'
import { LONGEST_DELAY_MS } from '../sync/outbox/backoff.ts'
import { type Mirror, type MirrorOperation, mirrorOperation } from '../sync/runs/mirror-kind.ts'
import { type Message, type Said, toStore } from '../texts/message.ts'

/**
 * The runs of mirrors and their tasks, in SQL. A run is planned as tasks, which are read one after the other; the row of a task
 * holds its reader's cursor and is deleted at the end. A run without tasks is over.
 */

export interface MirrorRun {
  id: number
  kind: Mirror
  requestedBy: string
  /** The database's time when it began: the run's "today", whatever the clocks of processes say. */
  startedAt: Date
}

/** One thing to read: a day, an order, an enterprise's accounts, a taxpayer. */
export interface PlannedTask {
  enterpriseCode: string
  /** The tasks that are refused and recover together, see `dirsync.mirror_task.part`. */
  part: string
  entityKey: string
  detail: string
}

/** Position of a paging reader. */
export interface PageCursor {
  /** The page to read next, from 1. */
  page: number
  /** The current pass over the pages, from 1. */
  pass: number
  /** The highest row count of the platform during the pass; of a list that grows, its first. */
  most: number
  /** Rows on the pages of the pass before this one. */
  passRows: number
}

/** A task and its progress. */
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

/** Whether a mirror has a run waiting or in progress, perhaps without a process working on it. */
export async function isWanted(db: Pool, mirror: Mirror): Promise<boolean> {
  const { rowCount } = await db.query({
    text: `select from dirsync.sync_run
     where finished_at is null and kind = $1 and state in ('requested', 'running') limit 1`,
    values: [mirror],
    query_timeout: LOOK_MS,
  })
  return rowCount === 1
}

const RUN = 'id, kind, requested_by as "requestedBy", started_at as "startedAt"'

/** The run of a mirror that has begun and not ended. */
export async function begunMirrorRun(db: Pool, mirror: Mirror): Promise<MirrorRun | null> {
  const { rows } = await db.query<MirrorRun>(
    `select ${RUN} from dirsync.sync_run
     where kind = $1 and state = 'running' and finished_at is null
     order by id limit 1`,
    [mirror],
  )
  return rows[0] ?? null
}

/** The oldest waiting run of a mirror, begun by the transaction that plans it. */
export async function claimMirrorRun(db: ClientBase, mirror: Mirror): Promise<MirrorRun | null> {
  const { rows } = await db.query<MirrorRun>(
    `update dirsync.sync_run set state = 'running', started_at = now(), planned_at = now()
     where id = (select id from dirsync.sync_run where kind = $1 and state = 'requested'
                 order by id limit 1 for update skip locked)
     returning ${RUN}`,
    [mirror],
  )
  return rows[0] ?? null
}

/**
 * Writes the tasks of a run. Without tasks, the run is over: failed where a refusal is left, else done.
 * @param plan.reasons tasks by kind, for people
 * @param plan.leftOut why something, or all, is not read; null: nothing is left out
 */
export async function writeMirrorPlan(
  db: ClientBase,
  { id: runId, kind }: Pick<MirrorRun, 'id' | 'kind'>,
  plan: { tasks: PlannedTask[]; reasons: Record<string, number>; leftOut: Said | null },
): Promise<void> {
  const { tasks, reasons, leftOut } = plan
  const sample = tasks.slice(0, 20).map(({ enterpriseCode, entityKey }) => entityKey || enterpriseCode)
  await db.query(
    `insert into dirsync.mirror_task (run_id, position, enterprise_code, part, entity_key, detail)
     select $1, t.position, t."enterpriseCode", t.part, t."entityKey", t.detail
     from jsonb_to_recordset($2)
       as t (position int, "enterpriseCode" text, part text, "entityKey" text, detail text)`,
    [runId, JSON.stringify(tasks.map((task, position) => ({ ...task, position })))],
  )
  await db.query(
    `update dirsync.sync_run set planned = $2::int, in_scope = $2::int, plan = $3, message = $4 where id = $1`,
    [runId, tasks.length, { reasons, sample: sample.filter(Boolean) }, toStore(leftOut && [leftOut].flat())],
  )
  if (tasks.length > 0) return
  await db.query(
    `update dirsync.sync_run
     set state = $2, finished_at = now(), result = dirsync.run_result(id)
     where id = $1`,
    [runId, (await isRefused(db, kind)) ? 'failed' : 'done'],
  )
  await endLostRetries(db)
}

/** Whether the platform has refused a part of a mirror, and no person has accepted that: no run has succeeded until then. */
async function isRefused(db: ClientBase, mirror: Mirror): Promise<boolean> {
  const cases = await mirrorCases(db, mirrorOperation(mirror))
  return cases.some(({ state }) => state !== 'ignored')
}

/**
 * Whether a run still goes on: nothing is written of one that a person has cancelled. Asked before anything is locked: until the
 * end of the transaction cancelling waits, which locks the run before its tasks.
 */
export async function keepMirrorRun(db: ClientBase, runId: number): Promise<boolean> {
  const { rowCount } = await db.query(
    `select from dirsync.sync_run where id = $1 and state = 'running' for no key update`,
    [runId],
  )
  return rowCount === 1
}

export async function nextMirrorTask(db: Pool, runId: number): Promise<MirrorTask | null> {
  const { rows } = await db.query<MirrorTask>(
    `select run_id as "runId", position, enterprise_code as "enterpriseCode", part, entity_key as "entityKey",
            detail, next_page as page, pass, most, pass_rows as "passRows", calls, changed, attempts, now() as "handedOutAt",
            -- A longer one means that the clock was put back.
            case when wait_ms between 0 and $2 then ceil(wait_ms)::int else 0 end as "waitMs"
     from dirsync.mirror_task
     cross join lateral (select extract(epoch from not_before - clock_timestamp()) * 1000 as wait_ms) wait
     where run_id = $1
     order by position limit 1`,
    [runId, LONGEST_DELAY_MS],
  )
  return rows[0] ?? null
}

/**
 * Moves the cursor of a task, or deletes the finished task, in the transaction that stores the rows.
 * @param progress rows read and changed since the cursor last moved, and the calls they took
 * @param next null: the task is over
 * @throws when another process has moved the cursor: then nothing may be stored
 */
export async function moveCursor(
  db: ClientBase,
  task: MirrorTask,
  progress: { read: number; changed: number; calls: number },
  next: PageCursor | null,
): Promise<void> {
  const { runId, position, page, pass } = task
  const { read, changed, calls } = progress
  const here = [runId, position, page, pass]
  const { rowCount } = next
    ? await db.query(
        `update dirsync.mirror_task
         set next_page = $5, pass = $6, most = $7, pass_rows = $8, calls = calls + $9,
             changed = changed + $10, attempts = 0, not_before = now()
         where run_id = $1 and position = $2 and next_page = $3 and pass = $4`,
        [...here, next.page, next.pass, next.most, next.passRows, calls, changed],
      )
    : await db.query(
        `delete from dirsync.mirror_task
         where run_id = $1 and position = $2 and next_page = $3 and pass = $4`,
        here,
      )
  if (rowCount !== 1) throw new Error('another process has gone on with the run')
  if (read === 0 && changed === 0) return
  await db.query(
    `update dirsync.sync_run
     set result = jsonb_build_object('rows', jsonb_build_object(
           'read', coalesce((result #>> '{rows,read}')::int, 0) + $2::int,
           'changed', coalesce((result #>> '{rows,changed}')::int, 0) + $3::int))
     where id = $1`,
    [runId, read, changed],
  )
}

/** Whether a run has no more tasks of a task's part. */
export async function isPartRead(
  db: ClientBase,
  { runId, enterpriseCode, part }: MirrorTask,
): Promise<boolean> {
  const { rows } = await db.query<{ isRead: boolean }>(
    `select not exists (select from dirsync.mirror_task
                        where run_id = $1 and enterprise_code = $2 and part = $3) as "isRead"`,
    [runId, enterpriseCode, part],
  )
  return onlyRow(rows).isRead
}

/** How many tasks of a run were given up since the last one that was read. */
export async function failedInARow(db: Pool, runId: number): Promise<number> {
  const { rows } = await db.query<{ n: number }>(
    `select count(*)::int as n from dirsync.attempt
     where run_id = $1 and outcome = 'parked'
       and id > coalesce((select max(id) from dirsync.attempt
                          where run_id = $1 and outcome in ('in_sync', 'updated')), 0)`,
    [runId],
  )
  return onlyRow(rows).n
}

export async function postponeMirrorTask(
  db: ClientBase,
  { runId, position }: MirrorTask,
  again: { delayMs: number; attempts: number },
): Promise<void> {
  await db.query(
    `update dirsync.mirror_task set attempts = $3, not_before = now() + $4 * interval '1 millisecond'
     where run_id = $1 and position = $2`,
    [runId, position, again.attempts, again.delayMs],
  )
}

/**
 * Deletes tasks, and says why in the run's message.
 * @param which one, those of a part, of an enterprise (without `part`), or all (without any)
 */
export async function dropMirrorTasks(
  db: ClientBase,
  runId: number,
  which: { position?: number; enterpriseCode?: string; part?: string },
  why: Said,
): Promise<void> {
  await db.query(
    `delete from dirsync.mirror_task
     where run_id = $1 and ($2::text is null or enterprise_code = $2) and ($3::text is null or part = $3)
       and ($4::int is null or position = $4)`,
    [runId, which.enterpriseCode ?? null, which.part ?? null, which.position ?? null],
  )
  await db.query(
    `update dirsync.sync_run set message = coalesce(message, '[]') || $2::jsonb
     where id = $1 and not coalesce(message @> $2::jsonb, false)`,
    [runId, toStore([why].flat())],
  )
}

/** Says something of a list in the run's message, and of how many it is true: the first of them is named. */
export async function noteList(db: ClientBase, runId: number, note: Message): Promise<void> {
  const { rows } = await db.query<{ message: readonly Message[] | null }>(
    'select message from dirsync.sync_run where id = $1',
    [runId],
  )
  const said = onlyRow(rows).message ?? []
  const before = said.find(({ key }) => key === note.key)
  const lists = Number(before?.values?.lists ?? 0) + 1
  const { key, values } = before ?? note
  const again = { key, values: { ...values, lists } }
  await db.query('update dirsync.sync_run set message = $2 where id = $1', [
    runId,
    toStore([...said.filter(one => one !== before), again]),
  ])
}

/** One execution of a task, for the history. */
interface MirrorAttempt {
  startedAt: Date
  durationMs: number
  outcome: string
  calls: Record<string, number>
  platformCode?: number | null
  traceId?: string | null
  error?: Said | null
}

export async function noteMirrorAttempt(
  db: ClientBase,
  operation: MirrorOperation,
  task: MirrorTask,
  attempt: MirrorAttempt,
): Promise<void> {
  const { runId, enterpriseCode, entityKey, detail } = task
  const { startedAt, durationMs, outcome, calls, platformCode = null, traceId = null, error = null } = attempt
  await db.query(
    `insert into dirsync.attempt (run_id, operation, enterprise_code, entity_key, detail, started_at,
                                  duration_ms, outcome, calls, platform_code, trace_id, error)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
    [
      ...[runId, operation, enterpriseCode, entityKey, detail, startedAt],
      ...[durationMs, outcome, calls, platformCode, traceId, toStore(error)],
    ],
  )
}

/**
 * Ends a run that has nothing left to read: failed when the platform refused a part, now or before, or stayed away, or when every
 * enterprise was halted; else done. Its outcomes count what was given up without being read. Null when it is not over.
 */
export async function finishMirrorRun(
  db: ClientBase,
  { id, kind }: MirrorRun,
): Promise<{ state: 'done' | 'failed'; message: Said | null } | null> {
  const { rows } = await db.query<{ state: 'done' | 'failed'; message: Said | null }>(
    `with ended as materialized (
       select dirsync.run_result($1) as result
     ), unread as (
       select planned - (select coalesce(sum(n::int), 0) from ended, jsonb_each_text(result -> 'outcomes') as o (outcome, n)) as n
       from dirsync.sync_run where id = $1
     )
     update dirsync.sync_run
     set state = case
           when $2 or exists (select from dirsync.attempt where run_id = sync_run.id and outcome = 'parked') then 'failed'
           when message is not null
                and not exists (select from dirsync.attempt
                                where run_id = sync_run.id and outcome in ('in_sync', 'updated')) then 'failed'
           else 'done' end,
         finished_at = now(),
         result = ended.result || coalesce(sync_run.result, '{}') || case when unread.n > 0 then jsonb_build_object(
           'outcomes', ended.result -> 'outcomes' || jsonb_build_object('not_read', unread.n)) else '{}' end
     from ended, unread
     where id = $1 and state = 'running' and not exists (select from dirsync.mirror_task where run_id = $1)
     returning state, message`,
    [id, await isRefused(db, kind)],
  )
  await endLostRetries(db)
  return rows[0] ?? null
}
