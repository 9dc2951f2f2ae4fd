import { type Pool, type PoolClient, transaction } from '../../lib/database.ts'
import { type Asker, actAs, noteCommand } from '../../sync/runs/commands.ts'

/** Who wants something: with the address of their browser, or by name alone. */
export type By = Asker | string

/**
 * Runs `work` on behalf of `by` in one transaction: what `note` records is there if and only if the work was done.
 * @param by beside the database user: `cli:` and the shell user, or `console:` and the name
 */
export function inNameOf<T>(pool: Pool, by: By, work: (client: PoolClient) => Promise<T>): Promise<T> {
  return transaction(pool, async client => {
    await actAs(client, typeof by === 'string' ? { actor: by } : by)
    return work(client)
  })
}

/** Records a command in dirsync.command. Arguments that are null are left out. */
export async function note(
  client: PoolClient,
  name: string,
  values: Record<string, string | number | boolean | null>,
): Promise<void> {
  // The address of a sign-in is that of the user's browser, not that of the console's database client.
  if (typeof values.address === 'string')
    await client.query(`select set_config('dirsync.address', $1, true)`, [values.address])
  await noteCommand(client, name, values)
}
