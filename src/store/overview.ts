import type { Pool } from 'pg'
import { RUN_KINDS } from './run.ts'
import { STANDING } from './tally.ts'

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
    /** dirsync, or the person who paused all calls. */
    raised_by: string
    /** Null: not before a person resumes. */
    next_probe_at: Date | null
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
      // What is tried later is little, and found by an index: a priority at a time, since that comes first in it.
      `with entities as (
         select operation, priority, enqueued, since, sum(n)::int as count from dirsync.tally
         where source = 'pending' group by 1, 2, 3, 4 having sum(n) > 0
       ), later as (
         select p.operation, count(*)::int as count from (select distinct priority from entities) e
         join dirsync.pending p on p.priority = e.priority and p.enqueued_at is null and p.not_before > now() group by 1
       )
       select e.operation, greatest(coalesce(sum(e.count) filter (where not enqueued), 0) - coalesce(l.count, 0), 0)::int as waiting,
              coalesce(sum(e.count) filter (where enqueued), 0)::int as enqueued, coalesce(l.count, 0) as postponed,
              min(since) as since
       from entities e left join later l using (operation) group by e.operation, l.count order by e.operation`,
    ),
    db.query<Overview['halts'][number]>(
      `select scope, category, platform_code, message, remedy, since,
              raised_by, nullif(next_probe_at, 'infinity') as next_probe_at from dirsync.halt order by scope`,
    ),
    db.query<Overview['runs'][number]>(
      `select r.id, r.kind, state, requested_at, finished_at, planned, message
       from (${RUN_KINDS}) k
       cross join lateral (select * from dirsync.sync_run r where r.kind = k.kind order by id desc limit 1) r
       order by r.id desc`,
    ),
    db.query<Overview['jobs'][number]>(
      `select job, expression, next_due_at from dirsync.job_schedule order by next_due_at, job`,
    ),
    db.query<Overview['dead_letters'][number]>(
      `select category, state, sum(n)::int as count from dirsync.tally
       where source = 'dead_letter' and state <> 'ignored' group by category, state having sum(n) > 0
       order by count desc, category, state`,
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
       select ${STANDING} as standing, n from dirsync.tally t
       where source = 'employee' and state not in ('left', 'vanished')
     )
     select coalesce(sum(n), 0)::int as in_scope,
            coalesce(sum(n) filter (where standing = 'in_step'), 0)::int as in_step,
            coalesce(sum(n) filter (where standing = 'awaiting_activation'), 0)::int as awaiting_activation,
            coalesce(sum(n) filter (where standing = 'dead_lettered'), 0)::int as dead_lettered,
            coalesce(sum(n) filter (where standing = 'halted'), 0)::int as halted,
            coalesce(sum(n) filter (where standing = 'waiting'), 0)::int as waiting
     from standings`,
  )
  return rows[0] as EmployeeStandings
}
