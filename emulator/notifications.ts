import type { StatementSync } from 'node:sqlite'
import type { Database } from './database.ts'

/** One attempt to deliver a notification. */
export interface Attempt {
  /** The platform's time, ISO 8601. */
  at: string
  /** Null when nobody answered. */
  httpStatus: number | null
  /** The beginning of the answer's body. */
  answer: string | null
  /** Why there was no answer. */
  error: string | null
}

/** The notification of a refund (specification section 6). The amount is in cents, times are milliseconds since 1970. */
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
  readonly #list: StatementSync
  readonly #pending: StatementSync
  readonly #put: StatementSync
  readonly #update: StatementSync

  constructor({ sqlite }: Database) {
    this.#list = sqlite.prepare('select * from notifications order by outer_refund_no')
    this.#pending = sqlite.prepare(
      `select * from notifications where state = 'pending' order by next_at limit ?`,
    )
    this.#put = sqlite.prepare('insert or replace into notifications values (?, ?, ?, ?, ?, ?, ?, ?, ?)')
    this.#update = sqlite.prepare(
      'update notifications set state = ?, first_at = ?, next_at = ?, attempts = ? where outer_refund_no = ?',
    )
  }

  list(): Notification[] {
    return this.#list.all().map(toNotification)
  }

  /** The first `limit` of those still to be delivered, the one that is due first in front. */
  pending(limit: number): Notification[] {
    return this.#pending.all(limit).map(toNotification)
  }

  add(notification: Omit<Notification, 'state' | 'first_at' | 'attempts'>): void {
    const { outer_refund_no, outer_trade_no, refund_amount, trade_no, url, next_at } = notification
    const start = ['pending', null, next_at, '[]'] as const
    this.#put.run(outer_refund_no, outer_trade_no, refund_amount, trade_no, url, ...start)
  }

  update({ outer_refund_no, state, first_at, next_at, attempts }: Notification): void {
    this.#update.run(state, first_at, next_at, JSON.stringify(attempts), outer_refund_no)
  }
}

function toNotification(row: Record<string, unknown>): Notification {
  return {
    ...(row as unknown as Notification),
    refund_amount: BigInt(row.refund_amount as number),
    attempts: JSON.parse(row.attempts as string),
  }
}
