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

/** The log of calls in the order in which they ended: append-only, a ring of the last `CALL_LOG_SIZE`. */
export class CallLog {
  #ring: CallRecord[] = []
  #lastId = 0

  add(call: Omit<CallRecord, 'id'>): void {
    this.#lastId += 1
    this.#ring[(this.#lastId - 1) % CALL_LOG_SIZE] = { id: this.#lastId, ...call }
  }

  get lastId(): number {
    return this.#lastId
  }

  /** Calls with an id above `since`, oldest first, at most `limit` of them. */
  list(query: { since: number; limit: number; operation?: string | undefined }): CallRecord[] {
    const calls: CallRecord[] = []
    const oldest = Math.max(query.since, this.#lastId - this.#ring.length) + 1
    for (let id = oldest; id <= this.#lastId && calls.length < query.limit; id += 1) {
      const call = this.#ring[(id - 1) % CALL_LOG_SIZE]
      if (call && (query.operation === undefined || call.operation === query.operation)) calls.push(call)
    }
    return calls
  }

  /** Forgets the calls; ids go on counting, so that a reader's `since` stays right. */
  clear(): void {
    this.#ring = []
  }
}

/** The parameters of a call as the log may keep them. */
export function loggedParameters(parameters: ReadonlyMap<string, unknown>): Record<string, unknown> {
  const logged: [string, unknown][] = []
  for (const [name, value] of parameters) {
    if (logged.length === MAX_LOGGED_PARAMETERS) break
    if (!SECRET_PARAMETERS.has(name)) logged.push([cut(name) as string, cut(value)])
  }
  return Object.fromEntries(logged)
}

function cut(value: unknown): unknown {
  if (typeof value === 'object' && value !== null) return cut(JSON.stringify(value))
  if (typeof value !== 'string' || value.length <= MAX_LOGGED_VALUE) return value
  return `${value.slice(0, MAX_LOGGED_VALUE)}… (${value.length} characters)`
}
