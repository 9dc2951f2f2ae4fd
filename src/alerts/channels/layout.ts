import { shortened } from '../../lib/text.ts'
import { type Translate, translator } from '../../texts/texts.ts'
import type { ChannelSettings } from '../channel.ts'
import type { ChannelMessage, MessageAlert } from '../message.ts'
import { SEVERITIES } from '../rule.ts'

/*
 * The layout of a message on a phone, for all channels: the worst first, and for each alert its title, severity,
 * since when, what is wrong, what to do, and a link. Chats show a few alerts, shortened if necessary, and say how
 * many more there are.
 */

/** How much of a message is shown: number of alerts, and code units of each text. */
export interface Measures {
  alerts: number
  title: number
  when: number
  what: number
  remedy: number
  note: number
}

/**
 * More would be scrolled past. One alert always fits, even in the narrowest chat and in Chinese (3 bytes per
 * character).
 */
const ON_A_PHONE: Measures = { alerts: 10, title: 100, when: 80, what: 280, remedy: 280, note: 200 }

/** A mark that catches the eye before a word is read. */
export const MARKS = { critical: '🔴', warning: '🟠', info: '🔵', recovered: '✅' } as const
export type Mark = keyof typeof MARKS

/** An alert as people read it: plain texts, each on one line. */
export interface AlertLines {
  mark: string
  tone: Mark
  /** What is wrong, in a few words; null if the message's title already says it. */
  title: string | null
  /** Since when, and the severity unless the message's title says it. */
  state: string
  what: string
  remedy: string | null
  link: { text: string; url: string } | null
}

/** A message as people read it. */
export interface MessageLines {
  mark: string
  title: string
  alerts: AlertLines[]
  /** How many alerts were left out, and other remarks. */
  notes: string[]
  link: { text: string; url: string } | null
}

/** The message with its worst alerts, the worst first. */
export function messageLines(message: ChannelMessage, measures = ON_A_PHONE): MessageLines {
  const t = translator(message.language)
  const alerts = worstFirst(message.alerts)
  const left = alerts.length - Math.min(measures.alerts, alerts.length)
  return {
    mark: MARKS[message.tone],
    title: oneLine(message.title, measures.title),
    alerts: alerts.slice(0, measures.alerts).map(alert => alertLines(t, alert, message.title, measures)),
    notes: [
      ...(left > 0 ? [t('channel.more', { count: left })] : []),
      ...(message.note === null ? [] : [oneLine(message.note, measures.note)]),
    ],
    link: message.url === null ? null : { text: message.urlText, url: message.url },
  }
}

function alertLines(t: Translate, alert: MessageAlert, heading: string, measures: Measures): AlertLines {
  const { event, severity } = alert
  const tone = event === 'recovered' ? 'recovered' : severity
  const word = t(`channel.state.${tone}`)
  // The title of a message about a single alert already names it, and says whether it continues or is over.
  const isHeading = heading.includes(alert.title)
  const howBad = event === 'repeated' && !isHeading ? t('channel.again', { severity: word }) : word
  const when = oneLine(alert.when, measures.when)
  return {
    mark: MARKS[tone],
    tone,
    title: isHeading ? null : oneLine(alert.title, measures.title),
    state: isHeading && heading.includes(word) ? when : `${howBad} · ${when}`,
    what: oneLine(alert.what, measures.what),
    remedy: alert.remedy && t('channel.remedy', { remedy: oneLine(alert.remedy, measures.remedy) }),
    // After the end no further steps are needed.
    link: alert.url === null || tone === 'recovered' ? null : { text: t('channel.details'), url: alert.url },
  }
}

/** Whom a message mentions: only if it has a critical alert that continues, is a test, or is for one person. */
export function mentionedBy(
  { kind, alerts, recipients }: ChannelMessage,
  { mention }: ChannelSettings,
): readonly string[] {
  if (recipients !== undefined) return recipients
  const isCritical = alerts.some(
    ({ severity, event }) => severity === 'critical' && (event === 'raised' || event === 'repeated'),
  )
  return kind === 'test' || (kind === 'alerts' && isCritical) ? mention : []
}

/** Alerts that continue before those that are over, and the worst first. */
export function worstFirst(alerts: readonly MessageAlert[]): MessageAlert[] {
  const rank = ({ event, severity }: MessageAlert) =>
    event === 'recovered' ? -1 : SEVERITIES.indexOf(severity)
  return alerts.toSorted((a, b) => rank(b) - rank(a))
}

/**
 * A text without line breaks and other control characters, cut to a length, so that it cannot begin a line of its
 * own.
 */
export function oneLine(text: string, longest: number): string {
  const line = text.replace(/\p{Cf}+/gu, '').replace(/[\s\p{Cc}]+/gu, ' ')
  return shortened(line.trim(), longest).toWellFormed()
}

/** How a chat marks up text. */
export interface Markup {
  /** Escapes a text so that nothing in it acts as a link, a mention or emphasis. */
  plain(text: string): string
  /** Marks up a command that is already escaped. */
  code(text: string): string
  bold(text: string): string
  link(text: string, url: string): string
  /** Ends a line within an alert. */
  lineEnd: string
}

/** Writes a text with commands in backticks; an unpaired backtick is dropped. */
export function writeText({ plain, code }: Pick<Markup, 'plain' | 'code'>, text: string): string {
  return text
    .split(/`([^`]+)`/)
    .map(part => plain(part.replaceAll('`', '')))
    .map((part, i) => (i % 2 === 0 ? part : code(part)))
    .join('')
}

export function writeAlert(dialect: Markup, { mark, title, state, what, remedy, link }: AlertLines): string {
  return [
    title && `${mark} ${dialect.bold(writeText(dialect, title))}`,
    writeText(dialect, state),
    writeText(dialect, what),
    remedy && writeText(dialect, remedy),
    link && dialect.link(link.text, link.url),
  ]
    .filter(line => line !== null)
    .join(dialect.lineEnd)
}

/** A whole message in markdown, for robots whose messages have no other parts. */
export function markdownText(dialect: Markup, lines: MessageLines, mentions: readonly string[]): string {
  const { mark, title, alerts, notes, link } = lines
  return [
    `### ${mark} ${writeText(dialect, title)}`,
    ...alerts.map(alert => writeAlert(dialect, alert)),
    ...notes.map(note => writeText(dialect, note)),
    ...(link ? [dialect.link(link.text, link.url)] : []),
    ...(mentions.length > 0 ? [mentions.join(' ')] : []),
  ].join('\n\n')
}

/**
 * Makes a text harmless for chats whose markdown has no escapes: special characters become their full-width forms,
 * which look alike and have no meaning.
 */
export function inert(text: string): string {
  return text.replace(/[<>[\]*~|#\\]/g, character => String.fromCharCode(character.charCodeAt(0) + 0xfee0))
}

/** The longest form of a message that fits a chat's limit: leaves out alerts until it does. */
export function fitting<Form>(
  message: ChannelMessage,
  write: (lines: MessageLines) => Form,
  fits: (form: Form) => boolean,
): Form {
  for (let alerts = Math.min(ON_A_PHONE.alerts, message.alerts.length); ; alerts--) {
    const form = write(messageLines(message, { ...ON_A_PHONE, alerts }))
    if (alerts <= 0 || fits(form)) return form
  }
}
