import fc from 'fast-check'
import { expect, test } from 'vitest'
import { compareDecimals, plainDecimal } from '../../src/platform/fields.ts'

test.each([
  ['0.1', '0.1'],
  ['100.00', '100.00'],
  ['-12.30', '-12.30'],
  ['12345678901234567.89', '12345678901234567.89'],
  ['1e2', '100'],
  ['1.50E1', '15.0'],
  ['1.25e+1', '12.5'],
  ['12e-1', '1.2'],
  ['1e-3', '0.001'],
  ['-2.5e-1', '-0.25'],
  ['0e5', '0'],
  ['12.5e0', '12.5'],
  [`1${'0'.repeat(59)}`, `1${'0'.repeat(59)}`],
  ['1e60', `1${'0'.repeat(60)}`],
])('%s is the decimal %s', (source, decimal) => {
  expect(plainDecimal(source)).toBe(decimal)
})

test.each([
  '',
  ' 1',
  '1.',
  '.5',
  '1,5',
  '0x1',
  'NaN',
  'Infinity',
  '1e999',
  `${'1'.repeat(30)}.${'1'.repeat(31)}`,
  `1${'0'.repeat(60)}`,
  '1e99999999',
  '１',
])('%j is none', source => {
  expect(plainDecimal(source)).toBeNull()
})

test('an exponent moves the point, and nothing else changes', () => {
  fc.assert(
    fc.property(
      fc.bigInt({ min: -(10n ** 25n), max: 10n ** 25n }),
      fc.integer({ min: 0, max: 30 }),
      (digits, places) => {
        expect(plainDecimal(`${digits}e${places}`)).toBe(String(digits * 10n ** BigInt(places)))
        const fraction = plainDecimal(`${digits}e-${places}`) ?? ''
        expect(BigInt(fraction.replace('.', ''))).toBe(digits)
        expect(fraction.split('.')[1]?.length ?? 0).toBe(places)
      },
    ),
  )
})

test.each([
  ['0.10', '0.1', 0],
  ['100', '99.99', 1],
  ['-1', '0.01', -1],
  ['-0.5', '-0.25', -1],
  ['99999999.99', '100000000.00', -1],
  ['12345678901234567.88', '12345678901234567.89', -1],
])('%s against %s is %i', (a, b, order) => {
  expect(compareDecimals(a, b)).toBe(order)
})
