import type { Pool } from '../../lib/database.ts'
import type { Asker } from '../../sync/runs/commands.ts'
import { message } from '../../texts/message.ts'
import { admitAttempt, type FailureRecord, forgiveAttempt } from './attempts.ts'
import { inNameOf, note } from './audit.ts'
import { AccessError, SlowedError } from './failure.ts'
import { hashPassword, isPassword } from './password.ts'
import { endRebind, endSessions, LOCAL, voidLinks } from './users.ts'
import type { Viewer } from './viewer.ts'

/** Who changes their password: the present one, and the session in which they do. */
interface Own {
  viewer: Viewer
  session: string
  /** Not asked for in a session that a one-time link has opened. */
  current: string | null
}

/**
 * Gives a user another password, and ends their other sessions. The present password is checked as at sign-in: guesses
 * are slowed, and recorded.
 * @returns the number of sessions that ended
 * @throws AccessError, SlowedError, BusyError
 */
export async function changeOwnPassword(
  pool: Pool,
  failures: FailureRecord,
  asker: Asker,
  { viewer: { name, via }, session, current }: Own,
  password: string,
): Promise<number> {
  const { rows } = await pool.query<{ source: string; password_hash: string | null }>(
    'select source, password_hash from dirsync.console_user where name = $1',
    [name],
  )
  const [user] = rows
  if (user?.source === 'oidc')
    throw new AccessError('ACCESS_INVALID', message('said.user_of_provider', { name }))
  if (!user || name === LOCAL) throw new AccessError('ACCESS_INVALID', message('said.user_by_keys', { name }))
  if (via !== 'key')
    await demandPassword(pool, failures, { name, address: asker.address ?? '' }, current, user)
  const hash = await hashPassword(password)
  return inNameOf(pool, asker, async client => {
    const { rowCount } = await client.query(
      `update dirsync.console_user set source = 'password', password_hash = $2
       where name = $1 and disabled_at is null and password_hash is not distinct from $3`,
      [name, hash, user.password_hash],
    )
    // Another change came first, and has ended this session.
    if (rowCount === 0) throw new AccessError('ACCESS_INVALID', message('said.password_changed'))
    // A link opens the way to one new password, not to any number of them. While it was hashed, the session may have ended.
    const { rowCount: isOpen } = await client.query(
      `update dirsync.console_session set via = 'password'
       where id_hash = decode($1, 'hex') and revoked_at is null`,
      [session],
    )
    if (isOpen === 0) throw new AccessError('ACCESS_NOT_FOUND', message('said.no_such_session'))
    await voidLinks(client, name)
    await endRebind(client, name)
    await note(client, 'users password', { user: name })
    return endSessions(client, name, session)
  })
}

async function demandPassword(
  pool: Pool,
  failures: FailureRecord,
  attempt: { name: string; address: string },
  current: string | null,
  { password_hash }: { password_hash: string | null },
): Promise<void> {
  const seconds = await admitAttempt(pool, attempt)
  if (seconds > 0) throw new SlowedError(seconds)
  let isRight: boolean
  try {
    isRight = await isPassword(current ?? '', password_hash)
  } catch (error) {
    await forgiveAttempt(pool, attempt, false)
    throw error
  }
  if (!isRight) {
    await failures.add(attempt.name, attempt.address, 'own_password')
    throw new AccessError('ACCESS_INVALID', message('said.not_your_password'), 'current')
  }
  await forgiveAttempt(pool, attempt, true)
}
