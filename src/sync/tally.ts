import { onlyRow, type Pool } from '../lib/database.ts'

/**
 * How the employees of a row `t` of `dirsync.tally` stand: whoever waits while work stands still is halted. The other
 * standings are as the trigger wrote them.
 */
export const STANDING = `case when t.state = 'waiting'
  and exists (select from dirsync.halt h where h.scope in ('*', t.enterprise_code)) then 'halted' else t.state end`

/** Rows in the outbox. */
export async function countPending(db: Pool): Promise<number> {
  const { rows } = await db.query<{ n: number }>(
    `select coalesce(sum(n), 0)::int as n from dirsync.tally where source = 'pending'`,
  )
  return onlyRow(rows).n
}

/** Sums up the rows of the tally that are alike, once there are many: it is read whole. */
export async function foldTally(db: Pool): Promise<void> {
  await db.query('select dirsync.fold_tally()')
}
