// @module-tag chromium

import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import { transaction } from '../../../src/lib/database.ts'
import { createCompany, person, until } from '../../helpers/company.ts'
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
  tabTo,
  userOf,
} from './browser.ts'

const company = duringFile(() => createCompany({ employees: 30 }))
const { newPage, open } = consoleInBrowser(company)
/** The case of employee e0001, who is to get the mobile number of e0002. */
let duplicate: number

beforeAll(async () => {
  await company.run('full')
  await company.hr.query('update person set mobile = $1 where userid = $2', [person(2).mobile, 'e0001'])
  await company.run('changes')
  const { rows } = await company.db.query(
    `select id::int from dirsync.dead_letter where entity_key = 'e0001'`,
  )
  duplicate = rows[0].id
})

/** Cases that no run has made: what a long life of a deployment leaves behind. */
async function plant(count: number, given: Record<string, unknown> = {}): Promise<number[]> {
  const { rows } = await company.db.query(
    `insert into dirsync.dead_letter (entity, entity_key, operation, field, category, platform_code, trace_id,
                                      message, remedy, changed_fields, blocked_by, state, next_retry_at, assignee)
     select 'employee', coalesce(f.entity_key, f.prefix || n), 'update-employee', coalesce(f.field, ''),
            coalesce(f.category, 'missing_department'), f.platform_code, f.trace_id,
            jsonb_build_object('key', 'said.words', 'values', jsonb_build_object('words', coalesce(f.message, 'The platform does not know the department.'))),
            jsonb_build_object('key', 'said.words', 'values', jsonb_build_object('words', coalesce(f.remedy, 'Create the department on the platform, or correct it in HR.'))),
            coalesce(f.changed_fields, '[]'), f.blocked_by, coalesce(f.state, 'open'),
            now() + interval '7 days', f.assignee
     from generate_series(1, $1::int) n,
          jsonb_to_record($2) f (prefix text, entity_key text, field text, category text, platform_code bigint,
            trace_id text, message text, remedy text, changed_fields jsonb, blocked_by text, state text,
            assignee text)
     returning id::int`,
    [count, JSON.stringify({ prefix: 'planted-', ...given })],
  )
  return rows.map(row => row.id)
}

async function states(ids: number[]): Promise<Record<string, number>> {
  const { rows } = await company.db.query(
    'select state, count(*)::int as n from dirsync.dead_letter where id = any ($1) group by state',
    [ids],
  )
  return Object.fromEntries(rows.map(row => [row.state, row.n]))
}

/** Fills in the form above the list and asks for the preview. */
async function preview(
  page: Page,
  which: 'ids' | 'filter',
  action: string,
  fields: Record<string, string> = {},
) {
  const form = page.locator('form#act')
  await form.locator('[name=which]').selectOption(which)
  await form.locator('[name=action]').selectOption(action)
  for (const [name, value] of Object.entries(fields)) await form.locator(`[name=${name}]`).fill(value)
  await form.getByRole('button', { name: 'Preview' }).click()
  await page.getByText('Nothing has happened yet.').waitFor()
}

test('a case says what is wrong and what to do; mended and retried, it resolves before one’s eyes', async () => {
  const page = await open('/cases', { role: 'reviewer' })
  await page.getByRole('link', { name: 'e0001' }).click()
  await page.getByRole('heading', { name: `Case ${duplicate}` }).waitFor()
  await page.getByRole('link', { name: /mobile number taken/ }).waitFor()
  await screenshot(page, 'case')
  await company.hr.query('update person set mobile = $1 where userid = $2', ['19911112222', 'e0001'])
  await page.getByRole('button', { name: 'Retry' }).click()
  await page.getByText(`Case ${duplicate} is retried in run`).waitFor()
  await page.locator('.head .state.ok').getByText('resolved').waitFor()
  await page.getByText('There is nothing left to do.').waitFor()
  expect((await company.onPlatform()).get('e0001')?.mobile).toBe('19911112222')
  await screenshot(page, 'case-resolved')
})

test('a case is found by the name of its person, of whom the list can be freed again', async () => {
  await plant(1, { entity_key: 'e0007' })
  await plant(1, { entity_key: 'e0017' })
  const page = await open('/cases?categories=missing_department', { role: 'reviewer' })
  const find = async (name: string) => {
    await page.locator('summary', { hasText: 'Filter by name' }).click()
    await page.getByRole('searchbox', { name: 'Name in HR' }).fill(name)
    await page.keyboard.press('Enter')
  }
  await find('PERSON 7')
  await page.getByText('Filtered by one person whom HR has by that name.').waitFor()
  expect(page.url()).toMatch(/\/cases\?categories=missing_department&keys=e0007$/)
  expect(await page.locator('#list td.main').allInnerTexts()).toEqual([expect.stringContaining('e0007')])
  await screenshot(page, 'cases-by-name')
  for (const language of LANGUAGES)
    await expectPagesAccessible(await newPage({ language, role: 'reviewer' }), [
      new URL(page.url()).pathname + new URL(page.url()).search,
    ])
  // The other filters keep it.
  await page.getByRole('button', { name: 'Apply', exact: true }).last().click()
  await page.waitForURL(/keys=e0007/)
  await page.getByRole('link', { name: /e0007.*✕/ }).click()
  await page.waitForURL('**/cases?*categories=missing_department*')
  await page.locator('#list td.main', { hasText: 'e0017' }).waitFor()
  await find('No One')
  await page.locator('small.error', { hasText: 'HR has no one by that name.' }).waitFor()
  await page.locator('#list td.main', { hasText: 'e0017' }).waitFor()
  const phone = await open('/cases?keys=e0007,e0017', { role: 'reviewer', ...PHONE })
  await expectFitsPhone(phone)
})

test('by keys alone, a case is found, retried, and resolved', async () => {
  await company.hr.query('update person set mobile = $1 where userid = $2', [person(4).mobile, 'e0003'])
  await company.run('changes')
  const { rows } = await company.db.query<{ id: number }>(
    `select id from dirsync.dead_letter where entity_key = 'e0003'`,
  )
  const page = await open('/cases', { role: 'reviewer' })
  await page.keyboard.press('/')
  await page.keyboard.type(`#${rows[0]?.id}`)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: `Case ${rows[0]?.id}` }).waitFor()
  await company.hr.query('update person set mobile = $1 where userid = $2', ['19911113333', 'e0003'])
  await tabTo(page, page.getByRole('button', { name: 'Retry' }))
  await page.keyboard.press('Enter')
  await page.locator('.head .state.ok').getByText('resolved').waitFor()
  expect((await company.onPlatform()).get('e0003')?.mobile).toBe('19911113333')
})

test('keys go through the cases and tick one; ignoring is not sent before it has a reason', async () => {
  await plant(2, { prefix: 'keys-' })
  const page = await open('/cases', { role: 'reviewer' })
  await page.keyboard.press('j')
  await page.keyboard.press('x')
  expect(await page.locator('tr.at td.tick input').isChecked()).toBe(true)
  const form = page.locator('form#act')
  const reasonIsMissing = () =>
    form
      .locator('[name=reason]')
      .evaluate(input => (input as unknown as { validity: { valueMissing: boolean } }).validity.valueMissing)
  expect(await reasonIsMissing()).toBe(false)
  await form.locator('[name=action]').selectOption('ignore')
  expect(await reasonIsMissing()).toBe(true)
  await form.getByRole('button', { name: 'Preview' }).click()
  expect(new URL(page.url()).pathname).toBe('/cases')
  await preview(page, 'ids', 'ignore', { reason: 'known' })
})

test('two browsers act on the same case: the second is told who was quicker, and led back', async () => {
  const [id] = await plant(1, { prefix: 'conflict-' })
  const [first, second] = await Promise.all([
    newPage({ role: 'reviewer' }),
    newPage({ role: 'reviewer', language: 'zh-CN' }),
  ])
  await Promise.all([first.goto(`/cases/${id}`), second.goto(`/cases/${id}`)])
  // A form that a user has opened is not replaced.
  await second.locator('summary', { hasText: '暂缓' }).click()
  await first.locator('summary', { hasText: 'Ignore' }).click()
  await first.getByLabel('Reason', { exact: true }).fill('agreed with them')
  await first.getByRole('button', { name: 'Ignore' }).click()
  await first.getByText(`Case ${id} is closed as accepted.`).waitFor()
  const [response] = await Promise.all([
    second.waitForResponse(answer => answer.request().method() === 'POST'),
    second.getByRole('button', { name: '暂缓' }).click(),
  ])
  expect(response.status()).toBe(409)
  await second.getByText(/异常项 \d+ 在您查看之后已有变化。\S+：忽略/).waitFor()
  await screenshot(second, 'case-conflict')
  await second.getByRole('link', { name: '返回刚才的页面' }).click()
  await second.getByText('agreed with them').first().waitFor()
  expect(await states([id as number])).toEqual({ ignored: 1 })
})

test('a case is snoozed, assigned and commented on; the filter by assignee finds it', async () => {
  const [id] = await plant(1, { prefix: 'hands-' })
  const page = await open(`/cases/${id}`, { role: 'reviewer' })
  await page.getByRole('button', { name: 'Assign to me' }).click()
  await page.getByText(new RegExp(`Case ${id} is assigned to \\S+\\.`)).waitFor()
  await page.locator('summary', { hasText: 'Assign' }).click()
  await page.getByLabel('Assign to').fill(userOf('operator'))
  await page.getByRole('button', { name: 'Assign', exact: true }).click()
  await page.getByText(`Case ${id} is assigned to ${userOf('operator')}.`).waitFor()
  await page.locator('summary', { hasText: 'Comment' }).click()
  await page.getByLabel('Comment').fill('Called him: new number on Monday.')
  // Clicked twice before it is answered, it is sent once.
  await transaction(company.db, async db => {
    await db.query('lock table dirsync.dead_letter_event in share mode')
    const sent = page.evaluate<boolean[]>(`new Promise(told => {
      const sent = []
      addEventListener('submit', event => sent.push(!event.defaultPrevented) === 2 && told(sent))
    })`)
    await page.getByRole('button', { name: 'Comment' }).dblclick({ delay: 100, noWaitAfter: true })
    expect(await sent).toEqual([true, false])
  })
  await page.getByText('Called him: new number on Monday.').waitFor()
  await page.locator('summary', { hasText: 'Snooze' }).click()
  await page.getByLabel('For', { exact: true }).selectOption('3d')
  await page.getByRole('button', { name: 'Snooze' }).click()
  await page.getByText(new RegExp(`Case ${id} is snoozed until .*\\d`)).waitFor()
  await page.locator('.head .state').getByText('snoozed').waitFor()
  await screenshot(page, 'case-snoozed')

  await page.goto('/cases')
  await page.locator('form.filters').getByLabel('Assignee', { exact: true }).selectOption(userOf('operator'))
  await page.getByRole('button', { name: 'Apply' }).click()
  await page.getByText('1 case matches').waitFor()
  await page.getByRole('link', { name: 'hands-1' }).waitFor()
  expect(new URL(page.url()).searchParams.get('assignee')).toBe(userOf('operator'))

  const { rows } = await company.db.query(
    `select state, assignee, extract(epoch from snooze_until - now())::int as seconds
     from dirsync.dead_letter where id = $1`,
    [id],
  )
  expect(rows).toMatchObject([{ state: 'snoozed', assignee: userOf('operator') }])
  expect(rows[0].seconds / 86_400).toBeCloseTo(3, 1)
})

test('several categories, a department and a word are filtered by, and a column is sorted by its head', async () => {
  await plant(2, { prefix: 'many-', category: 'no_permission' })
  const [base] = await plant(1, { prefix: 'base-', category: 'base_department' })
  await plant(1, { prefix: 'else-', category: 'invalid_mobile_area' })
  await company.db.query(
    `insert into dirsync.employee (userid, dept_code) values ('many-1', 'D-7'), ('many-2', 'D-7'), ('else-1', 'D-7')`,
  )
  const page = await newPage({ role: 'reviewer' })
  const keys = () => page.locator('#list td.main').allInnerTexts()
  await page.goto('/cases')
  await page.locator('summary', { hasText: 'any' }).click()
  await page.getByLabel('no permission').check()
  await page.getByLabel('root department').check()
  await page.getByRole('button', { name: 'Apply' }).click()
  await page.getByText('3 cases match').waitFor()
  await page.getByRole('link', { name: 'Key' }).click()
  await page.locator('th[aria-sort=ascending]').waitFor()
  expect(await keys()).toEqual(['base-1', 'many-1', 'many-2'])
  await page.getByRole('link', { name: 'Key' }).click()
  await page.locator('th[aria-sort=descending]').waitFor()
  expect(await keys()).toEqual(['many-2', 'many-1', 'base-1'])
  await page.getByLabel('Department', { exact: true }).fill('D-7')
  await page.getByRole('button', { name: 'Apply' }).click()
  await page.getByText('2 cases match').waitFor()
  expect(await keys()).toEqual(['many-2', 'many-1'])
  await company.db.query(`select dirsync.comment($1, 'asked the vendor')`, [base])
  await page.goto('/cases')
  await page.getByLabel('Comment or reason').fill('the VENDOR')
  await page.getByRole('button', { name: 'Apply' }).click()
  await page.getByText('1 case matches').waitFor()
  expect(await keys()).toEqual(['base-1'])
})

test('the list follows what happens; ticks stay with their cases, and the focus where it is', async () => {
  const [first, second] = await plant(2, { prefix: 'live-', category: 'invalid_name' })
  const page = await open('/cases?categories=invalid_name', { role: 'reviewer' })
  await mark(page)
  await page.getByLabel(`Case ${first}`, { exact: true }).check()
  await page.getByRole('link', { name: 'live-2' }).focus()
  const [third] = await plant(1, { prefix: 'new-', category: 'invalid_name' })
  await page.getByText('3 cases match').waitFor()
  await page.getByRole('link', { name: 'new-1' }).waitFor()
  const ticked = await page
    .locator('td.tick input:checked')
    .evaluateAll(boxes => boxes.map(box => Number(box.getAttribute('value'))))
  expect(ticked).toEqual([first])
  expect(await page.evaluate('document.activeElement.innerText')).toBe('live-2')
  await company.db.query(`select dirsync.ignore($1, 'agreed')`, [second])
  await page.getByText('2 cases match').waitFor()
  await page.getByLabel(`Case ${third}`, { exact: true }).check()
  expect(await page.getByLabel(`Case ${first}`, { exact: true }).isChecked()).toBe(true)
  expect(await isSame(page)).toBe(true)
})

test('what was ignored by mistake is undone from the head of the page, which alone offers it, and a snooze is ended', async () => {
  const [id] = await plant(1, { prefix: 'undo-' })
  const page = await open(`/cases/${id}`, { role: 'reviewer' })
  await page.locator('summary', { hasText: 'Ignore' }).click()
  await page.getByLabel('Reason', { exact: true }).fill('the wrong one')
  await page.getByRole('button', { name: 'Ignore' }).click()
  await page.getByText(`Case ${id} is closed as accepted.`).waitFor()
  await screenshot(page, 'case-undo')
  expect(await page.getByRole('button', { name: 'Undo' }).count()).toBe(1)
  await page.getByRole('button', { name: 'Undo (ignored)' }).click()
  await page.getByText(`Case ${id} is as it was before. Undone: ignored.`).waitFor()
  await page.locator('.head .state').getByText('open').waitFor()
  await page.locator('summary', { hasText: 'Snooze' }).click()
  await page.getByRole('button', { name: 'Snooze' }).click()
  await page.getByRole('button', { name: 'Undo (snoozed)' }).waitFor()
  await page.getByRole('button', { name: 'Wake' }).click()
  await page.getByText(`The snooze of case ${id} is over`).waitFor()
  await page.locator('.head .state').getByText('open').waitFor()
  expect(await page.getByRole('button', { name: /^Undo/ }).count()).toBe(0)
})

test('columns and density are kept per user; a view is saved, shared by its link, and deleted', async () => {
  await plant(1, { prefix: 'view-', category: 'invalid_email' })
  const page = await newPage({ role: 'reviewer' })
  const heads = () => page.locator('#list th').allInnerTexts()
  await page.goto('/cases?categories=invalid_email&order=key')
  await page.locator('summary', { hasText: 'Columns' }).click()
  const choice = page.locator('form[action="/cases/display"]')
  await screenshot(page, 'cases-columns')
  for (const name of ['What', 'Blocked by', 'Since', 'Failures', 'Next try'])
    await choice.getByLabel(name, { exact: true }).uncheck()
  await choice.getByLabel('Last failure').check()
  await choice.getByLabel('Rows close together').check()
  await choice.getByRole('button', { name: 'Apply' }).click()
  await page.locator('#list .compact').waitFor()
  const chosen = ['', 'Key', 'Cause', 'State', 'Last failure', 'Assignee']
  expect(await heads()).toEqual(chosen)
  expect(new URL(page.url()).search).toBe('?categories=invalid_email&order=key')
  // Another browser of the same user.
  const second = await open('/cases?categories=invalid_email', { role: 'reviewer' })
  await second.locator('#list .compact').waitFor()

  await page.locator('summary', { hasText: 'Save view' }).click()
  await page.getByLabel('Name', { exact: true }).fill('E-mail first')
  await page.getByLabel('Everyone sees it').check()
  await page.getByRole('button', { name: 'Save view' }).click()
  await page.getByText('The view “E-mail first” is saved.').waitFor()
  await screenshot(page, 'cases-views')
  const viewer = await open('/cases', { role: 'viewer' })
  await viewer.getByRole('link', { name: 'E-mail first' }).click()
  await viewer.getByText('1 case matches').waitFor()
  expect(await viewer.locator('#list th').allInnerTexts()).toEqual(chosen.slice(1))
  expect(await viewer.getByRole('button', { name: 'Delete “E-mail first”' }).count()).toBe(0)
  await page.getByRole('button', { name: 'Delete “E-mail first”' }).click()
  await page.getByText('The view is deleted.').waitFor()
  expect(await page.getByRole('link', { name: 'E-mail first' }).count()).toBe(0)
  await company.db.query(`update dirsync.console_user set preferences = '{}'`)
})

test('all 1,000 that match a filter are ignored with a reason, and no other case is touched', async () => {
  const chosen = await plant(1000, { prefix: 'left-', category: 'left_hr' })
  const outside = await plant(20, { prefix: 'stays-', category: 'duplicate_email' })
  const page = await open('/cases', { role: 'reviewer' })
  await page
    .getByRole('link', { name: /left but still in service/ })
    .first()
    .click()
  await page.getByText('1,000 cases match').waitFor()
  await screenshot(page, 'cases-filtered')
  await preview(page, 'filter', 'ignore', { reason: 'the vendor ends them in May' })
  await page.getByText('1,000 cases are closed as accepted.').waitFor()
  await screenshot(page, 'bulk-preview')
  expect(await states(chosen)).toEqual({ open: 1000 })

  await page.getByRole('button', { name: 'Start' }).click()
  await page.getByText('It has started.').waitFor()
  await page.getByText('1,000 of 1,000 cases').waitFor()
  await page.locator('.head').getByText('done').waitFor()
  await page.locator('td', { hasText: 'ignored' }).first().waitFor()
  await screenshot(page, 'bulk-done')
  expect(await states(chosen)).toEqual({ ignored: 1000 })
  expect(await states(outside)).toEqual({ open: 20 })
  const { rows } = await company.db.query(
    `select requested_by, reason, arguments ->> 'cases' as cases
     from dirsync.command where name like '%ignore%' order by id desc limit 1`,
  )
  expect(rows).toMatchObject([
    {
      requested_by: expect.stringContaining('console:'),
      reason: 'the vendor ends them in May',
      cases: '1000',
    },
  ])

  await company.db.query(`select dirsync.assign($1, 'mei')`, [chosen[0]])
  await page.getByRole('button', { name: 'Undo' }).click()
  await page.getByRole('heading', { name: 'Undo for 1,000 cases' }).waitFor()
  await page.locator('.head').getByText('done').waitFor()
  await page.getByRole('link', { name: 'skipped 1' }).click()
  await page.getByText(/\w+ assigned it at/).waitFor()
  await screenshot(page, 'bulk-undone')
  expect(await states(chosen)).toEqual({ ignored: 1, open: 999 })

  await page.goto('/bulk')
  await page.getByRole('link', { name: 'Ignore 1,000 cases' }).waitFor()
  await page.getByText('1,000 done').first().waitFor()
  await screenshot(page, 'bulk-list')
})

test('the ticked cases, and only those, are assigned; one that was changed meanwhile is left alone', async () => {
  const ids = await plant(3, { prefix: 'tick-', category: 'invalid_document' })
  const page = await open('/cases?categories=invalid_document', { role: 'reviewer' })
  for (const id of ids.slice(0, 2)) await page.getByLabel(`Case ${id}`, { exact: true }).check()
  await preview(page, 'ids', 'assign', { assignee: 'jun' })
  await company.db.query(`select dirsync.assign($1, 'mei')`, [ids[0]])
  await page.getByRole('button', { name: 'Start' }).click()
  await page.getByText('2 of 2 cases').waitFor()
  await page.getByText(/It was changed meanwhile: \w+ assigned it at/).waitFor()
  const { rows } = await company.db.query(
    'select assignee from dirsync.dead_letter where id = any ($1) order by id',
    [ids],
  )
  expect(rows.map(row => row.assignee)).toEqual(['mei', 'jun', null])
})

test('without JavaScript, cases are read, filtered, previewed and acted on', async () => {
  const [id] = await plant(1, { prefix: 'plain-', category: 'no_permission' })
  const page = await open('/cases?categories=no_permission', {
    role: 'reviewer',
    javaScript: false,
    ...PHONE,
  })
  await page.getByRole('link', { name: 'plain-1' }).waitFor()
  await expectFitsPhone(page)
  await screenshot(page, 'cases-phone')
  // The filters are folded there, and say that one is in use.
  const key = page.locator('form.filters').getByLabel('Key', { exact: true })
  expect(await key.isVisible()).toBe(false)
  await page.getByText('Filters, 1 in use').click()
  await key.fill('plain-')
  await page.locator('form.filters').getByRole('button', { name: 'Apply' }).click()
  await page.getByText('Filters, 2 in use').waitFor()
  await page.setViewportSize({ width: 1360, height: 800 })
  expect(await key.isVisible()).toBe(true)
  expect(await page.getByText('Filters, 2 in use').isVisible()).toBe(false)
  await page.setViewportSize(PHONE)
  await page.getByLabel(`Case ${id}`, { exact: true }).check()
  await preview(page, 'ids', 'comment', { text: 'asked for the permission' })
  await expectFitsPhone(page)
  await screenshot(page, 'bulk-phone')
  await page.getByRole('button', { name: 'Start' }).click()
  await page.getByText('It has started.').waitFor()
  await until(async () => {
    const { rows } = await company.db.query(
      `select note from dirsync.dead_letter_event where dead_letter_id = $1 and event = 'commented'`,
      [id],
    )
    return rows[0]?.note === 'asked for the permission'
  })
  await page.goto(`/cases/${id}`)
  await page.getByText('asked for the permission').waitFor()
  await expectFitsPhone(page)
  await screenshot(page, 'case-phone')
})

test('whatever HR and the platform deliver is shown as text, and breaks nothing', async () => {
  const script = `<script>globalThis.wasRun = true</script><img src=x onerror="globalThis.wasRun = true">`
  const odd = `${script}"'\`\${1}{x}&amp; \u202Eright to left\u202C`
  const long = 'x'.repeat(10_000)
  const hostile = [
    { entity_key: odd, message: odd, remedy: odd, trace_id: odd, assignee: odd, blocked_by: odd, field: odd },
    { entity_key: 'long', message: long, remedy: long, trace_id: long, assignee: long, blocked_by: long },
  ].map(given => ({
    ...given,
    category: given.message,
    changed_fields: [{ field: 'name', value: given.message }],
  }))
  const ids = (await Promise.all(hostile.map(given => plant(1, given)))).flat()
  await company.db.query(
    `insert into dirsync.dead_letter_event (dead_letter_id, actor, event, note)
     select id, $2, 'commented', $2 from unnest($1::bigint[]) id`,
    [ids, odd],
  )
  await company.db.query(
    `insert into dirsync.attempt (entity_key, operation, outcome, started_at, duration_ms, calls, fields, error, trace_id)
     select entity_key, 'update-employee', 'parked', now(), 1, '{}', array[$2],
            jsonb_build_object('key', 'said.words', 'values', jsonb_build_object('words', $2::text)), $2
     from dirsync.dead_letter where id = any ($1)`,
    [ids, odd],
  )
  const page = await newPage({ role: 'reviewer', ...PHONE })
  for (const path of ['/cases', '/cases/groups', ...ids.map(id => `/cases/${id}`)]) {
    await page.goto(path)
    await page.locator('h1').waitFor()
    expect(await page.evaluate('globalThis.wasRun')).toBeUndefined()
    expect(await page.locator('main script, main img').count()).toBe(0)
    await expectFitsPhone(page)
  }
  await page.goto(`/cases/${ids[0]}`)
  await page.getByText(script).first().waitFor()
  await screenshot(page, 'case-hostile')
  await page.goto('/cases?states=open')
  for (const id of ids) await page.getByLabel(`Case ${id}`, { exact: true }).check()
  await preview(page, 'ids', 'comment', { text: odd })
  expect(await page.evaluate('globalThis.wasRun')).toBeUndefined()
  await expectFitsPhone(page)
  await company.db.query('delete from dirsync.dead_letter where id = any ($1)', [ids])
})

test('a viewer reads everything and is offered no change', async () => {
  const [id] = await plant(1, { prefix: 'seen-' })
  const page = await open('/cases', { role: 'viewer' })
  await page.getByRole('link', { name: 'seen-1' }).click()
  await page.getByRole('heading', { name: `Case ${id}` }).waitFor()
  expect(await page.locator('main form[method=post]').count()).toBe(0)
  await page.goto('/cases')
  const own = ':not([action="/cases/display"], [action="/cases/views"])'
  expect(await page.locator(`main form[method=post]${own}, main td input[type=checkbox]`).count()).toBe(0)
})

describe.each(LANGUAGES)('in %s', language => {
  test('every page of cases is accessible', async () => {
    await plant(1, {
      prefix: `axe-${language}-`,
      blocked_by: 'e0002',
      state: 'blocked',
      category: 'duplicate_mobile',
      platform_code: 1002218007,
    })
    const page = await newPage({ language, role: 'reviewer' })
    const { rows } = await company.db.query(
      `select (select max(id)::int from dirsync.dead_letter) as id,
              (select max(id)::int from dirsync.bulk_action where state = 'done') as done,
              (select max(id)::int from dirsync.bulk_action where state = 'preview') as preview`,
    )
    const { id, done, preview } = rows[0]
    await expectPagesAccessible(page, [
      '/cases',
      '/cases/groups',
      `/cases/${id}`,
      `/bulk/${done}`,
      `/bulk/${preview}`,
      '/bulk',
    ])
  })
})
