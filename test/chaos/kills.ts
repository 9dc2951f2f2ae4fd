import type pg from 'pg'
import { lockKeyOf } from './names.ts'
import type { Process } from './processes.ts'

/** Kills processes, and measures how long the employees that they held in hand wait for another one. */

const LOOK_EVERY_MS = 100

interface Watched {
  userid: string
  /** The execution that died. */
  execution: string
  killedAt: number
  at: Date
  /** Whether all that processes need was there at every moment from the kill on. */
  isCalm: boolean
}

export interface Continued {
  userid: string
  /** When its process was killed. */
  at: Date
  seconds: number
  isCalm: boolean
}

export class Kills {
  readonly #db: pg.Pool
  readonly #userids: () => string[]
  readonly #isElseCalm: () => boolean
  #watched: Watched[] = []
  readonly continued: Continued[] = []
  readonly #looking: NodeJS.Timeout
  #isLooking = false

  /** @param isElseCalm whether no disturbance that stops all is in force now */
  constructor(db: pg.Pool, userids: () => string[], isElseCalm: () => boolean) {
    this.#db = db
    this.#userids = userids
    this.#isElseCalm = isElseCalm
    this.#looking = setInterval(() => void this.#look(), LOOK_EVERY_MS)
  }

  /** @returns how many employees the process had in hand; null where PostgreSQL could not be asked */
  async kill(process: Process): Promise<number | null> {
    // It stands still meanwhile, so that it dies with exactly what it is seen to hold.
    process.stop()
    const held = await this.heldBy(process).catch(() => null)
    process.kill()
    const killedAt = performance.now()
    const isCalm = this.#isElseCalm()
    this.#watched.push(...(held ?? []).map(row => ({ ...row, killedAt, at: new Date(), isCalm })))
    return held === null ? null : held.length
  }

  /** Employees who nobody has continued with so far. */
  get waiting(): readonly Watched[] {
    return this.#watched
  }

  close(): void {
    clearInterval(this.#looking)
  }

  /** The employees that a process has in hand. */
  async heldBy(process: Process): Promise<{ userid: string; execution: string }[]> {
    const userids = this.#userids()
    const { rows } = await this.#db.query<{ userid: string; execution: string }>(
      `select p.entity_key as userid, p.execution::text
       from pg_locks l
       join pg_stat_activity a on a.pid = l.pid and a.client_port = any ($1)
       join unnest($2::text[], $3::text[]) as e (userid, lock)
         on (l.classid::bigint << 32) | l.objid::bigint = hashtextextended(e.lock, 0)
       join dirsync.pending p on p.entity_key = e.userid and p.operation = 'update-employee' and p.starts > 0
       where l.locktype = 'advisory' and l.objsubid = 1 and l.granted`,
      [process.links.postgres.ports(), userids, userids.map(lockKeyOf)],
    )
    return rows
  }

  async #look(): Promise<void> {
    if (this.#isLooking || this.#watched.length === 0) return
    this.#isLooking = true
    try {
      if (!this.#isElseCalm()) for (const watched of this.#watched) watched.isCalm = false
      const { rows } = await this.#db.query<{ userid: string; execution: string }>(
        `select entity_key as userid, execution::text from dirsync.pending
         where operation = 'update-employee' and entity_key = any ($1)`,
        [this.#watched.map(({ userid }) => userid)],
      )
      const present = new Map(rows.map(({ userid, execution }) => [userid, execution]))
      const now = performance.now()
      this.#watched = this.#watched.filter(({ userid, execution, killedAt, at, isCalm }) => {
        // Another execution has begun, or has ended already.
        if (present.get(userid) === execution) return true
        this.continued.push({ userid, at, seconds: (now - killedAt) / 1000, isCalm })
        return false
      })
    } catch {
      // PostgreSQL is away; the next look tells.
    } finally {
      this.#isLooking = false
    }
  }
}
