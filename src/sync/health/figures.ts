import { countUpTo, LOOK_MS, MOST_COUNTED, onlyRow, type Pool } from '../../lib/database.ts'
import type { JobOperation } from '../../queue/job.ts'
import { EMPLOYEE_STATUSES, ENTERPRISES_WITH_SOURCE, hasSource } from '../outbox/employee.ts'
import { isInForceFor } from '../outbox/halts.ts'
import { type Pace, PLATFORM_PAUSE, readPace } from '../processes/pace.ts'
import { ALIVE, type Role } from '../processes/process.ts'
import { DOUBTED } from '../runs/restored.ts'
import {
  ACCOUNT_SINCE,
  EMPLOYEE_KINDS_SQL,
  FIRST_SYNC_ENDED,
  PRESENT_KINDS,
  RUN_SOURCES,
  type RunKind,
  type RunState,
} from '../runs/run.ts'

/**
 * SQL: how employees stand, for everything that shows or counts them: those that wait while a halt is in force are halted, those
 * whose enterprise no HR source has are read no more, whatever they were, and the others are as `employee.status` has them. Who waits
 * for a decision waits for that, as its plan says. `dirsync.note_statuses` counts in the same way.
 * @param row of `dirsync.employee`, or of `dirsync.tally`
 */
export function employeeStatus(row: string, column: 'status' | 'state' = 'status'): string {
  return `case when ${row}.${column} not in ('left', 'vanished', 'held') and not ${hasSource(row)} then 'no_source'
    when ${row}.${column} = 'waiting'
    and exists (select from dirsync.halt h where ${isInForceFor(`${row}.enterprise_code`)})
    then 'halted' else ${row}.${column} end`
}

/** As in `employee.status`; `halted`: waiting employees while work is halted; `no_source`: employees in scope without an HR source. */
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
  /** Of employees: none during the first sync on the present account, or of an HR source. `source`: empty if HR has only one, and for kinds that cover all. */
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
      and (kind not in ${EMPLOYEE_KINDS_SQL}
           or finished_at > ${ACCOUNT_SINCE} and ${FIRST_SYNC_ENDED} is not null)
  ), halts as (
    -- A source that does not answer halts each of its enterprises.
    select category, coalesce(s.name, '') as source, count(distinct coalesce(s.name, h.scope)),
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

/** Rows in the outbox. */
export async function countPending(db: Pool): Promise<number> {
  const { rows } = await db.query<{ n: number }>(
    `select coalesce(sum(n), 0)::int as n from dirsync.tally where source = 'pending'`,
  )
  return onlyRow(rows).n
}

/**
 * How many employees the platform has yet to be asked about since the database was restored, up to 10,000. No run asks about those whose
 * enterprise no HR source has.
 */
export function countDoubted(db: Pool): Promise<number> {
  return countUpTo(
    db,
    MOST_COUNTED,
    // By enterprise, as those of one without a source may be many.
    `from (${ENTERPRISES_WITH_SOURCE}) k
     cross join lateral (select from dirsync.employee e
                         where e.enterprise_code = k.enterprise_code and ${DOUBTED} and status in ('waiting', 'held')
                         limit ${MOST_COUNTED}) e`,
  )
}

/** Merges rows of the tally with equal keys. It is read as a whole, so it should stay short. */
export async function foldTally(db: Pool): Promise<void> {
  await db.query({ text: 'select dirsync.fold_tally()', query_timeout: LOOK_MS })
}

/** For how many days `call_minute` is kept. */
export const MINUTES_KEPT = 30
/** For how many days `call_hour` and `status_history` are: charts show 30 days, from the beginning of a day on. */
export const HOURS_KEPT = 35

/** SQL: when an enterprise last lost its HR source; null a week later: a mistake was noticed by then. */
export const SOURCE_LOST_AT = `(select source_lost_at from dirsync.deployment
  where source_lost_at > now() - interval '7 days')`

/**
 * Records the state of everything, for charts and alerts, and sums up the calls by hour. At most once per five minutes, across all callers.
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

/** The same where its job has not: that may be off, paused or rarer, or no scheduler runs. */
export async function noteMissedStatuses(db: Pool): Promise<void> {
  const { rowCount } = await db.query(
    `select from dirsync.status_history where at between now() - interval '5 minutes' and now()`,
  )
  if (rowCount === 0) await noteStatuses(db)
}
