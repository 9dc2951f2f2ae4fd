import { setTimeout as sleep } from 'node:timers/promises'
import { type IQueueBackend, type Job, type JobProgress, Worker } from 'bullmq'
import type { JobName } from './backend.ts'
import type { JobData, StoreConnection } from './store.ts'

/**
 * A killed process' job is free 10 s after its last sign of life and taken up within 2 to 4 s more. Stalls are no
 * verdict on the job (`attempt` rows are), so BullMQ's own limit is out of the way. A claim or completion that finds the
 * store away is repeated after 1 s; BullMQ's 15 s would be longer than the lock.
 */
const SETTINGS = {
  lockDuration: 10_000,
  stalledInterval: 2_000,
  maxStalledCount: 50,
  runRetryDelay: 1_000,
  skipVersionCheck: true, // prepare() and doctor() look, and say it in our words
}

/** BullMQ asks again at once after a claim that failed otherwise than by a refused connection. */
const PAUSE_AFTER_FAILED_CLAIM_MS = 250

type BullJob = Job<JobData, void, JobName>

/** BullMQ's worker, with a pause between failed claims and a way to end it that does not depend on the store. */
export class BullWorker extends Worker<JobData, void, JobName, IQueueBackend, JobProgress, unknown> {
  readonly #store: StoreConnection

  constructor(
    queue: { name: string; prefix: string },
    processor: (job: BullJob, token: string | undefined, signal: AbortSignal | undefined) => Promise<void>,
    options: { concurrency: number; store: StoreConnection },
  ) {
    const { concurrency, store } = options
    super(
      queue.name,
      processor,
      { ...SETTINGS, prefix: queue.prefix, concurrency, connection: store.connection },
      store.backendFactory,
    )
    this.#store = store
  }

  protected override async moveToActive(token: string, name?: string): Promise<BullJob> {
    try {
      return await super.moveToActive(token, name)
    } catch (error) {
      await sleep(PAUSE_AFTER_FAILED_CLAIM_MS)
      throw error
    }
  }

  /** Stops claiming, waits for the running jobs and the store, however long they take, then closes the connections. */
  async end(): Promise<void> {
    await this.close()
    await this.#store.close()
  }

  /** Drops everything at once. What runs here is taken up by another process when its lock has expired. */
  abandon(): void {
    this.cancelAllJobs()
    const ignore = () => {} // the connections are cut next
    this.lockManager.close().catch(ignore)
    this.backend.close(true).catch(ignore)
    this.#store.cut()
  }
}
