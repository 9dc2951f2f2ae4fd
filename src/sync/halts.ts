import type { Pool } from '../lib/database.ts'
import { WORK_MS } from '../lib/database.ts'
import type { Logger } from '../lib/logger.ts'
import { probeDelay } from './backoff.ts'

interface Dependencies {
  pool: Pool
  logger: Logger
}

/** Raises a halt, and the alarm when it is a new one. */
export async function halt(
  { pool, logger }: Dependencies,
  scope: string,
  reason: { category: string; message: string; remedy: string; platformCode: number | null },
): Promise<void> {
  const { category, message, remedy, platformCode } = reason
  const fresh = await raiseHalt(
    pool,
    { scope, category, platformCode, message, remedy },
    probeDelay(0, Math.random()),
  )
  if (fresh) logger.error({ scope, category, platformCode, remedy }, `halted: ${message}`)
}

/**
 * A call came through that began at `startedAt`: halts that it disproves are lifted.
 * @param except categories that the call says nothing of
 */
export async function healHalts(
  { pool, logger }: Dependencies,
  enterpriseCode: string,
  startedAt: Date,
  except: string[] = [],
): Promise<void> {
  for (const scope of await liftHalts(pool, enterpriseCode, startedAt, except))
    logger.info({ scope }, 'the halt is over: work continues')
}

export interface Halt {
  scope: string
  category: string
  platformCode: number | null
  message: string
  remedy: string
  since: Date
  /** Probes that failed. */
  probes: number
  /** Null: not before a person resumes. */
  nextProbeAt: Date | null
}

/**
 * Raises a halt, for everything (`*`) or one enterprise. Returns true when it is new: the moment to raise the alarm. One
 * because of HR gives way to one because of the platform: it does not stop mirrors, and is raised again where HR stays away.
 * @param firstProbeMs milliseconds until the first probe
 */
export async function raiseHalt(
  db: Pool,
  halt: { scope: string; category: string; platformCode: number | null; message: string; remedy: string },
  firstProbeMs: number,
): Promise<boolean> {
  const { rowCount } = await db.query(
    `insert into dirsync.halt as h (scope, category, platform_code, message, remedy, next_probe_at)
     values ($1, $2, $3, $4, $5, now() + $6 * interval '1 millisecond')
     on conflict (scope) do update
     set (category, platform_code, message, remedy, next_probe_at, since, probes)
       = (excluded.category, excluded.platform_code, excluded.message, excluded.remedy, excluded.next_probe_at, now(), 0)
     where h.category = 'hr_unavailable' and excluded.category <> 'hr_unavailable'`,
    [halt.scope, halt.category, halt.platformCode, halt.message, halt.remedy, firstProbeMs],
  )
  return rowCount === 1
}

/**
 * Lifts the halts that a success since `startedAt` disproves. Returns their scopes.
 * @param except categories that the success says nothing of
 */
export async function liftHalts(
  db: Pool,
  enterpriseCode: string,
  startedAt: Date,
  except: string[] = [],
): Promise<string[]> {
  const { rows } = await db.query<{ scope: string }>(
    `delete from dirsync.halt
     where scope in ('*', $1) and since < $2 and category <> 'paused' and category <> all ($3) returning scope`,
    [enterpriseCode, startedAt, except],
  )
  if (rows.length > 0) await db.query(`select pg_notify('dirsync', 'feed')`)
  return rows.map(row => row.scope)
}

/** Whether a person has stopped all calls (`dirsync.pause`). */
export async function isPaused(db: Pool): Promise<boolean> {
  const statement = {
    text: `select from dirsync.halt where scope = '*' and category = 'paused'`,
    query_timeout: WORK_MS,
  }
  const { rowCount } = await db.query(statement)
  return (rowCount ?? 0) > 0
}

/** HR has answered: a halt because it did not is over. Returns whether there was one. */
export async function liftHrHalt(db: Pool, startedAt: Date): Promise<boolean> {
  const { rowCount } = await db.query(
    `delete from dirsync.halt where scope = '*' and category = 'hr_unavailable' and since < $1`,
    [startedAt],
  )
  if (rowCount === 0) return false
  await db.query(`select pg_notify('dirsync', 'feed')`)
  return true
}

export async function readHalts(db: Pool): Promise<Halt[]> {
  const { rows } = await db.query<Halt>(
    `select scope, category, platform_code as "platformCode", message, remedy, since, probes,
            nullif(next_probe_at, 'infinity') as "nextProbeAt"
     from dirsync.halt order by scope`,
  )
  return rows
}

/**
 * The halt that forbids a call for the enterprise; null: the call may be made, be it as the probe of a halt.
 * @param except categories that do not concern the call
 * @param nextProbe milliseconds from one probe to the next, by the number of probes so far
 */
export async function forbidding(
  db: Pool,
  enterpriseCode: string,
  except: string[],
  nextProbe: (probes: number) => number,
): Promise<{ halt: Halt | null; isProbe: boolean }> {
  const halts = (await readHalts(db)).filter(
    ({ scope, category }) => ['*', enterpriseCode].includes(scope) && !except.includes(category),
  )
  // That of everything first: while it holds, the enterprise's own cannot be disproved.
  const halt = halts.find(({ scope }) => scope === '*') ?? halts[0]
  if (!halt) return { halt: null, isProbe: false }
  const { rowCount } = await db.query(
    `update dirsync.halt set next_probe_at = now() + $2 * interval '1 millisecond', probes = probes + 1
     where scope = $1 and probes = $3 and next_probe_at <= now()`,
    [halt.scope, nextProbe(halt.probes), halt.probes],
  )
  return rowCount === 1 ? { halt: null, isProbe: true } : { halt, isProbe: false }
}
