import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { NOTICE_LOST_CLIENT } from '../../lib/database.ts'
import { Listener, RECONNECT_MS } from '../../lib/listener.ts'
import type { Logger } from '../../lib/logger.ts'
import { connectionSettings, prepareSession } from './connection.ts'
import { toHrError } from './errors.ts'
import { CHANNEL, triggeredTables } from './trigger.ts'

/** Name of the listening connection, as HR's `pg_stat_activity` shows it. */
const LISTENER_NAME = 'dirsync trigger listener'

/** Of all processes of a deployment one listens: the one whose session holds this lock, with the deployment as second half. */
const LOCK = 0x6872_6c69 // 'hrli'

/** How often a process that stands by tries to take the lock. */
const STANDBY_MS = 2_000
/** How long to wait where the server refuses to be listened to. */
const REFUSED_MS = 60_000

/**
 * Hears the optional trigger in HR. One process listens; the others stand by and take over when its connection drops.
 * Without a trigger nothing is heard. Where HR cannot be listened to, it says so once: cron jobs find changes anyway.
 */
export class ChangeListener {
  readonly #deployment: string
  readonly #logger: Logger
  readonly #changed: (userids: string[] | null) => void
  readonly #listener: Listener
  /** Asking begins once the session is ready: only then does a refusal mean that HR cannot be listened to. */
  #stage: 'connecting' | 'asking' | 'listening' = 'connecting'
  #warned = false

  /**
   * @param deployment the same for all processes of one; other deployments that read this HR hear it too
   * @param changed called with the user ids whose rows were written, or null when any row may have been
   */
  constructor(url: string, deployment: string, logger: Logger, changed: (userids: string[] | null) => void) {
    this.#deployment = deployment
    this.#logger = logger
    this.#changed = changed
    this.#listener = new Listener({
      connection: () => new pg.Client(connectionSettings(url, LISTENER_NAME)),
      listen: (client, closing) => this.#listen(client, closing),
      heard: payload => changed(useridsOf(payload)),
      lost: error => this.#lost(error),
    })
  }

  /** Connects, and listens as soon as no other process does. What fails is tried again. */
  start(): void {
    void this.#listener.start()
  }

  close(): Promise<void> {
    return this.#listener.close()
  }

  async #listen(client: pg.Client, closing: AbortSignal): Promise<void> {
    await prepareSession(client)
    this.#stage = 'asking'
    await client.query(NOTICE_LOST_CLIENT) // a host that died leaves its place to another within seconds
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
    this.#changed(null) // what came while nobody listened
  }

  async #takesLock(client: pg.Client): Promise<boolean> {
    const { rows } = await client.query<{ mine: boolean }>(
      'select pg_try_advisory_lock($1, hashtext($2)) as mine',
      [LOCK, this.#deployment],
    )
    return rows[0]?.mine === true
  }

  #lost(error: Error | undefined): number {
    // A login that is refused is an outage: the server starts up, or has no connection left.
    const isRefused = this.#stage === 'asking' && error instanceof pg.DatabaseError
    const failure = this.#stage === 'connecting' ? toHrError(error) : error
    this.#stage = 'connecting'
    if (!this.#warned)
      this.#logger.warn(
        { err: failure?.message },
        'HR cannot be listened to; cron jobs find changes all the same',
      )
    this.#warned = true
    return isRefused ? REFUSED_MS : RECONNECT_MS
  }
}

/** Whether some process of the deployment listens: the lock is held by whoever does. */
export async function isHeard(client: pg.ClientBase, deployment: string): Promise<boolean> {
  const { rows } = await client.query(
    `select exists (
       select from pg_locks
       where locktype = 'advisory' and granted and objsubid = 2
         and classid::int8::bit(32)::int = $1 and objid::int8::bit(32)::int = hashtext($2)
         and database = (select oid from pg_database where datname = current_database())
     ) as heard`,
    [LOCK, deployment],
  )
  return rows[0].heard
}

/** Anything but a list of user ids means that any row may have changed: whoever may connect to HR may notify. */
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
