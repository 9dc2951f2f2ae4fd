import { createHmac } from 'node:crypto'
import type { HttpAnswer } from '../../platform/exchange.ts'
import { message as sentence } from '../../texts/message.ts'
import type { ChannelSettings } from '../channel.ts'
import { type ChannelMessage, deliveryId } from '../message.ts'
import { type AnswerMeaning, type HttpKind, statusText } from './http.ts'
import { worstFirst } from './layout.ts'

/*
 * JSON for programs, signed according to Standard Webhooks and described in docs/alerts.md. Fields may be added, but
 * never removed.
 */

export function webhook(settings: ChannelSettings): HttpKind {
  const { username, password } = new URL(settings.url)
  const url = new URL(settings.url)
  url.username = url.password = ''
  const basic = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`)
  return {
    post(message, id, now) {
      const body = JSON.stringify(document(settings.name, message))
      const headers = {
        ...signature(settings.secret, deliveryId(message, id), now, body),
        ...(username !== '' && { authorization: `Basic ${basic.toString('base64')}` }),
      }
      return { url, headers, body }
    },
    interpret,
  }
}

/** All of the message except what is only for display. */
function document(channel: string, message: ChannelMessage) {
  const {
    kind,
    at,
    language,
    tone,
    title,
    note,
    url,
    deployment = { id: null, name: null },
    events,
  } = message
  if (events) return { type: kind, timestamp: at, data: { deployment, channel, events } }
  return {
    type: kind,
    timestamp: at,
    data: {
      deployment,
      channel,
      language,
      // The worst severity among the alerts that continue.
      severity: tone === 'recovered' ? null : tone,
      title,
      note,
      url,
      alerts: worstFirst(message.alerts).map(alert => ({
        key: alert.key,
        rule: alert.rule,
        subject: alert.subject,
        severity: alert.severity,
        event: alert.event,
        title: alert.title,
        what: alert.what,
        remedy: alert.remedy,
        url: alert.url,
        since: alert.since,
        ended_at: alert.endedAt,
        facts: alert.facts,
      })),
    },
  }
}

/** The headers with the message's id and time and, with a secret, the signature over both and the body. */
function signature(secret: string | null, id: string, now: Date, body: string): Record<string, string> {
  const timestamp = String(Math.floor(now.getTime() / 1000))
  const headers = { 'webhook-id': id, 'webhook-timestamp': timestamp }
  if (secret === null) return headers
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
  const sign = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')
  return { ...headers, 'webhook-signature': `v1,${sign}` }
}

function interpret(answer: HttpAnswer): AnswerMeaning {
  if (answer.status < 300) return { taken: statusText(answer) }
  return { refused: answer.status === 410 ? sentence('said.channel_gone') : statusText(answer) }
}
