import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, expect, test } from 'vitest'
import { createLinkKey, createSignInKey } from '../../../src/console/auth/sign-in-key.ts'
import { addToken, listTokens, revokeToken } from '../../../src/console/auth/tokens.ts'
import { disableUser, enableUser, setRole, signOutUser } from '../../../src/console/auth/users.ts'
import { duringFile } from '../../helpers/during.ts'
import { Browser, openAuth, PASSWORD, signedIn } from './auth-under-test.ts'

const auth = duringFile(openAuth)

const tomorrow = () => new Date(Date.now() + 86_400_000)

async function status(headers: Record<string, string>): Promise<number> {
  return (await fetch(`${auth.url}/guarded`, { headers })).status
}

/** Sends header lines as they stand here, which fetch would not. */
async function statusOfLines(...lines: string[]): Promise<number> {
  const { port } = new URL(auth.url)
  const socket = connect(Number(port), '127.0.0.1')
  await once(socket, 'connect')
  socket.write(['GET /guarded HTTP/1.1', 'Host: x', 'Connection: close', ...lines, '', ''].join('\r\n'))
  return Number(/^HTTP\/1\.1 (\d+)/.exec(await text(socket))?.[1])
}

describe('a bearer token', () => {
  test('signs in the one it was made for, by its name and with its role', async () => {
    const token = await addToken(auth.pool, 'test', { name: 'ci', role: 'operator', expiresAt: tomorrow() })
    const page = await fetch(`${auth.url}/guarded`, { headers: { authorization: `bearer  ${token}` } })
    expect(await page.json()).toEqual({
      viewer: { name: 'token:ci', role: 'operator', via: 'token' },
      session: null,
    })
    const [row] = await listTokens(auth.pool)
    expect(row).toMatchObject({ name: 'ci', last_used_at: expect.any(Date) })
  })

  test('is worth nothing once it is revoked or over, and its name may be given again', async () => {
    const add = () => addToken(auth.pool, 'test', { name: 'night', role: 'viewer', expiresAt: tomorrow() })
    const first = await add()
    expect(await status({ authorization: `Bearer ${first}` })).toBe(200)
    await expect(add()).rejects.toMatchObject({ code: 'ACCESS_INVALID' })
    await revokeToken(auth.pool, 'test', 'night')
    expect(await status({ authorization: `Bearer ${first}` })).toBe(401)
    const second = await add()
    expect(await status({ authorization: `Bearer ${second}` })).toBe(200)
    await auth.pool.query(`update dirsync.api_token set expires_at = now() where name = 'night'`)
    expect(await status({ authorization: `Bearer ${second}` })).toBe(401)
    const third = await add()
    expect(await status({ authorization: `Bearer ${third}` })).toBe(200)
  })

  test('with limits is told with its viewer, and is none to a process of 1.0.0, which knows no limits', async () => {
    const wanted = { name: 'limited', role: 'reviewer', scopes: ['read', 'cases'] } as const
    const token = await addToken(auth.pool, 'test', { ...wanted, expiresAt: tomorrow() })
    const page = await fetch(`${auth.url}/guarded`, { headers: { authorization: `Bearer ${token}` } })
    expect(await page.json()).toMatchObject({
      viewer: {
        name: 'token:limited',
        role: 'reviewer',
        via: 'token',
        scopes: ['read', 'cases'],
      },
    })
    expect(token).not.toMatch(/^dirsync_[\w-]{43}$/)
  })

  test.each([
    'Bearer',
    'Bearer ',
    'Bearer dirsync_',
    `Bearer dirsync_${'A'.repeat(43)}`,
    `Bearer ${'A'.repeat(200)}`,
    'Basic YTpi',
    '',
  ])('%j signs no one in', async authorization => {
    expect(await status({ authorization })).toBe(401)
  })

  test('is used last at its last use, also once the clock was put back', async () => {
    const token = await addToken(auth.pool, 'test', {
      name: 'clock',
      role: 'viewer',
      expiresAt: tomorrow(),
    })
    const ask = () => status({ authorization: `Bearer ${token}` })
    expect(await ask()).toBe(200)
    await auth.pool.query(
      `update dirsync.api_token set last_used_at = last_used_at + interval '1 day' where name = 'clock'`,
    )
    expect(await ask()).toBe(200)
    const { rows } = await auth.pool.query(
      `select last_used_at <= now() as used from dirsync.api_token where name = 'clock'`,
    )
    expect(rows).toEqual([{ used: true }])
  })

  test('that is wrong is not made good by a cookie, nor by a second header', async () => {
    await auth.user('anna')
    const browser = await signedIn(auth, 'anna')
    const cookie = `dirsync=${browser.jar(auth.url).get('dirsync')}`
    const token = await addToken(auth.pool, 'test', { name: 'two', role: 'viewer', expiresAt: tomorrow() })
    expect(await status({ cookie })).toBe(200)
    expect(await status({ cookie, authorization: 'Bearer wrong' })).toBe(401)
    expect(await statusOfLines(`Authorization: Bearer ${token}`)).toBe(200)
    for (const other of [token, 'wrong'])
      expect(await statusOfLines(`Authorization: Bearer ${token}`, `authorization: Bearer ${other}`)).toBe(
        401,
      )
  })

  test('is what a header of another scheme has none of, such as of a proxy with passwords: the cookie counts', async () => {
    await auth.user('dora')
    const cookie = `dirsync=${(await signedIn(auth, 'dora')).jar(auth.url).get('dirsync')}`
    const basic = `Basic ${btoa('proxy:password')}`
    expect(await status({ cookie, authorization: basic })).toBe(200)
    expect(await statusOfLines(`Cookie: ${cookie}`, 'Authorization:')).toBe(200)
    expect(await status({ cookie, authorization: 'Bearer' })).toBe(401)
    expect(
      await statusOfLines(`Cookie: ${cookie}`, `Authorization: ${basic}`, `Authorization: ${basic}`),
    ).toBe(401)
  })

  test('does not work in the cookie of a session, nor a session as a token', async () => {
    await auth.user('bert')
    const browser = await signedIn(auth, 'bert')
    expect(await status({ authorization: `Bearer ${browser.jar(auth.url).get('dirsync')}` })).toBe(401)
    const token = await addToken(auth.pool, 'test', { name: 'cookie', role: 'viewer', expiresAt: tomorrow() })
    expect(await status({ cookie: `dirsync=${token}` })).toBe(401)
    expect(await status({ cookie: `dirsync=${token.slice('dirsync_'.length)}` })).toBe(401)
  })
})

describe('a cookie', () => {
  test('that comes twice is ignored: one of them may be planted', async () => {
    await auth.user('cleo')
    const session = (await signedIn(auth, 'cleo')).jar(auth.url).get('dirsync')
    expect(await status({ cookie: `a=b; dirsync=${session}; c=d` })).toBe(200)
    expect(await status({ cookie: `dirsync=${session}; dirsync=${session}` })).toBe(401)
    expect(await status({ cookie: `dirsync=${'A'.repeat(43)}; dirsync=${session}` })).toBe(401)
    expect(await statusOfLines(`Cookie: dirsync=${session}`, `Cookie: dirsync=${'A'.repeat(43)}`)).toBe(401)
  })

  test.each([
    ['of another name', 'xdirsync'],
    ['of another case', 'DIRSYNC'],
    ['with the prefix of TLS', '__Host-dirsync'],
  ])('%s belongs to no user', async (_, name) => {
    await auth.user(`user-${name.toLowerCase().replaceAll('_', '')}`)
    const browser = await signedIn(auth, `user-${name.toLowerCase().replaceAll('_', '')}`)
    expect(await status({ cookie: `${name}=${browser.jar(auth.url).get('dirsync')}` })).toBe(401)
  })

  test.each(['', ' ', 'A'.repeat(42), `${'A'.repeat(43)}'--`, '%00', '"'])(
    '%j belongs to no user',
    async value => {
      expect(await status({ cookie: `dirsync=${value}` })).toBe(401)
    },
  )

  test('without end is refused before it is read', async () => {
    expect(await status({ cookie: `dirsync=${'A'.repeat(20_000)}` })).toBe(431)
  })
})

describe('a one-time key', () => {
  const post = (browser: Browser, key: string) => browser.post(`${auth.url}/sign-in/key`, { key })

  test('signs in as local, an admin, by a click, and once', async () => {
    const key = await createSignInKey(auth.pool)
    const browser = new Browser()
    // A reader of the link's preview does not use it up.
    for (const reader of [new Browser(), new Browser(), browser]) {
      const page = await reader.get(`${auth.url}/sign-in/key?key=${key}`)
      expect(page.status).toBe(200)
      expect(page.text).toContain(`value="${key}"`)
      expect(page.headers.get('set-cookie')).toBeNull()
    }
    expect(await post(browser, key)).toMatchObject({ status: 303, location: `${auth.url}/` })
    const { viewer } = JSON.parse((await browser.get(`${auth.url}/guarded`)).text)
    expect(viewer).toMatchObject({ name: 'local', role: 'admin', via: 'key' })
    const again = await post(new Browser(), key)
    expect(again.status).toBe(403)
    expect(again.text).toContain('dirsync users link')
    expect(again.headers.get('set-cookie')).toBeNull()
  })

  test('is used by only one of many at the same moment', async () => {
    const key = await createSignInKey(auth.pool)
    const pages = await Promise.all(Array.from({ length: 8 }, () => post(new Browser(), key)))
    expect(pages.map(page => page.status).sort()).toEqual([303, ...Array(7).fill(403)])
  })

  test('ends with its time and with the next start; one for the shell outlives a start', async () => {
    const [first, linked, second] = [
      await createSignInKey(auth.pool),
      await createLinkKey(auth.pool, 'test'),
      await createSignInKey(auth.pool),
    ]
    expect((await post(new Browser(), first)).status).toBe(403)
    expect((await post(new Browser(), linked)).status).toBe(303)
    await auth.pool.query('update dirsync.sign_in_key set expires_at = now() where used_at is null')
    expect((await post(new Browser(), second)).status).toBe(403)
  })

  test('of the shell ends with the next one of the shell, and with the sessions of local', async () => {
    const [leaked, later] = [await createLinkKey(auth.pool, 'test'), await createLinkKey(auth.pool, 'test')]
    const refused = await post(new Browser(), leaked)
    expect(refused.status).toBe(403)
    expect(refused.text).not.toContain('until the next start')
    const browser = new Browser()
    expect((await post(browser, later)).status).toBe(303)
    const keys = [await createLinkKey(auth.pool, 'test'), await createSignInKey(auth.pool)]
    expect(await signOutUser(auth.pool, 'test', 'Local')).toBeGreaterThan(0)
    expect((await browser.get(`${auth.url}/guarded`)).status).toBe(401)
    for (const key of keys) expect((await post(new Browser(), key)).status).toBe(403)
  })

  test('adds local, or makes it an administrator again, on the record', async () => {
    await using fresh = await openAuth()
    const signIn = async () => {
      const key = await createSignInKey(fresh.pool)
      return (await new Browser().post(`${fresh.url}/sign-in/key`, { key })).status
    }
    for (let round = 0; round < 2; round++) expect(await signIn()).toBe(303)
    await fresh.pool.query(`update dirsync.console_user set role = 'viewer' where name = 'local'`)
    expect(await signIn()).toBe(303)
    expect(await fresh.recorded('users add', 'users role')).toMatchObject([
      { name: 'users add', arguments: { user: 'local', role: 'admin' } },
      { name: 'users role', arguments: { user: 'local', role: 'admin' } },
    ])
  })

  test('can be made worthless before anyone has signed in with one', async () => {
    await using fresh = await openAuth()
    const key = await createLinkKey(fresh.pool, 'test')
    expect(await signOutUser(fresh.pool, 'test', 'local')).toBe(0)
    expect((await new Browser().post(`${fresh.url}/sign-in/key`, { key })).status).toBe(403)
    expect(await fresh.recorded('users sign-out')).toMatchObject([{ arguments: { user: 'local' } }])
  })

  test('signs in as an administrator for good: nobody changes or disables local', async () => {
    await post(new Browser(), await createSignInKey(auth.pool))
    const stays = 'stays an administrator, and cannot be disabled'
    await expect(setRole(auth.pool, 'test', 'local', 'viewer', null)).rejects.toThrow(stays)
    await expect(disableUser(auth.pool, 'test', 'local')).rejects.toThrow(stays)
    // As an earlier version let it be.
    await auth.pool.query(`update dirsync.console_user set role = 'viewer' where name = 'local'`)
    const browser = new Browser()
    expect((await post(browser, await createLinkKey(auth.pool, 'test'))).status).toBe(303)
    const { viewer } = JSON.parse((await browser.get(`${auth.url}/guarded`)).text)
    expect(viewer).toMatchObject({ name: 'local', role: 'admin' })
  })

  test('is worth nothing where an earlier version has disabled local, until that is enabled', async () => {
    const browser = new Browser()
    await post(browser, await createSignInKey(auth.pool))
    await auth.pool.query(`update dirsync.console_user set disabled_at = now() where name = 'local'`)
    expect((await browser.get(`${auth.url}/guarded`)).status).toBe(401)
    expect((await post(new Browser(), await createSignInKey(auth.pool))).status).toBe(403)
    await expect(createLinkKey(auth.pool, 'test')).rejects.toThrow('is disabled: enable it first')
    await enableUser(auth.pool, 'test', 'local')
    expect((await post(browser, await createLinkKey(auth.pool, 'test'))).status).toBe(303)
  })

  test.each(['', 'x', '%00', 'A'.repeat(43), 'A'.repeat(150), '"><script>'])('%j is none', async key => {
    const page = await post(new Browser(), key)
    expect(page.status).toBe(403)
    const shown = await new Browser().get(`${auth.url}/sign-in/key?key=${encodeURIComponent(key)}`)
    expect(shown.text).not.toContain('<script>')
  })
})

test('a sign-in records the session of that browser which it ends, and a change says whether it was one', async () => {
  for (const name of ['lara', 'milo']) await auth.user(name)
  const browser = await signedIn(auth, 'lara')
  await browser.post(`${auth.url}/sign-in`, { name: 'milo', password: PASSWORD })
  expect((await auth.recorded('sessions end')).at(-1)?.arguments).toEqual({ user: 'lara' })
  for (let round = 0; round < 2; round++) {
    await setRole(auth.pool, 'test', 'milo', 'reviewer', null)
    await signOutUser(auth.pool, 'test', 'milo')
    await disableUser(auth.pool, 'test', 'milo')
  }
  for (let round = 0; round < 2; round++) await enableUser(auth.pool, 'test', 'milo')
  const changes = await auth.recorded('users role', 'users sign-out', 'users disable', 'users enable')
  const of = changes.filter(row => row.arguments.user === 'milo')
  expect(of.map(row => [row.name, row.arguments.already ?? false])).toEqual([
    ...['users role', 'users sign-out', 'users disable'].map(name => [name, false]),
    ...['users role', 'users sign-out', 'users disable'].map(name => [name, true]),
    ['users enable', false],
    ['users enable', true],
  ])
})

test('strangers without a name do not keep the failures of a user out of the record, which says how many it left out', async () => {
  await using attacked = await openAuth()
  await attacked.user('victim')
  const post = (path: string, form: Record<string, string>) =>
    new Browser().post(`${attacked.url}${path}`, form)
  for (let i = 0; i < 30; i++) await post('/sign-in/key', { key: 'x' })
  for (let i = 0; i < 10; i++) await post('/sign-in/link', { key: 'x' })
  await post('/sign-in', { name: 'victim', password: 'a wrong password' })
  await attacked.app.close()
  const failures = (await attacked.recorded('sign_in_failed')).map(row => row.arguments)
  expect(failures).toContainEqual({ user: 'victim', address: '127.0.0.1', why: 'password' })
  const nameless = failures.filter(({ why }) => why === 'key' || why === 'link').length
  // Two minutes may have had a part of them.
  expect(nameless).toBeLessThanOrEqual(20)
  const left = failures.reduce((sum, { not_recorded = 0 }) => sum + Number(not_recorded), 0)
  expect(nameless + left).toBe(40)
})

test('public routes work while the database is away', async () => {
  await using alone = await openAuth()
  await alone.user('anna')
  const browser = await signedIn(alone, 'anna')
  await alone.pool.query('drop schema dirsync cascade')
  expect((await browser.get(`${alone.url}/healthz`)).status).toBe(200)
  expect((await browser.get(`${alone.url}/guarded`)).status).toBe(500)
})
