import type { SourceScope } from '../../hr/sources.ts'
import type { Pool } from '../../lib/database.ts'
import type { Logger } from '../../lib/logger.ts'
import { rest } from '../../lib/waiting.ts'
import { codesSince, lastFullReading, lastPlanPassed } from './earlier-runs.ts'
import { DOUBTED } from './restored.ts'
import {
  askForAll,
  EMPLOYEE_KINDS,
  heldRun,
  isHeldWhole,
  isUnderWay,
  OF_EVERYBODY,
  planningMs,
  READ_FOR,
  READ_UNTIL,
  type Run,
  type RunKind,
  readRun,
  recheckHeldRun,
  requestNamedRows,
  requestRun,
  unfinishedRun,
} from './run.ts'
import { belowNotice, type RunLimits } from './safety.ts'
import { areInForce, sourcesFor } from './sources.ts'

/**
 * Requests of runs not made by people: by a cron tick, a worker that found another HR row than its plan saw, a database that was
 * restored, and HR's trigger or the poller, which learn of changes at once. None of them requests a second run where one is about
 * to do the work, and while a run is held HR is checked again instead.
 */

type KnownRun = Pick<Run, 'state' | 'undecided' | 'approved'>

/**
 * The run that will do the work: a held one, for which HR is checked again, or one that is under way. Null: a new one.
 * @param wanted.unread rows that HR has just changed, which a run may have read before
 * @param held of the kind, or of another one that is held for the same rows
 * @param latest of the kind
 */
export function runFor<R extends KnownRun>(
  { kind, unread = false }: { kind: RunKind; unread?: boolean },
  held: R | null,
  latest: R | null,
): R | null {
  // One that is decided in parts holds up nothing but these.
  if (isHeldWhole(held)) return held
  if (!latest || !isUnderWay(latest.state)) return null
  // A change of HR never waits behind what is being sent; and a run that was approved does not read HR.
  if (kind === 'changes' && (latest.state === 'running' || latest.approved)) return null
  return unread && latest.state === 'planning' ? null : latest
}

/**
 * The held run for which HR is checked instead of another run of this kind. A changes run would be held for the same rows as a
 * full one; a full run does more than a held changes run asks for.
 */
function heldInsteadOf(db: Pool, kind: RunKind, source: string): Promise<Run | null> {
  return heldRun(db, kind === 'changes' ? EMPLOYEE_KINDS : [kind], source)
}

/** The run of everything of a source that will do the work, as `runFor` has it. For a held one HR is about to be checked again. */
async function findRunFor(
  pool: Pool,
  wanted: { kind: RunKind; unread?: boolean },
  source: string,
): Promise<Run | null> {
  const { kind } = wanted
  const run = runFor(wanted, await heldInsteadOf(pool, kind, source), await unfinishedRun(pool, kind, source))
  if (isHeldWhole(run)) await recheckHeldRun(pool, run.id)
  return run
}

// A cron tick

/**
 * Requests a run, one for each source of its kind, unless one of its kind is waiting or in progress. Only a changes run may
 * begin while an earlier one still sends, so that a change of HR never waits behind a long run.
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
  const run = await findRunFor(pool, { kind }, source)
  if (!run) return requestRun(pool, kind, [], by, source)
  logger.info(
    { runId: run.id, state: run.state, ...(source && { source }) },
    `a run of kind ${run.kind} is unfinished: no second one`,
  )
  return run.id
}

// A worker that found another row

/**
 * Requests the `changes` run that checks what workers found changed since their plan: one for all of a source, and HR is read
 * for at most a tenth of the time.
 * @returns the run that will check them; `early` when HR was read a moment ago; null when all have been checked
 */
export async function requestReplan(
  db: Pool,
  { name, codes }: SourceScope,
): Promise<number | 'early' | null> {
  const held = await heldInsteadOf(db, 'changes', name)
  const { rows } = await db.query<{
    run: (KnownRun & { id: number }) | null
    checked: boolean
    rested: boolean
  }>(
    `select case when r.id is not null
                 then jsonb_build_object('id', r.id, 'state', r.state, 'undecided', r.undecided, 'approved', r.approved)
            end as run,
            r.id is not null and r.planned_at is not null and r.state not in ('failed', 'cancelled')
              and w.since < coalesce(r.checked_at, r.started_at) as checked,
            coalesce(now() >= coalesce(${READ_UNTIL}, r.finished_at, r.requested_at)
              + case when r.state in ('failed', 'cancelled') then interval '1 minute'
                     -- Nine times as long as it took.
                     else greatest(interval '1 second', ${RESTS} * ${READ_FOR}) end, true) as rested
     from (select max(replan_at) as since from dirsync.pending
           where replan_at is not null ${codes ? 'and enterprise_code = any ($3)' : ''}) w
     left join dirsync.sync_run r on r.id = coalesce($2::bigint, (
       select id from dirsync.sync_run where ${OF_EVERYBODY} and kind = 'changes' and hr_source = $1
       order by id desc limit 1))
     where w.since is not null`,
    [name, isHeldWhole(held) ? held.id : null, ...(codes ? [codes] : [])],
  )
  const [latest] = rows
  if (!latest) return null
  const run = runFor({ kind: 'changes' }, latest.run, latest.run)
  if (run && !isHeldWhole(run)) return run.id
  if (latest.checked) return null
  if (!latest.rested) return 'early'
  if (!run) return requestRun(db, 'changes', [], 'replan', name)
  await recheckHeldRun(db, run.id)
  return null
}

// A database that was restored

/**
 * Requests the full run again that asks the platform about the employees of a source, if the last one came to nothing, or is of a time
 * when they were another source's, or nobody's: no changes run asks about them. Once HR looks right, and a day after a person cancelled
 * or rejected one.
 * @returns whether it did
 */
export async function requestDoubted(db: Pool, { name, codes }: SourceScope): Promise<boolean> {
  const { rowCount } = await db.query(
    // The latest run first: of many in doubt with other sources, each would be looked at.
    `select from dirsync.employee e
     where coalesce((
         select case when id <= ${codesSince('$1')} then true
                     when state in ('cancelled', 'rejected') then finished_at < now() - interval '1 day'
                     when state in ('failed', 'source_suspect', 'superseded')
                       then finished_at < now() - greatest(interval '1 minute', ${RESTS} * ${READ_FOR})
                     else false end
         from dirsync.sync_run where ${OF_EVERYBODY} and kind = 'full' and hr_source = $1
         order by id desc limit 1), true)
       and ${DOUBTED} and status = 'waiting' ${codes ? 'and enterprise_code = any ($2)' : ''}
     limit 1`,
    [name, ...(codes ? [codes] : [])],
  )
  if (rowCount === 0 || !(await lastPlanPassed(db, name))) return false
  await requestRun(db, 'full', [], 'restore', name)
  return true
}

// HR's trigger, or the poller

/** Minimum interval between runs: notifications in between are collected for the next. */
const REST_MS = 1000
/** After reading HR, a few rows or all of them, it rests for this many times as long. */
const RESTS = 9
/** How long a named change counts towards the limits of the gate and the breaker. */
const WINDOW_MS = 5 * 60_000
const LOOK_MS = 50
/** More rows than this are not named but read with all the others, which costs HR less. */
const MOST_NAMED = 1000

interface HrChangesOptions {
  pool: Pool
  /** The source of the changes. */
  scope: SourceScope
  limits: Pick<RunLimits, 'gate' | 'breaker'>
  /** The origin of the notifications. */
  by: 'trigger' | 'poller'
  logger: Logger
}

/**
 * Turns notifications of HR's trigger or the poller into runs of kind `changes`: of the named rows while they are few, else of
 * all, so that the sanity gate and the breaker check whatever they would have checked without it. While they object to HR as a
 * whole, no row is sent past them. Never a run per notification: the first makes one at once, later ones are collected.
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
      const restMs = await this.#request([...userids], anything).catch(error => {
        // Retried after the rest; the coordinator has reported that the database is away.
        this.#options.logger.debug({ error }, 'no run was requested')
        for (const userid of userids) this.#collected.add(userid)
        this.#anything ||= anything
        return REST_MS
      })
      await rest(restMs, this.#stopping.signal)
    }
  }

  /** Requests a run, and returns how long to rest after it. */
  async #request(userids: string[], anything: boolean): Promise<number> {
    const { pool, by, scope } = this.#options
    const { signal } = this.#stopping
    // A process started since hears of them as well.
    if (!(await areInForce(pool, { all: [scope] }, scope.name))) return REST_MS
    const few = !anything && (await this.#mayBeNamed(userids))
    const named = few ? await requestNamedRows(pool, userids, by, scope.name, MOST_NAMED) : null
    if (named !== null) {
      await rest(REST_MS, signal)
      // One that still waits to begin takes in later notifications.
      while (!signal.aborted && (await readRun(pool, named))?.state === 'planning')
        await rest(LOOK_MS, signal)
      return RESTS * (await planningMs(pool, named))
    }
    const run = await findRunFor(pool, { kind: 'changes', unread: true }, scope.name)
    // Deleted rows have no time to find them by. The poller never names them: it sees existing rows.
    const readAll = anything || by === 'trigger'
    const isEnough = isHeldWhole(run) || !readAll || (run && (await askForAll(pool, run.id)))
    const id = run && isEnough ? run.id : await requestRun(pool, 'changes', [], by, scope.name, readAll)
    while (!signal.aborted && !(await isPlanned(pool, id))) await rest(LOOK_MS, signal)
    return Math.max(REST_MS, RESTS * (await planningMs(pool, id)))
  }

  async #mayBeNamed(userids: string[]): Promise<boolean> {
    if (userids.length > MOST_NAMED) return false
    const now = performance.now()
    for (const [userid, at] of this.#named) if (now - at > WINDOW_MS) this.#named.delete(userid)
    for (const userid of userids) this.#named.set(userid, now)
    const { pool, limits, scope } = this.#options
    if (!(await lastPlanPassed(pool, scope.name))) return false
    const last = await lastFullReading(pool, scope)
    return last !== null && belowNotice(this.#named.size, last.statistics.rows, limits)
  }
}

/** True when HR will no longer be checked for the run: it has been planned, or has ended without. */
export async function isPlanned(db: Pool, id: number): Promise<boolean> {
  const { rowCount } = await db.query(
    `select from dirsync.sync_run
     where id = $1 and (state in ('requested', 'planning') or recheck_at <= now())`,
    [id],
  )
  return rowCount === 0
}
