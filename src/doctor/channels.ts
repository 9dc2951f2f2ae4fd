import { ChannelError, type ChannelSettings } from '../alerts/channel.ts'
import { CHANNEL_PREFIX } from '../alerts/channel-settings.ts'
import { openChannel } from '../alerts/channels/index.ts'
import { checkMailServer } from '../alerts/channels/mail.ts'
import type { Config } from '../config.ts'
import { isThisMachine } from '../lib/http-server.ts'
import { message } from '../texts/message.ts'
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
        ? ok('alerts', message('doctor.channel_shown'))
        : warning(
            'alerts',
            message('doctor.no_channel'),
            message('doctor.set_channel', { setting: `${CHANNEL_PREFIX}OPS` }),
          ),
    ]
  const findings = await Promise.all(channels.map(examineChannel))
  if (CONSOLE_URL === null)
    findings.push(warning('alerts', message('doctor.no_console_url'), message('doctor.set_console_url')))
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
        message('doctor.channel_without_tls', { channel: name, address: channel.target }),
        message('doctor.channel_with_tls', { setting }),
      )
    return ok(
      'alerts',
      message('doctor.channel', { channel: name, means: kind, address: channel.target, least }),
    )
  } catch (error) {
    if (!(error instanceof ChannelError)) throw error
    return warning(
      'alerts',
      message('doctor.channel_fails', { channel: name, reason: error.message }),
      message('doctor.correct_channel', { setting }),
    )
  } finally {
    await channel.close()
  }
}
