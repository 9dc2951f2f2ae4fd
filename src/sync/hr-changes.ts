import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool } from 'pg'
import { type Breaker, belowNotice, type GateLimits } from '../core/safety.ts'
import type { Logger } from '../logger.ts'
import { rejudgeHeldRun } from '../store/held-run.ts'
import { isPlanned, lastPlanPassed, lastSweep, requestRun, unfinishedRun } from '../store/run.ts'

/** From one run to the next: what HR tells meanwhile goes into that. */
const REST_MS = 1000
/** HR is read as a whole for at most this share of the time. */
const READING_SHARE = 0.1
/** How long a named change counts against what the gate and the breaker let pass. */
const WINDOW_MS = 5 * 60_000
const LOOK_MS = 50
/** More rows are not named but read with all the others, which costs HR less. */
const MOST_NAMED = 1000

/**
 * Turns what HR's trigger tells into runs of kind `changes`: of the named rows while few are named, else of all, so that
 * the sanity gate and the breaker judge whatever they would have judged without the trigger. While they object to HR as a
 * whole, no row is sent past them. Never a run per notification: the first makes one at once, those that follow are collected.
 */
export class HrChanges {
  readonly #pool: Pool
  readonly #limits: { gate: GateLimits; breaker: Breaker }
  readonly #logger: Logger
  readonly #stopping = new AbortController()
  /** When each user id was last named. */
  readonly #named = new Map<string, number>()
  #collected = new Set<string>()
  #anything = false
  #working: Promise<void> | null = null

  constructor(options: {
    pool: Pool
    limits: { gate: GateLimits; breaker: Breaker }
    logger: Logger
  }) {
    this.#pool = options.pool
    this.#limits = options.limits
    this.#logger = options.logger
  }

  /** @param userids whose rows were written; null when any row may have been */
  changed(userids: string[] | null): void {
    if (userids === null) this.#anything = true
    else for (const userid of userids) this.#collected.add(userid)
    if (this.#collected.size > MOST_NAMED) {
      this.#anything = true
      this.#collected.clear()
    }
    this.#working ??= this.#work().finally(() => {
      this.#working = null
    })
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#working
  }

  async #work(): Promise<void> {
    while ((this.#anything || this.#collected.size > 0) && !this.#stopping.signal.aborted) {
      const [userids, anything] = [this.#collected, this.#anything]
      this.#collected = new Set()
      this.#anything = false
      const rest = await this.#request([...userids], anything).catch(error => {
        // Tried again after the rest; the coordinator has said that the database is away.
        this.#logger.debug({ err: (error as Error).message }, 'no run was requested')
        for (const userid of userids) this.#collected.add(userid)
        this.#anything ||= anything
        return REST_MS
      })
      await this.#rest(rest)
    }
  }

  /** Requests a run, and answers how long to rest after it. */
  async #request(userids: string[], anything: boolean): Promise<number> {
    if (!anything && (await this.#mayBeNamed(userids))) {
      await requestRun(this.#pool, 'changes', userids, 'trigger')
      return REST_MS
    }
    const begun = performance.now()
    const unfinished = await unfinishedRun(this.#pool, 'changes')
    if (unfinished?.state === 'held') await rejudgeHeldRun(this.#pool, unfinished.id)
    // One that is being planned may have read HR before this change; one that is only requested has not.
    const waits = unfinished?.state === 'held' || unfinished?.state === 'requested'
    const id = waits ? unfinished.id : await requestRun(this.#pool, 'changes', [], 'trigger')
    while (!this.#stopping.signal.aborted && !(await isPlanned(this.#pool, id))) await this.#rest(LOOK_MS)
    return Math.max(REST_MS, (performance.now() - begun) * (1 / READING_SHARE - 1))
  }

  async #mayBeNamed(userids: string[]): Promise<boolean> {
    const now = performance.now()
    for (const [userid, at] of this.#named) if (now - at > WINDOW_MS) this.#named.delete(userid)
    for (const userid of userids) this.#named.set(userid, now)
    if (!(await lastPlanPassed(this.#pool))) return false
    const last = await lastSweep(this.#pool)
    return last !== null && belowNotice(this.#named.size, last.statistics.rows, this.#limits)
  }

  async #rest(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#stopping.signal }).catch(() => undefined) // stopping
  }
}
