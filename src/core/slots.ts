import { WaitingLine } from './waiting-line.ts'

/** Lets so many in at a time; the others wait in line, lower priority numbers first. */
export class Slots {
  readonly #line = new WaitingLine<() => void>()
  #free: number

  /** @param count how many may be in at a time */
  constructor(count: number) {
    this.#free = count
  }

  /**
   * Undefined: the caller is in. Else the promise resolves once it is, and rejects with the signal's reason when that aborts
   * first. Whoever is in has to `leave`.
   */
  enter(priority: number, signal: AbortSignal): Promise<void> | undefined {
    if (signal.aborted) return Promise.reject(signal.reason)
    if (this.#free > 0) {
      this.#free -= 1
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
    const next = this.#line.shift()
    if (next) next()
    else this.#free += 1
  }
}
