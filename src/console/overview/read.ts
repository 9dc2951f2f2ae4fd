import { onlyRow, type Pool } from '../../lib/database.ts'
import { openRefunds } from '../../money/refund.ts'
import { openTopUps } from '../../money/top-up.ts'
import { STANDINGS_IN_SCOPE } from '../../sync/figures.ts'
import { PRESENT_KINDS, RUN_SOURCES } from '../../sync/run.ts'
import { STANDING } from '../../sync/tally.ts'
import type { Said } from '../../texts/message.ts'

type StandingInScope = (typeof STANDINGS_IN_SCOPE)[number]

/** Employees by status, adding up to `in_scope`. */
type EmployeeStandings = Record<'in_scope' | StandingInScope, number>

/** The state of everything, named like the columns of schema dirsync. */
export interface Overview {
  employees: EmployeeStandings
  outbox: { operation: string; waiting: number; enqueued: number; postponed: number; since: Date }[]
  halts: {
    scope: string
    category: string
    platform_code: number | null
    message: Said
    remedy: Said
    since: Date
    /** dirsync, or the person who paused all calls. */
    raised_by: string
    /** Null: only when a person resumes. */
    next_probe_at: Date | null
  }[]
  /**
   * The latest run of each kind, and of each HR source with runs of its own; and all runs that wait for a decision.
   */
  runs: {
    id: number
    kind: string
    hr_source: string
    state: string
    requested_at: Date
    finished_at: Date | null
    planned: number | null
    message: Said | null
  }[]
  jobs: { job: string; expression: string; next_due_at: Date; pause_reason: string | null }[]
  dead_letters: { category: string; state: string; count: number }[]
}

export async function readOverview(db: Pool): Promise<Overview> {
  const [employees, outbox, halts, runs, jobs, cases] = await Promise.all([
    readStandings(db),
    db.query<Overview['outbox'][number]>(
      `with entities as (
         select operation, priority, enqueued, since, sum(n)::int as count
         from dirsync.tally where source = 'pending' group by 1, 2, 3, 4 having sum(n) > 0
       ), later as (
         -- Few rows are tried later. The index finds them by priority, which comes first in it.
         select p.operation, count(*)::int as count
         from (select distinct priority from entities) e
         join dirsync.pending p on p.priority = e.priority and p.enqueued_at is null and p.not_before > now()
         group by 1
       )
       select e.operation,
              greatest(coalesce(sum(e.count) filter (where not enqueued), 0) - coalesce(l.count, 0), 0)::int as waiting,
              coalesce(sum(e.count) filter (where enqueued), 0)::int as enqueued,
              coalesce(l.count, 0) as postponed, min(since) as since
       from entities e left join later l using (operation)
       group by e.operation, l.count order by e.operation`,
    ),
    db.query<Overview['halts'][number]>(
      `select scope, category, platform_code, message, remedy, since, raised_by,
              nullif(next_probe_at, 'infinity') as next_probe_at
       from dirsync.halt order by scope`,
    ),
    db.query<Overview['runs'][number]>(
      `select r.id, r.kind, r.hr_source, state, requested_at, finished_at, planned, message
       from dirsync.sync_run r
       -- Each by an index: with OR all runs would be read.
       where r.id = any (array(
         select id from dirsync.sync_run where state = 'held' and finished_at is null
         union all
         select latest.id
         from (${PRESENT_KINDS}) k
         cross join lateral ${RUN_SOURCES} s
         cross join lateral (select id from dirsync.sync_run r
                             where r.kind = k.kind and r.hr_source = s.name
                             order by id desc limit 1) latest))
       order by r.id desc`,
    ),
    db.query<Overview['jobs'][number]>(
      `select job, expression, next_due_at, pause_reason from dirsync.job_schedule order by next_due_at, job`,
    ),
    db.query<Overview['dead_letters'][number]>(
      `select category, state, sum(n)::int as count
       from dirsync.tally where source = 'dead_letter' and state <> 'ignored'
       group by category, state having sum(n) > 0
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
  const { rows } = await db.query<{ standing: StandingInScope; count: number }>(
    `select ${STANDING} as standing, sum(n)::int as count
     from dirsync.tally t
     where source = 'employee' and state not in ('left', 'vanished') group by 1`,
  )
  return completed(STANDINGS_IN_SCOPE, Object.fromEntries(rows.map(row => [row.standing, row.count])))
}

/** The counts of all statuses, and their sum. */
function completed<Standing extends string>(
  standings: readonly Standing[],
  counts: Record<string, number>,
): Record<'in_scope' | Standing, number> {
  const all = standings.map(standing => [standing, counts[standing] ?? 0] as const)
  const in_scope = all.reduce((sum, [, count]) => sum + count, 0)
  return { in_scope, ...Object.fromEntries(all) } as Record<'in_scope' | Standing, number>
}

/** Statuses of employees after a sync, in display order. `in_step` are those that were in sync before it. */
export const STANDINGS_AFTER_SYNC = [
  'in_step',
  'updated',
  'partly_updated',
  'awaiting_activation',
  'dead_lettered',
  'accepted',
  'held',
  'rejected',
  'halted',
  'waiting',
] as const

/** The state of the directory after a sync, and what its runs did. */
export interface SyncSummary {
  employees: Record<'in_scope' | (typeof STANDINGS_AFTER_SYNC)[number], number>
  departments: { deleted: number; already_gone: number }
  openids: { bound: number }
  /** Open cases by category. */
  dead_letters: Record<string, number>
  /** Money operations that were sent and may have been carried out; `for_person` counts those that need a person. */
  outcome_unknown: { refunds: number; topups: number; for_person: number }
  /** Calls by operation. */
  platform_calls: Record<string, number>
}

/**
 * Sums up the runs from `firstRun` on.
 * @param since when they began, because token creations belong to no run
 */
export async function syncSummary(db: Pool, firstRun: number, since: Date): Promise<SyncSummary> {
  const [{ rows }, refunds, topUps] = await Promise.all([
    db.query<{
      standings: Record<string, number>
      deleted: number
      already_gone: number
      bound: number
      dead_letters: Record<string, number>
      calls: Record<string, number>
    }>(
      `with attempts as (
         select * from dirsync.attempt where run_id >= $1
       ), sent as (
         select distinct enterprise_code, entity_key
         from attempts where operation = 'update-employee' and fields <> '{}'
       ), employees as (
         select case
                  when e.standing = 'in_step' and s.entity_key is not null then 'updated'
                  when e.standing = 'dead_lettered' and s.entity_key is not null then 'partly_updated'
                  when e.standing <> 'waiting' then e.standing
                  when exists (select from dirsync.halt h where h.scope in ('*', e.enterprise_code)) then 'halted'
                  else 'waiting'
                end as standing
         from dirsync.employee e
         left join sent s on s.enterprise_code = e.enterprise_code and s.entity_key = e.userid
         where e.standing not in ('left', 'vanished')
       ), standings as (
         select standing, count(*) as n from employees group by 1
       ), calls as (
         select c.key as operation, sum(c.value::int) as n from attempts, jsonb_each_text(calls) c group by 1
         union all
         select 'token/create', count(*) from dirsync.token_creation where created_at >= $2 having count(*) > 0
       ), cases as (
         select category, count(*) as n
         from dirsync.dead_letter where state not in ('resolved', 'ignored') group by 1
       )
       select (select coalesce(jsonb_object_agg(standing, n), '{}') from standings) as standings,
              count(*) filter (where outcome = 'deleted' and platform_code is null)::int as deleted,
              count(*) filter (where outcome = 'deleted' and platform_code is not null)::int as already_gone,
              count(*) filter (where outcome = 'bound')::int as bound,
              (select coalesce(jsonb_object_agg(category, n), '{}') from cases) as dead_letters,
              (select coalesce(jsonb_object_agg(operation, n), '{}') from calls) as calls
       from attempts`,
      [firstRun, since],
    ),
    openRefunds(db),
    openTopUps(db),
  ])
  const { standings, deleted, already_gone, bound, dead_letters, calls } = onlyRow(rows)
  return {
    employees: completed(STANDINGS_AFTER_SYNC, standings),
    departments: { deleted, already_gone },
    openids: { bound },
    dead_letters,
    outcome_unknown: {
      refunds: refunds.unknown,
      topups: topUps.unknown,
      for_person: refunds.for_person + topUps.unknown,
    },
    platform_calls: calls,
  }
}
