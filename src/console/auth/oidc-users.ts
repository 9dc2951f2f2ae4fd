import { isMailAddress } from '../../alerts/channel-settings.ts'
import type { Pool } from '../../lib/database.ts'
import { message } from '../../texts/message.ts'
import { type By, inNameOf, note } from './audit.ts'
import { AccessError } from './failure.ts'
import type { OidcPerson } from './oidc.ts'
import { change, endSessions, LOCAL, userName, voidLinks } from './users.ts'
import type { AccessRole } from './viewer.ts'

/**
 * The result of admitting a person who has come back from the identity provider.
 * `user`: whom of the users they are, or whose name they have (taken); null: none.
 */
export type OidcAdmission =
  | { name: string }
  | { refused: 'no_role' | 'disabled' | 'taken'; name: string; user: string | null }

/**
 * Adds a user at their first sign-in, and updates their role and mail address at every later one. A person without a role loses all
 * their sessions here. Users are identified by their subject, not by their name: the name of an existing user is
 * taken over only after rebindUser.
 */
export async function admitPerson(pool: Pool, person: OidcPerson): Promise<OidcAdmission> {
  const { issuer, subject, role, provider } = person
  return inNameOf(pool, 'oidc', async client => {
    const known = async () => {
      const { rows } = await client.query<AdmittedUser>(
        `select name, role, disabled_at from dirsync.console_user
         where source = 'oidc' and issuer = $1 and subject = $2 for update`,
        [issuer, subject],
      )
      return rows[0]
    }
    const bound = async (name: string) => {
      const { rows } = await client.query<AdmittedUser>(
        `update dirsync.console_user
         set source = 'oidc', issuer = $2, subject = $3, password_hash = null, rebinds_until = null
         where name = $1 and rebinds_until > now() and disabled_at is null returning name, role, disabled_at`,
        [name, issuer, subject],
      )
      if (rows.length > 0) {
        await note(client, 'users bound', { user: name })
        await voidLinks(client, name)
        await endSessions(client, name)
      }
      return rows[0]
    }
    let user = await known()
    const name = user?.name ?? acceptableName(person)
    if (role === null) {
      if (user) {
        await client.query(
          `update dirsync.console_user set no_role_since = coalesce(no_role_since, now()), provider = $2, rebinds_until = null
           where name = $1`,
          [user.name, provider],
        )
        if ((await endSessions(client, user.name)) > 0)
          await note(client, 'users sign-out', { user: user.name })
      }
      return { refused: 'no_role', name, user: user?.name ?? null }
    }
    if (!user) {
      if (name === LOCAL) return { refused: 'taken', name, user: name }
      const { rowCount } = await client.query(
        `insert into dirsync.console_user (name, source, role, issuer, subject) values ($1, 'oidc', $2, $3, $4)
         on conflict do nothing`,
        [name, role, issuer, subject],
      )
      if (rowCount === 1) await note(client, 'users add', { user: name, role })
      // The insert found a conflict, but not this subject: another user has the name.
      user = (await known()) ?? (await bound(name))
      if (!user) return { refused: 'taken', name, user: name }
    }
    if (user.disabled_at) return { refused: 'disabled', name, user: user.name }
    await client.query(
      'update dirsync.console_user set provider = $2, no_role_since = null, rebinds_until = null where name = $1',
      [user.name, provider],
    )
    // A person in the console could not enter any other.
    if (person.mail !== null && isMailAddress(person.mail)) {
      const { rowCount } = await client.query(
        `update dirsync.console_user set notice_mail = $2 where name = $1 and notice_mail is distinct from $2`,
        [user.name, person.mail],
      )
      if (rowCount === 1) await note(client, 'users notices', { user: user.name, mail: person.mail })
    }
    if (user.role !== role) {
      await client.query('update dirsync.console_user set role = $2 where name = $1', [user.name, role])
      await note(client, 'users role', { user: user.name, role })
    }
    return { name: user.name }
  })
}

interface AdmittedUser {
  name: string
  role: AccessRole
  disabled_at: Date | null
}

/** How long a name can be bound anew: long enough for a colleague who is away over a weekend. */
export const REBIND_HOURS = 72

/**
 * Lets the next sign-in with this name at the identity provider be this user, whatever subject it has: for a provider that has moved
 * or was replaced. A name proves nothing, so only the shell does this.
 * @throws AccessError for `local`, and if the user is disabled
 */
export async function rebindUser(pool: Pool, by: By, name: string): Promise<void> {
  await change(pool, by, 'users rebind', name, {}, async (client, user) => {
    if (user.name === LOCAL)
      throw new AccessError('ACCESS_INVALID', message('said.user_by_keys', { name: user.name }))
    if (user.disabled_at)
      throw new AccessError('ACCESS_INVALID', message('said.user_disabled', { name: user.name }))
    await client.query(
      `update dirsync.console_user set rebinds_until = now() + $2 * interval '1 hour' where name = $1`,
      [user.name, REBIND_HOURS],
    )
  })
}

/** The name at the provider if it is acceptable here, else the subject. */
function acceptableName({ name, subject }: OidcPerson): string {
  try {
    return userName(name)
  } catch {
    // A subject may have 255 characters, which can be longer than a name here.
    return (
      subject
        .toLowerCase()
        .replace(/[^a-z0-9._@+-]/g, '-')
        .replace(/^[^a-z0-9]+/, '')
        .slice(0, 100) || 'unnamed'
    )
  }
}
