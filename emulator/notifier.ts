import { amountText } from './amount.ts'
import type { Clock } from './clock.ts'
import { postForm } from './notification-request.ts'
import { afterAttempt, isOver } from './notification-schedule.ts'
import type { Notification, Notifications } from './notifications.ts'
import { type SignAlgorithm, signature } from './signature.ts'

const MAX_PARALLEL = 16
/** A timer looks again after this long at the latest, for a longer one may not be set. */
const MAX_SLEEP_MS = 3_600_000

interface Settings {
  appId: string
  appSecret: string
  signAlgorithm: SignAlgorithm
  /** After this long an attempt counts as not answered. */
  timeoutMs: number
}

/**
 * Delivers the notifications of refunds (specification section 6), when they are due by the platform's clock. What
 * is under way when the emulator closes, or is killed, stays due.
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

  /** Starts the attempts that are due, and sleeps until the next is. To be called whenever that may have changed. */
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

  /** Those to be delivered that are due first, enough to fill every place; those for which it is too late end here. */
  #pending(now: number): Notification[] {
    const pending = this.#notifications.pending(2 * MAX_PARALLEL)
    const over = pending.filter(each => isOver(each, now) && !this.#underWay.has(each.outer_refund_no))
    if (over.length === 0) return pending
    for (const notification of over) this.#notifications.update({ ...notification, state: 'given up' })
    return this.#pending(now)
  }

  async #attempt(notification: Notification, now: number): Promise<void> {
    const underWay = this.#underWay
    const ending = this.#ending.signal
    underWay.add(notification.outer_refund_no)
    const begun = { ...notification, first_at: notification.first_at ?? now }
    this.#notifications.update(begun)
    const signal = AbortSignal.any([ending, AbortSignal.timeout(this.#settings.timeoutMs)])
    const result = await postForm(notification.url, this.#form(notification, now), signal)
    if (ending.aborted) return
    const attempt = { at: new Date(now).toISOString(), ...result }
    this.#notifications.update(afterAttempt(begun, attempt, this.#clock.now()))
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
