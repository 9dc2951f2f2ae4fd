import { createHash } from 'node:crypto'
import { minuteTime, zoneName } from '../lib/time-text.ts'
import type { Event } from '../sync/health/events.ts'
import type { HaltKind } from '../sync/outbox/halts.ts'
import { actorText } from '../texts/actor.ts'
import { inLanguage } from '../texts/failures.ts'
import { isSaid } from '../texts/message.ts'
import { type Language, type Translate, translator } from '../texts/texts.ts'
import type { AlertEvent, Draft, Limits, RaisedAlert } from './decide.ts'
import { CALM_MINUTES, type Finding, RULES, type RuleName, type Severity } from './rule.ts'
import { FactReader } from './rules/kind.ts'

/** The most alerts in one message; the rest is counted. */
const MOST_ALERTS = 50
const MINUTE_MS = 60_000

/** The deployment that sends a message. */
export interface Sender {
  /** Null if sent without its database, as a test may be. */
  id: string | null
  /** DEPLOYMENT_NAME; null if it has no name. */
  name: string | null
}

/** The title of a message, preceded by the deployment's name, for people with several deployments. */
export function titled({ name }: Sender, title: string): string {
  return name === null ? title : `${name} · ${title}`
}

/** A message for a channel: short, in one language, without personal data. Stored before it is sent. */
export interface ChannelMessage {
  kind: 'alerts' | 'summary' | 'test' | 'events' | 'notice'
  language: Language
  /** Absent in messages of earlier versions. */
  deployment?: Sender
  /** The worst severity among its alerts; `info` for a test, `recovered` if all of them are over. */
  tone: Severity | 'recovered'
  /** One line of plain text, such as `dirsync: 2 alerts, the worst critical`. */
  title: string
  alerts: MessageAlert[]
  /** A further sentence, such as how many alerts were left out; null for none. */
  note: string | null
  /** The console's screen of alerts; null if CONSOLE_URL is not set. */
  url: string | null
  /** The text of that link, in the message's language. */
  urlText: string
  at: Date
  /** Of the kind `events`, which only webhooks get. */
  events?: readonly Event[]
  /**
   * Of the kind `notice`: the one mail address, or the one id to mention, read when it is sent, and not stored. Of others: the
   * mail addresses that were put off, while the channel's other recipients have the message.
   */
  recipients?: readonly string[]
}

/** One alert in a message. Texts are plain, except for backticks around commands. */
export interface MessageAlert {
  /** Rule and subject: the same in each message about it, whichever process sends it. */
  key: string
  rule: RuleName
  subject: string
  severity: Severity
  event: 'raised' | 'repeated' | 'acknowledged' | 'recovered'
  /** A few words: what is wrong and where, such as `Halted: enterprise E900`. */
  title: string
  /** One or two sentences with the figures. */
  what: string
  /** Since when it lasts, or its beginning, end and duration, in words. */
  when: string
  /** What to do; null once it is over. */
  remedy: string | null
  /** The console's page about it, with its runbook; null if CONSOLE_URL is not set. */
  url: string | null
  since: Date
  endedAt: Date | null
  facts: Readonly<Record<string, string | number | null>>
}

/**
 * The id by which receivers recognise a message, the same at each try: its number, and a hash of its subject. The
 * number alone would not do: two deployments, or one that was set up anew, use the same numbers, and a receiver would
 * drop the second message as a repetition.
 * @param id number of the message in its deployment
 */
export function deliveryId({ kind, alerts, url, at, deployment }: ChannelMessage, id: string): string {
  // The texts and the time of a waiting message may change, so the hash covers only what it is about.
  const rest = kind === 'summary' ? deployment?.id : at
  const about = alerts.length > 0 ? alerts.map(({ key, event, since }) => [key, event, since]) : rest
  const hash = createHash('sha256').update(JSON.stringify([kind, url, about]))
  return `dirsync-${id}-${hash.digest('hex').slice(0, 12)}`
}

/**
 * The message for a decision, in the language of its channel.
 * @param at.stop what keeps all work back; null for nothing
 * @param at.consoleUrl base of the links; null for no links
 */
export function compose(
  language: Language,
  { kind, events, silentUntil }: Pick<Draft, 'kind' | 'events' | 'silentUntil'>,
  at: { now: Date; stop: HaltKind | null; consoleUrl: string | null; deployment: Sender },
  { messagesPerHour }: Pick<Limits, 'messagesPerHour'>,
): ChannelMessage {
  const t = translator(language)
  // A summary only gives the number of events; they are told as soon as the channel may have messages again.
  const told = kind === 'summary' ? [] : events.slice(0, MOST_ALERTS)
  const alerts = told.map(({ alert, event }) => messageAlert(language, alert, event, at))
  const more = events.length - told.length
  const worst = events.find(({ event }) => event !== 'recovered')
  const tone = worst?.alert.severity ?? 'recovered'
  const note =
    silentUntil !== null
      ? t('alerts.message.summary', {
          ...{ most: messagesPerHour, more, zone: zoneName(at.now) },
          time: minuteTime(silentUntil, at.now),
        })
      : more > 0
        ? t('alerts.message.left_out', { more })
        : null
  return {
    ...{ kind, language, tone, alerts, note },
    title: titled(at.deployment, titleOf(t, { kind, tone, alerts }, events)),
    deployment: { id: at.deployment.id, name: at.deployment.name },
    url: at.consoleUrl && `${at.consoleUrl}/alerts`,
    urlText: t('alerts.message.open'),
    at: at.now,
  }
}

/** The title: that of a single alert, else the number of alerts. */
function titleOf(
  t: Translate,
  { kind, tone, alerts }: Pick<ChannelMessage, 'kind' | 'tone' | 'alerts'>,
  events: Draft['events'],
): string {
  const over = events.filter(({ event }) => event === 'recovered').length
  const [first] = alerts
  if (first && events.length === 1) return t(`alerts.message.${first.event}`, { title: first.title })
  if (tone === 'recovered') return t('alerts.message.all_recovered', { over })
  const counts = { going: events.length - over, over, worst: t(`alerts.message.worst.${tone}`) }
  return t(kind === 'summary' ? 'alerts.message.more' : 'alerts.message.several', counts)
}

function messageAlert(
  language: Language,
  alert: RaisedAlert,
  event: AlertEvent,
  { now, stop, consoleUrl }: { now: Date; stop: HaltKind | null; consoleUrl: string | null },
): MessageAlert {
  const { rule, subject, severity, since, endedAt, facts, returns } = alert
  const { title, what, remedy, over } = alertText(language, { rule, subject, facts, returns }, stop)
  return {
    key: subject === '' ? rule : `${rule}:${subject}`,
    ...{ rule, subject, severity, event, title, since, endedAt },
    facts: Object.fromEntries(
      Object.entries(facts).map(([name, fact]) => [name, isSaid(fact) ? inLanguage(language, fact) : fact]),
    ),
    what: event === 'recovered' ? over : event === 'acknowledged' ? takenText(language, alert) : what,
    when: whenText(language, since, endedAt, now),
    // The person who acknowledged it knows what to do.
    remedy: event === 'recovered' || event === 'acknowledged' ? null : remedy,
    url: consoleUrl && `${consoleUrl}/alerts/rules/${rule}`,
  }
}

/** Who acknowledged an alert, and what they said. */
function takenText(language: Language, { acknowledged }: Pick<RaisedAlert, 'acknowledged'>): string {
  const t = translator(language)
  const by = actorText({ t }, acknowledged?.by ?? '')
  return t('alerts.message.taken', { by, reason: acknowledged?.reason ?? 'none' })
}

/** Since when an alert lasts, or its beginning, end and duration. */
function whenText(language: Language, since: Date, endedAt: Date | null, now: Date): string {
  const t = translator(language)
  const ms = (endedAt ?? now).getTime() - since.getTime()
  const times = { since: minuteTime(since, now), zone: zoneName(now), duration: spanText(t, ms) }
  if (endedAt) return t('alerts.message.lasted', { ...times, ended: minuteTime(endedAt, now) })
  return t(ms < MINUTE_MS ? 'alerts.message.since' : 'alerts.message.since_for', times)
}

/** A duration in its two largest units: 3 h 20 min. Less than a minute counts as one. */
function spanText(t: Translate, ms: number): string {
  const minutes = Math.max(1, Math.round(ms / MINUTE_MS))
  const units = [
    ['day', Math.floor(minutes / 1440)],
    ['hour', Math.floor(minutes / 60) % 24],
    ['minute', minutes % 60],
  ] as const
  const first = units.findIndex(([, count]) => count > 0)
  return units
    .slice(first, first + 2)
    .filter(([, count]) => count > 0)
    .map(([unit, count]) => t(`alerts.message.unit.${unit}`, { count }))
    .join(' ')
}

export interface AlertText {
  /** A few words: what is wrong and where. */
  title: string
  /** One or two sentences with the figures. */
  what: string
  /** What to do. */
  remedy: string
  /** One sentence for when it is over. */
  over: string
}

/**
 * The texts of an alert in a language. Facts that an earlier version did not record are left blank.
 * @param alert.returns how often it came back soon after it had ended
 * @param stop what keeps all work back at the moment; null for nothing
 */
export function alertText(
  language: Language,
  alert: Pick<Finding, 'rule' | 'subject' | 'facts'> & { returns?: number },
  stop: HaltKind | null = null,
): AlertText {
  const t = translator(language)
  const facts = new FactReader(alert.facts)
  const values = { subject: alert.subject, ...RULES[alert.rule].values(language, facts, alert.subject) }
  const what = t(`alert.${alert.rule}.what`, values)
  return {
    title: t(`alert.${alert.rule}.title`, values),
    what: alert.returns
      ? t('alerts.message.flapping', { what, returns: alert.returns, minutes: CALM_MINUTES })
      : what,
    remedy: t(`alert.${alert.rule}.remedy`, values),
    over: t(`alert.${alert.rule}.over`, {
      ...values,
      continues: t('alerts.message.continues', { stop: stop ?? 'none' }),
    }),
  }
}

/** The runbook of a rule: short steps. */
export function runbookOf(language: Language, rule: RuleName): string[] {
  return translator(language)(`runbook.${rule}`).split('\n')
}
