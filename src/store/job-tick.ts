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

/** Remembers when a job is due next. */
export async function scheduleTick(
  db: Pool,
  job: string,
  expression: string,
  nextDueAt: Date,
): Promise<void> {
  await db.query(
    `insert into dirsync.job_schedule (job, expression, next_due_at) values ($1, $2, $3)
     on conflict (job) do update set expression = excluded.expression, next_due_at = excluded.next_due_at`,
    [job, expression, nextDueAt],
  )
}

/** The tick of a job that was due while no scheduler ran; null when none was missed. */
export async function missedTick(db: Pool, job: string, expression: string): Promise<Date | null> {
  const { rows } = await db.query(
    `select next_due_at as due from dirsync.job_schedule s
     where job = $1 and expression = $2 and next_due_at < now()
       and not exists (select from dirsync.job_tick t where t.job = s.job and t.due_at >= s.next_due_at)`,
    [job, expression],
  )
  return rows[0]?.due ?? null
}
