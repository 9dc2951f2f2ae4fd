import { createHash } from 'node:crypto'
import type { StatementSync } from 'node:sqlite'
import { BusinessError } from './codes.ts'
import type { Database } from './database.ts'

/** A top-up application (specification 4.12). The amount is in cents. */
interface TopUp {
  external_code: string
  enterprise_code: string
  account_openid: string
  amount: bigint
  apply_charge_openid: string
  time_created: string
}

export class TopUps {
  readonly #find: StatementSync
  readonly #list: StatementSync
  readonly #put: StatementSync

  constructor({ sqlite }: Database) {
    this.#find = sqlite.prepare('select 1 from topups where external_code = ?')
    this.#list = sqlite.prepare('select * from topups order by external_code')
    this.#put = sqlite.prepare('insert or replace into topups values (?, ?, ?, ?, ?, ?)')
  }

  /** Throws 1000229003 for a number that an application has. */
  requireFree(externalCode: string): void {
    if (this.#find.get(externalCode) !== undefined) throw new BusinessError('externalCodeTaken')
  }

  list(): TopUp[] {
    return this.#list.all().map(row => ({
      ...(row as unknown as TopUp),
      amount: BigInt(row.amount as number),
    }))
  }

  put(topUp: TopUp): void {
    const { external_code, enterprise_code, account_openid, amount } = topUp
    const { apply_charge_openid, time_created } = topUp
    this.#put.run(external_code, enterprise_code, account_openid, amount, apply_charge_openid, time_created)
  }
}

/** The open id of an application, derived from its number: two emulators give the same. */
export function applicationOpenId(externalCode: string): string {
  return createHash('sha256').update(externalCode).digest('hex').slice(0, 32)
}
