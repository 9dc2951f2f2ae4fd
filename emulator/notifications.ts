import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { type SignAlgorithm, signature } from './authentication.ts'
import type { Database, Statement, Stored } from './database.ts'
import { amountText } from './fields.ts'
import type { Clock, Platform } from './platform.ts'

/** One attempt to deliver a notification. */
export interface Attempt {
  /** The platform's time, ISO 8601. */
  at: string
  /** Null if there was no answer. */
  httpStatus: number | null
  /** The beginning of the answer's body. */
  answer: string | null
  /** Why there was no answer. */
  error: string | null
}

/** The notification of a refund (section 6). The amount is in cents, times are milliseconds since 1970. */
export interface Notification {
  outer_refund_no: string
  outer_trade_no: string
  refund_amount: bigint
  trade_no: string
  url: string
  state: 'pending' | 'delivered' | 'given up'
  /** When the first attempt began. */
  first_at: number | null
  next_at: number
  attempts: Attempt[]
}

export class Notifications {
  readonly #list: Statement<Stored<Notification>>
  readonly #pending: Statement<Stored<Notification>>
  readonly put: (notification: Notification) => void

  constructor(database: Database) {
    this.#list = database.prepare('select * from notifications order by outer_refund_no')
    this.#pending = database.prepare(
      `select * from notifications where state = 'pending' order by next_at limit ?`,
    )
    this.put = database.writer('notifications')
  }

  list(): Notification[] {
    return this.#list.all().map(toNotification)
  }

  /** The `limit` that are due first, in that order. */
  pending(limit: number): Notification[] {
    return this.#pending.all(limit).map(toNotification)
  }
}

function toNotification(row: Stored<Notification>): Notification {
  return { ...row, refund_amount: BigInt(row.refund_amount), attempts: JSON.parse(row.attempts) }
}

/** The refund notifications as `GET /_emulator/notifications` shows them. */
export function notificationLog({ notifications }: Platform) {
  return notifications.list().map(({ refund_amount, first_at, next_at, ...notification }) => ({
    ...notification,
    refund_amount: amountText(refund_amount),
    /** When the next attempt is due, ISO 8601; null when there is none. */
    next_at: notification.state === 'pending' ? new Date(next_at).toISOString() : null,
  }))
}

const MAX_PARALLEL = 16
/** Longest sleep between two looks: timers cannot be set for weeks. */
const MAX_SLEEP_MS = 3_600_000

interface Settings {
  appId: string
  appSecret: string
  signAlgorithm: SignAlgorithm
  /** After this long an attempt counts as not answered. */
  timeoutMs: number
}

/**
 * Delivers the notifications of refunds (section 6) when they are due by the platform's clock. What is under way when the
 * emulator closes, or is killed, stays due.
 */
export class Notifier {
  readonly #notifications: Notifications
  readonly #clock: Clock
  readonly #settings: Settings
  #timer: NodeJS.Timeout | undefined
  #ending = new AbortController()
  #underWay = new Set<string>()
  #isClosed = false

  constructor(notifications: Notifications, clock: Clock, settings: Settings) {
    this.#notifications = notifications
    this.#clock = clock
    this.#settings = settings
  }

  /** Starts the attempts that are due, and sleeps until the next one is. Call it whenever that may have changed. */
  wake(): void {
    clearTimeout(this.#timer)
    if (this.#isClosed) return
    const now = this.#clock.now()
    for (const notification of this.#pending(now)) {
      if (this.#underWay.has(notification.outer_refund_no)) continue
      if (this.#underWay.size >= MAX_PARALLEL) return
      const wait = notification.next_at - now
      if (wait > 0) {
        this.#timer = setTimeout(() => this.wake(), Math.min(wait, MAX_SLEEP_MS))
        return
      }
      void this.#attempt(notification, now)
    }
  }

  /** Ends the attempts under way; they leave no trace. */
  abort(): void {
    clearTimeout(this.#timer)
    this.#ending.abort()
    this.#ending = new AbortController()
    this.#underWay = new Set()
  }

  close(): void {
    this.#isClosed = true
    this.abort()
  }

  /** The notifications that are due first, enough to fill every place. Those for which it is too late are given up. */
  #pending(now: number): Notification[] {
    const pending = this.#notifications.pending(2 * MAX_PARALLEL)
    const over = pending.filter(each => isOver(each, now) && !this.#underWay.has(each.outer_refund_no))
    if (over.length === 0) return pending
    for (const notification of over) this.#notifications.put({ ...notification, state: 'given up' })
    return this.#pending(now)
  }

  async #attempt(notification: Notification, now: number): Promise<void> {
    const underWay = this.#underWay
    const ending = this.#ending.signal
    underWay.add(notification.outer_refund_no)
    const begun = { ...notification, first_at: notification.first_at ?? now }
    this.#notifications.put(begun)
    const signal = AbortSignal.any([ending, AbortSignal.timeout(this.#settings.timeoutMs)])
    const result = await postForm(notification.url, this.#form(notification, now), signal)
    if (ending.aborted) return
    const attempt = { at: new Date(now).toISOString(), ...result }
    this.#notifications.put(afterAttempt(begun, attempt, this.#clock.now()))
    underWay.delete(notification.outer_refund_no)
    this.wake()
  }

  /** The signed form, with the time of this attempt. */
  #form({ outer_trade_no, outer_refund_no, refund_amount, trade_no }: Notification, now: number): string {
    const { appId, appSecret, signAlgorithm } = this.#settings
    const fields = new Map([
      ['appid', appId],
      ['outer_trade_no', outer_trade_no],
      ['outer_refund_no', outer_refund_no],
      ['refund_amount', amountText(refund_amount)],
      ['trade_no', trade_no],
      ['timestamp', String(Math.floor(now / 1000))],
    ])
    fields.set('sign', signature(fields, appSecret, signAlgorithm))
    return new URLSearchParams([...fields]).toString()
  }
}

/** More of an answer is not read: `success` is all that counts. */
const MAX_ANSWER_BYTES = 1024
const MAX_KEPT_CHARACTERS = 100

/** Posts a form over a connection of its own and answers what came back. Follows no redirection; never rejects. */
async function postForm(url: string, body: string, signal: AbortSignal): Promise<Omit<Attempt, 'at'>> {
  try {
    const send = url.startsWith('https:') ? httpsRequest : httpRequest
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const request = send(url, { method: 'POST', agent: false, headers, signal })
    request.end(body)
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    const answer = await readAnswer(response)
    return { httpStatus: response.statusCode ?? 0, answer, error: null }
  } catch (error) {
    const { code, name } = (signal.aborted ? signal.reason : error) as NodeJS.ErrnoException
    return { httpStatus: null, answer: null, error: typeof code === 'string' ? code : name }
  }
}

async function readAnswer(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of response) {
    chunks.push(chunk)
    size += chunk.length
    if (size > MAX_ANSWER_BYTES) break
  }
  return Buffer.concat(chunks).toString('utf8').slice(0, MAX_KEPT_CHARACTERS)
}

const SECOND_MS = 1000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS

/** How long after its first attempt a notification is repeated (section 6). */
const WINDOW_MS = 24 * HOUR_MS

/** The waits after the first, the second … failure: growing, as section 6 says; their lengths are the emulator's. */
const WAITS_MS = [
  ...[15 * SECOND_MS, MINUTE_MS, 5 * MINUTE_MS, 15 * MINUTE_MS],
  ...[HOUR_MS, 2 * HOUR_MS, 4 * HOUR_MS, 6 * HOUR_MS, 10 * HOUR_MS],
]

/** Whether it is too late for another attempt. */
export function isOver({ first_at }: Notification, now: number): boolean {
  return first_at !== null && now > first_at + WINDOW_MS
}

/** The notification after an attempt that ended at `now`: delivered, given up, or due again later. */
export function afterAttempt(notification: Notification, attempt: Attempt, now: number): Notification {
  const attempts = [...notification.attempts, attempt]
  if (attempt.httpStatus === 200 && attempt.answer === 'success') {
    return { ...notification, attempts, state: 'delivered' }
  }
  const wait = WAITS_MS[attempts.length - 1] ?? WINDOW_MS
  const next = { ...notification, attempts, next_at: now + wait }
  return isOver(next, next.next_at) ? { ...next, state: 'given up' } : next
}
