// @module-tag chromium

import { beforeAll, expect, test } from 'vitest'
import { createCompany } from '../../helpers/company.ts'
import { duringFile } from '../../helpers/during.ts'
import {
  consoleInBrowser,
  expectPagesAccessible,
  expectPagesFitPhone,
  LANGUAGES,
  PHONE,
  screenshot,
} from './browser.ts'

const company = duringFile(() => createCompany({ employees: 12 }))
const { newPage, open, service } = consoleInBrowser(company)

const SCRIPT = '<script>document.title="x"</script>'
const OTHER = `select userid,
       case when userid = 'e0003' then 'Q' || name else name end as name,
       mobile, email, dept_code, entry_day, level, cost_center_id,
       case when userid = 'e0007' then false else active end as active
from person
where userid <> 'e0005'`

beforeAll(async () => {
  await company.run('full')
  await company.hr.query(
    `insert into person (userid, name, dept_code, entry_day, active)
     values ('broken', $1, 'D1', '2020-01-01', true)`,
    ['n'.repeat(300)],
  )
  await company.hr.query(
    `insert into person (userid, name, dept_code, entry_day, level, active)
     values ('hostile', 'H', 'D1', '2020-01-01', $1, true)`,
    [SCRIPT],
  )
  await company.run('changes')
})

test('each column is shown with what it becomes, how full it is, and its rule breaks', async () => {
  const page = await open('/mapping', { role: 'viewer' })
  const row = (column: string) =>
    page
      .locator('tbody tr')
      .filter({ has: page.getByText(column, { exact: true }) })
      .first()
  await row('cost_center_id').getByText('100%').waitFor()
  await row('mobile').getByText('mobile number').waitFor()
  const broken = row('name').getByRole('link', { name: '1' })
  expect(await broken.getAttribute('href')).toBe('/cases?categories=invalid_hr_row&field=name')
  await page.getByText('Unmanaged fields').waitFor()
  await page.getByText('select userid, name, mobile').waitFor()
  expect(await page.getByText('Try one employee').count()).toBe(0)
  await screenshot(page, 'mapping')
})

test('an operator tries one employee: values are masked, and broken rules are named', async () => {
  const page = await newPage({ role: 'operator' })
  const tryOne = async (userid: string) => {
    await page.goto('/mapping')
    await page.locator('summary', { hasText: 'Try one employee' }).click()
    await page.getByLabel('User id').fill(userid)
    await page.getByRole('button', { name: 'Try one employee' }).click()
  }
  await tryOne('e0002')
  await page.locator('#tried').getByText('199****0002').waitFor()
  await tryOne('broken')
  await page.locator('#tried').getByText('The HR row breaks rules').waitFor()
  await page.locator('#tried').getByText('**** (300 characters)').waitFor()
  await screenshot(page, 'mapping-tried')
  await tryOne('hostile')
  await page.locator('#tried').getByText(SCRIPT).waitFor()
  expect(await page.title()).not.toBe('x')
  await tryOne('nobody')
  await page.locator('#tried').getByText('HR has no row').waitFor()
})

test('a dry run of another SELECT shows exactly the planted differences, and sends nothing', async () => {
  const page = await newPage({ role: 'operator' })
  const before = (await company.control<{ lastId: number }>('GET', 'calls?limit=1')).lastId
  await page.goto('/mapping/dry-runs')
  expect(await page.getByLabel('SELECT of employees').inputValue()).toContain('from person')
  await page.getByLabel('SELECT of employees').fill(OTHER)
  await page.getByRole('button', { name: 'See what it would change' }).click()
  await page.waitForURL('**/mapping/dry-runs/*')
  await page.getByText('The SELECT changes something for 3 employees.').waitFor()
  await page
    .getByText(/^It is not the mapping in use\. To adopt it, put it into .*\.sql\. The next run reads it\.$/)
    .waitFor()
  const rows = page.locator('tbody tr').filter({ has: page.getByRole('link', { name: /^e\d+ / }) })
  expect(await rows.allTextContents()).toEqual([
    expect.stringMatching(/e0003 Person 3\s*change.*P\*.*Q\*/s),
    expect.stringMatching(/e0005 Person 5\s*disappear/),
    expect.stringMatching(/e0007 Person 7\s*disappear/),
  ])
  await screenshot(page, 'dry-run')
  await page.getByRole('link', { name: 'change', exact: true }).click()
  await page.getByRole('link', { name: 'e0003' }).waitFor()
  expect(await page.getByRole('link', { name: 'e0005' }).count()).toBe(0)
  expect((await company.control<{ lastId: number }>('GET', 'calls?limit=1')).lastId).toBe(before)
  const { rows: commands } = await company.db.query(
    `select requested_by, address from dirsync.command where name = 'dry_run' order by id desc limit 1`,
  )
  expect(commands).toMatchObject([
    { requested_by: expect.stringContaining('console:'), address: '127.0.0.1' },
  ])
})

test('whoever is about to start a run sees first what it would do', async () => {
  const page = await open('/runs/new', { role: 'operator' })
  await page.getByRole('button', { name: 'See first what it would do' }).click()
  await page.waitForURL('**/mapping/dry-runs/*')
  await page.getByText('A run at that time would have found nothing to do.').waitFor()
  await company.hr.query(`update person set name = 'Another' where userid in ('e0001', 'e0002')`)
  await page.goto('/runs/new')
  await page.getByRole('button', { name: 'See first what it would do' }).click()
  await page.getByText('A run at that time would have planned 2 employees.').waitFor()
  await page.getByText('It is the mapping in use: there is nothing to adopt.').waitFor()
  await screenshot(page, 'dry-run-in-use')
})

test('a SELECT that HR refuses is told with line and column, and its text is kept', async () => {
  const page = await open('/mapping/dry-runs', { role: 'operator' })
  const wrong = 'select userid, name,\n       nonsense, active\nfrom person'
  await page.getByLabel('SELECT of employees').fill(wrong)
  await page.getByRole('button', { name: 'See what it would change' }).click()
  await page.getByText('The SELECT is wrong at line 2, column 8.').waitFor()
  await page.locator('mark', { hasText: 'nonsense, active' }).waitFor()
  expect(await page.getByLabel('SELECT of employees').inputValue()).toBe(wrong)
  await screenshot(page, 'dry-run-wrong')
})

test('a SELECT that is the mapping in use leaves nothing to adopt', async () => {
  const page = await open('/mapping/dry-runs', { role: 'operator' })
  await page.getByRole('button', { name: 'See what it would change' }).click()
  await page.getByText('It is the mapping in use: there is nothing to adopt.').waitFor()
})

test('a text that is not one SELECT is refused at once, and kept', async () => {
  const page = await open('/mapping/dry-runs', { role: 'operator' })
  const two = `select 1;\ndrop table person -- ${SCRIPT}`
  await page.getByLabel('SELECT of employees').fill(two)
  const answered = page.waitForResponse(response => response.request().method() === 'POST')
  await page.getByRole('button', { name: 'See what it would change' }).click()
  expect((await answered).status()).toBe(422)
  await page.getByText('The SELECT is wrong at line 2, column 1.').waitFor()
  await page.getByText('a second statement begins').waitFor()
  expect(await page.getByLabel('SELECT of employees').inputValue()).toBe(two)
  expect(await page.title()).not.toBe('x')
  await screenshot(page, 'dry-run-refused')
})

test('a program is answered with a problem document, and a reviewer is refused', async () => {
  const page = await newPage({ role: 'operator' })
  const ask = (mapping: string) =>
    page.request.post(`${service.url}/api/v1/mapping/dry-runs`, {
      data: { mapping },
      headers: { 'sec-fetch-site': 'same-origin' },
    })
  const refused = await ask('select 1; select 2')
  expect(refused.status()).toBe(422)
  expect(await refused.json()).toMatchObject({ detail: expect.stringContaining('a second statement begins') })
  const reviewer = await open('/mapping/dry-runs', { role: 'reviewer' })
  await reviewer.getByText('An operator can test another SELECT here').waitFor()
  const answer = await reviewer.request.post(`${service.url}/mapping/dry-runs`, {
    form: { mapping: 'select 1' },
    headers: { 'sec-fetch-site': 'same-origin' },
  })
  expect(answer.status()).toBe(403)
})

const PAGES = ['/mapping', '/mapping/dry-runs', '/mapping/dry-runs/1', '/mapping/dry-runs/2']

test.each(LANGUAGES)('the mapping and dry runs are accessible in %s', async language => {
  const page = await newPage({ language })
  await expectPagesAccessible(page, PAGES)
})

test('the mapping fits a phone, without JavaScript', async () => {
  const page = await newPage({ ...PHONE, javaScript: false })
  await expectPagesFitPhone(page, PAGES)
})
