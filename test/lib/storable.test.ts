import fc from 'fast-check'
import { expect, test } from 'vitest'
import { storable, storableRows, storableText } from '../../src/lib/storable.ts'
import { StoreUnderTest } from '../sync/store-under-test.ts'

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
    [storableRows(rows)],
  )
  expect(kept).toEqual([{ ...rows[0], subject: 'a\ufffdb\ufffdc 🥟', created_at: null }])
})

test('PostgreSQL stores every text that is made storable, and gives it back as it is', async () => {
  const anyText = fc.string({
    unit: fc.oneof(
      fc.integer({ min: 0, max: 0xffff }).map(unit => String.fromCharCode(unit)),
      fc.constantFrom('\0', '\ud83d', '\ude00', '\\u0000', '"', '😀'),
    ),
    maxLength: 20,
  })
  await fc.assert(
    fc.asyncProperty(fc.array(anyText, { maxLength: 20 }), async texts => {
      const kept = texts.map(storableText)
      const { rows } = await store.pool.query('select $1::jsonb as json, $2::text[] as list', [
        JSON.stringify(storable({ texts })),
        kept,
      ])
      expect(rows).toEqual([{ json: { texts: kept }, list: kept }])
    }),
    { numRuns: 200 },
  )
})

test('what is storable already stays the same value', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), text => {
      const whole = text.replaceAll('\0', '')
      expect(storableText(whole)).toBe(whole)
    }),
  )
  const value = { at: new Date(), texts: ['a', null, 3, true, { '😀': '😀' }] }
  expect(storable(value)).toEqual(value)
})
