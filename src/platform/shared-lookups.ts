import { DEFAULT_PRIORITY } from '../pacing/pacer.ts'
import { abortedError, type CallOptions } from './caller.ts'

/** Makes the call of a look-up, and tells through `sending` when it is about to be sent. */
type LookupCall<T> = (options: CallOptions, sending: () => void) => Promise<T>

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
  ask<T>(operation: string, key: string, options: CallOptions, call: LookupCall<T>): Promise<T> {
    const { signal } = options
    if (signal?.aborted) return Promise.reject(abortedError(operation, signal.reason))
    let lookup = this.#waiting.get(key)
    if (lookup === undefined) {
      const begun = new SharedLookup(operation, call, () => {
        if (this.#waiting.get(key) === begun) this.#waiting.delete(key)
      })
      this.#waiting.set(key, begun)
      lookup = begun
    }
    return lookup.join(options) as Promise<T>
  }
}

/** Whoever waits for the answer. */
interface Caller {
  resolve(answer: unknown): void
  reject(error: unknown): void
}

class SharedLookup {
  readonly #operation: string
  readonly #call: LookupCall<unknown>
  readonly #close: () => void
  readonly #callers = new Set<Caller>()
  #attempt: AbortController | null = null
  #priority = Number.POSITIVE_INFINITY

  /** @param close called when it must not be joined any more */
  constructor(operation: string, call: LookupCall<unknown>, close: () => void) {
    this.#operation = operation
    this.#call = call
    this.#close = close
  }

  join({ priority = DEFAULT_PRIORITY, signal, onCall }: CallOptions): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#callers.add(signal ? this.#untilAborted(signal, { resolve, reject }) : { resolve, reject })
      // It gives up its place for one further ahead: it has not been sent, so nothing is lost.
      if (priority < this.#priority) this.#begin(priority, onCall)
    })
  }

  /** A caller who leaves when its signal aborts. */
  #untilAborted(signal: AbortSignal, { resolve, reject }: Caller): Caller {
    const caller: Caller = {
      resolve(answer) {
        signal.removeEventListener('abort', leave)
        resolve(answer)
      },
      reject(error) {
        signal.removeEventListener('abort', leave)
        reject(error)
      },
    }
    const leave = () => {
      if (this.#callers.size > 1) {
        this.#callers.delete(caller)
        return reject(abortedError(this.#operation, signal.reason))
      }
      // Nobody else waits. The call tells how far it had come.
      this.#close()
      this.#attempt?.abort(signal.reason)
    }
    signal.addEventListener('abort', leave, { once: true })
    return caller
  }

  /** @param onCall of the caller whose place in the line it takes: an exchange counts once */
  #begin(priority: number, onCall: CallOptions['onCall']): void {
    this.#attempt?.abort()
    const attempt = new AbortController()
    this.#attempt = attempt
    this.#priority = priority
    const sending = () => {
      if (this.#attempt === attempt) this.#close()
    }
    this.#call({ priority, signal: attempt.signal, ...(onCall ? { onCall } : {}) }, sending).then(
      answer => this.#end(attempt, caller => caller.resolve(answer)),
      error => this.#end(attempt, caller => caller.reject(error)),
    )
  }

  #end(attempt: AbortController, settle: (caller: Caller) => void): void {
    if (this.#attempt !== attempt) return
    this.#close()
    for (const caller of this.#callers) settle(caller)
  }
}
