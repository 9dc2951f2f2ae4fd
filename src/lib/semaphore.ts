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

/** Every so many turns are not the first in line's but go to whoever waits longest, so that nobody waits for ever. */
const FAIR_TURN = 10

/** A line of waiting items: lower priority numbers first, within one priority first come, first served. */
export class WaitingLine<T> {
  /** Sorted by priority, items with their number in the order they came. There are few priorities and many items. */
  readonly #lanes: { priority: number; items: Map<T, number> }[] = []
  #size = 0
  #came = 0
  #turns = 0

  get size(): number {
    return this.#size
  }

  add(item: T, priority: number): void {
    let index = this.#lanes.findIndex(lane => lane.priority >= priority)
    if (index === -1) index = this.#lanes.length
    let lane = this.#lanes[index]
    if (lane?.priority !== priority) {
      lane = { priority, items: new Map() }
      this.#lanes.splice(index, 0, lane)
    }
    this.#came += 1
    lane.items.set(item, this.#came)
    this.#size += 1
  }

  /** Takes an item out of the line, wherever it stands. */
  remove(item: T): void {
    for (const lane of this.#lanes) {
      if (lane.items.delete(item)) {
        this.#size -= 1
        return
      }
    }
  }

  /** Takes the next item. */
  shift(): T | undefined {
    if (this.#size === 0) return undefined
    this.#turns += 1
    const isFair = this.#turns % FAIR_TURN === 0
    let next: { item: T; came: number } | undefined
    for (const { items } of this.#lanes) {
      for (const [item, came] of items) {
        if (next === undefined || came < next.came) next = { item, came }
        break
      }
      if (next !== undefined && !isFair) break
    }
    if (next !== undefined) this.remove(next.item)
    return next?.item
  }
}
