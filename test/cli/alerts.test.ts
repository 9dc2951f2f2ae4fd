import { mkdtempDisposable, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { widthOf } from '../../src/cli/output.ts'
import { SECRETS, startReceiver } from '../alerts/channels/receiver.ts'
import { clearAlerts, EVERYTHING, judged, plantAlert, plantChannel, plantNotice } from '../alerts/planted.ts'
import { createDeployment } from '../helpers/deployment.ts'
import { duringFile } from '../helpers/during.ts'
import { dirsync, dirsyncProcess, wideLines } from './dirsync.ts'

const deployment = duringFile(createDeployment)
/** Below /broken it refuses everything. */
const receiver = duringFile(() =>
  startReceiver(({ url }) => [url.pathname.startsWith('/broken') ? 404 : 200, '']),
)
beforeEach(async () => {
  await clearAlerts(deployment.own.pool)
  receiver.arrivals.length = 0
})

const run = (...args: string[]) => dirsync(['alerts', ...args], deployment.settings)
const inChinese = (...args: string[]) =>
  dirsync(['alerts', ...args], { ...deployment.settings, DIRSYNC_LANG: 'zh-CN' })

async function plantNight(): Promise<void> {
  const { pool } = deployment.own
  await judged(pool)
  await plantChannel(pool, 'ops')
  const halt = await plantAlert(pool, 'halt', { minutes: 90, ...EVERYTHING })
  await plantNotice(pool, halt, 'ops')
  await plantAlert(pool, 'run_overdue')
  await plantAlert(pool, 'clock')
  await pool.query(`select dirsync.mute_alert('clock', now() + interval '2 hours', 'NTP is set up tonight')`)
  await plantAlert(pool, 'database_slow', { state: 'pending' })
}

describe('dirsync alerts', () => {
  test('lists what is wrong, who was told or why no one was, and what to do about the worst', async () => {
    await plantNight()
    const { code, stdout, stderr } = await run()
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(
      /^Alerts · 3 are firing\n {2}Checked \d+(\.\d)? s ago\.\n\n {2}Everything is halted · critical\n/,
    )
    expect(stdout).toMatch(
      /\n {2}→ Bind it\.\n {2}Number +\d+\n {2}Rule +halt\n {2}Since .*\n {2}Notified +ops: sent /,
    )
    expect(stdout).toMatch(/\n\nKnown, but no one is notified\n/)
    expect(stdout).toMatch(/dirsync alerts acknowledge \d+ --reason/)
    expect(wideLines(stdout)).toEqual([])
  })

  test('says of each alert that is kept back in full why, where there is room', async () => {
    await plantNight()
    const { stdout } = await dirsync(['alerts'], deployment.settings, '', 200)
    expect(stdout).toMatch(
      /run_overdue +No good run for too long .* +same as, or caused by: Work is halted\n/,
    )
    expect(stdout).toMatch(/clock +A clock is wrong .* +muted until /)
    expect(stdout).toMatch(/database_slow +dirsync’s database .* +not raised yet/)
    const chinese = await dirsync(['alerts'], { ...deployment.settings, DIRSYNC_LANG: 'zh-CN' }, '', 200)
    expect(chinese.stdout).toMatch(/与此同因，或由其引起：/)
  })

  test('speaks Chinese to people and English to programs', async () => {
    await plantNight()
    const { stdout } = await inChinese()
    expect(stdout).toMatch(/^告警 · 3 条正在告警\n/)
    expect(stdout).toMatch(/全部已停止 · 严重\n/)
    for (const line of stdout.split('\n')) expect(widthOf(line)).toBeLessThanOrEqual(80)
    const json = await inChinese('--json')
    expect(json.stdout).not.toMatch(/\p{Script=Han}/u)
    expect(json.json()).toMatchObject({ is_checked: true, firing: 3 })
  })

  test('says that nothing is wrong, and when that was checked', async () => {
    await judged(deployment.own.pool)
    await plantChannel(deployment.own.pool, 'ops')
    const { stdout, stderr } = await run()
    expect(stdout).toMatch(/^Alerts\n {2}No alert is active\. Checked \d+(\.\d)? s ago\.\n$/)
    expect(stderr).toBe('')
  })

  test('warns if alerts are not evaluated, and if no channel would be told', async () => {
    const never = await run()
    expect(never.stdout).toMatch(/No process has checked the rules yet.*dirsync start/s)
    expect(never.stdout).toMatch(/No channel is set.*ALERT_CHANNEL_OPS=https:/s)
    await judged(deployment.own.pool, 600)
    expect((await run()).stdout).toMatch(/No process has checked the rules for 10 min/)
    const hook = { ALERT_CHANNEL_HOOK: 'https://hooks.example.com/x', ALERT_CHANNEL_HOOK_EVENTS: 'run.done' }
    for (const part of ['list', 'channels']) {
      const { stdout } = await dirsync(['alerts', part], { ...deployment.settings, ...hook })
      expect(stdout).toMatch(/No channel is set for alerts.*ALERT_CHANNEL_OPS=https:/s)
    }
  })
})

test('dirsync alerts acknowledge records who handles an alert, and the list then shows it', async () => {
  await plantNight()
  const { rows } = await deployment.own.pool.query<{ id: number }>(
    `select id from dirsync.alert where rule = 'halt' and state = 'firing'`,
  )
  const id = String(rows[0]?.id)
  const { stdout } = await run('acknowledge', id, '--reason', 'the vendor renews it')
  expect(stdout).toBe(
    'You have taken it over: channels get no more messages about it until it is over, or a further refund or top-up comes to it.\n',
  )
  expect((await run('list')).stdout).toMatch(/Taken over +.+ is on it, .+ · the vendor renews it$/m)
  const again = await run('acknowledge', id)
  expect(again).toMatchObject({ code: 0, stderr: '' })
  expect(again.stdout).toMatch(/^\S.+ has taken it over \(.+\)\.\n$/)
  expect((await inChinese('acknowledge', id)).stdout).toMatch(/^已由 \S.+ 认领（.+）。\n$/)
  await deployment.own.pool.query(
    `update dirsync.alert set state = 'ended', ended_at = now() where id = $1`,
    [id],
  )
  expect(await run('acknowledge', id)).toMatchObject({ code: 0, stdout: 'It is already over.\n', stderr: '' })
  await deployment.own.pool.query(
    `update dirsync.alert set state = 'pending', raised_at = null, ended_at = null, acknowledged_by = null, acknowledged_at = null
     where id = $1`,
    [id],
  )
  expect((await run('acknowledge', id)).stdout).toContain('It is not raised yet')
  expect(await run('acknowledge', '999999')).toMatchObject({
    code: 1,
    stdout: '',
    stderr: 'dirsync: there is no alert 999999\n',
  })
})

const WHOLE_ANSWER =
  '535 5.7.8 authentication failed: the password of dirsync has expired, and the mail server takes no message until its administrator has set another one'

describe('dirsync alerts channels', () => {
  test('lists those of evaluating processes and those only set here, without secrets', async () => {
    await judged(deployment.own.pool)
    await plantChannel(deployment.own.pool, 'mail', {
      ...{ kind: 'mail', target: 'ops@example.com', failingMinutes: 5, answer: WHOLE_ANSWER },
    })
    const env = { ...deployment.settings, ALERT_CHANNEL_OPS: 'https://hooks.example.com/hunter2' }
    const { stdout } = await dirsync(['alerts', 'channels'], env)
    expect(stdout).toMatch(/^Times are in UTC/m)
    expect(stdout).toMatch(/mail +fails +E-mail ops@example.com/)
    expect(stdout.replaceAll(/\s+/g, ' ')).toContain(`mail: ${WHOLE_ANSWER}`)
    expect(stdout).toMatch(/ops +only set here +Webhook hooks.example.com/)
    expect(stdout).not.toContain('hunter2')
    const { json } = await dirsync(['alerts', 'channels', '--json'], env)
    expect(json()).toMatchObject({
      items: [
        { name: 'mail', state: 'failing', testable: false },
        { name: 'ops', state: 'new', testable: true },
      ],
      next: null,
    })
  })

  test('gives all lines that set those of this process, without secrets', async () => {
    await plantChannel(deployment.own.pool, 'elsewhere')
    await using folder = await mkdtempDisposable(join(tmpdir(), 'dirsync-channel-'))
    const file = join(folder.path, 'secret')
    await writeFile(file, SECRETS.webhook)
    const set = {
      ALERT_CHANNEL_HOOK: 'https://hooks.example.com/hunter2',
      ALERT_CHANNEL_HOOK_SECRET: SECRETS.webhook,
      ALERT_CHANNEL_HOOK_LEAST: 'warning',
      ALERT_CHANNEL_HOOK_LANGUAGE: 'en',
      ALERT_CHANNEL_HOOK_EVENTS: 'run.done, case.*',
      ALERT_CHANNEL_MAIL: 'smtp://mail.example.com',
      ALERT_CHANNEL_MAIL_LEAST: 'critical',
      ALERT_CHANNEL_MAIL_LANGUAGE: 'zh-CN',
      ALERT_CHANNEL_MAIL_FROM: 'dirsync <dirsync@example.com>',
      ALERT_CHANNEL_MAIL_TO: 'ops@example.com, night@example.com',
      ALERT_CHANNEL_OPS: 'https://oapi.dingtalk.com/robot/send?access_token=hunter2',
      ALERT_CHANNEL_OPS_LEAST: 'info',
      ALERT_CHANNEL_OPS_LANGUAGE: 'en',
      ALERT_CHANNEL_OPS_MENTION: '13800000000',
      ALERT_CHANNEL_OPS_SECRET_FILE: file,
    }
    const { stdout } = await dirsync(['alerts', 'channels'], { ...deployment.settings, ...set })
    const isSecret = (name: string) => /_(?:HOOK|MAIL|OPS|SECRET|MENTION)$/.test(name)
    expect(stdout.match(/ALERT_CHANNEL_.+/g)).toEqual(
      Object.entries(set)
        .map(([name, value]) => `${name}=${isSecret(name) ? '…' : value}`)
        .sort(),
    )
  })

  test('says how to set one if there is none', async () => {
    const { stdout } = await run('channels')
    expect(stdout).toContain('No channel is set')
    expect(stdout).toContain('ALERT_CHANNEL_OPS=https://oapi.dingtalk.com/')
  })
})

test('dirsync alerts rules lists each with its figure, and who is quiet until when', async () => {
  await plantNight()
  const { stdout } = await dirsync(['alerts', 'rules'], { ...deployment.settings, ALERT_TOKENS: 'off' })
  expect(stdout).toMatch(/held_run +warning +at once/)
  expect(stdout).toMatch(/tokens +warning +off/)
  expect(stdout).toMatch(/clock .*1 alert · muted until/)
  expect(wideLines(stdout)).toEqual([])
  expect((await inChinese('rules')).stdout).toMatch(/held_run +警告 +立即/)
  expect((await run('rules', '--json')).json().items[0]).toMatchObject({
    rule: 'halt',
    settings: [{ name: 'ALERT_HALT', value: 0 }],
  })
})

test('dirsync alerts history lists what is over, the latest first', async () => {
  const { pool } = deployment.own
  const halt = await plantAlert(pool, 'halt', { state: 'ended', minutes: 200, endedMinutesAgo: 80 })
  await plantAlert(pool, 'clock', { state: 'ended', minutes: 30, endedMinutesAgo: 10 })
  const { stdout } = await run('history')
  expect(stdout).toMatch(/clock .* 20 min\n.*halt .* 2 h\n/)
  expect(stdout.replace(/\s+/g, ' ')).toContain(
    `→ ${halt}: The enterprise code is not bound to the application.`,
  )
  expect(wideLines(stdout)).toEqual([])
  const rules = async (...args: string[]) =>
    (await run('history', '--json', ...args)).json().items.map(({ rule }: { rule: string }) => rule)
  expect(await rules()).toEqual(['clock', 'halt'])
  expect(await rules('--since', '30m')).toEqual(['clock'])
  expect(await rules('--rule', 'halt')).toEqual(['halt'])
  expect((await run('history', '--rule', 'tokens')).stdout).toContain('No alert matches these filters.\n')
})

describe('dirsync alerts mute', () => {
  test('keeps a rule, or a subject of it, quiet until a time, in the name of the shell user; unmute ends it', async () => {
    const one = ['held_run', '--subject', '7']
    expect((await run('mute', ...one, '--for', '4h', '--reason', 'it moves')).stdout).toMatch(
      /^held_run: 7 is muted until /,
    )
    const { rows } = await deployment.own.pool.query(
      `select subject, muted_by, round(extract(epoch from until - now()) / 3600)::int as hours
       from dirsync.alert_mute`,
    )
    expect(rows).toEqual([{ subject: '7', muted_by: expect.stringMatching(/\(cli:.+\)$/), hours: 4 }])
    expect((await run('unmute', 'held_run', '--json')).json()).toMatchObject({ unmuted: false })
    expect((await run('unmute', ...one)).stdout).toBe('The mute has ended.\n')
  })
})

describe('dirsync alerts quiet', () => {
  test('sets hours in a time zone, shows them, and ends them', async () => {
    const set = await run('quiet', '22:00-07:00', '--time-zone', 'Asia/Shanghai')
    expect(set.stdout).toBe('Quiet hours are from 22:00 to 07:00 (Asia/Shanghai).\n')
    expect((await run('quiet')).stdout).toContain('From 22:00 to 07:00 each day (Asia/Shanghai)')
    expect((await inChinese('quiet')).stdout).toContain('每天 22:00 至 07:00（Asia/Shanghai）')
    expect((await run('quiet', 'off')).stdout).toBe('Quiet hours are switched off.\n')
  })

  test('takes the shell’s time zone, and refuses unknown ones', async () => {
    const own = await dirsyncProcess(['alerts', 'quiet', '23:00-06:00', '--json'], {
      ...deployment.settings,
      TZ: 'Europe/Berlin',
    })
    expect(own.json()).toEqual({ starts: '23:00', ends: '06:00', time_zone: 'Europe/Berlin' })
    const refused = await run('quiet', '22:00-07:00', '--time-zone', 'Mars/Olympus')
    expect(refused).toMatchObject({ code: 2, stdout: '' })
    expect(refused.stderr).toContain('This time zone does not exist')
  })
})

describe('dirsync alerts test', () => {
  // No database: only what a message needs.
  const channels = () => ({
    ALERT_CHANNEL_OPS: `${receiver.origin}/hook/hunter2`,
    ALERT_CHANNEL_BROKEN: `${receiver.origin}/broken/hunter2`,
    ALERT_CHANNEL_BROKEN_LANGUAGE: 'zh-CN',
  })

  test('sends one to each channel in its language, and says what the servers answered', async () => {
    const { code, stdout, stderr } = await dirsync(['alerts', 'test'], channels())
    expect({ code, stderr }).toEqual({ code: 1, stderr: '' })
    expect(stdout).toMatch(
      /broken did not accept the test message, or not for all recipients\.\n {2}.*HTTP 404\n.*ops accepted the test message\.\n {2}HTTP 200\n$/,
    )
    expect(stdout).not.toContain('hunter2')
    expect(receiver.arrivals).toHaveLength(2)
    expect(receiver.arrivals.some(({ body }) => body.includes('dirsync: test message'))).toBe(true)
    expect(receiver.arrivals.some(({ body }) => body.includes('dirsync：测试消息'))).toBe(true)
  })

  test('says in Chinese why a channel did not take it, around the words of others', async () => {
    const { stdout, stderr } = await dirsync(['alerts', 'test'], {
      DIRSYNC_LANG: 'zh-CN',
      ALERT_CHANNEL_AWAY: 'http://127.0.0.1:1/hook',
      ALERT_CHANNEL_MAIL: 'smtp://127.0.0.1:1?tls=off',
      ALERT_CHANNEL_MAIL_FROM: 'dirsync@example.com',
      ALERT_CHANNEL_MAIL_TO: 'ops@example.com',
      ALERT_CHANNEL_BROKEN: `${receiver.origin}/broken/hunter2`,
    })
    expect(stderr).toBe('')
    expect(stdout).toMatch(/^ {2}127\.0\.0\.1:1 没有给出完整的响应：connect ECONNREFUSED 127\.0\.0\.1:1$/m)
    expect(stdout.match(/127\.0\.0\.1:1 没有给出完整的响应/g)).toHaveLength(2)
    expect(stdout).toMatch(/^ {2}127\.0\.0\.1:\d+ 返回：HTTP 404$/m)
  })

  test('sends to one channel alone, whatever the case of its name', async () => {
    const { code, json } = await dirsync(['alerts', 'test', '--channel', 'Ops', '--json'], channels())
    expect(code).toBe(0)
    expect(json()).toEqual([{ channel: 'ops', accepted: true, answer: 'HTTP 200' }])
    expect(receiver.arrivals).toHaveLength(1)
  })

  test('ends the outage of a channel that accepts it, and sends its waiting messages', async () => {
    const { pool } = deployment.own
    for (const name of ['broken', 'ops']) await plantChannel(pool, name, { failingMinutes: 30 })
    await plantNotice(pool, await plantAlert(pool, 'halt'), 'ops', { message: 'waiting' })
    await pool.query(`update dirsync.alert_message set not_before = now() + interval '1 hour'`)
    const { code } = await dirsync(['alerts', 'test'], { ...deployment.settings, ...channels() })
    expect(code).toBe(1)
    const { rows } = await pool.query(
      `select name, failing_since is null as fine, last_answer from dirsync.alert_channel order by name`,
    )
    expect(rows).toEqual([
      { name: 'broken', fine: false, last_answer: null },
      { name: 'ops', fine: true, last_answer: 'HTTP 200' },
    ])
    const { rows: due } = await pool.query('select not_before <= now() as now from dirsync.alert_message')
    expect(due).toEqual([{ now: true }])
  })

  test.each([
    ['no channel is set', [], {}, 1, /no channel is set.*ALERT_CHANNEL_OPS=https:/],
    [
      'there is no such channel',
      ['--channel', 'x'],
      channels,
      2,
      /no channel "x": choose one of broken, ops/,
    ],
    [
      'a channel is set wrongly',
      [],
      { ALERT_CHANNEL_OPS: 'hunter2' },
      2,
      /ALERT_CHANNEL_OPS holds \(secret\)/,
    ],
  ] as const)('says so where %s', async (_, args, env, code, sentence) => {
    const told = await dirsync(['alerts', 'test', ...args], typeof env === 'function' ? env() : env)
    expect(told).toMatchObject({ code, stdout: '' })
    expect(told.stderr).toMatch(sentence)
    expect(told.stderr).not.toContain('hunter2')
    expect(receiver.arrivals).toEqual([])
  })
})

describe('dirsync status', () => {
  test('names alerts about what it does not show itself, and counts them for programs', async () => {
    const status = (env = {}) => dirsync(['status'], { ...deployment.settings, ...env })
    expect((await status()).stdout).not.toContain('dirsync alerts')
    await plantNight()
    await plantAlert(deployment.own.pool, 'money_unknown')
    expect((await status()).stdout).toMatch(
      /Refunds whose outcome is unknown\n *2 refunds were sent .*→ Do not send them again\..*dirsync alerts\n/s,
    )
    expect((await status({ DIRSYNC_LANG: 'zh-CN' })).stdout).toContain('退款结果未知')
    await deployment.own.pool.query(
      `insert into dirsync.job_schedule (job, expression, next_due_at) values ('prune', '* * * * *', now())`,
    )
    const { stdout } = await dirsync(['status', '--json'], deployment.settings)
    const { alerts, jobs } = JSON.parse(stdout)
    // One is muted, and one follows from another.
    expect(alerts).toEqual({ count: 2, worst: 'critical' })
    expect(jobs).toMatchObject([{ job: 'prune', off: true }])
  })

  test('begins with the break that the platform asked for, once, and until when', async () => {
    await deployment.own.pool.query(
      `insert into dirsync.pacer (gate, next_at, paused_until, pause_reason)
       values ('platform', now(), now() + interval '1 hour', 'HTTP 429')
       on conflict (gate) do update set (paused_until, pause_reason) = (excluded.paused_until, excluded.pause_reason)`,
    )
    const { stdout } = await dirsync(['status'], deployment.settings)
    expect(stdout.match(/The platform asked dirsync to wait/g)).toHaveLength(1)
    expect(stdout).toMatch(/Calls per second +0 \(Calls continue by themselves .*\d\d:\d\d\)/)
  })
})
