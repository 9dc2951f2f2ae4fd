import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { Config } from '../config.ts'
import { listeningUrl, listenTrouble } from '../core/listening.ts'
import type { Logger } from '../logger.ts'
import { createPool } from '../store/pool.ts'
import { buildReceiver, type ReceiverLimits } from './app.ts'
import { ReceiverError } from './receiver-error.ts'

/** Far more than the refunds of an enterprise; what is turned away is sent again. */
const LIMITS: ReceiverLimits = { burst: 100, perSecond: 20, timeoutMs: 10_000, connections: 250 }
/** A statement that takes longer counts as failed: the platform sends again what was not answered. */
const STATEMENT_TIMEOUT_MS = 3000
/** On closing, requests under way get so long to end. */
const CLOSE_GRACE_MS = 300

export interface Receiver {
  /** Where it listens, as a person would type it. */
  readonly url: string
  /** Answers the requests under way, closes every connection and ends. Idempotent. */
  close(): Promise<void>
}

/**
 * Starts the role `notifications`, with database connections of its own, so that the work never keeps the platform
 * waiting.
 * @param onOutcome told of everything that came, in fixed words
 * @throws ReceiverError when it cannot listen on NOTIFICATION_HOST and NOTIFICATION_PORT
 */
export async function startReceiver(
  config: Config,
  parent: Logger,
  onOutcome?: (outcome: string) => void,
): Promise<Receiver> {
  const { NOTIFICATION_HOST: host, NOTIFICATION_PORT: port } = config
  const logger = parent.child({ component: 'notifications' })
  const pool = createPool(config.DATABASE_URL, {
    max: 4,
    name: 'notifications',
    logger,
    timeoutMs: STATEMENT_TIMEOUT_MS,
  })
  const app = buildReceiver({
    pool,
    appId: config.PLATFORM_APP_ID,
    appSecret: config.PLATFORM_APP_SECRET,
    signAlgorithm: config.PLATFORM_SIGN_ALGORITHM,
    limits: LIMITS,
    clock: Date.now,
    onOutcome,
    logger,
  })
  let closing: Promise<void> | undefined
  const close = () => {
    closing ??= closeApp(app).finally(() => pool.end())
    return closing
  }
  try {
    await app.listen({ host, port })
  } catch (error) {
    await close()
    const found = listenTrouble('NOTIFICATION', { host, port }, error)
    throw found ? new ReceiverError(found.trouble, found.message) : error
  }
  const url = listeningUrl(host, (app.server.address() as AddressInfo).port)
  logger.info({ url }, 'receiver of refund notifications listens')
  return { url, close }
}

async function closeApp(app: FastifyInstance): Promise<void> {
  // Whoever sends slowly must not hold up the stop.
  const timer = setTimeout(() => app.server.closeAllConnections(), CLOSE_GRACE_MS)
  try {
    await app.close()
  } finally {
    clearTimeout(timer)
  }
}
