import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool } from 'pg'
import { requestRun } from '../src/sync/runs/run.ts'

const LOOK_EVERY_MS = 200

/**
 * Requests a run of changes from a running service and waits for its end.
 * @returns seconds from its start, when the diff begins, to the last acknowledgement (or to its end if there is
 * none), and what it left behind
 * @throws Error unless it is done and every changed employee was updated
 */
export async function runChanges(
  db: Pool,
  { changed }: { changed: number },
): Promise<{ seconds: number; attempts: number; pending: number }> {
  const runId = await requestRun(db, 'changes', [], 'bench')
  for (;;) {
    const { rows } = await db.query(
      `select state, message, started_at, finished_at from dirsync.sync_run where id = $1`,
      [runId],
    )
    if (rows[0].finished_at !== null || rows[0].state === 'held') break
    await sleep(LOOK_EVERY_MS)
  }
  const { rows } = await db.query(
    `select r.state, r.message,
       (select count(*)::int from dirsync.attempt where run_id = r.id) as attempts,
       (select count(*)::int from dirsync.attempt where run_id = r.id and outcome = 'updated') as updated,
       (select count(*)::int from dirsync.pending) as pending,
       extract(epoch from coalesce((select max(acknowledged_at) from dirsync.employee where acknowledged_at >= r.started_at),
         r.finished_at) - r.started_at)::float8 as seconds
     from dirsync.sync_run r where r.id = $1`,
    [runId],
  )
  const { state, updated, seconds, attempts, pending } = rows[0]
  if (state !== 'done' || updated !== changed)
    throw new Error(`${changed} employees should be updated: ${JSON.stringify(rows[0])}`)
  return { seconds, attempts, pending }
}
