import { setTimeout as sleep } from 'node:timers/promises'
import { type SourceScope, WHOLE } from '../hr/sources.ts'
import type { Pool } from '../lib/database.ts'
import type { Logger } from '../lib/logger.ts'
import { lastSweep } from './plan-employees.ts'
import {
  heldRun,
  OF_EVERYBODY,
  type RunKind,
  type RunState,
  rejudgeHeldRun,
  requestRun,
  unfinishedRun,
} from './run.ts'
import { belowNotice, type RunLimits } from './safety.ts'
import { sourcesFor } from './sources.ts'

/**
 * What asks for a run besides people: a cron tick, a worker that found another HR row than its plan saw, and whoever learns at once
 * that HR has changed: HR's trigger, or the poller.
 * None of them asks for a second run where one is about to do the work, and while a run is held HR is judged again instead.
 */

// A cron tick

/**
 * Requests a run, one for each source that it is about, unless one of its kind waits to begin or goes on. Only a changes run
 * may begin while an earlier one still sends, so that a change of HR never waits behind a long run.
 * @returns the runs that will do the work
 */
export async function requestScheduledRun(
  pool: Pool,
  kind: RunKind,
  by: string,
  logger: Logger,
): Promise<number[]> {
  const runs: number[] = []
  for (const { name } of await sourcesFor(pool, kind))
    runs.push(await requestScheduledRunOf(pool, kind, name, by, logger))
  return runs
}

async function requestScheduledRunOf(
  pool: Pool,
  kind: RunKind,
  source: string,
  by: string,
  logger: Logger,
): Promise<number> {
  const held = kind === 'changes' ? await heldRun(pool, ['changes', 'full'], source) : null
  const unfinished = held ?? (await unfinishedRun(pool, kind, source))
  if (unfinished?.state === 'held') await rejudgeHeldRun(pool, unfinished.id)
  const goesOn = unfinished && (unfinished.state !== 'running' || kind !== 'changes')
  if (!goesOn) return requestRun(pool, kind, [], by, source)
  logger.info(
    { runId: unfinished.id, state: unfinished.state, ...(source && { source }) },
    `a run of kind ${kind} is unfinished: no second one`,
  )
  return unfinished.id
}

// A worker that found another row

/**
 * Requests the `changes` run that judges what workers found changed since their plan: one for all of them of a source, and HR
 * is read for at most a tenth of the time.
 * @returns the run that will judge them; `early` when HR was read a moment ago; null when all have been judged
 */
export async function requestReplan(
  db: Pool,
  { name, codes }: SourceScope = WHOLE,
): Promise<number | 'early' | null> {
  const { rows } = await db.query<{
    id: number | null
    state: RunState | null
    judged: boolean
    rested: boolean
  }>(
    `select r.id, r.state,
            r.id is not null and r.planned_at is not null and r.state not in ('failed', 'cancelled')
              and w.since < coalesce(r.judged_at, r.started_at) as judged,
            coalesce(now() >= coalesce(r.judged_at, r.planned_at, r.finished_at, r.requested_at)
              + case when r.state in ('failed', 'cancelled') then interval '1 minute'
                     -- As long as it took, nine times.
                     else greatest(interval '1 second', 9 * (r.planned_at - r.started_at)) end, true) as rested
     from (select max(replan_at) as since from dirsync.pending
           where replan_at is not null ${codes ? 'and enterprise_code = any ($2)' : ''}) w
     left join lateral (
       select * from dirsync.sync_run where ${OF_EVERYBODY} and kind = 'changes' and hr_source = $1
       order by id desc limit 1) r on true
     where w.since is not null`,
    codes ? [name, codes] : [name],
  )
  const [latest] = rows
  if (!latest) return null
  if (latest.state === 'requested' || latest.state === 'planning') return latest.id
  if (latest.judged) return null
  if (!latest.rested) return 'early'
  if (latest.state !== 'held') return requestRun(db, 'changes', [], 'replan', name)
  await rejudgeHeldRun(db, latest.id as number)
  return null
}

// HR's trigger, or the poller

/** From one run to the next: what HR tells meanwhile goes into that. */
const REST_MS = 1000
/** HR is read as a whole for at most this share of the time. */
const READING_SHARE = 0.1
/** How long a named change counts against what the gate and the breaker let pass. */
const WINDOW_MS = 5 * 60_000
const LOOK_MS = 50
/** More rows are not named but read with all the others, which costs HR less. */
const MOST_NAMED = 1000

interface HrChangesOptions {
  pool: Pool
  /** The source whose changes they are. */
  scope: SourceScope
  limits: Pick<RunLimits, 'gate' | 'breaker'>
  /** Who tells of changes. */
  by: 'trigger' | 'poller'
  logger: Logger
}

/**
 * Turns what HR's trigger or the poller tells into runs of kind `changes`: of the named rows while few are named, else of all, so that
 * the sanity gate and the breaker judge whatever they would have judged without it. While they object to HR as a
 * whole, no row is sent past them. Never a run per notification: the first makes one at once, those that follow are collected.
 */
export class HrChanges {
  readonly #options: HrChangesOptions
  readonly #stopping = new AbortController()
  /** When each user id was last named. */
  readonly #named = new Map<string, number>()
  #collected = new Set<string>()
  #anything = false
  #working: Promise<void> | null = null

  constructor(options: HrChangesOptions) {
    this.#options = options
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
        this.#options.logger.debug({ err: (error as Error).message }, 'no run was requested')
        for (const userid of userids) this.#collected.add(userid)
        this.#anything ||= anything
        return REST_MS
      })
      await this.#rest(rest)
    }
  }

  /** Requests a run, and answers how long to rest after it. */
  async #request(userids: string[], anything: boolean): Promise<number> {
    const { pool, by, scope } = this.#options
    if (!anything && (await this.#mayBeNamed(userids))) {
      await requestRun(pool, 'changes', userids, by, scope.name)
      return REST_MS
    }
    const begun = performance.now()
    const unfinished = await unfinishedRun(pool, 'changes', scope.name)
    if (unfinished?.state === 'held') await rejudgeHeldRun(pool, unfinished.id)
    // One that is being planned may have read HR before this change; one that is only requested has not.
    const waits = unfinished?.state === 'held' || unfinished?.state === 'requested'
    const id = waits ? unfinished.id : await requestRun(pool, 'changes', [], by, scope.name)
    while (!this.#stopping.signal.aborted && !(await isPlanned(pool, id))) await this.#rest(LOOK_MS)
    return Math.max(REST_MS, (performance.now() - begun) * (1 / READING_SHARE - 1))
  }

  async #mayBeNamed(userids: string[]): Promise<boolean> {
    const now = performance.now()
    for (const [userid, at] of this.#named) if (now - at > WINDOW_MS) this.#named.delete(userid)
    for (const userid of userids) this.#named.set(userid, now)
    const { pool, limits, scope } = this.#options
    if (!(await lastPlanPassed(pool, scope.name))) return false
    const last = await lastSweep(pool, scope)
    return last !== null && belowNotice(this.#named.size, last.statistics.rows, limits)
  }

  async #rest(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#stopping.signal }).catch(() => undefined) // stopping
  }
}

/** True when nobody is about to judge HR for the run any more: it has been planned, or has ended without. */
export async function isPlanned(db: Pool, id: number): Promise<boolean> {
  const { rowCount } = await db.query(
    `select from dirsync.sync_run
     where id = $1 and (state in ('requested', 'planning') or rejudge_at <= now())`,
    [id],
  )
  return rowCount === 0
}

/** Whether the last run of a source that chose its rows itself was let pass, and none is held: HR looked right. */
export async function lastPlanPassed(db: Pool, source = ''): Promise<boolean> {
  const { rows } = await db.query<{ passed: boolean }>(
    `select state in ('running', 'done', 'cancelled')
            and not exists (select from dirsync.sync_run h
                            where h.state = 'held' and h.kind in ('changes', 'full')
                              and h.finished_at is null and h.hr_source = $1) as passed
     from dirsync.sync_run
     where ${OF_EVERYBODY} and hr_source = $1 and planned_at is not null order by id desc limit 1`,
    [source],
  )
  return rows[0]?.passed ?? false
}
