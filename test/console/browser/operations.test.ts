// @module-tag chromium

import { beforeAll, describe, expect, test } from 'vitest'
import { createCompany, until } from '../../helpers/company.ts'
import { duringFile } from '../../helpers/during.ts'
import {
  consoleInBrowser,
  expectPagesAccessible,
  expectPagesFitPhone,
  isSame,
  LANGUAGES,
  mark,
  PHONE,
  screenshot,
} from './browser.ts'

/* The screens of those who run dirsync: platform, schedules, halts and processes, settings and doctor. */

const MARKER = 'hunter2hunter2'

const company = duringFile(() => createCompany({ employees: 20, settings: { CONSOLE_TOKEN: MARKER } }))
const { newPage, open } = consoleInBrowser(company, { schedule: true })

beforeAll(async () => {
  await company.run('full')
})

describe('the platform', () => {
  test('shows whether calls are made as permitted, by operation, and the token', async () => {
    const page = await open('/platform', { role: 'viewer' })
    await page.getByText('It refused none of the').waitFor()
    await page.getByText('employee/get').first().waitFor()
    await page.getByText('1 of 50').waitFor()
    expect(await page.getByText('Lower the rate').count()).toBe(0)
    await screenshot(page, 'platform')
  })

  test('an operator lowers the rate until a time, and lifts it', async () => {
    const page = await open('/platform', { role: 'operator' })
    await page.getByText('Lower the rate', { exact: true }).first().click()
    await page.getByLabel('Calls per second').fill('7.5')
    await page.getByLabel('For', { exact: true }).selectOption('4h')
    await page.getByLabel('Reason').fill('the vendor asked for it')
    await screenshot(page, 'platform-form')
    await page.getByRole('button', { name: 'Lower the rate' }).click()
    await page.getByText('The rate is limited to at most 7.5 calls per second.').waitFor()
    await page.getByText('the vendor asked for it').waitFor()
    await page.getByText('7.5 permitted').waitFor()
    await screenshot(page, 'platform-lowered')
    const { rows } = await company.db.query(
      `select per_second, reason, set_by, round(extract(epoch from until - since) / 3600)::int as hours
       from dirsync.rate_cap`,
    )
    expect(rows).toEqual([
      {
        per_second: 7.5,
        reason: 'the vendor asked for it',
        set_by: expect.stringContaining('console:test-operator'),
        hours: 4,
      },
    ])
    await page.getByRole('button', { name: 'Lift it now' }).click()
    await page.getByText('The rate is as before.').waitFor()
    await page.getByText('7.5 permitted').waitFor({ state: 'detached' })
    expect((await company.db.query('select from dirsync.rate_cap')).rowCount).toBe(0)
  })

  test('two who lower it at the same time do not do it over each other', async () => {
    const page = await open('/platform', { role: 'operator' })
    await page.getByText('Lower the rate', { exact: true }).first().click()
    await page.getByLabel('Calls per second').fill('100')
    await page.getByLabel('Reason').fill('second')
    await company.db.query(`select dirsync.lower_rate(5, now() + interval '1 hour', 'first')`)
    await page.getByRole('button', { name: 'Lower the rate' }).click()
    await page.getByText('The lower rate was changed').waitFor()
    const { rows } = await company.db.query('select per_second, reason from dirsync.rate_cap')
    expect(rows).toEqual([{ per_second: 5, reason: 'first' }])
    await company.db.query('select dirsync.restore_rate()')
  })

  test('an operator asks for the token’s state', async () => {
    const page = await open('/platform', { role: 'operator' })
    await page.getByRole('button', { name: 'Check the token' }).click()
    await page.getByText('The platform accepts the access token.').waitFor()
    await screenshot(page, 'platform-token')
    // The answer of a form follows what happens, too.
    await mark(page)
    await company.db.query(`select dirsync.lower_rate(5, now() + interval '1 hour', 'seen from the answer')`)
    await page.getByText('seen from the answer').waitFor()
    expect(await isSame(page)).toBe(true)
    await company.db.query('select dirsync.restore_rate()')
  })
})

describe('schedules', () => {
  test('an operator runs a job at once, and its tick appears by itself', async () => {
    const page = await open('/schedules', { role: 'operator' })
    await page.getByText('Every cron job runs on time.').waitFor()
    await screenshot(page, 'schedules')
    await page.goto('/schedules?job=history')
    await page.getByText('SCHEDULE_HISTORY=*/5 * * * *').waitFor()
    await page.getByRole('button', { name: 'Run now' }).click()
    await page.getByText('It runs as soon as a scheduler sees the request').waitFor()
    await mark(page)
    await page.getByText('run now, requested by test-operator').waitFor()
    await page.getByRole('cell', { name: 'done' }).first().waitFor()
    expect(await isSame(page)).toBe(true)
    await screenshot(page, 'schedules-job')
  })

  test('a tick leads to the run that it requested', async () => {
    const page = await open('/schedules?job=openids', { role: 'operator' })
    await page.getByRole('button', { name: 'Run now' }).click()
    await page.getByRole('cell', { name: 'done' }).first().waitFor()
    await screenshot(page, 'schedules-run')
    await page.locator('table a[href^="/runs/"]').first().click()
    await page.waitForURL(/\/runs\/\d+$/)
    // Ticks of the schedule may come after it.
    const { rows } = await company.db.query<{ runs: string[] }>(
      `select run_ids as runs from dirsync.job_tick where job = 'openids'`,
    )
    expect(rows.flatMap(({ runs }) => runs)).toContain(page.url().split('/').at(-1))
  })

  test('pausing says what it means before, and why it was done after; then it is resumed', async () => {
    const page = await open('/schedules?job=full-resync', { role: 'operator' })
    await page.getByText('Pause', { exact: true }).first().click()
    await page.getByText('changes made on the platform itself are not noticed').waitFor()
    await page.getByLabel('Reason').fill('the vendor works tonight')
    await screenshot(page, 'schedules-pausing')
    await page.getByRole('button', { name: 'Pause' }).click()
    await page.getByText('It is paused').waitFor()
    await page.getByText('the vendor works tonight').waitFor()
    await screenshot(page, 'schedules-paused')
    const paused = async () =>
      (await company.db.query(`select job, paused_by from dirsync.job_schedule where paused_at is not null`))
        .rows
    expect(await paused()).toEqual([
      { job: 'full-resync', paused_by: expect.stringContaining('console:test-operator') },
    ])
    await page.goto('/schedules')
    await page.getByText('Paused by a person').waitFor()
    await page.getByRole('button', { name: 'Resume' }).click()
    await page.getByText('Unless it is switched off, it runs from its next tick.').waitFor()
    expect(await paused()).toEqual([])
  })

  test('the sweep cannot be paused, and says why', async () => {
    const page = await open('/schedules?job=sweep', { role: 'operator' })
    await page.getByText('work that the queue loses would never be sent').waitFor()
    expect(await page.getByText('Pause', { exact: true }).count()).toBe(0)
  })
})

describe('halts', () => {
  test('a halt is shown with what to do; a probe after mending ends it, on the same page', async () => {
    const page = await open('/halts', { role: 'operator' })
    await page.getByText('Nothing is halted').waitFor()
    await screenshot(page, 'halts-none')
    await mark(page)
    await company.control('POST', 'faults', [
      { operation: '*', code: 1000210003, message: 'appinfo check failed!' },
    ])
    await company.hr.query(`update person set name = 'Another' where userid = 'e0001'`)
    await company.db.query(`select dirsync.resync('changes')`)
    await page.locator('.alert').getByText('Everything is halted').waitFor()
    await page.locator('.state-bar').getByRole('link', { name: 'What to do' }).waitFor()
    await page.locator('.alert').getByText('PLATFORM_APP_SECRET').waitFor()
    expect(await isSame(page)).toBe(true)
    await screenshot(page, 'halts')
    await company.control('DELETE', 'faults')
    await page.getByRole('button', { name: 'Probe now' }).click()
    await page.getByText('The next job goes through as a probe.').waitFor()
    await mark(page)
    await page.getByText('Nothing is halted').waitFor()
    expect(await isSame(page)).toBe(true)
    const { rows } = await company.db.query(
      `select requested_by, arguments from dirsync.command where name = 'probe_now'`,
    )
    expect(rows).toEqual([
      { requested_by: expect.stringContaining('console:test-operator'), arguments: { scope: '*' } },
    ])
    const platform = await until(async () => {
      const person = (await company.onPlatform()).get('e0001')
      return person?.name === 'Another' && person
    })
    expect(platform).toMatchObject({ name: 'Another' })
  })

  test('processes of another version, and those that died, are pointed out', async () => {
    const page = await newPage({ role: 'viewer' })
    await company.db.query(
      `insert into dirsync.process (id, host, pid, roles, version, heartbeat_at)
       values (gen_random_uuid(), 'old-host', 17, '{worker}', '0.0.9', now() + interval '14 seconds'),
              (gen_random_uuid(), 'dead-host', 18, '{worker}', '0.0.9', now() - interval '5 minutes')`,
    )
    await page.goto('/halts')
    await page.getByText('Processes of different versions are running').waitFor()
    await page.getByText('died without a sign').waitFor()
    expect(await page.getByRole('button', { name: 'Probe now' }).count()).toBe(0)
    await screenshot(page, 'halts-processes')
    await company.db.query(`delete from dirsync.process where version = '0.0.9'`)
  })
})

describe('settings and doctor', () => {
  test('an administrator sees what holds, and no secret', async () => {
    const page = await open('/settings', { role: 'admin' })
    const row = page.getByRole('row').filter({ hasText: 'PLATFORM_APP_ID' })
    await row.getByText('test-application', { exact: true }).waitFor()
    await page.getByRole('row').filter({ hasText: 'CONSOLE_TOKEN' }).getByText('set, not shown').waitFor()
    const text = await page.content()
    for (const secret of [MARKER, String(company.settings.PLATFORM_APP_SECRET)])
      expect(text).not.toContain(secret)
    await screenshot(page, 'settings')
  })

  test('the doctor runs when it is asked, and shows what it found', async () => {
    const page = await open('/settings', { role: 'admin' })
    await page.getByRole('link', { name: 'Doctor', exact: true }).click()
    await page.getByText('The checks have never been run').waitFor()
    await page.getByRole('button', { name: 'Run all checks' }).click()
    const row = page.getByRole('row').filter({ hasText: 'credentials' })
    await row.getByText('ok', { exact: true }).waitFor()
    await page.getByText('Requested by test-admin').waitFor()
    const text = await page.content()
    for (const secret of [MARKER, String(company.settings.PLATFORM_APP_SECRET)])
      expect(text).not.toContain(secret)
    await screenshot(page, 'doctor')
    await page.goto('/doctor')
    await page.getByRole('row').filter({ hasText: 'credentials' }).waitFor()
  })

  test('an operator is told that it takes an administrator', async () => {
    const page = await newPage({ role: 'operator' })
    expect((await page.goto('/settings'))?.status()).toBe(403)
    await page.getByText('You need the role administrator.').waitFor()
  })
})

const PAGES = ['/platform', '/schedules', '/schedules?job=sync-changes', '/halts', '/settings', '/doctor']

describe.each(LANGUAGES)('in %s', language => {
  test('every page is accessible', async () => {
    const page = await newPage({ language })
    await company.db.query(`select dirsync.lower_rate(5, now() + interval '1 hour', 'looked at')`)
    await company.db.query(`select dirsync.pause('looked at')`)
    await expectPagesAccessible(page, PAGES)
    await company.db.query('select dirsync.restore_rate(), dirsync.resume()')
  })
})

test('on a phone, and without JavaScript, everything can be read and done', async () => {
  // Of calls in the last minute the page on the platform says most.
  await company.db.query(`update dirsync.process set pacer = pacer || '{"callsPerSecond": 0.3}'`)
  const page = await newPage({ ...PHONE, javaScript: false })
  await expectPagesFitPhone(page, PAGES)
  await page.goto('/schedules')
  const history = page.getByRole('row').filter({ has: page.locator('a[href="/schedules?job=history"]') })
  await history.getByText(/minutes/).waitFor()
  await history.getByRole('button', { name: 'Run now' }).waitFor()
  await page.goto('/schedules?job=history')
  await page.getByText('Pause', { exact: true }).first().click()
  await page.getByLabel('Reason').fill('from a phone')
  await page.getByRole('button', { name: 'Pause' }).click()
  await page.getByText('from a phone').waitFor()
  await page.getByRole('button', { name: 'Resume' }).click()
  await page.getByText('Unless it is switched off, it runs from its next tick.').waitFor()
})
