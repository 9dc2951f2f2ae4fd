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
/** How many requests of one viewer may wait for something to happen. */
const ASIDE = 10
/** How many viewers are remembered; beyond that, the least recently active one is forgotten. */
const VIEWERS = 1000

class Share {
  readonly line = new BoundedLine(AT_A_TIME, WAITING)
  readonly requests = new TokenBucket(REQUESTS)
  readonly looks = new TokenBucket(LOOKS)
  aside = 0
}

/** Limits the requests of each viewer in this process, so that one cannot starve the others or the platform. */
export class Shares {
  readonly #shares = new Map<string, Share>()
  /** How a request that is being answered gives its place back. */
  readonly #leave = new WeakMap<FastifyReply, () => void>()

  /**
   * Waits for a place. The request keeps it until its answer is sent or its caller has gone.
   * @throws Problem `too_many`
   */
  async admit(viewer: string, reply: FastifyReply): Promise<void> {
    const share = this.#of(viewer)
    const isLeft = share.requests.take(performance.now())
    tellLeft(reply, 'requests', REQUESTS, share.requests)
    if (!isLeft) throw tooMany(share.requests)
    await this.#enter(share, reply)
  }

  /**
   * Lets an admitted request wait for something, without its place.
   * @param wait its signal aborts when the caller goes, or `closing` does
   * @throws Problem `too_many`
   */
  async aside(
    viewer: string,
    reply: FastifyReply,
    closing: AbortSignal,
    wait: (gone: AbortSignal) => Promise<void>,
  ): Promise<void> {
    const share = this.#of(viewer)
    if (share.aside >= ASIDE) throw new Problem('too_many', '', { retryAfter: 1 })
    share.aside += 1
    const gone = new AbortController()
    reply.raw.once('close', () => gone.abort())
    try {
      this.#leave.get(reply)?.()
      await wait(AbortSignal.any([gone.signal, closing]))
    } finally {
      share.aside -= 1
    }
    await this.#enter(share, reply)
  }

  async #enter({ line }: Share, reply: FastifyReply): Promise<void> {
    try {
      const leave = await line.enter()
      this.#leave.set(reply, leave)
      reply.raw.once('close', leave)
      // The caller may have gone while it waited.
      if (reply.raw.closed) leave()
    } catch (error) {
      if (!(error instanceof BusyError)) throw error
      throw new Problem('too_many', '', { retryAfter: 1 })
    }
  }

  /** @throws Problem `too_many` if this viewer has made too many costly requests */
  look(viewer: string, reply: FastifyReply): void {
    const { looks } = this.#of(viewer)
    if (looks.take(performance.now())) return
    tellLeft(reply, 'looks', LOOKS, looks)
    throw tooMany(looks)
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

function tooMany({ waitSeconds }: TokenBucket): Problem {
  return new Problem('too_many', '', { retryAfter: Math.ceil(waitSeconds) })
}

/**
 * The headers of draft-ietf-httpapi-ratelimit-headers: how many there are in which window of seconds, how many are left, and
 * after how many seconds all of them are.
 */
function tellLeft(
  reply: FastifyReply,
  name: string,
  { burst, perSecond }: typeof REQUESTS,
  { left, fullSeconds }: TokenBucket,
): void {
  reply
    .header('ratelimit-policy', `"${name}";q=${burst};w=${burst / perSecond}`)
    .header('ratelimit', `"${name}";r=${left};t=${Math.ceil(fullSeconds)}`)
}
