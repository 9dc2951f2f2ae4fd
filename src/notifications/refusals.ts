import { TokenBucket } from '../core/token-bucket.ts'
import type { Logger } from '../logger.ts'
import type { ReceiverOptions } from './app.ts'

/** Keeps count of what the receiver refuses, so that a flood of it does not flood the log. */
export class Refusals {
  readonly #bucket: TokenBucket
  readonly #clock: () => number
  readonly #onOutcome: ReceiverOptions['onOutcome']
  readonly #logger: Logger
  #unlogged = 0

  constructor({ limits, clock, onOutcome, logger }: ReceiverOptions) {
    this.#bucket = new TokenBucket(limits)
    this.#clock = clock
    this.#onOutcome = onOutcome
    this.#logger = logger
  }

  /**
   * Logs a refusal, without anything that was received; beyond the rate it is only counted.
   * @param reason a fixed word
   * @returns the status to answer with: the one given, or 429 beyond the rate
   */
  admit(status: number, reason: string): number {
    this.#onOutcome?.(reason)
    if (!this.#bucket.take(this.#clock())) {
      this.#unlogged += 1
      return 429
    }
    const unlogged = this.#unlogged
    this.#unlogged = 0
    this.#logger.warn(
      { reason, status, ...(unlogged > 0 && { unlogged }) },
      'what came as a refund notification was refused',
    )
    return status
  }
}
