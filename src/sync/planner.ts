import type { ClientBase } from '../lib/database.ts'
import {
  onlyRow,
  repeatOnDeadlock,
  repeatStepOnDeadlock,
  transaction,
  withConnection,
} from '../lib/database.ts'
import { recordKeyless, restoreEmployeePlan, writeEmployeePlan } from './employee-plan.ts'
import {
  beginRun,
  heldRun,
  judgeLater,
  keepHeld,
  recordApproved,
  rejudgeHeld,
  sourceOf,
  supersede,
} from './held-run.ts'
import { addWork, analyzeOutbox } from './outbox.ts'
import { type PlannerOptions, PRIORITY, planKind } from './plan-kind.ts'
import {
  claimRun,
  type PlannedKind,
  type PlannedRun,
  type Run,
  RunTakenBack,
  reclaimOrphanedRuns,
  recordPlan,
} from './run.ts'
import { storedDeletions } from './stored-plan.ts'

/** One planner at a time, of all processes: plans write the same rows. */
const LOCK = 0x706c616e // 'plan'

/** After a plan of so many entities PostgreSQL is told that the outbox has grown. */
const MUCH_WORK = 5000

/** What a held run says about the time since it was held begins with one of these. */
const SINCE_HELD = / (?=HR has not changed since|Since then HR|HR could not be judged)/

/** Runs of all employees. */
const EMPLOYEE_KINDS: readonly Run['kind'][] = ['changes', 'full']

/** Turns requested runs into work in the outbox, or holds them, or says why not. */
export class Planner {
  readonly #options: PlannerOptions

  constructor(options: PlannerOptions) {
    this.#options = options
  }

  /** Plans the next requested run. False when there is none, or when another process is planning. */
  async planNext(signal: AbortSignal): Promise<boolean> {
    const { pool, logger } = this.#options
    return withConnection(pool, async client => {
      const { rows } = await client.query<{ mine: boolean }>('select pg_try_advisory_lock($1) as mine', [
        LOCK,
      ])
      if (!onlyRow(rows).mine) return false
      try {
        // Whoever holds the lock knows that no planner is at work, so a run still in planning lost its own.
        if ((await reclaimOrphanedRuns(client)) > 0) logger.warn('a planner died; its run is planned anew')
        const run = await claimRun(client)
        if (!run) return false
        await this.#plan(run, signal)
        return true
      } finally {
        // The lock goes with the connection, if that is gone.
        await client.query('select pg_advisory_unlock($1)', [LOCK]).catch(() => undefined)
      }
    })
  }

  async #plan(run: Run & { kind: PlannedKind }, signal: AbortSignal): Promise<void> {
    const { pool, logger } = this.#options
    const log = logger.child({ runId: run.id, kind: run.kind })
    try {
      const planned = await repeatOnDeadlock(() =>
        transaction(pool, db => (run.approved ? this.#carryOut(db, run) : this.#judge(db, run, signal))),
      )
      const work = Object.values(planned.plan?.reasons ?? {}).reduce((sum, n) => sum + n, 0)
      if (work > MUCH_WORK) await analyzeOutbox(pool)
      log.info(
        { state: planned.state, reasons: planned.plan?.reasons, message: planned.message },
        'run planned',
      )
    } catch (error) {
      if (signal.aborted) throw error
      if (error instanceof RunTakenBack) return log.info('run cancelled while it was planned')
      const message = error instanceof Error ? error.message : String(error)
      log.error({ err: message }, 'run failed')
      await this.#recordFailure(run, message)
    }
  }

  /** A held run stays held, whatever kept HR from being judged again. */
  async #recordFailure(run: Run, message: string): Promise<void> {
    const { pool } = this.#options
    if (run.state !== 'held')
      return recordPlan(pool, run.id, { state: 'failed', message }).catch(error => {
        if (!(error instanceof RunTakenBack)) throw error
      })
    const [held = ''] = (run.message ?? '').split(SINCE_HELD)
    await judgeLater(pool, run.id, `${held} HR could not be judged again: ${message}`.trim())
  }

  /** Plans a run: its work goes into the outbox, or its plan is stored until somebody decides, or neither. */
  async #judge(db: ClientBase, run: Run & { kind: PlannedKind }, signal: AbortSignal): Promise<PlannedRun> {
    const plan = await planKind(this.#options, db, run, signal)
    const { planned } = plan
    const held = run.state === 'held' ? run.id : await this.#heldBefore(db, run, planned.state)
    if (held !== null && planned.state === 'held')
      return this.#keepHeld(db, run, held, planned, await plan.changedSince?.(held))
    if (run.state === 'held' && planned.state !== 'running') {
      const message = `${planned.message ?? planned.state} The plan stays as it was stored: approve or reject the run.`
      await keepHeld(db, run.id, { message, changedSince: null })
      return planned
    }
    const id = run.state === 'held' ? await beginRun(db, run, 'cron') : run.id
    if (planned.state === 'running') await plan.apply(id)
    if (planned.state === 'held') await plan.store?.(id)
    if (planned.state === 'running' && held !== null) await supersede(db, held, id)
    await recordPlan(db, id, planned)
    if (planned.state === 'running' && run.keys.length === 0) await rejudgeHeld(db, run.kind)
    return planned
  }

  /**
   * The run that is held already when another one of everything is planned. Changes and full runs are held for the same rows,
   * so one of them is enough to decide about; but only a run of its own kind makes a held one needless.
   */
  async #heldBefore(db: ClientBase, run: Run, state: PlannedRun['state']): Promise<number | null> {
    if (run.keys.length > 0) return null
    const sameRows = state === 'held' && EMPLOYEE_KINDS.includes(run.kind)
    return heldRun(db, sameRows ? EMPLOYEE_KINDS : [run.kind], run.id)
  }

  /** The plan that was stored first stays, so that what a person looks at is what approval sends. */
  async #keepHeld(
    db: ClientBase,
    run: Run,
    held: number,
    planned: PlannedRun,
    changedSince: number | undefined,
  ): Promise<PlannedRun> {
    const since =
      changedSince === undefined || changedSince === 0
        ? 'HR has not changed since.'
        : `Since then HR has changed ${changedSince} ${changedSince === 1 ? 'row' : 'rows'}: approval sends the plan as it was stored and leaves them to the next one.`
    await keepHeld(db, held, {
      message: `${planned.message ?? ''} ${since}`,
      changedSince: changedSince ?? 0,
    })
    if (held === run.id) return planned
    const superseded: PlannedRun = {
      ...planned,
      state: 'superseded',
      message: `Run ${held} is held with such a plan already: approve or reject that one. Nothing was enqueued.`,
    }
    await recordPlan(db, run.id, superseded)
    return superseded
  }

  /** Exactly what was approved goes into the outbox; HR is not asked. */
  async #carryOut(db: ClientBase, run: Run & { kind: PlannedKind }): Promise<PlannedRun> {
    if (run.kind === 'departments') {
      await addWork(db, run.id, PRIORITY.background, await storedDeletions(db, run.id))
      await recordApproved(db, run.id, null)
      return { state: 'running' }
    }
    const leftOut = await restoreEmployeePlan(db, run.id)
    await repeatStepOnDeadlock(db, () => writeEmployeePlan(db, run.id, run.kind === 'full'))
    const source = await sourceOf(db, run.id)
    if (source) await recordKeyless(db, run.id, source.keyless)
    const message =
      leftOut === 0
        ? null
        : `${leftOut} planned rows are left out: a later plan that passed has seen newer ones.`
    await recordApproved(db, run.id, message)
    await rejudgeHeld(db, run.kind)
    return { state: 'running', ...(message ? { message } : {}) }
  }
}
