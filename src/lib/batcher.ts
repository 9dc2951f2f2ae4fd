interface Waiter<K, V> {
  key: K
  resolve: (value: V) => void
  reject: (reason: unknown) => void
}

/**
 * Turns many single loads into few grouped ones. Keys asked for within one turn of the event loop, or while a
 * batch is under way, are loaded together by one call; at most one call is under way at a time.
 *
 * @typeParam K what is asked for; not deduplicated: equal keys are handed on as often as they were asked for
 * @typeParam V what comes back for one key
 */
export class Batcher<K, V> {
  readonly #load: (keys: K[]) => Promise<V[]>
  readonly #maxBatch: number
  #waiting: Waiter<K, V>[] = []
  #running = false

  /**
   * @param load loads a group; its answer has one value per key, in the order of the keys
   * @param options.maxBatch the most keys handed to one `load`; more are loaded one group after the other
   */
  constructor(load: (keys: K[]) => Promise<V[]>, options: { maxBatch: number }) {
    if (!Number.isInteger(options.maxBatch) || options.maxBatch < 1) {
      throw new RangeError('maxBatch must be a positive integer')
    }
    this.#load = load
    this.#maxBatch = options.maxBatch
  }

  /** Loads one key. Rejects with whatever the group's `load` rejected with. */
  load(key: K): Promise<V> {
    return new Promise<V>((resolve, reject) => {
      this.#waiting.push({ key, resolve, reject })
      if (this.#running) return
      this.#running = true
      setImmediate(() => void this.#drain())
    })
  }

  async #drain(): Promise<void> {
    while (this.#waiting.length > 0) {
      const group = this.#waiting.splice(0, this.#maxBatch)
      await this.#run(group)
    }
    this.#running = false
  }

  /** Never rejects: every outcome goes to the waiters. */
  async #run(group: Waiter<K, V>[]): Promise<void> {
    let values: V[]
    try {
      values = await this.#load(group.map(waiter => waiter.key))
      if (values.length !== group.length) {
        throw new Error(`a batch of ${group.length} keys was answered with ${values.length} values`)
      }
    } catch (error) {
      for (const waiter of group) waiter.reject(error)
      return
    }
    for (const [index, waiter] of group.entries()) waiter.resolve(values[index] as V)
  }
}
