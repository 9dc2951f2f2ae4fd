import type { ClientBase, Pool, PoolClient } from '../../lib/database.ts'
import { message } from '../../texts/message.ts'
import { inNameOf, note } from './audit.ts'
import { AccessError } from './failure.ts'
import { hashPassword } from './password.ts'
import type { AccessRole } from './viewer.ts'

/** The users of the console, managed by `dirsync users`. Users who sign in through OIDC are among them. */

/** The user that one-time keys sign in as. */
export const LOCAL = 'local'

/** A row of console_user, without the password. */
export interface ConsoleUser {
  name: string
  source: 'password' | 'oidc' | 'key'
  role: AccessRole
  created_at: Date
  created_by: string
  disabled_at: Date | null
  last_sign_in_at: Date | null
  /** Sessions that have not ended. */
  sessions: number
}

/**
 * A user name in its stored form: lower case, because people type capitals as they like.
 * @throws AccessError if it has characters other than letters, digits and . _ @ + -
 */
export function userName(text: string): string {
  const name = comparableName(text)
  if (!/^[\p{L}\p{N}][\p{L}\p{N}._@+-]{0,99}$/u.test(name))
    throw new AccessError('ACCESS_INVALID', message('said.not_a_user_name', { text: JSON.stringify(text) }))
  return name
}

/** The same for a name typed at sign-in. It is only compared, never stored, so anything is accepted. */
export function comparableName(text: string): string {
  return text.normalize('NFKC').trim().toLowerCase()
}

/** Adds a user who signs in with a password. */
export async function addUser(
  pool: Pool,
  actor: string,
  user: { name: string; role: AccessRole; password: string },
): Promise<void> {
  const name = userName(user.name)
  if (name === LOCAL) throw new AccessError('ACCESS_INVALID', message('said.user_local', { name: LOCAL }))
  const hash = await hashPassword(user.password)
  await inNameOf(pool, actor, async client => {
    const { rowCount } = await client.query(
      `insert into dirsync.console_user (name, source, role, password_hash) values ($1, 'password', $2, $3)
       on conflict do nothing`,
      [name, user.role, hash],
    )
    if (rowCount === 0) throw new AccessError('ACCESS_INVALID', message('said.user_exists', { name }))
    await note(client, 'users add', { user: name, role: user.role })
  })
}

/** All users, by name. The list is not paged: it is as long as the number of people who may use the console. */
export async function listUsers(db: Pick<ClientBase, 'query'>): Promise<ConsoleUser[]> {
  const { rows } = await db.query<ConsoleUser>(
    `select u.name, u.source, u.role, u.created_at, u.created_by, u.disabled_at, u.last_sign_in_at,
            (select count(*)::int from dirsync.console_session s
             where s.user_name = u.name and s.revoked_at is null and s.expires_at > now()) as sessions
     from dirsync.console_user u order by u.name limit 10000`,
  )
  return rows
}

/**
 * Prevents a user from signing in, and ends their sessions.
 * @returns the number of sessions
 */
export function disableUser(pool: Pool, actor: string, name: string): Promise<number> {
  return change(pool, actor, 'users disable', name, {}, async (client, user) => {
    await client.query(
      'update dirsync.console_user set disabled_at = coalesce(disabled_at, now()) where name = $1',
      [user.name],
    )
    return endSessions(client, user.name)
  })
}

/** Lets a user sign in again. */
export async function enableUser(pool: Pool, actor: string, name: string): Promise<void> {
  await change(pool, actor, 'users enable', name, {}, (client, user) =>
    client.query('update dirsync.console_user set disabled_at = null where name = $1', [user.name]),
  )
}

/**
 * Gives a user a new password, and ends their sessions.
 * @returns the number of sessions
 */
export async function setPassword(
  pool: Pool,
  actor: string,
  name: string,
  password: string,
): Promise<number> {
  const hash = await hashPassword(password)
  return change(pool, actor, 'users password', name, {}, async (client, user) => {
    if (user.source !== 'password')
      throw new AccessError(
        'ACCESS_INVALID',
        user.source === 'oidc'
          ? message('said.user_of_provider', { name: user.name })
          : message('said.user_by_keys', { name: user.name }),
      )
    await client.query('update dirsync.console_user set password_hash = $2 where name = $1', [
      user.name,
      hash,
    ])
    return endSessions(client, user.name)
  })
}

/** Gives a user another role, which applies from their next request. */
export async function setRole(pool: Pool, actor: string, name: string, role: AccessRole): Promise<void> {
  await change(pool, actor, 'users role', name, { role }, async (client, user) => {
    if (user.source === 'oidc')
      throw new AccessError('ACCESS_INVALID', message('said.role_of_provider', { name: user.name }))
    await client.query('update dirsync.console_user set role = $2 where name = $1', [user.name, role])
  })
}

/** Whether any user can sign in with a password. */
export async function hasPasswordUsers(pool: Pool): Promise<boolean> {
  const { rowCount } = await pool.query(
    `select from dirsync.console_user where source = 'password' and disabled_at is null limit 1`,
  )
  return (rowCount ?? 0) > 0
}

/**
 * Ends all sessions of a user.
 * @returns the number of sessions
 */
export async function endSessions(db: Pick<ClientBase, 'query'>, name: string): Promise<number> {
  const { rowCount } = await db.query(
    `update dirsync.console_session set revoked_at = now(), id_token = null
     where user_name = $1 and revoked_at is null and expires_at > now()`,
    [name],
  )
  return rowCount ?? 0
}

/** Changes one user, who must exist, and records the command. */
function change<T>(
  pool: Pool,
  actor: string,
  command: string,
  name: string,
  values: Record<string, string>,
  work: (client: PoolClient, user: Pick<ConsoleUser, 'name' | 'source'>) => Promise<T>,
): Promise<T> {
  return inNameOf(pool, actor, async client => {
    const { rows } = await client.query<Pick<ConsoleUser, 'name' | 'source'>>(
      'select name, source from dirsync.console_user where name = $1 for update',
      [comparableName(name)],
    )
    const [user] = rows
    if (!user)
      throw new AccessError('ACCESS_NOT_FOUND', message('said.no_such_user', { text: JSON.stringify(name) }))
    await note(client, command, { user: user.name, ...values })
    return work(client, user)
  })
}
