import { createServer } from 'node:http'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { addUser, disableUser } from '../../src/console/auth/users.ts'
import { CheckResult } from '../../src/doctor/finding.ts'
import { examineConsole } from '../../src/doctor/local.ts'
import { createPool, type Pool } from '../../src/lib/database.ts'
import { createLogger } from '../../src/lib/logger.ts'
import { inLanguage } from '../../src/texts/failures.ts'
import { duringFile } from '../helpers/during.ts'
import { freePort } from '../helpers/free-port.ts'
import { createTestDatabase } from '../helpers/postgres.ts'
import { spawnScript } from '../helpers/process.ts'

const database = duringFile(() => createTestDatabase({ migrated: true }))
let pool: Pool

beforeAll(async () => {
  const logger = createLogger({ level: 'silent', pretty: false })
  pool = createPool(database.url, { max: 1, name: 'doctor', logger })
})
afterAll(async () => {
  await pool.end()
})

const SETTINGS = {
  CONSOLE_HOST: '127.0.0.1',
  CONSOLE_URL: null,
  OIDC_ISSUER: null,
  OIDC_CLIENT_ID: null,
  embedded: false,
}
const found = (settings: Partial<Parameters<typeof examineConsole>[0]>) =>
  examineConsole({ ...SETTINGS, ...settings }, pool, 'dirsync')
const examine = async (settings: Partial<Parameters<typeof examineConsole>[0]> = {}) =>
  (await found(settings)).map(finding => z.encode(CheckResult, finding))
const withProvider = (issuer: string) => examine({ OIDC_ISSUER: issuer, OIDC_CLIENT_ID: 'dirsync' })

test('reports a console without users, with the command that adds the first', async () => {
  const nobody = {
    check: 'console',
    status: 'warning',
    what: 'no user can sign in to the console yet',
    remedy: 'Add the first user with dirsync users add NAME --role admin.',
  }
  expect(await examine()).toEqual([nobody])
  const [{ remedy = [] } = {}] = await found({})
  expect(inLanguage('zh-CN', remedy)).toBe('请用 dirsync users add NAME --role admin 添加第一个用户。')
  // A start that prints into a file, or as a service, keeps the address to itself.
  expect(await examine({ embedded: true })).toMatchObject([
    { status: 'ok', what: 'dirsync users link prints an address that signs in once' },
  ])
  await addUser(pool, 'test', { name: 'anna', role: 'admin', password: 'correct horse battery' })
  expect(await examine()).toMatchObject([{ status: 'ok', what: 'people sign in with a password' }])
  await disableUser(pool, 'test', 'anna')
  expect(await examine()).toEqual([nobody])
})

test('an identity provider answers, or it is said that it does not', async () => {
  const fixture = join(import.meta.dirname, '../console/auth/fixtures/identity-provider.ts')
  await using provider = spawnScript(fixture, ['0', 'http://127.0.0.1:1'])
  const [, issuer = ''] = await provider.waitForLine(/^listens on (.+)$/)
  expect(await withProvider(issuer)).toMatchObject([
    { check: 'console', status: 'ok', what: 'people sign in at the identity provider alone' },
    { check: 'sign-in', status: 'ok', what: `${issuer} answers` },
  ])
  // The same server by another name is another issuer.
  const other = issuer.replace('127.0.0.1', 'localhost')
  const away = `http://127.0.0.1:${await freePort()}`
  for (const address of [other, away]) {
    const [, finding] = await withProvider(address)
    expect(finding).toMatchObject({
      check: 'sign-in',
      status: 'failed',
      what: expect.stringContaining(`the identity provider ${address} gives no usable answer: `),
      remedy: expect.stringContaining('OIDC_ISSUER'),
    })
  }
})

test('an identity provider that never answers does not hold the doctor up', async () => {
  const port = await freePort()
  const silent = createServer(() => {}).listen(port, '127.0.0.1')
  const start = performance.now()
  const findings = await withProvider(`http://127.0.0.1:${port}`)
  // It has five seconds. The library would give it thirty, and the HTTP client five minutes.
  expect(performance.now() - start).toBeLessThan(25_000)
  expect(findings).toMatchObject([{ status: 'ok' }, { check: 'sign-in', status: 'failed' }])
  silent.closeAllConnections()
  silent.close()
})

test.each([
  ['0.0.0.0', 'http://dirsync.example', true],
  ['0.0.0.0', 'https://dirsync.example', false],
  ['0.0.0.0', 'http://localhost:8080', false],
  ['0.0.0.0', null, false],
  ['127.0.0.1', 'http://dirsync.example', false],
  ['::1', 'http://dirsync.example', false],
])('on %s, known as %s, passwords cross the network without TLS: %s', async (host, url, isOpen) => {
  const findings = await examine({ CONSOLE_HOST: host, CONSOLE_URL: url })
  expect(findings.some(({ what }) => what.includes('without TLS'))).toBe(isOpen)
})
