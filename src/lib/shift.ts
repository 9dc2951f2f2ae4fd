/** What is begun, and can be ended. */
interface Begun {
  end(): Promise<void>
}

/** Work that is begun, laid down, and taken up anew, each once the one before it has come about. */
export class Shift<Work extends Begun> {
  readonly #begin: () => Work
  readonly #failed: (error: Error) => void
  #present: Work | null = null
  #isWanted = false
  #isOver = false
  #changing: Promise<void> = Promise.resolve()

  /** @param options.failed told of a beginning or end that did not come about */
  constructor(options: { begin: () => Work; failed: (error: Error) => void }) {
    this.#begin = options.begin
    this.#failed = options.failed
  }

  /** The work under way; null: none. */
  get present(): Work | null {
    return this.#present
  }

  /** Has the work begun, or ended. Does nothing after `end`. */
  set(isWanted: boolean): void {
    if (this.#isOver) return
    this.#isWanted = isWanted
    this.#changing = this.#changing.then(() => this.#change()).catch(this.#failed)
  }

  /** Ends the work for good. Waits until it has. */
  async end(): Promise<void> {
    this.set(false)
    this.#isOver = true
    await this.#changing
  }

  async #change(): Promise<void> {
    if (this.#isWanted) this.#present ??= this.#begin()
    else if (this.#present !== null) {
      const ended = this.#present
      this.#present = null
      await ended.end()
    }
  }
}
