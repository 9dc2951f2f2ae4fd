import type { Pool } from 'pg'
import type { Logger } from 'pino'
import type { HrSource } from '../src/hr/source.ts'
import { requestRun } from '../src/sync/runs/run.ts'
import { benchPlanner } from './planned-database.ts'

/**
 * Changes one HR row in a hundred.
 * @returns the number of those
 */
export async function changeOnePercent(db: Pool): Promise<number> {
  await db.query('vacuum (analyze) hr.employee')
  const { rowCount } = await db.query(
    `update hr.employee set note = 'Seen at ' || clock_timestamp() where right(staff_id, 2) = '50'`,
  )
  return rowCount ?? 0
}

/**
 * Plans a `changes` run like the scheduler: from the waiting request to the work in the outbox.
 * @throws Error unless the plan finds exactly so many new or changed employees
 */
export async function planChanges(
  db: Pool,
  hr: HrSource,
  expected: { employees: number; changed: number },
  logger: Logger,
): Promise<{ seconds: number }> {
  const planner = benchPlanner(db, hr, logger)
  const runId = await requestRun(db, 'changes', [], 'bench')
  const startedAt = performance.now()
  await planner.planNext(new AbortController().signal)
  const seconds = (performance.now() - startedAt) / 1000
  const { rows } = await db.query(
    `select state, in_scope as employees, planned as changed,
       (select count(*)::int from dirsync.pending) as pending, message
     from dirsync.sync_run where id = $1`,
    [runId],
  )
  const { employees, changed, pending } = rows[0]
  if (employees !== expected.employees || changed !== expected.changed || pending !== changed)
    throw new Error(`the plan should find ${JSON.stringify(expected)}, it found ${JSON.stringify(rows[0])}`)
  return { seconds }
}

/** Marks all work as done. */
export async function acknowledgePlanned(db: Pool): Promise<void> {
  await db.query('truncate dirsync.pending')
  await db.query(`update dirsync.sync_run set state = 'done', finished_at = now() where state = 'running'`)
  await db.query(
    'update dirsync.employee set acknowledged_hash = source_hash where acknowledged_hash <> source_hash',
  )
  await db.query('vacuum (analyze) dirsync.employee')
}
