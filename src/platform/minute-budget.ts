const MINUTE_MS = 60_000

/**
 * Keeps the calls of one operation within so many a minute, whichever minute one looks at. A place is held from before
 * the call until a minute after its end, so that delays on the way cannot bring calls closer together than they were let go.
 */
export class MinuteBudget {
  readonly #minuteMs: number
  readonly #waiting = new Set<() => void>()
  readonly #timers = new Set<NodeJS.Timeout>()
  #free: number

  /** @param minuteMs how long a minute is, in milliseconds */
  constructor(calls: number, minuteMs = MINUTE_MS) {
    this.#free = calls
    this.#minuteMs = minuteMs
  }

  /**
   * Carries out one call within the budget, waiting for a place as long as it takes.
   * @throws the signal's reason
   */
  async spend<T>(call: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    signal?.throwIfAborted()
    if (this.#free > 0) this.#free -= 1
    else await this.#place(signal)
    try {
      return await call()
    } finally {
      this.#occupy()
    }
  }

  /** Keeps the place for the minute. The process need not live for it, unless somebody waits. */
  #occupy(): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer)
      this.#release()
    }, this.#minuteMs)
    this.#timers.add(timer)
    if (this.#waiting.size === 0) timer.unref()
  }

  #place(signal: AbortSignal | undefined): Promise<void> {
    for (const timer of this.#timers) timer.ref()
    return new Promise((resolve, reject) => {
      const take = () => {
        signal?.removeEventListener('abort', giveUp)
        resolve()
      }
      const giveUp = () => {
        this.#waiting.delete(take)
        reject(signal?.reason)
      }
      this.#waiting.add(take)
      signal?.addEventListener('abort', giveUp, { once: true })
    })
  }

  /** Hands the place to whoever waits longest. */
  #release(): void {
    const [next] = this.#waiting
    if (next === undefined) this.#free += 1
    else {
      this.#waiting.delete(next)
      next()
    }
  }
}
