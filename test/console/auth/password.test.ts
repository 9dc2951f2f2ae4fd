import { describe, expect, test } from 'vitest'
import { localPath } from '../../../src/console/auth/browser.ts'
import { hashPassword, isPassword } from '../../../src/console/auth/password.ts'
import { addUser, disableUser, setPassword, setRole } from '../../../src/console/auth/users.ts'
import { duringFile } from '../../helpers/during.ts'
import { Browser, openAuth, PASSWORD, signedIn } from './auth-under-test.ts'

const auth = duringFile(openAuth)

const COOKIE = /^dirsync=[\w-]{43}; Path=\/; Max-Age=43200; HttpOnly; SameSite=Lax$/

test('without users the page says how to add the first one, in the reader’s language', async () => {
  await using empty = await openAuth()
  const english = await new Browser().get(`${empty.url}/sign-in`)
  expect(english.status).toBe(200)
  expect(english.text).toContain('dirsync users add NAME --role admin')
  expect(english.text).not.toContain('type="password"')
  const chinese = await new Browser({ 'accept-language': 'zh-CN,zh;q=0.9' }).get(`${empty.url}/sign-in`)
  expect(chinese.text).toContain('<html lang="zh-CN"')
  expect(chinese.text).toContain('也可以直接在该机器上添加第一个用户')
})

test('with users none of whom has a password yet the page asks for one all the same', async () => {
  await using invited = await openAuth()
  await addUser(invited.pool, 'test', { name: 'anna', role: 'admin', password: null })
  const { text } = await new Browser().get(`${invited.url}/sign-in`)
  expect(text).toContain('type="password"')
  expect(text).not.toContain('There are no users yet')
})

describe('a password', () => {
  test('signs in: a session of twelve hours, recorded with the address', async () => {
    await auth.user('anna', 'operator')
    const browser = new Browser({ 'user-agent': `Mozilla ${'x'.repeat(500)}` })
    const form = await browser.get(`${auth.url}/sign-in?to=/cases?state=open`)
    expect(form.text).toContain('autocomplete="current-password"')
    expect(form.text).toContain('name="to" value="/cases?state=open"')
    const page = await browser.post(`${auth.url}/sign-in`, {
      name: ' Anna ',
      password: PASSWORD,
      to: '/cases?state=open',
    })
    expect(page).toMatchObject({ status: 303, location: `${auth.url}/cases?state=open` })
    expect(page.headers.get('set-cookie')).toMatch(COOKIE)
    expect(page.headers.get('strict-transport-security')).toBeNull()

    const guarded = await browser.get(`${auth.url}/guarded`)
    expect(JSON.parse(guarded.text)).toEqual({
      viewer: { name: 'anna', role: 'operator', via: 'password' },
      session: expect.stringMatching(/^[0-9a-f]{64}$/),
    })
    expect(guarded.text).not.toContain(browser.jar(auth.url).get('dirsync'))
    const { rows } = await auth.pool.query(
      `select user_name, address, length(user_agent) as agent, expires_at - created_at as life,
              last_seen_at is not null as seen
       from dirsync.console_session`,
    )
    expect(rows).toMatchObject([
      { user_name: 'anna', address: '127.0.0.1', agent: 200, life: { hours: 12 }, seen: true },
    ])
    expect(await auth.recorded('sign_in')).toEqual([
      {
        name: 'sign_in',
        arguments: { user: 'anna', role: 'operator', via: 'password', address: '127.0.0.1' },
        requested_by: expect.stringMatching(/ \(console:anna\)$/),
      },
    ])
    expect(await browser.get(`${auth.url}/sign-in?to=/runs`)).toMatchObject({
      status: 303,
      location: `${auth.url}/runs`,
    })
  })

  test('that is wrong, and a name that is, get the same answer, which keeps no wrong name', async () => {
    await auth.user('bert')
    const wrong = await new Browser().post(`${auth.url}/sign-in`, { name: 'bert', password: 'x'.repeat(12) })
    const nobody = await new Browser().post(`${auth.url}/sign-in`, { name: 'nobert', password: PASSWORD })
    for (const page of [wrong, nobody]) {
      expect(page.status).toBe(403)
      expect(page.text).toContain('The user name or the password is wrong.')
      expect(page.headers.get('set-cookie')).toBeNull()
    }
    expect(nobody.text.replaceAll('nobert', 'bert')).toBe(wrong.text)
    expect((await auth.recorded('sign_in_failed')).map(row => row.arguments)).toEqual([
      { user: 'bert', address: '127.0.0.1', why: 'password' },
      { unknown_user: true, address: '127.0.0.1', why: 'password' },
    ])
  })

  test('takes as long to refuse an unknown user as a known one', async () => {
    const hash = await hashPassword(PASSWORD)
    const times = async (kept: string | null) => {
      const taken: number[] = []
      for (let round = 0; round < 5; round++) {
        // The processor's time: what else the machine does counts for nothing.
        const start = process.cpuUsage()
        await isPassword('another long password', kept)
        taken.push(process.cpuUsage(start).user)
      }
      return Math.min(...taken)
    }
    const ratio = async () => (await times(null)) / (await times(hash))
    await expect.poll(ratio).toSatisfy(share => share > 0.5 && share < 2)
  })

  test('is the same however its characters were typed, and a missing one never fits', async () => {
    const hash = await hashPassword('café con leche')
    expect(await isPassword('cafe\u0301 con leche', hash)).toBe(true)
    expect(await isPassword('', null)).toBe(false)
    await expect(hashPassword('密码'.repeat(5))).rejects.toThrow('12 to 256 characters')
    await expect(hashPassword('密码'.repeat(6))).resolves.toMatch(/^\$scrypt\$/)
  })

  test.each([
    ['a field twice', 'name=a&name=b&password=c'],
    ['no field', ''],
    ['no password', 'name=anna'],
    ['a name with a NUL', `name=an%00na&password=${'x'.repeat(12)}`],
    ['a password without end', `name=anna&password=${'x'.repeat(2000)}`],
    ['a half character', `name=%ED%A0%80&password=${'x'.repeat(12)}`],
  ])('form with %s is refused like any other', async (_, body) => {
    const page = await fetch(`${auth.url}/sign-in`, {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    })
    expect(page.status).toBe(403)
    expect(await page.text()).toContain('The user name or the password is wrong.')
  })

  test('form that is too large is refused before it is read', async () => {
    const page = await new Browser().post(`${auth.url}/sign-in`, {
      name: 'anna',
      password: 'x'.repeat(20_000),
    })
    expect(page.status).toBe(413)
  })

  test('and a name are shown back escaped', async () => {
    const page = await new Browser().post(`${auth.url}/sign-in`, {
      name: '"><script>alert(1)</script>',
      password: 'x',
      to: '/"><script>',
    })
    expect(page.text).not.toContain('<script>')
    expect(page.text).toContain('&lt;script&gt;alert(1)')
  })
})

describe('the page to go back to', () => {
  test.each([
    ['/cases?state=open&q=%E6%9D%8E', '/cases?state=open&q=%E6%9D%8E'],
    ['/a/../b', '/b'],
    ['/', '/'],
  ])('%s is %s', (text, path) => expect(localPath(text)).toBe(path))

  test.each([
    '//evil.example',
    '/\\evil.example',
    '\\\\evil.example',
    '/\t/evil.example',
    '/\n/evil.example',
    '/.//evil.example',
    '/a/..//evil.example',
    'https://evil.example',
    'https:evil.example',
    'javascript:alert(1)',
    'evil.example',
    '%2f%2fevil.example',
    '/%2fevil.example',
    '/%5cevil.example',
    '/sign-out',
    '/sign-in?to=/sign-in',
    ' //evil.example',
    `/${'x'.repeat(3000)}`,
    '',
    undefined,
    ['/a', '/b'],
  ])('%j is the first page', text => expect(localPath(text)).toBe('/'))

  test('is a page of the console after a sign-in, whatever was asked for', async () => {
    await auth.user('otto')
    const page = await new Browser().post(`${auth.url}/sign-in`, {
      name: 'otto',
      password: PASSWORD,
      to: '//evil.example',
    })
    expect(page).toMatchObject({ status: 303, location: `${auth.url}/` })
  })
})

describe('a session', () => {
  test('is made anew at each sign-in, whatever cookie came, and the former one ends', async () => {
    await auth.user('cleo')
    const browser = new Browser()
    const planted = 'A'.repeat(43)
    browser.jar(auth.url).set('dirsync', planted)
    await browser.post(`${auth.url}/sign-in`, { name: 'cleo', password: PASSWORD })
    const first = browser.jar(auth.url).get('dirsync') as string
    expect(first).not.toBe(planted)
    await browser.post(`${auth.url}/sign-in`, { name: 'cleo', password: PASSWORD })
    const second = browser.jar(auth.url).get('dirsync') as string
    expect(second).not.toBe(first)
    for (const [cookie, status] of [
      [planted, 401],
      [first, 401],
      [second, 200],
    ] as const) {
      const thief = new Browser()
      thief.jar(auth.url).set('dirsync', cookie)
      expect((await thief.get(`${auth.url}/guarded`)).status).toBe(status)
    }
  })

  test('that was signed out is worth nothing, even with a copy of its cookie', async () => {
    await auth.user('dina')
    const browser = await signedIn(auth, 'dina')
    const thief = new Browser()
    thief.jar(auth.url).set('dirsync', browser.jar(auth.url).get('dirsync') as string)
    expect((await thief.get(`${auth.url}/guarded`)).status).toBe(200)
    const out = await browser.post(`${auth.url}/sign-out`, {})
    expect(out).toMatchObject({ status: 303, location: `${auth.url}/sign-in?signed-out` })
    expect(browser.jar(auth.url).size).toBe(0)
    expect((await browser.get(out.location as string)).text).toContain('You are signed out.')
    expect((await thief.get(`${auth.url}/guarded`)).status).toBe(401)
    expect(await auth.recorded('sign_out')).toMatchObject([
      { arguments: { user: 'dina', via: 'password', address: '127.0.0.1' } },
    ])
    // A second time there is nothing to end, and nothing to record.
    await thief.post(`${auth.url}/sign-out`, {})
    expect(await auth.recorded('sign_out')).toHaveLength(1)
  })

  test('lasts twelve hours from the first request after the clock was put back', async () => {
    await auth.user('tess')
    const browser = await signedIn(auth, 'tess')
    await auth.pool.query(
      `update dirsync.console_session
       set created_at = created_at + interval '1 day', last_seen_at = last_seen_at + interval '1 day',
           expires_at = expires_at + interval '1 day'
       where user_name = 'tess'`,
    )
    for (let time = 0; time < 2; time += 1) {
      expect((await browser.get(`${auth.url}/guarded`)).status).toBe(200)
      const { rows } = await auth.pool.query(
        `select expires_at - created_at as life, created_at <= now() as began, last_seen_at <= now() as seen
         from dirsync.console_session where user_name = 'tess'`,
      )
      expect(rows).toMatchObject([{ life: { hours: 12 }, began: true, seen: true }])
    }
  })

  test('ends with its time', async () => {
    await auth.user('egon')
    const browser = await signedIn(auth, 'egon')
    await auth.pool.query(`update dirsync.console_session set expires_at = now() where user_name = 'egon'`)
    expect((await browser.get(`${auth.url}/guarded`)).status).toBe(401)
  })

  test('has the role of the moment, and ends when the user is disabled or gets another password', async () => {
    await auth.user('fred', 'admin')
    const browser = await signedIn(auth, 'fred')
    const viewer = async () => JSON.parse((await browser.get(`${auth.url}/guarded`)).text).viewer
    expect(await viewer()).toMatchObject({ role: 'admin' })
    await setRole(auth.pool, 'test', 'fred', 'viewer', null)
    expect(await viewer()).toMatchObject({ role: 'viewer' })
    expect(await setPassword(auth.pool, 'test', 'fred', 'another long password', null)).toBe(1)
    expect(await viewer()).toBeNull()

    const page = await browser.post(`${auth.url}/sign-in`, {
      name: 'fred',
      password: 'another long password',
    })
    expect(page.status).toBe(303)
    expect(await disableUser(auth.pool, 'test', 'fred')).toBe(1)
    expect(await viewer()).toBeNull()
    const refused = await browser.post(`${auth.url}/sign-in`, {
      name: 'fred',
      password: 'another long password',
    })
    expect(refused.status).toBe(403)
    expect(refused.text).toContain('The user name or the password is wrong.')
    expect((await auth.recorded('sign_in_failed')).at(-1)?.arguments).toMatchObject({
      user: 'fred',
      why: 'disabled',
    })
  })

  test('is seen by the minute, not by the request', async () => {
    await auth.user('gina')
    const browser = await signedIn(auth, 'gina')
    const seen = async () => {
      const { rows } = await auth.pool.query<{ xmin: string; old: boolean }>(
        `select xmin::text, last_seen_at < now() - interval '1 minute' as old
         from dirsync.console_session where user_name = 'gina'`,
      )
      return rows[0]
    }
    const before = await seen()
    await browser.get(`${auth.url}/guarded`)
    expect(await seen()).toEqual(before)
    await auth.pool.query(
      `update dirsync.console_session set last_seen_at = now() - interval '61 seconds' where user_name = 'gina'`,
    )
    await browser.get(`${auth.url}/guarded`)
    expect(await seen()).toMatchObject({ old: false })
  })
})

describe('behind TLS', () => {
  test('the cookie is bound to the host, sent over TLS alone, and HSTS is asked for', async () => {
    await using tls = await openAuth({ publicUrl: 'https://console.example' })
    await tls.user('hans')
    const browser = await signedIn(tls, 'hans')
    expect([...browser.jar(tls.url).keys()]).toEqual(['__Host-dirsync'])
    const page = await browser.post(`${tls.url}/sign-in`, { name: 'hans', password: PASSWORD })
    expect(page.headers.get('set-cookie')).toMatch(
      /^__Host-dirsync=[\w-]{43}; Path=\/; Max-Age=43200; HttpOnly; SameSite=Lax; Secure$/,
    )
    expect(page.headers.get('strict-transport-security')).toBe('max-age=31536000')
    // The name that a page without TLS could plant is not looked at.
    const planted = new Browser()
    planted.jar(tls.url).set('dirsync', browser.jar(tls.url).get('__Host-dirsync') as string)
    expect((await planted.get(`${tls.url}/guarded`)).status).toBe(401)
  })

  test('a trusted proxy says whether there is TLS; other clients are not believed', async () => {
    for (const [trustProxy, name, address] of [
      [true, '__Host-dirsync', '203.0.113.7'],
      [false, 'dirsync', '127.0.0.1'],
    ] as const) {
      await using behind = await openAuth({ trustProxy })
      await behind.user('ida')
      const browser = new Browser({ 'x-forwarded-proto': 'https', 'x-forwarded-for': '203.0.113.7' })
      await browser.post(`${behind.url}/sign-in`, { name: 'ida', password: PASSWORD })
      expect([...browser.jar(behind.url).keys()]).toEqual([name])
      expect((await behind.recorded('sign_in'))[0]?.arguments).toMatchObject({ address })
    }
  })
})
