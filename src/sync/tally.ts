import { onlyRow, type Pool } from '../lib/database.ts'

/**
 * SQL: how the employees of a row `t` of `dirsync.tally` stand. Those that wait while a halt is in force are halted; the
 * others stand as the trigger wrote them.
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

/** Sums up the rows of the tally that are alike. It is read as a whole, so it should stay short. */
export async function foldTally(db: Pool): Promise<void> {
  await db.query('select dirsync.fold_tally()')
}

/** Writes down how everything stands and sums up the calls by hour, for curves. Once per five minutes, whoever asks. */
export async function noteStanding(db: Pool): Promise<void> {
  await db.query('select dirsync.note_standing()')
}
