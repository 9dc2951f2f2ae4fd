import type pg from 'pg'
import { Batcher } from './batcher.ts'
import { createClient } from './database.ts'
import type { Logger } from './logger.ts'

/** How long a lock may wait to be given back together with others. */
const RETURN_WITHIN_MS = 10

/** How often a connection is asked for a sign of life. */
const PULSE_MS = 1000
/**
 * A connection is given up when the last statement that was answered had been sent so long ago: its locks are as good as
 * lost, and whoever relies on them is told.
 */
const SILENT_MS = 10_000
/**
 * The server frees the locks of a connection from which it has heard nothing for 15 s: earlier than its defaults say where a
 * host died without a word, and later than SILENT_MS, so that nobody gets a lock whose holder has not been told. It last heard
 * of us when we sent that statement, or later. Servers before version 14 do not know all of it.
 */
const SETTINGS = `
  select set_config(name, value, false)
  from (values ('tcp_keepalives_idle', '5'), ('tcp_keepalives_interval', '5'), ('tcp_keepalives_count', '2'),
               ('tcp_user_timeout', '15000'), ('idle_session_timeout', '0')) as wanted (name, value)
  join pg_settings using (name)`

/**
 * Locks on employees and departments across all processes (law 3), held on one connection:
 * when the process dies, its connection closes and the server frees them at once, so that nobody waits for a lease to run out.
 */
export class SessionLocks {
  readonly #url: string
  readonly #logger: Logger
  readonly #held = new Map<string, Held>()
  readonly #gone = new WeakSet<Connection>()
  #connecting: Promise<Connection> | null = null
  #closed = false

  /** Locks that nobody here holds any more, to be given back with the next ones that are taken. */
  #returned: { key: string; given: () => void }[] = []
  #giveBack: NodeJS.Timeout | null = null

  /** Yields the connection that took the lock; null: somebody else has it. No key: takes none, and gives back. */
  readonly #taking = new Batcher<string | null, Connection | null>(keys => this.#exchange(keys), {
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
      mine.connection = await this.#taking.load(key)
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
    this.#taking.load(null).catch(error => {
      // It fails only when the connection is gone, and the locks with it.
      this.#logger.debug({ err: (error as Error).message }, 'locks were lost with their connection')
    })
  }

  /** Gives back what was returned, then takes these: one statement for both. */
  async #exchange(keys: (string | null)[]): Promise<(Connection | null)[]> {
    const returned = this.#returned
    this.#returned = []
    try {
      const connection = await this.#connection()
      const { rows } = await connection.ask<{ locked: boolean }>({
        name: 'locks',
        text: `select pg_try_advisory_lock(hashtextextended(taken.key, 0)) as locked
               from (select count(pg_advisory_unlock(hashtextextended(key, 0))) from unnest($1::text[]) as r (key)) given
               left join unnest($2::text[]) with ordinality as taken (key, position) on true order by taken.position`,
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

  async #connect(): Promise<Connection> {
    let connected = false
    // Comes more than once for one connection, perhaps when the next one is in use already.
    const lost = (error?: Error) => {
      if (this.#gone.has(connection)) return
      this.#gone.add(connection)
      this.#connecting = null
      const locks = [...this.#held.values()].filter(held => held.connection === connection)
      if (connected && !this.#closed)
        this.#logger.warn(
          { err: error?.message, locks: locks.length },
          'the lock connection is gone; jobs in hand stop',
        )
      // Told first: once the connection is closed, others get the locks.
      for (const held of locks) held.abort(lostReason())
      void connection.end()
    }
    const connection = new Connection(this.#url, lost)
    try {
      await connection.open()
      connected = true
      return connection
    } catch (error) {
      lost(error as Error)
      throw error
    }
  }
}

/** The connection that has the locks. It looks after its own pulse. */
class Connection {
  readonly #client: pg.Client
  readonly #lost: (error?: Error) => void
  #pulse: NodeJS.Timeout | undefined
  /** When the last statement that was answered had been sent, by this process's steady clock. */
  #heardOf = 0
  /** Statements without an answer so far. */
  #asked = 0

  /** @param lost told when it drops or falls silent, perhaps more than once */
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
    await this.ask({ text: SETTINGS })
  }

  async ask<Row extends pg.QueryResultRow>(statement: pg.QueryConfig): Promise<pg.QueryResult<Row>> {
    const sentAt = performance.now()
    this.#asked += 1
    try {
      const result = await this.#client.query<Row>(statement)
      this.#heardOf = Math.max(this.#heardOf, sentAt)
      return result
    } finally {
      this.#asked -= 1
    }
  }

  /** Closes it, at once where it owes an answer. */
  async end(): Promise<void> {
    clearInterval(this.#pulse)
    await this.#client.end().catch(() => undefined) // it may be gone already
  }

  #feelPulse(): void {
    if (performance.now() - this.#heardOf >= SILENT_MS)
      this.#lost(new Error(`PostgreSQL has been silent for ${SILENT_MS} ms`))
    // A failure comes as an event, too.
    else if (this.#asked === 0) this.ask({ text: 'select' }).catch(() => undefined)
  }
}

/** A lock that this process has, or is about to take. */
class Held {
  /** The connection that has it; null: none has it yet. */
  connection: Connection | null = null
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
