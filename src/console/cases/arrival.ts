import { z } from 'zod'
import { onlyRow, type Pool } from '../../lib/database.ts'
import { employeeStatus, type ShownEmployeeStatus, SOURCE_LOST_AT } from '../../sync/health/figures.ts'
import { HAS_TRIED, latestRun, RUNS_OF_EVERYBODY, RUNS_OF_KIND, type Runs } from '../../sync/health/health.ts'
import { ALIVE } from '../../sync/processes/process.ts'
import { ACCOUNT_SINCE, EMPLOYEE_KINDS_SQL, HELD_RUNS, RUN_SOURCES } from '../../sync/runs/run.ts'

/** What is so where no case is unresolved; each has a text `cases.none_todo.<name>`. */
export const Arrival = z.enum([
  'unread',
  'paused',
  'halted',
  'held',
  'failed',
  'waiting',
  'not_reading',
  'no_source',
  'decided',
  'arrived',
])
export type Arrival = z.infer<typeof Arrival>

/** Whether everything has arrived where no case is unresolved, or the first thing that keeps it from being so. */
export async function readArrival(pool: Pool): Promise<Arrival> {
  const { rows } = await pool.query<{ arrival: Arrival }>({
    name: 'console arrival',
    text: `
      select case
        -- A run that failed to read HR has planned nothing.
        when not exists (select from dirsync.sync_run
                         where kind in ${EMPLOYEE_KINDS_SQL} and planned_at >= ${ACCOUNT_SINCE} and state <> 'failed')
          then 'unread'
        when exists (select from dirsync.halt where category = 'paused') then 'paused'
        when exists (select from dirsync.halt) then 'halted'
        when exists (select from ${HELD_RUNS} held) then 'held'
        when ${isLatestFailed('changes', RUNS_OF_EVERYBODY)} or ${isLatestFailed('departments', RUNS_OF_KIND)}
          or ${isLatestFailed('openids', RUNS_OF_KIND)} then 'failed'
        when exists (select from dirsync.pending) or ${countOf(['waiting'])} > 0 then 'waiting'
        when not exists (select from dirsync.process where 'scheduler' = any (roles) and ${ALIVE})
          or exists (select from dirsync.job_schedule
                     where job = 'sync-changes' and (paused_at is not null or interval_seconds is null and not ${IS_HEARD}))
          then 'not_reading'
        when ${countOf(['no_source'])} > 0 and ${SOURCE_LOST_AT} is not null then 'no_source'
        when ${countOf(['accepted', 'rejected', 'dead_lettered'])} > 0 then 'decided'
        else 'arrived'
      end as arrival`,
  })
  return onlyRow(rows).arrival
}

/** SQL: whether a trigger in HR, or the poller, has told of changes since the processes that may listen were started. */
const IS_HEARD = `exists (
            select from dirsync.sync_run
            where kind = 'changes' and requested_by in ('trigger', 'poller')
              and requested_at >= (select min(started_at) from dirsync.process
                                   where 'scheduler' = any (roles) and ${ALIVE}))`

/** SQL: how many employees have one of these statuses. */
function countOf(statuses: ShownEmployeeStatus[]): string {
  return `(select coalesce(sum(n), 0) from dirsync.tally t
           where source = 'employee' and ${employeeStatus('t', 'state')} in ('${statuses.join("', '")}'))`
}

/** SQL: whether the latest such run of any HR source has planned nothing. */
function isLatestFailed(kind: string, runs: Runs): string {
  return `exists (
          select from (values ('${kind}')) k (kind)
          cross join lateral ${RUN_SOURCES} s
          cross join lateral ${latestRun(runs, HAS_TRIED)} latest
          where latest.state in ('failed', 'source_suspect'))`
}
