import type { ClientBase, Pool } from 'pg'
import { transaction } from './transaction.ts'

/** An account of the platform: what everything in dirsync's database was learnt of. */
export interface Account {
  /** Address of the platform as `new URL()` writes it; `embedded` for the trial's emulator, at whatever port. */
  baseUrl: string
  appId: string
  /** Said for the record; another one is no other account. */
  enterpriseCode: string
}

/** The row of `dirsync.deployment`. */
export interface Deployment extends Account {
  id: string
  name: string | null
  since: Date
}

/** The settings name another account than the one that the database remembers. */
export class AccountError extends Error {
  readonly code = 'ACCOUNT_OTHER'

  constructor(ours: Account, theirs: Account) {
    super(
      `this database is the memory of ${accountText(ours)}, but PLATFORM_APP_ID and PLATFORM_BASE_URL name ${accountText(theirs)}: correct them, or run \`dirsync switch-account --yes\` to let the other account follow (with --keep-memory if it is the same account at another address)`,
    )
    this.name = 'AccountError'
  }
}

/** The account as people read it: `application A at https://platform`. */
export function accountText({ baseUrl, appId }: Account): string {
  return `application ${appId} at ${baseUrl === 'embedded' ? 'the embedded emulator' : baseUrl}`
}

/** Whether both are the same application of the same platform. */
export function isSameAccount(a: Account, b: Account): boolean {
  return a.baseUrl === b.baseUrl && a.appId === b.appId
}

/** Whose memory the database is; null before the first start. */
export async function readDeployment(db: ClientBase | Pool): Promise<Deployment | null> {
  const { rows } = await db.query<Deployment>(
    `select id, name, base_url as "baseUrl", app_id as "appId", enterprise_code as "enterpriseCode", since
     from dirsync.deployment`,
  )
  return rows[0] ?? null
}

/**
 * For whoever is about to call the platform or to write what it says: makes the database the memory of this account if it
 * is nobody's yet, as with the first start after an upgrade. Of several at once one decides.
 * @throws AccountError when it is another account's
 */
export async function claimDeployment(db: Pool, account: Account): Promise<Deployment> {
  const deployment = await transaction(db, async client => {
    // Waits for whoever inserts or switches at this moment; what they committed is read next.
    await client.query(
      `insert into dirsync.deployment as d (base_url, app_id, enterprise_code) values ($1, $2, $3)
       on conflict (only_row) do update set enterprise_code = excluded.enterprise_code
       where d.base_url = excluded.base_url and d.app_id = excluded.app_id`,
      [account.baseUrl, account.appId, account.enterpriseCode],
    )
    return (await readDeployment(client)) as Deployment
  })
  if (!isSameAccount(deployment, account)) throw new AccountError(deployment, account)
  return deployment
}

/**
 * For whoever only looks: the database is the memory of this account, or nobody's yet.
 * @throws AccountError when it is another account's
 */
export async function assertAccount(db: Pool, account: Account): Promise<void> {
  const deployment = await readDeployment(db)
  if (deployment && !isSameAccount(deployment, account)) throw new AccountError(deployment, account)
}
