import type { Pool } from '../lib/database.ts'
import type { Logger } from '../lib/logger.ts'

/** How often to write the counts. */
const FLUSH_MS = 2000
/** The current rate is measured over this many seconds. */
const RECENT_SECONDS = 10

/** One exchange with the platform, as its client reports it. */
interface CountedCall {
  operation: string
  durationMs: number
  waitedMs: number
  rateLimited: boolean
  /** 0 is success. */
  code: number | string
}

const NONE = { calls: 0, rateLimited: 0, failed: 0, waitedMs: 0, longestWaitMs: 0, durationMs: 0 }
type Counts = typeof NONE

/**
 * Counts the calls of this process and adds them to `dirsync.call_minute`, with one statement every two seconds unless there
 * were none. While the database is away they are kept; a process that is killed loses its last two seconds.
 */
export class CallCounter {
  readonly #pool: Pool
  readonly #log: Logger
  #counts = new Map<string, Counts>()
  /** Calls by second, while they count as recent. */
  readonly #recent = new Map<number, number>()
  #timer: NodeJS.Timeout | undefined
  #writing: Promise<void> = Promise.resolve()

  constructor(pool: Pool, logger: Logger) {
    this.#pool = pool
    this.#log = logger
  }

  /** Fits `onCall` of the platform client. */
  readonly count = (call: CountedCall): void => {
    this.#noteRecent()
    const waitedMs = Math.round(call.waitedMs)
    this.#add(call.operation, {
      calls: 1,
      rateLimited: call.rateLimited ? 1 : 0,
      failed: call.code === 0 ? 0 : 1,
      waitedMs,
      longestWaitMs: waitedMs,
      durationMs: Math.round(call.durationMs),
    })
    this.#timer ??= setTimeout(() => this.#flush(), FLUSH_MS).unref()
  }

  /** Calls per second of this process over the last ten seconds. */
  get perSecond(): number {
    const now = presentSecond()
    let calls = 0
    for (let second = now - RECENT_SECONDS; second < now; second += 1) calls += this.#recent.get(second) ?? 0
    return calls / RECENT_SECONDS
  }

  /** Writes what is left. Idempotent. */
  close(): Promise<void> {
    this.#flush()
    return this.#writing
  }

  #noteRecent(): void {
    const now = presentSecond()
    this.#recent.set(now, (this.#recent.get(now) ?? 0) + 1)
    for (const second of this.#recent.keys()) {
      if (second >= now - RECENT_SECONDS) break
      this.#recent.delete(second)
    }
  }

  #add(operation: string, more: Counts): void {
    const counts = this.#counts.get(operation) ?? NONE
    this.#counts.set(operation, {
      calls: counts.calls + more.calls,
      rateLimited: counts.rateLimited + more.rateLimited,
      failed: counts.failed + more.failed,
      waitedMs: counts.waitedMs + more.waitedMs,
      longestWaitMs: Math.max(counts.longestWaitMs, more.longestWaitMs),
      durationMs: counts.durationMs + more.durationMs,
    })
  }

  #flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#writing = this.#writing.then(() => this.#write())
  }

  async #write(): Promise<void> {
    if (this.#counts.size === 0) return
    const counts = this.#counts
    this.#counts = new Map()
    const rows = [...counts].map(([operation, row]) => ({ operation, ...row }))
    try {
      await this.#pool.query(WRITE, [JSON.stringify(rows)])
    } catch (error) {
      for (const [operation, row] of counts) this.#add(operation, row)
      this.#log.debug({ error }, 'calls could not be written down; they are kept')
    }
  }
}

function presentSecond(): number {
  return Math.floor(performance.now() / 1000)
}

/** Sorted, so that two processes never deadlock. */
const WRITE = `
  insert into dirsync.call_minute as m
    (minute, operation, calls, rate_limited, failed, waited_ms, longest_wait_ms, duration_ms)
  select date_trunc('minute', now()), operation, calls, "rateLimited", failed, "waitedMs", "longestWaitMs", "durationMs"
  from jsonb_to_recordset($1) as c (operation text, calls int, "rateLimited" int, failed int, "waitedMs" bigint,
                                    "longestWaitMs" int, "durationMs" bigint)
  order by operation
  on conflict (minute, operation) do update set
    calls = m.calls + excluded.calls, rate_limited = m.rate_limited + excluded.rate_limited,
    failed = m.failed + excluded.failed, waited_ms = m.waited_ms + excluded.waited_ms,
    longest_wait_ms = greatest(m.longest_wait_ms, excluded.longest_wait_ms),
    duration_ms = m.duration_ms + excluded.duration_ms`
