import { type ClientBase, onlyRow, type Pool, transaction } from '../../lib/database.ts'
import { CodedError, inEnglish, type Message, message, toStore } from '../../texts/message.ts'
import { endAllCases } from '../cases/cases.ts'
import { ALIVE, PROCESS_NAME } from '../processes/process.ts'
import { actAs } from '../runs/commands.ts'

/**
 * The database belongs to one account of the platform. Another address or application is refused until a person switches the
 * account.
 */
export interface Account {
  /** Address of the platform as `new URL()` writes it; `embedded` for the trial's emulator, whatever its port. */
  baseUrl: string
  appId: string
  /** For the record: the account stays the same when it changes. */
  enterpriseCode: string
}

/** The row of `dirsync.deployment`. */
export interface Deployment extends Account {
  id: string
  name: string | null
  since: Date
}

/** The settings name another account than the database's. */
export class AccountError extends CodedError<'ACCOUNT_OTHER'> {
  constructor(ours: Account, theirs: Account) {
    super(
      'ACCOUNT_OTHER',
      message('said.account_other', { ours: accountSaid(ours), theirs: accountSaid(theirs) }),
    )
  }
}

/** The account as people read it: `application A at https://platform`. */
export function accountText(account: Account): string {
  return inEnglish(accountSaid(account))
}

/** The same in the language of its reader. */
export function accountSaid({ baseUrl, appId }: Account): Message {
  const address = baseUrl === 'embedded' ? message('said.embedded_emulator') : baseUrl
  return message('said.account', { id: appId, address })
}

/** Whether both are the same application of the same platform. */
export function isSameAccount(a: Account, b: Account): boolean {
  return a.baseUrl === b.baseUrl && a.appId === b.appId
}

/** The account that the database belongs to; null before the first start. */
export async function readDeployment(db: ClientBase | Pool): Promise<Deployment | null> {
  const { rows } = await db.query<Deployment>(
    `select id, name, base_url as "baseUrl", app_id as "appId", enterprise_code as "enterpriseCode", since
     from dirsync.deployment`,
  )
  return rows[0] ?? null
}

/**
 * Call it before you call the platform or store its answers: assigns the database to this account, if it has none yet. Of
 * several concurrent calls one decides.
 * @param name DEPLOYMENT_NAME
 * @throws AccountError when the database belongs to another account
 */
export async function claimDeployment(
  db: Pool,
  account: Account,
  name: string | null = null,
): Promise<Deployment> {
  const deployment = await transaction(db, async client => {
    // Waits for a concurrent insert or switch; its result is read next.
    await client.query(
      `insert into dirsync.deployment as d (base_url, app_id, enterprise_code, name) values ($1, $2, $3, $4)
       on conflict (only_row) do update set enterprise_code = excluded.enterprise_code, name = excluded.name
       where d.base_url = excluded.base_url and d.app_id = excluded.app_id`,
      [account.baseUrl, account.appId, account.enterpriseCode, name],
    )
    return (await readDeployment(client)) as Deployment
  })
  if (!isSameAccount(deployment, account)) throw new AccountError(deployment, account)
  return deployment
}

/**
 * Call it before you only read: the database may be unassigned yet.
 * @throws AccountError when it belongs to another account
 */
export async function assertAccount(db: Pool, account: Account): Promise<void> {
  const deployment = await readDeployment(db)
  if (deployment && !isSameAccount(deployment, account)) throw new AccountError(deployment, account)
}

/** Tables of the platform's state and of requests to it. None of it holds for another account. */
export const MEMORY = [
  'pending',
  'planned_work',
  'plan_reading',
  'employee',
  'department',
  'openid_binding',
  'field_block',
  'field_refusal',
  'payment_order',
  'limit_account',
  'limit_sub_account',
  'taxpayer',
  'mirror_day',
  'mirror_task',
  'platform_token',
  'learnt_rate',
  'pacer',
  'refused_notification',
]

/** Why runs and cases end. */
const REASON = message('said.switched')

/** What a switch deletes, in figures for a person. */
interface Forgotten {
  employees: number
  departments: number
  open_ids: number
  outbox: number
  payment_orders: number
  limit_accounts: number
  taxpayers: number
  /** Runs that end: held, waiting or in progress. */
  runs: number
  /** Cases that become obsolete. */
  dead_letters: number
}

class SwitchError extends CodedError<'SWITCH_ALIVE' | 'SWITCH_MONEY'> {}

/** Counts what a switch of the account would delete. */
export async function countMemory(db: ClientBase | Pool): Promise<Forgotten> {
  const { rows } = await db.query<Forgotten>(
    `select (select count(*) from dirsync.employee)::int as employees,
            (select count(*) from dirsync.department)::int as departments,
            (select count(*) from dirsync.openid_binding)::int as open_ids,
            (select count(*) from dirsync.pending)::int as outbox,
            (select count(*) from dirsync.payment_order)::int as payment_orders,
            (select count(*) from dirsync.limit_account)::int as limit_accounts,
            (select count(*) from dirsync.taxpayer)::int as taxpayers,
            (select count(*) from dirsync.sync_run where finished_at is null)::int as runs,
            (select count(*) from dirsync.dead_letter where state <> 'resolved')::int as dead_letters`,
  )
  return onlyRow(rows)
}

/**
 * Assigns the database to another account. Everything learnt about the old one goes, and with it the deployment's id, so that
 * no process reads an old queue. History stays: attempts, finished runs, cases (as obsolete), refunds, top-ups. With
 * `keepMemory` only address and application id change.
 * @param options.actor the requester: `cli:` and the shell user
 * @returns null when the database belongs to that account already
 * @throws SwitchError while processes are alive, or while transfers of money are open that the new account could not settle
 */
export async function switchAccount(
  pool: Pool,
  to: Account,
  options: { keepMemory: boolean; actor: string },
): Promise<{ from: Deployment | null; forgotten: Forgotten | null } | null> {
  return transaction(pool, async client => {
    await actAs(client, options)
    // A process that starts now waits until this is done, and cannot create the row meanwhile.
    await client.query('lock table dirsync.deployment in exclusive mode')
    const from = await readDeployment(client)
    if (from && isSameAccount(from, to)) return null
    await assertNoProcessAlive(client)
    if (!options.keepMemory || from?.appId !== to.appId) await assertNoOpenMoney(client)
    const forgotten = options.keepMemory ? null : await forget(client)
    await client.query(
      `insert into dirsync.deployment as d (base_url, app_id, enterprise_code) values ($1, $2, $3)
       on conflict (only_row) do update
       set base_url = excluded.base_url, app_id = excluded.app_id, enterprise_code = excluded.enterprise_code,
           id = case when $4 then d.id else excluded.id end,
           since = case when $4 then d.since else excluded.since end`,
      [to.baseUrl, to.appId, to.enterpriseCode, options.keepMemory],
    )
    await client.query(
      `insert into dirsync.command (name, arguments, requested_by)
       values ('switch_account', $1, dirsync.actor())`,
      [{ from: from && accountText(from), to: accountText(to), keep_memory: options.keepMemory, forgotten }],
    )
    return { from, forgotten }
  })
}

async function assertNoProcessAlive(client: ClientBase): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    `select ${PROCESS_NAME} as name from dirsync.process where ${ALIVE} order by started_at`,
  )
  if (rows.length === 0) return
  const processes = rows.map(({ name }) => name)
  throw new SwitchError('SWITCH_ALIVE', message('said.switch_alive', { processes }))
}

async function forget(client: ClientBase): Promise<Forgotten> {
  const forgotten = await countMemory(client)
  for (const table of MEMORY) await client.query(`delete from dirsync.${table}`)
  // Obstacles of the one account say nothing about the other; a person's pause holds for both.
  await client.query(`delete from dirsync.halt where category <> 'paused'`)
  await client.query(
    `update dirsync.sync_run
     set state = case state when 'held' then 'rejected' else 'failed' end, finished_at = now(), message = $1,
         decided_by = case state when 'held' then dirsync.actor() else decided_by end,
         decided_at = case state when 'held' then now() else decided_at end
     where finished_at is null`,
    [toStore(REASON)],
  )
  await endAllCases(client, REASON)
  return forgotten
}

/**
 * The other account has no record of the orders, or has other orders of the same numbers. Another application cannot even ask:
 * the numbers of its orders begin with its id.
 */
async function assertNoOpenMoney(client: ClientBase): Promise<void> {
  const { rows } = await client.query<{ open: string[] }>(
    `select coalesce(array_agg(number order by sent_at), '{}') as open from (
       select outer_refund_no as number, sent_at from dirsync.refund
       where state in ('requested', 'unknown')
          -- As IS_UNSHOWN in src/money/refund.ts: accepted, and not completed as far as is known.
          or state = 'accepted' and shown_at is null and resolved_by is null
       union all
       select external_code, sent_at from dirsync.topup where state in ('requested', 'unknown')) money`,
  )
  const { open } = onlyRow(rows)
  if (open.length > 0) throw new SwitchError('SWITCH_MONEY', message('said.switch_money', { names: open }))
}
