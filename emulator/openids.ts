import { createHash } from 'node:crypto'
import type { StatementSync } from 'node:sqlite'
import type { Database } from './database.ts'

interface OpenId {
  enterprise_code: string
  userid: string
  seller_appid: string
  open_userid: string
}

/** The open ids by which merchants know employees (specification 2.4). */
export class OpenIds {
  readonly #find: StatementSync
  readonly #list: StatementSync
  readonly #listUserid: StatementSync
  readonly #put: StatementSync

  constructor({ sqlite }: Database) {
    this.#find = sqlite.prepare(
      'select open_userid from openids where enterprise_code = ? and userid = ? and seller_appid = ?',
    )
    this.#list = sqlite.prepare('select * from openids order by enterprise_code, userid, seller_appid')
    this.#listUserid = sqlite.prepare(
      'select * from openids where userid = ? order by enterprise_code, seller_appid',
    )
    this.#put = sqlite.prepare('insert or replace into openids values (?, ?, ?, ?)')
  }

  /**
   * The open id of an employee for a merchant, generated on the first call. It is derived from the key, so that
   * two emulators (or one that was reset) give the same.
   */
  bind(enterpriseCode: string, userid: string, sellerAppid: string): string {
    const existing = this.#find.get(enterpriseCode, userid, sellerAppid)
    if (existing !== undefined) return existing.open_userid as string
    const key = JSON.stringify([enterpriseCode, userid, sellerAppid])
    const openUserid = createHash('sha256').update(key).digest('hex').slice(0, 32)
    this.put({
      enterprise_code: enterpriseCode,
      userid,
      seller_appid: sellerAppid,
      open_userid: openUserid,
    })
    return openUserid
  }

  put({ enterprise_code, userid, seller_appid, open_userid }: OpenId): void {
    this.#put.run(enterprise_code, userid, seller_appid, open_userid)
  }

  list(userid?: string): OpenId[] {
    const rows = userid === undefined ? this.#list.all() : this.#listUserid.all(userid)
    return rows.map(row => ({ ...(row as unknown as OpenId) }))
  }
}
