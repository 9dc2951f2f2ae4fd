import { type EmployeeKey, keyText } from '../directory/employee.ts'
import { rowHash } from '../directory/hash.ts'
import {
  HrDataError,
  type HrEmployeeRow,
  type HrSource,
  HrUnavailableError,
  MappingError,
} from '../hr/source.ts'
import { Batcher } from '../lib/batcher.ts'
import type { Pool } from '../lib/database.ts'
import type { Logger } from '../lib/logger.ts'
import type { SessionLocks } from '../lib/session-locks.ts'
import { Semaphore } from '../lib/waiting.ts'
import type { PlatformClient } from '../platform/client.ts'
import { type JobKey, type JobName, parseJobKey } from '../queue/job.ts'
import { type Claim, type ClaimKey, claim } from './claim.ts'
import { CountedPlatform } from './counted-platform.ts'
import { deleteDepartment, departmentFacts } from './departments.ts'
import { doubtFields, plannedHash } from './employee.ts'
import { failure, judge, verdictResult } from './failure.ts'
import { halt, healHalts, liftHrHalt } from './halts.ts'
import { OutageDetector } from './outage.ts'
import { postpone } from './outbox.ts'
import { bindOpenid, reconcileEmployee } from './reconcile-employee.ts'
import { type JobResult, type Outcome, result, type Settlement, settle, unasked } from './settlement.ts'

/** A job that kills its process so often without coming to an end is parked. */
const MAX_STARTS = 25
/** A job whose entity another process has in hand comes back after this long. */
const LOCKED_MS = 1000
/** How long a deletion waits while HR's departments cannot be read. */
const DEPARTMENTS_MS = 60_000

interface JobProcessorDependencies {
  pool: Pool
  client: PlatformClient
  hr: HrSource
  locks: SessionLocks
  logger: Logger
  /** Calls to the platform at a time, of however many jobs. */
  concurrentCalls: number
  departmentGraceMs: number
  /** Told of every outcome once it is written, for metrics. */
  onSettled?: ((settled: { operation: JobName; outcome: Outcome; durationMs: number }) => void) | undefined
}

/**
 * Executes jobs: lock, claim, do, settle. Whatever happens is written to PostgreSQL; only a failure of PostgreSQL itself is
 * thrown, and then the outbox still has the work.
 */
export class JobProcessor {
  readonly #deps: JobProcessorDependencies
  readonly #lookups: HrLookups
  readonly #permits: Semaphore
  readonly #outage = new OutageDetector()
  readonly #claims: Batcher<ClaimKey, Claim | null>
  readonly #settlements: Batcher<Settlement, true>

  constructor(deps: JobProcessorDependencies) {
    this.#deps = deps
    this.#permits = new Semaphore(deps.concurrentCalls)
    this.#lookups = new HrLookups(deps.hr)
    this.#claims = new Batcher(keys => claim(deps.pool, keys), { maxBatch: 200 })
    this.#settlements = new Batcher(
      async settlements => {
        await settle(deps.pool, settlements)
        return settlements.map(() => true as const)
      },
      { maxBatch: 200 },
    )
  }

  /** @param signal aborts when the worker stops or its claim on the job is lost */
  async process(job: { name: JobName; key: string }, signal: AbortSignal): Promise<void> {
    const key = { operation: job.name, ...parseJobKey(job.key) }
    const lock = lockName(key)
    const locked = await this.#deps.locks.lock(lock, signal)
    if (locked === null) return postpone(this.#deps.pool, key, LOCKED_MS)
    try {
      await this.#execute(key, locked)
    } finally {
      // Nobody waits for it: it goes with the next job's lock, and a process that ends gives back its locks anyway.
      void this.#deps.locks.unlock(lock)
    }
  }

  async #execute(key: ClaimKey, signal: AbortSignal): Promise<void> {
    const begun = performance.now()
    const claimed = await this.#claims.submit(key)
    if (claimed === null) return
    const platform = new CountedPlatform(this.#deps.client, this.#permits, {
      signal,
      priority: claimed.priority,
    })
    const outcome = await this.#attempt(key, claimed, platform)
    const { attempt, ...rest } = outcome
    const sentUnknown = claimed.sentUnknown || (platform.mayHaveUpdated && attempt.fields.length === 0)
    const settlement: Settlement = {
      key,
      version: claimed.version,
      execution: claimed.execution,
      runId: claimed.runId,
      changed:
        attempt.fields.length > 0 ||
        (sentUnknown && rest.again === null && key.operation === 'update-employee'),
      sentUnknown,
      ...rest,
      // Without a case there is none to resolve, and most settlements are one statement.
      keep: claimed.cases.length > 0 ? rest.keep : null,
      attempt: {
        ...attempt,
        startedAt: claimed.startedAt,
        durationMs: Math.round(performance.now() - begun),
        calls: platform.calls,
        waitedMs: platform.waitedMs,
        tooFast: platform.tooFast,
      },
    }
    await this.#settle(settlement)
    const { durationMs } = settlement.attempt
    this.#deps.onSettled?.({ operation: key.operation, outcome: attempt.outcome, durationMs })
    if (platform.answered) this.#outage.answered()
    if (platform.answered && claimed.underHalt && attempt.outcome !== 'halted')
      await healHalts(this.#deps, key.enterpriseCode, claimed.startedAt)
    this.#deps.logger.debug(
      { operation: key.operation, key: key.entityKey, outcome: attempt.outcome, runId: claimed.runId },
      'job done',
    )
  }

  async #attempt(key: ClaimKey, claimed: Claim, platform: CountedPlatform): Promise<JobResult> {
    const again = { delayMs: 0, attempts: claimed.attempts }
    if (claimed.halted) return result('halted', { again })
    if (claimed.starts > MAX_STARTS) return this.#poisoned(key, claimed)
    let sourceHash: string | null = null
    try {
      if (key.operation === 'delete-department') {
        const facts = await departmentFacts(this.#deps.pool, this.#deps.hr, {
          graceMs: this.#deps.departmentGraceMs,
          now: claimed.startedAt,
        })
        return await deleteDepartment(
          {
            enterpriseCode: key.enterpriseCode,
            deptCode: key.entityKey,
            claim: claimed,
            wanted: facts.wanted,
          },
          platform,
        )
      }
      const employee = employeeOf(key)
      // Read after the claim, whose version fences it: an older row can never settle a newer request.
      const row = await this.#lookups.load(employee, claimed.mapping)
      if (key.operation === 'bind-openid')
        return await bindOpenid({ key: employee, row }, key.detail, platform)
      if (row !== null && row !== 'duplicate') sourceHash = rowHash(Object.keys(row), row)
      if (!(await this.#hasPassed(employee, claimed, row === 'duplicate' ? row : sourceHash)))
        return result('replan', { again: { delayMs: 0, attempts: claimed.attempts } })
      return await reconcileEmployee(
        {
          key: employee,
          claim: claimed,
          row,
          hash: sourceHash,
          doubt: fields => doubtFields(this.#deps.pool, employee, fields),
        },
        platform,
      )
    } catch (error) {
      return this.#judge(key, claimed, error, sourceHash)
    }
  }

  /** Whether a plan has passed the HR row with this hash (law 11), be it one that was written while the claim waited for it. */
  async #hasPassed(employee: EmployeeKey, claimed: Claim, hash: string | null): Promise<boolean> {
    if (claimed.named || hash === claimed.sourceHash) return true
    // HR has answered, though no call is made that could lift a halt.
    if (claimed.underHalt && (await liftHrHalt(this.#deps.pool, claimed.startedAt)))
      this.#deps.logger.info({ scope: '*' }, 'HR answers again: work continues')
    return hash !== 'duplicate' && hash === (await plannedHash(this.#deps.pool, employee))
  }

  async #judge(
    key: ClaimKey,
    claimed: Claim,
    thrown: unknown,
    sourceHash: string | null,
  ): Promise<JobResult> {
    if (
      thrown instanceof HrUnavailableError ||
      thrown instanceof HrDataError ||
      thrown instanceof MappingError
    ) {
      // What is wrong with departments alone is no reason to keep employees waiting.
      if (key.operation === 'delete-department' && !(thrown instanceof HrUnavailableError))
        return result('wait', {
          again: { delayMs: DEPARTMENTS_MS, attempts: claimed.attempts },
          attempt: { error: thrown.message },
        })
      await halt(this.#deps, '*', {
        category: 'hr_unavailable',
        message: `HR cannot be read: ${thrown.message}`,
        remedy: 'Run `dirsync doctor`; work continues by itself once HR answers again.',
        platformCode: null,
      })
      return result('halted', {
        again: { delayMs: 0, attempts: claimed.attempts },
        attempt: { error: thrown.message },
      })
    }
    const { error, verdict } = judge(thrown)
    const outage = verdict.disposition === 'retry' && this.#outage.failed(key.entityKey, error)
    if (verdict.disposition === 'halt')
      await halt(this.#deps, verdict.scope === 'enterprise' ? key.enterpriseCode : '*', {
        ...verdict,
        message: verdict.meaning,
        platformCode: error.platformCode ?? null,
      })
    else if (outage) await halt(this.#deps, '*', { ...verdict, message: verdict.meaning, platformCode: null })
    return verdictResult({
      error,
      verdict,
      claim: claimed,
      entity: key.operation === 'delete-department' ? 'department' : 'employee',
      field: key.detail,
      sourceHash,
      outage: outage && !claimed.underHalt,
    })
  }

  async #settle(settlement: Settlement): Promise<void> {
    await this.#settlements.submit(settlement)
  }

  #poisoned(key: ClaimKey, claimed: Claim): JobResult {
    const { sourceHash } = claimed
    return result('parked', {
      // Else the next run would ask for it again.
      employee: key.operation === 'update-employee' ? { ...unasked(true), parkedHash: sourceHash } : null,
      keep: claimed.cases.map(open => open.field),
      department: key.operation === 'delete-department' ? 'parked' : null,
      failures: [
        failure({
          entity: key.operation === 'delete-department' ? 'department' : 'employee',
          category: 'unclassified',
          field: key.detail,
          message: `The worker ended ${MAX_STARTS} times in the middle of this job.`,
          remedy: "Look at the workers' logs around the attempts of this entity, then retry.",
          sourceHash,
          cases: claimed.cases,
        }),
      ],
    })
  }
}

function employeeOf(key: JobKey): EmployeeKey {
  return { enterpriseCode: key.enterpriseCode, userid: key.entityKey }
}

/** Employees and departments are locked apart; all operations on one employee share its lock. */
function lockName(key: ClaimKey): string {
  const kind = key.operation === 'delete-department' ? 'department' : 'employee'
  return JSON.stringify(['dirsync', kind, key.enterpriseCode, key.entityKey])
}

interface Wanted {
  key: EmployeeKey
  mapping: string | null
}

/** The present HR rows that workers ask for: look-ups of the same moment become one query. */
class HrLookups {
  readonly #batcher: Batcher<Wanted, HrEmployeeRow | 'duplicate' | null>

  constructor(hr: HrSource) {
    this.#batcher = new Batcher(
      async wanted => {
        // One mapping, but for the moment in which a plan with another one passes.
        const groups = [...Map.groupBy(wanted, ({ mapping }) => mapping)].map(async ([mapping, group]) => {
          const rows = await hr.lookup(
            group.map(({ key }) => key),
            { mapping },
          )
          return group.map(item => [item, rows.get(keyText(item.key)) ?? null] as const)
        })
        const found = new Map((await Promise.all(groups)).flat())
        return wanted.map(item => found.get(item) ?? null)
      },
      { maxBatch: 500 },
    )
  }

  /**
   * Null when HR has no such employee. A row has every column of the mapping that it was read with, in its order.
   * @param mapping as of `HrSource.lookup`
   * @throws HrUnavailableError, HrDataError, MappingError
   */
  load(key: EmployeeKey, mapping: string | null): Promise<HrEmployeeRow | 'duplicate' | null> {
    return this.#batcher.submit({ key, mapping })
  }
}
