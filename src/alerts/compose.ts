import { minuteTime, zoneName } from '../lib/time-text.ts'
import { actorText } from '../texts/actor.ts'
import { inLanguage } from '../texts/failures.ts'
import { isSaid } from '../texts/message.ts'
import { type Language, type Translate, translator } from '../texts/texts.ts'
import type { AlertEvent, Draft, Limits, StandingAlert } from './decide.ts'
import { type ChannelMessage, type MessageAlert, type Sender, titled } from './message.ts'
import { alertText } from './text.ts'

/** The most alerts in one message; the rest is counted. */
const MOST_ALERTS = 50
const MINUTE_MS = 60_000

/**
 * The message for a decision, in the language of its channel.
 * @param at.consoleUrl base of the links; null for no links
 */
export function compose(
  language: Language,
  { kind, events, silentUntil }: Pick<Draft, 'kind' | 'events' | 'silentUntil'>,
  at: { now: Date; consoleUrl: string | null; deployment: Sender },
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
  alert: StandingAlert,
  event: AlertEvent,
  { now, consoleUrl }: { now: Date; consoleUrl: string | null },
): MessageAlert {
  const { rule, subject, severity, since, endedAt, facts, returns } = alert
  const { title, what, remedy, over } = alertText(language, { rule, subject, facts, returns })
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
function takenText(language: Language, { acknowledged }: Pick<StandingAlert, 'acknowledged'>): string {
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
