import { createHmac } from 'node:crypto'
import type { ChannelSettings } from '../channel.ts'
import { type HttpKind, interpretRobot } from './http.ts'
import {
  fitting,
  inert,
  type Markup,
  type MessageLines,
  markdownText,
  mentionedBy,
  oneLine,
} from './layout.ts'

/*
 * A custom robot in a DingTalk group. It always answers HTTP 200; `errcode` has the result. Its markdown is a subset:
 * two blanks end a line, a blank line a paragraph.
 */

/** The limit for the whole message; DingTalk refuses more than 20,000. */
const MAX_BYTES = 18_000

const CODES = {
  code: 'errcode',
  words: 'errmsg',
  // After more than 20 messages within a minute, the robot is silenced for ten minutes.
  limited: { 130101: 600_000, 410100: 600_000 },
  busy: [-1],
}

const dialect: Markup = {
  plain: inert,
  code: text => text,
  bold: text => `**${text}**`,
  link: (text, url) => `[${text}](${url})`,
  lineEnd: '  \n',
}

export function dingtalk(settings: ChannelSettings): HttpKind {
  return {
    post: (message, _id, now) => ({
      url: signed(settings, now),
      body: fitting(
        message,
        robotMessage(mentionedBy(message, settings)),
        body => Buffer.byteLength(body) <= MAX_BYTES,
      ),
    }),
    interpret: answer => interpretRobot(answer, CODES),
  }
}

/** The address with the time in milliseconds and its signature, if the robot asks for one. */
function signed({ url: address, secret }: ChannelSettings, now: Date): URL {
  const url = new URL(address)
  if (secret === null) return url
  const timestamp = String(now.getTime())
  url.searchParams.set('timestamp', timestamp)
  const sign = createHmac('sha256', secret).update(`${timestamp}\n${secret}`).digest('base64')
  url.searchParams.set('sign', sign)
  return url
}

/** @param mention mobile numbers, which must be in the text, too; or `all` */
const robotMessage =
  (mention: readonly string[]) =>
  (lines: MessageLines): string => {
    const isAtAll = mention.includes('all')
    const atMobiles = isAtAll ? [] : mention
    const mentions = atMobiles.map(mobile => `@${mobile}`)
    // The phone's notification and the list of chats show the title.
    const title = oneLine(`${lines.mark} ${lines.title}`, 120)
    const markdown = { title, text: markdownText(dialect, lines, mentions) }
    const at = mention.length > 0 ? { at: { atMobiles, isAtAll } } : {}
    return JSON.stringify({ msgtype: 'markdown', markdown, ...at })
  }
