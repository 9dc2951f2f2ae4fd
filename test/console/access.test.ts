import { describe, expect, test } from 'vitest'
import { browserName } from '../../src/console/access/browser-name.ts'
import { rebindUser } from '../../src/console/auth/oidc-users.ts'
import { permits, SCOPES, type Scope, scopesFor } from '../../src/console/auth/scope.ts'
import { createLinkKey, createSignInKey } from '../../src/console/auth/sign-in-key.ts'
import { endpoints, SCREENS } from '../../src/console/screens.ts'
import type { Services } from '../../src/console/services.ts'
import { duringFile } from '../helpers/during.ts'
import { createTestDatabase } from '../helpers/postgres.ts'
import { WAITING_FOR_A_LOCK } from '../sync/store-under-test.ts'
import { ConsoleUnderTest, openApp, PASSWORD, plantUser } from './console-under-test.ts'

const console = new ConsoleUnderTest()
const HERE = {
  host: 'localhost',
  'sec-fetch-site': 'same-origin',
  accept: 'text/html',
  'accept-language': 'en',
}
const FORM = 'application/x-www-form-urlencoded'

const OIDC = {
  CONSOLE_URL: 'https://dirsync.example',
  OIDC_ISSUER: 'https://login.example',
  OIDC_CLIENT_ID: 'dirsync',
  OIDC_CLIENT_SECRET: 'a-secret-of-the-client',
  OIDC_ROLES: 'groups:dirsync-admins=admin,everybody=viewer',
}

/** A browser on a console: it keeps the cookie of its session. */
class Window {
  readonly #app: ConsoleUnderTest['app']
  #cookie = ''
  /** The page with the form that is sent next. */
  #page = '/access'

  constructor(app = console.app) {
    this.#app = app
  }

  async get(url: string) {
    this.#page = url
    return this.#keep(await this.#app.inject({ url, headers: { ...HERE, cookie: this.#cookie } }))
  }

  async post(url: string, form: Record<string, string> = {}, headers: Record<string, string> = {}) {
    const sent = {
      ...HERE,
      cookie: this.#cookie,
      'content-type': FORM,
      referer: `http://localhost${this.#page}`,
      ...headers,
    }
    const payload = String(new URLSearchParams(form))
    return this.#keep(await this.#app.inject({ method: 'POST', url, headers: sent, payload }))
  }

  async signIn(name: string, password = PASSWORD): Promise<number> {
    return (await this.post('/sign-in', { name, password })).statusCode
  }

  #keep<Answer extends { cookies: { name: string; value: string }[] }>(answer: Answer): Answer {
    const session = answer.cookies.find(({ name }) => name === 'dirsync')
    if (session) this.#cookie = `dirsync=${session.value}`
    return answer
  }
}

async function admin(name: string): Promise<Window> {
  await plantUser(console.pool, name, 'admin')
  const window = new Window()
  expect(await window.signIn(name)).toBe(303)
  return window
}

/** The link that a page shows. */
const linkIn = (body: string) => /\/sign-in\/link\?key=[\w-]+/.exec(body)?.[0] ?? ''
const keyOf = (link: string) => link.split('key=')[1] ?? ''
const last = async () => (await console.commands()).at(-1)

describe('a colleague', () => {
  test('is let in by a link, chooses a password, and signs in with it', async () => {
    const anna = await admin('anna')
    const added = await anna.post('/access/users', { name: 'Ben', role: 'reviewer' })
    expect(added.statusCode).toBe(200)
    expect(await last()).toMatchObject({ name: 'users link', arguments: { user: 'ben' } })
    const link = linkIn(added.body)

    // Whoever loads the page of the link again is offered another one, until one was opened.
    const reloaded = await anna.post('/access/users', { name: 'Ben', role: 'reviewer' })
    expect([reloaded.statusCode, reloaded.body]).toEqual([
      422,
      expect.stringContaining('has not opened the link'),
    ])
    expect(reloaded.body).toMatch(/action="\/access\/users\/ben\/link"/)

    const ben = new Window()
    for (const preview of [new Window(), ben]) {
      const page = await preview.get(link)
      expect(page.body).toContain('as ben (reviewer)')
    }
    expect(await ben.post('/sign-in/link', { key: keyOf(link) })).toMatchObject({ statusCode: 303 })
    expect((await ben.get('/account')).body).toContain('You have no password yet')
    expect((await new Window().post('/sign-in/link', { key: keyOf(link) })).statusCode).toBe(403)
    const opened = (await anna.get('/api/v1/access/users/ben')).json().link.opened_at
    expect(Date.parse(opened)).not.toBeNaN()

    const late = await anna.post('/access/users', { name: 'Ben', role: 'reviewer' })
    expect(late.body).not.toMatch(/action="\/access\/users\/ben\/link"/)

    const chosen = { password: 'a password of my own', again: 'a password of my own' }
    expect((await ben.post('/account/password', { ...chosen, again: 'another' })).statusCode).toBe(422)
    expect((await ben.post('/account/password', chosen)).statusCode).toBe(303)
    // What opened the way once does not open it again.
    expect((await ben.post('/account/password', chosen)).statusCode).toBe(422)
    expect(await new Window().signIn('ben', chosen.password)).toBe(303)
    expect((await anna.get('/api/v1/access/users/ben')).json()).toMatchObject({
      source: 'password',
      sessions: 2,
    })
  })

  test('cannot sign in once the only link has lapsed, until there is another or a password', async () => {
    const anna = await admin('anna')
    await anna.post('/access/users', { name: 'lea', role: 'viewer' })
    const lea = async () => {
      const { items } = (await anna.get('/api/v1/access')).json()
      const one = (await anna.get('/api/v1/access/users/lea')).json()
      const [listed] = items.filter(({ name }: { name: string }) => name === 'lea')
      expect(listed.barred).toBe(one.barred)
      return one.barred
    }
    expect(await lea()).toBeNull()
    await console.pool.query(`update dirsync.sign_in_link set expires_at = now() where user_name = 'lea'`)
    expect(await lea()).toBe('no_link')
    expect((await anna.get('/access')).body).toContain('no link that is still good')
    const { body } = await anna.post('/access/users/lea/link')
    expect(await lea()).toBeNull()
    await new Window().post('/sign-in/link', { key: keyOf(linkIn(body)) })
    expect(await lea()).toBe('no_link')
    await anna.post('/access/users/lea/password', { password: PASSWORD })
    expect(await lea()).toBeNull()
  })

  test('needs no link where a password was given; what is refused keeps what was typed', async () => {
    const anna = await admin('anna')
    const refused = await anna.post('/access/users', { name: 'cleo', role: 'operator', password: 'short' })
    expect(refused.statusCode).toBe(422)
    expect(refused.body).toContain('12 to 256 characters')
    expect(refused.body).toMatch(/<option value="operator" selected>/)
    expect(refused.body).not.toContain('short"')
    expect(refused.body).toMatch(/type="password"[^>]*aria-invalid="true"/)
    const added = await anna.post('/access/users', { name: 'cleo', role: 'operator', password: PASSWORD })
    expect(added.body).toContain('cleo may sign in, as operator.')
    expect(await new Window().signIn('cleo')).toBe(303)
    const again = await anna.post('/access/users', { name: 'cleo', role: 'viewer', password: PASSWORD })
    expect(again.body).toContain('There is a user cleo already: choose another name')
    expect(again.body).not.toContain('dirsync users')
    const told = { name: 'cleo', role: 'viewer', password: PASSWORD }
    const answer = await console.ask('admin', 'POST', '/api/v1/access/users', told)
    expect(answer.json().errors).toEqual([expect.objectContaining({ pointer: '#/name', code: 'refused' })])
  })

  test('a link is worth nothing after a later one, another password, or once they were disabled', async () => {
    const anna = await admin('anna')
    await plantUser(console.pool, 'dora', 'viewer')
    const make = async () => linkIn((await anna.post('/access/users/dora/link')).body)
    const isGood = async (link: string) => (await new Window().get(link)).statusCode === 200
    const link = async () => (await anna.get('/api/v1/access/users/dora')).json().link
    const page = async () => (await anna.get('/access/users/dora')).body.replaceAll(/<[^>]+>/g, '')
    expect(await link()).toBeNull()
    const [first, second] = [await make(), await make()]
    expect(await link()).toMatchObject({
      created_by: expect.stringContaining('console:anna'),
      opened_at: null,
    })
    expect(await page()).toMatch(/not opened yet, ends in \d+ (d|h).*; made just now, anna/)
    expect([await isGood(first), await isGood(second)]).toEqual([false, true])
    await anna.post('/access/users/dora/disable')
    expect(await isGood(second)).toBe(false)
    expect((await anna.post('/access/users/dora/link')).statusCode).toBe(422)
    await anna.post('/access/users/dora/enable')
    expect(await isGood(second)).toBe(false)
    expect(await page()).toMatch(/never opened, ended just now; made just now, anna/)
    const third = await make()
    expect(await isGood(third)).toBe(true)
    await anna.post('/access/users/dora/password', { password: 'another long password' })
    expect(await isGood(third)).toBe(false)
    expect((await new Window().get('/sign-in/link?key=%22%3E%3Cscript%3E')).statusCode).toBe(403)
  })
})

test('a link that is made worthless while it is opened opens no session', async () => {
  const anna = await admin('anna')
  await plantUser(console.pool, 'dirk', 'viewer')
  const link = linkIn((await anna.post('/access/users/dirk/link')).body)
  const client = await console.pool.connect()
  try {
    await client.query(`begin; select from dirsync.console_user where name = 'dirk' for update`)
    const thief = new Window().post('/sign-in/link', { key: keyOf(link) })
    await expect.poll(async () => (await console.pool.query(WAITING_FOR_A_LOCK)).rowCount).toBeGreaterThan(0)
    // As another password does, which may have begun later than what waits for it.
    await client.query(
      `update dirsync.sign_in_link set expires_at = clock_timestamp() where user_name = 'dirk' and used_at is null`,
    )
    await client.query('commit')
    expect((await thief).statusCode).toBe(403)
  } finally {
    client.release()
  }
  const dirk = (await anna.get('/api/v1/access/users/dirk')).json()
  expect(dirk).toMatchObject({ sessions: 0, last_sign_in_at: null, link: { opened_at: null } })
})

test('the page of a user who leaves lists the good tokens that they added, with a button that revokes each', async () => {
  const [anna, lena] = [await admin('anna'), await admin('lena')]
  const wanted = { name: 'nightly', role: 'operator', expires: '90d' }
  expect((await lena.post('/access/tokens', wanted)).statusCode).toBe(200)
  const page = async (name: string) => (await anna.get(`/access/users/${name}`)).body
  const revoke = /action="\/access\/tokens\/nightly\/revoke"/
  expect(await page('anna')).not.toMatch(revoke)
  expect(await page('lena')).toContain('Tokens that they added stay good until you revoke them')
  await anna.post('/access/users/lena/disable')
  expect(await page('lena')).toContain('Good tokens that they added')
  expect(await page('lena')).toMatch(revoke)
  await anna.post('/access/tokens/nightly/revoke')
  expect(await page('lena')).not.toMatch(revoke)
  expect((await anna.get('/api/v1/access/users/lena')).json().tokens).toEqual([])
})

test('a disabled user is given another password before they may sign in again, and the page warns of the old one', async () => {
  const anna = await admin('anna')
  await plantUser(console.pool, 'dan', 'operator')
  await anna.post('/access/users/dan/disable')
  const { body } = await anna.get('/access/users/dan')
  const actions = [...body.matchAll(/action="\/access\/users\/dan\/([^"]+)"/g)].map(([, what]) => what)
  expect(actions.sort()).toEqual(['enable', 'password'])
  expect(body).toContain('Their password is good again then')
  const password = 'another long password'
  expect((await anna.post('/access/users/dan/password', { password })).statusCode).toBe(303)
  expect(await new Window().signIn('dan', password)).toBe(403)
  await anna.post('/access/users/dan/enable')
  expect(await new Window().signIn('dan')).toBe(403)
  expect(await new Window().signIn('dan', password)).toBe(303)
})

test.each([
  ['role', { role: 'reviewer' }],
  ['notices', {}],
  ['disable', {}],
  ['enable', {}],
  ['password', { password: PASSWORD }],
  ['link', {}],
  ['sign-out', {}],
])('%s of a user answers with the name as it is stored, however it was typed', async (what, body) => {
  await plantUser(console.pool, 'mei', 'viewer')
  const answer = await console.ask('admin', 'POST', `/api/v1/access/users/Mei/${what}`, body)
  expect(answer.json()).toMatchObject({ user: 'mei' })
})

test('the user of one-time keys is offered neither another role nor to be disabled, and both are refused', async () => {
  await console.pool.query(
    `insert into dirsync.console_user (name, source, role) values ('local', 'key', 'admin')`,
  )
  const anna = await admin('anna')
  const page = await anna.get('/access/users/local')
  expect(page.body).not.toMatch(/action="[^"]*local\/(disable|role)"/)
  for (const [what, form] of [
    ['disable', {}],
    ['role', { role: 'viewer' }],
  ] as const) {
    const refused = await anna.post(`/access/users/local/${what}`, form)
    expect([refused.statusCode, refused.body]).toEqual([422, expect.stringContaining('cannot be disabled')])
    const told = await console.ask('admin', 'POST', `/api/v1/access/users/local/${what}`, form)
    expect(told.statusCode).toBe(422)
  }
  await console.pool.query(`delete from dirsync.console_user where name = 'local'`)
})

test('the page of that user shows a key that has not been used yet, and ends it with the sessions', async () => {
  const anna = await admin('anna')
  await new Window().post('/sign-in/key', { key: await createLinkKey(console.pool, 'cli:root') })
  await console.pool.query(`update dirsync.console_session set revoked_at = now() where user_name = 'local'`)
  const page = async () => (await anna.get('/access/users/local')).body.replaceAll(/<[^>]+>/g, '')
  expect(await page()).toMatch(/opened just now; made just now, root/)
  expect(await page()).not.toContain('End all sessions')
  const key = await createLinkKey(console.pool, 'cli:root')
  // One of a later start does not hide it.
  await createSignInKey(console.pool)
  expect((await anna.get('/api/v1/access/users/local')).json().link).toMatchObject({
    created_by: expect.stringContaining('cli:root'),
    opened_at: null,
  })
  expect(await page()).toMatch(/not opened yet, ends in \d+ h.*; made just now, root/)
  expect(await page()).toContain('Keys that have not been used become worthless, too')
  expect((await anna.post('/access/users/local/sign-out')).statusCode).toBe(303)
  expect(await page()).toMatch(/never opened, ended just now/)
  expect((await new Window().post('/sign-in/key', { key })).statusCode).toBe(403)
  await console.pool.query(`delete from dirsync.console_user where name = 'local'`)
})

test('the page of a user who may be bound anew ends that, also without a session', async () => {
  const anna = await admin('anna')
  await plantUser(console.pool, 'vera', 'viewer')
  const page = async () => (await anna.get('/access/users/vera')).body
  const end = 'action="/access/users/vera/sign-out"'
  expect(await page()).not.toContain(end)
  await rebindUser(console.pool, 'cli:root', 'vera')
  expect(await page()).toContain(end)
  await anna.post('/access/users/vera/sign-out')
  expect(await page()).not.toContain('May be bound anew until')
  expect(await page()).not.toContain(end)
})

describe('the last administrator', () => {
  test('can be neither demoted nor disabled; of two who demote each other, one stays', async () => {
    await console.pool.query(`update dirsync.console_user set disabled_at = now() where role = 'admin'`)
    const [emil, fay] = [await admin('emil'), await admin('fay')]
    // An administrator who never had a password could not sign in again.
    await emil.post('/access/users', { name: 'guest', role: 'admin' })
    const answers = await Promise.all([
      emil.post('/access/users/fay/role', { role: 'viewer' }),
      fay.post('/access/users/emil/role', { role: 'viewer' }),
    ])
    const codes = answers.map(({ statusCode }) => statusCode).sort()
    // The slower one may find that they are no administrator any more.
    expect([
      [303, 403],
      [303, 422],
    ]).toContainEqual(codes)
    const { rows } = await console.pool.query<{ name: string }>(
      `select name from dirsync.console_user where role = 'admin' and source = 'password' and disabled_at is null`,
    )
    expect(rows).toHaveLength(1)
    const name = rows[0]?.name ?? ''
    const left = name === 'emil' ? emil : fay
    for (const [what, form] of [
      ['disable', {}],
      ['role', { role: 'operator' }],
    ] as const) {
      const answer = await left.post(`/access/users/${name}/${what}`, form)
      expect(answer.statusCode).toBe(422)
      expect(answer.body).toContain(`${name} is the last administrator who can sign in`)
    }
    await console.pool.query('update dirsync.console_user set disabled_at = null')
  })
})

describe('an administrator of the identity provider', () => {
  const company = new ConsoleUnderTest(() => OIDC)
  const plant = (of: ConsoleUnderTest, name: string, noRoleSince: Date | null) =>
    of.pool.query(
      `insert into dirsync.console_user (name, source, role, issuer, subject, no_role_since)
       values ($1, 'oidc', 'admin', $2, $1, $3)`,
      [name, OIDC.OIDC_ISSUER, noRoleSince],
    )
  const disableSole = (of: ConsoleUnderTest) => of.ask('admin', 'POST', '/api/v1/access/users/sole/disable')

  test('is none where OIDC is not set: the page says so, offers a password, and the last one of the others stays', async () => {
    await console.pool.query(`update dirsync.console_user set disabled_at = now() where role = 'admin'`)
    await plantUser(console.pool, 'sole', 'admin')
    await plant(console, 'yan', null)
    expect((await console.ask('admin', 'GET', '/api/v1/access/users/yan')).json().barred).toBe('no_provider')
    const { body } = await console.ask('admin', 'GET', '/access/users/yan')
    expect(body).toContain('their identity provider is not set here')
    // Nobody else gives them one.
    for (const form of ['password', 'role']) expect(body).toContain(`action="/access/users/yan/${form}"`)
    const refused = await disableSole(console)
    expect([refused.statusCode, refused.body]).toEqual([422, expect.stringContaining('last administrator')])
    await console.pool.query(`delete from dirsync.console_user where name = 'yan'`)
    await console.pool.query('update dirsync.console_user set disabled_at = null')
  })

  test('counts while the provider gives a role, and not once it gave none', async () => {
    await plantUser(company.pool, 'sole', 'admin')
    await plant(company, 'yan', new Date())
    const { body } = await company.ask('admin', 'GET', '/access')
    expect(body).toContain('no role at the provider')
    expect((await disableSole(company)).statusCode).toBe(422)
    await company.pool.query(`update dirsync.console_user set no_role_since = null where name = 'yan'`)
    expect((await disableSole(company)).statusCode).toBe(200)
  })
})

test('a session is shown by the way it began, and so is its sign-in in the audit', async () => {
  const anna = await admin('anna')
  const { body } = await anna.post('/access/users', { name: 'lina', role: 'viewer' })
  const lina = new Window()
  expect((await lina.post('/sign-in/link', { key: keyOf(linkIn(body)) })).statusCode).toBe(303)
  const local = new Window()
  const key = await createSignInKey(console.pool)
  expect((await local.post('/sign-in/key', { key })).statusCode).toBe(303)
  const wayIn = (page: string) => /<table.*?(one-time (?:key|link))/s.exec(page)?.[1]
  for (const [name, window, way] of [
    ['lina', lina, 'one-time link'],
    ['local', local, 'one-time key'],
  ] as const) {
    const sessions = (await anna.get(`/access/sessions?user=${name}`)).body
    const commands = (await anna.get(`/audit?who=${name}&what=sign_in`)).body
    const own = (await window.get('/account')).body
    expect([name, wayIn(sessions), wayIn(commands), wayIn(own)]).toEqual([name, way, way, way])
  }
})

test('the sessions of one user are found however the name was typed, and said to be none of theirs where there are none', async () => {
  const anna = await admin('anna')
  await plantUser(console.pool, 'ida', 'viewer')
  const none = (await anna.get('/access/sessions?user=ida')).body
  expect(none).toContain('Not signed in anywhere.')
  expect(none).not.toContain('Nobody is signed in')
  await new Window().signIn('ida')
  for (const user of ['ida', 'Ida', '%20IDA']) {
    const { body } = await anna.get(`/access/sessions?user=${user}`)
    expect([user, body.match(/\/access\/sessions\/\w+\/end/g)?.length]).toEqual([user, 1])
    const { items } = (await console.ask('admin', 'GET', `/api/v1/access/sessions?user=${user}`)).json()
    expect(items).toMatchObject([{ user: 'ida' }])
  }
})

describe('one’s own account', () => {
  test('a new password takes the present one, and ends the other sessions but this', async () => {
    await plantUser(console.pool, 'gerd', 'viewer')
    const [laptop, phone] = [new Window(), new Window()]
    for (const window of [laptop, phone]) await window.signIn('gerd')
    const chosen = { password: 'a password of my own', again: 'a password of my own' }
    await laptop.get('/account')
    const wrong = await laptop.post('/account/password', { current: 'a wrong password', ...chosen })
    expect(wrong.statusCode).toBe(422)
    expect(wrong.body).toContain('This is not your present password')
    expect(wrong.body).toMatch(/name="current"[^>]*aria-invalid="true"/)
    expect((await phone.get('/account')).statusCode).toBe(200)
    expect((await laptop.post('/account/password', { current: PASSWORD, ...chosen })).statusCode).toBe(303)
    expect((await laptop.get('/account')).statusCode).toBe(200)
    expect((await phone.get('/account')).headers.location).toMatch(/^\/sign-in/)
    expect(await last()).toMatchObject({ name: 'users password', arguments: { user: 'gerd' } })
  })

  test.each([
    [
      'a new password',
      '/account/password',
      { current: PASSWORD, password: 'a password of my own', again: 'a password of my own' },
    ],
    ['the end of the other sessions', '/account/sessions/end', {}],
  ])('%s ends that its name may be bound anew, on the record', async (what, url, form) => {
    const name = what.split(' ').at(-1) as string
    await plantUser(console.pool, name, 'viewer')
    const window = new Window()
    await window.signIn(name)
    await rebindUser(console.pool, 'cli:root', name)
    await window.get('/account')
    expect((await window.post(url, form)).statusCode).toBe(303)
    expect((await last())?.arguments).toEqual({ user: name })
    const user = await console.ask('admin', 'GET', `/api/v1/access/users/${name}`)
    expect(user.json().rebinds_until).toBeNull()
  })

  test('whose session is ended while a password is chosen in it stays as it is', async () => {
    const anna = await admin('anna')
    const thief = new Window()
    const { body } = await anna.post('/access/users', { name: 'nora', role: 'admin' })
    await thief.post('/sign-in/link', { key: keyOf(linkIn(body)) })
    const client = await console.pool.connect()
    try {
      // As long as it takes to hash the password, or more.
      await client.query(`begin; select from dirsync.console_user where name = 'nora' for update`)
      const chosen = { password: 'a password of my own', again: 'a password of my own' }
      const answer = thief.post('/account/password', chosen)
      await expect
        .poll(async () => (await console.pool.query(WAITING_FOR_A_LOCK)).rowCount)
        .toBeGreaterThan(0)
      await console.pool.query(
        `update dirsync.console_session set revoked_at = now() where user_name = 'nora'`,
      )
      await client.query('commit')
      expect((await answer).statusCode).toBe(404)
    } finally {
      client.release()
    }
    const { rows } = await console.pool.query(
      `select source, password_hash from dirsync.console_user where name = 'nora'`,
    )
    expect(rows).toEqual([{ source: 'key', password_hash: null }])
  })

  test('guesses of the present password are recorded and slowed like those at the sign-in', async () => {
    // The user has signed in from here, so the name is not slowed, but the address is, after twenty.
    await console.pool.query(
      `insert into dirsync.sign_in_failure (kind, key, failures, last_at, blocked_until)
       values ('address', '127.0.0.1', 20, now(), now())
       on conflict (kind, key) do update
       set failures = excluded.failures, last_at = now(), blocked_until = excluded.blocked_until`,
    )
    const wrong = `current=a+wrong+password&password=${'x'.repeat(12)}`
    expect((await console.browse('viewer', 'POST', '/account/password', wrong)).statusCode).toBe(422)
    expect(await last()).toMatchObject({
      name: 'sign_in_failed',
      arguments: { user: 'somebody-viewer', why: 'own_password', address: '127.0.0.1' },
    })
    // Where passwords are checked slowly it may be over before the next one.
    const { rowCount } = await console.pool.query(
      `update dirsync.sign_in_failure set blocked_until = now() + interval '1 minute'
       where kind = 'address' and blocked_until > last_at`,
    )
    expect(rowCount).toBe(1)
    const form = `current=${encodeURIComponent(PASSWORD)}&password=${'x'.repeat(12)}`
    const answer = await console.browse('viewer', 'POST', '/account/password', form)
    expect(answer.statusCode).toBe(429)
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0)
    await console.pool.query('delete from dirsync.sign_in_failure')
  })

  test('a session is ended by its user, by an administrator, and by no other user', async () => {
    const anna = await admin('anna')
    for (const name of ['ida', 'jon']) await plantUser(console.pool, name, 'viewer')
    const [ida, old, jon] = [new Window(), new Window(), new Window()]
    for (const window of [old, ida]) await window.signIn('ida')
    await jon.signIn('jon')
    const { session, sessions } = (await ida.get('/api/v1/account')).json()
    const other = sessions.find(({ id }: { id: string }) => id !== session)
    expect((await jon.post(`/account/sessions/${other.id}/end`)).statusCode).toBe(404)
    expect((await jon.post(`/access/sessions/${other.id}/end`)).statusCode).toBe(403)
    expect((await old.get('/account')).statusCode).toBe(200)
    const foreign = await jon.post(`/api/v1/account/sessions/${other.id}/end`)
    expect(foreign.json()).toMatchObject({ status: 404, detail: 'there is no such session' })
    expect((await ida.post(`/account/sessions/${other.id}/end`)).statusCode).toBe(303)
    expect((await old.get('/account')).statusCode).toBe(303)
    expect(await last()).toMatchObject({ name: 'sessions end', arguments: { user: 'ida' } })
    // Another tab, or its user, may have been quicker.
    expect((await ida.post(`/account/sessions/${other.id}/end`)).statusCode).toBe(303)
    expect((await anna.post(`/access/sessions/${session}/end`)).statusCode).toBe(303)
    expect((await ida.get('/account')).statusCode).toBe(303)
    const again = await anna.post(`/api/v1/access/sessions/${session}/end`)
    expect(again.json()).toEqual({ user: 'ida', ended: false })
  })

  test('a token has none', async () => {
    const { statusCode, body } = await console.ask('viewer', 'GET', '/api/v1/account')
    expect([statusCode, body]).toEqual([422, expect.stringContaining('a token has no account')])
  })
})

test.each([
  ['999999d', 'at most 99999d'],
  ['2020-01-31', 'should be in the future'],
  ['soon', 'should be a time such as'],
])('a token cannot end %s', async (expires, why) => {
  const wanted = { name: 'endless', role: 'viewer', expires }
  const { statusCode, body } = await console.ask('admin', 'POST', '/api/v1/access/tokens', wanted)
  expect([statusCode, JSON.parse(body).errors]).toEqual([
    422,
    [expect.objectContaining({ pointer: '#/expires', detail: expect.stringContaining(why) })],
  ])
})

describe('a token with scopes', () => {
  const make = async (role: string, scopes: Scope[]) => {
    const name = `limited-${scopes.join('-').replaceAll(':', '.')}-${role}`
    const { statusCode, body } = await console.ask('admin', 'POST', '/api/v1/access/tokens', {
      name,
      role,
      expires: '1d',
      scopes,
    })
    expect(statusCode, body).toBe(201)
    const { token } = JSON.parse(body) as { token: string }
    return async (method: 'GET' | 'POST', url: string, payload = {}) => {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
      const answer = await console.app.inject({
        method,
        url,
        headers,
        ...(method === 'POST' ? { payload } : {}),
      })
      return answer.statusCode
    }
  }

  test('may do within its role what they name, pages and downloads included, and says so', async () => {
    const ask = await make('operator', ['cases', 'runs:read'])
    expect(await ask('GET', '/api/v1/cases')).toBe(200)
    expect(await ask('GET', '/cases')).toBe(200)
    expect(await ask('POST', '/api/v1/cases/1/retry')).toBe(404)
    expect(await ask('GET', '/api/v1/runs')).toBe(200)
    expect(await ask('POST', '/api/v1/runs', { kind: 'changes' })).toBe(403)
    for (const url of [
      '/api/v1/employees',
      '/api/v1/overview',
      '/',
      '/events',
      '/api/v1/access',
      '/metrics?',
    ])
      expect([url, await ask('GET', url)]).toEqual([url, url === '/metrics?' ? 200 : 403])
    expect(await ask('GET', '/api/v1/me')).toBe(200)
    expect(await ask('GET', '/api/v1/openapi.json')).toBe(200)
    const reader = await make('viewer', ['cases'])
    expect(await reader('POST', '/api/v1/cases/1/retry')).toBe(403)
  })

  test('that only reads can read everything that its role can, and change nothing', async () => {
    const ask = await make('admin', ['read'])
    const changed: string[] = []
    for (const { method, path } of endpoints(services())) {
      const url = `/api/v1${path.replaceAll(/:\w+/g, '1')}`
      const status = await ask(method, url)
      if (method === 'GET') expect([url, status]).not.toEqual([url, 403])
      else if (status !== 403) changed.push(url)
    }
    expect(changed).toEqual([])
  })

  test('cannot make itself another without limits', async () => {
    for (const scope of SCOPES.filter(scope => scope !== 'read'))
      expect(permits([scope], 'access', false), scope).toBe(false)
    expect(scopesFor('access', false)).toEqual([])
  })

  test('scopes are the screens, in the order of the navigation', () => {
    const screens = SCREENS.map(({ name }) => name).filter(name => name !== 'api')
    expect([...new Set(SCOPES.map(scope => scope.replace(/:read$/, '')))]).toEqual(['read', ...screens])
  })

  test('every screen has a scope', () => {
    for (const { method, path, tag } of endpoints(services()))
      if (tag !== 'api' && tag !== 'account' && !(tag === 'access' && method === 'POST'))
        expect(scopesFor(tag, method === 'GET'), path).toContainEqual(expect.stringMatching(tag))
  })

  /** Only their descriptions are read. */
  const services = () => ({ config: {}, pool: console.pool }) as unknown as Services
})

describe('the identity provider', () => {
  const company = new ConsoleUnderTest(() => OIDC)
  const provider = async (of: ConsoleUnderTest) =>
    (await of.ask('admin', 'GET', '/api/v1/access/provider')).json()

  test('is shown with the role of each value, and the line that sets it', async () => {
    expect(await provider(company)).toEqual({
      issuer: 'https://login.example',
      claim: 'groups',
      roles: [
        { value: 'dirsync-admins', role: 'admin' },
        { value: 'everybody', role: 'viewer' },
      ],
      lines: ['OIDC_ROLES=groups:dirsync-admins=admin,everybody=viewer'],
    })
    const { body } = await company.ask('admin', 'GET', '/access/provider')
    expect(body).toContain('dirsync-admins')
    expect(body).not.toContain('a-secret')
  })

  test('that is not set has examples of its settings', async () => {
    const { issuer, lines } = await provider(console)
    expect(issuer).toBeNull()
    expect(lines.map((line: string) => line.split('=')[0])).toEqual([
      'CONSOLE_URL',
      'OIDC_ISSUER',
      'OIDC_CLIENT_ID',
      'OIDC_CLIENT_SECRET',
      'OIDC_ROLES',
    ])
  })
})

test('a database that was restored lets in nobody by a session or a link of before, and says what may be older', async () => {
  await console.pool.query(
    `insert into dirsync.deployment (base_url, app_id, enterprise_code) values ('embedded', 'a', '')
     on conflict do nothing`,
  )
  const anna = await admin('anna')
  await plantUser(console.pool, 'omar', 'viewer')
  const link = linkIn((await anna.post('/access/users/omar/link')).body)
  const key = await createLinkKey(console.pool, 'test')
  const notice = 'users, passwords, roles and tokens may be older than they were'
  expect((await anna.get('/access')).body).not.toContain(notice)

  await console.pool.query('select dirsync.doubt_memory()')
  expect((await anna.get('/access')).headers.location).toMatch(/^\/sign-in/)
  expect((await new Window().get(link)).statusCode).toBe(403)
  expect((await new Window().post('/sign-in/key', { key })).statusCode).toBe(403)
  await anna.signIn('anna')
  for (const page of ['/access', '/access/tokens']) {
    const { body } = await anna.get(page)
    expect(body).toContain(notice)
    expect(body).toContain(
      'Where nothing was lost, as in a planned switch to a replica or a move, nothing has to be done',
    )
    expect((await anna.get(`/api/v1${page}`)).json().restored_at).toEqual(expect.any(String))
  }
  await console.pool.query('update dirsync.deployment set restored_at = null')
})

describe('the first administrator', () => {
  const empty = duringFile(async () => {
    const opened = new AsyncDisposableStack()
    const database = opened.use(await createTestDatabase({ migrated: true }))
    const app = opened.use(await openApp(database.url))
    return { app: app.app, pool: app.pool, [Symbol.asyncDispose]: () => opened.disposeAsync() }
  })
  const me = (key: string, name: string) => ({ key, name, password: PASSWORD, again: PASSWORD })

  test('takes a key that only the machine can show, an acceptable password, and this site', async () => {
    const key = await createSignInKey(empty.pool)
    const stranger = new Window(empty.app)
    expect((await stranger.get('/sign-in')).body).toContain('One-time key')
    expect((await stranger.get(`/sign-in/key?key=${key}`)).body).toContain('Make the first administrator')
    expect((await stranger.post('/sign-in/first', me('A'.repeat(43), 'eve'))).statusCode).toBe(403)
    const evil = { 'sec-fetch-site': 'cross-site' }
    expect((await stranger.post('/sign-in/first', me(key, 'eve'), evil)).statusCode).toBe(403)
    const elsewhere = { host: 'attacker.example' }
    expect((await stranger.post('/sign-in/first', me(key, 'eve'), elsewhere)).statusCode).toBe(421)
    const short = await stranger.post('/sign-in/first', { ...me(key, 'anna'), password: 'x', again: 'x' })
    expect(short.statusCode).toBe(422)
    expect(short.body).toContain('12 to 256 characters')
    const { rowCount } = await empty.pool.query('select from dirsync.console_user')
    expect(rowCount).toBe(0)
  })

  test('is made on a read-only console, too, which offers it', async () => {
    await using database = await createTestDatabase({ migrated: true })
    await using readOnly = await openApp(database.url, { readOnly: true })
    const key = await createSignInKey(readOnly.pool)
    const window = new Window(readOnly.app)
    expect((await window.get(`/sign-in/key?key=${key}`)).body).toContain('Make the first administrator')
    expect((await window.post('/sign-in/first', me(key, 'anna'))).statusCode).toBe(303)
    const { rows } = await readOnly.pool.query('select name, role from dirsync.console_user')
    expect(rows).toEqual([{ name: 'anna', role: 'admin' }])
  })

  test('is one, however many try at the same moment with keys of their own', async () => {
    const linked = await createLinkKey(empty.pool, 'test')
    const ofStart = await createSignInKey(empty.pool)
    const keys = [linked, ofStart]
    const windows = [0, 1, 0, 1].map(i => ({ key: keys[i] ?? '', window: new Window(empty.app) }))
    const pages = await Promise.all(
      windows.map(({ key, window }, i) => window.post('/sign-in/first', me(key, `first${i}`))),
    )
    expect(pages.map(({ statusCode }) => statusCode).sort()).toEqual([303, 403, 403, 403])
    const { rows } = await empty.pool.query<{ name: string; role: string }>(
      'select name, role from dirsync.console_user',
    )
    expect(rows).toEqual([{ name: expect.stringMatching(/^first\d$/), role: 'admin' }])
    const winner = windows[pages.findIndex(({ statusCode }) => statusCode === 303)]
    expect((await winner?.window.get('/access'))?.statusCode).toBe(200)
    // Whoever finds the key of the start cannot sign in as local with it.
    expect((await new Window(empty.app).post('/sign-in/key', { key: ofStart })).statusCode).toBe(403)
    const late = await new Window(empty.app).post('/sign-in/first', me(keys[1] ?? '', 'late'))
    expect(late.statusCode).toBe(403)
    expect(late.body).toContain('Somebody else was first')
    expect((await new Window(empty.app).get(`/sign-in/key?key=${keys[1]}`)).body).not.toContain('first')
  })
})

test.each([
  ['Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0', 'Firefox', 'Linux'],
  [
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36 Edg/141.0.0.0',
    'Edge',
    'Windows',
  ],
  [
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1',
    'Safari',
    'iPhone',
  ],
  ['curl/8.5.0', 'curl', null],
  ['something else', null, null],
])('%s is known by name', (userAgent, browser, system) => {
  expect(browserName(userAgent)).toEqual({ browser, system })
})
