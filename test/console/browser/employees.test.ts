// @module-tag chromium

import type { Page } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'
import { inWords, toStore } from '../../../src/texts/message.ts'
import { createCompany, person } from '../../helpers/company.ts'
import { duringFile } from '../../helpers/during.ts'
import {
  consoleInBrowser,
  expectFitsPhone,
  expectPagesAccessible,
  expectPagesFitPhone,
  isSame,
  LANGUAGES,
  mark,
  PHONE,
  screenshot,
} from './browser.ts'

const company = duringFile(() => createCompany({ employees: 12 }))
const { newPage, open, service } = consoleInBrowser(company)

const SCRIPT = '<script>document.title="x"</script>'
const RIGHT_TO_LEFT = '\u202Egnorw\u2067'

beforeAll(async () => {
  await company.run('full')
  await company.run('departments')
})

async function callsSince(id: number): Promise<string[]> {
  const { calls } = await company.control<{ calls: { operation: string }[] }>('GET', `calls?since=${id}`)
  return calls.map(({ operation }) => operation)
}

async function lastCall(): Promise<number> {
  return (await company.control<{ lastId: number }>('GET', 'calls?limit=1')).lastId
}

function field(page: Page, name: string) {
  return page.locator('#fields tbody tr', { hasText: name })
}

test('an employee in sync is shown as such, with every field of HR masked', async () => {
  const page = await open('/employees/e0001', { role: 'viewer' })
  await page.getByText('In sync: the platform has confirmed what HR has.').waitFor()
  await page.getByText('HR has the employee.').waitFor()
  await expect(field(page, 'mobile number').textContent()).resolves.toContain('199****')
  expect(await page.content()).not.toContain(person(1).mobile)
  expect(await page.getByText('Nothing differs.').count()).toBe(1)
  expect(await page.getByRole('button', { name: 'Sync now' }).count()).toBe(0)
})

test('“Compare now” shows a planted difference masked, and sends nothing', async () => {
  await company.hr.query(`update person set email = 'somebody.new@example.com' where userid = 'e0002'`)
  const before = await lastCall()
  const page = await open('/employees/e0002', { role: 'reviewer' })
  await page.getByText('The platform has not been asked.').waitFor()
  await page.getByRole('button', { name: 'Compare now' }).click()
  await page.getByText('These fields would be sent now: e-mail address').waitFor()
  const row = await field(page, 'e-mail address').textContent()
  expect(row).toContain('s***@example.com')
  expect(row).toContain('e***@example.com')
  expect(row).toContain('to be sent')
  expect(await page.content()).not.toContain('somebody.new')
  expect(await callsSince(before)).toEqual(['employee/get'])
  await screenshot(page, 'employee-explained')
})

test('“Sync now” starts a run, and its steps appear without a reload', async () => {
  await company.hr.query(`update person set email = 'e3.new@example.com' where userid = 'e0003'`)
  await company.db.query(`select dirsync.pause('somebody looks')`)
  const page = await open('/employees/e0003', { role: 'reviewer' })
  await page.getByRole('button', { name: 'Sync now' }).click()
  await page.getByText(/Run \d+ was started for this employee/).waitFor()
  await mark(page)
  const run = page.locator('#this-run')
  await run.getByText('Calls are halted').waitFor()
  await screenshot(page, 'employee-syncing')
  await company.db.query('select dirsync.resume()')
  await run.getByText('Sent: e-mail address.').waitFor()
  await run.getByText('done', { exact: true }).first().waitFor()
  expect(await isSame(page)).toBe(true)
  expect((await company.onPlatform()).get('e0003')?.email).toBe('e3.new@example.com')
  const { rows } = await company.db.query(
    `select name, requested_by, arguments from dirsync.command where name = 'resync'`,
  )
  expect(rows).toContainEqual({
    name: 'resync',
    requested_by: expect.stringContaining('console:'),
    arguments: expect.objectContaining({ keys: ['e0003'] }),
  })
})

test('a reviewer sees one value for a reason, which the audit keeps; the value stands nowhere else', async () => {
  const page = await open('/employees/e0004', { role: 'reviewer' })
  await page.locator('summary', { hasText: 'Show a value' }).click()
  await page.getByLabel('Field').selectOption('mobile')
  await page.getByLabel('Reason').fill('the employee called about it')
  await page.getByRole('button', { name: 'Show a value' }).click()
  await page.getByText(person(4).mobile).waitFor()
  expect(page.url()).not.toContain(person(4).mobile)
  await screenshot(page, 'employee-revealed')
  const { rows } = await company.db.query(
    `select requested_by, address, arguments from dirsync.command where name = 'reveal'`,
  )
  expect(rows).toMatchObject([
    {
      requested_by: expect.stringContaining('console:'),
      address: '127.0.0.1',
      arguments: { userid: 'e0004', field: 'mobile', reason: 'the employee called about it' },
    },
  ])
  expect(JSON.stringify(rows)).not.toContain(person(4).mobile)
  await page.getByText('Back to the employee').click()
  await page.getByText('In sync: the platform').waitFor()
  expect(await page.content()).not.toContain(person(4).mobile)
})

test('a viewer is not offered to see a value, and is refused', async () => {
  const page = await open('/employees/e0004', { role: 'viewer' })
  await page.getByText('In sync: the platform').waitFor()
  expect(await page.getByText('Show a value').count()).toBe(0)
  const answer = await page.request.post(`${service.url}/employees/e0004/reveal`, {
    form: { field: 'mobile', reason: 'curious' },
    headers: { 'sec-fetch-site': 'same-origin', accept: 'text/html' },
  })
  expect(answer.status()).toBe(403)
  expect(await answer.text()).not.toContain(person(4).mobile)
})

test('an admin sees the whole row for a reason; nobody else is offered or given it', async () => {
  const operator = await open('/employees/e0004', { role: 'operator' })
  await operator.locator('summary', { hasText: 'Show a value' }).click()
  expect(await operator.getByLabel('Field').textContent()).not.toContain('all of them')
  const answer = await operator.request.post(`${service.url}/employees/e0004/reveal`, {
    form: { field: 'all', reason: 'curious' },
    headers: { 'sec-fetch-site': 'same-origin', accept: 'text/html' },
  })
  expect(answer.status()).toBe(403)
  expect(await answer.text()).not.toContain(person(4).mobile)

  const page = await open('/employees/e0004', { role: 'admin' })
  await page.locator('summary', { hasText: 'Show a value' }).click()
  await page.getByLabel('Field').selectOption('all')
  await page.getByLabel('Reason').fill('an audit of the mapping')
  await page.getByRole('button', { name: 'Show a value' }).click()
  for (const value of [person(4).mobile, person(4).email, person(4).name])
    await page.getByText(value, { exact: true }).first().waitFor()
  await screenshot(page, 'employee-row')
})

test('whatever HR and the platform deliver is shown as text, and breaks nothing', async () => {
  await company.hr.query(
    `insert into person (userid, name, mobile, email, dept_code, entry_day, level, active)
     values ($1, $2, '19900005555', 'hostile@example.com', $3, '2020-01-01', $4, true)`,
    [`h<b>"'&`, SCRIPT, 'D1', `${SCRIPT}${RIGHT_TO_LEFT}`],
  )
  await company.hr.query(
    `insert into person (userid, name, mobile, dept_code, entry_day, active)
     values ('long', $1, '19900005556', $2, '2020-01-01', true)`,
    ['x'.repeat(10_000), `${SCRIPT}${'y'.repeat(10_000)}`],
  )
  const userid = `h<b>"'&`
  const onPlatform = {
    userid,
    name: SCRIPT,
    mobile: '19900005555',
    mobile_area: 86,
    dept_code: 'D1',
    level: `</table>${SCRIPT}`,
  }
  await company.run('changes')
  await company.control('POST', 'employees', [onPlatform])
  const page = await open(`/employees/${encodeURIComponent(userid)}`, { role: 'reviewer', width: 390 })
  await page.getByRole('button', { name: 'Compare now' }).click()
  await page.getByText(`</table>${SCRIPT}`).first().waitFor()
  expect(await page.title()).not.toBe('x')
  await expectFitsPhone(page)
  await screenshot(page, 'employee-hostile')
  // What the platform says ends up in the message of a case.
  await company.db.query(
    `update dirsync.dead_letter set message = $1, remedy = $1, blocked_by = $2 where entity_key = 'long'`,
    [toStore(inWords(`${SCRIPT}${'z'.repeat(2000)}`)), `"><img src=x onerror=alert(1)>`],
  )
  await page.goto('/employees/long')
  await page.getByText('The HR row breaks rules').waitFor()
  await page.getByText(`${SCRIPT}z`).first().waitFor()
  expect(await page.title()).not.toBe('x')
  await expectFitsPhone(page)
  expect((await page.content()).length).toBeLessThan(100_000)
})

test('the list is filtered by status and by the beginning of a user id', async () => {
  const page = await open('/employees', { role: 'viewer' })
  await page.getByRole('link', { name: 'e0007' }).waitFor()
  await screenshot(page, 'employees')
  await page.getByRole('link', { name: /in review/ }).click()
  await page.getByRole('link', { name: 'long' }).waitFor()
  expect(await page.getByRole('link', { name: 'e0007' }).count()).toBe(0)
  await page.goto('/employees')
  await page.getByLabel('Person').fill('e001')
  await page.getByRole('button', { name: 'Apply' }).click()
  await page.getByRole('link', { name: 'e0011' }).waitFor()
  expect(await page.getByRole('link', { name: 'e0007' }).count()).toBe(0)
  await page.goto('/employees?q=nobody')
  await page.getByText('No known user id begins with “nobody”.').waitFor()
})

test('an employee that no run has seen is distinguished from an unknown one', async () => {
  await company.hr.query(
    `insert into person (userid, name, dept_code, entry_day, active) values ('newcomer', 'N', 'D1', '2020-01-01', true)`,
  )
  const page = await open('/employees/newcomer')
  await page.getByText('No run has seen the employee yet.').waitFor()
  await page.goto('/employees/nobody')
  await page.getByText('Neither HR nor dirsync has').waitFor()
})

test('the search leads to the one hit, and groups several', async () => {
  const page = await newPage({ role: 'viewer' })
  const searchFor = async (text: string) => {
    await page.goto('/employees')
    await page.keyboard.press('/')
    await page.keyboard.type(text)
    await page.keyboard.press('Enter')
  }
  await searchFor('e0007')
  await page.waitForURL('**/employees/e0007')
  await searchFor('e000')
  await page.getByRole('heading', { name: 'Found for “e000”' }).waitFor()
  await page.getByRole('link', { name: 'e0009' }).waitFor()
  await screenshot(page, 'search')
  await searchFor('nothing of that name')
  await page.getByText('Search for a case (#17)').waitFor()
  const found = async (q: string) =>
    (
      await page.request.get(`${service.url}/search?q=${encodeURIComponent(q)}`, { maxRedirects: 0 })
    ).headers().location
  const { rows } = await company.db.query('select max(id)::int as id from dirsync.dead_letter')
  expect(await found(`#${rows[0].id}`)).toBe(`/cases/${rows[0].id}`)
  expect(await found('run 1')).toBe('/runs/1')
  expect(await found('第 1 号同步任务')).toBe('/runs/1')
  expect(await found('D3')).toBe('/departments?under=D3')
  expect(await found('e0007')).toBe('/employees/e0007')
})

test.each(LANGUAGES)('the screens are accessible in %s', async language => {
  const page = await newPage({ language })
  await expectPagesAccessible(page, ['/employees', '/employees/e0003', '/employees/long', '/search?q=e'])
})

test('on a phone and without JavaScript an employee can be read and explained', async () => {
  const page = await newPage({ ...PHONE, javaScript: false })
  await expectPagesFitPhone(page, ['/employees', '/employees/e0003', '/employees/long', '/search?q=e'])
  await page.goto('/employees/e0005')
  await page.getByRole('button', { name: 'Compare now' }).click()
  await page.getByText('Nothing would be sent now.').waitFor()
  await screenshot(page, 'employee-phone')
})
