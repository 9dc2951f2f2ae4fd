import { expect, test } from 'vitest'
import { keysInHand, keysPerJob } from '../../src/sync/outbox/job-size.ts'

test.each([
  ['a rate that permits few calls: no more than calls at a time', 16, 10, 16],
  ['a fast one: a quarter of a second of calls', 16, 200, 50],
  ['a very fast one: four for each call', 16, 100_000, 64],
  ['a rate below one in a second', 1, 0.01, 1],
])('in hand at %s', (_, calls, rate, expected) => {
  expect(keysInHand(calls, rate)).toBe(expected)
})

test.each([
  ['few keys: one each, for several workers', 15, 100_000, 1],
  ['some: as many jobs, and more in each', 80, 100_000, 10],
  ['many, at a rate without a limit', 1000, 100_000, 50],
  ['many, at a rate that permits few calls', 1000, 30, 3],
  ['many, at less than a call in a second', 1000, 0.5, 1],
  ['many, before any worker says what is permitted', 1000, null, 10],
])('in a job of %s', (_, keys, rate, expected) => {
  expect(keysPerJob(keys, rate)).toBe(expected)
})
