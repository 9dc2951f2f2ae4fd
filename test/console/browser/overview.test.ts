// @module-tag chromium

import { beforeAll, expect, test } from 'vitest'
import { createCompany } from '../../helpers/company.ts'
import { duringFile } from '../../helpers/during.ts'
import {
  expectFitsPhone,
  expectPagesAccessible,
  isSame,
  LANGUAGES,
  mark,
  openBrowser,
  PHONE,
  screenshot,
  startConsoleService,
  visit,
} from './browser.ts'

const company = duringFile(() => createCompany({ employees: 30 }))
const service = duringFile(() => startConsoleService(company.settings))
const browser = duringFile(openBrowser)

beforeAll(async () => {
  await company.run('full')
})

test('the overview says at once that everyone is in sync', async () => {
  const page = await visit(browser, service.url)
  await page.goto('/')
  await page.getByText('All employees are in sync').waitFor()
  await page.getByText('30 of 30 employees').waitFor()
  await screenshot(page, 'overview')
})

test('an operator pauses all calls with a reason, and resumes them', async () => {
  const page = await visit(browser, service.url, { role: 'operator' })
  await page.goto('/')
  await page.getByText('Pause all calls', { exact: true }).first().click()
  await page.getByLabel('Reason').fill('maintenance of the platform')
  await page.getByRole('button', { name: 'Pause all calls' }).click()
  await page.getByText('All calls to the platform are paused.').waitFor()
  await page.getByText('maintenance of the platform').waitFor()
  await screenshot(page, 'overview-paused')
  await page.getByRole('button', { name: 'Resume calls' }).click()
  await page.getByText('Calls to the platform have been resumed.').waitFor()
  const { rows } = await company.db.query(
    `select name, requested_by from dirsync.command order by id desc limit 2`,
  )
  expect(rows).toMatchObject([
    { name: 'resume', requested_by: expect.stringContaining('console:') },
    { name: 'pause', requested_by: expect.stringContaining('console:') },
  ])
})

test('a viewer sees everything and is offered no change', async () => {
  const page = await visit(browser, service.url, { role: 'viewer' })
  await page.goto('/')
  await page.getByText('30 of 30 employees').waitFor()
  expect(await page.getByText('Pause all calls').count()).toBe(0)
})

test('what moves is shown without a reload', async () => {
  const page = await visit(browser, service.url)
  await page.goto('/')
  await page.getByText('All employees are in sync').waitFor()
  await mark(page)
  await company.db.query(`select dirsync.pause('somebody at psql')`)
  await page.getByText('somebody at psql').waitFor()
  expect(await isSame(page)).toBe(true)
  await company.db.query('select dirsync.resume()')
  await page.getByText('All employees are in sync').waitFor()
})

test.each(LANGUAGES)('the overview and the API’s pages are accessible in %s', async language => {
  const page = await visit(browser, service.url, { language })
  await expectPagesAccessible(page, [
    '/',
    '/api',
    '/api?operation=postRuns',
    '/problems',
    '/problems/invalid',
    '/search?q=nobody',
  ])
})

test('on a phone, and without JavaScript, it can be read', async () => {
  const page = await visit(browser, service.url, { ...PHONE, javaScript: false })
  await page.goto('/')
  await page.getByText('30 of 30 employees').waitFor()
  await expectFitsPhone(page)
  await screenshot(page, 'overview-phone')
})
