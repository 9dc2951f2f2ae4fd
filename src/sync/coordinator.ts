import type { SourceScope } from '../hr/sources.ts'
import type { Pool } from '../lib/database.ts'
import type { Logger } from '../lib/logger.ts'
import { type Tracing, UNTRACED } from '../lib/tracing.ts'
import { pause } from '../lib/waiting.ts'
import type { Feeder } from './feeder.ts'
import type { Planner } from './planner.ts'
import { finishRuns } from './run.ts'
import { requestReplan } from './run-requests.ts'
import { traceRun } from './run-trace.ts'
import { foldTally } from './tally.ts'

/** Without a notification, how often to look for something to do. */
const IDLE_MS = 1000
/** While runs go on, how often to fill up the queue. */
const BUSY_MS = 50

interface CoordinatorOptions {
  pool: Pool
  /** One for each source of HR, and one for what is about none of several. */
  planners: readonly Planner[]
  /** The sources whose changed rows wait for a plan. */
  sources: readonly SourceScope[]
  feeder: Feeder
  logger: Logger
  /** Default: none. */
  tracing?: Tracing
}

/**
 * The scheduler role's loops: plan requested runs, feed the queue, end runs that have nothing left, keep the tally short.
 * Any number of processes may run them; planning and feeding are each done by one at a time.
 */
export class Coordinator {
  readonly #options: CoordinatorOptions
  readonly #stopping = new AbortController()
  #loops: Promise<void>[] = []
  #wake = Promise.withResolvers<void>()
  #troubled = false

  constructor(options: CoordinatorOptions) {
    this.#options = options
  }

  start(): void {
    const { pool, planners, sources, feeder, logger, tracing = UNTRACED } = this.#options
    this.#loops = [
      ...planners.map(planner =>
        this.#loop(async () => {
          const planned = await planner.planNext(this.#stopping.signal)
          if (planned) this.wake()
          return planned
        }),
      ),
      this.#loop(async () => {
        const fed = await feeder.feed()
        const { ended, left } = await finishRuns(pool)
        for (const runId of ended) {
          logger.info({ runId }, 'run done')
          await traceRun(pool, tracing, runId)
        }
        for (const source of sources) await requestReplan(pool, source)
        return fed > 0 || left > 0
      }),
      this.#loop(async () => {
        await foldTally(pool)
        return false
      }),
    ]
  }

  /** Looks at once whether there is something to do. */
  wake(): void {
    this.#wake.resolve()
    this.#wake = Promise.withResolvers()
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    this.wake()
    await Promise.all(this.#loops)
  }

  /** Repeats `step`: soon while it finds work, else at the next notification or tick. */
  async #loop(step: () => Promise<boolean>): Promise<void> {
    const { signal } = this.#stopping
    while (!signal.aborted) {
      let worked = false
      // Taken before the step, so that nothing that is told during it is missed.
      const woken = this.#wake.promise
      try {
        worked = await step()
        this.#troubled = false
      } catch (error) {
        if (signal.aborted) return
        // Once per outage of the database or the queue, not once per second.
        if (!this.#troubled)
          this.#options.logger.error({ err: (error as Error).message }, 'coordination failed; trying again')
        this.#troubled = true
      }
      await pause(worked ? BUSY_MS : IDLE_MS, woken)
    }
  }
}
