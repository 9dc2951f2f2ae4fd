import { z } from 'zod'
import {
  decodeCursor,
  momentKey,
  momentOfKey,
  type PageAsked,
  type Paged,
  pageByMoment,
} from '../../lib/cursor.ts'
import type { Pool } from '../../lib/database.ts'
import { storableText } from '../../lib/storable.ts'
import { message } from '../../texts/message.ts'
import { type By, inNameOf, note } from './audit.ts'
import { AccessError } from './failure.ts'
import type { OidcPerson } from './oidc.ts'
import { hashOf, newSecret } from './secret.ts'
import { useLink } from './sign-in-key.ts'
import { IS_GOOD_TOKEN } from './tokens.ts'
import { endRebind, endSessions } from './users.ts'
import type { AccessRole, Viewer } from './viewer.ts'

/** Sessions, from sign-in to their end. The cookie holds the secret; the database holds its hash. */

/**
 * How long a session lasts, in seconds. With OIDC it is shorter, because a role that the provider takes away stays in
 * force until then.
 */
export const SESSION_SECONDS = { password: 12 * 3600, key: 12 * 3600, oidc: 3600 } as const

const MAX_USER_AGENT = 200

/** The browser that signs in. */
export interface Origin {
  address: string
  userAgent: string
  /** The secret of the session that this browser still had; that session ends. */
  former: string | null
}

/**
 * Signs a user in with a new session, whatever session the browser had before. Recorded in the same transaction.
 * @param user.passwordHash the hash that the password was compared with; if it has changed since, the sign-in fails
 * @param user.person as whom the identity provider knows them; if they are no longer that user, or have no role any more, it fails, too
 * @param user.link the key of the one-time link that they came with, which is used up; if it is not good any more, it fails, too
 * @returns the secret for the cookie; null if it fails, or the user is disabled or deleted
 */
export async function openSession(
  pool: Pool,
  user: {
    name: string
    via: keyof typeof SESSION_SECONDS
    passwordHash?: string
    person?: Pick<OidcPerson, 'issuer' | 'subject' | 'idToken'>
    link?: string
  },
  origin: Origin,
): Promise<string | null> {
  const secret = newSecret()
  return inNameOf(pool, `console:${user.name}`, async client => {
    // The lock makes a concurrent change of the user either see this session and end it, or be seen here.
    const { rows } = await client.query<{ role: AccessRole }>(
      `select role from dirsync.console_user
       where name = $1 and disabled_at is null and ($2::text is null or password_hash = $2)
         and ($3::text is null or source = 'oidc' and subject = $3 and issuer = $4 and no_role_since is null)
       for update`,
      [user.name, user.passwordHash ?? null, user.person?.subject ?? null, user.person?.issuer ?? null],
    )
    const [allowed] = rows
    if (!allowed) return null
    if (user.link !== undefined && !(await useLink(client, user.link, user.name))) return null
    await client.query('update dirsync.console_user set last_sign_in_at = now() where name = $1', [user.name])
    await client.query(
      `insert into dirsync.console_session (id_hash, user_name, via, expires_at, address, user_agent, id_token)
       values ($1, $2, $3, now() + $4 * interval '1 second', $5, $6, $7)`,
      [
        hashOf(secret),
        user.name,
        user.via,
        SESSION_SECONDS[user.via],
        origin.address,
        storableText(origin.userAgent.slice(0, MAX_USER_AGENT)),
        user.person?.idToken ?? null,
      ],
    )
    if (origin.former) {
      const { rows: ended } = await client.query<{ user: string; was_open: boolean }>(
        `update dirsync.console_session set revoked_at = now(), id_token = null
         where id_hash = $1 and revoked_at is null returning user_name as user, expires_at > now() as was_open`,
        [hashOf(origin.former)],
      )
      for (const { user, was_open } of ended) if (was_open) await note(client, 'sessions end', { user })
    }
    await note(client, 'sign_in', {
      user: user.name,
      role: allowed.role,
      via: user.via,
      address: origin.address,
    })
    return secret
  })
}

/** Of a session `s` of a user `u`. */
const IS_GOOD = 's.revoked_at is null and s.expires_at > now() and u.disabled_at is null'

/** The user of a session, with the role that they have now; null if the session has ended. */
export async function viewerOfSession(pool: Pool, secret: string): Promise<Viewer | null> {
  const { rows } = await pool.query<{
    name: string
    role: AccessRole
    via: keyof typeof SESSION_SECONDS
  }>(
    `with good as (
       select s.id_hash, s.via, s.last_seen_at, u.name, u.role
       from dirsync.console_session s join dirsync.console_user u on u.name = s.user_name
       where s.id_hash = $1 and ${IS_GOOD}
     ), seen as (
       -- One of the future is from before the clock was put back: it lasts no longer for that.
       update dirsync.console_session s
       set last_seen_at = now(), created_at = least(s.created_at, now()),
           expires_at = least(s.expires_at, now() + (s.expires_at - s.created_at))
       from good
       where s.id_hash = good.id_hash and good.last_seen_at not between now() - interval '1 minute' and now()
     )
     select name, role, via from good`,
    [hashOf(secret)],
  )
  return rows[0] ?? null
}

/** Of sessions and tokens, by their hashes in hexadecimal, those that callers may still come in with. */
export async function goodCredentials(pool: Pool, hashes: readonly string[]): Promise<Set<string>> {
  const { rows } = await pool.query<{ hash: string }>({
    name: 'good credentials',
    text: `
      with asked as materialized (select distinct decode(hash, 'hex') as hash from unnest($1::text[]) hash)
      select encode(asked.hash, 'hex') as hash from asked
      where exists (select from dirsync.console_session s join dirsync.console_user u on u.name = s.user_name
                    where s.id_hash = asked.hash and ${IS_GOOD})
         or exists (select from dirsync.api_token t where t.hash = asked.hash and ${IS_GOOD_TOKEN})`,
    values: [hashes],
  })
  return new Set(rows.map(({ hash }) => hash))
}

/**
 * Ends a session. Copies of its cookie are worthless from now on.
 * @returns the ID token of an OIDC session, for signing out at the provider; else null
 */
export async function endSession(
  pool: Pool,
  secret: string,
  viewer: Viewer,
  address: string,
): Promise<string | null> {
  return inNameOf(pool, `console:${viewer.name}`, async client => {
    const { rows } = await client.query<{ id_token: string | null }>(
      `with old as (
         select id_hash, id_token from dirsync.console_session
         where id_hash = $1 and revoked_at is null for update
       )
       update dirsync.console_session s set revoked_at = now(), id_token = null from old
       where s.id_hash = old.id_hash returning old.id_token`,
      [hashOf(secret)],
    )
    const [ended] = rows
    if (!ended) return null
    await note(client, 'sign_out', { user: viewer.name, via: viewer.via, address })
    return ended.id_token
  })
}

/** A session that has not ended. */
export const SessionRow = z.object({
  /** SHA-256 of the cookie, in hexadecimal. */
  id: z.string(),
  user: z.string(),
  via: z
    .enum(Object.keys(SESSION_SECONDS) as (keyof typeof SESSION_SECONDS)[])
    .describe('How they signed in; key: with a one-time key, as `local`, or with a one-time link'),
  created_at: z.date(),
  last_seen_at: z.date().describe('To the minute'),
  expires_at: z.date(),
  address: z.string(),
  user_agent: z.string().describe('The browser, as it calls itself'),
})
export type SessionRow = z.infer<typeof SessionRow>

const POSITION = z.tuple([z.int().nonnegative(), z.hash('sha256')])

/** Who is signed in, the latest first. @param user null: everyone */
export async function listSessions(
  db: Pool,
  user: string | null,
  page: PageAsked,
): Promise<Paged<SessionRow>> {
  const [moment, id] = decodeCursor(POSITION, page.after) ?? [null, null]
  const { rows } = await db.query<SessionRow & { cursor_moment: number }>(
    `select encode(s.id_hash, 'hex') as id, s.user_name as user, s.via, s.created_at, s.last_seen_at, s.expires_at,
            s.address, s.user_agent, ${momentKey('s.created_at')} as cursor_moment
     from dirsync.console_session s join dirsync.console_user u on u.name = s.user_name
     where ${IS_GOOD}
       and ($2::text is null or s.user_name = $2)
       and ($3::bigint is null or (s.created_at, s.id_hash) < (${momentOfKey('$3')}, decode($4, 'hex')))
     order by s.created_at desc, s.id_hash desc limit $1`,
    [page.limit + 1, user, moment, id],
  )
  return pageByMoment(rows, page.limit)
}

/**
 * Ends a session.
 * @param of null: of anyone
 * @returns whose it is, and false if it had ended already
 * @throws AccessError if there is none
 */
export function revokeSession(
  pool: Pool,
  by: By,
  id: string,
  of: string | null,
): Promise<{ user: string; ended: boolean }> {
  return inNameOf(pool, by, async client => {
    const { rows } = await client.query<{ user: string; ended: boolean }>(
      `with known as (
         select id_hash, user_name, revoked_at is null and expires_at > now() as is_open
         from dirsync.console_session
         where id_hash = decode($1, 'hex') and ($2::text is null or user_name = $2) for update
       ), ended as (
         update dirsync.console_session s set revoked_at = now(), id_token = null
         from known where s.id_hash = known.id_hash and is_open
       )
       select user_name as user, is_open as ended from known`,
      [id, of],
    )
    const [found] = rows
    if (!found) throw new AccessError('ACCESS_NOT_FOUND', message('said.no_such_session'))
    if (found.ended) await note(client, 'sessions end', { user: found.user })
    return found
  })
}

/** Ends the sessions of a user but the one with which they ask, and that their name may be bound anew. @returns the number of sessions */
export function revokeOthers(pool: Pool, by: By, user: string, session: string | null): Promise<number> {
  return inNameOf(pool, by, async client => {
    const rebound = await endRebind(client, user)
    const sessions = await endSessions(client, user, session)
    await note(client, 'sessions end', { user, already: (sessions === 0 && !rebound) || null })
    return sessions
  })
}
