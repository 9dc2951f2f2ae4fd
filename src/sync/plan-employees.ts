import { Transform } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { type EmployeeKey, keyText } from '../directory/employee.ts'
import { RowHasher, rowHash, rowIsActive, type SourceStatistics } from '../directory/hash.ts'
import type { HrSource } from '../hr/source.ts'
import type { ClientBase, Pool } from '../lib/database.ts'
import type { Logger } from '../lib/logger.ts'
import { compare, type Difference, fillStage, fillStageWith, makeStage } from './employee-plan.ts'
import { awaitReplan, rejudgeHeldRun } from './held-run.ts'
import {
  cancelledSince,
  isPlanned,
  lastPlanPassed,
  lastSweep,
  type PlannedRun,
  type Run,
  requestRun,
  unfinishedRun,
  watermark,
} from './run.ts'
import { type Breaker, belowNotice, type GateLimits, suspicion, trips } from './safety.ts'

/** Rows changed while the newest one was read may carry an older time; so much is read again. */
const WATERMARK_OVERLAP_MS = 5 * 60_000

export interface EmployeePlanLimits {
  gate: GateLimits
  breaker: Breaker
  /** With updated_at mapped: how long a changes run may go without reading every row. */
  sweepIntervalMs: number
}

export interface EmployeePlan extends PlannedRun {
  state: 'running' | 'held' | 'source_suspect'
  source: SourceStatistics
  difference: Difference
}

/**
 * Plans a `changes` or `full` run inside the caller's transaction: HR streamed and hashed, staged, joined, judged.
 * Nothing but temporary tables is written; `writeEmployeePlan` does that for a plan that may run.
 * @throws HrUnavailableError, HrDataError, MappingError
 */
export async function planEmployees(
  db: ClientBase,
  hr: HrSource,
  run: Pick<Run, 'kind' | 'state' | 'maxAgeMs'>,
  limits: EmployeePlanLimits,
  now: Date,
  signal: AbortSignal,
): Promise<EmployeePlan> {
  const { employees, fingerprint } = await hr.inspect()
  const { columns } = employees
  const last = await lastSweep(db)
  const newest = run.kind === 'full' || !columns.includes('updated_at') ? null : await watermark(db)
  const replans = await awaitReplan(db)
  const sweep =
    newest === null ||
    !last ||
    // Rows that HR did not touch may look different through another mapping.
    last.mapping !== fingerprint ||
    now.getTime() - last.at.getTime() >= limits.sweepIntervalMs ||
    // Whatever rows are in question, held, taken back or found changed by a worker: only all of them tell.
    run.state === 'held' ||
    replans ||
    (await cancelledSince(db, last.at))
  const { statistics, mapping } = await stageHr(db, hr, sweep ? null : newest, signal)
  const difference = await compare(db, {
    everything: run.kind === 'full',
    maxAgeMs: run.maxAgeMs,
    sweep,
    replans,
  })
  const planned = {
    difference,
    sweep,
    inScope: difference.inScope,
    plan: {
      reasons: difference.reasons,
      sample: difference.sample,
      ...(run.maxAgeMs !== null && { skipped: difference.skipped }),
    },
    source: statistics,
    mapping,
  }
  const suspect = sweep
    ? suspicion(statistics, last?.statistics ?? null, difference.duplicates, limits.gate)
    : duplicated(difference)
  if (suspect) return { ...planned, state: 'source_suspect', message: `${suspect}. Nothing was enqueued.` }
  const { changing } = difference
  const total = sweep ? difference.inScope : (last?.statistics.rows ?? difference.inScope)
  if (!difference.first && trips(limits.breaker, changing, total))
    return {
      ...planned,
      state: 'held',
      message: heldMessage(changing, total, limits.breaker),
    }
  return { ...planned, state: 'running' }
}

async function stageHr(
  db: ClientBase,
  hr: HrSource,
  newest: Date | null,
  signal: AbortSignal,
): Promise<{ statistics: SourceStatistics; mapping: string }> {
  const since = newest === null ? {} : { since: new Date(newest.getTime() - WATERMARK_OVERLAP_MS) }
  await makeStage(db)
  const scan = await hr.scan({ ...since, signal })
  const hasher = new RowHasher(scan.columns)
  const toLines = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      done(null, hasher.push(chunk))
    },
  })
  try {
    await fillStage(db, scan.stream, toLines, signal)
  } finally {
    await scan.close()
  }
  return { statistics: hasher.statistics, mapping: scan.mapping }
}

function duplicated(difference: Difference): string | null {
  return difference.duplicates.length > 0 ? duplicatesMessage(difference.duplicates) : null
}

/** Why a run whose rows have these keys more than once is suspect. */
function duplicatesMessage(keys: readonly string[]): string {
  return `HR delivers keys more than once (${keys.join(', ')}): make the mapping query return one row per employee`
}

/** Why a run is held. */
function heldMessage(changing: number, total: number, breaker: Breaker): string {
  return `${changing} of ${total} employees would change, more than ${breaker.count} and ${breaker.percent} %: look at the plan, then approve or reject the run.`
}

/**
 * Plans a `changes` run of the rows that HR's trigger named, as `planEmployees` does one of all. Whoever HR no longer has is
 * left to a run that reads every row, since only that can tell a leaver from a mapping that broke.
 * @throws HrUnavailableError, HrDataError, MappingError
 */
export async function planNamedRows(
  db: ClientBase,
  hr: HrSource,
  candidates: readonly EmployeeKey[],
  limits: Pick<EmployeePlanLimits, 'breaker'>,
): Promise<PlannedRun> {
  const { fingerprint: mapping } = await hr.inspect()
  const found = await hr.lookup(candidates, { mapping, anyEnterprise: true })
  const duplicates = candidates.filter(key => found.get(keyText(key)) === 'duplicate')
  if (duplicates.length > 0)
    return {
      state: 'source_suspect',
      sweep: false,
      message: `${duplicatesMessage(duplicates.map(({ userid }) => userid))}. Nothing was enqueued.`,
    }
  const staged = candidates.flatMap(key => {
    const row = found.get(keyText(key))
    if (row === undefined || row === 'duplicate') return []
    return [{ ...key, active: rowIsActive(row), hash: rowHash(Object.keys(row), row) }]
  })
  await makeStage(db)
  await fillStageWith(db, staged)
  const { inScope, reasons, sample, changing } = await compare(db, {
    everything: false,
    maxAgeMs: null,
    sweep: false,
    replans: await awaitReplan(db),
  })
  const planned = { sweep: false, inScope, plan: { reasons, sample }, mapping }
  const total = (await lastSweep(db))?.statistics.rows ?? inScope
  if (trips(limits.breaker, changing, total))
    return { ...planned, state: 'held', message: heldMessage(changing, total, limits.breaker) }
  return { ...planned, state: 'running' }
}

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
