import { Agent } from 'undici'
import { sentenceOf } from '../../lib/failure.ts'
import { ExchangeError, exchange, type HttpAnswer, retryAfterMs } from '../../platform/exchange.ts'
import { type Channel, ChannelError, type ChannelSettings } from '../channel.ts'
import type { Message } from '../message.ts'
import { answerText, isMistrust, TRUST_HINT } from './answer.ts'

/*
 * What all channels that are reached by HTTP have in common. Redirects are not followed: a message, and what signs it, goes
 * where the settings say and nowhere else.
 */

/** For everything: connecting, sending, the whole answer. */
const TIMEOUT_MS = 10_000
/** No vendor's answer comes near it. */
const MAX_ANSWER_BYTES = 65_536

/** What a robot or webhook is sent. */
export interface Post {
  url: URL
  headers?: Record<string, string>
  body: string
}

/** What an answer means, in the words of its server. */
export type Judgement =
  | { taken: string }
  | { refused: string }
  | { unavailable: string }
  | { limited: string; retryAfterMs?: number }

/** A kind of channel: what it sends, and how it reads the answer. */
export interface HttpKind {
  post(message: Message, id: string, now: Date): Post
  /** Told of every answer but redirects, 408, 429 and 5xx. */
  judge(answer: HttpAnswer): Judgement
}

export class HttpChannel implements Channel {
  readonly settings: ChannelSettings
  readonly target: string
  readonly #kind: HttpKind
  readonly #say: (text: string) => string
  readonly #agent = new Agent({
    connect: { timeout: TIMEOUT_MS },
    allowH2: false,
    // Messages are rare: a connection that is kept would be closed by the time of the next, and that one would fail.
    pipelining: 0,
  })

  constructor(settings: ChannelSettings, kind: HttpKind) {
    this.settings = settings
    this.target = new URL(settings.url).host
    this.#kind = kind
    this.#say = answerText(settings)
  }

  async send(message: Message, id: string, signal: AbortSignal): Promise<string> {
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
      const reason = error.cause instanceof Error ? this.#say(sentenceOf(error.cause)) : error.kind
      // Without a cause of its own: undici's errors hold the request, and with it the secrets.
      if (isMistrust(reason))
        throw new ChannelError('CHANNEL_REFUSED', `${this.target} is not trusted: ${reason} (${TRUST_HINT})`)
      throw new ChannelError('CHANNEL_UNAVAILABLE', `${this.target} gave no complete answer: ${reason}`)
    }
    const judgement = judgeStatus(answer, now) ?? this.#kind.judge(answer)
    if ('taken' in judgement) return this.#say(judgement.taken)
    throw this.#refusal(judgement)
  }

  #refusal(judgement: Exclude<Judgement, { taken: string }>): ChannelError {
    const said = (text: string) => `${this.target} answered: ${this.#say(text)}`
    if ('refused' in judgement) return new ChannelError('CHANNEL_REFUSED', said(judgement.refused))
    if ('unavailable' in judgement)
      return new ChannelError('CHANNEL_UNAVAILABLE', said(judgement.unavailable))
    const { limited, retryAfterMs: wait } = judgement
    return new ChannelError(
      'CHANNEL_LIMITED',
      said(limited),
      wait === undefined ? undefined : { retryAfterMs: wait },
    )
  }

  /** Gives up what is under way. */
  close(): Promise<void> {
    return this.#agent.destroy()
  }
}

/** What a status says whoever answers; null: it depends on the kind. */
function judgeStatus(answer: HttpAnswer, now: Date): Judgement | null {
  const { status, headers } = answer
  const wait = retryAfterMs(headers['retry-after'], headers.date, now.getTime())
  if (status === 429 || (status === 503 && wait !== undefined))
    return { limited: statusText(answer), ...(wait !== undefined && { retryAfterMs: wait }) }
  if (status === 408 || status >= 500) return { unavailable: statusText(answer) }
  if (status >= 300 && status < 400)
    return { refused: `HTTP ${status}, a redirect: set the address it leads to` }
  return null
}

/** An answer by its status, with what it says beside. */
export function statusText({ status, body, headers }: HttpAnswer): string {
  const isPage = String(headers['content-type'] ?? '').includes('html') || /^\s*</.test(body)
  return body.trim() === '' || isPage ? `HTTP ${status}` : `HTTP ${status}: ${body}`
}

/** How a robot tells what became of a message: as JSON, with a code that is 0 where it took it. */
export interface RobotCodes {
  /** What the code and its words are called. */
  code: string
  words: string
  /** Codes of too many messages, with the milliseconds to wait. */
  limited: Readonly<Record<number, number>>
  /** Codes that ask to try again. */
  busy: readonly number[]
}

/** Reads the answer of a robot. */
export function judgeRobot(answer: HttpAnswer, codes: RobotCodes): Judgement {
  const said = parsed(answer.body)
  const code = said?.[codes.code]
  const isWell = answer.status < 300
  if (typeof code !== 'number')
    return { [isWell ? 'unavailable' : 'refused']: statusText(answer) } as Judgement
  const words = typeof said?.[codes.words] === 'string' ? String(said[codes.words]) : ''
  const text = `${code} ${words}`.trim()
  if (code === 0) return isWell ? { taken: text } : { refused: statusText(answer) }
  const wait = codes.limited[code]
  if (wait !== undefined) return { limited: text, retryAfterMs: wait }
  return codes.busy.includes(code) ? { unavailable: text } : { refused: text }
}

function parsed(body: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(body)
    return typeof value === 'object' ? (value as Record<string, unknown> | null) : null
  } catch {
    return null
  }
}
