import { HrDeliveryError, HrUnavailableError } from '../hr/source.ts'
import { type HrSources, type NamedSource, WHOLE } from '../hr/sources.ts'
import { whileLocked } from '../lib/advisory-lock.ts'
import {
  type ClientBase,
  databaseTime,
  isConnectionLost,
  onlyRow,
  type Pool,
  repeatOnDeadlock,
  transaction,
} from '../lib/database.ts'
import { inHand } from '../lib/in-hand.ts'
import type { Logger } from '../lib/logger.ts'
import { type Trace, type Tracing, traced } from '../lib/tracing.ts'
import { type MessageKey, message, type Said, SaidError, saidBy } from '../texts/message.ts'
import { planDepartments, storedDeletions } from './departments.ts'
import { haltForHr, healHrHalt } from './halts.ts'
import { addBindings, addWork, analyzeOutbox, PRIORITY } from './outbox.ts'
import { applyEmployeePlan, planEverybody, planNamed, planTriggered } from './plan-employees.ts'
import { restoreEmployeePlan } from './plan-tables.ts'
import { planRetry } from './retries.ts'
import {
  beginRun,
  type CheckedPlan,
  checkLater,
  claimRun,
  heldRun,
  keepHeld,
  type PlannableRun,
  type PlannedRun,
  planFigures,
  type RunKind,
  RunTakenBack,
  recheckHeldRuns,
  reclaimOrphanedRuns,
  recordApproved,
  recordPlan,
  returnPart,
  supersede,
} from './run.ts'
import { figures, runSpan, traceRun } from './run-trace.ts'
import type { RunLimits } from './safety.ts'
import { areInForce, assertInForce, noteDelivery, OutdatedSources } from './sources.ts'

/** After a plan of this many entities PostgreSQL's statistics of the outbox are updated. */
const MUCH_WORK = 5000

/** What a held run says about the time since it was held. */
const SINCE_HELD: ReadonlySet<MessageKey> = new Set([
  'said.unchanged_since',
  'said.changed_row_since',
  'said.changed_rows_since',
  'said.not_checked',
])

/** Runs of employees that choose their own rows. Two of them are held for the same rows. */
const EMPLOYEE_KINDS: readonly RunKind[] = ['changes', 'full']

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
      // Before the transaction: a new delivery is loaded by this.
      const isOfEmployees = EMPLOYEE_KINDS.includes(run.kind)
      const delivery = isOfEmployees ? await this.#readFrom(run)?.hr.delivery() : undefined
      const { state, inScope, plan, message } = await repeatOnDeadlock(() =>
        transaction(pool, async db => {
          await db.query(`select set_config('dirsync.knows_parts', 'on', true)`)
          const planned = await (run.approved
            ? carryOut(this.#options, db, run)
            : this.#check(db, run, signal))
          const source = this.#readFrom(run)
          // In one transaction: whoever sees the run planned finds no halt that its plan has disproved.
          if (source && isOfEmployees) {
            await healHrHalt({ db, logger: log }, source, startedAt)
            await noteDelivery(db, source.name, delivery)
          }
          return planned
        }),
      )
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
      // As if the planner had died: the next one finds the run. No tick would request it again.
      if (isConnectionLost(error) && (run.approved || run.kind === 'employees' || run.kind === 'retry'))
        throw error
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
      return this.#recordFailure(
        run,
        startedAt,
        isSuspect ? message('said.suspect', { reason: what }) : what,
        isSuspect ? 'source_suspect' : 'failed',
      )
    }
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

  /** A held run stays held, whatever the failure of checking HR again. */
  async #recordFailure(
    run: PlannableRun,
    startedAt: Date,
    reason: Said,
    state: 'failed' | 'source_suspect',
  ): Promise<void> {
    const { pool } = this.#options
    if (run.state === 'held') {
      const held = [run.message ?? []].flat().filter(what => !('key' in what && SINCE_HELD.has(what.key)))
      return checkLater(pool, run.id, [...held, message('said.not_checked', { reason })])
    }
    const record = async (db: ClientBase) => {
      // The held run first, as everyone who decides about a part locks it first.
      if (run.approved) await returnPart(db, run.id)
      await recordPlan(db, run.id, { state, message: reason }, startedAt)
    }
    await transaction(pool, record).catch(error => {
      if (!(error instanceof RunTakenBack)) throw error
    })
  }

  /**
   * Plans a run: its work goes into the outbox, or its plan is stored until a decision, or neither. For a run that is held
   * already HR is checked again: if its rows look right now, another run takes its place; else its plan stays as it is. One that
   * is decided in parts stays while HR has any of its undecided rows; other work passes it by.
   */
  async #check(db: ClientBase, run: PlannableRun, signal: AbortSignal): Promise<PlannedRun> {
    const { hr, source } = this.#options
    const plan = await this.#planOf(db, run, signal)
    // Reading HR may have taken long. Whatever has been written is rolled back.
    await assertInForce(db, hr, source)
    const { planned } = plan
    const wasHeld = run.state === 'held'
    const held = wasHeld ? run.id : await heldBefore(db, run, planned.state)
    if (planned.state === 'held') {
      await plan.mark?.(held ?? run.id)
      if (held !== null) return stayHeld(db, run, held, planned, (await plan.changedSince?.(held)) ?? 0)
      await traced('write plan', async () => plan.store?.(run.id))
    } else if (planned.state === 'running') {
      const open = held === null ? null : await plan.undecided?.(held)
      const stays = held !== null && open !== undefined && open !== null && open.count > 0
      if (stays && wasHeld) {
        await keepHeld(db, held, null, open.changed)
        return { ...planned, state: 'held' }
      }
      const id = wasHeld ? await beginRun(db, run.id) : run.id
      await traced('write plan', () => plan.apply(id))
      if (held !== null && !stays) await supersede(db, held, id)
      await recordPlan(db, id, planned)
      if (passedForAll(run)) await recheckHeldRuns(db, run.source)
      if (stays) await keepHeld(db, held, null, open.changed)
      return planned
    } else if (wasHeld) {
      await keepHeld(db, run.id, [planned.message ?? [], message('said.plan_stays')], null)
      return planned
    }
    await recordPlan(db, run.id, planned)
    return planned
  }

  /** The plan of a run of any kind. What it has written by then is rolled back with the transaction if the run fails. */
  #planOf(db: ClientBase, run: PlannableRun, signal: AbortSignal): Promise<CheckedPlan> {
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
        return planDepartments(db, this.#source(), limits)
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
): Promise<number | null> {
  if (run.changedUserids.length > 0) return null
  const sameRows = state === 'held' && EMPLOYEE_KINDS.includes(run.kind)
  return (await heldRun(db, sameRows ? EMPLOYEE_KINDS : [run.kind], run.source, run.id))?.id ?? null
}

/** The plan that was stored first stays, so that approval sends what a person looks at. */
async function stayHeld(
  db: ClientBase,
  run: PlannableRun,
  held: number,
  planned: PlannedRun,
  changedSince: number,
): Promise<PlannedRun> {
  const since =
    changedSince === 0
      ? message('said.unchanged_since')
      : message(changedSince === 1 ? 'said.changed_row_since' : 'said.changed_rows_since', {
          count: changedSince,
        })
  await keepHeld(db, held, [planned.message ?? [], since].flat(), changedSince)
  if (held === run.id) return planned
  const superseded: PlannedRun = {
    ...planned,
    state: 'superseded',
    message: [message('said.held_already', { run: held }), message('said.nothing_enqueued')],
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
  let what: Said | null = null
  // Since the plan was stored, the file of HR_SOURCES may have given an enterprise to another source.
  const scope = hr.named(run.source) ?? WHOLE
  if (run.kind === 'departments')
    await addWork(db, run.id, PRIORITY.background, await storedDeletions(db, run.id, scope.codes))
  else {
    const leftOut = await restoreEmployeePlan(db, run.id, scope.codes)
    const keyless = await keylessOf(db, run.id)
    await applyEmployeePlan(db, run.id, { isFull: run.kind === 'full', keyless, scope })
    if (leftOut > 0)
      what = message(scope.codes ? 'said.left_out_or_moved' : 'said.left_out', { count: leftOut })
  }
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

/** True for a run of all employees: other held runs of them look different once it has passed. */
function passedForAll({ kind, changedUserids }: PlannableRun): boolean {
  return EMPLOYEE_KINDS.includes(kind) && changedUserids.length === 0
}
