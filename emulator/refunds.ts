import type { StatementSync } from 'node:sqlite'
import { BusinessError } from './codes.ts'
import type { Database } from './database.ts'

/** A refund that was carried out. The amount is in cents. */
interface Refund {
  outer_refund_no: string
  outer_trade_no: string
  refund_amount: bigint
  reason: string | null
  refund_time: string
}

export class Refunds {
  readonly #find: StatementSync
  readonly #list: StatementSync
  readonly #put: StatementSync

  constructor({ sqlite }: Database) {
    this.#find = sqlite.prepare('select 1 from refunds where outer_refund_no = ?')
    this.#list = sqlite.prepare('select * from refunds order by outer_refund_no')
    this.#put = sqlite.prepare('insert or replace into refunds values (?, ?, ?, ?, ?)')
  }

  /** Throws 1000229001 for a number that a refund has. */
  requireFree(outerRefundNo: string): void {
    if (this.#find.get(outerRefundNo) !== undefined) throw new BusinessError('refundNumberTaken')
  }

  list(): Refund[] {
    return this.#list.all().map(row => ({
      ...(row as unknown as Refund),
      refund_amount: BigInt(row.refund_amount as number),
    }))
  }

  put({ outer_refund_no, outer_trade_no, refund_amount, reason, refund_time }: Refund): void {
    this.#put.run(outer_refund_no, outer_trade_no, refund_amount, reason, refund_time)
  }
}
