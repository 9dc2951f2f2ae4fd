import type { StatementSync } from 'node:sqlite'
import type { Database } from './database.ts'

interface SubLimit {
  id: number
  name: string
  status: number
}

/** An enterprise limit account (specification 2.7). The balance is in cents. */
interface Account {
  enterprise_code: string
  account_openid: string
  name: string
  product_category: number
  balance: bigint
  /** 1 valid, 2 invalid. */
  status: number
  /** Null for an account without sub-accounts, whose answer lacks the field. */
  sub_limits: SubLimit[] | null
}

export class Accounts {
  readonly #find: StatementSync
  readonly #list: StatementSync
  readonly #listEnterprise: StatementSync
  readonly #put: StatementSync

  constructor({ sqlite }: Database) {
    this.#find = sqlite.prepare('select * from accounts where enterprise_code = ? and account_openid = ?')
    this.#list = sqlite.prepare('select * from accounts order by enterprise_code, account_openid')
    this.#listEnterprise = sqlite.prepare(
      'select * from accounts where enterprise_code = ? order by account_openid',
    )
    this.#put = sqlite.prepare('insert or replace into accounts values (?, ?, ?, ?, ?, ?, ?)')
  }

  find(enterpriseCode: string, accountOpenid: string): Account | undefined {
    const row = this.#find.get(enterpriseCode, accountOpenid)
    return row && toAccount(row)
  }

  /** Those of one enterprise, or all. */
  list(enterpriseCode?: string): Account[] {
    const rows = enterpriseCode === undefined ? this.#list.all() : this.#listEnterprise.all(enterpriseCode)
    return rows.map(toAccount)
  }

  put(account: Account): void {
    const { enterprise_code, account_openid, name, product_category, balance, status } = account
    const subLimits = account.sub_limits && JSON.stringify(account.sub_limits)
    this.#put.run(enterprise_code, account_openid, name, product_category, balance, status, subLimits)
  }
}

function toAccount(row: Record<string, unknown>): Account {
  return {
    ...(row as unknown as Account),
    balance: BigInt(row.balance as number),
    sub_limits: row.sub_limits === null ? null : JSON.parse(row.sub_limits as string),
  }
}
