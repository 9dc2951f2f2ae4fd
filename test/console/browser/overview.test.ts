// @module-tag chromium

import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { createCompany } from '../../helpers/company.ts'
import { duringFile } from '../../helpers/during.ts'
import {
  consoleInBrowser,
  expectFitsPhone,
  expectPagesAccessible,
  isSame,
  LANGUAGES,
  mark,
  PHONE,
  screenshot,
} from './browser.ts'

const company = duringFile(() => createCompany({ employees: 30 }))
const { newPage, open } = consoleInBrowser(company)

beforeAll(async () => {
  await company.run('full')
})

test('the overview says at once that everyone is in sync', async () => {
  const page = await open('/')
  await page.getByText('All employees are in sync').waitFor()
  await page.getByText('30 of 30 employees').waitFor()
  await screenshot(page, 'overview')
})

test('an operator pauses all calls with a reason, and resumes them', async () => {
  const page = await open('/', { role: 'operator' })
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
  const page = await open('/', { role: 'viewer' })
  await page.getByText('30 of 30 employees').waitFor()
  expect(await page.getByText('Pause all calls').count()).toBe(0)
})

test('what moves is shown without a reload', async () => {
  const page = await open('/')
  await page.getByText('All employees are in sync').waitFor()
  await mark(page)
  await company.db.query(`select dirsync.pause('somebody at psql')`)
  await page.getByText('somebody at psql').waitFor()
  expect(await isSame(page)).toBe(true)
  await company.db.query('select dirsync.resume()')
  await page.getByText('All employees are in sync').waitFor()
})

/** The state of the last 24 hours, a point every five minutes. */
const DAY = `
  insert into dirsync.status_history
    (at, in_sync, awaiting_activation, dead_lettered, halted, waiting, open_cases, cases, pending,
     oldest_pending_seconds, is_halted)
  select to_timestamp(floor(extract(epoch from now()) / 300) * 300) - i * interval '5 minutes',
         30 - i % 7, 0, 0, 0, 0, '{}', i % 7, i % 5, 0, false
  from generate_series(0, 287) i on conflict do nothing`

test('the time at which all work stood still is shaded in the curves', async () => {
  await company.db.query(DAY)
  // From three quarters of the day to its middle.
  await company.db.query(`
    update dirsync.status_history set is_halted = true
    where at between now() - interval '12 hours' and now() - interval '6 hours'`)
  onTestFinished(
    async () => void (await company.db.query('update dirsync.status_history set is_halted = false')),
  )
  const page = await open('/overview', { role: 'viewer' })
  await page.getByText('Shaded: all work was halted').waitFor()
  await page.locator('.curve canvas').first().scrollIntoViewIfNeeded()
  await screenshot(page, 'overview-halted')
  // Between the curve and a line of the grid, at a share of the width.
  const colourAt = (share: number) =>
    page.evaluate<string>(`(() => {
      const canvas = document.querySelector('.curve canvas')
      const { left, top, width } = document.querySelector('.curve .u-over').getBoundingClientRect()
      const all = canvas.getBoundingClientRect()
      const pixel = [left - all.left + width * ${share}, top - all.top + 9].map(at => Math.round(at * devicePixelRatio))
      return String(canvas.getContext('2d').getImageData(...pixel, 1, 1).data)
    })()`)
  const [before, halted, after] = [await colourAt(0.4), await colourAt(0.6), await colourAt(0.9)]
  expect(before).toBe(after)
  expect(halted).not.toBe(after)
  await company.db.query('update dirsync.status_history set is_halted = false')
  const well = await open('/overview', { role: 'viewer' })
  await well.getByText('Drag across a curve').waitFor()
  expect(await well.getByText('Shaded').count()).toBe(0)
})

test('a part of a curve is selected by mouse, is in the address, and leads back; a click leads to runs', async () => {
  await company.db.query(DAY)
  const page = await open('/overview', { role: 'viewer' })
  await page.getByText('Drag across a curve').waitFor()
  const plot = page.locator('.curve .u-over').first()
  const select = async () => {
    await plot.scrollIntoViewIfNeeded()
    const { x = 0, y = 0, width = 0 } = (await plot.boundingBox()) ?? {}
    await page.mouse.move(x + width / 4, y + 20)
    await page.mouse.down()
    await page.mouse.move(x + width / 2, y + 40, { steps: 4 })
    await page.mouse.up()
  }
  await select()
  await page.waitForURL(/\/overview\?from=\d{4}-.*Z&to=.*Z#history$/)
  const shown = new URL(page.url()).searchParams
  const hours = (Date.parse(shown.get('to') ?? '') - Date.parse(shown.get('from') ?? '')) / 3_600_000
  expect(hours).toBeGreaterThan(5.9)
  expect(hours).toBeLessThan(6.3)
  expect(await page.getByLabel('History from').inputValue()).toMatch(/T/)
  await plot.waitFor()
  await screenshot(page, 'overview-zoomed')

  await plot.click()
  await page.waitForURL(/\/runs\?from=.*Z&to=.*Z$/)
  expect(await page.getByLabel('Requested from').inputValue()).toMatch(/T/)
  await page.goBack()
  await page.getByRole('link', { name: 'Back to the last 24 hours' }).click()
  await page.waitForURL(/\/overview#history$/)

  const plain = await open(`/overview?${shown}`, { role: 'viewer', javaScript: false })
  expect(await plain.getByText('Drag across a curve').isVisible()).toBe(false)
  await plain.getByRole('link', { name: 'Runs requested in this time' }).click()
  await plain.waitForURL(/\/runs\?from=/)

  await page.goto('/platform')
  await page.getByText('Drag across a curve').waitFor()
  await select()
  await page.waitForURL(/\/platform\?from=.*Z&to=.*Z#history$/)
  await page.getByRole('link', { name: 'Back to the last 24 hours' }).click()
  await page.waitForURL(/\/platform#history$/)
})

test.each(LANGUAGES)('the overview and the API’s pages are accessible in %s', async language => {
  const page = await newPage({ language })
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
  const page = await open('/', { ...PHONE, javaScript: false })
  await page.getByText('30 of 30 employees').waitFor()
  await expectFitsPhone(page)
  await screenshot(page, 'overview-phone')
})
