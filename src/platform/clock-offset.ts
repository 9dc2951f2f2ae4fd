/** `Date` headers have whole seconds: the true time lies up to this much later. */
const HEADER_GRAIN_MS = 999

/**
 * How far the platform's clock is ahead of ours, learnt from the `Date` header of its answers.
 * It is measured all the time and applied only once the platform refuses our timestamp (1000210001): a gateway whose
 * `Date` is wrong then does no harm to a machine whose clock is right.
 */
export class ClockOffset {
  #measuredMs: number | null = null
  #appliedMs = 0
  #lastHeader: string | undefined

  /** What is added to our time in `timestamp`, in milliseconds. */
  get appliedMs(): number {
    return this.#appliedMs
  }

  /** The platform's clock minus ours in milliseconds, as far as whole seconds tell; null before the first answer. */
  get measuredMs(): number | null {
    return this.#measuredMs
  }

  /** Learns from one answer. `sentAt` and `receivedAt` are our time in milliseconds. */
  observe(dateHeader: string | undefined, sentAt: number, receivedAt: number): void {
    if (dateHeader === undefined || dateHeader === this.#lastHeader) return
    this.#lastHeader = dateHeader
    const seconds = Date.parse(dateHeader)
    if (Number.isNaN(seconds)) return
    const least = seconds - receivedAt
    const most = seconds + HEADER_GRAIN_MS - sentAt
    this.#measuredMs = Math.min(Math.max(this.#measuredMs ?? 0, least), most)
  }

  /** Applies what was measured. False when nothing was. */
  correct(): boolean {
    if (this.#measuredMs === null) return false
    this.#appliedMs = this.#measuredMs
    return true
  }
}
