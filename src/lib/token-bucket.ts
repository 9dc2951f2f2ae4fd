/** Lets `burst` pass at once, and `perSecond` in the long run. */
export class TokenBucket {
  readonly #rate: { burst: number; perSecond: number }
  #tokens: number
  #filledAt = 0

  constructor(rate: { burst: number; perSecond: number }) {
    this.#rate = rate
    this.#tokens = rate.burst
  }

  /** True when one more may pass. @param now milliseconds of any clock; setting it back does no harm */
  take(now: number): boolean {
    const { burst, perSecond } = this.#rate
    const seconds = Math.max(0, now - this.#filledAt) / 1000
    this.#filledAt = now
    this.#tokens = Math.min(burst, this.#tokens + seconds * perSecond)
    if (this.#tokens < 1) return false
    this.#tokens -= 1
    return true
  }

  /** How many more may pass at once, as of the last `take`. */
  get left(): number {
    return Math.floor(this.#tokens)
  }

  /** Seconds until it is full again, as of the last `take`. */
  get fullSeconds(): number {
    return (this.#rate.burst - this.#tokens) / this.#rate.perSecond
  }

  /** Seconds until the next one may pass, as of the last `take`. */
  get waitSeconds(): number {
    return Math.max(0, (1 - this.#tokens) / this.#rate.perSecond)
  }
}
