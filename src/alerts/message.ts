import { createHash } from 'node:crypto'
import type { Language } from '../texts/texts.ts'
import type { RuleName, Severity } from './rule.ts'

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
  kind: 'alerts' | 'summary' | 'test'
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
export function deliveryId({ kind, alerts, url, at }: ChannelMessage, id: string): string {
  // The texts and the time of a waiting message may change, so the hash covers only what it is about.
  const about = alerts.length > 0 ? alerts.map(({ key, event, since }) => [key, event, since]) : at
  const hash = createHash('sha256').update(JSON.stringify([kind, url, about]))
  return `dirsync-${id}-${hash.digest('hex').slice(0, 12)}`
}
