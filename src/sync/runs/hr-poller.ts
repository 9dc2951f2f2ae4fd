import type { HrSource } from '../../hr/source.ts'
import type { SourceScope } from '../../hr/sources.ts'
import { type ChangedRow, MOST_CHANGED } from '../../hr/updated-times.ts'
import type { Pool } from '../../lib/database.ts'
import type { Logger } from '../../lib/logger.ts'
import type { SessionLocks } from '../../lib/session-locks.ts'
import { Trouble } from '../../lib/trouble.ts'
import { rest } from '../../lib/waiting.ts'
import { WATERMARK_OVERLAP_MS, watermark } from './earlier-runs.ts'
import type { HrChanges } from './run-requests.ts'
import { areInForce } from './sources.ts'

/** Held by the one process of a deployment that polls a source; the others stand by. */
const LOCK = 'hr poller'
const STANDBY_MS = 2000
/** HR is read for at most this share of the time, however short the interval. */
const READING_SHARE = 0.1
/** Delay while there is no plan to start from, or no usable mapping; at most this many intervals. */
const NOTHING_TO_LOOK_FOR_MS = 5000
const NOTHING_TO_LOOK_FOR_INTERVALS = 5

interface HrPollerOptions {
  pool: Pool
  hr: Pick<HrSource, 'changedSince' | 'delivery'>
  /** The polled source. */
  scope: SourceScope
  changes: Pick<HrChanges, 'changed'>
  locks: SessionLocks
  /** Polling interval. */
  everyMs: number
  logger: Logger
}

/**
 * Polls HR without a trigger for rows newer than those seen, and names them as a trigger would. Every poll reads the rows of
 * the last minutes, by `updated_at`; without new ones it requests nothing. For HR in files it looks for another delivery, in
 * which any row may be new.
 */
export class HrPoller {
  readonly #options: HrPollerOptions
  readonly #trouble: Trouble
  readonly #stopping = new AbortController()
  #working: Promise<void> | undefined
  /** Whether it has requested a plan to start from. */
  #hasAsked = false
  /** Whether rows without a time are too many to be read. */
  #datedOnly = false
  /** The delivery for which it has requested a plan. */
  #delivery: string | null = null

  constructor(options: HrPollerOptions) {
    this.#options = options
    this.#trouble = new Trouble(options.logger, 'looking at HR for newer rows')
  }

  start(): void {
    this.#working = this.#work()
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#working
  }

  async #work(): Promise<void> {
    const { locks, scope } = this.#options
    const lock = scope.name === '' ? LOCK : `${LOCK} ${scope.name}`
    const { signal: stopping } = this.#stopping
    while (!stopping.aborted) {
      // Without the database there is no lock; other parts report that.
      const held = (await this.#isInForce().catch(() => false))
        ? await locks.lock(lock, stopping).catch(() => null)
        : null
      if (held !== null) {
        await this.#lookRepeatedly(held)
        await locks.unlock(lock).catch(() => undefined) // lost with its connection
      }
      await rest(STANDBY_MS, stopping)
    }
  }

  /** If not, a process started since does the polling. */
  #isInForce(): Promise<boolean> {
    const { pool, scope } = this.#options
    return areInForce(pool, { all: [scope] }, scope.name)
  }

  async #lookRepeatedly(held: AbortSignal): Promise<void> {
    const seen = new SeenRows()
    while (!held.aborted) {
      const begun = performance.now()
      let pause = this.#options.everyMs
      try {
        if (!(await this.#isInForce())) return
        if (!(await this.#look(seen)))
          pause = Math.max(pause, Math.min(NOTHING_TO_LOOK_FOR_MS, pause * NOTHING_TO_LOOK_FOR_INTERVALS))
        this.#trouble.works()
      } catch (error) {
        // Cron jobs find changes all the same.
        this.#trouble.report(error)
      }
      const took = performance.now() - begun
      await rest(Math.max(pause, took * (1 / READING_SHARE - 1)), held)
    }
  }

  /** Whether polling is possible: the mapping has `updated_at`, and a plan has seen how recent HR is. */
  async #look(seen: SeenRows): Promise<boolean> {
    const { pool, hr, scope, changes } = this.#options
    const delivery = await hr.delivery()
    if (delivery !== undefined) {
      const { stamp } = delivery
      // While none is complete, the cron job says so.
      if (stamp !== null && stamp !== this.#delivery) changes.changed(null)
      this.#delivery = stamp ?? this.#delivery
      return true
    }
    const now = new Date()
    const since = seen.since(now) ?? beforehand(await watermark(pool, scope))
    let rows = await hr.changedSince(since ?? now, this.#datedOnly)
    if (!this.#datedOnly && rows !== null && rows.length > MOST_CHANGED) {
      // Perhaps most rows have no time at all: those are left to runs.
      this.#datedOnly = true
      rows = await hr.changedSince(since ?? now, true)
    }
    if (rows === null) return false
    if (since === null) {
      // Such a plan also covers whatever came by then.
      if (!this.#hasAsked) changes.changed(null)
      this.#hasAsked = true
      return false
    }
    const unseen = seen.unseen(rows, now)
    if (unseen === 'too many') changes.changed(null)
    else if (unseen.length > 0) changes.changed(unseen)
    return true
  }
}

/** The rows of the last poll. */
export class SeenRows {
  #rows = new Map<string, string>()
  /** The newest `updated_at` that is not in the future, by HR's clock, which may be hours behind ours. */
  #newest: number | null = null
  /** Set when too many rows were new to be checked one by one: a lower bound of HR's clock, and our time then. */
  #floor: { hr: number; at: number } | null = null

  /**
   * Where to read from: a transaction may commit later than it wrote, and a row from the future must not hide the present. Null
   * until a row has shown HR's time.
   */
  since(now: Date): Date | null {
    const floor = this.#floorAt(now)
    if (this.#newest === null && floor === null) return null
    return beforehand(new Date(Math.max(this.#newest ?? 0, floor ?? 0)))
  }

  /** User ids of rows that are new or different since the last poll. */
  unseen(rows: readonly ChangedRow[], now: Date): string[] | 'too many' {
    const newest = rows.reduce<number | null>((latest, { updatedAt }) => {
      const time = updatedAt.getTime()
      return time <= now.getTime() && (latest === null || time > latest) ? time : latest
    }, null)
    if (rows.length > MOST_CHANGED) {
      const floor = Math.max(newest ?? now.getTime(), this.#floorAt(now) ?? Number.NEGATIVE_INFINITY)
      this.#floor = { hr: floor, at: now.getTime() }
      return 'too many'
    }
    const before = this.#rows
    this.#rows = new Map(rows.map(({ key, hash }) => [key, hash]))
    if (newest !== null && newest > (this.#newest ?? Number.NEGATIVE_INFINITY)) this.#newest = newest
    const unseen = rows.filter(({ key, hash }) => before.get(key) !== hash)
    return [...new Set(unseen.map(({ userid }) => userid))]
  }

  /** HR's clock has advanced as ours has. */
  #floorAt(now: Date): number | null {
    return this.#floor && this.#floor.hr + now.getTime() - this.#floor.at
  }
}

function beforehand(newest: Date): Date
function beforehand(newest: Date | null): Date | null
function beforehand(newest: Date | null): Date | null {
  return newest && new Date(newest.getTime() - WATERMARK_OVERLAP_MS)
}
