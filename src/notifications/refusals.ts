import { TokenBucket } from '../core/token-bucket.ts'
import type { Logger } from '../logger.ts'

/** Keeps count of what the receiver refuses, so that a flood of it does not flood the log. */
export class Refusals {
  readonly #bucket: TokenBucket
  readonly #clock: () => number
  readonly #logger: Logger
  #unlogged = 0

  constructor(limits: { perSecond: number; burst: number }, clock: () => number, logger: Logger) {
    this.#bucket = new TokenBucket(limits)
    this.#clock = clock
    this.#logger = logger
  }

  /**
   * Logs a refusal, without anything that was received; beyond the rate it is only counted.
   * @param reason a fixed word
   * @returns the status to answer with: the one given, or 429 beyond the rate
   */
  admit(status: number, reason: string): number {
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
