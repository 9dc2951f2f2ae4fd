import { z } from 'zod'
import type { Pool } from '../../lib/database.ts'
import { type Pace, readPace } from '../processes/pace.ts'
import { MIRRORS } from '../runs/mirror-kind.ts'
import { countPending } from './figures.ts'

/** With fewer queries in the last minutes, the share of updates cannot be estimated. */
const TELLING_QUERIES = 20

/** How many rows of the outbox are sampled, so that the cost is bounded. */
const LOOKED_AT = 2000

/** Calls per entity if none of its kind was sampled. */
const CALLS_EACH = 2

/**
 * What the running runs still need. An employee needs one query, plus one update if HR's row is not the one that the
 * platform confirmed; if the platform never confirmed any row, as often as updates recently followed queries.
 * Everything else needs one call. Work of a halted enterprise makes no calls; a run that has no other work is halted.
 *
 * The tally knows how much is left. The smallest runs are read completely, the wanted one ($1) first. Of the others,
 * the same share ($4, in per cent) of the table's pages is sampled each time, so that the answer does not waver.
 */
const DEMANDS = `
  with strata as (
    select t.run_id, t.priority, h.scope is not null as halted, sum(t.n) as entities
    from dirsync.tally t left join dirsync.halt h on h.scope = t.enterprise_code
    where t.source = 'pending' group by 1, 2, 3 having sum(t.n) > 0
  ), whole as materialized (
    select run_id from (
      select run_id, sum(sum(entities)) over (order by run_id = $1 desc nulls last, sum(entities), run_id) as up_to
      from strata where run_id is not null group by run_id
    ) runs where up_to <= ${LOOKED_AT}
  ), looked_at as (
    -- The order is that of the index on runs: without it the whole outbox might be read for a few rows.
    select p.* from whole w
    cross join lateral (select * from dirsync.pending q
                        where q.run_id = w.run_id order by q.enterprise_code, q.entity_key limit ${LOOKED_AT}) p
    union all
    select p.* from dirsync.pending p tablesample system ($4) repeatable (1)
    where p.run_id is null or p.run_id not in (select run_id from whole)
  ), entities as (
    select p.run_id, p.priority, h.scope is not null as halted,
           h.scope is null and p.enqueued_at is null and p.not_before > now() as later,
           case when p.operation <> 'update-employee' or not e.active or e.vanished_at is not null then 1
                when e.acknowledged_hash = e.source_hash then 1
                when e.acknowledged_hash is not null then 2
                else 1 + $2::float8 end as calls
    from looked_at p
    -- The limit has each looked up by the primary key: the whole table would be no quicker to read.
    left join lateral (select * from dirsync.employee e
                       where e.enterprise_code = p.enterprise_code and e.userid = p.entity_key limit 1) e on true
    left join dirsync.halt h on h.scope = p.enterprise_code
  ), shares as (
    select run_id, priority, halted, coalesce(sum(calls) filter (where not later), 0) / count(*) as calls,
           count(*) filter (where later)::float8 / count(*) as later
    from entities group by 1, 2, 3
  ), work as (
    select s.run_id, r.part_of, s.priority, s.halted, s.entities * coalesce(x.calls, ${CALLS_EACH}) as calls,
           s.entities * coalesce(x.later, 0) as later
    from strata s
    left join shares x
      on (coalesce(x.run_id, 0), x.priority, x.halted) = (coalesce(s.run_id, 0), s.priority, s.halted)
    left join dirsync.sync_run r on r.id = s.run_id
  ), own as (
    select r.id, max(w.run_id) as latest, max(w.priority) as priority,
           coalesce(sum(w.calls) filter (where not w.halted), 0) as calls,
           coalesce(sum(w.later), 0) as later, coalesce(bool_and(w.halted), false) as halted
    from dirsync.sync_run r left join work w on r.id in (w.run_id, w.part_of)
    where r.state = 'running' and r.finished_at is null and r.kind <> all ($3)
      -- A cancelled one only waits for calls in flight, whatever is halted.
      and r.cancelled_at is null
      and ($1::bigint is null or r.id = $1)
    group by r.id
  )
  select id as run, round(calls)::int as calls, round(later)::int as later,
         halted or exists (select from dirsync.halt where scope = '*') as halted,
         round(coalesce((select sum(w.calls) from work w
                         -- Of equally urgent work, what was there before goes first.
                         where not w.halted and (w.priority, w.run_id) < (own.priority, own.latest)
                           and (own.id in (w.run_id, w.part_of)) is not true), 0))::int as ahead
  from own order by id`

/** The remaining time of all running runs except mirrors and those being cancelled. */
export async function timesLeft(
  db: Pool,
  pace: Pace,
  run: number | null = null,
): Promise<(TimeLeft & { run: number })[]> {
  const percent = Math.min(100, (100 * LOOKED_AT) / Math.max(1, await countPending(db)))
  const { rows } = await db.query<Demand & { run: number; halted: boolean }>(DEMANDS, [
    run,
    updateShare(pace),
    MIRRORS,
    percent,
  ])
  const supply = supplyOf(pace)
  return rows.map(({ run, halted, ...demand }) => ({ run, ...timeLeft(demand, { ...supply, halted }) }))
}

/** The remaining time of one run; null if it is not running, being cancelled, or a mirror. */
export async function runTimeLeft(db: Pool, run: number): Promise<TimeLeft | null> {
  const [found] = await timesLeft(db, await readPace(db), run)
  if (!found) return null
  const { run: _, ...left } = found
  return left
}

function supplyOf(pace: Pace): Omit<Supply, 'halted'> {
  const calls = pace.operations.reduce((sum, row) => sum + row.calls, 0)
  const ms = pace.operations.reduce((sum, row) => sum + row.calls * row.mean_duration_ms, 0)
  return {
    workers: pace.workers,
    pausedForMs: pace.paused_until ? Math.max(0, pace.paused_until.getTime() - Date.now()) : 0,
    permittedPerSecond: pace.permitted_per_second,
    concurrency: pace.concurrency,
    callMs: calls === 0 ? null : ms / calls,
  }
}

/** How often an update followed a query in the last minutes: 0 to 1; 1 if there were too few queries to tell. */
function updateShare({ operations }: Pace): number {
  const calls = (name: string) => operations.find(({ operation }) => operation === name)?.calls ?? 0
  const queries = calls('employee/get')
  return queries < TELLING_QUERIES ? 1 : Math.min(1, calls('employee/update') / queries)
}

/** What a run still needs of the platform. */
type Demand = Pick<TimeLeft, 'calls' | 'ahead' | 'later'>

/** How fast calls can go. */
export interface Supply {
  workers: number
  /** Everything is halted, or all that the run has left. */
  halted: boolean
  pausedForMs: number
  /** Calls per second that the pacer permits, of all processes together; null while that is unknown. */
  permittedPerSecond: number | null
  /** Calls that may be in flight at a time, of all processes together; null if unlimited. */
  concurrency: number | null
  /** How long a call takes; null if none was made recently. */
  callMs: number | null
}

/** The remaining time of a run, or why it is unknown. */
export const TimeLeft = z.object({
  state: z.enum(['estimated', 'paused', 'no_worker', 'halted', 'waiting_for_retries', 'rate_unknown']),
  seconds: z.number().nullable().describe('Null unless it can be estimated'),
  calls_per_second: z.number().nullable(),
  paused_ms: z.number().nullable().describe('How long the platform asked for a pause'),
  calls: z.int().describe('Calls that the run can make now'),
  ahead: z.int().describe('Calls of work that goes first'),
  later: z.int().describe('Entities that will be retried later'),
})
export type TimeLeft = z.infer<typeof TimeLeft>

/**
 * The remaining time of a run at the present rate of the pacer, whatever the rate was before. If the platform is too
 * slow for that rate, the calls in flight determine the rate (Little's law).
 */
export function timeLeft(demand: Demand, supply: Supply): TimeLeft {
  const { workers, halted, pausedForMs, permittedPerSecond } = supply
  const none = { seconds: null, calls_per_second: null, paused_ms: null, ...demand }
  if (workers === 0) return { ...none, state: 'no_worker' }
  if (halted) return { ...none, state: 'halted' }
  if (demand.calls === 0 && demand.later > 0) return { ...none, state: 'waiting_for_retries' }
  if (pausedForMs > 0) return { ...none, state: 'paused', paused_ms: pausedForMs }
  if (!permittedPerSecond) return { ...none, state: 'rate_unknown' }
  const calls_per_second = Math.min(permittedPerSecond, inFlightRate(supply))
  const seconds = (demand.calls + demand.ahead) / calls_per_second
  return { ...none, state: 'estimated', seconds, calls_per_second }
}

function inFlightRate({ concurrency, callMs }: Pick<Supply, 'concurrency' | 'callMs'>): number {
  return concurrency && callMs ? (concurrency * 1000) / callMs : Number.POSITIVE_INFINITY
}

/** Whether the calls that the workers may have in flight are all that keeps them from making more. */
export function isAtConcurrency(pace: Pace): boolean {
  return pace.calls_per_second >= 0.9 * inFlightRate(supplyOf(pace))
}
