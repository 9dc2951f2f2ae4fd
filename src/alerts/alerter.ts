import type { Config } from '../config.ts'
import { type ClientBase, createPool, type Pool, transaction } from '../lib/database.ts'
import type { Logger } from '../lib/logger.ts'
import { Loop } from '../lib/loop.ts'
import { adoptMoney } from '../money/open.ts'
import { placeEvents } from '../sync/health/events.ts'
import { noteMissedStatuses } from '../sync/health/figures.ts'
import type { Language } from '../texts/texts.ts'
import { DatabaseAway, isAway } from './away.ts'
import { type Channel, getsAlerts } from './channel.ts'
import { openChannel } from './channels/index.ts'
import { Courier } from './courier.ts'
import { decide, type Limits } from './decide.ts'
import { readAlertFacts } from './facts.ts'
import { Heartbeat } from './heartbeat.ts'
import { alertText, compose, type Sender } from './message.ts'
import { giveUpOld, noteWithheld, writeMessages } from './outbox.ts'
import {
  type Change,
  claimEvaluation,
  noteChannels,
  noteOtherChannels,
  readOutlook,
  readRecipients,
  recordFindings,
  wasEvaluated,
} from './record.ts'
import { type Finding, findings, RULES } from './rule.ts'

/** How often the rules are evaluated, by whichever process comes first. */
const EVALUATE_MS = 30_000
/** The longest that a statement may take; a slower database counts as down. */
const STATEMENT_MS = 15_000
/** One for an evaluation, one for its facts, and one for a message or a call of the monitor. */
const CONNECTIONS = 3
/** The time limit for one evaluation of all rules. */
const EVALUATION_MS = 25_000
/**
 * While the database is down, how many times as often to try it, so that people are told in time, and soon when it is
 * back.
 */
const SOONER = 6
/**
 * The share of the interval during which no other process evaluates again: the timers of processes are not
 * synchronised.
 */
const GAP = 14 / 15

/** The alerting part of a process. */
interface AlertService {
  readonly pool: Pool
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
  const courier = new Courier({ pool, channels, logger, consoleUrl: config.CONSOLE_URL })
  const alerter = new Alerter({
    ...{ pool, deployment, processId, channels, logger, intervalMs: EVALUATE_MS },
    async find(now) {
      await adoptMoney({ pool, logger })
      // Without it no rule knows what was halted, nor how many cases there were.
      await noteMissedStatuses(pool)
      return findings(await readAlertFacts(pool), config, now)
    },
    limits: { repeatHours: config.ALERT_REPEAT_HOURS, messagesPerHour: config.ALERT_MESSAGES_PER_HOUR },
    databaseAwayMs: awayMinutes === null ? null : awayMinutes * 60_000,
    language: config.DIRSYNC_LANG,
    consoleUrl: config.CONSOLE_URL,
  })
  const heartbeat = config.HEARTBEAT_URL && new Heartbeat({ pool, url: config.HEARTBEAT_URL, logger })
  const parts = [courier, alerter, ...(heartbeat ? [heartbeat] : [])]
  for (const part of parts) part.start()
  return {
    pool,
    wake: () => courier.wake(),
    async stop() {
      await Promise.all(parts.map(part => part.stop()))
    },
    async close() {
      await Promise.all([pool.end(), ...channels.map(channel => channel.close())])
    },
  }
}

interface AlerterOptions {
  pool: Pool
  deployment: Sender
  /** The id in `dirsync.process`. */
  processId: string
  /** Finds what is wrong at this moment. */
  find(now: Date): Promise<Finding[]>
  channels: readonly Channel[]
  limits: Limits
  /** How long the database must be down before people are told; null to never tell them. */
  databaseAwayMs: number | null
  /** The language of the log. */
  language: Language
  consoleUrl: string | null
  /** The interval between evaluations. */
  intervalMs: number
  logger: Logger
}

/**
 * Evaluates the rules, and decides who is told. Every process has one, and the first to come evaluates: the row that
 * it claims stays locked until all results are written.
 */
export class Alerter {
  readonly #options: AlerterOptions
  readonly #loop: Loop
  readonly #away: DatabaseAway

  constructor(options: AlerterOptions) {
    const { databaseAwayMs, logger, intervalMs } = options
    this.#options = options
    const channels = options.channels.filter(({ settings }) => getsAlerts(settings))
    this.#away = new DatabaseAway({ ...options, channels, afterMs: databaseAwayMs })
    this.#loop = new Loop({
      step: () => this.#step(),
      pauseMs: intervalMs,
      retryMs: intervalMs / SOONER,
      failed: error => logger.error({ error }, 'alerts were not evaluated; trying again'),
    })
  }

  start(): void {
    this.#loop.start()
  }

  async stop(): Promise<void> {
    this.#away.stop()
    await this.#loop.stop()
  }

  async #step(): Promise<void> {
    try {
      await this.#away.writeDown(this.#options.pool)
      await this.#evaluate()
      // Also while no one follows them, so that one who begins to has nothing old to pass over.
      await placeEvents(this.#options.pool)
    } catch (error) {
      if (isAway(error) || !(await wasEvaluated(this.#options.pool)))
        await this.#away.missed(new Date(), error as Error)
      throw error
    }
  }

  async #evaluate(): Promise<void> {
    const { pool, processId, channels, intervalMs } = this.#options
    const evaluation = await transaction(
      pool,
      async client => {
        const { now, isLast } = await claimEvaluation(client, processId, intervalMs * GAP)
        if (now) return { isLast, done: await this.#carryOut(client, now) }
        await noteOtherChannels(client, channels)
        return { isLast, done: null }
      },
      EVALUATION_MS,
    )
    const { isLast, done } = evaluation
    this.#away.remember(isLast, done?.outlook ?? null)
    // Logged after the commit: after a rollback the same changes are found again.
    if (done) this.#log(done.changes, done.givenUp)
  }

  async #carryOut(client: ClientBase, now: Date) {
    const { find, channels, limits, consoleUrl, deployment } = this.#options
    const changes = await recordFindings(client, await find(now))
    await noteChannels(client, channels)
    const givenUp = await giveUpOld(client)
    const recipients = await readRecipients(client)
    const outlook = await readOutlook(client, recipients)
    const { drafts, withheld } = decide(outlook, recipients, limits)
    const messages = drafts.map(draft => {
      const { language = 'en' } = recipients.find(({ name }) => name === draft.channel) ?? {}
      return {
        draft,
        message: compose(language, draft, { now, stop: outlook.stop, consoleUrl, deployment }, limits),
      }
    })
    await writeMessages(client, messages, outlook.waiting, givenUp)
    await noteWithheld(client, withheld)
    return { outlook, changes, givenUp: givenUp.map(({ channel }) => channel) }
  }

  #log(changes: readonly Change[], givenUp: readonly string[]): void {
    const { logger, language, deployment } = this.#options
    for (const { id, event, rule, subject, facts } of changes) {
      const { title, remedy } = alertText(language, { rule, subject, facts })
      const about = { deployment: deployment.name ?? deployment.id, alert: id, rule, subject }
      if (event === 'ended') logger.info(about, 'an alert is over')
      else if (RULES[rule].severity === 'critical') logger.error({ ...about, remedy }, title)
      else logger.warn({ ...about, remedy }, title)
    }
    for (const channel of givenUp)
      logger.warn({ channel }, 'a message was given up, as it has not been taken for a day')
  }
}
