import { createHash } from 'node:crypto'
import type { Language } from '../texts/texts.ts'
import type { RuleName, Severity } from './rule.ts'

/** The deployment that a message is from. */
export interface Sender {
  /** Null: sent without its database, as a test may be. */
  id: string | null
  /** DEPLOYMENT_NAME; null: it has no name. */
  name: string | null
}

/** The title of a message with the deployment's name before it, so that people who have several know of which it is. */
export function titled({ name }: Sender, title: string): string {
  return name === null ? title : `${name} · ${title}`
}

/** What a channel sends: short, in one language, without personal data. Stored before it is sent. */
export interface Message {
  kind: 'alerts' | 'summary' | 'test'
  language: Language
  /** Absent: an earlier version wrote the message. */
  deployment?: Sender
  /** The worst of its alerts; of a test `info`. `recovered` where nothing in it goes on. */
  tone: Severity | 'recovered'
  /** One line of plain text, such as `dirsync: 2 alerts, the worst critical`. */
  title: string
  alerts: MessageAlert[]
  /** A sentence besides, such as how many alerts were left out; null: none. */
  note: string | null
  /** The console's screen of alerts; null where CONSOLE_URL is not set. */
  url: string | null
  /** The words that lead there, in the language. */
  urlText: string
  at: Date
}

/** One alert in a message. Texts are plain, without markup but backticks around commands. */
export interface MessageAlert {
  /** The same in each message about it, whichever process sends it: rule and subject. */
  key: string
  rule: RuleName
  subject: string
  severity: Severity
  event: 'raised' | 'repeated' | 'acknowledged' | 'recovered'
  /** A few words: what and of what, such as `Halted: enterprise E900`. */
  title: string
  /** One or two sentences with the figures. */
  what: string
  /** Since when it holds, or from when to when it held and how long that was, in words. */
  when: string
  /** What to do; null once it is over. */
  remedy: string | null
  /** The console's page that shows it, and its runbook; null where CONSOLE_URL is not set. */
  url: string | null
  since: Date
  endedAt: Date | null
  facts: Readonly<Record<string, string | number | null>>
}

/**
 * What receivers know a message by, the same at each try: its number, and a hash of what it is about. Two deployments, or one
 * that was set up anew, count alike, and a receiver would drop what the second sends as a repetition.
 * @param id number of the message in its deployment
 */
export function deliveryId({ kind, alerts, url, at }: Message, id: string): string {
  // A message that waits may get later words, and with them another time, as long as it is about the same.
  const about = alerts.length > 0 ? alerts.map(({ key, event, since }) => [key, event, since]) : at
  const hash = createHash('sha256').update(JSON.stringify([kind, url, about]))
  return `dirsync-${id}-${hash.digest('hex').slice(0, 12)}`
}
