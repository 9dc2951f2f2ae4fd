import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { type Environment, loadConfig } from '../../src/config.ts'
import { CheckResult } from '../../src/doctor/finding.ts'
import { examineChannels } from '../../src/doctor/local.ts'
import type { Pool } from '../../src/lib/database.ts'
import { inLanguage } from '../../src/texts/failures.ts'
import { MailServer } from '../alerts/channels/mail-server.ts'
import { LEAST } from '../helpers/least-settings.ts'
import { createTestDatabase } from '../helpers/postgres.ts'

const SETTINGS = { ...LEAST, CONSOLE_URL: 'https://dirsync.example.com' }

async function findingsOf(env: Environment, embedded = false, pool: Pool | null = null) {
  const config = { ...loadConfig({ ...SETTINGS, ...env }), embedded }
  const findings = await examineChannels(config, pool, 'dirsync')
  // The console says them in Chinese, too.
  for (const { what, remedy = what } of findings)
    for (const one of [what, remedy]) expect(inLanguage('zh-CN', one)).toMatch(/\p{Script=Han}/u)
  return findings.map(finding => z.encode(CheckResult, finding))
}

test('a deployment without a channel is warned, the trial is not', async () => {
  expect(await findingsOf({})).toMatchObject([
    { check: 'alerts', status: 'warning', remedy: expect.stringContaining('ALERT_CHANNEL_OPS') },
  ])
  expect(await findingsOf({}, true)).toMatchObject([{ status: 'ok' }])
})

test('a robot is named without its secrets, and not written to', async () => {
  const env = {
    ALERT_CHANNEL_OPS: 'https://oapi.dingtalk.com/robot/send?access_token=ding-token',
    ALERT_CHANNEL_OPS_LEAST: 'critical',
  }
  expect(await findingsOf(env)).toEqual([
    {
      check: 'alerts',
      status: 'ok',
      what: 'channel ops: dingtalk to oapi.dingtalk.com, told of critical and worse',
    },
  ])
})

test('a webhook of events is said to get no alerts, and does not make up for a channel of alerts', async () => {
  const env = {
    ALERT_CHANNEL_HOOK: 'https://hooks.example.com/x',
    ALERT_CHANNEL_HOOK_EVENTS: 'run.done, case.*',
  }
  const hook = {
    status: 'ok',
    what: 'channel hook: webhook to hooks.example.com, gets events, no alerts: run.done, case.*',
  }
  expect(await findingsOf(env)).toMatchObject([
    { status: 'warning', remedy: expect.stringContaining('ALERT_CHANNEL_OPS') },
    hook,
  ])
  expect(await findingsOf(env, true)).toMatchObject([{ status: 'ok' }, hook])
  expect(await findingsOf({ ...env, ALERT_CHANNEL_OPS: 'https://hooks.example.com/y' })).toMatchObject([
    hook,
    { status: 'ok', what: expect.stringContaining('told of warning and worse') },
  ])
})

test('messages without TLS or without links are warned of', async () => {
  const env = { ALERT_CHANNEL_HOOK: 'http://hooks.example.com/x', CONSOLE_URL: undefined }
  expect(await findingsOf(env)).toMatchObject([
    { status: 'warning', remedy: 'Set ALERT_CHANNEL_HOOK to an https:// address.' },
    { status: 'warning', what: expect.stringContaining('CONSOLE_URL') },
  ])
  expect(await findingsOf({ ALERT_CHANNEL_HOOK: 'http://localhost:9000/' })).toMatchObject([{ status: 'ok' }])
})

test('a mail server that does not answer, or refuses the user, is warned of', async () => {
  const server = await MailServer.start({ authOptional: true, disabledCommands: ['STARTTLS'] })
  onTestFinished(() => server[Symbol.asyncDispose]())
  const mail = (address: string) => ({
    ALERT_CHANNEL_MAIL: address,
    ALERT_CHANNEL_MAIL_FROM: 'dirsync@example.com',
    ALERT_CHANNEL_MAIL_TO: 'ops@example.com',
  })
  const relay = `127.0.0.1:${server.port}?tls=off`
  expect(await findingsOf(mail(`smtp://${relay}`))).toMatchObject([
    { status: 'ok', what: 'channel mail: mail to ops@example.com, told of warning and worse' },
  ])
  expect(server.arrivals).toEqual([])
  const [refused] = await findingsOf(mail(`smtp://dirsync:wrong@${relay}`))
  expect(refused).toMatchObject({
    status: 'warning',
    what: expect.stringMatching(/^channel mail cannot send: .* 535/),
    remedy: 'Correct ALERT_CHANNEL_MAIL, or the mail server.',
  })
  expect((await findingsOf(mail('smtp://127.0.0.1:1')))[0]?.what).toContain('ECONNREFUSED')
})

test('a channel that took no message lately is warned of, with what it answered', async () => {
  await using own = await createTestDatabase({ migrated: true })
  await own.pool.query(`
    insert into dirsync.alert_channel (name, kind, target, least, language, seen_at, failing_since, last_answer)
    select name, 'webhook', 'hooks.example.com', 'warning', 'en', now(), failing_since, last_answer
    from (values ('ops', now(), 'HTTP 410'), ('hook', null, 'HTTP 200')) c (name, failing_since, last_answer);
    insert into dirsync.alert_message (channel, kind, content) values ('ops', 'alerts', '{}')`)
  const env = {
    ALERT_CHANNEL_OPS: 'https://hooks.example.com/x',
    ALERT_CHANNEL_HOOK: 'https://hooks.example.com/y',
  }
  const fine = { status: 'ok', what: expect.stringContaining('channel hook: webhook') }
  expect(await findingsOf(env, false, own.pool)).toMatchObject([
    fine,
    {
      status: 'warning',
      what: 'channel ops does not take messages, or not for all recipients; its latest answer: HTTP 410',
      remedy: 'Check ALERT_CHANNEL_OPS, then try it with dirsync alerts test --channel ops.',
    },
  ])
  const elsewhere = { ...env, ALERT_CHANNEL_OPS: 'http://new.example.com/x' }
  expect(await findingsOf(elsewhere, false, own.pool)).toMatchObject([
    fine,
    { status: 'warning', what: expect.stringContaining('new.example.com') },
  ])
  await own.pool.query('update dirsync.alert_channel set failing_since = null')
  expect(await findingsOf(env, false, own.pool)).toMatchObject([fine, { status: 'ok' }])
})
