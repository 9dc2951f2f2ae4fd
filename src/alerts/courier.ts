import { z } from 'zod'
import type { Pool } from '../lib/database.ts'
import type { Logger } from '../lib/logger.ts'
import { Loop } from '../lib/loop.ts'
import { rest, unlessAborted } from '../lib/waiting.ts'
import { jitter } from '../sync/outbox/backoff.ts'
import { SaidText } from '../texts/failures.ts'
import { inEnglish, inWords, message, type Said } from '../texts/message.ts'
import { translator } from '../texts/texts.ts'
import { type Channel, ChannelError, type ChannelSettings } from './channel.ts'
import { openChannel } from './channels/index.ts'
import { isFull, writeEvents } from './events.ts'
import { type ChannelMessage, type Sender, titled } from './message.ts'
import { noticeWay, readNoticeAddresses, writeNotices } from './notices.ts'
import { giveBack, giveUp, hurry, type Left, markSent, putOff, type Taken, takeDue } from './outbox.ts'

/** How often to check for messages without a notification: a message whose retry becomes due sends none. */
const POLL_MS = 5000
/** The time limit of a channel for one message, beside limits of its own. */
const SEND_MS = 12_000
/** Longer than sending and marking take; when it expires, the holder of the message counts as dead. */
const LEASE_MS = 30_000
/** How long messages in flight may take after a stop. */
const SENT_WITHIN_MS = 3000
/** How often to retry marking a message as sent while the database is down. */
const MARK_AGAIN_MS = 1000

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

/**
 * Milliseconds until a message is tried again. For an unavailable server: 10 s, doubling up to 5 min. After a
 * refusal, which lasts until the settings are corrected: 5 min, doubling up to an hour. After a rate limit: as the
 * server says.
 * @param random a number in [0, 1)
 */
export function putOffMs(attempts: number, error: unknown, random: number): number {
  const { code = 'CHANNEL_UNAVAILABLE', retryAfterMs = null } = error instanceof ChannelError ? error : {}
  const grown = (first: number, most: number) =>
    jitter(Math.min(first * 2 ** Math.min(attempts - 1, 20), most), random)
  if (code === 'CHANNEL_REFUSED') return grown(5 * MINUTE_MS, HOUR_MS)
  const usual = grown(10_000, 5 * MINUTE_MS)
  return code === 'CHANNEL_LIMITED' ? Math.max(usual, Math.min(retryAfterMs ?? MINUTE_MS, HOUR_MS)) : usual
}

interface CourierOptions {
  pool: Pool
  channels: readonly Channel[]
  /** Base of the links in notices; null for no links. */
  consoleUrl: string | null
  logger: Logger
}

/**
 * Delivers messages from the outbox to their channels. Any number of processes may run one: each message is held by
 * one process at a time, and a server that hangs delays only its own channel.
 */
export class Courier {
  readonly #options: CourierOptions
  readonly #loop: Loop
  /** Messages in flight, by channel. */
  readonly #inHand = new Map<string, Promise<void>>()
  readonly #cutOff = new AbortController()
  readonly #failing = new Set<string>()
  #hasHurried = false

  constructor(options: CourierOptions) {
    this.#options = options
    this.#loop = new Loop({
      step: () => this.#sendDue(),
      pauseMs: POLL_MS,
      failed: error => options.logger.debug({ error }, 'messages were not looked for'),
    })
  }

  start(): void {
    if (this.#options.channels.length > 0) this.#loop.start()
  }

  /** Checks at once for messages to send. */
  wake(): void {
    this.#loop.wake()
  }

  /**
   * Takes no more messages, and gives those in flight a little time. A message without an answer by then is sent
   * again.
   */
  async stop(): Promise<void> {
    await this.#loop.stop()
    const timer = setTimeout(() => this.#cutOff.abort(), SENT_WITHIN_MS)
    await Promise.all(this.#inHand.values())
    clearTimeout(timer)
  }

  /** @returns whether there are more events to look through */
  async #sendDue(): Promise<boolean> {
    const { pool, channels, consoleUrl } = this.#options
    const names = channels.map(({ settings }) => settings.name)
    // Once per start, since settings change only with a restart.
    if (!this.#hasHurried) await hurry(pool, names)
    this.#hasHurried = true
    const idle = names.filter(name => !this.#inHand.has(name))
    let isBehind = false
    for (const { settings } of channels)
      if (idle.includes(settings.name)) isBehind = (await writeEvents(pool, settings)) || isBehind
    const all = channels.map(({ settings }) => settings)
    await writeNotices(pool, all, consoleUrl)
    for (const taken of await takeDue(pool, idle, LEASE_MS)) {
      const [name, user] = taken.channel.split(/\/(.*)/s)
      const channel = channels.find(({ settings }) => settings.name === name)
      if (!channel) continue
      if (user !== undefined) {
        const recipients = await this.#recipientsNow(channel.settings, user, taken)
        if (recipients.length === 0) {
          await giveUp(pool, taken)
          continue
        }
        taken.message = { ...taken.message, recipients }
      }
      const sending = this.#deliver(channel, taken)
        .catch((error: Error) => this.#options.logger.debug({ error }, 'its outcome was not noted'))
        .finally(() => {
          this.#inHand.delete(taken.channel)
          if (isFull(taken.message)) this.wake()
        })
      this.#inHand.set(taken.channel, sending)
    }
    return isBehind
  }

  /** Whom a message that is not for all of a channel goes to: addresses may have changed, or gone, since it was written. */
  async #recipientsNow(
    settings: ChannelSettings,
    user: string,
    { message }: Taken,
  ): Promise<readonly string[]> {
    if (message.recipients) return settings.to.filter(to => message.recipients?.includes(to))
    const addresses = (await readNoticeAddresses(this.#options.pool, [user])).get(user)
    const way = addresses ? noticeWay(addresses, [settings]) : null
    return way ? [way.recipient] : []
  }

  async #deliver(channel: Channel, taken: Taken): Promise<void> {
    const { pool, logger } = this.#options
    const { channel: name } = taken
    let answer: string
    try {
      answer = await sendWithin(channel, taken, this.#cutOff.signal)
    } catch (error) {
      if (this.#cutOff.signal.aborted) return giveBack(pool, taken)
      const said = answerOf(error)
      const without = withoutSome(error)
      if (without) {
        logger.warn(
          { channel: name, answer: said },
          'a channel of alerts took a message for some of its recipients only',
        )
        return this.#mark(taken, said, {
          ...without,
          delayMs: putOffMs(taken.attempts, error, Math.random()),
        })
      }
      if (!this.#failing.has(name))
        logger.warn({ channel: name, answer: said }, 'a channel of alerts takes no message; trying again')
      this.#failing.add(name)
      return putOff(pool, taken, said, {
        delayMs: putOffMs(taken.attempts, error, Math.random()),
        isOfChannel: isOfChannel(taken, error),
      })
    }
    if (this.#failing.delete(name)) logger.info({ channel: name }, 'the channel takes messages again')
    await this.#mark(taken, answer, null)
  }

  /**
   * A delivered message must not be sent again because the database was down for a moment, so retry until it is
   * marked.
   */
  async #mark(taken: Taken, answer: string, left: Left | null): Promise<void> {
    for (;;) {
      try {
        return await markSent(this.#options.pool, taken, answer, left)
      } catch (error) {
        if (this.#cutOff.signal.aborted) throw error
      }
      await rest(MARK_AGAIN_MS, this.#cutOff.signal)
    }
  }
}

/** Who does not have a message that the channel took for others; null: nobody has it. */
export const withoutSome = (error: unknown) => (error instanceof ChannelError ? error.without : null)

/** Whether a failure is one of the channel, and not of the one person whom a notice is for. */
function isOfChannel({ channel }: Taken, error: unknown): boolean {
  if (!channel.includes('/') || !(error instanceof ChannelError)) return true
  return error.isOfRecipient === null ? error.code === 'CHANNEL_UNAVAILABLE' : !error.isOfRecipient
}

/**
 * Sends one message, and waits at most {@link SEND_MS} for the answer.
 * @throws the channel's error, or the reason of a signal
 */
export function sendWithin(
  channel: Channel,
  { id, message }: Pick<Taken, 'message'> & { id: number | string },
  stopping: AbortSignal,
): Promise<string> {
  const signal = AbortSignal.any([stopping, AbortSignal.timeout(SEND_MS)])
  return unlessAborted(channel.send(message, String(id), signal), signal)
}

/** Why a delivery failed. Errors of a channel hold no secrets; of others only the name is given. */
function whyFailed(error: unknown): Said {
  if (error instanceof ChannelError) return error.said
  const { name } = error as Error
  return name === 'TimeoutError'
    ? message('said.no_answer_within', { seconds: SEND_MS / 1000 })
    : inWords(name)
}

/** The same for the records, in English. */
export function answerOf(error: unknown): string {
  return inEnglish(whyFailed(error))
}

/** The result of a test message. */
export const TestAnswer = z.object({
  channel: z.string(),
  accepted: z.boolean(),
  answer: SaidText.describe('What its server answered, or why there is no answer; without secrets'),
})
export type TestAnswer = z.infer<typeof TestAnswer>

/**
 * Sends a test message at once, bypassing the outbox, and returns the server's answer. Needs no database.
 * @param from.consoleUrl CONSOLE_URL
 */
export async function sendTest(
  settings: ChannelSettings,
  from: { consoleUrl: string | null; deployment: Sender },
): Promise<TestAnswer> {
  const channel = openChannel(settings)
  const testing = testMessage(settings, from, new Date())
  const id = `test-${crypto.randomUUID()}`
  try {
    const answer = await sendWithin(channel, { id, message: testing }, new AbortController().signal)
    return { channel: settings.name, accepted: true, answer: inWords(answer) }
  } catch (error) {
    return { channel: settings.name, accepted: false, answer: whyFailed(error) }
  } finally {
    await channel.close()
  }
}

function testMessage(
  { name, language, least, events }: ChannelSettings,
  { consoleUrl, deployment }: Parameters<typeof sendTest>[1],
  at: Date,
): ChannelMessage {
  const t = translator(language)
  return {
    kind: 'test',
    language,
    tone: 'info',
    title: titled(deployment, t('alerts.test.title')),
    deployment,
    alerts: [],
    note: t('alerts.test.note', {
      ...{ channel: name, least: t(`severity.${least}`) },
      events: events?.join(', ') ?? 'none',
    }),
    url: consoleUrl && `${consoleUrl}/alerts`,
    urlText: t('alerts.test.open'),
    at,
  }
}
