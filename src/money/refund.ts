import type { Pool } from '../lib/database.ts'
import { onlyRow, transaction } from '../lib/database.ts'
import { cents } from '../platform/refund-settlement.ts'
import { adoptRefunds, JournalError } from './journal.ts'

export const REFUND_STATES = ['requested', 'unknown', 'accepted', 'rejected', 'notified'] as const

export type RefundState = (typeof REFUND_STATES)[number]

/** One row of `dirsync.refund`, named as its columns; amounts are decimal strings. */
export interface Refund {
  outer_refund_no: string
  outer_trade_no: string
  enterprise_code: string
  refund_amount: string
  refunded_before: string | null
  state: RefundState
  requested_by: string
  sent_at: Date
  settled_at: Date | null
  notified_at: Date | null
  trade_no: string | null
  platform_code: number | null
  trace_id: string | null
  message: string | null
  settle_attempts: number
  next_settle_at: Date | null
  left_to_person_at: Date | null
  resolved_by: string | null
  resolution: string | null
}

/** The refund of this external number; null when dirsync never sent it. */
export async function readRefund(db: Pool, outerRefundNo: string): Promise<Refund | null> {
  const { rows } = await db.query<Refund>('select * from dirsync.refund where outer_refund_no = $1', [
    outerRefundNo,
  ])
  return rows[0] ?? null
}

/** The latest refunds, those sent last first. */
export async function listRefunds(
  db: Pool,
  filter: { state?: RefundState | undefined; outerTradeNo?: string | undefined; limit: number },
): Promise<Refund[]> {
  const { rows } = await db.query<Refund>(
    `select * from dirsync.refund
     where ($1::text is null or state = $1) and ($2::text is null or outer_trade_no = $2)
     order by sent_at desc, outer_refund_no limit $3`,
    [filter.state ?? null, filter.outerTradeNo ?? null, filter.limit],
  )
  return rows
}

/** How much of an order dirsync has refunded, as far as it knows. */
export async function acceptedAmount(db: Pool, outerTradeNo: string): Promise<string> {
  const { rows } = await db.query<{ amount: string }>(
    `select coalesce(sum(refund_amount), 0)::text as amount from dirsync.refund
     where outer_trade_no = $1 and state in ('accepted', 'notified')`,
    [outerTradeNo],
  )
  return rows[0]?.amount ?? '0'
}

/** The payment orders behind an order: those that the mirror shows, else those that earlier refunds of it have named. */
export async function tradeNumbersOf(
  db: Pool,
  outerTradeNo: string,
): Promise<{ trade_no: string; enterprise_code: string }[]> {
  const { rows } = await db.query<{ trade_no: string; enterprise_code: string }>(
    `with mirrored as (
       select trade_no, enterprise_code from dirsync.payment_order where out_trade_no = $1
     )
     select trade_no, enterprise_code from mirrored
     union
     select trade_no, enterprise_code from dirsync.refund
     where outer_trade_no = $1 and trade_no <> '' and not exists (select from mirrored)
     order by trade_no`,
    [outerTradeNo],
  )
  return rows
}

/** Refunds whose outcome nobody knows yet; `for_person` of the unknown ones wait for a person. */
export async function openRefunds(
  db: Pool,
): Promise<{ requested: number; unknown: number; for_person: number; oldest: Date | null }> {
  const { rows } = await db.query<{
    requested: number
    unknown: number
    for_person: number
    oldest: Date | null
  }>(
    `select count(*) filter (where state = 'requested') as requested,
            count(*) filter (where state = 'unknown') as unknown,
            count(*) filter (
              where state = 'unknown' and (next_settle_at is null or left_to_person_at is not null)
            ) as for_person,
            min(sent_at) as oldest
     from dirsync.refund where state in ('requested', 'unknown')`,
  )
  return onlyRow(rows)
}

/**
 * Stores the platform's notification of a refund (specification section 6), whatever was thought of its outcome before. It
 * is committed when this returns.
 * @returns `repeated`: was stored before, nothing changed; `unknown`: dirsync never sent such a refund; `mismatch`: it was
 *   of another order or amount
 */
export async function recordNotification(
  db: Pool,
  notification: { outer_refund_no: string; outer_trade_no: string; refund_amount: string; trade_no: string },
): Promise<'stored' | 'repeated' | 'unknown' | 'mismatch'> {
  const { outer_refund_no, outer_trade_no, refund_amount, trade_no } = notification
  const refund = await readRefund(db, outer_refund_no)
  if (refund === null) return 'unknown'
  const isSame =
    refund.outer_trade_no === outer_trade_no && cents(refund.refund_amount) === cents(refund_amount)
  if (!isSame) return 'mismatch'
  const { rowCount } = await db.query(
    `update dirsync.refund
     set state = 'notified', notified_at = now(), settled_at = coalesce(settled_at, now()), next_settle_at = null, trade_no = $2
     where outer_refund_no = $1 and state <> 'notified'`,
    [outer_refund_no, trade_no],
  )
  if (rowCount === 1) return 'stored'
  // `success` is the platform's last word on it: not for a row that has gone since it was read.
  return (await readRefund(db, outer_refund_no)) === null ? 'unknown' : 'repeated'
}

/**
 * A person's word about a refund whose outcome is unknown.
 * @param actor who decides: `cli:` and the shell user
 * @throws JournalError when there is no such refund, or its outcome is known or still awaited
 */
export async function resolveRefund(
  pool: Pool,
  outerRefundNo: string,
  state: 'accepted' | 'rejected',
  reason: string,
  actor: string,
): Promise<Refund> {
  await adoptRefunds(pool)
  return transaction(pool, async client => {
    await client.query(`select set_config('dirsync.actor', $1, true)`, [actor])
    const { rows } = await client.query<Refund>(
      `with resolved as (
         update dirsync.refund
         set state = $2, settled_at = now(), next_settle_at = null, resolved_by = dirsync.actor(), resolution = $3
         where outer_refund_no = $1 and state = 'unknown' returning *
       ), told as (
         insert into dirsync.command (name, arguments, requested_by)
         select 'resolve_refund', jsonb_build_object('outer_refund_no', outer_refund_no, 'state', state, 'reason', resolution), resolved_by
         from resolved
       )
       select * from resolved`,
      [outerRefundNo, state, reason],
    )
    if (rows[0]) return rows[0]
    const refund = await readRefund(pool, outerRefundNo)
    if (refund === null) throw new JournalError('NOT_FOUND', `there is no refund ${outerRefundNo}`)
    throw new JournalError(
      'NOT_UNKNOWN',
      refund.state === 'requested'
        ? `refund ${outerRefundNo} is being sent at this moment: look again in a minute`
        : `refund ${outerRefundNo} is ${refund.state}: only an unknown outcome is decided by a person`,
    )
  })
}
