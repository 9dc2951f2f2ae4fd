// @module-tag chromium

import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { createDeployment } from '../../helpers/deployment.ts'
import { duringFile } from '../../helpers/during.ts'
import { startTcpProxy } from '../../queue/tcp-proxy.ts'
import { openBrowser, startConsoleService, userOf, visit } from './browser.ts'

const STALE = 'This page cannot be updated'
const SIGNED_OUT = 'You are signed out, so'
const SLOW = { timeout: 30_000 }

const deployment = duringFile(createDeployment)
const proxy = duringFile(() => startTcpProxy(deployment.settings.DATABASE_URL ?? ''))
const service = duringFile(() =>
  startConsoleService({ ...deployment.settings, DATABASE_URL: proxy.url }, ['console']),
)
const browser = duringFile(openBrowser)

/** The overview, once it follows what happens. */
async function overview(page: Page): Promise<void> {
  const listening = page.waitForResponse(/\/events$/)
  await page.goto('/overview')
  await listening
  await page.getByText('No worker is running, so nothing is sent.').waitFor()
}

test('while the database is away a page keeps what it shows, says so, and goes on by itself', async () => {
  const page = await visit(browser, service.url)
  await overview(page)
  await proxy.refuse()
  await page.getByText(STALE).waitFor(SLOW)
  await page.getByText('No worker is running, so nothing is sent.').waitFor()
  await proxy.accept()
  await page.getByText(STALE).waitFor({ state: 'hidden', ...SLOW })
  await page.getByText('No worker is running, so nothing is sent.').waitFor()
})

test('so it does when an answer from before the console, such as a proxy’s, ends its stream', async () => {
  const page = await visit(browser, service.url)
  await page.route('**/events', route => route.fulfill({ status: 502, body: 'bad gateway' }), { times: 1 })
  await overview(page)
  const again = await page.waitForResponse(/\/events$/, SLOW)
  expect(again.status()).toBe(200)
})

test('one whose session has ended is told, and led back to the page by signing in', async () => {
  const page = await visit(browser, service.url, { role: 'viewer' })
  await overview(page)
  await deployment.own.pool.query(
    'update dirsync.console_session set revoked_at = now() where user_name = $1',
    [userOf('viewer')],
  )
  await deployment.own.pool.query(`select dirsync.pause('so that something moves')`)
  await page.getByText(SIGNED_OUT).waitFor(SLOW)
  await page.getByText('No worker is running, so nothing is sent.').waitFor()
  await page.getByRole('link', { name: 'Sign in again' }).click()
  await page.waitForURL(/\/sign-in\?to=%2Foverview$/)
})

/** What a browser would tell a page; one without a screen shows all of them. */
const setHidden = (page: Page, hidden: boolean) =>
  page.evaluate(`Object.defineProperty(document, 'hidden', { value: ${hidden}, configurable: true })
                 document.dispatchEvent(new Event('visibilitychange'))`)

test('pages in the background leave the browser’s connections to the one that is looked at', async () => {
  const first = await visit(browser, service.url)
  let page = first
  for (let opened = 1; opened <= 8; opened++) {
    await overview(page)
    await setHidden(page, true)
    page = await first.context().newPage()
  }
  const listening = first.waitForResponse(/\/events$/)
  await setHidden(first, false)
  expect((await listening).status()).toBe(200)
})
