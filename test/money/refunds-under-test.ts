import { afterEach, beforeEach } from 'vitest'
import { type Emulator, startEmulator } from '../../emulator/emulator.ts'
import { refundJournal } from '../../src/money/refund.ts'
import type { SettleDeps } from '../../src/money/settle.ts'
import { LocalPacer } from '../../src/platform/caller.ts'
import { PlatformClient, type PlatformClientOptions } from '../../src/platform/client.ts'
import { MemoryTokenStore } from '../../src/platform/token.ts'
import { controlOf, type EmulatorControl } from '../helpers/emulator-control.ts'
import { SILENT, StoreUnderTest } from '../sync/store-under-test.ts'

export const APP_ID = 'test-application'

/** An order of which 10.00 can be refunded. */
export const ORDER = `${APP_ID}-T1`

/** A refund of 4.00. */
export const REQUEST = {
  outerTradeNo: ORDER,
  outerRefundNo: `${APP_ID}-R1`,
  reason: 'returned',
  refundAmount: '4.00',
  costAmount: '3.00',
}

export const APPLICATION = {
  account_openid: 'points-account',
  amount: '250.00',
  service_provider: 1,
  external_code: `${APP_ID}-topup-00000000001`,
  taxpayer: 'Example Ltd',
  mobile: '13900000001',
}

export const REFUND_CALL = 'seller/v3/pay/syncRefund'
export const RECORD_CALL = 'seller/pay/record'
export const PAYMENT_ORDER_CALL = 'enterprise/consume/get'
export const TOP_UP_CALL = 'enterprise/account/applyCharge'

/** dirsync's database, the platform with one paid order and a points account, and a client. */
export class RefundsUnderTest {
  readonly store = new StoreUnderTest()
  #emulator: Emulator | undefined
  #client: PlatformClient | undefined

  constructor() {
    beforeEach(async () => {
      this.#emulator = await startEmulator({
        strict: true,
        appId: APP_ID,
        appSecret: 'secret',
        seed: {
          orders: [1, 2].map(i => ({
            trade_no: `000000000000000${i}`,
            out_trade_no: `${APP_ID}-T${i}`,
            total_amount: '10.00',
          })),
          accounts: [{ account_openid: APPLICATION.account_openid, name: 'points' }],
          taxpayers: [{ identifier: 'example-taxpayer', taxpayer_name: APPLICATION.taxpayer }],
        },
      })
      this.#client = this.connect(this.#emulator.url)
    })
    afterEach(async () => {
      await this.#client?.close()
      await this.#emulator?.close()
    })
  }

  get url(): string {
    return this.#emulator?.url as string
  }

  get deps(): SettleDeps {
    return {
      pool: this.store.pool,
      client: this.#client as PlatformClient,
      logger: SILENT,
      notCarriedOutAfterMs: 24 * 3_600_000,
    }
  }

  /** What another process would have. */
  connect(baseUrl: string, options: Partial<PlatformClientOptions> = {}): PlatformClient {
    return new PlatformClient({
      baseUrl,
      appId: APP_ID,
      appSecret: 'secret',
      tokenStore: new MemoryTokenStore(),
      pacer: new LocalPacer(10_000),
      ...options,
    })
  }

  get control(): EmulatorControl {
    return controlOf(this.url)
  }

  /** One fault of the next call of an operation. */
  async fault(operation: string, fault: object): Promise<void> {
    await this.control('POST', 'faults', { operation, times: 1, ...fault })
  }

  /**
   * Resolves when the call that the fault waits for has reached the platform.
   * @param sending makes the call
   * @throws when it ends without it, with what it failed with as the cause
   */
  async arrived(sending?: Promise<unknown>): Promise<void> {
    let end: ErrorOptions | undefined
    sending?.then(
      () => {
        end = {}
      },
      cause => {
        end = { cause }
      },
    )
    for (;;) {
      // Taken first: what has ended by then made its call before the faults are read.
      const ended = end
      if ((await this.control<unknown[]>('GET', 'faults')).length === 0) return
      if (ended) throw new Error('it ended without the call', ended)
    }
  }

  /** Lets the calls go on that faults hold. */
  async release(): Promise<void> {
    await this.control('DELETE', 'faults')
  }

  /** Calls of an operation that the platform has seen. */
  async calls(operation: string): Promise<number> {
    const { calls } = await this.control<{ calls: unknown[] }>('GET', `calls?operation=${operation}`)
    return calls.length
  }

  /** What the platform has refunded of the order. */
  async refunded(): Promise<string> {
    const record = await this.deps.client.orders.record({ outer_trade_no: ORDER })
    return typeof record === 'string' ? record : String(record.refund_amount)
  }

  refund(no: string = REQUEST.outerRefundNo) {
    return refundJournal.read(this.store.pool, no)
  }

  /** As if everything had been sent so many minutes earlier, and were due. */
  async age(minutes: number): Promise<void> {
    await this.store.pool.query(
      `update dirsync.refund set sent_at = sent_at - $1 * interval '1 minute',
         next_settle_at = case when next_settle_at is not null then now() end`,
      [minutes],
    )
  }
}
