import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { floatText, withoutTrailingZeros } from '../../src/hr/canonical.ts'
import { createTestDatabase } from '../helpers/postgres.ts'

/** What PostgreSQL prints, for one expression of each value. */
async function printed(values: string[], expression: string): Promise<string[]> {
  const database = await createTestDatabase()
  onTestFinished(() => database.close())
  const { rows } = await database.pool.query(
    `select (${expression})::text as text from unnest($1::text[]) with ordinality v (value, place) order by place`,
    [values],
  )
  return rows.map(({ text }) => text)
}

test('a double is printed as PostgreSQL prints it', async () => {
  const values = [
    ...[0, -0, 0.1, 0.1 + 0.2, 10001, -0.5, 1e-4, 9.99e-5, 1e-5, 123456789012345, 999999999999999.9],
    ...[1e15, 1e21, 1.5e300, Number.MAX_VALUE, Number.MIN_VALUE, Number.POSITIVE_INFINITY, Number.NaN],
    // PostgreSQL prints a few of the numbers in between with one digit more than is necessary.
    ...[fc.double(), fc.double({ min: -1e15, max: 1e15 })].flatMap(doubles =>
      fc.sample(doubles, 2000).filter(value => Math.abs(value) < 2 ** 53 || Math.abs(value) > 1e20),
    ),
  ]
  const texts = values.map(value => (Object.is(value, -0) ? '-0' : String(value)))
  expect(values.map(floatText)).toEqual(await printed(texts, 'value::float8'))
})

test('zeros at the end of a decimal are left out as trim_scale leaves them out', async () => {
  const texts = ['0', '100', '12.00', '12.50', '-0.500', '0.0000000001', '10.010', '0.000', '1000.0', '-7']
  expect(texts.map(withoutTrailingZeros)).toEqual(await printed(texts, 'trim_scale(value::numeric)'))
})

test('and those at the end of a second’s fraction, whatever its zone', async () => {
  const texts = ['2024-02-29 12:00:00.500000', '2024-02-29 10:00:10.000000', '2024-02-29 10:20:30']
  expect(texts.map(withoutTrailingZeros)).toEqual(await printed(texts, 'value::timestamp'))
  expect(withoutTrailingZeros('2024-02-29 12:00:10.0500+08')).toBe('2024-02-29 12:00:10.05+08')
})
