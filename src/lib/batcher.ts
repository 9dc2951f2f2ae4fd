interface Waiter<Item, Answer> {
  item: Item
  resolve: (answer: Answer) => void
  reject: (reason: unknown) => void
}

/**
 * Groups single requests into batches. Items submitted within one turn of the event loop, or while a batch is in flight, go out
 * together; at most one batch is in flight at a time. Equal items are not deduplicated.
 */
export class Batcher<Item, Answer> {
  readonly #run: (items: Item[]) => Promise<Answer[]>
  readonly #maxBatch: number
  #waiting: Waiter<Item, Answer>[] = []
  #running = false

  /**
   * @param run processes a batch; it gives one answer per item, in the order of the items
   * @param options.maxBatch the most items handed to one `run`; larger batches are split and run one after the other
   */
  constructor(run: (items: Item[]) => Promise<Answer[]>, options: { maxBatch: number }) {
    this.#run = run
    this.#maxBatch = options.maxBatch
  }

  /** Adds an item to the next batch. Rejects with whatever its batch rejected with. */
  submit(item: Item): Promise<Answer> {
    return new Promise<Answer>((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject })
      if (this.#running) return
      this.#running = true
      setImmediate(() => void this.#drain())
    })
  }

  async #drain(): Promise<void> {
    while (this.#waiting.length > 0) await this.#carryOut(this.#waiting.splice(0, this.#maxBatch))
    this.#running = false
  }

  /** Never rejects: every outcome goes to the waiters. */
  async #carryOut(group: Waiter<Item, Answer>[]): Promise<void> {
    try {
      const answers = await this.#run(group.map(({ item }) => item))
      if (answers.length !== group.length)
        throw new Error(`a batch of ${group.length} items was answered with ${answers.length} answers`)
      for (const [index, { resolve }] of group.entries()) resolve(answers[index] as Answer)
    } catch (error) {
      for (const { reject } of group) reject(error)
    }
  }
}
