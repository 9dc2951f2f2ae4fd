interface Lease {
  /** Time of the next unused slot. */
  at: number
  spacingMs: number
  /** Slots left; may be infinite. */
  left: number
}

/**
 * Moments at which one call each may leave, in order of time.
 * A slot is used at its time or later, never before; a slot that nobody wanted expires and is not made up for.
 * All times are milliseconds of one clock, which the caller knows and this class does not.
 */
export class SlotSchedule {
  #leases: Lease[] = []
  #end = Number.NEGATIVE_INFINITY

  /**
   * Adds evenly spaced slots. They never overlap what was added before: a start that lies too early is moved.
   * @param count number of slots; `Infinity` for a schedule that never ends
   */
  add(start: number, spacingMs: number, count: number): void {
    if (count <= 0) return
    const at = Math.max(start, this.#end)
    this.#leases.push({ at, spacingMs, left: count })
    this.#end = at + spacingMs * count
  }

  /** Drops the slots whose time is before `time`. */
  expireBefore(time: number): void {
    for (let lease = this.#leases[0]; lease !== undefined; lease = this.#leases[0]) {
      if (lease.at >= time) return
      const late = Math.min(lease.left, Math.ceil((time - lease.at) / lease.spacingMs))
      lease.at += late * lease.spacingMs
      lease.left -= late
      if (lease.left > 0) return
      this.#leases.shift()
    }
  }

  /** Uses the earliest slot if it is due; returns its time, null if none is. */
  take(now: number): number | null {
    const lease = this.#leases[0]
    if (lease === undefined || lease.at > now) return null
    const { at } = lease
    lease.at += lease.spacingMs
    lease.left -= 1
    if (lease.left <= 0) this.#leases.shift()
    return at
  }

  /** Drops all slots; what is added next may start at any time. */
  clear(): void {
    this.#leases = []
    this.#end = Number.NEGATIVE_INFINITY
  }

  /** Time of the earliest slot, `Infinity` without any. */
  get nextAt(): number {
    return this.#leases[0]?.at ?? Number.POSITIVE_INFINITY
  }

  /** When the last slot's turn is over, `-Infinity` before the first was added. */
  get end(): number {
    return this.#end
  }

  /** Number of unused slots. */
  get left(): number {
    let left = 0
    for (const lease of this.#leases) left += lease.left
    return left
  }
}
