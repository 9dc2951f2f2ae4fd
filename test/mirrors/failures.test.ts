import { createHash, randomBytes } from 'node:crypto'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { readRunDetails } from '../../src/console/runs/query.ts'
import { onlyRow, transaction } from '../../src/lib/database.ts'
import { readHealth } from '../../src/sync/health/health.ts'
import { type Company, createCompany, endOf, until } from '../helpers/company.ts'
import { listening } from '../helpers/listening.ts'
import { worded } from '../texts/worded.ts'
import { casesOf, daysAgo, order, rowsOf } from './mirror-under-test.ts'

let company: Company
beforeAll(async () => {
  company = await createCompany({
    employees: 1,
    settings: { PAYMENT_ORDER_DAYS: '3', TAXPAYER_IDENTIFIERS: 'ID-1,ID-2', MIRRORS: 'accounts' },
  })
  await company.control('POST', 'orders', [order(1, 0), order(2, 1), order(3, 2)])
  await company.control('POST', 'taxpayers', [
    { identifier: 'ID-1', taxpayer_name: 'One' },
    { identifier: 'ID-2', taxpayer_name: 'Two' },
  ])
  await company.start()
})
afterAll(() => company[Symbol.asyncDispose]())
beforeEach(async () => {
  await company.control('DELETE', 'faults')
  await company.db.query('delete from dirsync.dead_letter')
})

const fault = (operation: string, differs: object) =>
  company.control('POST', 'faults', [{ operation, ...differs }])
const ask = async (kind: string) => {
  const { rows } = await company.db.query('select dirsync.resync($1) as id', [kind])
  return Number(rows[0].id)
}
/** As a tick of a cron job would ask. */
const tick = async (kind: string, of = company) => {
  const { rows } = await of.db.query(
    `insert into dirsync.sync_run (kind, requested_by) values ($1, 'cron') returning id::int`,
    [kind],
  )
  return endOf(of.db, rows[0].id)
}
/** The scheduled jobs that fail. */
const failing = async () => {
  const { failingJobs } = await readHealth(company.db)
  return failingJobs.map(({ job }) => job)
}
const attempts = async (run: number) =>
  (
    await company.db.query(
      'select outcome, entity_key, platform_code, calls from dirsync.attempt where run_id = $1 order by id',
      [run],
    )
  ).rows

test('a platform that is away for a moment is tried again, and the run goes on where it was', async () => {
  await fault('enterprise/consume/list', { httpStatus: 503, times: 1 })
  const run = await company.run('orders')
  expect(run).toMatchObject({ state: 'done', result: { calls: { 'enterprise/consume/list': 4 } } })
  expect((await attempts(run.id)).map(({ outcome }) => outcome)).toEqual([
    'retry',
    'updated',
    'updated',
    'updated',
  ])
  expect(await casesOf(company, 'mirror-orders')).toEqual([])
})

test('a platform that asks to wait is obeyed, and no attempt is spent', async () => {
  await fault('enterprise/consume/list', { httpStatus: 429, retryAfter: 1, times: 1 })
  const run = await company.run('orders')
  expect(run.state).toBe('done')
  expect((await attempts(run.id)).map(({ outcome }) => outcome)).toEqual(['wait', 'in_sync', 'in_sync'])
})

test('a platform that stays away fails the run with a case, which counts up and ends with the first success', async () => {
  await fault('assets/limit/enterprise/get', { httpStatus: 500 })
  const exhaust = async () => {
    const id = await ask('accounts')
    const first = `update dirsync.mirror_task set attempts = 4, not_before = now() where run_id = $1 and attempts > 0`
    await until(async () => (await company.db.query(first, [id])).rowCount === 1)
    return endOf(company.db, id)
  }
  const run = await exhaust()
  expect(run).toMatchObject({
    state: 'failed',
    message: expect.stringMatching(/^The platform could not be reached/),
  })
  expect((await attempts(run.id)).map(({ outcome }) => outcome)).toEqual(['retry', 'parked'])
  expect(run.result).toMatchObject({ deadLetters: { platform_unavailable: 1 } })
  await exhaust()
  expect(await casesOf(company, 'mirror-accounts')).toMatchObject([
    {
      entity: 'mirror',
      entity_key: 'accounts',
      category: 'platform_unavailable',
      state: 'retry_scheduled',
      occurrences: 2,
    },
  ])

  await company.control('DELETE', 'faults')
  await company.run('accounts')
  expect(await casesOf(company, 'mirror-accounts')).toEqual([])
})

describe('what the platform refuses', () => {
  test('fails the part and not the others; the next tick leaves it alone; a retry reads it again', async () => {
    const refused = { match: { identifier: 'ID-1' }, code: 1000220002 }
    await fault('taxpayer/findList', refused)
    const run = await company.run('taxpayers')
    // Of its two natures the second was not asked for.
    const outcomes = { updated: 1, in_sync: 1, parked: 1, not_read: 1 }
    expect(run).toMatchObject({ state: 'failed', result: { outcomes } })
    expect((await rowsOf(company, 'taxpayer')).map(({ identifier }) => identifier)).toEqual(['ID-2'])
    const [open] = await casesOf(company, 'mirror-taxpayers')
    expect(open).toMatchObject({
      entity: 'mirror',
      entity_key: 'taxpayers',
      field: 'ID-1',
      category: 'invalid_parameter',
      state: 'open',
    })

    // Nothing is mended by reading the others.
    const message = expect.stringMatching(/^the platform refused this before: see case \d+$/)
    const next = tick('taxpayers')
    expect(await company.spent(() => next)).toEqual({ 'taxpayer/findList': 2 })
    expect(await next).toMatchObject({ state: 'failed', message, result: { outcomes: { in_sync: 2 } } })
    await company.db.query(`select dirsync.ignore($1, 'agreed')`, [open.id])
    expect(await tick('taxpayers')).toMatchObject({ state: 'done', message })

    await company.control('DELETE', 'faults')
    await company.db.query('select dirsync.retry($1)', [open.id])
    await until(async () => (await casesOf(company, 'mirror-taxpayers')).length === 0)
    const { rows } = await company.db.query(
      `select dirsync.in_language('en', message) as message from dirsync.sync_run where kind = 'retry' order by id desc limit 1`,
    )
    expect(rows[0].message).toMatch(/^run \d+ reads taxpayers again$/)
    expect((await rowsOf(company, 'taxpayer')).map(({ identifier }) => identifier)).toEqual(['ID-1', 'ID-2'])
  })

  test('is read again for whoever asks, also while a scheduled run waits that leaves it out', async () => {
    const refused = { match: { identifier: 'ID-1' }, code: 1000220002 }
    await fault('taxpayer/findList', refused)
    await company.run('taxpayers')
    expect(await casesOf(company, 'mirror-taxpayers')).toMatchObject([{ field: 'ID-1', state: 'open' }])
    await company.control('DELETE', 'faults')
    // In one transaction, so that the scheduled run has not begun.
    const { rows } = await transaction(company.db, async client => {
      await client.query(`insert into dirsync.sync_run (kind, requested_by) values ('taxpayers', 'cron')`)
      return client.query<{ id: number }>(`select dirsync.resync('taxpayers')::int as id`)
    })
    await endOf(company.db, onlyRow(rows).id)
    expect(await casesOf(company, 'mirror-taxpayers')).toEqual([])
  })

  test('ends as obsolete when it is no longer requested', async () => {
    await company.db.query(`select dirsync.record_failure(jsonb_build_object('enterprise_code', '', 'entity', 'mirror',
      'entity_key', 'taxpayers', 'operation', 'mirror-taxpayers', 'field', 'ID-9', 'category', 'invalid_parameter',
      'message', 'refused', 'remedy', 'correct it', 'state', 'open'))`)
    await company.run('taxpayers')
    expect(await casesOf(company, 'mirror-taxpayers')).toEqual([])
  })

  test('of one enterprise ends as obsolete while the same part of another one is read', async () => {
    await using other = await createCompany({
      employees: 1,
      settings: { PAYMENT_ORDER_DAYS: '1', MIRRORS: 'accounts' },
    })
    await other.control('POST', 'enterprises', [{ enterprise_code: 'E1' }, { enterprise_code: 'E2' }])
    await other.start()
    await other.db.query(
      `insert into dirsync.employee (enterprise_code, userid) values ('E1', 'x'), ('E2', 'y')`,
    )
    await other.db.query(
      `insert into dirsync.payment_order (enterprise_code, trade_no, status, listed_on)
       values ('E2', 'T000000000000700', 4, $1)`,
      [daysAgo(9)],
    )
    await other.db.query(`select dirsync.record_failure(jsonb_build_object('enterprise_code', 'E1', 'entity', 'mirror',
      'entity_key', 'orders', 'operation', 'mirror-orders', 'field', 'older_orders', 'category', 'no_permission',
      'message', 'refused', 'remedy', 'correct it', 'state', 'open'))`)
    const run = tick('orders', other)
    expect(await other.spent(() => run)).toMatchObject({ 'enterprise/consume/get': 1 })
    expect(await run).toMatchObject({ state: 'done' })
    expect(await casesOf(other, 'mirror-orders')).toEqual([])
  })

  test('is left to a worker that knows what is requested where another one has no list of it, which is no success', async () => {
    await using other = await createCompany({ employees: 1, settings: { MIRRORS: 'accounts' } })
    await other.start()
    await other.db.query(`select dirsync.record_failure(jsonb_build_object('enterprise_code', '', 'entity', 'mirror',
      'entity_key', 'taxpayers', 'operation', 'mirror-taxpayers', 'field', 'ID-1', 'category', 'invalid_parameter',
      'message', 'refused', 'remedy', 'correct it', 'state', 'open'))`)
    const message = expect.stringMatching(
      /^TAXPAYER_IDENTIFIERS is empty.*the platform refused this before: see case \d+$/s,
    )
    expect(await other.run('taxpayers')).toMatchObject({ state: 'failed', message })
    expect(await casesOf(other, 'mirror-taxpayers')).toMatchObject([{ field: 'ID-1', state: 'open' }])
    await other.db.query(`select dirsync.retry(id) from dirsync.dead_letter`)
    await until(async () =>
      (await casesOf(other, 'mirror-taxpayers')).every(({ state }) => state === 'retry_scheduled'),
    )
    // Not within the hour, again and again. A run that has a list reads it.
    const { rows } = await other.db.query(
      `select next_retry_at > now() + interval '2 days' as rests from dirsync.dead_letter`,
    )
    expect(rows).toEqual([{ rests: true }])
    await other.db.query(`select dirsync.ignore(id, 'no longer wanted') from dirsync.dead_letter`)
    expect(await other.run('taxpayers')).toMatchObject({ state: 'done' })
    expect(await casesOf(other, 'mirror-taxpayers')).toMatchObject([{ field: 'ID-1', state: 'ignored' }])
  })

  test('stays accepted while it is not requested, and when it is requested again', async () => {
    const older = [daysAgo(9), 'T000000000000700']
    await company.db.query(
      `insert into dirsync.payment_order (trade_no, status, listed_on) values ($2, 4, $1)`,
      older,
    )
    await fault('enterprise/consume/get', { code: 1002200106 })
    await company.run('orders')
    const accepted = [{ field: 'older_orders', state: 'ignored', category: 'no_permission' }]
    await company.db.query(`select dirsync.ignore(id, 'agreed') from dirsync.dead_letter`)
    expect(await casesOf(company, 'mirror-orders')).toMatchObject(accepted)
    await company.db.query(`delete from dirsync.payment_order where trade_no = $1`, [older[1]])
    await company.run('orders')
    await company.db.query(
      `insert into dirsync.payment_order (trade_no, status, listed_on) values ($2, 4, $1)`,
      older,
    )
    let run: unknown
    const calls = await company.spent(async () => {
      run = await tick('orders')
    })
    expect(calls).not.toHaveProperty('enterprise/consume/get')
    // The days were read: the run says what it left out.
    expect(run).toMatchObject({
      state: 'done',
      message: expect.stringMatching(/^the platform refused this before: see case \d+$/),
    })
    expect(await casesOf(company, 'mirror-orders')).toMatchObject(accepted)
    await company.db.query(`delete from dirsync.payment_order where trade_no = $1`, [older[1]])
  })

  test('for want of permission is not asked again day by day', async () => {
    await fault('enterprise/consume/list', { code: 1002200106 })
    expect(await company.spent(() => company.run('orders'))).toEqual({ 'enterprise/consume/list': 1 })
    expect(await casesOf(company, 'mirror-orders')).toMatchObject([
      { category: 'no_permission', state: 'open' },
    ])
    await company.db.query(`insert into dirsync.job_schedule (job, expression, next_due_at, interval_seconds)
      values ('mirror-orders', '0 * * * *', now() + interval '1 hour', 3600)`)
    expect(await failing()).toEqual(['mirror-orders'])
    // It asks for nothing: the job has not succeeded.
    const message = expect.stringMatching(/^the platform refused this before: see case \d+$/)
    const next = tick('orders')
    expect(await company.spent(() => next)).toEqual({})
    expect(await next).toMatchObject({ state: 'failed', message })
    expect(await failing()).toEqual(['mirror-orders'])
    // Accepted, it is no failure; what it left out is still said.
    await company.db.query(`select dirsync.ignore(id, 'agreed') from dirsync.dead_letter`)
    expect(await tick('orders')).toMatchObject({ state: 'done', message })
    expect(await failing()).toEqual([])
  })

  test('of one order does not keep days and other orders from being read; a number that is too long is never asked for', async () => {
    const older = `insert into dirsync.payment_order (trade_no, status, listed_on) values ($1, 4, $2)`
    const odd = 'T000000000000702'
    for (const [number, age] of [
      [odd, 8],
      ['T000000000000700', 9],
      ['T0000000000000701', 9],
    ] as const)
      await company.db.query(older, [number, daysAgo(age)])
    await company.control('POST', 'orders', [order(700, 9, { status: 3 }), order(702, 8, { status: 3 })])
    await fault('enterprise/consume/get', { match: { trade_no: odd }, code: 1000220002 })
    expect(await company.spent(() => company.run('orders'))).toMatchObject({ 'enterprise/consume/get': 2 })
    const refused = { field: odd, category: 'invalid_parameter', state: 'open' }
    expect(await casesOf(company, 'mirror-orders')).toMatchObject([refused])
    const states = async () =>
      (await rowsOf(company, 'payment_order'))
        .filter(row => [odd, 'T000000000000700'].includes(String(row.trade_no)))
        .map(row => row.status)
    expect(await states()).toEqual([3, 4])
    await company.control('POST', 'orders', [order(4, 0)])
    expect(await tick('orders')).toMatchObject({ state: 'failed', result: { rows: { changed: 1 } } })
    expect(await casesOf(company, 'mirror-orders')).toMatchObject([refused])

    await company.control('DELETE', 'faults')
    expect(await company.spent(() => company.run('orders'))).toMatchObject({ 'enterprise/consume/get': 1 })
    expect(await casesOf(company, 'mirror-orders')).toEqual([])
    expect(await states()).toEqual([3, 3])
  })

  test('comes to its turn within the hour when the run that was to retry it could not', async () => {
    await company.db.query(`select dirsync.record_failure(jsonb_build_object('enterprise_code', '', 'entity', 'mirror',
      'entity_key', 'taxpayers', 'operation', 'mirror-taxpayers', 'field', 'ID-2', 'category', 'invalid_parameter',
      'message', 'refused', 'remedy', 'correct it', 'state', 'open'))`)
    await fault('taxpayer/findList', { match: { identifier: 'ID-1' }, httpStatus: 500 })
    await company.db.query(`select dirsync.retry(id) from dirsync.dead_letter`)
    const last = `update dirsync.mirror_task set attempts = 4, not_before = now() where attempts > 0`
    await until(async () => (await company.db.query(last)).rowCount === 1)
    await until(async () =>
      (await casesOf(company, 'mirror-taxpayers')).every(({ state }) => state === 'retry_scheduled'),
    )
    expect(await casesOf(company, 'mirror-taxpayers')).toHaveLength(2)
  })
})

test('an answer that breaks the specification costs its day only, and is a case of its own until the day is read', async () => {
  const odd = daysAgo(1)
  await company.db.query('delete from dirsync.mirror_day')
  const body = JSON.stringify({ total_count: 1, data_list: [{ ...order(2, 1), total_amount: '1,000.00' }] })
  await fault('enterprise/consume/list', { match: { time_start: odd }, body })
  const id = await ask('orders')
  const last = `update dirsync.mirror_task set attempts = 4, not_before = now() where run_id = $1 and attempts > 0`
  await until(async () => (await company.db.query(last, [id])).rowCount === 1)
  expect(await endOf(company.db, id)).toMatchObject({ state: 'failed' })
  expect(await casesOf(company, 'mirror-orders')).toMatchObject([
    {
      field: odd,
      category: 'platform_unavailable',
      state: 'retry_scheduled',
      message: expect.stringContaining('data_list.0.total_amount'),
    },
  ])
  const { rows } = await company.db.query('select day::text from dirsync.mirror_day order by day')
  expect(rows).toEqual([{ day: daysAgo(2) }, { day: daysAgo(0) }])
  await company.control('DELETE', 'faults')
  await company.run('orders')
  expect(await casesOf(company, 'mirror-orders')).toEqual([])
})

test('answers that break the specification one after the other are the platform, and end the run', async () => {
  await company.db.query('delete from dirsync.mirror_day')
  const { rows } = await company.db.query(
    `insert into dirsync.payment_order (trade_no, status, listed_on)
     select 'T00000000000076' || n, 4, $1 from generate_series(1, 3) as n returning trade_no`,
    [daysAgo(9)],
  )
  await fault('enterprise/consume/get', { body: '<html>' })
  const id = await ask('orders')
  const last = `update dirsync.mirror_task set attempts = 4, not_before = now() where run_id = $1 and attempts between 1 and 3`
  for (const _ of rows) await until(async () => (await company.db.query(last, [id])).rowCount === 1)
  expect(await endOf(company.db, id)).toMatchObject({ state: 'failed' })
  expect((await casesOf(company, 'mirror-orders')).map(({ field }) => field)).toEqual([
    ...rows.slice(0, 2).map(({ trade_no }) => trade_no),
    'older_orders',
  ])
  await company.db.query(`delete from dirsync.payment_order where listed_on = $1`, [daysAgo(9)])
})

test('an order whose mall detail is empty in other words is read', async () => {
  const number = 'T000000000000750'
  for (const commerce_order_detail of ['', []]) {
    await company.db.query(
      `insert into dirsync.payment_order (trade_no, status, listed_on) values ($1, 4, $2)`,
      [number, daysAgo(9)],
    )
    const { payer_name: _, ...data } = order(750, 9, { status: 3, commerce_order_detail })
    await fault('enterprise/consume/get', { body: JSON.stringify({ code: 0, msg: 'OK', data }) })
    expect(await company.run('orders')).toMatchObject({ state: 'done' })
    expect(await rowsOf(company, 'payment_order')).toContainEqual(
      expect.objectContaining({ trade_no: number, status: 3 }),
    )
    await company.db.query('delete from dirsync.payment_order where trade_no = $1', [number])
    await company.control('DELETE', 'faults')
  }
})

test('data that no column can hold is a case, and its contents are not shown', async () => {
  const odd = [{ account_openid: 'A-ODD', name: 'Odd one', status: 99_999_999_999 }]
  await fault('assets/limit/enterprise/get', { body: JSON.stringify({ code: 0, msg: 'OK', data: odd }) })
  expect(await company.run('accounts')).toMatchObject({ state: 'failed' })
  expect(await casesOf(company, 'mirror-accounts')).toMatchObject([
    { category: 'internal_error', message: 'What the platform gave cannot be stored (SQLSTATE 22003).' },
  ])
})

test('a run under way shows its calls, outcomes and cases so far beside its rows', async () => {
  await company.db.query('delete from dirsync.mirror_day')
  const body = JSON.stringify({ total_count: 1, data_list: [{ ...order(2, 1), status: 99_999_999_999 }] })
  await fault('enterprise/consume/list', { match: { time_start: daysAgo(1) }, body })
  await fault('enterprise/consume/list', { match: { time_start: daysAgo(2) }, hold: true })
  const id = await ask('orders')
  await until(async () => (await casesOf(company, 'mirror-orders')).length === 1)
  const shown = await readRunDetails(company.db, id)
  const list = { operation: 'enterprise/consume/list', calls: 2 }
  expect(shown).toMatchObject({
    ...{ state: 'running', counted: true, rows: expect.any(Object), outcomes: { in_sync: 1, parked: 1 } },
    ...{ calls: [list], cases_by_category: { internal_error: 1 }, figures: { calls: null } },
  })
  await company.control('DELETE', 'faults')
  expect(await endOf(company.db, id)).toMatchObject({ state: 'failed' })
  expect(await readRunDetails(company.db, id)).toMatchObject({
    ...{ rows: expect.any(Object), outcomes: { in_sync: 2, parked: 1 }, figures: { calls: 3 } },
  })
})

test('what no index can hold is a case too, and the run ends', async () => {
  const endless = Array.from({ length: 400 }, (_, i) =>
    createHash('sha256').update(`${i}`).digest('hex'),
  ).join('')
  const odd = [{ account_openid: endless, name: 'Endless one', status: 1 }]
  await fault('assets/limit/enterprise/get', { body: JSON.stringify({ code: 0, msg: 'OK', data: odd }) })
  expect(await company.run('accounts')).toMatchObject({ state: 'failed' })
  expect(await casesOf(company, 'mirror-accounts')).toMatchObject([
    { category: 'internal_error', message: 'What the platform gave cannot be stored (SQLSTATE 54000).' },
  ])
})

test('a refusal with something that cannot be stored is a case without it, and the run ends', async () => {
  await company.db.query(`
    create function public.refuse() returns trigger language plpgsql as $$ begin
      if new.platform_code = 1000220002 then raise exception 'odd' using errcode = '22003'; end if;
      return new;
    end $$;
    create trigger refuse before insert on dirsync.attempt for each row execute function public.refuse()`)
  try {
    await fault('assets/limit/enterprise/get', { code: 1000220002 })
    expect(await company.run('accounts')).toMatchObject({ state: 'failed' })
    expect(await casesOf(company, 'mirror-accounts')).toMatchObject([
      { category: 'internal_error', message: 'What the platform gave cannot be stored (SQLSTATE 22003).' },
    ])
  } finally {
    await company.db.query('drop function public.refuse() cascade')
  }
})

test('wrong credentials halt everything; the mirror probes by itself, and goes on when they are right', async () => {
  await fault('assets/limit/enterprise/get', { code: 1000210003 })
  const id = await ask('accounts')
  await until(
    async () => (await company.db.query(`select from dirsync.halt where scope = '*'`)).rowCount === 1,
  )
  await company.control('DELETE', 'faults')
  await company.db.query('update dirsync.halt set next_probe_at = now()')
  expect(await endOf(company.db, id)).toMatchObject({ state: 'done', result: { outcomes: { in_sync: 1 } } })
  expect((await company.db.query('select from dirsync.halt')).rowCount).toBe(0)
  expect(worded(await casesOf(company, 'mirror-accounts'))).toEqual([])
})

test('credentials that stay wrong end the run without a case, and HR being away makes no difference', async () => {
  await company.db.query(`insert into dirsync.halt (scope, category, message, remedy, next_probe_at)
    values ('*', 'hr_unavailable', '[]', '[]', now() + interval '1 hour')`)
  await fault('assets/limit/enterprise/get', { code: 1000210003 })
  const id = await ask('accounts')
  const last = `update dirsync.mirror_task set attempts = 4, not_before = now() where run_id = $1 and attempts > 0`
  await until(async () => (await company.db.query(last, [id])).rowCount === 1)
  expect((await company.db.query('select category from dirsync.halt')).rows).toEqual([
    { category: 'credentials' },
  ])
  await company.db.query('update dirsync.halt set next_probe_at = now()')
  expect(await endOf(company.db, id)).toMatchObject({
    state: 'failed',
    message: expect.stringMatching(/PLATFORM_APP_ID/),
    result: { calls: { 'assets/limit/enterprise/get': 2 } },
  })
  expect(worded(await casesOf(company, 'mirror-accounts'))).toEqual([])
  await company.db.query(`delete from dirsync.halt`)
})

test('a halt because of HR does not concern a mirror', async () => {
  await company.db.query(`insert into dirsync.halt (scope, category, message, remedy, next_probe_at)
    values ('*', 'hr_unavailable', '[]', '[]', now() + interval '1 hour')`)
  expect(await company.run('accounts')).toMatchObject({ state: 'done' })
  expect((await company.db.query(`delete from dirsync.halt`)).rowCount).toBe(1)
})

test('of a group every enterprise is asked; one whose code is not bound is halted, and the others are read', async () => {
  await company.control('POST', 'accounts', [
    { enterprise_code: 'E1', account_openid: 'A-E1', name: 'One', balance: '1.00' },
  ])
  await company.db.query(
    `insert into dirsync.employee (enterprise_code, userid) values ('E1', 'x'), ('E2', 'y')`,
  )
  const run = await company.run('accounts')
  expect(run).toMatchObject({ state: 'done', message: expect.stringMatching(/^Enterprise E2 is halted: /) })
  expect(await rowsOf(company, 'limit_account')).toMatchObject([{ enterprise_code: 'E1', balance: '1.00' }])
  const { rows } = await company.db.query('select scope, category from dirsync.halt')
  expect(rows).toEqual([{ scope: 'E2', category: 'enterprise_code' }])
  expect(worded(await casesOf(company, 'mirror-accounts'))).toEqual([])

  await company.db.query(`insert into dirsync.halt (scope, category, message, remedy, next_probe_at)
    values ('E1', 'enterprise_code', '{"key": "said.words", "values": {"words": "not bound"}}', '{"key": "said.words", "values": {"words": "bind it"}}', now() + interval '1 hour')`)
  await company.db.query(`update dirsync.halt set next_probe_at = now() + interval '1 hour'`)
  expect(await company.spent(() => company.run('accounts'))).toEqual({})
  const { rows: runs } = await company.db.query('select state from dirsync.sync_run order by id desc limit 1')
  expect(runs).toEqual([{ state: 'failed' }])
  await company.db.query(`delete from dirsync.halt where scope = 'E1'`)

  await company.control('POST', 'enterprises', [{ enterprise_code: 'E2' }])
  await company.db.query('update dirsync.halt set next_probe_at = now()')
  expect(await company.run('accounts')).toMatchObject({ state: 'done' })
  expect((await company.db.query('select from dirsync.halt')).rowCount).toBe(0)
})

test('a trace id of any length and kind is kept with the case, cut', async () => {
  await using other = await createCompany({ employees: 1, settings: { MIRRORS: 'accounts' } })
  const traceId = randomBytes(3000).toString('base64url')
  await using gateway = await listening(async (request, response) => {
    const { method = '', headers, url = '' } = request
    const answer = await fetch(new URL(url, other.emulator.url), {
      method,
      headers: { 'content-type': headers['content-type'] ?? '' },
      body: await text(request),
    })
    response
      .writeHead(answer.status, { 'x-trace-id': traceId.replace(/^.{9}/, '$&\t') })
      .end(await answer.text())
  })
  other.settings.PLATFORM_BASE_URL = gateway.origin
  await other.control('POST', 'faults', [{ operation: 'assets/limit/enterprise/get', code: 1000220002 }])
  await other.start()
  expect((await other.run('accounts')).state).toBe('failed')
  const { rows } = await other.db.query(
    `select (select trace_id from dirsync.dead_letter) as held, (select trace_id from dirsync.attempt) as tried`,
  )
  const cut = `${traceId.slice(0, 200)}…`
  expect(rows).toEqual([{ held: cut, tried: cut }])
})
