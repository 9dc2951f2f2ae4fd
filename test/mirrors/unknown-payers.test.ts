import { expect, test } from 'vitest'
import { recordUnknownPayers } from '../../src/mirrors/payment-order.ts'
import { plant, plantRun } from '../sync/planted.ts'
import { StoreUnderTest } from '../sync/store-under-test.ts'

const store = new StoreUnderTest()

const plantSource = (name: string, ...codes: string[]) =>
  plant(store, 'hr_source', {
    ...{ name, position: 0, kind: 'postgres', address: name, enterprise_codes: codes },
  })
const plantFullReading = (hr_source: string, differs: object = {}) =>
  plantRun(store, {
    ...{
      hr_source,
      read_all: true,
      source: { rows: 1 },
      state: 'done',
      planned_at: '2026-11-21T00:00:00+08:00',
    },
    ...differs,
  })
const plantOrder = (enterprise_code: string, created_at: string | null = null) =>
  plant(store, 'payment_order', {
    ...{ enterprise_code, trade_no: `T-${enterprise_code}-${created_at}`, userid: 'stranger', created_at },
    listed_on: '2026-11-20',
  })

/** The enterprises with a case about a payer, after a run of the mirror. */
async function found(): Promise<string[]> {
  await recordUnknownPayers(store.pool as never, await plantRun(store, { kind: 'orders' }), '2026-11-01')
  const rows = await store.rows<{ code: string }>(
    `select enterprise_code as code from dirsync.dead_letter where category = 'unknown_payer' order by 1`,
  )
  return rows.map(({ code }) => code)
}

test('a payer is unknown only once the HR source of the enterprise was read', async () => {
  await plantSource('beijing', 'E1')
  await plantSource('shanghai', 'E2')
  for (const code of ['E1', 'E2']) await plantOrder(code)
  await plantFullReading('beijing')
  await plantFullReading('shanghai', { kind: 'departments' })
  expect(await found()).toEqual(['E1'])
  await plantFullReading('shanghai')
  expect(await found()).toEqual(['E1', 'E2'])
})

test('a payer of an enterprise that no HR source has any more is not unknown', async () => {
  await plantFullReading('')
  await plantSource('beijing', 'E1')
  await plantFullReading('beijing')
  await plantOrder('E2')
  expect(await found()).toEqual([])
})

test('where there is one HR system, it has all enterprises', async () => {
  await plantOrder('E1')
  expect(await found()).toEqual([])
  await plantFullReading('')
  expect(await found()).toEqual(['E1'])
})

test('a payer is unknown only if HR was read after the payment, with its present enterprises', async () => {
  await plantSource('beijing', 'E1')
  await plantFullReading('beijing', { planned_at: '2026-11-20T12:00:00+08:00' })
  // HR is away, suspect or held: those who were hired since are not known yet.
  for (const state of ['failed', 'source_suspect', 'held']) await plantFullReading('beijing', { state })
  await plantFullReading('beijing', { read_all: false })
  await plantOrder('E1', '2026-11-20T12:00:01+08:00')
  // Its time is not known: it may have been made at the end of its day.
  await plantOrder('E1')
  expect(await found()).toEqual([])
  await plantOrder('E1', '2026-11-20T11:59:59+08:00')
  await store.pool.query(`update dirsync.hr_source set codes_since = (select max(id) from dirsync.sync_run)`)
  expect(await found()).toEqual([])
  await plantFullReading('beijing', { planned_at: '2026-11-20T12:30:00+08:00' })
  expect(await found()).toEqual(['E1'])
})
