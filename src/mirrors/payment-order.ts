import { type ClientBase, ifPast, type Pool } from '../lib/database.ts'
import { storableRows } from '../lib/storable.ts'
import type { ShortList } from '../platform/client.ts'
import type { PaymentOrder } from '../platform/operations/payment-order.ts'
import { endCases } from '../sync/cases/cases.ts'
import { fullReadingOf } from '../sync/runs/earlier-runs.ts'
import { message, toStore } from '../texts/message.ts'

/** The table of payment orders, and the days whose list was read. */

/** The stored columns of an order; amounts are decimal texts. */
export function mirroredOrder(trade_no: string, order: Omit<PaymentOrder, 'payer_name'>) {
  const { out_trade_no, userid, subject, total_amount, pay_amount, refund_amount, status } = order
  return {
    trade_no,
    ...{ out_trade_no, userid, subject, total_amount, pay_amount, refund_amount, status },
    asset_code: order.assetCode,
    created_at: order.create_time,
    paid_at: order.pay_time,
    refunded_at: order.refund_time,
  }
}

type MirroredOrder = ReturnType<typeof mirroredOrder>

const FACTS = [
  'out_trade_no',
  'userid',
  'subject',
  'total_amount',
  'pay_amount',
  'refund_amount',
  'status',
  'asset_code',
  'created_at',
  'paid_at',
  'refunded_at',
] satisfies (keyof MirroredOrder)[]

const LIST = FACTS.join(', ')
const factsOf = (row: string) => `(${FACTS.map(name => `${row}.${name}`).join(', ')})`

/**
 * Stores orders that the platform listed under a day. Unchanged ones are not written.
 * @param day yyyy-MM-dd in GMT+8
 * @returns how many were new or different
 */
export async function storeListedOrders(
  db: ClientBase,
  enterpriseCode: string,
  day: string,
  orders: MirroredOrder[],
): Promise<number> {
  const { rowCount } = await db.query(
    `insert into dirsync.payment_order as o (enterprise_code, trade_no, ${LIST}, listed_on)
     -- A row that moved while the page was read may be on it twice.
     select distinct on (trade_no) $1, trade_no, ${LIST}, $2::date
     from jsonb_populate_recordset(null::dirsync.payment_order, $3)
     order by trade_no
     on conflict (enterprise_code, trade_no) do update
     set (${LIST}) = row ${factsOf('excluded')}, listed_on = excluded.listed_on, changed_at = now(), gone_at = null
     where (${factsOf('o')}, o.listed_on, o.gone_at)
           is distinct from (${factsOf('excluded')}, excluded.listed_on, null)`,
    [enterpriseCode, day, storableRows(orders)],
  )
  return rowCount ?? 0
}

/**
 * Stores one order that was read by its number. An unchanged one is not written.
 * @param asked the order, and when the task of asking for it was handed out
 * @param order null: the platform has no such order; it is marked gone
 * @returns how many were different: 1 or 0
 */
export async function storeAskedOrder(
  db: ClientBase,
  { enterpriseCode, tradeNo, askedAt }: { enterpriseCode: string; tradeNo: string; askedAt: Date },
  order: MirroredOrder | null,
): Promise<number> {
  await db.query(
    `update dirsync.payment_order set asked_at = $3 where enterprise_code = $1 and trade_no = $2`,
    [enterpriseCode, tradeNo, askedAt],
  )
  if (order === null) {
    const { rowCount } = await db.query(
      `update dirsync.payment_order set gone_at = now(), changed_at = now()
       where enterprise_code = $1 and trade_no = $2 and gone_at is null`,
      [enterpriseCode, tradeNo],
    )
    return rowCount ?? 0
  }
  const { rowCount } = await db.query(
    `update dirsync.payment_order o set (${LIST}) = row ${factsOf('n')}, changed_at = now(), gone_at = null
     from jsonb_populate_record(null::dirsync.payment_order, $3) as n
     where o.enterprise_code = $1 and o.trade_no = $2
       and (${factsOf('o')}, o.gone_at) is distinct from (${factsOf('n')}, null)`,
    [enterpriseCode, tradeNo, storableRows(order)],
  )
  return rowCount ?? 0
}

/** How many orders of a day the platform counted more than it listed when the day was last read. */
export async function missingOrders(db: ClientBase, enterpriseCode: string, day: string): Promise<number> {
  const { rows } = await db.query<{ missing: number }>(
    `select missing from dirsync.mirror_day where enterprise_code = $1 and day = $2`,
    [enterpriseCode, day],
  )
  return rows[0]?.missing ?? 0
}

/** Whether the platform has listed orders under a day that it still has. */
export async function hasOrders(db: ClientBase, enterpriseCode: string, day: string): Promise<boolean> {
  const { rowCount } = await db.query(
    'select from dirsync.payment_order where enterprise_code = $1 and listed_on = $2 and gone_at is null limit 1',
    [enterpriseCode, day],
  )
  return rowCount === 1
}

/** Records that a run has read a day to the end. What happened since the run began may not be on the first pages. */
export async function noteDayRead(
  db: ClientBase,
  runId: number,
  enterpriseCode: string,
  day: string,
  short: ShortList | null,
): Promise<void> {
  await db.query(
    `insert into dirsync.mirror_day (enterprise_code, day, read_at, missing)
     select $2, $3, started_at, $4 from dirsync.sync_run where id = $1
     on conflict (enterprise_code, day) do update set read_at = excluded.read_at, missing = excluded.missing`,
    [runId, enterpriseCode, day, short === null ? 0 : short.counted - short.found],
  )
}

/** When the days from `start` on were last read to the end. */
export async function daysRead(
  db: ClientBase,
  enterpriseCode: string,
  start: string,
): Promise<Map<string, Date>> {
  const { rows } = await db.query<{ day: string; at: Date }>(
    `select day::text, read_at as at from dirsync.mirror_day where enterprise_code = $1 and day >= $2`,
    [enterpriseCode, start],
  )
  return new Map(rows.map(({ day, at }) => [day, at]))
}

/** The days of the window, `yyyy-MM-dd` in GMT+8. */
interface Window {
  start: string
  today: string
}

/** Above this age an order is not read again, final or not. */
const ORDER_MAX_AGE_DAYS = 180

/** How often to read days outside the window again while one of their orders is not final. */
const READ_AGAIN_AFTER_DAYS = 7

/** Whether an order `o` can no longer change: reversed, or refunded in full. */
const IS_FINAL = `(o.status = 7
  or o.status = 6 and o.refund_amount >= coalesce(o.pay_amount, o.total_amount))`

/**
 * Days outside the window to read, newest first: those that were not read after their end, because dirsync or the platform was
 * away, and once a week those with an order that may still be refunded. The oldest are given up.
 */
export async function olderDays(
  db: ClientBase,
  enterpriseCode: string,
  { start, today }: Window,
): Promise<string[]> {
  const { rows } = await db.query<{ day: string }>(
    `select d::date::text as day
     from (select min(day) as first from dirsync.mirror_day where enterprise_code = $1) read
     cross join generate_series(greatest(first, $3::date - ${ORDER_MAX_AGE_DAYS}),
                                $2::date - 1, interval '1 day') as d
     left join dirsync.mirror_day m on m.enterprise_code = $1 and m.day = d::date
     where first is not null
       and (${ifPast('m.read_at')} is null or m.read_at < (m.day + 1)::timestamp at time zone interval '+08:00'
            or m.read_at < now() - interval '${READ_AGAIN_AFTER_DAYS} days'
               and exists (select from dirsync.payment_order o
                           where o.enterprise_code = $1 and o.listed_on = d::date
                             and ${IS_FINAL} is not true))
     order by d desc`,
    [enterpriseCode, start, today],
  )
  return rows.map(({ day }) => day)
}

/**
 * Payment order states (section 3.1) with something in progress: paying, pending refund, refunding. Others change seldom, and are
 * left to the reading of their day: also those that wait for payment, since most of them are abandoned.
 */
const STATES_IN_PROGRESS = '2, 4, 5'

/**
 * Orders to read one by one, newest first. Outside the window those with something in progress, once a day, until the platform no
 * longer has them; the oldest are given up. Everywhere those that dirsync refunded, or was notified of, since they were last read,
 * but not long ago: what tells when their day was read is deleted. Numbers longer than the platform takes (section 4.8) are left out.
 * @param days those that are read anyway
 */
export async function ordersToAsk(
  db: ClientBase,
  enterpriseCode: string,
  { start, today }: Window,
  days: string[],
): Promise<string[]> {
  const { rows } = await db.query<{ trade_no: string }>(
    `select trade_no
     from (
       select trade_no, listed_on from dirsync.payment_order
       where enterprise_code = $1 and listed_on < $2::date and listed_on > $3::date - ${ORDER_MAX_AGE_DAYS}
         and status in (${STATES_IN_PROGRESS}) and gone_at is null
         and (${ifPast('asked_at')} is null or (asked_at at time zone interval '+08:00')::date < $3::date)
       union
       select o.trade_no, o.listed_on
       from dirsync.refund r
       join dirsync.payment_order o on o.out_trade_no = r.outer_trade_no
       left join dirsync.mirror_day m on m.enterprise_code = o.enterprise_code and m.day = o.listed_on
       where o.enterprise_code = $1 and o.listed_on <> all ($4)
         and greatest(r.sent_at, r.settled_at, r.notified_at)
             > coalesce(greatest(${ifPast('o.asked_at')}, ${ifPast('m.read_at')}),
                        now() - interval '${ORDER_MAX_AGE_DAYS} days')
     ) as wanted
     where length(trade_no) <= 16
     order by listed_on desc, trade_no`,
    [enterpriseCode, start, today, days],
  )
  return rows.map(row => row.trade_no)
}

/**
 * Opens a case for each payer unknown to HR and dirsync, once the HR source of their enterprise has been read completely since they
 * paid: until then they may be newly hired, as while HR is away. A case ends when its payer is known.
 * @param start first day of the window: older orders may be of people who left long ago
 */
export async function recordUnknownPayers(db: ClientBase, runId: number, start: string): Promise<void> {
  const { rows: known } = await db.query<{ id: number }>(
    `select d.id from dirsync.dead_letter d
     where d.operation = 'mirror-orders' and d.entity = 'employee' and d.state <> 'resolved'
       and exists (select from dirsync.employee e
                   where e.enterprise_code = d.enterprise_code and e.userid = d.entity_key)`,
  )
  await endCases(
    db,
    known.map(({ id }) => ({ id, runId, resolution: 'succeeded' })),
  )
  await db.query(
    `with sources as (
       select name, enterprise_codes from dirsync.hr_source
       union all
       -- Where there is one HR system, it has all enterprises.
       select '', null where not exists (select from dirsync.hr_source)
     ), has_read as (
       select s.enterprise_codes, last.planned_at as at from sources s
       cross join lateral (select planned_at from dirsync.sync_run
                           where ${fullReadingOf('s.name')} order by id desc limit 1) last
     ), unknown as (
       select distinct on (o.enterprise_code, o.userid) o.enterprise_code, o.userid, o.trade_no
       from dirsync.payment_order o
       where o.listed_on >= $2::date and o.userid <> ''
         and not exists (select from dirsync.employee e
                         where e.enterprise_code = o.enterprise_code and e.userid = o.userid)
         and exists (select from has_read h
                     where (h.enterprise_codes is null or o.enterprise_code = any (h.enterprise_codes))
                       and coalesce(o.created_at,
                                    (o.listed_on + 1)::timestamp at time zone interval '+08:00') <= h.at)
       order by o.enterprise_code, o.userid, o.created_at desc nulls last
     )
     select dirsync.record_failure(jsonb_build_object(
              'enterprise_code', u.enterprise_code, 'entity', 'employee', 'entity_key', u.userid,
              'operation', 'mirror-orders', 'field', '', 'category', 'unknown_payer',
              'message', $3::jsonb, 'remedy', $4::jsonb,
              'changed_fields', jsonb_build_array(jsonb_build_object('field', 'trade_no', 'value', u.trade_no)),
              'state', 'open', 'last_run_id', $1::bigint))
     from unknown u
     where not exists (select from dirsync.dead_letter d
                       where d.enterprise_code = u.enterprise_code and d.entity = 'employee'
                         and d.entity_key = u.userid and d.operation = 'mirror-orders'
                         and d.state not in ('resolved', 'retrying'))`,
    [runId, start, toStore(message('said.unknown_payer')), toStore(message('said.unknown_payer_remedy'))],
  )
}

/** A payment order in an employee's story; amounts are decimal texts. */
export interface EmployeeOrder {
  trade_no: string
  created_at: Date | null
  subject: string | null
  pay_amount: string | null
  refund_amount: string | null
  status: number | null
  asset_code: string | null
  gone_at: Date | null
}

/** The latest payment orders of an employee, newest first. */
export async function latestOrdersOf(
  db: Pool,
  { enterpriseCode, userid }: { enterpriseCode: string; userid: string },
  limit: number,
): Promise<EmployeeOrder[]> {
  const { rows } = await db.query<EmployeeOrder>(
    `select trade_no, created_at, subject, pay_amount, refund_amount, status, asset_code, gone_at
     from dirsync.payment_order where enterprise_code = $1 and userid = $2
     order by created_at desc nulls last, trade_no desc limit $3`,
    [enterpriseCode, userid, limit],
  )
  return rows
}
