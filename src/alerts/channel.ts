import type { Language } from '../texts/texts.ts'
import type { ChannelMessage } from './message.ts'
import type { Severity } from './rule.ts'

export const CHANNEL_KINDS = ['mail', 'dingtalk', 'wecom', 'feishu', 'slack', 'webhook'] as const
export type ChannelKind = (typeof CHANNEL_KINDS)[number]

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
  /** For mail. */
  from: string | null
  to: readonly string[]
}

/** Delivers messages to people. */
export interface Channel {
  readonly settings: ChannelSettings
  /** Where messages go, for display: host or mail addresses, without secrets. */
  readonly target: string
  /**
   * Sends one message, once.
   * @param id the same at each try, so that a receiver can recognise a repetition; letters, digits and hyphens
   * @returns the server's answer, for people: short, without secrets
   * @throws ChannelError
   */
  send(message: ChannelMessage, id: string, signal: AbortSignal): Promise<string>
  close(): Promise<void>
}

/**
 * A message was not accepted. The error's message is one sentence without secrets, with the server's answer.
 *
 * - `CHANNEL_UNAVAILABLE`: no answer, or one that asks to try later
 * - `CHANNEL_LIMITED`: too many messages; `retryAfterMs` if the server says when to retry
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
