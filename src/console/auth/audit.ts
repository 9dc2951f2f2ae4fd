import { type Pool, type PoolClient, transaction } from '../../lib/database.ts'

/**
 * Does something in the name of somebody, in one transaction: what `note` writes down is there if and only if it was done.
 * @param actor beside the database user: `cli:` and the shell user, or `console:` and the name
 */
export function inNameOf<T>(pool: Pool, actor: string, work: (client: PoolClient) => Promise<T>): Promise<T> {
  return transaction(pool, async client => {
    await client.query(`select set_config('dirsync.actor', $1, true)`, [actor])
    return work(client)
  })
}

/** Writes down in dirsync.command what somebody asked for. Arguments that are null are left out. */
export async function note(
  client: PoolClient,
  name: string,
  values: Record<string, string | number | boolean | null>,
): Promise<void> {
  // From where somebody signs in is what their browser is at, and not what the console's database client is.
  if (typeof values.address === 'string')
    await client.query(`select set_config('dirsync.address', $1, true)`, [values.address])
  await client.query('select dirsync.note_command($1, null, $2)', [name, values])
}
