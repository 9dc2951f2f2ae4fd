import type { Database, Statement, Stored } from './database.ts'
import { BusinessError } from './errors.ts'
import type { Account, Taxpayer } from './seed.ts'

/** The enterprise limit accounts (section 2.7). */
export class Accounts {
  readonly put: (account: Account) => void
  readonly #accepts: Statement<object>
  readonly #list: Statement<Stored<Account>>
  readonly #listEnterprise: Statement<Stored<Account>>

  constructor(database: Database) {
    this.put = database.writer('accounts')
    this.#accepts = database.prepare(`
      select 1
      where exists (select 1 from accounts where enterprise_code = ?1 and account_openid = ?2 and status = 1)
        or not exists (select 1 from accounts where enterprise_code = ?1)`)
    this.#list = database.prepare('select * from accounts order by enterprise_code, account_openid')
    this.#listEnterprise = database.prepare(
      'select * from accounts where enterprise_code = ? order by account_openid',
    )
  }

  /** Whether the account is one of the enterprise's and valid, or the enterprise holds none at all. */
  accepts(enterpriseCode: string, accountOpenid: string): boolean {
    return this.#accepts.get(enterpriseCode, accountOpenid) !== undefined
  }

  /** Those of one enterprise, or all. */
  list(enterpriseCode?: string): Account[] {
    const rows = enterpriseCode === undefined ? this.#list.all() : this.#listEnterprise.all(enterpriseCode)
    return rows.map(toAccount)
  }
}

function toAccount(row: Stored<Account>): Account {
  return {
    ...row,
    balance: BigInt(row.balance),
    sub_limits: row.sub_limits === null ? null : JSON.parse(row.sub_limits),
  }
}

/** A top-up application (section 4.12). The amount is in cents. */
interface TopUp {
  external_code: string
  enterprise_code: string
  account_openid: string
  amount: bigint
  apply_charge_openid: string
  time_created: string
}

export class TopUps {
  readonly put: (topUp: TopUp) => void
  readonly #find: Statement<object>
  readonly #list: Statement<Stored<TopUp>>

  constructor(database: Database) {
    this.put = database.writer('topups')
    this.#find = database.prepare('select 1 from topups where external_code = ?')
    this.#list = database.prepare('select * from topups order by external_code')
  }

  /** Throws 1000229003 for a number that an application has. */
  requireFree(externalCode: string): void {
    if (this.#find.get(externalCode) !== undefined) throw new BusinessError('externalCodeTaken')
  }

  list(): TopUp[] {
    return this.#list.all().map(row => ({ ...row, amount: BigInt(row.amount) }))
  }
}

/** Which taxpayers of an enterprise are asked for (section 2.11). */
interface TaxpayerQuery {
  enterpriseCode: string
  identifier: string
  name: string | undefined
  nature: number
}

const LISTED = `from taxpayers
  where enterprise_code = ?1 and identifier = ?2 and taxpayer_nature = ?4
    and (?3 is null or taxpayer_name = ?3)`

export class Taxpayers {
  readonly put: (taxpayer: Taxpayer) => void
  readonly #accepts: Statement<object>
  readonly #list: Statement<Taxpayer>
  readonly #count: Statement<{ total: number }>
  readonly #page: Statement<Taxpayer>

  constructor(database: Database) {
    this.put = database.writer('taxpayers')
    this.#accepts = database.prepare(`
      select 1
      where exists (
          select 1 from taxpayers
          where enterprise_code = ?1 and status = 1
            and (?2 is null or identifier = ?2) and (?3 is null or taxpayer_name = ?3))
        or not exists (select 1 from taxpayers where enterprise_code = ?1)`)
    this.#list = database.prepare(
      'select * from taxpayers order by enterprise_code, identifier, taxpayer_name',
    )
    this.#count = database.prepare(`select count(*) as total ${LISTED}`)
    this.#page = database.prepare(`select * ${LISTED} order by taxpayer_name limit ?5 offset ?6`)
  }

  /**
   * Whether a taxpayer of the enterprise that is not disabled has the identifier and the name, as far as they are given, or
   * the enterprise holds none at all.
   */
  accepts(enterpriseCode: string, identifier: string | undefined, name: string | undefined): boolean {
    return this.#accepts.get(enterpriseCode, identifier ?? null, name ?? null) !== undefined
  }

  list(): Taxpayer[] {
    return this.#list.all()
  }

  /** One page, by name, and how many there are in all. */
  page(query: TaxpayerQuery, number: number, size: number): { total: number; taxpayers: Taxpayer[] } {
    const { enterpriseCode, identifier, name = null, nature } = query
    const filter = [enterpriseCode, identifier, name, nature] as const
    return {
      total: this.#count.get(...filter)?.total ?? 0,
      taxpayers: this.#page.all(...filter, size, (number - 1) * size),
    }
  }
}
