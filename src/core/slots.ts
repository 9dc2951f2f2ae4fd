import { WaitingLine } from './waiting-line.ts'

/** Lets so many in at a time; the others wait in line, lower priority numbers first. */
export class Slots {
  readonly #line = new WaitingLine<() => void>()
  #count: number
  #taken = 0

  /** @param count how many may be in at a time */
  constructor(count: number) {
    this.#count = count
  }

  /** From now on so many may be in at a time. Who is in stays in. */
  resize(count: number): void {
    this.#count = count
    while (this.#taken < count && this.#letNextIn()) this.#taken += 1
  }

  /**
   * Undefined: the caller is in. Else the promise resolves once it is, and rejects with the signal's reason when that aborts
   * first. Whoever is in has to `leave`.
   */
  enter(priority: number, signal: AbortSignal): Promise<void> | undefined {
    if (signal.aborted) return Promise.reject(signal.reason)
    if (this.#taken < this.#count) {
      this.#taken += 1
      return undefined
    }
    return new Promise((resolve, reject) => {
      const letIn = () => {
        signal.removeEventListener('abort', giveUp)
        resolve()
      }
      const giveUp = () => {
        this.#line.remove(letIn)
        reject(signal.reason)
      }
      signal.addEventListener('abort', giveUp, { once: true })
      this.#line.add(letIn, priority)
    })
  }

  /** Makes room for the next one in line. */
  leave(): void {
    if (this.#taken > this.#count || !this.#letNextIn()) this.#taken -= 1
  }

  #letNextIn(): boolean {
    const next = this.#line.shift()
    next?.()
    return next !== undefined
  }
}
