import { addAbortListener } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'

/** Ways to wait: up to a timeout, until aborted, or in line for one of a few permits. */

/** Longest delay of a Node timer, which takes a longer one for 1 ms. */
export const LONGEST_TIMER_MS = 2_147_483_647

/**
 * The outcome of `promise`, or a rejection when it takes longer than `ms`. A later outcome is ignored.
 * @param late makes the error of the rejection
 */
export async function within<T>(
  ms: number,
  promise: Promise<T>,
  late: () => Error = () => new Error(`no answer within ${ms} ms`),
): Promise<T> {
  const deadline = Promise.withResolvers<never>()
  const timer = setTimeout(() => deadline.reject(late()), ms)
  try {
    return await Promise.race([promise, deadline.promise])
  } finally {
    clearTimeout(timer)
  }
}

/**
 * The outcome of `promise`, or a rejection when the signal aborts first.
 * @param gaveUp makes the error of the rejection from the signal's reason; default: that reason
 */
export async function unlessAborted<T>(
  promise: Promise<T>,
  signal: AbortSignal | undefined,
  gaveUp: (reason: unknown) => unknown = reason => reason,
): Promise<T> {
  if (signal === undefined) return promise
  const aborted = Promise.withResolvers<never>()
  using _listening = addAbortListener(signal, () => aborted.reject(gaveUp(signal.reason)))
  return await Promise.race([promise, aborted.promise])
}

/** Waits for this long, or until the signal aborts. */
export async function rest(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => undefined)
}

/** Waits for this long, or until `woken` resolves, which holds something of each pause until it does. */
export async function pause(ms: number, woken: Promise<void>): Promise<void> {
  const timer = Promise.withResolvers<void>()
  const timeout = setTimeout(timer.resolve, ms)
  await Promise.race([timer.promise, woken])
  clearTimeout(timeout)
}

/** A number of permits. Callers wait in line for a free one, lower priority numbers first. */
export class Semaphore {
  readonly #line = new WaitingLine<{ admit: () => void; count: number }>()
  #permits: number
  #taken = 0

  constructor(permits: number) {
    this.#permits = permits
  }

  /** Permits that are taken keep their holders when there are fewer from now on. */
  setPermits(permits: number): void {
    this.#permits = permits
    this.#handOn()
  }

  /**
   * Takes permits, which the caller has to `release`. Undefined: the caller has them already. Otherwise the promise resolves
   * once it has, and rejects with the signal's reason when that aborts first.
   * @param count whoever needs several has them as soon as one is free, so that nobody waits for many at once; default: 1
   */
  acquire(priority: number, signal: AbortSignal, count = 1): Promise<void> | undefined {
    if (signal.aborted) return Promise.reject(signal.reason)
    if (this.#taken >= this.#permits) return this.#wait(priority, signal, count)
    this.#taken += count
    return undefined
  }

  /** Returns a permit, which goes to the first in line. */
  release(): void {
    this.#taken -= 1
    this.#handOn()
  }

  async #wait(priority: number, signal: AbortSignal, count: number): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const waiter = { admit: resolve, count }
    using _listening = addAbortListener(signal, () => {
      this.#line.remove(waiter)
      reject(signal.reason)
    })
    this.#line.add(waiter, priority)
    await promise
  }

  #handOn(): void {
    while (this.#taken < this.#permits) {
      const next = this.#line.shift()
      if (next === undefined) return
      this.#taken += next.count
      next.admit()
    }
  }
}

/** Every tenth turn goes to the longest waiter, so that low priorities are never starved. */
const FAIR_TURN = 10

/** A line of waiting items: lower priority numbers first; within one priority, first come, first served. */
export class WaitingLine<T> {
  /** Sorted by priority. Each item has its arrival number. There are few priorities and many items. */
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

  remove(item: T): void {
    for (const lane of this.#lanes) {
      if (lane.items.delete(item)) {
        this.#size -= 1
        return
      }
    }
  }

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
