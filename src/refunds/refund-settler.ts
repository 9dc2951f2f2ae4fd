import { setTimeout as sleep } from 'node:timers/promises'
import { probeDelay } from '../core/backoff.ts'
import { forbidding, liftHalts } from '../store/halt.ts'
import {
  adoptRefunds,
  type ClaimedRefund,
  claimUnknown,
  UNCONCERNED,
  UNTOLD,
} from '../store/refund-journal.ts'
import { adoptTopUps } from '../store/topup.ts'
import { type SettleDeps, settle } from './settle.ts'

const LOOK_EVERY_MS = 2000

/**
 * Finds out what became of refunds whose answer is missing: those whose sender died, and those whose call failed with an
 * unknown outcome. Any number of processes may run it; each refund is asked about by one at a time.
 */
export class RefundSettler {
  readonly #deps: SettleDeps
  readonly #stopping = new AbortController()
  #loop: Promise<void> | null = null
  #troubled = false

  constructor(deps: SettleDeps) {
    this.#deps = deps
  }

  start(): void {
    this.#loop ??= this.#run()
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#loop
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping
    while (!signal.aborted) {
      try {
        await this.#settleDue()
        this.#troubled = false
      } catch (error) {
        // Once per outage of the database, not once per turn.
        if (!this.#troubled && !signal.aborted)
          this.#deps.logger.error(
            { err: (error as Error).message },
            'refunds cannot be settled; trying again',
          )
        this.#troubled = true
      }
      await sleep(LOOK_EVERY_MS, undefined, { signal }).catch(() => undefined) // it stops
    }
  }

  async #settleDue(): Promise<void> {
    const { signal } = this.#stopping
    while (!signal.aborted) {
      // Before each one: while the platform is down they take long, and never come to an end.
      await this.#adopt()
      const refund = await claimUnknown(this.#deps.pool, null)
      if (refund === null) return
      await this.#settle(refund, signal)
    }
  }

  /** Under a halt of the platform one refund is let through, to see whether it is over: nobody else may be at work. */
  async #settle(refund: ClaimedRefund, signal: AbortSignal): Promise<void> {
    const { pool, logger } = this.#deps
    const { enterprise_code, claimed_at } = refund
    const { halt, isProbe } = await forbidding(pool, enterprise_code, UNCONCERNED, probes =>
      probeDelay(probes + 1, Math.random()),
    )
    if (halt) return
    const isAnswered = await settle(this.#deps, refund, signal)
    if (!isProbe || !isAnswered) return
    for (const scope of await liftHalts(pool, enterprise_code, claimed_at, UNTOLD))
      logger.info({ scope }, 'the halt is over: work continues')
  }

  async #adopt(): Promise<void> {
    const { pool, logger } = this.#deps
    for (const outerRefundNo of await adoptRefunds(pool))
      logger.warn({ outerRefundNo }, 'the sender of a refund ended before it stored the answer')
    for (const externalCode of await adoptTopUps(pool))
      logger.warn(
        { externalCode },
        'the sender of a top-up ended before it stored the answer: ask the platform, then say so with dirsync topup resolve',
      )
  }
}
