// @module-tag chromium

import { beforeAll, expect, test } from 'vitest'
import { createCompany, endOf, until } from '../../helpers/company.ts'
import { duringFile } from '../../helpers/during.ts'
import {
  consoleInBrowser,
  expectPagesAccessible,
  expectPagesFitPhone,
  LANGUAGES,
  PHONE,
  screenshot,
} from './browser.ts'

const company = duringFile(() => createCompany({ employees: 12, settings: { DEPARTMENT_GRACE_HOURS: '24' } }))

const SCRIPT = '<script>document.title="x"</script>'

beforeAll(async () => {
  await company.hr.query(
    `insert into department (dept_code, parent_code, active, closed_at) values
       ('D0-1', 'D0', true, null), ('D0-1-1', 'D0-1', true, null), ($1, 'D0', true, null),
       ('OLD', 'D1', false, now() - interval '3 days'), ('SOON', 'D1', false, now() - interval '20 hours'),
       ('FULL', 'D1', false, now() - interval '3 days')`,
    [SCRIPT],
  )
  await company.control('POST', 'departments', [
    ...['OLD', 'SOON', 'FULL', 'D0-1', 'D0-1-1'].map(dept_code => ({ dept_code, dept_name: dept_code })),
  ])
  await company.hr.query(`update person set dept_code = 'FULL' where userid = 'e0009'`)
  await company.control('POST', 'employees', [
    { ...(await company.onPlatform()).get('e0009'), dept_code: 'FULL' },
  ])
})
const { newPage, open, service } = consoleInBrowser(company)
beforeAll(async () => {
  await company.run('full')
  // Knows the departments, and deletes none: the only one that may go is not due while calls are paused.
  await company.db.query(`select dirsync.pause('a test looks first')`)
  const { rows } = await company.db.query(`select dirsync.resync('departments') as id`)
  await until(async () => (await company.db.query('select from dirsync.pending')).rowCount === 1)
  await company.db.query(`select dirsync.cancel($1, 'a test looks first')`, [rows[0].id])
  await endOf(company.db, Number(rows[0].id))
  await company.db.query('select dirsync.resume()')
})

test('departments that go are listed with the time left, or what keeps them', async () => {
  const page = await open('/departments', { role: 'viewer' })
  const row = (code: string) => page.locator('#candidates tbody tr', { hasText: code })
  await row('OLD').getByText('due: the next run decides').waitFor()
  await row('SOON').getByText('in 4 h').waitFor()
  await row('FULL').getByText('kept while it has employees').waitFor()
  expect(await page.locator('#candidates tbody tr').count()).toBe(3)
  expect(await page.getByText('Delete departments').count()).toBe(0)
  await screenshot(page, 'departments')
})

test('the tree opens level by level, and leads to the employees of a department', async () => {
  const page = await open('/departments', { role: 'viewer' })
  await page.getByRole('link', { name: 'D0', exact: true }).click()
  await page.getByText(SCRIPT).waitFor()
  expect(await page.title()).not.toBe('x')
  await page.getByRole('link', { name: 'D0-1', exact: true }).click()
  await page.getByRole('link', { name: 'D0-1-1', exact: true }).waitFor()
  await page
    .getByRole('navigation', { name: 'The way from the top' })
    .getByRole('link', { name: 'D0' })
    .click()
  await page.locator('dl').getByRole('link').click()
  await page.waitForURL('**/employees?department=D0')
  await page.getByRole('link', { name: 'e0005' }).waitFor()
  expect(await page.getByRole('link', { name: 'e0006' }).count()).toBe(0)
})

test('an operator sees what a run would delete, and starts it with a reason', async () => {
  const page = await open('/departments', { role: 'operator' })
  await page.getByRole('link', { name: 'Delete departments' }).click()
  await page.getByText('A run would delete 1 department of 11.').waitFor()
  expect(await page.locator('tbody tr').count()).toBe(1)
  await page.getByRole('link', { name: 'OLD' }).waitFor()
  await screenshot(page, 'departments-run')
  await page.locator('summary', { hasText: 'Start the run' }).click()
  await page.getByLabel('Reason').fill('the year has ended')
  await page.getByRole('button', { name: 'Start the run' }).click()
  await page.waitForURL('**/runs/*')
  const id = Number(page.url().split('/').at(-1))
  expect((await endOf(company.db, id)).state).toBe('done')
  const { rows } = await company.db.query(
    'select deleted_at from dirsync.department where deleted_at is not null',
  )
  expect(rows).toHaveLength(1)
  const commands = await company.db.query(
    'select name, reason, requested_by from dirsync.command where run_id = $1',
    [id],
  )
  expect(commands.rows).toMatchObject([
    { name: 'resync', reason: 'the year has ended', requested_by: expect.stringContaining('console:') },
  ])
})

test('a viewer may not start it, nor ask what it would do', async () => {
  const page = await newPage({ role: 'viewer' })
  expect((await page.request.get(`${service.url}/departments/run`)).status()).toBe(403)
  const answer = await page.request.post(`${service.url}/departments/run`, {
    form: { reason: 'no' },
    headers: { 'sec-fetch-site': 'same-origin' },
  })
  expect(answer.status()).toBe(403)
})

test.each(LANGUAGES)('departments are accessible in %s', async language => {
  const page = await newPage({ language })
  await expectPagesAccessible(page, ['/departments', '/departments?under=D0-1', '/departments/run'])
})

test('departments fit a phone, without JavaScript', async () => {
  const page = await newPage({ ...PHONE, javaScript: false })
  await expectPagesFitPhone(page, ['/departments', '/departments?under=D0', '/departments/run'])
})
