import { setTimeout as delay } from 'node:timers/promises'
import { repeatOnDeadlock, transaction } from '../lib/database.ts'
import { Loop, Loops } from '../lib/loop.ts'
import type { SessionLocks } from '../lib/session-locks.ts'
import { annotate, traced } from '../lib/tracing.ts'
import { endCases, mirrorCases, resolveCases, restProbed } from '../sync/cases/cases.ts'
import { slowProbeDelay } from '../sync/outbox/backoff.ts'
import { enterprisesOnPlatform } from '../sync/outbox/employee.ts'
import { forbidding, HALTS_OF_OTHERS, type Halt, liftHalts } from '../sync/outbox/halts.ts'
import {
  enterprisesToAsk,
  MIRRORS,
  type Mirror,
  type MirrorOperation,
  mirrorOperation,
} from '../sync/runs/mirror-kind.ts'
import { runSpan, traceRun } from '../sync/runs/run-trace.ts'
import { isUnfit } from '../sync/settle/settlement.ts'
import { message } from '../texts/message.ts'
import { AccountReader } from './accounts.ts'
import { settleFailure } from './failure.ts'
import {
  begunMirrorRun,
  claimMirrorRun,
  dropMirrorTasks,
  finishMirrorRun,
  isPartRead,
  isWanted,
  keepMirrorRun,
  type MirrorRun,
  type MirrorTask,
  moveCursor,
  nextMirrorTask,
  noteList,
  noteMirrorAttempt,
  type PlannedTask,
  writeMirrorPlan,
} from './mirror.ts'
import {
  CountedCalls,
  type MirrorReader,
  type MirrorWorkDependencies,
  type Reading,
  type ReadingMemory,
} from './mirror-reader.ts'
import { OrderReader } from './orders.ts'
import { TaxpayerReader } from './taxpayers.ts'

/** How often to check for waiting runs. */
const POLL_MS = 500

interface MirrorRunnerOptions extends MirrorWorkDependencies {
  locks: SessionLocks
  /** Days of payment orders to read, today included. */
  orderDays: number
  taxpayerIdentifiers: string[]
}

/**
 * The worker role's loops for mirrors: they carry out runs, each mirror in one process at a time. When a process dies its lock
 * goes with it, and another one continues. They stop in the middle of a run, for the next one to continue there.
 */
export function mirrorRunner(options: MirrorRunnerOptions): Loops {
  return new Loops(
    mirrorSteps(options).map(
      ({ mirror, step }) =>
        new Loop({
          step,
          pauseMs: POLL_MS,
          failed: error => options.logger.error({ error, mirror }, 'a mirror stopped; trying again'),
        }),
    ),
  )
}

/** What the loops repeat: of each mirror one run, if one waits or was left, and no other process is at it. */
export function mirrorSteps(
  options: MirrorRunnerOptions,
): { mirror: Mirror; step(stopping: AbortSignal): Promise<void> }[] {
  const readers: Record<Mirror, MirrorReader> = {
    orders: new OrderReader(options.orderDays),
    accounts: new AccountReader(),
    taxpayers: new TaxpayerReader(options.taxpayerIdentifiers),
  }
  return MIRRORS.map(mirror => ({
    mirror,
    step: stopping => carryOut(mirror, readers[mirror], options, stopping),
  }))
}

async function carryOut(
  mirror: Mirror,
  reader: MirrorReader,
  options: MirrorRunnerOptions,
  stopping: AbortSignal,
): Promise<void> {
  const { pool, locks } = options
  if (!(await isWanted(pool, mirror))) return
  const lock = JSON.stringify(['dirsync', 'mirror', mirror])
  const signal = await locks.lock(lock, stopping)
  if (signal === null) return
  try {
    await new MirrorWork(mirror, reader, options).next(signal)
  } finally {
    // Not awaited: a process that ends releases its locks anyway.
    void locks.unlock(lock)
  }
}

/** How often to check whether a halt of everything may be probed. */
const HALTED_MS = 500
/** States of cases that dirsync does not retry by itself, except by the slow probe. */
const RESTING = ['open', 'snoozed', 'ignored']

/** The start of the reading of a task, across all its pages. */
interface Execution {
  position: number
  startedAt: Date
  begun: number
  memory: ReadingMemory
}

/**
 * Carries out the runs of one mirror. The caller ensures that no other process does so at the same time. If this process dies
 * during a run, the next one continues at its cursor.
 */
class MirrorWork {
  readonly #mirror: Mirror
  readonly #operation: MirrorOperation
  readonly #reader: MirrorReader
  readonly #deps: MirrorWorkDependencies

  constructor(mirror: Mirror, reader: MirrorReader, deps: MirrorWorkDependencies) {
    this.#mirror = mirror
    this.#operation = mirrorOperation(mirror)
    this.#reader = reader
    this.#deps = deps
  }

  /** Resumes the current run, or begins the next one, and works until it has ended. @throws when the signal aborts */
  async next(signal: AbortSignal): Promise<void> {
    const { pool, logger, tracing } = this.#deps
    const begun = await begunMirrorRun(pool, this.#mirror)
    const run = begun ?? (await this.#begin())
    if (run === null) return
    const log = logger.child({ runId: run.id, kind: run.kind })
    if (begun) log.info('run taken up where it was left')
    await this.#readAll(run, signal)
    const ended = await transaction(pool, async db => {
      if (!(await keepMirrorRun(db, run.id))) return null
      await this.#reader.conclude?.(db, run)
      return finishMirrorRun(db, run)
    })
    if (!ended) return
    log.info({ state: ended.state, message: ended.message }, 'run ended')
    await traceRun(pool, tracing, run.id)
  }

  async #begin(): Promise<MirrorRun | null> {
    const { pool, ownEnterprise, logger } = this.#deps
    return transaction(pool, async db => {
      const run = await claimMirrorRun(db, this.#mirror)
      if (run === null) return null
      const codes = enterprisesToAsk(await enterprisesOnPlatform(db, ownEnterprise))
      const plan = await this.#reader.plan(db, codes, run.startedAt)
      const cases = await mirrorCases(db, this.#operation)
      const isAmong = ({ enterpriseCode, field }: (typeof cases)[number], among: PlannedTask[]) =>
        among.some(
          task => task.enterpriseCode === enterpriseCode && [task.part, task.entityKey].includes(field),
        )
      // Ignored ones stay ignored: the part may be read again, and would come back as a case. A worker without the setting that
      // lists what to read knows nothing of what others have.
      const obsolete = cases.filter(
        asked => plan.tasks.length > 0 && asked.state !== 'ignored' && !isAmong(asked, plan.tasks),
      )
      await endCases(
        db,
        obsolete.map(({ id }) => ({ id, runId: run.id, resolution: 'obsolete' })),
      )
      // A scheduled run does not ask again at every tick for what the platform refused.
      const resting = run.requestedBy === 'cron' ? cases.filter(({ state }) => RESTING.includes(state)) : []
      const refused = resting.filter(rests => isAmong(rests, plan.tasks))
      const tasks = plan.tasks.filter(task => !refused.some(rests => isAmong(rests, [task])))
      // Another run like this one would not read them either.
      const unread = cases.filter(retried => retried.state === 'retrying' && !isAmong(retried, tasks))
      const ids = unread.map(({ id }) => id)
      await restProbed(db, ids, slowProbeDelay(Math.random()), 'retry_scheduled')
      // Where nothing is planned, nothing is known of what was refused earlier.
      const left = plan.tasks.length > 0 ? refused : cases.filter(({ state }) => state !== 'ignored')
      const leftOut = [
        ...(plan.tasks.length === 0 && plan.nothing ? [plan.nothing] : []),
        ...(left.length > 0
          ? [message('said.refused_before', { cases: left.map(({ id }) => String(id)) })]
          : []),
      ]
      await writeMirrorPlan(db, run, {
        ...{ tasks, reasons: plan.reasons },
        leftOut: leftOut.length > 0 ? leftOut : null,
      })
      logger.info({ runId: run.id, kind: run.kind, tasks: tasks.length }, 'run planned')
      return tasks.length > 0 ? run : null
    })
  }

  async #readAll(run: MirrorRun, signal: AbortSignal): Promise<void> {
    const { pool, tracing } = this.#deps
    let execution: Execution | undefined
    for (;;) {
      signal.throwIfAborted()
      const task = await nextMirrorTask(pool, run.id)
      if (task === null) return
      if (task.waitMs > 0) {
        await delay(task.waitMs, undefined, { signal })
        continue
      }
      const { halt, isProbe } = await forbidding(pool, task.enterpriseCode)
      if (halt?.scope === '*') await delay(HALTED_MS, undefined, { signal })
      else if (halt) await this.#leave(run, task, halt)
      else {
        const { position, handedOutAt: startedAt } = task
        if (execution?.position !== position)
          execution = { position, startedAt, begun: performance.now(), memory: {} }
        const present = execution
        const about = { partOf: runSpan(run.id), attributes: { 'dirsync.run': run.id } }
        await tracing.trace('read', about, () => this.#read(task, present, isProbe, signal))
      }
    }
  }

  async #read(task: MirrorTask, execution: Execution, isProbe: boolean, signal: AbortSignal): Promise<void> {
    const calls = new CountedCalls(this.#deps.client, signal)
    try {
      const reading = await this.#reader.read(task, calls, execution.memory)
      annotate({ 'dirsync.rows': reading.rows })
      await traced('store', () => repeatOnDeadlock(() => this.#store(task, reading, calls.count, execution)))
    } catch (error) {
      if (signal.aborted || isOurTrouble(error)) throw error
      await settleFailure(this.#deps, this.#mirror, task, error, {
        ...timesOf(execution),
        operation: this.#reader.operation(task),
        calls: calls.count,
      })
      return
    }
    if (isProbe) await liftHalts(this.#deps, task.enterpriseCode, task.handedOutAt, HALTS_OF_OTHERS)
  }

  async #store(task: MirrorTask, reading: Reading, calls: number, execution: Execution): Promise<void> {
    await transaction(this.#deps.pool, async db => {
      if (!(await keepMirrorRun(db, task.runId))) return
      const { changed, next, notes } = await reading.store(db)
      for (const note of notes ?? []) await noteList(db, task.runId, note)
      await moveCursor(db, task, { read: reading.rows, changed, calls }, next)
      if (next) return
      const outcome = task.changed + changed > 0 ? 'updated' : 'in_sync'
      await noteMirrorAttempt(db, this.#operation, task, {
        ...timesOf(execution),
        outcome,
        calls: { [this.#reader.operation(task)]: task.calls + calls },
      })
      const { enterpriseCode, part, entityKey, runId } = task
      const healed = (await isPartRead(db, task)) ? [part] : []
      if (entityKey !== part) healed.push(entityKey)
      await resolveCases(
        db,
        healed.map(detail => {
          const key = { operation: this.#operation, enterpriseCode, entityKey: this.#mirror, detail }
          return { key, runId, failures: [], resolve: 'all', stored: null, outcome }
        }),
      )
    })
  }

  /** The enterprise is halted: its remaining tasks are given up, so that the run can end. */
  async #leave(run: MirrorRun, task: MirrorTask, halt: Halt): Promise<void> {
    const { enterpriseCode } = task
    const what =
      enterpriseCode === ''
        ? message('said.only_enterprise_halted')
        : message('said.enterprise_halted', { code: enterpriseCode })
    await transaction(this.#deps.pool, async db => {
      if (!(await keepMirrorRun(db, run.id))) return
      await noteMirrorAttempt(db, this.#operation, task, {
        startedAt: task.handedOutAt,
        durationMs: 0,
        outcome: 'halted',
        calls: {},
        platformCode: halt.platform_code,
        error: halt.message,
      })
      const { message: meaning, remedy } = halt
      const why = message('said.halted_because', { what, meaning: [meaning], remedy: [remedy] })
      await dropMirrorTasks(db, run.id, { enterpriseCode }, why)
    })
  }
}

function timesOf({ startedAt, begun }: Execution): { startedAt: Date; durationMs: number } {
  return { startedAt, durationMs: Math.round(performance.now() - begun) }
}

/** PostgreSQL is away, or another process has taken the run. The platform's values may still not fit their columns. */
function isOurTrouble(error: unknown): boolean {
  return !isUnfit(error) && !(error instanceof Error && error.name === 'PlatformError')
}
