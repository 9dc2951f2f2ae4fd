import { expect, test } from 'vitest'
import {
  findingsOfTimes,
  printedMoment,
  UpdatedTimesCollector,
  updatedAtOf,
} from '../../src/hr/updated-times.ts'

const NOW = new Date('2026-11-20T12:00:00Z')

function told(...texts: (string | null)[]): [string, unknown][] {
  const times = new UpdatedTimesCollector(NOW)
  for (const text of texts) times.add(text)
  return findingsOfTimes(times.result, NOW).map(({ key, ...finding }) => [
    key,
    'count' in finding ? finding.count : finding.ageMs / 60_000,
  ])
}

test.each<[string, (string | null)[], [string, unknown][]]>([
  ['an hour before now', ['2026-11-20 19:00:00+08', '2020-01-01 00:00:00+08'], [['doctor.newest', 60]]],
  ['a little ahead, as clocks differ', ['2026-11-20 20:00:30+08'], [['doctor.newest', 0]]],
  [
    'ten minutes ago, in UTC and read as in China',
    ['2026-11-20 11:50:00.5+08'],
    [['doctor.in_utc', 490 - 1 / 120]],
  ],
  [
    'eight hours in the future',
    ['2026-11-21 04:00:00+08', '9999-12-31 00:00:00+08'],
    [['doctor.in_future', 2]],
  ],
  ['missing, or no moment', [null, '', 'infinity', '-infinity'], [['doctor.undated', 4]]],
  ['not there', [], []],
])('of times that are %s', (_, texts, found) => {
  expect(told(...texts)).toEqual(found)
})

test('a moment is printed as HR prints it', () => {
  expect(printedMoment(NOW)).toBe('2026-11-20 20:00:00.000+08')
  expect(updatedAtOf(printedMoment(NOW))).toEqual(NOW)
  expect(printedMoment(updatedAtOf('infinity'))).toBeNull()
})
