import type { Pool, PoolClient } from '../../lib/database.ts'
import { message } from '../../texts/message.ts'
import { type By, inNameOf, note } from './audit.ts'
import { AccessError } from './failure.ts'
import { hashPassword } from './password.ts'
import { hashOf, newSecret } from './secret.ts'
import {
  change,
  demandOwn,
  endSessions,
  LOCAL,
  ownName,
  voidKeys,
  voidLinks,
  withoutProvider,
} from './users.ts'
import type { AccessRole } from './viewer.ts'

/**
 * One-time keys: anyone who can read dirsync's terminal may sign in as `local`, an admin, or make the first user. One-time
 * links sign in as the user for whom an administrator made them.
 */

/** Long enough for a notebook that is left open overnight. */
const LIFE_HOURS = 24
const AT_START = 'start'

/**
 * Makes the key that the embedded default prints, as `/sign-in/key?key=…`. It is valid for one sign-in within 24
 * hours, and the next start replaces it. If the user `local` is disabled, the key does not work.
 */
export async function createSignInKey(pool: Pool): Promise<string> {
  await pool.query('delete from dirsync.sign_in_key where created_by = $1 and used_at is null', [AT_START])
  const key = newSecret()
  await insertKey(pool, key, AT_START)
  return key
}

/**
 * Makes a key at the shell for a person who cannot sign in any more. It voids the earlier ones, which may be in a chat or a ticket.
 * @throws AccessError if the user `local` is disabled
 */
export async function createLinkKey(pool: Pool, by: By): Promise<string> {
  const key = newSecret()
  await inNameOf(pool, by, async client => {
    const { rowCount } = await client.query(
      'select from dirsync.console_user where name = $1 and disabled_at is not null',
      [LOCAL],
    )
    if (rowCount !== 0)
      throw new AccessError('ACCESS_INVALID', message('said.user_disabled', { name: LOCAL }))
    await note(client, 'users link', { user: LOCAL })
    await voidKeys(client)
    await insertKey(client, key, typeof by === 'string' ? by : by.actor)
  })
  return key
}

/**
 * Uses up a key, and adds its user if there is none yet. Whatever an earlier version let the user become, it is an administrator.
 * @returns whether the key was valid
 */
export async function useSignInKey(pool: Pool, key: string, address: string): Promise<boolean> {
  return inNameOf(pool, { actor: `console:${LOCAL}`, address }, async client => {
    const { rowCount } = await client.query(
      `update dirsync.sign_in_key set used_at = now()
       where hash = $1 and used_at is null and expires_at > now()`,
      [hashOf(key)],
    )
    if (rowCount === 0) return false
    const user = { user: LOCAL, role: 'admin' }
    const { rowCount: added } = await client.query(
      `insert into dirsync.console_user (name, source, role) values ($1, 'key', 'admin') on conflict do nothing`,
      [LOCAL],
    )
    const { rowCount: raised } = await client.query(
      `update dirsync.console_user set role = 'admin' where name = $1 and role <> 'admin'`,
      [LOCAL],
    )
    if (added === 1) await note(client, 'users add', user)
    else if (raised === 1) await note(client, 'users role', user)
    return true
  })
}

async function insertKey(db: Pick<Pool, 'query'>, key: string, createdBy: string): Promise<void> {
  await db.query(
    `insert into dirsync.sign_in_key (hash, created_by, expires_at)
     values ($1, $2, now() + $3 * interval '1 hour')`,
    [hashOf(key), createdBy, LIFE_HOURS],
  )
}

/** Whether a key is good, without using it up. */
async function isGoodKey(pool: Pool, key: string): Promise<boolean> {
  const { rowCount } = await pool.query(
    'select from dirsync.sign_in_key where hash = $1 and used_at is null and expires_at > now()',
    [hashOf(key)],
  )
  return rowCount === 1
}

/** Whether there is no user but `local`, so that the holder of a key may make the first one. */
export async function hasNoUsers(db: Pick<Pool, 'query'>): Promise<boolean> {
  const { rowCount } = await db.query('select from dirsync.console_user where name <> $1 limit 1', [LOCAL])
  return rowCount === 0
}

/**
 * Uses up a key to make the first user, an administrator. Of several people at the same moment, one succeeds.
 * @returns their name; null if the key is not good, or there is a user already
 * @throws AccessError for an unacceptable name or password; the key is still good then
 */
export async function makeFirstAdmin(
  pool: Pool,
  key: string,
  { address, ...wanted }: { name: string; password: string; address: string },
): Promise<string | null> {
  if (!(await isGoodKey(pool, key)) || !(await hasNoUsers(pool))) return null
  const name = ownName(wanted.name)
  const hash = await hashPassword(wanted.password)
  return inNameOf(pool, { actor: `console:${name}`, address }, async client => {
    await client.query('lock table dirsync.console_user in share row exclusive mode')
    if (!(await hasNoUsers(client))) return null
    const { rowCount } = await client.query(
      `update dirsync.sign_in_key set used_at = now()
       where hash = $1 and used_at is null and expires_at > now()`,
      [hashOf(key)],
    )
    if (rowCount === 0) return null
    await note(client, 'users add', { user: name, role: 'admin' })
    await client.query(
      `insert into dirsync.console_user (name, source, role, password_hash)
       values ($1, 'password', 'admin', $2)`,
      [name, hash],
    )
    // They were for whoever has no other way in.
    await client.query(
      'update dirsync.sign_in_key set used_at = now() where created_by = $1 and used_at is null',
      [AT_START],
    )
    return name
  })
}

// Links

/** Long enough for a colleague who is away over a weekend. */
const LINK_HOURS = 72

/**
 * Makes a link for a user, which voids the earlier ones.
 * @param provider OIDC_ISSUER; null: none
 * @returns its key
 */
export async function createUserLink(
  pool: Pool,
  by: By,
  name: string,
  provider: string | null,
): Promise<string> {
  const key = newSecret()
  await change(pool, by, 'users link', name, {}, async (client, user) => {
    await demandOwn(client, user, provider)
    if (user.disabled_at)
      throw new AccessError('ACCESS_INVALID', message('said.user_disabled', { name: user.name }))
    // Without this they could not choose a password: a session of the provider would ask for a present one.
    if (user.source === 'oidc') {
      await client.query(
        `update dirsync.console_user set source = 'key', issuer = null, subject = null, provider = null where name = $1`,
        [user.name],
      )
      await endSessions(client, user.name)
    }
    await withoutProvider(client, user)
    await voidLinks(client, user.name)
    await client.query(
      `insert into dirsync.sign_in_link (hash, user_name, expires_at)
       values ($1, $2, now() + $3 * interval '1 hour')`,
      [hashOf(key), user.name, LINK_HOURS],
    )
  })
  return key
}

/** A link as an administrator sees it: the key itself was shown once. */
export interface UserLink {
  created_at: Date
  created_by: string
  /** It ended then, or will, whether by its time or for a later one. */
  expires_at: Date
  opened_at: Date | null
}

/** The latest link of a user, or key of `local`; null: none was made. */
export async function latestLink(pool: Pool, name: string): Promise<UserLink | null> {
  // A later key of a start leaves one of the shell good: what can still be used comes first.
  const { rows } = await pool.query<UserLink>(
    `select created_at, created_by, expires_at, opened_at
     from (select user_name, created_at, created_by, expires_at, used_at as opened_at from dirsync.sign_in_link
           union all
           select $2, created_at, created_by, expires_at, used_at from dirsync.sign_in_key) link
     cross join lateral (select opened_at is null and expires_at > now() as is_good) now
     where user_name = $1
     order by is_good desc, is_good and created_by = $3, created_at desc limit 1`,
    [name, LOCAL, AT_START],
  )
  return rows[0] ?? null
}

/** Whom a link signs in, and as what; null if it is not good. It is not used up. */
export async function holderOfLink(
  pool: Pool,
  key: string,
): Promise<{ name: string; role: AccessRole } | null> {
  const { rows } = await pool.query<{ name: string; role: AccessRole }>(
    `select u.name, u.role from dirsync.sign_in_link l join dirsync.console_user u on u.name = l.user_name
     where l.hash = $1 and l.used_at is null and l.expires_at > now() and u.disabled_at is null`,
    [hashOf(key)],
  )
  return rows[0] ?? null
}

/**
 * Uses up a link of a user, whose row is locked: whoever voids links locks it, too.
 * @returns whether it was good
 */
export async function useLink(client: PoolClient, key: string, name: string): Promise<boolean> {
  // A lock may have been waited for since the transaction began: now() would be the time before it was voided.
  const { rowCount } = await client.query(
    `update dirsync.sign_in_link set used_at = now()
     where hash = $1 and user_name = $2 and used_at is null and expires_at > clock_timestamp()`,
    [hashOf(key), name],
  )
  return rowCount === 1
}
