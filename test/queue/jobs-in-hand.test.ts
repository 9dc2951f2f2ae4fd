import { expect, test } from 'vitest'
import { jobsInHand } from '../../src/queue/job-worker.ts'

test.each([
  ['a rate that permits few calls: no more jobs than calls', 16, 10, 16],
  ['a fast one: a quarter of a second of calls', 16, 200, 50],
  ['a very fast one: four jobs for each call', 16, 100_000, 64],
  ['a rate below one in a second', 1, 0.01, 1],
])('%s', (_, calls, rate, expected) => {
  expect(jobsInHand(calls, rate)).toBe(expected)
})
