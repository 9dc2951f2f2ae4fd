import { onlyRow, type Pool } from '../../lib/database.ts'
import { message } from '../../texts/message.ts'
import { inNameOf, note } from './audit.ts'
import { AccessError } from './failure.ts'
import { hashOf, newSecret } from './secret.ts'
import { LOCAL } from './users.ts'

/** One-time keys: anyone who can read dirsync's terminal may sign in as `local`, an admin. */

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
 * Makes a key at the shell for a person who cannot sign in any more.
 * @throws AccessError if the user `local` is disabled
 */
export async function createLinkKey(pool: Pool, actor: string): Promise<string> {
  const key = newSecret()
  await inNameOf(pool, actor, async client => {
    const { rowCount } = await client.query(
      'select from dirsync.console_user where name = $1 and disabled_at is not null',
      [LOCAL],
    )
    if (rowCount !== 0)
      throw new AccessError('ACCESS_INVALID', message('said.user_disabled', { name: LOCAL }))
    await note(client, 'users link', { user: LOCAL })
    await insertKey(client, key, actor)
  })
  return key
}

/**
 * Uses up a key, and adds its user if there is none yet.
 * @returns whether the key was valid
 */
export async function useSignInKey(pool: Pool, key: string): Promise<boolean> {
  const { rows } = await pool.query<{ good: boolean }>(
    `with used as (
       update dirsync.sign_in_key set used_at = now()
       where hash = $1 and used_at is null and expires_at > now() returning hash
     ), added as (
       insert into dirsync.console_user (name, source, role)
       select $2, 'key', 'admin' from used on conflict (name) do nothing
     )
     select count(*) > 0 as good from used`,
    [hashOf(key), LOCAL],
  )
  return onlyRow(rows).good
}

async function insertKey(db: Pick<Pool, 'query'>, key: string, createdBy: string): Promise<void> {
  await db.query(
    `insert into dirsync.sign_in_key (hash, created_by, expires_at)
     values ($1, $2, now() + $3 * interval '1 hour')`,
    [hashOf(key), createdBy, LIFE_HOURS],
  )
}
