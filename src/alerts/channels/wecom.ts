import type { ChannelSettings } from '../channel.ts'
import { type HttpKind, interpretRobot } from './http.ts'
import { fitting, inert, type Markup, markdownText, mentionedBy } from './layout.ts'

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
    post(message) {
      const mentions = mentionedBy(message, settings).map(id => `<@${id}>`)
      const content = fitting(
        message,
        lines => markdownText(dialect, lines, mentions),
        text => Buffer.byteLength(text) <= MAX_BYTES,
      )
      return {
        url: new URL(settings.url),
        body: JSON.stringify({ msgtype: 'markdown', markdown: { content } }),
      }
    },
    interpret: answer => interpretRobot(answer, CODES),
  }
}
