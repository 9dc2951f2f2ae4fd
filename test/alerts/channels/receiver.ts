import { createHmac } from 'node:crypto'
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { Webhook } from 'standardwebhooks'
import { listening } from '../../helpers/listening.ts'

/** A message as it arrived. */
export interface Arrival {
  method: string
  url: URL
  headers: IncomingHttpHeaders
  body: string
}

/** An answer: HTTP status, body, headers. Null: the answerer wrote it himself. */
type Answer = [status: number, body: string, headers?: Record<string, string>] | null
export type Answerer = (arrival: Arrival, response: ServerResponse) => Answer

export type Receiver = Awaited<ReturnType<typeof startReceiver>>

/** A server that takes messages, and answers as it is told. */
export async function startReceiver(answer: Answerer) {
  const arrivals: Arrival[] = []
  const server = await listening(async (request, response) => {
    const body = await text(request)
    const { method = '', headers } = request
    const arrival = { method, url: new URL(request.url ?? '', 'http://receiver'), headers, body }
    arrivals.push(arrival)
    const answered = answer(arrival, response)
    if (answered) response.writeHead(answered[0], answered[2]).end(answered[1])
  })
  return { ...server, arrivals }
}

export const SECRETS = {
  dingtalk: 'SECc0ffee0123456789abcdef',
  feishu: 'feishu-secret-0123456789',
  webhook: `whsec_${Buffer.from('0123456789abcdef0123456789abcdef').toString('base64')}`,
}
const HOUR_MS = 3_600_000

const json = (body: unknown): Answer => [200, JSON.stringify(body), { 'content-type': 'application/json' }]
const ding = (errcode: number, errmsg: string) => json({ errcode, errmsg })

/** DingTalk's robot with a signature, as its documentation has it. */
export const dingtalkRobot: Answerer = ({ url, headers, body }) => {
  if (url.searchParams.get('access_token') !== 'ding-token-0123456789')
    return ding(300001, 'token is not exist')
  const timestamp = url.searchParams.get('timestamp') ?? ''
  if (Math.abs(Date.now() - Number(timestamp)) > HOUR_MS) return ding(310000, 'invalid timestamp')
  const sign = createHmac('sha256', SECRETS.dingtalk)
    .update(`${timestamp}\n${SECRETS.dingtalk}`)
    .digest('base64')
  if (url.searchParams.get('sign') !== sign) return ding(310000, 'sign not match')
  if (!headers['content-type']?.includes('utf-8')) return ding(43004, 'invalid content-type')
  if (Buffer.byteLength(body) > 20_000) return ding(460101, 'message too long, exceed 20000 bytes')
  const { msgtype, markdown } = JSON.parse(body)
  if (msgtype !== 'markdown' || !markdown.title || !markdown.text) return ding(40035, 'invalid parameter')
  return ding(0, 'ok')
}

/** WeCom's robot. */
export const wecomRobot: Answerer = ({ url, body }) => {
  if (url.searchParams.get('key') !== '693a91f6-7xxx-4bc4-97a0-0ec2sifa5aaa')
    return ding(
      93000,
      'invalid webhook url, hint: [1763792250_9], more info at https://open.work.weixin.qq.com',
    )
  const { msgtype, markdown } = JSON.parse(body)
  if (msgtype !== 'markdown') return ding(40008, 'invalid message type')
  if (Buffer.byteLength(markdown.content) > 4096)
    return ding(40058, 'markdown.content exceed max length 4096. invalid Request Parameter')
  return ding(0, 'ok')
}

/** The bot of Feishu or Lark with a signature. */
export const feishuBot: Answerer = ({ url, body }) => {
  const said = (code: number, msg: string) => json({ code, msg, data: {} })
  if (url.pathname !== '/open-apis/bot/v2/hook/f00dcafe-0123-4567-89ab-cdef01234567')
    return said(19001, 'param invalid: incoming webhook access token invalid')
  if (Buffer.byteLength(body) > 20 * 1024) return said(9499, 'Bad Request')
  const { timestamp, sign, msg_type, card } = JSON.parse(body)
  const expected = createHmac('sha256', `${timestamp}\n${SECRETS.feishu}`).update('').digest('base64')
  const isRecent = Math.abs(Date.now() - Number(timestamp) * 1000) < HOUR_MS
  if (sign !== expected || !isRecent)
    return said(19021, 'sign match fail or timestamp is not within one hour from current time')
  if (msg_type !== 'interactive' || card.header.title.tag !== 'plain_text') return said(9499, 'Bad Request')
  return json({ code: 0, msg: 'success', data: {}, Extra: null, StatusCode: 0, StatusMessage: 'success' })
}

interface Block {
  type: string
  text: { type: string; text: string }
}

/** Slack's incoming webhook. */
export const slackWebhook: Answerer = ({ url, body }) => {
  if (url.pathname !== '/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX') return [404, 'no_service']
  const { text: fallback, blocks } = JSON.parse(body) as { text: string; blocks: Block[] }
  const fits = ({ type, text: { type: kind, text: held } }: Block) =>
    type === 'header'
      ? kind === 'plain_text' && held.length >= 1 && held.length <= 150
      : kind === 'mrkdwn' && held.length >= 1 && held.length <= 3000
  if (!fallback) return [400, 'no_text']
  if (blocks.length > 50 || !blocks.every(fits)) return [400, 'invalid_blocks']
  return [200, 'ok']
}

/** A receiver that verifies with the library of Standard Webhooks. */
export const standardReceiver: Answerer = ({ headers, body }) => {
  try {
    new Webhook(SECRETS.webhook).verify(body, headers as Record<string, string>)
    return [202, '']
  } catch {
    return [401, 'bad signature']
  }
}
