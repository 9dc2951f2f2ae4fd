import type { JobOperation } from '../../src/queue/job.ts'
import type { JobHandler } from '../../src/queue/job-worker.ts'

/** One execution of a job, which lasts until the test ends it. */
interface Execution {
  readonly name: JobOperation
  /** All of them, one after the other. */
  readonly key: string
  readonly signal: AbortSignal
  end(): void
  fail(error: Error): void
}

/** A handler that tells the test what runs, and lets it decide when each execution ends. */
export class Recorder {
  readonly started: Execution[] = []
  running = 0
  mostRunning = 0
  readonly #held: boolean
  readonly #waiters: { count: number; resolve: () => void }[] = []

  /** @param mode `held` executions last until the test ends them, `instant` ones end at once */
  constructor(mode: 'held' | 'instant') {
    this.#held = mode === 'held'
  }

  readonly handler: JobHandler = async ({ name, keys }, signal) => {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.started.push({ name, key: keys.join(' '), signal, end: resolve, fail: reject })
    this.running += 1
    this.mostRunning = Math.max(this.mostRunning, this.running)
    for (const waiter of this.#waiters) if (this.started.length >= waiter.count) waiter.resolve()
    if (!this.#held) resolve()
    try {
      await promise
    } finally {
      this.running -= 1
    }
  }

  get keys(): string[] {
    return this.started.map(({ key }) => key)
  }

  /** Waits until so many executions have started, and gives the last of them. */
  async execution(count: number): Promise<Execution> {
    if (this.started.length < count) {
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#waiters.push({ count, resolve })
      await promise
    }
    const execution = this.started[count - 1]
    if (execution === undefined) throw new Error('An execution that has started is missing.')
    return execution
  }
}
