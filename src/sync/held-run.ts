import type { SourceStatistics } from '../directory/hash.ts'
import type { ClientBase, Pool } from '../lib/database.ts'
import { type Run, type RunKind, type RunState, RunTakenBack, requestRun } from './run.ts'

/** Held runs, and what waits for a plan: HR is judged again, a stored plan stays or gives way, an approved one is carried out. */

/** Has HR judged again while a run is held: it may have been mended meanwhile. The stored plan stays as it is. */
export async function rejudgeHeldRun(db: Pool, id: number): Promise<void> {
  await db.query(
    `update dirsync.sync_run set rejudge_at = coalesce(rejudge_at, now()) where id = $1 and state = 'held'`,
    [id],
  )
  await db.query(`select pg_notify('dirsync', 'run')`)
}

/** A plan of all employees has passed: what else of them is held looks different now. */
export async function rejudgeHeld(db: ClientBase, kind: RunKind): Promise<void> {
  if (kind !== 'changes' && kind !== 'full') return
  await db.query(
    `update dirsync.sync_run set rejudge_at = now() where state = 'held' and finished_at is null and kind in ('changes', 'full')`,
  )
}

/** The held run of everything of one of the kinds, but for `except`; null when there is none. */
export async function heldRun(
  db: ClientBase,
  kinds: readonly RunKind[],
  except: number,
): Promise<number | null> {
  const { rows } = await db.query<{ id: number }>(
    `select id from dirsync.sync_run where state = 'held' and finished_at is null and kind = any ($1) and keys = '{}' and id <> $2
     order by id limit 1`,
    [kinds, except],
  )
  return rows[0]?.id ?? null
}

/** A plan that passed takes the place of a held one. */
export async function supersede(db: ClientBase, held: number, by: number): Promise<void> {
  await db.query(
    `update dirsync.sync_run set state = 'superseded', finished_at = now(), rejudge_at = null, message = $2
     where id = $1 and state = 'held'`,
    [held, `HR looks right again: run ${by} took its place. Nothing of this plan was sent.`],
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

/**
 * HR was judged again and still looks harmful: the stored plan stays, and its run tells what has changed since.
 * @param judged.changedSince rows that HR has changed since the plan was stored; null when that is not known
 */
export async function keepHeld(
  db: ClientBase | Pool,
  held: number,
  judged: { message: string; changedSince: number | null },
): Promise<void> {
  await db.query(
    `update dirsync.sync_run
     set rejudge_at = null, judged_at = now(), message = $2,
         plan = case when $3::int is null then plan else plan || jsonb_build_object('changed_since', $3::int) end
     where id = $1 and state = 'held'`,
    [held, judged.message, judged.changedSince],
  )
}

/** A run of the kind that begins at once, in the transaction that judged HR. */
export async function beginRun(
  db: ClientBase,
  { kind, keys }: Pick<Run, 'kind' | 'keys'>,
  by: string,
): Promise<number> {
  const { rows } = await db.query<{ id: number }>(
    `insert into dirsync.sync_run (kind, keys, state, requested_by, started_at)
     values ($1, $2, 'planning', $3, now()) returning id`,
    [kind, keys, by],
  )
  return (rows[0] as { id: number }).id
}

/** The stored plan of an approved run is in the outbox. @throws RunTakenBack */
export async function recordApproved(db: ClientBase, id: number, message: string | null): Promise<void> {
  const { rowCount } = await db.query(
    `update dirsync.sync_run set state = 'running', message = $2 where id = $1 and state = 'planning'`,
    [id, message],
  )
  if (rowCount === 0) throw new RunTakenBack(id)
}

/** What a run found out about HR when it was planned; null before that. */
export async function sourceOf(db: ClientBase, id: number): Promise<SourceStatistics | null> {
  const { rows } = await db.query<{ source: SourceStatistics | null }>(
    'select source from dirsync.sync_run where id = $1',
    [id],
  )
  return rows[0]?.source ?? null
}

/** Whether rows of the outbox wait for a plan, because HR has changed since the last one. */
export async function awaitReplan(db: ClientBase | Pool): Promise<boolean> {
  const { rowCount } = await db.query('select from dirsync.pending where replan_at is not null limit 1')
  return (rowCount ?? 0) > 0
}

/**
 * Requests the `changes` run that judges what workers found changed since their plan: one for all of them, and HR is read
 * for at most a tenth of the time. While such a run is held it is judged again instead.
 * @returns the run that will judge them; `early` when HR was read a moment ago; null when all have been judged
 */
export async function requestReplan(db: Pool): Promise<number | 'early' | null> {
  const { rows } = await db.query<{
    id: number | null
    state: RunState | null
    judged: boolean
    rested: boolean
  }>(
    `select r.id, r.state,
            r.id is not null and r.planned_at is not null and r.state not in ('failed', 'cancelled')
              and w.since < coalesce(r.judged_at, r.started_at) as judged,
            coalesce(now() >= coalesce(r.judged_at, r.planned_at, r.finished_at, r.requested_at)
                     + case when r.state in ('failed', 'cancelled') then interval '1 minute'
                            else greatest(interval '1 second', 9 * (r.planned_at - r.started_at)) end, true) as rested
     from (select max(replan_at) as since from dirsync.pending where replan_at is not null) w
     left join lateral (
       -- The first condition is that of the index.
       select * from dirsync.sync_run where kind in ('changes', 'full') and keys = '{}' and kind = 'changes'
       order by id desc limit 1) r on true
     where w.since is not null`,
  )
  const [latest] = rows
  if (!latest) return null
  if (latest.state === 'requested' || latest.state === 'planning') return latest.id
  if (latest.judged) return null
  if (!latest.rested) return 'early'
  if (latest.state !== 'held') return requestRun(db, 'changes', [], 'replan')
  await rejudgeHeldRun(db, latest.id as number)
  return null
}
