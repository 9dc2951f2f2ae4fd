import type { HaltKind } from '../sync/outbox/halts.ts'
import {
  type Finding,
  inhibitorOf,
  type Mute,
  muteOf,
  RULES,
  type RuleName,
  SEVERITIES,
  type Severity,
} from './rule.ts'

/*
 * Decides who is told what, from rows and a moment. Each evaluation decides anew for each channel, about everything
 * that it has not been told. This includes messages that still wait, so a message describes the situation at the time
 * when it is sent.
 */

/** An alert that was raised, a row of `dirsync.alert`. */
export interface RaisedAlert {
  id: number
  rule: RuleName
  subject: string
  severity: Severity
  state: 'firing' | 'ended'
  facts: Finding['facts']
  since: Date
  /** How often it came back soon after it had ended. */
  returns: number
  /** When it was first found to hold no longer; null while it holds. */
  goneAt: Date | null
  endedAt: Date | null
  /** Who acknowledged it, as recorded, and what they said; null if no one has. */
  acknowledged: { by: string; reason: string | null } | null
}

/** The kinds of news about an alert for a channel. */
export type AlertEvent = 'raised' | 'repeated' | 'acknowledged' | 'recovered'

/** What a channel has been told about an alert. */
export interface Told {
  alertId: number
  channel: string
  /** When it was first told that the alert holds; null if it has not been. */
  firstAt: Date | null
  /** When it was last told so; null if it has not been since the alert grew. */
  lastAt: Date | null
  isAcknowledged: boolean
  isRecovered: boolean
  isWithheld: boolean
  /** The content of the message that still waits; null for none. */
  waiting: AlertEvent | null
}

/** A message that a channel accepted. */
export interface Sent {
  channel: string
  kind: 'alerts' | 'summary'
  at: Date
  /** The alerts in it. */
  about: readonly { rule: string; subject: string }[]
}

/** Everything that decisions about messages depend on. */
export interface Outlook {
  now: Date
  /** Since when the rules have been evaluated without a gap. */
  watchedSince: Date
  /** Alerts that fire, and those that ended recently. */
  alerts: readonly RaisedAlert[]
  told: readonly Told[]
  /** Messages of the last hour, oldest first. */
  sent: readonly Sent[]
  /** Channels with a message in flight. */
  busy: readonly string[]
  /** Waiting messages that were withdrawn, to be decided anew. */
  waiting: readonly { id: number; channel: string }[]
  mutes: readonly Mute[]
  isQuiet: boolean
  /** What keeps all work back; null for nothing. */
  stop: HaltKind | null
}

export interface Limits {
  /** After how many hours a continuing alert is told again. */
  repeatHours: number
  /** The limit per rule. */
  messagesPerHour: number
}

/** One message to one channel. */
export interface Draft {
  channel: string
  kind: 'alerts' | 'summary'
  /** The news, the worst first and recoveries last. A summary only counts it. */
  events: { alert: RaisedAlert; event: AlertEvent }[]
  /** For a summary: when the channel may have messages again. */
  silentUntil: Date | null
}

interface Decision {
  /** At most one per channel. */
  drafts: Draft[]
  /** News that quiet hours or a mute keep from a channel for the first time. */
  withheld: { alertId: number; channel: string }[]
}

/** A channel, as far as it matters for what it is told. */
interface Recipient {
  name: string
  /** The least severity of its alerts. */
  least: Severity
}

const HOUR_MS = 3_600_000

/** Decides what each channel is told now. */
export function decide(outlook: Outlook, channels: readonly Recipient[], limits: Limits): Decision {
  const decision: Decision = { drafts: [], withheld: [] }
  for (const channel of channels) {
    const told = new Map(
      outlook.told.filter(row => row.channel === channel.name).map(row => [row.alertId, row]),
    )
    const events: Draft['events'] = []
    for (const alert of outlook.alerts) {
      const known = told.get(alert.id) ?? NEVER_TOLD
      const event = eventOf(alert, known, channel, outlook, limits)
      if (event === 'withheld') {
        if (!known.isWithheld) decision.withheld.push({ alertId: alert.id, channel: channel.name })
      } else if (event !== null) events.push({ alert, event })
    }
    const draft = outlook.busy.includes(channel.name)
      ? null
      : draftOf(channel.name, events.sort(byUrgency), outlook, limits)
    if (draft) decision.drafts.push(draft)
  }
  return decision
}

const NEVER_TOLD: Pick<
  Told,
  'firstAt' | 'lastAt' | 'isAcknowledged' | 'isRecovered' | 'isWithheld' | 'waiting'
> = {
  firstAt: null,
  lastAt: null,
  isAcknowledged: false,
  isRecovered: false,
  isWithheld: false,
  waiting: null,
}

/** The news about an alert for a channel; `withheld` if quiet hours or a mute hold it back. */
function eventOf(
  alert: RaisedAlert,
  known: typeof NEVER_TOLD,
  channel: Recipient,
  { now, watchedSince, alerts, mutes, isQuiet }: Outlook,
  limits: Limits,
): AlertEvent | 'withheld' | null {
  if (alert.rule === 'dead_channel' && alert.subject === channel.name) return null
  const wasTold = known.firstAt !== null
  const isHeldByQuietHours = isQuiet && alert.severity !== 'critical'
  const isMuted = muteOf(alert, mutes, now) !== undefined

  if (alert.state === 'ended') {
    if (known.isRecovered || isHeldByQuietHours) return null
    // It came back, or another cause is in its place: receivers know both by the same key.
    if (alerts.some(other => other.state === 'firing' && isOfSameSubject(other, alert))) return null
    // An alert that ended while its message waited is still told, with both times.
    return wasTold || (known.waiting !== null && !isMuted) ? 'recovered' : null
  }
  // While it is not certain that it is over, nothing new is said.
  if (alert.goneAt !== null && known.waiting === null) return null
  if (rank(alert.severity) < rank(channel.least)) return null
  // If no process evaluated, none worked either: the machine was off or asleep. That counts like missing roles.
  const causes = [...alerts, { rule: 'role_missing', facts: {}, endedAt: watchedSince }]
  if (inhibitorOf(alert, causes, now) !== undefined) return null
  // Once it is acknowledged, channels that know the alert hear so once, and nobody hears more until it is over or grows.
  if (alert.acknowledged)
    return !wasTold || known.isAcknowledged || isHeldByQuietHours || isMuted ? null : 'acknowledged'
  if (wasTold && !isDue(alert.rule, known, now, limits)) return null
  if (isHeldByQuietHours || isMuted) return wasTold ? null : 'withheld'
  return wasTold ? 'repeated' : 'raised'
}

/** Whether two alerts are of the same rule and subject, whatever their causes. */
function isOfSameSubject(one: RaisedAlert, other: RaisedAlert): boolean {
  return one.rule === other.rule && one.subject === other.subject
}

/** Whether a continuing alert is due to be told again. */
function isDue(
  rule: RuleName,
  { firstAt, lastAt }: Pick<Told, 'firstAt' | 'lastAt'>,
  now: Date,
  limits: Limits,
): boolean {
  if (firstAt === null || lastAt === null) return firstAt !== null
  const moments = RULES[rule].remindedAfterHours?.map(hours => firstAt.getTime() + hours * HOUR_MS) ?? [
    lastAt.getTime() + limits.repeatHours * HOUR_MS,
  ]
  return moments.some(moment => moment > lastAt.getTime() && moment <= now.getTime())
}

/**
 * The message that the channel's limit permits: the permitted news, or one summary an hour; null if there is nothing
 * to send.
 */
function draftOf(
  channel: string,
  events: Draft['events'],
  { now, sent }: Pick<Outlook, 'now' | 'sent'>,
  limits: Limits,
): Draft | null {
  if (events.length === 0) return null
  const lately = ofLastHour(channel, sent, now)
  const passing = events.filter(({ alert }) => silenceOf(lately, alert, limits) === null)
  if (passing.length > 0) return { channel, kind: 'alerts', events: passing, silentUntil: null }
  if (lately.some(({ kind }) => kind === 'summary')) return null
  const ends = events.map(({ alert }) => silenceOf(lately, alert, limits)?.getTime() ?? 0)
  return { channel, kind: 'summary', events, silentUntil: new Date(Math.min(...ends)) }
}

/** Whether a channel may have one more message about an alert. */
export function isWithinLimit(
  channel: string,
  alert: RaisedAlert,
  sent: Outlook['sent'],
  now: Date,
  limits: Limits,
): boolean {
  return silenceOf(ofLastHour(channel, sent, now), alert, limits) === null
}

function ofLastHour(channel: string, sent: Outlook['sent'], now: Date): Outlook['sent'] {
  return sent.filter(message => message.channel === channel && now.getTime() - message.at.getTime() < HOUR_MS)
}

/**
 * Until when a channel may have no message about an alert, given those of the last hour; null if it may have one.
 * Each rule has a limit of its own, so that a busy rule does not silence the others. New critical alerts always pass.
 */
function silenceOf(
  lately: Outlook['sent'],
  { rule, subject, severity }: Pick<RaisedAlert, 'rule' | 'subject' | 'severity'>,
  { messagesPerHour }: Limits,
): Date | null {
  const about = lately.filter(message => message.about.some(one => one.rule === rule))
  const isNew = !about.some(message =>
    message.about.some(one => one.rule === rule && one.subject === subject),
  )
  const oldest = about.at(-messagesPerHour)
  if (!oldest || (severity === 'critical' && isNew)) return null
  return new Date(oldest.at.getTime() + HOUR_MS)
}

function byUrgency(a: Draft['events'][number], b: Draft['events'][number]): number {
  return (
    Number(a.event === 'recovered') - Number(b.event === 'recovered') ||
    rank(b.alert.severity) - rank(a.alert.severity) ||
    a.alert.since.getTime() - b.alert.since.getTime() ||
    a.alert.id - b.alert.id
  )
}

function rank(severity: Severity): number {
  return SEVERITIES.indexOf(severity)
}
