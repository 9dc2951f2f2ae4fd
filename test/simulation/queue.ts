import type { QueuedJob } from '../../src/queue/job.ts'
import type { Process } from './process.ts'

/** A queue that keeps nothing for sure: it may be wiped, and hand a job out twice or late. */
export class SimulatedQueue {
  readonly jobs: QueuedJob[] = []
  readonly failed: QueuedJob[] = []
  /** The latest that workers were given. */
  given: QueuedJob[] = []
  readonly #inHand = new Map<QueuedJob, Process>()
  #more = Promise.withResolvers<void>()

  /** Resolves when workers have to look again. */
  get more(): Promise<void> {
    return this.#more.promise
  }

  wake(): void {
    this.#more.resolve()
    this.#more = Promise.withResolvers()
  }

  take(process: Process): QueuedJob | undefined {
    const job = this.jobs.shift()
    if (job) this.given = [job, ...this.given].slice(0, 3)
    if (job) this.#inHand.set(job, process)
    return job
  }

  done(job: QueuedJob): void {
    this.#inHand.delete(job)
  }

  /** What a process had in hand when it died is handed out again, a while later. */
  forget(process: Process): void {
    for (const [job, holder] of this.#inHand) if (holder === process) this.fail(job)
  }

  fail(job: QueuedJob): void {
    this.#inHand.delete(job)
    this.failed.push(job)
  }

  handOutAgain(): void {
    this.jobs.push(...this.failed.splice(0))
  }

  reset(): void {
    this.jobs.length = 0
    this.failed.length = 0
    this.given = []
    this.#inHand.clear()
  }

  async add(jobs: QueuedJob[]): Promise<void> {
    for (const job of jobs) if (!this.jobs.some(({ id }) => id === job.id)) this.jobs.push(job)
    this.wake()
  }

  async counts(): Promise<{ total: number }> {
    return { total: this.jobs.length }
  }
}
