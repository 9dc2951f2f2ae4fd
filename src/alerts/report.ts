import { z } from 'zod'
import type { Config } from '../config.ts'
import {
  beforePosition,
  decodeCursor,
  MOMENT_AND_ID,
  momentKey,
  type PageAsked,
  pageByMoment,
} from '../lib/cursor.ts'
import { type Pool, placeholders } from '../lib/database.ts'
import { SaidText } from '../texts/failures.ts'
import { type Language, type TextKey, translator } from '../texts/texts.ts'
import { ChannelReport, readChannels, takersOf } from './channel-report.ts'
import { alertText } from './message.ts'
import { IS_EVALUATED } from './record.ts'
import {
  CALM_MINUTES,
  inhibitorOf,
  muteOf,
  RULE_NAMES,
  RULES,
  type RuleName,
  SEVERITIES,
  settingOf,
} from './rule.ts'

/*
 * What console and shell show about alerts: a few rows, however many employees there are. Rules that only another
 * version of dirsync knows are left out.
 */

const severity = z.enum(SEVERITIES)
const rule = z.enum(RULE_NAMES)

/** What a channel was last told about an alert. */
const LastTold = z.object({
  channel: z.string(),
  event: z
    .string()
    .describe('raised, repeated, acknowledged, recovered; withheld: quiet hours or a mute kept it back'),
  at: z.date(),
  message_state: z
    .string()
    .nullable()
    .describe('waiting, sent, given_up; null: there is no message, or it is older than 30 days'),
})
export type LastTold = z.infer<typeof LastTold>

/** Why an alert is not told, or not told again. */
const KeptBack = z.object({
  why: z.enum(['mute', 'inhibited', 'quiet_hours']),
  until: z
    .date()
    .nullable()
    .describe('When it may be told; null: when the rule below has nothing more to say'),
  rule: rule.nullable().describe('The rule that says the same, or what it follows from'),
  by: z.string().nullable().describe('Who muted it'),
  reason: z.string().nullable().describe('Why it was muted'),
})
export type KeptBack = z.infer<typeof KeptBack>

/** An alert, with its texts in the language of the reader. */
export const Alert = z.object({
  id: z.int(),
  rule,
  subject: z.string().describe('What it is about, where a rule may find several things; otherwise empty'),
  severity,
  state: z.enum(['pending', 'firing', 'ended']).describe('pending: not for as long as its rule wants'),
  title: z.string(),
  what: z.string(),
  remedy: z.string(),
  facts: z.record(z.string(), z.union([z.string(), z.number(), z.null(), SaidText])),
  since: z.date(),
  raised_at: z.date().nullable(),
  returns: z.int().describe(`How often it came back within ${CALM_MINUTES} minutes of being gone`),
  gone_at: z
    .date()
    .nullable()
    .describe(
      `Since when it no longer holds; it is over after a minute of that, or ${CALM_MINUTES} once it came back`,
    ),
  ended_at: z.date().nullable(),
  acknowledged_by: z
    .string()
    .nullable()
    .describe(
      'Who takes care of it: it is not told again until it is over, or a further refund or top-up comes to it; null: no one has said so',
    ),
  acknowledged_at: z.date().nullable(),
  acknowledged_reason: z.string().nullable(),
  told: z.array(LastTold).describe('By channel; empty if none was told'),
  channels: z.array(z.string()).describe('Those that take alerts of its severity'),
  kept_back: KeptBack.nullable().describe('Why it is not sent now; null: it is sent'),
})
export type Alert = z.infer<typeof Alert>

/** A mute in force. */
const Mute = z.object({
  rule: z.string(),
  subject: z
    .string()
    .nullable()
    .describe('The subject of the alerts that it keeps back; null: all of the rule'),
  until: z.date(),
  reason: z.string(),
  muted_by: z.string(),
  muted_at: z.date(),
})
type Mute = z.infer<typeof Mute>

export const QuietHours = z.object({
  starts: z.string().describe('HH:MM'),
  ends: z.string().describe('HH:MM; before `starts`: on the next day'),
  time_zone: z.string(),
  set_by: z.string(),
  set_at: z.date(),
  until: z.date().nullable().describe('When they are over, if it is quiet now; null: it is not'),
})
export type QuietHours = z.infer<typeof QuietHours>

/** The latest call to HEARTBEAT_URL, for an external monitor that notices silence. */
const Heartbeat = z.object({
  is_set: z.boolean().describe('Whether the process that answers has it among its settings'),
  run: z
    .int()
    .nullable()
    .describe('The good run that it is called for; null: there was none, or it is not called any more'),
  called_at: z.date().nullable().describe('When the monitor took it; null: not yet'),
  answer: z.string().nullable().describe('What it answered last; null: nothing yet'),
})

/** A rule with its thresholds, from the settings of the process that answers. */
export const RuleReport = z.object({
  rule,
  title: z.string(),
  severity,
  figure: z.string().describe('When it is an alert, in words'),
  off: z.boolean(),
  settings: z.array(z.object({ name: z.string(), value: z.number().nullable().describe('null: off') })),
  inhibited_by: z.array(rule).describe('While one of these fires, it is not told'),
  channels: z.array(z.string()).describe('Those that take alerts of its severity'),
  firing: z.int().describe('Alerts of it that go on'),
  mutes: z.array(Mute),
})
export type RuleReport = z.infer<typeof RuleReport>

/** The state of alerting as a whole. */
export const AlertsReport = z.object({
  checked_at: z.date().nullable().describe('When the rules were last checked; null: never'),
  is_checked: z.boolean().describe('false: not evaluated for two minutes'),
  alerts: z.array(Alert).describe('What goes on or is about to be raised: the worst first, then the newest'),
  firing: z.int().describe('How many go on; at most 200 are listed'),
  channels: z.array(ChannelReport),
  rules: z.array(RuleReport),
  quiet_hours: QuietHours.nullable(),
  heartbeat: Heartbeat,
})
export type AlertsReport = z.infer<typeof AlertsReport>

/** The settings that the report needs: thresholds and channels. */
type Settings = Pick<Config, (`ALERT_${string}` & keyof Config) | 'channels' | 'HEARTBEAT_URL'>

/** More alerts than this at once are only counted. */
const MOST = 200

/**
 * Reads the current alerts.
 * @param of.language the language of the texts
 * @param of.only only the alerts of this rule; everything else is unaffected
 */
export async function readAlerts(
  db: Pool,
  settings: Settings,
  of: { language: Language; only?: RuleName },
): Promise<AlertsReport> {
  const { language, only } = of
  const [lastCheck, { rows }, { rows: firing }, channels, { rows: mutes }, quietHours, heartbeat] =
    await Promise.all([
      readLastCheck(db),
      db.query<AlertRow>(
        `select ${COLUMNS} from dirsync.alert where state <> 'ended' and rule = any($1) ${WORST_FIRST} limit $2`,
        [only === undefined ? RULE_NAMES : [only], MOST],
      ),
      db.query<FiringAlert>(FIRING_ALERTS),
      readChannels(db, settings.channels),
      db.query<Mute>(
        `select rule, subject, until, reason, muted_by, muted_at from dirsync.alert_mute
         where until > now() order by subject nulls first`,
      ),
      readQuietHours(db),
      db.query<Pick<z.infer<typeof Heartbeat>, 'run' | 'called_at' | 'answer'>>(
        `select run_id as run, called_at, answer from dirsync.heartbeat_call
         -- Another process may have the address, and then has called it lately.
         where $1 or greatest(called_at, not_before, leased_until) > now() - interval '1 day'`,
        [settings.HEARTBEAT_URL !== null],
      ),
    ])
  return {
    ...lastCheck,
    alerts: (await withTexts(db, language, rows)).map(alert => ({
      ...alert,
      channels: takersOf(alert.severity, channels),
      kept_back: keptBack(alert, firing, mutes, quietHours),
    })),
    firing: firing.reduce((sum, { n }) => sum + n, 0),
    channels,
    rules: RULE_NAMES.map(name => ({
      ...figuresOf(name, settings, language),
      channels: takersOf(RULES[name].severity, channels),
      firing: firing.filter(({ rule }) => rule === name).reduce((sum, { n }) => sum + n, 0),
      mutes: mutes.filter(({ rule }) => rule === name),
    })),
    quiet_hours: quietHours,
    heartbeat: {
      is_set: settings.HEARTBEAT_URL !== null,
      ...(heartbeat.rows[0] ?? { run: null, called_at: null, answer: null }),
    },
  }
}

async function readLastCheck(db: Pool): Promise<Pick<AlertsReport, 'checked_at' | 'is_checked'>> {
  const { rows } = await db.query<Pick<AlertsReport, 'checked_at' | 'is_checked'>>(
    `select checked_at, ${IS_EVALUATED} as is_checked from dirsync.alert_check`,
  )
  return rows[0] ?? { checked_at: null, is_checked: false }
}

async function readQuietHours(db: Pool): Promise<QuietHours | null> {
  const { rows } = await db.query<QuietHours>(
    `select to_char(starts, 'HH24:MI') as starts, to_char(ends, 'HH24:MI') as ends, time_zone, set_by, set_at,
            case when dirsync.is_quiet(now())
                 then (l.clock::date + ends + case when l.clock::time < ends then interval '0' else interval '1 day' end)
                      at time zone time_zone end as until
     from dirsync.quiet_hours
     cross join lateral (select now() at time zone time_zone as clock) l`,
  )
  return rows[0] ?? null
}

// Alerts

type AlertRow = Omit<Alert, 'title' | 'what' | 'remedy' | 'told' | 'channels' | 'kept_back'>

const WORST_FIRST = `order by array_position('{critical,warning,info}', severity), coalesce(raised_at, since) desc, id desc`
const COLUMNS =
  'id, rule, subject, severity, state, facts, since, raised_at, returns, gone_at, ended_at, acknowledged_by, acknowledged_at, acknowledged_reason'

/** The alerts with their texts, and with what each channel was last told. */
async function withTexts(
  db: Pool,
  language: Language,
  rows: readonly AlertRow[],
): Promise<Omit<Alert, 'channels' | 'kept_back'>[]> {
  const { rows: told } = await db.query<LastTold & { alert_id: number }>(
    `select distinct on (n.alert_id, n.channel)
            n.alert_id, n.channel, n.event, n.at, m.state as message_state
     from dirsync.alert_notice n left join dirsync.alert_message m on m.id = n.message_id
     where n.alert_id = any($1) order by n.alert_id, n.channel, n.at desc`,
    [rows.map(({ id }) => id)],
  )
  const byAlert = Map.groupBy(told, ({ alert_id }) => alert_id)
  return rows.map(row => ({
    ...row,
    ...textsOf(language, row),
    told: (byAlert.get(row.id) ?? []).map(({ alert_id: _, ...each }) => each),
  }))
}

function textsOf(language: Language, row: Pick<AlertRow, 'rule' | 'subject' | 'facts' | 'returns'>) {
  const { title, what, remedy } = alertText(language, row)
  return { title, what, remedy }
}

/**
 * Alerts of a rule about the same subject that fire or ended recently, as far as needed to see which others follow
 * from them.
 */
export interface FiringAlert {
  rule: string
  /** The facts that identify their subject. */
  facts: Readonly<Record<string, unknown>>
  /** How many fire. */
  n: number
  muted: boolean
  /** When the latest ended; null if one fires. */
  ended_at: Date | null
}

/** SQL: whether an alert `a` is muted. */
const IS_MUTED = `exists (
  select from dirsync.alert_mute m
  where m.rule = a.rule and (m.subject is null or m.subject = a.subject) and m.until > now())`

/** SQL: these alerts as {@link FiringAlert}. */
export const FIRING_ALERTS = `
  select a.rule, about.facts, (count(*) filter (where a.state = 'firing'))::int as n, muted,
         case when not bool_or(a.state = 'firing') then max(a.ended_at) end as ended_at
  from dirsync.alert a
  cross join lateral (select jsonb_strip_nulls(jsonb_build_object(
      'scope', a.facts -> 'scope', 'source', a.facts -> 'source', 'kind', a.facts -> 'kind',
      'process', a.facts -> 'process'))) about (facts)
  cross join lateral (select ${IS_MUTED}) m (muted)
  where a.state = 'firing' or a.state = 'ended' and a.ended_at > now() - interval '1 hour'
  group by a.rule, about.facts, muted
  union all
  -- As for decisions about messages, the time without any evaluation counts like missing roles.
  select 'role_missing', '{}', 0, false, watched_since from dirsync.alert_check`

/** The rule that keeps an alert from being told, or null. Rows may have come as JSON, which holds dates as texts. */
function inhibitor(
  alert: { rule: RuleName; facts: FiringAlert['facts'] },
  firing: readonly FiringAlert[],
): RuleName | undefined {
  const causes = firing.map(({ ended_at, ...cause }) => ({
    ...cause,
    endedAt: ended_at && new Date(ended_at),
  }))
  return inhibitorOf(alert, causes, new Date())
}

/** Whether alerts need attention: they are neither muted nor implied by others. */
function isAskedFor(
  { rule, facts, muted }: Pick<FiringAlert, 'rule' | 'facts' | 'muted'>,
  firing: readonly FiringAlert[],
): boolean {
  return !muted && isRule(rule) && inhibitor({ rule, facts }, firing) === undefined
}

function isRule(name: string): name is RuleName {
  return Object.hasOwn(RULES, name)
}

/** Who is on an alert, and whether it is raised or over. */
export const AlertTaken = Alert.pick({
  id: true,
  state: true,
  ended_at: true,
  acknowledged_by: true,
  acknowledged_at: true,
})

/** Undefined: there never was an alert of that number. */
export async function readTaken(db: Pool, id: number): Promise<z.infer<typeof AlertTaken> | undefined> {
  const { rows } = await db.query<z.infer<typeof AlertTaken>>(
    'select id, state, ended_at, acknowledged_by, acknowledged_at from dirsync.alert where id = $1',
    [id],
  )
  return rows[0]
}

/** How many alerts need attention. */
export function countUrgent(firing: readonly FiringAlert[]): number {
  return firing.filter(each => isAskedFor(each, firing)).reduce((sum, { n }) => sum + n, 0)
}

/** An alert that needs attention, in its own words alone. */
export const UrgentAlert = Alert.pick({
  ...{ rule: true, subject: true, severity: true, since: true },
  ...{ title: true, what: true, remedy: true },
})
export type UrgentAlert = z.infer<typeof UrgentAlert>

/** Reads the alerts that need attention, the worst first. */
export async function readUrgent(db: Pool, language: Language): Promise<UrgentAlert[]> {
  const { rows: firing } = await db.query<FiringAlert>(FIRING_ALERTS)
  if (countUrgent(firing) === 0) return []
  const { rows } = await db.query<AlertRow>(
    `select ${COLUMNS} from dirsync.alert a where state = 'firing' and not ${IS_MUTED} ${WORST_FIRST} limit $1`,
    [MOST],
  )
  return rows
    .filter(row => isAskedFor({ ...row, muted: false }, firing))
    .map(row => {
      const { rule, subject, severity, since } = row
      return { rule, subject, severity, since, ...textsOf(language, row) }
    })
}

/** What keeps an alert from being told: the strongest reason. */
function keptBack(
  { rule, subject, severity, state, facts }: AlertRow,
  firing: readonly FiringAlert[],
  mutes: readonly Mute[],
  quietHours: QuietHours | null,
): KeptBack | null {
  if (state !== 'firing') return null
  const mute = muteOf({ rule, subject }, mutes, new Date())
  const none = { until: null, rule: null, by: null, reason: null }
  if (mute) return { ...none, why: 'mute', until: mute.until, by: mute.muted_by, reason: mute.reason }
  const cause = inhibitor({ rule, facts }, firing)
  if (cause) return { ...none, why: 'inhibited', rule: cause }
  const until = quietHours?.until ?? null
  return until && severity !== 'critical' ? { ...none, why: 'quiet_hours', until } : null
}

/** Whether a current alert needs attention: not if it is muted, implied by another one, or not raised yet. */
export function isUrgent({ state, kept_back }: Pick<Alert, 'state' | 'kept_back'>): boolean {
  return state === 'firing' && (kept_back === null || kept_back.why === 'quiet_hours')
}

/** A page of ended alerts, the latest first. */
export const AlertHistory = z.object({
  items: z.array(Alert.omit({ channels: true, kept_back: true })),
  next: z.string().nullable(),
})
export type AlertHistory = z.infer<typeof AlertHistory>

/**
 * Reads the alerts that have ended.
 * @throws CursorError
 */
export async function readAlertHistory(
  db: Pool,
  language: Language,
  filter: { rule?: RuleName | undefined; from?: Date | undefined; to?: Date | undefined },
  page: PageAsked,
): Promise<AlertHistory> {
  const { values, place } = placeholders(
    page.limit + 1,
    filter.rule === undefined ? RULE_NAMES : [filter.rule],
  )
  const conditions = [`state = 'ended' and raised_at is not null and rule = any($2)`]
  if (filter.from) conditions.push(`ended_at >= ${place(filter.from)}`)
  if (filter.to) conditions.push(`ended_at < ${place(filter.to)}`)
  const position = decodeCursor(MOMENT_AND_ID, page.after)
  if (position) conditions.push(beforePosition('ended_at', position, place))
  const { rows } = await db.query<AlertRow & { cursor_moment: number }>(
    `select ${COLUMNS}, ${momentKey('ended_at')} as cursor_moment from dirsync.alert
     where ${conditions.join(' and ')} order by ended_at desc, id desc limit $1`,
    values,
  )
  const { items, next } = pageByMoment(rows, page.limit)
  return { items: await withTexts(db, language, items), next }
}

// Rules

function figuresOf(
  rule: RuleName,
  settings: Settings,
  language: Language,
): Omit<RuleReport, 'channels' | 'firing' | 'mutes'> {
  const t = translator(language)
  const { severity, inhibitedBy = [], second } = RULES[rule]
  const text = `alerts.figure.${RULES[rule].figure.lasts ?? rule}` as TextKey
  const name = settingOf(rule)
  const figure = settings[name]
  const further = second ? [{ name: second.name, value: settings[second.name] }] : []
  return {
    rule,
    title: t(`alert_rule.${rule}`),
    severity,
    figure: figure === null ? t('alerts.figure.off') : t(text, { figure, second: further[0]?.value ?? null }),
    off: figure === null,
    settings: [{ name, value: figure }, ...further],
    inhibited_by: [...inhibitedBy],
  }
}
