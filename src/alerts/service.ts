import type { Config } from '../config.ts'
import { createPool } from '../lib/database.ts'
import type { Logger } from '../lib/logger.ts'
import { Alerter } from './alerter.ts'
import { openChannel } from './channels/index.ts'
import { Courier } from './courier.ts'
import { readFacts } from './facts.ts'
import { findings } from './findings.ts'
import { Heartbeat } from './heartbeat.ts'
import type { Sender } from './message.ts'

/** How often the rules are judged, by whichever process comes first. */
const JUDGE_MS = 30_000
/** The longest a statement may take. A database that needs longer for one counts as away. */
const STATEMENT_MS = 15_000
/** A judgement, its facts beside it, and a message or a call of the monitor. */
const CONNECTIONS = 3

/** What a process does about alerts. */
interface AlertService {
  /** Looks at once whether there is a message to send. */
  wake(): void
  /** Judges and sends nothing more. */
  stop(): Promise<void>
  /** Gives up whatever is still under way. */
  close(): Promise<void>
}

/**
 * Starts judging, sending, and calling the monitor. The connections are its own: it has to work when the work has taken all
 * others, and may never take one from the work.
 * @param options.processId of `dirsync.process`
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
    ...{ pool, deployment, processId, channels, logger, intervalMs: JUDGE_MS },
    find: async now => findings(await readFacts(pool), config, now),
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
