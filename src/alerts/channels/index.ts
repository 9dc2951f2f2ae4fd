import type { Channel, ChannelKind, ChannelSettings } from '../channel.ts'
import { dingtalk } from './dingtalk.ts'
import { feishu } from './feishu.ts'
import { HttpChannel, type HttpKind } from './http.ts'
import { MailChannel } from './mail.ts'
import { slack } from './slack.ts'
import { webhook } from './webhook.ts'
import { wecom } from './wecom.ts'

const HTTP_KINDS: Record<Exclude<ChannelKind, 'mail'>, (settings: ChannelSettings) => HttpKind> = {
  dingtalk,
  wecom,
  feishu,
  slack,
  webhook,
}

/** Creates a channel. It connects only when it sends. The caller closes it. */
export function openChannel(settings: ChannelSettings): Channel {
  if (settings.kind === 'mail') return new MailChannel(settings)
  return new HttpChannel(settings, HTTP_KINDS[settings.kind](settings))
}
