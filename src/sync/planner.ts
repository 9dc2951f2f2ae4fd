import type { ClientBase, Pool } from 'pg'
import { keyText } from '../core/employee.ts'
import { type Breaker, trips } from '../core/safety.ts'
import type { HrSource } from '../hr/source.ts'
import type { Logger } from '../logger.ts'
import { withConnection } from '../store/connection.ts'
import { beginRetry, beginRetryOf, unwantedDepartmentCases } from '../store/dead-letter.ts'
import { enterpriseCodes, findEmployees } from '../store/employee.ts'
import { writeEmployeePlan } from '../store/employee-plan.ts'
import { recordKeyless } from '../store/keyless.ts'
import { requestMirrorsOf } from '../store/mirror-case.ts'
import { addBindings, addWork, analyzeOutbox, type Work } from '../store/pending.ts'
import {
  claimRun,
  type PlannedKind,
  type PlannedRun,
  type Run,
  reclaimOrphanedRuns,
  recordPlan,
} from '../store/run.ts'
import { repeatOnDeadlock, transaction } from '../store/transaction.ts'
import { departmentFacts } from './department-facts.ts'
import { type EmployeePlanLimits, planEmployees } from './plan-employees.ts'
import { planNamedRows } from './plan-named-rows.ts'

/** One planner at a time, of all processes: plans write the same rows. */
const LOCK = 0x706c616e // 'plan'

/** After a plan of so many entities PostgreSQL is told that the outbox has grown. */
const MUCH_WORK = 5000

const PRIORITY = { named: 1, background: 5 }

export interface PlannerOptions {
  pool: Pool
  hr: HrSource
  logger: Logger
  limits: EmployeePlanLimits & { departments: Breaker; departmentGraceMs: number }
  sellerAppids: string[]
  /** Enterprise code of the deployment itself; empty for a single enterprise. */
  ownEnterprise: string
}

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
      const { rows } = await client.query('select pg_try_advisory_lock($1) as mine', [LOCK])
      if (!rows[0].mine) return false
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
        transaction(pool, async db => {
          const plan = await this.#planKind(db, run, signal)
          await recordPlan(db, run.id, plan)
          return plan
        }),
      )
      const work = Object.values(planned.plan?.reasons ?? {}).reduce((sum, n) => sum + n, 0)
      if (work > MUCH_WORK) await analyzeOutbox(pool)
      log.info(
        { state: planned.state, reasons: planned.plan?.reasons, message: planned.message },
        'run planned',
      )
    } catch (error) {
      if (signal.aborted) throw error
      const message = error instanceof Error ? error.message : String(error)
      log.error({ err: message }, 'run failed')
      await recordPlan(pool, run.id, { state: 'failed', message })
    }
  }

  async #planKind(
    db: ClientBase,
    run: Run & { kind: PlannedKind },
    signal: AbortSignal,
  ): Promise<PlannedRun> {
    switch (run.kind) {
      case 'changes':
      case 'full': {
        if (run.keys.length > 0) return this.#planTriggered(db, run)
        const { hr, limits } = this.#options
        const plan = await planEmployees(db, hr, run, limits, new Date(), signal)
        if (plan.state !== 'running') return plan
        await writeEmployeePlan(db, run.id, run.kind === 'full')
        if (plan.sweep) await recordKeyless(db, run.id, plan.source.keyless)
        return plan
      }
      case 'employees':
        return this.#planNamed(db, run)
      case 'retry':
        return this.#planRetry(db, run)
      case 'departments':
        return this.#planDepartments(db, run)
      case 'openids':
        return this.#planOpenids(db, run)
    }
  }

  /** Rows that HR's trigger named by user id, in any enterprise. */
  async #planTriggered(db: ClientBase, run: Run): Promise<PlannedRun> {
    const { hr, limits, ownEnterprise } = this.#options
    const enterprises = await enterpriseCodes(db, ownEnterprise)
    const candidates = run.keys.flatMap(userid =>
      enterprises.map(enterpriseCode => ({ enterpriseCode, userid })),
    )
    const plan = await planNamedRows(db, hr, run, candidates, limits)
    if (plan.state === 'running') await writeEmployeePlan(db, run.id, false)
    return plan
  }

  /** Named employees: whoever HR or dirsync knows by that user id, in any enterprise. */
  async #planNamed(db: ClientBase, run: Run): Promise<PlannedRun> {
    const known = await findEmployees(db, run.keys)
    const enterprises = await enterpriseCodes(db, this.#options.ownEnterprise)
    const candidates = run.keys.flatMap(key =>
      enterprises.map(enterpriseCode => ({
        enterpriseCode,
        userid: key.startsWith(`${enterpriseCode}/`) ? key.slice(enterpriseCode.length + 1) : key,
      })),
    )
    const rows = await this.#options.hr.lookup(candidates)
    const inHr = candidates.filter(key => rows.has(keyText(key)))
    const employees = [...new Map([...known, ...inHr].map(key => [keyText(key), key])).values()]
    const missing = run.keys.filter(
      key =>
        !employees.some(
          ({ enterpriseCode, userid }) => userid === key || `${enterpriseCode}/${userid}` === key,
        ),
    )
    if (employees.length === 0)
      return { state: 'failed', message: `neither HR nor dirsync knows an employee ${missing.join(', ')}` }
    await beginRetryOf(db, employees, run.id)
    const work = employees.map(key => workOf('update-employee', key.enterpriseCode, key.userid))
    return this.#add(
      db,
      run,
      PRIORITY.named,
      work,
      'asked',
      missing.length > 0 ? `unknown: ${missing.join(', ')}` : undefined,
    )
  }

  async #planRetry(db: ClientBase, run: Run): Promise<PlannedRun> {
    const ids = run.keys.map(Number)
    const work = await beginRetry(db, ids, run.id)
    const mirrors = await requestMirrorsOf(db, ids, run.requestedBy)
    return this.#add(
      db,
      run,
      run.requestedBy === 'cron' ? PRIORITY.background : PRIORITY.named,
      work,
      'retry',
      mirrors.map(({ id, kind }) => `run ${id} reads ${kind} again`).join(', ') || undefined,
    )
  }

  async #planDepartments(db: ClientBase, run: Run): Promise<PlannedRun> {
    const { hr, limits } = this.#options
    if (!(await hr.inspect()).departments)
      return {
        state: 'running',
        inScope: 0,
        plan: { reasons: {}, sample: [] },
        message: 'HR_DEPARTMENTS_SQL is not set: no department is ever deleted',
      }
    const { inHr, total, deletions, wanted } = await departmentFacts(db, hr, {
      graceMs: limits.departmentGraceMs,
      now: new Date(),
    })
    if (inHr === 0 && total > 0)
      return {
        state: 'source_suspect',
        inScope: total,
        message:
          'HR delivered no departments at all: check the mapping query and the HR database. Nothing was enqueued.',
      }
    const work = deletions.map(({ enterpriseCode, deptCode, wave }) => ({
      ...workOf('delete-department', enterpriseCode, deptCode),
      wave,
    }))
    if (!run.approved && trips(limits.departments, work.length, total))
      return {
        state: 'held',
        inScope: total,
        plan: summary(work, 'delete'),
        message: `${work.length} of ${total} departments would be deleted, more than ${limits.departments.count} and ${limits.departments.percent} %: look at the plan, then approve or reject the run.`,
      }
    // A case whose department HR wants to keep after all ends when its job finds nothing to do.
    const unwanted = await beginRetry(db, await unwantedDepartmentCases(db, wanted), run.id)
    await addWork(db, run.id, PRIORITY.background, unwanted)
    return { ...(await this.#add(db, run, PRIORITY.background, work, 'delete')), inScope: total }
  }

  async #planOpenids(db: ClientBase, run: Run): Promise<PlannedRun> {
    const added = await addBindings(db, run.id, PRIORITY.background, this.#options.sellerAppids)
    return {
      state: 'running',
      inScope: added,
      plan: { reasons: added > 0 ? { bind: added } : {}, sample: [] },
    }
  }

  async #add(
    db: ClientBase,
    run: Run,
    priority: number,
    work: Work[],
    reason: string,
    message?: string,
  ): Promise<PlannedRun> {
    await addWork(db, run.id, priority, work)
    return {
      state: 'running',
      inScope: work.length,
      plan: summary(work, reason),
      ...(message ? { message } : {}),
    }
  }
}

function workOf(operation: Work['operation'], enterpriseCode: string, entityKey: string): Work {
  return { operation, enterpriseCode, entityKey, detail: '', wave: 0 }
}

function summary(work: Work[], reason: string) {
  return {
    reasons: work.length > 0 ? { [reason]: work.length } : {},
    sample: work
      .slice(0, 20)
      .map(({ enterpriseCode, entityKey }) =>
        enterpriseCode === '' ? entityKey : `${enterpriseCode}/${entityKey}`,
      ),
  }
}
