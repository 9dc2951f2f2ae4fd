import { isMailAddress } from '../../alerts/channel-settings.ts'
import type { Pool } from '../../lib/database.ts'
import { inNameOf, note } from './audit.ts'
import type { OidcPerson } from './oidc.ts'
import { endSessions, LOCAL, userName } from './users.ts'
import type { AccessRole } from './viewer.ts'

/** The result of admitting a person who has come back from the identity provider. */
export type OidcAdmission = { name: string } | { refused: 'no_role' | 'disabled' | 'taken'; name: string }

/**
 * Adds a user at their first sign-in, and updates their role and mail address at every later one. A person without a role loses all
 * their sessions here. Users are identified by their subject, not by their name: the name of an existing user is
 * never taken over.
 */
export async function admitPerson(pool: Pool, person: OidcPerson): Promise<OidcAdmission> {
  const { issuer, subject, role } = person
  return inNameOf(pool, 'oidc', async client => {
    const known = async () => {
      const { rows } = await client.query<{ name: string; role: AccessRole; disabled_at: Date | null }>(
        `select name, role, disabled_at from dirsync.console_user
         where source = 'oidc' and issuer = $1 and subject = $2 for update`,
        [issuer, subject],
      )
      return rows[0]
    }
    let user = await known()
    const name = user?.name ?? acceptableName(person)
    if (role === null) {
      if (user) await endSessions(client, user.name)
      return { refused: 'no_role', name }
    }
    if (!user) {
      if (name === LOCAL) return { refused: 'taken', name }
      const { rowCount } = await client.query(
        `insert into dirsync.console_user (name, source, role, issuer, subject) values ($1, 'oidc', $2, $3, $4)
         on conflict do nothing`,
        [name, role, issuer, subject],
      )
      if (rowCount === 1) await note(client, 'users add', { user: name, role })
      // The insert found a conflict, but not this subject: another user has the name.
      user = await known()
      if (!user) return { refused: 'taken', name }
    }
    if (user.disabled_at) return { refused: 'disabled', name }
    // A person in the console could not enter any other.
    if (person.mail !== null && isMailAddress(person.mail))
      await client.query('update dirsync.console_user set notice_mail = $2 where name = $1', [
        user.name,
        person.mail,
      ])
    if (user.role !== role) {
      await client.query('update dirsync.console_user set role = $2 where name = $1', [user.name, role])
      await note(client, 'users role', { user: user.name, role })
    }
    return { name: user.name }
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
