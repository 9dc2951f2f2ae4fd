import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { AlertEvent, Draft, RaisedAlert } from '../../src/alerts/decide.ts'
import { compose, deliveryId } from '../../src/alerts/message.ts'
import { RULES, type RuleName } from '../../src/alerts/rule.ts'
import type { Language } from '../../src/texts/texts.ts'

const NOW = new Date('2026-11-22T10:00:00Z')
const DEPLOYMENT = { id: 'd-1', name: null }
const AT = { now: NOW, stop: null, consoleUrl: 'https://dirsync.example.com', deployment: DEPLOYMENT }
const MINUTE = 60_000

// Times are in the zone of the process.
const zone = process.env.TZ
beforeAll(() => {
  process.env.TZ = 'Asia/Shanghai'
})
afterAll(() => {
  if (zone === undefined) delete process.env.TZ
  else process.env.TZ = zone
})

function event(
  rule: RuleName,
  what: AlertEvent,
  differs: Partial<RaisedAlert> = {},
): Draft['events'][number] {
  const isOver = what === 'recovered'
  return {
    event: what,
    alert: {
      ...{ id: 7, rule, subject: '', severity: RULES[rule].severity, facts: { count: 30 } },
      ...{ state: isOver ? 'ended' : 'firing', since: new Date(NOW.getTime() - 200 * MINUTE) },
      ...{ goneAt: isOver ? NOW : null, endedAt: isOver ? NOW : null, returns: 0, acknowledged: null },
      ...differs,
    },
  }
}

const draft = (...events: Draft['events']) => ({ kind: 'alerts', events, silentUntil: null }) as const
const message = (
  language: Language,
  of: Parameters<typeof compose>[1],
  at: Parameters<typeof compose>[2] = AT,
) => compose(language, of, at, { messagesPerHour: 20 })

test('names the person who acknowledged an alert, with what they said', () => {
  const taken = (reason: string | null) =>
    message(
      'en',
      draft(event('halt', 'acknowledged', { acknowledged: { by: 'dirsync (console:anna)', reason } })),
    )
  const [alert] = taken('the vendor renews it').alerts
  expect(alert).toMatchObject({ event: 'acknowledged', remedy: null })
  expect(alert?.what).toBe('anna is on it: the vendor renews it')
  expect(taken(null).alerts[0]?.what).toBe('anna is on it.')
})

test.each(['en', 'zh-CN'] as const)('the title names the deployment that has a name, in %s', language => {
  const at = { ...AT, deployment: { id: 'd-1', name: 'production' } }
  const one = draft(event('tokens', 'raised'))
  const several = draft(event('tokens', 'raised'), event('halt', 'recovered', { id: 8 }))
  for (const told of [one, several]) {
    const { title, deployment } = message(language, told, at)
    expect(title).toBe(`production · ${message(language, told).title}`)
    expect(deployment).toEqual(at.deployment)
  }
})

test('a message has everything that a channel shows, and leads to the console and the runbook', () => {
  expect(message('en', draft(event('tokens', 'raised')))).toEqual({
    kind: 'alerts',
    language: 'en',
    tone: 'warning',
    title: expect.stringMatching(/^dirsync: \S/),
    deployment: DEPLOYMENT,
    alerts: [
      {
        ...{ key: 'tokens', rule: 'tokens', subject: '', severity: 'warning', event: 'raised' },
        title: expect.any(String),
        what: expect.stringContaining('30'),
        when: 'since 14:40 UTC+8, for 3 h 20 min',
        remedy: expect.any(String),
        url: 'https://dirsync.example.com/alerts/rules/tokens',
        since: new Date('2026-11-22T06:40:00Z'),
        endedAt: null,
        facts: { count: 30 },
      },
    ],
    note: null,
    url: 'https://dirsync.example.com/alerts',
    urlText: 'Open the console',
    at: NOW,
  })
})

test('without a console it leads nowhere', () => {
  const told = message('en', draft(event('tokens', 'raised')), { ...AT, consoleUrl: null })
  expect([told.url, told.alerts[0]?.url]).toEqual([null, null])
})

test('what is over needs no remedy, and says how long it lasted', () => {
  const told = message('en', draft(event('tokens', 'recovered')))
  expect(told).toMatchObject({ tone: 'recovered', title: expect.stringMatching(/^dirsync: recovered: \S/) })
  expect(told.alerts[0]).toMatchObject({
    remedy: null,
    when: '14:40 to 18:00 UTC+8, for 3 h 20 min',
  })
  expect(told.alerts[0]?.what).not.toBe(message('en', draft(event('tokens', 'raised'))).alerts[0]?.what)
})

describe('the title of several', () => {
  const [halt, tokens] = [event('halt', 'raised'), event('tokens', 'repeated')]
  const over = event('clock', 'recovered')

  test.each([
    [[halt, tokens], 'dirsync: 2 alerts, the worst critical', 'dirsync：2 条告警，最高级别为严重'],
    [
      [tokens, over],
      'dirsync: 1 alert, warning; 1 recovered',
      'dirsync：1 条告警，最高级别为警告；1 条已恢复',
    ],
    [[over, over], 'dirsync: 2 alerts recovered', 'dirsync：2 条告警已恢复'],
  ])('counts: %#', (events, english, chinese) => {
    expect(message('en', draft(...events)).title).toBe(english)
    expect(message('zh-CN', draft(...events)).title).toBe(chinese)
  })

  test('says of one that it goes on', () => {
    expect(message('en', draft(tokens)).title).toMatch(/^dirsync: still: \S/)
    expect(message('zh-CN', draft(tokens)).title).toMatch(/^dirsync：仍未恢复：\S/)
  })
})

test.each([
  [0, 'since 18:00 UTC+8', '18:00 UTC+8 起'],
  [59_000, 'since 17:59 UTC+8', '17:59 UTC+8 起'],
  [MINUTE, 'since 17:59 UTC+8, for 1 min', '17:59 UTC+8 起，已持续 1 分钟'],
  [60 * MINUTE, 'since 17:00 UTC+8, for 1 h', '17:00 UTC+8 起，已持续 1 小时'],
  [1441 * MINUTE, 'since 11-21 17:59 UTC+8, for 1 d', '11-21 17:59 UTC+8 起，已持续 1 天'],
  [3000 * MINUTE, 'since 11-20 16:00 UTC+8, for 2 d 2 h', '11-20 16:00 UTC+8 起，已持续 2 天 2 小时'],
])('what has held for %d ms says so', (ms, english, chinese) => {
  const of = draft(event('tokens', 'raised', { since: new Date(NOW.getTime() - ms) }))
  expect(message('en', of).alerts[0]?.when).toBe(english)
  expect(message('zh-CN', of).alerts[0]?.when).toBe(chinese)
})

test('of more than fifty the first fifty are told, and the others counted', () => {
  const events = Array.from({ length: 55 }, () => event('tokens', 'raised'))
  expect(message('en', draft(...events))).toMatchObject({
    title: 'dirsync: 55 alerts, the worst warning',
    alerts: expect.objectContaining({ length: 50 }),
    note: '5 more are on the console’s alerts page.',
  })
})

test('a summary counts, and says when there is more', () => {
  const of: Parameters<typeof compose>[1] = {
    kind: 'summary',
    events: [event('halt', 'raised'), event('tokens', 'raised')],
    silentUntil: new Date('2026-11-22T10:25:00Z'),
  }
  expect(message('en', of)).toMatchObject({
    kind: 'summary',
    tone: 'critical',
    title: 'dirsync: 2 more alerts, the worst critical',
    alerts: [],
    note: 'This channel has had its 20 messages for this hour. 2 more alerts are in the console; what still holds at 18:25 UTC+8 is sent then.',
  })
  expect(message('zh-CN', of)).toMatchObject({
    title: 'dirsync：另有 2 条告警，最高级别为严重',
    note: '该渠道一小时内的 20 条消息额度已用完，另有 2 条告警，请在控制台查看；到 18:25 UTC+8 仍未恢复的会再次通知。',
  })
})

test('a summary that counts more when it is tried again is the same message to its receiver', () => {
  const of = (minutes: number, id = 'd-1') => {
    const silentUntil = new Date(NOW.getTime() + 30 * MINUTE)
    const summary = { ...draft(event('halt', 'raised')), kind: 'summary' as const, silentUntil }
    const at = { ...AT, now: new Date(NOW.getTime() + minutes * MINUTE), deployment: { id, name: null } }
    return deliveryId(message('en', summary, at), '12')
  }
  expect(of(1)).toBe(of(0))
  expect(of(0, 'd-2')).not.toBe(of(0))
})

test('a lost process is named in every language, its roles in that of the reader', () => {
  const lost = event('process_lost', 'raised', { subject: 'h (7)', facts: { roles: 'scheduler, worker' } })
  const [alert] = message('zh-CN', draft(lost)).alerts
  expect(alert).toMatchObject({
    title: expect.stringContaining('h (7)'),
    what: expect.stringContaining('调度进程、工作进程'),
  })
  expect(message('en', draft(lost)).alerts[0]?.what).toContain('scheduler, worker')
})
