/** A line of waiting items: lower priority numbers first, within one priority first come, first served. */
export class WaitingLine<T> {
  /** Sorted by priority. There are few priorities and many items. */
  readonly #lanes: { priority: number; items: Set<T> }[] = []
  #size = 0

  get size(): number {
    return this.#size
  }

  add(item: T, priority: number): void {
    let index = this.#lanes.findIndex(lane => lane.priority >= priority)
    if (index === -1) index = this.#lanes.length
    let lane = this.#lanes[index]
    if (lane?.priority !== priority) {
      lane = { priority, items: new Set() }
      this.#lanes.splice(index, 0, lane)
    }
    lane.items.add(item)
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
    for (const lane of this.#lanes) {
      for (const item of lane.items) {
        lane.items.delete(item)
        this.#size -= 1
        return item
      }
    }
    return undefined
  }
}
