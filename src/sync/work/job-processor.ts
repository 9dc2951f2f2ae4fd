import type { EmployeeKey } from '../../directory/employee.ts'
import { parseActive } from '../../directory/field-rules.ts'
import { rowHash } from '../../directory/hash.ts'
import { HrDeliveryError, HrTooSlowError, HrUnavailableError, isOfHr, noSourceHas } from '../../hr/source.ts'
import { type HrSources, mappingFor, type NamedSource } from '../../hr/sources.ts'
import { Batcher } from '../../lib/batcher.ts'
import type { Pool } from '../../lib/database.ts'
import { inHand } from '../../lib/in-hand.ts'
import type { Logger } from '../../lib/logger.ts'
import type { SessionLocks } from '../../lib/session-locks.ts'
import { type Trace, type Tracing, traced } from '../../lib/tracing.ts'
import { Trouble } from '../../lib/trouble.ts'
import { Semaphore, within } from '../../lib/waiting.ts'
import type { PlatformClient } from '../../platform/client.ts'
import { type DeliveredJob, type JobOperation, parseJobKey } from '../../queue/job.ts'
import { type Message, message, type Said, saidBy, says } from '../../texts/message.ts'
import { waitingDelay } from '../outbox/backoff.ts'
import { type Claim, type ClaimKey, claim, isPresentRequest } from '../outbox/claim.ts'
import { noteSending, plannedHash, type Sending } from '../outbox/employee.ts'
import {
  endOutage,
  haltForHr,
  haltForOutage,
  haltForPlatform,
  healHrHalt,
  leaveProbesToJobs,
  liftHalts,
} from '../outbox/halts.ts'
import { entityOf, lockName, postpone } from '../outbox/outbox.ts'
import {
  type Again,
  allBut,
  failure,
  finished,
  type JobResult,
  type Outcome,
  parkedEntity,
  refusalOf,
  resultOfRefusal,
  type Settlement,
  storedEmployee,
  unasked,
  unfinished,
  unsent,
} from '../outbox/outcome.ts'
import {
  type DepartmentFacts,
  employeeUnlocated,
  enterpriseLost,
  unlocatedIn,
  withoutDepartments,
} from '../plan/departments.ts'
import type { Standing } from '../processes/standing.ts'
import { lastFullReading } from '../runs/earlier-runs.ts'
import { deletionPlannedMsAgo, mappingPlannedMsAgo, readRun } from '../runs/run.ts'
import { runSpan } from '../runs/run-trace.ts'
import type { RunLimits } from '../runs/safety.ts'
import { settle } from '../settle/settlement.ts'
import { CountedPlatform } from './counted-platform.ts'
import {
  DepartmentReader,
  type DepartmentsWanted,
  deleteDepartment,
  FRESH_MS,
  isToBeDeleted,
  rejectedRun,
} from './delete-department.ts'
import { OutageDetector } from './outage.ts'
import { bindOpenid, type HrRow, lookAtRejected, reconcileEmployee } from './reconcile-employee.ts'
import { RowReader } from './row-reader.ts'

/** A job that has lost its worker this often in the middle is parked. */
const MAX_STARTS = 25
/**
 * A job that finds another HR row than the plan this often in a row is parked: its worker and the planner read different data, or
 * with different mappings.
 */
const MAX_REPLANS = 5
/** HR answers, but not yet with what a deletion has to go by. */
const WAITED_FOR = [HrTooSlowError, HrDeliveryError]
/** Delay of a row whose entity is in hand for another one. */
const LOCKED_MS = 1000
/** For how long an outcome waits for others to be written with. */
const SETTLED_WITHIN_MS = 100
/** After how long one that had to wait for another transaction is written again. */
const HELD_UP_MS = 1000
/** So many of them have given up their place at most: each keeps its lock in PostgreSQL, which has room for some thousands. */
const MOST_HELD_UP = 200
/** How long executions that are broken off have to end. */
const GRACE_MS = 700
/** Why a worker whose mapping is not the plan's does not send. */
const OTHER_MAPPING = message('said.other_mapping')
/** More waits in a row than this make none longer. */
const MAX_WAITS = 5

interface JobProcessorDependencies {
  pool: Pool
  client: PlatformClient
  hr: HrSources
  locks: SessionLocks
  standing: Standing
  logger: Logger
  /** Concurrent calls to the platform, across all jobs. */
  concurrentCalls: number
  limits: Pick<RunLimits, 'gate' | 'departmentGraceMs'>
  tracing: Tracing
  /** Called after every outcome has been written, for metrics. */
  onSettled?: OnSettled
}

/** @param settled.changeMs since HR's change was found, if this job has brought it to the platform; else null */
export type OnSettled =
  | ((settled: {
      operation: JobOperation
      outcome: Outcome
      durationMs: number
      changeMs: number | null
    }) => void)
  | undefined

interface SourceReaders {
  rows: RowReader
  departments: DepartmentReader
}

/** Told by the execution of a key. */
interface Progress {
  /** It has been claimed. */
  begun(): void
  /** Its outcome is known, and waits to be written. Its place goes to another key, once. */
  decided(): void
}

/**
 * Executes jobs, each key by itself: lock, claim, do, settle. Every outcome is written to PostgreSQL. Only a failure of
 * PostgreSQL itself is thrown, and then the outbox still has the work.
 */
export class JobProcessor {
  readonly #deps: JobProcessorDependencies
  /** By this process's own clock, for how long it has had its settings. */
  readonly #startedAt = performance.now()
  readonly #permits: Semaphore
  /** For how many keys there is room. */
  readonly #room: Semaphore
  readonly #inHand = new Set<Promise<void>>()
  /** How many of them have no outcome yet. */
  #undecided = 0
  readonly #stopping = new AbortController()
  readonly #trouble: Trouble
  readonly #outage = new OutageDetector()
  /** Requests for many keys at the same moment become one statement. */
  readonly #claims: Batcher<ClaimKey, Claim | null>
  readonly #postponements: Batcher<ClaimKey, undefined>
  /** Of each source by itself: a slow or absent one does not delay the rows of another. */
  readonly #readers = new Map<NamedSource, SourceReaders>()
  /** Both answer whether it is written. */
  readonly #settlements: Batcher<Settlement, boolean>
  /** Those that wait for a person to commit what they have decided, apart from all others. */
  readonly #heldUp: Batcher<Settlement, boolean>
  #countHeldUp = 0
  /** Sources with mappings that this process lacks, and that others have planned with since it took over its own. */
  readonly #ofOthers = new Set<string>()

  constructor(deps: JobProcessorDependencies) {
    this.#deps = deps
    this.#permits = new Semaphore(deps.concurrentCalls)
    this.#room = new Semaphore(deps.concurrentCalls)
    this.#trouble = new Trouble(deps.logger, 'the execution of jobs')
    // What failed before it stood aside says nothing of how it is now.
    deps.standing.watch(aside => {
      if (aside === null) this.#outage.answered()
    })
    this.#postponements = new Batcher(
      async keys => {
        await postpone(deps.pool, keys, LOCKED_MS)
        return keys.map(() => undefined)
      },
      { maxBatch: 200 },
    )
    this.#claims = new Batcher(keys => claim(deps.pool, keys, deps.hr.owners), { maxBatch: 200 })
    const written = async (settlements: Settlement[]) => {
      const waiting = new Set(await settle(deps.pool, settlements))
      return settlements.map(one => !waiting.has(one))
    }
    this.#settlements = new Batcher(written, { maxBatch: 200, lingerMs: SETTLED_WITHIN_MS })
    this.#heldUp = new Batcher(written, { maxBatch: 200, lingerMs: HELD_UP_MS })
  }

  /** From now on no further job is taken over with so many keys in hand. */
  setRoom(keys: number): void {
    this.#room.setPermits(keys)
  }

  /**
   * Takes a job over. Resolves once all of its keys have begun that are to begin; they go on by themselves, and what becomes of
   * them is up to the outbox.
   * @param signal aborts when the job is to go back
   * @returns a promise for their end
   * @throws where they could not begin: without PostgreSQL, or told to stop
   */
  async process(job: DeliveredJob, signal: AbortSignal): Promise<{ ended: Promise<void> }> {
    const keys = job.keys.map(text => ({ operation: job.name, ...parseJobKey(text) }))
    await this.#room.acquire(job.priority, signal, keys.length)
    const executions = keys.map(key => this.#start(key))
    await Promise.all(executions.map(({ begun }) => begun))
    const ended = Promise.all(executions.map(execution => execution.ended)).then(() => {})
    ended.catch(() => {}) // it has been reported
    return { ended }
  }

  /**
   * Waits for what is in hand. At the deadline it is broken off: what has not been sent by then goes back to the outbox. No job
   * may be taken over meanwhile. Takes at most the deadline and about a second.
   */
  async close(deadlineMs: number): Promise<void> {
    const idle = Promise.allSettled(this.#inHand)
    await within(deadlineMs, idle).catch(() => {
      this.#stopping.abort(new Error('the process stops'))
      return within(GRACE_MS, idle).catch(() =>
        this.#deps.logger.warn({ keys: this.#inHand.size }, 'stopped by force in the middle of jobs'),
      )
    })
  }

  #start(key: ClaimKey): { begun: Promise<void>; ended: Promise<void> } {
    const { tracing } = this.#deps
    const begun = Promise.withResolvers<void>()
    let isDecided = false
    const decided = () => {
      if (isDecided) return
      isDecided = true
      this.#room.release()
      this.#undecided -= 1
      // No other outcome is to come.
      if (this.#undecided === 0) this.#settlements.flush()
    }
    this.#undecided += 1
    const progress = { begun: begun.resolve, decided }
    const ended = inHand(`job ${key.operation}`, () =>
      tracing.trace(key.operation, { kind: 'consumer' }, trace => this.#process(key, trace, progress)),
    ).finally(() => this.#inHand.delete(ended))
    this.#inHand.add(ended)
    ended.then(
      () => {
        begun.resolve()
        decided()
        this.#trouble.works()
      },
      error => {
        begun.reject(error)
        decided()
        this.#trouble.report(error)
      },
    )
    return { begun: begun.promise, ended }
  }

  async #process(key: ClaimKey, trace: Trace, progress: Progress): Promise<void> {
    const lock = lockName(key)
    const locked = await traced('lock', () => this.#deps.locks.tryLock(lock, this.#stopping.signal))
    if (locked === null) {
      trace.drop()
      return this.#postponements.submit(key)
    }
    try {
      await this.#execute(key, locked, trace, progress)
    } finally {
      // Not awaited: the unlock is sent together with the next lock request, and a process that ends releases its locks anyway.
      void this.#deps.locks.unlock(lock)
    }
  }

  async #execute(key: ClaimKey, signal: AbortSignal, trace: Trace, progress: Progress): Promise<void> {
    const { client, logger, onSettled } = this.#deps
    const at = performance.now()
    const claimed = await traced('claim', () => this.#claims.submit(key))
    progress.begun()
    if (claimed === null) return trace.drop()
    const { priority, runId, startedAt } = claimed
    traceClaim(trace, claimed, performance.now() - at)
    const isStillWanted = async () =>
      performance.now() - at < FRESH_MS || (await this.#isStillWanted(key, claimed, at))
    const platform = new CountedPlatform(client, this.#permits, { signal, priority, isStillWanted })
    const attempted = await this.#attempt(key, claimed, platform)
    const { outcome } = attempted.result
    const durationMs = Math.round(performance.now() - at)
    const settlement = settlementOf(key, claimed, attempted, platform, durationMs)
    const settled = this.#settlements.submit(settlement)
    // Nobody takes the place of one that failed before that is written, unless it is held up: it may spare others their call.
    const keepsPlace = settlement.again !== null || settlement.failures.length > 0
    if (keepsPlace) this.#settlements.flush()
    else progress.decided()
    await traced('settle', async () => {
      if (!(await settled)) await this.#writeHeldUp(settlement, keepsPlace ? progress : null)
    })
    traceOutcome(trace, outcome)
    const isChange = key.operation === 'update-employee' && outcome === 'updated'
    const changeMs = isChange && claimed.changeMsAgo !== null ? claimed.changeMsAgo + durationMs : null
    onSettled?.({ operation: key.operation, outcome, durationMs, changeMs })
    if (platform.answered) this.#outage.answered()
    if (claimed.underHalt && platform.called) {
      const { pool, standing } = this.#deps
      if (platform.answered && outcome !== 'halted')
        await liftHalts(this.#deps, key.enterpriseCode, startedAt)
      // The refusal of a secret that others do not have does not show whether their calls are answered.
      else if (platform.answered && standing.aside !== 'secret') await endOutage(this.#deps, startedAt)
      else await leaveProbesToJobs(pool, key.enterpriseCode)
    }
    logger.debug({ operation: key.operation, key: key.entityKey, outcome, runId }, 'job done')
  }

  /** @param place what still has it, and may give it up */
  async #writeHeldUp(settlement: Settlement, place: Progress | null): Promise<void> {
    const givesUp = place !== null && this.#countHeldUp < MOST_HELD_UP
    if (givesUp) {
      place.decided()
      this.#countHeldUp += 1
    }
    try {
      while (!(await this.#heldUp.submit(settlement)));
    } finally {
      if (givesUp) this.#countHeldUp -= 1
    }
  }

  async #attempt(key: ClaimKey, claimed: Claim, platform: CountedPlatform): Promise<Attempted> {
    if (claimed.halted || this.#deps.standing.aside !== null)
      return { result: unfinished('halted', atOnce(claimed)) }
    if (claimed.starts > MAX_STARTS) return { result: poisoned(key, claimed) }
    const source = this.#deps.hr.of(key.enterpriseCode)
    if (source === null) return { result: unread(key, claimed, noSourceHas(key.enterpriseCode)) }
    if (key.operation === 'delete-department')
      return { result: await this.#deleteDepartment(key, claimed, source, platform) }
    return this.#attemptEmployee(key, claimed, source, platform)
  }

  async #attemptEmployee(
    key: ClaimKey,
    claimed: Claim,
    source: NamedSource,
    platform: CountedPlatform,
  ): Promise<Attempted> {
    let sourceHash: string | null = null
    let present: Settlement['present']
    let { active } = claimed
    try {
      const employee = { enterpriseCode: key.enterpriseCode, userid: key.entityKey }
      // Read after the claim, whose version fences it: an older row can never settle a newer request.
      const row = await traced('read HR', () => this.#rowOf(source, employee, claimed))
      if (row !== null && row !== 'duplicate') sourceHash = rowHash(Object.keys(row), row)
      if (key.operation === 'bind-openid')
        return { result: await bindOpenid(employee, row, { ...claimed, sellerAppid: key.detail }, platform) }
      // HR_SOURCES may give the enterprise to a source that lacks it: not even a named employee leaves by that, unless by a plan before.
      if (
        claimed.named &&
        active &&
        row === null &&
        (await lastFullReading(this.#deps.pool, source)) === null
      )
        return { result: unread(key, claimed, message('said.not_read_since')) }
      const { hasDepartments } = source.hr
      const note = (sending: Sending) => noteSending(this.#deps.pool, key, claimed, sending)
      const job = { key: employee, claim: claimed, row, hash: sourceHash, noteSending: note, hasDepartments }
      if (!(await this.#hasPassed(employee, claimed, source, row === 'duplicate' ? row : sourceHash))) {
        if (claimed.isLost && row !== 'duplicate' && sourceHash === claimed.heldHash) {
          const result = await lookAtRejected(job, platform)
          // The platform has the row: nothing is held back.
          return result.outcome === 'in_sync'
            ? { result, present: { hash: sourceHash, isHeld: true, heldHash: sourceHash, named: false } }
            : { result }
        }
        // If the row is the one of the held plan, worker and plan agree: replan without counting it.
        if (claimed.isHeld && sourceHash === claimed.heldHash)
          return { result: unfinished('replan', atOnce(claimed)) }
        // A row that was read with another mapping than the plan's is no newer one: it waits for a worker that has the plan's.
        const lacksMapping = await this.#waitsForMapping(source, claimed)
        const times = await inARow(this.#deps.pool, key, lacksMapping ? isOfMapping : isReplan, MAX_REPLANS)
        if (times + 1 >= MAX_REPLANS) return { result: planNeverMatches(claimed) }
        if (!lacksMapping) return { result: unfinished('replan', atOnce(claimed)) }
        const again = { ...atOnce(claimed), delayMs: waitingDelay(times) }
        return { result: unfinished('wait', again, { error: OTHER_MAPPING }) }
      }
      const { named, isHeld, heldHash } = claimed
      if (named && row !== 'duplicate') {
        present = { hash: sourceHash, isHeld, heldHash, named }
        active = row !== null && parseActive(row.active) !== false
      }
      return { result: await reconcileEmployee(job, platform), present }
    } catch (error) {
      if (isOfHr(error)) return { result: await this.#haltForHr(claimed, source, error) }
      return { result: await this.#fail(key, { ...claimed, active }, error, sourceHash), present }
    }
  }

  /** Whether this process lacks the mapping of the plan, and another one may have it. */
  async #waitsForMapping(source: NamedSource, { mapping }: Claim): Promise<boolean> {
    if (mapping === null || source.hr.hasMapping(mappingFor(source, mapping))) return false
    // One that was edited in place, nobody has any more.
    const since = Math.max(this.#startedAt, source.hr.mappedSince)
    const wanted = `${source.name} ${mapping} ${since}`
    if (this.#ofOthers.has(wanted)) return true
    const isOfOthers = isAfter(since, await mappingPlannedMsAgo(this.#deps.pool, mapping, source.name))
    if (isOfOthers) this.#ofOthers.add(wanted)
    return isOfOthers
  }

  async #rowOf(source: NamedSource, employee: EmployeeKey, claimed: Claim): Promise<HrRow> {
    const row = await this.#readersOf(source).rows.row(employee, claimed)
    // One answer speaks for all enterprises of the source, each of which has a halt of its own.
    if (source.codes) await this.#healHr(source, claimed)
    return row
  }

  async #deleteDepartment(
    key: ClaimKey,
    claimed: Claim,
    source: NamedSource,
    platform: CountedPlatform,
  ): Promise<JobResult> {
    const { pool } = this.#deps
    const since = performance.now()
    const { enterpriseCode, entityKey: deptCode } = key
    const wait = async (error: Said) => {
      const delayMs = waitingDelay(await inARow(pool, key, isWait, MAX_WAITS))
      return unfinished('wait', { ...atOnce(claimed), delayMs }, { error })
    }
    const drop = (error: Said) => finished('obsolete', { error, resolve: allBut(claimed.cases) })
    const keep = async (unlocated: DepartmentFacts['unlocated']) => {
      const error = employeeUnlocated(enterpriseCode, unlocated)
      const run = claimed.runId === null ? null : await readRun(pool, claimed.runId)
      // The next run plans it again, and would ask the person who approved it again.
      return run?.approved ? wait(error) : drop(error)
    }
    if (!source.hr.hasDepartments) {
      // By a process with other settings: workers that are started with them carry it out.
      if (isAfter(this.#startedAt, await deletionPlannedMsAgo(pool, claimed.runId)))
        return wait(withoutDepartments(source, 'said.older_without_departments'))
      // The mapping was removed, or the enterprise has moved to another source. While it waited, no other department would be planned.
      return drop(withoutDepartments(source))
    }
    try {
      // Told at once, and by an index: HR may count all of its employees.
      const before = await unlocatedIn(pool, [enterpriseCode])
      if (before.has(enterpriseCode)) return await keep(before)
      const facts = await this.#departmentFacts(source, { run: claimed.runId, since })
      const { wanted, doubt, unlocated, lost } = facts
      const run = rejectedRun(facts, key, claimed)
      if (run !== null)
        return finished('obsolete', { error: message('said.deletion_rejected', { run }), resolve: 'all' })
      if (doubt) return await wait(doubt.message)
      // Perhaps for ever, and while it waited no other department would be planned; a run plans it again once HR delivers one.
      if (lost.has(enterpriseCode)) return drop(enterpriseLost(enterpriseCode))
      if (unlocated.has(enterpriseCode)) return await keep(unlocated)
      return await deleteDepartment(pool, { enterpriseCode, deptCode, wanted }, platform)
    } catch (error) {
      const isAway = error instanceof HrUnavailableError && !WAITED_FOR.some(kind => error instanceof kind)
      if (isAway) return this.#haltForHr(claimed, source, error)
      // Employees do not wait because of an error in departments.
      if (isOfHr(error)) return await wait(saidBy(error))
      return this.#fail(key, claimed, error, null)
    }
  }

  /**
   * Whether what was read for an execution may still be sent. At a low rate, or after the platform wanted no calls for a while,
   * its turn may come long after. A deletion cannot be undone, so HR is asked again.
   * @throws HrUnavailableError, HrDataError, MappingError
   */
  async #isStillWanted(key: ClaimKey, claimed: Claim, since: number): Promise<boolean> {
    const { enterpriseCode, entityKey: deptCode } = key
    const source = this.#deps.hr.of(enterpriseCode)
    if (source === null || !(await isPresentRequest(this.#deps.pool, key, claimed))) return false
    if (key.operation !== 'delete-department') return true
    const facts = await this.#departmentFacts(source, { run: null, since })
    const { wanted, doubt, unlocated, lost } = facts
    if (doubt !== null || lost.has(enterpriseCode) || unlocated.has(enterpriseCode)) return false
    return rejectedRun(facts, key, claimed) === null && isToBeDeleted(wanted, { enterpriseCode, deptCode })
  }

  #departmentFacts(source: NamedSource, wanted: DepartmentsWanted): Promise<DepartmentFacts> {
    return traced('read HR', () => this.#readersOf(source).departments.facts(wanted))
  }

  #readersOf(source: NamedSource): SourceReaders {
    const { pool, limits } = this.#deps
    const readers = this.#readers.get(source) ?? {
      rows: new RowReader(source),
      departments: new DepartmentReader(pool, source, limits),
    }
    this.#readers.set(source, readers)
    return readers
  }

  /**
   * Whether a plan has passed the HR row with this hash, perhaps one that was written while the claim waited for it. A row that
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
    await this.#healHr(source, claimed)
    return hash !== 'duplicate' && hash === (await plannedHash(this.#deps.pool, employee))
  }

  async #healHr(source: NamedSource, { underHalt, startedAt }: Claim): Promise<void> {
    if (underHalt) await healHrHalt({ db: this.#deps.pool, logger: this.#deps.logger }, source, startedAt)
  }

  /** Stops everything, or with several sources the work that waits for this one. */
  async #haltForHr(claimed: Claim, source: NamedSource, error: Error): Promise<JobResult> {
    await haltForHr(this.#deps, source, saidBy(error))
    return unfinished('halted', atOnce(claimed), { error: saidBy(error) })
  }

  /** Turns a failed call into a result, after raising the halt that the catalogue or an outage requires. */
  async #fail(key: ClaimKey, claimed: Claim, thrown: unknown, sourceHash: string | null): Promise<JobResult> {
    const { error, verdict } = refusalOf(thrown)
    const outage = verdict.disposition === 'retry' && this.#outage.failed(key.entityKey, error)
    const scope = verdict.scope === 'enterprise' ? key.enterpriseCode : '*'
    if (outage) await haltForOutage(this.#deps, verdict)
    else if (verdict.disposition === 'halt')
      await haltForPlatform(this.#deps, scope, verdict, error.platformCode ?? null)
    return resultOfRefusal({
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

/** What came of one execution; `present` as in its settlement. */
interface Attempted {
  result: JobResult
  present?: Settlement['present']
}

/** Outcomes that may need attention. */
const NOT_WELL: readonly Outcome[] = ['partly_updated', 'parked', 'awaiting_activation', 'retry']

/** The wait in the queue is part of a job's trace. The employee is not: the platform's ids lead to cases. */
function traceClaim(
  trace: Trace,
  { fedMsAgo, runId, priority, attempts, starts }: Claim,
  claimMs: number,
): void {
  // By the time of the claim, whose answer took so long.
  if (fedMsAgo !== null) trace.cameUp(fedMsAgo + claimMs, 'queue')
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

/** Back to the outbox, due at once, without spending an attempt. */
function atOnce({ attempts }: Claim): Again {
  return { delayMs: 0, attempts }
}

function settlementOf(
  key: ClaimKey,
  claimed: Claim,
  { result, present }: Attempted,
  platform: CountedPlatform,
  durationMs: number,
): Settlement {
  const { version, execution, runId, startedAt } = claimed
  const { calls, waitedMs, rateLimited } = platform
  const employee = storedEmployee(result)
  const isAccepted = (employee?.fields.length ?? 0) > 0
  const hasNone = claimed.cases.length === 0 && claimed.blocks.every(({ probing }) => !probing)
  const isGone = claimed.isInService && employee?.memory.platformState === 'absent'
  const sentUnknown = claimed.sentUnknown || (platform.mayHaveUpdated && !isAccepted)
  return {
    ...result,
    // Without a case or a probe there is none to resolve, and most settlements are one statement.
    ...(hasNone && result.again === null && { resolve: 'none' }),
    key,
    version,
    execution,
    runId,
    startedAt,
    durationMs,
    calls,
    waitedMs,
    rateLimited,
    changed:
      isAccepted || isGone || (sentUnknown && result.again === null && key.operation === 'update-employee'),
    sentUnknown,
    present,
  }
}

/** HR tells nothing of an employee or a department by which anything could be done: they stay as they are. */
function unread({ operation }: ClaimKey, { active, cases, sentUnknown }: Claim, error: Message): JobResult {
  return finished('obsolete', {
    // The platform's state is unknown: the next plan of the enterprise has it read.
    stored: sentUnknown && operation === 'update-employee' ? unsent(unasked(active)) : null,
    resolve: allBut(cases),
    error,
  })
}

/** A job that has killed its worker again and again is not retried. */
function poisoned(key: ClaimKey, { active, sourceHash, cases }: Claim): JobResult {
  return finished('parked', {
    // Without the hash, the next run would request it again.
    stored: parkedEntity(entityOf(key), key.detail, { ...unasked(active), parkedHash: sourceHash }),
    resolve: allBut(cases),
    failures: [
      failure({
        entity: entityOf(key),
        category: 'unclassified',
        field: key.detail,
        message: message('said.worker_ended', { count: MAX_STARTS }),
        remedy: message('said.worker_ended_remedy'),
        sourceHash,
        cases,
      }),
    ],
  })
}

/** Whether something was planned later than at a moment, by `performance.now()`. */
function isAfter(moment: number, plannedMsAgo: number | null): boolean {
  return plannedMsAgo !== null && plannedMsAgo < performance.now() - moment
}

interface Ended {
  outcome: Outcome
  error: Said | null
}

const isReplan = ({ outcome }: Ended) => outcome === 'replan'
const isWait = ({ outcome }: Ended) => outcome === 'wait'
/** It did not wait for the platform, or for the end of a pause. */
const isOfMapping = ({ error }: Ended) => says(error, 'said.other_mapping')

/** How many of the latest attempts, at most so many, ended in this way. */
async function inARow(
  db: Pool,
  key: ClaimKey,
  isIt: (attempt: Ended) => boolean,
  most: number,
): Promise<number> {
  const { rows } = await db.query<Ended>(
    `select outcome, error from dirsync.attempt
     where enterprise_code = $1 and entity_key = $2 and operation = $3 order by id desc limit $4`,
    [key.enterpriseCode, key.entityKey, key.operation, most],
  )
  const other = rows.findIndex(row => !isIt(row))
  return other < 0 ? rows.length : other
}

/** Plan and worker never see the same HR row. The plan's row is not retried at once: that would go on for ever. */
function planNeverMatches({ active, sourceHash, cases }: Claim): JobResult {
  const what = message('said.unsettled', { count: MAX_REPLANS })
  return finished('parked', {
    error: what,
    stored: unsent({ ...unasked(active), parkedHash: sourceHash }),
    resolve: allBut(cases),
    failures: [
      failure({
        entity: 'employee',
        category: 'unsettled_hr_row',
        message: what,
        remedy: message('said.unsettled_remedy'),
        sourceHash,
        cases,
      }),
    ],
  })
}
