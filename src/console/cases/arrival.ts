import { z } from 'zod'
import { onlyRow, type Pool } from '../../lib/database.ts'
import type { EMPLOYEE_STATUSES } from '../../sync/employee.ts'
import { HELD_RUNS, OF_EVERYBODY, ofKind, RUN_SOURCES } from '../../sync/run.ts'

/** What is so where no case is unresolved; each has a text `cases.none_todo.<name>`. */
export const Arrival = z.enum([
  'unread',
  'paused',
  'halted',
  'held',
  'failed',
  'waiting',
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
                         where kind in ('full', 'changes') and planned_at is not null and state <> 'failed')
          then 'unread'
        when exists (select from dirsync.halt where category = 'paused') then 'paused'
        when exists (select from dirsync.halt) then 'halted'
        when exists (select from ${HELD_RUNS} held) then 'held'
        when ${isLatestFailed('changes', OF_EVERYBODY, 'r.id desc')}
          or ${isLatestFailed('departments', ofKind(`'departments'`), 'r.kind, r.id desc')}
          or ${isLatestFailed('openids', ofKind(`'openids'`), 'r.kind, r.id desc')} then 'failed'
        when exists (select from dirsync.pending) or ${isThere(['waiting'])} then 'waiting'
        when ${isThere(['accepted', 'rejected', 'dead_lettered'])} then 'decided'
        else 'arrived'
      end as arrival`,
  })
  return onlyRow(rows).arrival
}

/** SQL: whether employees have one of these statuses. */
function isThere(statuses: (typeof EMPLOYEE_STATUSES)[number][]): string {
  return `(select coalesce(sum(n), 0) from dirsync.tally
           where source = 'employee' and state in ('${statuses.join("', '")}')) > 0`
}

/** SQL: whether the latest such run of any HR source has planned nothing. One that is not planned yet does not count. */
function isLatestFailed(kind: string, which: string, order: string): string {
  return `exists (
          select from (values ('${kind}')) k (kind)
          cross join lateral ${RUN_SOURCES} s
          cross join lateral (select state from dirsync.sync_run r
                              where ${which} and r.hr_source = s.name and state not in ('requested', 'planning')
                              order by ${order} limit 1) latest
          where latest.state in ('failed', 'source_suspect'))`
}
