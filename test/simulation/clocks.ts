import { currentProcess, type SimulatedProcess } from './schedule.ts'

/** What `Date` says in a simulated process; in all else of this JavaScript process it says what it always does. */
class Clocks {
  /** Milliseconds by which PostgreSQL's clock is ahead: it alone cannot be moved, so all others are. */
  database = 0
  /** Milliseconds by which a process's clock is ahead. */
  readonly own = new Map<SimulatedProcess, number>()
  readonly #now = Date.now

  /** What time it is. */
  get now(): number {
    return this.#now() - this.database
  }

  intercept(): void {
    const now = () => {
      const process = currentProcess()
      return process ? this.now + (this.own.get(process) ?? 0) : this.#now()
    }
    globalThis.Date = new Proxy(Date, {
      construct: (real, given, target) =>
        Reflect.construct(real, given.length === 0 ? [now()] : given, target),
      get: (real, name) => (name === 'now' ? now : Reflect.get(real, name)),
    })
  }

  setRight(): void {
    this.database = 0
    this.own.clear()
  }
}

export const clocks = new Clocks()
