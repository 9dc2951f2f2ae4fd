import { tryLockTransaction } from '../lib/advisory-lock.ts'
import type { ClientBase, Pool } from '../lib/database.ts'
import { FEED_MS, transaction } from '../lib/database.ts'
import type { Logger } from '../lib/logger.ts'
import { formatJobKey, jobId, type QueuedJob } from '../queue/job.ts'
import { probeDelay } from './backoff.ts'
import { endLateHalts } from './halts.ts'
import { countEnqueued, endLateDelays, type Fed, refeed, takeForQueue, takeProbes } from './outbox.ts'

/** Rows per chunk. One process feeds at a time. */
const CHUNK = 1000
/** How many chunks may be in flight to the queue while the next one is taken. */
const ADDS = 2
/** Most jobs fed in one go, so that a stopping process does not wait for long. */
const AT_ONCE = 5000
/** Rows enqueued more recently may still be in flight to the queue. */
const SETTLE_MS = 3000

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

  constructor(options: { pool: Pool; queue: FedQueue; highWater: number; logger: Logger }) {
    this.#pool = options.pool
    this.#queue = options.queue
    this.#highWater = options.highWater
    this.#logger = options.logger
  }

  /** Fills the queue. Returns how many jobs it added: none while another process feeds it. */
  async feed(): Promise<number> {
    const { total } = await this.#queue.counts()
    let room = Math.min(this.#highWater - total, AT_ONCE)
    let fed = 0
    const adds: Promise<void>[] = []
    try {
      for (let more = true; more; ) {
        const wanted = Math.min(room, CHUNK)
        const taken = await this.#take(wanted)
        // Marked first, added second: a crash in between loses nothing, because the sweep compares the two.
        if (taken.length > 0) {
          const add = this.#queue.add(taken.map(toJob))
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
  #take(room: number): Promise<Fed[]> {
    const take = async (client: ClientBase) => {
      if (!(await tryLockTransaction(client, 'feeder'))) return []
      const probes = await takeProbes(client, probesSoFar => probeDelay(probesSoFar + 1, Math.random()))
      return room > 0 ? [...probes, ...(await takeForQueue(client, room))] : probes
    }
    return transaction(this.#pool, take, FEED_MS)
  }

  /**
   * Feeds again the rows that the outbox counts as queued and the queue does not have: it was wiped, or a process died between
   * marking and adding. Two sweeps in a row must agree, since jobs end between the two counts.
   */
  async sweep(): Promise<void> {
    await endLateDelays(this.#pool)
    await endLateHalts(this.#pool)
    const enqueued = await countEnqueued(this.#pool)
    const { total } = enqueued === 0 ? { total: 0 } : await this.#queue.counts()
    const missing = Math.max(0, enqueued - total)
    if (missing > 0 && this.#missing > 0) {
      const rows = await refeed(this.#pool, SETTLE_MS)
      this.#logger.warn({ missing, rows }, 'the queue has lost jobs: feeding them again')
      this.#missing = 0
    } else this.#missing = missing
  }
}

function toJob(row: Fed): QueuedJob {
  const { operation: name, priority } = row
  const key = formatJobKey(row)
  return { id: jobId(name, key, row.request, priority), name, key, priority }
}
