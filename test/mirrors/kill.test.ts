import { expect, onTestFinished, test } from 'vitest'
import { createCompany, endOf, until } from '../helpers/company.ts'
import { spawnDirsync } from '../helpers/process.ts'
import { casesOf, order, rowsOf } from './mirror-under-test.ts'

const ORDERS = 330
const DAYS = 8

test('a worker that is killed in the middle of a window: the next one goes on at the cursor', async () => {
  const company = await createCompany({ employees: 1, settings: { PAYMENT_ORDER_DAYS: String(DAYS) } })
  onTestFinished(() => company[Symbol.asyncDispose]())
  // Four pages on the first day, one on every other.
  const many = Array.from({ length: ORDERS }, (_, i) => order(i, 0))
  await company.control('POST', 'orders', [...many, order(900, 5), order(901, DAYS - 1)])
  await company.control('POST', 'faults', [{ operation: 'enterprise/consume/list', latencyMs: 1000 }])
  const { rows } = await company.db.query(`select dirsync.resync('orders') as id`)
  const id = Number(rows[0].id)
  const listed = async () => (await company.calls())['enterprise/consume/list'] ?? 0

  await using first = spawnDirsync(['start', '--roles', 'worker'], { env: company.settings })
  // Within the first day, its first pages stored.
  await until(async () => {
    const { rows } = await company.db.query(
      'select from dirsync.mirror_task where run_id = $1 and next_page >= 3',
      [id],
    )
    return rows.length > 0
  })
  await first.kill('SIGKILL')
  await company.control('DELETE', 'faults')
  const { rows: stopped } = await company.db.query(
    'select next_page from dirsync.mirror_task where run_id = $1 order by position limit 1',
    [id],
  )
  expect(stopped[0].next_page).toBeGreaterThanOrEqual(3)
  const stored = await rowsOf(company, 'payment_order')
  expect(stored.length).toBeGreaterThanOrEqual(200)
  expect(stored.length).toBeLessThanOrEqual(ORDERS)

  await using second = spawnDirsync(['start', '--roles', 'worker'], {
    env: { ...company.settings, LOG_LEVEL: 'info' },
  })
  await second.waitForLine(/run taken up where it was left/)
  const run = await endOf(company.db, id)
  expect(run).toMatchObject({
    state: 'done',
    result: { outcomes: { updated: 3, in_sync: DAYS - 3 }, rows: { read: ORDERS + 2, changed: ORDERS + 2 } },
  })
  const after = await rowsOf(company, 'payment_order')
  expect(after).toHaveLength(ORDERS + 2)
  // What the first one stored was not written again.
  const written = new Map(after.map(row => [row.trade_no, row.xmin]))
  expect(stored.filter(row => written.get(row.trade_no) !== row.xmin)).toEqual([])
  // One call at most was answered and not stored.
  expect(await listed()).toBeLessThanOrEqual(4 + (DAYS - 1) + 1)
})

test('two workers share a run without doing anything twice', async () => {
  const company = await createCompany({ employees: 1, settings: { PAYMENT_ORDER_DAYS: '20' } })
  onTestFinished(() => company[Symbol.asyncDispose]())
  await company.control('POST', 'orders', [order(1, 0)])
  await company.start(['worker'])
  await company.start(['worker'])
  expect(await company.run('orders')).toMatchObject({
    state: 'done',
    result: { outcomes: { updated: 1, in_sync: 19 } },
  })
  expect((await company.calls())['enterprise/consume/list']).toBe(20)
})

test('a worker whose cursor was moved by another stores nothing of what it read', async () => {
  const company = await createCompany({ employees: 1, settings: { PAYMENT_ORDER_DAYS: '2' } })
  onTestFinished(() => company[Symbol.asyncDispose]())
  // Today goes on to a second page, yesterday ends with its first.
  const today = Array.from({ length: 103 }, (_, i) => order(i, 0))
  await company.control('POST', 'orders', [...today, order(900, 1)])
  await company.control('POST', 'faults', [{ operation: 'enterprise/consume/list', latencyMs: 200 }])
  const overtake = async (day: string) => {
    const client = await company.db.connect()
    try {
      await client.query('begin')
      const move = `update dirsync.mirror_task set next_page = 2, pass = 3 where entity_key = $1 and next_page = 1 and pass = 1`
      await until(async () => (await client.query(move, [day])).rowCount === 1)
      await until(
        async () =>
          (
            await company.db.query(`select from pg_stat_activity where datname = current_database()
              and wait_event_type = 'Lock' and query like '%dirsync.mirror_task%'`)
          ).rowCount === 1,
      )
      await client.query('commit')
    } finally {
      client.release()
    }
  }
  const { rows } = await company.db.query(`select dirsync.resync('orders') as id`)
  const overtaken = (async () => {
    const { rows } = await until(async () => {
      const tasks = await company.db.query('select entity_key from dirsync.mirror_task order by position')
      return tasks.rowCount === 2 && tasks
    })
    for (const { entity_key } of rows) await overtake(entity_key)
  })()
  await company.start(['worker'])
  await overtaken
  expect(await endOf(company.db, rows[0].id)).toMatchObject({
    state: 'done',
    result: { rows: { read: 3, changed: 3 } },
  })
  expect((await rowsOf(company, 'payment_order')).map(row => row.trade_no)).toEqual(
    [0, 1, 2].map(number => order(number, 0).trade_no),
  )
})

test.each([
  ['is read', {}],
  ['is refused', { code: 1000220002 }],
])('a run that is cancelled while its page %s ends with neither an error nor a case', async (_, answer) => {
  const company = await createCompany({ employees: 1, settings: { PAYMENT_ORDER_DAYS: '1' } })
  onTestFinished(() => company[Symbol.asyncDispose]())
  await company.control('POST', 'orders', [order(1, 0)])
  const held = { operation: 'enterprise/consume/list', hold: true, times: 1, ...answer }
  await company.control('POST', 'faults', [held])
  const { rows } = await company.db.query(`select dirsync.resync('orders') as id`)
  await using worker = spawnDirsync(['start', '--roles', 'worker'], { env: company.settings })
  await until(async () => (await company.control<unknown[]>('GET', 'faults')).length === 0)
  await company.db.query('select dirsync.cancel($1)', [rows[0].id])
  await company.control('DELETE', 'faults')
  // By its end, the cancelled run has been left.
  expect(await company.run('orders')).toMatchObject({ state: 'done', result: { rows: { changed: 1 } } })
  expect(worker.stdout + worker.stderr).not.toMatch(/mirror|another process/)
  const of = (text: string) => company.db.query(`${text} = $1`, [rows[0].id])
  expect((await of('select state, message, result from dirsync.sync_run where id')).rows).toEqual([
    { state: 'cancelled', message: null, result: null },
  ])
  expect((await of('select from dirsync.attempt where run_id')).rowCount).toBe(0)
  expect(await casesOf(company, 'mirror-orders')).toEqual([])
})
