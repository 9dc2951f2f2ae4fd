import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { beforeAll, expect, test, vi } from 'vitest'
import { createDeployment } from '../helpers/deployment.ts'
import { duringFile } from '../helpers/during.ts'
import { controlOf } from '../helpers/emulator-control.ts'
import { LAUNCHER } from '../helpers/process.ts'
import { dirsync as run, wideLines } from './dirsync.ts'

/** A platform with payment orders of two days, limit accounts and taxpayers. A year that is over is shown as it is. */
const deployment = duringFile(createDeployment)

const dirsync = (...args: string[]) => run(args, deployment.settings)
const plant = (path: string, body: unknown) => controlOf(deployment.emulator.url)('POST', path, body)

const ACCOUNT = 'b'.repeat(32)
const MALL = {
  shop_order_code: 'S1',
  activity_type: 2,
  buyer_name: 'Li Lei',
  order_price: '88.80',
  logistics_amount: '0.00',
  trade_status: 4,
  trade_type: 2,
  order_list: [
    {
      delivery_name: 'Li Lei',
      address: 'Example Street 1',
      order_price: '88.80',
      order_status: 7,
      trade_status: 4,
      product_list: [
        { sku_code: 'K1', product_title: 'Tea', current_price: '9.90', deal_price: '8.80', purchase_num: 10 },
      ],
    },
  ],
}

beforeAll(async () => {
  vi.stubEnv('TZ', 'UTC')
  const orders = [...Array(130).keys()].map(n => ({
    trade_no: String(8_000_000_000_000_000 + n),
    out_trade_no: `test-application-${n}`,
    userid: 'e10172',
    subject: 'Lunch',
    total_amount: `${n + 1}.10`,
    create_time: n < 125 ? '2024-11-02 07:30:00' : '2024-11-03 12:00:00',
    ...(n === 0 ? { status: 9, commerce_order_detail: MALL } : {}),
  }))
  await plant('orders', orders)
  await plant('accounts', [
    {
      account_openid: ACCOUNT,
      name: 'Canteen',
      product_category: 2,
      balance: '1234567.80',
      sub_limits: [{ id: 17, name: 'Night shift', status: 2 }],
    },
    { account_openid: 'c'.repeat(32), name: 'Other', product_category: 107, balance: '0.00' },
  ])
  await plant(
    'taxpayers',
    [1, 2].map(nature => ({
      identifier: 'T100',
      taxpayer_name: `Example ${nature}`,
      taxpayer_nature: nature,
    })),
  )
})

test('payment orders of some days are listed with what their states mean', async () => {
  const list = await dirsync('orders', 'list', '--from', '2024-11-03', '--to', '2024-11-03')
  expect(list).toMatchObject({ code: 0, stderr: '' })
  expect(list.stdout).toMatch(/TRADE NO +CREATED +USER +PAID +REFUNDED +ASSET +STATUS\n/)
  expect(list.stdout).toMatch(/8000000000000125 +2024-11-03 +e10172 +126\.10 +0 +POINT +3 payment com/)
  expect(list.stdout).toContain('5 in all.')
  expect(wideLines(list.stdout)).toEqual([])
})

test('more than one page is read, and it is told where there are more', async () => {
  const list = await dirsync(
    'orders',
    'list',
    '--from',
    '2024-11-01',
    '--to',
    '2024-11-03',
    '--limit',
    '128',
    '--json',
  )
  const { orders, more } = list.json()
  expect(new Set(orders.map((order: { trade_no: string }) => order.trade_no)).size).toBe(128)
  expect(more).toBe(true)
  expect(orders[0]).toMatchObject({
    total_amount: expect.stringMatching(/\.10$/),
    create_time: '2024-11-03T04:00:00.000Z',
  })
})

test('of listed orders without a number none is shown further', async () => {
  const list = async (...numbers: (string | null)[]) => {
    const data_list = numbers.map(trade_no => ({ trade_no, total_amount: 5, status: 3 }))
    const body = JSON.stringify({ total_count: numbers.length, data_list })
    const match = { time_start: '2024-11-01', time_end: '2024-11-01' }
    await plant('faults', [{ operation: 'enterprise/consume/list', match, body, times: 1 }])
    return (await dirsync('orders', 'list', '--from', '2024-11-01', '--to', '2024-11-01')).stdout
  }
  expect(await list(null, '8000000000000125')).toContain('orders show 8000000000000125\n')
  const none = await list(null)
  expect(none).toContain('1 in all.')
  expect(none).not.toContain('orders show')
})

test('a reader that is slow to begin gets all of a long list', async () => {
  const order = { userid: 'e10172', total_amount: '1.00', create_time: '2023-05-05 12:00:00' }
  const orders = Array.from({ length: 100 }, (_, n) => ({
    ...order,
    trade_no: String(7_000_000_000_000_000 + n),
    subject: 'Lunch '.repeat(500),
  }))
  await plant('orders', orders)
  const list = ['orders', 'list', '--from', '2023-05-05', '--to', '2023-05-05', '--limit', '100', '--json']
  const shell = spawn('sh', ['-c', '"$@" | (head -c 1; sleep 2; cat)', 'sh', LAUNCHER, ...list], {
    env: { PATH: process.env.PATH, ...deployment.settings },
  })
  expect(JSON.parse(await text(shell.stdout)).orders).toHaveLength(100)
})

test('it is told where the platform counts more than it lists', async () => {
  const page = (names: string[]) => ({
    operation: 'taxpayer/findList',
    match: { identifier: 'SHORT', taxpayer_nature: String(names.length) },
    body: JSON.stringify({
      code: 0,
      data: {
        total_count: names.length + (names.length > 1 ? 3 : 0),
        has_next: false,
        data_list: names.map(taxpayer_name => ({ identifier: 'SHORT', taxpayer_name })),
      },
    }),
  })
  await plant('faults', [page(['A']), page(['B', 'C'])])
  const list = await dirsync('taxpayers', 'SHORT')
  expect(list.stdout).toContain('3 shown; the platform counts 6.')
  expect((await dirsync('taxpayers', 'SHORT', '--json')).json()).toMatchObject({ more: true, total: 6 })
  expect((await dirsync('taxpayers', 'SHORT', '--limit', '2', '--json')).json()).not.toHaveProperty('total')
})

test('a program is told that there is no such account', async () => {
  const missing = await dirsync('accounts', 'd'.repeat(32), '--json')
  expect(missing.code).toBe(1)
  expect(missing.json()).toEqual({ error: { code: 'failed', message: expect.stringMatching(/account/) } })
  const noRun = await dirsync('runs', '999', '--json')
  expect(noRun.code).toBe(1)
  expect(noRun.json()).toEqual({ error: { code: 'not_found', message: expect.stringMatching(/999/) } })
})

test('an empty list says so', async () => {
  const list = await dirsync('orders', 'list', '--from', '2019-01-01', '--to', '2019-01-02')
  expect(list).toMatchObject({ code: 0 })
  expect(list.stdout).toMatch(/no payment order from 2019-01-01 to 2019-01-02: try other days/)
})

test('a payment order is shown down to its goods; an unknown state is shown as it is', async () => {
  const shown = await dirsync('orders', 'show', '8000000000000000')
  expect(shown.stdout).toMatch(/status +9\n/)
  expect(shown.stdout).toMatch(/asset +POINT points\n/)
  expect(shown.stdout).toMatch(/created +2024-11-01 23:30:00\n/)
  expect(shown.stdout).toMatch(/activity +2 group-buy order\n/)
  expect(shown.stdout).toMatch(/Delivery 1\n +status +7 shipped, awaiting receipt\n/)
  expect(shown.stdout).toMatch(/K1 +Tea +– +10 +9\.90 points +8\.80 points\n/)
  const missing = await dirsync('orders', 'show', '8000000000009999')
  expect(missing.code).toBe(1)
  expect(missing.stderr).toMatch(/enterprise\/consume\/get failed\n +code +1000220120/)
})

test("a merchant's order is shown by its record", async () => {
  const record = await dirsync('orders', 'record', 'test-application-7')
  expect(record.stdout).toMatch(/status +1 order succeeded, no refund\n +paid +8\.10\n/)
  const elsewhere = await dirsync('orders', 'record', 'test-application-7', '--enterprise', 'E9')
  expect(elsewhere.stderr).toMatch(/seller\/pay\/record failed\n +code +1000240002/)
})

test.each([
  [['orders', 'record', 'another-app-7'], '<outer-trade-no> must begin with the application id'],
  [['orders', 'show', '1'.repeat(17)], '<trade-no> must have at most 16 characters'],
  [['orders', 'list', '--enterprise', 'E'.repeat(21)], '--enterprise must have at most 20 characters'],
  [['accounts', 'a'.repeat(33)], '<account-openid> must have at most 32 characters'],
  [['taxpayers', 'T'.repeat(46)], '<identifier> must have at most 45 characters'],
  [['taxpayers', 'T100', '--name', 'x'.repeat(101)], '--name must have at most 100 characters'],
  [
    ['platform', 'employee/get', '--userid', 'u1', '--enterprise_code', 'E'.repeat(21)],
    '--enterprise_code must have at most 20 characters',
  ],
])('a value that breaks a rule is called as the command calls it: %j', async (args, problem) => {
  const { code, stderr } = await dirsync(...args)
  expect(code).toBe(2)
  expect(stderr).toContain(`dirsync: ${problem}`)
})

test('limit accounts come with balances and sub-accounts', async () => {
  const accounts = await dirsync('accounts')
  expect(accounts.stdout).toMatch(/b{32} +Canteen +2 staff .*CN¥1,234,567\.80 +1 valid\n/)
  expect(accounts.stdout).toMatch(/Other +107 +CN¥0\.00 +1 valid/)
  expect(accounts.stdout).toMatch(
    /Sub-accounts\n +ID +NAME +OF +STATUS\n +17 +Night shift +Canteen +2 invalid\n/,
  )
  const one = await dirsync('accounts', ACCOUNT, '--json')
  expect(one.json()).toMatchObject({ accounts: [{ balance: '1234567.80' }] })
})

test('taxpayers of both natures are found, or of one', async () => {
  const both = await dirsync('taxpayers', 'T100')
  expect(both.stdout).toMatch(/Example 1 +T100 +1 general taxpayer +1 normal\n/)
  expect(both.stdout).toMatch(/Example 2 +T100 +2 small-scale taxpayer +1 normal\n/)
  const one = await dirsync('taxpayers', 'T100', '--nature', '1', '--json')
  expect(one.json()).toMatchObject({ more: false, taxpayers: [{ taxpayer_name: 'Example 1' }] })
  expect((await dirsync('taxpayers', 'T999')).stdout).toMatch(/There is no such taxpayer/)
})

test('the operations themselves give one page as it is', async () => {
  const list = ['platform', 'enterprise/consume/list', '--page_size', '2', '--time_start', '2024-11-02']
  const page = await dirsync(...list, '--json')
  const { total_count, data_list } = page.json()
  expect(total_count).toBe(130)
  expect(data_list).toHaveLength(2)
  const read = await dirsync(...list)
  expect(read.stdout).toMatch(
    /^ {2}total_count {2}130\n {2}data_list\n {4}\[\n {6}\{\n {8}"trade_no": "\d+",\n/,
  )
})

test('an employee is found in HR before any run, by the user id alone', async () => {
  const shown = (await dirsync('employee', 'e10172', '--json')).json()
  expect(shown).toMatchObject({ userid: 'e10172', hr: 'present' })
  const named = await dirsync('employee', `${shown.enterprise_code}/e10172`, '--json')
  expect(named.json()).toMatchObject({ enterprise_code: shown.enterprise_code, hr: 'present' })
})
