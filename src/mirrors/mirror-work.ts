import { setTimeout as delay } from 'node:timers/promises'
import type { Pool } from '../lib/database.ts'
import { repeatOnDeadlock, transaction } from '../lib/database.ts'
import type { Logger } from '../lib/logger.ts'
import type { PlatformClient } from '../platform/client.ts'
import { probeDelay } from '../sync/backoff.ts'
import { endObsoleteMirrorCases, mirrorCases, resolveCases } from '../sync/cases.ts'
import { enterpriseCodes } from '../sync/employee.ts'
import { forbidding, type Halt, healHalts } from '../sync/halts.ts'
import { enterprisesToAsk, type Mirror, mirrorOperation } from '../sync/mirror-kind.ts'
import { isUnfit } from '../sync/settlement.ts'
import { settleFailure } from './failure.ts'
import {
  advanceMirrorTask,
  begunMirrorRun,
  claimMirrorRun,
  dropMirrorTasks,
  endMirrorTask,
  finishMirrorRun,
  type MirrorRun,
  type MirrorTask,
  nextMirrorTask,
  noteMirrorAttempt,
  writeMirrorPlan,
} from './mirror.ts'
import { CountedCalls, type MirrorReader, type Reading } from './mirror-runner.ts'

/** Halts that say nothing of the platform. */
const UNCONCERNED = ['hr_unavailable']
/** So often it is looked whether a halt of everything may be probed. */
const HALTED_MS = 500
/** Cases that dirsync does not try again by itself, but for the slow probe. */
const RESTING = ['open', 'snoozed', 'ignored']

export interface MirrorWorkDependencies {
  pool: Pool
  client: PlatformClient
  logger: Logger
  /** Enterprise code of the deployment itself; empty for a single enterprise. */
  ownEnterprise: string
}

/**
 * Carries out the runs of one mirror. The caller sees to it that nobody else does at the same time; whoever takes up a run
 * that somebody died over goes on at its cursor.
 */
export class MirrorWork {
  readonly #mirror: Mirror
  readonly #reader: MirrorReader
  readonly #deps: MirrorWorkDependencies

  constructor(mirror: Mirror, reader: MirrorReader, deps: MirrorWorkDependencies) {
    this.#mirror = mirror
    this.#reader = reader
    this.#deps = deps
  }

  /** Takes up the run that was begun, or begins the next one, and works until it has ended. @throws when the signal aborts */
  async next(signal: AbortSignal): Promise<void> {
    const { pool } = this.#deps
    const begun = await begunMirrorRun(pool, this.#mirror)
    const run = begun ?? (await this.#begin())
    if (run === null) return
    const log = this.#deps.logger.child({ runId: run.id, kind: run.kind })
    if (begun) log.info('run taken up where it was left')
    let current = { position: -1, startedAt: new Date(), begun: 0 }
    for (;;) {
      signal.throwIfAborted()
      const task = await nextMirrorTask(pool, run.id)
      if (task === null) break
      if (task.waitMs > 0) {
        await delay(task.waitMs, undefined, { signal })
        continue
      }
      const { halt, isProbe } = await forbidding(pool, task.enterpriseCode, UNCONCERNED, probes =>
        probeDelay(probes + 1, Math.random()),
      )
      if (halt?.scope === '*') {
        await delay(HALTED_MS, undefined, { signal })
        continue
      }
      if (halt) {
        await this.#leave(run, task, halt)
        continue
      }
      if (current.position !== task.position)
        current = { position: task.position, startedAt: task.handedOutAt, begun: performance.now() }
      await this.#read(task, current, isProbe, signal)
    }
    const ended = await transaction(pool, async db => {
      await this.#reader.conclude?.(db, run)
      return finishMirrorRun(db, run)
    })
    if (ended) log.info({ state: ended.state, message: ended.message }, 'run ended')
  }

  async #begin(): Promise<MirrorRun | null> {
    const { pool, ownEnterprise } = this.#deps
    const operation = mirrorOperation(this.#mirror)
    return transaction(pool, async db => {
      const run = await claimMirrorRun(db, this.#mirror)
      if (run === null) return null
      const codes = enterprisesToAsk(await enterpriseCodes(db, ownEnterprise))
      const plan = await this.#reader.plan(db, codes, run.startedAt)
      await endObsoleteMirrorCases(db, operation, { enterpriseCodes: codes, parts: plan.parts }, run.id)
      // Nobody asked for it by name: what the platform refused is not asked again at every tick.
      const resting =
        run.requestedBy === 'cron'
          ? (await mirrorCases(db, operation)).filter(({ state }) => RESTING.includes(state))
          : []
      const tasks = plan.tasks.filter(
        ({ enterpriseCode, part }) =>
          !resting.some(rests => rests.enterpriseCode === enterpriseCode && rests.field === part),
      )
      const message =
        resting.length > 0
          ? `the platform refused this before: see dead letter ${resting.map(({ id }) => id).join(', ')}`
          : (plan.nothing ?? null)
      await writeMirrorPlan(db, run.id, { tasks, reasons: plan.reasons, message })
      this.#deps.logger.info({ runId: run.id, kind: run.kind, parts: tasks.length }, 'run planned')
      return tasks.length > 0 ? run : null
    })
  }

  async #read(
    task: MirrorTask,
    current: { startedAt: Date; begun: number },
    isProbe: boolean,
    signal: AbortSignal,
  ): Promise<void> {
    const calls = new CountedCalls(this.#deps.client, signal)
    try {
      const reading = await this.#reader.read(task, calls)
      await this.#store(task, reading, calls.count, current)
    } catch (error) {
      if (signal.aborted || isOurTrouble(error)) throw error
      await settleFailure(this.#deps, this.#mirror, task, error, {
        startedAt: current.startedAt,
        durationMs: Math.round(performance.now() - current.begun),
        operation: this.#reader.operation(task),
        calls: calls.count,
      })
      return
    }
    if (isProbe) await healHalts(this.#deps, task.enterpriseCode, task.handedOutAt, UNCONCERNED)
  }

  async #store(
    task: MirrorTask,
    reading: Reading,
    calls: number,
    current: { startedAt: Date; begun: number },
  ): Promise<void> {
    const operation = mirrorOperation(this.#mirror)
    await repeatOnDeadlock(() =>
      transaction(this.#deps.pool, async db => {
        const { changed, next } = await reading.store(db)
        const progress = { read: reading.rows, changed, calls }
        if (next) {
          if (!(await advanceMirrorTask(db, task, progress, next))) throw overtaken()
          return
        }
        const { mine, partDone } = await endMirrorTask(db, task, progress)
        if (!mine) throw overtaken()
        const outcome = task.changed + changed > 0 ? 'updated' : 'in_step'
        await noteMirrorAttempt(db, operation, task, {
          startedAt: current.startedAt,
          durationMs: Math.round(performance.now() - current.begun),
          outcome,
          calls: { [reading.operation]: task.calls + calls },
          platformCode: null,
          traceId: null,
          error: null,
        })
        const { enterpriseCode, part, runId } = task
        const key = { operation, enterpriseCode, entityKey: this.#mirror, detail: part }
        if (partDone)
          await resolveCases(db, [{ key, runId, failures: [], resolve: 'all', employee: null, outcome }])
      }),
    )
  }

  /** The enterprise is halted: what is left of it is given up, so that the run can end. */
  async #leave(run: MirrorRun, task: MirrorTask, halt: Halt): Promise<void> {
    const { enterpriseCode } = task
    const name = enterpriseCode === '' ? 'The enterprise' : `Enterprise ${enterpriseCode}`
    await transaction(this.#deps.pool, async db => {
      await noteMirrorAttempt(db, mirrorOperation(this.#mirror), task, {
        startedAt: task.handedOutAt,
        durationMs: 0,
        outcome: 'halted',
        calls: {},
        platformCode: halt.platformCode,
        traceId: null,
        error: halt.message,
      })
      const message = `${name} is halted: ${halt.message} ${halt.remedy}`
      await dropMirrorTasks(db, run.id, { enterpriseCode, part: null }, message)
    })
  }
}

/** PostgreSQL is away, or somebody else has taken the run: no failure of the platform. What it gave may be unfit all the same. */
function isOurTrouble(error: unknown): boolean {
  return !isUnfit(error) && !(error instanceof Error && error.name === 'PlatformError')
}

function overtaken(): Error {
  return new Error('another process has gone on with the run')
}
