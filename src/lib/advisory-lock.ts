import {
  type ClientBase,
  DAY_MS,
  LOOK_MS,
  onlyRow,
  type Pool,
  type PoolClient,
  withConnection,
} from './database.ts'

/*
 * PostgreSQL's advisory locks keep processes out of each other's way. The server frees one with the transaction or connection
 * that holds it, so a process that dies leaves no lock behind. Processes of two versions meet during a restart: a number never
 * changes.
 */

/** Work that one process does at a time. */
export const LOCKS = {
  /** Brings the schema up to date. */
  migration: 0x6469_7273,
  /** Writes down the sources of HR; a planner holds it shared. */
  sources: 0x6872_7372,
  /** Plans the runs of one HR source. */
  planner: 0x706c_616e,
  /** Feeds the queue from the outbox. */
  feeder: 0x6665_6564,
  /** Writes outcomes that concern other employees, too. */
  settlement: 0x7365_746c,
  /** Reads HR for held plans. */
  planReader: 0x706c_7264,
  /** Carries out dry runs, each of which reads HR three times. */
  dryRun: 0x6472_7972,
  /** Requests a dry run: two requests never overlook each other. */
  dryRunRequest: 0x6472_7961,
  /** Evaluates alerts. */
  alerts: 0x616c_7274,
  /** Gives events their places, in dirsync.place_events. */
  events: 0x6576_6e74,
  /** Creates a token for an account on the platform. */
  token: 0x55d6_2e5e,
  /** Decides which process stands aside, so that one works on. */
  standing: 0x7374_6e64,
  /** Listens to HR for a deployment: held in HR's database. */
  hrListener: 0x6872_6c69,
} as const

/** A number, a number with a subject, or a text. */
export type Lock = keyof typeof LOCKS | readonly [keyof typeof LOCKS, string] | { key: string }

/** Takes a lock until the end of the transaction, waiting for it if necessary. */
export async function lockTransaction(db: ClientBase, lock: Lock, mode: '' | '_shared' = ''): Promise<void> {
  await call(db, `pg_advisory_xact_lock${mode}`, lock)
}

/** Takes a lock until the end of the transaction. False when another session has it. */
export function tryLockTransaction(db: ClientBase, lock: Lock): Promise<boolean> {
  return call(db, 'pg_try_advisory_xact_lock', lock)
}

/** Takes a lock for as long as the connection lasts. False when another session has it. */
export function tryLockSession(db: ClientBase, lock: Lock): Promise<boolean> {
  return call(db, 'pg_try_advisory_lock', lock, LOOK_MS)
}

/**
 * Runs `work` on a connection that holds the lock; what it writes there is written under the lock.
 * @returns null when another session holds the lock: `work` was not run
 */
export function whileLocked<T>(
  pool: Pool,
  lock: Lock,
  work: (client: PoolClient) => Promise<T>,
): Promise<T | null> {
  return withConnection(pool, async client =>
    (await tryLockSession(client, lock)) ? unlocking(client, lock, work) : null,
  )
}

/** Waits for the lock and then runs `work` on the connection that has it. */
export function onceLocked<T>(pool: Pool, lock: Lock, work: (client: PoolClient) => Promise<T>): Promise<T> {
  return withConnection(pool, async client => {
    await call(client, 'pg_advisory_lock', lock, DAY_MS)
    return unlocking(client, lock, work)
  })
}

async function unlocking<T>(
  client: PoolClient,
  lock: Lock,
  work: (client: PoolClient) => Promise<T>,
): Promise<T> {
  try {
    return await work(client)
  } finally {
    // If the connection is gone, so is the lock.
    await call(client, 'pg_advisory_unlock', lock, LOOK_MS).catch(() => undefined)
  }
}

/** Calls one of PostgreSQL's lock functions. The ones that wait return nothing. */
async function call(db: ClientBase, name: string, lock: Lock, timeoutMs?: number): Promise<boolean> {
  const [key, values] =
    typeof lock === 'string'
      ? ['$1::bigint', [LOCKS[lock]]]
      : 'key' in lock
        ? ['hashtextextended($1, 0)', [lock.key]]
        : ['$1, hashtext($2)', [LOCKS[lock[0]], lock[1]]]
  const { rows } = await db.query<{ answer: boolean }>({
    text: `select ${name}(${key}) as answer`,
    values,
    ...(timeoutMs && { query_timeout: timeoutMs }),
  })
  return onlyRow(rows).answer
}
