import type { FastifyReply } from 'fastify'
import { TokenBucket } from '../lib/token-bucket.ts'
import { BoundedLine, BusyError } from './bounded-line.ts'
import { Problem } from './problem.ts'

/** Concurrent requests of one viewer. The console's remaining connections serve the others. */
const AT_A_TIME = 3
/** How many more may wait: all parts of all pages that one browser has open may refresh at the same moment. */
const WAITING = 60
/** The rate of requests of one viewer. A script that reads every page of a long list stays below it. */
const REQUESTS = { burst: 1500, perSecond: 25 }
/** The rate of costly requests: those that ask the platform, read HR on demand or write a file. */
const LOOKS = { burst: 20, perSecond: 0.5 }
/** How many viewers are remembered; beyond that, the least recently active one is forgotten. */
const VIEWERS = 1000

class Share {
  readonly line = new BoundedLine(AT_A_TIME, WAITING)
  readonly requests = new TokenBucket(REQUESTS)
  readonly looks = new TokenBucket(LOOKS)
}

/** Limits the requests of each viewer in this process, so that one cannot starve the others or the platform. */
export class Shares {
  readonly #shares = new Map<string, Share>()

  /**
   * Waits for a place. The request keeps it until its answer is sent or its caller has gone.
   * @throws Problem `too_many`
   */
  async admit(viewer: string, { raw }: FastifyReply): Promise<void> {
    const { requests, line } = this.#of(viewer)
    demand(requests)
    try {
      const leave = await line.enter()
      raw.once('close', leave)
      // The caller may have gone while it waited.
      if (raw.closed) leave()
    } catch (error) {
      if (!(error instanceof BusyError)) throw error
      throw new Problem('too_many', '', { retryAfter: 1 })
    }
  }

  /** @throws Problem `too_many` if this viewer has made too many costly requests */
  look(viewer: string): void {
    demand(this.#of(viewer).looks)
  }

  #of(viewer: string): Share {
    const share = this.#shares.get(viewer) ?? new Share()
    // Maps keep insertion order, so the first entry is the least recently used.
    this.#shares.delete(viewer)
    this.#shares.set(viewer, share)
    if (this.#shares.size > VIEWERS) this.#shares.delete(this.#shares.keys().next().value ?? viewer)
    return share
  }
}

function demand(bucket: TokenBucket): void {
  if (bucket.take(performance.now())) return
  throw new Problem('too_many', '', { retryAfter: Math.ceil(bucket.waitSeconds) })
}
