import type pg from 'pg'
import { createClient } from './database.ts'
import type { Logger } from './logger.ts'

export const RECONNECT_MS = 1000

interface ListenerOptions {
  /** A new connection, not opened yet. */
  connection: () => pg.Client
  /**
   * Makes an opened connection listen, and catches up on what may have been missed. `closing` aborts when the listener closes.
   */
  listen: (client: pg.Client, closing: AbortSignal) => Promise<unknown>
  /** Called with the payload of every notification. */
  heard: (payload: string) => void
  /** Called when a connection failed or dropped; returns the delay in milliseconds before the next one. */
  lost: (error: Error | undefined) => number
}

/** Keeps one connection that receives notifications, and replaces it whenever it drops. */
export class Listener {
  readonly #options: ListenerOptions
  readonly #closing = new AbortController()
  #client: pg.Client | null = null
  #retry: NodeJS.Timeout | undefined

  constructor(options: ListenerOptions) {
    this.#options = options
  }

  /** Connects and listens. Never rejects: failures are retried. */
  async start(): Promise<void> {
    let opened: pg.Client | null = null
    try {
      const client = this.#options.connection() // reads the files of certificates, which may be missing
      opened = client
      this.#client = client
      client.on('notification', ({ payload }) => this.#options.heard(payload ?? ''))
      client.on('error', error => this.#lost(client, error))
      await client.connect()
      // One that ends before says why only by the error that connecting fails with.
      client.on('end', () => this.#lost(client))
      await this.#options.listen(client, this.#closing.signal)
    } catch (error) {
      this.#lost(opened, error as Error)
    }
  }

  async close(): Promise<void> {
    this.#closing.abort()
    clearTimeout(this.#retry)
    await this.#client?.end().catch(() => undefined) // it may be gone already
  }

  #lost(client: pg.Client | null, error?: Error): void {
    if (this.#closing.signal.aborted || this.#client !== client) return
    this.#client = null
    client?.end().catch(() => undefined) // the rest of it; a second failure says nothing new
    this.#retry = setTimeout(() => void this.start(), this.#options.lost(error))
  }
}

/** Calls `wake` on every notification of channel `dirsync`, and after every reconnect, since some may have been missed. */
export function dirsyncListener(url: string, logger: Logger, wake: (payload: string) => void): Listener {
  let isLost = false
  return new Listener({
    connection: () => createClient(url, 'listener'),
    listen: async client => {
      await client.query('listen dirsync')
      isLost = false
      wake('')
    },
    heard: wake,
    lost: error => {
      logger[isLost ? 'debug' : 'warn']({ error }, 'the notification connection dropped; polling goes on')
      isLost = true
      return RECONNECT_MS
    },
  })
}
