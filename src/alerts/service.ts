import type { Config } from '../config.ts'
import { createPool } from '../lib/database.ts'
import type { Logger } from '../lib/logger.ts'
import { Alerter } from './alerter.ts'
import { openChannel } from './channels/index.ts'
import { Courier } from './courier.ts'
import { readAlertFacts } from './facts.ts'
import { findings } from './findings.ts'
import { Heartbeat } from './heartbeat.ts'
import type { Sender } from './message.ts'

/** How often the rules are evaluated, by whichever process comes first. */
const EVALUATE_MS = 30_000
/** The longest that a statement may take; a slower database counts as down. */
const STATEMENT_MS = 15_000
/** One for an evaluation, one for its facts, and one for a message or a call of the monitor. */
const CONNECTIONS = 3

/** The alerting part of a process. */
interface AlertService {
  /** Checks at once for messages to send. */
  wake(): void
  /** Stops evaluating and sending. */
  stop(): Promise<void>
  /** Aborts what is still under way. */
  close(): Promise<void>
}

/**
 * Starts evaluating, sending, and calling the monitor. It has connections of its own: it must work even when the
 * workers use all of theirs, and must not take any from them.
 * @param options.processId the id in `dirsync.process`
 */
export function startAlertService(options: {
  config: Config
  deployment: Sender
  processId: string
  logger: Logger
}): AlertService {
  const { config, deployment, processId, logger } = options
  const pool = createPool(config.DATABASE_URL, {
    ...{ max: CONNECTIONS, name: 'alerts', timeoutMs: STATEMENT_MS },
    logger,
  })
  const channels = config.channels.map(openChannel)
  const { ALERT_DATABASE_AWAY: awayMinutes } = config
  const courier = new Courier({ pool, channels, logger })
  const alerter = new Alerter({
    ...{ pool, deployment, processId, channels, logger, intervalMs: EVALUATE_MS },
    find: async now => findings(await readAlertFacts(pool), config, now),
    limits: { repeatHours: config.ALERT_REPEAT_HOURS, messagesPerHour: config.ALERT_MESSAGES_PER_HOUR },
    databaseAwayMs: awayMinutes === null ? null : awayMinutes * 60_000,
    language: config.DIRSYNC_LANG,
    consoleUrl: config.CONSOLE_URL,
  })
  const heartbeat = config.HEARTBEAT_URL && new Heartbeat({ pool, url: config.HEARTBEAT_URL, logger })
  const parts = [courier, alerter, ...(heartbeat ? [heartbeat] : [])]
  for (const part of parts) part.start()
  return {
    wake: () => courier.wake(),
    async stop() {
      await Promise.all(parts.map(part => part.stop()))
    },
    async close() {
      await Promise.all([pool.end(), ...channels.map(channel => channel.close())])
    },
  }
}
