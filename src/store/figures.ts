import type { Pool } from 'pg'
import type { JobName } from '../core/job.ts'
import type { Role } from '../core/role.ts'
import { type Pace, readPace } from './pace.ts'
import { ALIVE } from './process.ts'
import { RUN_KINDS, type RunKind, type RunState } from './run.ts'
import { STANDING } from './tally.ts'

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

/** Reads what stands in the tables of entities in one statement, so that it belongs together; of the tally, none is counted. */
export async function readFigures(db: Pool): Promise<Figures> {
  const [pace, { rows }] = await Promise.all([
    readPace(db),
    db.query<Omit<Figures, 'pace'>>({
      name: 'figures',
      text: `
    with pending as (
      select operation, enqueued, sum(count)::int as count, ${ageOf('min(since)')} as "oldestAge"
      from (select operation, enqueued, since, sum(n) as count from dirsync.tally
            where source = 'pending' group by 1, 2, 3 having sum(n) > 0) p group by 1, 2
    ), dead_letters as (
      select category, state, sum(n)::int as count from dirsync.tally
      where source = 'dead_letter' group by 1, 2 having sum(n) > 0
    ), runs as (
      select state, sum(n)::int as count from dirsync.tally where source = 'sync_run' group by 1 having sum(n) > 0
    ), last_successes as (
      select kind, ${ageOf('finished_at')} as age
      from (${RUN_KINDS}) k
      cross join lateral (select max(finished_at) as finished_at from dirsync.sync_run r
                          where r.kind = k.kind and r.state = 'done') s
      where finished_at is not null
    ), halts as (
      select category, count(*) from dirsync.halt group by 1
    ), employees as (
      select ${STANDING} as standing, sum(n)::int as count from dirsync.tally t
      where source = 'employee' group by 1 having sum(n) > 0
    ), processes as (
      select role, count(*) from dirsync.process, unnest(roles) as role where ${ALIVE} group by 1
    )
    select ${listOf('pending')} as pending, ${listOf('dead_letters')} as "deadLetters", ${listOf('runs')} as runs,
           ${listOf('last_successes')} as "lastSuccesses", ${listOf('halts')} as halts, ${listOf('employees')} as employees,
           ${listOf('processes')} as processes,
           coalesce((select greatest(max(extract(epoch from paused_until - now())), 0)::float8 from dirsync.pacer), 0)
             as "platformPause"`,
    }),
  ])
  return { ...(rows[0] as Omit<Figures, 'pace'>), pace }
}

/** Never negative: the clock of the writing transaction may be a little ahead of ours. */
function ageOf(moment: string): string {
  return `greatest(extract(epoch from now() - ${moment}), 0)::float8`
}

function listOf(name: string): string {
  return `(select coalesce(jsonb_agg(x), '[]') from ${name} x)`
}
