import { onlyRow, type Pool } from '../lib/database.ts'
import type { Logger } from '../lib/logger.ts'
import { Loop } from '../lib/loop.ts'

/** How often to look: a replica may take over while processes run. */
const LOOK_EVERY_MS = 2000

/**
 * Notices that the database was restored from a backup, or that a replica has taken over: it may remember less than the platform
 * was sent. Then no employee counts as in sync until the platform was asked about them, by a full run that begins at once.
 */
export async function noticeRestore(db: Pool, logger: Logger): Promise<void> {
  const { rows } = await db.query<{ restored: boolean }>('select dirsync.notice_restore() as restored')
  if (onlyRow(rows).restored)
    logger.warn(
      'the database was restored, copied or taken over by a replica: a full run asks the platform about every employee',
    )
}

/** Condition on an employee `e`: the platform confirmed some row, but the database was restored since (see dirsync.doubt_memory). */
export const DOUBTED = `e.acknowledged_hash = 'ffffffff-ffff-ffff-ffff-ffffffffffff'`

/** Where counting ends: its cost must not grow with the company. */
const MOST_COUNTED = 10_000

/** How many of them the platform has yet to be asked about, up to 10,000. */
export async function countDoubted(db: Pool): Promise<number> {
  const { rows } = await db.query<{ n: number }>(
    `select count(*)::int as n
     from (select from dirsync.employee e where ${DOUBTED} and status in ('waiting', 'held') limit ${MOST_COUNTED}) few`,
  )
  return onlyRow(rows).n
}

/** Does so while a process runs. */
export function restoreWatch(db: Pool, logger: Logger): Loop {
  return new Loop({
    step: () => noticeRestore(db, logger),
    pauseMs: LOOK_EVERY_MS,
    failed: error => logger.debug({ error }, 'not known whether the database was restored'),
  })
}
