import { sentenceOf } from './failure.ts'
import type { Logger } from './logger.ts'

/** A success right after an error does not prove much: a store that flaps is in trouble all the time. */
const QUIET_MS = 2_000

/**
 * Logs an outage once when it begins and once when it ends, however many errors come in between: a minute of it makes two
 * lines, not ten thousand.
 */
export class Trouble {
  readonly #logger: Logger
  readonly #what: string
  #beganAt = 0
  #lastAt = 0
  #errors = 0
  #last: string | null = null

  /** @param what names what fails, as the subject of a sentence */
  constructor(logger: Logger, what: string) {
    this.#logger = logger
    this.#what = what
  }

  /** Milliseconds since the trouble began, whatever became of the clock meanwhile; null while it works. */
  get lastedMs(): number | null {
    return this.#errors === 0 ? null : performance.now() - this.#beganAt
  }

  /** The message of the latest error; null while it works. */
  get last(): string | null {
    return this.#last
  }

  report(error: unknown): void {
    this.#last = sentenceOf(error)
    this.#lastAt = performance.now()
    this.#errors += 1
    if (this.#errors > 1) return
    this.#beganAt = this.#lastAt
    this.#logger.warn({ error }, `${this.#what} is in trouble; logged again when it works`)
  }

  works(): void {
    if (this.#errors === 0 || performance.now() - this.#lastAt < QUIET_MS) return
    const seconds = Math.round((this.#lastAt - this.#beganAt) / 1000)
    this.#logger.info({ errors: this.#errors, seconds }, `${this.#what} works again`)
    this.#errors = 0
    this.#last = null
  }
}
