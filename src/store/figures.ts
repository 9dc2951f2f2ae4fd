import type { Pool } from 'pg'
import type { JobName } from '../core/job.ts'
import type { Role } from '../core/role.ts'
import { type Pace, readPace } from './pace.ts'
import { ALIVE } from './process.ts'
import type { RunKind, RunState } from './run.ts'

/**
 * in_step: every field confirmed; dead_lettered: a field or the whole is in review; halted: to be sent, but work stands
 * still; waiting: to be sent; left: a leaver by HR's word; vanished: HR has no row any more.
 */
export type Standing =
  | 'in_step'
  | 'awaiting_activation'
  | 'dead_lettered'
  | 'halted'
  | 'waiting'
  | 'left'
  | 'vanished'

/** Where everything stands, in numbers alone: nothing here names a person. Ages and durations are seconds. */
export interface Figures {
  pending: { operation: JobName; enqueued: boolean; count: number; oldestAge: number }[]
  /** Without the resolved ones. */
  deadLetters: { category: string; state: string; count: number }[]
  /** Runs that are kept, 180 days. */
  runs: { state: RunState; count: number }[]
  lastSuccesses: { kind: RunKind; age: number }[]
  halts: { category: string; count: number }[]
  employees: { standing: Standing; count: number }[]
  processes: { role: Role; count: number }[]
  /** Calls to the platform over the last ten seconds, and the share of the permitted rate that they were. */
  pace: Pick<Pace, 'calls_per_second' | 'utilisation'>
  /** How long the platform asked us to make no call, from now on. */
  platformPause: number
}

/** Reads what stands in the tables of entities in one statement, so that it belongs together. */
export async function readFigures(db: Pool): Promise<Figures> {
  const pace = await readPace(db)
  const { rows } = await db.query<Omit<Figures, 'pace'>>({
    name: 'figures',
    text: `
    with pending as (
      select operation, enqueued_at is not null as enqueued, count(*), ${ageOf('min(created_at)')} as "oldestAge"
      from dirsync.pending group by 1, 2
    ), dead_letters as (
      select category, state, count(*) from dirsync.dead_letter where state <> 'resolved' group by 1, 2
    ), runs as (
      select state, count(*) from dirsync.sync_run group by 1
    ), last_successes as (
      select kind, ${ageOf('max(finished_at)')} as age from dirsync.sync_run where state = 'done' group by 1
    ), halts as (
      select category, count(*) from dirsync.halt group by 1
    ), employees as (
      select case when vanished_at is not null then 'vanished'
                  when not active then 'left'
                  when acknowledged_hash = source_hash then 'in_step'
                  when parked_hash = source_hash and platform_state = 'absent' then 'awaiting_activation'
                  when parked_hash = source_hash then 'dead_lettered'
                  when exists (select from dirsync.halt h where h.scope in ('*', e.enterprise_code)) then 'halted'
                  else 'waiting' end as standing, count(*)
      from dirsync.employee e group by 1
    ), processes as (
      select role, count(*) from dirsync.process, unnest(roles) as role where ${ALIVE} group by 1
    )
    select ${listOf('pending')} as pending, ${listOf('dead_letters')} as "deadLetters", ${listOf('runs')} as runs,
           ${listOf('last_successes')} as "lastSuccesses", ${listOf('halts')} as halts, ${listOf('employees')} as employees,
           ${listOf('processes')} as processes,
           coalesce((select greatest(max(extract(epoch from paused_until - now())), 0)::float8 from dirsync.pacer), 0)
             as "platformPause"`,
  })
  return { ...(rows[0] as Omit<Figures, 'pace'>), pace }
}

/** Never negative: the clock of the writing transaction may be a little ahead of ours. */
function ageOf(moment: string): string {
  return `greatest(extract(epoch from now() - ${moment}), 0)::float8`
}

function listOf(name: string): string {
  return `(select coalesce(jsonb_agg(x), '[]') from ${name} x)`
}
