import { expect, test } from 'vitest'
import * as states from '../../src/platform/states.ts'

const { meaningOf, ...tables } = states

test('every table has each value once, and a meaning for each', () => {
  for (const table of Object.values(tables)) {
    const entries = Object.values(table as states.States)
    expect(new Set(entries.map(({ value }) => value)).size).toBe(entries.length)
    expect(entries.filter(({ meaning }) => meaning.trim() === '')).toEqual([])
  }
})

test.each([
  [states.PAYMENT_ORDER_STATUS, [1, 2, 3, 4, 5, 6, 7]],
  [states.TRADE_STATUS, [1, 2, 3, 4, 5, 6]],
  [states.ORDER_STATUS, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14]],
  [states.PRODUCT_CATEGORY, [1, 2, 3, 4, 12]],
  [states.THIRD_TYPE, [1, 2, 3, 4, 5]],
  [states.ASSET_CODE, ['POINT', 'QUOTA', 'CASH', 'THIRD']],
])('the values are those of the specification', (table, values) => {
  expect(Object.values(table as states.States).map(({ value }) => value)).toEqual(values)
})

test('a known value has its meaning, an unknown one none', () => {
  expect(meaningOf(states.PAYMENT_ORDER_STATUS, 3)).toBe('payment completed')
  expect(meaningOf(states.ASSET_CODE, 'CASH')).toBe('cash')
  expect(meaningOf(states.PRODUCT_CATEGORY, 107)).toBeUndefined()
  expect(meaningOf(states.PRODUCT_CATEGORY, null)).toBeUndefined()
})
