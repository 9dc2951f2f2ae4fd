import { afterAll, describe, expect, test } from 'vitest'
import { addToken } from '../../src/console/auth/tokens.ts'
import { ACCESS_ROLES, type AccessRole, mayAs } from '../../src/console/auth/viewer.ts'
import { createTestDatabase } from '../helpers/postgres.ts'
import { startTcpProxy } from '../queue/tcp-proxy.ts'
import { accessOf, hrWith, openApp, recordLog, signInAs } from './console-under-test.ts'

const TOMORROW = new Date(Date.now() + 86_400_000)

const database = await createTestDatabase({ migrated: true })
const console = await openApp(database.url)
const tokens = new Map<AccessRole, string>()
for (const role of ACCESS_ROLES)
  tokens.set(role, await addToken(database.pool, 'test', { name: role, role, expiresAt: TOMORROW }))
const cookie = await signInAs(console, 'admin')
afterAll(async () => {
  await console[Symbol.asyncDispose]()
  await database.close()
})

/** An address of every route: numbers and keys that nothing has. */
const routes = [...accessOf(console)].flatMap(([key, access]) => {
  const [method = '', path = ''] = key.split(' ')
  return access === 'open'
    ? []
    : [{ key, access, method: method as 'GET' | 'POST', url: path.replaceAll(/:\w+/g, '9') }]
})
const changes = routes.filter(({ method }) => method === 'POST')

async function commands(): Promise<number> {
  const { rows } = await database.pool.query('select count(*)::int as n from dirsync.command')
  return rows[0].n
}

describe('roles', () => {
  const lacking = routes.flatMap(({ access, ...route }) =>
    ACCESS_ROLES.filter(role => !mayAs(role, access)).map(role => ({ role, ...route })),
  )
  test.each(lacking)('$role may not $key, as a page or through the API', async ({ role, method, url }) => {
    const headers = { authorization: `Bearer ${tokens.get(role)}`, accept: 'text/html' }
    const before = await commands()
    for (const address of [url, `/api/v1${url}`]) {
      const { statusCode, body } = await console.app.inject({ method, url: address, headers })
      if (statusCode === 404)
        expect(body).toMatch(/no such (page|route)/) // the one of the two that does not exist
      else expect(statusCode).toBe(403)
    }
    expect(await commands()).toBe(before)
  })
})

describe('a change that another site requests in the name of a signed-in user', () => {
  const foreign: [string, Record<string, string>][] = [
    ['from another site', { 'sec-fetch-site': 'cross-site' }],
    ['from another host of the same site', { 'sec-fetch-site': 'same-site' }],
    ['from nowhere', { 'sec-fetch-site': 'none' }],
    ['by an old browser, from another origin', { origin: 'https://evil.example' }],
    ['by an old browser, from a page without an origin', { origin: 'null' }],
    ['without a word about where it comes from', {}],
    [
      'with the right origin from another site',
      { 'sec-fetch-site': 'cross-site', origin: 'http://localhost:80' },
    ],
  ]
  test.each(foreign)('%s is refused on every route', async (_, headers) => {
    const before = await commands()
    for (const { url } of changes)
      for (const address of [url, `/api/v1${url}`]) {
        const { statusCode, body } = await console.app.inject({
          method: 'POST',
          url: address,
          headers: {
            ...headers,
            cookie,
            accept: 'text/html',
            'content-type': 'application/x-www-form-urlencoded',
          },
          payload: 'reason=because',
        })
        if (statusCode !== 403) expect(body, address).toMatch(/no such (page|route)/)
      }
    expect(await commands()).toBe(before)
  })

  test.each([
    ['/sign-in', { name: 'somebody-admin', password: 'correct horse battery staple' }],
    ['/sign-in/key', { key: 'x' }],
    ['/sign-out', {}],
    ['/preferences', { theme: 'dark' }],
  ])('so is %s', async (url, payload) => {
    const headers = { 'sec-fetch-site': 'cross-site', cookie, accept: 'text/html' }
    const answer = await console.app.inject({ method: 'POST', url, headers, payload })
    expect(answer.statusCode).toBe(403)
    expect(answer.headers['set-cookie']).toBeUndefined()
    expect(answer.body).toContain('came from another page')
  })

  test('the console itself is believed, by what its browser says or by its origin', async () => {
    for (const headers of [
      { 'sec-fetch-site': 'same-origin' },
      { origin: 'http://localhost:80', host: 'localhost:80' },
    ]) {
      const { statusCode } = await console.app.inject({
        method: 'POST',
        url: '/resume',
        headers: { ...headers, cookie },
      })
      expect(statusCode).toBe(303)
    }
  })
})

describe('a refused form', () => {
  const refused = async (from: string) => {
    const { statusCode, body, headers } = await console.app.inject({
      method: 'POST',
      url: '/pause',
      headers: {
        ...{ cookie, 'sec-fetch-site': 'same-origin', accept: 'text/html', host: 'localhost' },
        ...{ referer: `http://localhost${from}`, 'content-type': 'application/x-www-form-urlencoded' },
      },
      payload: '',
    })
    expect([statusCode, headers['content-type']]).toEqual([422, 'text/html; charset=utf-8'])
    expect(body).toMatch(/^<!doctype html>/i)
  }

  test('is answered, however many of one user there are at once', async () => {
    await Promise.all(Array.from({ length: 10 }, () => refused('/overview')))
  })

  test.each(['/events', '/api/v1/events', '/api/v1/runs', '/cases.csv', '/assets/console.js'])(
    'is answered with a page, also where it says to come from %s',
    refused,
  )

  test('reads no file for that, nor does a refused filter of one', async () => {
    const before = await commands()
    await refused('/cases.csv')
    const headers = { cookie, accept: 'text/html' }
    const { statusCode } = await console.app.inject({ url: '/cases.csv?states=unheard-of', headers })
    expect(statusCode).toBe(422)
    expect(await commands()).toBe(before)
  })
})

test('a read-only console refuses every change, of an administrator too', async () => {
  await using readOnly = await openApp(database.url, { readOnly: true })
  const own = await signInAs(readOnly, 'admin')
  const before = await commands()
  for (const { url } of changes) {
    if (url === '/sign-out') continue
    const headers = { 'sec-fetch-site': 'same-origin', cookie: own, accept: 'text/html' }
    const { statusCode, body } = await readOnly.app.inject({ method: 'POST', url, headers })
    expect(statusCode, url).toBe(403)
    expect(body).toContain('CONSOLE_READ_ONLY')
  }
  expect(await commands()).toBe(before)
})

test('a read-only console offers the file of cases, which changes nothing, to reviewers', async () => {
  await using readOnly = await openApp(database.url, { readOnly: true })
  const see = async (role: AccessRole, url: string) =>
    readOnly.app.inject({ url, headers: { cookie: await signInAs(readOnly, role), accept: 'text/html' } })
  expect((await see('viewer', '/cases')).body).not.toContain('href="/cases.csv')
  expect((await see('reviewer', '/cases')).body).toContain('href="/cases.csv')
  expect((await see('reviewer', '/cases.csv')).statusCode).toBe(200)
})

test('a read-only console tells no one to ask for a role, which would not help', async () => {
  const settings = hrWith(database.url, `select 'e1' as userid, 'Mei' as name`)
  await database.pool.query(
    `insert into dirsync.refund (outer_refund_no, outer_trade_no, refund_amount, state, requested_by)
     values ('r1', 't1', 1, 'unknown', 'test')`,
  )
  await using readOnly = await openApp(database.url, { readOnly: true, settings })
  await using other = await openApp(database.url, { settings })
  const advice = [
    ['/money/refunds/r1', 'This needs an administrator.'],
    ['/mapping/dry-runs', 'An operator can test another SELECT here.'],
    ['/employees/e1', 'A reviewer can do that.'],
  ] as const
  for (const [url, sentence] of advice)
    for (const role of ['viewer', 'admin'] as const)
      for (const app of [readOnly, other]) {
        const headers = { cookie: await signInAs(app, role), accept: 'text/html', 'accept-language': 'en' }
        const { statusCode, body } = await app.app.inject({ url, headers })
        const where = `${url} as ${role}${app === readOnly ? ', read-only' : ''}`
        expect([where, statusCode, body.includes(sentence)]).toEqual([
          where,
          200,
          app === other && role === 'viewer',
        ])
      }
})

describe('what a cookie holds is never shown as it is', () => {
  test.each([
    ['{"key":"overview.paused","values":{}}', true],
    ['{"key":"<script>alert(1)</script>"}', false],
    ['{"key":"__proto__"}', false],
    ['{"key":"constructor"}', false],
    ['not json', false],
    ['[]', false],
    ['null', false],
    ['{"key":"overview.held"}', false],
    ['{"key":"overview.held","values":null}', false],
    ['{"key":"overview.held","values":{"run":1}}', false],
  ])('a notice %s', async (notice, isShown) => {
    const text = Buffer.from(notice).toString('base64url')
    const headers = { cookie: `${cookie}; dirsync_notice=${text}`, accept: 'text/html' }
    const { statusCode, body } = await console.app.inject({ url: '/overview', headers })
    expect(statusCode).toBe(200)
    expect(body.includes('class="notice"')).toBe(isShown)
    expect(body).not.toContain('alert(1)')
  })

  test('values of a notice are escaped', async () => {
    const notice = { key: 'overview.held', values: { run: '<img src=x onerror=alert(1)>', planned: 1 } }
    const text = Buffer.from(JSON.stringify(notice)).toString('base64url')
    const { body } = await console.app.inject({
      url: '/overview',
      headers: { cookie: `${cookie}; dirsync_notice=${text}`, accept: 'text/html' },
    })
    expect(body).toContain('&lt;img src=x')
    expect(body).not.toContain('<img')
  })

  test.each(['Asia/Shanghai', '../../etc/passwd', '<script>', 'x'.repeat(100)])('a zone %s', async zone => {
    const headers = { cookie: `${cookie}; dirsync_zone=${encodeURIComponent(zone)}`, accept: 'text/html' }
    const { statusCode, body } = await console.app.inject({ url: '/overview', headers })
    expect(statusCode).toBe(200)
    expect(body).not.toContain('<script>alert')
  })
})

describe('addresses', () => {
  test.each([
    '/assets/../package.json',
    '/assets/..%2fpackage.json',
    '/assets/%2e%2e/app.ts',
    '/assets/__proto__',
    '/assets/constructor',
    '/api/v1/../../sign-in',
    '/overview/../../etc/passwd',
    '/cases/1%00',
    '/cases/-1',
    '/cases/99999999999999999999',
    '/runs/1e3',
    '/runs/0x10',
    '/api/v1/',
    '/api/v1',
    '/api/v10/overview',
    `/employees/${'x'.repeat(601)}`,
  ])('%s leads nowhere, and nothing breaks', async url => {
    const { statusCode } = await console.app.inject({ url, headers: { cookie, accept: 'text/html' } })
    expect([303, 400, 404, 414]).toContain(statusCode)
  })

  test.each(['PUT', 'DELETE', 'PATCH', 'OPTIONS'] as const)('%s is no method of any route', async method => {
    for (const { url } of routes) {
      const { statusCode } = await console.app.inject({
        method,
        url,
        headers: { cookie, 'sec-fetch-site': 'same-origin' },
      })
      expect([404, 405], url).toContain(statusCode)
    }
  })

  test('HEAD of /events, whose answer would never end, is no route', async () => {
    const headers = { authorization: `Bearer ${tokens.get('viewer')}` }
    const { statusCode } = await console.app.inject({ method: 'HEAD', url: '/events', headers })
    expect(statusCode).toBe(405)
  })

  test('HEAD is guarded as GET is', async () => {
    expect((await console.app.inject({ method: 'HEAD', url: '/overview' })).statusCode).toBe(401)
    expect(
      (await console.app.inject({ method: 'HEAD', url: '/overview', headers: { cookie } })).statusCode,
    ).toBe(200)
  })
})

describe('headers', () => {
  test('only a trusted proxy may name the client’s address', async () => {
    const { statusCode } = await console.app.inject({
      method: 'POST',
      url: '/pause',
      remoteAddress: '198.51.100.7',
      headers: {
        'sec-fetch-site': 'same-origin',
        cookie,
        'x-forwarded-for': '10.0.0.1',
        'x-forwarded-host': 'evil.example',
      },
      payload: { reason: 'a test' },
    })
    expect(statusCode).toBe(303)
    const { rows } = await database.pool.query(
      `select to_jsonb(c)::text as row from dirsync.command c where name = 'pause' order by id desc limit 1`,
    )
    expect(rows[0].row).not.toContain('10.0.0.1')
    await database.pool.query('select dirsync.resume()')
  })

  test('no answer leads to a host that the caller named', async () => {
    const headers = { host: 'evil.example', 'x-forwarded-host': 'evil.example', accept: 'text/html' }
    for (const { url } of routes.filter(({ method }) => method === 'GET')) {
      const { headers: answered } = await console.app.inject({ url, headers })
      expect(answered.location ?? '').not.toContain('evil')
    }
  })

  test('every page forbids scripts and styles of its own, frames, and other origins', async () => {
    const { headers } = await console.app.inject({
      url: '/overview',
      headers: { cookie, accept: 'text/html' },
    })
    const policy = String(headers['content-security-policy'])
    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain("script-src 'self'")
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).not.toMatch(/unsafe|https?:|\*/)
    expect(headers['strict-transport-security']).toBeUndefined()
    await using behindTls = await openApp(database.url, { publicUrl: 'https://dirsync.example.com' })
    const answer = await behindTls.app.inject({ url: '/healthz' })
    expect(answer.headers['strict-transport-security']).toMatch(/max-age=\d{8}/)
  })
})

test.each(['https', 'http'])(
  'with CONSOLE_URL=%s://…, cookies are sent over TLS alone where it has that',
  async scheme => {
    await using known = await openApp(database.url, { publicUrl: `${scheme}://dirsync.example.com` })
    const session = await signInAs(known, 'admin')
    const post = (url: string, payload: object) =>
      known.app.inject({
        ...{ method: 'POST', url, payload },
        headers: {
          cookie: scheme === 'https' ? `__Host-${session}` : session,
          'sec-fetch-site': 'same-origin',
          accept: 'text/html',
        },
      })
    const answers = [
      await post('/preferences', { language: 'en', theme: 'dark' }),
      await post('/access/users/somebody-admin/notices', {}),
      await post('/sign-out', {}),
    ]
    const cookies = answers.flatMap(({ cookies }) => cookies)
    expect(cookies.map(({ name }) => name)).toEqual([
      ...['dirsync_lang', 'dirsync_theme', 'dirsync_notice'],
      expect.stringMatching(/dirsync$/),
    ])
    for (const { name, secure } of cookies) expect(secure ?? false, name).toBe(scheme === 'https')
  },
)

test('characters that PostgreSQL cannot hold are replaced, wherever they come from', async () => {
  const headers = { authorization: `Bearer ${tokens.get('admin')}` }
  const payload = { reason: 'a \u0000 b \ud800' }
  const { statusCode } = await console.app.inject({ method: 'POST', url: '/api/v1/pause', headers, payload })
  expect(statusCode).toBe(200)
  await database.pool.query('select dirsync.resume()')
  for (const { url } of routes.filter(({ method }) => method === 'GET')) {
    if (url === '/events') continue
    for (const address of [`${url}?q=%00&key=%00&cursor=%00&assignee=%00`, url.replaceAll('9', '%00')]) {
      const answer = await console.app.inject({ url: `/api/v1${address}`, headers })
      expect([200, 404, 422], address).toContain(answer.statusCode)
    }
  }
})

test('unknown preferences are refused in a sentence, and nothing is logged', async () => {
  const { logger, lines } = recordLog()
  await using logged = await openApp(database.url, { logger })
  for (const payload of [{ language: 'tlh' }, { theme: ['dark'] }, undefined]) {
    const answer = await logged.app.inject({
      method: 'POST',
      url: '/preferences',
      headers: { 'sec-fetch-site': 'same-origin', accept: 'text/html' },
      ...(payload && { payload }),
    })
    expect(answer.statusCode).toBe(422)
    expect(answer.body).toContain('no such language or theme')
  }
  expect(lines.filter(({ level }) => level >= 40)).toEqual([])
})

test('an asset is kept for ever under the address of its content alone', async () => {
  const { body } = await console.app.inject({ url: '/sign-in', headers: { accept: 'text/html' } })
  const [, own = ''] = /src="(\/assets\/console\.js[^"]*)"/.exec(body) ?? []
  expect((await console.app.inject(own)).headers['cache-control']).toContain('immutable')
  // As a page of a newer version asks a process of this one.
  for (const other of ['/assets/console.js?v=0123456789ab', '/assets/console.js', `${own}&v=1`]) {
    const answer = await console.app.inject(other)
    expect(answer.statusCode).toBe(200)
    expect(answer.headers['cache-control']).toBe('no-store')
  }
})

describe('bodies', () => {
  test.each([
    ['application/json', '{"reason": {"toString": 1}}'],
    ['application/json', '{"__proto__": {"reason": "x"}}'],
    ['application/json', '["reason"]'],
    ['application/json', 'null'],
    ['application/json', '{"reason": '],
    ['application/json', `{"reason": ${'['.repeat(100_000)}${']'.repeat(100_000)}}`],
    ['application/json', `${'{"reason":'.repeat(20_000)}1${'}'.repeat(20_000)}`],
    ['application/x-www-form-urlencoded', 'reason[]=x&reason[__proto__]=y'],
    ['application/x-www-form-urlencoded', '__proto__[reason]=x'],
    ['application/x-www-form-urlencoded', `reason=${'x'.repeat(501)}`],
    ['application/x-www-form-urlencoded', 'reason=%20%20'],
    ['text/plain', 'reason=x'],
    ['multipart/form-data; boundary=x', '--x--'],
  ])('%s %s is refused in a sentence', async (type, payload) => {
    const headers = { authorization: `Bearer ${tokens.get('operator')}`, 'content-type': type }
    const before = await commands()
    const answer = await console.app.inject({ method: 'POST', url: '/api/v1/pause', headers, payload })
    expect([400, 413, 415, 422]).toContain(answer.statusCode)
    expect(answer.headers['content-type']).toContain('application/problem+json')
    expect(answer.json()).toMatchObject({ title: expect.any(String), status: answer.statusCode })
    expect(answer.body).not.toMatch(/node_modules|at .*\.ts/)
    expect(await commands()).toBe(before)
  })
})

describe('while the database is away', () => {
  test.each([
    ['GET', '/sign-in', undefined],
    ['POST', '/sign-in', { name: 'anna', password: 'correct horse battery staple' }],
    ['POST', '/sign-in/key', { key: 'x' }],
    ['GET', '/overview', undefined],
    ['GET', '/api/v1/overview', undefined],
    ['POST', '/api/v1/pause', { reason: 'a test' }],
  ] as const)('%s %s says so in a sentence, without the database’s address', async (method, url, payload) => {
    await using proxy = await startTcpProxy(database.url)
    await using cut = await openApp(proxy.url)
    await proxy.refuse()
    const headers = url.startsWith('/api/')
      ? { authorization: `Bearer ${tokens.get('admin')}` }
      : { cookie, accept: 'text/html', 'sec-fetch-site': 'same-origin' }
    const answer = await cut.app.inject({ method, url, headers, ...(payload && { payload }) })
    expect(answer.statusCode).toBe(503)
    expect(answer.body).toContain('database does not answer')
    expect(answer.body).not.toMatch(/ECONN|127\.0\.0\.1|pg-pool|\.ts:/)
  })
})

test('crafted cursors are refused in a sentence by every list', async () => {
  const headers = { authorization: `Bearer ${tokens.get('admin')}` }
  const lists = console.routes.filter(({ schema }) => 'cursor' in Object(Object(schema?.querystring).shape))
  expect(lists.length).toBeGreaterThan(10)
  const texts = ['\u0000', '\ud800', 'x', '']
  const numbers = [1.5, -1, 1e300, Number.MAX_SAFE_INTEGER]
  const positions = [
    ...texts.flatMap(text => [
      [text],
      [text, text],
      ...numbers.map(number => [text, text, number, text]),
      [text, text, 1, text],
    ]),
    ...numbers.flatMap(number => [[number], [number, number], [number, number, number]]),
    { length: 1 },
    null,
  ]
  for (const { url } of lists)
    for (const position of positions) {
      const cursor = Buffer.from(JSON.stringify(position)).toString('base64url')
      const address = `${url.replaceAll(/:\w+/g, '9')}?cursor=${cursor}`
      const { statusCode } = await console.app.inject({ url: address, headers })
      expect([200, 404, 422], `${url} ${JSON.stringify(position)}`).toContain(statusCode)
    }
})

describe('the host that a request names', () => {
  test.each(['evil.example', 'localhost.evil.example', '127.0.0.1.evil.example', '192.0.2.7:8080'])(
    'without CONSOLE_URL, %s is none of ours: pages are refused, probes and tokens are not',
    async host => {
      const page = await console.app.inject({ url: '/sign-in', headers: { host, accept: 'text/html' } })
      expect(page.statusCode).toBe(421)
      expect(page.body).toContain('CONSOLE_URL')
      for (const url of ['/healthz', '/readyz', '/metrics'])
        expect((await console.app.inject({ url, headers: { host } })).statusCode, url).toBe(200)
      const headers = { host, authorization: `Bearer ${tokens.get('viewer')}` }
      expect((await console.app.inject({ url: '/api/v1/overview', headers })).statusCode).toBe(200)
    },
  )

  test.each(['localhost', 'LOCALHOST:8080', '127.0.0.1:8080', '127.9.9.9', '[::1]:8080'])(
    'without CONSOLE_URL, %s is this machine',
    async host => {
      const { statusCode } = await console.app.inject({ url: '/sign-in', headers: { host } })
      expect(statusCode).toBe(200)
    },
  )

  test('with CONSOLE_URL, the proxy before it may name any', async () => {
    await using known = await openApp(database.url, { publicUrl: 'https://dirsync.example.com' })
    const { statusCode } = await known.app.inject({ url: '/sign-in', headers: { host: 'dirsync:8080' } })
    expect(statusCode).toBe(200)
  })

  test.each(['/api', '/api?operation=getRuns'])(
    'with CONSOLE_URL, the examples on %s are at that, whatever the proxy names',
    async url => {
      const publicUrl = 'https://dirsync.example.com'
      await using known = await openApp(database.url, { publicUrl })
      const headers = { host: 'dirsync:8080', authorization: `Bearer ${tokens.get('viewer')}` }
      const { body } = await known.app.inject({ url, headers })
      expect(body.match(/http[^ ]*\/api\/v1/g)).toEqual([`${publicUrl}/api/v1`])
    },
  )

  test('with CONSOLE_URL, what was typed is shown again, whatever the proxy names', async () => {
    const publicUrl = 'https://dirsync.example.com'
    await using known = await openApp(database.url, { publicUrl })
    const headers = {
      host: 'dirsync:8080',
      cookie: `__Host-${await signInAs(known, 'admin')}`,
      accept: 'text/html',
      'sec-fetch-site': 'same-origin',
    }
    const add = (typed: string, referer: string) =>
      known.app.inject({
        ...{ method: 'POST', url: '/access/users' },
        headers: { ...headers, referer, 'content-type': 'application/x-www-form-urlencoded' },
        payload: typed,
      })
    const isAgain = async (referer: string) =>
      (await add('name=a%20b&role=viewer', referer)).body.includes('value="a b"')
    expect(await isAgain(`${publicUrl}/access`)).toBe(true)
    expect(await isAgain('https://evil.example/access')).toBe(false)
  })
})

describe('one viewer', () => {
  const bearer = (token: string | undefined) => ({ authorization: `Bearer ${token}` })

  test('that asks for 300 pages at once is told to come back, and others are served meanwhile', async () => {
    await using patient = await openApp(database.url, { timeoutMs: 60_000 })
    const ask = (role: AccessRole) =>
      patient.app.inject({ url: '/api/v1/overview', headers: bearer(tokens.get(role)) })
    let served = 0
    const isFull = Promise.withResolvers<void>()
    const asked = Array.from({ length: 300 }, async () => {
      const answer = await ask('viewer')
      if (answer.statusCode === 200) served += 1
      else isFull.resolve()
      return answer
    })
    await isFull.promise
    const other = await ask('reviewer')
    const servedBefore = served
    const answers = await Promise.all(asked)
    const refused = answers.filter(({ statusCode }) => statusCode === 429)
    expect(refused.length).toBeGreaterThan(200)
    expect(refused[0]?.headers['retry-after']).toBe('1')
    expect(refused[0]?.json()).toMatchObject({ code: 'too_many' })
    expect(served).toBe(300 - refused.length)
    expect(other.statusCode).toBe(200)
    expect(servedBefore).toBeLessThan(served)
  })

  test('may look at the platform, HR and files so often a minute, and the audit names each time', async () => {
    const token = await addToken(database.pool, 'test', {
      name: 'curious',
      role: 'admin',
      expiresAt: TOMORROW,
    })
    const look = (method: 'GET' | 'POST', url: string, payload?: object) =>
      console.app.inject({
        method,
        url: `/api/v1${url}`,
        headers: bearer(token),
        ...(payload && { payload }),
      })
    await look('POST', '/employees/9/explain')
    await look('POST', '/mapping/try', { key: '9' })
    for (const url of ['/cases.csv', '/audit.csv']) await look('GET', url)
    const { rows } = await database.pool.query(
      `select name, arguments from dirsync.command where requested_by like '%token:curious%' order by id`,
    )
    expect(rows).toEqual([
      { name: 'explain', arguments: { key: '9' } },
      { name: 'try_mapping', arguments: { key: '9' } },
      { name: 'export', arguments: { file: expect.stringMatching(/^cases-.*\.csv$/) } },
      { name: 'export', arguments: { file: expect.stringMatching(/^audit-.*\.csv$/) } },
    ])
    const answers = []
    for (let time = 0; time < 60; time += 1) answers.push(await look('POST', '/mapping/try', { key: '9' }))
    const refused = answers.filter(({ statusCode }) => statusCode === 429)
    expect(refused.length).toBeGreaterThan(20)
    expect(Number(refused[0]?.headers['retry-after'])).toBeGreaterThan(0)
    expect(refused[0]?.headers).toMatchObject({
      'ratelimit-policy': '"looks";q=20;w=40',
      ratelimit: expect.stringMatching(/^"looks";r=0;t=(39|40)$/),
    })
    const { rows: noted } = await database.pool.query(
      `select from dirsync.command where requested_by like '%token:curious%' and name = 'try_mapping'`,
    )
    expect(noted).toHaveLength(1 + 60 - refused.length)
  })

  test.each([
    ['GET', '/departments/run', undefined],
    ['POST', '/employees/9/reveal', { field: 'mobile', reason: 'to call' }],
    ['POST', '/employees/by-name', { name: 'Person' }],
  ] as const)('may read HR on demand as often: %s %s', async (method, url, payload) => {
    const name = `reader-${url.split('/').at(-1)}`
    const token = await addToken(database.pool, 'test', { name, role: 'admin', expiresAt: TOMORROW })
    const ask = () =>
      console.app.inject({
        method,
        url: `/api/v1${url}`,
        headers: bearer(token),
        ...(payload && { payload }),
      })
    const answers = await Promise.all(Array.from({ length: 30 }, ask))
    const refused = answers.filter(({ statusCode }) => statusCode === 429)
    expect(refused.length).toBeGreaterThan(4)
    expect(refused[0]?.headers['ratelimit-policy']).toBe('"looks";q=20;w=40')
    // What was refused is not recorded, and the rest once.
    const { rows } = await database.pool.query(
      `select from dirsync.command where name = 'reveal' and requested_by like $1`,
      [`%token:${name}%`],
    )
    expect(rows).toHaveLength(url.endsWith('reveal') ? answers.length - refused.length : 0)
  })
})
