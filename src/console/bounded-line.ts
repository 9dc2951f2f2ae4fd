import { Semaphore } from '../lib/waiting.ts'

/** Too many are waiting in line already. */
export class BusyError extends Error {
  readonly code = 'BUSY'

  constructor() {
    super('too many wait already')
    this.name = 'BusyError'
  }
}

const { signal: never } = new AbortController()

/**
 * Runs a few tasks at a time, and lets a limited number wait. The rest is refused, so that a flood cannot starve
 * other work.
 */
export class BoundedLine {
  readonly #permits: Semaphore
  readonly #longest: number
  #waiting = 0

  /** @param longest how many may wait at most */
  constructor(atATime: number, longest: number) {
    this.#permits = new Semaphore(atATime)
    this.#longest = longest
  }

  /**
   * Waits for a place.
   * @returns a function that gives the place back; only its first call counts
   * @throws BusyError
   */
  async enter(): Promise<() => void> {
    if (this.#waiting >= this.#longest) throw new BusyError()
    this.#waiting += 1
    try {
      await this.#permits.acquire(0, never)
    } finally {
      this.#waiting -= 1
    }
    let isIn = true
    return () => {
      if (isIn) this.#permits.release()
      isIn = false
    }
  }

  /** @throws BusyError */
  async run<T>(work: () => Promise<T>): Promise<T> {
    const leave = await this.enter()
    try {
      return await work()
    } finally {
      leave()
    }
  }
}
