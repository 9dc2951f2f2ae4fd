import type { Pool } from '../../lib/database.ts'
import { inNameOf, note } from './audit.ts'
import type { OidcPerson } from './oidc.ts'
import { endSessions, LOCAL, userName } from './users.ts'
import type { AccessRole } from './viewer.ts'

/** What becomes of somebody who has come back from the identity provider. */
export type OidcAdmission = { name: string } | { refused: 'no_role' | 'disabled' | 'taken'; name: string }

/**
 * Adds a user at their first sign-in, and gives them the role that they have now. Whoever has none any more loses every
 * session that they have here. They are known by their subject, whatever they are called: a name that somebody here has
 * already is never taken over.
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
      await client.query(
        `insert into dirsync.console_user (name, source, role, issuer, subject) values ($1, 'oidc', $2, $3, $4)
         on conflict do nothing`,
        [name, role, issuer, subject],
      )
      // Not there in spite of that: the name is somebody else's.
      user = await known()
      if (!user) return { refused: 'taken', name }
    }
    if (user.disabled_at) return { refused: 'disabled', name }
    if (user.role !== role) {
      await client.query('update dirsync.console_user set role = $2 where name = $1', [user.name, role])
      await note(client, 'users role', { user: user.name, role })
    }
    return { name: user.name }
  })
}

/** The name at the provider where it can be one here, else the subject. */
function acceptableName({ name, subject }: OidcPerson): string {
  try {
    return userName(name)
  } catch {
    // A subject has at most 255 characters, of which a name here keeps what it may have.
    return (
      subject
        .toLowerCase()
        .replace(/[^a-z0-9._@+-]/g, '-')
        .replace(/^[^a-z0-9]+/, '')
        .slice(0, 100) || 'unnamed'
    )
  }
}
