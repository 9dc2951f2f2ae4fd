import type { ClientBase, Pool, PoolClient } from '../lib/database.ts'
import { onlyRow, transaction } from '../lib/database.ts'
import { isUnattended, JournalError } from './journal.ts'

export const TOP_UP_STATES = ['requested', 'unknown', 'accepted', 'rejected'] as const

export type TopUpState = (typeof TOP_UP_STATES)[number]

/** One row of `dirsync.topup`, named as its columns; amounts are decimal strings. */
export interface TopUp {
  external_code: string
  account_openid: string
  enterprise_code: string
  amount: string
  state: TopUpState
  requested_by: string
  sent_at: Date
  settled_at: Date | null
  apply_charge_openid: string | null
  platform_code: number | null
  trace_id: string | null
  message: string | null
  resolved_by: string | null
  resolution: string | null
  although_open: string[]
}

/** What a top-up application's call ended with. */
export type TopUpAnswer =
  | { state: 'accepted'; applyChargeOpenid: string }
  | { state: 'rejected'; platformCode: number; message: string; traceId: string | null }
  | { state: 'unknown'; platformCode: number | null; message: string; traceId: string | null }

/** An application is sent by one session at a time. */
export function topUpLock(externalCode: string): string {
  return `topup:${externalCode}`
}

/** What is known of a top-up application before it is sent. */
export type NewTopUp = Pick<
  TopUp,
  'external_code' | 'account_openid' | 'enterprise_code' | 'amount' | 'although_open'
>

/**
 * Writes a top-up application down before it is sent, unless the account has another open one that its sender did not name.
 * @returns false when there is such a one, or its number was used before: nothing was written
 */
export async function beginTopUp(db: PoolClient, topUp: NewTopUp, actor: string): Promise<boolean> {
  await db.query('begin')
  try {
    // Whoever begins one for the same account, in whatever process, waits here until this one can be seen.
    await db.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [
      `topup-account:${topUp.account_openid}`,
    ])
    const isWritten = (await otherOpenTopUp(db, topUp)) === null && (await writeTopUp(db, topUp, actor))
    await db.query('commit')
    return isWritten
  } catch (error) {
    await db.query('rollback').catch(() => undefined) // a connection that is gone has ended it already
    throw error
  }
}

/** The oldest open application of the account that the sender of this one did not name; null when there is none. */
export async function otherOpenTopUp(db: ClientBase | Pool, topUp: NewTopUp): Promise<TopUp | null> {
  const { rows } = await db.query<TopUp>(
    `select * from dirsync.topup
     where account_openid = $1 and state in ('requested', 'unknown') and external_code <> all ($2)
     order by sent_at limit 1`,
    [topUp.account_openid, [topUp.external_code, ...topUp.although_open]],
  )
  return rows[0] ?? null
}

/**
 * Writes a top-up application down.
 * @returns false when its number was used before
 */
export async function writeTopUp(db: ClientBase | Pool, topUp: NewTopUp, actor: string): Promise<boolean> {
  const { rowCount } = await db.query(
    `insert into dirsync.topup
       (external_code, account_openid, enterprise_code, amount, although_open, requested_by)
     values ($1, $2, $3, $4, $5, session_user || ' (' || $6 || ')') on conflict do nothing`,
    [
      topUp.external_code,
      topUp.account_openid,
      topUp.enterprise_code,
      topUp.amount,
      topUp.although_open,
      actor,
    ],
  )
  return rowCount === 1
}

/** Forgets an application of which nothing was sent: its number stays free. */
export async function forgetTopUp(db: Pool, externalCode: string): Promise<void> {
  await db.query(`delete from dirsync.topup where external_code = $1 and state in ('requested', 'unknown')`, [
    externalCode,
  ])
}

/** Stores how an application's call ended. The platform's own answer overrules what a person decided meanwhile. */
export async function storeTopUpAnswer(db: Pool, externalCode: string, answer: TopUpAnswer): Promise<void> {
  if (answer.state === 'unknown') {
    await db.query(
      `update dirsync.topup set state = 'unknown', message = $2, trace_id = $3, platform_code = $4
       where external_code = $1 and state = 'requested'`,
      [externalCode, answer.message, answer.traceId, answer.platformCode],
    )
    return
  }
  const rejected = answer.state === 'rejected' ? answer : null
  await db.query(
    `update dirsync.topup
     set state = $2, apply_charge_openid = $3, platform_code = $4, message = $5, trace_id = $6, settled_at = coalesce(settled_at, now())
     where external_code = $1`,
    [
      externalCode,
      answer.state,
      answer.state === 'accepted' ? answer.applyChargeOpenid : null,
      rejected?.platformCode ?? null,
      rejected?.message ?? null,
      rejected?.traceId ?? null,
    ],
  )
}

/** Finds applications whose sender did not live to store the answer: their outcome is unknown. Returns their numbers. */
export async function adoptTopUps(pool: Pool): Promise<string[]> {
  const { rows } = await pool.query<Pick<TopUp, 'external_code'>>(
    `select external_code from dirsync.topup where state = 'requested'`,
  )
  const adopted: string[] = []
  for (const { external_code } of rows) {
    const isAdopted = await transaction(pool, async client => {
      if (!(await isUnattended(client, topUpLock(external_code)))) return false
      const { rowCount } = await client.query(
        `update dirsync.topup set state = 'unknown', message = 'its sender ended before it stored the answer'
         where external_code = $1 and state = 'requested'`,
        [external_code],
      )
      return rowCount === 1
    })
    if (isAdopted) adopted.push(external_code)
  }
  return adopted
}

/** The top-up application of this number; null when dirsync never sent it. */
export async function readTopUp(db: Pool, externalCode: string): Promise<TopUp | null> {
  const { rows } = await db.query<TopUp>('select * from dirsync.topup where external_code = $1', [
    externalCode,
  ])
  return rows[0] ?? null
}

/** The latest top-up applications, those sent last first. */
export async function listTopUps(
  db: Pool,
  filter: { state?: TopUpState | undefined; limit: number },
): Promise<TopUp[]> {
  const { rows } = await db.query<TopUp>(
    `select * from dirsync.topup where ($1::text is null or state = $1) order by sent_at desc, external_code limit $2`,
    [filter.state ?? null, filter.limit],
  )
  return rows
}

/** Top-up applications whose outcome nobody knows yet; every unknown one waits for a person. */
export async function openTopUps(
  db: Pool,
): Promise<{ requested: number; unknown: number; oldest: Date | null }> {
  const { rows } = await db.query<{ requested: number; unknown: number; oldest: Date | null }>(
    `select count(*) filter (where state = 'requested') as requested, count(*) filter (where state = 'unknown') as unknown,
            min(sent_at) as oldest
     from dirsync.topup where state in ('requested', 'unknown')`,
  )
  return onlyRow(rows)
}

/**
 * A person's word about a top-up application whose outcome is unknown: the interface has no question about it.
 * @param actor who decides: `cli:` and the shell user
 * @throws JournalError when there is no such application, or its outcome is known or still awaited
 */
export async function resolveTopUp(
  pool: Pool,
  externalCode: string,
  state: 'accepted' | 'rejected',
  reason: string,
  actor: string,
): Promise<TopUp> {
  await adoptTopUps(pool)
  return transaction(pool, async client => {
    await client.query(`select set_config('dirsync.actor', $1, true)`, [actor])
    const { rows } = await client.query<TopUp>(
      `with resolved as (
         update dirsync.topup set state = $2, settled_at = now(), resolved_by = dirsync.actor(), resolution = $3
         where external_code = $1 and state = 'unknown' returning *
       ), told as (
         insert into dirsync.command (name, arguments, requested_by)
         select 'resolve_topup', jsonb_build_object('external_code', external_code, 'state', state, 'reason', resolution), resolved_by
         from resolved
       )
       select * from resolved`,
      [externalCode, state, reason],
    )
    if (rows[0]) return rows[0]
    const topUp = await readTopUp(pool, externalCode)
    if (topUp === null) throw new JournalError('NOT_FOUND', `there is no top-up ${externalCode}`)
    throw new JournalError(
      'NOT_UNKNOWN',
      topUp.state === 'requested'
        ? `top-up ${externalCode} is being sent at this moment: look again in a minute`
        : `top-up ${externalCode} is ${topUp.state}: only an unknown outcome is decided by a person`,
    )
  })
}
