import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { expect, test } from 'vitest'
import { type Config, loadConfig } from '../../src/config.ts'
import { startReceiver } from '../../src/money/receiver.ts'
import { recordLog, silent } from '../console/console-under-test.ts'
import { createCompany } from '../helpers/company.ts'
import { duringFile } from '../helpers/during.ts'
import { LEAST } from '../helpers/least-settings.ts'
import { APP_ID, APP_SECRET, encode, type Fields, fieldsOf, signed } from '../helpers/notification.ts'
import { createTestDatabase, type TestDatabase } from '../helpers/postgres.ts'
import { spawnDirsync } from '../helpers/process.ts'
import { redisUrl } from '../helpers/redis.ts'

const database = duringFile(() => createTestDatabase({ migrated: true }))

const configOf = (settings: Record<string, string> = {}): Config =>
  loadConfig({
    ...LEAST,
    DATABASE_URL: database.url,
    PLATFORM_APP_ID: APP_ID,
    PLATFORM_APP_SECRET: APP_SECRET,
    NOTIFICATION_PORT: '0',
    ...settings,
  })

async function start(settings?: Record<string, string>, logger: typeof silent = silent) {
  const receiver = await startReceiver(configOf(settings), logger)
  return Object.assign(receiver, { [Symbol.asyncDispose]: () => receiver.close() })
}

const post = (url: string, body: string) =>
  fetch(`${url}/notifications/refund`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body,
  }).then(answer => answer.text())

/** One refund that the journal knows; the genuine notification of it. */
async function genuine(pool: TestDatabase['pool'], options: { appId?: string; secret?: string } = {}) {
  const { appId = APP_ID, secret = APP_SECRET } = options
  const fields: Fields = { ...fieldsOf(1, Date.now()), appid: appId }
  await pool.query(
    `insert into dirsync.refund (outer_refund_no, outer_trade_no, refund_amount, requested_by)
     values ($1, $2, $3, 'test')`,
    [fields.outer_refund_no, fields.outer_trade_no, fields.refund_amount],
  )
  return encode(signed(fields, { secret }))
}

test('it verifies by the settings, at the address that it logs', async () => {
  const { logger, lines } = recordLog()
  await using receiver = await start({}, logger)
  expect(receiver.url).toMatch(/^http:\/\/127\.0\.0\.1:[1-9]\d*$/)
  expect(lines).toContainEqual(expect.objectContaining({ level: 30, url: receiver.url }))
  const form = await genuine(database.pool)
  expect(await post(receiver.url, form)).toBe('success')
  await using another = await start({ PLATFORM_SIGN_ALGORITHM: 'sha1' })
  expect(await post(another.url, form)).toBe('fail')
})

test('a taken port and a strange address stop the start with one sentence that names the setting', async () => {
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  const { port } = other.address() as AddressInfo
  await expect(start({ NOTIFICATION_PORT: String(port) })).rejects.toMatchObject({
    name: 'ReceiverError',
    code: 'NOTIFICATION_PORT_TAKEN',
    message: expect.stringMatching(new RegExp(`^NOTIFICATION_PORT holds ${port} but [^\\n]+$`)),
  })
  other.close()
  await once(other, 'close')
  await expect(start({ NOTIFICATION_HOST: '192.0.2.1' })).rejects.toMatchObject({
    code: 'NOTIFICATION_ADDRESS_REFUSED',
    message: expect.stringMatching(/^NOTIFICATION_HOST holds "192.0.2.1" [^\n]+$/),
  })
})

test('close ends idle connections and half-sent requests at once, leaves no database connection, and may be repeated', async () => {
  await using receiver = await start()
  await fetch(`${receiver.url}/healthz`)
  const half = connect(Number(new URL(receiver.url).port), '127.0.0.1')
  half.on('error', () => {}) // it is about to be reset
  await once(half, 'connect')
  half.write('POST /notifications/refund HTTP/1.1\r\nHost: ')
  const from = performance.now()
  await Promise.all([receiver.close(), receiver.close(), once(half, 'close')])
  // By itself, such a request would end after ten seconds.
  expect(performance.now() - from).toBeLessThan(9000)
  await expect
    .poll(async () => {
      const { rows } = await database.pool.query(
        `select from pg_stat_activity where datname = $1 and application_name = 'dirsync notifications'`,
        [database.name],
      )
      return rows.length
    })
    .toBe(0)
})

test('it starts while Redis is away, and so does the upgrade before it', async () => {
  await using company = await createCompany({
    employees: 1,
    settings: { NOTIFICATION_PORT: '0', LOG_LEVEL: 'info' },
  })
  const env = { ...company.settings, REDIS_URL: 'redis://127.0.0.1:1' }
  await using upgrade = spawnDirsync(['migrate'], { env })
  expect(await upgrade.exited).toEqual({ code: 0, signal: null })
  expect(upgrade.stderr).toMatch(/^dirsync: Redis does not answer/)
  expect(upgrade.stdout).not.toContain('ready')
  await using service = spawnDirsync(['start', '--roles', 'notifications'], { env })
  const [, url = ''] = await service.waitForLine(/"msg":"Refund notifications: ([^"]+)"/)
  expect(await post(url, 'x')).toBe('fail')
  expect(await service.kill('SIGTERM')).toEqual({ code: 0, signal: null })
})

test('the upgrade fails where Redis refuses the password', { tags: 'redis' }, async () => {
  const url = Object.assign(new URL(await redisUrl()), { username: 'nobody', password: 'wrong' })
  const env = { DATABASE_URL: database.url, REDIS_URL: String(url) }
  await using upgrade = spawnDirsync(['migrate'], { env })
  expect(await upgrade.exited).toEqual({ code: 1, signal: null })
  expect(upgrade.stderr).toContain('WRONGPASS')
})

test('where NOTIFICATION_URL is set, dirsync start receives notifications; else it does not', async () => {
  await using company = await createCompany({
    employees: 1,
    settings: { CONSOLE_PORT: '0', NOTIFICATION_PORT: '0', LOG_LEVEL: 'info' },
  })
  await using without = spawnDirsync(['start'], { env: company.settings })
  await without.waitForLine(/"msg":"Running\./)
  expect(without.stderr).toContain('roles scheduler, worker, console;')
  expect(without.stderr).not.toContain('Refund notifications')
  await without.kill()

  await using service = spawnDirsync(['start'], {
    env: { ...company.settings, NOTIFICATION_URL: 'https://hr.example.com/notifications/refund' },
  })
  const [, url = ''] = await service.waitForLine(/"msg":"Refund notifications: ([^"]+)"/)
  const form = await genuine(company.db, { appId: 'test-application', secret: 'test-secret' })
  expect(await post(url, form)).toBe('success')
  expect(await post(url, `${form}0`)).toBe('fail')
  const [, console = ''] = await service.waitForLine(/"msg":"Console: (\S+)/)
  const metrics = await (await fetch(`${console}/metrics`)).text()
  expect(metrics).toContain('dirsync_notifications_total{outcome="stored"} 1')
  expect(metrics).toContain('dirsync_notifications_total{outcome="wrong_signature"} 1')
  expect(await service.kill('SIGTERM')).toEqual({ code: 0, signal: null })
  // Without a terminal, a log collector finds a single format.
  for (const line of service.stderr.trimEnd().split('\n'))
    expect(JSON.parse(line)).toMatchObject({ level: expect.any(Number), msg: expect.any(String) })
  // The settler names a refund whose sender it has found dead; the receiver tells nothing of what came.
  const told = service.stderr
    .split('\n')
    .filter(line => !line.includes('"component":"refunds"'))
    .join('\n')
  for (const [name, value] of new URLSearchParams(form))
    if (name !== 'appid' && name !== 'timestamp') expect(told).not.toContain(value)
})
