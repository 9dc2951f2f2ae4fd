import { onlyRow, type Pool } from '../lib/database.ts'

/**
 * SQL: the states of the employees of a row `t` of `dirsync.tally`. Those that wait while a halt is in force are halted; the
 * others are as the trigger wrote them.
 */
export const STANDING = `case when t.state = 'waiting'
  and exists (select from dirsync.halt h where h.scope in ('*', t.enterprise_code))
  then 'halted' else t.state end`

/** Rows in the outbox. */
export async function countPending(db: Pool): Promise<number> {
  const { rows } = await db.query<{ n: number }>(
    `select coalesce(sum(n), 0)::int as n from dirsync.tally where source = 'pending'`,
  )
  return onlyRow(rows).n
}

/** Merges rows of the tally with equal keys. It is read as a whole, so it should stay short. */
export async function foldTally(db: Pool): Promise<void> {
  await db.query('select dirsync.fold_tally()')
}

/**
 * Records the state of everything and sums up the calls by hour, for charts. At most once per five minutes, across all callers.
 */
export async function noteStanding(db: Pool): Promise<void> {
  await db.query('select dirsync.note_standing()')
}
