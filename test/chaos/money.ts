import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { openSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { registerChild } from '../helpers/children.ts'
import { breachesOfMoney, countOf } from '../simulation/money-truth.ts'
import type { Dice } from './dice.ts'
import { APP_ID, type Platform } from './platform.ts'
import { LAUNCHER } from './processes.ts'

/** Refunds by people who lose patience: their process is killed, and they send the same number again. */

const REFUND_CALL = 'seller/v3/pay/syncRefund'
const ORDERS = 60

const order = (i: number) => `${APP_ID}-T${i}`
const refund = (i: number) => `${APP_ID}-R${i}`

export class Money {
  readonly #platform: Platform
  readonly #start: (args: string[]) => ChildProcess
  #sent = 0

  /** @param env settings of the person's shell */
  constructor(
    platform: Platform,
    env: Record<string, string>,
    folders: { folder: string; runFolder: string },
  ) {
    this.#platform = platform
    const log = openSync(join(folders.folder, 'refunds.log'), 'a')
    this.#start = args => {
      const child = spawn(LAUNCHER, args, {
        env: { PATH: process.env.PATH, ...env },
        stdio: ['ignore', log, log],
      })
      registerChild(folders.runFolder, child)
      return child
    }
  }

  async seed(): Promise<void> {
    await this.#platform.control(
      'POST',
      'orders',
      Array.from({ length: ORDERS }, (_, i) => ({
        trade_no: String(i + 1).padStart(16, '0'),
        out_trade_no: order(i + 1),
        total_amount: '10.00',
      })),
    )
  }

  /** Sends a refund of its own, up to three times under the same number. */
  async refund(dice: Dice): Promise<void> {
    if (this.#sent === ORDERS) return
    this.#sent += 1
    const i = this.#sent
    const numbers = ['--order', order(i), '--number', refund(i)]
    const args = ['refund', 'send', ...numbers, '--amount', '4.00', '--reason', 'returned', '--yes']
    for (let tries = dice.between(1, 3); tries > 0; tries--) {
      const child = this.#start(args)
      const ended = once(child, 'exit')
      if (dice.roll() < 0.5) {
        await Promise.race([ended, sleep(dice.between(500, 4000))])
        child.kill('SIGKILL')
      }
      await ended
    }
  }

  /** @returns what is wrong about the money, a sentence each */
  async breaches(db: pg.Pool): Promise<string[]> {
    // What the platform turned away, with an expired token for example, may be sent again.
    const calls = this.#platform.calls.filter(
      ({ operation, code, end }) => operation === REFUND_CALL && !code && end !== 'rate-limited',
    )
    const { refunds } = await this.#platform.control<{
      refunds: { out_refund_no?: string; outer_refund_no?: string }[]
    }>('GET', 'state')
    const { rows } = await db.query<{ number: string; state: string }>(
      'select outer_refund_no as number, state from dirsync.refund',
    )
    return breachesOfMoney({
      noun: 'refund',
      sent: countOf(calls.map(({ params }) => String(params.outerRefundNo))),
      carriedOut: new Set(refunds.map(each => String(each.outer_refund_no ?? each.out_refund_no))),
      recorded: new Map(rows.map(({ number, state }) => [number, state])),
    })
  }

  get count(): number {
    return this.#sent
  }
}
