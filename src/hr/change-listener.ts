import pg from 'pg'
import type { Logger } from '../lib/logger.ts'
import { connectClient } from './rows.ts'
import { CHANNEL, triggeredTables } from './trigger.ts'

/** Name of the listening connection, as HR's `pg_stat_activity` shows it. */
const LISTENER_NAME = 'dirsync trigger listener'

/** Of all processes of a deployment one listens: whose session holds this lock, with the deployment as its second half. */
const LOCK = 0x6872_6c69 // 'hrli'

const STANDBY_MS = 2_000
const RECONNECT_MS = 1_000
/** A server that refuses to be listened to is asked again this often. */
const REFUSED_MS = 60_000

/**
 * Hears the optional trigger in HR. One process listens; the others stand by and take over when its connection goes.
 * Without a trigger it hears nothing, and where HR cannot be listened to it says so once: cron jobs find changes anyway.
 */
export class ChangeListener {
  readonly #url: string
  readonly #deployment: string
  readonly #logger: Logger
  readonly #changed: (userids: string[] | null) => void
  #client: pg.Client | null = null
  #timer: NodeJS.Timeout | undefined
  #listening = false
  #warned = false
  #closed = false

  /**
   * @param deployment the same for all processes of one: others that read this HR hear it too
   * @param changed told of the user ids whose rows were written, or null when any row may have been
   */
  constructor(url: string, deployment: string, logger: Logger, changed: (userids: string[] | null) => void) {
    this.#url = url
    this.#deployment = deployment
    this.#logger = logger
    this.#changed = changed
  }

  /** Connects and listens. Never fails: what does not work is tried again. */
  async start(): Promise<void> {
    try {
      const client = await connectClient(this.#url, LISTENER_NAME)
      if (this.#closed) return await client.end()
      this.#client = client
      client.on('notification', ({ payload }) => this.#changed(useridsOf(payload)))
      client.on('error', error => this.#lost(client, error))
      client.on('end', () => this.#lost(client))
      // A host that dies without a word leaves its place to another within seconds.
      await client.query(
        'set tcp_keepalives_idle = 5; set tcp_keepalives_interval = 2; set tcp_keepalives_count = 3',
      )
      await this.#listen(client)
    } catch (error) {
      this.#lost(this.#client, error as Error)
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#timer)
    await this.#client?.end().catch(() => undefined) // it may be gone already
  }

  async #listen(client: pg.Client): Promise<void> {
    const { rows } = await client.query('select pg_try_advisory_lock($1, hashtext($2)) as mine', [
      LOCK,
      this.#deployment,
    ])
    if (!rows[0].mine) {
      this.#again(STANDBY_MS, () => this.#listen(client).catch(error => this.#lost(client, error as Error)))
      return
    }
    await client.query(`listen ${CHANNEL}`)
    const tables = await triggeredTables(client)
    this.#listening = true
    this.#warned = false
    if (tables.length === 0) return
    this.#logger.info(
      { tables: tables.map(({ schema, name }) => `${schema}.${name}`) },
      "HR's trigger is heard",
    )
    this.#changed(null) // what came while nobody listened
  }

  #lost(client: pg.Client | null, error?: Error): void {
    if (this.#closed || this.#client !== client) return
    this.#client = null
    client?.end().catch(() => undefined) // what is left of it; a second failure says nothing new
    const refused = error instanceof pg.DatabaseError && !this.#listening
    this.#listening = false
    if (!this.#warned)
      this.#logger.warn(
        { err: error?.message },
        'HR cannot be listened to; cron jobs find changes all the same',
      )
    this.#warned = true
    this.#again(refused ? REFUSED_MS : RECONNECT_MS, () => this.start())
  }

  #again(ms: number, act: () => Promise<void>): void {
    if (this.#closed) return
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void act(), ms)
  }
}

/** Whether some process of the deployment listens: the lock is held by whoever does. */
export async function isHeard(client: pg.ClientBase, deployment: string): Promise<boolean> {
  const { rows } = await client.query(
    `select exists (select from pg_locks where locktype = 'advisory' and granted and objsubid = 2
                      and classid::int8::bit(32)::int = $1 and objid::int8::bit(32)::int = hashtext($2)
                      and database = (select oid from pg_database where datname = current_database())) as heard`,
    [LOCK, deployment],
  )
  return rows[0].heard
}

/** Whatever is no list of user ids may mean any row: everybody who may connect to HR may notify. */
function useridsOf(payload = ''): string[] | null {
  try {
    const parsed: unknown = JSON.parse(payload)
    if (!Array.isArray(parsed) || parsed.length === 0) return null
    // No text of PostgreSQL holds the character 0.
    const areTexts = parsed.every(item => typeof item === 'string' && !item.includes('\0'))
    return areTexts ? parsed.map(item => item.trim()) : null
  } catch {
    return null
  }
}
