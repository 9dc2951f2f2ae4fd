import { html, type SafeHtml } from '@remix-run/html-template'
import type { Transporter } from 'nodemailer'
import { sentenceOf } from '../../lib/failure.ts'
import { message as sentence } from '../../texts/message.ts'
import { translator } from '../../texts/texts.ts'
import { type Channel, ChannelError, type ChannelSettings, isMistrust, saysAnswer } from '../channel.ts'
import { type ChannelMessage, deliveryId } from '../message.ts'
import { type AlertLines, type Mark, type Measures, messageLines, oneLine } from './layout.ts'

/*
 * Mail by SMTP. The connection is encrypted: from the start (smtps://), or by STARTTLS, without which nothing is sent
 * unless the address ends in ?tls=off. Messages are rare, so each has a connection of its own.
 */

/** The time limit for everything. Servers that slow down unknown clients wait for some seconds before they greet. */
const TIMEOUT_MS = 10_000

const SUBJECT = 200

export class MailChannel implements Channel {
  readonly settings: ChannelSettings
  readonly #say: (text: string) => string

  constructor(settings: ChannelSettings) {
    this.settings = settings
    this.#say = saysAnswer(settings)
  }

  async send(message: ChannelMessage, id: string, signal: AbortSignal): Promise<string> {
    const { from, to } = this.settings
    const sender = senderOf(from ?? '')
    const within = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)])
    try {
      const transport = await transportOf(this.settings)
      const {
        response,
        rejected = [],
        rejectedErrors = [],
      } = await transport.sendMail({
        from: sender,
        to: [...(message.recipients ?? to)],
        subject: oneLine(message.title, SUBJECT),
        text: mailText(message, this.settings),
        html: mailHtml(message, this.settings),
        messageId: `<${deliveryId(message, id)}@${sender.address.split('@')[1]}>`,
        date: message.at,
        priority: message.tone === 'critical' ? 'high' : 'normal',
        headers: {
          // Prevents automatic replies.
          'Auto-Submitted': 'auto-generated',
          'X-Auto-Response-Suppress': 'All',
        },
        disableFileAccess: true,
        disableUrlAccess: true,
        signal: within,
      })
      if (rejected.length === 0) return this.#say(response ?? '')
      const said = sentence('said.mail_not_for', {
        words: this.#say(response ?? ''),
        names: this.#say(rejected.join(', ')),
      })
      const failures: SmtpFailure[] = rejectedErrors
      const putOff = failures.flatMap(({ permanent, recipient }) => (permanent ? [] : (recipient ?? [])))
      const refused = failures.flatMap(({ permanent, recipient }) => (permanent ? (recipient ?? []) : []))
      const code = putOff.length > 0 ? 'CHANNEL_UNAVAILABLE' : 'CHANNEL_REFUSED'
      throw new ChannelError(code, said, { isOfRecipient: true, without: { putOff, refused } })
    } catch (error) {
      if (error instanceof ChannelError) throw error
      throw mailError(error, this.settings, this.#say)
    }
  }

  async close(): Promise<void> {}
}

/**
 * Connects to the mail server and signs in, without sending anything.
 * @throws ChannelError
 */
export async function checkMailServer(settings: ChannelSettings): Promise<void> {
  const transport = await transportOf(settings)
  try {
    await transport.verify()
  } catch (error) {
    throw mailError(error, settings, saysAnswer(settings))
  } finally {
    transport.close()
  }
}

/** Few processes send mail, and the package takes memory. */
async function transportOf(settings: ChannelSettings): Promise<Transporter> {
  const { createTransport } = await import('nodemailer')
  return createTransport(smtpOptions(settings))
}

function smtpOptions({ url }: ChannelSettings) {
  const { protocol, hostname, port, username, password, searchParams } = new URL(url)
  const secure = protocol === 'smtps:'
  const isPlain = searchParams.get('tls') === 'off'
  return {
    host: hostname.replace(/^\[|\]$/g, ''),
    port: port === '' ? (secure ? 465 : 587) : Number(port),
    secure,
    requireTLS: !secure && !isPlain,
    ignoreTLS: isPlain,
    ...(username !== '' && {
      auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) },
      // If the server offers no authentication, it is the wrong one or misconfigured, so fail.
      forceAuth: true,
    }),
    dnsTimeout: TIMEOUT_MS,
    connectionTimeout: TIMEOUT_MS,
    greetingTimeout: TIMEOUT_MS,
    socketTimeout: TIMEOUT_MS,
    maxResponseSize: 65_536,
  }
}

/** `dirsync <dirsync@example.com>`, or the address alone. */
function senderOf(from: string): { name: string; address: string } {
  const [, name = '', address = from] = /^\s*"?(.*?)"?\s*<([^<>]+)>$/.exec(from) ?? []
  return { name: name === '' ? 'dirsync' : name, address: address.trim() }
}

interface SmtpFailure extends Error {
  code?: string
  response?: string
  permanent?: boolean
  recipient?: string
  rejectedErrors?: SmtpFailure[]
}

/** Maps a failure to a ChannelError, which decides about the next try. */
function mailError(error: unknown, settings: ChannelSettings, say: (text: string) => string): ChannelError {
  const failure = error as SmtpFailure
  const { host } = new URL(settings.url)
  const { code, response } = failure
  const ofServer = { isOfRecipient: false }
  const words = say(sentenceOf(error))
  if (isMistrust(words))
    return new ChannelError('CHANNEL_REFUSED', sentence('said.channel_mistrusted', { host, words }), ofServer)
  if (code === 'ETLS')
    return new ChannelError('CHANNEL_REFUSED', sentence('said.mail_without_tls', { host, words }), ofServer)
  if (response !== undefined) {
    const isFinal = (failure.rejectedErrors ?? [failure]).every(({ permanent }) => permanent === true)
    const answered = { host, answer: say(response) }
    return new ChannelError(
      isFinal ? 'CHANNEL_REFUSED' : 'CHANNEL_UNAVAILABLE',
      code === 'EAUTH'
        ? sentence('said.mail_login_answered', answered)
        : sentence('said.channel_answered', answered),
      { isOfRecipient: failure.rejectedErrors !== undefined },
    )
  }
  return code === 'EAUTH' || code === 'ENOAUTH'
    ? new ChannelError('CHANNEL_REFUSED', sentence('said.mail_without_login', { host, words }), ofServer)
    : new ChannelError('CHANNEL_UNAVAILABLE', sentence('said.channel_silent', { host, words }), ofServer)
}

/* A message as mail: plain text, and HTML that loads nothing from elsewhere. */

/** Mail is also read at a desk, so it may be longer. */
const AT_A_DESK: Measures = { alerts: 50, title: 200, when: 200, what: 2000, remedy: 2000, note: 2000 }

/** The mail as plain text. */
function mailText(message: ChannelMessage, { name }: Pick<ChannelSettings, 'name'>): string {
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
function mailHtml(message: ChannelMessage, { name }: Pick<ChannelSettings, 'name'>): string {
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
