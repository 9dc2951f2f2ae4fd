const GMT_PLUS_8_MS = 8 * 3_600_000

/** The platform's clock: the machine's, moved by an offset that the control interface sets. */
export class Clock {
  #offsetMs = 0
  #dateSecond = Number.NaN
  #dateText = ''

  get offsetSeconds(): number {
    return this.#offsetMs / 1000
  }

  set offsetSeconds(seconds: number) {
    this.#offsetMs = Math.round(seconds * 1000)
  }

  /** Milliseconds since 1970. */
  now(): number {
    return Date.now() + this.#offsetMs
  }

  /** The value of the `Date` header; kept for the second it holds. */
  httpDate(): string {
    const second = Math.floor(this.now() / 1000)
    if (second !== this.#dateSecond) {
      this.#dateSecond = second
      this.#dateText = new Date(second * 1000).toUTCString()
    }
    return this.#dateText
  }

  /** `yyyy-MM-dd HH:mm:ss` in GMT+8, as the platform writes times. */
  timeText(): string {
    return new Date(this.now() + GMT_PLUS_8_MS).toISOString().slice(0, 19).replace('T', ' ')
  }
}
