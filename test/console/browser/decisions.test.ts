// @module-tag chromium

import { beforeAll, expect, test } from 'vitest'
import { createCompany, endOf, until } from '../../helpers/company.ts'
import { duringFile } from '../../helpers/during.ts'
import { consoleInBrowser, expectAccessible, screenshot } from './browser.ts'

const company = duringFile(() =>
  createCompany({
    employees: 30,
    settings: { BREAKER_EMPLOYEES: '5', BREAKER_EMPLOYEES_PERCENT: '10' },
  }),
)
const { open } = consoleInBrowser(company)

beforeAll(async () => {
  await company.run('full')
})

const hr = (text: string) => company.hr.query(text)
const status = async (userid: string) =>
  (await company.db.query('select status from dirsync.employee where userid = $1', [userid])).rows[0].status
/** Every run has been planned and has ended, or is held. */
const quiet = () =>
  until(async () => {
    const { rowCount } = await company.db.query(
      `select from dirsync.sync_run where state not in ('held') and finished_at is null limit 1`,
    )
    return rowCount === 0
  })

let held: number

test('a held employee is not in sync, on any screen', async () => {
  await hr(`update person set name = 'Renamed' where userid <= 'e0007'`)
  const run = await company.run('changes')
  expect(run.state).toBe('held')
  held = run.id
  const page = await open('/')
  await page.getByText('waiting for a decision').first().waitFor()
  expect(await page.getByText('73.3').count()).toBeGreaterThan(0)
  await expectAccessible(page)
  await screenshot(page, 'hold-1-overview')
  await page.goto('/employees?status=held')
  await expectAccessible(page)
  await screenshot(page, 'hold-2-list')
  await page.goto('/employees/e0003')
  await page.getByText(`Nothing is sent until run ${held} is decided`).waitFor()
  await expectAccessible(page)
  await screenshot(page, 'hold-3-employee')
  await page.goto(`/runs/${held}/plan`)
  await page.getByText('8 of 30 employees would change').first().waitFor()
  await screenshot(page, 'hold-4-plan')
})

test('an employee synced by name is in sync at once, even while others are held', async () => {
  const page = await open('/employees/e0003')
  await page.getByRole('button', { name: 'Sync now' }).click()
  // All that the page says at the moment at which its headline turns.
  const text = await page
    .locator('body', { hasText: 'In sync: the platform has confirmed what HR has.' })
    .textContent()
  expect(text).not.toContain(`waiting for the decision about run ${held}`)
  expect(text).not.toContain('Not reached')
  const { rows } = await company.db.query('select max(id) as id from dirsync.sync_run')
  expect(await page.locator('#story').textContent()).toContain(`#${rows[0].id}`)
  expect(await status('e0003')).toBe('in_sync')
  await screenshot(page, 'sync-now')
})

test('a rejection says by whom and why, and all others go on', async () => {
  await hr(`update person set name = 'Somebody else' where userid = 'e0020'`)
  const page = await open(`/runs/${held}/plan`)
  await page.locator('summary', { hasText: 'Reject' }).click()
  await page.locator('details.action[open]').getByLabel('Reason').fill('wrong column in HR')
  await page.getByRole('button', { name: 'Reject', exact: true }).click()
  await page.getByText(`Run ${held} is rejected`).waitFor()
  await quiet()
  expect(await status('e0020')).toBe('in_sync')
  await page.goto('/employees/e0004')
  await page.getByText(`test-admin rejected the change with run ${held}: wrong column in HR`).waitFor()
  await expectAccessible(page)
  await screenshot(page, 'reject-1-employee')
  const next = await company.run('changes')
  expect(next.state).toBe('done')
  await page.goto('/')
  await page.getByText('change rejected').first().waitFor()
  await screenshot(page, 'reject-2-overview')
  await page.goto(`/runs/${held}/plan`)
  await page.getByText('wrong column in HR').first().waitFor()
  await page.getByText('Decided by test-admin,').waitFor()
  await page.getByRole('heading', { name: 'Why it was held' }).waitFor()
  await page.getByRole('heading', { name: 'What was planned' }).waitFor()
  expect(await page.getByText('Would change').count()).toBe(0)
  await screenshot(page, 'reject-3-plan')
})

test('an ignored case is a difference that a person accepted', async () => {
  await company.control('POST', 'faults', [
    {
      operation: 'employee/update',
      match: { userid: 'e0025' },
      code: 1002218004,
      message: 'the e-mail exists',
    },
  ])
  await hr(`update person set email = 'taken@example.com' where userid = 'e0025'`)
  await company.run('changes')
  await company.control('DELETE', 'faults')
  await quiet()
  const { rows } = await company.db.query(
    `select id from dirsync.dead_letter where entity_key = 'e0025' and state <> 'resolved'`,
  )
  await company.db.query(`select dirsync.ignore($1, 'they share it')`, [rows[0].id])
  expect(await status('e0025')).toBe('accepted')
  const page = await open('/employees/e0025')
  await page.getByText('the case was ignored').waitFor()
  await expectAccessible(page)
  await screenshot(page, 'ignore-1-employee')
  await page.goto('/')
  await page.getByText('difference accepted').first().waitFor()
  await screenshot(page, 'ignore-2-overview')
})

test('a column that turned empty is reported as a fault in HR, and changes no one', async () => {
  await hr('update person set email = null')
  const { id, state } = await company.run('changes')
  expect(state).toBe('source_suspect')
  await endOf(company.db, id)
  const page = await open(`/runs/${id}`)
  await page.getByText('email turned empty for more than 20 %').first().waitFor()
  await screenshot(page, 'emptied-1-run')
  await page.goto('/')
  await page.getByText('email turned empty').first().waitFor()
  await screenshot(page, 'emptied-2-overview')
})
