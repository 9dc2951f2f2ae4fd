/** Span over which a share is counted: so many milliseconds, or so many times the spacing where that is longer. */
const WINDOW_MS = 5000
const WINDOW_SLOTS = 20
/** A share is never told from less than this part of the window, so that a lucky first moment does not count for more. */
const LEAST_PART = 0.2

interface Lease {
  start: number
  count: number
  spacingMs: number
}

/** What part of the shared rate one process was given lately. Times are milliseconds of any one clock. */
export class PacingShare {
  #leases: Lease[] = []

  /** Notes slots that were granted from `start` on. */
  note(start: number, count: number, spacingMs: number): void {
    this.#leases.push({ start, count, spacingMs })
    this.#forget(start)
  }

  /**
   * Calls per second given lately, rather too few than too many: the last lease does not count, because nobody knows when
   * the one after it would have started, and of the spans that end with it the poorest counts, because others may have
   * come. 0 when nothing was given lately.
   */
  perSecond(now: number): number {
    this.#forget(now)
    const last = this.#leases.at(-1)
    if (last === undefined) return 0
    const leastMs = windowMs(last) * LEAST_PART
    let share = Number.POSITIVE_INFINITY
    let count = 0
    for (const lease of this.#leases.slice(0, -1).reverse()) {
      count += lease.count
      const span = last.start - lease.start
      if (span >= leastMs) share = Math.min(share, (count * 1000) / span)
    }
    if (share === Number.POSITIVE_INFINITY) share = (count * 1000) / leastMs
    return Math.max(share, (last.count * 1000) / windowMs(last))
  }

  #forget(now: number): void {
    const last = this.#leases.at(-1)
    if (last === undefined) return
    const since = now - windowMs(last)
    while (this.#leases[0] !== undefined && this.#leases[0].start < since) this.#leases.shift()
  }
}

function windowMs(lease: Lease): number {
  return Math.max(WINDOW_MS, WINDOW_SLOTS * lease.spacingMs)
}
