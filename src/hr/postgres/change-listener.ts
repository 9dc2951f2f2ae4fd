import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { LOCKS, tryLockSession } from '../../lib/advisory-lock.ts'
import { PostgresClient, SESSION_SETTINGS } from '../../lib/database.ts'
import { Listener, RECONNECT_MS } from '../../lib/listener.ts'
import type { Logger } from '../../lib/logger.ts'
import { connectionSettings, prepareSession } from './connection.ts'
import { toHrError } from './errors.ts'
import { CHANNEL, triggeredTables } from './trigger.ts'

/** Name of the listening connection in HR's `pg_stat_activity`. */
const LISTENER_NAME = 'dirsync trigger listener'

/** How often a process that stands by tries to take the lock. */
const STANDBY_MS = 2_000
/** How long to wait after the server refuses LISTEN. */
const REFUSED_MS = 60_000

/**
 * Listens to the optional trigger in HR. One process listens; the others stand by and take over when its connection drops.
 * Without a trigger nothing is heard. If HR cannot be listened to, it says so once: cron jobs find changes anyway.
 */
export class ChangeListener {
  readonly #deployment: string
  readonly #logger: Logger
  readonly #changed: (userids: string[] | null) => void
  readonly #listener: Listener
  /** `asking` begins once the session is ready: only then does a refusal mean that HR cannot be listened to. */
  #stage: 'connecting' | 'asking' | 'listening' = 'connecting'
  #warned = false

  /**
   * @param deployment shared by all its processes; other deployments that read this HR hear the trigger too
   * @param changed called with the user ids whose rows were written, or null when any row may have been
   */
  constructor(url: string, deployment: string, logger: Logger, changed: (userids: string[] | null) => void) {
    this.#deployment = deployment
    this.#logger = logger
    this.#changed = changed
    this.#listener = new Listener({
      connection: () => new PostgresClient(connectionSettings(url, LISTENER_NAME)),
      listen: (client, closing) => this.#listen(client, closing),
      heard: payload => changed(useridsOf(payload)),
      lost: error => this.#lost(error),
    })
  }

  /** Connects, and listens as soon as no other process does. Failures are retried. */
  start(): void {
    void this.#listener.start()
  }

  close(): Promise<void> {
    return this.#listener.close()
  }

  async #listen(client: pg.Client, closing: AbortSignal): Promise<void> {
    await prepareSession(client)
    this.#stage = 'asking'
    await client.query(SESSION_SETTINGS) // after the death of a host, another takes over within seconds
    while (!(await this.#takesLock(client))) await sleep(STANDBY_MS, undefined, { signal: closing })
    await client.query(`listen ${CHANNEL}`)
    const tables = await triggeredTables(client)
    this.#stage = 'listening'
    this.#warned = false
    if (tables.length === 0) return
    this.#logger.info(
      { tables: tables.map(({ schema, name }) => `${schema}.${name}`) },
      "HR's trigger is heard",
    )
    this.#changed(null) // changes made while no process listened
  }

  async #takesLock(client: pg.Client): Promise<boolean> {
    return tryLockSession(client, ['hrListener', this.#deployment])
  }

  #lost(error: Error | undefined): number {
    // A refused login is an outage: the server is starting up, or has no connection left.
    const isRefused = this.#stage === 'asking' && error instanceof pg.DatabaseError
    const failure = this.#stage === 'connecting' ? toHrError(error) : error
    this.#stage = 'connecting'
    if (!this.#warned)
      this.#logger.warn({ error: failure }, 'HR cannot be listened to; cron jobs find changes all the same')
    this.#warned = true
    return isRefused ? REFUSED_MS : RECONNECT_MS
  }
}

/** Whether some process of the deployment listens: it then holds the lock. */
export async function isHeard(client: pg.ClientBase, deployment: string): Promise<boolean> {
  const { rows } = await client.query(
    `select exists (
       select from pg_locks
       where locktype = 'advisory' and granted and objsubid = 2
         and classid::int8::bit(32)::int = $1 and objid::int8::bit(32)::int = hashtext($2)
         and database = (select oid from pg_database where datname = current_database())
     ) as heard`,
    [LOCKS.hrListener, deployment],
  )
  return rows[0].heard
}

/** Anything but a list of user ids means that any row may have changed: any user who may connect to HR may notify. */
function useridsOf(payload = ''): string[] | null {
  try {
    const parsed: unknown = JSON.parse(payload)
    if (!Array.isArray(parsed) || parsed.length === 0) return null
    // No text in PostgreSQL has the character 0.
    const areTexts = parsed.every(item => typeof item === 'string' && !item.includes('\0'))
    return areTexts ? parsed.map(item => item.trim()) : null
  } catch {
    return null
  }
}
