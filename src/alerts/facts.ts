import { onlyRow, type Pool } from '../lib/database.ts'
import { type OpenMoney, readOpenMoney } from '../money/open.ts'
import { jsonRows } from '../sync/health/figures.ts'
import { type Health, IS_FAILING, IS_IN_SETTINGS, readHealth, SUSPECT_CHECKS } from '../sync/health/health.ts'
import type { Halt } from '../sync/outbox/halts.ts'
import { FIRST_SYNC_ENDED, HELD_RUNS } from '../sync/runs/run.ts'
import type { Said } from '../texts/message.ts'

/** The input of the rules: the figures that are also metrics, and some rows in full of which there are few. */
export interface Facts extends Health {
  /** Money operations that were sent and may have been carried out; `for_person` counts those that need a person. */
  money: OpenMoney
  /** Why work is halted, including a person's pause. */
  stops: Stop[]
  heldRuns: { run: number; kind: string; source: string; planned: number; since: Date }[]
  /**
   * HR sources that the latest run of employees, or of departments, found suspect, or the latest check for a held one: that run, and
   * since when all have; `kind` is that of the first one, so that a full run in between is not told as another problem.
   */
  suspects: { run: number; kind: string; source: string; message: Said; since: Date }[]
  /**
   * The lowest number of open cases within the last hour, by category; a missing category was at zero at some time.
   * Null if nothing was recorded within that hour.
   */
  leastCases: Record<string, number> | null
  /**
   * Whether the first sync on this platform account is over, of each HR source that has begun it, and if so, whether
   * within the last hour.
   */
  firstSync: 'never' | 'lately' | 'long_ago'
  /** Calls of the last 15 minutes. */
  recentCalls: { calls: number; rejected: number }
  /** Channels that do not accept messages. */
  failingChannels: { channel: string; since: Date; answer: string | null }[]
}

interface Stop extends Omit<Halt, 'probes' | 'next_probe_at' | 'may_probe'> {
  /** The HR source that does not answer, for all its enterprises; empty if the halt is about its scope. */
  source: string
}

/** Reads the input of the rules, at a cost that does not grow with the number of employees. */
export async function readAlertFacts(db: Pool): Promise<Facts> {
  const [health, money, { rows }] = await Promise.all([
    readHealth(db),
    readOpenMoney(db),
    db.query<Details>({ name: 'alert facts', text: DETAILS }),
  ])
  const details = onlyRow(rows)
  return {
    ...health,
    ...details,
    money,
    stops: details.stops.map(dated),
    heldRuns: details.heldRuns.map(dated),
    suspects: details.suspects.map(dated),
    failingChannels: details.failingChannels.map(dated),
  }
}

type Details = Omit<Facts, keyof Health | 'money'>

/** JSON holds dates as texts. */
function dated<Row extends { since: Date }>(row: Row): Row {
  return { ...row, since: new Date(row.since) }
}

/** SQL: the HR sources that the latest run of employees, or of departments, found suspect, as `suspects`. */
export const SUSPECTS = `(
    select (array_agg(id order by at desc))[1] as run, (array_agg(kind order by since, id))[1] as kind, source,
           coalesce((array_agg(message order by at desc))[1], '[]') as message, min(since) as since
    from ${SUSPECT_CHECKS} c group by among, source)`

/** SQL: channels in the settings of running processes that do not accept messages, or not for all recipients. */
export const FAILING_CHANNELS = `
    select name as channel, failing_since as since, last_answer as answer
    from dirsync.alert_channel where ${IS_FAILING} and ${IS_IN_SETTINGS}`

const DETAILS = `
  with stops as (
    -- A source that is away halts each of its enterprises, and is one thing to be told of.
    select distinct on (coalesce(s.name, h.scope), s.name is null)
           h.scope, coalesce(s.name, '') as source, category, platform_code, message, remedy, raised_by,
           since
    from dirsync.halt h
    left join dirsync.hr_source s on h.category = 'hr_unavailable' and h.scope = any (s.enterprise_codes)
    order by coalesce(s.name, h.scope), s.name is null, since, h.scope
  ), held_runs as (
    select id as run, kind, hr_source as source, coalesce(planned, 0) as planned,
           coalesce(planned_at, requested_at) as since
    from ${HELD_RUNS} held
  ), suspects as (
    select * from ${SUSPECTS} s
  ), last_hour as (
    select open_cases from dirsync.status_history where at > now() - interval '1 hour'
  ), least_cases as (
    select key as category, min(value::int) as least
    from last_hour, jsonb_each_text(open_cases)
    group by key having count(*) = (select count(*) from last_hour)
  ), recent_calls as (
    select coalesce(sum(calls), 0)::int as calls, coalesce(sum(rate_limited), 0)::int as rejected
    from dirsync.call_minute where minute > now() - interval '15 minutes'
  ), failing_channels as (${FAILING_CHANNELS}
  )
  select ${jsonRows('stops')} as stops, ${jsonRows('held_runs')} as "heldRuns", ${jsonRows('suspects')} as suspects,
         case when exists (select from last_hour)
              then coalesce((select jsonb_object_agg(category, least) from least_cases), '{}') end as "leastCases",
         (select case when ended < now() - interval '1 hour' then 'long_ago'
                      when ended is not null then 'lately' else 'never' end
          from (select ${FIRST_SYNC_ENDED} as ended) first_sync) as "firstSync",
         (select to_jsonb(c) from recent_calls c) as "recentCalls",
         ${jsonRows('failing_channels')} as "failingChannels"`
