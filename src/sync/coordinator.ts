import type { Pool } from '../lib/database.ts'
import type { Logger } from '../lib/logger.ts'
import type { Feeder } from './feeder.ts'
import type { Planner } from './planner.ts'
import { finishRuns } from './run.ts'
import { requestReplan } from './run-requests.ts'
import { foldTally } from './tally.ts'

/** Without a notification the outbox is looked at this often. */
const IDLE_MS = 1000
/** While runs go on, the queue is filled up this often. */
const BUSY_MS = 50

/**
 * The scheduler role's loop: plans requested runs, feeds the queue, ends runs that have nothing left, and keeps the tally
 * short. Any number of processes may run it; planning and feeding are each done by one at a time.
 */
export class Coordinator {
  readonly #pool: Pool
  readonly #planner: Planner
  readonly #feeder: Feeder
  readonly #logger: Logger
  readonly #stopping = new AbortController()
  #loops: Promise<void>[] = []
  #wake = Promise.withResolvers<void>()
  #troubled = false

  constructor(options: { pool: Pool; planner: Planner; feeder: Feeder; logger: Logger }) {
    this.#pool = options.pool
    this.#planner = options.planner
    this.#feeder = options.feeder
    this.#logger = options.logger
  }

  start(): void {
    this.#loops = [
      this.#loop(async () => {
        const planned = await this.#planner.planNext(this.#stopping.signal)
        if (planned) this.wake()
        return planned
      }),
      this.#loop(async () => {
        const fed = await this.#feeder.feed()
        const { ended, left } = await finishRuns(this.#pool)
        for (const runId of ended) this.#logger.info({ runId }, 'run done')
        await requestReplan(this.#pool)
        return fed > 0 || left > 0
      }),
      this.#loop(async () => {
        await foldTally(this.#pool)
        return false
      }),
    ]
  }

  /** Something may be to do: looks at once. */
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
      // From before the step: what is told while it looks elsewhere is not missed.
      const woken = this.#wake.promise
      try {
        worked = await step()
        this.#troubled = false
      } catch (error) {
        if (signal.aborted) return
        // Once per outage of the database or the queue, not once per second.
        if (!this.#troubled)
          this.#logger.error({ err: (error as Error).message }, 'coordination failed; trying again')
        this.#troubled = true
      }
      await pause(worked ? BUSY_MS : IDLE_MS, woken)
    }
  }
}

async function pause(ms: number, woken: Promise<void>): Promise<void> {
  const timer = Promise.withResolvers<void>()
  const timeout = setTimeout(timer.resolve, ms)
  await Promise.race([timer.promise, woken])
  clearTimeout(timeout)
}
