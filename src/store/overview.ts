import type { Pool } from 'pg'

/** How employees stand; the standings add up to `in_scope`. */
export interface EmployeeStandings {
  in_scope: number
  in_step: number
  awaiting_activation: number
  dead_lettered: number
  halted: number
  waiting: number
}

/** Where things stand, as the columns of schema dirsync name it. */
export interface Overview {
  employees: EmployeeStandings
  outbox: { operation: string; waiting: number; enqueued: number; postponed: number; since: Date }[]
  halts: {
    scope: string
    category: string
    platform_code: number | null
    message: string
    remedy: string
    since: Date
    next_probe_at: Date
  }[]
  /** The latest run of each kind. */
  runs: {
    id: number
    kind: string
    state: string
    requested_at: Date
    finished_at: Date | null
    planned: number | null
    message: string | null
  }[]
  jobs: { job: string; expression: string; next_due_at: Date }[]
  dead_letters: { category: string; state: string; count: number }[]
}

/** Reads the whole overview in one go, so that its parts agree. */
export async function readOverview(db: Pool): Promise<Overview> {
  const [employees, outbox, halts, runs, jobs, cases] = await Promise.all([
    readStandings(db),
    db.query<Overview['outbox'][number]>(
      `select operation, count(*) filter (where enqueued_at is null and not_before <= now())::int as waiting,
              count(*) filter (where enqueued_at is not null)::int as enqueued,
              count(*) filter (where enqueued_at is null and not_before > now())::int as postponed, min(created_at) as since
       from dirsync.pending group by operation order by operation`,
    ),
    db.query<Overview['halts'][number]>(
      `select scope, category, platform_code, message, remedy, since, next_probe_at from dirsync.halt order by scope`,
    ),
    db.query<Overview['runs'][number]>(
      `select id, kind, state, requested_at, finished_at, planned, message from (
         select distinct on (kind) * from dirsync.sync_run order by kind, id desc) latest order by id desc`,
    ),
    db.query<Overview['jobs'][number]>(
      `select job, expression, next_due_at from dirsync.job_schedule order by next_due_at, job`,
    ),
    db.query<Overview['dead_letters'][number]>(
      `select category, state, count(*)::int as count from dirsync.dead_letter
       where state not in ('resolved', 'ignored') group by category, state order by count desc, category, state`,
    ),
  ])
  return {
    employees,
    outbox: outbox.rows,
    halts: halts.rows,
    runs: runs.rows,
    jobs: jobs.rows,
    dead_letters: cases.rows,
  }
}

async function readStandings(db: Pool): Promise<EmployeeStandings> {
  const { rows } = await db.query<EmployeeStandings>(
    `with standings as (
       select case
                when acknowledged_hash = source_hash then 'in_step'
                when parked_hash = source_hash and platform_state = 'absent' then 'awaiting_activation'
                when parked_hash = source_hash then 'dead_lettered'
                when exists (select from dirsync.halt h where h.scope in ('*', e.enterprise_code)) then 'halted'
                else 'waiting'
              end as standing
       from dirsync.employee e where active and vanished_at is null
     )
     select count(*)::int as in_scope,
            count(*) filter (where standing = 'in_step')::int as in_step,
            count(*) filter (where standing = 'awaiting_activation')::int as awaiting_activation,
            count(*) filter (where standing = 'dead_lettered')::int as dead_lettered,
            count(*) filter (where standing = 'halted')::int as halted,
            count(*) filter (where standing = 'waiting')::int as waiting
     from standings`,
  )
  return rows[0] as EmployeeStandings
}
