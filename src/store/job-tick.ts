import type { Pool } from 'pg'

/** Claims a tick: true for exactly one of all processes that try. */
export async function claimTick(db: Pool, job: string, dueAt: Date, processId: string): Promise<boolean> {
  const { rowCount } = await db.query(
    `insert into dirsync.job_tick (job, due_at, claimed_by) values ($1, $2, $3) on conflict do nothing`,
    [job, dueAt, processId],
  )
  return rowCount === 1
}

export async function finishTick(db: Pool, job: string, dueAt: Date, error: string | null): Promise<void> {
  await db.query(
    `update dirsync.job_tick set finished_at = now(), error = $3 where job = $1 and due_at = $2`,
    [job, dueAt, error],
  )
}

/** When the latest tick of each job was due. */
export async function latestTicks(db: Pool): Promise<Map<string, Date>> {
  const { rows } = await db.query(`select job, max(due_at) as due from dirsync.job_tick group by job`)
  return new Map(rows.map(row => [row.job, row.due]))
}
