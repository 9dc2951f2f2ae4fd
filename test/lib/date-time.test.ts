import { expect, test } from 'vitest'
import { platformTime } from '../../src/lib/calendar.ts'

test.each([
  ['2026-01-01 07:59:59', '2025-12-31T23:59:59.000Z'],
  ['2024-02-29 00:00:00', '2024-02-28T16:00:00.000Z'],
  [' 2026-06-30 23:59:59 ', '2026-06-30T15:59:59.000Z'],
  ['2026-06-30T23:59:59.123', '2026-06-30T15:59:59.000Z'],
])('%s of GMT+8 is %s', (text, moment) => {
  expect(platformTime(text)?.toISOString()).toBe(moment)
})

test.each([
  '',
  '0000-00-00 00:00:00',
  '2023-02-29 00:00:00',
  '2026-01-01 24:00:00',
  '2026-01-01 00:60:00',
  '2026-01-01',
  '2026/01/01 00:00:00',
  'yesterday',
])('%j is no time', text => {
  expect(platformTime(text)).toBeNull()
})
