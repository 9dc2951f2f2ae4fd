import { Agent } from 'undici'
import { sentenceOf } from '../../lib/failure.ts'
import { parsedJson } from '../../lib/text.ts'
import { ExchangeError, exchange, type HttpAnswer, retryAfterMs } from '../../platform/exchange.ts'
import { inWords, type Message, message as sentence } from '../../texts/message.ts'
import {
  type Channel,
  ChannelError,
  type ChannelSettings,
  isMistrust,
  saysAnswer,
  targetOf,
} from '../channel.ts'
import type { ChannelMessage } from '../message.ts'

/*
 * Shared by all channels that use HTTP. Redirects are not followed: a message and its signature go only where the
 * settings say.
 */

/** The time limit for everything: connecting, sending, and reading the answer. */
const TIMEOUT_MS = 10_000
/** Far more than any vendor's answer. */
const MAX_ANSWER_BYTES = 65_536

/** A request to a robot or webhook. */
export interface Post {
  url: URL
  headers?: Record<string, string>
  body: string
}

/** The meaning of an answer, with the server's words, or in ours. */
export type AnswerMeaning =
  | { taken: string }
  | { refused: string | Message }
  | { unavailable: string }
  | { limited: string; retryAfterMs?: number }

/** A kind of channel: what it sends, and how it interprets answers. */
export interface HttpKind {
  post(message: ChannelMessage, id: string, now: Date): Post
  /** Called for every answer except redirects, 408, 429 and 5xx. */
  interpret(answer: HttpAnswer): AnswerMeaning
}

export class HttpChannel implements Channel {
  readonly settings: ChannelSettings
  readonly #kind: HttpKind
  readonly #say: (text: string) => string
  readonly #agent = new Agent({
    connect: { timeout: TIMEOUT_MS },
    allowH2: false,
    // Messages are rare: a kept connection would have been closed by the server before the next one, which would then
    // fail.
    pipelining: 0,
  })

  constructor(settings: ChannelSettings, kind: HttpKind) {
    this.settings = settings
    this.#kind = kind
    this.#say = saysAnswer(settings)
  }

  async send(message: ChannelMessage, id: string, signal: AbortSignal): Promise<string> {
    const now = new Date()
    const { url, headers, body } = this.#kind.post(message, id, now)
    const request = {
      origin: url.origin,
      path: url.pathname + url.search,
      headers: { 'content-type': 'application/json; charset=utf-8', 'user-agent': 'dirsync', ...headers },
      body,
    }
    let answer: HttpAnswer
    try {
      const limits = { timeoutMs: TIMEOUT_MS, maxAnswerBytes: MAX_ANSWER_BYTES }
      answer = await exchange(this.#agent, request, limits, signal)
    } catch (error) {
      if (!(error instanceof ExchangeError)) throw error
      const host = targetOf(this.settings)
      const words = error.cause instanceof Error ? this.#say(sentenceOf(error.cause)) : error.kind
      // The cause is left out: undici's errors hold the request, and with it the secrets.
      if (isMistrust(words))
        throw new ChannelError('CHANNEL_REFUSED', sentence('said.channel_mistrusted', { host, words }))
      throw new ChannelError('CHANNEL_UNAVAILABLE', sentence('said.channel_silent', { host, words }))
    }
    const meaning = interpretStatus(answer, now) ?? this.#kind.interpret(answer)
    if ('taken' in meaning) return this.#say(meaning.taken)
    throw this.#refusal(meaning)
  }

  #refusal(meaning: Exclude<AnswerMeaning, { taken: string }>): ChannelError {
    const said = (what: string | Message) =>
      sentence('said.channel_answered', {
        host: targetOf(this.settings),
        answer: typeof what === 'string' ? inWords(this.#say(what)) : what,
      })
    if ('refused' in meaning) return new ChannelError('CHANNEL_REFUSED', said(meaning.refused))
    if ('unavailable' in meaning) return new ChannelError('CHANNEL_UNAVAILABLE', said(meaning.unavailable))
    const { limited, retryAfterMs: wait } = meaning
    return new ChannelError(
      'CHANNEL_LIMITED',
      said(limited),
      wait === undefined ? undefined : { retryAfterMs: wait },
    )
  }

  /** Aborts what is under way. */
  close(): Promise<void> {
    return this.#agent.destroy()
  }
}

/** The meaning of statuses that is the same for every server; null if it depends on the kind. */
function interpretStatus(answer: HttpAnswer, now: Date): AnswerMeaning | null {
  const { status, headers } = answer
  const wait = retryAfterMs(headers['retry-after'], headers.date, now.getTime())
  if (status === 429 || (status === 503 && wait !== undefined))
    return { limited: statusText(answer), ...(wait !== undefined && { retryAfterMs: wait }) }
  if (status === 408 || status >= 500) return { unavailable: statusText(answer) }
  if (status >= 300 && status < 400) return { refused: sentence('said.channel_redirects', { status }) }
  return null
}

/** An answer as its status, followed by its text. */
export function statusText({ status, body, headers }: HttpAnswer): string {
  const isPage = String(headers['content-type'] ?? '').includes('html') || /^\s*</.test(body)
  return body.trim() === '' || isPage ? `HTTP ${status}` : `HTTP ${status}: ${body}`
}

/** How a robot reports the result of a message: as JSON, with code 0 if it accepted it. */
export interface RobotCodes {
  /** The names of the code and its description. */
  code: string
  words: string
  /** Codes for too many messages, with the milliseconds to wait. */
  limited: Readonly<Record<number, number>>
  /** Codes that ask to try again. */
  busy: readonly number[]
}

export function interpretRobot(answer: HttpAnswer, codes: RobotCodes): AnswerMeaning {
  const said = parsedJson(answer.body) as Record<string, unknown> | null | undefined
  const code = said?.[codes.code]
  const isWell = answer.status < 300
  if (typeof code !== 'number')
    return { [isWell ? 'unavailable' : 'refused']: statusText(answer) } as AnswerMeaning
  const words = typeof said?.[codes.words] === 'string' ? String(said[codes.words]) : ''
  const text = `${code} ${words}`.trim()
  if (code === 0) return isWell ? { taken: text } : { refused: statusText(answer) }
  const wait = codes.limited[code]
  if (wait !== undefined) return { limited: text, retryAfterMs: wait }
  return codes.busy.includes(code) ? { unavailable: text } : { refused: text }
}
