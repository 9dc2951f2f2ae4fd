import type pg from 'pg'
import type { Finding, RuleName, Severity } from '../../src/alerts/rule.ts'
import { RULES } from '../../src/alerts/rule.ts'
import { BORDERS } from './borders.ts'

/* Alerts, messages and channels as judging processes leave them in the tables. */

type Example = Pick<Finding, 'subject' | 'facts'>

/** Where a message as people get it has other facts than the border. */
const IN_FULL = {
  halt: {
    subject: 'E900',
    facts: {
      scope: 'E900',
      category: 'enterprise_code',
      message: 'The enterprise code is not bound to the application.',
      remedy: 'Bind it.',
    },
  },
  paused: {
    subject: '',
    facts: {
      category: 'paused',
      by: 'cli:anna',
      message: 'All calls are paused (cli:anna: until 18:00).',
      remedy: '',
    },
  },
  source_suspect: {
    subject: 'full',
    facts: { run: '8', kind: 'full', message: 'HR has returned no rows. Nothing was enqueued.' },
  },
  queue_away: { subject: '', facts: {} },
  database_away: { subject: '', facts: {} },
  // The tests' own channel is called ops, and is not told of itself.
  dead_channel: { subject: 'mail', facts: { answer: '535 authentication failed' } },
} as const satisfies Partial<Record<RuleName, Example>>

/** What each rule finds, with facts for its texts. */
export const FACTS = {
  ...Object.fromEntries(
    BORDERS.toReversed().map(({ rule, found: { subject, facts } }) => [rule, { subject, facts }]),
  ),
  ...IN_FULL,
} as Record<RuleName, Example> & typeof IN_FULL

/** A halt of everything, from which other alerts follow. */
export const EVERYTHING = { subject: '*', facts: { ...FACTS.halt.facts, scope: '*' } }

/** Plants an evaluation that was made just now, or long ago. */
export async function judged(db: pg.Pool, secondsAgo = 5): Promise<void> {
  await db.query(
    `insert into dirsync.alert_check (checked_at, checked_by, watched_since)
     values (now() - $1 * interval '1 second', gen_random_uuid(), now() - interval '1 day')
     on conflict (only_row) do update set checked_at = excluded.checked_at`,
    [secondsAgo],
  )
}

/** An alert that began so many minutes ago. Returns its number. */
export async function plantAlert(
  db: pg.Pool,
  rule: RuleName,
  options: {
    state?: 'pending' | 'firing' | 'ended'
    subject?: string
    severity?: Severity
    facts?: Finding['facts']
    minutes?: number
    endedMinutesAgo?: number
  } = {},
): Promise<number> {
  const { state = 'firing', minutes = 10, endedMinutesAgo = 1 } = options
  const { rows } = await db.query<{ id: number }>(
    `insert into dirsync.alert (rule, subject, severity, state, facts, since, raised_at, ended_at)
     select $1, $2, $3, $4, $5, now() - $6 * interval '1 minute',
            case when $4 <> 'pending' then now() - $6 * interval '1 minute' end,
            case when $4 = 'ended' then now() - $7 * interval '1 minute' end
     returning id::int`,
    [
      rule,
      options.subject ?? FACTS[rule].subject,
      options.severity ?? RULES[rule].severity,
      state,
      options.facts ?? FACTS[rule].facts,
      minutes,
      endedMinutesAgo,
    ],
  )
  return rows[0]?.id as number
}

/** Tells a channel of an alert. */
export async function plantNotice(
  db: pg.Pool,
  alert: number,
  channel: string,
  options: { event?: string; minutesAgo?: number; message?: 'sent' | 'waiting' | 'given_up' | null } = {},
): Promise<void> {
  const { event = 'raised', minutesAgo = 10, message = 'sent' } = options
  await db.query(
    `with message as (
       insert into dirsync.alert_message (channel, kind, content, state, sent_at)
       select $2, 'alerts', '{}', $5, case when $5 = 'sent' then now() end where $5 is not null
       returning id
     )
     insert into dirsync.alert_notice (alert_id, channel, event, at, message_id)
     values ($1, $2, $3, now() - $4 * interval '1 minute', (select id from message))`,
    [alert, channel, event, minutesAgo, message],
  )
}

/** A channel as a judging process has just seen it. */
export async function plantChannel(
  db: pg.Pool,
  name: string,
  options: {
    kind?: string
    target?: string
    least?: Severity
    language?: string
    sentMinutesAgo?: number | null
    failingMinutes?: number | null
    answer?: string
  } = {},
): Promise<void> {
  const { kind = 'dingtalk', target = 'oapi.dingtalk.com', least = 'warning', language = 'en' } = options
  await db.query(
    `insert into dirsync.alert_channel (name, kind, target, least, language, seen_at, last_sent_at, failing_since,
                                        last_answer)
     values ($1, $2, $3, $4, $5, now(), now() - $6 * interval '1 minute',
             now() - $7 * interval '1 minute', $8)`,
    [
      ...[name, kind, target, least, language],
      options.sentMinutesAgo === undefined ? 10 : options.sentMinutesAgo,
      options.failingMinutes ?? null,
      options.answer ?? null,
    ],
  )
}

/** Forgets all of it. */
export async function clearAlerts(db: pg.Pool): Promise<void> {
  await db.query(
    `truncate dirsync.alert, dirsync.alert_message, dirsync.alert_notice, dirsync.alert_channel, dirsync.alert_mute,
              dirsync.quiet_hours, dirsync.alert_check`,
  )
}
