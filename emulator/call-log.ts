/** How a call ended, as its caller saw it. */
export type CallEnd = 'answered' | 'rate-limited' | 'reset' | 'answer-lost' | 'abandoned'

/** One call, as `GET /_emulator/calls` shows it. */
export interface CallRecord {
  id: number
  /** The platform's time of the call's arrival, ISO 8601. */
  at: string
  operation: string
  /** Without access_token and sign; long values are cut. */
  params: Record<string, unknown>
  /** Null when the connection was reset before anything happened. */
  httpStatus: number | null
  /** The envelope's code; null when the answer had none. */
  code: number | null
  end: CallEnd
  /** `Retry-After` of the answer in seconds; absent without one. */
  retryAfter?: number
  traceId: string
  durationMs: number
  /** What the call did beside its answer, for example the employees that a deleted department leaves. */
  effect?: object
}

/** The log keeps the last calls up to this number; the counters of `stats` know of all. */
export const CALL_LOG_SIZE = 50_000

const SECRET_PARAMETERS = new Set(['access_token', 'sign', 'appsecret'])
const MAX_LOGGED_VALUE = 1000
const MAX_LOGGED_PARAMETERS = 50
/** Names and values of a call together; one that exceeds it is the last. */
const MAX_LOGGED_CHARACTERS = 5000

/** The log of calls in the order in which they ended: append-only, a ring of the last `CALL_LOG_SIZE`. */
export class CallLog {
  #ring: CallRecord[] = []
  #lastId = 0
  #clearedId = 0

  add(call: Omit<CallRecord, 'id'>): void {
    this.#lastId += 1
    this.#ring[(this.#lastId - 1) % CALL_LOG_SIZE] = { id: this.#lastId, ...call }
  }

  get lastId(): number {
    return this.#lastId
  }

  /** Id of the first call that is still held, or else of the next one. A reader has missed those between its `since` and this. */
  get oldestId(): number {
    return Math.max(this.#clearedId, this.#lastId - CALL_LOG_SIZE) + 1
  }

  /** Calls with an id above `since`, oldest first, at most `limit` of them. */
  list(query: { since: number; limit: number; operation?: string | undefined }): CallRecord[] {
    const calls: CallRecord[] = []
    for (
      let id = Math.max(query.since + 1, this.oldestId);
      id <= this.#lastId && calls.length < query.limit;
      id += 1
    ) {
      const call = this.#ring[(id - 1) % CALL_LOG_SIZE]
      if (call && (query.operation === undefined || call.operation === query.operation)) calls.push(call)
    }
    return calls
  }

  /** Forgets the calls; ids go on counting, so that a reader's `since` stays right. */
  clear(): void {
    this.#ring = []
    this.#clearedId = this.#lastId
  }
}

/** The parameters of a call as the log may keep them. */
export function loggedParameters(parameters: ReadonlyMap<string, unknown>): Record<string, unknown> {
  const logged: [string, unknown][] = []
  let characters = 0
  for (const [name, value] of parameters) {
    if (logged.length === MAX_LOGGED_PARAMETERS || characters >= MAX_LOGGED_CHARACTERS) break
    if (SECRET_PARAMETERS.has(name)) continue
    const kept = [cut(name) as string, cut(value)] as const
    characters += kept.join('').length
    logged.push([...kept])
  }
  return Object.fromEntries(logged)
}

function cut(value: unknown): unknown {
  if (typeof value === 'object' && value !== null) return cut(JSON.stringify(value))
  if (typeof value !== 'string') return value
  // A copy: V8 keeps the whole text of a request for as long as a part of it.
  const kept = Buffer.from(value.slice(0, MAX_LOGGED_VALUE)).toString()
  return value.length <= MAX_LOGGED_VALUE ? kept : `${kept}… (${value.length} characters)`
}

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
