import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { type OidcSettings, oidcSettings, valuesOf } from '../../../src/console/auth/oidc.ts'
import { rebindUser } from '../../../src/console/auth/oidc-users.ts'
import { createUserLink } from '../../../src/console/auth/sign-in-key.ts'
import { addUser, disableUser, enableUser, listUsers, setPassword } from '../../../src/console/auth/users.ts'
import { freePort } from '../../helpers/free-port.ts'
import { type DirsyncProcess, spawnScript } from '../../helpers/process.ts'
import { type AuthUnderTest, Browser, openAuth, PASSWORD, type Page, signedIn } from './auth-under-test.ts'

const FIXTURE = join(import.meta.dirname, 'fixtures/identity-provider.ts')
let provider: DirsyncProcess
let providerUrl: string
let auth: AuthUnderTest

async function startProvider(
  consoleUrl: string,
  port = 0,
  ...options: 'no-sign-out'[]
): Promise<[DirsyncProcess, string]> {
  const started = spawnScript(FIXTURE, [String(port), consoleUrl, ...options])
  const [, url = ''] = await started.waitForLine(/^listens on (.+)$/)
  return [started, url]
}

function settingsOf(issuer: string): OidcSettings {
  return {
    issuer,
    clientId: 'dirsync',
    clientSecret: 'a-secret-of-the-client',
    roles: {
      claim: 'groups',
      roles: new Map([
        ['dirsync-admins', 'admin'],
        ['hr', 'reviewer'],
        ['everybody', 'viewer'],
      ]),
    },
    scopes: 'openid profile email',
  }
}

beforeAll(async () => {
  const port = await freePort()
  ;[provider, providerUrl] = await startProvider(`http://127.0.0.1:${port}`)
  auth = await openAuth({ port, oidc: () => settingsOf(providerUrl) })
})
afterAll(async () => {
  await auth[Symbol.asyncDispose]()
  await provider.kill()
})

async function accounts(known: Record<string, Record<string, unknown>>): Promise<void> {
  await fetch(`${providerUrl}/_accounts`, { method: 'PUT', body: JSON.stringify(known) })
}
beforeEach(() =>
  accounts({
    anna: { preferred_username: 'Anna', groups: ['everybody', 'dirsync-admins', 'hr'] },
    bert: { preferred_username: 'bert', groups: ['hr', 'lunch'] },
    cleo: { preferred_username: 'cleo', groups: ['lunch'] },
  }),
)

/** A browser that is signed in at the provider as this account. */
function browserOf(account: string | null): Browser {
  const browser = new Browser()
  if (account !== null) browser.jar(providerUrl).set('account', account)
  return browser
}

/** Begins a sign-in, and goes as far as the address that the provider sends the browser back to. */
async function wayBack(browser: Browser, query = '', { url } = auth): Promise<string> {
  let page = await browser.get(`${url}/sign-in/oidc${query}`)
  for (let hop = 0; hop < 10; hop++) {
    if (page.location === null) throw new Error(`the way ends with ${page.status}\n${page.text}`)
    if (page.location.startsWith(`${url}/`)) return page.location
    page = await browser.get(page.location)
  }
  throw new Error('the way does not end')
}

async function signIn(account: string, browser = browserOf(account)): Promise<Browser> {
  const page = await browser.get(await wayBack(browser))
  expect(page).toMatchObject({ status: 303, location: `${auth.url}/` })
  return browser
}

async function viewerOf(browser: Browser) {
  return JSON.parse((await browser.get(`${auth.url}/guarded`)).text).viewer
}

function expectRefused(page: Page, status: number, text: string): void {
  expect({
    status: page.status,
    cookie: page.headers.get('set-cookie')?.includes('dirsync=') ?? false,
  }).toEqual({ status, cookie: false })
  expect(page.text).toContain(text)
}

describe('a sign-in at the provider', () => {
  test('goes there with PKCE, state and nonce, and comes back with the highest role of the groups', async () => {
    const browser = browserOf('anna')
    const page = await browser.get(`${auth.url}/sign-in`)
    expect(page.text).toContain('href="/sign-in/oidc"')
    const there = await browser.get(`${auth.url}/sign-in/oidc?to=/cases?state=open`)
    const asked = Object.fromEntries(new URL(there.location as string).searchParams)
    expect(asked).toMatchObject({
      response_type: 'code',
      redirect_uri: `${auth.url}/sign-in/oidc/callback`,
      code_challenge_method: 'S256',
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      state: expect.stringMatching(/^[\w-]{43}$/),
      nonce: expect.stringMatching(/^[\w-]{43}$/),
    })
    expect(there.headers.get('set-cookie')).toMatch(
      /^dirsync-sign-in=[\w-]{43}; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax$/,
    )
    const back = await wayBack(browser, '?to=/cases?state=open')
    expect(await browser.get(back)).toMatchObject({ status: 303, location: `${auth.url}/cases?state=open` })
    expect([...browser.jar(auth.url).keys()]).toEqual(['dirsync'])
    expect(await viewerOf(browser)).toEqual({ name: 'anna', role: 'admin', via: 'oidc' })
    const { rows } = await auth.pool.query(
      `select extract(epoch from expires_at - created_at)::int as life from dirsync.console_session
       where user_name = 'anna'`,
    )
    expect(rows).toEqual([{ life: 3600 }])
    expect(await auth.recorded('users add', 'sign_in')).toMatchObject([
      {
        name: 'users add',
        arguments: { user: 'anna', role: 'admin' },
        requested_by: expect.stringMatching(/ \(oidc\)$/),
      },
      { name: 'sign_in', arguments: { user: 'anna', role: 'admin', via: 'oidc' } },
    ])
    await signIn('anna')
    expect(await auth.recorded('users add')).toHaveLength(1)
  })

  test('is told of their cases at the mail address that the provider has verified', async () => {
    const mailOf = async (name: string) =>
      (await auth.pool.query('select notice_mail from dirsync.console_user where name = $1', [name])).rows[0]
    const dora = { preferred_username: 'dora', groups: ['hr'], email: 'dora@example.com' }
    await accounts({ dora: { ...dora, email_verified: false } })
    await signIn('dora')
    expect(await mailOf('dora')).toEqual({ notice_mail: null })
    await accounts({ dora: { ...dora, email_verified: true } })
    await signIn('dora')
    expect(await mailOf('dora')).toEqual({ notice_mail: 'dora@example.com' })
    // Not one address, as the form of users would say.
    await accounts({ dora: { ...dora, email: 'dora@example.com, all@example.com', email_verified: true } })
    await signIn('dora')
    expect(await mailOf('dora')).toEqual({ notice_mail: 'dora@example.com' })
  })

  test('records another address for notices, and the sessions that end with a role', async () => {
    const person = { preferred_username: 'kira', groups: ['hr'], email_verified: true }
    const of = async (...names: string[]) =>
      (await auth.recorded(...names)).map(row => row.arguments).filter(({ user }) => user === 'kira')
    await accounts({ kira: { ...person, email: 'kira@example.com' } })
    for (let round = 0; round < 2; round++) await signIn('kira')
    expect(await of('users notices')).toEqual([{ user: 'kira', mail: 'kira@example.com' }])
    await accounts({ kira: { ...person, email: 'evil@example.com' } })
    await signIn('kira')
    expect(await of('users notices')).toHaveLength(2)
    expect(await of('users sign-out')).toEqual([])
    await accounts({ kira: { ...person, groups: [] } })
    for (let round = 0; round < 2; round++) {
      const browser = browserOf('kira')
      expectRefused(await browser.get(await wayBack(browser)), 403, 'You have no role')
    }
    expect(await of('users sign-out')).toEqual([{ user: 'kira' }])
  })

  test('has no password here', async () => {
    await signIn('bert')
    const page = await new Browser().post(`${auth.url}/sign-in`, { name: 'bert', password: PASSWORD })
    expect(page.status).toBe(403)
  })

  test('does not take over a user of that name who has a password', async () => {
    await auth.user('dora', 'viewer')
    await accounts({ other: { preferred_username: 'DORA', groups: ['dirsync-admins'] } })
    const browser = browserOf('other')
    expectRefused(await browser.get(await wayBack(browser)), 403, 'Your name belongs to another user here')
    const failed = async () => (await auth.recorded('sign_in_failed')).at(-1)?.arguments
    expect(await failed()).toMatchObject({ user: 'dora', why: 'taken' })
    await accounts({ other: { preferred_username: 'local', groups: ['dirsync-admins'] } })
    const again = browserOf('other')
    expectRefused(await again.get(await wayBack(again)), 403, 'Your name belongs to another user here')
    expect(await failed()).toMatchObject({ user: 'local', why: 'taken' })
  })

  test('that is refused is recorded, however many strangers fail without the provider', async () => {
    await auth.user('elsa', 'viewer')
    for (let i = 0; i < 20; i++) await new Browser().post(`${auth.url}/sign-in/key`, { key: 'x' })
    await accounts({ other: { preferred_username: 'elsa', groups: ['hr'] } })
    const browser = browserOf('other')
    expectRefused(await browser.get(await wayBack(browser)), 403, 'Your name belongs to another user here')
    const recorded = (await auth.recorded('sign_in_failed')).map(row => row.arguments)
    expect(recorded).toContainEqual({ user: 'elsa', why: 'taken', address: '127.0.0.1' })
  })

  test('identifies people by their subject, whatever their name', async () => {
    await accounts({ s1: { preferred_username: 'emma', groups: ['hr'] }, s2: { groups: ['hr'] } })
    const emma = await signIn('s1')
    await accounts({
      s1: { preferred_username: 'emma.new', groups: ['hr'] },
      s3: { preferred_username: 'emma', groups: ['hr'] },
    })
    expect(await viewerOf(await signIn('s1'))).toMatchObject({ name: 'emma' })
    const other = browserOf('s3')
    expectRefused(await other.get(await wayBack(other)), 403, 'another user')
    expect(await viewerOf(emma)).toMatchObject({ name: 'emma' })
    await accounts({ 'Sub|4': { preferred_username: '<script>', groups: ['hr'] } })
    const { name } = await viewerOf(await signIn('Sub|4'))
    expect(name).toBe('sub-4')
  })

  test('binds a name to another subject once, only after the shell has asked for it, and not if disabled', async () => {
    const groups = ['hr']
    const nameOf = async (account: string) => {
      await accounts({ [account]: { preferred_username: 'gina', groups } })
      const browser = browserOf(account)
      const page = await browser.get(await wayBack(browser))
      return page.status === 303 ? (await viewerOf(browser)).name : page.text
    }
    expect(await nameOf('old-id')).toBe('gina')
    expect(await nameOf('new-id')).toContain('dirsync users rebind gina')
    await rebindUser(auth.pool, 'cli:root', 'gina')
    await disableUser(auth.pool, 'test', 'gina')
    expect(await nameOf('new-id')).toContain('belongs to another user')
    await expect(rebindUser(auth.pool, 'cli:root', 'gina')).rejects.toThrow('is disabled: enable it first')
    await enableUser(auth.pool, 'test', 'gina')
    await rebindUser(auth.pool, 'cli:root', 'gina')
    // Who is still known signs in, and there is nothing left to bind.
    expect(await nameOf('old-id')).toBe('gina')
    expect(await nameOf('new-id')).toContain('belongs to another user')
    await rebindUser(auth.pool, 'cli:root', 'gina')
    expect(await nameOf('new-id')).toBe('gina')
    for (const other of ['old-id', 'third-id'])
      expect(await nameOf(other)).toContain('belongs to another user')
    expect(
      (await auth.recorded('users rebind', 'users bound')).map(row => [row.name, row.arguments]),
    ).toEqual([...Array(3).fill(['users rebind', { user: 'gina' }]), ['users bound', { user: 'gina' }]])
    await rebindUser(auth.pool, 'cli:root', 'gina')
    await auth.pool.query(`update dirsync.console_user set rebinds_until = now() where name = 'gina'`)
    expect(await nameOf('third-id')).toContain('belongs to another user')
    await auth.pool.query(
      `insert into dirsync.console_user (name, source, role) values ('local', 'key', 'admin')`,
    )
    await expect(rebindUser(auth.pool, 'cli:root', 'local')).rejects.toThrow('one-time keys')
  })

  test('binds the name of a user with a password, which is worth nothing then', async () => {
    await auth.user('hugo', 'viewer')
    await rebindUser(auth.pool, 'cli:root', 'hugo')
    const password = { name: 'hugo', password: PASSWORD }
    const before = new Browser()
    expect((await before.post(`${auth.url}/sign-in`, password)).status).toBe(303)
    await accounts({ 'hugo-id': { preferred_username: 'hugo', groups: ['hr'] } })
    expect(await viewerOf(await signIn('hugo-id'))).toMatchObject({ name: 'hugo', role: 'reviewer' })
    expect(await viewerOf(before)).toBeNull()
    expect((await new Browser().post(`${auth.url}/sign-in`, password)).status).toBe(403)
  })

  test('of a provider that is no longer set leaves a user who may be given a password or a link', async () => {
    const groups = ['hr']
    const browsers: Browser[] = []
    for (const name of ['ivan', 'jana']) {
      await accounts({ [name]: { preferred_username: name, groups } })
      browsers.push(await signIn(name))
    }
    const give = (present: string | null) => [
      () => setPassword(auth.pool, 'test', 'ivan', PASSWORD, present),
      () => createUserLink(auth.pool, 'test', 'jana', present),
    ]
    for (const refused of give(`${providerUrl}/`))
      await expect(refused()).rejects.toThrow('signs in at the identity provider')
    const refused = addUser(auth.pool, 'test', { name: 'ivan', role: 'viewer', password: PASSWORD })
    await expect(refused).rejects.toThrow('who signs in at the identity provider: choose another name')
    const [password, link] = [await give('https://other.example')[0]?.(), await give(null)[1]?.()]
    expect(password).toBe(1)
    // There they would be asked for a present password, which they do not have.
    for (const browser of browsers) expect(await viewerOf(browser)).toBeNull()
    const ivan = await new Browser().post(`${auth.url}/sign-in`, { name: 'ivan', password: PASSWORD })
    const jana = await new Browser().post(`${auth.url}/sign-in/link`, { key: String(link) })
    expect([ivan.status, jana.status]).toEqual([303, 303])
    // They are no longer found by their subject.
    await accounts({ ivan: { preferred_username: 'ivan', groups } })
    const back = browserOf('ivan')
    expectRefused(await back.get(await wayBack(back)), 403, 'belongs to another user')
  })

  test('has an e-mail address for a name only where the provider has verified it', async () => {
    const groups = ['hr']
    await accounts({
      s5: { groups, email: 'boss@example.com', email_verified: false },
      s6: { groups, email: 'fay@example.com', email_verified: true },
    })
    expect(await viewerOf(await signIn('s5'))).toMatchObject({ name: 's5' })
    expect(await viewerOf(await signIn('s6'))).toMatchObject({ name: 'fay@example.com' })
  })
})

describe('a role', () => {
  test('that is lacking is recorded without taking the room of failures with a password, and without the name of a stranger', async () => {
    await auth.user('victim', 'viewer')
    await accounts({ intern: { preferred_username: 'intern', groups: [] } })
    const before = (await auth.recorded('sign_in_failed')).length
    for (let round = 0; round < 31; round++) {
      const browser = browserOf('intern')
      expectRefused(await browser.get(await wayBack(browser)), 403, 'You have no role')
    }
    await new Browser().post(`${auth.url}/sign-in`, { name: 'victim', password: 'wrong' })
    const recorded = (await auth.recorded('sign_in_failed')).slice(before).map(row => row.arguments)
    expect(recorded).toContainEqual(expect.objectContaining({ user: 'victim', why: 'password' }))
    expect(recorded).not.toContainEqual(expect.objectContaining({ user: 'intern' }))
  })

  test('is needed: without one there is a page that says so, and no session', async () => {
    const browser = browserOf('cleo')
    expectRefused(await browser.get(await wayBack(browser)), 403, 'You have no role in this console')
    expect(await viewerOf(browser)).toBeNull()
    const { rows } = await auth.pool.query(`select from dirsync.console_user where name = 'cleo'`)
    expect(rows).toEqual([])
  })

  test('that is taken away is gone when the hour is over, and everywhere at the next sign-in', async () => {
    const [laptop, phone] = [await signIn('anna'), await signIn('anna')]
    await accounts({ anna: { preferred_username: 'Anna', groups: ['lunch'] } })
    await auth.pool.query(
      `update dirsync.console_session set expires_at = expires_at - interval '1 hour'
       where id_hash = sha256($1::bytea)`,
      [laptop.jar(auth.url).get('dirsync')],
    )
    expect(await viewerOf(laptop)).toBeNull()
    expectRefused(await laptop.get(await wayBack(laptop)), 403, 'You have no role')
    expect(await viewerOf(phone)).toBeNull()
  })

  test('that is taken away is shown as that, until it is given again', async () => {
    const anna = async () =>
      (await listUsers(auth.pool, `${providerUrl}/`)).find(({ name }) => name === 'anna')
    await signIn('anna')
    expect(await anna()).toMatchObject({ barred: null, no_role_since: null })
    await accounts({ anna: { preferred_username: 'Anna', groups: ['lunch'] } })
    const since: (Date | null | undefined)[] = []
    for (let round = 0; round < 2; round++) {
      const browser = browserOf('anna')
      expectRefused(await browser.get(await wayBack(browser)), 403, 'You have no role')
      expect(await anna()).toMatchObject({ barred: 'no_role', no_role_since: expect.any(Date) })
      since.push((await anna())?.no_role_since)
    }
    expect(since[1]).toEqual(since[0])
    await accounts({ anna: { preferred_username: 'Anna', groups: ['dirsync-admins'] } })
    await signIn('anna')
    expect(await anna()).toMatchObject({ barred: null, no_role_since: null })
    for (const present of [null, 'https://other.example']) {
      const users = await listUsers(auth.pool, present)
      expect(users.find(({ name }) => name === 'anna')?.barred).toBe('no_provider')
    }
  })

  test('that is lowered holds at once for all sessions, and is recorded', async () => {
    const first = await signIn('anna')
    expect(await viewerOf(first)).toMatchObject({ role: 'admin' })
    await accounts({ anna: { preferred_username: 'Anna', groups: 'everybody' } })
    await signIn('anna')
    expect(await viewerOf(first)).toMatchObject({ role: 'viewer' })
    expect((await auth.recorded('users role')).at(-1)).toMatchObject({
      arguments: { user: 'anna', role: 'viewer' },
      requested_by: expect.stringMatching(/ \(oidc\)$/),
    })
  })

  test('does not help a user who is disabled here', async () => {
    const browser = await signIn('bert')
    await disableUser(auth.pool, 'test', 'bert')
    expect(await viewerOf(browser)).toBeNull()
    expectRefused(await browser.get(await wayBack(browser)), 403, 'disabled your user')
    await enableUser(auth.pool, 'test', 'bert')
    await signIn('bert')
  })

  test.each([
    [{ groups: ['a', 'b', 1, null] }, 'groups', ['a', 'b']],
    [{ groups: 'a' }, 'groups', ['a']],
    [{ realm_access: { roles: ['a'] } }, 'realm_access.roles', ['a']],
    [{ 'https://example.com/groups': ['a'] }, 'https://example.com/groups', ['a']],
    [{ groups: { a: true } }, 'groups', null],
    [{}, 'constructor.name', null],
    [{ a: null }, 'a.b', null],
    [{ email: 'a@example.com', email_verified: true }, 'email', ['a@example.com']],
    [{ email: 'a@example.com', email_verified: false }, 'email', null],
    [{ email: 'a@example.com', email_verified: 'true' }, 'email', null],
    [{ email: 'a@example.com' }, 'email', null],
  ])('is read from %j by %s', (claims, claim, values) => expect(valuesOf(claims, claim)).toEqual(values))
})

describe('a way back', () => {
  test('works once: the address a second time finds nothing, in this browser and in another', async () => {
    const browser = browserOf('anna')
    const flow = () => browser.jar(auth.url).get('dirsync-sign-in') as string
    const back = await wayBack(browser)
    const secret = flow()
    expect((await browser.get(back)).status).toBe(303)
    browser.jar(auth.url).set('dirsync-sign-in', secret)
    expectRefused(await browser.get(back), 400, 'has expired')
    expectRefused(await new Browser().get(back), 400, 'has expired')
  })

  test('belongs to the browser that began: a link cannot sign a person in as another', async () => {
    const back = await wayBack(browserOf('anna'))
    expectRefused(await new Browser().get(back), 400, 'has expired')
    const victim = browserOf('bert')
    await wayBack(victim)
    expectRefused(await victim.get(back), 403, 'identity provider failed')
    expect(await viewerOf(victim)).toBeNull()
  })

  test('with the code of another person is refused by the proof of the key (PKCE)', async () => {
    const stolen = new URL(await wayBack(browserOf('anna'))).searchParams.get('code') as string
    const thief = browserOf('cleo')
    const own = new URL(await wayBack(thief))
    own.searchParams.set('code', stolen)
    expectRefused(await thief.get(own.href), 403, 'invalid_grant')
  })

  test('with a code that was used already is refused by the provider', async () => {
    const browser = browserOf('bert')
    const back = await wayBack(browser)
    const secret = browser.jar(auth.url).get('dirsync-sign-in') as string
    const { rows } = await auth.pool.query<{ flow: unknown }>(
      'select to_jsonb(f) as flow from dirsync.sign_in_flow f where hash = sha256($1::bytea)',
      [secret],
    )
    expect((await browser.get(back)).status).toBe(303)
    // As if we had forgotten that it was used.
    await auth.pool.query(
      'insert into dirsync.sign_in_flow select * from jsonb_populate_recordset(null::dirsync.sign_in_flow, $1)',
      [JSON.stringify(rows.map(row => row.flow))],
    )
    const replayed = new Browser()
    replayed.jar(auth.url).set('dirsync-sign-in', secret)
    expectRefused(await replayed.get(back), 403, 'invalid_grant')
  })

  test.each([
    ['another state', (url: URL) => url.searchParams.set('state', 'A'.repeat(43))],
    ['no state', (url: URL) => url.searchParams.delete('state')],
    ['no code', (url: URL) => url.searchParams.delete('code')],
    ['two codes', (url: URL) => url.searchParams.append('code', 'x')],
    ['another issuer', (url: URL) => url.searchParams.set('iss', 'https://evil.example')],
  ])('with %s is refused', async (_, tamper) => {
    const browser = browserOf('anna')
    const back = new URL(await wayBack(browser))
    tamper(back)
    expectRefused(await browser.get(back.href), 403, 'identity provider failed')
    expect(await viewerOf(browser)).toBeNull()
  })

  test('with the ID token of another sign-in (nonce) is refused', async () => {
    const browser = browserOf('anna')
    const back = await wayBack(browser)
    await auth.pool.query('update dirsync.sign_in_flow set nonce = state')
    expectRefused(await browser.get(back), 403, 'identity provider failed')
  })

  test('after ten minutes is too late', async () => {
    const browser = browserOf('anna')
    const back = await wayBack(browser)
    await auth.pool.query('update dirsync.sign_in_flow set expires_at = now()')
    expectRefused(await browser.get(back), 400, 'longer than ten minutes')
  })

  test('after a person gave up there says so, without their data', async () => {
    const browser = browserOf(null)
    expectRefused(await browser.get(await wayBack(browser)), 403, 'access_denied')
    expect(auth.log.at(-1)).toContain('"reason":"access_denied"')
    expect(auth.log.join('')).not.toMatch(/anna|code=|id_token/)
  })
})

test('the settings are whole, or there is no provider', () => {
  const { issuer, clientId, clientSecret, roles, scopes } = settingsOf('https://login.example')
  const config = {
    OIDC_ISSUER: issuer,
    OIDC_CLIENT_ID: clientId,
    OIDC_CLIENT_SECRET: clientSecret,
    OIDC_ROLES: roles,
    OIDC_SCOPES: scopes,
  }
  expect(oidcSettings(config)).toEqual(settingsOf('https://login.example'))
  expect(oidcSettings({ ...config, OIDC_ISSUER: null })).toBeNull()
})

test('sign-out ends the session here and there', async () => {
  const browser = await signIn('anna')
  const out = await browser.post(`${auth.url}/sign-out`, {})
  expect(out.status).toBe(200)
  const [, there = ''] = /^0; url=(.+)$/.exec(out.headers.get('refresh') ?? '') ?? []
  expect(new URL(there).searchParams.get('id_token_hint')).toMatch(/^ey/)
  expect(out.text).toContain('Sign out there')
  expect(await viewerOf(browser)).toBeNull()
  const { rows } = await auth.pool.query(
    'select from dirsync.console_session where revoked_at is not null and id_token is not null',
  )
  expect(rows).toEqual([])
  const question = await browser.get(there)
  const [, xsrf = ''] = /name="xsrf" value="([^"]+)"/.exec(question.text) ?? []
  const end = await browser.post(`${providerUrl}/session/end/confirm`, { xsrf, logout: 'yes' })
  expect(end.location).toBe(`${auth.url}/sign-in`)
})

test('sign-out where the provider has no page for it says that the company account may still be signed in', async () => {
  const port = await freePort()
  const [without, issuer] = await startProvider(`http://127.0.0.1:${port}`, 0, 'no-sign-out')
  onTestFinished(async () => void (await without.kill()))
  await fetch(`${issuer}/_accounts`, { method: 'PUT', body: JSON.stringify({ anna: { groups: ['hr'] } }) })
  await using other = await openAuth({ port, oidc: () => settingsOf(issuer) })
  const browser = new Browser()
  browser.jar(issuer).set('account', 'anna')
  expect((await browser.get(await wayBack(browser, '', other))).status).toBe(303)
  const out = await browser.post(`${other.url}/sign-out`, {})
  expect(out.status).toBe(303)
  const page = await browser.get(out.location ?? '')
  expect(page.text).toContain('You may still be signed in with your company account')
  await other.user('ben')
  const byPassword = await signedIn(other, 'ben')
  const left = await byPassword.post(`${other.url}/sign-out`, {})
  expect((await byPassword.get(left.location ?? '')).text).not.toContain('You may still')
})

test('a provider that is away leaves the passwords, and is used as soon as it is back', async () => {
  const [port, providerPort] = [await freePort(), await freePort()]
  const issuer = `http://127.0.0.1:${providerPort}`
  await using alone = await openAuth({ port, oidc: () => settingsOf(issuer) })
  await alone.user('ida', 'viewer')
  const browser = new Browser()
  expectRefused(await browser.get(`${alone.url}/sign-in/oidc`), 503, 'The identity provider does not answer')
  const page = await browser.post(`${alone.url}/sign-in`, { name: 'ida', password: PASSWORD })
  expect(page.status).toBe(303)

  const [back] = await startProvider(alone.url, providerPort)
  const there = await browser.get(`${alone.url}/sign-in/oidc`)
  expect(there.location).toMatch(new RegExp(`^${issuer}/auth`))
  const { state } = Object.fromEntries(new URL(there.location as string).searchParams)
  await back.kill()
  const gone = await browser.get(`${alone.url}/sign-in/oidc/callback?code=x&state=${state}&iss=${issuer}`)
  expectRefused(gone, 503, 'The identity provider does not answer')
})
