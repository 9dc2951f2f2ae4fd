import { tryLockTransaction } from '../../lib/advisory-lock.ts'
import { type ClientBase, FEED_MS, type Pool, transaction } from '../../lib/database.ts'
import type { Logger } from '../../lib/logger.ts'
import { formatJobKey, jobId, type QueuedJob } from '../../queue/job.ts'
import { readPace } from '../processes/pace.ts'
import { nextProbeDelay } from './backoff.ts'
import {
  countEnqueued,
  endLateDelays,
  type Fed,
  refeed,
  refeedAbandoned,
  takeForQueue,
  takeProbes,
} from './feeding.ts'
import { endLateHalts } from './halts.ts'
import { keysPerJob } from './job-size.ts'

/** Rows per chunk. One process feeds at a time. */
const CHUNK = 1000
/** How many chunks may be in flight to the queue while the next one is taken. */
const ADDS = 2
/** Most rows fed in one go, so that a stopping process does not wait for long. */
const AT_ONCE = 5000
/** Rows enqueued more recently may still be in flight to the queue. */
const SETTLE_MS = 3000
/** For how long the rate is taken as it was. */
const RATE_FOR_MS = 2000

/** What the feeder needs of the queue. */
export interface FedQueue {
  add(jobs: QueuedJob[]): Promise<void>
  counts(): Promise<{ total: number }>
}

/** Moves work from the outbox to the queue, up to a high-water mark, and finds jobs that the queue has lost. */
export class Feeder {
  readonly #pool: Pool
  readonly #queue: FedQueue
  readonly #highWater: number
  readonly #logger: Logger
  #missing = 0
  /** What the platform permits one worker, as far as workers say; null: none does. */
  #rate: { perSecond: number | null; at: number } | null = null

  constructor(options: { pool: Pool; queue: FedQueue; highWater: number; logger: Logger }) {
    this.#pool = options.pool
    this.#queue = options.queue
    this.#highWater = options.highWater
    this.#logger = options.logger
  }

  /** Fills the queue. Returns how many rows it added: none while another process feeds it. */
  async feed(): Promise<number> {
    const [{ total }, { rows }] = await Promise.all([this.#queue.counts(), countEnqueued(this.#pool)])
    // Nothing at all is in a queue that was wiped.
    let room = Math.min(this.#highWater - (total === 0 ? 0 : rows), AT_ONCE)
    let fed = 0
    const adds: Promise<void>[] = []
    try {
      for (let more = true; more; ) {
        const wanted = Math.min(room, CHUNK)
        const taken = await this.#take(wanted)
        // Marked first, added second: a crash in between loses nothing, because the sweep compares the two.
        if (taken.length > 0) {
          const add = this.#queue.add(jobsOf(taken))
          add.catch(() => {}) // it is awaited below, perhaps after others
          adds.push(add)
        }
        fed += taken.length
        room -= taken.length
        more = room > 0 && taken.length >= wanted
        await adds.at(-ADDS)
      }
    } finally {
      await Promise.allSettled(adds)
    }
    await Promise.all(adds)
    return fed
  }

  /** Takes up to `room` rows, and those to be let through as probes. */
  async #take(room: number): Promise<Fed[]> {
    const rate = await this.#rateOfOne()
    const take = async (client: ClientBase) => {
      if (!(await tryLockTransaction(client, 'feeder'))) return []
      const probes = await takeProbes(client, nextProbeDelay)
      const perJob = (rows: number) => keysPerJob(rows, rate)
      return room > 0 ? [...probes, ...(await takeForQueue(client, room, perJob))] : probes
    }
    return transaction(this.#pool, take, FEED_MS)
  }

  async #rateOfOne(): Promise<number | null> {
    const now = performance.now()
    if (this.#rate === null || now - this.#rate.at > RATE_FOR_MS) {
      const { permitted_per_second: rate, workers } = await readPace(this.#pool)
      this.#rate = { perSecond: rate === null ? null : rate / Math.max(1, workers), at: now }
    }
    return this.#rate.perSecond
  }

  /**
   * Feeds again what nobody will take up: rows that a dead process had in hand, and rows that the outbox counts as queued and the
   * queue does not have, because it was wiped, or a process died between marking and adding. For these two sweeps in a row must
   * agree, since jobs end between the two counts.
   */
  async sweep(): Promise<void> {
    await endLateDelays(this.#pool)
    await endLateHalts(this.#pool)
    await this.takeUp()
    const { jobs } = await countEnqueued(this.#pool)
    const { total } = jobs === 0 ? { total: 0 } : await this.#queue.counts()
    const missing = Math.max(0, jobs - total)
    if (missing > 0 && this.#missing > 0) {
      const rows = await refeed(this.#pool, SETTLE_MS)
      this.#logger.warn({ missing, rows }, 'the queue has lost jobs: feeding them again')
      this.#missing = 0
    } else this.#missing = missing
  }

  /** Feeds again the rows that a dead process had in hand. */
  async takeUp(): Promise<void> {
    const rows = await refeedAbandoned(this.#pool)
    if (rows > 0) this.#logger.info({ rows }, 'what a process had in hand that has gone is taken up again')
  }
}

/** Rows with the same `job` are one. */
function jobsOf(rows: readonly Fed[]): QueuedJob[] {
  const groups = Map.groupBy(rows, ({ operation, priority, job }) => `${operation} ${priority} ${job}`)
  return [...groups.values()].map(group => {
    const [{ operation: name, priority }] = group as [Fed]
    const job = { name, keys: group.map(formatJobKey), priority }
    return {
      ...job,
      id: jobId(
        job,
        group.map(({ request }) => request),
      ),
    }
  })
}
