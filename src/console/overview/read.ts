import { SUSPECTS } from '../../alerts/facts.ts'
import { onlyRow, type Pool } from '../../lib/database.ts'
import { readOpenMoney } from '../../money/open.ts'
import { type CaseState, UNRESOLVED } from '../../sync/cases/cases.ts'
import { EMPLOYEE_STATUSES_IN_SCOPE, employeeStatus } from '../../sync/health/figures.ts'
import {
  HAS_CHECKED,
  HAS_TRIED,
  latestRun,
  RUNS_OF_EVERYBODY,
  RUNS_OF_KIND,
} from '../../sync/health/health.ts'
import { type Halt, readHalts } from '../../sync/outbox/halts.ts'
import { HELD_RUNS, ofKind, PRESENT_KINDS, RUN_SOURCES } from '../../sync/runs/run.ts'
import { countStatuses } from '../employees/list.ts'
import { type ListedRun, listRunsPage } from '../runs/list.ts'

type StatusInScope = (typeof EMPLOYEE_STATUSES_IN_SCOPE)[number]

/** Employees by status, adding up to `in_scope`. */
type EmployeeStatuses = Record<'in_scope' | StatusInScope, number>

/** The state of everything, named like the columns of schema dirsync. */
export interface Overview {
  employees: EmployeeStatuses
  outbox: { operation: string; waiting: number; enqueued: number; postponed: number; since: Date }[]
  halts: Halt[]
  /**
   * The latest run of each kind, and of each HR source with runs of its own; and all runs that wait for a decision.
   */
  runs: ListedRun[]
  /** By HR source, the latest run of employees or departments if it found HR suspect. */
  suspect_runs: ListedRun[]
  /**
   * By kind and HR source, the latest run that shows whether such runs succeed, if it failed; of named employees and of cases, if
   * HR has not been read as a whole since.
   */
  failed_runs: ListedRun[]
  dead_letters: { category: string; state: CaseState; count: number }[]
}

type RunList = 'runs' | 'suspect_runs' | 'failed_runs'

export async function readOverview(db: Pool): Promise<Overview> {
  const [statuses, outbox, halts, runs, cases] = await Promise.all([
    countStatuses(db),
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
    readHalts(db),
    db.query<{ id: number; list: RunList }>(
      // Each by an index: with OR all runs would be read.
      `select id, 'runs' as list from ${HELD_RUNS} held
       union all
       select latest.id, 'runs'
       from (${PRESENT_KINDS}) k
       cross join lateral ${RUN_SOURCES} s
       cross join lateral (select id from dirsync.sync_run r
                           where ${ofKind('k.kind')} and r.hr_source = s.name
                           order by r.kind, r.id desc limit 1) latest
       union all
       select run, 'suspect_runs' from ${SUSPECTS} s
       union all (
         select latest.id, 'failed_runs'
         from (${PRESENT_KINDS}) k
         cross join lateral ${RUN_SOURCES} s
         cross join lateral ${latestRun(RUNS_OF_KIND, HAS_TRIED)} latest
         where latest.state = 'failed'
           -- No schedule repeats these: they are over once everybody of each HR source has been read.
           and (k.kind not in ('employees', 'retry') or exists (
             select from (values ('changes')) k (kind)
             cross join lateral ${RUN_SOURCES} s
             left join lateral ${latestRun(RUNS_OF_EVERYBODY, HAS_CHECKED)} read on true
             where latest.id > coalesce(read.id, 0)))
         union
         -- That rows which HR's trigger named could be read says nothing about all of them.
         select latest.id, 'failed_runs'
         from (values ('changes')) k (kind)
         cross join lateral ${RUN_SOURCES} s
         cross join lateral ${latestRun(RUNS_OF_EVERYBODY, `r.kind = k.kind and ${HAS_TRIED}`)} latest
         where latest.state = 'failed')`,
    ),
    db.query<Overview['dead_letters'][number]>(
      `select category, state, sum(n)::int as count
       from dirsync.tally where source = 'dead_letter' and state <> 'ignored'
       group by category, state having sum(n) > 0
       order by count desc, category, state`,
    ),
  ])
  const ids = runs.rows.map(({ id }) => id)
  const { items } = await listRunsPage(db, { ids }, { limit: ids.length })
  const listed = (list: RunList) =>
    items.filter(run => runs.rows.some(row => row.id === run.id && row.list === list))
  return {
    employees: completed(EMPLOYEE_STATUSES_IN_SCOPE, statuses),
    outbox: outbox.rows,
    halts,
    runs: listed('runs'),
    suspect_runs: listed('suspect_runs'),
    failed_runs: listed('failed_runs'),
    dead_letters: cases.rows,
  }
}

/** The counts of all statuses, and their sum. */
function completed<EmployeeStatus extends string>(
  statuses: readonly EmployeeStatus[],
  counts: Record<string, number>,
): Record<'in_scope' | EmployeeStatus, number> {
  const all = statuses.map(status => [status, counts[status] ?? 0] as const)
  const in_scope = all.reduce((sum, [, count]) => sum + count, 0)
  return { in_scope, ...Object.fromEntries(all) } as Record<'in_scope' | EmployeeStatus, number>
}

/** Statuses of employees after a sync, in display order. `in_sync` are those that were in sync before it. */
export const EMPLOYEE_STATUSES_AFTER_SYNC = [
  'in_sync',
  'updated',
  'partly_updated',
  'awaiting_activation',
  'dead_lettered',
  'accepted',
  'held',
  'rejected',
  'halted',
  'no_source',
  'waiting',
] as const

/** The state of the directory after a sync, and what its runs did. */
export interface SyncSummary {
  employees: Record<'in_scope' | (typeof EMPLOYEE_STATUSES_AFTER_SYNC)[number], number>
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
  const [{ rows }, { refund, topup }] = await Promise.all([
    db.query<{
      statuses: Record<string, number>
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
                  when e.status = 'in_sync' and s.entity_key is not null then 'updated'
                  when e.status = 'dead_lettered' and s.entity_key is not null then 'partly_updated'
                  else ${employeeStatus('e')}
                end as status
         from dirsync.employee e
         left join sent s on s.enterprise_code = e.enterprise_code and s.entity_key = e.userid
         where e.status not in ('left', 'vanished')
       ), statuses as (
         select status, count(*) as n from employees group by 1
       ), calls as (
         select c.key as operation, sum(c.value::int) as n from attempts, jsonb_each_text(calls) c group by 1
         union all
         select 'token/create', count(*) from dirsync.token_creation where created_at >= $2 having count(*) > 0
       ), cases as (
         select category, count(*) as n
         from dirsync.dead_letter d where ${UNRESOLVED} group by 1
       )
       select (select coalesce(jsonb_object_agg(status, n), '{}') from statuses) as statuses,
              count(*) filter (where outcome = 'deleted' and platform_code is null)::int as deleted,
              count(*) filter (where outcome = 'deleted' and platform_code is not null)::int as already_gone,
              count(*) filter (where outcome = 'bound')::int as bound,
              (select coalesce(jsonb_object_agg(category, n), '{}') from cases) as dead_letters,
              (select coalesce(jsonb_object_agg(operation, n), '{}') from calls) as calls
       from attempts`,
      [firstRun, since],
    ),
    readOpenMoney(db),
  ])
  const { statuses, deleted, already_gone, bound, dead_letters, calls } = onlyRow(rows)
  return {
    employees: completed(EMPLOYEE_STATUSES_AFTER_SYNC, statuses),
    departments: { deleted, already_gone },
    openids: { bound },
    dead_letters,
    outcome_unknown: {
      refunds: refund.unknown,
      topups: topup.unknown,
      for_person: refund.for_person + topup.for_person,
    },
    platform_calls: calls,
  }
}
