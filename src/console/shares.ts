import type { FastifyReply } from 'fastify'
import { TokenBucket } from '../lib/token-bucket.ts'
import { BoundedLine, BusyError } from './bounded-line.ts'
import { Problem } from './problem.ts'

/** Requests of one viewer that are carried out at a time: the console's other connections serve the others. */
const AT_A_TIME = 3
/** More of them wait; the parts of every page that one browser may have open ask anew at the same moment. */
const WAITING = 60
/** Requests of one viewer. A script that reads every page of a long list stays below. */
const REQUESTS = { burst: 1500, perSecond: 25 }
/** Of those, the ones that ask the platform, read HR on demand or write a file. */
const LOOKS = { burst: 20, perSecond: 0.5 }
/** Shares that are kept; beyond these, the viewer who has asked for nothing the longest begins anew. */
const VIEWERS = 1000

class Share {
  readonly line = new BoundedLine(AT_A_TIME, WAITING)
  readonly requests = new TokenBucket(REQUESTS)
  readonly looks = new TokenBucket(LOOKS)
}

/** What each viewer may have of this process, so that one takes neither another's time nor the platform's. */
export class Shares {
  readonly #shares = new Map<string, Share>()

  /**
   * Waits for a place, which the request has until its answer is sent or its caller has gone.
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

  /** @throws Problem `too_many` when this viewer has asked for too many things of the costly kind */
  look(viewer: string): void {
    demand(this.#of(viewer).looks)
  }

  #of(viewer: string): Share {
    const share = this.#shares.get(viewer) ?? new Share()
    // Maps keep the order in which entries came: the first is the one that was used longest ago.
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
