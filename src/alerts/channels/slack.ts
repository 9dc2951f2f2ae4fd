import type { HttpAnswer } from '../../platform/exchange.ts'
import type { ChannelSettings } from '../channel.ts'
import { type AnswerMeaning, type HttpKind, statusText } from './http.ts'
import { type Markup, type MessageLines, mentionedBy, messageLines, writeAlert, writeText } from './layout.ts'

/* An incoming webhook of Slack. It answers `ok`, or a status and a word such as no_service. */

/**
 * The limit of the header block, in characters. The limits of a section (3,000) and of a message (50 blocks) are
 * never reached.
 */
const HEADER = 150

/**
 * The characters that form links and mentions. Slack has no escapes for other markup, which only changes the
 * typeface.
 */
const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' }
const escaped = (text: string) => text.replace(/[&<>]/g, character => ENTITIES[character] ?? '')

const dialect: Markup = {
  plain: escaped,
  code: text => `\`${text}\``,
  bold: text => `*${text.replaceAll('*', '＊')}*`,
  link: (text, url) => `<${escaped(url).replaceAll('|', '%7C')}|${escaped(text)}>`,
  lineEnd: '\n',
}

export function slack(settings: ChannelSettings): HttpKind {
  return {
    post: message => ({
      url: new URL(settings.url),
      body: JSON.stringify(blocks(messageLines(message), mentionedBy(message, settings))),
    }),
    interpret,
  }
}

function blocks({ mark, title, alerts, notes, link }: MessageLines, mention: readonly string[]) {
  const at = mention.map(id => (id === 'all' ? '<!channel>' : `<@${id}>`)).join(' ')
  const heading = `${mark} ${title}`
  return {
    // Shown in notifications, and by programs that do not support blocks.
    text: escaped(heading),
    blocks: [
      { type: 'header', text: { type: 'plain_text', text: heading.slice(0, HEADER), emoji: false } },
      ...alerts.map(alert => section(writeAlert(dialect, alert))),
      ...notes.map(note => section(writeText(dialect, note))),
      ...(at ? [section(at)] : []),
      ...(link ? [section(dialect.link(link.text, link.url))] : []),
    ],
  }
}

/** `verbatim`: no @name, #channel or address in it becomes a mention or a link. */
function section(text: string) {
  return { type: 'section', text: { type: 'mrkdwn', text, verbatim: true } }
}

function interpret(answer: HttpAnswer): AnswerMeaning {
  if (answer.status !== 200) return { refused: statusText(answer) }
  return answer.body.trim() === 'ok' ? { taken: 'ok' } : { unavailable: statusText(answer) }
}
