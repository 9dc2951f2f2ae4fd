import { type ClientBase, type Pool, transaction } from '../lib/database.ts'
import type { Logger } from '../lib/logger.ts'
import { Loop } from '../lib/loop.ts'
import type { Language } from '../texts/texts.ts'
import { DatabaseAway, isAway } from './away.ts'
import type { Channel } from './channel.ts'
import { compose } from './compose.ts'
import { decide, type Limits } from './decide.ts'
import type { Sender } from './message.ts'
import { giveUpOld, noteWithheld, writeMessages } from './outbox.ts'
import {
  type Change,
  claimEvaluation,
  noteChannels,
  readOutlook,
  recordFindings,
  wasEvaluated,
} from './record.ts'
import { type Finding, RULES } from './rule.ts'
import { alertText } from './text.ts'

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
    this.#away = new DatabaseAway({ ...options, afterMs: databaseAwayMs })
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
    } catch (error) {
      if (isAway(error) || !(await wasEvaluated(this.#options.pool)))
        await this.#away.missed(new Date(), error as Error)
      throw error
    }
  }

  async #evaluate(): Promise<void> {
    const { pool, processId, intervalMs } = this.#options
    const judgement = await transaction(
      pool,
      async client => {
        const { now, isLast } = await claimEvaluation(client, processId, intervalMs * GAP)
        return { isLast, done: now && (await this.#carryOut(client, now)) }
      },
      EVALUATION_MS,
    )
    const { isLast, done } = judgement
    this.#away.remember(isLast, done?.outlook ?? null)
    // Logged after the commit: after a rollback the same changes are found again.
    if (done) this.#log(done.changes, done.givenUp)
  }

  async #carryOut(client: ClientBase, now: Date) {
    const { find, channels, limits, consoleUrl, deployment } = this.#options
    const changes = await recordFindings(client, await find(now))
    await noteChannels(client, channels)
    const givenUp = await giveUpOld(client)
    const outlook = await readOutlook(client, channels)
    const settings = channels.map(channel => channel.settings)
    const { drafts, withheld } = decide(outlook, settings, limits)
    const messages = drafts.map(draft => {
      const { language = 'en' } = settings.find(({ name }) => name === draft.channel) ?? {}
      return { draft, message: compose(language, draft, { now, consoleUrl, deployment }, limits) }
    })
    await writeMessages(client, messages, outlook.waiting)
    await noteWithheld(client, withheld)
    return { outlook, changes, givenUp }
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
      logger.warn({ channel }, 'a message was given up: its channel has taken none for a day')
  }
}
