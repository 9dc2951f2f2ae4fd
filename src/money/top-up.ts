import { type Lock, lockTransaction } from '../lib/advisory-lock.ts'
import type { ClientBase, Pool } from '../lib/database.ts'
import { type Entry, IS_OPEN, Journal, type TOP_UP_STATES } from './journal.ts'

/** One row of `dirsync.topup`, an application for enterprise points; the amount is a decimal text. */
export interface TopUp extends Entry {
  state: (typeof TOP_UP_STATES)[number]
  external_code: string
  account_openid: string
  amount: string
  apply_charge_openid: string | null
  /** Open applications for the same account that its sender named as acceptable beside this one. */
  although_open: string[]
}

/** An application is sent by one session at a time. */
export function topUpLock(externalCode: string): Lock {
  return { key: `topup:${externalCode}` }
}

/** The platform offers no query for an application: an unknown outcome is left to a person. */
export const topUpJournal = new Journal<TopUp>({
  table: 'topup',
  noun: 'top-up',
  number: 'external_code',
  target: 'account_openid',
  receipt: 'apply_charge_openid',
  canBeAsked: false,
  isForPerson: `state = 'unknown'`,
  mayStillCome: 'null',
  also: '',
  lockOf: ({ external_code }) => topUpLock(external_code),
})

/** An application before it is sent. */
export type NewTopUp = Pick<
  TopUp,
  'external_code' | 'account_openid' | 'enterprise_code' | 'amount' | 'although_open'
>

/**
 * Writes an application down before it is sent, unless another one of the account stands in its way, or one that it names is not
 * open. In a transaction.
 * @param agreedAt when a person agreed to it, by the database's clock; null: nobody was asked
 * @returns false when there is one, or its number was used before: nothing was written
 */
export async function beginTopUp(
  db: ClientBase,
  topUp: NewTopUp,
  actor: string,
  agreedAt: Date | null,
): Promise<boolean> {
  // Another process that begins one for the same account waits here until it can see this one.
  await lockTransaction(db, { key: `topup-account:${topUp.account_openid}` })
  const isClear =
    (await notOpenOf(db, topUp, agreedAt)) === null && (await otherTopUp(db, topUp, agreedAt)) === null
  return isClear && (await writeTopUp(db, topUp, actor))
}

/** The oldest application of the account that is open, or accepted since a person agreed to this one, and not named by its sender. */
export async function otherTopUp(
  db: ClientBase | Pool,
  topUp: NewTopUp,
  agreedAt: Date | null,
): Promise<TopUp | null> {
  const { rows } = await db.query<TopUp>(
    `select * from dirsync.topup
     where account_openid = $1 and external_code <> all ($2)
       and (${IS_OPEN} or state = 'accepted' and settled_at > $3)
     order by sent_at limit 1`,
    [topUp.account_openid, [topUp.external_code, ...topUp.although_open], agreedAt],
  )
  return rows[0] ?? null
}

/**
 * The first number that its sender named although it is not an application of the account that is open, or was when a person agreed
 * to this one; null: there is none.
 */
export async function notOpenOf(
  db: ClientBase | Pool,
  topUp: NewTopUp,
  agreedAt: Date | null,
): Promise<string | null> {
  const { rows } = await db.query<{ number: string }>(
    `select number from unnest($2::text[]) with ordinality named (number, place)
     where not exists (select from dirsync.topup
                       where external_code = number and account_openid = $1
                         and (${IS_OPEN} or settled_at > $3))
     order by place limit 1`,
    [topUp.account_openid, topUp.although_open, agreedAt],
  )
  return rows[0]?.number ?? null
}

/**
 * Writes an application down.
 * @returns false when its number was used before
 */
export async function writeTopUp(db: ClientBase | Pool, topUp: NewTopUp, actor: string): Promise<boolean> {
  const { external_code, account_openid, enterprise_code, amount, although_open } = topUp
  const { rowCount } = await db.query(
    `insert into dirsync.topup
       (external_code, account_openid, enterprise_code, amount, although_open, requested_by)
     values ($1, $2, $3, $4, $5, session_user || ' (' || $6 || ')')
     on conflict do nothing`,
    [external_code, account_openid, enterprise_code, amount, although_open, actor],
  )
  return rowCount === 1
}
