import { describe, expect, test } from 'vitest'
import { toDesired } from '../../src/directory/desired.ts'
import type { EmployeeMapping } from '../../src/hr/source.ts'
import { inEnglish } from '../../src/texts/message.ts'
import { ColumnCollector, DistinctCounter } from '../../src/workbench/columns.ts'

function distinct(values: number, repetitions: number, seed: number) {
  const counter = new DistinctCounter(seed)
  for (let round = 0; round < repetitions; round += 1)
    for (let i = 0; i < values; i += 1) counter.add(`value ${i}`)
  return counter.result
}

describe('different values', () => {
  test.each([0, 1, 16_384])('are counted exactly where there are %i', values => {
    expect(distinct(values, 2, 7)).toEqual({ count: values, isExact: true })
  })

  test.each([1, 2, 3, 4])('are estimated to within 5 % beyond, whatever the seed is (%i)', seed => {
    const { count, isExact } = distinct(200_000, 1, seed * 1_000_003)
    expect(isExact).toBe(false)
    expect(Math.abs(count / 200_000 - 1)).toBeLessThan(0.05)
  })
})

describe('broken rules', () => {
  const VALUES = {
    userid: ['a1', 'a2', 'a3 ', ''],
    active: ['t', 'f', 'maybe', null],
    name: ['Ann', 'Bob', 'x'.repeat(51), '\u3000', null],
    corp_code: ['W1', '\uff37\uff11', 'W-1', ' '],
    gender: ['1', '2', '7', '\u200b'],
    card_type: ['1', '2', '', '3'],
    card_no: ['P0000001', '123', '', null],
    mobile_area: ['86', 'x', '', null],
    mobile: ['13000000001', '12', '', '+1 2025550100'],
    level: ['G1', '#default#', '', null],
    birth_day: ['1990-01-01', '02-29', '1990-02-30', '\t'],
  }
  const names = Object.keys(VALUES) as (keyof typeof VALUES)[]
  const columns = new Map(names.map(name => [name, { source: name, type: 'text' }]))

  test.each([1, 2])(
    'are those of each row by itself, whatever came before it (one in %i is active)',
    every => {
      const collector = new ColumnCollector({ columns } as unknown as EmployeeMapping, names, 7)
      const expected = new Map<string, number>()
      for (let i = 0; i < 3000; i += 1) {
        // Each field that is judged by itself has sound values at first.
        const row = Object.fromEntries(
          names.map((name, n) => [
            name,
            VALUES[name][(i * (7 + 2 * n) + (i >> n)) % (i < 500 ? 2 : 4)] ?? null,
          ]),
        )
        const isActive = i % every === 0
        collector.add(row, isActive)
        const result = isActive && row.userid ? toDesired(row, names) : null
        for (const { message } of result?.ok === false ? result.problems : [])
          expected.set(inEnglish(message), (expected.get(inEnglish(message)) ?? 0) + 1)
      }
      expect(expected.size).toBeGreaterThan(8)
      expect(new Map(collector.broken.map(({ message, rows }) => [inEnglish(message), rows]))).toEqual(
        expected,
      )
    },
  )
})
