import type pg from 'pg'
import { createClient } from './database.ts'
import type { Logger } from './logger.ts'

/** Calls `wake` on every notification of channel `dirsync`, and after every reconnect, since some may have been missed. */
export class Listener {
  readonly #url: string
  readonly #logger: Logger
  readonly #wake: (payload: string) => void
  #client: pg.Client | null = null
  #retry: NodeJS.Timeout | null = null
  #closed = false

  constructor(url: string, logger: Logger, wake: (payload: string) => void) {
    this.#url = url
    this.#logger = logger
    this.#wake = wake
  }

  async start(): Promise<void> {
    const client = createClient(this.#url, 'listener')
    this.#client = client
    client.on('notification', message => this.#wake(message.payload ?? ''))
    client.on('error', error => this.#lost(client, error))
    client.on('end', () => this.#lost(client))
    try {
      await client.connect()
      await client.query('listen dirsync')
      this.#wake('')
    } catch (error) {
      this.#lost(client, error as Error)
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    if (this.#retry) clearTimeout(this.#retry)
    await this.#client?.end().catch(() => undefined) // it may be gone already
  }

  #lost(client: pg.Client, error?: Error): void {
    if (this.#closed || this.#client !== client) return
    this.#client = null
    client.end().catch(() => undefined) // what is left of it; a second failure says nothing new
    this.#logger.warn({ err: error?.message }, 'the notification connection dropped; polling goes on')
    this.#retry = setTimeout(() => void this.start(), 1000)
  }
}
