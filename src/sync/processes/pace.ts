import { onlyRow, type Pool } from '../../lib/database.ts'
import { ALIVE } from './process.ts'

/** SQL: until when the platform wants no calls at all, as the pacer and each worker know it; no row: it takes them. */
export const PLATFORM_PAUSE = `
  select paused_until, max(pause_reason) over () as pause_reason from (
    select paused_until, pause_reason from dirsync.pacer where gate = 'platform'
    union all
    select heartbeat_at + (pacer ->> 'pausedForMs')::float8 * interval '1 ms', null
    from dirsync.process where (pacer ->> 'pausedForMs')::float8 > 0 and ${ALIVE}) pauses
  where paused_until > now() order by paused_until desc limit 1`

/** How fast all processes call the platform. */
export interface Pace {
  /** Running processes that make calls for runs. */
  workers: number
  /** Calls of these processes per second, over the last ten seconds. */
  calls_per_second: number
  /** Calls of all processes. */
  calls_last_minute: number
  /** What pacer and cap permit; null while no worker is running, or an unknown limit has not been learnt yet. */
  permitted_per_second: number | null
  /** The configured calls per second; null if the rate is to be learnt, or no worker is running. */
  set_per_second: number | null
  /** Whether that was learnt, or lowered because the platform refused calls at the rate that was set. */
  learnt: boolean
  /** The rate at which the platform last rejected calls; null when none is known. */
  ceiling_per_second: number | null
  /** Share of the permitted rate that was used over the last ten seconds: 0 to 1. */
  utilisation: number | null
  /** Calls that wait for the pacer. */
  waiting: number
  /** Calls that may be in flight at a time; null if unlimited. */
  concurrency: number | null
  paused_until: Date | null
  pause_reason: string | null
  /** A lower rate that a person has set for a time. */
  cap: RateCapRow | null
  /** Of the last five minutes. */
  operations: {
    operation: string
    calls: number
    rate_limited: number
    failed: number
    mean_wait_ms: number
    longest_wait_ms: number
    mean_duration_ms: number
  }[]
}

/** See `dirsync.rate_cap`. */
export interface RateCapRow {
  per_second: number
  since: Date
  until: Date
  set_by: string
  reason: string
}

/** SQL: the calls of the last minutes or hours, by operation. */
export function callsWithin(span: string): string {
  return `
    select operation, sum(calls)::int as calls, sum(rate_limited)::int as rate_limited, sum(failed)::int as failed,
           round(sum(waited_ms) / sum(calls))::int as mean_wait_ms, max(longest_wait_ms) as longest_wait_ms,
           round(sum(duration_ms) / sum(calls))::int as mean_duration_ms
    from dirsync.call_minute where minute > now() - interval '${span}'
    group by operation order by calls desc, operation`
}

export async function readPace(db: Pool): Promise<Pace> {
  const [{ rows }, { rows: caps }, { rows: operations }] = await Promise.all([
    // A worker knows the learnt rate as of its last call, so the table of learnt rates takes precedence.
    db.query<Omit<Pace, 'utilisation' | 'cap' | 'operations'>>(`
      with pacer as (
        select pacer, heartbeat_at from dirsync.process where pacer is not null and aside_for is null and ${ALIVE}
      ), newest as (
        select case when pacer ->> 'set' is null
                    then coalesce(l.rate_per_second, nullif((pacer ->> 'ratePerSecond')::float8, 0))
                    else least(l.rate_per_second, (pacer ->> 'ratePerSecond')::float8) end as rate,
               (pacer ->> 'set')::float8 as set_rate,
               (pacer ->> 'learnt')::boolean or l.ceiling is not null as learnt,
               case when l.gate is null then (pacer ->> 'ceiling')::float8 else l.ceiling end as ceiling
        from pacer
        left join dirsync.learnt_rate l
          on l.gate = case when pacer ->> 'set' is not null then 'platform@' || (pacer ->> 'set')
                           when (pacer ->> 'learnt')::boolean then 'platform' end
        order by heartbeat_at desc limit 1
      ), pause as (${PLATFORM_PAUSE}
      ), last_minute as (
        -- Of the minute before, the share that lies within 60 seconds from now.
        select sum(calls * case when minute = date_trunc('minute', now()) then 1
                                else 1 - extract(second from now())::float8 / 60 end) as calls
        from dirsync.call_minute where minute >= date_trunc('minute', now()) - interval '1 minute'
      )
      select (select count(*)::int from pacer) as workers,
             (select coalesce(sum((pacer ->> 'callsPerSecond')::float8), 0) from pacer) as calls_per_second,
             (select coalesce(round(calls), 0)::int from last_minute) as calls_last_minute,
             case when n.rate is not null
                  then least(n.rate, (select per_second from dirsync.rate_cap where until > now())) end
               as permitted_per_second, n.set_rate as set_per_second,
             coalesce(n.learnt, false) as learnt, n.ceiling as ceiling_per_second,
             (select coalesce(sum((pacer ->> 'waiting')::int), 0)::int from pacer) as waiting,
             (select sum((pacer ->> 'concurrency')::int)::int from pacer) as concurrency,
             p.paused_until, p.pause_reason
      from (select) as one left join newest n on true left join pause p on true`),
    db.query<RateCapRow>(
      'select per_second, since, until, set_by, reason from dirsync.rate_cap where until > now()',
    ),
    db.query<Pace['operations'][number]>(callsWithin('5 minutes')),
  ])
  const pace = onlyRow(rows)
  const { calls_per_second, permitted_per_second } = pace
  return {
    ...pace,
    utilisation: permitted_per_second && Math.min(1, calls_per_second / permitted_per_second),
    cap: caps[0] ?? null,
    operations,
  }
}
