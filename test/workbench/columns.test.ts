import { describe, expect, test } from 'vitest'
import { DistinctCounter } from '../../src/workbench/columns.ts'

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
