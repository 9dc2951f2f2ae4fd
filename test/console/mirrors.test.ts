import { beforeEach, describe, expect, test } from 'vitest'
import { readMirrorStatuses } from '../../src/console/mirrors/query.ts'
import { listLimitAccounts, listPaymentOrders, listTaxpayers } from '../../src/console/mirrors/read.ts'
import { claimDeployment } from '../../src/sync/health/deployment.ts'
import { StoreUnderTest } from '../sync/store-under-test.ts'

const store = new StoreUnderTest()

beforeEach(async () => {
  await store.pool.query(`
    insert into dirsync.payment_order (trade_no, userid, status, pay_amount, created_at)
      select 't' || i, 'e' || i % 2, 1 + i % 3, i + 0.50, '2026-11-01T00:00Z'::timestamptz + i / 2 * interval '1 hour'
      from generate_series(0, 9) i;
    insert into dirsync.limit_account (account_openid, name, balance, gone_at)
      values ('a1', 'Lunch', 12.30, null), ('a2', 'Care', 0, null), ('a3', 'Old', 1, now());
    insert into dirsync.limit_sub_account (account_openid, id, name, gone_at)
      values ('a1', '1', 'One', null), ('a1', '2', 'Two', now());
    insert into dirsync.taxpayer (identifier, taxpayer_nature, taxpayer_name)
      values ('91A', 1, 'Acme'), ('91A', 2, 'Acme'), ('92B', 1, 'Best')`)
})

describe('payment orders', () => {
  const numbers = async (options: Partial<Parameters<typeof listPaymentOrders>[1]> = {}) =>
    (await listPaymentOrders(store.pool, { limit: 20, ...options })).items.map(({ trade_no }) => trade_no)

  test('come the latest first', async () => {
    expect(await numbers()).toEqual(['t9', 't8', 't7', 't6', 't5', 't4', 't3', 't2', 't1', 't0'])
  })

  test('are filtered by payer, status, number and time', async () => {
    await store.pool.query(`insert into dirsync.employee (userid) values ('e1')`)
    expect(await numbers({ userid: 'e1' })).toEqual(['t9', 't7', 't5', 't3', 't1'])
    expect(await numbers({ status: 2 })).toEqual(['t7', 't4', 't1'])
    expect(await numbers({ number: 't7' })).toEqual(['t7'])
    expect(await numbers({ number: 't_' })).toEqual([])
    await store.pool.query(`update dirsync.payment_order set out_trade_no = 'o7' where trade_no = 't7'`)
    expect(await numbers({ number: 'o7' })).toEqual(['t7'])
    expect(await numbers({ number: 'o' })).toEqual([])
    expect(await numbers({ enterprise: 'X' })).toEqual([])
    const [from, until] = [new Date('2026-11-01T01:00Z'), new Date('2026-11-01T02:00Z')]
    expect(await numbers({ from, until })).toEqual(['t3', 't2'])
  })

  test('of an employee are found in every enterprise that has orders, whether employees of it are known or not', async () => {
    await store.pool.query(`
      insert into dirsync.payment_order (enterprise_code, trade_no, userid) values ('OWN', 'o1', 'e1'), ('X', 'o2', 'e1')`)
    expect(await numbers({ userid: 'e1' })).toEqual(['o2', 'o1', 't9', 't7', 't5', 't3', 't1'])
  })

  test('that the mirror has of an earlier enterprise code, too, are listed once, as they were last seen', async () => {
    await store.pool.query(
      `insert into dirsync.payment_order (enterprise_code, trade_no, changed_at) values ('OLD', 't9', now() - interval '1 day'), ('OLD', 't_', now())`,
    )
    const { items } = await listPaymentOrders(store.pool, { limit: 20, number: 't9' })
    expect(items).toMatchObject([{ enterprise_code: '', trade_no: 't9' }])
    expect(await numbers({ enterprise: 'OLD' })).toEqual(['t_', 't9'])
    expect(await numbers()).toContain('t_')
  })

  test('have amounts as decimal texts', async () => {
    const [latest] = (await listPaymentOrders(store.pool, { limit: 1 })).items
    expect(latest).toMatchObject({ pay_amount: '9.50', total_amount: null, created_at: expect.any(Date) })
  })
})

test('what a mirror read of an earlier account is no reading of this one', async () => {
  await store.pool.query(
    `insert into dirsync.sync_run (kind, state, planned_at, finished_at) values ('orders', 'done', now(), now())`,
  )
  const last = async () =>
    (await readMirrorStatuses(store.pool)).items.find(({ mirror }) => mirror === 'orders')?.last ?? null
  expect(await last()).toMatchObject({ state: 'done' })
  await claimDeployment(store.pool, { baseUrl: 'b', appId: 'a', enterpriseCode: '' })
  expect(await last()).toBeNull()
})

test('limit accounts come with their sub-accounts, without those that are gone unless asked', async () => {
  const present = await listLimitAccounts(store.pool, { limit: 5 })
  expect(present.items).toMatchObject([
    { account_openid: 'a1', balance: '12.30', sub_accounts: [{ id: '1', name: 'One', gone: false }] },
    { account_openid: 'a2' },
  ])
  const all = await listLimitAccounts(store.pool, { limit: 5, gone: true })
  expect(all.items.map(({ sub_accounts }) => sub_accounts.length)).toEqual([2, 0, 0])
})

test('of more sub-accounts than are listed, all are counted', async () => {
  await store.pool.query(
    `insert into dirsync.limit_sub_account (account_openid, id) select 'a2', i::text from generate_series(1, 201) i`,
  )
  const { items } = await listLimitAccounts(store.pool, { limit: 5 })
  expect(items.map(row => [row.sub_accounts.length, row.sub_account_count])).toEqual([
    [1, 1],
    [200, 201],
  ])
})

test('taxpayers are found by the beginning of their number', async () => {
  const { items } = await listTaxpayers(store.pool, { identifier: '91', limit: 5 })
  expect(items).toMatchObject([
    { identifier: '91A', nature: 1, name: 'Acme' },
    { identifier: '91A', nature: 2 },
  ])
})
