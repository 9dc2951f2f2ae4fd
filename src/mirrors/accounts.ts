import type { ClientBase } from '../lib/database.ts'
import { storableRows } from '../lib/storable.ts'
import type { LimitAccount } from '../platform/operations/account.ts'
import { enterpriseParams } from '../platform/request.ts'
import type { MirrorTask } from './mirror.ts'
import {
  type CountedCalls,
  listName,
  type MirrorReader,
  notesOfOdd,
  type Reading,
  type ReadingPlan,
} from './mirror-reader.ts'

const OPERATION = 'assets/limit/enterprise/get'

/** Limit accounts and their sub-accounts (section 4.9): one call returns all of an enterprise. */
export class AccountReader implements MirrorReader {
  async plan(db: ClientBase, enterpriseCodes: string[]): Promise<ReadingPlan> {
    for (const table of ['limit_account', 'limit_sub_account'])
      await db.query(
        `update dirsync.${table} set gone_at = now(), changed_at = now()
         where gone_at is null and enterprise_code <> all ($1)`,
        [enterpriseCodes],
      )
    const tasks = enterpriseCodes.map(enterpriseCode => ({
      enterpriseCode,
      part: '',
      entityKey: '',
      detail: '',
    }))
    return { tasks, reasons: { enterprises: tasks.length } }
  }

  operation(): string {
    return OPERATION
  }

  async read({ enterpriseCode }: MirrorTask, calls: CountedCalls): Promise<Reading> {
    // As it came: the client's `list` does not tell null from an empty list.
    const answer = (await calls.make((client, options) =>
      client.call(OPERATION, enterpriseParams(enterpriseCode), options),
    )) as LimitAccount[] | null
    const accounts = answer ?? []
    // A row without an id cannot be stored, and may be one that is known.
    const kept = accounts.flatMap(account =>
      account.account_openid === null ? [] : [{ ...account, account_openid: account.account_openid }],
    )
    const isWhole =
      answer !== null &&
      kept.length === accounts.length &&
      kept.every(({ sub_limits }) => !sub_limits?.some(sub => sub.id === null))
    return {
      // What is stored has sub-accounts, too.
      rows: kept.reduce((sum, { sub_limits }) => sum + 1 + (sub_limits?.length ?? 0), 0),
      store: async db => ({
        changed: await storeAccounts(db, enterpriseCode, kept, isWhole),
        next: null,
        notes: notesOfOdd(listName(enterpriseCode, OPERATION), !isWhole),
      }),
    }
  }
}

/**
 * Stores an enterprise's accounts; unchanged ones are not written.
 * @param isWhole whether those that are not among them are marked gone
 * @returns how many accounts and sub-accounts were new, different or gone
 */
async function storeAccounts(
  db: ClientBase,
  enterpriseCode: string,
  accounts: (LimitAccount & { account_openid: string })[],
  isWhole: boolean,
): Promise<number> {
  const subAccounts = accounts.flatMap(({ account_openid, sub_limits }) =>
    (sub_limits ?? []).filter(sub => sub.id !== null).map(sub => ({ account_openid, ...sub })),
  )
  const results = [
    await db.query(
      `insert into dirsync.limit_account as a (enterprise_code, account_openid, name, product_category, balance, status)
       select distinct on (account_openid) $1, account_openid, name, product_category, balance, status
       from jsonb_populate_recordset(null::dirsync.limit_account, $2)
       on conflict (enterprise_code, account_openid) do update
       set name = excluded.name, product_category = excluded.product_category, balance = excluded.balance,
           status = excluded.status, changed_at = now(), gone_at = null
       where (a.name, a.product_category, a.balance, a.status, a.gone_at)
             is distinct from
             (excluded.name, excluded.product_category, excluded.balance, excluded.status, null)`,
      [enterpriseCode, storableRows(accounts)],
    ),
    await db.query(
      `insert into dirsync.limit_sub_account as s (enterprise_code, account_openid, id, name, status)
       select distinct on (account_openid, id) $1, account_openid, id, name, status
       from jsonb_populate_recordset(null::dirsync.limit_sub_account, $2)
       on conflict (enterprise_code, account_openid, id) do update
       set name = excluded.name, status = excluded.status, changed_at = now(), gone_at = null
       where (s.name, s.status, s.gone_at) is distinct from (excluded.name, excluded.status, null)`,
      [enterpriseCode, storableRows(subAccounts)],
    ),
    await db.query(
      `update dirsync.limit_account set gone_at = now(), changed_at = now()
       where $3 and enterprise_code = $1 and gone_at is null and account_openid <> all ($2)`,
      [enterpriseCode, accounts.map(account => account.account_openid), isWhole],
    ),
    await db.query(
      `update dirsync.limit_sub_account s set gone_at = now(), changed_at = now()
       where $4 and enterprise_code = $1 and gone_at is null
         and not exists (select from unnest($2::text[], $3::text[]) as shown (account_openid, id)
                         where shown.account_openid = s.account_openid and shown.id = s.id)`,
      [enterpriseCode, subAccounts.map(sub => sub.account_openid), subAccounts.map(sub => sub.id), isWhole],
    ),
  ]
  return results.reduce((sum, { rowCount }) => sum + (rowCount ?? 0), 0)
}
