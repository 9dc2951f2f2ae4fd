import type { Lock } from '../lib/advisory-lock.ts'
import type { ClientBase, Pool } from '../lib/database.ts'
import { onlyRow } from '../lib/database.ts'
import type { RefundNotification } from '../platform/notification.ts'
import { cents, NOT_CARRIED_OUT_AFTER_MS, type RefundVerdict } from '../platform/refund-settlement.ts'
import { PAYMENT_ORDER_STATUS } from '../platform/states.ts'
import { REFUSED_OF_DAY } from '../sync/health/health.ts'
import { HALTS_OF_OTHERS, IS_FOR_ANYONE, isInForceFor } from '../sync/outbox/halts.ts'
import { type MessageKey, type Said, toStore } from '../texts/message.ts'
import { type Answer, contradictionOf, type Entry, IS_OPEN, Journal, type MayStillCome } from './journal.ts'

/** One row of `dirsync.refund`; amounts are decimal texts. */
export interface Refund extends Entry {
  outer_refund_no: string
  outer_trade_no: string
  refund_amount: string
  /** What the order record showed as refunded before this refund; null where that could not tell them apart later. */
  refunded_before: string | null
  notified_at: Date | null
  trade_no: string | null
  /** How often the order record was asked about it, and when to ask next. */
  settle_attempts: number
  next_settle_at: Date | null
  /** Since when the order record could not tell; a person has to find out. */
  left_to_person_at: Date | null
  /** When the order record, or the mirror, was first seen to show this accepted refund. */
  shown_at: Date | null
}

/** A refund as the journal reads it. */
export interface ReadRefund extends Refund {
  /** What the order was paid with, as far as the mirror knows; null: it does not, or with several assets. */
  asset_code: string | null
  misfit_at: Date | null
}

const LONGEST_PAUSE_S = 600

const { COMPLETED, PENDING_REFUND, REFUNDING, REFUNDED } = PAYMENT_ORDER_STATUS

/** SQL: from one check of the order record to the next, after so many before it: 5 s, doubling up to 10 minutes. */
const pauseAfter = (checks: string) =>
  `least(5 * 2 ^ least(${checks}, 10), ${LONGEST_PAUSE_S}) * interval '1 second'`

/** SQL: it is time to check. A pause longer than any means that the clock was put back. */
const isDue = (longestPauseS: number) => `(next_settle_at <= now()
  or next_settle_at > now() + ${longestPauseS} * interval '1 second')`

/**
 * Halts that an answer of the order record does not disprove. Its parameters (section 4.11) do not name `enterprise_code`, so a
 * platform may answer without having looked at it.
 */
export const NOT_DISPROVED = [...HALTS_OF_OTHERS, 'enterprise_code']

/** SQL: the order record of a refund `r` may be asked: no halt `h` forbids it. @param isProbe asking is a probe of the halt */
const mayBeAsked = (isProbe: string) => `not exists (
  select from dirsync.halt h
  where ${isInForceFor('r.enterprise_code')} and ${isNone(HALTS_OF_OTHERS)} and not (${isProbe}))`

/** SQL: a halt `h` is of none of these categories. */
function isNone(categories: readonly string[]): string {
  return `h.category not in (${categories.map(category => `'${category}'`).join(', ')})`
}

/** SQL: `asset_code` of the refunds of an order. */
const assetOfOrder = (outerTradeNo: string) => `(
  select case when count(distinct o.asset_code) = 1 then min(o.asset_code) end
  from dirsync.payment_order o where o.out_trade_no = ${outerTradeNo})`

/** SQL: since when the platform has notified of a refund with another order or amount than was sent; null: it has not. */
const misfitOf = (outerRefundNo: string) => `(
  select n.first_at from dirsync.refused_notification n
  where n.outer_refund_no = ${outerRefundNo} and n.reason = 'mismatch')`

/** Refunds of one order are sent one after the other: otherwise its record could not tell them apart. */
export function orderLock(outerTradeNo: string): Lock {
  return { key: `refund:${outerTradeNo}` }
}

/**
 * SQL: the platform has accepted it, and neither its notification, nor the order record, nor the mirror, nor a person has said that it
 * is completed. The platform sends nothing for one that fails. `switch-account` waits for it, too (src/sync/health/deployment.ts).
 */
const IS_UNSHOWN = `(state = 'accepted' and shown_at is null and resolved_by is null)`

/** As IS_UNSHOWN. */
export function isUnshown({
  state,
  shown_at,
  resolved_by,
}: Pick<Refund, 'state' | 'shown_at' | 'resolved_by'>): boolean {
  return state === 'accepted' && shown_at === null && resolved_by === null
}

/** Whether the order record may tell more of a refund whose outcome is recorded: that it is completed, or is in doubt no more. */
export function recordMayTell(refund: Parameters<typeof isUnshown>[0] & Refund): boolean {
  return isUnshown(refund) || contradictionOf(refund) === 'perhaps'
}

/** How long completing a refund may take: the platform repeats its notification, and its records may lag, as long. */
const COMPLETED_WITHIN_MS = NOT_CARRIED_OUT_AFTER_MS
/** For how long a worker asks the order record whether it shows an accepted refund. */
const LOOKED_FOR_MS = 7 * 86_400_000

/** How long it is from one of these questions to the next. */
const LOOKED_FOR_EVERY_S = 43_200

const sentBefore = (ms: number) => `sent_at < now() - interval '${ms} milliseconds'`

/** SQL: it is too early to look for an accepted refund. */
const IS_EARLY = `(sent_at > now() - interval '1 hour')`

/** SQL: it should be shown as completed by now. From then on a person may say what became of it. */
export const IS_OVERDUE = `(${IS_UNSHOWN} and ${sentBefore(COMPLETED_WITHIN_MS)})`
/** SQL: no worker asks about it any more, so that a person has to find out. */
export const IS_LOST = `(${IS_UNSHOWN} and ${sentBefore(LOOKED_FOR_MS)})`

/** As IS_OVERDUE. */
export function isOverdue(
  refund: Parameters<typeof isUnshown>[0] & Pick<Refund, 'sent_at'>,
  now: Date,
): boolean {
  return isUnshown(refund) && now.getTime() - refund.sent_at.getTime() > COMPLETED_WITHIN_MS
}

/** Whether a worker still asks about an accepted refund that is not shown. */
export function isLookedFor({ sent_at }: Pick<Refund, 'sent_at'>, now: Date): boolean {
  return now.getTime() - sent_at.getTime() < LOOKED_FOR_MS
}

/** What a check finds that has read the order record of an accepted refund, or asking again will not help. */
const READ = [
  'said.record_shows_sum',
  'said.record_shows_nothing',
  'said.record_not_readable',
] satisfies MessageKey[]

/** SQL: the payment orders of an order that the mirror shows as being refunded; each once, as in {@link tradeNumbersOf}. */
const beingRefunded = (outerTradeNo: string) => `(
  select enterprise_code, trade_no
  from (select distinct on (trade_no) enterprise_code, trade_no, status, gone_at from dirsync.payment_order
        where out_trade_no = ${outerTradeNo}
        order by trade_no, changed_at desc, enterprise_code desc) o
  where status in (${PENDING_REFUND.value}, ${REFUNDING.value}) and gone_at is null)`

/** Payment orders of an order that the mirror shows as being refunded, and when, by the database's clock, it was looked at. */
export async function readBeingRefunded(
  db: Pool,
  outerTradeNo: string,
): Promise<{ enterprise_code: string; trade_no: string; looked_at: Date }[]> {
  const { rows } = await db.query<{ enterprise_code: string; trade_no: string; looked_at: Date }>(
    `select *, now() as looked_at from ${beingRefunded('$1')} o`,
    [outerTradeNo],
  )
  return rows
}

/** SQL: why a refund `t` that the platform has accepted may still be completed; null: nothing speaks for it. */
const MAY_STILL_BE_COMPLETED = `case
  when t.state <> 'accepted' then null
  when exists ${beingRefunded('t.outer_trade_no')}
    then '${'said.refund_under_way' satisfies MayStillCome}'
  when not exists (
    select from dirsync.refund_check c
    where c.outer_refund_no = t.outer_refund_no and c.message ->> 'key' in (${READ.map(key => `'${key}'`).join(', ')})
      and c.last_at > greatest(t.sent_at + interval '${COMPLETED_WITHIN_MS} milliseconds', now() - interval '1 day'))
    then '${'said.refund_not_looked_for' satisfies MayStillCome}' end`

export const refundJournal = new Journal<ReadRefund>({
  table: 'refund',
  noun: 'refund',
  number: 'outer_refund_no',
  target: 'outer_trade_no',
  receipt: 'trade_no',
  canBeAsked: true,
  isForPerson: `(state = 'unknown' or ${IS_OVERDUE})`,
  mayStillCome: MAY_STILL_BE_COMPLETED,
  also: `, ${assetOfOrder('t.outer_trade_no')} as asset_code, ${misfitOf('t.outer_refund_no')} as misfit_at`,
  lockOf: ({ outer_trade_no }) => orderLock(outer_trade_no),
})

/** A refund before it is sent. */
type NewRefund = Pick<
  Refund,
  'outer_refund_no' | 'outer_trade_no' | 'enterprise_code' | 'refund_amount' | 'refunded_before'
>

/**
 * Writes a refund to the journal.
 * @param state how its call has ended already
 * @param now by another clock than the database's
 * @returns false when its number was used before, or it would be open beside another refund of the order
 */
export async function writeRefund(
  db: ClientBase | Pool,
  refund: NewRefund,
  actor: string,
  state: 'requested' | Answer['state'] = 'requested',
  now = new Date(),
): Promise<boolean> {
  const { outer_refund_no, outer_trade_no, enterprise_code, refund_amount, refunded_before } = refund
  const { rowCount } = await db.query(
    `insert into dirsync.refund
       (outer_refund_no, outer_trade_no, enterprise_code, refund_amount, refunded_before, requested_by, state,
        settled_at, sent_at)
     values ($1, $2, $3, $4, $5, session_user || ' (' || $6 || ')', $8,
             case when $8 not in ('requested', 'unknown') then now() end,
             -- The later of two clocks: one that is behind makes no refund older than it is.
             greatest(now(), $7))
     on conflict do nothing`,
    [outer_refund_no, outer_trade_no, enterprise_code, refund_amount, refunded_before, actor, now, state],
  )
  return rowCount === 1
}

/** The open refund of an order; there is at most one. */
export async function openRefundOf(db: Pool, outerTradeNo: string): Promise<Refund | null> {
  const { rows } = await db.query<Refund>(
    `select * from dirsync.refund where outer_trade_no = $1 and ${IS_OPEN}`,
    [outerTradeNo],
  )
  return rows[0] ?? null
}

/** What an order was paid with, as its refunds have it. */
export async function paidWith(db: Pool, outerTradeNo: string): Promise<string | null> {
  const { rows } = await db.query<{ asset: string | null }>(`select ${assetOfOrder('$1')} as asset`, [
    outerTradeNo,
  ])
  return onlyRow(rows).asset
}

/**
 * How much of an order is refunded at least: what dirsync knows of its own refunds, and what the order record showed before one
 * of them, which others may have refunded. `confirmed`: of its own only those within a day that no person resolved. For older ones
 * the order record tells.
 */
export async function knownRefunded(
  db: Pool,
  outerTradeNo: string,
): Promise<{ atLeast: string; confirmed: string }> {
  const { rows } = await db.query<{ atLeast: string; confirmed: string }>(
    `with sums as (
       -- What was shown before a refund does not have that one, nor those after it.
       select coalesce(refunded_before, 0) as before,
              sum(refund_amount) filter (where is_done) over (order by id desc) as done,
              sum(refund_amount) filter (where is_done and is_fresh and resolved_by is null)
                over (order by id desc) as fresh,
              is_fresh
       from dirsync.refund
       cross join lateral (select state in ('accepted', 'notified') as is_done,
                                  sent_at > now() - interval '1 day' as is_fresh) one
       where outer_trade_no = $1
     )
     select coalesce(max(before + coalesce(done, 0)), 0)::text as "atLeast",
            coalesce(max(before + coalesce(fresh, 0)) filter (where is_fresh), 0)::text as confirmed
     from sums`,
    [outerTradeNo],
  )
  return onlyRow(rows)
}

/**
 * SQL: a refund may yet be carried out although it is called rejected: a person said so, or nothing was to be seen of it, but the
 * platform has not refused it at once. The code of an answer that left the outcome open is no refusal.
 */
const MAY_STILL_COME = `(state = 'rejected'
  and (resolved_by is not null or platform_code is null or settle_attempts > 0))`

/** Whether a refund of an order may yet be carried out although it is called rejected. */
export async function mayStillCome(db: Pool, outerTradeNo: string): Promise<boolean> {
  const { rows } = await db.query<{ may: boolean }>(
    `select exists (select from dirsync.refund where outer_trade_no = $1 and ${MAY_STILL_COME}) as may`,
    [outerTradeNo],
  )
  return onlyRow(rows).may
}

/** Accepted refunds of which nothing shows that they are completed. */
export interface Unshown {
  count: number
  /** Those of them that were sent more than a day ago; the latest one, its order, and when it was sent. */
  overdue: number
  latest: string | null
  of: string | null
  sent_at: Date | null
}

export async function readUnshown(db: Pool): Promise<Unshown> {
  const { rows } = await db.query<Unshown>(
    `select count(*)::int as count, count(*) filter (where ${IS_OVERDUE})::int as overdue,
            (array_agg(outer_refund_no order by sent_at desc) filter (where ${IS_OVERDUE}))[1] as latest,
            (array_agg(outer_trade_no order by sent_at desc) filter (where ${IS_OVERDUE}))[1] as of,
            max(sent_at) filter (where ${IS_OVERDUE}) as sent_at
     from dirsync.refund where ${IS_UNSHOWN}`,
  )
  return onlyRow(rows)
}

/**
 * Claims an accepted refund whose order record is to be asked whether it shows it: an hour after it was sent, and twice a day for a
 * week. It is no probe of a halt that the answer does not disprove. Without an answer it is due again in an hour. Null: none is due.
 */
export async function claimUnshown(db: Pool): Promise<(Refund & { claimed_at: Date }) | null> {
  const { rows } = await db.query<Refund & { claimed_at: Date }>(
    `with claimed as (
       select outer_refund_no from dirsync.refund r
       where ${IS_UNSHOWN} and not ${IS_LOST} and not ${IS_EARLY}
         and (next_settle_at is null or ${isDue(LOOKED_FOR_EVERY_S)})
         and ${mayBeAsked(`${isNone(NOT_DISPROVED)} and ${IS_FOR_ANYONE}`)}
       order by sent_at limit 1
       for update skip locked
     )
     update dirsync.refund r set next_settle_at = now() + interval '1 hour'
     from claimed where r.outer_refund_no = claimed.outer_refund_no
     returning r.*, now() as claimed_at`,
  )
  return rows[0] ?? null
}

/**
 * Has an accepted refund looked for after half a day; for the first time an hour after it was sent. One of the looks is half an hour
 * before it is told to be overdue.
 */
export async function lookLater(db: ClientBase | Pool, outerRefundNo: string): Promise<void> {
  await db.query(
    `update dirsync.refund
     set next_settle_at = case when ${IS_EARLY} then sent_at + interval '1 hour' else
           first + (floor(extract(epoch from now() - first) / ${LOOKED_FOR_EVERY_S}) + 1)
                   * ${LOOKED_FOR_EVERY_S} * interval '1 second' end
     from (select outer_refund_no as number, sent_at - interval '30 minutes' as first from dirsync.refund) grid
     where outer_refund_no = $1 and number = $1 and ${IS_UNSHOWN}`,
    [outerRefundNo],
  )
}

/**
 * SQL: refunds that the mirror shows, by order, since when, whether they are all that was paid, and whether they are over; each payment
 * order once, as in {@link tradeNumbersOf}. Not over is an order that is only being refunded, which may fail, nor one that the platform
 * no longer has.
 */
const mirroredRefunds = (which: string) => `
  select out_trade_no as outer_trade_no, sum(refund_amount) as refunded, max(changed_at) as seen_at,
         bool_and(is_full) as is_full, bool_and(is_over) as is_over, bool_and(gone_at is null) as is_there
  from (select distinct on (out_trade_no, trade_no) out_trade_no, refund_amount, changed_at, gone_at,
               coalesce(status = ${REFUNDED.value} and refund_amount >= pay_amount, false) as is_full,
               gone_at is null and coalesce(status in (${COMPLETED.value}, ${REFUNDED.value}), false) as is_over
        from dirsync.payment_order
        where out_trade_no in (select outer_trade_no from dirsync.refund where ${which})
        order by out_trade_no, trade_no, changed_at desc, enterprise_code desc) orders
  group by out_trade_no`

/** What the record of one order shows refunded; null: look at what the mirror shows of all orders. */
type ShownRefunds = { outer_trade_no: string; refunded: string } | null

/** SQL: what is shown refunded of orders; whether that is all, the record does not say. @param which the refunds to look for in the mirror */
const shownOf = (shown: ShownRefunds, which: string) =>
  shown === null
    ? mirroredRefunds(which)
    : `select $1::text as outer_trade_no, $2::numeric as refunded, now() as seen_at, null::boolean as is_full,
       true as is_over, true as is_there`

const valuesOf = (shown: ShownRefunds) => (shown === null ? [] : [shown.outer_trade_no, shown.refunded])

/** Compares refunds with what is shown of their orders, as often as either is read. */
export async function compareWithShown(db: ClientBase | Pool, shown: ShownRefunds): Promise<void> {
  await noteShown(db, shown)
  await takeBack(db, shown)
  await endDoubt(db, shown)
  await noteSurplus(db, shown)
}

/**
 * SQL: `made.sum`, what an order of a refund `r` has refunded with those of its refunds `o` that count: what was refunded before
 * `known`, the latest one up to `r` of which that is known, and they since; without `known`, all of them.
 */
const sumWith = (counts: string) => `
  left join lateral (
    select id, refunded_before from dirsync.refund b
    where b.outer_trade_no = r.outer_trade_no and b.id <= r.id and refunded_before is not null
    order by id desc limit 1) known on true
  cross join lateral (
    select coalesce(known.refunded_before, 0) + sum(refund_amount) as sum from dirsync.refund o
    where o.outer_trade_no = r.outer_trade_no and o.id >= coalesce(known.id, 0) and (${counts})) made`

/** SQL: a refund that may have been carried out, as far as is known; one that is called rejected where more was shown since. */
const MAY_BE_CARRIED_OUT = `(o.state <> 'rejected' or o.contradicted_at > o.settled_at)`

/**
 * Marks accepted refunds that are shown: what was refunded of the order before, and all that may have been carried out since, so that
 * no other one is taken for it; `noteSurplus` tells of one that is called rejected and comes beside them. Where it is not known what
 * was refunded before any, the mirror has to show the whole order refunded.
 */
async function noteShown(db: ClientBase | Pool, shown: ShownRefunds): Promise<void> {
  await db.query(
    `with shown as (
       ${shownOf(shown, IS_UNSHOWN)}
     ), told as (
       select r.outer_refund_no
       from dirsync.refund r join shown using (outer_trade_no)
       ${sumWith(MAY_BE_CARRIED_OUT)}
       where ${IS_UNSHOWN} and is_over and (known.id is not null or is_full) and refunded >= made.sum
     )
     update dirsync.refund r set shown_at = now(), next_settle_at = null
     from told where r.outer_refund_no = told.outer_refund_no and ${IS_UNSHOWN}`,
    valuesOf(shown),
  )
}

/** SQL: it was shown, and is still looked at: it may have failed after that. */
const MAY_BE_TAKEN_BACK = `(state = 'accepted' and shown_at is not null and resolved_by is null and not ${sentBefore(LOOKED_FOR_MS)})`

/**
 * Has accepted refunds looked for again of whose order less is shown, since they were shown, than with them and those that were
 * completed by then; without knowing what was refunded before, where the mirror no longer shows the whole order refunded.
 */
async function takeBack(db: ClientBase | Pool, shown: ShownRefunds): Promise<void> {
  await db.query(
    `with shown as (
       ${shownOf(shown, MAY_BE_TAKEN_BACK)}
     ), less as (
       select r.outer_refund_no
       from dirsync.refund r join shown using (outer_trade_no)
       ${sumWith(`(state = 'notified' or state = 'accepted' and shown_at is not null)
                  and (o.id <= r.id or sent_at < r.shown_at)`)}
       where ${MAY_BE_TAKEN_BACK} and is_over and shown_at < seen_at
         and (refunded < made.sum or known.id is null and not is_full)
     )
     update dirsync.refund r set shown_at = null
     from less where r.outer_refund_no = less.outer_refund_no and ${MAY_BE_TAKEN_BACK}`,
    valuesOf(shown),
  )
}

/**
 * SQL: `order_of`, what was refunded of the order of `r` before it and, where that is not known, before the first one; without that,
 * the sum says nothing. `others`: what its other refunds `o` that count make.
 */
const besides = (counts: string) => `
  cross join lateral (
    select coalesce(r.refunded_before, (array_agg(o.refunded_before order by o.id))[1]) as before,
           coalesce(sum(o.refund_amount) filter (
             where o.outer_refund_no <> r.outer_refund_no
               and (r.refunded_before is null or o.id > r.id)
               and (${counts})), 0) as others
    from dirsync.refund o where o.outer_trade_no = r.outer_trade_no) order_of`

/** SQL: a refund that is called rejected is marked as one that may have been carried out after all. */
const IS_DOUBTED = `(state = 'rejected' and contradicted_at > settled_at)`

/**
 * Ends the doubt about a refund where less is shown since than with it and those that are known to be completed and were sent by
 * then: what was under way has failed. Of several, the last one. The record does not say what is under way, so where the mirror has
 * the order that tells.
 */
async function endDoubt(db: ClientBase | Pool, shown: ShownRefunds): Promise<void> {
  const canTell =
    shown === null
      ? 'true'
      : 'not exists (select from dirsync.payment_order where out_trade_no = r.outer_trade_no)'
  await db.query(
    `with shown as (
       ${shownOf(shown, IS_DOUBTED)}
     ), failed as (
       select distinct on (outer_trade_no) r.outer_refund_no
       from dirsync.refund r join shown using (outer_trade_no)
       ${besides(`(state = 'notified' or state = 'accepted' and (shown_at is not null or resolved_by is not null)
                   or o.contradicted_at > o.settled_at) and sent_at < seen_at`)}
       where ${IS_DOUBTED} and is_over and seen_at > contradicted_at and ${canTell}
         and refunded - before - others < refund_amount
       order by outer_trade_no, id desc
     )
     update dirsync.refund r set contradicted_at = null
     from failed where r.outer_refund_no = failed.outer_refund_no and ${IS_DOUBTED}`,
    valuesOf(shown),
  )
}

/**
 * Marks a refund that is called rejected where at least its amount more is shown refunded of its order than was before it and the
 * other refunds of the journal make, those in doubt included: it may have been carried out after all, unless others have refunded the
 * order. Of several that fit, the first one, which is one of the others from then on. Also while the order is being refunded: before that
 * is over, somebody may send it again.
 */
async function noteSurplus(db: ClientBase | Pool, shown: ShownRefunds): Promise<void> {
  await db.query(
    `with shown as (
       ${shownOf(shown, `${MAY_STILL_COME} and contradicted_at is null`)}
     ), fitting as (
       select distinct on (outer_trade_no) r.outer_refund_no
       from dirsync.refund r join shown using (outer_trade_no)
       ${besides(MAY_BE_CARRIED_OUT)}
       where ${MAY_STILL_COME} and contradicted_at is null and is_there
         and refunded - before - others >= refund_amount
       order by outer_trade_no, id
     )
     update dirsync.refund r set contradicted_at = now()
     from fitting where r.outer_refund_no = fitting.outer_refund_no
       and state = 'rejected' and contradicted_at is null`,
    valuesOf(shown),
  )
}

/** A refund of an order in the journal, as it is shown before another one is sent. */
export type EarlierRefund = Pick<Refund, 'outer_refund_no' | 'refund_amount' | 'state' | 'sent_at'> & {
  /** It is called rejected, and may yet be carried out. */
  may_still_come: boolean
}

/** Up to so many refunds of an order are shown before another one. */
export const EARLIER_REFUNDS = 20

/** The refunds of an order in the journal, the latest first. */
export async function earlierRefunds(db: Pool, outerTradeNo: string): Promise<EarlierRefund[]> {
  const { rows } = await db.query<EarlierRefund>(
    `select outer_refund_no, refund_amount, state, sent_at, ${MAY_STILL_COME} as may_still_come
     from dirsync.refund where outer_trade_no = $1
     order by id desc limit ${EARLIER_REFUNDS}`,
    [outerTradeNo],
  )
  return rows
}

/**
 * The payment orders behind an order: from the mirror, else from earlier refunds of the order. Each once: after the enterprise code
 * has changed, the mirror has an order of both.
 */
export async function tradeNumbersOf(
  db: Pool,
  outerTradeNo: string,
): Promise<{ trade_no: string; enterprise_code: string }[]> {
  const { rows } = await db.query<{ trade_no: string; enterprise_code: string }>(
    `with mirrored as (
       select distinct on (trade_no) trade_no, enterprise_code
       from dirsync.payment_order where out_trade_no = $1
       order by trade_no, changed_at desc, enterprise_code desc
     ), named as (
       select distinct on (trade_no) trade_no, enterprise_code
       from dirsync.refund where outer_trade_no = $1 and trade_no <> ''
       order by trade_no, id desc
     )
     select * from mirrored
     union all
     select * from named where not exists (select from mirrored)
     order by trade_no`,
    [outerTradeNo],
  )
  return rows
}

/** SQL: the outcome is for a person to decide. */
export const WAITS_FOR_PERSON = `state = 'unknown' and (next_settle_at is null or left_to_person_at is not null)`

/** As WAITS_FOR_PERSON: whether dirsync has stopped asking for its outcome, or the order record could not tell it. */
export function waitsForPerson({
  state,
  next_settle_at,
  left_to_person_at,
}: Pick<Refund, 'state' | 'next_settle_at' | 'left_to_person_at'>): boolean {
  return state === 'unknown' && (next_settle_at === null || left_to_person_at !== null)
}

/** An unknown refund claimed by one process. */
export interface ClaimedRefund extends Refund {
  /** Milliseconds since it was written down, by the database's clock. */
  age_ms: number
  /** When it was claimed, by the database's clock. */
  claimed_at: Date
  misfit_at: Date | null
  /** The database was restored since it was sent, or shortly before: what the record shows may be a refund that is lost. */
  may_be_another: boolean
}

/**
 * Claims an unknown refund to ask the order record about, and sets the next time.
 * @param outerRefundNo this one, due or not, for a person; null: one that is due. While the platform is halted, that is only
 * when a probe is, and not a job's
 */
export async function claimUnknown(db: Pool, outerRefundNo: string | null): Promise<ClaimedRefund | null> {
  const { rows } = await db.query<ClaimedRefund>(
    `with claimed as (
       select outer_refund_no from dirsync.refund r
       where state = 'unknown'
         and (outer_refund_no = $1
              or $1::text is null and ${isDue(LONGEST_PAUSE_S)} and ${mayBeAsked(IS_FOR_ANYONE)})
       order by next_settle_at limit 1
       for update skip locked
     )
     update dirsync.refund r
     set next_settle_at = case when refunded_before is not null
           then now() + ${pauseAfter('settle_attempts')} end
     from claimed where r.outer_refund_no = claimed.outer_refund_no
     returning r.*, (extract(epoch from now() - sent_at) * 1000)::float8 as age_ms, now() as claimed_at,
               ${misfitOf('r.outer_refund_no')} as misfit_at,
               dirsync.was_restored()
               or exists (select from dirsync.deployment
                          where sent_at < restored_at + interval '${LOOKED_FOR_MS} milliseconds') as may_be_another`,
    [outerRefundNo],
  )
  return rows[0] ?? null
}

/** Checks of an order record that follow each other and found the same. */
export interface RefundCheck {
  first_at: Date
  last_at: Date
  times: number
  message: Said
}

/** Up to so many different findings are shown. */
const CHECKS = 100

/** What the checks of a refund's order record found, and what its call failed with, oldest first. */
export async function checksOf(db: Pool, outerRefundNo: string): Promise<RefundCheck[]> {
  const { rows } = await db.query<RefundCheck>(
    `select first_at, last_at, times, message from dirsync.refund_check
     where outer_refund_no = $1
     -- What the call failed with is shown however many checks there are.
     order by (message ->> 'key' = 'said.when_sent') is true desc, id desc limit ${CHECKS}`,
    [outerRefundNo],
  )
  return rows.toSorted((one, other) => one.first_at.getTime() - other.first_at.getTime())
}

/** Records what a check of the order record found, whatever comes of it. @param wasAsked false: nothing was sent */
export async function noteCheck(
  db: ClientBase | Pool,
  outerRefundNo: string,
  found: Said,
  wasAsked = true,
): Promise<void> {
  await db.query(
    `with counted as (
       update dirsync.refund set settle_attempts = settle_attempts + 1 where outer_refund_no = $1 and $3
     ), again as (
       update dirsync.refund_check c set last_at = now(), times = c.times + 1
       where c.id = (select max(id) from dirsync.refund_check where outer_refund_no = $1) and c.message = $2
       returning c.id
     )
     insert into dirsync.refund_check (outer_refund_no, message)
     select $1, $2 where not exists (select from again)`,
    [outerRefundNo, toStore(found), wasAsked],
  )
}

const STATE_OF = { carried_out: 'accepted', not_carried_out: 'rejected', unknown: 'unknown' } as const

/**
 * Stores what the order record showed, unless the outcome has become known meanwhile.
 * @param forPerson asking again will not tell: a person has to find out, unless a later answer says otherwise
 */
export async function storeVerdict(
  db: Pool,
  outerRefundNo: string,
  verdict: RefundVerdict,
  what: Said,
  forPerson = false,
): Promise<void> {
  await db.query(
    `update dirsync.refund
     set message = $3, state = $2,
         settled_at = case when $2 <> 'unknown' then now() end,
         shown_at = case when $2 = 'accepted' then now() end,
         next_settle_at = case when $2 = 'unknown' then next_settle_at end,
         left_to_person_at = case when $4 then coalesce(left_to_person_at, now()) end
     where outer_refund_no = $1 and state = 'unknown'
       -- Notified since it was claimed: the next check says so.
       and not ($2 = 'rejected' and ${misfitOf('$1')} is not null)`,
    [outerRefundNo, STATE_OF[verdict], toStore(what), forPerson],
  )
}

/**
 * Stores the platform's notification of a refund (section 6), overriding any earlier state. It is committed when this returns.
 * @returns `repeated`: it was stored before, nothing changed; `unknown`: dirsync never sent such a refund; `mismatch`: the
 * refund is of another order or amount
 */
export async function recordNotification(
  db: Pool,
  notification: RefundNotification,
): Promise<'stored' | 'repeated' | 'unknown' | 'mismatch'> {
  const { outer_refund_no, outer_trade_no, refund_amount, trade_no } = notification
  const refund = await refundJournal.read(db, outer_refund_no)
  if (refund === null) return refused(db, outer_refund_no, 'unknown')
  const isSame =
    refund.outer_trade_no === outer_trade_no && cents(refund.refund_amount) === cents(refund_amount)
  if (!isSame) return refused(db, outer_refund_no, 'mismatch')
  const { rowCount } = await db.query(
    `with fits as (
       delete from dirsync.refused_notification where outer_refund_no = $1
     )
     update dirsync.refund
     set state = 'notified', notified_at = now(), settled_at = coalesce(settled_at, now()),
         next_settle_at = null, trade_no = $2,
         contradicted_at = case when state = 'rejected' then now() else contradicted_at end
     where outer_refund_no = $1 and state <> 'notified'`,
    [outer_refund_no, trade_no],
  )
  if (rowCount === 1) return 'stored'
  // After `success` the platform never notifies again, so never answer it for a row that has gone since it was read.
  const isThere = (await refundJournal.read(db, outer_refund_no)) !== null
  return isThere ? 'repeated' : refused(db, outer_refund_no, 'unknown')
}

/**
 * Refunds that the platform has notified of with another order or amount: those whose outcome is open, and for a day, as long as the
 * alert lasts, those that no person has settled since. No person can settle one whose outcome is known.
 */
export interface Misfits {
  count: number
  latest: string | null
}

export async function readMisfits(db: Pool): Promise<Misfits> {
  const { rows } = await db.query<Misfits>(
    `select count(*)::int as count, (array_agg(outer_refund_no order by n.last_at desc))[1] as latest
     from dirsync.refused_notification n join dirsync.refund r using (outer_refund_no)
     where reason = 'mismatch'
       and (${IS_OPEN}
            or n.last_at > now() - interval '1 day' and (r.resolved_by is null or r.settled_at < n.first_at))`,
  )
  return onlyRow(rows)
}

/** Numbers of the refunds of which the platform notified within a day and that dirsync does not know, the latest ten. */
export async function readUnmatched(db: Pool): Promise<string[]> {
  const { rows } = await db.query<{ number: string }>(
    `select outer_refund_no as number from (${REFUSED_OF_DAY}) day where reason = 'unknown'
     order by last_at desc limit 10`,
  )
  return rows.map(({ number }) => number)
}

/** Records a notification that matches no refund, for a person to look at. */
async function refused<Reason extends 'unknown' | 'mismatch'>(
  db: Pool,
  outerRefundNo: string,
  reason: Reason,
): Promise<Reason> {
  await db.query(
    `insert into dirsync.refused_notification as n (outer_refund_no, reason) values ($1, $2)
     on conflict (outer_refund_no) do update
     set reason = excluded.reason, last_at = now(), times = n.times + 1`,
    [outerRefundNo, reason],
  )
  return reason
}
