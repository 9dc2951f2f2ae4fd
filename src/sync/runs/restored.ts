import { type ClientBase, DAY_MS, onlyRow, type Pool, withLiveConnection } from '../../lib/database.ts'
import type { Logger } from '../../lib/logger.ts'
import { Loop } from '../../lib/loop.ts'

/** How often to look: a replica may take over while processes run. */
const LOOK_EVERY_MS = 2000

/**
 * Notices that the database was restored from a backup, or that a replica has taken over: it may remember less than the platform
 * was sent. Then no employee counts as in sync until the platform was asked about them, by a full run that begins at once.
 */
export async function noticeRestore(db: ClientBase | Pool, logger: Logger): Promise<void> {
  const { rows: seen } = await db.query<{ restored: boolean }>('select dirsync.was_restored() as restored')
  if (onlyRow(seen).restored)
    logger.warn(
      'the database was restored, copied or taken over by a replica: noting that of every employee, which takes minutes where there are many',
    )
  const notice = { text: 'select dirsync.notice_restore() as restored', query_timeout: DAY_MS }
  const { rows } = await db.query<{ restored: boolean }>(notice)
  if (onlyRow(rows).restored)
    logger.warn(
      'a full run asks the platform about every employee; everyone has been signed out; users and tokens may be older than they were: unless nothing was lost, as in a planned switch to a replica or a move, disable and revoke again what was disabled or revoked since the backup',
    )
}

/** When the last restore was noticed; null: more than 30 days ago, or never. */
export async function recentRestore(db: Pool): Promise<Date | null> {
  const { rows } = await db.query<{ restored_at: Date }>(
    `select restored_at from dirsync.deployment where restored_at > now() - interval '30 days'`,
  )
  return rows[0]?.restored_at ?? null
}

/**
 * Whether the database was restored since, noticed or not yet. A time that is still to come is of a clock that was put back.
 */
export async function restoredSince(db: ClientBase | Pool, at: Date): Promise<boolean> {
  const { rows } = await db.query<{ restored: boolean }>(
    `select dirsync.was_restored()
            or exists (select from dirsync.deployment where restored_at between $1 and now()) as restored`,
    [at],
  )
  return onlyRow(rows).restored
}

/** Condition on an employee `e`: the platform confirmed some row, but the database was restored since (see dirsync.doubt_memory). */
export const DOUBTED = `e.acknowledged_hash = 'ffffffff-ffff-ffff-ffff-ffffffffffff'`

/** Does so while a process runs. */
export function restoreWatch(db: Pool, logger: Logger): Loop {
  return new Loop({
    step: () => withLiveConnection(db, client => noticeRestore(client, logger)),
    pauseMs: LOOK_EVERY_MS,
    failed: error => logger.debug({ error }, 'not known whether the database was restored'),
  })
}
