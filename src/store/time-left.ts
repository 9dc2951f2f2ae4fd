import type { Pool } from 'pg'
import { MIRRORS } from '../core/mirror.ts'
import { type Demand, type Supply, type TimeLeft, timeLeft } from '../core/time-left.ts'
import { readHalts } from './halt.ts'
import { type Pace, readPace } from './pace.ts'

/** So many queries tell how many of them an update follows. */
const TELLING_QUERIES = 20

/**
 * What the running runs still need. An employee is one query, and one update where HR's row is another than the platform
 * confirmed; where it never confirmed one, as often as an update followed a query lately. Everything else is one call. Work of a
 * halted enterprise makes none: a run that has no other is halted.
 */
const DEMANDS = `
  with work as (
    select p.run_id, p.priority, h.scope is not null as halted, h.scope is null and p.enqueued_at is null and p.not_before > now() as later,
           count(*)::int as entities,
           sum(case when p.operation <> 'update-employee' or not e.active or e.vanished_at is not null then 1
                    when e.acknowledged_hash = e.source_hash then 1
                    when e.acknowledged_hash is not null then 2
                    else 1 + $2::float8 end) as calls
    from dirsync.pending p
    left join dirsync.employee e on e.enterprise_code = p.enterprise_code and e.userid = p.entity_key
    left join dirsync.halt h on h.scope = p.enterprise_code
    group by 1, 2, 3, 4
  ), own as (
    select r.id, max(w.priority) as priority, coalesce(sum(w.calls) filter (where not w.later and not w.halted), 0) as calls,
           coalesce(sum(w.entities) filter (where w.later), 0)::int as later, coalesce(bool_and(w.halted), false) as halted
    from dirsync.sync_run r left join work w on w.run_id = r.id
    where r.state = 'running' and r.kind <> all ($3) and ($1::bigint is null or r.id = $1)
    group by r.id
  )
  select id as run, round(calls)::int as calls, later, halted,
         round(coalesce((select sum(w.calls) from work w
                         where not w.later and not w.halted and w.priority < own.priority and w.run_id is distinct from own.id), 0))::int as ahead
  from own order by id`

/** How long running runs still take, mirrors left out. */
export async function timesLeft(
  db: Pool,
  pace: Pace,
  run: number | null = null,
): Promise<(TimeLeft & { run: number })[]> {
  const [{ rows }, halts] = await Promise.all([
    db.query<Demand & { run: number; halted: boolean }>(DEMANDS, [run, updateShare(pace), MIRRORS]),
    readHalts(db),
  ])
  const supply = supplyOf(
    pace,
    halts.some(halt => halt.scope === '*'),
  )
  return rows.map(({ run, halted, ...demand }) => ({
    run,
    ...timeLeft(demand, { ...supply, halted: supply.halted || halted }),
  }))
}

/** How long one run still takes; null when it is not running, or a mirror. */
export async function runTimeLeft(db: Pool, run: number): Promise<TimeLeft | null> {
  const [found] = await timesLeft(db, await readPace(db), run)
  if (!found) return null
  const { run: _, ...left } = found
  return left
}

function supplyOf(pace: Pace, halted: boolean): Supply {
  const calls = pace.operations.reduce((sum, row) => sum + row.calls, 0)
  const ms = pace.operations.reduce((sum, row) => sum + row.calls * row.mean_duration_ms, 0)
  return {
    workers: pace.workers,
    halted,
    pausedForMs: pace.paused_until ? Math.max(0, pace.paused_until.getTime() - Date.now()) : 0,
    permittedPerSecond: pace.permitted_per_second,
    concurrency: pace.concurrency,
    callMs: calls === 0 ? null : ms / calls,
  }
}

/** How often an update followed a query in the last minutes: 0 to 1; 1 while too few were made to tell. */
function updateShare({ operations }: Pace): number {
  const calls = (name: string) => operations.find(({ operation }) => operation === name)?.calls ?? 0
  const queries = calls('employee/get')
  return queries < TELLING_QUERIES ? 1 : Math.min(1, calls('employee/update') / queries)
}
