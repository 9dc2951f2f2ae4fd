// @module-tag chromium

import { pino } from 'pino'
import { beforeAll, describe, expect, test } from 'vitest'
import { loadConfig } from '../../../src/config.ts'
import { connectPlatform } from '../../../src/connections.ts'
import { sendRefund } from '../../../src/money/send.ts'
import { inWords, toStore } from '../../../src/texts/message.ts'
import { createCompany } from '../../helpers/company.ts'
import { duringFile } from '../../helpers/during.ts'
import {
  consoleInBrowser,
  expectFitsPhone,
  expectPagesAccessible,
  LANGUAGES,
  PHONE,
  screenshot,
  userOf,
} from './browser.ts'

/* Audit, money and mirrors: what was done, what became of money, and what the platform has. */

const APP = 'test-application'
const HOSTILE = '<script>document.title="taken"</script><img src=x onerror=alert(1)>\u202egnp.exe'
const LONG = 'x'.repeat(10_000)

const company = duringFile(() => createCompany({ employees: 5, settings: { MIRRORS: 'orders,accounts' } }))

beforeAll(async () => {
  await seedPlatform()
  await loseRefund(1)
  await loseRefund(2)
})
const { newPage, open } = consoleInBrowser(company)

async function seedPlatform(): Promise<void> {
  const today = new Date(Date.now() + 8 * 3_600_000).toISOString().slice(0, 10)
  await company.control(
    'POST',
    'orders',
    [1, 2, 3].map(i => ({
      trade_no: `T00000000000000${i}`,
      out_trade_no: `${APP}-T${i}`,
      userid: `e000${i}`,
      subject: i === 3 ? HOSTILE : 'Lunch',
      total_amount: '1012.50',
      create_time: `${today} 00:00:0${i}`,
    })),
  )
  await company.control('POST', 'accounts', [
    { account_openid: 'points', name: HOSTILE, balance: '80000.00' },
  ])
}

const refundNo = (i: number) => `${APP}-R${i}`

/** A refund that reaches the platform, and whose answer is lost; it is not settled until a person does it. */
async function loseRefund(i: number): Promise<void> {
  const logger = pino({ level: 'silent' })
  const client = connectPlatform(loadConfig(company.settings), company.db, logger)
  try {
    await company.control('POST', 'faults', [
      { operation: 'seller/v3/pay/syncRefund', loseAnswer: true, times: 1 },
    ])
    const sent = await sendRefund(
      { pool: company.db, client, logger },
      {
        outerTradeNo: `${APP}-T${i}`,
        outerRefundNo: refundNo(i),
        reason: 'returned',
        refundAmount: '4.00',
        costAmount: '3.00',
      },
      { actor: 'cli:tester' },
    )
    expect(sent.state).toBe('unknown')
    await company.db.query(
      `update dirsync.refund set next_settle_at = now() + interval '10 minutes' where state = 'unknown'`,
    )
  } finally {
    await client.close()
  }
}

/** What was done last in the console by the person of the browser; dirsync and other people write commands, too. */
async function latestCommand(): Promise<Record<string, unknown>> {
  const { rows } = await company.db.query(
    `select * from dirsync.command where requested_by like '%console:' || $1 || '%' order by id desc limit 1`,
    [userOf('admin')],
  )
  return rows[0]
}

describe('money', () => {
  test('with an unknown outcome comes first, with what to do, and an administrator settles it', async () => {
    const page = await open('/money')
    await page.getByText('2 refunds were sent without a known outcome.').waitFor()
    await screenshot(page, 'money')
    await page.getByRole('link', { name: refundNo(1) }).click()
    await page.getByText('It was sent, but its outcome is unknown.').waitFor()
    await page.getByText('tester (shell)').first().waitFor()
    expect(await page.locator('main').textContent()).not.toContain('cli:tester')
    await page.getByText(`outerRefundNo: ${refundNo(1)}`).waitFor()
    await screenshot(page, 'refund-unknown')
    await page.getByRole('button', { name: 'Check the order record now' }).click()
    await page.getByText('The outcome of the refund is known.').waitFor()
    await page
      .getByText('the order record shows 4.00 refunded, 0.00 before this refund of 4.00')
      .first()
      .waitFor()
    await screenshot(page, 'refund-settled')
    expect(await latestCommand()).toMatchObject({
      name: 'settle_refund',
      requested_by: expect.stringContaining(`console:${userOf('admin')}`),
      address: '127.0.0.1',
      arguments: { outer_refund_no: refundNo(1) },
    })
  })

  test('is resolved with a reason by one person; the second is told who was quicker', async () => {
    // The second browser does not follow what happens, and still shows its form.
    const [first, second] = [await newPage(), await newPage({ javaScript: false })]
    for (const page of [first, second]) {
      await page.goto(`/money/refunds/${refundNo(2)}`)
      await page.locator('summary').filter({ hasText: 'Record the outcome' }).click()
      await page.getByText('Nothing is sent again, and this cannot be undone.', { exact: false }).waitFor()
      await page.getByLabel('What the platform’s support said').selectOption('rejected')
      await page.getByLabel('Reason').fill('Li of the support, by telephone')
    }
    await screenshot(first, 'refund-resolve')
    await first.getByRole('button', { name: 'Record the outcome' }).click()
    await first.getByText('The outcome was recorded. Nothing was sent.').waitFor()
    await first.getByText('Li of the support, by telephone').first().waitFor()
    const conflict = second.waitForResponse(answer => answer.request().method() === 'POST')
    await second.getByRole('button', { name: 'Record the outcome' }).click()
    expect((await conflict).status()).toBe(409)
    await second.getByText(`has already recorded the outcome of ${refundNo(2)}: not carried out`).waitFor()
    expect(await latestCommand()).toMatchObject({
      name: 'resolve_refund',
      reason: 'Li of the support, by telephone',
      address: '127.0.0.1',
      arguments: { outer_refund_no: refundNo(2), state: 'rejected' },
    })
    const { calls } = await company.control<{ calls: unknown[] }>(
      'GET',
      'calls?operation=seller/v3/pay/syncRefund',
    )
    expect(calls).toHaveLength(2)
  })

  test('all known says that there is nothing to do', async () => {
    const page = await open('/money', { role: 'viewer' })
    await page.getByText('The outcome of every refund and top-up is known.').waitFor()
    await page.goto('/money?state=rejected')
    expect(await page.locator('tbody tr').count()).toBe(1)
    await page.goto(`/money?number=${refundNo(1)}&since=2020-01-01T00:00`)
    expect(await page.locator('tbody tr').count()).toBe(1)
    await page.goto(`/money?since=2999-01-01T00:00`)
    await page.getByText('Nothing matches these filters.').waitFor()
    await page.goto('/money?kind=topups')
    await page.getByText('dirsync has sent no top-up yet.').waitFor()
  })
})

describe('mirrors', () => {
  test('are read again by an operator, and show their rows', async () => {
    const page = await open('/mirrors', { role: 'operator' })
    await page.getByRole('link', { name: 'Payment orders' }).first().click()
    await page.getByText('It has not been read yet.').first().waitFor()
    await page.getByRole('button', { name: 'Read again' }).click()
    await page.getByText(/Run \d+ reads it/).waitFor()
    // Without a reload.
    await page.getByText('T000000000000003').waitFor()
    expect(await page.locator('tbody tr').first().locator('td.number').first().textContent()).toBe(
      '1,012.50 points',
    )
    expect(await page.title()).toContain('Payment orders')
    await page.getByLabel('Employee', { exact: true }).fill('e0002')
    await page.getByRole('button', { name: 'Apply' }).click()
    // The page before shows the order, too, among others.
    await page.locator('tbody tr').nth(1).waitFor({ state: 'detached' })
    await page.getByText('T000000000000002').waitFor()
    expect(await page.locator('tbody tr').count()).toBe(1)
    await screenshot(page, 'orders')
    await page.goto('/mirrors/orders?status=6')
    await page.getByText('Nothing matches these filters.').waitFor()
    await page.goto('/mirrors/accounts')
    await page.getByRole('button', { name: 'Read again' }).click()
    await page.getByText('CN¥80,000.00').waitFor()
    expect(await page.title()).toContain('Limit accounts')
    await page.goto('/mirrors')
    await page
      .getByRole('row', { name: /Payment orders/ })
      .getByText('3', { exact: true })
      .first()
      .waitFor()
    await screenshot(page, 'mirrors')
  })

  test.each(['/mirrors', '/mirrors/accounts'])('follow their schedule on %s', async path => {
    await company.db.query(`
      insert into dirsync.job_schedule (job, expression, next_due_at, interval_seconds, in_force_since)
      values ('mirror-accounts', '0 3 * * *', now() + interval '1 hour', 86400, now())`)
    const page = await newPage({ role: 'viewer' })
    // Once it follows what happens, it catches up with what it may have missed.
    const caughtUp = page.waitForResponse(answer => answer.request().resourceType() === 'fetch')
    await page.goto(path)
    await caughtUp
    await page.getByText('Next read').first().waitFor()
    await company.db.query(`select dirsync.pause_schedule('mirror-accounts', 'a test looks')`)
    await page.getByText('its schedule is paused').waitFor()
    await company.db.query(`delete from dirsync.job_schedule where job = 'mirror-accounts'`)
  })

  test('that are switched off say how to switch them on', async () => {
    const page = await open('/mirrors/taxpayers', { role: 'viewer' })
    await page.getByText('The mirror “Taxpayers” is switched off').waitFor()
    await page.getByText('add it to MIRRORS').first().waitFor()
    expect(await page.getByRole('button', { name: 'Read again' }).count()).toBe(0)
    await screenshot(page, 'taxpayers')
  })

  test('that had nothing to ask for say so, and do not claim that the platform has no data', async () => {
    const page = await open('/mirrors/taxpayers', { role: 'operator' })
    await page.getByRole('button', { name: 'Read again' }).click()
    await page.locator('.alert', { hasText: 'TAXPAYER_IDENTIFIERS is empty' }).waitFor()
    expect(await page.getByText('The platform has none.').count()).toBe(0)
  })
})

describe('the audit', () => {
  test('shows what a user in another browser just did: who, from where, why', async () => {
    const [auditor, operator] = [await newPage(), await newPage({ role: 'operator' })]
    await auditor.goto('/audit')
    await auditor.getByRole('cell', { name: 'Resolve a refund' }).waitFor()
    await operator.goto('/overview')
    await operator.getByText('Pause all calls', { exact: true }).first().click()
    await operator.getByLabel('Reason').fill('maintenance tonight')
    await operator.getByRole('button', { name: 'Pause all calls' }).click()
    await operator.getByText('All calls to the platform are paused.').waitFor()
    const row = auditor.locator('tbody tr').filter({ hasText: 'maintenance tonight' })
    await row.waitFor() // without a reload
    expect(await row.textContent()).toContain('test-operator')
    expect(await row.textContent()).toContain('127.0.0.1')
    await screenshot(auditor, 'audit')
    await operator.getByRole('button', { name: 'Resume calls' }).click()
    await operator.getByText('Calls to the platform have been resumed.').waitFor()
  })

  test('leads to the run and the refund that were meant, and shows sign-ins', async () => {
    const page = await open('/audit?what=resync')
    await page
      .locator('tbody')
      .getByRole('link', { name: /run \d+/ })
      .first()
      .waitFor()
    await page.goto('/audit?what=sign_in')
    await page.getByRole('cell', { name: 'Sign in' }).first().waitFor()
    expect(await page.locator('tbody tr').first().textContent()).toContain('127.0.0.1')
    await page.goto('/audit?what=resolve_refund')
    await page.getByRole('link', { name: refundNo(2) }).click()
    await page.getByRole('heading', { name: `Refund ${refundNo(2)}` }).waitFor()
  })

  test('is filtered by its form', async () => {
    await company.db.query(
      `insert into dirsync.command (name, requested_by, reason) values ('pause', 'postgres (console:=cmd)', '=1+1')`,
    )
    const page = await open('/audit')
    await page.getByLabel('What').selectOption('pause')
    await page.getByLabel('Who').fill('=CMD')
    await page.getByRole('button', { name: 'Apply' }).click()
    await page.locator('tbody tr').nth(1).waitFor({ state: 'detached' })
    await page.getByText('=1+1').waitFor()
    expect(await page.locator('tbody tr').count()).toBe(1)
  })
})

test('whatever the platform and people have written stays text, and in its place', async () => {
  await company.db.query(
    `insert into dirsync.refund (outer_refund_no, outer_trade_no, enterprise_code, refund_amount, state, requested_by,
                                 settled_at, trade_no, platform_code, trace_id, message)
     values ($1, $1, $1, 1, 'rejected', $1, now(), $1, 1, $1, $2)`,
    [HOSTILE, toStore(inWords(HOSTILE + LONG))],
  )
  await company.db.query(
    `insert into dirsync.refund (outer_refund_no, outer_trade_no, refund_amount, state, requested_by, settled_at,
                                 resolved_by, resolution)
     values ('resolved-hostile', $1, 1, 'rejected', $1, now(), $1, $2)`,
    [HOSTILE, HOSTILE + LONG],
  )
  await company.db.query(
    `insert into dirsync.topup (external_code, account_openid, amount, state, requested_by, message)
     values ($1, $1, 5, 'unknown', $1, $2)`,
    [HOSTILE, toStore(inWords(HOSTILE + LONG))],
  )
  await company.db.query(
    `insert into dirsync.payment_order (enterprise_code, trade_no, out_trade_no, userid, subject, asset_code, status)
     values ($1, $1, $1, $1, $2, $1, 99)`,
    [HOSTILE, HOSTILE + LONG],
  )
  await company.db.query(
    `insert into dirsync.limit_account (enterprise_code, account_openid, name, status) values ($1, $1, $2, 9)`,
    [HOSTILE, HOSTILE + LONG],
  )
  await company.db.query(
    `insert into dirsync.limit_sub_account (enterprise_code, account_openid, id, name) values ($1, $1, $1, $2)`,
    [HOSTILE, HOSTILE + LONG],
  )
  await company.db.query(
    `insert into dirsync.taxpayer (enterprise_code, identifier, taxpayer_nature, taxpayer_name) values ($1, $1, 1, $2)`,
    [HOSTILE, HOSTILE + 'x'.repeat(900)],
  )
  await company.db.query(
    `insert into dirsync.command (name, arguments, requested_by, address, reason) values ($1, $2, $1, $1, $3)`,
    [HOSTILE, { [HOSTILE]: HOSTILE + LONG, list: [HOSTILE], of: { [HOSTILE]: HOSTILE } }, HOSTILE + LONG],
  )
  const page = await newPage({ ...PHONE })
  const key = encodeURIComponent(HOSTILE)
  for (const path of [
    '/money',
    '/money?kind=topups',
    `/money/refunds/${key}`,
    '/money/refunds/resolved-hostile',
    `/money/topups/${key}`,
    '/mirrors/orders',
    '/mirrors/accounts',
    '/mirrors/taxpayers',
    '/audit',
  ]) {
    await page.goto(path)
    await page.getByText('<script>').first().waitFor({ state: 'attached' })
    expect(await page.title(), path).not.toBe('taken')
    expect(await page.locator('main img, main script').count(), path).toBe(0)
    await expectFitsPhone(page)
  }
  await screenshot(page, 'audit-phone')
})

const PAGES = [
  '/money',
  `/money/refunds/${refundNo(2)}`,
  '/money?kind=topups',
  '/mirrors',
  '/mirrors/orders',
  '/mirrors/accounts',
  '/audit',
]

test.each(LANGUAGES)('every page is accessible in %s', async language => {
  const page = await newPage({ language })
  await expectPagesAccessible(page, PAGES)
})

test('without JavaScript a top-up is resolved, and everything can be read', async () => {
  const page = await open(`/money/topups/${encodeURIComponent(HOSTILE)}`, { javaScript: false })
  await page.locator('summary').filter({ hasText: 'Record the outcome' }).click()
  await page.getByLabel('What the platform’s support said').selectOption('accepted')
  await page.getByLabel('Reason').fill('the points are there')
  await page.getByRole('button', { name: 'Record the outcome' }).click()
  await page.getByText('The outcome was recorded.').waitFor()
  expect(await latestCommand()).toMatchObject({ name: 'resolve_topup', reason: 'the points are there' })
  await page.goto('/audit?who=test-admin')
  await page.getByRole('cell', { name: 'Resolve a top-up' }).waitFor()
})
