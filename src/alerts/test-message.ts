import { z } from 'zod'
import { translator } from '../texts/texts.ts'
import type { ChannelSettings } from './channel.ts'
import { openChannel } from './channels/index.ts'
import { answerOf, sendWithin } from './courier.ts'
import { type ChannelMessage, type Sender, titled } from './message.ts'

/** The result of a test message. */
export const TestAnswer = z.object({
  channel: z.string(),
  accepted: z.boolean(),
  answer: z.string().describe('What its server answered, or why there is no answer; without secrets'),
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
  const message = testMessage(settings, from, new Date())
  const id = `test-${crypto.randomUUID()}`
  try {
    const answer = await sendWithin(channel, { id, message }, new AbortController().signal)
    return { channel: settings.name, accepted: true, answer }
  } catch (error) {
    return { channel: settings.name, accepted: false, answer: answerOf(error) }
  } finally {
    await channel.close()
  }
}

function testMessage(
  { name, language, least }: ChannelSettings,
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
    note: t('alerts.test.note', { channel: name, least: t(`severity.${least}`) }),
    url: consoleUrl && `${consoleUrl}/alerts`,
    urlText: t('alerts.test.open'),
    at,
  }
}
