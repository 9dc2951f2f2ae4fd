// @module-tag chromium

import { createHash } from 'node:crypto'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { AccessRole } from '../../../src/console/auth/viewer.ts'
import { dirsync } from '../../cli/dirsync.ts'
import { type Company, createCompany } from '../../helpers/company.ts'
import { freePort } from '../../helpers/free-port.ts'
import { type DirsyncProcess, spawnScript } from '../../helpers/process.ts'
import {
  expectAccessible,
  expectFitsPhone,
  LANGUAGES,
  openBrowser,
  PASSWORD,
  PHONE,
  screenshot,
  startConsoleService,
  userOf,
  type Visit,
  visit,
} from './browser.ts'

/*
 * Signing in and out as people do it, and the pages for those who cannot go on: the real service, a real identity
 * provider.
 */

const FIXTURE = join(import.meta.dirname, '../auth/fixtures/identity-provider.ts')

/** On the overview of this company. */
const EVERYBODY = '5 of 5 employees'

let browser: Browser
let company: Company
let provider: DirsyncProcess
let providerUrl: string
let service: Awaited<ReturnType<typeof startConsoleService>>
/** A case that another person has changed meanwhile; its old forms are outdated. */
let caseId: number

beforeAll(async () => {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  provider = spawnScript(FIXTURE, ['0', url])
  const [, issuer = ''] = await provider.waitForLine(/^listens on (.+)$/)
  providerUrl = issuer
  const settings = {
    CONSOLE_URL: url,
    OIDC_ISSUER: issuer,
    OIDC_CLIENT_ID: 'dirsync',
    OIDC_CLIENT_SECRET: 'a-secret-of-the-client',
    OIDC_ROLES: 'groups:dirsync-admins=admin,everybody=viewer',
  }
  ;[browser, company] = await Promise.all([
    openBrowser({ keepsPages: true }),
    createCompany({ employees: 5, settings }),
  ])
  service = await startConsoleService(company.settings, undefined, { port })
  await company.run('full')
  const { rows } = await company.db.query(
    `insert into dirsync.dead_letter (entity, entity_key, operation, category, message, remedy)
     values ('employee', 'e0001', 'update-employee', 'missing_department', '{"key": "said.words", "values": {"words": "No such department."}}', '{"key": "said.words", "values": {"words": "Create it."}}')
     returning id::int`,
  )
  caseId = rows[0].id
})
afterAll(async () => {
  await browser?.close()
  await service?.stop()
  await company?.[Symbol.asyncDispose]()
  await provider?.kill()
})

async function accounts(known: Record<string, { preferred_username: string; groups: string[] }>) {
  await fetch(`${providerUrl}/_accounts`, { method: 'PUT', body: JSON.stringify(known) })
}
const ANNA = { preferred_username: 'anna', groups: ['dirsync-admins'] }
const CLEO = { preferred_username: 'cleo', groups: ['lunch'] }
beforeEach(() => accounts({ anna: ANNA, cleo: CLEO }))

/** A window of a person who has not signed in here, but is signed in at the provider as the named account. */
async function stranger(options: Visit & { account?: string } = {}): Promise<Page> {
  const page = await visit(browser, service.url, { ...options, role: null })
  if (options.account)
    await page.context().addCookies([{ name: 'account', value: options.account, url: providerUrl }])
  return page
}

async function fillIn(page: Page, password = PASSWORD, name = userOf('viewer')): Promise<void> {
  await page.locator('#name').fill(name)
  await page.locator('#password').fill(password)
  await page.locator('form.sign-in button').click()
}

/** A form that is not on the page, sent by a person who knows the routes; returns the status. */
async function sendForm(page: Page, action: string, fields: Record<string, string>): Promise<number> {
  const [response] = await Promise.all([
    page.waitForEvent('response', answer => answer.request().method() === 'POST'),
    page.waitForEvent('load'),
    page.evaluate(`{
      const form = Object.assign(document.createElement('form'), { method: 'post', action: ${JSON.stringify(action)} })
      for (const [name, value] of Object.entries(${JSON.stringify(fields)}))
        form.append(Object.assign(document.createElement('input'), { name, value }))
      document.body.append(form)
      form.submit()
    }`),
  ])
  return response.status()
}

async function goTo(page: Page, path: string): Promise<number> {
  return (await page.goto(path))?.status() ?? 0
}

/** Lets the session of this window run out, as if its twelve hours were over. */
async function expire(page: Page): Promise<void> {
  const cookie = (await page.context().cookies(service.url)).find(({ name }) => name === 'dirsync')
  const { rowCount } = await company.db.query(
    `update dirsync.console_session set created_at = now() - interval '1 day', expires_at = now()
     where id_hash = $1 and expires_at > now()`,
    [
      createHash('sha256')
        .update(cookie?.value ?? '')
        .digest(),
    ],
  )
  expect(rowCount).toBe(1)
}

/**
 * Keeps the console from finding out who asks, which is the first thing that it wants of its database. Its questions are
 * cancelled at once; their time-out would do the same after three seconds.
 */
async function withDatabaseAway<T>(work: () => Promise<T>): Promise<T> {
  const client = await company.db.connect()
  let cancelling: Promise<unknown> = Promise.resolve()
  const timer = setInterval(() => {
    cancelling = company.db.query(
      `select pg_cancel_backend(l.pid) from pg_locks l join pg_database d on d.oid = l.database
       where d.datname = current_database() and relation = 'dirsync.console_session'::regclass and not granted`,
    )
  }, 100)
  try {
    await client.query('begin; lock dirsync.console_session')
    return await work()
  } finally {
    clearInterval(timer)
    await cancelling
    await client.query('rollback')
    client.release()
  }
}

describe('with a password', () => {
  const PRIVATE = /e0001|employees|test-viewer/
  /** As the button does; a page that is shown as it was left has no load event to wait for. */
  const back = (page: Page) => page.evaluate('history.back()')

  test('a wrong one and a wrong name get the same answer; the right one leads to the requested page', async () => {
    const page = await stranger()
    await page.goto('/cases?state=ignored')
    await page.waitForURL('**/sign-in?to=*')
    await screenshot(page, 'sign-in')
    await fillIn(page, 'not the right one')
    const error = page.getByRole('alert')
    expect(await error.textContent()).toBe('The user name or the password is wrong.')
    expect(await page.locator('#name').inputValue()).toBe('test-viewer')
    expect(await page.locator('#password').inputValue()).toBe('')
    await fillIn(page, PASSWORD, 'nobody')
    expect(await error.textContent()).toBe('The user name or the password is wrong.')
    await screenshot(page, 'sign-in-wrong')
    await fillIn(page)
    await page.waitForURL(`${service.url}/cases?state=ignored`)
    await page.getByRole('heading', { level: 1 }).waitFor()
  })

  test('sign-out ends it: Back shows nothing of what was there', async () => {
    const page = await stranger()
    await page.goto('/sign-in?to=%2Femployees')
    await fillIn(page)
    await page.getByText('e0001').first().waitFor()
    await page.goto('/overview')
    await page.locator('details.menu summary').click()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByText('You are signed out.').waitFor()
    await back(page)
    await page.waitForURL('**/sign-in?to=%2Foverview')
    expect(await page.locator('body').textContent()).not.toMatch(PRIVATE)
    await back(page)
    await page.waitForURL('**/sign-in?to=%2Femployees')
    expect(await page.locator('body').textContent()).not.toMatch(PRIVATE)
  })

  test('works on a phone without JavaScript', async () => {
    const page = await stranger({ ...PHONE, javaScript: false })
    await page.goto('/runs')
    await fillIn(page)
    await page.waitForURL(`${service.url}/runs`)
    await page.locator('details.menu summary').click()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByText('You are signed out.').waitFor()
  })
})

test('a one-time key signs in once; the second visitor is told how to get another', async () => {
  const { url } = (await dirsync(['users', 'link', '--json'], company.settings)).json() as { url: string }
  const [owner, second] = [await stranger(), await stranger()]
  await owner.goto(url)
  await second.goto(url)
  await owner.getByRole('button', { name: 'Sign in' }).click()
  await owner.getByText(EVERYBODY).waitFor()
  await owner.locator('details.menu summary', { hasText: 'local' }).waitFor()
  await second.getByRole('button', { name: 'Sign in' }).click()
  await second.getByRole('heading', { name: 'This key is no longer valid' }).waitFor()
  await second.getByText('dirsync users link').waitFor()
  await screenshot(second, 'key-used')
  await second.getByRole('link', { name: 'Back to the sign-in' }).click()
  await second.getByLabel('Password').waitFor()
})

describe('at the identity provider', () => {
  const viaProvider = (page: Page) => page.getByRole('link', { name: 'Sign in with your company account' })

  test('a person with a role lands on the page that they wanted, with that role', async () => {
    const page = await stranger({ account: 'anna' })
    await page.goto('/audit')
    await viaProvider(page).click()
    await page.waitForURL(`${service.url}/audit`)
    await page.locator('details.menu summary', { hasText: 'anna' }).click()
    await page.getByText('administrator').first().waitFor()
  })

  test('a person without a role is told that they need one of the groups', async () => {
    const page = await stranger({ account: 'cleo' })
    await page.goto('/sign-in')
    await viaProvider(page).click()
    await page.getByRole('heading', { name: 'You have no role in this console' }).waitFor()
    await screenshot(page, 'no-role')
    await page.goto('/overview')
    await page.waitForURL('**/sign-in?to=*')
  })

  test('a role that was taken away is gone at the next sign-in, and in every window', async () => {
    const [laptop, phone] = [await stranger({ account: 'anna' }), await stranger({ account: 'anna' })]
    for (const page of [laptop, phone]) {
      await page.goto('/sign-in/oidc?to=/settings')
      await page.waitForURL(`${service.url}/settings`)
    }
    await accounts({ anna: { ...ANNA, groups: ['everybody'] } })
    await phone.goto('/sign-in/oidc')
    await phone.getByText(EVERYBODY).waitFor()
    expect(await goTo(laptop, '/settings')).toBe(403)
    await accounts({ anna: { ...ANNA, groups: ['lunch'] } })
    expect(await goTo(phone, '/sign-in/oidc')).toBe(403)
    await phone.getByRole('heading', { name: 'You have no role in this console' }).waitFor()
    await laptop.goto('/overview')
    await laptop.waitForURL('**/sign-in?to=*')
  })

  test('sign-out leads there too: getting in again takes a new sign-in', async () => {
    const page = await stranger({ account: 'anna' })
    await page.goto('/sign-in/oidc')
    await page.getByText(EVERYBODY).waitFor()
    await page.locator('details.menu summary').click()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.waitForURL(`${providerUrl}/**`)
    await page.getByRole('button', { name: 'Yes' }).click()
    await page.waitForURL(`${service.url}/sign-in`)
    await page.context().clearCookies({ name: 'account' })
    await viaProvider(page).click()
    await page.getByRole('heading', { name: 'Signing in at the identity provider failed' }).waitFor()
  })
})

test('a viewer who makes a form by hand is told which role it takes, and nothing happens', async () => {
  const page = await visit(browser, service.url, { role: 'viewer' })
  await page.goto('/overview')
  expect(await sendForm(page, '/pause', { reason: 'because I can' })).toBe(403)
  await page.getByRole('heading', { name: 'Your role does not allow this' }).waitFor()
  await page.getByText('You need the role operator.').waitFor()
  const { rows } = await company.db.query(`select from dirsync.command where name = 'pause'`)
  expect(rows).toEqual([])
  await page.getByRole('link', { name: 'Back to where you were' }).click()
  await page.waitForURL(`${service.url}/overview`)
})

describe('a session that ends in the middle', () => {
  const enter = async (path: string) => {
    const page = await stranger()
    await page.goto(`/sign-in?to=${encodeURIComponent(path)}`)
    await fillIn(page, PASSWORD, userOf('operator'))
    await page.waitForURL(service.url + path)
    return page
  }

  test('leads to the sign-in at the next click, and back to where it led', async () => {
    const page = await enter('/employees')
    await expire(page)
    await page.getByRole('link', { name: 'Runs' }).first().click()
    await page.waitForURL('**/sign-in?to=%2Fruns')
    await fillIn(page)
    await page.waitForURL(`${service.url}/runs`)
  })

  test('carries nothing out that was sent, and leads back to the page of the form', async () => {
    const page = await enter('/platform')
    await expire(page)
    await page.getByText('Lower the rate', { exact: true }).first().click()
    await page.getByLabel('Calls per second').fill('3')
    await page.getByLabel('Reason').fill('too late')
    await page.getByRole('button', { name: 'Lower the rate' }).click()
    await page.waitForURL('**/sign-in?to=%2Fplatform')
    await fillIn(page)
    await page.waitForURL(`${service.url}/platform`)
    const { rows } = await company.db.query('select from dirsync.rate_cap')
    expect(rows).toEqual([])
  })

  test('is noticed by a page that follows what happens', async () => {
    const page = await enter('/overview')
    await page.getByText(EVERYBODY).waitFor()
    await expire(page)
    await company.db.query(`select dirsync.pause('somebody at psql')`)
    await page.getByText('You are signed out, so').waitFor()
    await page.getByText(EVERYBODY).waitFor()
    await page.reload()
    await page.waitForURL('**/sign-in?to=%2Foverview')
    await fillIn(page)
    await page.getByText('somebody at psql').waitFor()
    await company.db.query('select dirsync.resume()')
    await page.getByText(EVERYBODY).waitFor()
  })
})

test('a page that follows what happens keeps its figures while the database is away', async () => {
  const page = await visit(browser, service.url)
  await page.goto('/overview')
  await page.getByText(EVERYBODY).waitFor()
  await withDatabaseAway(async () => {
    const refused = page.waitForResponse(answer => answer.status() === 503)
    await company.db.query(`select dirsync.pause('while it was away')`)
    await (await refused).finished()
    await page.evaluate('new Promise(requestAnimationFrame)')
    await page.getByText(EVERYBODY).waitFor()
  })
  await company.db.query('select dirsync.resume()')
  await company.db.query(`select dirsync.pause('it is back')`)
  await page.getByText('it is back').waitFor()
  await company.db.query('select dirsync.resume()')
})

/** Every page without the frame: who sees it, its status, and how one gets there. */
const PAGES: {
  name: string
  role: AccessRole | null
  account?: string
  status: number
  open(page: Page): Promise<number>
}[] = [
  { name: 'sign-in', role: null, status: 200, open: page => goTo(page, '/sign-in') },
  { name: 'signed-out', role: null, status: 200, open: page => goTo(page, '/sign-in?signed-out') },
  {
    name: 'wrong-password',
    role: null,
    status: 403,
    async open(page) {
      await page.goto('/sign-in')
      return sendForm(page, '/sign-in', { name: 'nobody', password: 'nothing' })
    },
  },
  { name: 'key', role: null, status: 200, open: page => goTo(page, '/sign-in/key?key=abc') },
  {
    name: 'key-used',
    role: null,
    status: 403,
    async open(page) {
      await page.goto('/sign-in/key?key=abc')
      return sendForm(page, '/sign-in/key', { key: 'abc' })
    },
  },
  {
    name: 'oidc-no-role',
    role: null,
    account: 'cleo',
    status: 403,
    open: page => goTo(page, '/sign-in/oidc'),
  },
  { name: 'oidc-refused', role: null, status: 403, open: page => goTo(page, '/sign-in/oidc') },
  { name: 'oidc-expired', role: null, status: 400, open: page => goTo(page, '/sign-in/oidc/callback') },
  { name: '403', role: 'viewer', status: 403, open: page => goTo(page, '/audit') },
  { name: '404', role: 'viewer', status: 404, open: page => goTo(page, '/no/such/page') },
  {
    name: '409',
    role: 'reviewer',
    status: 409,
    async open(page) {
      await page.goto(`/cases/${caseId}`)
      return sendForm(page, `/cases/${caseId}/ignore`, { reason: 'fine', version: '99' })
    },
  },
  { name: '422', role: 'viewer', status: 422, open: page => goTo(page, '/employees?cursor=nonsense') },
  {
    name: '503',
    role: 'viewer',
    status: 503,
    open: page => withDatabaseAway(() => goTo(page, '/overview')),
  },
]

describe.each(LANGUAGES)('in %s', language => {
  test('the pages without the frame are accessible, in that language, and lead on', async () => {
    for await (const { page, name } of everyPage({ language })) {
      expect(await page.locator('html').getAttribute('lang')).toBe(language.replace('-US', ''))
      expect(/[\u4e00-\u9fff]/.test((await page.locator('h1').textContent()) ?? ''), name).toBe(
        language === 'zh-CN',
      )
      const ways = page.locator('main').locator('a[href^="/"], form.sign-in button')
      expect(await ways.count(), name).toBeGreaterThan(0)
      await expectAccessible(page, `bare-${name}`)
    }
  })
})

test('the pages without the frame fit a phone, without JavaScript', async () => {
  for await (const { page, name } of everyPage({ ...PHONE, javaScript: false })) {
    await page.locator('h1').waitFor()
    await expectFitsPhone(page)
    await screenshot(page, `bare-${name}-phone`)
  }
})

test('chosen language and theme apply to every page without the frame', async () => {
  const chosen = { language: 'zh-CN', theme: 'dark' }
  const page = await stranger({ account: 'cleo' })
  await page.goto('/sign-in')
  await page.locator('.bare-menu summary').click()
  await page.locator('select[name=language]').selectOption(chosen.language)
  await page.locator('select[name=theme]').selectOption(chosen.theme)
  await page.locator('.preferences button').click()
  await page.locator('html[lang=zh-CN]').waitFor()
  for (const { role, open } of PAGES)
    if (role === null) {
      await open(page)
      expect([
        await page.locator('html').getAttribute('lang'),
        await page.locator('html').getAttribute('data-theme'),
      ]).toEqual(Object.values(chosen))
    }
  await page.goto('/sign-in')
  await fillIn(page)
  await page.getByRole('heading', { level: 1 }).waitFor()
  await page.goto('/no/such/page')
  expect(await page.locator('html').getAttribute('data-theme')).toBe('dark')
})

/** Opens one after the other, those of the same person in one window. */
async function* everyPage(options: Visit): AsyncGenerator<{ page: Page; name: string }> {
  const windows = new Map<string, Page>()
  for (const { name, role, account, status, open } of PAGES) {
    const id = account ?? role ?? ''
    const page =
      windows.get(id) ??
      (role === null
        ? await stranger({ ...options, ...(account ? { account } : {}) })
        : await visit(browser, service.url, { ...options, role }))
    windows.set(id, page)
    expect(await open(page), name).toBe(status)
    yield { page, name }
  }
  for (const page of windows.values()) await page.context().close()
}
