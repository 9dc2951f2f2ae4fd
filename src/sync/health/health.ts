import { ifPast, onlyRow, type Pool } from '../../lib/database.ts'
import { RECENT_CREATIONS } from '../../platform/token-store.ts'
import type { JobOperation } from '../../queue/job.ts'
import type { Said } from '../../texts/message.ts'
import { isInForceFor } from '../outbox/halts.ts'
import { PLATFORM_PAUSE } from '../processes/pace.ts'
import {
  ALIVE,
  ASIDE_PROCESSES,
  type Aside,
  IS_OUTDATED,
  LOST_PROCESSES,
  NEEDED_ROLES,
  PROCESS_NAME,
} from '../processes/process.ts'
import { codesSinceAt } from '../runs/earlier-runs.ts'
import { MIRRORS } from '../runs/mirror-kind.ts'
import {
  EACH_EMPLOYEE_KIND,
  OF_EVERYBODY,
  ofKind,
  PLANNED_UNTIL,
  READ_UNTIL,
  RUN_SOURCES,
} from '../runs/run.ts'
import { ageOf, type Figures, jsonRows, readFigures } from './figures.ts'

/** Runs with a schedule of their own, which the directory depends on. */
type ScheduledKind = 'changes' | 'full'

/** Whether all is well, for both metrics and alerts. Ages and durations are in seconds. */
export interface Health extends Figures {
  /**
   * Per kind and source: whether the latest run that checked HR, or the latest check for a held one, found it suspect, and no
   * later one of employees found it right; `delivering`: because files were still being delivered.
   */
  sourceChecks: {
    kind: ScheduledKind | 'departments'
    source: string
    suspect: boolean
    delivering: boolean
  }[]
  /** Kinds that are scheduled and not paused. */
  schedules: ScheduleHealth[]
  /** HR's sources of files, and for how long runs have read the latest delivery. */
  deliveries: { source: string; age: number }[]
  /** Jobs that a person has paused. */
  pausedSchedules: { job: string; by: string; reason: string; age: number }[]
  /**
   * Jobs that failed when they last ran, or whose latest run did, with the age of the first failure since the last
   * success. `schedules` covers `changes` and `full` runs.
   */
  failingJobs: { job: string; source: string; error: Said | null; age: number }[]
  /** Work outside full runs that nothing holds back, by operation; the oldest first. */
  work: WorkHealth[]
  /** For how long the oldest work outside full runs waits that a halt of everything, or a pause, holds back; null for none. */
  haltedWork: number | null
  /** Age of the job that a worker began last, whatever its outcome; null if none is recorded. */
  lastJob: number | null
  outcomesContradicted: ContradictedMoney[]
  /** Notified refunds of the last day that dirsync did not send in this form. */
  notificationsRefused: { count: number; latest: string | null }
  /** Within the last hour, for the present account. */
  tokenCreations: number
  /** The largest clock offset among running processes: the platform's time minus the process's. Null if unknown. */
  clockOffset: number | null
  /** Running processes that do not reach the queue, or are refused: for how long, and the error; the longest first. */
  queueAway: { process: string; age: number; error: string | null }[]
  /** For how long that has been so of all running workers, or of all schedulers; null if some of both reach it. */
  queueAwayForAll: number | null
  /** Running processes with other HR sources than the one that was started last, by their names. */
  outdatedProcesses: string[]
  /** Running processes that leave all work to others, but for those who cannot reach a platform that is away for all. */
  asideProcesses: { process: string; reason: Aside }[]
  /** Processes that died without signing off and were not replaced. */
  lostProcesses: { process: string; roles: string }[]
  /** The last answer of the monitor at HEARTBEAT_URL; null if it accepts calls, or none is due. */
  heartbeatFailing: string | null
  database: { bytes: number; connections: number; connectionsLimit: number }
  /** Alerts that fire. */
  alerts: { rule: string; severity: string; count: number }[]
  /** Channels in the settings of a running process. */
  channels: { channel: string; failing: number }[]
  /** Of the last seven days. */
  messages: { channel: string; state: 'waiting' | 'sent' | 'given_up'; count: number }[]
  /** How long it took to read all this. */
  took: number
}

interface ScheduleHealth {
  kind: ScheduledKind
  /** The HR source; empty if there is only one. */
  source: string
  /** The longest time between two ticks. */
  interval: number
  /** Age of the last good run over all employees; null if there was none. */
  lastGood: number | null
  /**
   * For how long there should have been a good run: counted from the last one, from when its schedule came into
   * force, from the end of whatever delayed it, or from the last check of HR for a held run; minus the time that a
   * run under way needs.
   */
  unsuccessful: number
  /** Why the latest run failed, or a held one could not be checked again; null for neither. */
  error: Said | null
}

interface WorkHealth {
  operation: JobOperation
  count: number
  /** How many of them are in the queue. */
  queued: number
  /** Time since it was requested and could have been done, minus the time that all such work under way needs. */
  age: number
  /** The oldest was tried, and put off. */
  isPutOff: boolean
}

/** The row of the statement, before the time that runs need is subtracted. */
interface Row extends Omit<Health, 'schedules' | 'work' | 'took' | keyof Figures> {
  schedules: (Omit<ScheduleHealth, 'unsuccessful'> & {
    idle: number
    planned: number | null
    begun: number | null
  })[]
  work: WorkHealth[]
  plannedWork: number
}

/** An employee costs a query, an update, and another update if the platform rejects a field. */
const CALLS_EACH = 3
/** Calls per second while the rate is not yet known. */
const UNKNOWN_RATE = 1

/** Reads it at a cost that does not grow with the number of employees. */
export async function readHealth(db: Pool): Promise<Health> {
  const startedAt = performance.now()
  const [figures, { rows }] = await Promise.all([
    readFigures(db),
    db.query<Row>({ name: 'health', text: HEALTH }),
  ])
  const { schedules, work, plannedWork, ...health } = onlyRow(rows)
  // A large amount of work needs time.
  const secondsEach = CALLS_EACH / (figures.pace.permitted_per_second ?? UNKNOWN_RATE)
  return {
    ...figures,
    ...health,
    schedules: schedules.map(({ kind, source, interval, lastGood, error, idle, planned, begun }) => {
      const overtime = begun === null ? idle : Math.max(0, begun - (planned ?? 0) * secondsEach)
      return { kind, source, interval, lastGood, error, unsuccessful: Math.min(idle, overtime) }
    }),
    work: work
      .map(row => ({ ...row, age: Math.max(0, row.age - plannedWork * secondsEach) }))
      .sort((a, b) => b.age - a.age),
    took: (performance.now() - startedAt) / 1000,
  }
}

/** Condition on a run: its message is one of these, or has one as a part. */
const says = (...keys: string[]) =>
  `coalesce(jsonb_path_exists(message, '$.** ? (${keys.map(key => `@.key == "${key}"`).join(' || ')})'), false)`

/**
 * Condition on a run: it shows whether such runs can be planned, or of a mirror carried out. One that is merely requested or planned,
 * was cancelled before that, sends a part of another one's plan, or was of no employees whom HR or dirsync knows and a source has
 * shows nothing.
 */
export const HAS_TRIED = `part_of is null
  and not (state = 'failed' and ${says('said.knows_nobody', 'said.no_source', 'said.no_source_of_none')})
  and (state = 'failed' or planned_at is not null
  and state not in ('requested', 'planning') and (state <> 'running' or kind not in ('${MIRRORS.join("', '")}')))`

/** Condition on a run: it has checked HR, and passed the sanity gate, or did not. */
export const HAS_CHECKED = `${HAS_TRIED} and state <> 'failed'`

/** Runs of which the latest one counts: a condition on a run `r`, and the order that finds that one in an index. */
export interface Runs {
  which: string
  latestFirst: string
}

export const RUNS_OF_EVERYBODY: Runs = { which: OF_EVERYBODY, latestFirst: 'r.id desc' }

/** Those of the kind `k.kind`. */
export const RUNS_OF_KIND: Runs = { which: ofKind('k.kind'), latestFirst: 'r.kind, r.id desc' }

/** SQL: the latest such run of the HR source `s` that fulfils a condition. */
export function latestRun({ which, latestFirst }: Runs, condition: string): string {
  return `(select id, state, message, ${PLANNED_UNTIL} as planned_until from dirsync.sync_run r
           where ${which} and r.hr_source = s.name and ${condition} order by ${latestFirst} limit 1)`
}

/**
 * SQL: what found HR suspect since it was last found right: runs, and checks for those that are held.
 * @param kind one of theirs, which says what sources there are
 */
const suspectChecks = (kind: string, runs: Runs) => `
    select k.kind as among, s.name as source, found.*
    from (values ('${kind}')) k (kind)
    cross join lateral ${RUN_SOURCES} s
    left join lateral ${latestRun(runs, `${HAS_CHECKED} and state <> 'source_suspect'`)} passed on true
    -- That one was decided since changes nothing about what the checks for it have found. What is still to come is of a clock that was
    -- put back.
    left join lateral (select ${READ_UNTIL} as read_until from dirsync.sync_run r
                       where checked_at <= now() and suspect_since is null and ${runs.which} and r.hr_source = s.name
                       order by checked_at desc limit 1) checked on true
    cross join lateral (
      select id, r.kind, message, finished_at as since, finished_at as at,
             ${says('said.delivery_incomplete')} as delivering
      from dirsync.sync_run r
      where ${runs.which} and r.hr_source = s.name and state = 'source_suspect'
        and id > coalesce(passed.id, 0)
        and finished_at > greatest(checked.read_until, ${codesSinceAt('s.name')}, '-infinity')
      union all
      select id, r.kind, coalesce(nullif(jsonb_path_query_array(message, '$[*] ? (@.key == "said.suspect")'), '[]'), message),
             suspect_since, checked_at, false
      from dirsync.sync_run r
      where ${runs.which} and r.hr_source = s.name and suspect_since is not null
        -- One that is held is checked again whatever enterprises the source has.
        and (finished_at is null or checked_at > coalesce(${codesSinceAt('s.name')}, '-infinity'))
        and checked_at > coalesce(greatest(${ifPast('passed.planned_until')}, checked.read_until), '-infinity')) found`

/** SQL: the same of employees, and of departments. */
export const SUSPECT_CHECKS = `(${suspectChecks('changes', RUNS_OF_EVERYBODY)}
    union all ${suspectChecks('departments', RUNS_OF_KIND)})`

/** Condition on a tick: it ran, and has ended. */
const RAN = 'finished_at is not null and skipped is null'
/** Condition on a run: it ended by itself, not by a person's decision. */
const SUCCEEDED_OR_FAILED = `part_of is null and finished_at is not null and state not in ('cancelled', 'rejected', 'superseded')`
/**
 * SQL: whether a message waits that a channel does not take, or the latest one was not taken for all of its recipients. Nothing
 * tries a channel that no message waits for.
 */
export const IS_FAILING = `(failing_since is not null
  and (last_sent_at >= failing_since
       or exists (select from dirsync.alert_message m
                  where m.state = 'waiting' and split_part(m.channel, '/', 1) = name)))`

/** Condition on an alert channel: it is in the settings of a running process. */
export const IS_IN_SETTINGS = `seen_at > now() - interval '5 minutes'`
/** A monitor that does not answer is called at least this often. */
const CALLED_WITHIN = `interval '15 minutes'`

/** What was recorded with one outcome and within seven days had, or may have had, the other; the latest one, and its order or account. */
export interface ContradictedMoney {
  kind: 'refund' | 'topup'
  count: number
  latest: string
  of: string
  /**
   * Of the latest one: the platform said that it was carried out, or more of its order is shown refunded than is known; or that it
   * refused it.
   */
  how: 'carried_out' | 'perhaps' | 'refused'
}

/** SQL: {@link ContradictedMoney}. */
export const CONTRADICTED = `
  select kind, count(*)::int as count, (array_agg(number order by at desc))[1] as latest,
         (array_agg(place order by at desc))[1] as of,
         (array_agg(case when state <> 'rejected' then 'carried_out'
                         when settled_at < at then 'perhaps' else 'refused' end order by at desc))[1] as how
  from (select 'refund' as kind, outer_refund_no as number, outer_trade_no as place, contradicted_at as at,
               state, settled_at
        from dirsync.refund
        union all
        select 'topup', external_code, account_openid, contradicted_at, state, settled_at from dirsync.topup) money
  where at > now() - interval '7 days'
  group by kind order by kind`

/** SQL: signed refund notifications of the last day that match no refund; the platform repeats them for as long. */
export const REFUSED_OF_DAY = `
  select outer_refund_no, reason, last_at from dirsync.refused_notification
  where last_at > now() - interval '1 day'`

const HEALTH = `
  with everything_halted as (
    -- When the last halt of everything was over, to five minutes: what waited for it could not be done before.
    select max(at) as at from dirsync.status_history where at > now() - interval '7 days' and is_halted
  ), halted_until as (
    -- The same of one enterprise.
    select scope, max(at) as at from dirsync.status_history, unnest(halted_scopes) scope
    where at > now() - interval '7 days' group by scope
  ), suspect_checks as (
    select * from ${SUSPECT_CHECKS} c
  ), checked as (
    select k.kind, s.name as source from ${EACH_EMPLOYEE_KIND} k (kind)
    cross join lateral ${RUN_SOURCES} s
    cross join lateral (select from dirsync.sync_run r
                        where ${OF_EVERYBODY} and r.kind = k.kind and r.hr_source = s.name and ${HAS_CHECKED}
                        limit 1) r
    union all
    select k.kind, s.name from (values ('departments')) k (kind)
    cross join lateral ${RUN_SOURCES} s
    cross join lateral ${latestRun(RUNS_OF_KIND, HAS_CHECKED)} r
  ), source_checks as (
    select kind, source, delivering is not null as suspect, coalesce(delivering, false) as delivering
    from (select kind, source, (select delivering from suspect_checks c
                                where c.kind = checked.kind and c.source = checked.source
                                order by at desc limit 1) as delivering
          from checked) latest
  ), schedules as (
    select k.kind, hr.name as source, s.interval_seconds as interval,
           case when good.finished_at is not null then ${ageOf('good.finished_at')} end as "lastGood",
           ${ageOf(`greatest(good.finished_at, s.in_force_since, late.claimed_at, halted.at,
                             latest.decided_at, held.checked_at, added.at, own.at)`)} as idle,
           latest.planned,
           coalesce(case when latest.state = 'failed' then latest.message end,
                    jsonb_path_query_first(held.message, '$[*] ? (@.key == "said.not_checked").values.reason')) as error,
           case when latest.state = 'running' then ${ageOf('greatest(latest.planned_at, latest.decided_at)')} end as begun
    from (values ('changes', 'sync-changes'), ('full', 'full-resync')) k (kind, job)
    join dirsync.job_schedule s
      on s.job = k.job and s.interval_seconds is not null and s.paused_at is null
    cross join everything_halted halted
    cross join lateral ${RUN_SOURCES} hr
    -- When all enterprises of one of several sources were last halted, as they are while it does not answer.
    cross join lateral (select max(at) as at from dirsync.status_history h join dirsync.hr_source o on o.name = hr.name
                        where at > now() - interval '7 days' and o.enterprise_codes <@ h.halted_scopes
                          and not o.enterprise_codes <@ (select dirsync.halted_scopes())) own
    -- A schedule may be older than one of several sources, or than its enterprises. Of one from before that was kept, the first tick
    -- that found it has asked for a run.
    cross join lateral (select coalesce(${codesSinceAt('hr.name')}, case when hr.name <> '' then coalesce(
                          (select requested_at from dirsync.sync_run r
                           where ${OF_EVERYBODY} and r.hr_source = hr.name order by id limit 1), now()) end) as at) added
    left join lateral (select finished_at from dirsync.sync_run r
                       where ${OF_EVERYBODY} and r.kind = k.kind and r.hr_source = hr.name and state = 'done'
                       order by id desc limit 1) good on true
    left join lateral (select state, message, planned, ${PLANNED_UNTIL} as planned_at, decided_at from dirsync.sync_run r
                       where ${OF_EVERYBODY} and r.kind = k.kind and r.hr_source = hr.name
                       order by id desc limit 1) latest on true
    -- While a run is held HR is checked again and again: it waits for a person, not for the schedule.
    left join lateral (select ${READ_UNTIL} as checked_at, message from dirsync.sync_run r
                       where ${OF_EVERYBODY} and r.hr_source = hr.name
                         and state = 'held' and finished_at is null
                       order by 1 desc nulls last limit 1) held on true
    -- A tick that came later than the next one was due: no scheduler was running, or the database was away.
    left join lateral (select max(claimed_at) as claimed_at from dirsync.job_tick t
                       where t.job = k.job and requested_by is null
                         and claimed_at > due_at + s.interval_seconds * interval '1 second') late on true
  ), in_force as (
    select job, interval_seconds from dirsync.job_schedule where interval_seconds is not null and paused_at is null
  ), paused_schedules as (
    select job, coalesce(paused_by, '') as by, coalesce(pause_reason, '') as reason, ${ageOf('paused_at')} as age
    from dirsync.job_schedule where interval_seconds is not null and paused_at is not null
  ), deliveries as (
    -- While no run reads it, it does not age.
    select d.source, extract(epoch from d.read_at - d.since)::float8 as age
    from (values ('changes')) k (kind) cross join lateral ${RUN_SOURCES} s join dirsync.hr_delivery d on d.source = s.name
  ), failing_jobs as (
    select s.job, '' as source,
           jsonb_build_object('key', 'said.words',
                              'values', jsonb_build_object('words', latest.error)) as error,
           ${ageOf('first.finished_at')} as age
    from in_force s
    cross join lateral (select error from dirsync.job_tick t where t.job = s.job and ${RAN}
                        order by due_at desc limit 1) latest
    left join lateral (select due_at from dirsync.job_tick t where t.job = s.job and ${RAN} and error is null
                       order by due_at desc limit 1) good on true
    cross join lateral (select finished_at from dirsync.job_tick t
                        where t.job = s.job and ${RAN} and due_at > coalesce(good.due_at, '-infinity')
                        order by due_at limit 1) first
    where latest.error is not null
    union all
    select k.job, hr.name, latest.message, ${ageOf('first.finished_at')}
    from (values ('departments', 'departments'), ('openids', 'openids'), ('orders', 'mirror-orders'),
                 ('accounts', 'mirror-accounts'), ('taxpayers', 'mirror-taxpayers')) k (kind, job)
    join in_force s on s.job = k.job
    cross join lateral ${RUN_SOURCES} hr
    cross join lateral (select state, message, finished_at from dirsync.sync_run r
                        where ${ofKind('k.kind')} and r.hr_source = hr.name and ${SUCCEEDED_OR_FAILED}
                        order by r.kind, r.id desc limit 1) latest
    left join lateral (select id from dirsync.sync_run r
                       where ${ofKind('k.kind')} and r.hr_source = hr.name and ${SUCCEEDED_OR_FAILED}
                         and state <> 'failed'
                       order by r.kind, r.id desc limit 1) good on true
    cross join lateral (select finished_at from dirsync.sync_run r
                        where ${ofKind('k.kind')} and r.hr_source = hr.name and state = 'failed'
                          and r.id > coalesce(good.id, 0)
                        order by r.kind desc, r.id limit 1) first
    -- A mirror that was switched off has a schedule still, and no runs.
    where latest.state = 'failed'
      and latest.finished_at > now() - interval '1 hour' - 2 * s.interval_seconds * interval '1 second'
  ), queue_away as (
    select ${PROCESS_NAME} as process, ${ageOf('queue_away_since')} as age, queue_error as error
    from dirsync.process where queue_away_since is not null and ${ALIVE} order by queue_away_since
  ), queue_away_for_all as (
    select ${ageOf('max(queue_away_since)')} as age
    from dirsync.process, unnest(roles) role
    where ${ALIVE} and role in ('${NEEDED_ROLES.join("', '")}')
    group by role having bool_and(queue_away_since is not null)
  ), aside as (${ASIDE_PROCESSES}
  ), lost as (${LOST_PROCESSES}
  ), outbox as (
    select operation, enterprise_code, run_id, enqueued, since, due, sum(n) as n
    from dirsync.tally where source = 'pending' and priority < 7 group by 1, 2, 3, 4, 5, 6 having sum(n) > 0
  ), work as (
    -- An entity that is asked for anew, because HR has changed it, has waited since then; one that was put off, since it was due again,
    -- but for no more than a day: what it waits for may need a person.
    select operation, sum(n)::int as count, coalesce(sum(n) filter (where enqueued), 0)::int as queued,
           ${ageOf('min(waits.since)')} as age,
           (array_agg(o.due is not null order by waits.since))[1] as "isPutOff"
    from outbox o
    cross join everything_halted halted
    left join halted_until own on own.scope = o.enterprise_code
    -- When the first worker came after a time without any. One that takes over from a dead one is not such a worker.
    cross join (select max(started_at) as since from dirsync.process p
                where 'worker' = any (roles)
                  and not exists (select from dirsync.process o
                                  where 'worker' = any (o.roles) and o.started_at < p.started_at
                                    and o.heartbeat_at >= p.started_at - interval '1 minute')) workers
    left join dirsync.sync_run r on r.id = o.run_id
    cross join lateral (
      select greatest(o.since, case when o.since > now() - interval '1 day' then o.due end, r.requested_at, r.decided_at,
                      halted.at, own.at, workers.since, (select paused_until from (${PLATFORM_PAUSE}) pause)) as since) waits
    where not exists (select from dirsync.halt h where ${isInForceFor('o.enterprise_code')})
    group by operation
  ), halted_work as (
    -- What was put off has waited since it was due.
    select ${ageOf('min(greatest(o.since, o.due, r.requested_at, r.decided_at, h.since))')} as age
    from dirsync.halt h cross join outbox o left join dirsync.sync_run r on r.id = o.run_id
    where h.scope = '*'
  ), contradicted as (${CONTRADICTED}
  ), refused as (
    select count(*)::int as count, (array_agg(outer_refund_no order by last_at desc))[1] as latest
    from (${REFUSED_OF_DAY}) day
  ), alerts as (
    select rule, severity, count(*)::int as count from dirsync.alert where state = 'firing' group by 1, 2
  ), channels as (
    select name as channel, case when ${IS_FAILING} then ${ageOf('failing_since')} else 0 end as failing
    from dirsync.alert_channel where ${IS_IN_SETTINGS}
  ), messages as (
    select split_part(channel, '/', 1) as channel, state, count(*)::int as count
    from dirsync.alert_message where created_at > now() - interval '7 days' group by 1, 2
  )
  select ${jsonRows('source_checks')} as "sourceChecks", ${jsonRows('schedules')} as schedules, ${jsonRows('work')} as work,
         (select age from halted_work) as "haltedWork",
         (select ${ageOf('started_at')} from dirsync.attempt order by id desc limit 1) as "lastJob",
         -- Of full runs, what is merely asked for has the lowest priority and delays nothing.
         (select coalesce(sum(planned - case when kind = 'full' then coalesce((plan #>> '{reasons,asked}')::int, 0)
                                             else 0 end), 0)::int
          -- One that was decided in parts is sent by their runs.
          from dirsync.sync_run where state = 'running' and finished_at is null and undecided is null) as "plannedWork",
         ${jsonRows('contradicted')} as "outcomesContradicted",
         (select to_jsonb(refused) from refused) as "notificationsRefused",
         ${RECENT_CREATIONS} as "tokenCreations",
         (select (pacer ->> 'clockOffsetMs')::float8 / 1000 from dirsync.process
          where pacer ->> 'clockOffsetMs' is not null and ${ALIVE}
          order by abs((pacer ->> 'clockOffsetMs')::float8) desc limit 1) as "clockOffset",
         ${jsonRows('queue_away')} as "queueAway",
         (select max(age) from queue_away_for_all) as "queueAwayForAll",
         (select coalesce(jsonb_agg(${PROCESS_NAME} order by started_at), '[]')
          from dirsync.process where ${ALIVE} and ${IS_OUTDATED}) as "outdatedProcesses",
         ${jsonRows('aside')} as "asideProcesses",
         ${jsonRows('deliveries')} as deliveries, ${jsonRows('paused_schedules')} as "pausedSchedules", ${jsonRows('failing_jobs')} as "failingJobs",
         ${jsonRows('lost')} as "lostProcesses",
         (select answer from dirsync.heartbeat_call
          where called_at is null and greatest(not_before, leased_until) > now() - ${CALLED_WITHIN}) as "heartbeatFailing",
         (select jsonb_build_object(
            'bytes', pg_database_size(current_database()),
            -- pg_stat_activity hides from ordinary users which sessions are clients'.
            'connections', (select sum(numbackends) from pg_stat_database),
            'connectionsLimit', current_setting('max_connections')::int
              - current_setting('superuser_reserved_connections')::int
              - coalesce(current_setting('reserved_connections', true)::int, 0))) as database,
         ${jsonRows('alerts')} as alerts, ${jsonRows('channels')} as channels,
         ${jsonRows('messages')} as messages`
