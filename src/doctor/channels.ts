import { ChannelError, type ChannelSettings } from '../alerts/channel.ts'
import { CHANNEL_PREFIX } from '../alerts/channel-settings.ts'
import { openChannel } from '../alerts/channels/index.ts'
import { checkMailServer } from '../alerts/channels/mail.ts'
import type { Config } from '../config.ts'
import { isThisMachine } from '../lib/http-server.ts'
import { type CheckResult, ok, warning } from './finding.ts'

/** Whether alerts reach people. Nothing is sent; robots and webhooks can only be tried with a message. */
export async function examineChannels({
  channels,
  CONSOLE_URL,
  embedded,
}: Pick<Config, 'channels' | 'CONSOLE_URL' | 'embedded'>): Promise<CheckResult[]> {
  if (channels.length === 0)
    return [
      embedded
        ? ok('alerts', 'no channel is set: the console shows alerts')
        : warning(
            'alerts',
            'no channel is set: alerts reach nobody who does not look',
            `Set ${CHANNEL_PREFIX}OPS to the address of a robot, a webhook or a mail server: see docs/alerts.md.`,
          ),
    ]
  const findings = await Promise.all(channels.map(examineChannel))
  if (CONSOLE_URL === null)
    findings.push(
      warning(
        'alerts',
        'CONSOLE_URL is not set: messages do not link to the console',
        'Set CONSOLE_URL to the address that people open the console at.',
      ),
    )
  return findings
}

async function examineChannel(settings: ChannelSettings): Promise<CheckResult> {
  const { name, kind, least, url } = settings
  const setting = CHANNEL_PREFIX + name.toUpperCase()
  const channel = openChannel(settings)
  try {
    if (kind === 'mail') await checkMailServer(settings)
    const { protocol, hostname } = new URL(url)
    if (protocol === 'http:' && !isThisMachine(hostname))
      return warning(
        'alerts',
        `channel ${name}: messages to ${channel.target} cross the network without TLS`,
        `Set ${setting} to an https:// address.`,
      )
    return ok('alerts', `channel ${name}: ${kind} to ${channel.target}, told of ${least} and worse`)
  } catch (error) {
    if (!(error instanceof ChannelError)) throw error
    return warning(
      'alerts',
      `channel ${name} cannot send: ${error.message}`,
      `Correct ${setting}, or the mail server.`,
    )
  } finally {
    await channel.close()
  }
}
