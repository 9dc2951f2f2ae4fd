import { randomUUID } from 'node:crypto'
import { performance } from 'node:perf_hooks'
import type { Pool } from 'pg'
import type { Logger } from 'pino'
import {
  type CallOutcome,
  type PaceRequest,
  type Pacer,
  type PacerSnapshot,
  spacingMs,
} from '../core/pacing.ts'
import { PacingGate } from '../core/pacing-gate.ts'
import { PacingShare } from '../core/pacing-share.ts'

/** Longest span of slots that one process reserves at a time. */
const LONGEST_SPAN_MS = 250
/** Span reserved while other processes reserve too but nobody has to wait for it. */
const SHORT_SPAN_MS = 4
/** The next slots are asked for this long before the present ones end, and the store's answering time earlier. */
const LEAD_MS = 25
/** The store is asked at least this often while callers wait, so that a pause is noticed; also how long it may take. */
const CHECK_MS = 1000
/** Longest delay that a timer of Node takes. */
const LONGEST_TIMER_MS = 2_147_483_647

interface LeaseRow {
  start_ms: number
  now_ms: number
  paused_ms: number | null
  shared: boolean
}

/**
 * Reserves the next free slots: never in the past, never within a pause. All processes meet in this one row, so its
 * slots are what the rate permits, whoever uses them. Times are the database's, in milliseconds since 1970.
 */
const LEASE = `
  insert into dirsync.pacer as p (gate, next_at, holder)
  values ('platform', clock_timestamp() + $1 * interval '1 ms', $2)
  on conflict (gate) do update set
    next_at = greatest(p.next_at, clock_timestamp(), p.paused_until) + $1 * interval '1 ms',
    previous_holder = p.holder,
    holder = excluded.holder
  returning extract(epoch from next_at - $1 * interval '1 ms')::float8 * 1000 as start_ms,
            extract(epoch from clock_timestamp())::float8 * 1000 as now_ms,
            extract(epoch from paused_until)::float8 * 1000 as paused_ms,
            coalesce(previous_holder <> holder, false) as shared`

const PAUSE = `
  insert into dirsync.pacer as p (gate, next_at, paused_until, pause_reason)
  values ('platform', clock_timestamp(), clock_timestamp() + $1 * interval '1 ms', $2)
  on conflict (gate) do update set
    pause_reason = case when excluded.paused_until > p.paused_until is not false then excluded.pause_reason else p.pause_reason end,
    paused_until = greatest(p.paused_until, excluded.paused_until)`

/**
 * The pacer that all processes share. Each reserves a run of evenly spaced slots at a time and lets its callers pass on
 * them; a slot that nobody took expires. While the store is away, a process goes on at the share it had.
 */
export class PostgresPacer implements Pacer {
  readonly #ratePerSecond: number
  readonly #pool: Pool
  readonly #spacingMs: number
  readonly #log: Logger | undefined
  readonly #gate: PacingGate
  readonly #me = randomUUID()
  readonly #share = new PacingShare()
  /** Our monotonic time minus the store's, as far as the answers so far tell. */
  #offsetMs: number | null = null
  #roundTripMs = 0
  #spanMs = SHORT_SPAN_MS
  #leasing: Promise<void> | null = null
  #isStoreAway = false
  #askedAt = Number.NEGATIVE_INFINITY
  #check: NodeJS.Timeout | null = null
  #closed = false

  /** @param options.ratePerSecond permitted calls per second, of all processes together */
  constructor(options: { pool: Pool; ratePerSecond: number; logger?: Logger }) {
    this.#pool = options.pool
    this.#ratePerSecond = options.ratePerSecond
    this.#spacingMs = spacingMs(options.ratePerSecond)
    this.#log = options.logger?.child({ component: 'pacer' })
    this.#gate = new PacingGate(
      {
        now: () => performance.now(),
        after: (ms, run) => {
          const timer = setTimeout(run, Math.min(Math.ceil(ms), LONGEST_TIMER_MS))
          return () => clearTimeout(timer)
        },
      },
      () => this.#onWanting(),
    )
  }

  acquire(request: PaceRequest): Promise<void> {
    return this.#gate.acquire(request)
  }

  /** Holds this process at once and the others as soon as they ask for slots, within a second. */
  async pause(ms: number, reason: string): Promise<void> {
    this.#gate.pauseUntil(performance.now() + ms)
    try {
      await this.#pool.query(PAUSE, [ms, reason])
    } catch (error) {
      this.#log?.warn({ err: error, ms }, 'a pause could not be shared with other processes')
    }
  }

  /** Nothing is learnt: the rate is given. */
  observe(_outcome: CallOutcome): void {}

  snapshot(): PacerSnapshot {
    return {
      ratePerSecond: this.#ratePerSecond,
      learnt: false,
      ceiling: null,
      waiting: this.#gate.waiting,
      pausedForMs: Math.max(0, this.#gate.pausedUntil - performance.now()),
      concurrency: null,
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    if (this.#check !== null) clearInterval(this.#check)
    this.#gate.close()
    await this.#leasing
  }

  /** Called for every caller, so it decides with a few comparisons. */
  #onWanting(): void {
    if (this.#leasing !== null || this.#closed) return
    const now = performance.now()
    const waiting = this.#gate.waiting
    if (waiting > 0) this.#check ??= setInterval(() => this.#onCheck(), CHECK_MS)
    if (this.#isProvided(now)) return
    // Where others have to wait for slots, none is reserved in advance.
    if (this.#spanMs === 0 && waiting <= this.#gate.slotsLeft) return
    if (this.#isStoreAway && now - this.#askedAt < CHECK_MS) return
    this.#ask(waiting)
  }

  /** Whether the present slots last beyond the time it takes to get more. */
  #isProvided(now: number): boolean {
    return this.#gate.slotsEnd - now > LEAD_MS + this.#roundTripMs && this.#gate.slotsLeft > 0
  }

  /** Once a second while callers wait: notices pauses, and the store's return. */
  #onCheck(): void {
    if (this.#gate.waiting === 0) {
      if (this.#check !== null) clearInterval(this.#check)
      this.#check = null
    } else if (this.#leasing === null && performance.now() - this.#askedAt >= CHECK_MS - LEAD_MS) {
      this.#ask(this.#gate.waiting)
    }
  }

  #ask(waiting: number): void {
    this.#leasing = this.#lease(waiting).finally(() => {
      this.#leasing = null
      if (this.#gate.waiting > 0) this.#onWanting()
    })
  }

  /** Asks the store for what is missing, at least for what the present span holds; for nothing if nothing is missing. */
  async #lease(waiting: number): Promise<void> {
    const asked = performance.now()
    this.#askedAt = asked
    const most = Math.max(1, Math.floor(LONGEST_SPAN_MS / this.#spacingMs))
    const least = Math.min(most, Math.max(1, Math.floor(this.#spanMs / this.#spacingMs)))
    const count = this.#isProvided(asked)
      ? 0
      : Math.min(most, Math.max(least, waiting - this.#gate.slotsLeft))
    try {
      const lease = await withinCheck(
        this.#pool.query<LeaseRow>(LEASE, [count * this.#spacingMs, this.#me]).then(({ rows }) => rows[0]),
      )
      if (lease !== undefined) this.#take(lease, count, asked)
    } catch (error) {
      this.#goOnAlone(error)
    }
  }

  #take(lease: LeaseRow, count: number, asked: number): void {
    const now = performance.now()
    if (this.#isStoreAway) {
      this.#isStoreAway = false
      this.#gate.revoke() // what we granted ourselves is not known to the others
      this.#log?.info('slots are shared with other processes again')
    }
    this.#roundTripMs = now - asked
    // The true offset lies between these two; what was learnt before is kept as far as it fits.
    this.#offsetMs = Math.min(
      Math.max(this.#offsetMs ?? now - lease.now_ms, asked - lease.now_ms),
      now - lease.now_ms,
    )
    if (lease.paused_ms !== null) this.#gate.pauseUntil(lease.paused_ms + this.#offsetMs)
    if (count === 0) return
    const isQueued = lease.start_ms - lease.now_ms > SHORT_SPAN_MS / 2
    if (lease.shared) this.#spanMs = isQueued ? 0 : SHORT_SPAN_MS
    else this.#spanMs = Math.min(LONGEST_SPAN_MS, Math.max(SHORT_SPAN_MS, this.#spanMs * 2))
    const start = lease.start_ms + this.#offsetMs
    this.#share.note(start, count)
    this.#gate.grant(start, this.#spacingMs, count)
  }

  /** The store did not answer: a second's worth of slots at the share that this process had, never more. */
  #goOnAlone(error: unknown): void {
    if (this.#closed) return
    if (!this.#isStoreAway) {
      this.#isStoreAway = true
      this.#log?.warn({ err: error }, 'the store is away: calls go on at the share this process had')
    }
    const now = performance.now()
    const perSecond = this.#share.perSecond()
    if (perSecond === 0 || this.#gate.slotsEnd > now + CHECK_MS) return
    const spacing = Math.max(1000 / perSecond, this.#spacingMs)
    this.#gate.grant(now, spacing, Math.max(1, Math.floor(CHECK_MS / spacing)))
  }
}

/** A store that does not answer in time counts as away; an answer that comes later is not used, its slots expire. */
async function withinCheck<T>(answer: Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error(`no answer within ${CHECK_MS} ms`)), CHECK_MS)
  try {
    return await Promise.race([answer, late])
  } finally {
    clearTimeout(timer)
  }
}
