import { describe, expect, test } from 'vitest'
import { duringFile } from '../helpers/during.ts'
import { createTestDatabase } from '../helpers/postgres.ts'
import { openApp, recordLog, signInAs } from './console-under-test.ts'

const TOKEN = 'a-token-of-some-length'
const database = duringFile(() => createTestDatabase({ migrated: true }))
const console = duringFile(() => openApp(database.url, { token: TOKEN }))

describe('with CONSOLE_TOKEN set', () => {
  test.each([
    [undefined],
    ['Bearer'],
    ['Bearer '],
    ['Bearer wrong'],
    [`Bearer ${TOKEN}x`],
    [`Bearer ${TOKEN.slice(1)}`],
    [`Basic ${TOKEN}`],
    [TOKEN],
  ])('/metrics refuses the authorization %j', async authorization => {
    const response = await console.app.inject({
      url: '/metrics',
      headers: authorization === undefined ? {} : { authorization },
    })
    expect(response.statusCode).toBe(401)
    expect(response.headers['www-authenticate']).toBe('Bearer realm="dirsync"')
    expect(response.json()).toEqual({ error: { code: 'UNAUTHORIZED', message: expect.any(String) } })
    expect(response.body).not.toContain(TOKEN)
  })

  test.each([`Bearer ${TOKEN}`, `bearer  ${TOKEN}`])('/metrics accepts %j', async authorization => {
    const response = await console.app.inject({ url: '/metrics', headers: { authorization } })
    expect(response.statusCode).toBe(200)
    expect(response.headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8')
  })

  test('the API tells whoever sends exactly that token that it is for /metrics alone', async () => {
    const detailFor = async (authorization: string, language = 'en') => {
      const headers = { authorization, 'accept-language': language }
      const response = await console.app.inject({ url: '/api/v1/runs', headers })
      expect(response.statusCode).toBe(401)
      expect(response.headers['www-authenticate']).toBe('Bearer realm="dirsync"')
      expect(response.body).not.toContain(TOKEN)
      return response.json().detail
    }
    expect(await detailFor(`Bearer ${TOKEN}`)).toBe(
      'This is CONSOLE_TOKEN, which is for /metrics alone. For the API, send a token that `dirsync tokens add` printed.',
    )
    expect(await detailFor(`Bearer ${TOKEN}`, 'zh-CN')).toMatch(
      /CONSOLE_TOKEN.*\/metrics.*dirsync tokens add/,
    )
    const others = [`${TOKEN}x`, TOKEN.slice(1), TOKEN.toUpperCase(), 'CONSOLE_TOKEN', '""']
    const details = await Promise.all(others.map(token => detailFor(`Bearer ${token}`)))
    expect(new Set(details)).toEqual(
      new Set(['Send the header "Authorization: Bearer" with a token that `dirsync tokens add` printed.']),
    )
  })

  test.each(['/healthz', '/readyz'])('%s is open', async url => {
    expect((await console.app.inject(url)).statusCode).toBe(200)
  })
})

test.each([
  ['GET', '/nothing-here', 404, 'NOT_FOUND'],
  ['POST', '/healthz', 405, 'NO_SUCH_METHOD'],
  ['GET', '/%zz', 400, 'BAD_REQUEST'],
] as const)('%s %s is answered %i in JSON, with the security headers', async (method, url, status, code) => {
  const response = await console.app.inject({ method, url })
  expect(response.statusCode).toBe(status)
  expect(response.json()).toEqual({ error: { code, message: expect.stringMatching(/\.$/) } })
  expect(response.headers).toMatchObject({
    'content-type': expect.stringContaining('application/json'),
    'cache-control': 'no-store',
    'content-security-policy': expect.stringContaining("default-src 'none'"),
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
  })
})

test.each([
  ['Asia/Shanghai', 'Asia/Shanghai'],
  ['+01:23', Intl.DateTimeFormat().resolvedOptions().timeZone],
  ['Mars/Olympus', Intl.DateTimeFormat().resolvedOptions().timeZone],
])('a page for a viewer in %s names the zone of its times: %s', async (asked, shown) => {
  const cookie = `${await signInAs(console, 'viewer')}; dirsync_zone=${encodeURIComponent(asked)}`
  const page = await console.app.inject({ url: '/runs', headers: { cookie, 'accept-language': 'en' } })
  expect(page.body).toContain(`Times in ${shown}`)
})

test('a body that cannot be read is refused in JSON', async () => {
  const response = await console.app.inject({
    method: 'POST',
    url: '/healthz',
    headers: { 'content-type': 'application/json' },
    payload: 'x'.repeat(300_000),
  })
  expect(response.statusCode).toBe(413)
  expect(response.json().error.code).toBe('BAD_REQUEST')
})

test('a failure inside is logged, and not told to the caller', async () => {
  const { logger, lines } = recordLog()
  const text = () =>
    Promise.reject(Object.assign(new Error('it broke in /srv/secret'), { detail: 'row of a person' }))
  await using broken = await openApp(database.url, { logger, metrics: [{ text }] })
  const response = await broken.app.inject('/metrics')
  expect(response.statusCode).toBe(500)
  expect(response.json()).toEqual({ error: { code: 'INTERNAL', message: expect.any(String) } })
  expect(response.body).not.toContain('secret')
  const errors = lines.filter(({ level }) => level === 50)
  expect(errors).toMatchObject([{ error: { message: 'it broke in /srv/secret' } }])
  expect(JSON.stringify(errors)).not.toContain('row of a person')
})

test('requests are logged at debug, by route and without their query', async () => {
  const { logger, lines } = recordLog()
  await using console = await openApp(database.url, { logger })
  await console.app.inject('/healthz?name=somebody')
  await console.app.inject('/unknown/somebody')
  expect(lines).toMatchObject([
    { level: 20, method: 'GET', route: '/healthz', status: 200, durationMs: expect.any(Number) },
    { level: 20, method: 'GET', route: null, status: 404 },
  ])
  expect(JSON.stringify(lines)).not.toContain('somebody')
})
