import type { ChannelSettings } from '../channel.ts'
import { type HttpKind, interpretRobot } from './http.ts'
import {
  fitting,
  inert,
  type Markup,
  type MessageLines,
  mentionedBy,
  writeAlert,
  writeText,
} from './layout.ts'

/*
 * A robot in a WeCom group. It needs only its address, and always answers HTTP 200; `errcode` has the result.
 */

/** The limit of the text, in UTF-8 bytes. */
const MAX_BYTES = 4096

const CODES = {
  code: 'errcode',
  words: 'errmsg',
  // More than 20 messages within a minute.
  limited: { 45009: 60_000 },
  busy: [-1],
}

/** WeCom's markdown has three colours: good, soft and bad. The marks in the text distinguish the rest. */
const dialect: Markup = {
  plain: inert,
  code: text => `\`${text}\``,
  bold: text => `**${text}**`,
  link: (text, url) => `[${text}](${url})`,
  lineEnd: '\n',
}

export function wecom(settings: ChannelSettings): HttpKind {
  return {
    post: message => ({
      url: new URL(settings.url),
      body: JSON.stringify({
        msgtype: 'markdown',
        markdown: {
          content: fitting(
            message,
            robotText(mentionedBy(message, settings)),
            text => Buffer.byteLength(text) <= MAX_BYTES,
          ),
        },
      }),
    }),
    interpret: answer => interpretRobot(answer, CODES),
  }
}

const robotText =
  (mention: readonly string[]) =>
  (lines: MessageLines): string => {
    const { mark, title, alerts, notes, link } = lines
    return [
      `### ${mark} ${writeText(dialect, title)}`,
      ...alerts.map(alert => writeAlert(dialect, alert)),
      ...notes.map(note => writeText(dialect, note)),
      ...(link ? [dialect.link(link.text, link.url)] : []),
      ...(mention.length > 0 ? [mention.map(id => `<@${id}>`).join(' ')] : []),
    ].join('\n\n')
  }
