import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type Environment, loadConfig } from '../../src/config.ts'
import { describeSettings } from '../../src/doctor/settings.ts'
import { SETTINGS } from '../../src/settings/settings.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

const MARKER = 'hunter2'

const LEAST: Environment = {
  DATABASE_URL: `postgres://dirsync:${MARKER}@db.example:5432/dirsync?password=${MARKER}&application_name=x`,
  HR_DATABASE_URL: `postgres://reader:${MARKER}@hr.example/hr`,
  HR_EMPLOYEES_SQL: 'mapping/employees.sql',
  PLATFORM_BASE_URL: 'https://platform.example.com/api',
  PLATFORM_APP_ID: 'demo-application',
  PLATFORM_APP_SECRET: MARKER,
}

function described(env: Environment, embedded = false) {
  const settings = describeSettings(env, { ...loadConfig({ ...LEAST, ...env }), embedded })
  return { all: settings, of: (name: string) => settings.find(setting => setting.name === name) }
}

test('no secret is shown, wherever it stands', () => {
  const secrets = Object.entries(SETTINGS).filter(([, setting]) => 'secret' in setting)
  expect(secrets.length).toBeGreaterThan(4)
  // A client secret alone is refused.
  const env: Environment = {
    ...LEAST,
    CONSOLE_URL: 'https://dirsync.example.com',
    OIDC_ISSUER: 'https://login.example.com',
    OIDC_CLIENT_ID: 'dirsync',
    OIDC_ROLES: 'groups:a=admin',
  }
  for (const [name, { type }] of secrets) {
    const isAddress = type.description?.startsWith('address')
    const protocol = /^address, (\w+):/.exec(type.description ?? '')?.[1]
    env[name] = isAddress ? `${protocol}://user:${MARKER}@host:1234/path?password=${MARKER}` : MARKER
  }
  env.OTEL_EXPORTER_OTLP_HEADERS = `authorization=${MARKER}`
  // What is no secret may still be an address with a password.
  env.NOTIFICATION_URL = `https://hr.example.com/n?token=${MARKER}`
  env.OTEL_EXPORTER_OTLP_ENDPOINT = `https://user:${MARKER}@collector.example.com`
  env.CONSOLE_TOKEN = `https://${MARKER}.example`
  env.ALERT_CHANNEL_OPS = `https://oapi.dingtalk.com/robot/send?access_token=${MARKER}`
  env.ALERT_CHANNEL_OPS_SECRET = MARKER
  env.ALERT_CHANNEL_HOOK = `webhook+https://user:${MARKER}@hooks.example.com/${MARKER}`
  env.ALERT_CHANNEL_MAIL = `smtp://dirsync:${MARKER}@mail.example.com:587`
  env.ALERT_CHANNEL_MAIL_FROM = env.ALERT_CHANNEL_MAIL_TO = 'ops@example.com'
  const { all } = described(env)
  expect(JSON.stringify(all)).not.toContain(MARKER)
  for (const [name] of secrets) expect(all.find(row => row.name === name)).toMatchObject({ isSet: true })
})

test('an address is shown without its password and parameters', () => {
  const { of } = described(LEAST)
  expect(of('DATABASE_URL')).toMatchObject({
    value: 'postgres://dirsync@db.example:5432/dirsync',
    secret: true,
    source: 'environment',
  })
  // A setting that holds addresses is not one.
  expect(described({ CONSOLE_PROXIES: '10.0.0.1' }).of('CONSOLE_PROXIES')?.value).toBe('10.0.0.1')
  expect(of('PLATFORM_BASE_URL')?.value).toBe('https://platform.example.com/api')
})

test('each says where it comes from', async () => {
  const file = join(await temporaryFolder(), 'secret')
  await writeFile(file, `${MARKER}\n`)
  const { PLATFORM_APP_SECRET: _, ...others } = LEAST
  const env = {
    ...others,
    PLATFORM_APP_SECRET_FILE: file,
    PLATFORM_RATE_LIMIT: ' 80 ',
    SCHEDULE_PRUNE: 'off',
  }
  const settings = describeSettings(env, loadConfig(env))
  const of = (name: string) => settings.find(setting => setting.name === name)
  expect(of('PLATFORM_APP_SECRET')).toMatchObject({ value: null, isSet: true, source: 'file', file })
  expect(of('PLATFORM_RATE_LIMIT')).toMatchObject({
    value: '80',
    default: '10',
    source: 'environment',
    file: null,
  })
  expect(of('WORKER_CONCURRENCY')).toMatchObject({ value: '16', source: 'default' })
  expect(of('REDIS_URL')).toMatchObject({ value: null, isSet: false, source: 'none' })
  expect(of('SCHEDULE_PRUNE')).toMatchObject({ value: 'off', source: 'environment', group: 'Schedules' })
  expect(of('SCHEDULE_SYNC_CHANGES')).toMatchObject({ value: '*/5 * * * *', source: 'default' })
})

test('what the embedded parts brought is named so', () => {
  const { of, all } = described({ LOG_LEVEL: 'debug' }, true)
  expect(of('PLATFORM_APP_ID')).toMatchObject({ value: 'demo-application', source: 'embedded' })
  expect(of('PLATFORM_APP_SECRET')).toMatchObject({ value: null, isSet: true, source: 'embedded' })
  expect(of('LOG_LEVEL')).toMatchObject({ value: 'debug', source: 'environment' })
  // Its application is its own, whatever the environment says.
  const embedded = { ...loadConfig(LEAST), embedded: true }
  const own = describeSettings({ PLATFORM_APP_ID: 'another' }, embedded)
  expect(own.find(({ name }) => name === 'PLATFORM_APP_ID')).toMatchObject({
    value: 'demo-application',
    source: 'embedded',
  })
  // A figure is brought as much as a text.
  const config = { ...loadConfig({ ...LEAST, PLATFORM_RATE_LIMIT: '200' }), embedded: true }
  const rate = describeSettings({}, config).find(({ name }) => name === 'PLATFORM_RATE_LIMIT')
  expect(rate).toMatchObject({ value: '200', default: '10', source: 'embedded' })
  // So is a list.
  const sellers = { ...loadConfig({ ...LEAST, SELLER_APPIDS: 'mall0001, mall0002' }), embedded: true }
  const list = describeSettings({}, sellers).find(({ name }) => name === 'SELLER_APPIDS')
  expect(list).toMatchObject({ value: 'mall0001,mall0002', default: '', source: 'embedded', isSet: true })
  expect(JSON.stringify(all)).not.toContain(MARKER)
})

test('every setting is described', () => {
  const { all } = described(LEAST)
  expect(all.map(({ name }) => name)).toEqual(expect.arrayContaining(Object.keys(SETTINGS)))
  for (const { group, meaning } of all) expect(group !== '' && meaning !== '').toBe(true)
})

test('channels are shown by kind and host, with what belongs to them', () => {
  const env = {
    ALERT_CHANNEL_OPS: 'https://oapi.dingtalk.com/robot/send?access_token=x',
    ALERT_CHANNEL_OPS_SECRET: 'SEC0123',
    ALERT_CHANNEL_PROXY: 'wecom+https://proxy.example.com/hook',
    ALERT_CHANNEL_MAIL: 'smtp://dirsync:x@mail.example.com:587',
    ALERT_CHANNEL_MAIL_FROM: 'dirsync@example.com',
    ALERT_CHANNEL_MAIL_TO: 'ops@example.com',
    ALERT_CHANNEL_MAIL_LEAST: 'critical',
  }
  const shown = described(env).all.filter(({ name }) => name.startsWith('ALERT_CHANNEL_'))
  expect(shown.map(({ name, value }) => [name, value])).toEqual([
    ['ALERT_CHANNEL_MAIL', 'smtp://dirsync@mail.example.com:587'],
    ['ALERT_CHANNEL_MAIL_FROM', 'dirsync@example.com'],
    ['ALERT_CHANNEL_MAIL_LEAST', 'critical'],
    ['ALERT_CHANNEL_MAIL_TO', 'ops@example.com'],
    ['ALERT_CHANNEL_OPS', 'https://oapi.dingtalk.com/…'],
    ['ALERT_CHANNEL_OPS_SECRET', null],
    ['ALERT_CHANNEL_PROXY', 'wecom+https://proxy.example.com/…'],
  ])
  expect(shown.every(({ group, isSet }) => group === 'Alerts' && isSet)).toBe(true)
  const none = described({}).all.filter(({ name }) => name.startsWith('ALERT_CHANNEL_'))
  expect(none).toMatchObject([{ name: 'ALERT_CHANNEL_<NAME>', isSet: false, source: 'none' }])
})
