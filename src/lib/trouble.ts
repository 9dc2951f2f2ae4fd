import type { Logger } from './logger.ts'

/** A success right after an error does not prove much: a store that flaps is in trouble all the time. */
const QUIET_MS = 2_000

/**
 * Logs trouble once when it begins and once when it is over, however often it repeats in between: an outage of a minute is
 * two lines, not ten thousand.
 *
 * Only the error's name, code, message and stack are logged. Further properties, such as PostgreSQL's `detail`, may hold
 * values of rows.
 */
export class Trouble {
  readonly #logger: Logger
  readonly #what: string
  #beganAt = 0
  #lastAt = 0
  #errors = 0

  /** @param what names what is in trouble, as the subject of a sentence */
  constructor(logger: Logger, what: string) {
    this.#logger = logger
    this.#what = what
  }

  /** Since when it has been in trouble; null: it works. */
  get since(): Date | null {
    return this.#errors === 0 ? null : new Date(this.#beganAt)
  }

  /** An error happened. */
  report(error: unknown): void {
    this.#lastAt = Date.now()
    this.#errors += 1
    if (this.#errors > 1) return
    this.#beganAt = this.#lastAt
    this.#logger.warn({ error: errorFacts(error) }, `${this.#what} is in trouble; logged again when it works`)
  }

  /** Something worked. */
  works(): void {
    if (this.#errors === 0 || Date.now() - this.#lastAt < QUIET_MS) return
    const seconds = Math.round((this.#lastAt - this.#beganAt) / 1000)
    this.#logger.info({ errors: this.#errors, seconds }, `${this.#what} works again`)
    this.#errors = 0
  }
}

function errorFacts(error: unknown): { name?: string; code?: unknown; message: string; stack?: string } {
  if (!(error instanceof Error)) return { message: 'something other than an error was thrown' }
  const { name, message, stack } = error
  const code = 'code' in error ? { code: error.code } : {}
  return { name, ...code, message, ...(stack === undefined ? {} : { stack }) }
}
