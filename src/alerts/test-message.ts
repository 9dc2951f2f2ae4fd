import { z } from 'zod'
import { sentenceOf } from '../lib/failure.ts'
import { translator } from '../texts/texts.ts'
import type { ChannelSettings } from './channel.ts'
import { openChannel } from './channels/index.ts'
import type { Message } from './message.ts'

/** What became of a test message. */
export const TestAnswer = z.object({
  channel: z.string(),
  accepted: z.boolean(),
  answer: z.string().describe('What its server answered, or why there is no answer; without secrets'),
})
export type TestAnswer = z.infer<typeof TestAnswer>

/** Somebody waits for the answer. */
const PATIENCE_MS = 15_000

/**
 * Sends a test message at once, past the outbox, and says what the server answered. It needs no database.
 * @param options.consoleUrl CONSOLE_URL
 */
export async function sendTest(
  settings: ChannelSettings,
  options: { consoleUrl: string | null; now?: Date },
): Promise<TestAnswer> {
  const channel = openChannel(settings)
  try {
    const answer = await channel.send(
      testMessage(settings, options.consoleUrl, new Date()),
      `test-${crypto.randomUUID()}`,
      AbortSignal.timeout(PATIENCE_MS),
    )
    return { channel: settings.name, accepted: true, answer }
  } catch (error) {
    return { channel: settings.name, accepted: false, answer: sentenceOf(error) }
  } finally {
    await channel.close()
  }
}

function testMessage(
  { name, language, least }: ChannelSettings,
  consoleUrl: string | null,
  at: Date,
): Message {
  const t = translator(language)
  return {
    kind: 'test',
    language,
    tone: 'info',
    title: t('alerts.test.title'),
    alerts: [],
    note: t('alerts.test.note', { channel: name, least: t(`severity.${least}`) }),
    url: consoleUrl === null ? null : new URL('/alerts', consoleUrl).href,
    urlText: t('alerts.test.open'),
    at,
  }
}
