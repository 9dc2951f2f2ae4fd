import { HrDeliveryError, HrUnavailableError } from '../../hr/source.ts'
import { type HrSources, type NamedSource, WHOLE } from '../../hr/sources.ts'
import { whileLocked } from '../../lib/advisory-lock.ts'
import {
  type ClientBase,
  databaseTime,
  isConnectionLost,
  isHeldUp,
  onlyRow,
  type Pool,
  repeatOnDeadlock,
  transaction,
} from '../../lib/database.ts'
import { inHand } from '../../lib/in-hand.ts'
import type { Logger } from '../../lib/logger.ts'
import { type Trace, type Tracing, traced } from '../../lib/tracing.ts'
import { type MessageKey, message, type Said, SaidError, saidBy, says } from '../../texts/message.ts'
import { haltForHr, healHrHalt } from '../outbox/halts.ts'
import { addBindings, addWork, analyzeOutbox, PRIORITY } from '../outbox/outbox.ts'
import {
  beginRun,
  type CheckedPlan,
  checkLater,
  claimRun,
  coverAllRows,
  EMPLOYEE_KINDS,
  heldRun,
  holdAgain,
  keepHeld,
  type PlannableRun,
  type PlannedRun,
  planFigures,
  type Run,
  RunTakenBack,
  recheckHeldRuns,
  reclaimOrphanedRuns,
  recordApproved,
  recordPlan,
  returnPart,
  runsInParts,
  supersede,
} from '../runs/run.ts'
import { figures, runSpan, traceRun } from '../runs/run-trace.ts'
import type { RunLimits } from '../runs/safety.ts'
import { areInForce, assertInForce, noteDelivery, OutdatedSources } from '../runs/sources.ts'
import { planDepartments, storedDeletions } from './departments.ts'
import { applyEmployeePlan, planEverybody, planNamed, planTriggered } from './plan-employees.ts'
import { planRetry } from './plan-retry.ts'
import { endForgottenWaiting, restoreEmployeePlan } from './plan-tables.ts'

/** After a plan of this many entities PostgreSQL's statistics of the outbox are updated. */
const MUCH_WORK = 5000

/** How often a process plans a run whose connection the database ends, or that it holds up. */
const MOST_TRIES = 5

/** What a held run says of HR since it was held: each check replaces it. */
const SINCE_HELD: ReadonlySet<MessageKey> = new Set([
  'said.still_held',
  'said.suspect',
  'said.plan_stays',
  'said.unchanged_since',
  'said.changed_row_since',
  'said.changed_rows_since',
  'said.not_checked',
])
/** What it says until the next decision. */
const UNTIL_DECIDED: ReadonlySet<MessageKey> = new Set(['said.approved_but_failed'])

export interface PlannerOptions {
  pool: Pool
  hr: HrSources
  /** The source whose runs are planned; '': runs of HR as a whole. */
  source: string
  logger: Logger
  limits: RunLimits
  sellerAppids: string[]
  /** Enterprise code of the deployment itself; empty for a single enterprise. */
  ownEnterprise: string
  tracing: Tracing
}

/** Turns a source's requested runs into work in the outbox, holds them, or says why not. */
export class Planner {
  readonly #options: PlannerOptions
  /** Runs whose connection the database ended, or that it held up: how often, and why the last time. */
  readonly #heldUp = new Map<number, { tries: number; error: unknown }>()

  constructor(options: PlannerOptions) {
    this.#options = options
  }

  /**
   * Plans the next requested run. False without one, or when another process is planning: plans of a source write the same
   * rows. Those of different sources concern different enterprises, so that a slow HR holds up no other.
   */
  async planNext(signal: AbortSignal): Promise<boolean> {
    const { pool, hr, logger, source } = this.#options
    const done = await whileLocked(pool, source === '' ? 'planner' : ['planner', source], async client => {
      if (!(await areInForce(client, hr, source))) return false
      // The lock holder knows that no planner is at work, so a run still in planning lost its own.
      if ((await reclaimOrphanedRuns(client, source)) > 0)
        logger.warn('a planner died; its run is planned anew')
      const run = await claimRun(client, source)
      if (run) await this.#plan(run, signal)
      return run !== null
    })
    return done ?? false
  }

  async #plan(run: PlannableRun, signal: AbortSignal): Promise<void> {
    const { pool, tracing } = this.#options
    const { id, kind } = run
    const about = { partOf: runSpan(id), attributes: { 'dirsync.run': id, 'dirsync.run.kind': kind } }
    await inHand(`plan of run ${id} (${kind})`, () =>
      tracing.trace('plan', about, trace => this.#planInTrace(run, signal, trace)),
    )
    // A run that must not continue is over.
    await traceRun(pool, tracing, id)
  }

  async #planInTrace(run: PlannableRun, signal: AbortSignal, trace: Trace): Promise<void> {
    const { pool, logger } = this.#options
    const log = logger.child({ runId: run.id, kind: run.kind })
    const startedAt = await databaseTime(pool)
    try {
      const heldUp = this.#heldUp.get(run.id)
      // The database was away when that should have been recorded, perhaps because of this run.
      if (heldUp?.tries === MOST_TRIES) throw heldUp.error
      // Before the transaction: a new delivery is loaded by this.
      const isOfEmployees = EMPLOYEE_KINDS.includes(run.kind)
      const delivery = isOfEmployees ? await this.#readFrom(run)?.hr.delivery() : undefined
      const planned = await repeatOnDeadlock(() =>
        transaction(pool, async db => {
          await db.query(`select set_config('dirsync.knows_parts', 'on', true)`)
          const planned = await (run.approved
            ? carryOut(this.#options, db, run)
            : this.#check(db, run, signal))
          if (planned === null) return null
          // This run, or a person since the last one, may have ended what they waited for.
          if (isOfAll(run)) await endForgottenWaiting(db)
          const source = this.#readFrom(run)
          // In one transaction: whoever sees the run planned finds no halt that its plan has disproved.
          if (source && isOfEmployees) {
            await healHrHalt({ db, logger: log }, source, startedAt)
            await noteDelivery(db, source.name, delivery)
          }
          return planned
        }),
      )
      this.#heldUp.delete(run.id)
      if (planned === null) return this.#planInTrace(await coverAllRows(pool, run), signal, trace)
      const { state, inScope, plan, message } = planned
      trace.annotate({
        'dirsync.run.state': state,
        ...(inScope !== undefined && { 'dirsync.run.in_scope': inScope }),
        ...figures('planned', plan?.reasons),
      })
      const work = Object.values(plan?.reasons ?? {}).reduce((sum, n) => sum + n, 0)
      if (work > MUCH_WORK) await analyzeOutbox(pool, (plan?.reasons.new ?? 0) > MUCH_WORK)
      log.info({ state, reasons: plan?.reasons, message }, 'run planned')
    } catch (error) {
      if (signal.aborted) {
        // A planner that is told to stop has not died. If even this fails, the next one finds the run.
        await reclaimOrphanedRuns(pool, run.source).catch(() => {})
        throw error
      }
      if (error instanceof RunTakenBack) return log.info('run cancelled while it was planned')
      if (error instanceof OutdatedSources) return this.#giveBack(run, log)
      // As if the planner had died: the next one finds the run.
      if (this.#isToBeTriedAgain(run, error, log)) throw error
      const reason = saidBy(error)
      const what = run.source === '' ? reason : message('said.of_source', { name: run.source, reason })
      const isSuspect = error instanceof HrDeliveryError
      if (isSuspect) log.warn({ error: what }, 'run planned: HR is suspect')
      else log.error({ error: what }, 'run failed')
      trace.fail()
      const source = this.#readFrom(run)
      // With nothing in the queue no job would find it.
      if (source && error instanceof HrUnavailableError && !isSuspect)
        await haltForHr({ pool, logger: log }, source, reason)
      await this.#recordFailure(
        run,
        startedAt,
        isSuspect ? message('said.suspect', { reason: what }) : what,
        isSuspect ? 'source_suspect' : 'failed',
      )
      this.#heldUp.delete(run.id)
    }
  }

  /**
   * Whether the database is at fault. After a few times the run fails all the same: a database that is away gives out no run, so that
   * this one may be what ends its connection, and it would hold up all others.
   */
  #isToBeTriedAgain({ id, kind, approved, state }: PlannableRun, error: unknown, log: Logger): boolean {
    // No tick requests these again.
    const isAskedOnce = approved || kind === 'employees' || kind === 'retry'
    if (!(isConnectionLost(error) || (isAskedOnce && isHeldUp(error)))) return false
    const before = this.#heldUp.get(id)?.tries ?? 0
    // HR is checked again for a held run in any case.
    if (state === 'held' || before === MOST_TRIES) return false
    const tries = before + 1
    this.#heldUp.set(id, { tries, error })
    const isLast = tries === MOST_TRIES
    log.warn(
      { error, tries, of: MOST_TRIES },
      `the database held up the run${isLast ? '' : ': it is tried again'}`,
    )
    return !isLast
  }

  /** The HR source that a run is read from; null: none, or all of several. */
  #readFrom({ approved }: PlannableRun): NamedSource | null {
    const { hr, source } = this.#options
    return approved ? null : hr.named(source)
  }

  /** A process with the sources in force plans it. */
  async #giveBack({ source }: PlannableRun, log: Logger): Promise<void> {
    await reclaimOrphanedRuns(this.#options.pool, source)
    log.warn('the run was not planned here: another process was started later with other HR sources')
  }

  /** A held run stays held, whatever the failure of checking HR again; and one whose approved plan could not be written is so again. */
  async #recordFailure(
    run: PlannableRun,
    startedAt: Date,
    reason: Said,
    state: 'failed' | 'source_suspect',
  ): Promise<void> {
    const { pool } = this.#options
    if (run.state === 'held') {
      return checkLater(pool, run.id, [...whyHeld(run), message('said.not_checked', { reason })])
    }
    const why = whyHeld(run).filter(what => !isOneOf(UNTIL_DECIDED, what))
    const record = async (db: ClientBase) => {
      if (run.approved) {
        const again = [...why, message('said.approved_but_failed', { reason })]
        if (await holdAgain(db, run.id, again)) return
        // The held run first, as everyone who decides about a part locks it first.
        await returnPart(db, run.id)
      }
      await recordPlan(db, run.id, { state, message: reason }, startedAt)
    }
    await transaction(pool, record).catch(error => {
      if (!(error instanceof RunTakenBack)) throw error
    })
  }

  /**
   * Plans a run: its work goes into the outbox, or its plan is stored until a decision, or neither. For a run that is held
   * already HR is checked again: if nothing of what it holds differs in HR any more (of a first run: if few enough have left) and
   * HR looks right, another run takes its place; else its plan stays as it is. Other work passes one by that is decided in parts.
   * @returns null, with nothing written, where only a plan of all rows can tell
   */
  async #check(db: ClientBase, run: PlannableRun, signal: AbortSignal): Promise<PlannedRun | null> {
    const { hr, source } = this.#options
    const plan = await this.#planOf(db, run, signal)
    if (plan === null) return null
    // Reading HR may have taken long. Whatever has been written is rolled back.
    await assertInForce(db, hr, source)
    const { planned } = plan
    const wasHeld = run.state === 'held'
    const before = wasHeld ? run : await heldBefore(db, run, planned.state)
    if (planned.state === 'held') {
      await plan.mark?.(before?.id ?? run.id)
      if (before !== null) return stayHeld(db, run, before, plan)
      await traced('write plan', async () => plan.store?.(run.id))
    } else if (planned.state === 'running') {
      const open = before === null ? null : await plan.undecided?.(before.id)
      const stays = before !== null && open !== undefined && open !== null && open.count > 0
      if (stays && wasHeld) {
        await keepHeld(db, before.id, whyHeld(before), open.changed)
        return { ...planned, state: 'held' }
      }
      const id = wasHeld ? await beginRun(db, run.id) : run.id
      await traced('write plan', () => plan.apply(id))
      if (before !== null && !stays) await supersede(db, before.id, id)
      await recordPlan(db, id, planned)
      if (isOfAll(run)) await recheckHeldRuns(db, run.source)
      if (stays) await keepHeld(db, before.id, whyHeld(before), open.changed)
      return planned
    } else if (wasHeld) {
      await keepHeld(
        db,
        run.id,
        [...whyHeld(run), planned.message ?? [], message('said.plan_stays')].flat(),
        null,
        { isSuspect: planned.state === 'source_suspect' },
      )
      return planned
    }
    await recordPlan(db, run.id, planned)
    return planned
  }

  /** The plan of a run of any kind. What it has written by then is rolled back with the transaction if the run fails. */
  #planOf(db: ClientBase, run: PlannableRun, signal: AbortSignal): Promise<CheckedPlan | null> {
    const { hr, limits, sellerAppids, ownEnterprise } = this.#options
    switch (run.kind) {
      case 'changes':
      case 'full':
        return run.changedUserids.length > 0
          ? planTriggered(db, this.#source(), run, ownEnterprise, limits.breaker)
          : planEverybody(db, this.#source(), run, limits, signal)
      case 'employees':
        return planNamed(db, hr, run, ownEnterprise)
      case 'retry':
        return planRetry(db, run, hr)
      case 'departments':
        return planDepartments(db, this.#source(), limits, signal)
      case 'openids':
        return planOpenids(db, run, sellerAppids)
    }
  }

  #source(): NamedSource {
    const { hr, source } = this.#options
    const named = hr.named(source)
    if (named) return named
    throw new SaidError(
      source ? message('said.source_unnamed', { name: source }) : message('said.source_nameless'),
    )
  }
}

/** Missing open ids are many and small: they go into the outbox as they are found. */
async function planOpenids(db: ClientBase, run: PlannableRun, sellerAppids: string[]): Promise<CheckedPlan> {
  const added = await addBindings(db, run.id, sellerAppids)
  return {
    planned: { state: 'running', inScope: added, plan: planFigures('bind', [], added) },
    apply: async () => {},
  }
}

/**
 * The run that is held already when another one of everything is planned. Changes and full runs are held for the same rows, so
 * one of them is enough to decide about; but only a run of the same kind can supersede a held one.
 */
async function heldBefore(
  db: ClientBase,
  run: PlannableRun,
  state: PlannedRun['state'],
): Promise<Run | null> {
  if (run.changedUserids.length > 0) return null
  const sameRows = state === 'held' && EMPLOYEE_KINDS.includes(run.kind)
  return heldRun(db, sameRows ? EMPLOYEE_KINDS : [run.kind], run.source, run.id)
}

function saidOf({ message }: Pick<PlannedRun, 'message'> | Run): Said[] {
  return [message ?? []].flat()
}

function whyHeld(held: Run): Said[] {
  return saidOf(held).filter(what => !isOneOf(SINCE_HELD, what))
}

function isOneOf(keys: ReadonlySet<MessageKey>, what: Said): boolean {
  return 'key' in what && keys.has(what.key)
}

function untilDecided(held: Run): Said[] {
  return saidOf(held).filter(what => isOneOf(UNTIL_DECIDED, what))
}

/** The plan that was stored first stays, so that approval sends what a person looks at. */
async function stayHeld(
  db: ClientBase,
  run: PlannableRun,
  held: Run,
  { planned, ...plan }: CheckedPlan,
): Promise<PlannedRun> {
  const changedSince = (await plan.changedSince?.(held.id)) ?? 0
  const isStillHeld = says(planned.message ?? null, 'said.still_held')
  const hasGrown = !isStillHeld && ((await plan.outgrows?.(held.id)) ?? false)
  const since =
    changedSince === 0
      ? message('said.unchanged_since')
      : message(changedSince === 1 ? 'said.changed_row_since' : 'said.changed_rows_since', {
          count: changedSince,
        })
  const what = isStillHeld
    ? [...whyHeld(held), ...saidOf(planned).filter(one => isOneOf(SINCE_HELD, one))]
    : [...saidOf(planned), ...untilDecided(held)]
  await keepHeld(db, held.id, [...what, since], changedSince, { hasGrown })
  if (held.id === run.id) return planned
  const superseded: PlannedRun = {
    ...planned,
    state: 'superseded',
    message: [message('said.held_already', { run: held.id }), message('said.nothing_enqueued')],
  }
  await recordPlan(db, run.id, superseded)
  return superseded
}

/** Exactly what was approved goes into the outbox; HR is not read. */
async function carryOut(
  { hr, source }: PlannerOptions,
  db: ClientBase,
  run: PlannableRun,
): Promise<PlannedRun> {
  await assertInForce(db, hr, source)
  // A rejection of its rows with another plan comes before it, or waits until it is carried out.
  await runsInParts(db, run.source, true)
  // Since the plan was stored, the file of HR_SOURCES may have given an enterprise to another source.
  const scope = hr.named(run.source) ?? WHOLE
  let leftOut: number
  if (run.kind === 'departments') {
    const stored = await storedDeletions(db, run.id)
    const own = stored.filter(({ enterpriseCode }) => scope.codes?.includes(enterpriseCode) ?? true)
    await addWork(db, run.id, PRIORITY.background, own)
    leftOut = stored.length - own.length
  } else {
    leftOut = await restoreEmployeePlan(db, run.id, scope.codes)
    const keyless = await keylessOf(db, run.id)
    await applyEmployeePlan(db, run.id, { isFull: run.kind === 'full', keyless, scope })
  }
  const what =
    leftOut > 0 ? message(scope.codes ? 'said.left_out_or_moved' : 'said.left_out', { count: leftOut }) : null
  await recordApproved(db, run.id, what)
  if (EMPLOYEE_KINDS.includes(run.kind)) await recheckHeldRuns(db, run.source)
  return { state: 'running', ...(what && { message: what }) }
}

/** Rows without a user id that the run found when it was planned; null when it did not read every row. */
async function keylessOf(db: ClientBase, runId: number): Promise<number | null> {
  const { rows } = await db.query<{ keyless: number | null }>(
    `select case when read_all then (source ->> 'keyless')::int end as keyless
     from dirsync.sync_run where id = $1`,
    [runId],
  )
  return onlyRow(rows).keyless
}

/** True for a run of all employees: once it has passed, other held runs of them look different. */
function isOfAll({ kind, changedUserids }: PlannableRun): boolean {
  return EMPLOYEE_KINDS.includes(kind) && changedUserids.length === 0
}
