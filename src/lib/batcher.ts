import { setImmediate } from 'node:timers/promises'
import { pause } from './waiting.ts'

interface Waiter<Item, Answer> {
  item: Item
  resolve: (answer: Answer) => void
  reject: (reason: unknown) => void
}

/**
 * Groups single requests into batches. Items submitted within one turn of the event loop, while a batch is in flight, or within
 * `lingerMs`, go out together; at most one batch is in flight at a time. Equal items are not deduplicated.
 */
export class Batcher<Item, Answer> {
  readonly #run: (items: Item[]) => Promise<Answer[]>
  readonly #maxBatch: number
  readonly #lingerMs: number
  #waiting: Waiter<Item, Answer>[] = []
  #running = false
  #isHurried = false
  #leave = () => {}

  /**
   * @param run processes a batch; it gives one answer per item, in the order of the items
   * @param options.maxBatch the most items handed to one `run`; larger batches are split and run one after the other
   * @param options.lingerMs how long an item may wait for others, unless they fill a batch or `flush` is called; default: not
   */
  constructor(run: (items: Item[]) => Promise<Answer[]>, options: { maxBatch: number; lingerMs?: number }) {
    this.#run = run
    this.#maxBatch = options.maxBatch
    this.#lingerMs = options.lingerMs ?? 0
  }

  /** Adds an item to the next batch. Rejects with whatever its batch rejected with. */
  submit(item: Item): Promise<Answer> {
    return new Promise<Answer>((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject })
      if (this.#waiting.length >= this.#maxBatch) this.flush()
      if (this.#running) return
      this.#running = true
      void this.#drain()
    })
  }

  /** Has what waits go out without waiting for more. */
  flush(): void {
    this.#isHurried = true
    this.#leave()
  }

  async #drain(): Promise<void> {
    while (this.#waiting.length > 0) {
      await this.#linger()
      this.#isHurried = false
      await this.#carryOut(this.#waiting.splice(0, this.#maxBatch))
    }
    this.#running = false
  }

  async #linger(): Promise<void> {
    if (this.#lingerMs === 0 || this.#isHurried) return setImmediate()
    const enough = Promise.withResolvers<void>()
    this.#leave = enough.resolve
    await pause(this.#lingerMs, enough.promise)
    this.#leave = () => {}
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
