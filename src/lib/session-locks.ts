import { addAbortListener } from 'node:events'
import type pg from 'pg'
import { Batcher } from './batcher.ts'
import { createClient, onlyRow } from './database.ts'
import type { Logger } from './logger.ts'

/** How long a released lock may wait to be returned together with others. */
const RETURN_WITHIN_MS = 10

/** How often to probe the connection. */
const PULSE_MS = 1000

/**
 * A connection is given up this long after the sending of the last statement that was answered: its locks count as lost, and
 * their holders are told. That is earlier than the server frees them (15 s after it last heard of us, see SESSION_SETTINGS),
 * so no other process gets a lock before its holder was told.
 */
const SILENT_MS = 10_000

/**
 * Locks on keys across all processes, held on one connection (one call at a time per employee, law 3). When the process dies,
 * its connection closes and the server frees them at once, without a lease to wait for.
 */
export class SessionLocks {
  readonly #url: string
  readonly #logger: Logger
  readonly #held = new Map<string, Held>()
  readonly #gone = new WeakSet<Connection>()
  #connecting: Promise<Connection> | null = null
  #closed = false

  /** Locks without a holder in this process; returned together with the next ones that are taken. */
  #returned: { key: string; given: () => void }[] = []
  #giveBack: NodeJS.Timeout | null = null

  /** Answers the connection that took the lock; null when another process holds it. A null for a key only returns locks. */
  readonly #taking = new Batcher<string | null, Connection | null>(keys => this.#exchange(keys), {
    maxBatch: 500,
  })

  constructor(url: string, logger: Logger) {
    this.#url = url
    this.#logger = logger
  }

  /**
   * Takes a lock. Waits while this process holds it itself; null when another process holds it.
   * The signal aborts when the lock is lost with its connection: from then on another process may work on the same entity, so
   * nothing more may be sent. Until the lock is released, it aborts with the caller's own signal, too.
   */
  async lock(key: string, stop?: AbortSignal): Promise<AbortSignal | null> {
    for (let held = this.#held.get(key); held; held = this.#held.get(key)) await held.released
    return this.tryLock(key, stop)
  }

  /** The same; null also when this process itself holds it. */
  async tryLock(key: string, stop?: AbortSignal): Promise<AbortSignal | null> {
    if (this.#held.has(key)) return null
    const mine = new Held(stop)
    this.#held.set(key, mine)
    try {
      mine.connection = await this.#taking.submit(key)
    } finally {
      if (mine.connection === null) this.#release(key)
    }
    if (mine.connection === null) return null
    if (this.#gone.has(mine.connection)) mine.abort(lostReason())
    return mine.signal
  }

  async unlock(key: string): Promise<void> {
    const held = this.#release(key)
    if (!held?.connection || this.#gone.has(held.connection)) return
    await new Promise<void>(given => {
      this.#returned.push({ key, given })
      this.#giveBack ??= setTimeout(() => this.#flush(), RETURN_WITHIN_MS)
    })
  }

  #flush(): void {
    this.#giveBack = null
    if (this.#returned.length === 0) return
    this.#taking.submit(null).catch(error => {
      // It fails only when the connection is gone, and the locks with it.
      this.#logger.debug({ error }, 'locks were lost with their connection')
    })
  }

  /** Returns released locks, then takes these: one statement for both. */
  async #exchange(keys: (string | null)[]): Promise<(Connection | null)[]> {
    const returned = this.#returned
    this.#returned = []
    try {
      const connection = await this.#connection()
      const { rows } = await connection.ask<{ locked: boolean }>({
        name: 'locks',
        text: `
          select pg_try_advisory_lock(hashtextextended(taken.key, 0)) as locked
          from (
            select count(pg_advisory_unlock(hashtextextended(key, 0))) from unnest($1::text[]) as returned (key)
          ) as given
          left join unnest($2::text[]) with ordinality as taken (key, position) on true
          order by taken.position`,
        values: [returned.map(({ key }) => key), keys],
      })
      return keys.map((_, i) => (rows[i]?.locked ? connection : null))
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
    const connection = await this.#connecting?.catch(() => null)
    await connection?.end()
  }

  #connection(): Promise<Connection> {
    if (this.#closed) return Promise.reject(new Error('the locks are closed'))
    this.#connecting ??= this.#connect()
    return this.#connecting
  }

  /** Not async: if no connection can be made, there is no promise that would be kept for the next request. */
  #connect(): Promise<Connection> {
    let connected = false
    // May be called more than once for one connection, even when the next one is in use already.
    const lost = (error?: Error) => {
      if (this.#gone.has(connection)) return
      this.#gone.add(connection)
      this.#connecting = null
      const locks = [...this.#held.values()].filter(held => held.connection === connection)
      if (connected && !this.#closed)
        this.#logger.warn({ error, locks: locks.length }, 'the lock connection is gone; jobs in hand stop')
      // Tell the holders first: once the connection is closed, other processes get the locks.
      for (const held of locks) held.abort(lostReason())
      void connection.end()
    }
    const connection = new Connection(this.#url, lost)
    return connection.open().then(
      () => {
        connected = true
        return connection
      },
      error => {
        lost(error)
        throw error
      },
    )
  }
}

/** The connection that holds the locks. It probes itself. */
class Connection {
  readonly #client: pg.Client
  readonly #lost: (error?: Error) => void
  #pulse: NodeJS.Timeout | undefined
  /** When the last answered statement was sent, by this process's monotonic clock. */
  #heardOf = 0
  /** Statements that were not answered yet. */
  #asked = 0

  /** @param lost called when it drops, falls silent or fails a statement, perhaps more than once */
  constructor(url: string, lost: (error?: Error) => void) {
    this.#lost = lost
    this.#client = createClient(url, 'locks')
    this.#client.on('error', lost)
    this.#client.on('end', () => lost())
  }

  async open(): Promise<void> {
    await this.#client.connect()
    this.#heardOf = performance.now()
    this.#pulse = setInterval(() => this.#feelPulse(), PULSE_MS)
    // A standby grants locks, of which the sessions of the primary see nothing. No primary becomes one without a restart.
    const { rows } = await this.ask<{ standby: boolean }>({ text: 'select pg_is_in_recovery() as standby' })
    if (onlyRow(rows).standby)
      throw new Error('PostgreSQL is a standby here, whose locks the primary does not know')
  }

  async ask<Row extends pg.QueryResultRow>(statement: pg.QueryConfig): Promise<pg.QueryResult<Row>> {
    const sentAt = performance.now()
    this.#asked += 1
    try {
      const result = await this.#client.query<Row>(statement)
      this.#heardOf = Math.max(this.#heardOf, sentAt)
      return result
    } catch (error) {
      // Which locks the statement took or returned before it failed is not known.
      this.#lost(error as Error)
      throw error
    } finally {
      this.#asked -= 1
    }
  }

  async end(): Promise<void> {
    clearInterval(this.#pulse)
    await this.#client.end().catch(() => undefined) // it may be gone already
  }

  #feelPulse(): void {
    if (performance.now() - this.#heardOf >= SILENT_MS)
      this.#lost(new Error(`PostgreSQL has been silent for ${SILENT_MS} ms`))
    else if (this.#asked === 0) this.ask({ text: 'select' }).catch(() => undefined)
  }
}

/** A lock that this process holds, or is about to take. */
class Held {
  /** The connection that holds it; null before it has been taken. */
  connection: Connection | null = null
  readonly #released = Promise.withResolvers<void>()
  readonly #controller = new AbortController()
  readonly #stopListener: Disposable | undefined

  constructor(stop: AbortSignal | undefined) {
    this.#stopListener = stop && addAbortListener(stop, () => this.abort(stop.reason))
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
    this.#stopListener?.[Symbol.dispose]()
    this.#released.resolve()
  }
}

function lostReason(): Error {
  return new Error('the lock was lost with its connection')
}
