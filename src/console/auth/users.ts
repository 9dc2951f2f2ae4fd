import { z } from 'zod'
import type { ClientBase, Pool, PoolClient } from '../../lib/database.ts'
import { consoleIssuers } from '../../sync/processes/process.ts'
import { message } from '../../texts/message.ts'
import { type By, inNameOf, note } from './audit.ts'
import { AccessError } from './failure.ts'
import { hashPassword } from './password.ts'
import { type AccessRole, RoleName } from './viewer.ts'

/** The users of the console. Those who sign in through OIDC are among them. */

/** The user that one-time keys sign in as. */
export const LOCAL = 'local'

/** A row of console_user, without the password. */
export const UserRow = z.object({
  name: z.string(),
  source: z
    .enum(['password', 'oidc', 'key'])
    .describe(
      'How they sign in; key: with one-time keys, or with a one-time link until they choose a password',
    ),
  role: RoleName,
  created_at: z.date(),
  created_by: z.string(),
  disabled_at: z.date().nullable().describe('Since when they may not sign in'),
  last_sign_in_at: z.date().nullable(),
  notice_mail: z.string().nullable().describe('Where they are told of their cases'),
  notice_mention: z
    .string()
    .nullable()
    .describe('Whom a chat mentions to tell them, without a mail address: channel and id, as `ops:zhang`'),
  sessions: z.int().describe('Sessions that have not ended'),
  rebinds_until: z
    .date()
    .nullable()
    .describe('Until when the next sign-in at the identity provider with this name becomes this user'),
  no_role_since: z
    .date()
    .nullable()
    .describe('Since when the identity provider has given them no role; `role` is the last that it gave'),
  barred: z
    .enum(['disabled', 'no_provider', 'no_role', 'no_link'])
    .nullable()
    .describe(
      'Why they cannot sign in: they are disabled, their identity provider is not set here, or it gave no role, or they have no password and no link that is still good; null: they can',
    ),
})
export type UserRow = z.infer<typeof UserRow>

/**
 * A user name in its stored form: lower case, because people type capitals as they like.
 * @throws AccessError if it has characters other than letters, digits and . _ @ + -
 */
export function userName(text: string): string {
  const name = comparableName(text)
  if (!/^[\p{L}\p{N}][\p{L}\p{N}._@+-]{0,99}$/u.test(name))
    throw new AccessError(
      'ACCESS_INVALID',
      message('said.not_a_user_name', { text: JSON.stringify(text) }),
      'name',
    )
  return name
}

/** The same for a name typed at sign-in. It is only compared, never stored, so anything is accepted. */
export function comparableName(text: string): string {
  return text.normalize('NFKC').trim().toLowerCase()
}

/** The name of a user other than `local`. @throws AccessError */
export function ownName(text: string): string {
  const name = userName(text)
  if (name === LOCAL)
    throw new AccessError('ACCESS_INVALID', message('said.user_local', { name: LOCAL }), 'name')
  return name
}

/** Adds a user who signs in with a password; null: who chooses one after signing in with a one-time link. */
export async function addUser(
  pool: Pool,
  by: By,
  user: { name: string; role: AccessRole; password: string | null },
): Promise<void> {
  const name = ownName(user.name)
  const hash = user.password === null ? null : await hashPassword(user.password)
  await inNameOf(pool, by, async client => {
    const { rowCount } = await client.query(
      `insert into dirsync.console_user (name, source, role, password_hash) values ($1, $2, $3, $4)
       on conflict do nothing`,
      [name, hash === null ? 'key' : 'password', user.role, hash],
    )
    if (rowCount === 0) {
      const what = {
        link: 'said.user_invited',
        oidc: 'said.user_of_provider_exists',
        own: 'said.user_exists',
      } as const
      throw new AccessError('ACCESS_INVALID', message(what[await kindOf(client, name)], { name }), 'name')
    }
    await note(client, 'users add', { user: name, role: user.role })
  })
}

/** Whether an existing user has been sent a link and nothing has come of it yet, or is one of the identity provider. */
async function kindOf(client: PoolClient, name: string): Promise<'link' | 'oidc' | 'own'> {
  const { rows } = await client.query<{ kind: 'link' | 'oidc' | 'own' }>(
    `select case when source = 'key' and last_sign_in_at is null and disabled_at is null then 'link'
                 when source = 'oidc' then 'oidc' else 'own' end as kind
     from dirsync.console_user where name = $1`,
    [name],
  )
  return rows[0]?.kind ?? 'own'
}

/**
 * All users, by name. The list is not paged: it is as long as the number of people who may use the console.
 * @param provider OIDC_ISSUER; null: none
 */
export async function listUsers(db: Pick<ClientBase, 'query'>, provider: string | null): Promise<UserRow[]> {
  const { rows } = await db.query<StoredUser>(`${USERS} order by u.name limit 10000`)
  return rows.map(row => userOf(row, provider))
}

type StoredUser = Omit<UserRow, 'barred'> & OfProvider & { has_link: boolean }

function userOf({ issuer, provider, has_link, ...row }: StoredUser, present: string | null): UserRow {
  const needsLink = row.source === 'key' && row.name !== LOCAL && !has_link
  return { ...row, barred: barred({ ...row, issuer, provider }, present) ?? (needsLink ? 'no_link' : null) }
}

/** SQL: the user `u` has a link that is still good. */
export const HAS_LINK = `exists (select from dirsync.sign_in_link l
                                 where l.user_name = u.name and l.used_at is null and l.expires_at > now())`

const USERS = `
  select u.name, u.source, u.role, u.created_at, u.created_by, u.disabled_at, u.last_sign_in_at, u.notice_mail,
         u.notice_mention, u.issuer, u.provider, u.no_role_since,
         case when u.rebinds_until > now() then u.rebinds_until end as rebinds_until,
         ${HAS_LINK} as has_link,
         (select count(*)::int from dirsync.console_session s
          where s.user_name = u.name and s.revoked_at is null and s.expires_at > now()) as sessions
  from dirsync.console_user u`

/** The user of that name. @param provider OIDC_ISSUER; null: none @throws AccessError if there is none */
export async function findUser(
  db: Pick<ClientBase, 'query'>,
  name: string,
  provider: string | null,
): Promise<UserRow> {
  const { rows } = await db.query<StoredUser>(`${USERS} where u.name = $1`, [comparableName(name)])
  const [user] = rows
  if (!user) throw noSuchUser(name)
  return userOf(user, provider)
}

/** Keeps an administrator who can sign in. */
interface Guard {
  /** Who asks: `local`, who came by a one-time key, counts then, and who has come through the provider. */
  asker: string
  /** OIDC_ISSUER; null: none. */
  provider: string | null
}

/**
 * Prevents a user from signing in, ends their sessions and voids their links.
 * @param options.guard absent at the shell, which can always make another administrator
 * @returns the number of sessions
 */
export function disableUser(
  pool: Pool,
  by: By,
  name: string,
  options: { guard?: Guard } = {},
): Promise<number> {
  const asked = { ...options, already: (user: ChangedUser) => user.disabled_at !== null }
  return change(pool, by, 'users disable', name, asked, async (client, user) => {
    keepLocal(user)
    await voidLinks(client, user.name)
    await client.query(
      'update dirsync.console_user set disabled_at = coalesce(disabled_at, now()) where name = $1',
      [user.name],
    )
    return endSessions(client, user.name)
  })
}

/** Lets a user sign in again. */
export async function enableUser(pool: Pool, by: By, name: string): Promise<void> {
  const already = (user: ChangedUser) => user.disabled_at === null
  await change(pool, by, 'users enable', name, { already }, (client, user) =>
    client.query('update dirsync.console_user set disabled_at = null where name = $1', [user.name]),
  )
}

/**
 * Gives a user a new password, and ends their sessions.
 * @param provider OIDC_ISSUER; null: none
 * @returns the number of sessions
 */
export async function setPassword(
  pool: Pool,
  by: By,
  name: string,
  password: string,
  provider: string | null,
): Promise<number> {
  const hash = await hashPassword(password)
  return change(pool, by, 'users password', name, {}, async (client, user) => {
    await demandOwn(client, user, provider)
    await client.query(
      `update dirsync.console_user
       set source = 'password', password_hash = $2, issuer = null, subject = null, provider = null
       where name = $1`,
      [user.name, hash],
    )
    await withoutProvider(client, user)
    await voidLinks(client, user.name)
    return endSessions(client, user.name)
  })
}

/** A user signs in at no provider any more. One whom it gave no role any more becomes a viewer, until an administrator says otherwise. */
export async function withoutProvider(
  client: PoolClient,
  { name, no_role_since }: ChangedUser,
): Promise<void> {
  if (no_role_since === null) return
  await client.query(
    `update dirsync.console_user set no_role_since = null, role = 'viewer' where name = $1`,
    [name],
  )
  await note(client, 'users role', { user: name, role: 'viewer' })
}

/**
 * Gives a user another role, which applies from their next request.
 * @param provider OIDC_ISSUER; null: none
 * @param options as of disableUser
 */
export async function setRole(
  pool: Pool,
  by: By,
  name: string,
  role: AccessRole,
  provider: string | null,
  { guard }: { guard?: Guard } = {},
): Promise<void> {
  const guarded = guard === undefined || role === 'admin' ? {} : { guard }
  const already = (user: ChangedUser) => user.role === role && user.no_role_since === null
  const asked = { values: { role }, already, ...guarded }
  await change(pool, by, 'users role', name, asked, async (client, user) => {
    keepLocal(user)
    if (hasProvider(user, provider))
      throw new AccessError('ACCESS_INVALID', message('said.role_of_provider', { name: user.name }))
    await demandNoProvider(client, user)
    await client.query('update dirsync.console_user set role = $2, no_role_since = null where name = $1', [
      user.name,
      role,
    ])
  })
}

/** Says where a user is told of their cases; null: not there. */
export async function setNotices(
  pool: Pool,
  by: By,
  name: string,
  { mail, mention }: { mail: string | null; mention: string | null },
): Promise<void> {
  const values = { mail: mail ?? '', mention: mention ?? '' }
  const already = ({ notice_mail, notice_mention }: ChangedUser) =>
    notice_mail === mail && notice_mention === mention
  await change(pool, by, 'users notices', name, { values, already }, (client, user) =>
    client.query('update dirsync.console_user set notice_mail = $2, notice_mention = $3 where name = $1', [
      user.name,
      mail,
      mention,
    ]),
  )
}

/** Whether any user can sign in with a password. */
export async function hasPasswordUsers(pool: Pool): Promise<boolean> {
  const { rowCount } = await pool.query(
    `select from dirsync.console_user where source = 'password' and disabled_at is null limit 1`,
  )
  return (rowCount ?? 0) > 0
}

/**
 * Ends all sessions of a user, but for the one with which they ask, if any.
 * @returns the number of sessions
 */
export async function endSessions(
  client: PoolClient,
  name: string,
  except: string | null = null,
): Promise<number> {
  const { rowCount } = await client.query(
    `update dirsync.console_session set revoked_at = now(), id_token = null
     where user_name = $1 and revoked_at is null and expires_at > now()
       and id_hash is distinct from decode($2, 'hex')`,
    [name, except],
  )
  return rowCount ?? 0
}

/** Ends what `users rebind` permitted. @returns whether that was in force */
export async function endRebind(client: PoolClient, name: string): Promise<boolean> {
  const { rowCount } = await client.query(
    'update dirsync.console_user set rebinds_until = null where name = $1 and rebinds_until > now()',
    [name],
  )
  return rowCount === 1
}

/** Makes the links of a user worthless. They end, so that one that was opened can be told from them. */
export async function voidLinks(client: PoolClient, name: string): Promise<void> {
  await client.query(
    `update dirsync.sign_in_link set expires_at = now()
     where user_name = $1 and used_at is null and expires_at > now()`,
    [name],
  )
}

/** Makes the one-time keys that have not been used worthless. @returns the number of keys */
export async function voidKeys(client: PoolClient): Promise<number> {
  const { rowCount } = await client.query(
    'update dirsync.sign_in_key set expires_at = now() where used_at is null and expires_at > now()',
  )
  return rowCount ?? 0
}

/** Ends all sessions of a user, those of `local` with the keys that would open others. @returns the number of sessions */
export function signOutUser(pool: Pool, by: By, name: string): Promise<number> {
  const command = 'users sign-out'
  if (comparableName(name) !== LOCAL)
    return change(pool, by, command, name, { already: (_user, sessions) => sessions === 0 }, (client, user) =>
      endSessions(client, user.name),
    )
  // The keys are there before their user, whom the first one that is used adds.
  return inNameOf(pool, by, async client => {
    const keys = await voidKeys(client)
    const sessions = await endSessions(client, LOCAL)
    await note(client, command, { user: LOCAL, already: (keys === 0 && sessions === 0) || null })
    return sessions
  })
}

/**
 * Refuses a change after which no administrator could sign in any more. The administrators stay locked, so that two of
 * them cannot demote each other at the same moment.
 */
async function leaveAnAdmin(client: PoolClient, name: string, { asker, provider }: Guard): Promise<void> {
  const { rows } = await client.query<ChangedUser>(
    `select ${CHANGED} from dirsync.console_user
     where role = 'admin' and disabled_at is null order by name for update`,
  )
  if (!rows.some(row => row.name === name)) return
  const canStay = (row: ChangedUser) => {
    // Whoever has no password yet may never choose one. Who can come with keys as `local` is at the shell.
    if (row.source === 'key') return row.name === LOCAL && asker === LOCAL
    // Of those whom an earlier version admitted it is not known that they can come, unless the issuer is the provider, or they ask.
    const known = row.name === asker ? row.provider : (row.provider ?? row.issuer)
    return barred({ ...row, provider: known }, provider) === null
  }
  if (rows.some(row => row.name !== name && canStay(row))) return
  throw new AccessError('ACCESS_INVALID', message('said.last_admin', { name }))
}

/** Refuses to change the user of one-time keys, by whom those get in again who have locked themselves out. */
function keepLocal({ name }: ChangedUser): void {
  if (name === LOCAL) throw new AccessError('ACCESS_INVALID', message('said.local_stays', { name }))
}

/** Refuses a password or a link for users who sign in by one-time keys, or at the identity provider that is set. */
export async function demandOwn(
  client: PoolClient,
  user: ChangedUser,
  provider: string | null,
): Promise<void> {
  if (user.name === LOCAL)
    throw new AccessError('ACCESS_INVALID', message('said.user_by_keys', { name: user.name }))
  if (hasProvider(user, provider))
    throw new AccessError('ACCESS_INVALID', message('said.user_of_provider', { name: user.name }))
  await demandNoProvider(client, user)
}

/** Refuses for users of a provider that is not set here, as in a shell without the settings, but in a console that runs. */
async function demandNoProvider(client: PoolClient, user: ChangedUser): Promise<void> {
  const issuer = (await consoleIssuers(client)).find(issuer => hasProvider(user, issuer))
  if (issuer !== undefined)
    throw new AccessError(
      'ACCESS_INVALID',
      message('said.provider_of_console', { name: user.name, setting: `OIDC_ISSUER=${issuer}` }),
    )
}

function addressOf(issuer: string | null): string | undefined {
  return URL.parse(issuer ?? '')?.href
}

interface OfProvider {
  issuer: string | null
  provider: string | null
}

type ChangedUser = Pick<
  UserRow,
  'name' | 'source' | 'role' | 'disabled_at' | 'no_role_since' | 'notice_mail' | 'notice_mention'
> &
  OfProvider
const CHANGED =
  'name, source, role, disabled_at, no_role_since, notice_mail, notice_mention, issuer, provider'

/**
 * Whether a user signs in at the identity provider that is set, not at one that has moved, or was switched off. One who came with an
 * earlier version may: it kept the issuer alone, which the setting need not be.
 */
function hasProvider(
  { source, issuer, provider }: Pick<UserRow, 'source'> & OfProvider,
  present: string | null,
): boolean {
  if (source !== 'oidc' || present === null) return false
  const address = addressOf(present)
  return provider === null || [provider, issuer].some(known => addressOf(known) === address)
}

/** Why a user cannot sign in, whatever links they have; null: they can. */
function barred(
  user: Pick<ChangedUser, 'source' | 'disabled_at' | 'no_role_since'> & OfProvider,
  present: string | null,
): UserRow['barred'] {
  if (user.disabled_at) return 'disabled'
  if (user.source !== 'oidc') return null
  if (!hasProvider(user, present)) return 'no_provider'
  return user.no_role_since ? 'no_role' : null
}

/**
 * Changes one user, who must exist, and records the command. Whatever it is, it ends what `users rebind` permitted.
 * @param options.already whether the user was so before, which the record then says: another change made them so
 */
export function change<T>(
  pool: Pool,
  by: By,
  command: string,
  name: string,
  options: {
    values?: Record<string, string>
    guard?: Guard
    already?: (user: ChangedUser, result: Awaited<T>) => boolean
  },
  work: (client: PoolClient, user: ChangedUser) => Promise<T>,
): Promise<T> {
  return inNameOf(pool, by, async client => {
    const { values = {}, guard, already } = options
    if (guard) await leaveAnAdmin(client, comparableName(name), guard)
    const { rows } = await client.query<ChangedUser>(
      `select ${CHANGED} from dirsync.console_user where name = $1 for update`,
      [comparableName(name)],
    )
    const [user] = rows
    if (!user) throw noSuchUser(name)
    const rebound = await endRebind(client, user.name)
    const result = await work(client, user)
    const wasSo = !rebound && already?.(user, result)
    await note(client, command, { user: user.name, ...values, already: wasSo || null })
    return result
  })
}

function noSuchUser(name: string): AccessError {
  return new AccessError('ACCESS_NOT_FOUND', message('said.no_such_user', { text: JSON.stringify(name) }))
}
