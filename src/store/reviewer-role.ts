import type { ClientBase } from 'pg'

const CREATE_ROLE = 'create role dirsync_reviewer nologin'

/** What the reviewer may do: read the view, refunds, top-ups and mirrors, call the functions for people, nothing else. */
const GRANTS = [
  'grant usage on schema dirsync to dirsync_reviewer',
  'grant select on dirsync.failed_syncs, dirsync.refund, dirsync.topup to dirsync_reviewer',
  'grant select on dirsync.payment_order, dirsync.limit_account, dirsync.limit_sub_account, dirsync.taxpayer to dirsync_reviewer',
  ...[
    'resync(text, text, interval)',
    'retry(bigint)',
    'retry_category(text)',
    'ignore(bigint, text)',
    'snooze(bigint, timestamptz, text)',
    'approve(bigint)',
    'reject(bigint, text)',
    'cancel(bigint, text)',
    'pause(text)',
    'resume()',
  ].map(signature => `grant execute on function dirsync.${signature} to dirsync_reviewer`),
]

/**
 * Creates the role `dirsync_reviewer` where the database user may, and grants it its rights.
 * Roles belong to the whole server, so another database's migration may be creating the same role at this moment.
 * @returns the statements that somebody else has to run, empty when all is done.
 */
export async function grantReviewer(client: ClientBase): Promise<string[]> {
  const exists = async () =>
    (await client.query(`select from pg_roles where rolname = 'dirsync_reviewer'`)).rowCount === 1
  if (!(await exists())) {
    const { rows } = await client.query(
      'select rolcreaterole or rolsuper as may from pg_roles where rolname = current_user',
    )
    if (!rows[0].may) return [CREATE_ROLE, ...GRANTS]
    try {
      await client.query(CREATE_ROLE)
    } catch (error) {
      if (!(await exists())) throw error
    }
  }
  for (const grant of GRANTS) await client.query(grant)
  return []
}
