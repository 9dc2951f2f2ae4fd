import { setTimeout as sleep } from 'node:timers/promises'
import type { HrSources } from '../hr/sources.ts'
import type { Pool } from '../lib/database.ts'
import type { Logger } from '../lib/logger.ts'
import { runNextDryRun } from './dry-run.ts'
import type { RunLimits } from './safety.ts'
import { readNextPlan } from './stored-plan.ts'

/** Without a notification, how often to look for something to read. */
const POLL_MS = 1000

interface HrReadingsOptions {
  pool: Pool
  hr: HrSources
  limits: RunLimits
  logger: Logger
}

/**
 * The scheduler role's long readings of HR, for people who look: the figures of held plans, and dry runs of other mappings. No
 * run waits for them. Any number of processes may do it; each of the two is done by one at a time.
 */
export class HrReadings {
  readonly #options: HrReadingsOptions
  readonly #stopping = new AbortController()
  #loops: Promise<void>[] = []
  #wake = Promise.withResolvers<void>()
  #troubled = false

  constructor(options: HrReadingsOptions) {
    this.#options = options
  }

  start(): void {
    const { signal } = this.#stopping
    this.#loops = [
      this.#loop(() => readNextPlan(this.#options, signal)),
      this.#loop(() => runNextDryRun(this.#options, signal)),
    ]
  }

  /** Looks at once whether there is something to read. */
  wake(): void {
    this.#wake.resolve()
    this.#wake = Promise.withResolvers()
  }

  /** Stops in the middle: another process goes on, or this one after its next start. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    this.wake()
    await Promise.all(this.#loops)
  }

  async #loop(step: () => Promise<boolean>): Promise<void> {
    const { signal } = this.#stopping
    while (!signal.aborted) {
      // Taken before the step, so that nothing that is told during it is missed.
      const woken = this.#wake.promise
      try {
        const worked = await step()
        this.#troubled = false
        if (worked) continue
      } catch (error) {
        if (signal.aborted) return
        // Once per outage of the database, not once per second.
        if (!this.#troubled)
          this.#options.logger.error(
            { err: (error as Error).message },
            'HR is not read for a page; trying again',
          )
        this.#troubled = true
      }
      const timer = new AbortController()
      const pause = sleep(POLL_MS, undefined, { signal: timer.signal }).catch(() => undefined) // woken
      await Promise.race([pause, woken])
      timer.abort()
    }
  }
}
