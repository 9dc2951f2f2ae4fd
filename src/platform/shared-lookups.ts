import { DEFAULT_PRIORITY } from '../core/pacing.ts'
import { abortedError, type CallOptions } from './caller.ts'

/** Makes the call of a look-up, and tells through `sending` when it is about to be sent. */
export type LookupCall<T> = (options: CallOptions, sending: () => void) => Promise<T>

/**
 * Look-ups that wait for their turn, each shared by all who ask the same meanwhile. One that is sent is joined by nobody:
 * a write may have ended since, and its answer would be from before.
 */
export class SharedLookups {
  readonly #waiting = new Map<string, SharedLookup>()

  /**
   * Joins the look-up of that key which waits, or begins one.
   * @param key the operation and its parameters
   * @throws what the call throws; PlatformError of kind `aborted` when the caller's own signal gives it up
   */
  async ask<T>(operation: string, key: string, options: CallOptions, call: LookupCall<T>): Promise<T> {
    const { signal } = options
    if (signal?.aborted) throw abortedError(operation, signal.reason)
    let lookup = this.#waiting.get(key)
    if (lookup === undefined) {
      const begun = new SharedLookup(call, () => {
        if (this.#waiting.get(key) === begun) this.#waiting.delete(key)
      })
      this.#waiting.set(key, begun)
      lookup = begun
    }
    return (await lookup.join(operation, options)) as T
  }
}

class SharedLookup {
  readonly #call: LookupCall<unknown>
  readonly #close: () => void
  readonly #answer = Promise.withResolvers<unknown>()
  #attempt: AbortController | null = null
  #priority = Number.POSITIVE_INFINITY
  #callers = 0

  /** @param close called when it must not be joined any more */
  constructor(call: LookupCall<unknown>, close: () => void) {
    this.#call = call
    this.#close = close
  }

  async join(
    operation: string,
    { priority = DEFAULT_PRIORITY, signal, onCall }: CallOptions,
  ): Promise<unknown> {
    this.#callers += 1
    // It gives up its place for one further ahead: it has not been sent, so nothing is lost.
    if (priority < this.#priority) this.#begin(priority, onCall)
    if (signal === undefined) return this.#answer.promise
    const left = Promise.withResolvers<never>()
    const leave = () => {
      this.#callers -= 1
      if (this.#callers > 0) return left.reject(abortedError(operation, signal.reason))
      // Nobody waits any more. The call tells how far it had come.
      this.#close()
      this.#attempt?.abort(signal.reason)
    }
    signal.addEventListener('abort', leave, { once: true })
    try {
      return await Promise.race([this.#answer.promise, left.promise])
    } finally {
      signal.removeEventListener('abort', leave)
    }
  }

  /** @param onCall of the caller whose place in the line it takes: an exchange counts once */
  #begin(priority: number, onCall: CallOptions['onCall']): void {
    this.#attempt?.abort()
    const attempt = new AbortController()
    this.#attempt = attempt
    this.#priority = priority
    const isCurrent = () => this.#attempt === attempt
    const sending = () => {
      if (isCurrent()) this.#close()
    }
    const end = (settle: () => void) => {
      if (!isCurrent()) return
      this.#close()
      settle()
    }
    this.#call({ priority, signal: attempt.signal, ...(onCall ? { onCall } : {}) }, sending).then(
      answer => end(() => this.#answer.resolve(answer)),
      error => end(() => this.#answer.reject(error)),
    )
  }
}
