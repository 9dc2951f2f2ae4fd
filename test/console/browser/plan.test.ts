// @module-tag chromium

import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'
import { createCompany, endOf, until } from '../../helpers/company.ts'
import { duringFile } from '../../helpers/during.ts'
import {
  consoleInBrowser,
  expectFitsPhone,
  expectPagesAccessible,
  LANGUAGES,
  PHONE,
  screenshot,
  tabTo,
} from './browser.ts'

const EVIL = '<img src=x onerror=alert(1)>'

const company = duringFile(() =>
  createCompany({
    employees: 30,
    settings: { BREAKER_EMPLOYEES: '5', BREAKER_EMPLOYEES_PERCENT: '10', GATE_MAX_EMPTIED: '100' },
  }),
)
const { newPage, open } = consoleInBrowser(company)

beforeAll(async () => {
  await company.run('full')
})

/** Changes the e-mail addresses of some employees in HR, more than pass by themselves. */
async function hold(host: string, from: number, to: number): Promise<number> {
  // A rejection asks for the next run, which could find these changes first and be held in place of this one.
  await until(async () => {
    const { rowCount } = await company.db.query(
      `select from dirsync.sync_run where state in ('requested', 'planning')`,
    )
    return rowCount === 0 || null
  })
  await company.hr.query(
    `update person set email = userid || '@' || $1 where userid >= $2 and userid <= $3`,
    [host, `e${String(from).padStart(4, '0')}`, `e${String(to).padStart(4, '0')}`],
  )
  const { id, state } = await company.run('changes')
  expect(state).toBe('held')
  return id
}

/** Employees that were sent, with an address at this host, since a call of the emulator's log: a decision asks for the next run, which sends others. */
async function sentSince(since: number, host = ''): Promise<string[]> {
  const { calls } = await company.control<{ calls: { params: { userid?: string; email?: string } }[] }>(
    'GET',
    `calls?since=${since}&operation=employee/update`,
  )
  return calls
    .filter(({ params }) => String(params.email).endsWith(host))
    .map(({ params }) => String(params.userid))
    .sort()
}

async function lastCall(): Promise<number> {
  const { calls } = await company.control<{ calls: { id: number }[] }>('GET', 'calls?limit=10000')
  return calls.at(-1)?.id ?? 0
}

/** The user ids in the list of a plan; their names stand behind them. */
async function listed(page: Page): Promise<string[]> {
  const texts = await page.locator('#entities td.main').allInnerTexts()
  return texts.map(text => text.split(/\s/)[0] ?? '')
}

async function unfold(page: Page, action: string): Promise<void> {
  await page.locator('summary', { hasText: action }).click()
}

test('held, looked at, approved: exactly what the plan shows is sent', async () => {
  const run = await hold('held.example', 0, 9)
  // One row changes before the approval: it is left to the next plan.
  await company.hr.query(`update person set email = 'later@example.com' where userid = 'e0004'`)
  const page = await open('/', { role: 'operator' })
  await page.getByRole('link', { name: /Look at its plan/ }).click()
  await page.waitForURL(`**/runs/${run}/plan`)
  await page.getByText('10 of 30 employees would change').waitFor()
  await page.getByText('more than 5 and 10 %').waitFor()
  await page.locator('tr', { hasText: 'E-mail address' }).first().waitFor()
  await page.locator('tr', { hasText: 'e0004' }).getByText('changed in HR since: not sent').waitFor()
  const masked = await page.locator('tr', { hasText: 'e0003' }).textContent()
  expect(masked).toContain('e-mail address')
  expect(masked).not.toContain('e0003@held.example')
  await screenshot(page, 'plan')

  const download = page.waitForEvent('download')
  await page.getByRole('link', { name: 'Download CSV' }).click()
  const csv = await readFile(await (await download).path(), 'utf8')
  const shown = await listed(page)
  expect(shown).toHaveLength(10)
  expect(
    csv
      .trim()
      .split('\r\n')
      .slice(1)
      .map(line => line.split(',')[1]),
  ).toEqual(shown)
  expect(csv).toContain(',e0003,changed,D3,email,false')
  expect(csv).toContain(',e0004,changed,')
  expect(csv).not.toContain('held.example')

  const before = await lastCall()
  await unfold(page, 'Approve this plan')
  await page.locator('details.action[open]').getByLabel('Reason').fill('a new mail domain')
  await page.getByRole('button', { name: 'Approve this plan' }).click()
  await page.getByText(`Run ${run} is approved`).waitFor()
  expect((await endOf(company.db, run)).state).toBe('done')
  expect(await sentSince(before, 'held.example')).toEqual(shown.filter(key => key !== 'e0004'))
  const { rows } = await company.db.query(
    `select name, reason, address is not null as told from dirsync.command where run_id = $1 order by id`,
    [run],
  )
  expect(rows.at(-1)).toEqual({ name: 'approve', reason: 'a new mail domain', told: true })
  await page.getByText('a new mail domain').first().waitFor()
  await page.goto(`/runs/${run}/plan`)
  await page.getByText('Decided by').waitFor()
  await page.getByRole('heading', { name: 'What was approved' }).waitFor()
  await company.run('changes')
})

test('filters find single employees, by key, department and reason', async () => {
  await company.hr.query(`update person set dept_code = $1 where userid = 'e0012'`, [EVIL])
  const run = await hold('filtered.example', 10, 19)
  const page = await open(`/runs/${run}/plan`)
  await page.getByLabel('User id').fill('e0012')
  await page.getByRole('button', { name: 'Apply' }).click()
  await page.waitForURL(/key=e0012/)
  expect(await listed(page)).toEqual(['e0012'])
  // What HR delivers is text, whatever it is.
  await page.getByRole('cell', { name: EVIL }).last().waitFor()
  await page.goto(`/runs/${run}/plan`)
  await page.getByRole('region', { name: 'By department' }).getByRole('link', { name: 'D3' }).click()
  await page.waitForURL(/department=D3/)
  expect(await listed(page)).toEqual(['e0013', 'e0018'])
  await page.getByRole('link', { name: 'Download CSV of this filter' }).waitFor()
  await page
    .getByRole('region', { name: 'By move' })
    .getByRole('link', { name: /^D2 → / })
    .click()
  await page.waitForURL(/from=D2&department=/)
  expect(await listed(page)).toEqual(['e0012'])
  await screenshot(page, 'plan-move')

  for (const language of LANGUAGES)
    await expectPagesAccessible(await newPage({ language }), [`/runs/${run}/plan`])
})

test('rejected with a reason, nothing is sent; the second who decides is told who did', async () => {
  const run = await heldRun()
  const before = await lastCall()
  const first = await newPage({ role: 'operator' })
  const second = await newPage({ role: 'admin' })
  for (const page of [first, second]) await page.goto(`/runs/${run}/plan`)
  await unfold(second, 'Approve this plan')
  await unfold(first, 'Reject')
  await first.locator('details.action[open]').getByLabel('Reason').fill('HR is being mended')
  await first.getByRole('button', { name: 'Reject', exact: true }).click()
  await first.getByText(`Run ${run} is rejected`).waitFor()
  await second.getByRole('button', { name: 'Approve this plan' }).click()
  await second.getByRole('heading', { name: 'It has changed since you looked' }).waitFor()
  await second.getByText(/was rejected by .* \(HR is being mended\)/).waitFor()
  expect(await sentSince(before)).toEqual([])
})

async function heldRun(): Promise<number> {
  const { rows } = await company.db.query<{ id: number }>(
    `select id from dirsync.sync_run where state = 'held' order by id desc limit 1`,
  )
  if (!rows[0]) throw new Error('no run is held')
  return rows[0].id
}

test('a viewer looks and is offered no decision; a phone without JavaScript is enough to decide', async () => {
  const run = await hold('phone.example', 20, 29)
  const viewer = await open(`/runs/${run}/plan`, { role: 'viewer' })
  await viewer.getByText('What is planned').first().waitFor()
  expect(await viewer.getByText('Approve this plan').count()).toBe(0)
  expect(await viewer.locator('summary', { hasText: 'Reject' }).count()).toBe(0)

  const phone = await open(`/runs/${run}/plan`, {
    role: 'operator',
    ...PHONE,
    javaScript: false,
  })
  await expectFitsPhone(phone)
  await screenshot(phone, 'plan-phone')
  await unfold(phone, 'Approve this plan')
  await phone.getByRole('button', { name: 'Approve this plan' }).click()
  await phone.getByText(`Run ${run} is approved`).waitFor()
  await until(async () => (await endOf(company.db, run)).state === 'done')
})

test('names are read plainly by those who may, old and new; other values are revealed with a reason', async () => {
  await company.hr.query(`update person set name = 'Hilda Kim' where userid = 'e0021'`)
  const run = await hold('names.example', 20, 29)
  const viewer = await newPage({ role: 'viewer' })
  const page = await newPage({ role: 'reviewer' })
  for (const [one, name] of [
    [viewer, 'name → H*'],
    [page, 'name → Hilda Kim'],
  ] as const) {
    await one.goto(`/runs/${run}/plan?key=e0021`)
    await one.locator('#entities').getByText(name).waitFor()
  }
  expect(await viewer.content()).not.toContain('Hilda')
  expect(await viewer.locator('#entities').getByText('Show a value').count()).toBe(0)
  await page.getByRole('button', { name: 'Ask the platform for the old values' }).click()
  await page.getByText('name Person 21 → Hilda Kim').waitFor()
  await screenshot(page, 'plan-names')
  const row = page.locator('#entities tr', { hasText: 'e0021' })
  await row.locator('summary').click()
  await row.getByLabel('Reason').fill('is it her?')
  await row.getByRole('button').click()
  await page.getByText('e0021@names.example').waitFor()
  const { rows } = await company.db.query(
    `select arguments ->> 'field' as field, reason from dirsync.command where name = 'reveal'`,
  )
  expect(rows).toEqual([{ field: 'email', reason: 'is it her?' }])
  await company.db.query(`select dirsync.reject($1, 'seen')`, [run])
})

test('Enter in the reason of a part decides nothing', async () => {
  const run = await hold('enter.example', 10, 19)
  const page = await open(`/runs/${run}/plan`, { role: 'operator' })
  await page.getByRole('checkbox', { name: 'Tick e0010' }).check()
  const reason = page.getByRole('form', { name: 'Decide about a part' }).getByLabel('Reason')
  await reason.fill('not that one')
  await reason.press('Enter')
  await page.getByRole('button', { name: 'Reject ticked rows' }).click()
  await page.getByText('1 row is rejected and not sent').waitFor()
  const { rows } = await company.db.query(
    'select approved, why from dirsync.plan_decision where run_id = $1',
    [run],
  )
  expect(rows).toEqual([{ approved: false, why: 'not that one' }])
  await company.db.query(`select dirsync.reject($1, 'seen')`, [run])
})

test('filtered, ticked and approved in part, with old values from the platform; the rest is rejected', async () => {
  const run = await hold('parts.example', 0, 9)
  const before = await lastCall()
  const page = await open(`/runs/${run}/plan`, { role: 'operator' })
  await page.getByRole('region', { name: 'By department' }).getByRole('link', { name: 'D3' }).click()
  await page.waitForURL(/department=D3/)
  await page.getByRole('button', { name: 'Ask the platform for the old values' }).click()
  await page.waitForURL(/plan\/ask/)
  const asked = await page.locator('tr', { hasText: 'e0003' }).locator('code').allInnerTexts()
  expect(asked).toEqual([expect.stringMatching(/^e\*+@/), 'e***@parts.example'])
  // What happens then does not take the answer away, nor ask for it again.
  await company.db.query(`select dirsync.pause('a test looks')`)
  await page.locator('.state-bar').getByText('a test looks').waitFor()
  expect(await page.locator('[hx-get*="/plan/ask"], a[href*="/plan/ask"]').count()).toBe(0)
  expect(await page.getByText('This page cannot be updated').isVisible()).toBe(false)
  await company.db.query('select dirsync.resume()')
  await screenshot(page, 'plan-asked')
  await page.goto(`/runs/${run}/plan?department=D3`)
  await page.getByRole('checkbox', { name: 'Tick e0003' }).check()
  await screenshot(page, 'plan-part')
  await page.getByRole('button', { name: 'Approve ticked rows' }).click()
  await page.getByText(/1 row is approved and sent by run \d+; the rest stays held/).waitFor()
  await page.getByText('1 of 10 rows are decided. 9 rows are not: no plan sends them').waitFor()
  expect(await page.getByText('employees would change').count()).toBe(0)
  await page
    .getByRole('region', { name: 'By department' })
    .locator('tr', { hasText: 'D3' })
    .getByText('1', { exact: true })
    .waitFor()
  expect(await listed(page)).toHaveLength(9)
  await page.getByText('9 entries of its plan wait').waitFor()
  await until(async () => (await sentSince(before, 'parts.example')).length === 1 || null)
  expect(await sentSince(before, 'parts.example')).toEqual(['e0003'])

  await page.goto(`/runs/${run}/plan?key=e000`)
  await page.getByRole('button', { name: 'Reject 9 rows of this filter' }).click()
  expect(page.url()).toContain('key=e000') // it needs a reason
  await page.getByRole('form', { name: 'Decide about a part' }).getByLabel('Reason').fill('not those')
  // Meanwhile another person decides about one of them.
  await company.db.query(`select dirsync.reject_part($1, '{"keys": ["e0009"]}', 'not this')`, [run])
  await page.getByRole('button', { name: 'Reject 9 rows of this filter' }).click()
  await page
    .getByText(
      /The plan of run \d+ has another number of rows to decide about by now: 8, not the 9 that you saw/,
    )
    .waitFor()
  await page.goto(`/runs/${run}/plan?key=e000`)
  await page.getByRole('form', { name: 'Decide about a part' }).getByLabel('Reason').fill('not those')
  await page.getByRole('button', { name: 'Reject 8 rows of this filter' }).click()
  await page.getByText('8 rows are rejected and not sent').waitFor()
  await page.getByRole('heading', { name: 'Rejected, and still different today' }).waitFor()
  expect((await endOf(company.db, run)).state).toBe('done')
  await company.run('changes')
  expect(await sentSince(before, 'parts.example')).toEqual(['e0003'])
  await page.goto(`/runs/${run}/plan`)
  const sent = page.locator('#entities tr', { hasText: 'e0003' })
  await sent.getByText('approved, updated').waitFor()
  await company.hr.query(`update person set name = 'Another' where userid in ('e0003', 'e0004')`)
  await page.reload()
  await sent.getByText('e-mail address · HR has changed the row again since').waitFor()
  await sent.getByText('approved, updated').waitFor()
  expect(await page.locator('#entities').getByText('not sent').count()).toBe(0)
  const { id: later } = await company.run('changes')
  await page.reload()
  await page
    .locator('#entities tr', { hasText: 'e0004' })
    .getByText(`rejected, by run ${later}: updated`)
    .waitFor()
  await screenshot(page, 'plan-decided')
  const decisions = page.getByRole('region', { name: 'Decisions' })
  await decisions.getByText('user id begins with e000').waitFor()
  await page.goto('/runs')
  await page
    .locator('tr', { hasText: `#${run}` })
    .getByText('1 updated, 9 rejected')
    .waitFor()
  await page.goto(`/runs/${run}`)
  await page.getByText('1 updated, 9 rejected').waitFor()
  await page.goto(`/runs/${run + 1}/plan`)
  await page.getByText('This is the approved part of the plan').waitFor()
  await page.getByRole('region', { name: 'By department' }).getByText('D3').waitFor()
  for (const untrue of ['HR is being read', 'Why it was held', 'HR was not read again'])
    expect(await page.getByText(untrue).count()).toBe(0)
  for (const language of LANGUAGES)
    await expectPagesAccessible(await newPage({ language, role: 'operator' }), [
      `/runs/${run}/plan`,
      `/runs/${run}`,
    ])
})

test('a part by a person’s name decides about just them; no page but the form’s has the name', async () => {
  const run = await hold('by-name.example', 0, 9)
  const page = await open(`/runs/${run}/plan?decision=open`, { role: 'operator' })
  await unfold(page, 'Filter by name')
  await page.getByRole('searchbox', { name: 'Name in HR' }).fill('person 2')
  await page.keyboard.press('Enter')
  // The others of that name are not in the plan.
  await page.getByText(/Filtered by 1\d people whom HR has by that name\./).waitFor()
  await page.waitForURL(/decision=open&keys=e0002/)
  expect(page.url().toLowerCase()).not.toContain('person')
  expect(await listed(page)).toEqual(['e0002'])
  await page.getByRole('navigation', { name: 'People of this list' }).getByText('Person 20').waitFor()
  await screenshot(page, 'plan-by-name')
  for (const language of LANGUAGES)
    await expectPagesAccessible(await newPage({ language, role: 'operator' }), [
      new URL(page.url()).pathname + new URL(page.url()).search,
    ])
  await page.getByRole('form', { name: 'Decide about a part' }).getByLabel('Reason').fill('not her')
  await page.getByRole('button', { name: 'Reject 1 row of this filter' }).click()
  await page.getByText('1 row is rejected and not sent').waitFor()
  const { rows } = await company.db.query(
    'select filter, planned, approved from dirsync.plan_decision where run_id = $1',
    [run],
  )
  expect(rows).toEqual([{ filter: { keys: ['e0002'] }, planned: 1, approved: false }])
  await company.db.query(`select dirsync.reject($1, 'seen')`, [run])
})

test('by keys alone, a row is ticked and approved, and the rest stays held', async () => {
  const run = await hold('keys.example', 10, 19)
  const before = await lastCall()
  const page = await open(`/runs/${run}/plan`, { role: 'operator' })
  await tabTo(page, page.getByRole('checkbox', { name: 'Tick e0013' }))
  await page.keyboard.press('Space')
  await tabTo(page, page.getByRole('button', { name: 'Approve ticked rows' }))
  await page.keyboard.press('Enter')
  await page.getByText(/1 row is approved and sent by run \d+; the rest stays held/).waitFor()
  await until(async () => (await sentSince(before, 'keys.example')).length === 1 || null)
  expect(await sentSince(before, 'keys.example')).toEqual(['e0013'])
})
