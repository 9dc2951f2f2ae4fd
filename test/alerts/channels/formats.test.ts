import { describe, expect, onTestFinished, test } from 'vitest'
import type { ChannelKind } from '../../../src/alerts/channel.ts'
import { openChannel } from '../../../src/alerts/channels/index.ts'
import type { ChannelMessage } from '../../../src/alerts/message.ts'
import { LANGUAGES } from '../../../src/texts/texts.ts'
import { blocksOf } from '../../docs/pages.ts'
import { floodMessage, hostileMessage, sampleMessages } from '../sample-messages.ts'
import { startReceiver } from './receiver.ts'

/** What a channel sends, as its receiver reads it. */
async function sent(kind: ChannelKind, message: ChannelMessage) {
  const receiver = await startReceiver(() => [200, kind === 'slack' ? 'ok' : '{"errcode":0,"code":0}'])
  onTestFinished(() => receiver[Symbol.asyncDispose]())
  const channel = openChannel({
    name: 'ops',
    kind,
    url: `${receiver.origin}/x`,
    secret: null,
    least: 'warning',
    language: message.language,
    mention: [],
    from: null,
    to: [],
  })
  onTestFinished(() => channel.close())
  await channel.send(message, 'm-1', AbortSignal.timeout(5000))
  const [arrival] = receiver.arrivals
  return { ...arrival, content: JSON.parse(arrival?.body ?? '') }
}

interface Div {
  tag: string
  text?: { tag: string; content: string }
}

/** The text that people read, of each chat. */
const READ = {
  dingtalk: content => content.markdown.text,
  wecom: content => content.markdown.content,
  feishu: content =>
    [content.card.header.title.content, ...content.card.elements.map(({ text }: Div) => text?.content)].join(
      '\n',
    ),
  slack: content => content.blocks.map(({ text }: { text: { text: string } }) => text.text).join('\n'),
  // biome-ignore lint/suspicious/noExplicitAny: each chat has a document of its own
} satisfies Partial<Record<ChannelKind, (content: any) => string>>
const CHATS = Object.keys(READ) as (keyof typeof READ)[]

/** Each of these stands in the text, in this order. */
function expectInOrder(text: string, parts: readonly string[]): void {
  let at = 0
  for (const part of parts) {
    const found = text.indexOf(part, at)
    expect(found, `${part} in ${text.slice(at)}`).toBeGreaterThanOrEqual(0)
    at = found + part.length
  }
}

describe.each(CHATS)('%s', kind => {
  const read = async (message: ChannelMessage) => READ[kind]((await sent(kind, message)).content)

  test.each(LANGUAGES)(
    'names in %s the problem, its severity, since when, the remedy and a link',
    async language => {
      const { one } = sampleMessages(language)
      const [alert] = one.alerts
      const text = await read(one)
      const [critical, steps] =
        language === 'en' ? ['critical', 'Details and steps'] : ['严重', '详情与处理步骤']
      expectInOrder(text, [
        one.title,
        `${critical} · ${alert?.when}`,
        alert?.what ?? '',
        alert?.remedy ?? '',
        steps === undefined ? '' : (alert?.url ?? ''),
      ])
      expect(text).toContain(steps)
      // The heading has said it.
      expect(text.split(alert?.title ?? '')).toHaveLength(2)
    },
  )

  test('does not repeat what the heading already says', async () => {
    const { recovered, several } = sampleMessages('en')
    const text = await read(recovered)
    expect(text.split('recovered')).toHaveLength(2)
    expect(text).toMatch(/\n13:58 to 14:17, for 19 min/)
    const again = several.alerts.filter(({ event }) => event === 'repeated')
    const repeated = await read({ ...several, title: `dirsync: still: ${again[0]?.title}`, alerts: again })
    expect(repeated).toContain('\nwarning · since 10:17')
    expect(repeated).not.toContain('still firing')
  })

  test('has the worst first and what is over last, and tells new from old', async () => {
    const text = await read(sampleMessages('en').several)
    expectInOrder(text, [
      '🔴 ',
      'Halted: everything',
      'critical · since 14:05',
      '🟠 ',
      'Many new cases',
      'warning · since 14:16',
      '🟠 ',
      'Run 1204 waits',
      'warning, still firing · since 10:17',
      '✅ ',
      'No worker',
      'recovered · 13:58 to 14:17, for 19 min',
    ])
    expect(text).not.toContain('/alerts/rules/role_missing')
  })

  test('a command stands out where the chat can show it', async () => {
    const text = await read(sampleMessages('en').several)
    const marked = kind === 'wecom' || kind === 'slack'
    expect(text).toContain(`with ${marked ? '`dirsync plan 1204`' : 'dirsync plan 1204'}, then approve`)
  })

  test('a summary and a test say what they are', async () => {
    const { summary, test: tried } = sampleMessages('en')
    expectInOrder(await read(summary), [summary.title, 'Halted', '14 more alerts are in the console'])
    expectInOrder(await read(tried), [tried.title, 'Alerts reach you on this channel.'])
  })

  test('without CONSOLE_URL there is no link', async () => {
    const { several } = sampleMessages('en')
    const alerts = several.alerts.map(alert => ({ ...alert, url: null }))
    const { body } = await sent(kind, { ...several, url: null, alerts })
    expect(body).not.toMatch(/https?:/)
    expect(body).not.toContain('Open the console')
  })

  test.each(LANGUAGES)(
    'cuts at the border of an alert and says in %s how many more there are',
    async language => {
      const message = floodMessage(language, 60)
      const text = await read(message)
      const shown = text.split(/(?:critical|warning|严重|警告) · /).length - 1
      expect(shown).toBeGreaterThan(0)
      expect(shown).toBeLessThanOrEqual(10)
      expect(text).toContain(
        language === 'en' ? `${60 - shown} more alerts are` : `另有 ${60 - shown} 条告警`,
      )
      // The last one is the worst.
      expect(text).toMatch(/(?:critical|严重) · /)
      expect(text).not.toContain('\ufffd')
    },
  )

  test('no text written by a person becomes a link, a mention or markup', async () => {
    const { body, content } = await sent(kind, hostileMessage())
    const marked =
      kind === 'feishu'
        ? content.card.elements
            .flatMap(({ text }: Div) => (text?.tag === 'lark_md' ? [text.content] : []))
            .join('\n')
        : kind === 'slack'
          ? content.blocks
              .filter(({ text }: { text: { type: string } }) => text.type === 'mrkdwn')
              .map(({ text }: { text: { text: string } }) => text.text)
              .concat(content.text)
              .join('\n')
          : READ[kind](content)
    const links = kind === 'slack' ? /<([^>]*)>/g : /\]\(([^)]*)\)/g
    const targets = [...marked.matchAll(links)].map(([, target = '']) => target)
    expect(targets.length).toBeGreaterThan(0)
    for (const target of targets) expect(target).toMatch(/^https:\/\/dirsync\.example\.com\//)
    if (kind !== 'slack') {
      expect(marked).not.toMatch(/[<>]/)
      expect(marked).not.toMatch(/\*\*b\*\*/)
      // Only our own line is a heading.
      expect(marked.split('\n').filter((line: string) => /^\s*#(?!## )/.test(line))).toEqual([])
    } else for (const { text } of content.blocks.slice(1)) expect(text.verbatim).toBe(true)
    expect(body).toContain('evil.example')
  })
})

describe('dingtalk', () => {
  test('has the heading as its title, which notifications show', async () => {
    const { content } = await sent('dingtalk', sampleMessages('zh-CN').one)
    expect(content).toMatchObject({ msgtype: 'markdown', markdown: { title: '🔴 dirsync: 已停止：全部' } })
    expect(content).not.toHaveProperty('at')
  })
})

describe('wecom', () => {
  test('keeps to 4,096 bytes, which are few in Chinese', async () => {
    for (const count of [1, 2, 3, 7]) {
      const { content } = await sent('wecom', floodMessage('zh-CN', count))
      const bytes = Buffer.byteLength(content.markdown.content)
      expect(bytes).toBeLessThanOrEqual(4096)
      expect(bytes).toBeGreaterThan(1500)
    }
  })
})

describe('feishu', () => {
  test.each([
    ['one', 'red'],
    ['recovered', 'green'],
    ['test', 'blue'],
  ] as const)('%s has a header that is %s', async (occasion, colour) => {
    const { content } = await sent('feishu', sampleMessages('zh-CN')[occasion])
    expect(content.card.header.template).toBe(colour)
  })

  test('leads to the console by a button', async () => {
    const { content } = await sent('feishu', sampleMessages('zh-CN').one)
    expect(content.card.elements.at(-1)).toMatchObject({
      tag: 'action',
      actions: [
        { tag: 'button', url: 'https://dirsync.example.com/alerts', text: { content: '打开控制台' } },
      ],
    })
  })
})

describe('a webhook', () => {
  test('gets everything as data', async () => {
    const { several } = sampleMessages('en')
    const { content, headers } = await sent('webhook', several)
    expect(headers).toMatchObject({
      'webhook-id': expect.stringMatching(/^dirsync-m-1-[0-9a-f]{12}$/),
      'webhook-timestamp': expect.stringMatching(/^\d{10}$/),
    })
    const { alerts, ...data } = content.data
    expect({ ...content, data }).toEqual({
      type: 'alerts',
      timestamp: '2026-11-22T06:17:30.000Z',
      data: {
        deployment: { id: several.deployment?.id, name: null },
        channel: 'ops',
        language: 'en',
        severity: 'critical',
        title: several.title,
        note: null,
        url: 'https://dirsync.example.com/alerts',
      },
    })
    expect(alerts.map(({ rule }: { rule: string }) => rule)).toEqual([
      'halt',
      'cases_jump',
      'held_run',
      'role_missing',
    ])
    expect(alerts.at(-1)).toEqual({
      key: 'role_missing:worker',
      rule: 'role_missing',
      subject: 'worker',
      severity: 'critical',
      event: 'recovered',
      title: 'No worker',
      what: 'A worker is running again.',
      remedy: null,
      url: 'https://dirsync.example.com/alerts/rules/role_missing',
      since: '2026-11-22T05:58:30.000Z',
      ended_at: '2026-11-22T06:17:30.000Z',
      facts: { minutes: 19 },
    })
  })

  test('has an id that later texts do not change, and that other deployments do not share', async () => {
    const { one } = sampleMessages('en')
    const idOf = async (message: ChannelMessage) => (await sent('webhook', message)).headers?.['webhook-id']
    const id = await idOf(one)
    const later = {
      ...one,
      at: new Date(),
      title: 'dirsync',
      alerts: [{ ...one.alerts[0], when: 'for 2 h' }],
    }
    expect(await idOf(later as ChannelMessage)).toBe(id)
    expect(await idOf({ ...one, url: 'https://other.example.com/alerts' })).not.toBe(id)
    expect(
      await idOf({ ...one, alerts: one.alerts.map(alert => ({ ...alert, since: new Date(0) })) }),
    ).not.toBe(id)
  })

  test('gets what docs/alerts.md shows', async () => {
    const [documented] = blocksOf('docs/alerts.md').filter(({ language }) => language === 'json')
    const shown = JSON.parse(documented?.text ?? '')
    const { title, what, remedy, facts } = shown.data.alerts[0]
    const { one } = sampleMessages('en')
    const told = {
      ...one,
      title: shown.data.title,
      alerts: one.alerts.map(alert => ({ ...alert, title, what, remedy })),
    }
    const { content } = await sent('webhook', told as ChannelMessage)
    content.data.alerts[0].facts = facts
    expect(shown).toEqual(content)
  })

  test('gets all alerts, however many, uncut', async () => {
    const message = floodMessage('en', 60)
    const { content } = await sent('webhook', message)
    expect(content.data.alerts).toHaveLength(60)
    expect(content.data.alerts[1].what).toBe(message.alerts[0]?.what)
  })

  test('has no severity for a recovery', async () => {
    expect((await sent('webhook', sampleMessages('en').recovered)).content.data.severity).toBeNull()
  })
})
