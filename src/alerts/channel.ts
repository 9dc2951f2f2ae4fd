import { shortened } from '../lib/text.ts'
import { CodedError, type Message } from '../texts/message.ts'
import type { Language } from '../texts/texts.ts'
import type { ChannelMessage } from './message.ts'
import type { Severity } from './rule.ts'

export const CHANNEL_KINDS = ['mail', 'dingtalk', 'wecom', 'feishu', 'slack', 'webhook'] as const
export type ChannelKind = (typeof CHANNEL_KINDS)[number]

/** A name of an event, or `run.*`, `case.*`, `*`. */
export const EVENT_PATTERN = /^(?:\*|(?:run|case)\.(?:\*|[a-z_]+))$/

/** A channel as the settings `ALERT_CHANNEL_<NAME>…` define it. */
export interface ChannelSettings {
  /** In lower case. */
  name: string
  kind: ChannelKind
  /** `smtp://…`, or the address of the robot or webhook exactly as its vendor gives it. Holds secrets. */
  url: string
  /** Signs messages, if the kind supports it; null: unsigned. */
  secret: string | null
  /** The least severity of alerts that are sent to this channel. */
  least: Severity
  language: Language
  /** Whom critical messages mention in a chat, by the vendor's ids; `all` for everyone. */
  mention: readonly string[]
  /** The events of runs and cases that a webhook gets instead of alerts; absent: it gets alerts. */
  events?: readonly string[]
  /** For mail. */
  from: string | null
  to: readonly string[]
}

/** Whether a channel is one for alerts. A webhook of events gets none. */
export function getsAlerts({ events }: { events?: readonly string[] | null }): boolean {
  return !events
}

/** Where messages go, for display: host or mail addresses, without secrets. */
export function targetOf({ kind, url, to }: ChannelSettings): string {
  return kind === 'mail' ? to.join(', ') : new URL(url).host
}

/** Delivers messages to people. */
export interface Channel {
  readonly settings: ChannelSettings
  /**
   * Sends one message, once.
   * @param id the same at each try, so that a receiver can recognise a repetition; letters, digits and hyphens
   * @returns the server's answer, for people: short, without secrets
   * @throws ChannelError
   */
  send(message: ChannelMessage, id: string, signal: AbortSignal): Promise<string>
  close(): Promise<void>
}

/** Recipients for whom a server did not take a message. */
export interface LeftOut {
  /** Those whom it asks to try later. */
  putOff: readonly string[]
  refused: readonly string[]
}

/**
 * A message was not accepted. The error says so in one sentence without secrets, with the server's answer.
 *
 * - `CHANNEL_UNAVAILABLE`: no answer, or one that asks to try later
 * - `CHANNEL_LIMITED`: too many messages; `retryAfterMs` if the server says when to retry
 * - `CHANNEL_REFUSED`: the server refuses it and would again: address, signature, credentials, recipient
 *
 * `isOfRecipient`: whether the answer is about whom the message is for; null: the channel does not tell. `without`: those who do not
 * have the message, while the others do; null: nobody has it.
 */
export class ChannelError extends CodedError<'CHANNEL_UNAVAILABLE' | 'CHANNEL_LIMITED' | 'CHANNEL_REFUSED'> {
  readonly retryAfterMs: number | null
  readonly isOfRecipient: boolean | null
  readonly without: LeftOut | null

  constructor(
    code: ChannelError['code'],
    what: Message,
    options?: ErrorOptions & {
      retryAfterMs?: number
      isOfRecipient?: boolean
      without?: LeftOut
    },
  ) {
    super(code, what, options)
    this.retryAfterMs = options?.retryAfterMs ?? null
    this.isOfRecipient = options?.isOfRecipient ?? null
    this.without = options?.without ?? null
  }
}

/** The length to which answers are cut: enough for every vendor's sentence, too short for a page. */
const KEPT = 300

const MAIL_ADDRESS = /([^\s@<>"'(),;:[\]])[^\s@<>"'(),;:[\]]*@([^\s@<>"'(),;:[\]]+)/g

/**
 * Returns a function that prepares a server's answer for display: on one line, short, with mail addresses masked, and
 * without the secrets of the settings in case the server quotes them.
 */
export function saysAnswer(settings: Pick<ChannelSettings, 'url' | 'secret'>): (text: string) => string {
  const secrets = secretsOf(settings)
  return text => {
    const line = text
      .slice(0, 10 * KEPT)
      .replace(/[\s\p{Cc}]+/gu, ' ')
      .trim()
    const clean = secrets.reduce((left, secret) => left.replaceAll(secret, '…'), line)
    return shortened(clean.replace(MAIL_ADDRESS, '$1***@$2'), KEPT).toWellFormed()
  }
}

/** Shorter parts of an address, such as `v2` or `send`, are not secret and occur in ordinary sentences. */
const SHORTEST_SECRET = 8

/**
 * Texts that must never be shown, the longest first: signing secret, password, also as it is sent, and any part of the
 * address that may be a token.
 */
function secretsOf({ url, secret }: Pick<ChannelSettings, 'url' | 'secret'>): string[] {
  const { username, password, pathname, search, searchParams } = new URL(url)
  const [user, word] = [decoded(username), decoded(password)]
  const userInfo = [password, word]
  // The user of a mail server is not a secret; that of a webhook may be its token.
  if (/^https?:/.test(url)) userInfo.push(username, user)
  if (username !== '')
    // HTTP's Basic; SMTP's PLAIN and LOGIN.
    userInfo.push(
      ...[`${user}:${word}`, `\0${user}\0${word}`, word].map(text => Buffer.from(text).toString('base64')),
    )
  const parts = [pathname, search.slice(1), ...pathname.split('/'), ...searchParams.values()]
  const long = parts.flatMap(part => [part, decoded(part)]).filter(part => part.length >= SHORTEST_SECRET)
  return [...new Set([secret ?? '', ...userInfo, ...long])]
    .filter(part => part !== '')
    .sort((a, b) => b.length - a.length)
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** Whether a connection failed because of a certificate. */
export function isMistrust(reason: string): boolean {
  return /certificate/i.test(reason)
}
