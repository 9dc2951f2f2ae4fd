import { createTransport, type Transporter } from 'nodemailer'
import { sentenceOf } from '../../lib/failure.ts'
import { type Channel, ChannelError, type ChannelSettings } from '../channel.ts'
import { type ChannelMessage, deliveryId } from '../message.ts'
import { isMistrust, saysAnswer, TRUST_HINT } from './answer.ts'
import { oneLine } from './layout.ts'
import { mailHtml, mailText } from './mail-page.ts'

/*
 * Mail by SMTP. The connection is encrypted: from the start (smtps://), or by STARTTLS, without which nothing is sent
 * unless the address ends in ?tls=off. Messages are rare, so each has a connection of its own.
 */

/** The time limit for everything. Servers that slow down unknown clients wait for some seconds before they greet. */
const TIMEOUT_MS = 10_000

const SUBJECT = 200

export class MailChannel implements Channel {
  readonly settings: ChannelSettings
  readonly target: string
  readonly #say: (text: string) => string
  readonly #transport: Transporter

  constructor(settings: ChannelSettings) {
    this.settings = settings
    this.target = settings.to.join(', ')
    this.#say = saysAnswer(settings)
    this.#transport = createTransport(smtpOptions(settings))
  }

  async send(message: ChannelMessage, id: string, signal: AbortSignal): Promise<string> {
    const { from, to } = this.settings
    const sender = senderOf(from ?? '')
    const within = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)])
    try {
      const { response, rejected = [] } = await this.#transport.sendMail({
        from: sender,
        to: [...to],
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
      const refused = rejected.length > 0 ? `; not taken for ${rejected.join(', ')}` : ''
      return this.#say(`${response ?? ''}${refused}`)
    } catch (error) {
      throw mailError(error, this.settings, this.#say)
    }
  }

  async close(): Promise<void> {
    this.#transport.close()
  }
}

/**
 * Connects to the mail server and signs in, without sending anything.
 * @throws ChannelError
 */
export async function checkMailServer(settings: ChannelSettings): Promise<void> {
  const transport = createTransport(smtpOptions(settings))
  try {
    await transport.verify()
  } catch (error) {
    throw mailError(error, settings, saysAnswer(settings))
  } finally {
    transport.close()
  }
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
  responseCode?: number
  permanent?: boolean
  rejectedErrors?: SmtpFailure[]
}

/** Maps a failure to a ChannelError, which decides about the next try. */
function mailError(error: unknown, settings: ChannelSettings, say: (text: string) => string): ChannelError {
  const failure = error as SmtpFailure
  const { host } = new URL(settings.url)
  const { code, response } = failure
  const reason = say(sentenceOf(error))
  if (isMistrust(reason))
    return new ChannelError('CHANNEL_REFUSED', `${host} is not trusted: ${reason} (${TRUST_HINT})`)
  if (code === 'ETLS')
    return new ChannelError(
      'CHANNEL_REFUSED',
      `${host} does not speak STARTTLS: ${reason} (smtps:// begins with TLS; ?tls=off at the end does without)`,
    )
  if (response !== undefined) {
    const isFinal = (failure.rejectedErrors ?? [failure]).every(({ permanent }) => permanent === true)
    const about = code === 'EAUTH' ? ' to the user and password' : ''
    return new ChannelError(
      isFinal ? 'CHANNEL_REFUSED' : 'CHANNEL_UNAVAILABLE',
      `${host} answered${about}: ${say(response)}`,
    )
  }
  return code === 'EAUTH' || code === 'ENOAUTH'
    ? new ChannelError('CHANNEL_REFUSED', `${host} does not let us sign in: ${reason}`)
    : new ChannelError('CHANNEL_UNAVAILABLE', `${host} gave no complete answer: ${reason}`)
}
