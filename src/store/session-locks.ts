import type pg from 'pg'
import { Batcher } from '../core/batcher.ts'
import type { Logger } from '../logger.ts'
import { createClient } from './pool.ts'

/** How long a lock may wait to be given back together with others. */
const RETURN_WITHIN_MS = 10

/**
 * Locks on employees and departments across all processes (DESIGN, law 3), held on one connection:
 * when the process dies, its connection closes and the server frees them at once, so that nobody waits for a lease to run out.
 */
export class SessionLocks {
  readonly #url: string
  readonly #logger: Logger
  readonly #held = new Map<string, Held>()
  readonly #gone = new WeakSet<pg.Client>()
  #client: Promise<pg.Client> | null = null
  #closed = false

  /** Locks that nobody here holds any more, to be given back with the next ones that are taken. */
  #returned: { key: string; given: () => void }[] = []
  #giveBack: NodeJS.Timeout | null = null

  /** Yields the connection that took the lock; null: somebody else has it. No key: takes none, and gives back. */
  readonly #taking = new Batcher<string | null, pg.Client | null>(keys => this.#exchange(keys), {
    maxBatch: 500,
  })

  constructor(url: string, logger: Logger) {
    this.#url = url
    this.#logger = logger
  }

  /**
   * Takes a lock. Waits while this process has it itself; null when another process has it.
   * The signal aborts when the lock is lost with its connection: from then on another process may work on the same
   * entity, so nothing more may be sent. It aborts with the caller's own signal, too, until the lock is given back.
   */
  async lock(key: string, stop?: AbortSignal): Promise<AbortSignal | null> {
    for (let held = this.#held.get(key); held; held = this.#held.get(key)) await held.released
    const mine = new Held(stop)
    this.#held.set(key, mine)
    try {
      mine.client = await this.#taking.load(key)
    } finally {
      if (mine.client === null) this.#release(key)
    }
    if (mine.client === null) return null
    if (this.#gone.has(mine.client)) mine.abort(lostReason())
    return mine.signal
  }

  async unlock(key: string): Promise<void> {
    const held = this.#release(key)
    if (!held?.client || this.#gone.has(held.client)) return
    await new Promise<void>(given => {
      this.#returned.push({ key, given })
      this.#giveBack ??= setTimeout(() => this.#flush(), RETURN_WITHIN_MS)
    })
  }

  #flush(): void {
    this.#giveBack = null
    if (this.#returned.length === 0) return
    this.#taking.load(null).catch(error => {
      // It fails only when the connection is gone, and the locks with it.
      this.#logger.debug({ err: (error as Error).message }, 'locks were lost with their connection')
    })
  }

  /** Gives back what was returned, then takes these: one statement for both. */
  async #exchange(keys: (string | null)[]): Promise<(pg.Client | null)[]> {
    const returned = this.#returned
    this.#returned = []
    try {
      const client = await this.#connection()
      const { rows } = await client.query({
        name: 'locks',
        text: `select pg_try_advisory_lock(hashtextextended(taken.key, 0)) as locked
               from (select count(pg_advisory_unlock(hashtextextended(key, 0))) from unnest($1::text[]) as r (key)) given
               left join unnest($2::text[]) with ordinality as taken (key, position) on true order by taken.position`,
        values: [returned.map(({ key }) => key), keys],
      })
      return keys.map((_, i) => (rows[i]?.locked ? client : null))
    } finally {
      for (const { given } of returned) given()
    }
  }

  #release(key: string) {
    const held = this.#held.get(key)
    this.#held.delete(key)
    held?.release()
    return held
  }

  async close(): Promise<void> {
    this.#closed = true
    const client = await this.#client?.catch(() => null)
    await client?.end().catch(() => undefined) // it may be gone already
  }

  #connection(): Promise<pg.Client> {
    if (this.#closed) return Promise.reject(new Error('the locks are closed'))
    this.#client ??= this.#connect()
    return this.#client
  }

  async #connect(): Promise<pg.Client> {
    const client = createClient(this.#url, 'locks')
    let connected = false
    // Comes more than once for one connection, perhaps when the next one is in use already.
    const lost = (error?: Error) => {
      if (this.#gone.has(client)) return
      this.#gone.add(client)
      this.#client = null
      const locks = [...this.#held.values()].filter(held => held.client === client)
      if (connected && !this.#closed)
        this.#logger.warn(
          { err: error?.message, locks: locks.length },
          'the lock connection dropped; jobs in hand stop',
        )
      for (const held of locks) held.abort(lostReason())
    }
    client.on('error', lost)
    client.on('end', () => lost())
    try {
      await client.connect()
      // A host that dies without a word frees its locks within seconds.
      await client.query(
        'set tcp_keepalives_idle = 5; set tcp_keepalives_interval = 2; set tcp_keepalives_count = 3',
      )
      connected = true
      return client
    } catch (error) {
      lost(error as Error)
      client.end().catch(() => undefined) // what is left of it
      throw error
    }
  }
}

/** A lock that this process has, or is about to take. */
class Held {
  /** The connection that has it; null: none has it yet. */
  client: pg.Client | null = null
  readonly #released = Promise.withResolvers<void>()
  readonly #controller = new AbortController()
  readonly #stop: AbortSignal | undefined
  readonly #onStop = () => this.abort(this.#stop?.reason)

  constructor(stop: AbortSignal | undefined) {
    this.#stop = stop
    if (stop?.aborted) this.#onStop()
    else stop?.addEventListener('abort', this.#onStop, { once: true })
  }

  get released(): Promise<void> {
    return this.#released.promise
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  abort(reason: unknown): void {
    this.#controller.abort(reason)
  }

  release(): void {
    this.#stop?.removeEventListener('abort', this.#onStop)
    this.#released.resolve()
  }
}

function lostReason(): Error {
  return new Error('the lock was lost with its connection')
}
