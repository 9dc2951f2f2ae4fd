import { z } from 'zod'
import { decodeCursor, onePage, type PageAsked, type Paged } from '../../lib/cursor.ts'
import { type Pool, placeholders } from '../../lib/database.ts'
import { likeBeginning } from '../../lib/text.ts'
import { enterprisesIn } from '../../sync/outbox/employee.ts'

/** The mirrors of the platform as tables, page by page. Amounts are decimal texts. */

export const PaymentOrderRow = z.object({
  enterprise_code: z.string(),
  trade_no: z.string(),
  out_trade_no: z.string().nullable(),
  userid: z.string().nullable(),
  subject: z.string().nullable(),
  total_amount: z.string().nullable(),
  pay_amount: z.string().nullable(),
  refund_amount: z.string().nullable(),
  status: z.int().nullable(),
  asset_code: z.string().nullable(),
  created_at: z.date().nullable(),
  paid_at: z.date().nullable(),
  refunded_at: z.date().nullable(),
  first_seen_at: z.date(),
  changed_at: z.date(),
  gone_at: z.date().nullable().describe('Since when the platform no longer has it'),
})
export type PaymentOrderRow = z.infer<typeof PaymentOrderRow>

export interface OrderFilter {
  enterprise?: string | undefined
  userid?: string | undefined
  status?: number | undefined
  /** The beginning of an order's number, or the whole number that the merchant gave it. */
  number?: string | undefined
  /** Created at or after `from`, and before `to`. */
  from?: Date | undefined
  until?: Date | undefined
}

/** When an order was created, or else first seen. There is an index on it. */
const MADE = 'coalesce(o.created_at, o.first_seen_at)'

/** Payment orders, the latest first. */
export async function listPaymentOrders(
  db: Pool,
  { enterprise, userid, status, number, from, until, after, limit }: OrderFilter & PageAsked,
): Promise<Paged<PaymentOrderRow>> {
  const { values, place } = placeholders(limit + 1)
  const conditions = ['true']
  if (enterprise !== undefined) conditions.push(`o.enterprise_code = ${place(enterprise)}`)
  // After the deployment's own enterprise code has changed, the mirror has an order of both: it is listed as it was last seen. One
  // look-up per row: `not exists` would read the whole table first.
  else
    conditions.push(`(
      select true from dirsync.payment_order n
      where n.trade_no collate "C" = o.trade_no
        and (n.changed_at, n.enterprise_code) > (o.changed_at, o.enterprise_code) limit 1) is null`)
  // The index of an employee's orders begins with the enterprise.
  if (enterprise === undefined && userid !== undefined)
    conditions.push(`o.enterprise_code = any (array(${enterprisesIn('payment_order')}))`)
  if (userid !== undefined) conditions.push(`o.userid = ${place(userid)}`)
  if (status !== undefined) conditions.push(`o.status = ${place(status)}`)
  if (number !== undefined)
    conditions.push(
      `(o.trade_no collate "C" like ${place(likeBeginning(number))} or o.out_trade_no = ${place(number)})`,
    )
  if (from !== undefined) conditions.push(`${MADE} >= ${place(from)}`)
  if (until !== undefined) conditions.push(`${MADE} < ${place(until)}`)
  const position = decodeCursor(z.tuple([z.string(), z.string()]), after)
  if (position)
    conditions.push(
      `(${MADE}, o.enterprise_code, o.trade_no) < (
         select ${MADE}, o.enterprise_code, o.trade_no from dirsync.payment_order o
         where o.enterprise_code = ${place(position[0])} and o.trade_no = ${place(position[1])})`,
    )
  const { rows } = await db.query<PaymentOrderRow>(
    `select o.enterprise_code, o.trade_no, o.out_trade_no, o.userid, o.subject, o.total_amount, o.pay_amount,
            o.refund_amount, o.status, o.asset_code, o.created_at, o.paid_at, o.refunded_at, o.first_seen_at,
            o.changed_at, o.gone_at
     from dirsync.payment_order o where ${conditions.join(' and ')}
     order by ${MADE} desc, o.enterprise_code desc, o.trade_no desc limit $1`,
    values,
  )
  return onePage(rows, limit, row => [row.enterprise_code, row.trade_no])
}

export const LimitAccountRow = z.object({
  enterprise_code: z.string(),
  account_openid: z.string(),
  name: z.string().nullable(),
  product_category: z.int().nullable(),
  balance: z.string().nullable(),
  status: z.int().nullable(),
  first_seen_at: z.date(),
  changed_at: z.date(),
  gone_at: z.date().nullable(),
  sub_accounts: z
    .array(
      z.object({
        id: z.string(),
        name: z.string().nullable(),
        status: z.int().nullable(),
        gone: z.boolean(),
      }),
    )
    .describe('At most 200'),
  sub_account_count: z.int().describe('How many there are'),
})
export type LimitAccountRow = z.infer<typeof LimitAccountRow>

/**
 * Limit accounts with their sub-accounts, in the order of their keys.
 * @param gone includes those that the platform no longer lists, or is no longer asked for
 */
export async function listLimitAccounts(
  db: Pool,
  { enterprise, gone = false, after, limit }: PageAsked & { enterprise?: string | undefined; gone?: boolean },
): Promise<Paged<LimitAccountRow>> {
  const position = decodeCursor(z.tuple([z.string(), z.string()]), after) ?? [null, null]
  const { rows } = await db.query<LimitAccountRow>(
    `select a.enterprise_code, a.account_openid, a.name,
            a.product_category, a.balance, a.status, a.first_seen_at,
            a.changed_at, a.gone_at,
            (select coalesce(jsonb_agg(s order by id), '[]') from (
               select id, name, status, gone_at is not null as gone from dirsync.limit_sub_account s
               where s.enterprise_code = a.enterprise_code and s.account_openid = a.account_openid
                 and ($2 or s.gone_at is null)
               order by id limit 200) s) as sub_accounts,
            (select count(*)::int from dirsync.limit_sub_account s
             where s.enterprise_code = a.enterprise_code and s.account_openid = a.account_openid
               and ($2 or s.gone_at is null)) as sub_account_count
     from dirsync.limit_account a
     where ($1::text is null or a.enterprise_code = $1) and ($2 or a.gone_at is null)
       and ($3::text is null or (a.enterprise_code, a.account_openid) > ($3, $4))
     order by a.enterprise_code, a.account_openid limit $5`,
    [enterprise ?? null, gone, ...position, limit + 1],
  )
  return onePage(rows, limit, row => [row.enterprise_code, row.account_openid])
}

export const TaxpayerRow = z.object({
  enterprise_code: z.string(),
  identifier: z.string(),
  nature: z.int(),
  name: z.string(),
  status: z.int().nullable(),
  first_seen_at: z.date(),
  changed_at: z.date(),
  gone_at: z.date().nullable(),
})
export type TaxpayerRow = z.infer<typeof TaxpayerRow>

const TAXPAYER_KEY = z.tuple([z.string(), z.string(), z.int32(), z.string()])

/** Taxpayers in the order of their keys. @param identifier the beginning of an identification number */
export async function listTaxpayers(
  db: Pool,
  options: PageAsked & { enterprise?: string | undefined; identifier?: string | undefined; gone?: boolean },
): Promise<Paged<TaxpayerRow>> {
  const { enterprise, identifier, gone = false, after, limit } = options
  const position = decodeCursor(TAXPAYER_KEY, after) ?? [null, null, null, null]
  const { rows } = await db.query<TaxpayerRow>(
    `select enterprise_code, identifier, taxpayer_nature as nature, taxpayer_name as name,
            status, first_seen_at, changed_at, gone_at
     from dirsync.taxpayer
     where ($1::text is null or enterprise_code = $1) and ($2::text is null or identifier like $2)
       and ($3 or gone_at is null)
       and ($4::text is null
            or (enterprise_code, identifier, taxpayer_nature, taxpayer_name) > ($4, $5, $6::int, $7))
     order by enterprise_code, identifier, taxpayer_nature, taxpayer_name limit $8`,
    [
      enterprise ?? null,
      identifier === undefined ? null : likeBeginning(identifier),
      gone,
      ...position,
      limit + 1,
    ],
  )
  return onePage(rows, limit, row => [row.enterprise_code, row.identifier, row.nature, row.name])
}
