import type { Pool } from '../lib/database.ts'
import { enterpriseCodes } from '../sync/employee.ts'
import { beginningWith } from '../sync/stored-plan.ts'

/** The mirrors of the platform as tables, page by page. Amounts are decimal texts. */

/** A page, and where the next one begins; null: there is none. */
export interface Page<Row, Cursor> {
  rows: Row[]
  next: Cursor | null
}

export interface PaymentOrderRow {
  enterpriseCode: string
  tradeNo: string
  outTradeNo: string | null
  userid: string | null
  subject: string | null
  totalAmount: string | null
  payAmount: string | null
  refundAmount: string | null
  status: number | null
  assetCode: string | null
  createdAt: Date | null
  paidAt: Date | null
  refundedAt: Date | null
  firstSeenAt: Date
  changedAt: Date
}

/** What names a payment order. */
export interface OrderCursor {
  enterpriseCode: string
  tradeNo: string
}

export interface OrderFilter {
  enterprise?: string | undefined
  userid?: string | undefined
  status?: number | undefined
  /** The beginning of an order's number. */
  tradeNo?: string | undefined
  /** When it was made: from this moment on, and before that one. */
  from?: Date | undefined
  until?: Date | undefined
}

/** When an order was made, as far as the platform tells. An index has it. */
const MADE = 'coalesce(o.created_at, o.first_seen_at)'

/** Payment orders, the latest first. */
export async function listPaymentOrders(
  db: Pool,
  options: OrderFilter & { after?: OrderCursor | undefined; limit: number },
): Promise<Page<PaymentOrderRow, OrderCursor>> {
  const { enterprise, userid, status, tradeNo, from, until, after, limit } = options
  const values: unknown[] = [limit + 1]
  const place = (value: unknown) => `$${values.push(value)}`
  const conditions = ['true']
  if (enterprise !== undefined) conditions.push(`o.enterprise_code = ${place(enterprise)}`)
  // The index of an employee's orders begins with the enterprise.
  else if (userid !== undefined)
    conditions.push(`o.enterprise_code = any (${place(await enterpriseCodes(db, ''))})`)
  if (userid !== undefined) conditions.push(`o.userid = ${place(userid)}`)
  if (status !== undefined) conditions.push(`o.status = ${place(status)}`)
  if (tradeNo !== undefined) conditions.push(`o.trade_no collate "C" like ${place(beginningWith(tradeNo))}`)
  if (from !== undefined) conditions.push(`${MADE} >= ${place(from)}`)
  if (until !== undefined) conditions.push(`${MADE} < ${place(until)}`)
  if (after !== undefined)
    conditions.push(
      `(${MADE}, o.enterprise_code, o.trade_no) < (
         select ${MADE}, o.enterprise_code, o.trade_no from dirsync.payment_order o
         where o.enterprise_code = ${place(after.enterpriseCode)} and o.trade_no = ${place(after.tradeNo)})`,
    )
  const { rows } = await db.query<PaymentOrderRow>(
    `select o.enterprise_code as "enterpriseCode", o.trade_no as "tradeNo", o.out_trade_no as "outTradeNo",
            o.userid, o.subject, o.total_amount as "totalAmount", o.pay_amount as "payAmount",
            o.refund_amount as "refundAmount", o.status, o.asset_code as "assetCode",
            o.created_at as "createdAt", o.paid_at as "paidAt", o.refunded_at as "refundedAt",
            o.first_seen_at as "firstSeenAt", o.changed_at as "changedAt"
     from dirsync.payment_order o where ${conditions.join(' and ')}
     order by ${MADE} desc, o.enterprise_code desc, o.trade_no desc limit $1`,
    values,
  )
  return pageOf(rows, limit, ({ enterpriseCode, tradeNo }) => ({ enterpriseCode, tradeNo }))
}

export interface LimitAccountRow {
  enterpriseCode: string
  accountOpenid: string
  name: string | null
  productCategory: number | null
  balance: string | null
  status: number | null
  firstSeenAt: Date
  changedAt: Date
  goneAt: Date | null
  /** At most 200. */
  subAccounts: { id: string; name: string | null; status: number | null; gone: boolean }[]
}

export interface AccountCursor {
  enterpriseCode: string
  accountOpenid: string
}

/** Limit accounts with their sub-accounts, in the order of their keys. @param gone also those that the platform shows no more */
export async function listLimitAccounts(
  db: Pool,
  options: {
    enterprise?: string | undefined
    gone?: boolean
    after?: AccountCursor | undefined
    limit: number
  },
): Promise<Page<LimitAccountRow, AccountCursor>> {
  const { enterprise, gone = false, after, limit } = options
  const { rows } = await db.query<LimitAccountRow>(
    `select a.enterprise_code as "enterpriseCode", a.account_openid as "accountOpenid", a.name,
            a.product_category as "productCategory", a.balance, a.status, a.first_seen_at as "firstSeenAt",
            a.changed_at as "changedAt", a.gone_at as "goneAt",
            (select coalesce(jsonb_agg(s order by id), '[]') from (
               select id, name, status, gone_at is not null as gone from dirsync.limit_sub_account s
               where s.enterprise_code = a.enterprise_code and s.account_openid = a.account_openid
                 and ($2 or s.gone_at is null)
               order by id limit 200) s) as "subAccounts"
     from dirsync.limit_account a
     where ($1::text is null or a.enterprise_code = $1) and ($2 or a.gone_at is null)
       and ($3::text is null or (a.enterprise_code, a.account_openid) > ($3, $4))
     order by a.enterprise_code, a.account_openid limit $5`,
    [enterprise ?? null, gone, after?.enterpriseCode ?? null, after?.accountOpenid ?? null, limit + 1],
  )
  return pageOf(rows, limit, ({ enterpriseCode, accountOpenid }) => ({ enterpriseCode, accountOpenid }))
}

export interface TaxpayerRow {
  enterpriseCode: string
  identifier: string
  nature: number
  name: string
  status: number | null
  firstSeenAt: Date
  changedAt: Date
  goneAt: Date | null
}

export type TaxpayerCursor = Pick<TaxpayerRow, 'enterpriseCode' | 'identifier' | 'nature' | 'name'>

/** Taxpayers in the order of their keys. @param identifier the beginning of an identification number */
export async function listTaxpayers(
  db: Pool,
  options: {
    enterprise?: string | undefined
    identifier?: string | undefined
    gone?: boolean
    after?: TaxpayerCursor | undefined
    limit: number
  },
): Promise<Page<TaxpayerRow, TaxpayerCursor>> {
  const { enterprise, identifier, gone = false, after, limit } = options
  const { rows } = await db.query<TaxpayerRow>(
    `select enterprise_code as "enterpriseCode", identifier, taxpayer_nature as nature, taxpayer_name as name,
            status, first_seen_at as "firstSeenAt", changed_at as "changedAt", gone_at as "goneAt"
     from dirsync.taxpayer
     where ($1::text is null or enterprise_code = $1) and ($2::text is null or identifier like $2)
       and ($3 or gone_at is null)
       and ($4::text is null
            or (enterprise_code, identifier, taxpayer_nature, taxpayer_name) > ($4, $5, $6::int, $7))
     order by enterprise_code, identifier, taxpayer_nature, taxpayer_name limit $8`,
    [
      enterprise ?? null,
      identifier === undefined ? null : beginningWith(identifier),
      gone,
      after?.enterpriseCode ?? null,
      after?.identifier ?? null,
      after?.nature ?? null,
      after?.name ?? null,
      limit + 1,
    ],
  )
  return pageOf(rows, limit, ({ enterpriseCode, identifier: number, nature, name }) => ({
    enterpriseCode,
    identifier: number,
    nature,
    name,
  }))
}

/** One row more than the page was read, to know whether there is another page. */
function pageOf<Row, Cursor>(rows: Row[], limit: number, cursorOf: (row: Row) => Cursor): Page<Row, Cursor> {
  const shown = rows.slice(0, limit)
  const last = shown.at(-1)
  return { rows: shown, next: rows.length > limit && last ? cursorOf(last) : null }
}
