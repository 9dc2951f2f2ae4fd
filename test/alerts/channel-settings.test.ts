import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { ChannelSettings } from '../../src/alerts/channel.ts'
import { ConfigError, type Environment, loadConfig } from '../../src/config.ts'
import { LEAST } from '../helpers/least-settings.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

const DINGTALK = 'https://oapi.dingtalk.com/robot/send?access_token=ding-token'
const WEBHOOK_SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`

const channelsOf = (env: Environment) => loadConfig({ ...LEAST, ...env }).channels

function channelOf(env: Environment): ChannelSettings {
  const [channel, ...others] = channelsOf(env)
  expect(others).toEqual([])
  return channel as ChannelSettings
}

function complaintAbout(env: Environment): string {
  try {
    channelsOf(env)
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError)
    return (error as Error).message
  }
  throw new Error('the settings were accepted')
}

describe('a channel is what its address says', () => {
  test.each([
    [DINGTALK, 'dingtalk'],
    ['https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=693a91f6', 'wecom'],
    ['https://open.feishu.cn/open-apis/bot/v2/hook/f00d', 'feishu'],
    ['https://open.larksuite.com/open-apis/bot/v2/hook/f00d', 'feishu'],
    ['https://hooks.slack.com/services/T0/B0/XX', 'slack'],
    ['https://ops.example.com/hooks/dirsync', 'webhook'],
    ['http://localhost:9000/', 'webhook'],
  ])('%s is of the kind %s', (address, kind) => {
    expect(channelOf({ ALERT_CHANNEL_OPS: ` ${address} ` })).toEqual({
      name: 'ops',
      kind,
      url: address,
      secret: null,
      least: 'warning',
      language: 'en',
      mention: [],
      from: null,
      to: [],
    })
  })

  test('a webhook gets events instead of alerts, by their names', () => {
    const url = { ALERT_CHANNEL_OPS: 'https://ops.example.com/hooks' }
    expect(channelOf({ ...url, ALERT_CHANNEL_OPS_EVENTS: 'run.done, case.*' })).toMatchObject({
      events: ['run.done', 'case.*'],
    })
  })

  test('a proxy needs the kind before its address, and may keep the rest to itself', () => {
    const url = 'https://proxy.example.com/ding'
    expect(channelOf({ ALERT_CHANNEL_A1: `dingtalk+${url}` })).toMatchObject({ kind: 'dingtalk', url })
    expect(channelOf({ ALERT_CHANNEL_A1: `feishu+http://proxy/x` })).toMatchObject({ kind: 'feishu' })
  })

  test('mail has a server, a sender and recipients', () => {
    const mail = channelOf({
      ALERT_CHANNEL_MAIL: 'smtp://dirsync:p%40ss@mail.example.com:587',
      ALERT_CHANNEL_MAIL_FROM: 'dirsync of HR <dirsync@example.com>',
      ALERT_CHANNEL_MAIL_TO: 'ops@example.com, Night shift <night@example.com>,',
    })
    expect(mail).toMatchObject({
      kind: 'mail',
      from: 'dirsync of HR <dirsync@example.com>',
      to: ['ops@example.com', 'Night shift <night@example.com>'],
    })
  })

  test("where the mail server's user is an address, it is the sender", () => {
    const address = 'smtps://dirsync%40example.com:secret@mail.example.com'
    const env = { ALERT_CHANNEL_MAIL: address, ALERT_CHANNEL_MAIL_TO: 'ops@example.com' }
    expect(channelOf(env).from).toBe('dirsync@example.com')
  })

  test('secret, least severity and language belong to it; without a language it speaks that of the deployment', () => {
    const env = {
      DIRSYNC_LANG: 'zh-CN',
      ALERT_CHANNEL_OPS: DINGTALK,
      ALERT_CHANNEL_OPS_SECRET: 'SEC0123',
      ALERT_CHANNEL_OPS_LEAST: 'critical',
      ALERT_CHANNEL_HOOK: 'https://ops.example.com/',
      ALERT_CHANNEL_HOOK_SECRET: WEBHOOK_SECRET,
      ALERT_CHANNEL_HOOK_LANGUAGE: 'en',
    }
    expect(channelsOf(env)).toMatchObject([
      { name: 'hook', secret: WEBHOOK_SECRET, least: 'warning', language: 'en' },
      { name: 'ops', secret: 'SEC0123', least: 'critical', language: 'zh-CN' },
    ])
  })

  test.each([
    [DINGTALK, '+86-13900000001, 13900000002', ['+86-13900000001', '13900000002']],
    [DINGTALK, 'all', ['all']],
    ['slack+https://x.example', 'U0123456', ['U0123456']],
    [DINGTALK, '', []],
  ])('%s mentions %j', (address, mention, ids) => {
    expect(channelOf({ ALERT_CHANNEL_OPS: address, ALERT_CHANNEL_OPS_MENTION: mention }).mention).toEqual(ids)
  })

  test('each setting may be in a file, and an empty one counts as not set', async () => {
    const folder = await temporaryFolder()
    const [address, secret] = [join(folder, 'address'), join(folder, 'secret')]
    await writeFile(address, `${DINGTALK}\n`)
    await writeFile(secret, 'SEC0123\n')
    const env = {
      ALERT_CHANNEL_OPS_FILE: address,
      ALERT_CHANNEL_OPS_SECRET_FILE: secret,
      ALERT_CHANNEL_OPS_LEAST: '',
    }
    expect(channelOf(env)).toMatchObject({ name: 'ops', url: DINGTALK, secret: 'SEC0123', least: 'warning' })
    expect(complaintAbout({ ALERT_CHANNEL_OPS_FILE: join(folder, 'none') })).toMatch(
      /^ALERT_CHANNEL_OPS_FILE holds ".*none" but that file cannot be read$/,
    )
  })
})

describe('what is wrong stops the start with a sentence that names the setting', () => {
  const MAIL = {
    ALERT_CHANNEL_M: 'smtp://mail.example.com',
    ALERT_CHANNEL_M_FROM: 'a@example.com',
    ALERT_CHANNEL_M_TO: 'b@example.com',
  }
  test.each([
    [
      { ALERT_CHANNEL_OPS: 'ops@example.com' },
      /^ALERT_CHANNEL_OPS holds \(secret\) but should be an address/,
    ],
    [{ ALERT_CHANNEL_OPS: 'ftp://example.com' }, /should be an address beginning with https:\/\/, http:\/\//],
    [
      { ALERT_CHANNEL_OPS: 'https://oapi.dingtalk.com/robot/send' },
      /should be the whole address, https:\/\/oapi\.dingtalk\.com\/robot\/send\?access_token=…$/,
    ],
    [{ ALERT_CHANNEL_OPS: 'https://qyapi.weixin.qq.com/cgi-bin/webhook/send' }, /whole address.*key=/],
    [{ ALERT_CHANNEL_OPS: 'https://open.feishu.cn/open-apis/bot/hook/old' }, /whole address.*v2\/hook/],
    [{ ALERT_CHANNEL_OPS: 'https://hooks.slack.com/triggers/x' }, /whole address.*services/],
    [
      { ALERT_CHANNEL_OPS: DINGTALK, ALERT_CHANNEL_OPS_LEAST: 'high' },
      /^ALERT_CHANNEL_OPS_LEAST holds "high" but should be one of info, warning, critical$/,
    ],
    [
      { ALERT_CHANNEL_OPS: DINGTALK, ALERT_CHANNEL_OPS_LANGUAGE: 'fr' },
      /^ALERT_CHANNEL_OPS_LANGUAGE holds "fr" but should be en or zh-CN$/,
    ],
    [{ ALERT_CHANNEL_OPS: DINGTALK, ALERT_CHANNEL_OPS_TO: 'a@b' }, /_TO holds "a@b" but only mail has that/],
    [
      { ALERT_CHANNEL_OPS: 'https://x.example', ALERT_CHANNEL_OPS_SECRET: 'abc' },
      /^ALERT_CHANNEL_OPS_SECRET holds \(secret\) but should be whsec_/,
    ],
    [
      { ALERT_CHANNEL_OPS: 'https://hooks.slack.com/services/a/b/c', ALERT_CHANNEL_OPS_SECRET: 'abc' },
      /signs nothing: unset it$/,
    ],
    ...(
      [
        [DINGTALK, '13900000001)[x](http://evil', 'all, or up to 20 mobile numbers'],
        [DINGTALK, 'all,13900000001', 'all, or up to 20 mobile numbers'],
        ['wecom+https://x.example', 'all', 'up to 20 user ids'],
        ['wecom+https://x.example', 'a><@b', 'up to 20 user ids'],
        ['feishu+https://x.example', 'ou_1></at><at id=all', 'all, or up to 20 open ids'],
        ['slack+https://x.example', '!channel', 'all, or up to 20 member ids'],
        ['slack+https://x.example', Array(21).fill('U0123456').join(), 'all, or up to 20 member ids'],
      ] as const
    ).map(
      ([address, mention, wanted]) =>
        [
          { ALERT_CHANNEL_OPS: address, ALERT_CHANNEL_OPS_MENTION: mention },
          new RegExp(`^ALERT_CHANNEL_OPS_MENTION holds \\(secret\\) but should be ${wanted}`),
        ] as const,
    ),
    [
      { ALERT_CHANNEL_OPS: 'https://x.example', ALERT_CHANNEL_OPS_MENTION: 'all' },
      /_MENTION holds \(secret\) but a channel of the kind webhook mentions no one: unset it$/,
    ],
    [
      { ALERT_CHANNEL_OPS_SECRET: 'abc' },
      /^missing settings: ALERT_CHANNEL_OPS \(without it, unset ALERT_CHANNEL_OPS_SECRET\)$/,
    ],
    [
      { ALERT_CHANNEL_M: 'smtp://mail.example.com' },
      /^missing settings: ALERT_CHANNEL_M_FROM, ALERT_CHANNEL_M_TO$/,
    ],
    [{ ...MAIL, ALERT_CHANNEL_M: 'smtp://me:p@ss@mail.example.com' }, /percent-encoded$/],
    [{ ...MAIL, ALERT_CHANNEL_M: 'smtp://me:p%zz@mail.example.com' }, /percent-encoded$/],
    [
      { ALERT_CHANNEL_OPS: 'https://hook:50%off@hooks.example.com/x' },
      /holds \(secret\) but .* percent-encoded$/,
    ],
    [{ ...MAIL, ALERT_CHANNEL_M: 'smtp://me@mail.example.com' }, /both a user and a password/],
    [
      { ...MAIL, ALERT_CHANNEL_M: 'smtp://mail.example.com?secure=false' },
      /nothing behind the port, except \?tls=off$/,
    ],
    [
      { ...MAIL, ALERT_CHANNEL_M: 'smtps://mail.example.com?tls=off' },
      /should begin with smtp:\/\/ where tls is off$/,
    ],
    [{ ...MAIL, ALERT_CHANNEL_M: 'smtp://me:pw@mail.example.com?tls=off' }, /no password where tls is off/],
    [
      { ...MAIL, ALERT_CHANNEL_M_FROM: 'dirsync' },
      /^ALERT_CHANNEL_M_FROM holds "dirsync" but should be a mail address/,
    ],
    [
      { ...MAIL, ALERT_CHANNEL_M_TO: 'a@b, c' },
      /^ALERT_CHANNEL_M_TO holds "a@b, c" but should be mail addresses/,
    ],
    [
      { ALERT_CHANNEL_OPS: DINGTALK, ALERT_CHANNEL_OPS_SECRT: 'x' },
      /^ALERT_CHANNEL_OPS_SECRT is not a setting of a channel: did you mean ALERT_CHANNEL_OPS_SECRET\?$/,
    ],
    [
      { ALERT_CHANNEL_ops: DINGTALK },
      /^ALERT_CHANNEL_ops is not a setting of a channel: a name has capitals and digits/,
    ],
    [
      { ALERT_CHANNEL_OPS_TEAM: DINGTALK },
      /^ALERT_CHANNEL_OPS_TEAM is not a setting of a channel: a name has/,
    ],
    [{ ALERT_CHANNEL_SECRET: 'x' }, /^ALERT_CHANNEL_SECRET is not a setting of a channel/],
    [{ ALERT_CHANNEL: DINGTALK }, /^ALERT_CHANNEL is not a setting of a channel/],
  ] as [Environment, RegExp][])('%j', (env, complaint) => {
    const told = complaintAbout(env)
    expect(told).toMatch(complaint)
    for (const secret of ['ding-token', 'p@ss', 'abc', 'hooks.slack.com/services/a'])
      expect(told).not.toContain(secret)
  })

  test('everything at once, with what else is wrong', () => {
    const told = complaintAbout({
      CONSOLE_PORT: 'x',
      ALERT_CHANNEL_OPS: 'x',
      ALERT_CHANNEL_OPS_LEAST: 'x',
      ALERT_CHANNEL_HOOK_SECRET: 'x',
    })
    expect(told.split('\n').map(line => line.split(/ (?:holds|but)|:/)[0])).toEqual([
      'CONSOLE_PORT',
      'missing settings',
      'ALERT_CHANNEL_OPS_LEAST',
      'ALERT_CHANNEL_OPS',
    ])
  })

  test('a relay on this machine may be used without TLS, and with a password', () => {
    const env = { ...MAIL, ALERT_CHANNEL_M: 'smtp://me:pw@localhost:25?tls=off' }
    expect(channelOf(env).url).toBe('smtp://me:pw@localhost:25?tls=off')
  })
})
