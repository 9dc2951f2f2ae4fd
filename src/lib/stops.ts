import type { Logger } from './logger.ts'
import { within } from './waiting.ts'

/** How long the work (jobs, plans, cron jobs) may take to stop. */
const WORK_STOPS_WITHIN_MS = 6500
/** How long every other part may take. One that hangs, say on an HR database that does not answer, is abandoned. */
const PART_STOPS_WITHIN_MS = 500
/** How long all of it may take, so that a process on a busy machine also ends within 10 s: later parts are not waited for. */
const ALL_STOPS_WITHIN_MS = 7500

type Stop = () => Promise<unknown>

/** How to stop everything that was started: the work first, all at once, then the other parts, the last one first. */
export class Stops {
  readonly #work: Stop[] = []
  readonly #parts: Stop[] = []
  readonly #logger: Logger
  #running: Promise<void> | undefined

  constructor(logger: Logger) {
    this.#logger = logger
  }

  work(stop: Stop): void {
    this.#work.push(stop)
  }

  afterwards(stop: Stop): void {
    this.#parts.push(stop)
  }

  run(): Promise<void> {
    this.#running ??= this.#run()
    return this.#running
  }

  async #run(): Promise<void> {
    const deadline = performance.now() + ALL_STOPS_WITHIN_MS
    await Promise.all(this.#work.map(stop => this.#within(WORK_STOPS_WITHIN_MS, stop)))
    for (const stop of this.#parts.reverse()) {
      const left = Math.max(0, Math.round(deadline - performance.now()))
      await this.#within(Math.min(PART_STOPS_WITHIN_MS, left), stop)
    }
  }

  async #within(ms: number, stop: Stop): Promise<void> {
    try {
      await within(ms, stop(), () => new Error(`it has not stopped after ${ms} ms and is left behind`))
    } catch (error) {
      this.#logger.warn({ error }, 'a part did not stop cleanly')
    }
  }
}
