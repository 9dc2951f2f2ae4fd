import { keyText } from '../directory/employee.ts'
import { type HrSource, HrUnavailableError, MappingError } from '../hr/source.ts'
import type { HrSources, SourceScope } from '../hr/sources.ts'
import type { ClientBase, Pool } from '../lib/database.ts'
import type { Logger } from '../lib/logger.ts'
import { type Tracing, traced } from '../lib/tracing.ts'
import { message, type Said, SaidError } from '../texts/message.ts'
import { departmentFacts, storeDeletions, storedDeletions } from './departments.ts'
import { enterpriseCodes, findEmployees, present } from './employee.ts'
import { addBindings, addWork, awaitPlan, lockWorkOfCases, type Work } from './outbox.ts'
import { applyEmployeePlan, planEmployees, planNamedRows } from './plan-employees.ts'
import { countChangedSince, markHeld, storeEmployeePlan } from './plan-tables.ts'
import { beginRetry, beginRetryOf, requestMirrorsOf, unwantedDepartmentCases } from './retries.ts'
import type { PlannableRun, PlannedRun, PlanSummary } from './run.ts'
import { type RunLimits, trips } from './safety.ts'
import { recordStray } from './stray.ts'
import { askWithheld } from './withheld.ts'

/** Priorities in the outbox and for the pacer: an employee whom a person named goes before background work. */
export const PRIORITY = { named: 1, background: 5 }

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
  /** Default: none. */
  tracing?: Tracing
}

/** The result of planning, and how it is written: into the outbox, or into the store of held plans. */
interface CheckedPlan {
  planned: PlannedRun
  apply(run: number): Promise<void>
  /** For kinds that may be held. */
  store?(run: number): Promise<void>
  /** Marks the employees who wait for the decision about a held run. */
  mark?(held: number): Promise<void>
  /** How many rows differ from the stored plan of a held run. */
  changedSince?(held: number): Promise<number>
}

/** Plans a run of any kind. Before `apply` or `store` it writes only temporary tables, and marks retried cases. */
export function planKind(
  options: PlannerOptions,
  db: ClientBase,
  run: PlannableRun,
  signal: AbortSignal,
): Promise<CheckedPlan> {
  switch (run.kind) {
    case 'changes':
    case 'full':
      return run.changedUserids.length > 0
        ? planTriggered(options, db, run)
        : planEverybody(options, db, run, signal)
    case 'employees':
      return planNamed(options, db, run)
    case 'retry':
      return planRetry(options, db, run)
    case 'departments':
      return planDepartments(options, db)
    case 'openids':
      return planOpenids(options, db, run)
  }
}

/** The source of a run. */
function sourceOf({ hr, source }: PlannerOptions): SourceScope & { hr: HrSource } {
  const named = hr.named(source)
  if (named === null)
    throw new SaidError(
      source ? message('said.source_unnamed', { name: source }) : message('said.source_nameless'),
    )
  return named
}

async function planEverybody(
  options: PlannerOptions,
  db: ClientBase,
  run: PlannableRun,
  signal: AbortSignal,
): Promise<CheckedPlan> {
  const scope = sourceOf(options)
  const planned = await planEmployees(db, scope.hr, run, options.limits, signal, scope)
  const keyless = planned.readAll ? planned.source.keyless : null
  const whole = { readAll: planned.readAll === true, codes: scope.codes }
  return {
    planned,
    apply: async id => {
      await applyEmployeePlan(db, id, { isFull: run.kind === 'full', keyless, scope })
      await markHeld(db, null, whole)
      if (scope.codes) await recordStray(db, id, scope, whole.readAll)
    },
    store: id => storeEmployeePlan(db, id),
    mark: id => markHeld(db, id, whole),
    changedSince: held => countChangedSince(db, held),
  }
}

/** Rows that HR's trigger named by user id, in any enterprise. */
async function planTriggered(
  options: PlannerOptions,
  db: ClientBase,
  { changedUserids }: PlannableRun,
): Promise<CheckedPlan> {
  const { limits, ownEnterprise } = options
  const scope = sourceOf(options)
  const enterprises = scope.codes ?? (await enterpriseCodes(db, ownEnterprise))
  const candidates = changedUserids.flatMap(userid =>
    enterprises.map(enterpriseCode => ({ enterpriseCode, userid })),
  )
  const { planned, missing } = await planNamedRows(db, scope.hr, candidates, limits.breaker, scope)
  return {
    planned,
    apply: async id => {
      await awaitPlan(db, missing)
      await applyEmployeePlan(db, id, { isFull: false, keyless: null, scope })
    },
    store: async id => {
      await awaitPlan(db, missing)
      await storeEmployeePlan(db, id)
    },
    mark: id => markHeld(db, id, { readAll: false, codes: scope.codes }),
    changedSince: held => countChangedSince(db, held),
  }
}

/** Named employees: those that HR or dirsync knows by that user id, in any enterprise. */
async function planNamed(
  { hr, ownEnterprise }: PlannerOptions,
  db: ClientBase,
  { named }: PlannableRun,
): Promise<CheckedPlan> {
  // Without a source for the enterprise, HR's state is unknown.
  const known = (await findEmployees(db, named)).filter(({ enterpriseCode }) => hr.of(enterpriseCode))
  const enterprises = await enterpriseCodes(db, ownEnterprise)
  const mapping = await hr.fingerprint()
  const { keys: inHr, failures } = await traced('read HR', () =>
    hr.find(named, enterprises, { mapping, expected: missing => present(db, missing) }),
  )
  const [failed] = failures
  // A name that one source cannot look up may belong to another one.
  if (failed && (!hr.areNamed || known.length + inHr.length === 0)) throw failed.error
  const employees = [...new Map([...known, ...inHr].map(key => [keyText(key), key])).values()]
  const missing = named.filter(
    name =>
      !employees.some(
        ({ enterpriseCode, userid }) => userid === name || `${enterpriseCode}/${userid}` === name,
      ),
  )
  if (employees.length === 0) return unable('failed', message('said.knows_nobody', { names: missing }))
  const work = employees.map(key => ({
    ...workOf('update-employee', key.enterpriseCode, key.userid),
    named: true,
  }))
  const unread = failures.map(({ source }) => message('said.source_unread', { name: source.name }))
  const unknown =
    missing.length === 0
      ? null
      : unread.length === 0
        ? message('said.unknown_names', { names: missing })
        : message('said.unknown_and_unread', { names: missing, unread })
  return {
    planned: {
      state: 'running',
      inScope: work.length,
      plan: summary(work, 'asked'),
      mapping,
      ...(unknown && { message: unknown }),
    },
    apply: async id => {
      await addWork(db, id, PRIORITY.named, work)
      await beginRetryOf(db, employees, id)
    },
  }
}

/** Cases that are due, or that a person requested. */
async function planRetry({ hr }: PlannerOptions, db: ClientBase, run: PlannableRun): Promise<CheckedPlan> {
  const { cases: ids, requestedBy } = run
  const byItself = requestedBy === 'cron'
  // Before any lock: HR may be slow.
  const mapping = byItself ? undefined : await presentMapping(hr)
  await lockWorkOfCases(db, ids)
  const work = await beginRetry(db, ids, run.id)
  const mirrors = await requestMirrorsOf(db, ids, requestedBy)
  const withheld = await askWithheld(db, run.id, ids)
  const inScope = work.length + withheld
  const again = mirrors.map(({ id, kind }) => message('said.reads_again', { run: id, kind }))
  const priority = byItself ? PRIORITY.background : PRIORITY.named
  return {
    planned: {
      state: 'running',
      inScope,
      plan: summary(work, 'retry', inScope),
      mapping,
      ...(again.length > 0 && { message: message('said.reads_all_again', { runs: again }) }),
    },
    apply: id => addWork(db, id, priority, work),
  }
}

/** The mapping may have been fixed before the retry. While HR does not answer, that of the last plan stays in force. */
async function presentMapping(hr: HrSources): Promise<string | undefined> {
  try {
    return await hr.fingerprint()
  } catch (error) {
    if (error instanceof HrUnavailableError || error instanceof MappingError) return undefined
    throw error
  }
}

async function planDepartments(options: PlannerOptions, db: ClientBase): Promise<CheckedPlan> {
  const { limits } = options
  const scope = sourceOf(options)
  const { hr } = scope
  if (!(await hr.inspect()).departments) {
    const setting = scope.codes ? 'departments_sql' : 'HR_DEPARTMENTS_SQL'
    return unable('running', message('said.no_departments_sql', { setting }), 0)
  }
  const { inHr, total, doubt, deletions, wanted } = await traced('read HR', () =>
    departmentFacts(db, scope, limits),
  )
  if (doubt) return unable(doubt.isSuspect ? 'source_suspect' : 'running', doubt.message, total)
  if (inHr === 0 && total > 0)
    return unable(
      'source_suspect',
      message('said.suspect', { reason: message('said.no_departments') }),
      total,
    )
  const work = deletions.map(({ enterpriseCode, deptCode, wave }) => ({
    ...workOf('delete-department', enterpriseCode, deptCode),
    wave,
  }))
  const isHeld = trips(limits.departments, work.length, total)
  return {
    planned: {
      state: isHeld ? 'held' : 'running',
      inScope: total,
      plan: summary(work, 'delete'),
      ...(isHeld && {
        message: message('said.departments_go', { changing: work.length, total, ...limits.departments }),
      }),
    },
    apply: async id => {
      // A case whose department HR wants to keep after all ends when its job finds nothing to do.
      const unwanted = await beginRetry(db, await unwantedDepartmentCases(db, wanted, scope.codes), id)
      await addWork(db, id, PRIORITY.background, unwanted)
      await addWork(db, id, PRIORITY.background, work)
    },
    store: id => storeDeletions(db, id, work),
    changedSince: async held => {
      const stored = new Set((await storedDeletions(db, held)).map(nameOf))
      const now = new Set(work.map(nameOf))
      return [...stored, ...now].filter(name => !stored.has(name) || !now.has(name)).length
    },
  }
}

/** Missing open ids are many and small: they go into the outbox as they are found. */
async function planOpenids(
  { sellerAppids }: PlannerOptions,
  db: ClientBase,
  run: PlannableRun,
): Promise<CheckedPlan> {
  const added = await addBindings(db, run.id, PRIORITY.background, sellerAppids)
  return {
    planned: { state: 'running', inScope: added, plan: summary([], 'bind', added) },
    apply: async () => {},
  }
}

/** A run that ends without any work. */
function unable(state: 'running' | 'failed' | 'source_suspect', why: Said, inScope?: number): CheckedPlan {
  return {
    planned: {
      state,
      message: why,
      plan: { reasons: {}, sample: [] },
      ...(inScope !== undefined && { inScope }),
    },
    apply: async () => {},
  }
}

function workOf(operation: Work['operation'], enterpriseCode: string, entityKey: string): Work {
  return { operation, enterpriseCode, entityKey, detail: '', wave: 0 }
}

function summary(work: Work[], reason: string, count = work.length): PlanSummary {
  return { reasons: count > 0 ? { [reason]: count } : {}, sample: work.slice(0, 20).map(nameOf) }
}

/** The name of an entity for people. */
function nameOf({ enterpriseCode, entityKey }: Work): string {
  return enterpriseCode === '' ? entityKey : `${enterpriseCode}/${entityKey}`
}
