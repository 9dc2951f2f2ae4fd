import type { ClientBase, Pool, PoolClient } from '../lib/database.ts'
import { NOTICE_LOST_CLIENT, onlyRow, transaction, withConnection } from '../lib/database.ts'
import type { RefundVerdict } from '../platform/refund-settlement.ts'
import type { Refund } from './refund.ts'

/** What a refund's call ended with. */
export type RefundAnswer =
  | { state: 'accepted'; tradeNo: string }
  | { state: 'rejected'; platformCode: number; message: string; traceId: string | null }
  | { state: 'unknown'; platformCode: number | null; message: string; traceId: string | null }

/** Refunds of one order are sent one after the other: else nobody could tell which of them its record shows. */
export function orderLock(outerTradeNo: string): string {
  return `refund:${outerTradeNo}`
}

/** What is known of a refund before it is sent. */
export type NewRefund = Pick<
  Refund,
  'outer_refund_no' | 'outer_trade_no' | 'enterprise_code' | 'refund_amount' | 'refunded_before'
>

/**
 * Writes a refund down before it is sent.
 * @returns false when its number was used before, or another refund of the order is open
 */
export async function writeRefund(db: ClientBase | Pool, refund: NewRefund, actor: string): Promise<boolean> {
  const { rowCount } = await db.query(
    `insert into dirsync.refund (outer_refund_no, outer_trade_no, enterprise_code, refund_amount, refunded_before, requested_by)
     values ($1, $2, $3, $4, $5, session_user || ' (' || $6 || ')') on conflict do nothing`,
    [
      refund.outer_refund_no,
      refund.outer_trade_no,
      refund.enterprise_code,
      refund.refund_amount,
      refund.refunded_before,
      actor,
    ],
  )
  return rowCount === 1
}

/** Forgets a refund of which nothing was sent: its number stays free. */
export async function forgetRefund(db: Pool, outerRefundNo: string): Promise<void> {
  await db.query(
    `delete from dirsync.refund where outer_refund_no = $1 and state in ('requested', 'unknown')`,
    [outerRefundNo],
  )
}

/**
 * Stores how a refund's call ended. The platform's own answer overrules what was inferred meanwhile, but nothing overrules
 * its notification.
 */
export async function storeAnswer(db: Pool, outerRefundNo: string, answer: RefundAnswer): Promise<void> {
  if (answer.state === 'unknown') {
    await db.query(
      `update dirsync.refund
       set state = 'unknown', message = $2, trace_id = $3, platform_code = $4,
           next_settle_at = case when refunded_before is not null then now() end
       where outer_refund_no = $1 and state = 'requested'`,
      [outerRefundNo, answer.message, answer.traceId, answer.platformCode],
    )
    return
  }
  const { platformCode, message, traceId } = answer.state === 'rejected' ? answer : ACCEPTED
  await db.query(
    `update dirsync.refund
     set state = case when state = 'notified' then state else $2 end, trade_no = coalesce($3, trade_no), platform_code = $4,
         message = $5, trace_id = $6, settled_at = coalesce(settled_at, now()), next_settle_at = null
     where outer_refund_no = $1`,
    [
      outerRefundNo,
      answer.state,
      answer.state === 'accepted' ? answer.tradeNo : null,
      platformCode,
      message,
      traceId,
    ],
  )
}

const ACCEPTED = { platformCode: null, message: null, traceId: null }

/** Finds refunds whose sender did not live to store the answer: their outcome is unknown. Returns their numbers. */
export async function adoptRefunds(pool: Pool): Promise<string[]> {
  const { rows } = await pool.query<Pick<Refund, 'outer_refund_no' | 'outer_trade_no'>>(
    `select outer_refund_no, outer_trade_no from dirsync.refund where state = 'requested'`,
  )
  const adopted: string[] = []
  for (const { outer_refund_no, outer_trade_no } of rows) {
    const isAdopted = await transaction(pool, async client => {
      if (!(await isUnattended(client, orderLock(outer_trade_no)))) return false
      const { rowCount } = await client.query(
        `update dirsync.refund
         set state = 'unknown', message = 'its sender ended before it stored the answer',
             next_settle_at = case when refunded_before is not null then now() end
         where outer_refund_no = $1 and state = 'requested'`,
        [outer_refund_no],
      )
      return rowCount === 1
    })
    if (isAdopted) adopted.push(outer_refund_no)
  }
  return adopted
}

/** Halts that say nothing of the platform. */
export const UNCONCERNED = ['hr_unavailable']
/** Categories of halts that the order record's answer does not disprove: it is asked without an enterprise code. */
export const UNTOLD = [...UNCONCERNED, 'enterprise_code']

/** An unknown refund to be settled now. */
export interface ClaimedRefund extends Refund {
  /** Milliseconds since it was written down, by the database's clock. */
  age_ms: number
  /** When it was claimed, by the database's clock. */
  claimed_at: Date
}

/**
 * Takes an unknown refund to ask the order record about, and puts the next time off: 5 s, doubling up to 10 minutes.
 * @param outerRefundNo this one, due or not; null: one that is due; while a halt of the platform lasts, only to probe it
 */
export async function claimUnknown(db: Pool, outerRefundNo: string | null): Promise<ClaimedRefund | null> {
  const { rows } = await db.query<ClaimedRefund>(
    `with claimed as (
       select outer_refund_no from dirsync.refund r
       where state = 'unknown'
         and (outer_refund_no = $1
              or $1::text is null and next_settle_at <= now()
                 and not exists (select from dirsync.halt h
                                 where h.scope in ('*', r.enterprise_code) and h.category <> all ($2)
                                   and h.next_probe_at > now()))
       order by next_settle_at limit 1 for update skip locked
     )
     update dirsync.refund r
     set settle_attempts = settle_attempts + 1,
         next_settle_at = case when refunded_before is not null then now() + least(5 * 2 ^ least(settle_attempts, 10), 600) * interval '1 second' end
     from claimed where r.outer_refund_no = claimed.outer_refund_no
     returning r.*, (extract(epoch from now() - sent_at) * 1000)::float8 as age_ms, now() as claimed_at`,
    [outerRefundNo, UNCONCERNED],
  )
  return rows[0] ?? null
}

/**
 * Stores what the order record showed, unless the outcome has become known otherwise.
 * @param forPerson asking again will not tell: it waits for a person from now on, until a verdict says otherwise
 */
export async function storeVerdict(
  db: Pool,
  outerRefundNo: string,
  verdict: RefundVerdict,
  message: string,
  forPerson = false,
): Promise<void> {
  await db.query(
    `update dirsync.refund
     set message = $3, state = $2, settled_at = case when $2 <> 'unknown' then now() end,
         next_settle_at = case when $2 = 'unknown' then next_settle_at end,
         left_to_person_at = case when $4 then coalesce(left_to_person_at, now()) end
     where outer_refund_no = $1 and state = 'unknown'`,
    [outerRefundNo, STATE_OF[verdict], message, forPerson],
  )
}

const STATE_OF = { carried_out: 'accepted', not_carried_out: 'rejected', unknown: 'unknown' } as const

/**
 * Runs `work` while this session has the lock that says "somebody who lives is sending this". It is held on the connection
 * that `work` is given: what is written there was written under the lock, and when the process dies the server frees it.
 * @returns null when another session has the lock; nothing was run
 */
export function whileSending<T>(
  pool: Pool,
  key: string,
  work: (db: PoolClient) => Promise<T>,
): Promise<T | null> {
  return withConnection(pool, async db => {
    // A host that dies without a word frees its locks within seconds.
    await db.query(NOTICE_LOST_CLIENT)
    if (!(await take(db, 'pg_try_advisory_lock', key))) return null
    try {
      return await work(db)
    } finally {
      // The lock goes with the connection, if that is gone.
      await db.query('select pg_advisory_unlock(hashtextextended($1, 0))', [key]).catch(() => undefined)
    }
  })
}

/** Whether nobody is sending this; holds until the transaction ends. */
export function isUnattended(transaction: ClientBase, key: string): Promise<boolean> {
  return take(transaction, 'pg_try_advisory_xact_lock', key)
}

async function take(db: ClientBase, lock: string, key: string): Promise<boolean> {
  const { rows } = await db.query<{ taken: boolean }>(`select ${lock}(hashtextextended($1, 0)) as taken`, [
    key,
  ])
  return onlyRow(rows).taken
}

/** What was asked for is refused by the journal of refunds and top-ups; nothing was sent. */
export class JournalError extends Error {
  /**
   * `ALREADY_SENT`: the number was used; `ORDER_BUSY`: another refund of the order is open; `ACCOUNT_BUSY`: another top-up of
   * the account is; `NOT_FOUND`; `NOT_UNKNOWN`: its outcome needs no decision.
   */
  readonly code: 'ALREADY_SENT' | 'ORDER_BUSY' | 'ACCOUNT_BUSY' | 'NOT_FOUND' | 'NOT_UNKNOWN'

  constructor(code: JournalError['code'], message: string) {
    super(message)
    this.name = 'JournalError'
    this.code = code
  }
}
