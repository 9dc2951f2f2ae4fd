// @module-tag chromium

import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import { dirsync } from '../../cli/dirsync.ts'
import { createDeployment } from '../../helpers/deployment.ts'
import { duringFile } from '../../helpers/during.ts'
import {
  consoleInBrowser,
  expectAccessible,
  expectFitsPhone,
  LANGUAGES,
  PASSWORD,
  PHONE,
  screenshot,
  type Visit,
} from './browser.ts'

/* Who may use the console: the first administrator, colleagues, their accounts, and tokens. One story, told in its order. */

const deployment = duringFile(createDeployment)
const { newPage, service } = consoleInBrowser(deployment, { roles: ['console'] })

beforeAll(() => deployment.own.pool.query('delete from dirsync.console_user'))

const stranger = (options: Visit = {}) => newPage({ ...options, role: null })

async function signIn(page: Page, name: string, password = PASSWORD): Promise<void> {
  await page.goto('/sign-in')
  await page.locator('#name').fill(name)
  await page.locator('#password').fill(password)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.waitForURL('**/overview')
}

async function window(name: string, options: Visit = {}): Promise<Page> {
  const page = await stranger(options)
  await signIn(page, name)
  return page
}

const unfold = (page: Page, name: string) => page.locator('summary', { hasText: name }).first().click()
const copied = async (page: Page) => (await page.locator('.copyable pre').textContent()) ?? ''

test('without users, a key from the machine makes the first administrator, who is signed in', async () => {
  const page = await stranger()
  await page.goto('/')
  await page.getByText('There are no users yet').waitFor()
  await screenshot(page, 'access-nobody')
  // A person pastes the whole address that the shell has printed.
  const { url } = (await dirsync(['users', 'link', '--json'], deployment.settings)).json() as { url: string }
  expect(url.startsWith(`${service.url}/sign-in/key?key=`)).toBe(true)
  await page.getByLabel('One-time key').fill(url)
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByRole('heading', { name: 'Make the first administrator' }).waitFor()
  await expectAccessible(page, 'access-first')
  await page.getByLabel('User name').fill('anna')
  await page.getByLabel('Password', { exact: true }).fill('too short')
  await page.getByLabel('The same once more').fill('too short')
  await page.getByRole('button', { name: 'Make me the administrator' }).click()
  await page.getByRole('alert').getByText('12 to 256 characters').waitFor()
  expect(await page.getByLabel('User name').inputValue()).toBe('anna')
  await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
  await page.getByLabel('The same once more').fill(PASSWORD)
  await page.getByRole('button', { name: 'Make me the administrator' }).click()
  await page.waitForURL('**/overview')
  await page.locator('details.menu summary', { hasText: 'anna' }).waitFor()
})

test('the first steps say what is left, and show what the doctor has found', async () => {
  const admin = await window('anna')
  const step = (name: string) => admin.locator('#setup tr', { hasText: name })
  await step('HR answers').getByText('next').waitFor()
  await step('First plan').getByText('First: HR answers.').waitFor()
  const lines = admin.locator('#setup > .copyable pre')
  expect(await lines.allTextContents()).toEqual([
    expect.stringMatching(/^ALERT_CHANNEL_OPS=https:/),
    expect.stringMatching(/^CONSOLE_URL=https:/),
  ])
  await step('HR answers').getByRole('link', { name: 'Check now' }).click()
  await admin.getByRole('button', { name: 'Run all checks' }).click()
  await admin.getByText('Requested by anna').waitFor()
  await admin.goto('/overview')
  for (const name of ['HR answers', 'The mapping fits HR', 'The platform accepts dirsync'])
    await step(name).getByText('done').waitFor()
  await step('First plan').getByRole('link', { name: 'Start a run' }).waitFor()
  await step('A colleague can sign in').getByRole('link', { name: 'Add a user' }).click()
  await admin.waitForURL('**/access#new-user')
  await admin.locator('input:focus').and(admin.getByLabel('User name')).waitFor()
  // Whoever makes a user knows before where the link can be opened.
  await admin.getByText(`Links work only at ${service.url}. Without CONSOLE_URL`).waitFor()
  const plain = await window('anna', { javaScript: false })
  await plain.goto('/access#new-user')
  await plain.getByLabel('User name').waitFor()
  await admin.goto('/overview')
  await expectAccessible(admin, 'setup')
  await admin.setViewportSize(PHONE)
  await admin.reload()
  await expectFitsPhone(admin)
  await screenshot(admin, 'setup-phone')
})

test('a colleague is let in by a link, and chooses a password', async () => {
  const admin = await window('anna')
  await admin.goto('/access')
  await unfold(admin, 'Add a user')
  await admin.getByLabel('User name').fill('ben')
  await admin.getByLabel('Role', { exact: true }).selectOption('reviewer')
  await screenshot(admin, 'access-add')
  await admin.getByRole('button', { name: 'Add a user' }).click()
  await admin.getByText('This link is shown once').waitFor()
  await screenshot(admin, 'access-link')
  const link = await copied(admin)

  const ben = await stranger({ ...PHONE, javaScript: false })
  await ben.goto(link)
  await ben.getByText('as ben (reviewer)').waitFor()
  await ben.getByRole('button', { name: 'Sign in' }).click()
  await ben.getByText('You have no password yet').waitFor()
  await expectFitsPhone(ben)
  await screenshot(ben, 'account-choose-phone')
  await ben.getByLabel('New password').fill(PASSWORD)
  await ben.getByLabel('The same once more').fill('something else')
  await ben.getByRole('button', { name: 'Choose a password' }).click()
  await ben.getByText('two passwords differ').first().waitFor()
  await ben.getByLabel('New password').fill(PASSWORD)
  await ben.getByLabel('The same once more').fill(PASSWORD)
  await ben.getByRole('button', { name: 'Choose a password' }).click()
  await ben.getByText('You have another password').waitFor()
  await window('ben')
  expect(await (await ben.goto('/access'))?.status()).toBe(403)
})

test('one changes one’s password, and ends a session elsewhere', async () => {
  const [phone, laptop] = [await window('ben'), await window('ben')]
  await laptop.locator('details.menu summary', { hasText: 'ben' }).click()
  await laptop.getByRole('link', { name: 'Your account' }).click()
  await laptop.getByText('Chrome on Linux').first().waitFor()
  await screenshot(laptop, 'account')
  await laptop.getByRole('button', { name: 'End', exact: true }).first().click()
  await laptop.getByText('The session ended.').waitFor()
  await phone.goto('/overview')
  await phone.waitForURL('**/sign-in?to=*')
  await unfold(laptop, 'Change the password')
  await laptop.getByLabel('Present password').fill('a wrong password')
  await laptop.getByLabel('New password').fill(`${PASSWORD} 2`)
  await laptop.getByLabel('The same once more').fill(`${PASSWORD} 2`)
  await laptop.getByRole('button', { name: 'Change the password' }).click()
  await laptop.getByText('not your present password').first().waitFor()
  await screenshot(laptop, 'account-refused')
  await laptop.getByLabel('Present password').fill(PASSWORD)
  await laptop.getByLabel('New password').fill(`${PASSWORD} 2`)
  await laptop.getByLabel('The same once more').fill(`${PASSWORD} 2`)
  await laptop.getByRole('button', { name: 'Change the password' }).click()
  await laptop.getByText('You have another password').waitFor()
  await signIn(await stranger(), 'ben', `${PASSWORD} 2`)
})

test('an administrator hides the first steps for good', async () => {
  const admin = await window('anna')
  await admin.locator('#setup tr', { hasText: 'A colleague can sign in' }).getByText('done').waitFor()
  await unfold(admin, 'Hide the first steps')
  await admin.getByRole('button', { name: 'Hide the first steps' }).click()
  await admin.getByText('The first steps are hidden.').waitFor()
  expect(await admin.locator('#setup').count()).toBe(0)
})

test('an administrator changes a role, sees who is signed in, and disables a user', async () => {
  const admin = await window('anna')
  const ben = await stranger()
  await signIn(ben, 'ben', `${PASSWORD} 2`)
  await admin.goto('/access')
  await screenshot(admin, 'access-users')
  await admin.getByRole('link', { name: 'ben' }).click()
  await unfold(admin, 'Change the role')
  await admin.getByLabel('Role', { exact: true }).selectOption('operator')
  await admin.getByRole('button', { name: 'Change the role' }).click()
  await admin.getByText('ben is operator from the next request on.').waitFor()
  await screenshot(admin, 'access-user')
  await ben.goto('/runs/new')
  await ben.getByRole('heading', { level: 1 }).waitFor()
  await admin.goto('/access/sessions')
  await admin.getByText('this one').waitFor()
  await screenshot(admin, 'access-sessions')
  await admin.goto('/access/users/ben')
  await unfold(admin, 'Disable')
  await admin.getByRole('button', { name: 'Disable' }).click()
  await admin.getByText('ben may not sign in any more').waitFor()
  await ben.goto('/overview')
  await ben.waitForURL('**/sign-in?to=*')
  await admin.goto('/access/users/anna')
  await unfold(admin, 'Disable')
  await admin.getByRole('button', { name: 'Disable' }).click()
  await admin.getByText('anna is the last administrator who can sign in').first().waitFor()
})

test('an administrator enables a user, sets a password, and ends all their sessions', async () => {
  const admin = await window('anna')
  await admin.goto('/access/users/ben')
  await unfold(admin, 'Enable')
  await admin.getByRole('button', { name: 'Enable' }).click()
  await admin.getByText('ben may sign in again.').waitFor()
  await unfold(admin, 'Set a password')
  await admin.getByLabel('Password', { exact: true }).fill('too short')
  await admin.getByRole('button', { name: 'Set a password' }).click()
  // What is wrong is said beside the field.
  await admin.locator('.field .error').getByText('12 to 256 characters').waitFor()
  await admin.getByLabel('Password', { exact: true }).fill(`${PASSWORD} 3`)
  await admin.getByRole('button', { name: 'Set a password' }).click()
  await admin.getByText('ben has another password').waitFor()
  const ben = await stranger()
  await signIn(ben, 'ben', `${PASSWORD} 3`)
  await admin.reload()
  await admin.getByRole('button', { name: 'End all sessions' }).click()
  await admin.getByText('1 session of ben ended.').waitFor()
  await admin.getByText('Not signed in anywhere.').waitFor()
  await ben.goto('/overview')
  await ben.waitForURL('**/sign-in?to=*')
})

test('a user’s page makes a link, and says what has come of it', async () => {
  const admin = await window('anna')
  await admin.goto('/access/users/ben')
  await unfold(admin, 'Make a sign-in link')
  await admin.getByRole('button', { name: 'Make a sign-in link' }).click()
  await admin.getByText('It signs in ben once').waitFor()
  const link = await copied(admin)
  await admin.getByRole('link', { name: 'Back to ben' }).click()
  await admin.getByText('not opened yet, ends').waitFor()
  await screenshot(admin, 'access-user-link')
  const ben = await stranger()
  await ben.goto(link)
  await ben.getByRole('button', { name: 'Sign in' }).click()
  await ben.waitForURL('**/account')
  await admin.reload()
  await admin.getByText('opened just now').waitFor()
})

test('one ends all one’s other sessions', async () => {
  const [here, there] = [await stranger(), await stranger()]
  for (const page of [there, here]) await signIn(page, 'ben', `${PASSWORD} 3`)
  await here.goto('/account')
  await here.getByRole('button', { name: 'End all others' }).click()
  await here.getByText(/\d other sessions? ended\./).waitFor()
  expect(await here.getByRole('button', { name: 'End all others' }).count()).toBe(0)
  await there.goto('/overview')
  await there.waitForURL('**/sign-in?to=*')
})

/** Presses Tab until the focus is on what has that name: a label, or its own words. */
async function tabTo(page: Page, name: string): Promise<void> {
  const label = '(document.activeElement.labels?.[0] ?? document.activeElement).textContent.trim()'
  const focused = () => page.evaluate<string>(label)
  for (let presses = 0; (await focused()) !== name; presses++) {
    if (presses > 100) throw new Error(`Tab does not come to ${name}`)
    await page.keyboard.press('Tab')
  }
}

test('a colleague is let in by the keyboard alone, and by another link where the first page is loaded again', async () => {
  const admin = await window('anna')
  await admin.goto('/access')
  await tabTo(admin, 'Add a user')
  await admin.keyboard.press('Enter')
  await tabTo(admin, 'User name')
  await admin.keyboard.type('carl')
  await tabTo(admin, 'Role')
  await admin.keyboard.press('ArrowDown')
  await tabTo(admin, 'Add a user')
  await admin.keyboard.press('Enter')
  await admin.getByText('It signs in carl once').waitFor()
  const first = await copied(admin)
  expect(first).toMatch(/\/sign-in\/link\?key=/)
  await tabTo(admin, 'Copy')
  await admin.reload()
  await tabTo(admin, 'Make another link for carl')
  await screenshot(admin, 'access-another-link')
  await admin.setViewportSize(PHONE)
  await expectFitsPhone(admin)
  await screenshot(admin, 'access-another-link-phone')
  await admin.keyboard.press('Enter')
  await admin.getByText('It signs in carl once').waitFor()
  const carl = await stranger()
  expect((await carl.goto(first))?.status()).toBe(403)
  await carl.goto(await copied(admin))
  await carl.getByText('as carl (reviewer)').waitFor()
})

test('a token is shown once, does what its scopes name, and is revoked', async () => {
  const admin = await window('anna')
  await admin.goto('/access/tokens')
  await unfold(admin, 'Add a token')
  await admin.getByLabel('Name', { exact: true }).fill('tickets')
  await admin.getByLabel('Role', { exact: true }).selectOption('reviewer')
  await unfold(admin, 'its role alone')
  await admin.getByLabel('looking at everything').check()
  await admin.getByLabel('Cases: looking and acting').check()
  await screenshot(admin, 'access-add-token')
  await admin.getByRole('button', { name: 'Add a token' }).click()
  await admin.getByText('This token is shown once').waitFor()
  await screenshot(admin, 'access-token')
  const token = await copied(admin)
  const headers = { authorization: `Bearer ${token}` }
  const ask = async (path: string, method = 'GET') =>
    (await fetch(`${service.url}/api/v1${path}`, { method, headers })).status
  expect([await ask('/runs'), await ask('/cases/1/retry', 'POST')]).toEqual([200, 404])
  expect(await ask('/employees/e0001/sync', 'POST')).toBe(403)
  await admin.goto('/access/tokens')
  await admin.getByText('just now').waitFor()
  await screenshot(admin, 'access-tokens')
  await admin.getByRole('button', { name: 'Revoke' }).click()
  await admin.getByText('The token tickets is worthless now.').waitFor()
  expect(await ask('/runs')).toBe(401)
})

const PATHS = [
  '/access',
  '/access/users/anna',
  '/access/tokens',
  '/access/sessions',
  '/access/provider',
  '/account',
]

describe.each(LANGUAGES)('in %s', language => {
  test('the pages are accessible, and fit a phone', async () => {
    const page = await stranger({ language })
    const { url } = (await dirsync(['users', 'link', 'anna', '--json'], deployment.settings)).json() as {
      url: string
    }
    const link = new URL(url, service.url)
    await page.goto(link.pathname + link.search)
    await expectAccessible(page, 'access-by-link')
    await page.locator('form.sign-in button').click()
    await page.waitForURL('**/account')
    for (const path of PATHS) {
      await page.goto(path)
      await page.locator('h1').waitFor()
      await expectAccessible(page, path.slice(1).replace(/\W+/g, '-'))
    }
    await page.setViewportSize(PHONE)
    for (const path of PATHS) {
      await page.goto(path)
      await expectFitsPhone(page)
      await screenshot(page, `${path.slice(1).replace(/\W+/g, '-')}-${language}-phone`)
    }
  })
})
