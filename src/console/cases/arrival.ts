import { z } from 'zod'
import { onlyRow, type Pool } from '../../lib/database.ts'

/** What is so where no case is unresolved; each has a text `cases.none_todo.<name>`. */
export const Arrival = z.enum(['unread', 'paused', 'halted', 'held', 'waiting', 'arrived'])
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
        when exists (select from dirsync.sync_run where state = 'held' and finished_at is null) then 'held'
        when exists (select from dirsync.pending) then 'waiting'
        else 'arrived'
      end as arrival`,
  })
  return onlyRow(rows).arrival
}
