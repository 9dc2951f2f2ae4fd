import type { CallRecord } from './call-log.ts'

interface OperationStats {
  calls: number
  /** Calls by the envelope's code. */
  byCode: Record<string, number>
  /** Calls by HTTP status. */
  byHttpStatus: Record<string, number>
  rateLimited: number
  reset: number
  answersLost: number
  abandoned: number
}

/** How many of the employees that had calls at the same time are named. */
const MAX_OVERLAPPING = 100

/** Counters over every call since the start or the last reset. */
export class Stats {
  #operations = new Map<string, OperationStats>()
  #open = new Map<string, number>()
  #openCalls = 0
  #overlapping = new Map<string, number>()
  #maxPerUserid = 0
  #maxOpen = 0
  #second = 0
  #callsInSecond = 0
  #peak = 0

  /**
   * Notes a call that has arrived. The function returned notes its end, and may be called more than once.
   * `employee` is the key of the employee the call names, undefined for a call that names none.
   */
  begin(employee: string | undefined): () => void {
    this.#countSecond()
    this.#openCalls += 1
    this.#maxOpen = Math.max(this.#maxOpen, this.#openCalls)
    if (employee !== undefined) this.#enter(employee)
    let ended = false
    return () => {
      if (ended) return
      ended = true
      this.#openCalls -= 1
      if (employee !== undefined) this.#leave(employee)
    }
  }

  count(call: Omit<CallRecord, 'id'>): void {
    const stats = this.#of(call.operation)
    stats.calls += 1
    if (call.code !== null) stats.byCode[call.code] = (stats.byCode[call.code] ?? 0) + 1
    if (call.httpStatus !== null) {
      stats.byHttpStatus[call.httpStatus] = (stats.byHttpStatus[call.httpStatus] ?? 0) + 1
    }
    if (call.end === 'rate-limited') stats.rateLimited += 1
    if (call.end === 'reset') stats.reset += 1
    if (call.end === 'answer-lost') stats.answersLost += 1
    if (call.end === 'abandoned') stats.abandoned += 1
  }

  snapshot() {
    const operations = Object.fromEntries(this.#operations)
    return {
      calls: Object.values(operations).reduce((sum, { calls }) => sum + calls, 0),
      callsPerSecondPeak: Math.max(this.#peak, this.#callsInSecond),
      maxConcurrent: this.#maxOpen,
      maxConcurrentPerUserid: this.#maxPerUserid,
      overlappingUserids: [...this.#overlapping].map(([employee, concurrent]) => {
        const [enterprise_code, userid] = JSON.parse(employee)
        return { enterprise_code, userid, concurrent }
      }),
      operations,
    }
  }

  /** Starts the counters over; calls that are under way stay under way. */
  clear(): void {
    this.#operations.clear()
    this.#overlapping.clear()
    this.#maxPerUserid = 0
    this.#maxOpen = 0
    this.#callsInSecond = 0
    this.#peak = 0
  }

  #enter(employee: string): void {
    const open = (this.#open.get(employee) ?? 0) + 1
    this.#open.set(employee, open)
    this.#maxPerUserid = Math.max(this.#maxPerUserid, open)
    const noted = this.#overlapping.get(employee) ?? 1
    if (open > noted && (noted > 1 || this.#overlapping.size < MAX_OVERLAPPING)) {
      this.#overlapping.set(employee, open)
    }
  }

  #leave(employee: string): void {
    const open = (this.#open.get(employee) ?? 1) - 1
    if (open === 0) this.#open.delete(employee)
    else this.#open.set(employee, open)
  }

  #countSecond(): void {
    const second = Math.floor(performance.now() / 1000)
    if (second !== this.#second) {
      this.#peak = Math.max(this.#peak, this.#callsInSecond)
      this.#second = second
      this.#callsInSecond = 0
    }
    this.#callsInSecond += 1
  }

  #of(operation: string): OperationStats {
    let stats = this.#operations.get(operation)
    if (stats === undefined) {
      stats = {
        calls: 0,
        byCode: {},
        byHttpStatus: {},
        rateLimited: 0,
        reset: 0,
        answersLost: 0,
        abandoned: 0,
      }
      this.#operations.set(operation, stats)
    }
    return stats
  }
}
