import { Semaphore } from '../../lib/waiting.ts'

/** Too many wait in line already. */
export class BusyError extends Error {
  readonly code = 'SIGN_IN_BUSY'
}

const { signal: never } = new AbortController()

/** Work of which only some is done at a time, while only some more may wait: however many come, others are served too. */
export class BoundedLine {
  readonly #permits: Semaphore
  readonly #longest: number
  #waiting = 0

  /** @param longest how many may wait at most */
  constructor(atATime: number, longest: number) {
    this.#permits = new Semaphore(atATime)
    this.#longest = longest
  }

  /** @throws BusyError */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#waiting >= this.#longest) throw new BusyError('too many sign-ins at a time')
    this.#waiting += 1
    try {
      await this.#permits.acquire(0, never)
    } finally {
      this.#waiting -= 1
    }
    try {
      return await work()
    } finally {
      this.#permits.release()
    }
  }
}
