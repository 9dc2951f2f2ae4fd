import { onlyRow, type Pool } from '../lib/database.ts'
import type { JobOperation } from '../queue/job.ts'
import { EMPLOYEE_STATUSES, hasSource } from './employee.ts'
import { ALIVE, type Role } from './process.ts'
import { PRESENT_KINDS, RUN_SOURCES, type RunKind, type RunState } from './run.ts'

/**
 * SQL: how employees stand, for everything that shows or counts them: those that wait while a halt is in force are halted, those
 * whose enterprise no HR source has any more wait for nothing, and the others are as `employee.status` has them.
 * @param row of `dirsync.employee`, or of `dirsync.tally`
 */
export function employeeStatus(row: string, column: 'status' | 'state' = 'status'): string {
  return `case when ${row}.${column} = 'waiting' and not ${hasSource(row)} then 'no_source'
    when ${row}.${column} = 'waiting'
    and exists (select from dirsync.halt h where h.scope in ('*', ${row}.enterprise_code))
    then 'halted' else ${row}.${column} end`
}

/** As in `employee.status`; `halted` and `no_source` are waiting employees while work is halted, or without an HR source. */
export const SHOWN_EMPLOYEE_STATUSES = [...EMPLOYEE_STATUSES, 'halted', 'no_source'] as const
export type ShownEmployeeStatus = (typeof SHOWN_EMPLOYEE_STATUSES)[number]

/** Statuses of employees who are not in service according to HR; all others are in scope. */
export const EMPLOYEE_STATUSES_OUT_OF_SCOPE = ['left', 'vanished'] as const

export const EMPLOYEE_STATUSES_IN_SCOPE = SHOWN_EMPLOYEE_STATUSES.filter(
  (
    status,
  ): status is Exclude<
    (typeof SHOWN_EMPLOYEE_STATUSES)[number],
    (typeof EMPLOYEE_STATUSES_OUT_OF_SCOPE)[number]
  > => !(EMPLOYEE_STATUSES_OUT_OF_SCOPE as readonly string[]).includes(status),
)

/** The state of everything in numbers, without personal data. Ages and durations are in seconds. */
export interface Figures {
  pending: { operation: JobOperation; enqueued: boolean; count: number; oldestAge: number }[]
  /** Without the resolved ones. */
  deadLetters: { category: string; state: string; count: number }[]
  /** That are kept; see `jobs/prune.ts`. */
  runs: { state: RunState; count: number }[]
  /** Since counting began; `seconds` is the sum of the times from request to end. */
  endedRuns: { kind: RunKind; state: RunState; ended: number; seconds: number }[]
  /** `source`: as for the runs; empty if HR has only one, and for kinds that cover all. */
  lastSuccesses: { kind: RunKind; source: string; age: number }[]
  /** `source`: the HR source that is away for all its enterprises, if there are several. */
  halts: { category: string; scope: 'everything' | 'source' | 'enterprise'; source: string; count: number }[]
  employees: { status: ShownEmployeeStatus; count: number }[]
  processes: { role: Role; count: number }[]
  /** Calls to the platform over the last ten seconds, and their share of the permitted rate. */
  pace: Pick<Pace, 'calls_per_second' | 'permitted_per_second' | 'utilisation'>
  /** How long to make no call from now on, because the platform asked for it. */
  platformPause: number
}

/**
 * Counts come from the tally, so the cost does not depend on the number of rows. One statement, so that they are
 * consistent.
 */
export async function readFigures(db: Pool): Promise<Figures> {
  const [{ calls_per_second, permitted_per_second, utilisation }, { rows }] = await Promise.all([
    readPace(db),
    db.query<Omit<Figures, 'pace'>>({ name: 'figures', text: FIGURES }),
  ])
  return { ...onlyRow(rows), pace: { calls_per_second, permitted_per_second, utilisation } }
}

/** SQL: seconds since a moment, never negative: the clock of the writing transaction may be a little ahead of ours. */
export const ageOf = (moment: string) => `greatest(extract(epoch from now() - ${moment}), 0)::float8`
/** SQL: the rows of a table or common table expression, as JSON. */
export const jsonRows = (name: string) => `(select coalesce(jsonb_agg(x), '[]') from ${name} x)`

/** SQL: until when the platform wants no calls at all, as the pacer and each worker know it; no row: it takes them. */
export const PLATFORM_PAUSE = `
  select paused_until, max(pause_reason) over () as pause_reason from (
    select paused_until, pause_reason from dirsync.pacer where gate = 'platform'
    union all
    select heartbeat_at + (pacer ->> 'pausedForMs')::float8 * interval '1 ms', null
    from dirsync.process where pacer is not null and ${ALIVE}) pauses
  where paused_until > now() order by paused_until desc limit 1`

const FIGURES = `
  with outbox as (
    select operation, enqueued, since, sum(n) as count
    from dirsync.tally where source = 'pending' group by 1, 2, 3 having sum(n) > 0
  ), pending as (
    select operation, enqueued, sum(count)::int as count, ${ageOf('min(since)')} as "oldestAge"
    from outbox group by 1, 2
  ), dead_letters as (
    select category, state, sum(n)::int as count
    from dirsync.tally where source = 'dead_letter' group by 1, 2 having sum(n) > 0
  ), runs as (
    select state, sum(n)::int as count
    from dirsync.tally where source = 'sync_run' group by 1 having sum(n) > 0
  ), last_successes as (
    select kind, name as source, ${ageOf('finished_at')} as age
    from (${PRESENT_KINDS}) k
    cross join lateral ${RUN_SOURCES} hr
    cross join lateral (select max(finished_at) as finished_at from dirsync.sync_run r
                        where r.kind = k.kind and r.hr_source = hr.name and r.state = 'done') s
    where finished_at is not null
  ), halts as (
    select category, coalesce(s.name, '') as source, count(*),
           case when s.name is not null then 'source' when h.scope = '*' then 'everything' else 'enterprise' end as scope
    from dirsync.halt h
    left join dirsync.hr_source s on h.category = 'hr_unavailable' and h.scope = any (s.enterprise_codes)
    group by 1, 2, 4
  ), employees as (
    select ${employeeStatus('t', 'state')} as status, sum(n)::int as count
    from dirsync.tally t where source = 'employee' group by 1 having sum(n) > 0
  ), processes as (
    select role, count(*) from dirsync.process, unnest(roles) as role where ${ALIVE} group by 1
  )
  select ${jsonRows('pending')} as pending, ${jsonRows('dead_letters')} as "deadLetters",
         ${jsonRows('runs')} as runs, ${jsonRows('dirsync.run_count')} as "endedRuns",
         ${jsonRows('last_successes')} as "lastSuccesses",
         ${jsonRows('halts')} as halts, ${jsonRows('employees')} as employees, ${jsonRows('processes')} as processes,
         coalesce((select extract(epoch from paused_until - now())::float8 from (${PLATFORM_PAUSE}) p), 0)
           as "platformPause"`

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
        select pacer, heartbeat_at from dirsync.process where pacer is not null and ${ALIVE}
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

/** Rows in the outbox. */
export async function countPending(db: Pool): Promise<number> {
  const { rows } = await db.query<{ n: number }>(
    `select coalesce(sum(n), 0)::int as n from dirsync.tally where source = 'pending'`,
  )
  return onlyRow(rows).n
}

/** Merges rows of the tally with equal keys. It is read as a whole, so it should stay short. */
export async function foldTally(db: Pool): Promise<void> {
  await db.query('select dirsync.fold_tally()')
}

/**
 * Records the state of everything and sums up the calls by hour, for charts. At most once per five minutes, across all callers.
 */
export async function noteStatuses(db: Pool): Promise<void> {
  // Written while the clock ran ahead, these would be taken for what was latest until it has caught up: calls of the last minutes, the
  // end of a halt, the last hour that was summed up.
  await db.query(`
    delete from dirsync.status_history where at > now();
    delete from dirsync.call_minute where minute > now();
    delete from dirsync.call_hour where hour > now()`)
  await db.query('select dirsync.note_statuses()')
}
