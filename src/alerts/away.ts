import { DatabaseError } from 'pg'
import { onlyRow, type Pool, transaction } from '../lib/database.ts'
import type { Logger } from '../lib/logger.ts'
import type { Language } from '../texts/texts.ts'
import type { Channel } from './channel.ts'
import { answerOf, putOffMs, sendWithin, withoutSome } from './courier.ts'
import { type AlertEvent, isWithinLimit, type Limits, type Outlook, type RaisedAlert } from './decide.ts'
import { alertText, type ChannelMessage, compose, type Sender } from './message.ts'
import { returnsOf } from './record.ts'
import { muteOf, RULES } from './rule.ts'

/**
 * SQLSTATE classes of a server that cannot serve: connection, login, missing database, resources such as a full disk,
 * shutdown, system errors, damaged data; and a read-only one.
 */
const CANNOT_SERVE = /^(?:08|28|3D|53|57|58|XX|25006)/

/** Whether an evaluation failed because the database was down, and not because of its contents. */
export function isAway(error: unknown): boolean {
  if (error instanceof DatabaseError) return CANNOT_SERVE.test(error.code ?? '')
  return !(error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError)
}

interface AwayOptions {
  deployment: Sender
  channels: readonly Channel[]
  /** How long the database must be down before people are told; null to never tell them. */
  afterMs: number | null
  limits: Limits
  language: Language
  consoleUrl: string | null
  logger: Logger
}

/** A message that a channel accepted while the database was down. */
interface Taken {
  channel: string
  event: Exclude<AlertEvent, 'recovered'>
  at: Date
  message: ChannelMessage
  answer: string
}

/**
 * Tells people from memory that the database is down, since the outbox is down with it. Only the process that
 * evaluated last does so. Once the database is back, it records what was sent, and the recovery takes the usual way.
 */
export class DatabaseAway {
  readonly #options: AwayOptions
  readonly #stopping = new AbortController()
  #wasLast = false
  #known: Pick<Outlook, 'sent' | 'mutes'> = { sent: [], mutes: [] }
  #since: Date | null = null
  #raisedAt: Date | null = null
  #error = ''
  #taken: Taken[] = []
  /** Of channels that did not take the message, or not for these recipients: how often, and when to try again. */
  readonly #putOff = new Map<
    string,
    { attempts: number; notBefore: number; recipients: readonly string[] | null }
  >()

  constructor(options: AwayOptions) {
    this.#options = options
  }

  /** The database has answered. Stores whether this process was the last to evaluate, and what it knew then. */
  remember(wasLast: boolean, outlook: Pick<Outlook, 'sent' | 'mutes'> | null): void {
    this.#since = null
    this.#wasLast = wasLast
    if (outlook) this.#known = outlook
  }

  /** The database did not answer at this moment, or its answer could not be evaluated. */
  async missed(now: Date, error: Error): Promise<void> {
    const { afterMs, channels, logger, language } = this.#options
    this.#since ??= now
    this.#error = error.message
    if (!this.#wasLast || afterMs === null || now.getTime() - this.#since.getTime() < afterMs) return
    if (this.#raisedAt === null) {
      const { title, remedy } = alertText(language, { ...AWAY, facts: { error: this.#error } })
      logger.error({ rule: AWAY.rule, remedy, error: this.#error }, title)
    }
    this.#raisedAt ??= now
    if (muteOf(AWAY, this.#known.mutes, now)) return
    await Promise.all(channels.map(channel => this.#tell(channel, now)))
  }

  /** Records what was sent while the database was down, if it answers again and anything was sent. */
  async writeDown(pool: Pool): Promise<void> {
    if (this.#raisedAt === null || this.#since === null) return
    await recordAway(pool, {
      ...{ since: this.#since, raisedAt: this.#raisedAt, taken: this.#taken },
      facts: { error: this.#error },
    })
    this.#since = null
    this.#raisedAt = null
    this.#taken = []
    this.#putOff.clear()
  }

  /** Stops sending. */
  stop(): void {
    this.#stopping.abort()
  }

  async #tell(channel: Channel, now: Date): Promise<void> {
    const { limits, consoleUrl, deployment, logger } = this.#options
    const { name, language } = channel.settings
    const putOff = this.#putOff.get(name) ?? { attempts: 0, notBefore: 0, recipients: null }
    if (now.getTime() < putOff.notBefore) return
    const own = this.#taken.filter(taken => taken.channel === name)
    const newest = own.at(-1)
    const isDue = !newest || now.getTime() - newest.at.getTime() >= limits.repeatHours * 3_600_000
    const recipients = isDue ? null : putOff.recipients
    if (!isDue && recipients === null) return
    // Those who were put off get the newest message, which the others have.
    const last = recipients === null ? newest : own.at(-2)
    const sent = [
      ...this.#known.sent,
      ...own.map(({ at }) => ({ channel: name, kind: 'alerts', at, about: [AWAY] }) as const),
    ]
    const alert = { ...AWAY, since: this.#since ?? now, facts: { error: this.#error } }
    if (!isWithinLimit(name, alert, sent, now, limits)) return
    const event = last ? 'repeated' : 'raised'
    const events = [{ alert, event } as const]
    const message = {
      ...compose(
        language,
        { kind: 'alerts', events, silentUntil: null },
        { now, stop: null, consoleUrl, deployment },
        limits,
      ),
      ...(recipients && { recipients }),
    }
    const noteTaken = (answer: string) => {
      if (recipients === null) this.#taken.push({ channel: name, event, at: now, message, answer })
    }
    try {
      // The same id at each try, so that receivers can recognise a message whose answer was lost.
      const id = `away-${alert.since.getTime()}-${last?.at.getTime() ?? 0}`
      noteTaken(await sendWithin(channel, { id, message }, this.#stopping.signal))
      this.#putOff.delete(name)
    } catch (error) {
      const left = withoutSome(error)?.putOff ?? recipients
      if (withoutSome(error)) noteTaken(answerOf(error))
      if (left?.length === 0) {
        this.#putOff.delete(name)
        return
      }
      const attempts = putOff.attempts + 1
      const notBefore = now.getTime() + putOffMs(attempts, error, Math.random())
      this.#putOff.set(name, { attempts, notBefore, recipients: left })
      logger.debug(
        { channel: name, answer: answerOf(error) },
        'the channel did not take that the database is away',
      )
    }
  }
}

const AWAY = {
  id: 0,
  rule: 'database_away',
  subject: '',
  severity: RULES.database_away.severity,
  state: 'firing',
  returns: 0,
  goneAt: null,
  endedAt: null,
  acknowledged: null,
} as const satisfies Omit<RaisedAlert, 'since' | 'facts'>

/** Records the alert as ended now, with the messages that told of it. */
async function recordAway(
  pool: Pool,
  {
    since,
    raisedAt,
    taken,
    facts,
  }: { since: Date; raisedAt: Date; taken: readonly Taken[]; facts: RaisedAlert['facts'] },
): Promise<void> {
  await transaction(pool, async client => {
    const { rows } = await client.query<{ id: number }>(
      `insert into dirsync.alert as a (rule, subject, severity, state, since, raised_at, gone_at, facts, returns)
       values ($1, $2, $3, 'firing', $4, $5, now(), $6, ${returnsOf('$1', '$2', '$4::timestamptz', '$6::jsonb')})
       on conflict (rule, subject) where state <> 'ended'
       do update set gone_at = excluded.gone_at, returns = a.returns + 1
       returning id`,
      [AWAY.rule, AWAY.subject, AWAY.severity, since, raisedAt, facts],
    )
    for (const { channel, event, at, message, answer } of taken)
      await client.query(
        `with sent as (
           insert into dirsync.alert_message (channel, kind, content, created_at, state, attempts, sent_at, answer)
           values ($2, 'alerts', $3, $4, 'sent', 1, $4, $5) returning id
         )
         insert into dirsync.alert_notice (alert_id, channel, event, at, message_id)
         select $1, $2, $6, $4, id from sent`,
        [onlyRow(rows).id, channel, message, at, answer, event],
      )
  })
}
