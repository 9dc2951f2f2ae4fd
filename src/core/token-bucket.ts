/** Lets `burst` pass at once, and `perSecond` in the long run. */
export class TokenBucket {
  readonly #perSecond: number
  readonly #burst: number
  #tokens: number
  #filledAt = 0

  constructor(options: { perSecond: number; burst: number }) {
    this.#perSecond = options.perSecond
    this.#burst = options.burst
    this.#tokens = options.burst
  }

  /** True when one more may pass. @param now milliseconds of any clock; one that is set back does no harm */
  take(now: number): boolean {
    const seconds = Math.max(0, now - this.#filledAt) / 1000
    this.#filledAt = now
    this.#tokens = Math.min(this.#burst, this.#tokens + seconds * this.#perSecond)
    if (this.#tokens < 1) return false
    this.#tokens -= 1
    return true
  }
}
