import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { countUrgent, readAlertHistory, readAlerts, readUrgent } from '../../src/alerts/report.ts'
import { RULE_NAMES } from '../../src/alerts/rule.ts'
import { loadConfig } from '../../src/config.ts'
import { createPool, type Pool } from '../../src/lib/database.ts'
import { silent } from '../console/console-under-test.ts'
import { LEAST } from '../helpers/least-settings.ts'
import { createTestDatabase, type TestDatabase } from '../helpers/postgres.ts'
import { clearAlerts, EVERYTHING, judged, plantAlert, plantChannel, plantNotice } from './planted.ts'

let database: TestDatabase
let pool: Pool
beforeAll(async () => {
  database = await createTestDatabase({ migrated: true })
  pool = createPool(database.url, { max: 2, name: 'test', logger: silent })
})
afterAll(async () => {
  await pool.end()
  await database.close()
})
beforeEach(() => clearAlerts(pool))

const settings = (env: Record<string, string> = {}) =>
  loadConfig({ ...LEAST, DATABASE_URL: database.url, ...env })
const read = (env?: Record<string, string>, language: 'en' | 'zh-CN' = 'en') =>
  readAlerts(pool, settings(env), { language })

describe('what goes on', () => {
  test('is listed the worst first, then the newest, in the language of the reader', async () => {
    await plantAlert(pool, 'held_run', { minutes: 1 })
    await plantAlert(pool, 'money_unknown', { minutes: 50 })
    await plantAlert(pool, 'halt', { minutes: 20 })
    await plantAlert(pool, 'halt', { state: 'ended', subject: 'E901', minutes: 90 })
    const { alerts, firing } = await read()
    expect(alerts.map(({ rule }) => rule)).toEqual(['halt', 'money_unknown', 'held_run'])
    expect(firing).toBe(3)
    expect(alerts[2]).toMatchObject({
      subject: '7',
      severity: 'warning',
      state: 'firing',
      title: 'Run 7 (changes) is waiting for a decision',
      ended_at: null,
      told: [],
    })
    const [, , chinese] = (await read({}, 'zh-CN')).alerts
    expect(chinese?.title).toBe('第 7 号同步任务（增量同步）待审批')
  })

  test('shows what each channel was last told, and whether that was sent', async () => {
    const alert = await plantAlert(pool, 'halt', { minutes: 300 })
    await plantNotice(pool, alert, 'ops', { minutesAgo: 300 })
    await plantNotice(pool, alert, 'ops', { event: 'repeated', minutesAgo: 60, message: 'waiting' })
    await plantNotice(pool, alert, 'mail', { event: 'withheld', minutesAgo: 300, message: null })
    const { alerts } = await read()
    expect(alerts[0]?.told).toEqual([
      { channel: 'mail', event: 'withheld', at: expect.any(Date), message_state: null },
      { channel: 'ops', event: 'repeated', at: expect.any(Date), message_state: 'waiting' },
    ])
  })

  test('is kept back by a mute, by what it follows from, and by quiet hours, but critical alerts are not quiet', async () => {
    await plantAlert(pool, 'halt', EVERYTHING)
    for (const rule of ['run_overdue', 'clock', 'tokens', 'money_unknown'] as const)
      await plantAlert(pool, rule)
    await plantAlert(pool, 'database_slow', { state: 'pending' })
    await pool.query(`select dirsync.mute_alert('tokens', now() + interval '1 hour', 'known')`)
    const reasons = async () =>
      Object.fromEntries((await read()).alerts.map(({ rule, kept_back }) => [rule, kept_back?.why ?? null]))
    expect(await reasons()).toEqual({
      halt: null,
      run_overdue: 'inhibited',
      clock: null,
      tokens: 'mute',
      money_unknown: null,
      database_slow: null,
    })
    expect((await read()).alerts.find(({ rule }) => rule === 'run_overdue')?.kept_back).toEqual({
      why: 'inhibited',
      until: null,
      rule: 'halt',
      by: null,
      reason: null,
    })
    await quietAround(0)
    expect(await reasons()).toMatchObject({ clock: 'quiet_hours', halt: null, tokens: 'mute' })
    await quietAround(6)
    expect(await reasons()).toMatchObject({ clock: null })
  })

  test('needs attention unless it is muted or follows from another one', async () => {
    await plantAlert(pool, 'halt', EVERYTHING)
    for (const rule of ['halt', 'run_overdue', 'clock', 'tokens'] as const) await plantAlert(pool, rule)
    await plantAlert(pool, 'database_slow', { state: 'pending' })
    await pool.query(`select dirsync.mute_alert('tokens', now() + interval '1 hour', 'known')`)
    expect((await readUrgent(pool, 'en')).map(({ rule }) => rule)).toEqual(['halt', 'halt', 'clock'])
    expect(
      countUrgent([
        { rule: 'halt', facts: { scope: '*' }, n: 2, muted: false, ended_at: null },
        { rule: 'run_overdue', facts: { kind: 'changes' }, n: 1, muted: false, ended_at: null },
        { rule: 'tokens', facts: {}, n: 1, muted: true, ended_at: null },
        { rule: 'of_a_later_version', facts: {}, n: 1, muted: false, ended_at: null },
      ]),
    ).toBe(2)
  })

  test('needs no attention while it may still clear after its cause has ended', async () => {
    await plantAlert(pool, 'run_overdue')
    const halt = await plantAlert(pool, 'halt', EVERYTHING)
    const ended = (span: string) =>
      pool.query(
        `update dirsync.alert set state = 'ended', gone_at = now() - $2::interval, ended_at = now() - $2::interval
         where id = $1`,
        [halt, span],
      )
    await ended('14 minutes')
    expect(await readUrgent(pool, 'en')).toEqual([])
    expect((await read()).alerts).toMatchObject([{ kept_back: { why: 'inhibited', rule: 'halt' } }])
    await ended('16 minutes')
    expect((await readUrgent(pool, 'en')).map(({ rule }) => rule)).toEqual(['run_overdue'])
  })

  test('needs no attention while it may still clear after no process was running', async () => {
    await judged(pool)
    await plantAlert(pool, 'run_overdue')
    const watched = (span: string) =>
      pool.query('update dirsync.alert_check set watched_since = now() - $1::interval', [span])
    await watched('14 minutes')
    expect(await readUrgent(pool, 'en')).toEqual([])
    expect((await read()).alerts).toMatchObject([{ kept_back: { why: 'inhibited', rule: 'role_missing' } }])
    await watched('16 minutes')
    expect((await readUrgent(pool, 'en')).map(({ rule }) => rule)).toEqual(['run_overdue'])
  })

  test('of a rule that only another version knows is left out', async () => {
    await pool.query(
      `insert into dirsync.alert (rule, severity, state, since, raised_at) values ('later', 'critical', 'firing', now(), now())`,
    )
    expect((await read()).alerts).toEqual([])
    expect(await readUrgent(pool, 'en')).toEqual([])
  })
})

/** Quiet hours of four hours that begin two hours before now and so many after that. */
async function quietAround(hours: number): Promise<void> {
  await pool.query(
    `select dirsync.set_quiet_hours(
       ((now() at time zone 'Asia/Shanghai')::time - interval '2 hours' + $1 * interval '1 hour')::time,
       ((now() at time zone 'Asia/Shanghai')::time + interval '2 hours' + $1 * interval '1 hour')::time,
       'Asia/Shanghai')`,
    [hours],
  )
}

describe('quiet hours', () => {
  test('that hold now end within the day', async () => {
    await quietAround(0)
    const { quiet_hours: hours } = await read()
    expect(hours).toMatchObject({ time_zone: 'Asia/Shanghai', starts: expect.stringMatching(/^\d\d:\d\d$/) })
    const left = (hours?.until?.getTime() ?? 0) - Date.now()
    expect(left / 3_600_000).toBeCloseTo(2, 1)
    await quietAround(6)
    expect((await read()).quiet_hours?.until).toBeNull()
  })
})

describe('who judges', () => {
  test.each([
    ['never done', null, false],
    ['just done', 5, true],
    ['done long ago', 600, false],
  ])('%s', async (_, secondsAgo, isChecked) => {
    if (secondsAgo !== null) await judged(pool, secondsAgo)
    const report = await read()
    expect(report.is_checked).toBe(isChecked)
    expect(report.checked_at === null).toBe(secondsAgo === null)
  })
})

describe('channels', () => {
  test('are those known to evaluating processes and those in the own settings, each with its state', async () => {
    await judged(pool)
    await plantChannel(pool, 'fine')
    await plantChannel(pool, 'unused', { sentMinutesAgo: null })
    await plantChannel(pool, 'failing', { failingMinutes: 12, answer: 'HTTP 500' })
    const { channels } = await read({
      ALERT_CHANNEL_FINE: 'https://oapi.dingtalk.com/robot/send?access_token=hunter2',
      ALERT_CHANNEL_NEW: 'https://hooks.example.com/hunter2',
      ALERT_CHANNEL_NEW_LEAST: 'critical',
    })
    expect(channels.map(({ name, state, testable }) => [name, state, testable])).toEqual([
      ['failing', 'failing', false],
      ['fine', 'fine', true],
      ['new', 'new', true],
      ['unused', 'unused', false],
    ])
    expect(JSON.stringify(channels)).not.toContain('hunter2')
  })

  test('take what is severe enough', async () => {
    await judged(pool)
    await plantChannel(pool, 'all', { least: 'info' })
    await plantChannel(pool, 'night', { least: 'critical' })
    await plantAlert(pool, 'halt')
    await plantAlert(pool, 'clock')
    const { alerts, rules } = await read()
    expect(alerts.map(({ rule, channels }) => [rule, channels])).toEqual([
      ['halt', ['all', 'night']],
      ['clock', ['all']],
    ])
    expect(rules.find(({ rule }) => rule === 'clock')?.channels).toEqual(['all'])
  })
})

describe('rules', () => {
  test('describe their thresholds in words, in both languages, and show which are off', async () => {
    for (const language of ['en', 'zh-CN'] as const) {
      const { rules } = await read({ ALERT_TOKENS: 'off', ALERT_HALT: '5' }, language)
      expect(rules.map(({ rule }) => rule)).toEqual(RULE_NAMES)
      expect(rules.filter(({ off }) => off).map(({ rule }) => rule)).toEqual(['tokens'])
      expect(rules.filter(({ figure }) => /null|undefined|\{/.test(figure))).toEqual([])
    }
    const { rules } = await read({ ALERT_HALT: '5' })
    const of = (name: string) => rules.find(({ rule }) => rule === name)
    expect(of('halt')).toMatchObject({
      figure: 'after 5 min',
      settings: [{ name: 'ALERT_HALT', value: 5 }],
      firing: 0,
      mutes: [],
    })
    expect(of('cases_jump')).toMatchObject({
      figure: 'when a category rises within an hour by more than 20, and by more than 5 % of the employees',
      settings: [
        { name: 'ALERT_CASES_JUMP', value: 20 },
        { name: 'ALERT_CASES_JUMP_PERCENT', value: 5 },
      ],
    })
    expect(of('held_run')?.figure).toBe('at once')
  })

  test('are muted as a whole, or for one subject: then the others still need attention', async () => {
    await plantAlert(pool, 'halt', EVERYTHING)
    await plantAlert(pool, 'halt')
    await pool.query(`select dirsync.mute_alert('halt', now() + interval '1 hour', 'known', 'E900')`)
    expect((await readUrgent(pool, 'en')).map(({ subject }) => subject)).toEqual(['*'])
    expect((await read()).alerts.map(({ subject, kept_back }) => [subject, kept_back?.why])).toEqual([
      ['E900', 'mute'],
      ['*', undefined],
    ])
    await pool.query(`select dirsync.mute_alert('halt', now() + interval '1 hour', 'all of it')`)
    expect(await readUrgent(pool, 'en')).toEqual([])
    expect((await read()).rules.find(({ rule }) => rule === 'halt')?.mutes).toMatchObject([
      { subject: null, reason: 'all of it' },
      { subject: 'E900', reason: 'known' },
    ])
    await pool.query(`select dirsync.unmute_alert('halt')`)
    expect((await readUrgent(pool, 'en')).map(({ subject }) => subject)).toEqual(['*'])
    await pool.query(`select dirsync.unmute_alert('halt', 'E900')`)
    expect(await readUrgent(pool, 'en')).toHaveLength(2)
  })

  test('name who muted them, until that is over', async () => {
    await pool.query(`select dirsync.mute_alert('clock', now() + interval '1 hour', 'known')`)
    const mute = async () => (await read()).rules.find(({ rule }) => rule === 'clock')?.mutes
    expect(await mute()).toMatchObject([{ subject: null, reason: 'known', muted_by: expect.any(String) }])
    await pool.query(`update dirsync.alert_mute set until = now() - interval '1 second'`)
    expect(await mute()).toEqual([])
  })
})

describe('the history', () => {
  test('has what is over, the latest first, page by page, by rule and since a moment', async () => {
    for (let i = 1; i <= 5; i++)
      await plantAlert(pool, i % 2 ? 'halt' : 'clock', {
        state: 'ended',
        subject: `E${i}`,
        minutes: 100 + i,
        endedMinutesAgo: i * 10,
      })
    await plantAlert(pool, 'halt')
    const subjects = ({ items }: Awaited<ReturnType<typeof readAlertHistory>>) =>
      items.map(({ subject }) => subject)
    const first = await readAlertHistory(pool, 'en', {}, { limit: 2 })
    expect(subjects(first)).toEqual(['E1', 'E2'])
    const second = await readAlertHistory(pool, 'en', {}, { after: first.next, limit: 2 })
    expect(subjects(second)).toEqual(['E3', 'E4'])
    const last = await readAlertHistory(pool, 'en', {}, { after: second.next, limit: 2 })
    expect(subjects(last)).toEqual(['E5'])
    expect(last.next).toBeNull()
    expect(subjects(await readAlertHistory(pool, 'en', { rule: 'clock' }, { limit: 9 }))).toEqual([
      'E2',
      'E4',
    ])
    const from = new Date(Date.now() - 25 * 60_000)
    expect(subjects(await readAlertHistory(pool, 'en', { from }, { limit: 9 }))).toEqual(['E1', 'E2'])
    expect(subjects(await readAlertHistory(pool, 'en', { to: from }, { limit: 9 }))).toEqual([
      'E3',
      'E4',
      'E5',
    ])
  })
})
