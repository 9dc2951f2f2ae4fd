import { describe, expect, onTestFinished, test } from 'vitest'
import { type Channel, ChannelError, type ChannelSettings, targetOf } from '../../../src/alerts/channel.ts'
import { openChannel } from '../../../src/alerts/channels/index.ts'
import { LANGUAGES } from '../../../src/texts/texts.ts'
import { floodMessage, sampleMessages } from '../sample-messages.ts'
import {
  type Answerer,
  dingtalkRobot,
  feishuBot,
  type Receiver,
  SECRETS,
  slackWebhook,
  standardReceiver,
  startReceiver,
  wecomRobot,
} from './receiver.ts'

type HttpKind = 'dingtalk' | 'wecom' | 'feishu' | 'slack' | 'webhook'

const KINDS: Record<HttpKind, { robot: Answerer; path: string; secret: string | null; says: string }> = {
  dingtalk: {
    robot: dingtalkRobot,
    path: '/robot/send?access_token=ding-token-0123456789',
    secret: SECRETS.dingtalk,
    says: '0 ok',
  },
  wecom: {
    robot: wecomRobot,
    path: '/cgi-bin/webhook/send?key=693a91f6-7xxx-4bc4-97a0-0ec2sifa5aaa',
    secret: null,
    says: '0 ok',
  },
  feishu: {
    robot: feishuBot,
    path: '/open-apis/bot/v2/hook/f00dcafe-0123-4567-89ab-cdef01234567',
    secret: SECRETS.feishu,
    says: '0 success',
  },
  slack: {
    robot: slackWebhook,
    path: '/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX',
    secret: null,
    says: 'ok',
  },
  webhook: { robot: standardReceiver, path: '/hooks/ops', secret: SECRETS.webhook, says: 'HTTP 202' },
}
const NAMES = Object.keys(KINDS) as HttpKind[]

async function receiverOf(answer: Answerer): Promise<Receiver> {
  const receiver = await startReceiver(answer)
  onTestFinished(() => receiver[Symbol.asyncDispose]())
  return receiver
}

function channelAt(origin: string, kind: HttpKind, changes: Partial<ChannelSettings> = {}): Channel {
  const { path, secret } = KINDS[kind]
  const channel = openChannel({
    name: 'ops',
    kind,
    url: origin + path,
    secret,
    least: 'warning',
    language: 'en',
    mention: [],
    from: null,
    to: [],
    ...changes,
  })
  onTestFinished(() => channel.close())
  return channel
}

const { one } = sampleMessages('en')
const patience = () => AbortSignal.timeout(5000)
const failureOf = (channel: Channel) =>
  channel.send(one, 'm-1', patience()).then(
    answer => expect.unreachable(`it was taken: ${answer}`),
    (error: unknown) => {
      expect(error).toBeInstanceOf(ChannelError)
      return error as ChannelError
    },
  )

describe.each(NAMES)('%s', kind => {
  const { robot, says } = KINDS[kind]

  test.each(LANGUAGES)('takes every message in %s, signed as it asks', async language => {
    const receiver = await receiverOf(robot)
    const channel = channelAt(receiver.origin, kind)
    for (const [occasion, message] of Object.entries(sampleMessages(language)))
      expect(await channel.send(message, `m-${occasion}`, patience()), occasion).toBe(says)
    expect(receiver.arrivals).toHaveLength(5)
    expect(new Set(receiver.arrivals.map(({ method }) => method))).toEqual(new Set(['POST']))
  })

  test.each(LANGUAGES)('takes sixty alerts with long texts in %s', async language => {
    const receiver = await receiverOf(robot)
    const channel = channelAt(receiver.origin, kind)
    expect(await channel.send(floodMessage(language, 60), 'm-1', patience())).toBe(says)
  })

  test('is named only by its host, and its secrets are never shown', async () => {
    const receiver = await receiverOf(robot)
    const { settings } = channelAt(receiver.origin, kind)
    expect(targetOf(settings)).toBe(new URL(receiver.origin).host)
    expect(settings.url).toContain(receiver.origin)
  })
})

describe.each([
  [
    'dingtalk',
    ['+86-13900000001', '13900000002'],
    ['"at":{"atMobiles":["+86-13900000001","13900000002"],"isAtAll":false}', '@+86-13900000001 @13900000002'],
  ],
  ['dingtalk', ['all'], ['"at":{"atMobiles":[],"isAtAll":true}']],
  ['wecom', ['ops.one', 'ops-two'], ['<@ops.one> <@ops-two>']],
  ['feishu', ['ou_0123', 'all'], ['<at id=ou_0123></at> <at id=all></at>']],
  ['slack', ['U0123456', 'W0123456'], ['<@U0123456> <@W0123456>']],
  ['slack', ['all'], ['<!channel>']],
] as [HttpKind, string[], string[]][])('%s mentions %j', (kind, mention, written) => {
  const { robot } = KINDS[kind]
  const { one, recovered, summary, test: trial } = sampleMessages('en')
  const repeated = { ...one, alerts: one.alerts.map(alert => ({ ...alert, event: 'repeated' as const })) }
  const taken = { ...one, alerts: one.alerts.map(alert => ({ ...alert, event: 'acknowledged' as const })) }
  const warning = { ...one, alerts: one.alerts.map(alert => ({ ...alert, severity: 'warning' as const })) }

  test.each([
    ['what is critical', one, true],
    ['what is critical and goes on', repeated, true],
    ['a test', trial, true],
    ['sixty alerts', floodMessage('zh-CN', 60), true],
    ['what is over', recovered, false],
    ['what is acknowledged', taken, false],
    ['a warning', warning, false],
    ['a summary', summary, false],
  ] as const)('%s', async (_, message, isMentioned) => {
    const receiver = await receiverOf(robot)
    await channelAt(receiver.origin, kind, { mention }).send(message, 'm-1', patience())
    const body = receiver.arrivals[0]?.body ?? ''
    for (const text of written) expect(body.includes(text)).toBe(isMentioned)
    if (!isMentioned) expect(body).not.toMatch(/"at":|<@|<at |<!channel>/)
  })
})

describe('a refusal is understood', () => {
  const json =
    (body: unknown): Answerer =>
    () => [200, JSON.stringify(body)]
  const status =
    (code: number, body = '', headers = {}): Answerer =>
    () => [code, body, headers]
  test.each([
    [
      'dingtalk',
      json({ errcode: 310000, errmsg: 'keywords not in content' }),
      'REFUSED',
      null,
      '310000 keywords not in content',
    ],
    [
      'dingtalk',
      json({ errcode: 130101, errmsg: 'send too fast, exceed 20 times per minute' }),
      'LIMITED',
      600_000,
      '130101 send too fast',
    ],
    ['dingtalk', json({ errcode: -1, errmsg: '系统繁忙' }), 'UNAVAILABLE', null, '-1 系统繁忙'],
    ['dingtalk', json({ status: 1111, punish: 'deny' }), 'UNAVAILABLE', null, 'punish'],
    ['dingtalk', status(200, '<html>login</html>'), 'UNAVAILABLE', null, 'HTTP 200'],
    [
      'wecom',
      json({ errcode: 93000, errmsg: 'invalid webhook url' }),
      'REFUSED',
      null,
      '93000 invalid webhook url',
    ],
    ['wecom', json({ errcode: 45009, errmsg: 'api freq out of limit' }), 'LIMITED', 60_000, '45009 api freq'],
    [
      'feishu',
      json({ code: 19024, msg: 'Key Words Not Found' }),
      'REFUSED',
      null,
      '19024 Key Words Not Found',
    ],
    ['feishu', json({ code: 11232, msg: 'frequency limited psm[x]appID[1500]' }), 'LIMITED', 60_000, '11232'],
    ['feishu', () => [400, '{"code":9499,"msg":"Bad Request"}'], 'REFUSED', null, '9499 Bad Request'],
    ['slack', status(404, 'no_service'), 'REFUSED', null, 'HTTP 404: no_service'],
    ['slack', status(403, 'action_prohibited'), 'REFUSED', null, 'action_prohibited'],
    [
      'slack',
      status(429, 'rate_limited', { 'retry-after': '30' }),
      'LIMITED',
      30_000,
      'HTTP 429: rate_limited',
    ],
    ['slack', status(200, 'what?'), 'UNAVAILABLE', null, 'what?'],
    ['slack', status(500, 'rollup_error'), 'UNAVAILABLE', null, 'HTTP 500: rollup_error'],
    ['webhook', status(410), 'REFUSED', null, 'HTTP 410: the receiver is gone'],
    ['webhook', status(404, '<html>nothing here</html>'), 'REFUSED', null, /HTTP 404$/],
    ['webhook', status(408), 'UNAVAILABLE', null, 'HTTP 408'],
    ['webhook', status(429), 'LIMITED', null, 'HTTP 429'],
    ['webhook', status(503, '', { 'retry-after': '7' }), 'LIMITED', 7000, 'HTTP 503'],
    ['webhook', status(502, 'bad gateway'), 'UNAVAILABLE', null, 'HTTP 502: bad gateway'],
  ] as [HttpKind, Answerer, string, number | null, string | RegExp][])(
    '%s: case %#',
    async (kind, answer, code, retryAfterMs, said) => {
      const receiver = await receiverOf(answer)
      const failure = await failureOf(channelAt(receiver.origin, kind))
      expect(failure).toMatchObject({ code: `CHANNEL_${code}`, retryAfterMs })
      expect(failure.message).toMatch(said)
      expect(failure.message).toContain(new URL(receiver.origin).host)
    },
  )

  test.each(['dingtalk', 'feishu', 'webhook'] as const)('a wrong secret is refused by %s', async kind => {
    const receiver = await receiverOf(KINDS[kind].robot)
    const secret = kind === 'webhook' ? `whsec_${Buffer.alloc(32).toString('base64')}` : 'another'
    const failure = await failureOf(channelAt(receiver.origin, kind, { secret }))
    expect(failure.code).toBe('CHANNEL_REFUSED')
    expect(failure.message).toMatch(/sign/)
  })

  test.each(['dingtalk', 'wecom', 'feishu', 'slack'] as const)(
    'a wrong address is refused by %s',
    async kind => {
      const receiver = await receiverOf(KINDS[kind].robot)
      const failure = await failureOf(
        channelAt(`${receiver.origin}`, kind, { url: `${receiver.origin}/wrong/path?key=1` }),
      )
      expect(failure.code).toBe('CHANNEL_REFUSED')
    },
  )
})

describe('whatever the server does', () => {
  test('a redirect is not followed', async () => {
    const elsewhere = await receiverOf(standardReceiver)
    const receiver = await receiverOf(() => [307, '', { location: elsewhere.origin }])
    const failure = await failureOf(channelAt(receiver.origin, 'webhook'))
    expect(failure).toMatchObject({ code: 'CHANNEL_REFUSED', message: expect.stringContaining('redirect') })
    expect(elsewhere.arrivals).toEqual([])
  })

  test('an endless answer is cut off', async () => {
    const receiver = await receiverOf((_, response) => {
      response.writeHead(200)
      const pour = () => {
        while (response.write('x'.repeat(16_384))) if (response.destroyed) return
      }
      response.on('drain', pour)
      pour()
      return null
    })
    const failure = await failureOf(channelAt(receiver.origin, 'webhook'))
    expect(failure).toMatchObject({
      code: 'CHANNEL_UNAVAILABLE',
      message: expect.stringContaining('longer than 65536 bytes'),
    })
  })

  test('a broken connection and a closed port are reported', async () => {
    const receiver = await receiverOf((_, response) => {
      response.socket?.resetAndDestroy()
      return null
    })
    expect((await failureOf(channelAt(receiver.origin, 'webhook'))).message).toMatch(/ECONNRESET|socket/)
    const closed = await failureOf(channelAt('http://127.0.0.1:1', 'webhook'))
    expect(closed).toMatchObject({
      code: 'CHANNEL_UNAVAILABLE',
      message: expect.stringContaining('ECONNREFUSED'),
    })
  })

  test('the caller may give up, and so does closing', async () => {
    const receiver = await receiverOf(() => null)
    const channel = channelAt(receiver.origin, 'slack')
    const giveUp = new AbortController()
    const given = channel.send(one, 'm-1', giveUp.signal)
    await expect.poll(() => receiver.arrivals.length).toBe(1)
    giveUp.abort(new Error('the process stops'))
    await expect(given).rejects.toMatchObject({
      code: 'CHANNEL_UNAVAILABLE',
      message: expect.stringContaining('the process stops'),
    })
    const closing = channel.send(one, 'm-2', patience())
    closing.catch(() => {})
    await expect.poll(() => receiver.arrivals.length).toBe(2)
    await channel.close()
    await expect(closing).rejects.toMatchObject({ code: 'CHANNEL_UNAVAILABLE' })
  })

  test('one that hangs is left after ten seconds', async () => {
    const receiver = await receiverOf(() => null)
    const began = performance.now()
    const channel = channelAt(receiver.origin, 'dingtalk')
    await expect(channel.send(one, 'm-1', AbortSignal.timeout(60_000))).rejects.toMatchObject({
      code: 'CHANNEL_UNAVAILABLE',
      message: expect.stringContaining('within 10000 ms'),
    })
    expect(performance.now() - began).toBeGreaterThan(9_900)
  })

  test.each(NAMES)('%s never shows its secrets, even if the server quotes them', async kind => {
    // A gateway that quotes the request, whole and in parts, decoded or not.
    const receiver = await receiverOf(({ url, headers }) => [
      400,
      JSON.stringify({
        errcode: 1,
        code: 1,
        errmsg: `${Object.values(SECRETS)} ${decodeURIComponent(url.href)}`,
        msg: `${Object.values(SECRETS)} ${url.pathname}${url.search}`,
        headers,
      }),
    ])
    const failure = await failureOf(channelAt(receiver.origin, kind))
    const { path, secret } = KINDS[kind]
    const tokens = path.split(/[/=?]/).filter(part => part.length > 12)
    for (const hidden of [...tokens, ...(secret ? [secret] : [])])
      expect(JSON.stringify([failure.message, failure.stack, failure.cause])).not.toContain(hidden)
    expect(failure.message.length).toBeLessThan(400)
  })

  test('a webhook with a user and password in its address signs in', async () => {
    const receiver = await receiverOf(({ headers, url }) =>
      headers.authorization === `Basic ${Buffer.from('me:p@ss').toString('base64')}` && url.username === ''
        ? [200, 'thank you']
        : [401, 'who are you?'],
    )
    const url = `${receiver.origin.replace('http://', 'http://me:p%40ss@')}/hook`
    const channel = channelAt(receiver.origin, 'webhook', { url, secret: null })
    expect(await channel.send(one, 'm-1', patience())).toBe('HTTP 200: thank you')
    expect(receiver.arrivals[0]?.headers).not.toHaveProperty('webhook-signature')
  })

  test.each(['me:p%40ss-w0rd', 'a-token-of-the-receiver:'])(
    'does not show that %s was quoted',
    async login => {
      const receiver = await receiverOf(({ headers }) => [200, JSON.stringify(headers)])
      const url = `${receiver.origin.replace('http://', `http://${login}@`)}/hook`
      const answer = await channelAt(receiver.origin, 'webhook', { url, secret: null }).send(
        one,
        'm-1',
        patience(),
      )
      const sent = receiver.arrivals[0]?.headers.authorization ?? expect.unreachable()
      expect(answer).toContain('Basic …')
      expect(answer).not.toContain(String(sent).slice('Basic '.length))
    },
  )
})
