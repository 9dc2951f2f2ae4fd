import { beforeEach, describe, expect, test } from 'vitest'
import { RULE_NAMES } from '../../src/alerts/rule.ts'
import type { AccessRole } from '../../src/console/auth/viewer.ts'
import { startReceiver } from '../alerts/channels/receiver.ts'
import {
  clearAlerts,
  EVERYTHING,
  FACTS,
  judged,
  plantAlert,
  plantChannel,
  plantNotice,
} from '../alerts/planted.ts'
import { duringFile } from '../helpers/during.ts'
import { ConsoleUnderTest } from './console-under-test.ts'

/* Alerts by their routes; test/console/browser/alerts.test.ts has the pages. */

const MARKER = 'hunter2hunter2'

let status = 200
const receiver = duringFile(() =>
  startReceiver(() => [
    status,
    status === 200 ? 'thank you' : 'no such hook',
    { 'content-type': 'text/plain' },
  ]),
)
const console = new ConsoleUnderTest(() => ({
  CONSOLE_URL: 'https://dirsync.example.com',
  ALERT_CHANNEL_OPS: `${receiver.origin}/hook/${MARKER}`,
  ALERT_CHANNEL_BROKEN: `${receiver.origin}/broken/${MARKER}`,
  ALERT_CHANNEL_BROKEN_LANGUAGE: 'zh-CN',
}))
beforeEach(async () => {
  await clearAlerts(console.pool)
  receiver.arrivals.length = 0
  status = 200
})

describe('what programs read', () => {
  test('is what goes on, in their language, with channels that show no secret', async () => {
    const { pool } = console
    await judged(pool)
    await plantChannel(pool, 'ops')
    const alert = await plantAlert(pool, 'held_run')
    await plantNotice(pool, alert, 'ops')
    const answer = await console.ask('viewer', 'GET', '/api/v1/alerts')
    expect(answer.statusCode).toBe(200)
    expect(answer.json()).toMatchObject({
      is_checked: true,
      firing: 1,
      alerts: [
        {
          rule: 'held_run',
          title: 'Run 7 (changes) is waiting for a decision',
          facts: FACTS.held_run.facts,
          told: [{ channel: 'ops', event: 'raised', message_state: 'sent' }],
          kept_back: null,
        },
      ],
      channels: [
        { name: 'broken', state: 'new', testable: true },
        { name: 'ops', state: 'fine', testable: true },
      ],
      quiet_hours: null,
    })
    expect(answer.body).not.toContain(MARKER)
    expect(answer.json().rules).toHaveLength(RULE_NAMES.length)
  })

  test('of a rule is its runbook, and there is no rule of another name', async () => {
    await plantAlert(console.pool, 'clock', { state: 'ended' })
    const rule = (await console.ask('viewer', 'GET', '/api/v1/alerts/rules/clock')).json()
    expect(rule).toMatchObject({
      rule: 'clock',
      severity: 'warning',
      alerts: [],
      lately: [{ rule: 'clock' }],
    })
    expect(rule.runbook.length).toBeGreaterThan(2)
    expect((await console.ask('viewer', 'GET', '/api/v1/alerts/rules/nothing')).statusCode).toBe(404)
  })
})

describe('every rule', () => {
  test.each(['en', 'zh-CN'] as const)(
    'has a page in %s that holds no text of another kind',
    async language => {
      for (const rule of RULE_NAMES) {
        await clearAlerts(console.pool)
        await plantAlert(console.pool, rule)
        await plantAlert(console.pool, rule, { state: 'ended' })
        const page = await console.ask('operator', 'GET', `/alerts/rules/${rule}`, undefined, {
          'accept-language': language,
        })
        expect(page.statusCode, rule).toBe(200)
        expect(page.body, rule).not.toMatch(/undefined|NaN|\[object|\{\w+\}/)
        const main = page.body.slice(page.body.indexOf('<main'))
        expect(/\p{Script=Han}/u.test(main), rule).toBe(language === 'zh-CN')
      }
    },
  )

  test('shows what others wrote as text', async () => {
    const hostile = '<script>alert(1)</script>'
    await plantAlert(console.pool, 'dead_channel', { subject: hostile, facts: { answer: hostile } })
    await plantChannel(console.pool, hostile, { target: hostile, failingMinutes: 5, answer: hostile })
    await console.pool.query(`select dirsync.mute_alert('dead_channel', now() + interval '1 hour', $1)`, [
      hostile,
    ])
    for (const url of ['/alerts', '/alerts/rules/dead_channel', '/alerts/history', '/overview'])
      expect((await console.ask('operator', 'GET', url)).body).not.toContain('<script>alert')
  })
})

describe('taking care of an alert', () => {
  const pageOf = async (role: AccessRole) => (await console.browse(role, 'GET', '/alerts')).body
  const status = async () => (await console.ask('viewer', 'GET', '/api/v1/alerts')).json().alerts

  test('is a form for operators, after which the page names who does it and why', async () => {
    await judged(console.pool)
    const url = `/alerts/acknowledge/${await plantAlert(console.pool, 'clock')}`
    expect(await pageOf('viewer')).not.toContain(url)
    expect(await pageOf('operator')).toContain(`action="${url}"`)
    expect(await status()).toMatchObject([{ rule: 'clock', acknowledged_by: null }])

    const sent = await console.browse('operator', 'POST', url, 'reason=+the+vendor+renews+it+')
    expect({ status: sent.statusCode, to: sent.headers.location }).toEqual({ status: 303, to: '/alerts' })
    const page = await pageOf('viewer')
    expect(page).toMatch(/somebody-operator is on it/)
    expect(page).toContain('the vendor renews it')
    expect(await pageOf('operator')).not.toContain(url)
    expect((await console.commands()).at(-1)).toMatchObject({
      name: 'acknowledge_alert',
      arguments: { reason: 'the vendor renews it' },
    })
  })

  test('is a call for programs, once per alert and not when it is over', async () => {
    await judged(console.pool)
    const id = await plantAlert(console.pool, 'halt')
    const over = await plantAlert(console.pool, 'tokens', { state: 'ended' })
    const take = async (alert: number) =>
      (
        await console.ask('operator', 'POST', `/api/v1/alerts/acknowledge/${alert}`, {
          reason: 'we are on it',
        })
      ).json()
    expect(await take(id)).toMatchObject({ id, acknowledged: true })
    expect(await status()).toMatchObject([
      {
        rule: 'halt',
        acknowledged_by: expect.stringContaining('api:token:operator'),
        acknowledged_reason: 'we are on it',
      },
    ])
    expect(await take(id)).toEqual({
      ...{ id, state: 'firing', acknowledged: false, ended_at: null, acknowledged_at: expect.any(String) },
      acknowledged_by: expect.stringContaining('api:token:operator'),
    })
    expect(await take(over)).toMatchObject({ acknowledged: false, ended_at: expect.any(String) })
    expect(await take(999_999)).toMatchObject({ status: 404, detail: 'there is no alert 999999' })
    const tooLong = { reason: 'x'.repeat(501) }
    expect(
      (await console.ask('operator', 'POST', `/api/v1/alerts/acknowledge/${id}`, tooLong)).statusCode,
    ).toBe(422)
  })
})

describe('an alert that is over', () => {
  test('still says what was wrong, with the code of the platform, and who took it over and why', async () => {
    const { facts } = FACTS.halt
    const id = await plantAlert(console.pool, 'halt', { facts: { ...facts, platform_code: 1000210003 } })
    await console.ask('operator', 'POST', `/api/v1/alerts/acknowledge/${id}`, { reason: 'we bind it' })
    await console.pool.query(`update dirsync.alert set state = 'ended', ended_at = now()`)
    for (const url of ['/alerts/history', '/alerts/rules/halt']) {
      const { body } = await console.browse('viewer', 'GET', url)
      for (const text of [facts.message, '1000210003', 'taken over by', 'we bind it'])
        expect(body, url).toContain(text)
    }
  })
})

describe('a mute', () => {
  test('is offered with what it does not keep back', async () => {
    const page = (await console.browse('operator', 'GET', '/alerts')).body
    expect(page).toContain('A channel that was told of one before still hears when it is over.')
  })

  test('keeps a rule quiet until a time, and is ended', async () => {
    const day = new Date(Date.now() + 2 * 86_400_000).toISOString().slice(0, 10)
    const muted = await console.ask('operator', 'POST', '/api/v1/alerts/mute', {
      ...{ rule: 'clock', until: `${day}T09:30`, zone: 'Asia/Shanghai', reason: 'we are on it' },
    })
    expect(muted.json()).toEqual({ rule: 'clock', subject: null, until: `${day}T01:30:00.000Z` })
    const { rows } = await console.pool.query('select rule, reason, muted_by from dirsync.alert_mute')
    expect(rows).toEqual([
      { rule: 'clock', reason: 'we are on it', muted_by: expect.stringContaining('api:token:operator') },
    ])
    expect((await console.commands()).at(-1)).toMatchObject({
      name: 'mute_alert',
      arguments: { rule: 'clock' },
    })
    const unmute = () => console.ask('operator', 'POST', '/api/v1/alerts/unmute', { rule: 'clock' })
    expect((await unmute()).json()).toEqual({ rule: 'clock', subject: null, unmuted: true })
    expect((await unmute()).json()).toMatchObject({ unmuted: false })
  })

  test.each([
    ['no time', { rule: 'clock', reason: 'x' }, /in the next 30 days/],
    ['no reason', { rule: 'clock', for: '1h' }, /reason/],
    ['an empty reason', { rule: 'clock', for: '1h', reason: ' ' }, /reason/],
    ['a rule that there is not', { rule: 'nothing', for: '1h', reason: 'x' }, /rule should be one of halt/],
    ['a time too far away', { rule: 'clock', until: '2099-01-01T00:00:00Z', reason: 'x' }, /30 days/],
  ])('with %s is refused in a sentence', async (_, body, detail) => {
    const answer = await console.ask('operator', 'POST', '/api/v1/alerts/mute', body)
    expect(answer.statusCode).toBe(422)
    expect(answer.json().detail).toMatch(detail)
    expect((await console.pool.query('select from dirsync.alert_mute')).rowCount).toBe(0)
  })
})

describe('quiet hours', () => {
  test('are set, changed and ended', async () => {
    const hours = { starts: '22:00', ends: '07:00', time_zone: 'Asia/Shanghai' }
    expect((await console.ask('operator', 'POST', '/api/v1/alerts/quiet-hours', hours)).json()).toEqual(hours)
    const changed = { ...hours, ends: '06:30' }
    await console.ask('operator', 'POST', '/api/v1/alerts/quiet-hours', changed)
    expect((await console.ask('viewer', 'GET', '/api/v1/alerts')).json().quiet_hours).toMatchObject(changed)
    const clear = () => console.ask('operator', 'POST', '/api/v1/alerts/quiet-hours/clear', {})
    expect((await clear()).json()).toEqual({ cleared: true })
    expect((await clear()).json()).toEqual({ cleared: false })
    expect((await console.commands()).slice(-3).map(({ name }) => name)).toEqual([
      'set_quiet_hours',
      'set_quiet_hours',
      'clear_quiet_hours',
    ])
  })

  test.each([
    ['the same end', { starts: '22:00', ends: '22:00', time_zone: 'UTC' }, /at the same time/],
    ['no clock’s time', { starts: '10pm', ends: '07:00', time_zone: 'UTC' }, /Give a time such as 22:00/],
    ['a zone that there is not', { starts: '22:00', ends: '07:00', time_zone: 'Mars/Olympus' }, /time zone/],
  ])('with %s are refused in a sentence', async (_, body, detail) => {
    const answer = await console.ask('operator', 'POST', '/api/v1/alerts/quiet-hours', body)
    expect(answer.statusCode).toBe(422)
    expect(answer.json().detail).toMatch(detail)
  })
})

describe('a test message', () => {
  test('is sent at once, recorded, and says what the server answered; the next one has to wait', async () => {
    await plantChannel(console.pool, 'ops', { failingMinutes: 30 })
    const answer = await console.ask('operator', 'POST', '/api/v1/alerts/channels/ops/test', {})
    expect(answer.json()).toEqual({ channel: 'ops', accepted: true, answer: expect.stringMatching(/200/) })
    expect(receiver.arrivals).toHaveLength(1)
    expect(receiver.arrivals[0]?.body).toContain('dirsync: test message')
    expect(receiver.arrivals[0]?.body).toContain('https://dirsync.example.com/alerts')
    expect((await console.commands()).at(-1)).toEqual({ name: 'test_alert', arguments: { channel: 'ops' } })
    const { rows } = await console.pool.query('select failing_since, last_answer from dirsync.alert_channel')
    expect(rows).toEqual([{ failing_since: null, last_answer: answer.json().answer }])
    const again = await console.ask('operator', 'POST', '/api/v1/alerts/channels/ops/test', {})
    expect(again.statusCode).toBe(429)
    expect(Number(again.headers['retry-after'])).toBeLessThanOrEqual(10)
    expect(receiver.arrivals).toHaveLength(1)
  })

  test('that is refused tells why, without the secret of the address', async () => {
    status = 404
    const page = await console.ask('operator', 'POST', '/alerts/channels/broken/test', {})
    expect(page.statusCode).toBe(200)
    expect(page.body).toContain(
      'The channel broken did not accept the test message, or not for all recipients.',
    )
    expect(page.body).toContain('no such hook')
    expect(page.body).not.toContain(MARKER)
    expect(receiver.arrivals[0]?.body).toContain('测试消息')
  })

  test('to a channel of another process is not sent from here', async () => {
    await plantChannel(console.pool, 'elsewhere')
    const answer = await console.ask('operator', 'POST', '/api/v1/alerts/channels/elsewhere/test', {})
    expect(answer.statusCode).toBe(404)
    expect(answer.json().detail).toContain('no channel elsewhere')
  })
})

describe('elsewhere in the console', () => {
  test('the overview shows alerts that nothing else there shows, and the badge counts those that need a person', async () => {
    const { pool } = console
    await judged(pool)
    await plantAlert(pool, 'halt', EVERYTHING)
    for (const rule of ['run_overdue', 'held_run', 'clock', 'money_unknown'] as const)
      await plantAlert(pool, rule)
    const page = await console.ask('viewer', 'GET', '/overview')
    const told = [...page.body.matchAll(/<strong>(\D+?)<\/strong>/g)].map(([, title]) => title)
    // The bar has halts and held runs where they are; a late run follows from the halt.
    expect(told).toEqual(['Refunds whose outcome is unknown', 'A clock is wrong', '–'])
    expect(page.body).toMatch(/href="\/alerts"[^>]*>Alerts <span class="badge">4</)
    const { alerts } = (await console.ask('viewer', 'GET', '/api/v1/overview')).json()
    expect(alerts.map(({ rule }: { rule: string }) => rule)).toEqual([
      'money_unknown',
      'halt',
      'clock',
      'held_run',
    ])
  })
})

describe('the heartbeat', () => {
  const page = async () => (await console.browse('viewer', 'GET', '/alerts')).body
  const call = async (differs: string) => {
    await console.pool.query('delete from dirsync.heartbeat_call')
    await console.pool.query(
      `insert into dirsync.heartbeat_call (run_id, attempts, called_at, answer, not_before, leased_until)
       select 7, 1, h.* from (values (${differs})) h (called_at, answer, not_before, leased_until)`,
    )
  }
  const NEVER = 'null::timestamptz'

  test('is not said to fail while the first call after a run is under way', async () => {
    await call(`${NEVER}, null, now(), now() + interval '20 seconds'`)
    expect(await page()).not.toContain('did not accept')
    await call(`${NEVER}, 'HTTP 404', now() + interval '5 seconds', ${NEVER}`)
    expect(await page()).toContain('The external monitor did not accept the call after run 7.')
  })

  test('that no process makes any more is said not to be set', async () => {
    const unset = 'HEARTBEAT_URL is not set: if all of dirsync is down, no one is notified.'
    await call(`now() - interval '1 hour', 'HTTP 200', now() - interval '1 hour', ${NEVER}`)
    // Another process may have it among its settings.
    expect(await page()).toContain('The external monitor was called')
    await call(`now() - interval '25 hours', 'HTTP 200', now() - interval '25 hours', ${NEVER}`)
    expect(await page()).toContain(unset)
    await call(`${NEVER}, 'HTTP 404', now() - interval '25 hours', ${NEVER}`)
    expect(await page()).toContain(unset)
  })
})
