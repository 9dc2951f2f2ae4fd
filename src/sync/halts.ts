import type { Pool } from 'pg'
import { probeDelay } from '../core/backoff.ts'
import type { Logger } from '../logger.ts'
import { liftHalts, raiseHalt } from '../store/halt.ts'

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
