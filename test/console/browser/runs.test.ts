// @module-tag chromium

import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createCompany, endOf, until } from '../../helpers/company.ts'
import { duringFile } from '../../helpers/during.ts'
import {
  expectPagesAccessible,
  expectPagesFitPhone,
  isSame,
  LANGUAGES,
  mark,
  openBrowser,
  PHONE,
  screenshot,
  startConsoleService,
  visit,
} from './browser.ts'

const company = duringFile(() =>
  createCompany({ employees: 30, settings: { WORKER_CONCURRENCY: '1', TAXPAYER_IDENTIFIERS: 'T1' } }),
)
const browser = duringFile(openBrowser)
let service: Awaited<ReturnType<typeof startConsoleService>>

beforeAll(async () => {
  service = await startConsoleService(company.settings)
  await company.run('full')
})
afterAll(async () => {
  await service?.stop()
})

async function runOf(page: Page): Promise<number> {
  await page.waitForURL(/\/runs\/\d+$/)
  return Number(page.url().split('/').at(-1))
}

async function startFromForm(page: Page, kind: string): Promise<number> {
  await page.goto('/runs/new')
  await page.getByRole('button', { name: `Start: ${kind}`, exact: true }).click()
  const run = await runOf(page)
  await page.getByText(`Run ${run} is requested.`).waitFor()
  return run
}

test.each([
  ['changes', 'changes'],
  ['departments', 'departments'],
  ['open ids', 'openids'],
  ['payment orders', 'orders'],
  ['limit accounts', 'accounts'],
  ['taxpayers', 'taxpayers'],
])('an operator starts a run of %s, in their name', async (name, kind) => {
  const page = await visit(browser, service.url, { role: 'operator' })
  const run = await startFromForm(page, name)
  await page.getByRole('heading', { name: 'What people did' }).waitFor()
  await endOf(company.db, run)
  const { rows } = await company.db.query(
    `select r.kind, c.name, c.requested_by from dirsync.sync_run r
     join dirsync.command c on c.run_id = r.id where r.id = $1`,
    [run],
  )
  expect(rows).toEqual([{ kind, name: 'resync', requested_by: expect.stringContaining('(console:') }])
})

test('a full run leaves out whom the platform confirmed lately', async () => {
  const page = await visit(browser, service.url, { role: 'operator' })
  await page.goto('/runs/new')
  await page.getByText('About 30 calls').waitFor()
  await screenshot(page, 'runs-new')
  await page.getByLabel('Skip employees confirmed within').selectOption('the last day')
  await page.getByRole('button', { name: 'Start: full' }).click()
  const run = await runOf(page)
  await endOf(company.db, run)
  await page.locator('tr', { hasText: 'Skipped, confirmed recently' }).getByText('30').waitFor()
})

test('only named employees are asked about', async () => {
  const before = await company.calls()
  const page = await visit(browser, service.url, { role: 'operator' })
  await page.goto('/runs/new')
  await page.getByLabel('User ids').fill('e0003\ne0004, e0003')
  await page.getByRole('button', { name: 'Start: named employees' }).click()
  const run = await runOf(page)
  await endOf(company.db, run)
  await page.locator('tr', { hasText: 'Already in sync' }).getByText('2').waitFor()
  await page.getByRole('link', { name: 'e0004' }).first().waitFor()
  const after = await company.calls()
  expect((after['employee/get'] ?? 0) - (before['employee/get'] ?? 0)).toBe(2)
})

test('progress moves without a reload, up to what came of the run', async () => {
  const page = await visit(browser, service.url, { role: 'operator' })
  await company.control('POST', 'faults', { operation: 'employee/get', latencyMs: 400 })
  const run = await startFromForm(page, 'full')
  await mark(page)
  await page.getByText(/^([1-9]|[12]\d) of 30 \(/).waitFor()
  await screenshot(page, 'run-running')
  const list = await visit(browser, service.url)
  await list.goto('/runs')
  await list.getByText(/^\d+ of 30 \(/).waitFor()
  await screenshot(list, 'runs-running')
  await company.control('DELETE', 'faults')
  await endOf(company.db, run)
  await page.getByText('done', { exact: true }).waitFor()
  await page.locator('tr', { hasText: 'Already in sync' }).getByText('30').waitFor()
  expect(await isSame(page)).toBe(true)
})

test('a run is cancelled with a reason, and the second who tries is told by whom', async () => {
  const page = await visit(browser, service.url, { role: 'operator' })
  const second = await visit(browser, service.url, { role: 'admin' })
  await company.db.query(`select dirsync.pause('a quiet platform')`)
  const run = await startFromForm(page, 'full')
  await second.goto(`/runs/${run}`)
  for (const somebody of [page, second]) {
    await somebody.getByText('Cancel the run', { exact: true }).first().click()
    await somebody.getByLabel('Reason').fill('not on a Friday')
  }
  await page.getByRole('button', { name: 'Cancel the run' }).click()
  await page.getByText(`Run ${run} is cancelled`).waitFor()
  await company.db.query('select dirsync.resume()')
  expect((await endOf(company.db, run)).state).toBe('cancelled')
  await page.getByText('not on a Friday').first().waitFor()
  await screenshot(page, 'run-cancelled')
  await second.getByRole('button', { name: 'Cancel the run' }).click()
  await second.getByRole('heading', { name: 'It has changed since you looked' }).waitFor()
  await second.getByText(`run ${run} was cancelled by`).waitFor()
})

test('a form that is opened while a refresh is on its way stays open', async () => {
  const page = await visit(browser, service.url, { role: 'operator' })
  await company.db.query(`select dirsync.pause('a quiet platform')`)
  const run = await startFromForm(page, 'full')
  const asked = Promise.withResolvers<void>()
  const opened = Promise.withResolvers<void>()
  await page.route(
    `**/runs/${run}`,
    async route => {
      const response = await route.fetch()
      asked.resolve()
      await opened.promise
      await route.fulfill({ response })
    },
    { times: 1 },
  )
  await company.db.query('select dirsync.resume()')
  await asked.promise
  await page.getByText('Cancel the run', { exact: true }).first().click()
  const answered = page.waitForResponse(response => response.url().endsWith(`/runs/${run}`))
  opened.resolve()
  await (await answered).finished()
  // By the next frame htmx has put in what came.
  await page.evaluate('new Promise(done => requestAnimationFrame(() => setTimeout(done)))')
  expect(await page.locator('details.action[open]').count()).toBe(1)
  await page.getByText('Cancel the run', { exact: true }).first().click()
  await endOf(company.db, run)
  await page.getByText('done', { exact: true }).waitFor()
})

test('a run that left a case behind does not look as if all was well', async () => {
  await company.control('POST', 'faults', { operation: 'employee/update', code: 1000220030, times: 1 })
  await company.hr.query(`update person set email = 'other@example.com' where userid = 'e0007'`)
  const { id } = await company.run('changes')
  const page = await visit(browser, service.url)
  await page.goto(`/runs/${id}`)
  await page.getByText('done, 1 case').waitFor()
  await page.getByRole('link', { name: 'Review them' }).waitFor()
  await page.getByText('Previous run of this kind').waitFor()
  await screenshot(page, 'run-cases')
  await page.goto('/runs?state=done&kind=changes')
  await page.getByText('done, 1 case').waitFor()
})

test('where HR looks wrong, the page shows per column what the gate saw', async () => {
  await company.hr.query(`update person set email = null`)
  const { id, state } = await company.run('changes')
  expect(state).toBe('source_suspect')
  const page = await visit(browser, service.url)
  await page.goto(`/runs/${id}`)
  await page.getByText('HR’s data looked wrong').first().waitFor()
  const email = page.locator('tr', { hasText: 'E-mail address' })
  await email.getByText('suspicious').waitFor()
  expect(await email.getByText('100%').count()).toBeGreaterThan(0)
  expect(await page.getByText('suspicious').count()).toBe(1)
  await screenshot(page, 'run-suspect')
  await company.hr.query(`update person set email = userid || '@example.com'`)
})

test('the list is filtered by its address, and paged', async () => {
  const page = await visit(browser, service.url)
  await page.goto('/runs')
  await screenshot(page, 'runs')
  await page.getByLabel('Kind').selectOption('Full')
  await page.getByLabel('By').selectOption('Me')
  await page.getByRole('button', { name: 'Apply' }).click()
  await page.waitForURL(/kind=full/)
  expect(new URL(page.url()).searchParams.get('by')).toBe('me')
  await page.goto('/runs?limit=2&by=people')
  const first = await page.locator('td.main').allInnerTexts()
  expect(first).toHaveLength(2)
  await page.getByRole('link', { name: 'Next page' }).click()
  await page.getByRole('link', { name: 'First page' }).waitFor()
  const numbers = [...first, ...(await page.locator('td.main').allInnerTexts())].map(text =>
    Number.parseInt(text.slice(1), 10),
  )
  expect(numbers).toEqual([...numbers].sort((a, b) => b - a))
  expect(new Set(numbers).size).toBe(4)
})

test('a viewer sees runs and is offered no change', async () => {
  const page = await visit(browser, service.url, { role: 'viewer' })
  await page.goto('/runs')
  await page.locator('td.main').first().waitFor()
  expect(await page.getByText('Start a run').count()).toBe(0)
})

test('without a worker, the start of a run warns first', async () => {
  await service.stop()
  service = await startConsoleService(company.settings, ['console'])
  const page = await visit(browser, service.url, { role: 'operator' })
  await page.goto('/runs/new')
  await page.locator('.alert').getByText('No worker is running').waitFor()
  const run = await startFromForm(page, 'changes')
  await page.locator('.alert').getByText('No scheduler is running').waitFor()
  await screenshot(page, 'run-waits')
  await page.context().close()
  await service.stop()
  service = await startConsoleService(company.settings)
  await until(async () => (await endOf(company.db, run)).state)
})

test.each(LANGUAGES)('the screens are accessible in %s', async language => {
  const page = await visit(browser, service.url, { language })
  const { rows } = await company.db.query<{ id: number }>(
    `select distinct on (state) id from dirsync.sync_run order by state, id`,
  )
  await expectPagesAccessible(page, ['/runs', '/runs/new', ...rows.map(({ id }) => `/runs/${id}`)])
})

test('on a phone, and without JavaScript, runs are read and started', async () => {
  const page = await visit(browser, service.url, { ...PHONE, javaScript: false })
  await expectPagesFitPhone(page, ['/runs', '/runs/new', '/runs/1'])
  const run = await startFromForm(page, 'changes')
  await endOf(company.db, run)
})
