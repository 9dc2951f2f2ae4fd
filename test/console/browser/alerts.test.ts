// @module-tag chromium

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { RULE_NAMES } from '../../../src/alerts/rule.ts'
import { connectHr, connectPlatform } from '../../../src/connections.ts'
import { addUser } from '../../../src/console/auth/users.ts'
import { ACCESS_ROLES } from '../../../src/console/auth/viewer.ts'
import { startConsole } from '../../../src/console/server.ts'
import { FITS } from '../../../src/sync/processes/process.ts'
import { startReceiver } from '../../alerts/channels/receiver.ts'
import {
  clearAlerts,
  EVERYTHING,
  judged,
  plantAlert,
  plantChannel,
  plantNotice,
} from '../../alerts/planted.ts'
import { duringFile } from '../../helpers/during.ts'
import { createTestDatabase } from '../../helpers/postgres.ts'
import { consoleConfig, silent } from '../console-under-test.ts'
import {
  expectPagesAccessible,
  expectPagesFitPhone,
  isSame,
  LANGUAGES,
  mark,
  openBrowser,
  PASSWORD,
  PHONE,
  screenshot,
  tabTo,
  userOf,
  visit,
} from './browser.ts'

/* Alerts in the browser. The console runs alone: no process evaluates the planted data. */

const database = duringFile(() => createTestDatabase({ migrated: true }))
const browser = duringFile(openBrowser)
const receiver = duringFile(() => startReceiver(({ url }) => [url.pathname === '/hook' ? 200 : 404, '']))
let console: Awaited<ReturnType<typeof startConsole>>
const closers = new AsyncDisposableStack()

beforeAll(async () => {
  const config = consoleConfig(database.url, {
    ALERT_CHANNEL_OPS: `${receiver.origin}/hook`,
    ALERT_CHANNEL_NIGHT: `${receiver.origin}/nowhere`,
    ALERT_CHANNEL_NIGHT_LEAST: 'critical',
  })
  const hr = closers.adopt(await connectHr(config, silent), source => source.close())
  console = await startConsole({
    config,
    roles: ['console'],
    version: '1.2.3',
    checkQueue: null,
    misfit: () => FITS,
    platformCodes: [],
    hr,
    platform: () => connectPlatform(config, database.pool, silent),
    env: {},
    program: 'dirsync',
    logger: silent,
  })
  for (const role of ACCESS_ROLES)
    await addUser(database.pool, 'test', { name: userOf(role), role, password: PASSWORD })
})
afterAll(async () => {
  await console?.close()
  await closers.disposeAsync()
})
beforeEach(() => clearAlerts(database.pool))

/** A bad night: some told, some not, some kept back. */
async function plantNight(): Promise<void> {
  const { pool } = database
  await judged(pool, 12)
  await plantChannel(pool, 'ops', { kind: 'dingtalk', language: 'zh-CN' })
  await plantChannel(pool, 'night', { kind: 'wecom', target: 'qyapi.weixin.qq.com', least: 'critical' })
  await plantChannel(pool, 'mail', {
    kind: 'mail',
    target: 'ops@example.com, hr-it@example.com',
    failingMinutes: 25,
    answer: '535 5.7.8 authentication failed',
  })
  const halt = await plantAlert(pool, 'halt', { minutes: 95, ...EVERYTHING })
  await plantNotice(pool, halt, 'ops', { minutesAgo: 95 })
  await plantNotice(pool, halt, 'night', { minutesAgo: 95 })
  await plantNotice(pool, halt, 'mail', { minutesAgo: 25, message: 'waiting' })
  const held = await plantAlert(pool, 'held_run', { minutes: 35 })
  await plantNotice(pool, held, 'ops', { minutesAgo: 35 })
  const dead = await plantAlert(pool, 'dead_channel', { minutes: 15 })
  await plantNotice(pool, dead, 'ops', { minutesAgo: 15 })
  await plantAlert(pool, 'run_overdue', { minutes: 80 })
  await plantAlert(pool, 'clock', { minutes: 300 })
  await plantAlert(pool, 'database_slow', { state: 'pending', minutes: 0.5 })
  await pool.query(
    `select set_config('dirsync.actor', 'console:anna', false),
            dirsync.mute_alert('clock', now() + interval '3 hours', 'NTP is set up tonight'),
            dirsync.set_quiet_hours('22:00', '07:00', 'Asia/Shanghai')`,
  )
  for (const [i, rule] of (['held_run', 'halt', 'source_suspect', 'calls_rejected'] as const).entries()) {
    const over = await plantAlert(pool, rule, {
      state: 'ended',
      minutes: 60 * 24 * (i + 1) + 47,
      endedMinutesAgo: 60 * 24 * (i + 1),
    })
    await plantNotice(pool, over, 'ops', { event: 'recovered', minutesAgo: 60 * 24 * (i + 1) })
  }
}

describe('what is wrong now', () => {
  test('is shown with what to do and who was told; alerts that are not sent are listed apart, with the reason', async () => {
    await plantNight()
    const page = await visit(browser, console.url, { role: 'viewer' })
    await page.goto('/alerts')
    const halt = page.locator('.alert', { hasText: 'Everything is halted' })
    await halt.getByText('night: sent').waitFor()
    await halt.getByText('waiting to be sent').waitFor()
    await halt.getByText('Bind it.').waitFor()
    const rows = page.getByRole('table', { name: 'Known, but no one is notified' }).getByRole('row')
    await rows.filter({ hasText: 'caused by: Work is halted' }).waitFor()
    await rows.filter({ hasText: 'muted until' }).waitFor()
    await rows.filter({ hasText: 'not raised yet' }).waitFor()
    const channels = page.getByRole('table', { name: 'Channels' }).getByRole('row')
    await channels.filter({ hasText: '535 5.7.8 authentication failed' }).getByText('fails').waitFor()
    await page
      .getByText('From 22:00 to 07:00 each day (Asia/Shanghai) only critical alerts are sent')
      .waitFor()
    // A viewer looks.
    expect(await page.locator('main button:not([data-copy]), main summary.button').count()).toBe(0)
    await halt.getByRole('link', { name: 'Runbook' }).click()
    await page.getByRole('heading', { name: 'Work is halted' }).waitFor()
    expect(await page.locator('ol.runbook li').count()).toBeGreaterThan(2)
  })

  test('appears and goes by itself', async () => {
    const { pool } = database
    await judged(pool)
    await plantChannel(pool, 'ops')
    const page = await visit(browser, console.url, { role: 'viewer' })
    await page.goto('/alerts')
    await page.getByText('No alert is active.').waitFor()
    await screenshot(page, 'alerts-quiet')
    await mark(page)
    await plantAlert(pool, 'money_unknown')
    await page.getByText('Refunds whose outcome is unknown').waitFor()
    await pool.query(`update dirsync.alert set state = 'ended', ended_at = now(), gone_at = now()`)
    await page.getByText('No alert is active.').waitFor()
    expect(await isSame(page)).toBe(true)
    await page.getByRole('link', { name: 'History' }).click()
    await page.getByRole('cell', { name: 'Refunds whose outcome is unknown' }).waitFor()
  })
})

describe('a rule that finds nothing wrong', () => {
  test('is folded away, and unfolded by keyboard until it is folded again', async () => {
    const { pool } = database
    await judged(pool)
    await plantAlert(pool, 'held_run')
    await pool.query(
      `select dirsync.mute_alert('clock', now() + interval '3 hours', 'NTP is set up tonight')`,
    )
    const page = await visit(browser, console.url, { role: 'viewer' })
    await page.goto('/alerts')
    const rows = page.getByRole('table', { name: 'Rules' }).locator('tbody tr:visible')
    await rows.filter({ hasText: '1 alert' }).waitFor()
    await rows.filter({ hasText: 'muted until' }).waitFor()
    expect(await rows.count()).toBe(2)
    await page.getByText(`${RULE_NAMES.length - 2} rules: nothing wrong`).focus()
    await page.keyboard.press('Enter')
    expect(await rows.count()).toBe(RULE_NAMES.length)
    await screenshot(page, 'alerts-rules')
    // What happens meanwhile folds nothing.
    await plantAlert(pool, 'money_unknown')
    await page.getByText(`${RULE_NAMES.length - 3} rules: nothing wrong`).waitFor()
    expect(await rows.count()).toBe(RULE_NAMES.length)
  })

  test('is unfolded without JavaScript', async () => {
    await judged(database.pool)
    const page = await visit(browser, console.url, { role: 'viewer', javaScript: false, ...PHONE })
    await page.goto('/alerts')
    const all = page.getByText(`${RULE_NAMES.length} rules: nothing wrong`)
    const quiet = page.getByRole('cell', { name: 'Too many access tokens' })
    expect(await quiet.isVisible()).toBe(false)
    await all.click()
    await quiet.waitFor()
  })
})

describe('a channel', () => {
  test('is tested by an operator, who is told what its server answered', async () => {
    await judged(database.pool)
    await plantChannel(database.pool, 'ops', { kind: 'webhook', target: '127.0.0.1', sentMinutesAgo: null })
    const page = await visit(browser, console.url, { role: 'operator' })
    await page.goto('/alerts')
    const button = (name: string) =>
      page
        .getByRole('table', { name: 'Channels' })
        .getByRole('row')
        .filter({ hasText: name })
        .getByRole('button', { name: 'Send a test' })
    const before = receiver.arrivals.length
    await button('ops').click()
    await page.getByText('The channel ops accepted the test message.').waitFor()
    expect(receiver.arrivals).toHaveLength(before + 1)
    await screenshot(page, 'alerts-tested')
    // The answer of a form follows what happens, too.
    await mark(page)
    await plantAlert(database.pool, 'money_unknown')
    await page.getByText('Refunds whose outcome is unknown').waitFor()
    expect(await isSame(page)).toBe(true)
    await button('night').click()
    await page
      .getByText('The channel night did not accept the test message, or not for all recipients.')
      .waitFor()
    await page.getByText('404').first().waitFor()
    await screenshot(page, 'alerts-test-failed')
    await page.goto('/alerts')
    await button('night').click()
    await page.getByRole('heading', { name: 'Too many requests' }).waitFor()
  })
})

test('by keys alone, an alert is taken over, and says by whom', async () => {
  await judged(database.pool)
  await plantChannel(database.pool, 'ops')
  await plantAlert(database.pool, 'held_run')
  const page = await visit(browser, console.url, { role: 'operator' })
  await page.goto('/alerts')
  const card = page.locator('.alert', { hasText: 'is waiting for a decision' })
  await tabTo(page, card.locator('summary', { hasText: 'Take it over' }))
  await page.keyboard.press('Enter')
  await tabTo(page, card.getByLabel('Reason').first())
  await page.keyboard.type('I ask the department')
  await tabTo(page, card.getByRole('button', { name: 'Take it over' }))
  await page.keyboard.press('Enter')
  await page.getByText('You have taken it over').waitFor()
  await card.getByText('I ask the department').waitFor()
  expect(await card.getByText('Take it over').count()).toBe(0)
  const { rows } = await database.pool.query(
    `select acknowledged_by from dirsync.alert where state = 'firing'`,
  )
  expect(rows).toEqual([{ acknowledged_by: expect.stringContaining(userOf('operator')) }])
})

describe('muting', () => {
  test('is muted from an alert with a reason, and heard again', async () => {
    await judged(database.pool)
    await plantChannel(database.pool, 'ops')
    await plantAlert(database.pool, 'held_run')
    const page = await visit(browser, console.url, { role: 'operator' })
    await page.goto('/alerts')
    const card = page.locator('.alert', { hasText: 'is waiting for a decision' })
    const mute = card.locator('details', { hasText: 'Mute' })
    await mute.locator('summary').click()
    await mute.getByLabel('For', { exact: true }).selectOption('4h')
    await mute.getByLabel('Reason').fill('the department moves today')
    await screenshot(page, 'alerts-muting')
    await mute.getByRole('button', { name: 'Mute', exact: true }).click()
    await page.getByText('7 is muted until').waitFor()
    await page.getByText('the department moves today').first().waitFor()
    await page.getByText(`7 is muted by ${userOf('operator')}`).waitFor()
    await screenshot(page, 'alerts-rule-muted')
    const { rows } = await database.pool.query(
      `select rule, subject, reason, round(extract(epoch from until - muted_at) / 3600)::int as hours from dirsync.alert_mute`,
    )
    expect(rows).toEqual([{ rule: 'held_run', subject: '7', reason: 'the department moves today', hours: 4 }])
    await page.getByRole('button', { name: 'End the mute' }).click()
    await page.getByText('The mute has ended.').waitFor()
    expect((await database.pool.query('select from dirsync.alert_mute')).rowCount).toBe(0)
  })

  test('is muted by its rule, without JavaScript, on a phone', async () => {
    await judged(database.pool)
    const page = await visit(browser, console.url, {
      role: 'operator',
      ...PHONE,
      javaScript: false,
    })
    await page.goto('/alerts')
    await page.getByText('Mute a rule').first().click()
    await page.getByLabel('Rule', { exact: true }).selectOption('Too many access tokens')
    await page.getByLabel('Reason').fill('from a phone')
    await page.getByRole('button', { name: 'Mute a rule' }).click()
    await page.getByText('from a phone').waitFor()
    const { rows } = await database.pool.query('select rule from dirsync.alert_mute')
    expect(rows).toEqual([{ rule: 'tokens' }])
  })

  test('are quiet hours, in the viewer’s own time zone unless another one is named', async () => {
    await judged(database.pool)
    const page = await visit(browser, console.url, { role: 'operator' })
    await page.goto('/alerts')
    // The browser has told its zone by then.
    await page.goto('/alerts')
    await page.getByText('Set quiet hours').first().click()
    await page.getByLabel('From', { exact: true }).fill('23:30')
    await screenshot(page, 'alerts-quiet-hours')
    await page.getByRole('button', { name: 'Set quiet hours' }).click()
    await page.getByText('Quiet hours are from 23:30 to 07:00 (Asia/Shanghai).').waitFor()
    await page.getByText('Change them').first().click()
    await page.getByLabel('Time zone').fill('Europe/Berlin')
    await page.getByRole('button', { name: 'Change them' }).click()
    await page.getByText('From 23:30 to 07:00 each day (Europe/Berlin)').waitFor()
    await page.getByRole('button', { name: 'End quiet hours' }).click()
    await page.getByText('None: alerts are sent at any hour.').waitFor()
  })
})

const PAGES = ['/alerts', '/alerts/history', '/alerts/rules/halt', '/alerts/rules/clock', '/overview']

describe.each(LANGUAGES)('in %s', language => {
  test('every page is accessible', async () => {
    await plantNight()
    const page = await visit(browser, console.url, { language, role: 'operator' })
    await page.goto('/alerts')
    await expectPagesAccessible(page, PAGES)
  })
})

test('on a phone everything can be read', async () => {
  await plantNight()
  const page = await visit(browser, console.url, { ...PHONE, role: 'operator' })
  await page.goto('/alerts')
  await expectPagesFitPhone(page, PAGES)
})
