import { setTimeout as sleep } from 'node:timers/promises'
import { type ChangedRow, MOST_CHANGED } from '../hr/changed-rows.ts'
import type { HrSource } from '../hr/source.ts'
import type { SourceScope } from '../hr/sources.ts'
import type { Pool } from '../lib/database.ts'
import type { Logger } from '../lib/logger.ts'
import type { SessionLocks } from '../lib/session-locks.ts'
import { WATERMARK_OVERLAP_MS, watermark } from './plan-employees.ts'
import type { HrChanges } from './run-requests.ts'

/** Held by the one process of a deployment that looks at a source; the others stand by. */
const LOCK = 'hr poller'
const STANDBY_MS = 2000
/** HR is read for at most this share of the time, however often one wants to look. */
const READING_SHARE = 0.1
/** How soon to look again for a plan to begin from, or for a mapping that can be used. */
const NOTHING_TO_LOOK_FOR_MS = 5000

interface HrPollerOptions {
  pool: Pool
  hr: Pick<HrSource, 'changedSince' | 'delivery'>
  /** Which source that is. */
  scope: SourceScope
  changes: Pick<HrChanges, 'changed'>
  locks: SessionLocks
  /** How often to look. */
  everyMs: number
  logger: Logger
}

/**
 * Looks for rows of HR that are newer than those seen, where HR has no trigger, and names them as a trigger would. Every look
 * reads the rows of the last minutes, by `updated_at`; where none of them is new it asks for nothing. Of HR that is handed over in
 * files it looks for another delivery, of which any row may be new.
 */
export class HrPoller {
  readonly #options: HrPollerOptions
  readonly #stopping = new AbortController()
  #working: Promise<void> | undefined
  #troubled = false
  /** Whether it has asked for a plan to begin from. */
  #hasAsked = false
  /** The delivery for which it has asked for a plan. */
  #delivery: string | null = null

  constructor(options: HrPollerOptions) {
    this.#options = options
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
      // Without the database there is no lock; whoever needs the database says so.
      const held = await locks.lock(lock, stopping).catch(() => null)
      if (held !== null) {
        await this.#lookRepeatedly(held)
        await locks.unlock(lock).catch(() => undefined) // lost with its connection
      }
      await rest(STANDBY_MS, stopping)
    }
  }

  async #lookRepeatedly(held: AbortSignal): Promise<void> {
    const seen = new SeenRows()
    while (!held.aborted) {
      const begun = performance.now()
      let pause = this.#options.everyMs
      try {
        if (!(await this.#look(seen))) pause = Math.max(pause, NOTHING_TO_LOOK_FOR_MS)
        this.#troubled = false
      } catch (error) {
        if (!this.#troubled)
          this.#options.logger.warn(
            { err: (error as Error).message },
            'HR is not looked at for newer rows; cron jobs find changes all the same',
          )
        this.#troubled = true
      }
      const took = performance.now() - begun
      await rest(Math.max(pause, took * (1 / READING_SHARE - 1)), held)
    }
  }

  /** Whether there was something to look for: the mapping has `updated_at`, and a plan has seen how new HR is. */
  async #look(seen: SeenRows): Promise<boolean> {
    const { pool, hr, scope, changes } = this.#options
    const delivery = await hr.delivery()
    if (delivery !== undefined) {
      // While none is complete, the cron job says so.
      if (delivery !== null && delivery !== this.#delivery) changes.changed(null)
      this.#delivery = delivery ?? this.#delivery
      return true
    }
    const now = new Date()
    const since = seen.since(now) ?? beforehand(await watermark(pool, scope))
    const rows = await hr.changedSince(since ?? now)
    if (rows === null) return false
    if (since === null) {
      // Such a plan, and with it whatever came by then.
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

/** Which rows were there at the last look. */
export class SeenRows {
  #rows = new Map<string, string>()
  /** The newest `updated_at`, by HR's clock. */
  #newest: Date | null = null
  /** Since so many rows were new that they were not looked at one by one: nothing older counts. */
  #floor: Date | null = null

  /**
   * From when on to look: a transaction may commit later than it wrote, and a row from the future must not hide the present.
   * Null before the first look.
   */
  since(now: Date): Date | null {
    if (this.#newest === null && this.#floor === null) return null
    const newest = Math.min(this.#newest?.getTime() ?? 0, now.getTime())
    return beforehand(new Date(Math.max(newest, this.#floor?.getTime() ?? 0)))
  }

  /** User ids of rows that were not there at the last look, or were otherwise. */
  unseen(rows: readonly ChangedRow[], now: Date): string[] | 'too many' {
    if (rows.length > MOST_CHANGED) {
      this.#floor = now
      return 'too many'
    }
    const before = this.#rows
    this.#rows = new Map(rows.map(({ key, hash }) => [key, hash]))
    for (const { updatedAt } of rows)
      if (updatedAt.getTime() > (this.#newest?.getTime() ?? Number.NEGATIVE_INFINITY))
        this.#newest = updatedAt
    this.#newest ??= now
    const unseen = rows.filter(({ key, hash }) => before.get(key) !== hash)
    return [...new Set(unseen.map(({ userid }) => userid))]
  }
}

function beforehand(newest: Date): Date
function beforehand(newest: Date | null): Date | null
function beforehand(newest: Date | null): Date | null {
  return newest && new Date(newest.getTime() - WATERMARK_OVERLAP_MS)
}

async function rest(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => undefined) // stopping
}
