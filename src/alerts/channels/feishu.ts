import { createHmac } from 'node:crypto'
import type { ChannelSettings } from '../channel.ts'
import type { ChannelMessage } from '../message.ts'
import { type HttpKind, interpretRobot } from './http.ts'
import { type AlertLines, fitting, inert, type MessageLines, mentionedBy } from './layout.ts'

/* A custom bot in a group of Feishu, or of Lark, its international version. Messages are cards. */

/** The limit for the whole request; Feishu refuses more than 20 KB. */
const MAX_BYTES = 19_000

const CODES = {
  code: 'code',
  words: 'msg',
  // More than 5 messages within a second or 100 within a minute; fewer on the hour, when many systems send.
  limited: { 11232: 60_000 },
  busy: [],
}

/** Colours of a card's header. */
const COLOURS = { critical: 'red', warning: 'orange', info: 'blue', recovered: 'green' } as const

export function feishu(settings: ChannelSettings): HttpKind {
  return {
    post: (message, _id, now) => ({
      url: new URL(settings.url),
      body: fitting(
        message,
        lines =>
          JSON.stringify({
            ...signature(settings, now),
            msg_type: 'interactive',
            card: card(message, lines, mentionedBy(message, settings)),
          }),
        body => Buffer.byteLength(body) <= MAX_BYTES,
      ),
    }),
    interpret: answer => interpretRobot(answer, CODES),
  }
}

/**
 * The time in seconds with its signature. As Feishu requires, time and secret form the key, and the signed text is
 * empty.
 */
function signature({ secret }: ChannelSettings, now: Date): { timestamp: string; sign: string } | null {
  if (secret === null) return null
  const timestamp = String(Math.floor(now.getTime() / 1000))
  return { timestamp, sign: createHmac('sha256', `${timestamp}\n${secret}`).digest('base64') }
}

function card(
  { tone }: ChannelMessage,
  { title, alerts, notes, link }: MessageLines,
  mention: readonly string[],
) {
  const at = mention.map(id => `<at id=${id}></at>`).join(' ')
  return {
    config: { wide_screen_mode: true },
    header: { template: COLOURS[tone], title: plain(title) },
    elements: [
      ...alerts.flatMap((alert, i) => [...(i > 0 ? [{ tag: 'hr' }] : []), ...alertElements(alert)]),
      ...notes.map(note => ({ tag: 'div', text: plain(note) })),
      ...(at ? [{ tag: 'div', text: { tag: 'lark_md', content: at } }] : []),
      ...(link ? [button(link)] : []),
    ],
  }
}

/** Untrusted texts are sent as plain text, in which Feishu interprets neither markdown nor mentions. */
function alertElements({ mark, title, state, what, remedy, link }: AlertLines) {
  const head = title === null ? inert(state) : `${mark} **${inert(title)}**\n${inert(state)}`
  return [
    { tag: 'div', text: { tag: 'lark_md', content: head } },
    { tag: 'div', text: plain(remedy === null ? what : `${what}\n${remedy}`) },
    ...(link ? [{ tag: 'div', text: { tag: 'lark_md', content: `[${link.text}](${link.url})` } }] : []),
  ]
}

function plain(text: string) {
  return { tag: 'plain_text', content: text.replaceAll('`', '') }
}

function button({ text, url }: { text: string; url: string }) {
  return { tag: 'action', actions: [{ tag: 'button', type: 'primary', text: plain(text), url }] }
}
