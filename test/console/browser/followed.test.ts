// @module-tag chromium

import { expect, test } from 'vitest'
import { createDeployment } from '../../helpers/deployment.ts'
import { duringFile } from '../../helpers/during.ts'
import { consoleInBrowser, isSame, mark } from './browser.ts'

/* Pages that are left open, while others decide and no scheduler takes up what they ask for. */

const deployment = duringFile(() => createDeployment())
const { open } = consoleInBrowser(deployment, { roles: ['console'] })

async function plant(key: string): Promise<number> {
  const { rows } = await deployment.own.pool.query(
    `insert into dirsync.dead_letter (entity, entity_key, operation, category, message, remedy)
     values ('employee', $1, 'update-employee', 'left_hr', '[]', '[]') returning id::int`,
    [key],
  )
  return rows[0].id
}

test('a case says that its retry is requested by another person, and that the request was taken back', async () => {
  const id = await plant('asked')
  const page = await open(`/cases/${id}`, { role: 'reviewer' })
  await page.getByText('It needs a person').waitFor()
  await mark(page)
  const { rows } = await deployment.own.pool.query('select dirsync.retry($1)::int as run', [id])
  await page.getByText('Its retry is requested').waitFor()
  await deployment.own.pool.query('select dirsync.cancel($1)', [rows[0].run])
  await page.getByText('It needs a person').waitFor()
  expect(await isSame(page)).toBe(true)
})

test('a bulk action that is over goes on showing how its cases are', async () => {
  const id = await plant('many')
  const page = await open('/cases', { role: 'reviewer' })
  await page.getByLabel(`Case ${id}`, { exact: true }).check()
  await page.locator('form#act [name=action]').selectOption('retry')
  await page.getByRole('button', { name: 'Preview' }).click()
  await page.getByRole('button', { name: 'Start' }).click()
  await page.getByText('1 of 1 case').waitFor()
  await page.locator('td .state', { hasText: 'open' }).waitFor()
  await mark(page)
  await deployment.own.pool.query(
    `update dirsync.dead_letter set state = 'resolved', resolution = 'succeeded', resolved_at = now() where id = $1`,
    [id],
  )
  await page.locator('td .state', { hasText: 'resolved' }).waitFor()
  expect(await isSame(page)).toBe(true)
})
