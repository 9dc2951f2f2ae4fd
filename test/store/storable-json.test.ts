import { expect, test } from 'vitest'
import { storableJson } from '../../src/store/storable-json.ts'
import { StoreUnderTest } from './store-under-test.ts'

const store = new StoreUnderTest()

test('what PostgreSQL cannot hold is replaced, and nothing else', async () => {
  const rows = [
    {
      trade_no: 'T1',
      subject: 'a\0b\ud800c 🥟',
      total_amount: '0.10',
      status: null,
      created_at: new Date('0001-01-01T00:00:00+08:00'),
      paid_at: new Date('2026-03-01T00:00:00Z'),
    },
  ]
  const { rows: kept } = await store.pool.query(
    `select trade_no, subject, total_amount, status, created_at, paid_at
     from jsonb_populate_recordset(null::dirsync.payment_order, $1)`,
    [storableJson(rows)],
  )
  expect(kept).toEqual([{ ...rows[0], subject: 'a\ufffdb\ufffdc 🥟', created_at: null }])
})
