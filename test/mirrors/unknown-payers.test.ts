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
  plantRun(store, { hr_source, read_all: true, source: { rows: 1 }, state: 'done', ...differs })
const plantOrder = (enterprise_code: string) =>
  plant(store, 'payment_order', {
    ...{ enterprise_code, trade_no: `T-${enterprise_code}`, userid: 'stranger', listed_on: '2026-11-20' },
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
