// @module-tag chromium
// @module-tag mariadb

import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { inWords, toStore } from '../../../src/texts/message.ts'
import { until } from '../../helpers/company.ts'
import { duringFile } from '../../helpers/during.ts'
import { createGroup } from '../../helpers/group.ts'
import { consoleInBrowser, expectAccessible, screenshot } from './browser.ts'

const group = duringFile(createGroup)
const { open } = consoleInBrowser(group)

const main = (page: Page) => page.locator('main').textContent()

test('where HR has several sources, pages say which one they are about', async () => {
  await group.own.pool.query(`select dirsync.resync('full')`)
  const ended = `select from dirsync.sync_run where finished_at is not null`
  await until(async () => (await group.own.pool.query(ended)).rowCount === 2)
  await group.beijing.admin.query('delete from person')
  const page = await open('/runs/new')
  const changes = page.locator('li', { hasText: 'Changes' }).first()
  expect(await changes.locator('select[name=source] option').allInnerTexts()).toEqual([
    'all (one run each)',
    'shanghai',
    'beijing',
  ])
  await screenshot(page, 'sources-start')
  await changes.getByRole('button', { name: 'Start: changes' }).click()
  await page.waitForURL('**/runs')
  await page.getByText('Runs 3, 4 are requested, one for each HR source.').waitFor()
  await until(async () => (await group.own.pool.query(ended)).rowCount === 4)
  await page.goto('/runs?source=beijing')
  expect(await page.locator('tbody tr').count()).toBe(2)
  await screenshot(page, 'sources-runs')
  await expectAccessible(page)

  await page.goto('/')
  expect(await main(page)).toMatch(/beijing: .*[\s\S]*no rows at all/)
  await screenshot(page, 'sources-overview')
  await page.goto('/runs/4')
  expect(await page.locator('h1').textContent()).toContain('beijing')
  await page.locator('main a[href="/mapping?source=beijing"]').first().click()
  expect(await main(page)).toMatch(/shanghai beijing[\s\S]*E2/)
  await screenshot(page, 'sources-mapping')
  await expectAccessible(page)
  await page.locator('main a[href="/mapping?source=shanghai"]').click()
  expect(await main(page)).toContain('E1')

  // The cases of the source alone, as its mapping counts them.
  await group.own.pool.query(
    `insert into dirsync.dead_letter
       (enterprise_code, entity, entity_key, operation, field, category, message, remedy)
     select code, 'employee', 'e1', 'update-employee', 'name', 'invalid_hr_row', $1, $1
     from unnest(array['E1', 'E2']) code`,
    [toStore(inWords('too long'))],
  )
  await page.goto('/mapping?source=beijing')
  await page.locator('main td a', { hasText: '1' }).click()
  await page.getByText('1 case matches').waitFor()
})
