import { type EmployeeField, type EmployeeKey, keyText } from '../directory/employee.ts'
import { rowHash } from '../directory/hash.ts'
import { HrUnavailableError, isOfHr } from '../hr/source.ts'
import { type HrSources, mappingFor, type NamedSource } from '../hr/sources.ts'
import { Batcher } from '../lib/batcher.ts'
import type { Pool } from '../lib/database.ts'
import type { Logger } from '../lib/logger.ts'
import type { SessionLocks } from '../lib/session-locks.ts'
import { type Trace, type Tracing, traced, UNTRACED } from '../lib/tracing.ts'
import { Semaphore, within } from '../lib/waiting.ts'
import type { PlatformClient } from '../platform/client.ts'
import { type JobOperation, parseJobKey } from '../queue/job.ts'
import { type Claim, type ClaimKey, claim } from './claim.ts'
import { CountedPlatform } from './counted-platform.ts'
import { deleteDepartment, departmentFacts } from './departments.ts'
import { doubtFields, plannedHash } from './employee.ts'
import { halt, healHalts, liftHrHalt, scopesOf } from './halts.ts'
import { OutageDetector } from './outage.ts'
import { postpone } from './outbox.ts'
import {
  allBut,
  failure,
  type JobResult,
  judge,
  type Outcome,
  result,
  unasked,
  verdictResult,
} from './outcome.ts'
import { bindOpenid, type HrRow, reconcileEmployee } from './reconcile-employee.ts'
import { runSpan } from './run-trace.ts'
import { type Settlement, settle } from './settlement.ts'

/** A job whose worker has died this often in the middle of it is parked. */
const MAX_STARTS = 25
/** A job whose entity another process has in hand comes back after this long. */
const LOCKED_MS = 1000
/** How long one of several sources may take to look up rows: its jobs are in hand meanwhile, in the place of others' jobs. */
const LOOK_UP_MS = 30_000
/** How long a deletion waits while HR's departments cannot be read. */
const DEPARTMENTS_MS = 60_000

interface JobProcessorDependencies {
  pool: Pool
  client: PlatformClient
  hr: HrSources
  locks: SessionLocks
  logger: Logger
  /** Calls to the platform at a time, of however many jobs. */
  concurrentCalls: number
  departmentGraceMs: number
  /** Default: none. */
  tracing?: Tracing
  /** Called after every outcome has been written, for metrics. */
  onSettled?:
    | ((settled: { operation: JobOperation; outcome: Outcome; durationMs: number }) => void)
    | undefined
}

/**
 * Executes jobs: lock, claim, do, settle. Whatever happens is written to PostgreSQL. Only a failure of PostgreSQL itself is
 * thrown, and then the outbox still has the work.
 */
export class JobProcessor {
  readonly #deps: JobProcessorDependencies
  readonly #permits: Semaphore
  readonly #outage = new OutageDetector()
  /** What many jobs want in the same moment becomes one statement. */
  readonly #claims: Batcher<ClaimKey, Claim | null>
  /** By source: one that is slow or away keeps nobody waiting for the rows of another one. */
  readonly #rows: ReadonlyMap<NamedSource, Batcher<RowWanted, HrRow>>
  readonly #settlements: Batcher<Settlement, true>

  constructor(deps: JobProcessorDependencies) {
    this.#deps = deps
    this.#permits = new Semaphore(deps.concurrentCalls)
    this.#claims = new Batcher(keys => claim(deps.pool, keys, deps.hr.areNamed), { maxBatch: 200 })
    this.#rows = new Map(
      deps.hr.all.map(source => [
        source,
        new Batcher<RowWanted, HrRow>(
          wanted => {
            const rows = lookUpRows(source, wanted)
            return source.codes ? within(LOOK_UP_MS, rows, tooLate) : rows
          },
          { maxBatch: 500 },
        ),
      ]),
    )
    this.#settlements = new Batcher(
      async settlements => {
        await settle(deps.pool, settlements)
        return settlements.map(() => true as const)
      },
      { maxBatch: 200 },
    )
  }

  /** @param signal aborts when the worker stops, or when it has lost the job to another one */
  async process(job: { name: JobOperation; key: string }, signal: AbortSignal): Promise<void> {
    const key = { operation: job.name, ...parseJobKey(job.key) }
    const { tracing = UNTRACED } = this.#deps
    await tracing.trace(job.name, { kind: 'consumer' }, trace => this.#process(key, signal, trace))
  }

  async #process(key: ClaimKey, signal: AbortSignal, trace: Trace): Promise<void> {
    const lock = lockName(key)
    const locked = await traced('lock', () => this.#deps.locks.lock(lock, signal))
    if (locked === null) {
      trace.drop()
      return postpone(this.#deps.pool, key, LOCKED_MS)
    }
    try {
      await this.#execute(key, locked, trace)
    } finally {
      // Nobody waits for it: it goes with the next job's lock, and a process that ends gives back its locks anyway.
      void this.#deps.locks.unlock(lock)
    }
  }

  async #execute(key: ClaimKey, signal: AbortSignal, trace: Trace): Promise<void> {
    const { client, logger, onSettled } = this.#deps
    const begun = performance.now()
    const claimed = await traced('claim', () => this.#claims.submit(key))
    if (claimed === null) return trace.drop()
    const { priority, runId, startedAt } = claimed
    traceClaim(trace, claimed)
    const platform = new CountedPlatform(client, this.#permits, { signal, priority })
    const attempted = await this.#attempt(key, claimed, platform)
    const { outcome } = attempted
    const durationMs = Math.round(performance.now() - begun)
    const settlement = settlementOf(key, claimed, attempted, platform, durationMs)
    await traced('settle', () => this.#settlements.submit(settlement))
    traceOutcome(trace, outcome)
    onSettled?.({ operation: key.operation, outcome, durationMs })
    if (platform.answered) this.#outage.answered()
    if (platform.answered && claimed.underHalt && outcome !== 'halted')
      await healHalts(this.#deps, key.enterpriseCode, startedAt)
    logger.debug({ operation: key.operation, key: key.entityKey, outcome, runId }, 'job done')
  }

  async #attempt(key: ClaimKey, claimed: Claim, platform: CountedPlatform): Promise<JobResult> {
    if (claimed.halted) return result('halted', { again: atOnce(claimed) })
    if (claimed.starts > MAX_STARTS) return poisoned(key, claimed)
    const source = this.#deps.hr.of(key.enterpriseCode)
    if (source === null) return ofNoSource(key, claimed)
    if (key.operation === 'delete-department') return this.#deleteDepartment(key, claimed, source, platform)
    let sourceHash: string | null = null
    try {
      const employee = { enterpriseCode: key.enterpriseCode, userid: key.entityKey }
      // Read after the claim, whose version fences it: an older row can never settle a newer request.
      const row = await traced('read HR', () => this.#rowOf(source, employee, claimed))
      if (key.operation === 'bind-openid') return await bindOpenid(employee, row, key.detail, platform)
      if (row !== null && row !== 'duplicate') sourceHash = rowHash(Object.keys(row), row)
      if (!(await this.#hasPassed(employee, claimed, source, row === 'duplicate' ? row : sourceHash)))
        return result('replan', { again: atOnce(claimed) })
      const doubt = (fields: EmployeeField[]) => doubtFields(this.#deps.pool, employee, fields)
      return await reconcileEmployee(
        { key: employee, claim: claimed, row, hash: sourceHash, doubt },
        platform,
      )
    } catch (error) {
      if (isOfHr(error)) return this.#haltForHr(claimed, source, error)
      return this.#fail(key, claimed, error, sourceHash)
    }
  }

  async #rowOf(source: NamedSource, employee: EmployeeKey, claimed: Claim): Promise<HrRow> {
    const wanted = { key: employee, mapping: mappingFor(source, claimed.mapping) }
    const row = (await this.#rows.get(source)?.submit(wanted)) ?? null
    // One answer speaks for all enterprises of the source, each of which has a halt of its own.
    if (source.codes && claimed.underHalt) await this.#liftHrHalt(source, claimed)
    return row
  }

  async #liftHrHalt(source: NamedSource, { startedAt }: Claim): Promise<void> {
    const { pool, logger } = this.#deps
    for (const scope of await liftHrHalt(pool, source, startedAt))
      logger.info({ scope, ...(source.name && { source: source.name }) }, 'HR answers again: work continues')
  }

  async #deleteDepartment(
    key: ClaimKey,
    claimed: Claim,
    source: NamedSource,
    platform: CountedPlatform,
  ): Promise<JobResult> {
    const { pool, departmentGraceMs } = this.#deps
    try {
      const now = claimed.startedAt
      const { wanted } = await traced('read HR', () =>
        departmentFacts(pool, source, { graceMs: departmentGraceMs, now }),
      )
      const { enterpriseCode, entityKey: deptCode } = key
      return await deleteDepartment({ enterpriseCode, deptCode, claim: claimed, wanted }, platform)
    } catch (error) {
      if (error instanceof HrUnavailableError) return this.#haltForHr(claimed, source, error)
      // Employees do not wait because something is wrong with departments.
      if (isOfHr(error))
        return result('wait', {
          again: { ...atOnce(claimed), delayMs: DEPARTMENTS_MS },
          error: error.message,
        })
      return this.#fail(key, claimed, error, null)
    }
  }

  /**
   * Whether a plan has passed the HR row with this hash, perhaps one that was written while the claim waited for it. What
   * no plan has passed is not sent, unless a person named the employee.
   */
  async #hasPassed(
    employee: EmployeeKey,
    claimed: Claim,
    source: NamedSource,
    hash: string | null,
  ): Promise<boolean> {
    if (claimed.named || hash === claimed.sourceHash) return true
    // HR has answered, although no call is made that could lift a halt.
    if (claimed.underHalt) await this.#liftHrHalt(source, claimed)
    return hash !== 'duplicate' && hash === (await plannedHash(this.#deps.pool, employee))
  }

  /** Stops everything, or of several sources what waits for this one. */
  async #haltForHr(claimed: Claim, source: NamedSource, { message }: Error): Promise<JobResult> {
    for (const scope of scopesOf(source))
      await halt(this.#deps, scope, {
        category: 'hr_unavailable',
        message: source.name
          ? `HR source ${source.name} cannot be read: ${message}`
          : `HR cannot be read: ${message}`,
        remedy: 'Run `dirsync doctor`; work continues by itself once HR answers again.',
        platformCode: null,
      })
    return result('halted', { again: atOnce(claimed), error: message })
  }

  /** Turns a failed call into a result, after it has raised the halt that the catalogue asks for, or an outage. */
  async #fail(key: ClaimKey, claimed: Claim, thrown: unknown, sourceHash: string | null): Promise<JobResult> {
    const { error, verdict } = judge(thrown)
    const outage = verdict.disposition === 'retry' && this.#outage.failed(key.entityKey, error)
    if (outage || verdict.disposition === 'halt')
      await halt(this.#deps, !outage && verdict.scope === 'enterprise' ? key.enterpriseCode : '*', {
        ...verdict,
        message: verdict.meaning,
        platformCode: outage ? null : (error.platformCode ?? null),
      })
    return verdictResult({
      error,
      verdict,
      claim: claimed,
      entity: entityOf(key),
      field: key.detail,
      sourceHash,
      outage: outage && !claimed.underHalt,
    })
  }
}

/** Outcomes that somebody may want to look into. */
const NOT_WELL: readonly Outcome[] = ['partly_updated', 'parked', 'awaiting_activation', 'retry']

/** The wait in the queue is part of a job's trace. Whose job it is, is not: the platform's ids lead to cases. */
function traceClaim(trace: Trace, { fedMsAgo, runId, priority, attempts, starts }: Claim): void {
  if (fedMsAgo !== null) trace.cameUp(fedMsAgo, 'queue')
  if (runId !== null) trace.belongsTo(runSpan(runId))
  trace.annotate({
    'dirsync.priority': priority,
    'dirsync.attempts': attempts,
    'dirsync.starts': starts,
    ...(runId !== null && { 'dirsync.run': runId }),
  })
}

function traceOutcome(trace: Trace, outcome: Outcome): void {
  trace.annotate({ 'dirsync.outcome': outcome })
  if (NOT_WELL.includes(outcome)) trace.fail()
}

/** Back to the outbox, to be done at once, without having spent an attempt. */
function atOnce({ attempts }: Claim): NonNullable<JobResult['again']> {
  return { delayMs: 0, attempts }
}

function settlementOf(
  key: ClaimKey,
  claimed: Claim,
  attempted: JobResult,
  platform: CountedPlatform,
  durationMs: number,
): Settlement {
  const { version, execution, runId, startedAt } = claimed
  const { calls, waitedMs, tooFast } = platform
  const isAccepted = attempted.fields.length > 0
  const sentUnknown = claimed.sentUnknown || (platform.mayHaveUpdated && !isAccepted)
  return {
    ...attempted,
    key,
    version,
    execution,
    runId,
    startedAt,
    durationMs,
    calls,
    waitedMs,
    tooFast,
    changed: isAccepted || (sentUnknown && attempted.again === null && key.operation === 'update-employee'),
    sentUnknown,
    // Without a case there is none to resolve, and most settlements are one statement.
    resolve: claimed.cases.length > 0 ? attempted.resolve : 'none',
  }
}

/** HR_SOURCES names no source for the enterprise any more: its employees and departments stay as they are. */
function ofNoSource({ enterpriseCode }: ClaimKey, { cases }: Claim): JobResult {
  return result('obsolete', {
    resolve: allBut(cases),
    error: `no HR source has enterprise ${enterpriseCode || '(none)'}`,
  })
}

/** A job that has ended its worker again and again is not tried any more. */
function poisoned(key: ClaimKey, { sourceHash, cases }: Claim): JobResult {
  return result('parked', {
    // Without the hash, the next run would ask for it again.
    employee: key.operation === 'update-employee' ? { ...unasked(true), parkedHash: sourceHash } : null,
    resolve: allBut(cases),
    department: key.operation === 'delete-department' ? 'parked' : null,
    failures: [
      failure({
        entity: entityOf(key),
        category: 'unclassified',
        field: key.detail,
        message: `The worker ended ${MAX_STARTS} times in the middle of this job.`,
        remedy: "Look at the workers' logs around the attempts of this entity, then retry.",
        sourceHash,
        cases,
      }),
    ],
  })
}

function entityOf({ operation }: ClaimKey): 'employee' | 'department' {
  return operation === 'delete-department' ? 'department' : 'employee'
}

/** Employees and departments are locked apart; all operations on one employee share its lock. */
function lockName(key: ClaimKey): string {
  return JSON.stringify(['dirsync', entityOf(key), key.enterpriseCode, key.entityKey])
}

function tooLate(): HrUnavailableError {
  return new HrUnavailableError(`the HR database did not answer within ${LOOK_UP_MS / 1000} s`)
}

interface RowWanted {
  key: EmployeeKey
  /** As of `HrSource.lookup`: all workers read with the mapping of the plan that passed. */
  mapping: string | null
}

/** The present HR rows of many jobs in one query. @throws HrUnavailableError, HrDataError, MappingError */
async function lookUpRows({ hr }: NamedSource, wanted: RowWanted[]): Promise<HrRow[]> {
  const rows = new Map<RowWanted, HrRow>()
  // There is one mapping, except in the moment in which a plan with another one passes.
  for (const [mapping, group] of Map.groupBy(wanted, item => item.mapping)) {
    const found = await hr.lookup(
      group.map(({ key }) => key),
      { mapping },
    )
    for (const item of group) rows.set(item, found.get(keyText(item.key)) ?? null)
  }
  return wanted.map(item => rows.get(item) ?? null)
}
