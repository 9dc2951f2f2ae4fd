import { LOCKS } from '../lib/advisory-lock.ts'
import { type ClientBase, onlyRow, type Pool } from '../lib/database.ts'
import { IS_IN_SETTINGS } from '../sync/health/health.ts'
import { haltWhere } from '../sync/outbox/halts.ts'
import { type Channel, type ChannelSettings, targetOf } from './channel.ts'
import type { Outlook, RaisedAlert, Told } from './decide.ts'
import { IS_FREE, IS_UNWATCHED } from './outbox.ts'
import { CALM_MINUTES, type Finding, RULE_NAMES, RULES, type RuleName } from './rule.ts'

/*
 * What PostgreSQL stores about alerts: who evaluated, what was found, what each channel was told. An evaluation is
 * one transaction, and its `now()` is the moment of the evaluation, so a process that dies leaves nothing half done.
 */

/**
 * Claims the evaluation of this moment. It stays with the process that evaluated last, unless that one misses two.
 * While the database is down it cannot be asked which process is to tell people, so there must be no doubt which one
 * evaluated last.
 * @param gapMs minimum time between two evaluations
 * @returns the moment, or null if another process is evaluating or has just done so; and whether this process was the
 * last to evaluate
 */
export async function claimEvaluation(
  db: ClientBase,
  processId: string,
  gapMs: number,
): Promise<{ now: Date | null; isLast: boolean }> {
  const { rows } = await db.query<{ mine: boolean; now: Date; last: string | null }>(
    `with claimed as (
       insert into dirsync.alert_check as j (checked_at, checked_by)
       select now(), $1 where pg_try_advisory_xact_lock($3)
       on conflict (only_row) do update
       set checked_at = excluded.checked_at, checked_by = excluded.checked_by,
           watched_since = case when j.${IS_UNWATCHED} then now()
                                else least(j.watched_since, now()) end
       where j.checked_at <= now() - $2 * interval '1 ms' * case j.checked_by when $1 then 1 else 2 end
          -- The server's clock was put back, or another server with another clock took over.
          or j.checked_at > now() + interval '1 minute'
       returning 1
     )
     select exists (select from claimed) as mine, now() as now,
            (select checked_by from dirsync.alert_check) as last`,
    [processId, gapMs, LOCKS.alerts],
  )
  const { mine, now, last } = onlyRow(rows)
  return { now: mine ? now : null, isLast: mine || last === processId }
}

/** Condition on `dirsync.alert_check`: a process has evaluated lately. */
export const IS_EVALUATED = `checked_at > now() - interval '2 minutes'`

/** Whether any process has evaluated within two minutes, as far as that can be read. */
export async function wasEvaluated(db: Pool): Promise<boolean> {
  const { rowCount } = await db
    .query(`select from dirsync.alert_check where ${IS_EVALUATED}`)
    .catch(() => ({ rowCount: 0 }))
  return rowCount === 1
}

/** An alert that an evaluation raised or ended. */
export interface Change {
  id: number
  event: 'raised' | 'ended'
  rule: RuleName
  subject: string
  facts: Finding['facts']
}

/** How long an alert must be gone before it counts as over. */
const GONE_FOR = `interval '60 seconds'`
const CALM_FOR = `interval '${CALM_MINUTES} minutes'`
const OVER_IF_GONE_BY = `now() - case when returns > 0 then ${CALM_FOR} else ${GONE_FOR} end`

/** SQL: how often an alert that begins at a moment has come back, for the same cause. */
export const returnsOf = (rule: string, subject: string, since: string, facts: string) => `(
  select coalesce(max(returns) + 1, 0) from dirsync.alert
  where state = 'ended' and rule = ${rule} and subject = ${subject} and ended_at > ${since} - ${CALM_FOR}
    and ${isSameCause('facts', facts)})`

/** SQL: whether alerts have the same cause, where a subject may have several, as a halt has. */
const isSameCause = (facts: string, others: string) =>
  `${facts} ->> 'category' is not distinct from ${others} ->> 'category'`

/**
 * SQL: since when a pending alert `a` has held that is found again as `f`. Moments of the future are from before the clock was put
 * back. While no process evaluated it need not have held.
 */
const PENDING_SINCE = `coalesce(f.since, greatest(least(a.since, now()), watched.watched_since))`

/** Updates the alerts to everything that is wrong now. */
export async function recordFindings(db: ClientBase, findings: readonly Finding[]): Promise<Change[]> {
  const found = findings.map(({ rule, subject, facts, since = null, forMs }) => ({
    ...{ rule, subject, facts, since },
    severity: RULES[rule].severity,
    for_ms: forMs,
    news_if_more: RULES[rule].newsIfMore ?? null,
  }))
  // Whoever knows of the alert, or has taken it over, knows the other cause.
  const { rows: replaced } = await db.query<Change>(
    `update dirsync.alert a set state = 'ended', gone_at = coalesce(gone_at, now()), ended_at = coalesce(gone_at, now())
     from jsonb_to_recordset($1) as f (rule text, subject text, facts jsonb)
     where state = 'firing' and a.rule = f.rule and a.subject = f.subject and not ${isSameCause('a.facts', 'f.facts')}
     returning a.id, 'ended' as event, a.rule, a.subject, a.facts`,
    [JSON.stringify(found)],
  )
  // What comes after all that was acknowledged was gone is more, too.
  await db.query(
    `update dirsync.alert a
     set grew_at = now(), acknowledged_by = null, acknowledged_at = null, acknowledged_reason = null
     from jsonb_to_recordset($1) as f (rule text, subject text, facts jsonb, news_if_more text[])
     where state = 'firing' and acknowledged_by is not null and news_if_more is not null
       and a.rule = f.rule and a.subject = f.subject
       and (gone_at is not null
            or exists (select from unnest(news_if_more) name
                       where (f.facts ->> name)::float8 > (a.facts ->> name)::float8))`,
    [JSON.stringify(found)],
  )
  const { rows } = await db.query<Change>(
    `with found as (
       select distinct on (rule, subject) rule, subject, severity, facts,
              case when since is not null then least(since, now()) end as since,
              now() - for_ms * interval '1 ms' as long_enough
       from jsonb_to_recordset($1)
         as f (rule text, subject text, severity text, facts jsonb, since timestamptz, for_ms float8)
       order by rule, subject, since
     ), kept as (
       -- While it is pending, what it began with may be over and something later in its place.
       update dirsync.alert a
       set facts = f.facts, gone_at = null,
           returns = a.returns + case when a.gone_at <= now() - ${GONE_FOR} then 1 else 0 end,
           since = case a.state when 'pending' then ${PENDING_SINCE} else a.since end,
           state = case when a.state = 'firing' or ${PENDING_SINCE} <= f.long_enough
                   then 'firing' else 'pending' end,
           raised_at = case when a.state = 'firing' then a.raised_at
                            when ${PENDING_SINCE} <= f.long_enough then now() end
       from found f left join dirsync.alert_check watched on true
       where a.state <> 'ended' and a.rule = f.rule and a.subject = f.subject
       returning a.*
     ), new as (
       insert into dirsync.alert (rule, subject, severity, facts, since, returns, state, raised_at)
       select rule, subject, severity, facts, coalesce(since, now()),
              ${returnsOf('f.rule', 'f.subject', 'coalesce(f.since, now())', 'f.facts')},
              case when coalesce(since, now()) <= long_enough then 'firing' else 'pending' end,
              case when coalesce(since, now()) <= long_enough then now() end
       from found f
       where not exists (select from dirsync.alert a
                         where a.state <> 'ended' and a.rule = f.rule and a.subject = f.subject)
       returning *
     ), gone as (
       update dirsync.alert a
       set gone_at = least(gone_at, now()),
           state = case when gone_at <= ${OVER_IF_GONE_BY} then 'ended' else 'firing' end,
           ended_at = case when gone_at <= ${OVER_IF_GONE_BY} then gone_at end
       where state = 'firing'
         and not exists (select from found f where f.rule = a.rule and f.subject = a.subject)
       returning a.*
     ), forgotten as (
       delete from dirsync.alert a
       where state = 'pending'
         and not exists (select from found f where f.rule = a.rule and f.subject = a.subject)
     ), changed as (
       select * from kept where raised_at = now()
       union all select * from new where state = 'firing'
       union all select * from gone where state = 'ended'
     )
     select id, case state when 'firing' then 'raised' else 'ended' end as event, rule, subject, facts
     from changed order by id`,
    [JSON.stringify(found)],
  )
  return [...replaced, ...rows]
}

/** How long a channel that no process has any more keeps its state: as long as messages wait for one that is away. */
const FORGOTTEN_AFTER = `interval '1 day'`

/**
 * Records which channels this process's settings name, for people and for the rule that finds dead ones. The channels of
 * processes with other settings keep their state.
 */
export async function noteChannels(db: ClientBase, channels: readonly Channel[]): Promise<void> {
  await storeChannels(db, channels)
  await db.query(`delete from dirsync.alert_channel where seen_at < now() - ${FORGOTTEN_AFTER}`)
}

/**
 * Records the channels that the evaluating process does not have. It renews its own more often, so that no process waits
 * for its rows.
 */
export async function noteOtherChannels(db: ClientBase, channels: readonly Channel[]): Promise<void> {
  const { rows } = await db.query<{ name: string }>(
    `select name from dirsync.alert_channel where seen_at > now() - interval '1 minute'`,
  )
  const noted = new Set(rows.map(({ name }) => name))
  const others = channels.filter(({ settings }) => !noted.has(settings.name))
  if (others.length > 0) await storeChannels(db, others)
}

async function storeChannels(db: ClientBase, channels: readonly Channel[]): Promise<void> {
  const rows = channels.map(({ settings }) => {
    const { name, kind, least, language, events = null } = settings
    return { name, kind, target: targetOf(settings), least, language, events }
  })
  await db.query(
    `insert into dirsync.alert_channel as c (name, kind, target, least, language, events, seen_at)
     select name, kind, target, least, language, events, now()
     from jsonb_to_recordset($1)
       as n (name text, kind text, target text, least text, language text, events text[])
     order by name
     on conflict (name) do update
     set (kind, target, least, language, events, seen_at)
       = (excluded.kind, excluded.target, excluded.least, excluded.language, excluded.events, excluded.seen_at)`,
    [JSON.stringify(rows)],
  )
}

/** The channels that any process has, and that are told of alerts: whoever has one sends what is written for it. */
export async function readRecipients(db: ClientBase): Promise<Recipients> {
  const { rows } = await db.query<Recipients[number]>(
    `select name, kind, least, language from dirsync.alert_channel where ${IS_IN_SETTINGS} and events is null order by name`,
  )
  return rows
}

type Recipients = readonly Pick<ChannelSettings, 'name' | 'kind' | 'least' | 'language'>[]

/** How long an ended alert is still considered: its recovery may have to wait for quiet hours, or a channel that is away. */
const ENDED_WITHIN = `interval '7 days'`

/** How long alerts wait for older events, which their receiver may refuse. */
const EVENTS_FIRST = `interval '10 minutes'`

/**
 * Everything that decisions about messages depend on, at the time of the evaluation. Waiting messages that are not
 * being sent are withdrawn: they stay locked until the transaction ends, and their content counts as not told, as does that
 * of messages that were given up. Events that a webhook was to get before it was switched to alerts are no news of theirs: it
 * gets them first, unless it has not taken them by {@link EVENTS_FIRST}.
 */
export async function readOutlook(db: ClientBase, recipients: Recipients): Promise<Outlook> {
  const names = recipients.map(({ name }) => name)
  const { rows: takenBack } = await db.query<{ id: number; channel: string }>(
    `select id, channel from dirsync.alert_message
     where state = 'waiting' and channel = any ($1)
       and (kind <> 'events' or channel <> all ($2)
            or created_at not between now() - ${EVENTS_FIRST} and now()) and ${IS_FREE}
     order by id for update skip locked`,
    [names, recipients.filter(({ kind }) => kind === 'webhook').map(({ name }) => name)],
  )
  const free = takenBack.map(({ id }) => id)
  const { rows: busy } = await db.query<{ channel: string }>(
    `select channel from dirsync.alert_message
     where state = 'waiting' and channel = any ($1) and id <> all ($2)`,
    [names, free],
  )
  const { rows: sent } = await db.query<Outlook['sent'][number]>(
    `select channel, kind, sent_at as at,
            (select coalesce(jsonb_agg(jsonb_build_object('rule', a.rule, 'subject', a.subject)), '[]')
             from dirsync.alert_notice n join dirsync.alert a on a.id = n.alert_id
             where n.message_id = m.id) as about
     from dirsync.alert_message m
     where state = 'sent' and channel = any ($1) and sent_at between now() - interval '1 hour' and now() + interval '1 minute'
     order by sent_at`,
    [names],
  )
  const { rows: alerts } = await db.query<RaisedAlert>(
    `select id, rule, subject, severity, state, facts, since, returns, gone_at as "goneAt", ended_at as "endedAt",
            case when acknowledged_by is not null
                 then jsonb_build_object('by', acknowledged_by, 'reason', acknowledged_reason) end as acknowledged
     from dirsync.alert a
     where rule = any ($1)
       and (state = 'firing' or state = 'ended' and ended_at > now() - ${ENDED_WITHIN})
     order by id`,
    [RULE_NAMES],
  )
  const { rows: told } = await db.query<Told>(
    `select alert_id as "alertId", channel,
            min(at) filter (where event in ('raised', 'repeated')) as "firstAt",
            max(at) filter (where event in ('raised', 'repeated') and is_latest) as "lastAt",
            coalesce(bool_or(event = 'acknowledged' and is_latest), false) as "isAcknowledged",
            coalesce(bool_or(event = 'recovered'), false) as "isRecovered",
            coalesce(bool_or(event = 'withheld'), false) as "isWithheld",
            max(waiting) as waiting
     from (select n.alert_id, n.channel, coalesce(m.sent_at, n.at) as at, n.at >= coalesce(a.grew_at, n.at) as is_latest,
                  case when m.id = any ($3) then n.event end as waiting,
                  case when m.id = any ($3) or m.state = 'given_up' then null else n.event end as event
           from dirsync.alert_notice n
           join dirsync.alert a on a.id = n.alert_id
           left join dirsync.alert_message m on m.id = n.message_id
           where n.alert_id = any ($1) and n.channel = any ($2)) n
     group by alert_id, channel`,
    [alerts.map(({ id }) => id), names, free],
  )
  const { rows: mutes } = await db.query<Outlook['mutes'][number]>(
    'select rule, subject, until from dirsync.alert_mute where until > now()',
  )
  const { rows: moment } = await db.query<Pick<Outlook, 'now' | 'watchedSince' | 'isQuiet' | 'stop'>>(
    `select now() as now, dirsync.is_quiet(now()) as "isQuiet", watched_since as "watchedSince",
            ${haltWhere(`h.scope = '*'`)} as stop
     from dirsync.alert_check`,
  )
  return {
    ...onlyRow(moment),
    alerts,
    told,
    sent,
    busy: busy.map(({ channel }) => channel),
    waiting: takenBack,
    mutes,
  }
}
