/** Span over which a share is counted. */
const WINDOW_MS = 5000
/** A share is never told from less than this, so that a lucky first moment does not count for more. */
const LEAST_SPAN_MS = 1000

/** What part of the shared rate one process was given lately. Times are milliseconds of any one clock. */
export class PacingShare {
  #leases: { start: number; count: number }[] = []

  /** Notes slots that were granted from `start` on. */
  note(start: number, count: number): void {
    this.#leases.push({ start, count })
    while ((this.#leases[0]?.start ?? start) < start - WINDOW_MS) this.#leases.shift()
  }

  /**
   * Calls per second given lately, rather too few than too many: the last lease does not count, because nobody knows when
   * the one after it would have started. 0 when nothing was ever given.
   */
  perSecond(): number {
    const first = this.#leases[0]
    const last = this.#leases.at(-1)
    if (first === undefined || last === undefined) return 0
    let count = 0
    for (const lease of this.#leases) if (lease !== last) count += lease.count
    const span = Math.max(last.start - first.start, LEAST_SPAN_MS)
    return Math.max((count * 1000) / span, (last.count * 1000) / WINDOW_MS)
  }
}
