import type { ChannelSettings } from './channel.ts'
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
 * Who is told of what, decided from rows and a moment. Each judgement decides anew for each channel, about everything that it
 * has not been told; a message that still waits is decided about again and so says how things stand when it is sent.
 */

/** An alert that was raised, as `dirsync.alert` has it. */
export interface StandingAlert {
  id: number
  rule: RuleName
  subject: string
  severity: Severity
  state: 'firing' | 'ended'
  facts: Finding['facts']
  since: Date
  /** How often it came back soon after it was gone. */
  returns: number
  /** When it was first found to hold no more; null: it holds. */
  goneAt: Date | null
  endedAt: Date | null
  /** Who takes care of it, as recorded, and what they said; null: no one has said so. */
  acknowledged: { by: string; reason: string | null } | null
}

/** What a channel is told about an alert. */
export type AlertEvent = 'raised' | 'repeated' | 'acknowledged' | 'recovered'

/** What a channel knows of an alert. */
export interface Told {
  alertId: number
  channel: string
  /** When it was first told that the alert holds; null: it was not. */
  firstAt: Date | null
  /** When it was last told so. */
  lastAt: Date | null
  isAcknowledged: boolean
  isRecovered: boolean
  isWithheld: boolean
  /** What the message says that still waits; null: nothing. */
  waiting: AlertEvent | null
}

/** A message that a channel took. */
export interface Sent {
  channel: string
  kind: 'alerts' | 'summary'
  at: Date
  /** The alerts that it told of. */
  about: readonly { rule: string; subject: string }[]
}

/** Everything that decides about messages. */
export interface Outlook {
  now: Date
  /** Since when there has been somebody to judge. */
  watchedSince: Date
  /** Those that fire, and those that ended lately. */
  alerts: readonly StandingAlert[]
  told: readonly Told[]
  /** Messages of the last hour, oldest first. */
  sent: readonly Sent[]
  /** Channels whose message is being sent at this moment. */
  busy: readonly string[]
  /** Messages that wait and were taken back, to be decided about anew. */
  waiting: readonly { id: number; channel: string }[]
  mutes: readonly Mute[]
  isQuiet: boolean
}

export interface Limits {
  /** After how many hours an alert that goes on is told again. */
  repeatHours: number
  /** About one rule. */
  messagesPerHour: number
}

/** One message to one channel. */
export interface Draft {
  channel: string
  kind: 'alerts' | 'summary'
  /** What there is to tell, the worst first, recoveries last. A summary only counts it. */
  events: { alert: StandingAlert; event: AlertEvent }[]
  /** Of a summary: when the channel may have a message again. */
  silentUntil: Date | null
}

interface Decision {
  /** One per channel at most. */
  drafts: Draft[]
  /** What quiet hours or a mute keep from a channel for the first time. */
  withheld: { alertId: number; channel: string }[]
}

const HOUR_MS = 3_600_000

/** Decides what each channel is told now. */
export function decide(
  outlook: Outlook,
  channels: readonly Pick<ChannelSettings, 'name' | 'least'>[],
  limits: Limits,
): Decision {
  const decision: Decision = { drafts: [], withheld: [] }
  for (const channel of channels) {
    const told = new Map(
      outlook.told.filter(row => row.channel === channel.name).map(row => [row.alertId, row]),
    )
    const events: Draft['events'] = []
    for (const alert of outlook.alerts) {
      const known = told.get(alert.id) ?? NOTHING
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

const NOTHING: Pick<
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

/** What a channel has to hear about an alert; `withheld`: it would, but for quiet hours or a mute. */
function eventOf(
  alert: StandingAlert,
  known: typeof NOTHING,
  channel: Pick<ChannelSettings, 'name' | 'least'>,
  { now, watchedSince, alerts, mutes, isQuiet }: Outlook,
  limits: Limits,
): AlertEvent | 'withheld' | null {
  if (alert.rule === 'dead_channel' && alert.subject === channel.name) return null
  const wasTold = known.firstAt !== null
  const isKeptByHours = isQuiet && alert.severity !== 'critical'
  const isMuted = muteOf(alert, mutes, now) !== undefined

  if (alert.state === 'ended') {
    if (known.isRecovered || isKeptByHours) return null
    // One that came and went while its message waited is told all the same, with its times.
    return wasTold || (known.waiting !== null && !isMuted) ? 'recovered' : null
  }
  // In the minute in which nobody knows whether it is over, nothing new is said.
  if (alert.goneAt !== null && known.waiting === null) return null
  if (rank(alert.severity) < rank(channel.least)) return null
  // Where nobody judged, nobody worked: the machine was off, or it slept.
  const causes = [...alerts, { rule: 'role_missing', facts: {}, endedAt: watchedSince }]
  if (inhibitorOf(alert, causes, now) !== undefined) return null
  // Whoever was told of it hears once who takes care of it, and then no more until it is over.
  if (wasTold && alert.acknowledged)
    return known.isAcknowledged || isKeptByHours || isMuted ? null : 'acknowledged'
  if (wasTold && !isDue(alert.rule, known, now, limits)) return null
  if (isKeptByHours || isMuted) return wasTold ? null : 'withheld'
  return wasTold ? 'repeated' : 'raised'
}

/** Whether an alert that goes on is to be told again. */
function isDue(
  rule: RuleName,
  { firstAt, lastAt }: Pick<Told, 'firstAt' | 'lastAt'>,
  now: Date,
  limits: Limits,
): boolean {
  if (firstAt === null || lastAt === null) return false
  const moments = RULES[rule].remindedAfterHours?.map(hours => firstAt.getTime() + hours * HOUR_MS) ?? [
    lastAt.getTime() + limits.repeatHours * HOUR_MS,
  ]
  return moments.some(moment => moment > lastAt.getTime() && moment <= now.getTime())
}

/** The message that the channel's bound permits: what it may hear, or one summary an hour; null: there is nothing to say, or silence. */
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
export function isWithinBound(
  channel: string,
  alert: StandingAlert,
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
 * Until when a channel may have no message about an alert, after these of an hour; null: it may have one. The bound is one of
 * each rule, so that a rule that talks much takes no room from others; and what is critical and new always passes.
 */
function silenceOf(
  lately: Outlook['sent'],
  { rule, subject, severity }: Pick<StandingAlert, 'rule' | 'subject' | 'severity'>,
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
