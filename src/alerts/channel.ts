import type { Language } from '../texts/texts.ts'
import type { Message } from './message.ts'
import type { Severity } from './rule.ts'

export const CHANNEL_KINDS = ['mail', 'dingtalk', 'wecom', 'feishu', 'slack', 'webhook'] as const
export type ChannelKind = (typeof CHANNEL_KINDS)[number]

/** A channel as the settings `ALERT_CHANNEL_<NAME>…` describe it. */
export interface ChannelSettings {
  /** In lower case. */
  name: string
  kind: ChannelKind
  /** `smtp://…`, or the address of the robot or webhook as its vendor gives it. Holds secrets. */
  url: string
  /** What signs messages, where the kind signs them; null: unsigned. */
  secret: string | null
  /** Alerts of a lesser severity are not sent there. */
  least: Severity
  language: Language
  /** Whom critical messages of a chat mention, by the vendor's ids; `all`: everybody. */
  mention: readonly string[]
  /** Of mail. */
  from: string | null
  to: readonly string[]
}

/** Takes messages to people. */
export interface Channel {
  readonly settings: ChannelSettings
  /** Where messages go, for people: host or mail addresses, without secrets. */
  readonly target: string
  /**
   * Sends one message, once.
   * @param id the same at each try, so that a receiver may know a repeated one; letters, digits and hyphens
   * @returns what the server answered, for people: short, without secrets
   * @throws ChannelError
   */
  send(message: Message, id: string, signal: AbortSignal): Promise<string>
  close(): Promise<void>
}

/**
 * A message was not taken. The message is one sentence without secrets, with what the server said.
 *
 * - `CHANNEL_UNAVAILABLE`: no answer, or one that asks to try later
 * - `CHANNEL_LIMITED`: too many messages; `retryAfterMs` where the server says when
 * - `CHANNEL_REFUSED`: the server refuses it and would again: address, signature, credentials, recipient
 */
export class ChannelError extends Error {
  readonly code: 'CHANNEL_UNAVAILABLE' | 'CHANNEL_LIMITED' | 'CHANNEL_REFUSED'
  readonly retryAfterMs: number | null

  constructor(
    code: ChannelError['code'],
    message: string,
    options?: ErrorOptions & { retryAfterMs?: number },
  ) {
    super(message, options)
    this.name = 'ChannelError'
    this.code = code
    this.retryAfterMs = options?.retryAfterMs ?? null
  }
}
