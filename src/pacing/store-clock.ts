/** A slow answer counts for less by this factor with each that follows. */
const FORGETTING = 0.8

/** What the store's time is on our monotonic clock, as far as its answers tell. */
export class StoreClock {
  /** Our time minus the store's; null before the first answer. */
  #offsetMs: number | null = null
  #roundTripMs = 0

  /** How long an answer may take, by those of late. */
  get roundTripMs(): number {
    return this.#roundTripMs
  }

  /** Notes that the store said `storeMs` between `asked` and `answered`. */
  note(asked: number, answered: number, storeMs: number): void {
    this.#roundTripMs = Math.max(answered - asked, this.#roundTripMs * FORGETTING)
    // The true offset lies between these two; what was learnt before is kept as far as it fits.
    const most = answered - storeMs
    this.#offsetMs = Math.min(Math.max(this.#offsetMs ?? most, asked - storeMs), most)
  }

  /** The store's moment on our clock. */
  ours(storeMs: number): number {
    return storeMs + (this.#offsetMs ?? 0)
  }

  /** Our moment on the store's clock. */
  stores(ourMs: number): number {
    return ourMs - (this.#offsetMs ?? 0)
  }
}
