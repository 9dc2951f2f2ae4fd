import { html, type SafeHtml } from '@remix-run/html-template'
import { translator } from '../../texts/texts.ts'
import type { ChannelSettings } from '../channel.ts'
import type { ChannelMessage } from '../message.ts'
import { type AlertLines, type Mark, type Measures, messageLines } from './layout.ts'

/* A message as mail: plain text, and HTML that loads nothing from elsewhere. */

/** Mail is also read at a desk, so it may be longer. */
const AT_A_DESK: Measures = { alerts: 50, title: 200, when: 200, what: 2000, remedy: 2000, note: 2000 }

/** The mail as plain text. */
export function mailText(message: ChannelMessage, { name }: Pick<ChannelSettings, 'name'>): string {
  const { mark, title, alerts, notes, link } = messageLines(message, AT_A_DESK)
  return [
    `${mark} ${title}`,
    ...alerts.map(alert =>
      [
        alert.title && `${alert.mark} ${alert.title}`,
        alert.state,
        alert.what,
        alert.remedy,
        alert.link?.url ?? null,
      ]
        .filter(line => line !== null)
        .join('\n'),
    ),
    ...notes,
    ...(link ? [`${link.text}\n${link.url}`] : []),
    `-- \n${footer(message, name)}`,
  ].join('\n\n')
}

function footer({ language }: ChannelMessage, channel: string): string {
  return translator(language)('channel.mail.footer', { channel })
}

/** Background colours on which white is readable. */
const COLOURS: Record<Mark, string> = {
  critical: '#d92d20',
  warning: '#b54708',
  info: '#1570ef',
  recovered: '#067647',
}

const FONT =
  "font-family:-apple-system,'Segoe UI',Roboto,'Noto Sans','PingFang SC','Microsoft YaHei','Noto Sans CJK SC',sans-serif"

/** The mail as HTML, with inline styles, because many mail programs ignore others. */
export function mailHtml(message: ChannelMessage, { name }: Pick<ChannelSettings, 'name'>): string {
  const { title, alerts, notes, link } = messageLines(message, AT_A_DESK)
  const page = html`<!doctype html>
<html lang="${message.language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
</head>
<body style="margin:0;padding:16px">
<div style="max-width:600px;margin:0 auto;${FONT};font-size:15px;line-height:1.5">
<h1 style="margin:0 0 16px;padding:12px 16px;border-radius:8px;background:${COLOURS[message.tone]};color:#ffffff;font-size:18px;line-height:1.35">${title}</h1>
${alerts.map(alertHtml)}
${notes.map(note => html`<p style="margin:0 0 16px">${textHtml(note)}</p>`)}
${link ? html`<p style="margin:0 0 24px"><a href="${link.url}" style="display:inline-block;padding:8px 16px;border:1px solid #6b7280;border-radius:6px;background:#1f2937;color:#ffffff;text-decoration:none">${link.text}</a></p>` : ''}
<p style="margin:0;padding-top:12px;border-top:1px solid #88888866;font-size:13px;color:#767676">${textHtml(footer(message, name))}</p>
</div>
</body>
</html>`
  return String(page)
}

function alertHtml({ tone, title, state, what, remedy, link }: AlertLines): SafeHtml {
  return html`<div style="margin:0 0 16px;padding:0 0 0 12px;border-left:4px solid ${COLOURS[tone]}">
${title === null ? '' : html`<p style="margin:0;font-weight:600">${title}</p>`}
<p style="margin:0;font-size:13px">${state}</p>
<p style="margin:4px 0 0">${textHtml(what)}</p>
${remedy === null ? '' : html`<p style="margin:4px 0 0">${textHtml(remedy)}</p>`}
${link === null ? '' : html`<p style="margin:4px 0 0"><a href="${link.url}">${link.text}</a></p>`}
</div>
`
}

/** A text with its commands in backticks as code. */
function textHtml(text: string): SafeHtml[] {
  return text
    .split(/`([^`]+)`/)
    .map((part, i) => (i % 2 === 0 ? html`${part}` : html`<code style="font-size:14px">${part}</code>`))
}
