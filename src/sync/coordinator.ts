import type { Pool } from '../lib/database.ts'
import type { Logger } from '../lib/logger.ts'
import { Loop, Loops } from '../lib/loop.ts'
import type { Tracing } from '../lib/tracing.ts'
import { foldTally } from './health/figures.ts'
import type { Feeder } from './outbox/feeder.ts'
import { detachHalted } from './outbox/outbox.ts'
import { type DryRunDeps, runNextDryRun } from './plan/dry-run.ts'
import type { Planner } from './plan/planner.ts'
import { readNextPlan } from './plan/stored-plan.ts'
import { requestDoubted, requestReplan } from './runs/run-requests.ts'
import { traceRun } from './runs/run-trace.ts'
import { areInForce, sourcesFor } from './runs/sources.ts'
import { finishRuns } from './settle/finish-runs.ts'
import { endHaltsOfGone } from './settle/gone-enterprises.ts'

/** How often to check for work without a notification. */
const IDLE_MS = 1000
/** How often to fill the queue while runs are in progress. */
const BUSY_MS = 50

interface CoordinatorOptions {
  pool: Pool
  /** One for each source of HR, and one for runs without a source if there are several. */
  planners: readonly Planner[]
  feeder: Feeder
  /** Enterprise code of the deployment itself; empty for a single enterprise. */
  ownEnterprise: string
  logger: Logger
  tracing: Tracing
}

/**
 * The scheduler role's loops: plan requested runs, feed the queue, end finished runs, keep the tally short. Any number of
 * processes may run them; planning and feeding are each done by one at a time.
 */
export function coordinator(options: CoordinatorOptions): Loops {
  const { pool, planners, feeder, ownEnterprise, logger, tracing } = options
  const loop = (what: string, step: (signal: AbortSignal) => Promise<boolean>) =>
    new Loop({
      step,
      pauseMs: IDLE_MS,
      busyMs: BUSY_MS,
      failed: error => logger.error({ error }, `${what} failed; trying again`),
    })
  /** Runs in progress. */
  let left = 0
  const loops = new Loops([
    ...planners.map(planner =>
      loop('planning', async signal => {
        const planned = await planner.planNext(signal)
        if (planned) loops.wake()
        return planned
      }),
    ),
    loop('feeding the queue', async () => (await feeder.feed()) > 0 || left > 0),
    // Separate from the feed, which fails while the queue is away.
    loop('ending runs', async () => {
      const finished = await finishRuns(pool)
      left = finished.left
      for (const runId of finished.ended) {
        logger.info({ runId }, 'run done')
        await traceRun(pool, tracing, runId)
      }
      for (const source of await sourcesFor(pool, 'changes')) {
        await requestReplan(pool, source)
        await requestDoubted(pool, source)
      }
      return left > 0
    }),
    loop('taking up what dead processes had in hand', async () => {
      await feeder.takeUp()
      return false
    }),
    // Separate from the feed, which much work of a halted enterprise must not hold up.
    loop('setting halted work aside', async () => (await detachHalted(pool)) > 0),
    loop('ending halts of enterprises that are gone', async () => {
      await endHaltsOfGone({ pool, logger, ownEnterprise })
      return false
    }),
    loop('keeping the tally short', async () => {
      await foldTally(pool)
      return false
    }),
  ])
  return loops
}

/**
 * The scheduler role's long readings of HR for people: the figures of held plans, and dry runs of other mappings. No run waits
 * for them. Any number of processes may run them; each of the two is done by one at a time. They stop in the middle: another
 * process continues, or this one after its next start.
 */
export function hrReadings(options: DryRunDeps): Loops {
  const loop = (step: (signal: AbortSignal) => Promise<boolean>) =>
    new Loop({
      step: async signal => (await areInForce(options.pool, options.hr, '')) && step(signal),
      pauseMs: IDLE_MS,
      failed: error => options.logger.error({ error }, 'HR is not read for a page; trying again'),
    })
  return new Loops([
    loop(signal => readNextPlan(options, signal)),
    loop(signal => runNextDryRun(options, signal)),
  ])
}
