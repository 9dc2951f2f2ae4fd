// @module-tag chromium

import type { Page } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'
import { createCompany } from '../../helpers/company.ts'
import { duringFile } from '../../helpers/during.ts'
import {
  consoleInBrowser,
  expectFitsPhone,
  expectPagesAccessible,
  expectPagesFitPhone,
  LANGUAGES,
  PHONE,
  screenshot,
} from './browser.ts'

/* What is around every page, as people use it: menu, bar, trail, notices, keys, refused input. */

const company = duringFile(() => createCompany({ employees: 5 }))
const { newPage, open } = consoleInBrowser(company)

beforeAll(async () => {
  await company.run('full')
  await company.db.query(
    `insert into dirsync.job_schedule (job, expression, next_due_at) values ('sync-changes', '*/5 * * * *', now())`,
  )
  // There is a case to look at: the mobile number is another employee's.
  await company.hr.query(
    `update person set mobile = (select mobile from person where userid = 'e0001') where userid = 'e0002'`,
  )
  await company.run('changes')
})

const focused = (page: Page) => page.evaluate<string>('document.activeElement.textContent.trim()')

async function pause(page: Page): Promise<void> {
  await page.goto('/overview')
  await page.getByText('Pause all calls', { exact: true }).first().click()
  await page.getByLabel('Reason').fill('maintenance of the platform')
  await page.getByRole('button', { name: 'Pause all calls' }).click()
  await page.locator('.state-bar').getByText('maintenance of the platform').waitFor()
}

test('the bar comes and goes by itself, on a page that follows nothing else', async () => {
  const page = await newPage({ role: 'viewer' })
  const listening = page.waitForResponse(/\/events$/)
  await page.goto('/api')
  await listening
  expect(await page.locator('.state-bar').count()).toBe(0)
  await company.db.query(`select dirsync.pause('the vendor asked for it')`)
  await page.locator('.state-bar').getByText('the vendor asked for it').waitFor()
  expect(await page.title()).toMatch(/^API · /)
  expect(await page.getByRole('button', { name: 'Resume calls' }).count()).toBe(0)
  await company.db.query('select dirsync.resume()')
  await page.locator('.state-bar').waitFor({ state: 'detached' })
})

test('a notice is put in anew, so that it is said aloud, and goes when it is dismissed', async () => {
  const page = await newPage({ role: 'operator' })
  await pause(page)
  const notice = page.getByRole('status').getByText('All calls to the platform are paused.')
  await notice.waitFor()
  await screenshot(page, 'frame-paused')
  await page.getByRole('button', { name: 'Dismiss' }).click()
  await notice.waitFor({ state: 'detached' })
  await page.goto('/cases?states=open')
  await page.getByRole('button', { name: 'Resume calls' }).click()
  await page.waitForURL('**/cases?states=open')
  const resumed = page.getByText('Calls to the platform have been resumed.')
  await resumed.waitFor()
  await resumed.waitFor({ state: 'detached' })
})

test('Esc closes what is open at once, also from a field in it, and the focus returns', async () => {
  const page = await open('/overview', { role: 'operator' })
  const summary = page.locator('summary', { hasText: 'Pause all calls' })
  await summary.click()
  await page.getByLabel('Reason').fill('half a reason')
  await page.keyboard.press('Escape')
  await page.getByLabel('Reason').waitFor({ state: 'hidden' })
  expect(await focused(page)).toBe('Pause all calls')
  await page.keyboard.press('/')
  expect(await page.evaluate('document.activeElement.name')).toBe('q')
  await page.keyboard.press('Escape')
  expect(await focused(page)).toBe('Pause all calls')
})

test('on a phone the screens are in a menu, with the keyboard and without JavaScript too', async () => {
  const page = await open('/cases', { ...PHONE, role: 'viewer', javaScript: false })
  const link = page.getByRole('navigation', { name: 'Screens' }).getByRole('link', { name: 'Employees' })
  expect(await link.isVisible()).toBe(false)
  await page.getByRole('button', { name: 'Menu' }).focus()
  await page.keyboard.press('Enter')
  await link.waitFor()
  await page.getByText('Times in').waitFor()
  await expectFitsPhone(page)
  await screenshot(page, 'frame-menu-phone')
  await page.keyboard.press('Escape')
  await link.waitFor({ state: 'hidden' })
  expect(await focused(page)).toBe('Menu')
  await page.keyboard.press('Enter')
  await link.click()
  await page.waitForURL(/\/employees$/)
})

/** Pages of what there is. */
const THERE = ['/access', '/account', '/runs/1/plan', '/employees/e0001', '/cases/1']
const PAGES = [
  ...['/overview', '/alerts', '/alerts/history', '/runs', '/runs/1', '/cases', '/employees', '/departments'],
  ...['/platform', '/schedules', '/mapping', '/mapping/dry-runs', '/money', '/mirrors', '/halts', '/audit'],
  ...['/settings', '/doctor', '/api', '/search?q=nobody', '/cases/999999', '/nothing-here'],
  ...THERE,
]

test('every page fits a phone, and a window at 200 %, with a bar in it', async () => {
  await company.db.query(`select dirsync.pause('the vendor works on it')`)
  await expectPagesFitPhone(await newPage(PHONE), PAGES)
  // What a window of 1280 pixels is at 200 %.
  const page = await newPage({ width: 640, height: 450 })
  for (const path of PAGES) {
    const answer = await page.goto(path)
    if (THERE.includes(path)) expect(answer?.status(), path).toBe(200)
    await page.locator('h1').waitFor()
    expect(await page.evaluate('document.documentElement.scrollWidth'), path).toBeLessThanOrEqual(640)
  }
  await company.db.query('select dirsync.resume()')
})

// All pages, each looked at whole and in both themes, which takes minutes on a slow machine.
test.each(LANGUAGES)(
  'every page is accessible in %s, by light and dark',
  { timeout: 600_000 },
  async language => {
    await expectPagesAccessible(await newPage({ language }), PAGES)
  },
)

test('a page below a screen says where it belongs, and an error keeps the navigation', async () => {
  const page = await open('/runs/1', { role: 'viewer' })
  const trail = page.getByRole('navigation', { name: 'Where you are' })
  expect(await trail.getByRole('listitem').allInnerTexts()).toEqual(['Runs', 'Run 1: full'])
  await trail.getByRole('link', { name: 'Runs' }).click()
  await page.waitForURL(/\/runs$/)
  expect(await trail.count()).toBe(0)
  const trails = [
    ['/runs/1/plan', ['Runs', '1', 'Plan of run 1']],
    ['/schedules?job=sync-changes', ['Schedules', 'Send what changed in HR']],
    ['/api?operation=postRuns', ['API', 'POST /api/v1/runs']],
    ['/mapping/dry-runs', ['Mapping', 'Try another SELECT']],
  ] as const
  for (const [path, items] of trails) {
    await page.goto(path)
    expect(await trail.getByRole('listitem').allInnerTexts(), path).toEqual(items)
    const parent = await trail.getByRole('link').first().getAttribute('href')
    expect(await page.locator(`main a[href="${parent}"]`).count(), path).toBe(1)
  }
  await page.goto('/search?q=nobody')
  await page.locator('h1').waitFor()
  expect(await trail.count()).toBe(0)
  expect(await page.locator('nav [aria-current]').count()).toBe(0)
  await page.goto('/cases/999999')
  await page.getByText('Search for it above').waitFor()
  await page.getByRole('navigation', { name: 'Screens' }).getByRole('link', { name: 'Runs' }).click()
  await page.waitForURL(/\/runs$/)
})

test('a form that is refused keeps what was typed, and says beside the field what is wrong', async () => {
  const page = await open('/platform', { role: 'operator' })
  await page.locator('summary', { hasText: 'Lower the rate' }).click()
  await page.getByLabel('Calls per second').fill('5')
  await page.getByLabel('Or until').fill('2020-01-01T00:00')
  await page.getByLabel('Reason').fill('they said so')
  await page.getByRole('button', { name: 'Lower the rate' }).click()
  await page.getByRole('alert').getByText('This is not possible').waitFor()
  await page.locator('.field .error', { hasText: 'Say until when' }).waitFor()
  expect(await page.getByLabel('Reason').inputValue()).toBe('they said so')
  await screenshot(page, 'frame-refused')
  await page.getByLabel('Or until').fill('')
  await page.getByRole('button', { name: 'Lower the rate' }).click()
  await page.getByRole('button', { name: 'Lift it now' }).first().waitFor()
})

test('on a phone the rows of a list stand below each other, each value under its label, without JavaScript', async () => {
  for (const language of LANGUAGES) {
    const page = await newPage({ ...PHONE, language, javaScript: false })
    for (const path of ['/runs', '/schedules', '/overview', '/alerts', '/halts']) {
      await page.goto(path)
      await page.locator('h1').waitFor()
      await expectFitsPhone(page)
      const wide = await page
        .locator('.scroll')
        .evaluateAll(boxes => boxes.filter(box => box.scrollWidth > box.clientWidth).length)
      expect(wide, path).toBe(0)
      await screenshot(page, `stacked-${path.slice(1)}-${language}`)
    }
    await page.goto('/runs')
    const cell = page.locator('tbody td:has(.state)').first()
    expect(await cell.getAttribute('data-label')).toBe(language === 'en-US' ? 'State' : '状态')
    const [here, next] = [await cell.boundingBox(), await cell.locator('+ td').boundingBox()]
    expect(next?.y).toBeGreaterThanOrEqual((here?.y ?? 0) + (here?.height ?? 0))
    expect((await cell.locator('.state').boundingBox())?.height).toBeLessThan(30)
  }
})

test('language and colours are applied, and lists are searched, as one says it in Chinese', async () => {
  const page = await open('/runs', { language: 'zh-CN' })
  expect(await page.locator('.preferences button').textContent()).toBe('应用')
  expect(await page.locator('form.filters button').first().textContent()).toBe('查询')
})

test('the sign to copy needs no rare character, and what is refused is listed within its box', async () => {
  const page = await open('/employees/e0001')
  const copy = page.getByRole('button', { name: 'Copy e0001' })
  expect(await copy.textContent()).toBe('')
  expect((await copy.boundingBox())?.width).toBeGreaterThan(16)
  await page.goto('/cases?olderThan=never')
  const [item, box] = [page.locator('.alert li').first(), page.locator('.alert').first()]
  const [inner, outer] = [await item.boundingBox(), await box.boundingBox()]
  // The sign of a list stands left of its items.
  expect((inner?.x ?? 0) - (outer?.x ?? 0)).toBeGreaterThan(28)
})

test('an identifier is copied by keyboard, and without JavaScript nothing offers to', async () => {
  const page = await newPage({ role: 'viewer' })
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  await page.goto('/employees/e0001')
  const copy = page.getByRole('button', { name: 'Copy e0001' })
  await copy.focus()
  await page.keyboard.press('Enter')
  // Drawn, as few fonts have the character.
  await page.locator('button.copy.copied').waitFor()
  expect(await copy.textContent()).toBe('')
  expect(await page.evaluate(`getComputedStyle(document.querySelector('.copied'), '::before').rotate`)).toBe(
    '40deg',
  )
  expect(await page.evaluate('navigator.clipboard.readText()')).toBe('e0001')
  const plain = await open('/employees/e0001', { role: 'viewer', javaScript: false })
  await plain.locator('h1').waitFor()
  expect(await plain.getByRole('button', { name: 'Copy' }).count()).toBe(0)
})

test('a moment says how long ago it was, and with its zone when, on focus', async () => {
  const page = await open('/runs', { role: 'viewer' })
  await page.goto('/runs/1')
  const moment = page.locator('dd time').first()
  await moment.getByText(/ago|now/).waitFor()
  expect(await moment.getAttribute('title')).toMatch(/^\d\d\/\d\d\/\d{4}, \d\d:\d\d:\d\d GMT\+8$/)
  await moment.focus()
  const shown = `getComputedStyle(document.activeElement, '::after').content`
  expect(await page.evaluate(shown)).toContain('GMT+8')
  await page.goto('/runs')
  await page.keyboard.press('j')
  expect(await page.locator('tbody tr.at time').count()).toBeGreaterThan(0)
  expect(
    await page.evaluate(`getComputedStyle(document.querySelector('tr.at time'), '::after').content`),
  ).toContain('GMT+8')
})

test('settings are found as one types, and without JavaScript by the form, with their lines', async () => {
  const page = await open('/settings')
  const rows = page.locator('.settings tbody tr:visible')
  const all = await rows.count()
  await page.getByLabel('Name, meaning or value').fill('alert_clock')
  await rows.nth(1).waitFor({ state: 'hidden' })
  expect(await rows.allInnerTexts()).toEqual([expect.stringContaining('ALERT_CLOCK')])
  await page.getByLabel('Name, meaning or value').fill('')
  await rows.nth(all - 1).waitFor()
  const plain = await open('/settings?q=alert_clock', { javaScript: false })
  expect(await plain.locator('.settings tbody tr').count()).toBe(1)
  await plain.locator('summary', { hasText: 'Line' }).click()
  await plain.getByText('ALERT_CLOCK=').waitFor()
  await plain.goto('/settings?q=nonsense')
  await plain.getByText('No setting has “nonsense”').waitFor()
})

test.each([
  ['wide', {}],
  ['on a phone', PHONE],
])(
  'results come as one types, %s; arrow keys go through them, Enter opens, Esc closes',
  async (name, options) => {
    const page = await open('/overview', { role: 'reviewer', ...options })
    const field = page.locator('[data-search]')
    const results = page.locator('.typed')
    if (name === 'wide') await page.keyboard.press('/')
    else await field.focus()
    await page.keyboard.insertText('E000')
    await results.locator('li a').nth(3).waitFor()
    await screenshot(page, `typed-${name.replaceAll(' ', '-')}`)
    if (name !== 'wide') await expectFitsPhone(page)
    expect(await page.locator('.search kbd').isVisible()).toBe(false)
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('ArrowDown')
    expect(await focused(page)).toContain('e0001')
    await page.keyboard.press('ArrowUp')
    await page.keyboard.press('ArrowUp')
    await page.keyboard.press('Escape')
    expect(await results.isVisible()).toBe(false)
    expect(await page.evaluate('document.activeElement.name')).toBe('q')
    await page.keyboard.type('1')
    await results.locator('li a').first().waitFor()
    await page.keyboard.press('ArrowDown')
    await Promise.all([page.waitForURL('**/employees/e0001'), page.keyboard.press('Enter')])
  },
)
