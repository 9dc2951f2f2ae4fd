import { z } from 'zod'
import type { Pool } from '../../lib/database.ts'
import { message } from '../../texts/message.ts'
import { type By, inNameOf, note } from './audit.ts'
import { AccessError } from './failure.ts'
import { SCOPES, type Scope } from './scope.ts'
import { hashOf, newSecret } from './secret.ts'
import { type AccessRole, RoleName, type Viewer } from './viewer.ts'

/** Bearer tokens of the API. */

/** Begins every token, so that scanners for leaked secrets recognise it. */
const PREFIX = 'dirsync_'
/** Begins those with limits. Processes of 1.0.0, which know no limits, refuse it for its length. */
const LIMITED_PREFIX = `${PREFIX}limited_`
const FORMAT = /^dirsync_(?:limited_)?[\w-]{43}$/

/** A row of api_token, without its hash. */
export const TokenRow = z.object({
  id: z.int(),
  name: z.string(),
  role: RoleName,
  scopes: z
    .array(z.enum(SCOPES))
    .nullable()
    .describe('What the token is limited to, beside its role; null: to nothing'),
  created_by: z.string(),
  created_at: z.date(),
  expires_at: z.date(),
  last_used_at: z.date().nullable().describe('To the minute'),
  revoked_at: z.date().nullable(),
})
export type TokenRow = z.infer<typeof TokenRow>

/** @throws AccessError if it has characters other than letters, digits and . _ - */
export function tokenName(text: string): string {
  if (!/^[\p{L}\p{N}][\p{L}\p{N}._-]{0,63}$/u.test(text))
    throw new AccessError(
      'ACCESS_INVALID',
      message('said.not_a_token_name', { text: JSON.stringify(text) }),
      'name',
    )
  return text
}

/** Adds a token and returns it. Only its hash is stored, so it cannot be shown again. */
export async function addToken(
  pool: Pool,
  by: By,
  wanted: { name: string; role: AccessRole; expiresAt: Date; scopes?: readonly Scope[] | undefined },
): Promise<string> {
  const { name, role, expiresAt, scopes } = wanted
  const token = (scopes ? LIMITED_PREFIX : PREFIX) + newSecret()
  await inNameOf(pool, by, async client => {
    // An expired token frees its name.
    await client.query(
      `update dirsync.api_token set revoked_at = now()
       where name = $1 and revoked_at is null and expires_at <= now()`,
      [name],
    )
    const { rowCount } = await client.query(
      `insert into dirsync.api_token (name, hash, role, expires_at, scopes) values ($1, $2, $3, $4, $5)
       on conflict (name) where revoked_at is null do nothing`,
      [tokenName(name), hashOf(token), role, expiresAt, scopes ?? null],
    )
    if (rowCount === 0)
      throw new AccessError('ACCESS_INVALID', message('said.token_exists', { name }), 'name')
    await note(client, 'tokens add', {
      token: name,
      role,
      scope: scopes?.join(', ') ?? null,
      expires: expiresAt.toISOString(),
    })
  })
  return token
}

/** The tokens that are valid, or were within the last 180 days, and those that they were added with; the newest first. */
export async function listTokens(pool: Pool): Promise<TokenRow[]> {
  const { rows } = await pool.query<TokenRow>(
    `select ${COLUMNS} from dirsync.api_token order by id desc limit 10000`,
  )
  return rows
}

const COLUMNS = 'id, name, role, scopes, created_by, created_at, expires_at, last_used_at, revoked_at'

/**
 * The good tokens that a user added, in the console or as the shell user of that name, and those that were added with their
 * tokens; the newest first. Machines may depend on them, so they stay good when the user is disabled.
 */
export async function goodTokensOf(pool: Pool, user: string): Promise<TokenRow[]> {
  const { rows } = await pool.query<TokenRow>(
    `with recursive t as (
       select ${COLUMNS}, substring(created_by from '\\((.+)\\)$') as adder from dirsync.api_token
     ), theirs as (
       select * from t where adder in ('console:' || $1, 'cli:' || $1)
       union
       -- A name may be another token's later.
       select t.* from theirs o join t
       on t.adder = 'api:token:' || o.name and t.created_at between o.created_at and coalesce(o.revoked_at, 'infinity')
     )
     select ${COLUMNS} from theirs t where ${IS_GOOD_TOKEN} order by id desc`,
    [user],
  )
  return rows
}

/** Revokes a token at once. */
export async function revokeToken(pool: Pool, by: By, name: string): Promise<void> {
  await inNameOf(pool, by, async client => {
    const { rowCount } = await client.query(
      'update dirsync.api_token set revoked_at = now() where name = $1 and revoked_at is null',
      [name],
    )
    if (rowCount === 0)
      throw new AccessError('ACCESS_NOT_FOUND', message('said.no_such_token', { text: JSON.stringify(name) }))
    await note(client, 'tokens revoke', { token: name })
  })
}

/** Of a token `t`. */
export const IS_GOOD_TOKEN = 't.revoked_at is null and t.expires_at > now()'

/** The holder of a token; null if the token is unknown, expired or revoked. */
export async function viewerOfToken(pool: Pool, token: string): Promise<Viewer | null> {
  if (!FORMAT.test(token)) return null
  const { rows } = await pool.query<{ name: string; role: AccessRole; scopes: Scope[] | null }>(
    `with good as (
       select id, name, role, scopes, last_used_at from dirsync.api_token t
       where hash = $1 and ${IS_GOOD_TOKEN}
     ), used as (
       update dirsync.api_token t set last_used_at = now() from good
       where t.id = good.id
         and coalesce(good.last_used_at not between now() - interval '1 minute' and now(), true)
     )
     select name, role, scopes from good`,
    [hashOf(token)],
  )
  const [found] = rows
  if (!found) return null
  const { name, role, scopes } = found
  return { name: `token:${name}`, role, via: 'token', ...(scopes ? { scopes } : {}) }
}
